STATS_TEST_LIBS = src/stats/libstats.a src/base/libbase.a $(CMOCKA_LIBS) -lm

check_PROGRAMS += tests/unit/stats/test_histogram tests/unit/stats/test_json tests/unit/stats/test_stats
tests_unit_stats_test_histogram_SOURCES = tests/unit/stats/test_histogram.c
tests_unit_stats_test_histogram_LDADD = $(STATS_TEST_LIBS)
tests_unit_stats_test_json_SOURCES = tests/unit/stats/test_json.c
tests_unit_stats_test_json_LDADD = $(STATS_TEST_LIBS)
tests_unit_stats_test_stats_SOURCES = tests/unit/stats/test_stats.c
tests_unit_stats_test_stats_LDADD = $(STATS_TEST_LIBS)
