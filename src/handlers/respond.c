/* A fixed answer from the configuration. Everything is formatted while configuring. */
#include "base/check.h"
#include "config/options.h"
#include "handlers/handlers.h"
#include "http/status.h"
#include <stdio.h>
#include <stdlib.h>

struct respond {
	unsigned status;
	struct slice fields, body; /* of the memory behind this struct; empty fields: no body may be there */
	char memory[];
};

static bool is_bodyless(unsigned status)
{
	return status == 204 || status == 205 || status == 304;
}

static bool is_field_text(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return false;
	return true;
}

static bool check(const struct mlserve_settings *s)
{
	unsigned status = (unsigned)mlserve_setting_number(s, "status");
	const char *type = mlserve_setting_text(s, "content_type"), *body = mlserve_setting_text(s, "body");
	if (is_bodyless(status) && body && *body) {
		mlserve_setting_fault(s, "body", 0, "an answer of status %u has no body; allowed: none", status);
		return false;
	}
	if (type && !is_field_text(type)) {
		mlserve_setting_fault(s, "content_type", 0, "holds a control byte; allowed: printable text");
		return false;
	}
	return true;
}

static bool configure(const struct mlserve_settings *s, void **ret_route)
{
	if (!check(s))
		return false;
	const char *type = mlserve_setting_text(s, "content_type"), *body = mlserve_setting_text(s, "body");
	unsigned status = (unsigned)mlserve_setting_number(s, "status");
	size_t type_bytes = type ? strlen(type) + sizeof "Content-Type: \r\n" : 1, body_bytes = body ? strlen(body) : 0;
	struct respond *r = calloc(1, sizeof *r + type_bytes + body_bytes);
	if (!r) {
		mlserve_setting_fault(s, NULL, 0, "no memory");
		return false;
	}
	r->status = status;
	if (type && *type && !is_bodyless(status))
		r->fields = (struct slice){
		        r->memory, (size_t)snprintf(r->memory, type_bytes, "Content-Type: %s\r\n", type)};
	if (body_bytes)
		memcpy(r->memory + type_bytes, body, body_bytes);
	r->body = (struct slice){r->memory + type_bytes, body_bytes};
	*ret_route = r;
	return true;
}

static void serve(struct mlserve_exchange *x)
{
	const struct respond *r = mlserve_exchange_route(x);
	mlserve_answer_begin(x, r->status, (int64_t)r->body.length);
	if (r->fields.length)
		mlserve_answer_fields(x, r->fields);
	mlserve_answer_memory(x, r->body.data, r->body.length, NULL, NULL);
	mlserve_answer_end(x);
}

const struct mlserve_handler handler_respond = {
        .abi = MLSERVE_HANDLER_ABI,
        .name = "respond",
        .methods = "GET HEAD POST PUT PATCH DELETE OPTIONS",
        .options = options_respond,
        .configure = configure,
        .release = free,
        .serve = serve,
};
