/* The shapes of lines, and breaking of long values at single blanks. */
#include "config/line.h"
#include "config/options.h"

enum { PLEASANT = 112 }; /* bytes of a line, where there is a choice */

bool line_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

bool line_is_comment(struct slice trimmed)
{
	return trimmed.length && (trimmed.data[0] == ';' || trimmed.data[0] == '#');
}

size_t line_comment_at(struct slice s)
{
	for (size_t i = 1; i < s.length; i++)
		if (s.data[i] == ';' && line_is_blank(s.data[i - 1]))
			return i - 1;
	return s.length;
}

static size_t word_length(struct slice s)
{
	size_t length = 0;
	while (length < s.length && ((s.data[length] >= 'a' && s.data[length] <= 'z') || s.data[length] == '_'))
		length++;
	return length;
}

bool line_is_key(enum config_kind kind, struct slice trimmed)
{
	struct slice word = {trimmed.data, word_length(trimmed)};
	struct slice rest = slice_trim(slice_from(trimmed, word.length));
	return word.length && rest.length && rest.data[0] == '=' && options_kind_has(kind, word);
}

bool line_is_section(struct slice trimmed)
{
	enum config_kind kind;
	if (trimmed.length == 0 || trimmed.data[0] != '[')
		return false;
	struct slice rest = slice_trim(slice_from(trimmed, 1));
	struct slice word = {rest.data, word_length(rest)};
	bool ends =
	        word.length == rest.length || rest.data[word.length] == ']' || line_is_blank(rest.data[word.length]);
	return ends && options_kind_find(word, &kind);
}

/* Whether this text, on an indented line, continues a value. */
static bool continues(enum config_kind kind, struct slice s)
{
	return !line_is_comment(s) && !line_is_key(kind, s) && !line_is_section(s);
}

static bool is_break(enum config_kind kind, struct slice s, size_t at)
{
	return at > 0 && at + 1 < s.length && s.data[at] == ' ' && !line_is_blank(s.data[at - 1]) &&
	       !line_is_blank(s.data[at + 1]) && continues(kind, slice_from(s, at + 1));
}

/* How much of the value fits into `room` bytes of a line; 0: it cannot be broken there. */
static size_t fitting(enum config_kind kind, struct slice s, size_t room)
{
	if (s.length <= room)
		return s.length;
	for (size_t at = room < PLEASANT ? room : PLEASANT; at > 0; at--)
		if (is_break(kind, s, at))
			return at;
	for (size_t at = PLEASANT + 1; at <= room; at++)
		if (is_break(kind, s, at))
			return at;
	return 0;
}

static bool is_writable(struct slice s)
{
	for (size_t i = 0; i < s.length; i++)
		if (((unsigned char)s.data[i] < 0x20 && s.data[i] != '\t') || s.data[i] == 0x7f)
			return false;
	return line_comment_at(s) == s.length && slice_trim(s).length == s.length;
}

/* The first line: key, what separates, and how much of the value; false when the key is too long for any. */
struct head {
	const char *separator;
	size_t taken;
};

static bool choose_head(enum config_kind kind, size_t key_length, struct slice value, struct head *ret_head)
{
	if (key_length + 3 > LINE_LIMIT)
		return false;
	/* After "= " a ';' would begin a comment. */
	struct head head = {value.length == 0 ? " =" : value.data[0] == ';' ? "=" : " = ", 0};
	head.taken = fitting(kind, value, LINE_LIMIT - key_length - strlen(head.separator));
	if (!head.taken && value.length && !continues(kind, value)) {
		head.separator = "=";
		head.taken = fitting(kind, value, LINE_LIMIT - key_length - 1);
		if (!head.taken)
			return false;
	}
	if (!head.taken)
		head.separator = " =";
	*ret_head = head;
	return true;
}

/* What follows a break. */
static struct slice after(struct slice s, size_t taken)
{
	return slice_from(s, taken && taken < s.length ? taken + 1 : taken);
}

bool line_print(FILE *out, enum config_kind kind, const char *key, struct slice value)
{
	struct head head;
	if (!is_writable(value) || !choose_head(kind, strlen(key), value, &head))
		return false;
	struct slice rest = after(value, head.taken);
	while (rest.length) {
		size_t taken = fitting(kind, rest, LINE_LIMIT - 1);
		if (!taken)
			return false;
		rest = after(rest, taken);
	}
	if (!out)
		return true;
	fprintf(out, "%s%s%.*s\n", key, head.separator, (int)head.taken, value.length ? value.data : "");
	for (rest = after(value, head.taken); rest.length;) {
		size_t taken = fitting(kind, rest, LINE_LIMIT - 1);
		fprintf(out, "\t%.*s\n", (int)taken, rest.data);
		rest = after(rest, taken);
	}
	return true;
}
