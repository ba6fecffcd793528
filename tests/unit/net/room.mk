NET_TESTS = src/net/libnet.a src/event/libevent.a src/stats/libstats.a src/base/libbase.a $(EV_LIBS) $(CMOCKA_LIBS) -lm
NET_STREAMING = tests/unit/net/streaming.c tests/unit/net/streaming.h

check_PROGRAMS += tests/unit/net/test_address tests/unit/net/test_blocks tests/unit/net/test_listener \
	tests/unit/net/test_stream_in tests/unit/net/test_stream_out
tests_unit_net_test_address_SOURCES = tests/unit/net/test_address.c
tests_unit_net_test_address_LDADD = $(NET_TESTS)
tests_unit_net_test_blocks_SOURCES = tests/unit/net/test_blocks.c
tests_unit_net_test_blocks_LDADD = $(NET_TESTS)
tests_unit_net_test_listener_SOURCES = tests/unit/net/test_listener.c
tests_unit_net_test_listener_LDADD = $(NET_TESTS)
tests_unit_net_test_stream_in_SOURCES = tests/unit/net/test_stream_in.c $(NET_STREAMING)
tests_unit_net_test_stream_in_LDADD = $(NET_TESTS)
tests_unit_net_test_stream_out_SOURCES = tests/unit/net/test_stream_out.c $(NET_STREAMING)
tests_unit_net_test_stream_out_LDADD = $(NET_TESTS)
