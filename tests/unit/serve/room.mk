SERVE_TESTS = src/serve/libserve.a src/net/libnet.a src/event/libevent.a src/http/libhttp.a src/config/libconfig.a \
	src/stats/libstats.a src/base/libbase.a $(LLHTTP_LIBS) $(INIH_LIBS) $(PCRE2_LIBS) $(EV_LIBS) $(CMOCKA_LIBS) -lm
SERVE_SERVING = tests/unit/serve/handlers.c tests/unit/serve/serving.c tests/unit/serve/serving.h

check_PROGRAMS += tests/unit/serve/test_exchange
tests_unit_serve_test_exchange_SOURCES = tests/unit/serve/test_exchange.c $(SERVE_SERVING)
tests_unit_serve_test_exchange_LDADD = $(SERVE_TESTS)
check_PROGRAMS += tests/unit/serve/test_connection
tests_unit_serve_test_connection_SOURCES = tests/unit/serve/test_connection.c $(SERVE_SERVING)
tests_unit_serve_test_connection_LDADD = $(SERVE_TESTS)
check_PROGRAMS += tests/unit/serve/test_body
tests_unit_serve_test_body_SOURCES = tests/unit/serve/test_body.c $(SERVE_SERVING)
tests_unit_serve_test_body_LDADD = $(SERVE_TESTS)
check_PROGRAMS += tests/unit/serve/test_route
tests_unit_serve_test_route_SOURCES = tests/unit/serve/test_route.c
tests_unit_serve_test_route_LDADD = $(SERVE_TESTS)
check_PROGRAMS += tests/unit/serve/test_context
tests_unit_serve_test_context_SOURCES = tests/unit/serve/test_context.c $(SERVE_SERVING)
tests_unit_serve_test_context_LDADD = $(SERVE_TESTS)
check_PROGRAMS += tests/unit/serve/test_connection_end
tests_unit_serve_test_connection_end_SOURCES = tests/unit/serve/test_connection_end.c $(SERVE_SERVING)
tests_unit_serve_test_connection_end_LDADD = $(SERVE_TESTS)
check_PROGRAMS += tests/unit/serve/test_exchange_log
tests_unit_serve_test_exchange_log_SOURCES = tests/unit/serve/test_exchange_log.c $(SERVE_SERVING)
tests_unit_serve_test_exchange_log_LDADD = $(SERVE_TESTS)
