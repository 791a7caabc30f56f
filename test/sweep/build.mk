# SPDX-License-Identifier: Apache-2.0
# Every program of a machine, with and without the agent: `make sweep`, or
# `make sweep ONLY="tasks guile"`. Not part of the tests: it installs some two
# hundred packages (6 GB) and takes half an hour.

.PHONY: sweep
sweep: all $(B)/test/tools/torment $(B)/test/tools/checkvalid
	$(Q)./scripts/install-packages sweep
	$(Q)./test/sweep/run $(ONLY)
