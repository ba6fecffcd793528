/* CPUs by affinity. The cgroup's quota is the machine's and cannot be set here: it can only make them fewer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "app/cpus.h"
#include <sched.h>

static cpu_set_t all;

static int setup(void **state)
{
	(void)state;
	return sched_getaffinity(0, sizeof all, &all);
}

static int teardown(void **state)
{
	(void)state;
	return sched_setaffinity(0, sizeof all, &all);
}

static void test_cpus_are_at_least_one_and_no_more_than_affinity_allows(void **state)
{
	(void)state;
	assert_in_range(cpus_available(), 1, (unsigned)CPU_COUNT(&all));
}

static void test_cpus_follow_affinity(void **state)
{
	(void)state;
	for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		cpu_set_t one;
		if (!CPU_ISSET(cpu, &all))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
		assert_int_equal(cpus_available(), 1);
		assert_int_equal(cpus_at(0), cpu);
		assert_int_equal(cpus_at(7), cpu);
	}
}

static void test_cpus_at_goes_round_those_allowed(void **state)
{
	unsigned count = (unsigned)CPU_COUNT(&all);
	(void)state;
	for (unsigned i = 0; i < 2 * count; i++) {
		int cpu = cpus_at(i);
		assert_true(cpu >= 0 && CPU_ISSET((unsigned)cpu, &all));
		assert_int_equal(cpu, cpus_at(i + count));
		if (i > 0 && i < count)
			assert_true(cpu > cpus_at(i - 1));
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(test_cpus_are_at_least_one_and_no_more_than_affinity_allows),
	        TEST(test_cpus_follow_affinity),
	        TEST(test_cpus_at_goes_round_those_allowed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
