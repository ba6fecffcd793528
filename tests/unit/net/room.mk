NET_TESTS = src/net/libnet.a src/event/libevent.a src/stats/libstats.a src/base/libbase.a $(EV_LIBS) $(CMOCKA_LIBS) -lm
NET_RESOLVING_TESTS = $(NET_TESTS) $(CARES_LIBS)
NET_RESOLVING = tests/unit/net/resolving.c tests/unit/net/resolving.h $(NET_DNS_SERVER)
NET_DNS_SERVER = tests/unit/net/dns_server.c tests/unit/net/dns_server.h
NET_STREAMING = tests/unit/net/streaming.c tests/unit/net/streaming.h

check_PROGRAMS += tests/unit/net/test_address tests/unit/net/test_blocks tests/unit/net/test_listener \
	tests/unit/net/test_dns_channel tests/unit/net/test_dns_message tests/unit/net/test_dns_question \
	tests/unit/net/test_findings \
	tests/unit/net/test_resolver tests/unit/net/test_resolver_dnsmasq tests/unit/net/test_resolver_life \
	tests/unit/net/test_resolver_services tests/unit/net/test_search_list tests/unit/net/test_spool \
	tests/unit/net/test_stream_in tests/unit/net/test_stream_out tests/unit/net/test_pipes
tests_unit_net_test_address_SOURCES = tests/unit/net/test_address.c
tests_unit_net_test_address_LDADD = $(NET_TESTS)
tests_unit_net_test_blocks_SOURCES = tests/unit/net/test_blocks.c
tests_unit_net_test_blocks_LDADD = $(NET_TESTS)
tests_unit_net_test_listener_SOURCES = tests/unit/net/test_listener.c
tests_unit_net_test_listener_LDADD = $(NET_TESTS)
tests_unit_net_test_dns_channel_SOURCES = tests/unit/net/test_dns_channel.c
tests_unit_net_test_dns_channel_LDADD = $(NET_RESOLVING_TESTS)
tests_unit_net_test_dns_message_SOURCES = tests/unit/net/test_dns_message.c $(NET_DNS_SERVER)
tests_unit_net_test_dns_message_LDADD = $(NET_RESOLVING_TESTS)
tests_unit_net_test_dns_question_SOURCES = tests/unit/net/test_dns_question.c $(NET_DNS_SERVER)
tests_unit_net_test_dns_question_LDADD = $(NET_RESOLVING_TESTS)
tests_unit_net_test_findings_SOURCES = tests/unit/net/test_findings.c
tests_unit_net_test_findings_LDADD = $(NET_TESTS)
tests_unit_net_test_resolver_SOURCES = tests/unit/net/test_resolver.c $(NET_RESOLVING)
tests_unit_net_test_resolver_LDADD = $(NET_RESOLVING_TESTS)
tests_unit_net_test_resolver_dnsmasq_SOURCES = tests/unit/net/test_resolver_dnsmasq.c $(NET_RESOLVING)
tests_unit_net_test_resolver_dnsmasq_LDADD = $(NET_RESOLVING_TESTS)
tests_unit_net_test_resolver_life_SOURCES = tests/unit/net/test_resolver_life.c $(NET_RESOLVING)
tests_unit_net_test_resolver_life_LDADD = $(NET_RESOLVING_TESTS)
tests_unit_net_test_resolver_services_SOURCES = tests/unit/net/test_resolver_services.c $(NET_RESOLVING)
tests_unit_net_test_resolver_services_LDADD = $(NET_RESOLVING_TESTS)
tests_unit_net_test_search_list_SOURCES = tests/unit/net/test_search_list.c
tests_unit_net_test_search_list_LDADD = $(NET_TESTS)
tests_unit_net_test_spool_SOURCES = tests/unit/net/test_spool.c tests/unit/net/spooling.c tests/unit/net/spooling.h
tests_unit_net_test_spool_LDADD = $(NET_TESTS)
tests_unit_net_test_stream_in_SOURCES = tests/unit/net/test_stream_in.c $(NET_STREAMING)
tests_unit_net_test_stream_in_LDADD = $(NET_TESTS)
tests_unit_net_test_stream_out_SOURCES = tests/unit/net/test_stream_out.c $(NET_STREAMING)
tests_unit_net_test_stream_out_LDADD = $(NET_TESTS)

tests_unit_net_test_pipes_SOURCES = tests/unit/net/test_pipes.c $(NET_STREAMING)
tests_unit_net_test_pipes_LDADD = $(NET_TESTS)
