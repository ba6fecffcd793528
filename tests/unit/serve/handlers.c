/* The handlers that the tests of this room serve: one a way of answering. */
#include "serve/exchange.h"
#include "serving.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct state {      /* of each exchange */
	char *body; /* received, or to be sent */
	size_t length, sent, total, piece;
	bool chunked;
};

static struct state *state_of(struct mlserve_exchange *x)
{
	return mlserve_exchange_state(x);
}

static bool configure(const struct mlserve_settings *s, void **ret_route)
{
	(void)s;
	*ret_route = &serving;
	return true;
}

static const char *find_argument(struct mlserve_exchange *x, const char *name)
{
	static char query[256];
	struct slice q = mlserve_request_query(x);
	snprintf(query, sizeof query, "&%.*s", SLICE_ARGS(q));
	for (char *at = query; (at = strstr(at, name)); at++)
		if (at[-1] == '&')
			return at + strlen(name);
	return NULL;
}

static size_t argument(struct mlserve_exchange *x, const char *name, size_t otherwise)
{
	const char *value = find_argument(x, name);
	return value && *value == '=' ? strtoul(value + 1, NULL, 10) : otherwise;
}

static void cancel(struct mlserve_exchange *x)
{
	serving.handled.cancelled++;
	free(state_of(x)->body);
	state_of(x)->body = NULL;
}

const char *test_pattern(void)
{
	static char *pattern;
	if (pattern)
		return pattern;
	pattern = malloc(PATTERN_BYTES);
	for (size_t i = 0; i < PATTERN_BYTES; i++)
		pattern[i] = (char)('a' + (i + i / 26 + i / 676) % 26);
	return pattern;
}

/* ---- whole: at once ---------------------------------------------------------------------- */

static void serve_whole(struct mlserve_exchange *x)
{
	serving.handled.served++;
	mlserve_answer_whole(x, (unsigned)argument(x, "status", 200), "text/plain", SLICE("hello"));
}

/* ---- later: by a timer ------------------------------------------------------------------------ */

static void answer_later(struct mlserve_exchange *x)
{
	serving.handled.timed++;
	mlserve_answer_whole(x, 200, "text/plain", SLICE("later"));
}

static void serve_later(struct mlserve_exchange *x)
{
	serving.handled.served++;
	mlserve_exchange_after(x, 1000 * 1000, answer_later);
	mlserve_exchange_after(x, (int64_t)argument(x, "us", 0), answer_later); /* replaces the first */
}

/* ---- pulled: piece by piece ---------------------------------------------------------------------- */

static void more_pulled(struct mlserve_exchange *x)
{
	struct state *s = state_of(x);
	serving.handled.more++;
	while (s->sent < s->total) {
		size_t piece = s->total - s->sent < s->piece ? s->total - s->sent : s->piece;
		size_t taken = mlserve_answer_write(x, test_pattern() + s->sent, piece);
		s->sent += taken;
		if (taken < piece)
			return;
	}
	mlserve_answer_end(x);
}

static void serve_pulled(struct mlserve_exchange *x)
{
	struct state *s = state_of(x);
	serving.handled.served++;
	s->total = argument(x, "n", 100000);
	s->piece = argument(x, "piece", 8192);
	mlserve_answer_begin(x, 200, find_argument(x, "chunked") ? MLSERVE_LENGTH_UNKNOWN : (int64_t)s->total);
	more_pulled(x);
}

/* ---- echo: the request body, in pieces ---------------------------------------------------------------- */

static void read_echo(struct mlserve_exchange *x)
{
	struct state *s = state_of(x);
	struct slice data;
	while ((serving.handled.last_body = mlserve_request_body(x, &data)) == MLSERVE_BODY_DATA) {
		assert_true(data.length > 0);
		s->body = realloc(s->body, s->length + data.length);
		memcpy(s->body + s->length, data.data, data.length);
		s->length += data.length;
	}
	if (serving.handled.last_body == MLSERVE_BODY_WAIT)
		return;
	if (serving.handled.last_body == MLSERVE_BODY_FAILED) {
		free(s->body);
		s->body = NULL;
		return mlserve_answer_error(x, 400, SLICE_NONE);
	}
	mlserve_answer_begin(x, 200, (int64_t)s->length + 1);
	mlserve_answer_write(x, "=", 1);
	mlserve_answer_memory(x, s->body, s->length, free, s->body);
	s->body = NULL;
	mlserve_answer_end(x);
}

static void serve_echo(struct mlserve_exchange *x)
{
	serving.handled.served++;
	read_echo(x);
}

/* ---- deaf: reads none of the body --------------------------------------------------------------------------- */

static void serve_deaf(struct mlserve_exchange *x)
{
	serving.handled.served++;
	mlserve_answer_whole(x, 200, NULL, SLICE("deaf"));
}

/* ---- silent: never answers; torn: cuts its answer ----------------------------------------------------------- */

static void serve_silent(struct mlserve_exchange *x)
{
	(void)x;
	serving.handled.served++;
}

static void serve_torn(struct mlserve_exchange *x)
{
	serving.handled.served++;
	if (!find_argument(x, "early")) {
		mlserve_answer_begin(x, 200, find_argument(x, "chunked") ? MLSERVE_LENGTH_UNKNOWN : 10);
		mlserve_answer_write(x, "abc", 3);
	}
	if (find_argument(x, "short"))
		mlserve_answer_end(x); /* fewer bytes than announced is the same as abort */
	else
		mlserve_answer_abort(x);
}

/* ---- memory, file: sent from where they lie ---------------------------------------------------------------- */

static void on_sent(void *argument)
{
	(void)argument;
	serving.handled.done++;
}

static void serve_memory(struct mlserve_exchange *x)
{
	size_t n = argument(x, "n", 100000);
	serving.handled.served++;
	mlserve_answer_begin(x, 200, (int64_t)n);
	mlserve_answer_memory(x, test_pattern(), n, on_sent, NULL);
	mlserve_answer_end(x);
}

static void close_file(void *file)
{
	serving.handled.done++;
	fclose(file);
}

static void serve_file(struct mlserve_exchange *x)
{
	size_t n = argument(x, "n", 100000), has = argument(x, "has", n), from = argument(x, "from", 0);
	FILE *file = tmpfile();
	serving.handled.served++;
	assert_int_equal(fwrite(test_pattern(), 1, has, file), has);
	fflush(file);
	mlserve_answer_begin(x, 200, (int64_t)(n - from));
	mlserve_answer_file(x, fileno(file), (int64_t)from, (int64_t)(n - from), close_file, file);
	mlserve_answer_end(x);
}

/* ---- greedy: writes more than it announced ------------------------------------------------------------------ */

static void more_greedy(struct mlserve_exchange *x)
{
	struct state *s = state_of(x);
	while (s->sent < 20) {
		size_t taken = mlserve_answer_write(x, test_pattern() + s->sent, 20 - s->sent);
		s->sent += taken;
		if (!taken)
			return;
	}
	mlserve_answer_end(x);
}

static void serve_greedy(struct mlserve_exchange *x)
{
	serving.handled.served++;
	mlserve_answer_begin(x, 200, 5);
	more_greedy(x);
}

/* ---- fields, interim ---------------------------------------------------------------------------------------- */

static void serve_fields(struct mlserve_exchange *x)
{
	serving.handled.served++;
	mlserve_answer_interim(x, 103, SLICE("Link: </a>\r\n"));
	mlserve_answer_begin(x, (unsigned)argument(x, "status", 200), MLSERVE_LENGTH_UNKNOWN);
	mlserve_answer_field(x, "X-Good", SLICE("yes"));
	mlserve_answer_field(x, "X-Empty", SLICE_NONE);
	mlserve_answer_field(x, "X-Split", SLICE("a\r\nX-Evil: 1"));
	mlserve_answer_field(x, "X-Bad\r\nX-Evil", SLICE("1"));
	mlserve_answer_field(x, "content-LENGTH", SLICE("3"));
	mlserve_answer_field(x, "Transfer-Encoding", SLICE("gzip"));
	mlserve_answer_field(x, "Connection", SLICE("close"));
	mlserve_answer_fields(x, SLICE("X-One: 1\r\nX-Two: 2\r\n"));
	mlserve_answer_write(x, "body", 4);
	mlserve_answer_end_with(x, SLICE("X-Trailer: t\r\n"));
}

/* ---- run: in the executor -------------------------------------------------------------------------------------- */

static void work(void *argument)
{
	*(int *)argument = 42;
}

static void on_worked(struct mlserve_exchange *x, void *argument)
{
	char text[16];
	serving.handled.then++;
	int length = snprintf(text, sizeof text, "%d", *(int *)argument);
	free(argument);
	mlserve_answer_whole(x, 200, NULL, (struct slice){text, (size_t)length});
}

static void on_dropped(void *argument)
{
	serving.handled.dropped++;
	free(argument);
}

static void serve_run(struct mlserve_exchange *x)
{
	int *number = calloc(1, sizeof *number);
	serving.handled.served++;
	if (mlserve_exchange_run(x, work, number, on_worked, on_dropped))
		return;
	free(number);
	mlserve_answer_error(x, 503, SLICE("Retry-After: 1\r\n"));
}

/* ---- tunnel: 101, then echoes until the client ends; "?early" without asking for a body that is here
 * ------------------ */

static void echo_tunnel(struct mlserve_exchange *x)
{
	struct state *s = state_of(x);
	struct slice data;
	for (;;) {
		enum mlserve_body result = mlserve_request_body(x, &data);
		serving.handled.last_body = result;
		if (result == MLSERVE_BODY_WAIT)
			return;
		if (result == MLSERVE_BODY_FAILED)
			return mlserve_answer_abort(x);
		if (result == MLSERVE_BODY_END)
			return mlserve_answer_end(x);
		/* Written in two parts, between which nothing may happen to what was lent. */
		size_t half = data.length / 2;
		assert_int_equal(mlserve_answer_write(x, data.data, half), half);
		assert_int_equal(mlserve_answer_write(x, data.data + half, data.length - half), data.length - half);
		s->sent += data.length;
	}
}

static void more_tunnel(struct mlserve_exchange *x)
{
	serving.handled.more++;
	assert_true(mlserve_exchange_drains(x));
}

static void serve_tunnel(struct mlserve_exchange *x)
{
	struct slice name, value;
	serving.handled.served++;
	mlserve_answer_begin(x, 101, 0);
	mlserve_answer_field(x, "Upgrade", SLICE("echo"));
	mlserve_answer_tunnel(x);
	if (!x->tunnel)
		return;
	assert_int_equal(mlserve_request_path(x).length, 0);
	assert_false(mlserve_request_field(x, "Host", &value));
	assert_false(mlserve_request_field_at(x, 0, &name, &value));
	echo_tunnel(x);
}

/* ---- the table ------------------------------------------------------------------------------------------------------
 */

static bool attach(void *route, unsigned loop, void **ret_local)
{
	assert_ptr_equal(route, &serving);
	assert_int_equal(loop, 7);
	serving.handled.attached++;
	*ret_local = &serving.handled;
	return true;
}

static void detach(void *route, void *local)
{
	assert_ptr_equal(route, &serving);
	assert_ptr_equal(local, &serving.handled);
	serving.handled.detached++;
}

static const struct mlserve_option no_options[] = {{0}};
const char test_handler_names[] = "whole later pulled echo deaf silent torn memory file greedy fields run tunnel";

#define HANDLER(id, methods_served, ...)                                                                               \
	static const struct mlserve_handler id##_handler = {.abi = MLSERVE_HANDLER_ABI,                                \
	        .name = #id,                                                                                           \
	        .methods = methods_served,                                                                             \
	        .options = no_options,                                                                                 \
	        .state_bytes = sizeof(struct state),                                                                   \
	        .configure = configure,                                                                                \
	        .serve = serve_##id,                                                                                   \
	        .cancel = cancel,                                                                                      \
	        __VA_ARGS__}
HANDLER(whole, "GET HEAD", .attach = attach, .detach = detach);
HANDLER(later, "GET HEAD");
HANDLER(pulled, "GET HEAD", .more = more_pulled);
HANDLER(echo, "POST PUT", .body = read_echo);
HANDLER(deaf, "GET POST");
HANDLER(silent, "GET POST");
HANDLER(torn, "GET HEAD");
HANDLER(memory, "GET HEAD");
HANDLER(file, "GET HEAD");
HANDLER(greedy, "GET", .more = more_greedy);
HANDLER(fields, "GET HEAD");
HANDLER(run, "GET");
HANDLER(tunnel, "GET POST", .body = echo_tunnel, .more = more_tunnel);

const struct mlserve_handler *const test_handlers[] = {&whole_handler, &later_handler, &pulled_handler, &echo_handler,
        &deaf_handler, &silent_handler, &torn_handler, &memory_handler, &file_handler, &greedy_handler, &fields_handler,
        &run_handler, &tunnel_handler, NULL};

const struct mlserve_handler *test_handler_find(void *context, const char *name, const char **ret_reason)
{
	(void)context, (void)ret_reason;
	for (size_t i = 0; test_handlers[i]; i++)
		if (strcmp(test_handlers[i]->name, name) == 0)
			return test_handlers[i];
	return NULL;
}

const struct mlserve_option *test_handler_options(void *context, const char *name, const char **ret_reason)
{
	const struct mlserve_handler *found = test_handler_find(context, name, ret_reason);
	return found ? found->options : NULL;
}
