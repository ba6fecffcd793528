/* See dns_question.h. */
#include "net/dns_question.h"
#include <stdio.h>
#include <string.h>

/* ---- names of the search list --------------------------------------------------------- */

static size_t count_dots(const char *name)
{
	size_t dots = 0;
	for (; *name; name++)
		dots += *name == '.';
	return dots;
}

static bool ends_with_dot(const char *name)
{
	size_t length = strlen(name);
	return length > 0 && name[length - 1] == '.';
}

/* The `index`th name to ask for: the name itself comes first when it has dots enough, else last. false: there are no
 * more. */
static bool name_at(const struct dns_question *q, size_t index, char to[DNS_NAME_BYTES])
{
	const struct search_list *search = &q->channel->search;
	size_t domains = ends_with_dot(q->name) ? 0 : search->count;
	size_t own = count_dots(q->name) >= search->ndots ? 0 : domains;
	int length;
	if (index > domains)
		return false;
	if (index == own)
		length = snprintf(to, DNS_NAME_BYTES, "%s", q->name);
	else
		length = snprintf(to, DNS_NAME_BYTES, "%s.%s", q->name, search->domains[index - (index > own)]);
	return length < DNS_NAME_BYTES;
}

/* ---- answers ------------------------------------------------------------------------------ */

static void ask_next_name(struct dns_question *);

static void note(struct dns_question *q, int status)
{
	switch (status) {
	case ARES_SUCCESS:
		q->has_answer = true;
		break;
	case ARES_ENODATA:
		q->exists = true;
		break;
	case ARES_ENOTFOUND:
	case ARES_EBADNAME:
		break;
	default:
		q->failure = status;
	}
}

static void on_answer(void *argument, int status, int timeouts, unsigned char *message, int length)
{
	struct dns_question *q = argument;
	(void)timeouts;
	if (status == ARES_SUCCESS)
		status = q->read(q, message, (size_t)length);
	note(q, status);
	if (--q->running > 0)
		return;
	/* A failure may hide an answer under this name: the next one would be another host. */
	if (q->has_answer)
		q->ended(q, ARES_SUCCESS);
	else if (q->failure != ARES_SUCCESS)
		q->ended(q, q->failure);
	else
		ask_next_name(q);
}

static void ask_next_name(struct dns_question *q)
{
	char name[DNS_NAME_BYTES];
	if (!name_at(q, q->next_name++, name)) {
		q->ended(q, q->exists ? ARES_ENODATA : ARES_ENOTFOUND);
		return;
	}
	q->running = q->type_count;
	/* The last callback may come before its dns_channel_ask returns, and free the question. */
	struct dns_channel *channel = q->channel;
	for (int i = 0, count = q->type_count; i < count; i++)
		dns_channel_ask(channel, name, (int)q->types[i], on_answer, q);
}

void dns_question_ask(struct dns_question *q, struct dns_channel *channel)
{
	q->channel = channel;
	q->next_name = 0;
	q->failure = ARES_SUCCESS;
	q->has_answer = q->exists = false;
	ask_next_name(q);
}
