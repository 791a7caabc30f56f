/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modules_test.c - records of loaded files, and of files loaded in turn.
 *
 * LINK: modules modules_name loader loader_snapshot symbol elf_image executable
 * LINK: region counters sys
 * LIBS: -lpthread
 */
#include "modules.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "counters.h"
#include "loader.h"
#include "region.h"

static char directory[] = "/tmp/modules_test.XXXXXX";

static const char *
path_of(unsigned number)
{
	return region_at(module_at(number)->path);
}

/* What the loader's own list says of an object, to compare with. */
struct expected {
	uintptr_t address;
	const char *name;
	uintptr_t bias;
	uintptr_t text_start;
	uintptr_t text_end;
	uint64_t text_file_offset;
	const unsigned char *build_id;
	uint32_t build_id_bytes;
};

static void
read_expected(struct dl_phdr_info *info, struct expected *to)
{
	to->name = info->dlpi_name;
	to->bias = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		const ElfW(Nhdr) *note = (void *)(to->bias + ph->p_vaddr);

		if (ph->p_type == PT_LOAD && (ph->p_flags & PF_X)) {
			to->text_start = ph->p_vaddr & ~4095UL;
			to->text_end =
				(ph->p_vaddr + ph->p_memsz + 4095) & ~4095UL;
			to->text_file_offset = ph->p_offset & ~4095UL;
		}
		if (ph->p_type == PT_NOTE && note->n_type == NT_GNU_BUILD_ID) {
			to->build_id = (const unsigned char *)(note + 1) + 4;
			to->build_id_bytes = note->n_descsz;
		}
	}
}

static int
look_at(struct dl_phdr_info *info, size_t size, void *data)
{
	struct expected *to = data;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type == PT_LOAD && to->address >= at &&
		    to->address < at + ph->p_memsz) {
			read_expected(info, to);
			return 1;
		}
	}
	return 0;
}

static void
expect_record_of(const void *address)
{
	struct expected expected = { .address = (uintptr_t)address };
	unsigned number = modules_find((uintptr_t)address);
	const struct module *module = module_at(number);

	assert_int_equal(dl_iterate_phdr(look_at, &expected), 1);
	assert_in_range(number, 1, modules_count() - 1);
	assert_int_equal(module->bias, expected.bias);
	assert_int_equal(module->text_start, expected.text_start);
	assert_int_equal(module->text_end, expected.text_end);
	assert_int_equal(module->text_file_offset, expected.text_file_offset);
	assert_int_equal(module->build_id_bytes, expected.build_id_bytes);
	assert_memory_equal(module->build_id, expected.build_id,
			    expected.build_id_bytes);
	assert_in_range(module->eh_frame_hdr, module->eh_start,
			module->eh_end - 8);
	assert_true(module->eh_end <= module->map_end);
	/* The same one the next time. */
	assert_int_equal(modules_find((uintptr_t)address), number);
	assert_int_equal(modules_find(module->map_start), number);
}

static void
test_what_a_record_says(void **state)
{
	char executable[4096] = { 0 };
	Dl_info libc;

	(void)state;
	expect_record_of((const void *)(uintptr_t)&expect_record_of);
	assert_return_code(readlink("/proc/self/exe", executable,
				    sizeof(executable) - 1),
			   errno);
	assert_string_equal(path_of(modules_find((uintptr_t)&look_at)),
			    executable);
	expect_record_of(dlsym(RTLD_DEFAULT, "qsort"));
	assert_int_not_equal(dladdr(dlsym(RTLD_DEFAULT, "qsort"), &libc), 0);
	assert_string_equal(path_of(modules_find((uintptr_t)libc.dli_saddr)),
			    libc.dli_fname);
	/* The loader itself. */
	expect_record_of(dlsym(RTLD_DEFAULT, "__tls_get_addr"));
}

static void
test_vdso(void **state)
{
	uintptr_t vdso = getauxval(AT_SYSINFO_EHDR);
	unsigned number = modules_find(vdso + 1);

	(void)state;
	if (vdso == 0)
		skip();
	assert_int_not_equal(number, 0);
	assert_string_equal(path_of(number), "[vdso]");
	assert_int_equal(module_at(number)->map_start, vdso);
	assert_int_not_equal(module_at(number)->text_end, 0);
}

static void
test_no_module(void **state)
{
	int on_stack;

	(void)state;
	assert_int_equal(modules_find(0), 0);
	assert_int_equal(modules_find(UINTPTR_MAX), 0);
	assert_int_equal(modules_find((uintptr_t)&on_stack), 0);
	assert_int_equal(modules_find((uintptr_t)malloc(1)), 0);
}

/* Where the library that is copied is: a copy answers to its name, too. */
static char libz_path[4096];

static int
find_libz(void)
{
	void *any = dlopen("libz.so.1", RTLD_NOW);
	Dl_info info;

	if (any == NULL || !dladdr(dlsym(any, "zlibVersion"), &info))
		return -1;
	snprintf(libz_path, sizeof(libz_path), "%s", info.dli_fname);
	return dlclose(any);
}

static void
copy_library(const char *to)
{
	struct stat status;
	int in = open(libz_path, O_RDONLY);
	int out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0700);

	assert_return_code(fstat(in, &status), errno);
	assert_int_equal(sendfile(out, in, NULL, (size_t)status.st_size),
			 status.st_size);
	close(in);
	close(out);
}

/* Opens it, asks for its number and closes it, as the dlclose hook would. */
static unsigned
visit(const char *path, uintptr_t *map_start)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	uint64_t generation = modules_generation();
	unsigned number;

	assert_non_null(handle);
	number = modules_find((uintptr_t)dlsym(handle, "zlibVersion"));
	assert_int_not_equal(number, 0);
	assert_string_equal(path_of(number), path);
	*map_start = module_at(number)->map_start;
	modules_close_begin();
	assert_int_equal(modules_generation(), 0);
	dlclose(handle);
	assert_int_equal(modules_generation(), 0);
	modules_close_end();
	assert_true(modules_generation() > generation);
	assert_int_equal(modules_find(*map_start), 0);
	return number;
}

/*
 * Two files, the same in all but their names: what one of them left behind is
 * not taken for the other, and is taken for itself when it comes back.
 */
static void
test_in_turn_at_one_address(void **state)
{
	char one[64], other[64];
	unsigned first[2], again[2];
	uintptr_t at[4];

	(void)state;
	snprintf(one, sizeof(one), "%s/one.so", directory);
	snprintf(other, sizeof(other), "%s/other.so", directory);
	copy_library(one);
	copy_library(other);
	first[0] = visit(one, &at[0]);
	first[1] = visit(other, &at[1]);
	again[0] = visit(one, &at[2]);
	again[1] = visit(other, &at[3]);
	/* The kernel gives the same free range again, or this says nothing. */
	assert_int_equal(at[0], at[1]);
	assert_int_not_equal(first[0], first[1]);
	assert_int_equal(first[0], again[0]);
	assert_int_equal(first[1], again[1]);
	/* Records outlive what they are about. */
	assert_string_equal(path_of(first[0]), one);
	assert_string_equal(path_of(first[1]), other);
}

static double
cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* The time to find a module anew, one of a new name; its number. */
static double
reload(int i, unsigned *number)
{
	char path[64];
	double start, end;
	uintptr_t address;
	void *handle;

	snprintf(path, sizeof(path), "%s/reload_%d.so", directory, i);
	assert_return_code(symlink(libz_path, path), errno);
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	assert_return_code(unlink(path), errno);
	assert_non_null(handle);
	address = (uintptr_t)dlsym(handle, "zlibVersion");
	start = cpu_ns();
	*number = modules_find(address);
	end = cpu_ns();
	assert_int_equal(modules_find(address), *number);
	if (*number != 0)
		assert_string_equal(path_of(*number), path);
	modules_close_begin();
	dlclose(handle);
	modules_close_end();
	return end - start;
}

/*
 * Of 50 in a row the least, so that what else runs on the machine is not
 * measured. Before names were in the index it grew to 36 times.
 */
static double
least_of_reloads(int from)
{
	double least = 1e12, took;
	unsigned number;

	for (int i = from; i < from + 50; i++) {
		took = reload(i, &number);
		assert_int_not_equal(number, 0);
		least = took < least ? took : least;
	}
	return least;
}

static void
test_reloads_take_no_longer(void **state)
{
	double few, many;
	unsigned number;

	(void)state;
	few = least_of_reloads(0);
	for (int i = 50; i < 3900; i++)
		(void)reload(i, &number);
	many = least_of_reloads(3900);
	print_message("# %.0f ns, after 3900 reloads %.0f ns\n", few, many);
	assert_true(many < 3 * few);
}

/* What is full says so once for each library that comes, not for each call. */
static void
test_full_table_answers_at_once(void **state)
{
	uint64_t dropped;
	unsigned number = 1;
	void *handle;
	char path[64];

	(void)state;
	for (int i = 4000; number != 0; i++)
		(void)reload(i, &number);
	assert_int_equal(modules_count(), MODULES_MAX);
	snprintf(path, sizeof(path), "%s/full.so", directory);
	assert_return_code(symlink(libz_path, path), errno);
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	dropped = counter_value(COUNTER_modules_dropped);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(modules_find((uintptr_t)dlsym(handle,
							       "zlibVersion")),
				 0);
	assert_int_equal(counter_value(COUNTER_modules_dropped), dropped + 1);
	/* Those that are there are still found. */
	number = modules_find((uintptr_t)dlsym(RTLD_DEFAULT, "qsort"));
	assert_non_null(strstr(path_of(number), "libc.so.6"));
	dlclose(handle);
	unlink(path);
}

static void
test_closes_in_one_another(void **state)
{
	uint64_t before = modules_generation();

	(void)state;
	modules_close_begin();
	modules_close_begin();
	modules_close_end();
	assert_int_equal(modules_generation(), 0);
	modules_close_end();
	assert_int_equal(modules_generation(), before + 2);
	/* In the child the close of another thread does not go on. */
	modules_close_begin();
	modules_fork_child();
	assert_true(modules_generation() > before + 2);
	before = modules_generation();
	/* The one that forked inside a destructor ends it there, too. */
	modules_close_end();
	assert_true(modules_generation() > before);
}

static void *
find_in_thread(void *address)
{
	return (void *)(uintptr_t)modules_find((uintptr_t)address);
}

static void
test_found_by_two_threads_at_once(void **state)
{
	char path[64];

	(void)state;
	for (int i = 0; i < 20; i++) {
		pthread_t threads[2];
		void *numbers[2], *handle, *address;

		snprintf(path, sizeof(path), "%s/at_once_%d.so", directory, i);
		copy_library(path);
		handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		assert_non_null(handle);
		address = dlsym(handle, "zlibVersion");
		for (int t = 0; t < 2; t++)
			assert_int_equal(pthread_create(&threads[t], NULL,
							find_in_thread,
							address),
					 0);
		for (int t = 0; t < 2; t++)
			pthread_join(threads[t], &numbers[t]);
		assert_ptr_equal(numbers[0], numbers[1]);
		assert_string_equal(path_of((unsigned)(uintptr_t)numbers[0]),
				    path);
		unlink(path);
	}
}

/* Where glibc has no _dl_find_object: what was loaded at start-up. */
static void
test_snapshot(void **state)
{
	struct loader_object live, snapshot;
	uintptr_t qsort_at = (uintptr_t)dlsym(RTLD_DEFAULT, "qsort");
	struct loader_names names, live_names;

	(void)state;
	assert_true(loader_find(qsort_at, &live));
	assert_true(loader_names(&live, &live_names));
	assert_int_equal(loader_init(true), 0);
	assert_true(loader_find(qsort_at, &snapshot));
	assert_true(loader_names(&snapshot, &names));
	assert_int_equal(snapshot.map_start, live.map_start);
	assert_int_equal(snapshot.eh_frame_hdr, live.eh_frame_hdr);
	assert_int_equal(names.bias, live_names.bias);
	assert_string_equal((const char *)names.name,
			    (const char *)live_names.name);
	assert_true(loader_find((uintptr_t)&test_snapshot, &snapshot));
	assert_false(loader_find(8, &snapshot));
}

static void
test_snapshot_no_more(void **state)
{
	(void)state;
	assert_int_equal(loader_init(false), 0);
}

static void
test_reads_up_to_a_hole(void **state)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char got[64];

	(void)state;
	assert_ptr_not_equal(pages, MAP_FAILED);
	memset(pages, 'a', 4096);
	assert_return_code(munmap(pages + 4096, 4096), errno);
	assert_int_equal(loader_read(got, (uintptr_t)pages + 4096 - 10, 64),
			 10);
	assert_memory_equal(got, "aaaaaaaaaa", 10);
	assert_int_equal(loader_read(got, (uintptr_t)pages + 4096, 64), 0);
	assert_int_equal(loader_read(got, 0, 64), 0);
}

static int
setup(void **state)
{
	(void)state;
	if (mkdtemp(directory) == NULL || find_libz() != 0 ||
	    region_init((size_t)16 << 20, 1) != 0 || modules_init() != 0)
		return -1;
	return 0;
}

static int
teardown(void **state)
{
	char path[64];

	(void)state;
	snprintf(path, sizeof(path), "%s/one.so", directory);
	unlink(path);
	snprintf(path, sizeof(path), "%s/other.so", directory);
	unlink(path);
	return rmdir(directory);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_a_record_says),
		cmocka_unit_test(test_vdso),
		cmocka_unit_test(test_no_module),
		cmocka_unit_test(test_in_turn_at_one_address),
		cmocka_unit_test(test_closes_in_one_another),
		cmocka_unit_test(test_found_by_two_threads_at_once),
		cmocka_unit_test(test_snapshot),
		/* The same once more, from the snapshot. */
		cmocka_unit_test(test_in_turn_at_one_address),
		cmocka_unit_test(test_closes_in_one_another),
		cmocka_unit_test(test_found_by_two_threads_at_once),
		cmocka_unit_test(test_snapshot_no_more),
		cmocka_unit_test(test_reads_up_to_a_hole),
		cmocka_unit_test(test_reloads_take_no_longer),
		cmocka_unit_test(test_full_table_answers_at_once),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("modules", tests, setup, teardown);
}
