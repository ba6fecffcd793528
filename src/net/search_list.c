/* See search_list.h. c-ares 1.18 tells what it found in the file, 1.34 does not. */
#include "net/search_list.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void search_list_init(struct search_list *l)
{
	*l = (struct search_list){.ndots = 1};
	arena_init(&l->arena);
}

void search_list_fini(struct search_list *l)
{
	arena_fini(&l->arena);
	search_list_init(l);
}

/* Cuts the next word from *rest. */
static bool next_word(struct slice *rest, struct slice *ret_word)
{
	static const char blanks[] = " \t\r\n";
	size_t begin = 0, end;
	while (begin < rest->length && memchr(blanks, rest->data[begin], sizeof blanks))
		begin++;
	for (end = begin; end < rest->length && !memchr(blanks, rest->data[end], sizeof blanks); end++)
		;
	*ret_word = (struct slice){rest->data + begin, end - begin};
	*rest = slice_from(*rest, end);
	return end > begin;
}

static void add(struct search_list *l, struct slice domain)
{
	while (domain.length > 0 && domain.data[domain.length - 1] == '.')
		domain.length--;
	if (domain.length == 0 || l->count == SEARCH_DOMAINS)
		return;
	const char *copy = arena_text(&l->arena, domain);
	if (copy)
		l->domains[l->count++] = copy;
	else
		l->is_incomplete = true;
}

static void read_options(struct search_list *l, struct slice rest)
{
	struct slice word, prefix = SLICE("ndots:");
	int64_t ndots;
	while (next_word(&rest, &word))
		if (slice_starts(word, prefix) && slice_to_number(slice_from(word, prefix.length), &ndots))
			l->ndots = ndots > SEARCH_MOST_NDOTS ? SEARCH_MOST_NDOTS : (size_t)ndots;
}

/* Of several domain and search lines the last one counts; "search ." says that there is no list. */
static void read_line(struct search_list *l, struct slice line)
{
	struct slice key, word;
	if (!next_word(&line, &key))
		return;
	if (slice_equal(key, SLICE("options")))
		read_options(l, line);
	bool is_search = slice_equal(key, SLICE("search"));
	if (!is_search && !slice_equal(key, SLICE("domain")))
		return;
	l->count = 0;
	l->is_said = true;
	while (next_word(&line, &word) && (is_search || l->count == 0))
		add(l, word);
}

static void add_own_domain(struct search_list *l)
{
	char name[HOST_NAME_MAX + 1];
	if (gethostname(name, sizeof name))
		return;
	name[sizeof name - 1] = 0;
	const char *dot = strchr(name, '.');
	if (dot)
		add(l, slice_of(dot + 1));
}

bool search_list_read(struct search_list *l, const char *path)
{
	struct search_list fresh;
	char *line = NULL;
	size_t room = 0;
	ssize_t length;
	FILE *file = fopen(path, "re");
	if (!file && errno != ENOENT && errno != EACCES)
		return false;
	search_list_init(&fresh);
	while (file && (length = getline(&line, &room, file)) > 0)
		read_line(&fresh, (struct slice){line, (size_t)length});
	if (file)
		fclose(file);
	free(line);
	if (!fresh.is_said)
		add_own_domain(&fresh);
	if (fresh.is_incomplete) {
		search_list_fini(&fresh);
		return false;
	}
	search_list_fini(l);
	*l = fresh;
	return true;
}
