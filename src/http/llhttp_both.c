/* There are two builds of llhttp, told apart by their names; SSE4.2 parses about four times as fast. */
#include "http/llhttp_choice.h"

void sse42_llhttp_init(llhttp_t *, llhttp_type_t, const llhttp_settings_t *);
llhttp_errno_t sse42_llhttp_execute(llhttp_t *, const char *bytes, size_t length);

const struct llhttp_api *llhttp_choose(void)
{
	static const struct llhttp_api generic = {llhttp_init, llhttp_execute};
	static const struct llhttp_api sse42 = {sse42_llhttp_init, sse42_llhttp_execute};
	return __builtin_cpu_supports("sse4.2") ? &sse42 : &generic;
}
