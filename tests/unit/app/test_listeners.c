/* [listener] sections as they are checked: which of them want one address. */
#include "config/load.h"

#include "app/listeners.h"
#include "base/check.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOOPS = 4 };

/* The faults that listeners_init adds; to be freed. */
static char *faults_of(const char *text)
{
	struct faults faults;
	struct listeners listeners;
	faults_init(&faults);
	struct config *config = load_bytes(text, strlen(text), NULL, &faults);
	assert_non_null(config);
	bool fine = listeners_init(&listeners, config, LOOPS);
	assert_int_equal(fine, faults.count == 0);
	char *found = faults_text(&faults);
	listeners_fini(&listeners);
	config_free(&config);
	faults_fini(&faults);
	return found;
}

static void expect(const char *text, const char *wanted)
{
	char *found = faults_of(text);
	assert_string_equal(found, wanted);
	free(found);
}

static void test_listeners_find_one_address_wanted_twice(void **state)
{
	static const char *const accepts[] = {"central", "reuseport", "sharded-ports"};
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(accepts); i++) {
		char text[300];
		snprintf(text, sizeof text,
		        "[listener a]\naccept = %s\nbind = 127.0.0.1:80\n[listener b]\naccept = %s\nbind = [::1]:80\n"
		        "bind = 127.0.0.1:80\n",
		        accepts[i], accepts[i]);
		expect(text, "t.ini:7: [listener b] bind: 127.0.0.1:80: [listener a] (t.ini:3) listens on 127.0.0.1:80 "
		             "already; allowed: each address once\n");
	}
	expect("[listener a]\naccept = reuseport\nbind = 127.0.0.1:80\nbind = 127.0.0.1:80\n",
	        "t.ini:4: [listener a] bind: 127.0.0.1:80: [listener a] (t.ini:3) listens on 127.0.0.1:80 already; "
	        "allowed: each address once\n");
	expect("[listener a]\nbind = unix:/run/a\n[listener b]\nserved_by = control\nbind = unix:/run/a\n",
	        "t.ini:5: [listener b] bind: unix:/run/a: [listener a] (t.ini:2) listens on unix:/run/a already; "
	        "allowed: each address once\n");
	expect("[listener a]\nbind = systemd:web\n[listener b]\nbind = systemd:web\n",
	        "t.ini:4: [listener b] bind: systemd:web: [listener a] (t.ini:2) listens on systemd:web already; "
	        "allowed: each address once\n");
}

static void test_listeners_find_defaults_that_collide(void **state)
{
	(void)state;
	expect("[listener a]\n[listener b]\n",
	        "t.ini:2: [listener b] bind: 0.0.0.0:8080: [listener a] (t.ini:1) listens on 0.0.0.0:8080 already; "
	        "allowed: each address once\n");
}

static void test_listeners_find_rows_of_ports_that_overlap(void **state)
{
	(void)state;
	expect("[listener a]\naccept = sharded-ports\nbind = 127.0.0.1:80\n"
	       "[listener b]\naccept = sharded-ports\nbind = 127.0.0.1:83\n",
	        "t.ini:6: [listener b] bind: 127.0.0.1:83: [listener a] (t.ini:3) listens on 127.0.0.1:83 already; "
	        "allowed: each address once\n");
	expect("[listener a]\nbind = 127.0.0.1:83\n[listener b]\naccept = sharded-ports\nbind = 127.0.0.1:80\n",
	        "t.ini:5: [listener b] bind: 127.0.0.1:80: [listener a] (t.ini:2) listens on 127.0.0.1:83 already; "
	        "allowed: each address once\n");
	expect("[listener a]\naccept = sharded-ports\nbind = 127.0.0.1:80\n"
	       "[listener b]\naccept = sharded-ports\nbind = 127.0.0.1:84\n",
	        "");
	/* The control thread is one, whatever accept says. */
	expect("[listener a]\naccept = sharded-ports\nbind = 127.0.0.1:80\n"
	       "[listener b]\naccept = sharded-ports\nserved_by = control\nbind = 127.0.0.1:79\n",
	        "");
}

static void test_listeners_find_one_address_among_all_addresses(void **state)
{
	(void)state;
	expect("[listener a]\nbind = 0.0.0.0:80\nbind = 127.0.0.1:80\n",
	        "t.ini:3: [listener a] bind: 127.0.0.1:80: [listener a] (t.ini:2) listens on 0.0.0.0:80 already; "
	        "allowed: each address once\n");
	expect("[listener a]\nbind = [::1]:80\nbind = [::]:80\n",
	        "t.ini:3: [listener a] bind: [::]:80: [listener a] (t.ini:2) listens on [::1]:80 already; allowed: "
	        "each "
	        "address once\n");
}

static void test_listeners_let_different_addresses_be(void **state)
{
	(void)state;
	expect("[listener a]\nbind = 127.0.0.1:80\nbind = 127.0.0.1:81\nbind = 127.0.0.2:80\nbind = [::1]:80\n"
	       "bind = unix:/run/a\nbind = unix:/run/b\nbind = systemd:a\nbind = systemd:b\nbind = 0.0.0.0:82\n"
	       "bind = [::]:82\n",
	        "");
	expect("[listener a]\nbind = 127.0.0.1:0\nbind = 127.0.0.1:0\n[listener b]\naccept = reuseport\n"
	       "bind = 127.0.0.1:0\nbind = 0.0.0.0:0\n",
	        "");
}

static void test_listeners_report_each_later_one_once(void **state)
{
	(void)state;
	expect("[listener a]\nbind = 127.0.0.1:80\nbind = 127.0.0.1:80\nbind = 0.0.0.0:80\nbind = 127.0.0.1:81\n",
	        "t.ini:3: [listener a] bind: 127.0.0.1:80: [listener a] (t.ini:2) listens on 127.0.0.1:80 already; "
	        "allowed: each address once\n"
	        "t.ini:4: [listener a] bind: 0.0.0.0:80: [listener a] (t.ini:2) listens on 127.0.0.1:80 already; "
	        "allowed: each address once\n");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_listeners_find_one_address_wanted_twice),
	        cmocka_unit_test(test_listeners_find_defaults_that_collide),
	        cmocka_unit_test(test_listeners_find_rows_of_ports_that_overlap),
	        cmocka_unit_test(test_listeners_find_one_address_among_all_addresses),
	        cmocka_unit_test(test_listeners_let_different_addresses_be),
	        cmocka_unit_test(test_listeners_report_each_later_one_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
