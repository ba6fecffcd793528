/* Which build of llhttp serves: the system's library, or one of two made from its sources (llhttp_one.c,
 * llhttp_both.c). */
#ifndef HTTP_LLHTTP_CHOICE_H
#define HTTP_LLHTTP_CHOICE_H

#include <llhttp.h>

struct llhttp_api {
	void (*init)(llhttp_t *, llhttp_type_t, const llhttp_settings_t *);
	llhttp_errno_t (*execute)(llhttp_t *, const char *bytes, size_t length);
};

/* Any thread. */
const struct llhttp_api *llhttp_choose(void);

#endif
