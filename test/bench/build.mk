# SPDX-License-Identifier: Apache-2.0
# Benchmarks: `make bench`, or `make bench ONLY="pairs start"`. What each
# measures is said in docs/performance.md. Their programs are built as a
# release would be; LINK:, LIBS: and CFLAGS: lines as in tests.

BENCH_CFLAGS := $(BASE_CFLAGS) -O2 -g -Iagent -Itest/bench
bench_src := $(wildcard test/bench/*.c)
bench_bin := $(filter-out $(B)/test/bench/forward, \
	$(bench_src:test/bench/%.c=$(B)/test/bench/%)) \
	$(B)/test/bench/libforward.so

.PHONY: benches
benches: $(bench_bin)

$(B)/test/bench/libforward.so: test/bench/forward.c Makefile
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BENCH_CFLAGS) -fPIC -shared -Wl,-z,now -o $@ $< -ldl

$(B)/test/bench/%: test/bench/%.c $$(call link_of,test/bench/$$*.c) Makefile
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BENCH_CFLAGS) $(call cflags_of,$<) -o $@ $< \
		$(call link_of,$<) $(call libs_of,$<) -lm

bench: all benches $(B)/test/tools/profile_make \
		$(B)/test/prog/lib/plugin.so
	$(Q)./test/bench/run $(ONLY)
