/*
 * A handler as a module, for the tests: it uses the public header only. Below its route:
 *
 *   /            answers at once with `greeting`, as often as `times` says
 *   /later       answers from a timer, after `delay`
 *   /body/N      sends N bytes ("0123456789" over and over), pulled by the server
 *   /chunked/N   the same without a length
 *   /hang        never answers
 *   /echo        sends the request body back
 *   /executor    answers what the executor computed
 *   /counts      how many exchanges were begun and cancelled so far
 */
#include "mlserve/handler.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef SAMPLE_ABI
#define SAMPLE_ABI MLSERVE_HANDLER_ABI
#endif

struct sample {
	const char *greeting;
	int64_t times, delay_us;
	atomic_long begun, cancelled; /* of all loops */
};

struct state {
	int64_t sent, length;
	bool is_answering;
	struct mlserve_slice held; /* of the request body, not yet written */
};

static const struct mlserve_option options[] = {
        {.name = "greeting", .type = MLSERVE_TEXT, .initial = "hello from a module", .help = "What / answers"},
        {.name = "times", .type = MLSERVE_COUNT, .initial = "1", .min = 1, .max = 100, .help = "How often"},
        {.name = "delay",
                .type = MLSERVE_DURATION,
                .initial = "20ms",
                .min = 0,
                .max = 60000000,
                .help = "How long /later waits; 0: not at all"},
        {.name = NULL},
};

static bool configure(const struct mlserve_settings *s, void **ret_route)
{
	const char *greeting = mlserve_setting_text(s, "greeting");
	if (greeting && strstr(greeting, "forbidden")) {
		mlserve_setting_fault(s, "greeting", 0, "says what is forbidden; allowed: anything else");
		return false;
	}
	struct sample *sample = calloc(1, sizeof *sample);
	if (!sample)
		return false;
	sample->greeting = greeting ? greeting : "";
	sample->times = mlserve_setting_number(s, "times");
	sample->delay_us = mlserve_setting_number(s, "delay");
	*ret_route = sample;
	return true;
}

/* ---- at once, and later ---------------------------------------------------------------- */

static void greet(struct mlserve_exchange *x)
{
	const struct sample *sample = mlserve_exchange_route(x);
	size_t length = strlen(sample->greeting);
	mlserve_answer_begin(x, 200, (int64_t)length * sample->times);
	mlserve_answer_field(x, "Content-Type", (struct mlserve_slice){"text/plain", 10});
	for (int64_t i = 0; i < sample->times; i++)
		mlserve_answer_memory(x, sample->greeting, length, NULL, NULL);
	mlserve_answer_end(x);
}

static void answer_text(struct mlserve_exchange *x, unsigned status, const char *text)
{
	mlserve_answer_whole(x, status, "text/plain", (struct mlserve_slice){text, strlen(text)});
}

static void on_timer(struct mlserve_exchange *x)
{
	answer_text(x, 200, "later");
}

static void count_to_a_million(void *argument)
{
	int64_t *count = argument;
	for (*count = 0; *count < 1000000; ++*count)
		;
}

static void on_counted(struct mlserve_exchange *x, void *argument)
{
	char text[32];
	snprintf(text, sizeof text, "%lld", (long long)*(int64_t *)argument);
	free(argument);
	answer_text(x, 200, text);
}

static void start_counting(struct mlserve_exchange *x)
{
	int64_t *count = malloc(sizeof *count);
	if (count && mlserve_exchange_run(x, count_to_a_million, count, on_counted, free))
		return;
	free(count);
	mlserve_answer_error(x, 503, (struct mlserve_slice){NULL, 0});
}

/* ---- pulled ---------------------------------------------------------------------------- */

static void send_digits(struct mlserve_exchange *x)
{
	static const char digits[] = "0123456789012345678901234567890123456789";
	struct state *state = mlserve_exchange_state(x);
	while (state->sent < state->length) {
		size_t from = (size_t)(state->sent % 10), part = sizeof digits - 1 - from;
		if ((int64_t)part > state->length - state->sent)
			part = (size_t)(state->length - state->sent);
		size_t taken = mlserve_answer_write(x, digits + from, part);
		state->sent += (int64_t)taken;
		if (taken < part)
			return; /* more() is called when there is room */
	}
	mlserve_answer_end(x);
}

static void begin_digits(struct mlserve_exchange *x, const char *number, bool has_length)
{
	struct state *state = mlserve_exchange_state(x);
	state->length = strtoll(number, NULL, 10);
	mlserve_answer_begin(x, 200, has_length ? state->length : MLSERVE_LENGTH_UNKNOWN);
	send_digits(x);
}

/* ---- echo ------------------------------------------------------------------------------ */

/* Begins the answer with the first bytes. false: more() is called when there is room. */
static bool write_held(struct mlserve_exchange *x, struct state *state)
{
	if (!state->is_answering)
		mlserve_answer_begin(x, 200, MLSERVE_LENGTH_UNKNOWN);
	state->is_answering = true;
	size_t taken = state->held.length ? mlserve_answer_write(x, state->held.data, state->held.length) : 0;
	if (taken)
		state->held.data += taken; /* it may be NULL */
	state->held.length -= taken;
	return state->held.length == 0;
}

static void fail(struct mlserve_exchange *x, const struct state *state)
{
	if (state->is_answering)
		mlserve_answer_abort(x);
	else
		mlserve_answer_error(x, 400, (struct mlserve_slice){NULL, 0});
}

static void echo(struct mlserve_exchange *x)
{
	struct state *state = mlserve_exchange_state(x);
	while (state->held.length == 0 || write_held(x, state)) {
		enum mlserve_body result = mlserve_request_body(x, &state->held);
		if (result == MLSERVE_BODY_DATA)
			continue;
		if (result == MLSERVE_BODY_FAILED)
			fail(x, state);
		if (result != MLSERVE_BODY_END)
			return;
		write_held(x, state);
		mlserve_answer_end(x);
		return;
	}
}

static void body(struct mlserve_exchange *x)
{
	echo(x);
}

static void more(struct mlserve_exchange *x)
{
	const struct state *state = mlserve_exchange_state(x);
	if (state->length)
		send_digits(x);
	else
		echo(x);
}

/* ---- the door ---------------------------------------------------------------------------- */

static void show_counts(struct mlserve_exchange *x)
{
	struct sample *sample = mlserve_exchange_route(x);
	char text[64];
	snprintf(text, sizeof text, "begun %ld cancelled %ld", atomic_load(&sample->begun),
	        atomic_load(&sample->cancelled));
	answer_text(x, 200, text);
}

static const char *after(const char *path, const char *prefix)
{
	size_t length = strlen(prefix);
	return strncmp(path, prefix, length) == 0 ? path + length : NULL;
}

static void serve(struct mlserve_exchange *x)
{
	struct sample *sample = mlserve_exchange_route(x);
	struct mlserve_slice rest = mlserve_request_rest(x);
	char path[64];
	const char *number;
	snprintf(path, sizeof path, "%.*s", (int)rest.length, rest.data);
	atomic_fetch_add(&sample->begun, 1);
	if (strcmp(path, "") == 0 || strcmp(path, "/") == 0)
		greet(x);
	else if (strcmp(path, "/later") == 0)
		mlserve_exchange_after(x, sample->delay_us, on_timer);
	else if ((number = after(path, "/body/")))
		begin_digits(x, number, true);
	else if ((number = after(path, "/chunked/")))
		begin_digits(x, number, false);
	else if (strcmp(path, "/echo") == 0)
		echo(x);
	else if (strcmp(path, "/executor") == 0)
		start_counting(x);
	else if (strcmp(path, "/counts") == 0)
		show_counts(x);
	else if (strcmp(path, "/hang") != 0)
		mlserve_answer_error(x, 404, (struct mlserve_slice){NULL, 0});
}

static void cancel(struct mlserve_exchange *x)
{
	struct sample *sample = mlserve_exchange_route(x);
	atomic_fetch_add(&sample->cancelled, 1);
}

extern const struct mlserve_handler mlserve_handler;

MLSERVE_API const struct mlserve_handler mlserve_handler = {
        .abi = SAMPLE_ABI,
        .name = "sample",
        .methods = "GET HEAD POST",
        .options = options,
        .state_bytes = sizeof(struct state),
        .configure = configure,
        .release = free,
        .serve = serve,
        .body = body,
        .more = more,
        .cancel = cancel,
};
