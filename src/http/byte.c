/* The table of byte classes, and the check of field values. */
#include "http/byte.h"

#define IS_DIGIT(c) ((c) >= '0' && (c) <= '9')
#define IS_ALPHA(c) (((c) | 0x20) >= 'a' && ((c) | 0x20) <= 'z')
#define IS_HEX(c) (IS_DIGIT(c) || (((c) | 0x20) >= 'a' && ((c) | 0x20) <= 'f'))
#define IS_UNRESERVED(c) (IS_DIGIT(c) || IS_ALPHA(c) || (c) == '-' || (c) == '.' || (c) == '_' || (c) == '~')
#define IS_SUB_DELIM(c)                                                                                                \
	((c) == '!' || (c) == '$' || (c) == '&' || (c) == '\'' || (c) == '(' || (c) == ')' || (c) == '*' ||            \
	        (c) == '+' || (c) == ',' || (c) == ';' || (c) == '=')
#define IS_TOKEN(c)                                                                                                    \
	(IS_UNRESERVED(c) || (c) == '!' || (c) == '#' || (c) == '$' || (c) == '%' || (c) == '&' || (c) == '\'' ||      \
	        (c) == '*' || (c) == '+' || (c) == '^' || (c) == '`' || (c) == '|')
#define IS_TARGET(c) ((c) > 0x20 && (c) < 0x7f && (c) != '#')
#define IS_PLAIN(c) (IS_TARGET(c) && (c) != '%' && (c) != '/' && (c) != '?' && (c) != '\\')
#define IS_VALUE(c) ((c) == '\t' || ((c) >= 0x20 && (c) != 0x7f))

#define CLASSES(c)                                                                                                     \
	((IS_TOKEN(c) ? BYTE_TOKEN : 0) | (IS_TARGET(c) ? BYTE_TARGET : 0) | (IS_VALUE(c) ? BYTE_VALUE : 0) |          \
	        (IS_HEX(c) ? BYTE_HEX : 0) | (IS_DIGIT(c) ? BYTE_DIGIT : 0) |                                          \
	        (IS_UNRESERVED(c) ? BYTE_UNRESERVED : 0) | (IS_UNRESERVED(c) || IS_SUB_DELIM(c) ? BYTE_NAME : 0) |     \
	        (IS_PLAIN(c) ? BYTE_PLAIN : 0))
#define FOUR(c) CLASSES(c), CLASSES((c) + 1), CLASSES((c) + 2), CLASSES((c) + 3)
#define SIXTEEN(c) FOUR(c), FOUR((c) + 4), FOUR((c) + 8), FOUR((c) + 12)
#define SIXTY_FOUR(c) SIXTEEN(c), SIXTEEN((c) + 16), SIXTEEN((c) + 32), SIXTEEN((c) + 48)

const uint8_t byte_classes[256] = {SIXTY_FOUR(0), SIXTY_FOUR(64), SIXTY_FOUR(128), SIXTY_FOUR(192)};

#define EACH_BYTE(value) (UINT64_C(0x0101010101010101) * (value))

static uint64_t load_word(const char *at)
{
	uint64_t word;
	memcpy(&word, at, sizeof word);
	return word;
}

/* Not 0 when a byte is below 0x20 (HTAB too) or 0x7f; the usual haszero arithmetic, whole words at once. */
static uint64_t controls_in(uint64_t word)
{
	uint64_t below = (word - EACH_BYTE(0x20)) & ~word;
	uint64_t flipped = word ^ EACH_BYTE(0x7f);
	uint64_t deletes = (flipped - EACH_BYTE(1)) & ~flipped;
	return (below | deletes) & EACH_BYTE(0x80);
}

bool byte_all_value(struct slice s)
{
	uint64_t controls = 0;
	if (s.length >= sizeof controls) {
		const char *last = s.data + s.length - sizeof controls;
		for (const char *at = s.data; at < last; at += sizeof controls)
			controls |= controls_in(load_word(at));
		controls |= controls_in(load_word(last));
		if (!controls)
			return true;
	}
	return byte_run(s.data, s.data + s.length, BYTE_VALUE) == s.length;
}
