/* Values by name: the mlserve_setting_ functions. */
#include "config/settings.h"
#include "base/check.h"
#include "config/option.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct setting *settings_find(const struct mlserve_settings *s, const char *name)
{
	for (size_t i = 0; i < s->count; i++)
		if (strcmp(s->settings[i].option->name, name) == 0)
			return &s->settings[i];
	return NULL;
}

struct place settings_place(const struct mlserve_settings *s, const struct setting *setting, size_t item)
{
	if (!setting || !setting->entry)
		return s->place;
	if (item < setting->item_count)
		return setting->places[item];
	return setting->entry->place;
}

const char *settings_value(const struct setting *setting, char *buffer)
{
	const struct mlserve_option *o = setting->option;
	if (!option_is_number(o))
		return setting->text ? setting->text : "";
	if (!o->initial && !setting->is_set)
		return "";
	return option_print(o, setting->number, buffer);
}

static const struct setting *get(const struct mlserve_settings *s, const char *name)
{
	const struct setting *setting = settings_find(s, name);
	MUST(setting != NULL);
	return setting;
}

int64_t mlserve_setting_number(const struct mlserve_settings *s, const char *name)
{
	const struct setting *setting = get(s, name);
	MUST(option_is_number(setting->option));
	return setting->number;
}

const char *mlserve_setting_text(const struct mlserve_settings *s, const char *name)
{
	const struct setting *setting = get(s, name);
	MUST(!option_is_list(setting->option));
	MUST(setting->option->type == MLSERVE_TEXT || setting->option->type == MLSERVE_CHOICE);
	return setting->text;
}

size_t mlserve_setting_list(const struct mlserve_settings *s, const char *name, const char *const **ret_items)
{
	const struct setting *setting = get(s, name);
	MUST(option_is_list(setting->option));
	*ret_items = setting->items;
	return setting->item_count;
}

bool mlserve_setting_is_set(const struct mlserve_settings *s, const char *name)
{
	return get(s, name)->is_set;
}

static struct place place_of(const struct mlserve_settings *s, const char *name, size_t item)
{
	return name ? settings_place(s, get(s, name), item) : s->place;
}

void mlserve_setting_fault(const struct mlserve_settings *s, const char *name, size_t item, const char *format, ...)
{
	struct place place = place_of(s, name, item);
	char *text = NULL;
	va_list args;
	va_start(args, format);
	int length = vasprintf(&text, format, args);
	va_end(args);
	faults_add(s->config->faults, place.file, place.line, s->title, name, "%s", length < 0 ? format : text);
	if (length >= 0)
		free(text);
}

void config_place(const struct mlserve_settings *s, const char *name, size_t item, char to[CONFIG_PLACE_BYTES])
{
	struct place place = place_of(s, name, item);
	if (place.line)
		snprintf(to, CONFIG_PLACE_BYTES, "%s:%d", place.file, place.line);
	else
		snprintf(to, CONFIG_PLACE_BYTES, "%s", place.file);
}
