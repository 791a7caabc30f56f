# SPDX-License-Identifier: Apache-2.0
# Yama's four settings, in a virtual machine with Debian's kernel: `make yama`.
# Not part of the tests: it downloads a kernel and emulates a processor.

.PHONY: yama
yama: all $(B)/test/prog/dump_threads
	$(Q)./scripts/install-packages yama
	$(Q)./test/yama/run
