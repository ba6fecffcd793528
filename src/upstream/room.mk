noinst_LIBRARIES += src/upstream/libupstream.a
src_upstream_libupstream_a_SOURCES = \
	src/upstream/balance.h src/upstream/balance_least_requests.c src/upstream/balance_round_robin.c \
	src/upstream/group.c src/upstream/group.h \
	src/upstream/link.c src/upstream/link.h src/upstream/link_read.c \
	src/upstream/pool.c src/upstream/pool.h \
	src/upstream/turns.c src/upstream/turns.h
