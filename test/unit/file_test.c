/* SPDX-License-Identifier: Apache-2.0 */
/* file_test.c - a profile's file is there, complete, or it is not there. */
/* LINK: file sys */
#include "file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "sys.h"

struct fixture {
	char directory[64];
	char path[128];
	struct file file;
};

static int
set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	strcpy(f->directory, "/tmp/file_test.XXXXXX");
	if (mkdtemp(f->directory) == NULL)
		return -1;
	snprintf(f->path, sizeof(f->path), "%s/a.1.0001.heap.pb.gz",
		 f->directory);
	*state = f;
	return 0;
}

static unsigned
entries(const char *directory, bool remove)
{
	DIR *d = opendir(directory);
	struct dirent *entry;
	unsigned count = 0;

	while ((entry = readdir(d)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 ||
		    strcmp(entry->d_name, "..") == 0)
			continue;
		if (remove)
			unlinkat(dirfd(d), entry->d_name, 0);
		count++;
	}
	closedir(d);
	return count;
}

static int
tear_down(void **state)
{
	struct fixture *f = *state;

	entries(f->directory, true);
	rmdir(f->directory);
	free(f);
	return 0;
}

static void
expect_content(const char *path, const char *content)
{
	char buffer[64];

	assert_int_equal(sys_read_file(path, buffer, sizeof(buffer)),
			 strlen(content));
	assert_string_equal(buffer, content);
}

static void
put_content(const char *path, const char *content)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);

	assert_int_equal(write(fd, content, strlen(content)), strlen(content));
	close(fd);
}

/* All of it, in any process: 0 or -errno. */
static int
write_file(struct file *file, const char *path, const char *content)
{
	int r = file_create(file, path);

	if (r < 0)
		return r;
	r = sys_write_all(file->fd, content, strlen(content));
	if (r < 0) {
		file_discard(file);
		return r;
	}
	return file_publish(file);
}

static void
test_appears_when_published(void **state)
{
	struct fixture *f = *state;
	struct stat st;

	assert_int_equal(file_create(&f->file, f->path), 0);
	assert_int_equal(access(f->path, F_OK), -1);
	assert_int_equal(entries(f->directory, false), 1);
	/* Hidden, in the same directory, and not one of the three kinds. */
	assert_int_equal(strncmp(f->file.temporary, f->directory,
				 strlen(f->directory)),
			 0);
	assert_int_equal(f->file.temporary[strlen(f->directory) + 1], '.');
	assert_null(strstr(f->file.temporary, ".pb.gz"));
	assert_int_equal(fcntl(f->file.fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(sys_write_all(f->file.fd, "content", 7), 0);
	assert_int_equal(file_publish(&f->file), 0);
	assert_int_equal(f->file.fd, -1);
	expect_content(f->path, "content");
	assert_int_equal(stat(f->path, &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0600);
	assert_int_equal(st.st_nlink, 1);
	assert_int_equal(entries(f->directory, false), 1);
	/* Nothing is left to be removed, by a fault handler say. */
	file_discard(&f->file);
	expect_content(f->path, "content");
}

static void
test_mode_under_any_umask(void **state)
{
	struct fixture *f = *state;
	const mode_t masks[] = { 0, 022, 0777 };

	for (unsigned i = 0; i < 3; i++) {
		mode_t old = umask(masks[i]);
		struct stat st;
		int r = write_file(&f->file, f->path, "content");

		umask(old);
		assert_int_equal(r, 0);
		assert_int_equal(stat(f->path, &st), 0);
		assert_int_equal(st.st_mode & 07777, 0600);
		unlink(f->path);
	}
}

static void
test_name_taken(void **state)
{
	struct fixture *f = *state;

	put_content(f->path, "older");
	assert_int_equal(write_file(&f->file, f->path, "newer"), -EEXIST);
	expect_content(f->path, "older");
	assert_int_equal(entries(f->directory, false), 1);
	assert_int_equal(f->file.fd, -1);
}

/* A link that somebody left is neither followed nor replaced. */
static void
test_symbolic_link_in_its_place(void **state)
{
	struct fixture *f = *state;
	char victim[160];
	struct stat st;

	snprintf(victim, sizeof(victim), "%s/victim", f->directory);
	assert_int_equal(symlink(victim, f->path), 0);
	assert_int_equal(write_file(&f->file, f->path, "x"), -EEXIST);
	assert_int_equal(access(victim, F_OK), -1);
	assert_int_equal(lstat(f->path, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(entries(f->directory, false), 1);
}

static void
test_discard(void **state)
{
	struct fixture *f = *state;
	struct file zeroed = { 0 };
	int fd;

	assert_int_equal(file_create(&f->file, f->path), 0);
	fd = f->file.fd;
	for (int i = 0; i < 3; i++)
		file_discard(&f->file);
	assert_int_equal(entries(f->directory, false), 0);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	/* Never created: descriptor 0 is somebody else's. */
	file_discard(&zeroed);
	assert_int_not_equal(fcntl(0, F_GETFD), -1);
}

static void
test_directory_missing(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(file_create(&f->file, "/nonexistent/a/b"), -ENOENT);
	assert_int_equal(f->file.fd, -1);
	assert_int_equal(f->file.temporary[0], '\0');
	file_discard(&f->file);
	/* A file where a directory should be. */
	assert_int_equal(file_create(&f->file, "/dev/null/b"), -ENOTDIR);
}

static void
test_directory_goes_away(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(file_create(&f->file, f->path), 0);
	assert_int_equal(entries(f->directory, true), 1);
	assert_int_equal(rmdir(f->directory), 0);
	assert_int_equal(file_publish(&f->file), -ENOENT);
	assert_int_equal(f->file.fd, -1);
	mkdir(f->directory, 0700);
}

static void
test_path_too_long(void **state)
{
	struct fixture *f = *state;
	char path[FILE_PATH_MAX + 2];

	memset(path, 'a', sizeof(path));
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(file_create(&f->file, path), -ENAMETOOLONG);
	/* Room for the name, but not for the temporary one. */
	path[FILE_PATH_MAX - 1] = '\0';
	path[FILE_PATH_MAX - 3] = '/';
	assert_int_equal(file_create(&f->file, path), -ENAMETOOLONG);
	assert_int_equal(f->file.temporary[0], '\0');
}

static void
test_temporary_names_differ(void **state)
{
	struct fixture *f = *state;
	struct file *other = calloc(1, sizeof(*other));

	assert_int_equal(file_create(&f->file, f->path), 0);
	assert_int_equal(file_create(other, f->path), 0);
	assert_string_not_equal(f->file.temporary, other->temporary);
	assert_int_equal(file_publish(other), 0);
	assert_int_equal(file_publish(&f->file), -EEXIST);
	assert_int_equal(entries(f->directory, false), 1);
	free(other);
}

static void
test_file_size_limit(void **state)
{
	struct fixture *f = *state;
	struct rlimit old, limit;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	limit = old;
	limit.rlim_cur = 4;
	setrlimit(RLIMIT_FSIZE, &limit);
	assert_int_equal(write_file(&f->file, f->path, "content"), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(entries(f->directory, false), 0);
}

/* Runs body in a child, whose exit status says how it went. */
static int
in_child(int (*body)(struct fixture *f), struct fixture *f)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(body(f));
	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

#define EXIT_SKIP 77

/* From here on renameat2 fails with the given errno. */
static int
refuse_renameat2(int error)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { 4, filter };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int
body_without_renameat2(struct fixture *f)
{
	if (refuse_renameat2(ENOSYS) != 0)
		return EXIT_SKIP;
	return write_file(&f->file, f->path, "content") != 0 ||
	       write_file(&f->file, f->path, "newer") != -EEXIST;
}

static int
body_without_the_flag(struct fixture *f)
{
	if (refuse_renameat2(EINVAL) != 0)
		return EXIT_SKIP;
	return write_file(&f->file, f->path, "content") != 0 ||
	       write_file(&f->file, f->path, "newer") != -EEXIST;
}

static void
expect_linked(struct fixture *f, int (*body)(struct fixture *f))
{
	struct stat st;
	int r = in_child(body, f);

	if (r == EXIT_SKIP) {
		print_message("no seccomp filter can be set here\n");
		skip();
	}
	assert_int_equal(r, 0);
	expect_content(f->path, "content");
	assert_int_equal(stat(f->path, &st), 0);
	assert_int_equal(st.st_nlink, 1);
	assert_int_equal(entries(f->directory, false), 1);
}

static void
test_kernel_without_renameat2(void **state)
{
	expect_linked(*state, body_without_renameat2);
}

static void
test_file_system_without_the_flag(void **state)
{
	expect_linked(*state, body_without_the_flag);
}

static int
body_full_disk(struct fixture *f)
{
	static char content[1 << 20];

	if (unshare(CLONE_NEWNS) != 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("none", f->directory, "tmpfs", 0, "size=64k") != 0)
		return EXIT_SKIP;
	memset(content, 'x', sizeof(content) - 1);
	return write_file(&f->file, f->path, content) != -ENOSPC ||
	       entries(f->directory, false) != 0;
}

static void
test_full_disk(void **state)
{
	int r = in_child(body_full_disk, *state);

	if (r == EXIT_SKIP) {
		print_message("no small file system can be mounted here\n");
		skip();
	}
	assert_int_equal(r, 0);
}

int
main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_appears_when_published),
		TEST(test_mode_under_any_umask),
		TEST(test_name_taken),
		TEST(test_symbolic_link_in_its_place),
		TEST(test_discard),
		TEST(test_directory_missing),
		TEST(test_directory_goes_away),
		TEST(test_path_too_long),
		TEST(test_temporary_names_differ),
		TEST(test_file_size_limit),
		TEST(test_kernel_without_renameat2),
		TEST(test_file_system_without_the_flag),
		TEST(test_full_disk),
	};

	return CHECK_RUN(tests);
}
