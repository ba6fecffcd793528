check_PROGRAMS += tests/unit/base/test_arena tests/unit/base/test_list tests/unit/base/test_log \
	tests/unit/base/test_number tests/unit/base/test_slice
tests_unit_base_test_arena_SOURCES = tests/unit/base/test_arena.c
tests_unit_base_test_arena_LDADD = src/base/libbase.a $(CMOCKA_LIBS)
tests_unit_base_test_list_SOURCES = tests/unit/base/test_list.c
tests_unit_base_test_list_LDADD = src/base/libbase.a $(CMOCKA_LIBS)
tests_unit_base_test_log_SOURCES = tests/unit/base/test_log.c
tests_unit_base_test_log_LDADD = src/base/libbase.a $(CMOCKA_LIBS)
tests_unit_base_test_number_SOURCES = tests/unit/base/test_number.c
tests_unit_base_test_number_LDADD = src/base/libbase.a $(CMOCKA_LIBS)
tests_unit_base_test_slice_SOURCES = tests/unit/base/test_slice.c
tests_unit_base_test_slice_LDADD = src/base/libbase.a $(CMOCKA_LIBS)
