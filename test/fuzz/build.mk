# SPDX-License-Identifier: Apache-2.0
# Fuzzers of what reads files that others made: `make fuzz FUZZ_SECONDS=3600`
# runs each of them so long, several at once with FUZZ_JOBS. clang brings
# libFuzzer; the corpora are in test/fuzz/corpus/NAME, what is found on the way
# goes to build/fuzz/NAME.
#
# FUZZ_LIBS may name static libraries that were built with
# -fsanitize=fuzzer-no-link,address,undefined: libdw and libelf, then, are
# searched as thoroughly as our own code.

FUZZ_SECONDS ?= 60
FUZZ_JOBS ?= 1
FUZZ_CC ?= clang-14
FUZZ_LIBS ?= $(SYMBOLIZE_LIBS)
fuzz_src := $(wildcard test/fuzz/*_fuzz.c)
fuzz_bin := $(fuzz_src:test/fuzz/%.c=$(B)/test/fuzz/%)

.PHONY: fuzz
fuzz: $(fuzz_bin)
	$(Q)printf '%s\n' $(fuzz_bin) | ASAN_OPTIONS=allocator_may_return_null=1 \
		xargs -P $(FUZZ_JOBS) -n 1 ./test/fuzz/run $(FUZZ_SECONDS)

$(B)/test/fuzz/%: test/fuzz/%.c $$(call symbolize_of,test/fuzz/$$*.c) \
		Makefile test/fuzz/build.mk
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(FUZZ_CC) $(BASE_CFLAGS) -O1 -g -Isymbolize -Iagent -I$(B)/symbolize \
		-fsanitize=fuzzer,address,undefined \
		-fno-sanitize-recover=undefined -o $@ $< \
		$(call symbolize_of,$<) $(FUZZ_LIBS)

# The same without clang and libFuzzer, to run over the corpora as a test.
replay_bin := $(fuzz_src:test/fuzz/%_fuzz.c=$(B)/test/fuzz/%_replay)
tests: $(replay_bin)

$(B)/test/fuzz/%_replay: test/fuzz/%_fuzz.c test/fuzz/replay.c \
		$$(call symbolize_of,test/fuzz/$$*_fuzz.c) Makefile
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BASE_CFLAGS) -O1 -g -Isymbolize -Iagent -I$(B)/symbolize \
		-fsanitize=address,undefined -fno-sanitize-recover=undefined \
		-o $@ $< test/fuzz/replay.c $(call symbolize_of,$<) \
		$(SYMBOLIZE_LIBS)
