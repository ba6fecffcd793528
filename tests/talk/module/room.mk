# A handler module as somebody else would build it, and one for another version of the interface, which must be refused.
SAMPLE_SOURCE = tests/talk/module/sample.c
check_DATA += tests/talk/module/sample.so tests/talk/module/sample_other_abi.so
CLEANFILES += tests/talk/module/sample.so tests/talk/module/sample_other_abi.so
EXTRA_DIST += $(SAMPLE_SOURCE)

SAMPLE_COMPILE = $(MKDIR_P) tests/talk/module && $(CC) -std=c11 -I$(top_srcdir)/include $(WARN_CFLAGS) \
	$(SANITIZE_CFLAGS) $(CPPFLAGS) $(CFLAGS) -fPIC -shared $(LDFLAGS)

tests/talk/module/sample.so: $(SAMPLE_SOURCE) include/mlserve/handler.h
	$(AM_V_CCLD)$(SAMPLE_COMPILE) -o $@ $(srcdir)/$(SAMPLE_SOURCE)
tests/talk/module/sample_other_abi.so: $(SAMPLE_SOURCE) include/mlserve/handler.h
	$(AM_V_CCLD)$(SAMPLE_COMPILE) -DSAMPLE_ABI=99u -o $@ $(srcdir)/$(SAMPLE_SOURCE)
