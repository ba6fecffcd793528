/* Affinity and cgroup quota. */
#include "app/cpus.h"
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 1024 };

static bool read_line(const char *path, char *to, int room)
{
	FILE *f = fopen(path, "re");
	bool read = f && fgets(to, room, f);
	if (f)
		fclose(f);
	return read;
}

/* CPUs of "QUOTA PERIOD"; 0: no limit. */
static unsigned cpus_of(long long quota, long long period)
{
	if (quota <= 0 || period <= 0)
		return 0;
	return (unsigned)((quota + period - 1) / period);
}

static unsigned limit_of_v2(const char *group)
{
	char path[PATH_BYTES + 64], line[128];
	long long quota, period;
	snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", group);
	if (!read_line(path, line, sizeof line) || sscanf(line, "%lld %lld", &quota, &period) != 2)
		return 0; /* "max": no limit */
	return cpus_of(quota, period);
}

static unsigned limit_of_v1(const char *group)
{
	char path[PATH_BYTES + 64], quota[64], period[64];
	snprintf(path, sizeof path, "/sys/fs/cgroup/cpu%s/cpu.cfs_quota_us", group);
	if (!read_line(path, quota, sizeof quota))
		return 0;
	snprintf(path, sizeof path, "/sys/fs/cgroup/cpu%s/cpu.cfs_period_us", group);
	if (!read_line(path, period, sizeof period))
		return 0;
	return cpus_of(atoll(quota), atoll(period));
}

/* The tightest limit of a group and its parents. */
static unsigned tightest(char *group, unsigned (*limit_of)(const char *))
{
	unsigned tight = 0;
	for (;;) {
		unsigned limit = limit_of(group);
		if (limit && (!tight || limit < tight))
			tight = limit;
		char *slash = strrchr(group, '/');
		if (!slash)
			return tight;
		*slash = 0;
	}
}

static unsigned cgroup_limit(void)
{
	char line[PATH_BYTES];
	unsigned tight = 0;
	FILE *f = fopen("/proc/self/cgroup", "re");
	while (f && fgets(line, sizeof line, f)) {
		line[strcspn(line, "\n")] = 0;
		char *path = strchr(line, '/');
		bool v2 = strncmp(line, "0::", 3) == 0,
		     v1 = strstr(line, ":cpu,") || strstr(line, ",cpu:") || strstr(line, ":cpu:");
		unsigned limit = !path || !(v2 || v1) ? 0 : tightest(path, v2 ? limit_of_v2 : limit_of_v1);
		if (limit && (!tight || limit < tight))
			tight = limit;
	}
	if (f)
		fclose(f);
	return tight;
}

unsigned cpus_available(void)
{
	cpu_set_t set;
	unsigned count = sched_getaffinity(0, sizeof set, &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;
	unsigned limit = cgroup_limit();
	if (limit && limit < count)
		count = limit;
	return count ? count : 1;
}

int cpus_at(unsigned index)
{
	cpu_set_t set;
	if (sched_getaffinity(0, sizeof set, &set) || CPU_COUNT(&set) == 0)
		return -1;
	index %= (unsigned)CPU_COUNT(&set);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET((unsigned)cpu, &set) && index-- == 0)
			return cpu;
	return -1;
}
