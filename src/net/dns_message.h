/*
 * The records of a DNS message (RFC 1035 4) that lead to addresses: CNAME, A, AAAA and SRV (RFC 2782), of its answer
 * and then of its additional section. Messages come from outside: whatever stands in one, reading stays within it.
 */
#ifndef NET_DNS_MESSAGE_H
#define NET_DNS_MESSAGE_H

#include "net/address.h"
#include <arpa/nameser.h>

enum { DNS_NAME_BYTES = NS_MAXDNAME };

enum dns_type { DNS_A = ns_t_a, DNS_AAAA = ns_t_aaaa, DNS_CNAME = ns_t_cname, DNS_SRV = ns_t_srv };

struct dns_record {
	enum dns_type type;
	bool is_additional;
	int64_t ttl_s;
	char owner[DNS_NAME_BYTES];
	struct address address; /* of A and AAAA */
	uint16_t priority, weight, port;
	char target[DNS_NAME_BYTES]; /* of SRV; "." is written as "." */
};

struct dns_message {
	ns_msg handle;
	ns_sect section;
	int index;
};

enum dns_result { DNS_RECORD, DNS_END, DNS_MALFORMED };

/* The bytes stay where they are until reading ends. false: malformed. */
bool dns_message_open(struct dns_message *, const uint8_t *bytes, size_t length);
/* The next record of these types; others are passed over. */
enum dns_result dns_message_next(struct dns_message *, struct dns_record *ret);

#endif
