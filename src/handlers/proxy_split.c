/* Reading the upstreams of a route. That each exists was checked with the configuration. */
#include "handlers/proxy_split.h"
#include "upstream/turns.h"
#include <stdlib.h>

enum { MAX_UPSTREAMS = 1024 };

static bool stands_before(const struct proxy_split *s, struct slice name)
{
	for (size_t i = 0; i < s->count; i++)
		if (slice_equal(slice_of(s->names[i]), name))
			return true;
	return false;
}

/* What stands behind the name. */
static bool read_parameters(const struct mlserve_settings *s, size_t item, struct slice rest, unsigned *ret_weight)
{
	struct slice word;
	bool has_weight = false;
	while (slice_next_word(&rest, &word)) {
		if (!turns_read_weight(word, ret_weight)) {
			mlserve_setting_fault(s, "upstream", item,
			        "does not know \"%.*s\"; after the name weight=1..%d is allowed", SLICE_ARGS(word),
			        TURNS_MAX_WEIGHT);
			return false;
		}
		if (has_weight) {
			mlserve_setting_fault(s, "upstream", item,
			        "repeats weight (\"%.*s\"); after the name one weight=1..%d is allowed",
			        SLICE_ARGS(word), TURNS_MAX_WEIGHT);
			return false;
		}
		has_weight = true;
	}
	return true;
}

static bool read_upstream(struct proxy_split *split, const struct mlserve_settings *s, size_t item, const char *value,
        unsigned *ret_weight)
{
	struct slice rest = slice_of(value), name = SLICE_NONE;
	*ret_weight = 1;
	slice_next_word(&rest, &name);
	if (stands_before(split, name)) {
		mlserve_setting_fault(s, "upstream", item,
		        "%.*s stands already among this route's upstreams; allowed: each once, with its weight",
		        SLICE_ARGS(name));
		return false;
	}
	split->names[split->count] = slice_copy(name);
	if (!split->names[split->count])
		return false;
	split->count++;
	return read_parameters(s, item, rest, ret_weight);
}

bool proxy_split_read(const struct mlserve_settings *s, struct proxy_split *ret_split)
{
	const char *const *values;
	unsigned weights[MAX_UPSTREAMS];
	size_t count = mlserve_setting_list(s, "upstream", &values);
	*ret_split = (struct proxy_split){0};
	if (count == 0 || count > MAX_UPSTREAMS) {
		mlserve_setting_fault(s, count ? "upstream" : NULL, 0, "needs 1 to %d upstreams", MAX_UPSTREAMS);
		return false;
	}
	ret_split->names = calloc(count, sizeof *ret_split->names);
	bool fine = ret_split->names != NULL;
	for (size_t i = 0; ret_split->names && i < count; i++)
		fine = read_upstream(ret_split, s, i, values[i], &weights[i]) && fine;
	return fine && turns_lay(weights, count, &ret_split->schedule, &ret_split->length);
}

void proxy_split_fini(struct proxy_split *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->names[i]);
	free(s->names);
	free(s->schedule);
	*s = (struct proxy_split){0};
}
