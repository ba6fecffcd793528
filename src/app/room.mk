noinst_LIBRARIES += src/app/libapp.a
src_app_libapp_a_SOURCES = \
	src/app/accept_set.c src/app/accept_set.h \
	src/app/acceptor.c src/app/acceptor.h \
	src/app/claims.c src/app/claims.h \
	src/app/command_line.c src/app/command_line.h \
	src/app/commands.c src/app/commands.h \
	src/app/connection_limit.c src/app/connection_limit.h \
	src/app/cpus.c src/app/cpus.h \
	src/app/dispatch.c src/app/dispatch.h \
	src/app/listeners.c src/app/listeners.h \
	src/app/server.c src/app/server.h \
	src/app/service.c src/app/service.h \
	src/app/shutdown.c src/app/shutdown.h \
	src/app/stall_watch.c src/app/stall_watch.h \
	src/app/worker.c src/app/worker.h
