CONFIG_TESTS = src/config/libconfig.a src/base/libbase.a $(INIH_LIBS) $(CMOCKA_LIBS)
CONFIG_LOAD = tests/unit/config/load.c tests/unit/config/load.h

check_PROGRAMS += tests/unit/config/test_build tests/unit/config/test_files tests/unit/config/test_options \
	tests/unit/config/test_override tests/unit/config/test_print tests/unit/config/test_reader
tests_unit_config_test_build_SOURCES = tests/unit/config/test_build.c $(CONFIG_LOAD)
tests_unit_config_test_build_LDADD = $(CONFIG_TESTS)
tests_unit_config_test_files_SOURCES = tests/unit/config/test_files.c $(CONFIG_LOAD)
tests_unit_config_test_files_LDADD = $(CONFIG_TESTS)
tests_unit_config_test_options_SOURCES = tests/unit/config/test_options.c
tests_unit_config_test_options_LDADD = $(CONFIG_TESTS)
tests_unit_config_test_override_SOURCES = tests/unit/config/test_override.c $(CONFIG_LOAD)
tests_unit_config_test_override_LDADD = $(CONFIG_TESTS)
tests_unit_config_test_print_SOURCES = tests/unit/config/test_print.c $(CONFIG_LOAD)
tests_unit_config_test_print_LDADD = $(CONFIG_TESTS)
tests_unit_config_test_reader_SOURCES = tests/unit/config/test_reader.c $(CONFIG_LOAD)
tests_unit_config_test_reader_LDADD = $(CONFIG_TESTS)
