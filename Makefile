# SPDX-License-Identifier: Apache-2.0
# heapagent: `make` builds build/libheapagent.so and build/heapagent.
# `make V=1` shows the commands. Packages: scripts/install-packages.

VERSION := 0.1.0
PREFIX ?= /usr/local
CC ?= gcc
CFLAGS ?= -O2 -g
B := build

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wpointer-arith -Wcast-qual -Wwrite-strings -Wvla -Wundef
BASE_CFLAGS := -std=gnu17 $(WARNINGS) -D_GNU_SOURCE \
	-DHEAPAGENT_VERSION='"$(VERSION)"' -MMD -MP

# The agent: hidden symbols, static TLS, no lazy binding (the resolver could
# take the loader lock in the dump child), tail calls in the hooks.
AGENT_CFLAGS := $(BASE_CFLAGS) -Iagent -fPIC -fvisibility=hidden \
	-ftls-model=initial-exec -fno-stack-protector -fno-math-errno \
	-fno-trapping-math -foptimize-sibling-calls -fasynchronous-unwind-tables
AGENT_LDFLAGS = -shared -Wl,-soname,$(@F) \
	-Wl,--version-script=agent/$(@F:.so=.map) -Wl,--exclude-libs,ALL \
	-Wl,-z,now,-z,relro,-z,nodelete,-z,defs,-z,noexecstack \
	-Wl,--no-undefined -Wl,--gc-sections
AGENT_LIBS := -l:libz.a

Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-7s %s\n' $(1) $(2))

# The same library twice: with operator new and delete, and without.
agent_src := $(filter-out agent/operators.c,$(wildcard agent/*.c))
agent_obj := $(agent_src:%.c=$(B)/%.o)

.PHONY: all check bench lint format install demo clean
all: $(B)/libheapagent.so $(B)/libheapagent-cxx.so $(B)/heapagent

$(B)/libheapagent.so: $(agent_obj) agent/libheapagent.map
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(AGENT_LDFLAGS) -o $@ $(agent_obj) $(AGENT_LIBS)

$(B)/libheapagent-cxx.so: $(agent_obj) $(B)/agent/operators.o \
		agent/libheapagent-cxx.map
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(AGENT_LDFLAGS) -o $@ $(agent_obj) \
		$(B)/agent/operators.o $(AGENT_LIBS)

$(B)/agent/%.o: agent/%.c Makefile
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(AGENT_CFLAGS) -c -o $@ $<

$(B)/agent/bytes.o: AGENT_CFLAGS += -ffreestanding \
	-fno-tree-loop-distribute-patterns

include symbolize/build.mk
include test/build.mk

check: all tests
	$(Q)./scripts/run-tests

install: all
	install -D -m 0755 $(B)/libheapagent.so \
		$(DESTDIR)$(PREFIX)/lib/heapagent/libheapagent.so
	install -D -m 0755 $(B)/libheapagent-cxx.so \
		$(DESTDIR)$(PREFIX)/lib/heapagent/libheapagent-cxx.so
	install -D -m 0755 $(B)/heapagent $(DESTDIR)$(PREFIX)/bin/heapagent
	install -D -m 0644 docs/heapagent.1 \
		$(DESTDIR)$(PREFIX)/share/man/man1/heapagent.1
	install -D -m 0644 scripts/heapagent.bash \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/heapagent

format:
	$(Q)clang-format -i $$(git ls-files '*.c' '*.h' '*.cc')

lint:
	$(Q)./scripts/lint

demo:
	$(Q)./scripts/demo

clean:
	rm -rf $(B)

-include $(shell find $(B) -name '*.d' 2>/dev/null)
