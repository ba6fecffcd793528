# Preloaded by tests that let the wall clock of a server jump; without sanitizers, whose library comes with the server.
CLOCK_SOURCE = tests/talk/clock/clock.c
check_DATA += tests/talk/clock/clock.so
CLEANFILES += tests/talk/clock/clock.so
EXTRA_DIST += $(CLOCK_SOURCE)

tests/talk/clock/clock.so: $(CLOCK_SOURCE)
	$(AM_V_CCLD)$(MKDIR_P) tests/talk/clock && $(CC) -std=c11 $(WARN_CFLAGS) $(CPPFLAGS) $(CFLAGS) -fno-sanitize=all -fPIC -shared $(LDFLAGS) \
		-o $@ $(srcdir)/$(CLOCK_SOURCE) -ldl
