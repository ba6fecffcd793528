/* See dns_message.h. By libresolv: c-ares 1.18 gives no TTL of SRV, and what newer ones have is not in it. */
#include "net/dns_message.h"
#include <limits.h>
#include <resolv.h>
#include <string.h>

enum { SRV_FIXED_BYTES = 6 };

bool dns_message_open(struct dns_message *m, const uint8_t *bytes, size_t length)
{
	m->section = ns_s_an;
	m->index = 0;
	return length <= INT_MAX && ns_initparse(bytes, (int)length, &m->handle) == 0;
}

/* RFC 2181 8: one whose highest bit is set means 0. */
static int64_t ttl_of(const ns_rr *rr)
{
	uint32_t ttl_s = ns_rr_ttl(*rr);
	return ttl_s > INT32_MAX ? 0 : (int64_t)ttl_s;
}

static bool read_address(const ns_rr *rr, uint8_t family, size_t bytes, struct dns_record *record)
{
	record->address = (struct address){.family = family};
	if (ns_rr_rdlen(*rr) != bytes)
		return false;
	memcpy(record->address.bytes, ns_rr_rdata(*rr), bytes);
	return true;
}

static bool read_service(const ns_msg *m, const ns_rr *rr, struct dns_record *record)
{
	const uint8_t *data = ns_rr_rdata(*rr), *name = data + SRV_FIXED_BYTES;
	if (ns_rr_rdlen(*rr) <= SRV_FIXED_BYTES)
		return false;
	record->priority = (uint16_t)ns_get16(data);
	record->weight = (uint16_t)ns_get16(data + 2);
	record->port = (uint16_t)ns_get16(data + 4);
	int length = dn_expand(ns_msg_base(*m), ns_msg_end(*m), name, record->target, sizeof record->target);
	if (length < 0 || length > (int)ns_rr_rdlen(*rr) - SRV_FIXED_BYTES)
		return false;
	if (!*record->target)
		strcpy(record->target, ".");
	return true;
}

/* DNS_END: not one of ours. */
static enum dns_result read_record(struct dns_message *m, const ns_rr *rr, struct dns_record *record)
{
	bool fine = true;
	if (ns_rr_class(*rr) != ns_c_in)
		return DNS_END;
	switch (ns_rr_type(*rr)) {
	case DNS_A:
		fine = read_address(rr, AF_INET, 4, record);
		break;
	case DNS_AAAA:
		fine = read_address(rr, AF_INET6, 16, record);
		break;
	case DNS_SRV:
		fine = read_service(&m->handle, rr, record);
		break;
	case DNS_CNAME:
		break;
	default:
		return DNS_END;
	}
	record->type = (enum dns_type)ns_rr_type(*rr);
	record->is_additional = m->section == ns_s_ar;
	record->ttl_s = ttl_of(rr);
	strcpy(record->owner, ns_rr_name(*rr));
	return fine ? DNS_RECORD : DNS_MALFORMED;
}

enum dns_result dns_message_next(struct dns_message *m, struct dns_record *ret)
{
	ns_rr rr;
	for (;;) {
		if (m->index >= ns_msg_count(m->handle, m->section)) {
			if (m->section == ns_s_ar)
				return DNS_END;
			m->section = ns_s_ar;
			m->index = 0;
			continue;
		}
		if (ns_parserr(&m->handle, m->section, m->index++, &rr) < 0)
			return DNS_MALFORMED;
		enum dns_result result = read_record(m, &rr, ret);
		if (result != DNS_END)
			return result;
	}
}
