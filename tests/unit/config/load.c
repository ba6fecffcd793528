/* See load.h. */
#include "load.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct config *load_bytes(const void *bytes, size_t length, const char *const *overrides, struct faults *faults)
{
	struct config_source source = {.path = "t.ini", .overrides = overrides};
	while (overrides && overrides[source.override_count])
		source.override_count++;
	FILE *stream = length ? fmemopen((void *)(uintptr_t)bytes, length, "r") : fopen("/dev/null", "re");
	assert_non_null(stream);
	struct config *config = config_load_stream(&source, stream, faults);
	fclose(stream);
	return config;
}

char *faults_text(const struct faults *faults)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	assert_non_null(out);
	faults_print(faults, out);
	fclose(out);
	return text;
}

char *config_text(const struct config *config)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	assert_non_null(out);
	config_print(config, out);
	fclose(out);
	return text;
}

/* Its faults live on: what is loaded here may be asked to report more. */
struct config *load_good(const char *text)
{
	static struct faults faults;
	faults_init(&faults);
	struct config *config = load_bytes(text, strlen(text), NULL, &faults);
	if (!config)
		faults_print(&faults, stderr);
	faults_fini(&faults);
	assert_non_null(config);
	return config;
}

char *load_faults(const void *bytes, size_t length, const char *const *overrides)
{
	struct faults faults;
	faults_init(&faults);
	struct config *config = load_bytes(bytes, length, overrides, &faults);
	assert_null(config);
	char *text = faults_text(&faults);
	faults_fini(&faults);
	return text;
}

void expect_faults(const char *text, const char *wanted)
{
	char *found = load_faults(text, strlen(text), NULL);
	assert_string_equal(found, wanted);
	free(found);
}
