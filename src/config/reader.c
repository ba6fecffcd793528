/* The line reader between a file and inih; see reader.h. */
#include "config/reader.h"
#include "config/line.h"
#include "config/options.h"
#include <errno.h>
#include <ini.h>
#include <stdlib.h>

enum { KEPT_BYTES = 512, FILE_LIMIT_BYTES = 16 << 20 };

/* What an indented line would continue. */
enum continues { NOTHING, A_VALUE, A_REFUSED_LINE };

/* A value that may still be continued. */
struct pending {
	bool open, broken;
	char *key; /* these two are freed with the reader */
	char *value;
	size_t length, room;
	int line;
};

struct reader {
	FILE *file;
	const char *path;
	struct draft *draft;
	struct draft_section *section;
	enum continues continues;
	bool skipping; /* in a section that was refused */
	bool awaiting; /* inih was given a key or its continuation and has not called back */
	bool ended;
	struct pending pending;
	size_t read_bytes;

	/* The line read last; what exceeds KEPT_BYTES is only counted. */
	int line;
	char text[KEPT_BYTES];
	size_t length;
	int control; /* the first control byte in it; -1: none */
};

static struct place place_of(const struct reader *r)
{
	return (struct place){r->path, r->line};
}

static const char *title_of(const struct reader *r)
{
	return r->section ? r->section->title : NULL;
}

#define line_fault(r, key, ...) faults_add((r)->draft->faults, (r)->path, (r)->line, title_of(r), (key), __VA_ARGS__)

/* ---- pending value ---- */

static bool pending_append(struct pending *p, struct slice text)
{
	size_t needed = p->length + 1 + text.length + 1;
	if (needed > p->room) {
		size_t room = needed * 2;
		char *value = realloc(p->value, room);
		if (!value)
			return false;
		p->value = value;
		p->room = room;
	}
	if (p->length && text.length)
		p->value[p->length++] = ' ';
	if (text.length)
		memcpy(p->value + p->length, text.data, text.length);
	p->length += text.length;
	return true;
}

static void commit(struct reader *r)
{
	struct pending *p = &r->pending;
	if (!p->open)
		return;
	struct slice value = {p->value, p->length};
	draft_add_entry(
	        r->draft, r->section, slice_of(p->key), p->broken ? NULL : &value, (struct place){r->path, p->line});
	free(p->key);
	p->key = NULL;
	p->open = p->broken = false;
	p->length = 0;
}

static void pending_begin(struct reader *r, const char *key, const char *value)
{
	struct pending *p = &r->pending;
	p->key = slice_copy(slice_of(key));
	p->open = p->key != NULL;
	p->line = r->line;
	if (!p->key || !pending_append(p, slice_of(value)))
		r->draft->exhausted = true;
}

/* inih's handler: the pieces of the line that it was just given. */
static int take_pieces(void *user, const char *section, const char *name, const char *value)
{
	struct reader *r = user;
	(void)section;
	if (!r->awaiting)
		return 0;
	r->awaiting = false;
	if (!r->pending.open)
		pending_begin(r, name, value);
	else if (!pending_append(&r->pending, slice_of(value)))
		r->draft->exhausted = true;
	return 1;
}

/* ---- lines ---- */

static struct slice kept(const struct reader *r)
{
	return (struct slice){r->text, r->length < KEPT_BYTES ? r->length : KEPT_BYTES};
}

static void keep(struct reader *r, int c)
{
	bool allowed = (c >= 0x20 && c != 0x7f) || c == '\t';
	if (!allowed && r->control < 0)
		r->control = c;
	if (r->length < KEPT_BYTES)
		r->text[r->length] = (char)c;
	r->length++;
}

static void drop_bom(struct reader *r)
{
	static const char bom[] = "\xef\xbb\xbf";
	if (!slice_starts(kept(r), SLICE(bom)))
		return;
	r->length -= 3;
	memmove(r->text, r->text + 3, KEPT_BYTES - 3);
}

/* Reads a line; a carriage return before its end belongs to the end. false: there is none any more. */
static bool read_line(struct reader *r)
{
	bool carriage_return = false;
	int c;
	r->length = 0;
	r->control = -1;
	r->line++;
	while (c = getc_unlocked(r->file), c != EOF && c != '\n') {
		if (++r->read_bytes > FILE_LIMIT_BYTES) {
			line_fault(r, NULL, "the file is too large; allowed: up to 16m");
			return false;
		}
		if (carriage_return)
			keep(r, '\r');
		carriage_return = c == '\r';
		if (!carriage_return)
			keep(r, c);
	}
	if (c == EOF && ferror(r->file))
		faults_add(r->draft->faults, r->path, 0, NULL, NULL, "cannot be read: %s", strerror(errno));
	if (r->line == 1)
		drop_bom(r);
	return c != EOF || r->length > 0;
}

/* Notes the key of a line that was refused, so that nothing says later that it is missing. */
static void note_refused_key(struct reader *r, struct slice trimmed)
{
	const char *equals = trimmed.length ? memchr(trimmed.data, '=', trimmed.length) : NULL;
	if (!equals || !r->section)
		return;
	struct slice key = slice_trim((struct slice){trimmed.data, (size_t)(equals - trimmed.data)});
	if (options_kind_has(r->section->kind, key))
		draft_add_entry(r->draft, r->section, key, NULL, place_of(r));
}

static bool refuse(struct reader *r)
{
	r->continues = A_REFUSED_LINE;
	return false;
}

static bool refuse_key(struct reader *r, struct slice trimmed)
{
	commit(r);
	note_refused_key(r, trimmed);
	return refuse(r);
}

static bool open_section(struct reader *r, struct slice inner)
{
	size_t kind_length = 0;
	enum config_kind kind;
	while (kind_length < inner.length && !line_is_blank(inner.data[kind_length]))
		kind_length++;
	struct slice kind_name = {inner.data, kind_length};
	struct slice name = slice_trim(slice_from(inner, kind_length));
	if (!options_kind_find(kind_name, &kind)) {
		draft_fault_kind(r->draft, place_of(r), kind_name);
		return false;
	}
	const char *wrong = draft_name_fault(kind, name);
	if (wrong) {
		line_fault(r, NULL, "[%.*s]: %s", SLICE_ARGS(inner), wrong);
		return false;
	}
	const struct draft_section *twin = draft_find_section(r->draft, kind, name);
	r->section = draft_add_section(r->draft, kind, name, place_of(r));
	if (twin)
		line_fault(r, NULL, "such a section was already begun in %s:%d; allowed: one", twin->place.file,
		        twin->place.line);
	return r->section != NULL;
}

/* Both section and key lines begin anew whatever came before. */
static bool take_section(struct reader *r, struct slice line)
{
	commit(r);
	r->section = NULL;
	r->skipping = true;
	r->continues = A_REFUSED_LINE;
	const char *close = memchr(line.data, ']', line.length);
	if (!close) {
		line_fault(r, NULL, "the section's ']' is missing; allowed: [kind] or [kind name]");
		return false;
	}
	struct slice inner = slice_trim((struct slice){line.data + 1, (size_t)(close - line.data) - 1});
	struct slice rest = slice_from(line, (size_t)(close - line.data) + 1);
	if (slice_trim((struct slice){rest.data, line_comment_at(rest)}).length) {
		line_fault(r, NULL, "text after ']'; allowed: nothing, or a blank and a comment with ;");
		return false;
	}
	if (inner.length > LINE_SECTION_LIMIT) {
		line_fault(
		        r, NULL, "a section's name of %zu bytes; allowed: up to %d", inner.length, LINE_SECTION_LIMIT);
		return false;
	}
	if (!open_section(r, inner))
		return false;
	r->skipping = false;
	r->continues = NOTHING;
	return true;
}

static const char *key_fault(const struct reader *r, struct slice line)
{
	struct slice code = {line.data, line_comment_at(line)};
	const char *equals = memchr(code.data, '=', code.length), *colon = memchr(code.data, ':', code.length);
	if (colon && (!equals || colon < equals))
		return "':' does not separate; allowed: key = value";
	if (!equals)
		return "a line without '='; allowed: key = value";
	if (equals == code.data)
		return "no key before '='; allowed: key = value";
	if (!r->section && !r->skipping)
		return "stands before the first section; allowed: comments";
	return NULL;
}

static bool take_key(struct reader *r, struct slice line)
{
	const char *wrong = key_fault(r, line);
	if (wrong)
		line_fault(r, NULL, "%s", wrong);
	if (wrong || r->skipping)
		return refuse_key(r, line);
	commit(r);
	r->continues = A_VALUE;
	r->awaiting = true;
	return true;
}

static bool take_indented(struct reader *r, struct slice trimmed)
{
	if (line_is_section(trimmed)) {
		line_fault(r, NULL, "an indented section; allowed: sections begin in the first column");
		take_section(r, trimmed);
		return false;
	}
	if (r->continues == A_REFUSED_LINE)
		return false;
	if (r->continues == NOTHING) {
		line_fault(r, NULL,
		        "an indented line with no value before it to continue; allowed: keys begin in the first "
		        "column");
		note_refused_key(r, trimmed);
		return false;
	}
	if (line_is_key(r->section->kind, trimmed)) {
		line_fault(r, NULL,
		        "an indented key, which would continue the value of %s; allowed: keys begin in the first "
		        "column",
		        r->pending.key ? r->pending.key : "the key before");
		return refuse_key(r, trimmed);
	}
	r->awaiting = true;
	return true;
}

/* A line that inih would bend: what it continues is spoilt, too. */
static bool refuse_spoilt(struct reader *r, struct slice line, struct slice trimmed)
{
	if (line.length && line_is_blank(line.data[0]) && r->pending.open) {
		r->pending.broken = true;
		return refuse(r);
	}
	if (trimmed.length == 0 || trimmed.data[0] != '[')
		return refuse_key(r, trimmed);
	commit(r);
	r->section = NULL;
	r->skipping = true;
	return refuse(r);
}

/* Whether inih gets this line. */
static bool take_line(struct reader *r, size_t limit)
{
	struct slice line = kept(r), trimmed = slice_trim(line);
	if (r->control >= 0) {
		line_fault(r, NULL, "byte 0x%02x in the line; allowed: text, tabs and line ends", (unsigned)r->control);
		return refuse_spoilt(r, line, trimmed);
	}
	if (trimmed.length == 0 && r->length <= KEPT_BYTES)
		return false;
	if (line_is_comment(trimmed))
		return false;
	if (r->length > limit) {
		line_fault(r, NULL,
		        "a line of %zu bytes; allowed: up to %zu, and long values continue on indented lines",
		        r->length, limit);
		return refuse_spoilt(r, line, trimmed);
	}
	if (line_is_blank(line.data[0]))
		return take_indented(r, trimmed);
	return line.data[0] == '[' ? take_section(r, line) : take_key(r, line);
}

/* inih's reader: fgets with an eye on each line. */
static char *next_line(char *buffer, int size, void *user)
{
	struct reader *r = user;
	size_t limit = size < LINE_LIMIT + 2 ? (size_t)(size - 2) : LINE_LIMIT;
	if (r->awaiting)
		line_fault(r, NULL, "not understood; allowed: key = value");
	r->awaiting = false;
	while (!r->ended) {
		r->ended = !read_line(r);
		if (!r->ended && take_line(r, limit)) {
			/* inih 55 leaves comments in continued lines. */
			size_t length = line_comment_at(kept(r));
			memcpy(buffer, r->text, length);
			memcpy(buffer + length, "\n", 2);
			return buffer;
		}
	}
	return NULL;
}

void reader_read(struct draft *draft, FILE *file, const char *path)
{
	struct reader *r = calloc(1, sizeof *r);
	if (!r) {
		draft->exhausted = true;
		return;
	}
	r->file = file;
	r->path = path;
	r->draft = draft;
	faults_file(draft->faults, path);
	if (ini_parse_stream(next_line, r, take_pieces, r) < 0)
		draft->exhausted = true;
	commit(r);
	free(r->pending.key);
	free(r->pending.value);
	free(r);
}
