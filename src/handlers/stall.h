/*
 * What a thread that does not come round is doing, seen from outside by the kernel's
 * account of it. Two looks some milliseconds apart tell burning from waiting for a CPU.
 */
#ifndef HANDLERS_STALL_H
#define HANDLERS_STALL_H

#include <stdint.h>

enum { STALL_SYSCALL_BYTES = 24 };

struct stall {
	const char *kind;                  /* "burn", "blocked", "starved", or NULL: not known */
	char syscall[STALL_SYSCALL_BYTES]; /* its name, or its number when it has none here; "": none or not known */
};

/* CPU time that the thread of this process has used; -1: not known. Any thread. */
int64_t stall_cpu_ns(int tid);
/* `cpu_before_ns`: what stall_cpu_ns said `elapsed_ns` ago, or -1. Any thread. */
void stall_explain(int tid, int64_t cpu_before_ns, int64_t elapsed_ns, struct stall *ret);

#endif
