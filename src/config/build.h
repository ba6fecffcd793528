/* From a draft to checked settings: keys known, values within bounds, what is required present, names defined. */
#ifndef CONFIG_BUILD_H
#define CONFIG_BUILD_H

#include "config/settings.h"

/* Fills config->sections; faults go to the draft's. The draft may be left out of memory (exhausted). */
void build_config(struct config *, struct draft *, const struct config_handlers *);

#endif
