/* --help-config: the option tables as text. */
#include "config/config.h"
#include "config/option.h"
#include "config/options.h"

static void print_option(FILE *out, const struct mlserve_option *o)
{
	char allowed[OPTION_TEXT_BYTES];
	fprintf(out, "  %s =%s%s\n", o->name, o->initial ? " " : "", o->initial ? o->initial : "");
	fprintf(out, "      %s.\n", o->help ? o->help : "");
	fprintf(out, "      Takes %s%s.\n", option_allowed(o, allowed),
	        o->flags & MLSERVE_REQUIRED ? "; must be set" : "");
}

static void print_table(FILE *out, const struct mlserve_option *table)
{
	for (; table->name; table++)
		print_option(out, table);
	fputc('\n', out);
}

static void print_kind(FILE *out, const struct options_kind *kind)
{
	fprintf(out, "[%s%s]\n", kind->name, kind->named ? " NAME" : "");
	if (kind->options == options_route)
		fprintf(out, "  ; and the options of its handler, see below or --help-config HANDLER\n");
	print_table(out, kind->options);
}

static void print_handler(FILE *out, const struct options_handler *handler)
{
	fprintf(out, "[route NAME] with handler = %s\n", handler->name);
	print_table(out, handler->options);
}

bool config_reference(FILE *out, const char *section)
{
	bool found = false;
	for (size_t i = 0; i < CONFIG_KIND_COUNT; i++) {
		if (!section || strcmp(section, options_kinds[i].name) == 0) {
			print_kind(out, &options_kinds[i]);
			found = true;
		}
	}
	for (const struct options_handler *h = options_handlers; h->name; h++) {
		if (!section || strcmp(section, h->name) == 0) {
			print_handler(out, h);
			found = true;
		}
	}
	return found;
}
