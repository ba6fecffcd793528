/* Parsing and printing of counts, sizes and durations; one table of units for each. */
#include "base/number.h"
#include "base/check.h"
#include <inttypes.h>
#include <stdio.h>

struct unit {
	const char *name;
	int64_t factor;
};

/* Smallest first. */
static const struct unit size_units[] = {
        {"", 1}, {"k", INT64_C(1) << 10}, {"m", INT64_C(1) << 20}, {"g", INT64_C(1) << 30}};
static const struct unit duration_units[] = {
        {"us", 1}, {"ms", 1000}, {"s", 1000000}, {"m", INT64_C(60000000)}, {"h", INT64_C(3600000000)}};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_word(struct slice s)
{
	for (size_t i = 0; i < s.length; i++)
		if (!((s.data[i] >= 'a' && s.data[i] <= 'z') || (s.data[i] >= 'A' && s.data[i] <= 'Z')))
			return false;
	return s.length > 0;
}

/* Cuts the digits from *rest. */
static enum number_result take_digits(struct slice *rest, int64_t *ret_number)
{
	size_t count = 0;
	while (count < rest->length && is_digit(rest->data[count]))
		count++;
	if (rest->length == 0)
		return NUMBER_EMPTY;
	if (count == 0 || (count > 1 && rest->data[0] == '0'))
		return NUMBER_MALFORMED;
	struct slice digits = {rest->data, count};
	*rest = slice_from(*rest, count);
	return slice_to_number(digits, ret_number) ? NUMBER_FINE : NUMBER_TOO_LARGE;
}

static enum number_result find_unit(const struct unit *units, size_t count, struct slice name, int64_t *ret_factor)
{
	for (size_t i = 0; i < count; i++) {
		if (slice_equal(slice_of(units[i].name), name)) {
			*ret_factor = units[i].factor;
			return NUMBER_FINE;
		}
	}
	if (name.length == 0)
		return NUMBER_UNIT_MISSING;
	return is_word(name) ? NUMBER_UNIT_UNKNOWN : NUMBER_MALFORMED;
}

static enum number_result parse_with_unit(const struct unit *units, size_t count, struct slice s, int64_t *ret_number)
{
	int64_t number = 0, factor = 1;
	struct slice rest = s;
	enum number_result digits = take_digits(&rest, &number);
	if (digits == NUMBER_EMPTY || digits == NUMBER_MALFORMED)
		return digits;
	enum number_result unit = find_unit(units, count, rest, &factor);
	bool bare_zero = unit == NUMBER_UNIT_MISSING && digits == NUMBER_FINE && number == 0;
	if (unit != NUMBER_FINE && !bare_zero)
		return unit;
	if (digits == NUMBER_TOO_LARGE || __builtin_mul_overflow(number, factor, &number))
		return NUMBER_TOO_LARGE;
	*ret_number = number;
	return NUMBER_FINE;
}

enum number_result number_parse_count(struct slice s, int64_t *ret_count)
{
	int64_t number = 0;
	struct slice rest = s;
	enum number_result result = take_digits(&rest, &number);
	if (result == NUMBER_EMPTY || result == NUMBER_MALFORMED)
		return result;
	if (rest.length)
		return NUMBER_MALFORMED;
	if (result == NUMBER_FINE)
		*ret_count = number;
	return result;
}

enum number_result number_parse_size(struct slice s, int64_t *ret_bytes)
{
	return parse_with_unit(size_units, ARRAY_COUNT(size_units), s, ret_bytes);
}

enum number_result number_parse_duration(struct slice s, int64_t *ret_us)
{
	return parse_with_unit(duration_units, ARRAY_COUNT(duration_units), s, ret_us);
}

const char *number_result_text(enum number_result result)
{
	static const char *const texts[] = {
	        [NUMBER_FINE] = "",
	        [NUMBER_EMPTY] = "is empty",
	        [NUMBER_MALFORMED] = "is not a plain decimal number",
	        [NUMBER_UNIT_MISSING] = "lacks its unit",
	        [NUMBER_UNIT_UNKNOWN] = "has an unknown unit",
	        [NUMBER_TOO_LARGE] = "is too large",
	};
	return texts[result];
}

static const char *print_with_unit(char *buffer, const struct unit *units, size_t count, int64_t number)
{
	MUST(number >= 0);
	const struct unit *unit = &units[0];
	for (size_t i = 1; i < count && number; i++)
		if (number % units[i].factor == 0)
			unit = &units[i];
	snprintf(buffer, NUMBER_TEXT_BYTES, "%" PRId64 "%s", number / unit->factor, number ? unit->name : "");
	return buffer;
}

const char *number_print_count(char buffer[static NUMBER_TEXT_BYTES], int64_t count)
{
	return print_with_unit(buffer, size_units, 1, count);
}

const char *number_print_size(char buffer[static NUMBER_TEXT_BYTES], int64_t size_bytes)
{
	return print_with_unit(buffer, size_units, ARRAY_COUNT(size_units), size_bytes);
}

const char *number_print_duration(char buffer[static NUMBER_TEXT_BYTES], int64_t duration_us)
{
	return print_with_unit(buffer, duration_units, ARRAY_COUNT(duration_units), duration_us);
}
