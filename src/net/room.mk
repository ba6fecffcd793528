noinst_LIBRARIES += src/net/libnet.a
src_net_libnet_a_SOURCES = \
	src/net/address.c src/net/address.h \
	src/net/blocks.c src/net/blocks.h \
	src/net/dns_channel.c src/net/dns_channel.h \
	src/net/dns_message.c src/net/dns_message.h \
	src/net/dns_question.c src/net/dns_question.h \
	src/net/findings.c src/net/findings.h \
	src/net/hosts.c src/net/hosts.h \
	src/net/listener.c src/net/listener.h \
	src/net/pieces.c src/net/pieces.h \
	src/net/pipes.c src/net/pipes.h \
	src/net/resolver.c src/net/resolver.h \
	src/net/resolver_servers.c \
	src/net/search_list.c src/net/search_list.h \
	src/net/services.c src/net/services.h \
	src/net/spool.c src/net/spool.h \
	src/net/spool_file.c src/net/spool_file.h \
	src/net/stream.c src/net/stream.h
