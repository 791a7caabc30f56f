# SPDX-License-Identifier: Apache-2.0
# The command build/heapagent: every symbolize/*.c, and the messages of
# symbolize/proto/*.proto, whose code protobuf-c's compiler writes into
# build/symbolize/proto/ (included as "proto/NAME.pb-c.h").

SYMBOLIZE_CFLAGS := $(BASE_CFLAGS) -Isymbolize -Iagent -I$(B)/symbolize
SYMBOLIZE_LIBS := -ldw -lelf -lprotobuf-c -lpcre2-8 -lz -llzma -liberty -ldl -lm

symbolize_proto := $(wildcard symbolize/proto/*.proto)
symbolize_pb_c := $(symbolize_proto:%.proto=$(B)/%.pb-c.c)
symbolize_pb_h := $(symbolize_proto:%.proto=$(B)/%.pb-c.h)
# Made on the way, and wanted again by the next build.
.SECONDARY: $(symbolize_pb_c) $(symbolize_pb_h)

# `run` has the agent's own opinion of a setting's value, `dump` of which calls
# a signal ends.
symbolize_agent := config log sys restart_table

symbolize_src := $(wildcard symbolize/*.c)
symbolize_obj := $(symbolize_src:%.c=$(B)/%.o) $(symbolize_pb_c:%.c=%.o) \
	$(symbolize_agent:%=$(B)/agent/%.o)

# Made by a pattern rule, and kept: others include the headers.
.SECONDARY: $(symbolize_pb_c) $(symbolize_pb_h)

# Libraries of which nothing is used yet do not become a need of the command.
$(B)/heapagent: $(symbolize_obj)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) -Wl,--as-needed -Wl,-z,now,-z,relro -o $@ \
		$(symbolize_obj) $(SYMBOLIZE_LIBS)

$(B)/symbolize/%.o: symbolize/%.c Makefile symbolize/build.mk \
		| $(symbolize_pb_h)
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(SYMBOLIZE_CFLAGS) -c -o $@ $<

$(B)/symbolize/proto/%.o: $(B)/symbolize/proto/%.c
	$(call say,CC,$<)
	$(Q)$(CC) $(CFLAGS) -std=gnu17 -I$(B)/symbolize -c -o $@ $<

$(B)/symbolize/proto/%.pb-c.c $(B)/symbolize/proto/%.pb-c.h &: \
		symbolize/proto/%.proto
	$(call say,PROTOC,$<)
	$(Q)mkdir -p $(B)/symbolize/proto
	$(Q)protoc-c --proto_path=symbolize --c_out=$(B)/symbolize $<

# The page is part of the program (.incbin).
$(B)/symbolize/flame_page.o: symbolize/flame.html
