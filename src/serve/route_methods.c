/* Methods of routes. A method that never gets here is a fault, as it would be allowed and still be refused. */
#include "serve/route_methods.h"
#include "http/message.h"
#include "http/status.h"

bool route_methods_have(const struct route_methods *m, struct slice method)
{
	for (size_t i = 0; i < m->count; i++)
		if (slice_equal(m->items[i], method))
			return true;
	return false;
}

bool route_methods_equal(const struct route_methods *a, const struct route_methods *b)
{
	for (size_t i = 0; i < a->count; i++)
		if (!route_methods_have(b, a->items[i]))
			return false;
	return a->count == b->count;
}

const char *route_methods_text(struct arena *arena, const struct route_methods *m)
{
	char *text = arena_format(arena, "%s", "");
	for (size_t i = 0; text && i < m->count; i++)
		text = arena_format(arena, "%s%s%.*s", text, i ? ", " : "", SLICE_ARGS(m->items[i]));
	return text;
}

static void add(struct route_methods *m, struct slice method)
{
	if (!route_methods_have(m, method))
		m->items[m->count++] = method;
}

const char *route_methods_wrong(struct slice method)
{
	enum method known = method_of(method);
	if (known == METHOD_UNKNOWN)
		return "no method that is known; they are in upper case";
	return known == METHOD_TRACE || known == METHOD_CONNECT ? "a method that is served nowhere" : NULL;
}

static bool read_own(struct arena *arena, const struct mlserve_handler *handler, struct route_methods *ret_own)
{
	size_t most = strlen(handler->methods) / 2 + 1; /* a letter and a blank each */
	*ret_own = (struct route_methods){.items = arena_alloc(arena, most * sizeof *ret_own->items)};
	for (const char *at = handler->methods; ret_own->items && *at;) {
		struct slice method = {at, strcspn(at, " ")};
		if (!route_methods_wrong(method))
			add(ret_own, method);
		at += method.length + (at[method.length] == ' ');
	}
	return ret_own->items != NULL;
}

static void fault(struct arena *arena, const struct mlserve_settings *s, size_t item, const char *name,
        const struct mlserve_handler *handler, const struct route_methods *own)
{
	const char *allowed = route_methods_text(arena, own);
	const char *wrong = route_methods_wrong(slice_of(name));
	mlserve_setting_fault(s, "methods", item, "%s is %s; allowed for handler %s: %s", name,
	        wrong ? wrong : "not served by its handler", handler->name, allowed ? allowed : handler->methods);
}

bool route_methods_read(struct arena *arena, const struct mlserve_settings *s, const struct mlserve_handler *handler,
        struct route_methods *ret_methods)
{
	const char *const *names;
	size_t count = mlserve_setting_list(s, "methods", &names);
	struct route_methods own, asked = {.items = arena_alloc(arena, count * sizeof *asked.items)};
	bool fine = true;
	if (!asked.items || !read_own(arena, handler, &own))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (route_methods_have(&own, slice_of(names[i]))) {
			add(&asked, slice_of(names[i]));
		} else {
			fault(arena, s, i, names[i], handler, &own);
			fine = false;
		}
	}
	*ret_methods = count ? asked : own;
	return fine;
}
