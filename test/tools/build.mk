# SPDX-License-Identifier: Apache-2.0
# Tools that tests read profiles with, and one that writes them without a
# program to be profiled. None is installed.

tools_dir := $(B)/test/tools
tools := $(tools_dir)/pprof_decode $(tools_dir)/pprof_encode \
	$(tools_dir)/checkvalid $(tools_dir)/profile_make \
	$(tools_dir)/torment

.PHONY: tools
tools: $(tools)
tests: $(tools)

$(tools_dir)/profile.pb-c.c $(tools_dir)/profile.pb-c.h &: \
		symbolize/proto/profile.proto
	$(call say,PROTOC,$<)
	$(Q)mkdir -p $(tools_dir)
	$(Q)protoc-c --proto_path=symbolize/proto --c_out=$(tools_dir) \
		profile.proto

$(tools_dir)/pprof_decode: test/tools/pprof_decode.c \
		$(tools_dir)/profile.pb-c.c $(tools_dir)/profile.pb-c.h
	$(call say,CC,$<)
	$(Q)$(CC) $(CFLAGS) $(BASE_CFLAGS) -I$(tools_dir) -o $@ $< \
		$(tools_dir)/profile.pb-c.c -lprotobuf-c -lz

pprof_encode_src := test/tools/pprof_encode.c \
	$(patsubst %,agent/%.c,heap_profile pprof wire gzip file arena sys)
$(tools_dir)/pprof_encode: $(pprof_encode_src)
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(BASE_CFLAGS) -Iagent -Itest -o $@ \
		$(pprof_encode_src) $(AGENT_LIBS) -lm

# Debian's golang-github-google-pprof-dev has the source where GOPATH says.
$(tools_dir)/checkvalid: test/tools/checkvalid.go
	$(call say,GO,$<)
	$(Q)mkdir -p $(@D)
	$(Q)GO111MODULE=off GOPATH=/usr/share/gocode GOFLAGS= \
		GOCACHE=$(abspath $(B))/go-cache go build -o $@ $<

$(tools_dir)/torment: test/tools/torment.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(BASE_CFLAGS) -o $@ $<

profile_make_obj := $(patsubst %,$(B)/symbolize/%.o,profile profile_check \
	profile_file target legacy_text legacy_thread legacy_place table memory utf8 reason proto/profile.pb-c)
$(tools_dir)/profile_make: test/tools/profile_make.c $(profile_make_obj)
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(SYMBOLIZE_CFLAGS) -o $@ $< $(profile_make_obj) \
		$(SYMBOLIZE_LIBS)
