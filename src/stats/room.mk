noinst_LIBRARIES += src/stats/libstats.a
src_stats_libstats_a_SOURCES = \
	src/stats/counters.def \
	src/stats/histogram.c src/stats/histogram.h \
	src/stats/json.c src/stats/json.h \
	src/stats/stats.c src/stats/stats.h
