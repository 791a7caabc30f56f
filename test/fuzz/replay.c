/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.c - main() of a fuzzer without libFuzzer: each file named is an
 * input, and what the fuzzer demands holds for it in bounded time.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* Ten times what the slowest takes under valgrind. */
#define SECONDS_PER_INPUT 20
#define INPUT_MAX_BYTES (1 << 20)

int
main(int argc, char **argv)
{
	uint8_t *data = malloc(INPUT_MAX_BYTES);
	for (int i = 1; data && i < argc; i++) {
		FILE *file = fopen(argv[i], "rb");
		if (!file) {
			perror(argv[i]);
			return 1;
		}
		size_t bytes = fread(data, 1, INPUT_MAX_BYTES, file);
		fclose(file);
		alarm(SECONDS_PER_INPUT);
		LLVMFuzzerTestOneInput(data, bytes);
	}
	free(data);
	fprintf(stderr, "replayed %d\n", argc - 1);
	return argc > 1 ? 0 : 1;
}
