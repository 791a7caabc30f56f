# SPDX-License-Identifier: Apache-2.0
# Fuzzers of what reads files that others made: `make fuzz FUZZ_SECONDS=3600`.
# clang brings libFuzzer; the corpora are in test/fuzz/corpus/NAME.

FUZZ_SECONDS ?= 60
FUZZ_CC ?= clang-14
fuzz_src := $(wildcard test/fuzz/*_fuzz.c)
fuzz_bin := $(fuzz_src:test/fuzz/%.c=$(B)/test/fuzz/%)

.PHONY: fuzz
fuzz: $(fuzz_bin)
	$(Q)for fuzzer in $(fuzz_bin); do \
		name=$$(basename $$fuzzer _fuzz); \
		mkdir -p $(B)/fuzz/$$name; \
		ASAN_OPTIONS=allocator_may_return_null=1 \
		$$fuzzer -max_total_time=$(FUZZ_SECONDS) -timeout=20 \
			-rss_limit_mb=4096 -max_len=65536 \
			-artifact_prefix=$(B)/fuzz/$$name- \
			$(B)/fuzz/$$name test/fuzz/corpus/$$name || exit 1; \
	done

$(B)/test/fuzz/%: test/fuzz/%.c $$(call symbolize_of,test/fuzz/$$*.c) \
		Makefile
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(FUZZ_CC) $(BASE_CFLAGS) -O1 -g -Isymbolize -I$(B)/symbolize \
		-fsanitize=fuzzer,address,undefined -o $@ $< \
		$(call symbolize_of,$<) $(SYMBOLIZE_LIBS)
