/*
 * A request of known cost: io_delay on the loop's timer, then a burst of CPU steps, in
 * the loop or in the executor, `steps` times over.
 */
#include "base/check.h"
#include "base/number.h"
#include "handlers/burst.h"
#include "handlers/handlers.h"
#include "http/uri.h"
#include "serve/exchange.h"
#include "stats/json.h"
#include <pthread.h>
#include <stdlib.h>

struct cost {
	int64_t iterations, io_delay_us, steps, block_us;
	enum config_run_on run_on;
};

/* A burst that goes to the executor. It can outlive its exchange, so it belongs to the loop and is used again. */
struct errand {
	struct burst burst;
	struct errand *next_free, *next_made;
	struct errands *owner;
};

struct errands {
	struct errand *free, *made;
	struct errands *next;
};

struct work {
	struct cost cost;
	enum config_work work;
	enum config_format format;
	bool lock, allow_override;
	pthread_mutex_t lock_errands; /* attach only */
	struct errands *errands;      /* of all loops */
};

struct run {
	struct cost cost;
	struct burst burst;
	int64_t steps_left;
};

/* ---- configuration ------------------------------------------------------------------ */

static bool configure(const struct mlserve_settings *s, void **ret_route)
{
	struct work *w = calloc(1, sizeof *w);
	if (!w) {
		mlserve_setting_fault(s, NULL, 0, "no memory");
		return false;
	}
	w->cost = (struct cost){
	        .iterations = mlserve_setting_number(s, "iterations"),
	        .io_delay_us = mlserve_setting_number(s, "io_delay"),
	        .steps = mlserve_setting_number(s, "steps"),
	        .block_us = mlserve_setting_number(s, "block"),
	        .run_on = (enum config_run_on)mlserve_setting_number(s, "run_on"),
	};
	w->work = (enum config_work)mlserve_setting_number(s, "work");
	w->format = (enum config_format)mlserve_setting_number(s, "format");
	w->lock = mlserve_setting_number(s, "lock");
	w->allow_override = mlserve_setting_number(s, "allow_override");
	pthread_mutex_init(&w->lock_errands, NULL);
	*ret_route = w;
	return true;
}

/* Errands of cancelled exchanges may still be in the executor when their loop ends, so they stay until here. */
static void release(void *route)
{
	struct work *w = route;
	while (w->errands) {
		struct errands *all = w->errands;
		w->errands = all->next;
		while (all->made) {
			struct errand *e = all->made;
			all->made = e->next_made;
			free(e);
		}
		free(all);
	}
	pthread_mutex_destroy(&w->lock_errands);
	free(w);
}

static bool attach(void *route, unsigned loop, void **ret_local)
{
	struct work *w = route;
	struct errands *all = calloc(1, sizeof *all);
	(void)loop;
	if (!all)
		return false;
	pthread_mutex_lock(&w->lock_errands);
	all->next = w->errands;
	w->errands = all;
	pthread_mutex_unlock(&w->lock_errands);
	*ret_local = all;
	return true;
}

/* ---- ?iterations=&io_delay=&steps=&block=&run_on= -------------------------------------- */

static const int64_t times_configured = 100, cap_of_no_steps = 1000000, cap_of_no_time_us = 1000000;

typedef enum number_result number_parse(struct slice, int64_t *ret);

/* false: not a number of this kind. Above the cap: the cap. */
static bool override_number(
        struct slice query, struct slice name, number_parse *parse, int64_t cap_of_none, int64_t *number)
{
	struct slice value;
	int64_t cap = *number ? *number * times_configured : cap_of_none, given = 0;
	if (!uri_query_value(query, name, &value))
		return true;
	enum number_result result = parse(value, &given);
	if (result != NUMBER_FINE && result != NUMBER_TOO_LARGE)
		return false;
	*number = result == NUMBER_TOO_LARGE || given > cap ? cap : given;
	return true;
}

static bool override_run_on(struct slice query, enum config_run_on *run_on)
{
	struct slice value;
	if (!uri_query_value(query, SLICE("run_on"), &value))
		return true;
	if (slice_equal(value, SLICE("loop")))
		*run_on = CONFIG_RUN_ON_LOOP;
	else if (slice_equal(value, SLICE("executor")))
		*run_on = CONFIG_RUN_ON_EXECUTOR;
	else
		return false;
	return true;
}

static bool override(struct slice query, struct cost *c)
{
	return override_number(query, SLICE("iterations"), number_parse_count, cap_of_no_steps, &c->iterations) &&
	       override_number(query, SLICE("io_delay"), number_parse_duration, cap_of_no_time_us, &c->io_delay_us) &&
	       override_number(query, SLICE("steps"), number_parse_count, cap_of_no_steps, &c->steps) &&
	       override_number(query, SLICE("block"), number_parse_duration, cap_of_no_time_us, &c->block_us) &&
	       override_run_on(query, &c->run_on) && c->steps > 0;
}

/* ---- running ------------------------------------------------------------------------------ */

static void answer_json(struct mlserve_exchange *x, const struct work *w, const struct run *r)
{
	char text[512];
	struct json j;
	json_init(&j, text, sizeof text);
	json_object(&j, NULL);
	json_integer(&j, "loop", mlserve_exchange_loop(x));
	json_integer(&j, "request", (int64_t)exchange_number(x));
	json_text(&j, "work", slice_of(w->work == CONFIG_WORK_LCG ? "lcg" : "sqrt"));
	json_text(&j, "run_on", slice_of(r->cost.run_on == CONFIG_RUN_ON_LOOP ? "loop" : "executor"));
	json_integer(&j, "iterations", r->cost.iterations);
	json_integer(&j, "io_delay_us", r->cost.io_delay_us);
	json_integer(&j, "steps", r->cost.steps);
	json_integer(&j, "block_us", r->cost.block_us);
	json_integer(&j, "result", (int64_t)burst_result(&r->burst));
	json_end(&j);
	MUST(json_is_whole(&j));
	mlserve_answer_whole(x, 200, "application/json", (struct slice){text, j.length});
}

static void answer_loop_result(struct mlserve_exchange *x, const struct run *r)
{
	static const char digits[] = "0123456789abcdef";
	uint32_t shown = (uint32_t)mlserve_exchange_loop(x) << 24 | (uint32_t)(burst_result(&r->burst) & 0xffffff);
	char text[8];
	for (int i = 7; i >= 0; i--, shown >>= 4)
		text[i] = digits[shown & 15];
	mlserve_answer_begin(x, 200, sizeof text);
	mlserve_answer_fields(x, SLICE("Content-Type: text/plain\r\n"));
	mlserve_answer_memory(x, text, sizeof text, NULL, NULL); /* so few bytes are copied */
	mlserve_answer_end(x);
}

static void answer(struct mlserve_exchange *x, const struct run *r)
{
	const struct work *w = mlserve_exchange_route(x);
	if (w->format == CONFIG_FORMAT_JSON)
		answer_json(x, w, r);
	else
		answer_loop_result(x, r);
}

static struct errand *errand_take(struct errands *all)
{
	struct errand *e = all->free;
	if (e) {
		all->free = e->next_free;
		return e;
	}
	e = calloc(1, sizeof *e);
	if (!e)
		return NULL;
	e->owner = all;
	e->next_made = all->made;
	all->made = e;
	return e;
}

static void errand_give(void *argument)
{
	struct errand *e = argument;
	e->next_free = e->owner->free;
	e->owner->free = e;
}

static void errand_run(void *argument)
{
	struct errand *e = argument;
	burst_run(&e->burst);
}

static void advance(struct mlserve_exchange *);

static void errand_done(struct mlserve_exchange *x, void *argument)
{
	struct run *r = mlserve_exchange_state(x);
	struct errand *e = argument;
	r->burst = e->burst;
	errand_give(e);
	r->steps_left--;
	advance(x);
}

static void start_errand(struct mlserve_exchange *x, const struct run *r)
{
	struct errand *e = errand_take(mlserve_exchange_local(x));
	if (e) {
		e->burst = r->burst;
		if (mlserve_exchange_run(x, errand_run, e, errand_done, errand_give))
			return;
		errand_give(e);
	}
	mlserve_answer_error(x, 503, SLICE("Retry-After: 1\r\n"));
}

/* The wait of this step is over. */
static void step(struct mlserve_exchange *x)
{
	struct run *r = mlserve_exchange_state(x);
	if (r->cost.run_on == CONFIG_RUN_ON_EXECUTOR) {
		start_errand(x, r);
		return;
	}
	burst_run(&r->burst);
	r->steps_left--;
	advance(x);
}

static void advance(struct mlserve_exchange *x)
{
	struct run *r = mlserve_exchange_state(x);
	/* Without waits all steps are one piece of work for the loop: no recursion, however many they are. */
	while (r->steps_left && !r->cost.io_delay_us && r->cost.run_on == CONFIG_RUN_ON_LOOP) {
		burst_run(&r->burst);
		r->steps_left--;
	}
	if (!r->steps_left)
		answer(x, r);
	else if (r->cost.io_delay_us)
		mlserve_exchange_after(x, r->cost.io_delay_us, step);
	else
		start_errand(x, r);
}

static void serve(struct mlserve_exchange *x)
{
	const struct work *w = mlserve_exchange_route(x);
	struct run *r = mlserve_exchange_state(x);
	struct slice query;
	r->cost = w->cost;
	if (w->allow_override && (query = mlserve_request_query(x)).length && !override(query, &r->cost)) {
		mlserve_answer_error(x, 400, SLICE_NONE);
		return;
	}
	r->burst = (struct burst){
	        .work = w->work,
	        .lock = w->lock,
	        .iterations = r->cost.iterations,
	        .block_us = r->cost.block_us,
	        .value = (uint32_t)(1 + exchange_number(x)),
	};
	r->steps_left = r->cost.steps;
	advance(x);
}

const struct mlserve_handler handler_work = {
        .abi = MLSERVE_HANDLER_ABI,
        .name = "work",
        .methods = "GET HEAD",
        .options = options_work,
        .state_bytes = sizeof(struct run),
        .configure = configure,
        .release = release,
        .attach = attach,
        .serve = serve,
};
