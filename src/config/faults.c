/* The list of faults: formatted when found, put in order when shown. */
#include "config/faults.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct fault {
	struct fault *next;
	size_t file_rank, sequence;
	int line;
	char text[];
};

struct fault_file {
	struct fault_file *next;
	char name[];
};

void faults_init(struct faults *f)
{
	*f = (struct faults){.last = &f->first};
}

void faults_fini(struct faults *f)
{
	while (f->first) {
		struct fault *next = f->first->next;
		free(f->first);
		f->first = next;
	}
	while (f->files) {
		struct fault_file *next = f->files->next;
		free(f->files);
		f->files = next;
	}
	faults_init(f);
}

/* When memory is short the rank is that of the next file: only the order suffers. */
static size_t file_rank(struct faults *f, const char *name)
{
	size_t rank = 0;
	struct fault_file **link = &f->files;
	for (; *link; link = &(*link)->next, rank++)
		if (strcmp((*link)->name, name) == 0)
			return rank;
	size_t size = strlen(name) + 1;
	*link = malloc(sizeof **link + size);
	if (*link) {
		(*link)->next = NULL;
		memcpy((*link)->name, name, size);
	}
	return rank;
}

void faults_file(struct faults *f, const char *file)
{
	file_rank(f, file);
}

static void print_place(FILE *out, const char *file, int line, const char *section, const char *key)
{
	if (file && line)
		fprintf(out, "%s:%d: ", file, line);
	else if (file)
		fprintf(out, "%s: ", file);
	if (section && *section)
		fprintf(out, "[%s] ", section);
	if (key && *key)
		fprintf(out, "%s: ", key);
}

static struct fault *make_fault(const char *text, size_t length)
{
	struct fault *fault = malloc(sizeof *fault + length + 1);
	if (!fault)
		return NULL;
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)text[i];
		fault->text[i] = c < 0x20 || c == 0x7f ? '?' : text[i];
	}
	fault->text[length] = 0;
	return fault;
}

/* A fault that finds no memory is counted and shown as such. */
void faults_add(
        struct faults *f, const char *file, int line, const char *section, const char *key, const char *format, ...)
{
	char *text = NULL;
	size_t length = 0;
	size_t sequence = f->count++;
	FILE *out = open_memstream(&text, &length);
	if (!out)
		return;
	va_list args;
	va_start(args, format);
	print_place(out, file, line, section, key);
	vfprintf(out, format, args);
	va_end(args);
	struct fault *fault = fclose(out) == 0 ? make_fault(text, length) : NULL;
	free(text);
	if (!fault)
		return;
	fault->next = NULL;
	fault->file_rank = file ? file_rank(f, file) : 0;
	fault->line = line;
	fault->sequence = sequence;
	*f->last = fault;
	f->last = &fault->next;
}

static int compare(const void *a, const void *b)
{
	const struct fault *x = *(const struct fault *const *)a, *y = *(const struct fault *const *)b;
	if (x->file_rank != y->file_rank)
		return x->file_rank < y->file_rank ? -1 : 1;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return x->sequence < y->sequence ? -1 : 1;
}

static void print_in_order(const struct faults *f, const struct fault **order, size_t count, FILE *out)
{
	size_t i = 0;
	for (const struct fault *fault = f->first; fault; fault = fault->next)
		order[i++] = fault;
	qsort(order, count, sizeof(const struct fault *), compare);
	for (i = 0; i < count; i++)
		fprintf(out, "%s\n", order[i]->text);
}

void faults_print(const struct faults *f, FILE *out)
{
	size_t kept = 0;
	for (const struct fault *fault = f->first; fault; fault = fault->next)
		kept++;
	const struct fault **order = kept ? malloc(kept * sizeof(const struct fault *)) : NULL;
	if (order)
		print_in_order(f, order, kept, out);
	else
		kept = 0;
	free(order);
	if (f->count > kept)
		fprintf(out, "%zu more faults, not shown: memory is short\n", f->count - kept);
}
