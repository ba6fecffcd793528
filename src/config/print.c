/* -T: every option of every section, in normal form. */
#include "config/print.h"
#include "base/check.h"
#include "config/line.h"
#include "config/option.h"
#include "config/options.h"

static void print_line(FILE *out, const char *prefix, const struct mlserve_settings *s, const struct setting *setting,
        const char *value)
{
	fputs(prefix, out);
	/* Values were checked to be writable when they were read, and default ones by the tests. */
	MUST(line_print(out, s->kind, setting->option->name, slice_of(value)));
}

void print_setting(FILE *out, const char *prefix, const struct mlserve_settings *s, const struct setting *setting)
{
	char buffer[OPTION_TEXT_BYTES];
	bool each = setting->option->type == MLSERVE_TEXT && option_is_list(setting->option);
	if (!each || setting->item_count == 0)
		print_line(out, prefix, s, setting, settings_value(setting, buffer));
	for (size_t i = 0; each && i < setting->item_count; i++)
		print_line(out, prefix, s, setting, setting->items[i]);
}

static void print_section(FILE *out, const struct mlserve_settings *s)
{
	fprintf(out, "[%s]\n", s->title);
	for (size_t i = 0; i < s->count; i++) {
		/* What was included stands below already. */
		if (s->kind == CONFIG_SERVER && strcmp(s->settings[i].option->name, "include") == 0)
			fprintf(out, "include =\n");
		else
			print_setting(out, "", s, &s->settings[i]);
	}
}

void config_print(const struct config *config, FILE *out)
{
	for (size_t kind = 0; kind < CONFIG_KIND_COUNT; kind++)
		for (size_t i = 0; i < config->counts[kind]; i++) {
			if (kind > 0 || i > 0)
				fputc('\n', out);
			print_section(out, config->sections[kind][i]);
		}
}
