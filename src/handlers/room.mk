noinst_LIBRARIES += src/handlers/libhandlers.a
src_handlers_libhandlers_a_SOURCES = \
	src/handlers/burst.c src/handlers/burst.h \
	src/handlers/handlers.c src/handlers/handlers.def src/handlers/handlers.h \
	src/handlers/module.c src/handlers/module.h \
	src/handlers/redirect.c \
	src/handlers/respond.c \
	src/handlers/static.c \
	src/handlers/static_cache.c src/handlers/static_cache.h \
	src/handlers/static_entry.c src/handlers/static_entry.h \
	src/handlers/static_file.c src/handlers/static_file.h \
	src/handlers/work.c
