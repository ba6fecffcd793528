# These tests drive handlers through the real connection, so they link every room below.
HANDLERS_TEST_ROOMS = src/handlers/libhandlers.a src/serve/libserve.a src/upstream/libupstream.a src/net/libnet.a \
	src/event/libevent.a src/http/libhttp.a src/config/libconfig.a src/stats/libstats.a src/base/libbase.a
HANDLERS_TEST_LIBS = $(HANDLERS_TEST_ROOMS) $(CMOCKA_LIBS) $(PROGRAM_LIBS)
HANDLERS_TEST_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests/unit
HANDLERS_HARNESS = tests/unit/handlers/harness.c tests/unit/handlers/harness.h
STATIC_SITE = tests/unit/handlers/static_site.c tests/unit/handlers/static_site.h $(HANDLERS_HARNESS)

check_PROGRAMS += tests/unit/handlers/test_handlers tests/unit/handlers/test_health \
	tests/unit/handlers/test_proxy_fields tests/unit/handlers/test_proxy_rewrite \
	tests/unit/handlers/test_proxy_trailers \
	tests/unit/handlers/test_proxy_upgrade \
	tests/unit/handlers/test_respond \
	tests/unit/handlers/test_static tests/unit/handlers/test_static_cache \
	tests/unit/handlers/test_static_changes tests/unit/handlers/test_work

# The sample module calls functions of the program that loads it: here they are this test's.
tests_unit_handlers_test_handlers_SOURCES = tests/unit/handlers/test_handlers.c $(HANDLERS_HARNESS)
tests_unit_handlers_test_handlers_CPPFLAGS = $(HANDLERS_TEST_CPPFLAGS)
tests_unit_handlers_test_handlers_LDFLAGS = $(AM_LDFLAGS) -Wl,--export-dynamic
tests_unit_handlers_test_handlers_LDADD = $(WHOLE_ARCHIVE) $(HANDLERS_TEST_ROOMS) $(NO_WHOLE_ARCHIVE) \
	$(CMOCKA_LIBS) $(PROGRAM_LIBS)
tests_unit_handlers_test_handlers_DEPENDENCIES = $(HANDLERS_TEST_ROOMS) tests/talk/module/sample.so \
	tests/talk/module/sample_other_abi.so
tests_unit_handlers_test_health_SOURCES = tests/unit/handlers/test_health.c $(HANDLERS_HARNESS)
tests_unit_handlers_test_health_CPPFLAGS = $(HANDLERS_TEST_CPPFLAGS)
tests_unit_handlers_test_health_LDADD = $(HANDLERS_TEST_LIBS)
tests_unit_handlers_test_proxy_fields_SOURCES = tests/unit/handlers/test_proxy_fields.c
tests_unit_handlers_test_proxy_fields_LDADD = $(HANDLERS_TEST_LIBS)
tests_unit_handlers_test_proxy_rewrite_SOURCES = tests/unit/handlers/test_proxy_rewrite.c
tests_unit_handlers_test_proxy_rewrite_LDADD = $(HANDLERS_TEST_LIBS)
tests_unit_handlers_test_proxy_trailers_SOURCES = tests/unit/handlers/test_proxy_trailers.c
tests_unit_handlers_test_proxy_trailers_LDADD = $(HANDLERS_TEST_LIBS)
tests_unit_handlers_test_proxy_upgrade_SOURCES = tests/unit/handlers/test_proxy_upgrade.c
tests_unit_handlers_test_proxy_upgrade_LDADD = $(HANDLERS_TEST_LIBS)
tests_unit_handlers_test_respond_SOURCES = tests/unit/handlers/test_respond.c $(HANDLERS_HARNESS)
tests_unit_handlers_test_respond_CPPFLAGS = $(HANDLERS_TEST_CPPFLAGS)
tests_unit_handlers_test_respond_LDADD = $(HANDLERS_TEST_LIBS)
tests_unit_handlers_test_static_SOURCES = tests/unit/handlers/test_static.c $(STATIC_SITE)
tests_unit_handlers_test_static_CPPFLAGS = $(HANDLERS_TEST_CPPFLAGS)
tests_unit_handlers_test_static_LDADD = $(HANDLERS_TEST_LIBS)
tests_unit_handlers_test_static_changes_SOURCES = tests/unit/handlers/test_static_changes.c $(STATIC_SITE)
tests_unit_handlers_test_static_changes_CPPFLAGS = $(HANDLERS_TEST_CPPFLAGS)
tests_unit_handlers_test_static_changes_LDADD = $(HANDLERS_TEST_LIBS)
tests_unit_handlers_test_static_cache_SOURCES = tests/unit/handlers/test_static_cache.c
tests_unit_handlers_test_static_cache_LDADD = $(HANDLERS_TEST_LIBS)
tests_unit_handlers_test_work_SOURCES = tests/unit/handlers/test_work.c $(HANDLERS_HARNESS)
tests_unit_handlers_test_work_CPPFLAGS = $(HANDLERS_TEST_CPPFLAGS)
tests_unit_handlers_test_work_LDADD = $(HANDLERS_TEST_LIBS)
