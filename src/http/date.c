/* Dates without the C library's calendar: gmtime takes a lock and timegm looks at the time zone. */
#include "http/date.h"
#include "http/byte.h"

static const char day_names[7][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
static const char long_day_names[7][10] = {
        "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
static const char month_names[12][4] = {
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

enum { DAY_S = 86400, ERA_DAYS = 146097, ERA_YEARS = 400 };

struct calendar_day {
	int64_t year;
	unsigned month, day; /* from 1 */
};

/* Years begin in March here, so that the leap day is the last one; eras of 400 years are all alike. */
static struct calendar_day day_from_number(int64_t days)
{
	days += 719468; /* from 0000-03-01 to 1970-01-01 */
	int64_t era = (days >= 0 ? days : days - (ERA_DAYS - 1)) / ERA_DAYS;
	unsigned of_era = (unsigned)(days - era * ERA_DAYS);
	unsigned year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	unsigned of_year = of_era - (365 * year + year / 4 - year / 100);
	unsigned month = (5 * of_year + 2) / 153;
	struct calendar_day day = {
	        .day = of_year - (153 * month + 2) / 5 + 1, .month = month < 10 ? month + 3 : month - 9};
	day.year = (int64_t)year + era * ERA_YEARS + (day.month <= 2);
	return day;
}

static int64_t day_to_number(int64_t year, unsigned month, unsigned day)
{
	year -= month <= 2;
	int64_t era = (year >= 0 ? year : year - (ERA_YEARS - 1)) / ERA_YEARS;
	unsigned of_era_year = (unsigned)(year - era * ERA_YEARS);
	unsigned of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
	unsigned of_era = of_era_year * 365 + of_era_year / 4 - of_era_year / 100 + of_year;
	return era * ERA_DAYS + (int64_t)of_era - 719468;
}

static void put_digits(char *to, unsigned number, int count)
{
	while (count--) {
		to[count] = (char)('0' + number % 10);
		number /= 10;
	}
}

void date_format(time_t time, char to[DATE_BYTES])
{
	int64_t days = time / DAY_S - (time % DAY_S < 0);
	unsigned of_day = (unsigned)(time - days * DAY_S);
	struct calendar_day day = day_from_number(days);
	memcpy(to, "Sun, 00 Jan 0000 00:00:00 GMT", DATE_BYTES);
	memcpy(to, day_names[((days + 4) % 7 + 7) % 7], 3); /* 1970-01-01 was a Thursday */
	put_digits(to + 5, day.day, 2);
	memcpy(to + 8, month_names[day.month - 1], 3);
	put_digits(to + 12, (unsigned)(day.year % 10000), 4);
	put_digits(to + 17, of_day / 3600, 2);
	put_digits(to + 20, of_day / 60 % 60, 2);
	put_digits(to + 23, of_day % 60, 2);
}

struct date_parts {
	unsigned year, month, day, hour, minute, second;
};

static bool take_text(struct slice *s, const char *text)
{
	size_t length = strlen(text);
	if (s->length < length || memcmp(s->data, text, length) != 0)
		return false;
	*s = slice_from(*s, length);
	return true;
}

static bool take_digits(struct slice *s, size_t count, unsigned *ret_number)
{
	unsigned number = 0;
	if (s->length < count || byte_run(s->data, s->data + count, BYTE_DIGIT) != count)
		return false;
	for (size_t i = 0; i < count; i++)
		number = number * 10 + (unsigned)(s->data[i] - '0');
	*s = slice_from(*s, count);
	*ret_number = number;
	return true;
}

static bool take_month(struct slice *s, unsigned *ret_month)
{
	for (unsigned i = 0; i < 12; i++) {
		if (!take_text(s, month_names[i]))
			continue;
		*ret_month = i + 1;
		return true;
	}
	return false;
}

static bool take_clock(struct slice *s, struct date_parts *to)
{
	return take_digits(s, 2, &to->hour) && take_text(s, ":") && take_digits(s, 2, &to->minute) &&
	       take_text(s, ":") && take_digits(s, 2, &to->second);
}

/* Sun, 06 Nov 1994 08:49:37 GMT */
static bool take_imf_fixdate(struct slice s, struct date_parts *to)
{
	return take_text(&s, ", ") && take_digits(&s, 2, &to->day) && take_text(&s, " ") &&
	       take_month(&s, &to->month) && take_text(&s, " ") && take_digits(&s, 4, &to->year) &&
	       take_text(&s, " ") && take_clock(&s, to) && take_text(&s, " GMT") && s.length == 0;
}

/* Two digits that seem more than 50 years ahead are the past (RFC 9110 5.6.7). */
static unsigned whole_year(unsigned two_digits)
{
	struct calendar_day today = day_from_number(time(NULL) / DAY_S);
	unsigned now = (unsigned)today.year, year = now / 100 * 100 + two_digits;
	return year > now + 50 ? year - 100 : year;
}

/* Sunday, 06-Nov-94 08:49:37 GMT */
static bool take_rfc850_date(struct slice s, struct date_parts *to)
{
	if (!(take_text(&s, ", ") && take_digits(&s, 2, &to->day) && take_text(&s, "-") && take_month(&s, &to->month) &&
	            take_text(&s, "-") && take_digits(&s, 2, &to->year) && take_text(&s, " ") && take_clock(&s, to) &&
	            take_text(&s, " GMT") && s.length == 0))
		return false;
	to->year = whole_year(to->year);
	return true;
}

/* Sun Nov  6 08:49:37 1994 */
static bool take_asctime_date(struct slice s, struct date_parts *to)
{
	return take_text(&s, " ") && take_month(&s, &to->month) && take_text(&s, " ") &&
	       (take_text(&s, " ") ? take_digits(&s, 1, &to->day) : take_digits(&s, 2, &to->day)) &&
	       take_text(&s, " ") && take_clock(&s, to) && take_text(&s, " ") && take_digits(&s, 4, &to->year) &&
	       s.length == 0;
}

static bool is_a_date(const struct date_parts *d)
{
	static const uint8_t month_days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = d->year % 4 == 0 && (d->year % 100 != 0 || d->year % 400 == 0);
	return d->day >= 1 && d->day <= month_days[d->month - 1] + (unsigned)(d->month == 2 && leap) && d->hour < 24 &&
	       d->minute < 60 && d->second <= 60; /* a leap second */
}

static bool take_parts(struct slice s, struct date_parts *to)
{
	for (size_t i = 0; i < 7; i++)
		if (take_text(&s, long_day_names[i]))
			return take_rfc850_date(s, to);
	for (size_t i = 0; i < 7; i++)
		if (take_text(&s, day_names[i]))
			return take_imf_fixdate(s, to) || take_asctime_date(s, to);
	return false;
}

bool date_parse(struct slice s, time_t *ret_time)
{
	struct date_parts d;
	if (!take_parts(s, &d) || !is_a_date(&d))
		return false;
	*ret_time = (time_t)(day_to_number(d.year, d.month, d.day) * DAY_S + d.hour * 3600 + d.minute * 60 + d.second);
	return true;
}
