/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sys_test.c - what sys_readable() says, and what it says where the kernel
 * looks at the operation before it looks at the memory.
 *
 * LINK: sys
 */
#include "sys.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const uint64_t word = 1;

static void
test_readable(void **state)
{
	char *pages =
		mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uintptr_t at = (uintptr_t)pages;

	(void)state;
	assert_true(sys_readable_check());
	assert_ptr_not_equal(pages, MAP_FAILED);
	assert_return_code(mprotect(pages + 4096, 4096, PROT_NONE), 0);
	assert_true(sys_readable((uintptr_t)&word));
	assert_true(sys_readable(at));
	assert_true(sys_readable(at + 4095));
	assert_false(sys_readable(at + 4096));
	assert_false(sys_readable(0));
	assert_false(sys_readable(8));
	assert_false(sys_readable(UINTPTR_MAX));
	assert_false(sys_readable(UINT64_C(1) << 63));
	munmap(pages, 8192);
}

/* A kernel of that kind: a filter that refuses rt_sigprocmask unseen. */
static bool
refuse_unseen(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigprocmask, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void
test_refused_unseen(void **state)
{
	int status = -1;
	pid_t child = fork();

	(void)state;
	if (child == 0) {
		if (!refuse_unseen())
			_exit(77);
		/* So it would say, unchecked. */
		if (!sys_readable(8))
			_exit(2);
		if (sys_readable_check())
			_exit(3);
		_exit(sys_readable(8) || sys_readable((uintptr_t)&word) ? 4
									: 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_readable),
		cmocka_unit_test(test_refused_unseen),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("sys", tests, NULL, NULL);
}
