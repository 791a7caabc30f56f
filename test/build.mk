# SPDX-License-Identifier: Apache-2.0
# Tests: a unit or stress test names what it links in a comment line of its
# own, `LINK: live region sys`, agent modules without path and suffix: that
# the test builds proves that the module needs no more than those.

TEST_CFLAGS := $(BASE_CFLAGS) -O1 -g -Iagent -Itest -Itest/unit
unit_src := $(wildcard test/unit/*_test.c)
unit_bin := $(unit_src:test/unit/%.c=$(B)/test/unit/%)
prog_src := $(wildcard test/prog/*.c)
prog_bin := $(prog_src:test/prog/%.c=$(B)/test/prog/%)

link_of = $(patsubst %,agent/%.c,$(shell sed -n 's/^.*LINK: *\([^*]*\).*$$/\1/p' $(1)))
libs_of = $(shell sed -n 's/^.*LIBS: *\([^*]*\).*$$/\1/p' $(1))
# Modules of the command, `SYMBOLIZE: profile table`; "proto" are its messages.
symbolize_of = $(patsubst symbolize/proto.c,$(symbolize_pb_c),\
	$(patsubst %,symbolize/%.c,\
	$(shell sed -n 's/^.*SYMBOLIZE: *\([^*]*\).*$$/\1/p' $(1))))
# A program states its own compiler flags the same way: `CFLAGS: -O0`.
cflags_of = $(shell sed -n 's/^.*CFLAGS: *\([^*]*\).*$$/\1/p' $(1))

# $(call build_program,FLAGS,SOURCES,LIBRARIES): one compiler call a source, as
# one for all would write down the headers of the last source alone. (The
# line that is added lets a source be removed, as -MP does for headers.)
define build_program
	$(Q)rm -rf $@.parts && mkdir -p $@.parts
	$(Q)set -e; for source in $(2); do \
		part=$@.parts/$$(echo $$source | tr / _); \
		$(CC) $(1) -MT $@ -MF $$part.d -c -o $$part.o $$source; \
		echo "$$source:" >>$$part.d; \
	done
	$(Q)$(CC) $(1) -o $@ $@.parts/*.o $(3)
endef

.PHONY: tests
tests: $(unit_bin) $(prog_bin)

.SECONDEXPANSION:
$(B)/test/unit/%: test/unit/%.c $$(call link_of,test/unit/$$*.c) \
		$$(call symbolize_of,test/unit/$$*.c) Makefile
	$(call say,CC,$<)
	$(call build_program,$(TEST_CFLAGS) $(if $(call symbolize_of,$<),-Isymbolize \
		-I$(B)/symbolize) $(call cflags_of,$<),$< $(call link_of,$<) \
		$(call symbolize_of,$<),-lcmocka -ldl $(call libs_of,$<))

# A program may link agent modules, too; most do not.
$(B)/test/prog/%: test/prog/%.c $$(call link_of,test/prog/$$*.c) Makefile
	$(call say,CC,$<)
	$(call build_program,$(TEST_CFLAGS) $(call cflags_of,$<),$< \
		$(call link_of,$<),-pthread -ldl $(call libs_of,$<))

# C++ programs, and libraries that programs open or that are preloaded.
prog_cc_src := $(wildcard test/prog/*.cc)
prog_lib_src := $(wildcard test/prog/lib/*.c)
prog_more := $(prog_cc_src:test/prog/%.cc=$(B)/test/prog/%) \
	$(prog_lib_src:test/prog/lib/%.c=$(B)/test/prog/lib/%.so)
tests: $(prog_more)

$(B)/test/prog/%: test/prog/%.cc Makefile
	$(call say,CXX,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) -std=c++17 -Wall -Wextra -D_GNU_SOURCE -O1 -g -MMD -MP \
		$(call cflags_of,$<) -o $@ $< -pthread -ldl \
		$(call libs_of,$<)

$(B)/test/prog/lib/%.so: test/prog/lib/%.c Makefile
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(TEST_CFLAGS) -fPIC -shared $(call cflags_of,$<) -o $@ $< \
		$(call libs_of,$<)

# Stress tests run under ThreadSanitizer, outside the preload.
stress_src := $(wildcard test/stress/*_stress.c)
stress_bin := $(stress_src:test/stress/%.c=$(B)/test/stress/%)
tests: $(stress_bin)

$(B)/test/stress/%: test/stress/%.c $$(call link_of,test/stress/$$*.c) Makefile
	$(call say,CC,$<)
	$(call build_program,$(TEST_CFLAGS) -O2 -fsanitize=thread \
		$(call cflags_of,$<),$< $(call link_of,$<),-lcmocka -pthread \
		$(call libs_of,$<))

include test/tools/build.mk
include test/bench/build.mk
include test/fuzz/build.mk
include test/load/build.mk
include test/machines/build.mk
include test/sweep/build.mk
