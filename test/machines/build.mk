# SPDX-License-Identifier: Apache-2.0
# The tests on other libcs, kernels and processors: `make machines`. Not part of
# the tests: it downloads two Debians and emulates processors.

.PHONY: machines
machines: all tools
	$(Q)./scripts/install-packages machines
	$(Q)./test/machines/run $(ONLY)
