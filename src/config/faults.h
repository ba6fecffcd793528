/* Faults of a configuration, gathered so that one run shows them all. */
#ifndef CONFIG_FAULTS_H
#define CONFIG_FAULTS_H

#include <stddef.h>
#include <stdio.h>

struct fault;
struct fault_file;

struct faults {
	struct fault *first, **last;
	struct fault_file *files; /* in the order in which their faults are shown */
	size_t count;
};

void faults_init(struct faults *);
void faults_fini(struct faults *);
/* Files come in the order in which they were first named, by this or by their first fault. */
void faults_file(struct faults *, const char *file);
/* Adds `FILE:LINE: [section] key: text`. file NULL: no place; line 0: no line; section or key NULL or "": left out.
 * Control bytes in the text become '?'. */
void faults_add(struct faults *, const char *file, int line, const char *section, const char *key, const char *format,
        ...) __attribute__((format(printf, 6, 7)));
/* One line a fault, by file and line, and as they were found within a line. */
void faults_print(const struct faults *, FILE *);

#endif
