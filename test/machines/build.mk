# SPDX-License-Identifier: Apache-2.0
# The tests on other libcs, kernels and processors: `make machines`. Not part of
# the tests: it downloads two Debians and emulates processors.

.PHONY: machines yama
machines: all tools
	$(Q)./scripts/install-packages machines
	$(Q)./test/machines/run $(ONLY)

# Dumps under each of Yama's settings are among the tests of this one.
yama:
	$(Q)$(MAKE) machines ONLY=linux-6.12
