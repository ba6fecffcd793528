# Not part of make check: `make stress`, or tests/stress/run, builds and runs these. They compile the event room for
# themselves, with its points of delay or with weakened memory orders.
STRESS_ALL = tests/stress/stress_handover tests/stress/stress_pools tests/stress/stress_sleep tests/stress/stress_sleep_weak_post \
	tests/stress/stress_sleep_weak_sleep tests/stress/stress_sleep_weak_look
EXTRA_PROGRAMS += $(STRESS_ALL)
CLEANFILES += $(STRESS_ALL)
EXTRA_DIST += tests/stress/run

tests_stress_stress_handover_SOURCES = tests/stress/stress_handover.c src/event/loop.c src/event/mailbox.c
tests_stress_stress_handover_CPPFLAGS = $(AM_CPPFLAGS) -DSTRESS
tests_stress_stress_handover_LDADD = src/stats/libstats.a src/base/libbase.a $(EV_LIBS) -lm

tests_stress_stress_pools_SOURCES = tests/stress/stress_pools.c src/event/loop.c src/event/mailbox.c \
	$(src_upstream_libupstream_a_SOURCES)
tests_stress_stress_pools_CPPFLAGS = $(AM_CPPFLAGS) -DSTRESS
tests_stress_stress_pools_LDADD = src/net/libnet.a src/event/libevent.a src/http/libhttp.a src/config/libconfig.a \
	src/stats/libstats.a src/base/libbase.a $(LLHTTP_LIBS) $(INIH_LIBS) $(XXHASH_LIBS) $(EV_LIBS) $(CARES_LIBS) \
	-lresolv -lm

tests_stress_stress_sleep_SOURCES = tests/stress/stress_sleep.c src/event/mailbox.c
tests_stress_stress_sleep_CPPFLAGS = $(AM_CPPFLAGS)
tests_stress_stress_sleep_LDADD = src/base/libbase.a

tests_stress_stress_sleep_weak_post_SOURCES = $(tests_stress_stress_sleep_SOURCES)
tests_stress_stress_sleep_weak_post_CPPFLAGS = $(AM_CPPFLAGS) -DMAILBOX_POST_ORDER=memory_order_release -DEXPECTATION=LOSS
tests_stress_stress_sleep_weak_post_LDADD = $(tests_stress_stress_sleep_LDADD)

tests_stress_stress_sleep_weak_sleep_SOURCES = $(tests_stress_stress_sleep_SOURCES)
tests_stress_stress_sleep_weak_sleep_CPPFLAGS = $(AM_CPPFLAGS) -DMAILBOX_SLEEP_ORDER=memory_order_release \
	-DEXPECTATION=LOSS
tests_stress_stress_sleep_weak_sleep_LDADD = $(tests_stress_stress_sleep_LDADD)

tests_stress_stress_sleep_weak_look_SOURCES = $(tests_stress_stress_sleep_SOURCES)
tests_stress_stress_sleep_weak_look_CPPFLAGS = $(AM_CPPFLAGS) -DMAILBOX_LOOK_ORDER=memory_order_acquire \
	-DEXPECTATION=LOSS_BUT_ON_X86
tests_stress_stress_sleep_weak_look_LDADD = $(tests_stress_stress_sleep_LDADD)

# HANDOVERS=10000000 for the long run.
HANDOVERS = 1000000
stress: $(STRESS_ALL)
	$(AM_V_at)MLSERVE_BUILD=$(abs_builddir) $(srcdir)/tests/stress/run $(HANDOVERS)
.PHONY: stress
