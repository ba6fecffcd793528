/* Messages that break off or are bent anywhere: reading them ends, and stays within them. */
#include "dns_server.h"
#include "net/services.h"
#include <stdlib.h>
#include <string.h>

static struct dns_reply whole;

static void build(void)
{
	static const struct dns_asked asked = {.name = "_http._tcp.app.test", .type = ns_t_srv, .id = 7};
	reply_begin(&whole, &asked, 0);
	reply_cname(&whole, asked.name, 90, "b.test");
	reply_srv(&whole, "b.test", 60, 1, 2, 3, "one.test");
	reply_raw(&whole, "b.test", ns_t_txt, 60, "\1a", 2);
	reply_a(&whole, "a.test", 50, "192.0.2.1");
	reply_additional(&whole);
	reply_a(&whole, "one.test", 40, "192.0.2.2");
	reply_aaaa(&whole, "one.test", 30, "2001:db8::1");
}

/* In memory of its own, so that the sanitizer sees every step beyond. Returns how many records there were before the
 * end, or -1 when the message is malformed. */
static int read_all(const uint8_t *bytes, size_t length)
{
	struct dns_message m;
	struct dns_record record;
	enum dns_result result = DNS_MALFORMED;
	int count = 0;
	uint8_t *copy = malloc(length ? length : 1);
	assert_non_null(copy);
	memcpy(copy, bytes, length);
	if (dns_message_open(&m, copy, length))
		while ((result = dns_message_next(&m, &record)) == DNS_RECORD) {
			assert_true(memchr(record.owner, 0, sizeof record.owner) != NULL);
			assert_true(++count < 1000);
		}
	free(copy);
	return result == DNS_END ? count : -1;
}

static void read_services(const uint8_t *bytes, size_t length)
{
	struct services services;
	struct findings findings;
	uint8_t *copy = malloc(length);
	assert_non_null(copy);
	memcpy(copy, bytes, length);
	services_init(&services);
	findings_init(&findings);
	services_read(&services, copy, length, &findings);
	for (size_t i = 0; i < services.count; i++)
		assert_in_range(services.items[i].terms.weight, 1, RESOLVER_MAX_WEIGHT);
	services_fini(&services);
	findings_fini(&findings);
	free(copy);
}

static void test_records_come_in_order_and_others_are_passed_over(void **state)
{
	static const struct {
		enum dns_type type;
		int64_t ttl_s;
		const char *owner;
		bool is_additional;
	} records[] = {
	        {DNS_CNAME, 90, "_http._tcp.app.test", false},
	        {DNS_SRV, 60, "b.test", false},
	        {DNS_A, 50, "a.test", false},
	        {DNS_A, 40, "one.test", true},
	        {DNS_AAAA, 30, "one.test", true},
	};
	struct dns_message m;
	struct dns_record record;
	(void)state;
	build();
	assert_true(dns_message_open(&m, whole.bytes, whole.length));
	for (size_t i = 0; i < ARRAY_COUNT(records); i++) {
		assert_int_equal(dns_message_next(&m, &record), DNS_RECORD);
		assert_int_equal(record.type, records[i].type);
		assert_int_equal(record.ttl_s, records[i].ttl_s);
		assert_string_equal(record.owner, records[i].owner);
		assert_int_equal(record.is_additional, records[i].is_additional);
		if (record.type == DNS_SRV) {
			assert_string_equal(record.target, "one.test");
			assert_int_equal(record.priority, 1);
			assert_int_equal(record.weight, 2);
			assert_int_equal(record.port, 3);
		}
	}
	assert_int_equal(dns_message_next(&m, &record), DNS_END);
	assert_int_equal(dns_message_next(&m, &record), DNS_END);
}

static void test_a_message_that_breaks_off_anywhere_is_malformed(void **state)
{
	(void)state;
	build();
	assert_int_equal(read_all(whole.bytes, whole.length), 5);
	for (size_t length = 0; length < whole.length; length++)
		assert_int_equal(read_all(whole.bytes, length), -1);
}

static void test_a_message_with_any_byte_changed_is_read_within_its_bounds(void **state)
{
	static const uint8_t changes[] = {0x01, 0x80, 0xc0, 0xff};
	(void)state;
	build();
	for (size_t at = 0; at < whole.length; at++)
		for (size_t i = 0; i < ARRAY_COUNT(changes); i++) {
			whole.bytes[at] ^= changes[i];
			read_all(whole.bytes, whole.length);
			read_services(whole.bytes, whole.length);
			whole.bytes[at] ^= changes[i];
		}
}

static void test_a_service_whose_target_runs_over_its_end_is_malformed(void **state)
{
	static const struct dns_asked asked = {.name = "s.test", .type = ns_t_srv};
	static const uint8_t data[] = {0, 1, 0, 2, 0, 3, 3, 'o'};
	(void)state;
	reply_begin(&whole, &asked, 0);
	reply_raw(&whole, "s.test", ns_t_srv, 5, data, sizeof data);
	reply_a(&whole, "ne", 5, "192.0.2.1");
	assert_int_equal(read_all(whole.bytes, whole.length), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_records_come_in_order_and_others_are_passed_over),
	        cmocka_unit_test(test_a_message_that_breaks_off_anywhere_is_malformed),
	        cmocka_unit_test(test_a_message_with_any_byte_changed_is_read_within_its_bounds),
	        cmocka_unit_test(test_a_service_whose_target_runs_over_its_end_is_malformed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
