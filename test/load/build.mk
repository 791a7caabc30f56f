# SPDX-License-Identifier: Apache-2.0
# Servers under load with a dump every second: `make soak SOAK_SECONDS=300`, or
# `make soak ONLY=nginx`. Not part of the tests: it measures, and takes minutes.

SOAK_SECONDS ?= 300

.PHONY: soak
$(B)/test/load/client: test/load/client.c test/bench/measure.h Makefile
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BASE_CFLAGS) -O2 -g -Itest/bench -o $@ $< -pthread -lm

soak: all $(B)/test/tools/checkvalid $(B)/test/load/client
	$(Q)./scripts/install-packages soak
	$(Q)./test/load/run $(SOAK_SECONDS) $(ONLY)
