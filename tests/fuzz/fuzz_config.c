/* The configuration: no bytes of a file crash the loader, and what it accepts it writes as a file that loads to the
 * same. */
#include "base/check.h"
#include "config/config.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct config *load(const void *data, size_t size, struct faults *faults)
{
	const struct config_source source = {.path = "fuzz.ini"};
	/* fmemopen takes no empty buffer. */
	FILE *stream = size ? fmemopen((void *)(uintptr_t)data, size, "r") : fopen("/dev/null", "re");
	if (!stream)
		return NULL;
	struct config *config = config_load_stream(&source, stream, faults);
	fclose(stream);
	return config;
}

static char *print(const struct config *config, size_t *ret_length)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, ret_length);
	MUST(out != NULL);
	config_print(config, out);
	fclose(out);
	return text;
}

static void expect_round_trip(const struct config *config)
{
	size_t length = 0, again_length = 0;
	struct faults faults;
	faults_init(&faults);
	char *text = print(config, &length);
	struct config *again = load(text, length, &faults);
	if (!again)
		faults_print(&faults, stderr);
	MUST(again != NULL);
	char *again_text = print(again, &again_length);
	MUST(length == again_length && memcmp(text, again_text, length) == 0);
	free(text);
	free(again_text);
	config_free(&again);
	faults_fini(&faults);
}

static void expect_printed(const struct faults *faults)
{
	char *text = NULL;
	size_t length = 0, lines = 0;
	FILE *out = open_memstream(&text, &length);
	MUST(out != NULL);
	faults_print(faults, out);
	fclose(out);
	for (size_t i = 0; i < length; i++)
		lines += text[i] == '\n';
	MUST(lines == faults->count);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct faults faults;
	faults_init(&faults);
	struct config *config = load(data, size, &faults);
	MUST((config != NULL) == (faults.count == 0));
	if (config)
		expect_round_trip(config);
	else
		expect_printed(&faults);
	config_free(&config);
	faults_fini(&faults);
	return 0;
}
