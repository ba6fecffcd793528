/* Counting who waits, and a line in ten seconds. */
#include "app/connection_limit.h"
#include "base/log.h"
#include <inttypes.h>

enum { WARN_EVERY_S = 10 };

static void note(struct server_view *v, bool *waits, bool now)
{
	if (now && !*waits)
		atomic_fetch_add_explicit(&v->limit_waits, 1, memory_order_relaxed);
	else if (!now && *waits)
		atomic_fetch_sub_explicit(&v->limit_waits, 1, memory_order_relaxed);
	*waits = now;
}

/* One of all threads that wait writes the line. */
static void warn(struct server_view *v)
{
	int64_t now_ns = clock_now_ns(), last_ns = atomic_load_explicit(&v->limit_warned_ns, memory_order_relaxed);
	if (last_ns && now_ns - last_ns < WARN_EVERY_S * NS_PER_S)
		return;
	if (atomic_compare_exchange_strong_explicit(
	            &v->limit_warned_ns, &last_ns, now_ns, memory_order_relaxed, memory_order_relaxed))
		log_warn("max_connections: all %" PRIu64 " connections are open: new ones wait until others close",
		        v->max_connections);
}

bool connection_limit_has_room(struct server_view *v, bool *waits)
{
	bool room = !server_view_is_full(v);
	note(v, waits, !room);
	if (!room)
		warn(v);
	return room;
}

void connection_limit_leave(struct server_view *v, bool *waits)
{
	note(v, waits, false);
}
