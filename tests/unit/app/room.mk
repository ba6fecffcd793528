APP_TESTS = src/app/libapp.a src/handlers/libhandlers.a src/serve/libserve.a src/upstream/libupstream.a src/net/libnet.a \
	src/event/libevent.a src/http/libhttp.a src/config/libconfig.a src/stats/libstats.a src/base/libbase.a \
	$(PROGRAM_LIBS) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/app/test_accept_set tests/unit/app/test_command_line \
	tests/unit/app/test_connection_limit tests/unit/app/test_cpus \
	tests/unit/app/test_dispatch tests/unit/app/test_listeners tests/unit/app/test_service
tests_unit_app_test_accept_set_SOURCES = tests/unit/app/test_accept_set.c
tests_unit_app_test_accept_set_LDADD = $(APP_TESTS)
tests_unit_app_test_command_line_SOURCES = tests/unit/app/test_command_line.c
tests_unit_app_test_command_line_LDADD = $(APP_TESTS)
tests_unit_app_test_connection_limit_SOURCES = tests/unit/app/test_connection_limit.c
tests_unit_app_test_connection_limit_LDADD = $(APP_TESTS)
tests_unit_app_test_cpus_SOURCES = tests/unit/app/test_cpus.c
tests_unit_app_test_cpus_LDADD = $(APP_TESTS)
tests_unit_app_test_dispatch_SOURCES = tests/unit/app/test_dispatch.c
tests_unit_app_test_dispatch_LDADD = $(APP_TESTS)
tests_unit_app_test_listeners_SOURCES = tests/unit/app/test_listeners.c tests/unit/config/load.c tests/unit/config/load.h
tests_unit_app_test_listeners_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests/unit
tests_unit_app_test_listeners_LDADD = $(APP_TESTS)
tests_unit_app_test_service_SOURCES = tests/unit/app/test_service.c
tests_unit_app_test_service_LDADD = $(APP_TESTS)
