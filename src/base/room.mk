noinst_LIBRARIES += src/base/libbase.a
src_base_libbase_a_SOURCES = \
	src/base/arena.c src/base/arena.h \
	src/base/check.c src/base/check.h \
	src/base/clock.h \
	src/base/fd.c src/base/fd.h \
	src/base/hash.c src/base/hash.h \
	src/base/list.h \
	src/base/log.c src/base/log.h \
	src/base/number.c src/base/number.h \
	src/base/slice.c src/base/slice.h
