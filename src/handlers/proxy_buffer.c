/* What request_buffering and response_buffering share: their options, and the making of spools. */
#include "base/log.h"
#include "handlers/proxy_forward.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether files can be made there, as far as it can be told without making one. */
static const char *directory_fault(const char *path)
{
	struct stat about;
	if (stat(path, &about))
		return strerror(errno);
	if (!S_ISDIR(about.st_mode))
		return strerror(ENOTDIR);
	return faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) ? strerror(errno) : NULL;
}

bool proxy_buffer_configure(const struct mlserve_settings *s, struct proxy_route *route)
{
	struct spool_place *place = &route->spool_place;
	route->buffers_request = mlserve_setting_number(s, "request_buffering");
	route->buffers_answer = mlserve_setting_number(s, "response_buffering");
	place->memory_bytes = mlserve_setting_number(s, "buffer_memory");
	place->most_bytes = mlserve_setting_number(s, "buffer_max");
	place->directory = mlserve_setting_text(s, "buffer_dir");
	if (!route->buffers_request && !route->buffers_answer)
		return true;
	const char *fault = directory_fault(place->directory);
	if (fault)
		mlserve_setting_fault(s, "buffer_dir", 0, "%s: %s; allowed: a directory that can be written to",
		        place->directory, fault);
	return !fault;
}

struct spool *forward_make_spool(struct forward *f, bool keeps, void (*changed)(void *))
{
	struct mlserve_exchange *x = f->exchange;
	struct spool_owner owner = {
	        .loop = exchange_loop(x),
	        .blocks = &x->context->blocks,
	        .executor = &exchange_view(x)->executor,
	        .changed = changed,
	        .argument = f,
	};
	return spool_create(&f->route->spool_place, &owner, keeps);
}

void forward_log_spool(struct forward *f, const char *option, const char *reason)
{
	if (context_may_log(f->exchange->context))
		log_warn("route %s: %s: %s: %s (request %.*s)", f->exchange->route->name, option,
		        f->route->spool_place.directory, reason, SLICE_ARGS(exchange_request_id(f->exchange)));
}

void forward_drop_spools(struct forward *f)
{
	f->collects = f->is_spooling = false;
	spool_free(&f->request_spool);
	spool_free(&f->answer_spool);
}
