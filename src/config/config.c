/* Loading: files or the built-in text, then -o, then what exists unsaid, then checking. */
#include "config/config.h"
#include "base/check.h"
#include "config/build.h"
#include "config/builtin.h"
#include "config/files.h"
#include "config/options.h"
#include "config/override.h"
#include "config/reader.h"
#include <errno.h>
#include <stdlib.h>

static const struct mlserve_option *find_builtin_handler(void *context, const char *name, const char **ret_reason)
{
	(void)context;
	(void)ret_reason;
	return options_handler_find(name);
}

/* NULL: memory is short. */
static const char *builtin_handler_names(struct arena *arena)
{
	char *names = arena_text(arena, SLICE(""));
	for (const struct options_handler *h = options_handlers; names && h->name; h++)
		names = arena_format(arena, "%s%s%s", names, h == options_handlers ? "" : " ", h->name);
	return names;
}

/* [server], [log], and a listener when there is none. */
static void add_unsaid(struct draft *d, const char *file)
{
	static const struct {
		enum config_kind kind;
		const char *name;
	} unsaid[] = {{CONFIG_SERVER, ""}, {CONFIG_LOG, ""}, {CONFIG_LISTENER, "main"}};
	for (size_t i = 0; i < ARRAY_COUNT(unsaid); i++) {
		bool found = false;
		for (const struct draft_section *s = d->first; s; s = s->next)
			found = found || s->kind == unsaid[i].kind;
		if (!found)
			draft_add_section(d, unsaid[i].kind, slice_of(unsaid[i].name), (struct place){file, 0});
	}
}

static struct config *begin(struct draft *d, struct faults *faults)
{
	struct config *config = calloc(1, sizeof *config);
	if (!config) {
		faults_add(faults, NULL, 0, NULL, NULL, "memory is short");
		return NULL;
	}
	arena_init(&config->arena);
	config->faults = faults;
	draft_init(d, &config->arena, faults);
	return config;
}

static struct config *finish(
        struct config *config, struct draft *d, const struct config_source *source, const char *file)
{
	struct config_handlers handlers = source->handlers;
	if (!handlers.find)
		handlers = (struct config_handlers){find_builtin_handler, builtin_handler_names(&config->arena), NULL};
	override_apply(d, source->overrides, source->override_count);
	add_unsaid(d, file);
	if (!d->exhausted)
		build_config(config, d, &handlers);
	if (d->exhausted) {
		faults_add(config->faults, NULL, 0, NULL, NULL, "memory is short");
		config_free(&config);
	}
	return config;
}

/* A copy in the arena, as the caller's text may not live as long. */
static const char *own_path(struct draft *d, const char *path)
{
	const char *own = arena_text(d->arena, slice_of(path));
	d->exhausted |= !own;
	return own ? own : "";
}

static struct config *read_stream(const struct config_source *source, FILE *stream, struct faults *faults)
{
	struct draft d;
	struct config *config = begin(&d, faults);
	if (!config)
		return NULL;
	const char *path = own_path(&d, source->path ? source->path : "stream");
	reader_read(&d, stream, path);
	files_refuse_includes(&d);
	return finish(config, &d, source, path);
}

static struct config *read_builtin(const struct config_source *source, struct faults *faults)
{
	struct slice text = builtin_text();
	FILE *stream = fmemopen((void *)(uintptr_t)text.data, text.length, "r");
	if (!stream) {
		faults_add(faults, BUILTIN_FILE, 0, NULL, NULL, "cannot be read: %s", strerror(errno));
		return NULL;
	}
	struct config_source named = *source;
	named.path = BUILTIN_FILE;
	struct config *config = read_stream(&named, stream, faults);
	fclose(stream);
	return config;
}

struct config *config_read(const struct config_source *source, struct faults *faults)
{
	struct draft d;
	if (!source->path)
		return read_builtin(source, faults);
	struct config *config = begin(&d, faults);
	if (!config)
		return NULL;
	const char *path = own_path(&d, source->path);
	files_read(&d, path);
	return finish(config, &d, source, path);
}

static struct config *unless_faulty(struct config *config, const struct faults *faults)
{
	if (config && faults->count)
		config_free(&config);
	return config;
}

struct config *config_load(const struct config_source *source, struct faults *faults)
{
	return unless_faulty(config_read(source, faults), faults);
}

struct config *config_load_stream(const struct config_source *source, FILE *stream, struct faults *faults)
{
	return unless_faulty(read_stream(source, stream, faults), faults);
}

void config_free(struct config **config)
{
	if (!*config)
		return;
	arena_fini(&(*config)->arena);
	free(*config);
	*config = NULL;
}

bool config_is_sound(const struct mlserve_settings *s)
{
	return !s->faulty;
}

const struct mlserve_settings *config_only(const struct config *config, enum config_kind kind)
{
	MUST(config->counts[kind] >= 1); /* a second one is a fault */
	return config->sections[kind][0];
}

size_t config_count(const struct config *config, enum config_kind kind)
{
	return config->counts[kind];
}

const struct mlserve_settings *config_at(const struct config *config, enum config_kind kind, size_t index)
{
	MUST(index < config->counts[kind]);
	return config->sections[kind][index];
}

const struct mlserve_settings *config_find(const struct config *config, enum config_kind kind, const char *name)
{
	for (size_t i = 0; i < config->counts[kind]; i++)
		if (strcmp(config->sections[kind][i]->name, name) == 0)
			return config->sections[kind][i];
	return NULL;
}

const char *config_name(const struct mlserve_settings *settings)
{
	return settings->name;
}

size_t config_index(const struct mlserve_settings *settings)
{
	return settings->index;
}
