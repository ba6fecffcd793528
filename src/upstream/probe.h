/*
 * Active health checks: one prober for each server of a group with health_path. All in the
 * control thread. A check is one request on a connection of its own; it passes when the
 * head of an answer of 200 to 399 is whole within health_timeout, and the rest is not read.
 * Checks of a server never overlap. A server begins as up.
 */
#ifndef UPSTREAM_PROBE_H
#define UPSTREAM_PROBE_H

#include "upstream/group.h"

struct loop;
struct blocks;

/* Starts probers for servers of the group's newest set that have none, and stops those of servers that are in it no
 * more. For a group without checks nothing. false: no memory for some; they stay unchecked until the next call. */
bool probes_update(struct group *, struct loop *, struct blocks *);
/* Stops all of the group. */
void probes_stop(struct group *);

#endif
