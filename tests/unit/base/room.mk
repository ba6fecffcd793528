check_PROGRAMS += tests/unit/base/test_slice
tests_unit_base_test_slice_SOURCES = tests/unit/base/test_slice.c
tests_unit_base_test_slice_LDADD = src/base/libbase.a $(CMOCKA_LIBS)
