/* Comparing, trimming and splitting of slices. */
#include "base/slice.h"
#include <stdlib.h>

static char fold(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

/* Not strncasecmp: that ends at a zero byte, and input may hold one. */
bool slice_equal_nocase(struct slice a, struct slice b)
{
	if (a.length != b.length)
		return false;
	for (size_t i = 0; i < a.length; i++)
		if (fold(a.data[i]) != fold(b.data[i]))
			return false;
	return true;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

struct slice slice_trim(struct slice s)
{
	while (s.length && is_blank(s.data[0]))
		s = slice_from(s, 1);
	while (s.length && is_blank(s.data[s.length - 1]))
		s.length--;
	return s;
}

/* Length up to the comma that ends a member, or to the end of the list. */
static size_t member_length(struct slice s)
{
	bool quoted = false;
	for (size_t i = 0; i < s.length; i++) {
		if (quoted && s.data[i] == '\\')
			i++;
		else if (s.data[i] == '"')
			quoted = !quoted;
		else if (s.data[i] == ',' && !quoted)
			return i;
	}
	return s.length;
}

bool slice_next_member(struct slice *rest, struct slice *ret_member)
{
	while (rest->length) {
		size_t length = member_length(*rest);
		struct slice member = slice_trim((struct slice){rest->data, length});
		*rest = slice_from(*rest, length < rest->length ? length + 1 : length);
		if (member.length) {
			*ret_member = member;
			return true;
		}
	}
	return false;
}

bool slice_next_word(struct slice *rest, struct slice *ret_word)
{
	*rest = slice_trim(*rest);
	if (rest->length == 0)
		return false;
	size_t length = 0;
	while (length < rest->length && !is_blank(rest->data[length]))
		length++;
	*ret_word = (struct slice){rest->data, length};
	*rest = slice_from(*rest, length);
	return true;
}

bool slice_to_number(struct slice s, int64_t *ret_number)
{
	int64_t number = 0;
	if (s.length == 0)
		return false;
	for (size_t i = 0; i < s.length; i++) {
		unsigned digit = (unsigned)(unsigned char)s.data[i] - '0';
		if (digit > 9 || __builtin_mul_overflow(number, 10, &number) ||
		        __builtin_add_overflow(number, (int64_t)digit, &number))
			return false;
	}
	*ret_number = number;
	return true;
}

char *slice_copy(struct slice s)
{
	char *copy = malloc(s.length + 1);
	if (!copy)
		return NULL;
	if (s.length)
		memcpy(copy, s.data, s.length);
	copy[s.length] = 0;
	return copy;
}
