EVENT_TESTS = src/event/libevent.a src/stats/libstats.a src/base/libbase.a $(EV_LIBS) $(CMOCKA_LIBS) -lm
EVENT_LOOPING = tests/unit/event/looping.c tests/unit/event/looping.h

check_PROGRAMS += tests/unit/event/test_executor tests/unit/event/test_loop tests/unit/event/test_loop_time \
	tests/unit/event/test_mailbox
tests_unit_event_test_executor_SOURCES = tests/unit/event/test_executor.c
tests_unit_event_test_executor_LDADD = $(EVENT_TESTS)
tests_unit_event_test_loop_SOURCES = tests/unit/event/test_loop.c $(EVENT_LOOPING)
tests_unit_event_test_loop_LDADD = $(EVENT_TESTS)
tests_unit_event_test_loop_time_SOURCES = tests/unit/event/test_loop_time.c $(EVENT_LOOPING)
tests_unit_event_test_loop_time_LDADD = $(EVENT_TESTS)
tests_unit_event_test_mailbox_SOURCES = tests/unit/event/test_mailbox.c
tests_unit_event_test_mailbox_LDADD = $(EVENT_TESTS)
