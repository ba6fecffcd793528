/* There is one build of llhttp: a library, or its sources on a CPU that has but one kind. */
#include "http/llhttp_choice.h"

const struct llhttp_api *llhttp_choose(void)
{
	static const struct llhttp_api only = {llhttp_init, llhttp_execute};
	return &only;
}
