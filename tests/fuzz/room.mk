# Three lines a target; its corpus is tests/fuzz/corpus/<name without fuzz_>/.
check_PROGRAMS += tests/fuzz/fuzz_config
tests_fuzz_fuzz_config_SOURCES = tests/fuzz/fuzz_config.c $(FUZZ_DRIVER)
tests_fuzz_fuzz_config_LDADD = src/config/libconfig.a src/base/libbase.a $(INIH_LIBS)
tests_fuzz_fuzz_config_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
