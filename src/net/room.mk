noinst_LIBRARIES += src/net/libnet.a
src_net_libnet_a_SOURCES = \
	src/net/address.c src/net/address.h \
	src/net/blocks.c src/net/blocks.h \
	src/net/listener.c src/net/listener.h \
	src/net/stream.c src/net/stream.h
