noinst_LIBRARIES += src/config/libconfig.a
src_config_libconfig_a_SOURCES = \
	src/config/build.c src/config/build.h \
	src/config/build_faults.c src/config/build_faults.h \
	src/config/builtin.c src/config/builtin.h \
	src/config/config.c src/config/config.h \
	src/config/draft.c src/config/draft.h \
	src/config/faults.c src/config/faults.h \
	src/config/files.c src/config/files.h \
	src/config/line.c src/config/line.h \
	src/config/option.c src/config/option.h \
	src/config/options.c src/config/options.h src/config/options.def \
	src/config/override.c src/config/override.h \
	src/config/print.c src/config/print.h \
	src/config/reader.c src/config/reader.h \
	src/config/reference.c \
	src/config/sample.c \
	src/config/settings.c src/config/settings.h \
	src/config/suggest.c src/config/suggest.h \
	src/config/value_list.c src/config/value_list.h
