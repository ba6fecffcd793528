noinst_LIBRARIES += src/serve/libserve.a
src_serve_libserve_a_SOURCES = \
	src/serve/connection.c src/serve/connection.h \
	src/serve/connection_count.c src/serve/connection_count.h \
	src/serve/connection_wait.c src/serve/connection_wait.h \
	src/serve/context.c src/serve/context.h \
	src/serve/error_page.c src/serve/error_page.h \
	src/serve/exchange.c src/serve/exchange.h \
	src/serve/exchange_answer.c \
	src/serve/exchange_log.c src/serve/exchange_log.h \
	src/serve/exchange_request.c \
	src/serve/exchange_tunnel.c \
	src/serve/route.c src/serve/route.h \
	src/serve/route_condition.c src/serve/route_condition.h \
	src/serve/route_entry.c src/serve/route_entry.h \
	src/serve/route_host.c src/serve/route_host.h \
	src/serve/route_match.c src/serve/route_match.h \
	src/serve/route_methods.c src/serve/route_methods.h \
	src/serve/route_path.c src/serve/route_path.h \
	src/serve/route_rewrite.c src/serve/route_rewrite.h \
	src/serve/view.h
