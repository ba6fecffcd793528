/*
 * Health of the server: the whole document, the short answers of live and ready, one loop.
 *
 * When a loop is stalled the answer waits some milliseconds for a second look, which
 * tells what that loop is doing; nothing is waited for otherwise.
 */
#include "base/check.h"
#include "base/number.h"
#include "config/options.h"
#include "handlers/handlers.h"
#include "handlers/health_document.h"
#include "serve/exchange.h"
#include <stdlib.h>

enum {
	SECOND_LOOK_US = 16000,
	PAGES_KEPT = 4,
	PAGE_BYTES = 4096, /* and for each loop: */
	PAGE_BYTES_A_LOOP = 768,
	PAGE_BYTES_MOST = 64 * 1024 * 1024,
};

/* What is being sent; it goes back to its loop when the last byte is gone. */
struct page {
	struct page *next_free;
	struct pages *owner;
	size_t room;
	char bytes[];
};

struct pages {
	struct page *free;
	unsigned free_count;
};

struct health_route {
	enum config_show show;
	bool takes_rest; /* false on "= /exact" and "~ regex" routes, whose rest is the whole path */
	bool detail_to_loopback;
	size_t network_count;
	struct network networks[];
};

enum subject { SUBJECT_DOCUMENT, SUBJECT_LIVE, SUBJECT_READY, SUBJECT_LOOP, SUBJECT_NONE };

struct question {
	enum subject subject;
	unsigned loop;
	struct health *health;
};

/* ---- configuration ----------------------------------------------------------------------- */

static bool read_networks(
        const struct mlserve_settings *s, struct health_route *r, const char *const *items, size_t count)
{
	bool fine = true;
	for (size_t i = 0; i < count; i++) {
		if (strcmp(items[i], "loopback") == 0) {
			r->detail_to_loopback = true;
		} else if (!network_parse(slice_of(items[i]), &r->networks[r->network_count++])) {
			mlserve_setting_fault(s, "detail_to", i,
			        "\"%s\" is no network; allowed: loopback, unix, 192.0.2.0/24, 2001:db8::/32", items[i]);
			fine = false;
		}
	}
	return fine;
}

static bool configure(const struct mlserve_settings *s, void **ret_route)
{
	const char *const *items;
	size_t count = mlserve_setting_list(s, "detail_to", &items);
	struct health_route *r = calloc(1, sizeof *r + count * sizeof r->networks[0]);
	if (!r) {
		mlserve_setting_fault(s, NULL, 0, "no memory");
		return false;
	}
	const char *path = mlserve_setting_text(s, "path");
	r->show = (enum config_show)mlserve_setting_number(s, "show");
	r->takes_rest = path[0] == '/';
	if (!read_networks(s, r, items, count)) {
		free(r);
		return false;
	}
	*ret_route = r;
	return true;
}

static bool attach(void *route, unsigned loop, void **ret_local)
{
	(void)route, (void)loop;
	*ret_local = calloc(1, sizeof(struct pages));
	return *ret_local != NULL;
}

static void detach(void *route, void *local)
{
	struct pages *pages = local;
	(void)route;
	while (pages->free) {
		struct page *p = pages->free;
		pages->free = p->next_free;
		free(p);
	}
	free(pages);
}

/* ---- pages --------------------------------------------------------------------------------- */

/* Room for at least so many bytes; NULL: no memory. */
static struct page *page_take(struct pages *pages, size_t room)
{
	struct page *p = pages->free;
	if (p) {
		pages->free = p->next_free;
		pages->free_count--;
		if (p->room >= room)
			return p;
		free(p);
	}
	p = malloc(sizeof *p + room);
	if (p) {
		p->owner = pages;
		p->room = room;
	}
	return p;
}

static void page_give(void *page)
{
	struct page *p = page;
	struct pages *pages = p->owner;
	if (pages->free_count >= PAGES_KEPT) {
		free(p);
		return;
	}
	p->next_free = pages->free;
	pages->free = p;
	pages->free_count++;
}

/* ---- answering ------------------------------------------------------------------------------- */

#define FIELDS SLICE("Content-Type: application/json\r\nCache-Control: no-store\r\n")

static void answer_status(struct mlserve_exchange *x, const char *status, bool is_good)
{
	char text[64];
	struct json j;
	json_init(&j, text, sizeof text);
	json_object(&j, NULL);
	json_text(&j, "status", slice_of(status));
	json_end(&j);
	MUST(json_is_whole(&j));
	mlserve_answer_begin(x, is_good ? 200 : 503, (int64_t)j.length);
	mlserve_answer_fields(x, FIELDS);
	mlserve_answer_memory(x, text, j.length, NULL, NULL); /* so few bytes are copied */
	mlserve_answer_end(x);
}

/* Makes the document, in ever more room until it fits. NULL: no memory. */
static struct page *write_page(struct mlserve_exchange *x, const struct question *q, size_t *ret_length)
{
	size_t room = PAGE_BYTES + q->health->loop_count * PAGE_BYTES_A_LOOP;
	for (; room <= PAGE_BYTES_MOST; room *= 2) {
		struct page *p = page_take(mlserve_exchange_local(x), room);
		struct json j;
		if (!p)
			return NULL;
		json_init(&j, p->bytes, p->room);
		if (q->subject == SUBJECT_LOOP)
			health_write_loop(q->health, q->loop, &j);
		else
			health_write(q->health, &j);
		*ret_length = j.length;
		if (json_is_whole(&j))
			return p;
		free(p);
	}
	return NULL;
}

static void answer_detail(struct mlserve_exchange *x)
{
	const struct question *q = mlserve_exchange_state(x);
	bool is_good = q->subject == SUBJECT_LOOP || health_is_good(q->health->status);
	size_t length = 0;
	struct page *p = write_page(x, q, &length);
	if (!p)
		return mlserve_answer_error(x, 503, SLICE("Retry-After: 1\r\n"));
	mlserve_answer_begin(x, is_good ? 200 : 503, (int64_t)length);
	mlserve_answer_fields(x, FIELDS);
	mlserve_answer_memory(x, p->bytes, length, page_give, p);
	mlserve_answer_end(x);
}

static void look_again(struct mlserve_exchange *x)
{
	const struct question *q = mlserve_exchange_state(x);
	health_look_again(q->health, exchange_loop(x)->stats, clock_now_ns());
	answer_detail(x);
}

/* ---- asking ------------------------------------------------------------------------------------ */

static bool may_see_detail(const struct health_route *r, const struct address *peer)
{
	if (r->detail_to_loopback && address_is_loopback(peer))
		return true;
	for (size_t i = 0; i < r->network_count; i++)
		if (network_holds(&r->networks[i], peer))
			return true;
	return false;
}

static enum subject subject_of(const struct health_route *r, struct slice rest, unsigned loop_count, unsigned *ret_loop)
{
	int64_t number;
	if (r->show == CONFIG_SHOW_LIVE)
		return SUBJECT_LIVE;
	if (r->show == CONFIG_SHOW_READY)
		return SUBJECT_READY;
	if (!r->takes_rest || rest.length == 0 || slice_equal(rest, SLICE("/")))
		return SUBJECT_DOCUMENT;
	if (slice_equal(rest, SLICE("/live")))
		return SUBJECT_LIVE;
	if (slice_equal(rest, SLICE("/ready")))
		return SUBJECT_READY;
	if (!slice_starts(rest, SLICE("/loops/")))
		return SUBJECT_NONE;
	/* One address for each loop: no leading zeros. */
	if (number_parse_count(slice_from(rest, sizeof "/loops/" - 1), &number) != NUMBER_FINE || number >= loop_count)
		return SUBJECT_NONE;
	*ret_loop = (unsigned)number;
	return SUBJECT_LOOP;
}

static void serve(struct mlserve_exchange *x)
{
	const struct health_route *r = mlserve_exchange_route(x);
	const struct server_view *view = exchange_view(x);
	struct question *q = mlserve_exchange_state(x);
	q->subject = subject_of(r, mlserve_request_rest(x), view->loop_count, &q->loop);
	if (q->subject == SUBJECT_NONE)
		return mlserve_answer_error(x, 404, SLICE_NONE);
	if (q->subject == SUBJECT_LIVE)
		return answer_status(x, "ok", true);
	q->health = mlserve_exchange_alloc(x, health_bytes(view));
	if (!q->health)
		return mlserve_answer_error(x, 503, SLICE("Retry-After: 1\r\n"));
	health_look(q->health, view, exchange_loop(x)->stats, clock_now_ns());
	if (q->subject == SUBJECT_READY || !may_see_detail(r, exchange_peer(x)))
		return answer_status(x, health_status_text(q->health->status), health_is_good(q->health->status));
	if (q->health->stalled_count)
		mlserve_exchange_after(x, SECOND_LOOK_US, look_again);
	else
		answer_detail(x);
}

const struct mlserve_handler handler_health = {
        .abi = MLSERVE_HANDLER_ABI,
        .name = "health",
        .for_control = true,
        .methods = "GET HEAD",
        .options = options_health,
        .state_bytes = sizeof(struct question),
        .configure = configure,
        .release = free,
        .attach = attach,
        .detach = detach,
        .serve = serve,
};
