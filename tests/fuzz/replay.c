/* Stands in for libFuzzer in ordinary builds: gives each file named on the command line, and each file of a directory
 * named there, to the fuzz target once. A directory without a file is a failure. */
#include <dirent.h>
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

struct replayed {
	int good, failed;
};

static void replay(const char *path, struct replayed *);

static void replay_directory(DIR *directory, const char *path, struct replayed *sums)
{
	struct replayed before = *sums;
	for (struct dirent *entry; (entry = readdir(directory));) {
		char name[4096];
		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
		replay(name, sums);
	}
	if (sums->good > before.good || sums->failed > before.failed)
		return;
	fprintf(stderr, "%s: holds no input\n", path);
	sums->failed++;
}

static void replay(const char *path, struct replayed *sums)
{
	DIR *directory = opendir(path);
	if (directory) {
		replay_directory(directory, path, sums);
		closedir(directory);
	} else if (replay_file(path) == 0) {
		sums->good++;
	} else {
		sums->failed++;
	}
}

int main(int argc, char **argv)
{
	struct replayed sums = {0};
	for (int i = 1; i < argc; i++)
		replay(argv[i], &sums);
	printf("%d inputs replayed, %d not read\n", sums.good, sums.failed);
	return sums.good > 0 && sums.failed == 0 ? 0 : 1;
}
