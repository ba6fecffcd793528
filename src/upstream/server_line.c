/* Reading `server` values. */
#include "upstream/server_line.h"
#include "base/check.h"
#include "base/number.h"
#include "upstream/turns.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_LIMIT = 1000000, NAME_BYTES = 253 };

#define ALLOWED "weight=1..256, max_connections=0..1000000, backup and drain"

/* What may stand behind the address: a word, or NAME=NUMBER. */
struct parameter {
	struct slice name;
	bool has_number;
	int64_t min, max;
	void (*set)(struct server_line *, int64_t number);
};

static void set_weight(struct server_line *l, int64_t number)
{
	l->weight = (unsigned)number;
}

static void set_limit(struct server_line *l, int64_t number)
{
	l->limit = number;
}

static void set_backup(struct server_line *l, int64_t number)
{
	l->is_backup = number;
}

static void set_drain(struct server_line *l, int64_t number)
{
	l->is_draining = number;
}

static const struct parameter parameters[] = {
        {{"weight", 6}, true, 1, TURNS_MAX_WEIGHT, set_weight},
        {{"max_connections", 15}, true, 0, MAX_LIMIT, set_limit},
        {{"backup", 6}, false, 0, 0, set_backup},
        {{"drain", 5}, false, 0, 0, set_drain},
};

/* NULL: it does not know the word, or its number is out of range. */
static const struct parameter *find(struct slice word, int64_t *ret_number)
{
	const char *sign = memchr(word.data, '=', word.length);
	struct slice name = {word.data, sign ? (size_t)(sign - word.data) : word.length};
	for (size_t i = 0; i < ARRAY_COUNT(parameters); i++) {
		const struct parameter *p = &parameters[i];
		if (!slice_equal(p->name, name) || p->has_number != (sign != NULL))
			continue;
		*ret_number = 1;
		if (!sign)
			return p;
		return number_parse_count(slice_from(word, name.length + 1), ret_number) == NUMBER_FINE &&
		                       *ret_number >= p->min && *ret_number <= p->max
		               ? p
		               : NULL;
	}
	return NULL;
}

/* What stands behind the address. false: a fault was reported. */
static bool read_parameters(
        struct server_line *l, const struct mlserve_settings *settings, size_t item, struct slice rest)
{
	struct slice word;
	unsigned seen = 0;
	while (slice_next_word(&rest, &word)) {
		int64_t number;
		const struct parameter *p = find(word, &number);
		unsigned bit = p ? 1u << (p - parameters) : 0;
		if (!p || (seen & bit)) {
			mlserve_setting_fault(settings, "server", item,
			        "%s \"%.*s\"; after the address " ALLOWED " are allowed, each once",
			        p ? "repeats" : "does not know", SLICE_ARGS(word));
			return false;
		}
		seen |= bit;
		p->set(l, number);
	}
	return true;
}

static bool is_name_byte(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' ||
	       c == '.';
}

/* A name that could be asked for: labels of 1 to 63 bytes (RFC 1035 2.3.4), not all digits. */
static bool is_name(struct slice s)
{
	size_t label = 0;
	bool has_letter = false;
	for (size_t i = 0; i < s.length; i++) {
		if (!is_name_byte(s.data[i]))
			return false;
		has_letter |= s.data[i] != '.' && (s.data[i] < '0' || s.data[i] > '9');
		label = s.data[i] == '.' ? 0 : label + 1;
		if (label > 63 || (s.data[i] == '.' && (i == 0 || s.data[i - 1] == '.')))
			return false;
	}
	return has_letter && s.length <= NAME_BYTES;
}

static bool read_srv(struct server_line *l, struct slice name, const char **ret_reason)
{
	l->kind = SERVER_SRV;
	*ret_reason = "srv: wants a name such as srv:_http._tcp.app.example, without a port";
	if (!is_name(name))
		return false;
	l->name = slice_copy(name);
	return l->name != NULL;
}

static bool read_name(struct server_line *l, struct slice word)
{
	const char *colon = memrchr(word.data, ':', word.length);
	int64_t port;
	if (!colon || number_parse_count(slice_from(word, (size_t)(colon - word.data) + 1), &port))
		return false;
	struct slice name = {word.data, (size_t)(colon - word.data)};
	if (port < 1 || port > 65535 || !is_name(name))
		return false;
	l->kind = SERVER_NAME;
	l->port = (uint16_t)port;
	l->name = slice_copy(name);
	return l->name != NULL;
}

/* No server can be reached at port 0, which is only asked for when listening. */
static bool is_port_zero(struct slice word)
{
	return word.length > 2 && word.data[word.length - 2] == ':' && word.data[word.length - 1] == '0';
}

static bool read_address(struct server_line *l, struct slice word, const char **ret_reason)
{
	struct slice srv = SLICE("srv:"), local = SLICE("localhost:"), unix_prefix = SLICE("unix:");
	if (slice_starts(word, srv))
		return read_srv(l, slice_from(word, srv.length), ret_reason);
	*ret_reason = "there is no port 0; a port from 1 to 65535 is wanted";
	if (!slice_starts(word, unix_prefix) && is_port_zero(word))
		return false;
	/* RFC 6761 6.3: this name needs no resolver. */
	bool is_local = word.length > local.length && strncasecmp(word.data, local.data, local.length) == 0;
	if (endpoint_parse(word, is_local, &l->endpoint, ret_reason))
		return true;
	if (slice_starts(word, unix_prefix))
		return false;
	*ret_reason = "not ADDRESS:PORT, NAME:PORT, [IPV6]:PORT, srv:NAME or unix:/PATH";
	return read_name(l, word);
}

bool server_line_read(struct server_line *l, const struct mlserve_settings *settings, size_t item, const char *value)
{
	struct slice rest = slice_of(value), word;
	const char *reason = NULL;
	*l = (struct server_line){.kind = SERVER_FIXED, .weight = 1, .limit = -1};
	if (!slice_next_word(&rest, &word)) {
		mlserve_setting_fault(settings, "server", item,
		        "is empty; ADDRESS:PORT, NAME:PORT, srv:NAME or unix:/PATH is wanted");
		return false;
	}
	if (!read_address(l, word, &reason)) {
		mlserve_setting_fault(settings, "server", item, "%.*s: %s", SLICE_ARGS(word), reason);
		return false;
	}
	l->text = slice_copy(word);
	return read_parameters(l, settings, item, rest) && l->text;
}

void server_line_fini(struct server_line *l)
{
	free(l->text);
	free(l->name);
}
