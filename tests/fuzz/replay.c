/* Stands in for libFuzzer in ordinary builds: gives each file named on the command line to the fuzz target once. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_LIMIT_BYTES = 1 << 20 };

/* Each input gets an allocation of its exact size, so that a sanitizer sees the first byte read past it. */
static int replay_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	if (!file) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return 1;
	}
	uint8_t *buffer = malloc(INPUT_LIMIT_BYTES);
	size_t size = buffer ? fread(buffer, 1, INPUT_LIMIT_BYTES, file) : 0;
	bool is_whole = buffer && !ferror(file) && size < INPUT_LIMIT_BYTES;
	fclose(file);
	uint8_t *exact = is_whole ? realloc(buffer, size ? size : 1) : NULL;
	if (exact)
		LLVMFuzzerTestOneInput(exact, size);
	else
		fprintf(stderr, "%s: not read; inputs are below %d bytes\n", path, INPUT_LIMIT_BYTES);
	free(exact ? exact : buffer);
	return exact ? 0 : 1;
}

int main(int argc, char **argv)
{
	int failed_count = 0;
	for (int i = 1; i < argc; i++)
		failed_count += replay_file(argv[i]);
	printf("%d inputs replayed, %d not read\n", argc - 1 - failed_count, failed_count);
	return argc > 1 && failed_count == 0 ? 0 : 1;
}
