/* conf/mlserve.ini: the built-in configuration and examples of the rest, every option once with its help. */
#include "base/check.h"
#include "config/builtin.h"
#include "config/option.h"
#include "config/options.h"
#include "config/print.h"
#include <stdint.h>

static const char head[] =
        "# Configuration of mlserve. Lines that begin with ; are options with their defaults: remove the ; to change "
        "one.\n"
        "# Check with `mlserve -t -c FILE`, see all that holds with `mlserve -T -c FILE`, read more with `mlserve "
        "--help-config`.\n"
        "# Durations: 500us 100ms 5s 2m 1h. Sizes: 64k 8m 1g, or bytes. Lists: words, or the key again.\n"
        "# Long values continue on indented lines.\n";

static const char examples_head[] = "\n# Examples: files, a proxy in front of other servers, and a redirection.\n";

static const char examples[] = "[upstream app]\n"
                               "server = 127.0.0.1:9001\n"
                               "[route site]\n"
                               "path = /site/\n"
                               "handler = static\n"
                               "root = /var/www/html\n"
                               "[route api]\n"
                               "path = /api/\n"
                               "handler = proxy\n"
                               "upstream = app\n"
                               "[route old]\n"
                               "path = /old/\n"
                               "handler = redirect\n"
                               "to = /new/\n";

/* What the sample sets beyond the built-in configuration. */
static const char *const additions[] = {
        "server.loops=auto",
        "server.pid_file=/run/mlserve/mlserve.pid",
        "listener.control.bind=127.0.0.1:9180",
        "listener.control.served_by=control",
};

/* The tables whose options were all shown. */
struct shown {
	const struct mlserve_option *tables[ARRAY_COUNT(additions) + CONFIG_KIND_COUNT + 16];
	size_t count;
};

static bool is_first(struct shown *shown, const struct mlserve_option *table)
{
	for (size_t i = 0; i < shown->count; i++)
		if (shown->tables[i] == table)
			return false;
	MUST(shown->count < ARRAY_COUNT(shown->tables));
	shown->tables[shown->count++] = table;
	return true;
}

static void print_help(FILE *out, const struct mlserve_option *o)
{
	fprintf(out, "# %s", o->help);
	for (int64_t n = 0; o->type == MLSERVE_CHOICE && option_choice(o, n).data; n++)
		fprintf(out, "%s%.*s", n ? " | " : " (", SLICE_ARGS(option_choice(o, n)));
	fputs(o->type == MLSERVE_CHOICE ? ")\n" : "\n", out);
}

/* `explain`: also those that are not set, and what each is for. */
static void print_part(FILE *out, const struct mlserve_settings *s, const struct setting *part, size_t count,
        bool explain, const char *prefix)
{
	for (size_t i = 0; i < count; i++) {
		const struct mlserve_option *o = part[i].option;
		const char *initial = o->initial ? o->initial : "";
		if (explain)
			print_help(out, o);
		if (part[i].is_set)
			print_setting(out, prefix, s, &part[i]);
		else if (explain)
			fprintf(out, ";%s =%s%s\n", o->name, *initial ? " " : "", initial);
	}
}

static void print_section(FILE *out, const struct mlserve_settings *s, struct shown *shown, const char *prefix)
{
	const struct mlserve_option *own = options_kinds[s->kind].options;
	size_t own_count = options_count(own);
	fprintf(out, "\n%s[%s]\n", prefix, s->title);
	print_part(out, s, s->settings, own_count, is_first(shown, own), prefix);
	if (s->count > own_count)
		print_part(out, s, s->settings + own_count, s->count - own_count,
		        is_first(shown, s->settings[own_count].option), prefix);
}

static struct config *load(const struct config_source *source, struct slice text, struct faults *faults)
{
	FILE *stream = fmemopen((void *)(uintptr_t)text.data, text.length, "r");
	struct config *config = stream ? config_load_stream(source, stream, faults) : NULL;
	if (stream)
		fclose(stream);
	return config;
}

/* Only the kinds from `first` on, as [server] and [log] are there without being asked for. */
static void print_all(
        FILE *out, struct slice text, const struct config_source *source, struct shown *shown, const char *prefix)
{
	static const enum config_kind order[] = {
	        CONFIG_SERVER, CONFIG_LOG, CONFIG_LISTENER, CONFIG_UPSTREAM, CONFIG_ROUTE};
	struct faults faults;
	faults_init(&faults);
	struct config *config = load(source, text, &faults);
	faults_print(&faults, stderr);
	for (size_t k = *prefix ? 3 : 0; config && k < ARRAY_COUNT(order); k++)
		for (size_t i = 0; i < config->counts[order[k]]; i++)
			print_section(out, config->sections[order[k]][i], shown, prefix);
	config_free(&config);
	faults_fini(&faults);
}

void config_sample(FILE *out)
{
	struct shown shown = {.count = 0};
	const struct config_source own = {
	        .path = BUILTIN_FILE, .overrides = additions, .override_count = ARRAY_COUNT(additions)};
	const struct config_source example = {.path = "examples"};
	fputs(head, out);
	print_all(out, builtin_text(), &own, &shown, "");
	fputs(examples_head, out);
	print_all(out, SLICE(examples), &example, &shown, ";");
}
