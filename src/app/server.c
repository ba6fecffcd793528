/* Building and starting. The end is in shutdown.c. */
#include "app/server.h"
#include "app/command_line.h"
#include "app/cpus.h"
#include "app/service.h"
#include "app/shutdown.h"
#include "base/check.h"
#include "base/fd.h"
#include "base/log.h"
#include "config/options.h"
#include "net/resolver.h"
#include "serve/connection.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { CONTROL_MAILBOX = 64, SPARE_FDS = 64, FDS_A_LOOP = 8 };

static const struct mlserve_settings *settings_of(const struct server *s)
{
	return config_only(s->config, CONFIG_SERVER);
}

static int64_t setting_ns(const struct server *s, const char *name)
{
	return mlserve_setting_number(settings_of(s), name) * NS_PER_US;
}

/* ---- preparing --------------------------------------------------------------------------- */

static bool check_user(const struct server *s)
{
	const char *user = mlserve_setting_text(settings_of(s), "user");
	if (!user || service_user_exists(user))
		return true;
	mlserve_setting_fault(settings_of(s), "user", 0, "there is no user %s", user);
	return false;
}

static bool make_arrays(struct server *s)
{
	s->stats = aligned_alloc(alignof(struct stats), (s->worker_count + 2) * sizeof *s->stats);
	s->loop_views = aligned_alloc(alignof(struct loop_view), s->worker_count * sizeof *s->loop_views);
	s->workers = aligned_alloc(alignof(struct worker), s->worker_count * sizeof *s->workers);
	if (!s->stats || !s->loop_views || !s->workers)
		return false;
	memset(s->loop_views, 0, s->worker_count * sizeof *s->loop_views);
	memset(s->workers, 0, s->worker_count * sizeof *s->workers);
	for (unsigned i = 0; i < s->worker_count + 2; i++)
		stats_init(&s->stats[i]);
	for (unsigned i = 0; i < s->worker_count; i++) {
		s->loop_views[i].stats = &s->stats[i];
		s->workers[i].loop.set_fd = -1;
	}
	return true;
}

bool server_prepare(struct server *s, const struct config *config, route_handler_find *find, void *find_context,
        struct faults *faults)
{
	*s = (struct server){.config = config, .pid_fd = -1};
	int64_t loops = mlserve_setting_number(settings_of(s), "loops");
	s->worker_count = loops == MLSERVE_AUTO_VALUE ? cpus_available() : (unsigned)loops;
	/* Each looks at all of its part, so that one run shows every fault. */
	bool fine = check_user(s);
	fine = listeners_init(&s->listeners, config, s->worker_count) && fine;
	fine = resolver_read_servers(settings_of(s), &s->dns_servers, &s->dns_server_count) && fine;
	s->upstreams = groups_create(config, s->worker_count);
	s->routes = routes_create(config, find, find_context, faults);
	if (fine && s->upstreams && s->routes && make_arrays(s))
		return true;
	if (faults->count == 0)
		faults_add(faults, NULL, 0, NULL, NULL, "no memory");
	return false;
}

/* ---- the view ---------------------------------------------------------------------------------- */

static void wake_acceptor(struct server_view *view)
{
	struct server *s = CONTAINER_OF(view, struct server, view);
	acceptor_wake(&s->acceptor);
}

static void fill_view(struct server *s)
{
	s->view = (struct server_view){.version = MLSERVE_VERSION,
	        .started_ns = clock_now_ns(),
	        .generation = 1,
	        .loop_count = s->worker_count,
	        .cpus_available = cpus_available(),
	        .loops = s->loop_views,
	        .control = &s->stats[s->worker_count],
	        .dispatch = mlserve_setting_text(settings_of(s), "dispatch"),
	        .stall_threshold_ns = setting_ns(s, "stall_threshold"),
	        .wake_acceptor = wake_acceptor,
	        .buffer_bytes = (size_t)mlserve_setting_number(settings_of(s), "buffer_size"),
	        .upstreams = s->upstreams};
	static const char *const accepts[] = {"central", "reuseport", "sharded-ports"};
	s->view.accept = accepts[s->listeners.accept];
}

/* ---- starting -------------------------------------------------------------------------------------- */

static bool start_executor(struct server *s)
{
	int64_t threads = mlserve_setting_number(settings_of(s), "executor_threads");
	int error = 0;
	if (threads == MLSERVE_AUTO_VALUE)
		threads = s->view.cpus_available;
	s->view.executor = executor_create(
	        (unsigned)threads, (size_t)mlserve_setting_number(settings_of(s), "executor_queue"), &error);
	if (!s->view.executor)
		log_error("executor: %s", strerror(-error));
	return s->view.executor != NULL;
}

static bool take_control(
        struct accept_set *set, const struct listener_settings *listener, int fd, const struct address *peer)
{
	struct server *s = set->owner;
	connection_open(&s->control_context, listener, fd, peer);
	return true;
}

static bool start_control(struct server *s)
{
	struct stats *stats = s->view.control;
	int error = loop_init(&s->control, s->worker_count, stats, CONTROL_MAILBOX);
	if (error) {
		log_error("control loop: %s", strerror(-error));
		return false;
	}
	s->control_made = true;
	s->control.owner = s;
	atomic_store(&stats->status.tid, (int)getpid());
	s->control_serves =
	        context_init(&s->control_context, &s->control, s->routes, &s->view, NULL, s->listeners.max_fields);
	if (!s->control_serves)
		return false;
	error = accept_set_init(&s->control_accepts, &s->control, &s->view.control_acceptor, s->listeners.socket_count);
	s->control_accepts.take = take_control;
	s->control_accepts.owner = s;
	for (size_t i = 0; !error && i < s->listeners.socket_count; i++)
		if (s->listeners.sockets[i].for_loop == SOCKET_FOR_CONTROL)
			error = accept_set_add(&s->control_accepts, &s->listeners.sockets[i]);
	if (error)
		log_error("control listener: %s", strerror(-error));
	return !error;
}

static void prepare_worker(struct server *s, unsigned i)
{
	struct worker *w = &s->workers[i];
	w->stats = &s->stats[i];
	w->view = &s->loop_views[i];
	w->server = &s->view;
	w->listeners = &s->listeners;
	w->routes = s->routes;
	w->control = &s->control;
	w->ended = shutdown_on_worker_ended;
	w->cpu = mlserve_setting_number(settings_of(s), "pin_loops") ? cpus_at(i) : -1;
}

/* Returns how many loops run. No connection is accepted before: there would be nobody to take it. */
static unsigned start_workers(struct server *s)
{
	unsigned running = 0;
	for (unsigned i = 0; i < s->worker_count; i++) {
		prepare_worker(s, i);
		if (!worker_init(&s->workers[i], i, s->view.stall_threshold_ns) || !worker_start(&s->workers[i]))
			s->ended++;
	}
	for (unsigned i = 0; i < s->worker_count; i++)
		running += s->workers[i].joinable && worker_await(&s->workers[i]);
	return running;
}

/* Sockets take half of the descriptors at most: a proxied request needs two. */
static uint64_t connection_limit(const struct server *s, long fd_limit)
{
	int64_t configured = mlserve_setting_number(settings_of(s), "max_connections");
	long usable = fd_limit - SPARE_FDS - FDS_A_LOOP * (long)s->worker_count;
	if (configured != MLSERVE_AUTO_VALUE)
		return (uint64_t)configured;
	return usable > 32 ? (uint64_t)usable / 2 : 16;
}

static bool start_acceptor(struct server *s)
{
	struct acceptor *a = &s->acceptor;
	a->stats = &s->stats[s->worker_count + 1];
	a->workers = s->workers;
	a->worker_count = s->worker_count;
	a->server = &s->view;
	a->control = &s->control;
	a->finished = shutdown_on_acceptor_finished;
	int error = acceptor_init(
	        a, (enum dispatch_policy)mlserve_setting_number(settings_of(s), "dispatch"), &s->listeners);
	if (!error)
		error = acceptor_start(a);
	if (error)
		log_error("acceptor: %s", strerror(-error));
	return !error;
}

/* ---- saying so ------------------------------------------------------------------------------------------ */

static void list_addresses(const struct server *s, char *to, size_t room)
{
	size_t length = 0;
	to[0] = 0;
	for (size_t i = 0; i < s->listeners.socket_count && length + ENDPOINT_TEXT_BYTES + 16 < room; i++) {
		const struct listener_socket *socket = &s->listeners.sockets[i];
		char address[ENDPOINT_TEXT_BYTES];
		if (i > 0 && (socket->flags & LISTENER_REUSEPORT) && socket->for_loop > 0)
			continue; /* the same address as the one before */
		endpoint_format(&socket->endpoint, address);
		length += (size_t)snprintf(to + length, room - length, "%s%s%s", length ? ", " : "", address,
		        socket->for_loop == SOCKET_FOR_CONTROL ? " (control)" : "");
	}
}

static void say_started(const struct server *s, unsigned running)
{
	char addresses[1024];
	list_addresses(s, addresses, sizeof addresses);
	log_info("mlserve %s: %u loops, %u CPUs available, accept %s, listening on %s", s->view.version, running,
	        s->view.cpus_available, s->view.accept, addresses);
	if (s->worker_count > s->view.cpus_available)
		log_warn("%u loops are more than the %u CPUs available (affinity, cgroup quota): they will take turns",
		        s->worker_count, s->view.cpus_available);
	service_notify("READY=1\nMAINPID=%ld\nSTATUS=%u loops on %u CPUs, listening on %.300s", (long)getpid(), running,
	        s->view.cpus_available, addresses);
}

/* ---- running ----------------------------------------------------------------------------------------------- */

static int refuse(const char *format, const char *what, const char *why)
{
	fputs("mlserve: ", stderr);
	fprintf(stderr, format, what, why);
	fputc('\n', stderr);
	return EXIT_REFUSED;
}

static int take_pid_file(struct server *s)
{
	s->pid_path = mlserve_setting_text(settings_of(s), "pid_file");
	if (!s->pid_path || !*s->pid_path)
		return EXIT_DONE;
	s->pid_fd = pid_file_open(s->pid_path);
	if (s->pid_fd >= 0)
		return EXIT_DONE;
	return refuse("pid file %s: %s", s->pid_path,
	        s->pid_fd == -EEXIST ? "another instance is running" : strerror(-s->pid_fd));
}

/* All that can be refused by the machine, before any thread exists. */
static int take_resources(struct server *s)
{
	char error[512];
	bool stays_root;
	int code = take_pid_file(s);
	if (code != EXIT_DONE)
		return code;
	if (!listeners_open(&s->listeners, error, sizeof error))
		return refuse("%s%s", error, "");
	if (!service_drop_privileges(mlserve_setting_text(settings_of(s), "user"), &stays_root, error, sizeof error))
		return refuse("%s%s", error, "");
	if (stays_root)
		log_warn("running as root: there is no user mlserve to become (set user in [server])");
	return EXIT_DONE;
}

static int open_log(const struct server *s)
{
	const struct mlserve_settings *log = config_only(s->config, CONFIG_LOG);
	const char *path = mlserve_setting_text(log, "error");
	enum log_level level = s->is_quiet ? LOG_LEVEL_ERROR : (enum log_level)mlserve_setting_number(log, "level");
	int error;
	if (strcmp(path, "syslog") == 0)
		error = log_open_syslog(LOG_SYSLOG_PATH, level);
	else
		error = log_open(strcmp(path, "stderr") == 0 ? NULL : path, level);
	return error ? refuse("log %s: %s", path, strerror(-error)) : EXIT_DONE;
}

/* After the loops: names may take long, and requests can wait for them. */
static bool start_upkeep(struct server *s)
{
	const char *reason = "no memory";
	if (upkeep_needs_resolver(s->upstreams)) {
		s->resolver = resolver_create(&s->control, s->dns_servers, s->dns_server_count, &reason);
		if (!s->resolver) {
			log_error("resolver: %s", reason);
			return false;
		}
	}
	s->upkeep = upkeep_start(s->upstreams, &s->control, &s->control_context.blocks, s->resolver);
	if (!s->upkeep)
		log_error("upstreams: %s", reason);
	return s->upkeep != NULL;
}

static bool start_threads(struct server *s, long fd_limit)
{
	fill_view(s);
	s->view.max_connections = connection_limit(s, fd_limit);
	if (!start_executor(s) || !start_control(s))
		return false;
	shutdown_watch_signals(s);
	unsigned running = start_workers(s);
	if (running == 0) {
		log_error("no loop could be started");
		return false;
	}
	if (!start_acceptor(s))
		return false;
	if (!stall_watch_start(&s->stall_watch, &s->control, &s->view) || !start_upkeep(s))
		return false;
	atomic_store(&s->view.phase, SERVER_READY);
	atomic_store(&s->view.control->status.state, LOOP_RUNNING);
	say_started(s, running);
	return true;
}

int server_run(struct server *s)
{
	long fd_limit = fd_raise_limit();
	int code = open_log(s);
	if (code == EXIT_DONE)
		code = take_resources(s);
	if (code != EXIT_DONE)
		return code;
	if (!start_threads(s, fd_limit)) {
		shutdown_abandon(s);
		return EXIT_REFUSED;
	}
	int error = loop_run(&s->control);
	if (error)
		log_error("control loop: %s", strerror(-error));
	shutdown_finish(s);
	return error || s->failed ? EXIT_REFUSED : EXIT_DONE;
}

void server_fini(struct server *s)
{
	routes_free(&s->routes);
	groups_free(&s->upstreams);
	listeners_fini(&s->listeners);
	pid_file_close(&s->pid_fd, s->pid_path);
	free(s->workers);
	free(s->loop_views);
	free(s->stats);
	log_close();
}
