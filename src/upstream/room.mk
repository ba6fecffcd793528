noinst_LIBRARIES += src/upstream/libupstream.a
src_upstream_libupstream_a_SOURCES = \
	src/upstream/balance.c src/upstream/balance.h \
	src/upstream/balance_hash.c \
	src/upstream/balance_least_requests.c \
	src/upstream/balance_round_robin.c \
	src/upstream/balance_two_choices.c \
	src/upstream/group.c src/upstream/group.h \
	src/upstream/group_pick.c \
	src/upstream/link.c src/upstream/link.h \
	src/upstream/link_read.c \
	src/upstream/offer.c src/upstream/offer.h \
	src/upstream/pool.c src/upstream/pool.h \
	src/upstream/probe.c src/upstream/probe.h \
	src/upstream/queue.c src/upstream/queue.h \
	src/upstream/member.c src/upstream/member.h \
	src/upstream/server_line.c src/upstream/server_line.h \
	src/upstream/set.c src/upstream/set.h \
	src/upstream/source.c src/upstream/source.h \
	src/upstream/turns.c src/upstream/turns.h \
	src/upstream/upkeep.c src/upstream/upkeep.h
