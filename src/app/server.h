/*
 * The server as a whole: builds everything from a configuration, starts the threads,
 * waits for signals, and ends everything in order. Control thread.
 */
#ifndef APP_SERVER_H
#define APP_SERVER_H

#include "app/acceptor.h"
#include "app/stall_watch.h"
#include "config/config.h"
#include "upstream/upkeep.h"

struct server {
	const struct config *config;
	struct listeners listeners;
	const char *const *dns_servers; /* none: those of the system */
	size_t dns_server_count;
	struct groups *upstreams;
	struct resolver *resolver; /* NULL: no upstream has a name */
	struct upkeep *upkeep;
	struct routes *routes;
	struct server_view view;
	struct stats *stats; /* one a worker, then the control loop's, then the acceptor's */
	struct loop_view *loop_views;
	struct worker *workers;
	unsigned worker_count;
	struct acceptor acceptor;

	struct loop control;
	bool control_made;
	struct context control_context;
	bool control_serves;
	struct accept_set control_accepts;
	struct stall_watch stall_watch;

	struct ev_signal signals[8];
	struct timer drain_timer, cut_timer, give_up_timer;
	unsigned ended; /* workers whose thread ended or never started */
	unsigned shutdown_step;
	bool acceptor_done, gave_up, control_draining, failed;
	bool is_quiet; /* logs errors only, whatever the configuration says */
	int pid_fd;
	const char *pid_path;
};

/* Checks what only the rooms below the configuration know: addresses, routes, upstreams. Nothing is opened. false:
 * faults. */
bool server_prepare(struct server *, const struct config *, route_handler_find *, void *find_context, struct faults *);
/* Opens sockets, starts threads and serves until told to end. Returns the exit code. */
int server_run(struct server *);
void server_fini(struct server *);

#endif
