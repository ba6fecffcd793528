/* RTLD_LOCAL, so that modules cannot catch each other's symbols; RTLD_NOW, so that a missing one is a fault at start.
 */
#include "handlers/module.h"
#include <dlfcn.h>
#include <stdlib.h>

/* What is wrong with the vtable, or NULL. */
static const char *check(const struct mlserve_handler *handler, struct arena *texts)
{
	if (!handler)
		return "exports no symbol mlserve_handler";
	/* Nothing behind `abi` may be read when it differs. */
	if (handler->abi != MLSERVE_HANDLER_ABI)
		return arena_format(texts, "was built for handler interface %u; this server has %u", handler->abi,
		        MLSERVE_HANDLER_ABI);
	if (!handler->name || !*handler->name)
		return "its mlserve_handler has no name";
	if (!handler->methods || !*handler->methods)
		return "its mlserve_handler serves no methods";
	if (!handler->serve)
		return "its mlserve_handler has no serve function";
	if (!handler->options)
		return "its mlserve_handler has no table of options";
	return NULL;
}

/* dlerror's text begins with the path more often than not, and the fault names it already. */
static const char *load_error(const char *path, struct arena *texts)
{
	const char *text = dlerror();
	size_t length = strlen(path);
	if (!text)
		return "cannot be loaded";
	if (strncmp(text, path, length) == 0 && strncmp(text + length, ": ", 2) == 0)
		text += length + 2;
	const char *kept = arena_format(texts, "%s", text);
	return kept ? kept : "cannot be loaded: no memory";
}

static bool load(struct module *m, struct arena *texts, const char **ret_reason)
{
	m->object = dlopen(m->path, RTLD_NOW | RTLD_LOCAL);
	if (!m->object) {
		*ret_reason = load_error(m->path, texts);
		return false;
	}
	m->handler = dlsym(m->object, "mlserve_handler");
	const char *wrong = check(m->handler, texts);
	if (wrong)
		*ret_reason = wrong;
	return !wrong;
}

struct module *module_open(const char *path, struct arena *texts, const char **ret_reason)
{
	if (path[0] != '/') {
		*ret_reason = "a module is named by its absolute path";
		return NULL;
	}
	struct module *m = calloc(1, sizeof *m);
	if (m)
		m->path = slice_copy(slice_of(path));
	if (!m || !m->path)
		*ret_reason = "no memory";
	else if (load(m, texts, ret_reason))
		return m;
	if (m)
		module_close(&m);
	return NULL;
}

void module_close(struct module **first)
{
	struct module *m = *first;
	*first = m->next;
	if (m->object)
		dlclose(m->object);
	free(m->path);
	free(m);
}
