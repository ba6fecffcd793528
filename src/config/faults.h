/* Faults of a configuration, gathered so that one run shows them all. */
#ifndef CONFIG_FAULTS_H
#define CONFIG_FAULTS_H

#include <stddef.h>
#include <stdio.h>

struct fault;

struct faults {
	struct fault *first, **last;
	size_t count;
};

void faults_init(struct faults *);
void faults_fini(struct faults *);
/* Adds `FILE:LINE: [section] key: text`. file NULL: no place; line 0: no line; section or key NULL or "": left out. */
void faults_add(struct faults *, const char *file, int line, const char *section, const char *key, const char *format, ...)
	__attribute__((format(printf, 6, 7)));
/* One line a fault, in order of file and line as they were found. */
void faults_print(const struct faults *, FILE *);

#endif
