/* How many CPUs this process may really use. */
#ifndef APP_CPUS_H
#define APP_CPUS_H

/* By affinity and by the cgroup's quota (v2 cpu.max of the group and its parents, v1 cfs quota), rounded up; at
 * least 1. */
unsigned cpus_available(void);
/* CPU number `index` (modulo their count) of those that affinity allows; -1 when it cannot be read. */
int cpus_at(unsigned index);

#endif
