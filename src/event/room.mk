noinst_LIBRARIES += src/event/libevent.a
src_event_libevent_a_SOURCES = \
	src/event/executor.c src/event/executor.h \
	src/event/loop.c src/event/loop.h \
	src/event/mailbox.c src/event/mailbox.h \
	src/event/stress.h
