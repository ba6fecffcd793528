UPSTREAM_TESTS = src/upstream/libupstream.a src/net/libnet.a src/event/libevent.a src/http/libhttp.a \
	src/config/libconfig.a src/stats/libstats.a src/base/libbase.a $(LLHTTP_LIBS) $(INIH_LIBS) $(EV_LIBS) $(CMOCKA_LIBS) -lm
UPSTREAM_TEST_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests/unit
UPSTREAM_BENCH = tests/unit/upstream/bench.c tests/unit/upstream/bench.h tests/unit/config/load.c tests/unit/config/load.h

check_PROGRAMS += tests/unit/upstream/test_group tests/unit/upstream/test_link tests/unit/upstream/test_pool \
	tests/unit/upstream/test_turns
tests_unit_upstream_test_group_SOURCES = tests/unit/upstream/test_group.c tests/unit/config/load.c \
	tests/unit/config/load.h
tests_unit_upstream_test_group_CPPFLAGS = $(UPSTREAM_TEST_CPPFLAGS)
tests_unit_upstream_test_group_LDADD = $(UPSTREAM_TESTS)
tests_unit_upstream_test_link_SOURCES = tests/unit/upstream/test_link.c $(UPSTREAM_BENCH)
tests_unit_upstream_test_link_CPPFLAGS = $(UPSTREAM_TEST_CPPFLAGS)
tests_unit_upstream_test_link_LDADD = $(UPSTREAM_TESTS)
tests_unit_upstream_test_pool_SOURCES = tests/unit/upstream/test_pool.c $(UPSTREAM_BENCH)
tests_unit_upstream_test_pool_CPPFLAGS = $(UPSTREAM_TEST_CPPFLAGS)
tests_unit_upstream_test_pool_LDADD = $(UPSTREAM_TESTS)
tests_unit_upstream_test_turns_SOURCES = tests/unit/upstream/test_turns.c
tests_unit_upstream_test_turns_CPPFLAGS = $(UPSTREAM_TEST_CPPFLAGS)
tests_unit_upstream_test_turns_LDADD = $(UPSTREAM_TESTS)
