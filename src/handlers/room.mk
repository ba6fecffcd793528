noinst_LIBRARIES += src/handlers/libhandlers.a
src_handlers_libhandlers_a_SOURCES = \
	src/handlers/burst.c src/handlers/burst.h \
	src/handlers/handlers.c src/handlers/handlers.def src/handlers/handlers.h \
	src/handlers/health.c \
	src/handlers/health_document.c src/handlers/health_document.h \
	src/handlers/health_look.c \
	src/handlers/health_upstreams.c src/handlers/health_upstreams.h \
	src/handlers/module.c src/handlers/module.h \
	src/handlers/proxy.c src/handlers/proxy_forward.h \
	src/handlers/proxy_buffer.c \
	src/handlers/proxy_buffer_down.c \
	src/handlers/proxy_buffer_up.c \
	src/handlers/proxy_down.c \
	src/handlers/proxy_fields.c src/handlers/proxy_fields.h \
	src/handlers/proxy_key.c src/handlers/proxy_key.h \
	src/handlers/proxy_splice.c \
	src/handlers/proxy_split.c src/handlers/proxy_split.h \
	src/handlers/proxy_rewrite.c src/handlers/proxy_rewrite.h \
	src/handlers/proxy_trailers.c \
	src/handlers/proxy_try.c \
	src/handlers/proxy_tunnel.c \
	src/handlers/proxy_up.c \
	src/handlers/proxy_upgrade.c \
	src/handlers/redirect.c \
	src/handlers/respond.c \
	src/handlers/stall.c src/handlers/stall.h src/handlers/syscalls.def \
	src/handlers/static.c \
	src/handlers/static_cache.c src/handlers/static_cache.h \
	src/handlers/static_entry.c src/handlers/static_entry.h \
	src/handlers/static_file.c src/handlers/static_file.h \
	src/handlers/work.c
