/*
 * Signals, and the orderly end: not ready, then no new connections, then every loop
 * drains, then what is left is cut, then one report. Control thread.
 */
#ifndef APP_SHUTDOWN_H
#define APP_SHUTDOWN_H

#include "app/server.h"

/* Before main starts anything: blocks all signals but those that mean a fault of ours, so that none is lost or fatal.
 */
void shutdown_block_signals(void);
/* For commands that do not serve. */
void shutdown_unblock_signals(void);
/* The control loop exists: signals are handled from now on. */
void shutdown_watch_signals(struct server *);
/* Callbacks of workers and acceptor. */
void shutdown_on_worker_ended(struct loop *control, struct post *);
void shutdown_on_acceptor_finished(struct loop *control, struct post *);
/* Start failed midway: ends what runs already. */
void shutdown_abandon(struct server *);
/* The control loop has ended: joins threads, frees loops, prints the report. Does not return when a loop hangs: exits.
 */
void shutdown_finish(struct server *);

#endif
