/* Values of options that are numbers; one function a type. */
#include "config/option.h"
#include "base/number.h"
#include "config/line.h"
#include "config/options.h"
#include "config/suggest.h"
#include <inttypes.h>

enum { SHOWN_BYTES = 60 };

bool option_is_number(const struct mlserve_option *o)
{
	return o->type != MLSERVE_TEXT && o->type != MLSERVE_WORDS;
}

bool option_is_list(const struct mlserve_option *o)
{
	return o->type == MLSERVE_WORDS || (o->type == MLSERVE_TEXT && (o->flags & MLSERVE_REPEATS));
}

/* The word with that number; its data is NULL past the last. */
static struct slice word_at(const char *words, int64_t number)
{
	while (*words) {
		size_t length = strcspn(words, " ");
		if (length && number-- == 0)
			return (struct slice){words, length};
		words += length;
		words += strspn(words, " ");
	}
	return SLICE_NONE;
}

static bool find_word(const char *words, struct slice wanted, int64_t *ret_number)
{
	struct slice word;
	for (int64_t i = 0; word = word_at(words, i), word.data; i++) {
		if (slice_equal(word, wanted)) {
			*ret_number = i;
			return true;
		}
	}
	return false;
}

static const char bool_words[] = "off on no yes false true";

static enum number_result parse_number(const struct mlserve_option *o, struct slice value, int64_t *ret_number)
{
	switch (o->type) {
	case MLSERVE_SIZE:
		return number_parse_size(value, ret_number);
	case MLSERVE_DURATION:
		return number_parse_duration(value, ret_number);
	default:
		return number_parse_count(value, ret_number);
	}
}

/* `near`: what was probably meant; its data may be NULL. */
static void print_fault(
        const struct mlserve_option *o, struct slice value, const char *wrong, struct slice near, char *fault)
{
	if (near.length > SHOWN_BYTES)
		near = SLICE_NONE;
	char allowed[OPTION_TEXT_BYTES];
	bool cut = value.length > SHOWN_BYTES;
	snprintf(fault, OPTION_TEXT_BYTES, "\"%.*s%s\" %s; %s%.*s%sallowed: %s", cut ? SHOWN_BYTES : (int)value.length,
	        value.data, cut ? "..." : "", wrong, near.length ? "did you mean " : "", SLICE_ARGS(near),
	        near.length ? "? " : "", option_allowed(o, allowed));
}

static bool parse_bounded(const struct mlserve_option *o, struct slice value, int64_t *ret_number, char *fault)
{
	int64_t number = 0;
	if ((o->flags & MLSERVE_AUTO) && slice_equal(value, SLICE("auto"))) {
		*ret_number = MLSERVE_AUTO_VALUE;
		return true;
	}
	enum number_result result = parse_number(o, value, &number);
	if (result != NUMBER_FINE || number < o->min || number > o->max) {
		const char *wrong = result != NUMBER_FINE ? number_result_text(result)
		                    : number < o->min     ? "is too small"
		                                          : "is too large";
		print_fault(o, value, wrong, SLICE_NONE, fault);
		return false;
	}
	*ret_number = number;
	return true;
}

static bool parse_word(
        const struct mlserve_option *o, const char *words, struct slice value, int64_t *ret_number, char *fault)
{
	struct suggestion near;
	if (find_word(words, value, ret_number))
		return true;
	suggest_begin(&near, value);
	suggest_offer_words(&near, words);
	print_fault(o, value, value.length ? "is not known" : "is empty", suggest_best(&near), fault);
	return false;
}

bool option_parse(
        const struct mlserve_option *o, struct slice value, int64_t *ret_number, char fault[static OPTION_TEXT_BYTES])
{
	if (o->type == MLSERVE_CHOICE)
		return parse_word(o, o->choices, value, ret_number, fault);
	if (o->type != MLSERVE_BOOL)
		return parse_bounded(o, value, ret_number, fault);
	int64_t index = 0;
	if (!parse_word(o, bool_words, value, &index, fault))
		return false;
	*ret_number = index % 2;
	return true;
}

static void print_bounds(const struct mlserve_option *o, char *text)
{
	char min[OPTION_TEXT_BYTES], max[OPTION_TEXT_BYTES];
	const char *kind = o->type == MLSERVE_SIZE       ? ", in bytes or with k m g"
	                   : o->type == MLSERVE_DURATION ? ", with us ms s m h"
	                                                 : "";
	snprintf(text, OPTION_TEXT_BYTES, "%s%.24s to %.24s%s", o->flags & MLSERVE_AUTO ? "auto or " : "",
	        option_print(o, o->min, min), option_print(o, o->max, max), kind);
}

const char *option_allowed(const struct mlserve_option *o, char text[static OPTION_TEXT_BYTES])
{
	switch (o->type) {
	case MLSERVE_BOOL:
		snprintf(text, OPTION_TEXT_BYTES, "on off yes no true false");
		break;
	case MLSERVE_CHOICE:
		snprintf(text, OPTION_TEXT_BYTES, "%s", o->choices);
		break;
	case MLSERVE_TEXT:
		snprintf(text, OPTION_TEXT_BYTES, "a text%s", o->flags & MLSERVE_REPEATS ? ", repeatable" : "");
		break;
	case MLSERVE_WORDS:
		snprintf(text, OPTION_TEXT_BYTES, "words%s", o->flags & MLSERVE_REPEATS ? ", repeatable" : "");
		break;
	default:
		print_bounds(o, text);
	}
	return text;
}

const char *option_print(const struct mlserve_option *o, int64_t number, char text[static OPTION_TEXT_BYTES])
{
	if (o->type == MLSERVE_BOOL)
		snprintf(text, OPTION_TEXT_BYTES, "%s", number ? "on" : "off");
	else if (o->type == MLSERVE_CHOICE)
		snprintf(text, OPTION_TEXT_BYTES, "%.*s", SLICE_ARGS(option_choice(o, number)));
	else if ((o->flags & MLSERVE_AUTO) && number == MLSERVE_AUTO_VALUE)
		snprintf(text, OPTION_TEXT_BYTES, "auto");
	else if (o->type == MLSERVE_SIZE)
		number_print_size(text, number);
	else if (o->type == MLSERVE_DURATION)
		number_print_duration(text, number);
	else
		number_print_count(text, number);
	return text;
}

struct slice option_choice(const struct mlserve_option *o, int64_t number)
{
	return word_at(o->choices, number);
}

static const char *unsound(const struct mlserve_option *o)
{
	char fault[OPTION_TEXT_BYTES];
	int64_t number;
	if (strspn(o->name, "abcdefghijklmnopqrstuvwxyz0123456789_") != strlen(o->name))
		return "has a name of other bytes than a-z 0-9 _";
	if (o->type > MLSERVE_WORDS)
		return "is of an unknown type";
	if ((o->type == MLSERVE_CHOICE) != (o->choices != NULL))
		return "has choices, or lacks them, against its type";
	if (option_is_number(o) && (o->flags & MLSERVE_REPEATS))
		return "repeats, which only texts and words can";
	if (option_is_number(o) && o->type != MLSERVE_BOOL && o->type != MLSERVE_CHOICE &&
	        (o->min < 0 || o->max < o->min))
		return "has bounds that no number can meet";
	if (option_is_number(o) && o->initial && !option_parse(o, slice_of(o->initial), &number, fault))
		return "has a default that it refuses";
	if (o->type == MLSERVE_TEXT && o->initial && !*o->initial)
		return "has an empty default, which is written as none";
	if (!line_print(NULL, CONFIG_ROUTE, o->name, slice_of(o->initial)))
		return "has a name or default that no lines of a file could hold";
	return NULL;
}

const char *options_unsound(const struct mlserve_option *table, const struct mlserve_option **ret_option)
{
	for (const struct mlserve_option *o = table; o->name; o++) {
		const char *wrong = options_find(table, slice_of(o->name)) != o ? "stands twice" : unsound(o);
		if (wrong) {
			*ret_option = o;
			return wrong;
		}
	}
	return NULL;
}
