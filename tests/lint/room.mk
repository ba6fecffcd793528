check_PROGRAMS += tests/lint/sample
tests_lint_sample_SOURCES = tests/lint/sample.c
tests_lint_sample_LDADD = src/config/libconfig.a src/base/libbase.a $(INIH_LIBS)

.PHONY: conf
conf: tests/lint/sample
	tests/lint/sample >conf.new && mkdir -p $(srcdir)/conf && mv conf.new $(srcdir)/conf/mlserve.ini
