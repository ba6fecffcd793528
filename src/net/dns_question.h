/*
 * One name, asked for one or two types of records, under the names of the search list in turn until one has an answer.
 * Both types are asked under the same name, so that a host's addresses never come from two hosts.
 */
#ifndef NET_DNS_QUESTION_H
#define NET_DNS_QUESTION_H

#include "net/dns_channel.h"
#include "net/dns_message.h"

enum { DNS_TYPES_AT_ONCE = 2 };

struct dns_question {
	/* Takes what it wants of an answer. ARES_SUCCESS: the answer had it; ARES_ENODATA: it had not; or what went
	 * wrong. */
	int (*read)(struct dns_question *, const uint8_t *message, size_t length);
	/* Once, perhaps before dns_question_ask returns: ARES_SUCCESS when any answer had something. May run within
	 * c-ares, where the channel must not be closed. */
	void (*ended)(struct dns_question *, int status);
	struct dns_channel *channel;
	const char *name;
	enum dns_type types[DNS_TYPES_AT_ONCE];
	int type_count;
	size_t next_name; /* of the search list */
	int running;
	int failure; /* ARES_SUCCESS: none */
	bool has_answer, exists;
};

/* `read`, `ended`, `name` and `types` are set; all of it stays until `ended`. */
void dns_question_ask(struct dns_question *, struct dns_channel *);

#endif
