/* Conditions of routes: every form, what they do to the choice of a route, and what is wrong with them. */
#include "base/check.h"
#include "routing.h"
#include <stdio.h>
#include <string.h>

enum { MOST_FIELDS = 16 };

struct asked {
	struct field items[MOST_FIELDS];
	struct fields fields;
	struct route_request request;
};

/* A GET of / with this query (NULL: none) and these lines, each "Name: value" and a line feed. */
static struct route_request *ask(const char *query, const char *lines)
{
	static struct asked a;
	a = (struct asked){.fields = {a.items, 0, MOST_FIELDS, 0}};
	while (*lines) {
		struct field *f = &a.items[a.fields.count++];
		const char *colon = strchr(lines, ':'), *end = strchr(lines, '\n');
		assert_true(a.fields.count <= MOST_FIELDS);
		f->name = (struct slice){lines, (size_t)(colon - lines)};
		f->value = slice_trim((struct slice){colon + 1, (size_t)(end - colon) - 1});
		f->id = field_id_of(f->name);
		a.fields.seen |= UINT32_C(1) << f->id;
		lines = end + 1;
	}
	a.request = (struct route_request){
	        .path = SLICE("/"), .method = SLICE("GET"), .query = slice_of(query), .fields = &a.fields};
	return &a.request;
}

/* The route for GET / where [route yes] has this condition. */
static void build(const char *condition)
{
	char text[512];
	snprintf(text, sizeof text, "[route yes]\n%s\nhandler = getter\n[route no]\nhandler = getter\n", condition);
	routing_build(text);
}

static void expect(const char *query, const char *lines, const char *wanted)
{
	const char *got = routing_ask(0, ask(query, lines));
	if (strcmp(got, wanted) != 0)
		fail_msg(
		        "\"%s\" instead of \"%s\" for query \"%s\" and \"%s\"", got, wanted, query ? query : "", lines);
}

static void expect_method(const char *method, const char *wanted)
{
	struct route_request *request = ask(NULL, "");
	request->method = slice_of(method);
	assert_string_equal(routing_ask(0, request), wanted);
}

/* ---- headers ------------------------------------------------------------------------- */

static void test_condition_header_is_there_whatever_its_case_and_value(void **state)
{
	(void)state;
	build("if_header = X-Beta");
	expect(NULL, "X-Beta: 1\n", "yes");
	expect(NULL, "x-bETA:\n", "yes");
	expect(NULL, "X-Bet: 1\nX-Betaa: 1\nY-Beta: 1\n", "no");
	expect(NULL, "", "no");
	expect("X-Beta=1", "", "no");
	routing_drop();
	build("if_header = !X-Beta");
	expect(NULL, "X-BETA: 1\n", "no");
	expect(NULL, "X-Alpha: 1\n", "yes");
	routing_drop();
}

static void test_condition_header_equals_exactly_in_any_of_its_lines(void **state)
{
	(void)state;
	build("if_header = X-Beta=a=b~c");
	expect(NULL, "x-beta: a=b~c\n", "yes");
	expect(NULL, "X-Beta: no\nX-Beta: a=b~c\nX-Beta: no\n", "yes");
	expect(NULL, "X-Beta: a=b~\n", "no");
	expect(NULL, "X-Beta: a=b~cc\n", "no");
	expect(NULL, "X-Beta: A=b~c\n", "no"); /* the value with case */
	expect(NULL, "X-Other: a=b~c\n", "no");
	routing_drop();
	build("if_header = !X-Beta=a");
	expect(NULL, "X-Beta: b\nX-Beta: a\n", "no"); /* not: none of the values */
	expect(NULL, "X-Beta: b\nX-Beta: c\n", "yes");
	expect(NULL, "", "yes");
	routing_drop();
	build("if_header = X-Beta=");
	expect(NULL, "X-Beta:\n", "yes");
	expect(NULL, "X-Beta: a\n", "no");
	expect(NULL, "", "no");
	routing_drop();
}

static void test_condition_header_is_searched_for_a_match(void **state)
{
	(void)state;
	build("if_header = User-Agent~(?i)(curl|wget)/[0-9]=?");
	expect(NULL, "User-Agent: x Curl/8.0\n", "yes");
	expect(NULL, "User-Agent: curl\nUser-Agent: wget/1\n", "yes");
	expect(NULL, "User-Agent: curl\n", "no");
	expect(NULL, "Accept: curl/8\n", "no");
	routing_drop();
	build("if_header = !X-Beta~^a");
	expect(NULL, "X-Beta: ab\n", "no");
	expect(NULL, "X-Beta: ba\nX-Beta: a\n", "no");
	expect(NULL, "X-Beta: ba\n", "yes");
	expect(NULL, "X-Beta:\n", "yes");
	expect(NULL, "", "yes");
	routing_drop();
}

/* Host, Connection and others are told by number, not by name. */
static void test_condition_header_that_the_server_knows_itself(void **state)
{
	(void)state;
	build("if_header = hOST=a.test\nif_header = !connection\nif_header = via~x");
	expect(NULL, "Host: a.test\nVia: 1.1 y\nVia: 1.1 x\n", "yes");
	expect(NULL, "Host: a.test\nVia: 1.1 y\n", "no");
	expect(NULL, "Host: a.test\nVia: 1.1 x\nConnection: close\n", "no");
	expect(NULL, "Host: b.test\nVia: 1.1 x\n", "no");
	routing_drop();
}

/* ---- queries --------------------------------------------------------------------------- */

static void test_condition_parameter_is_there_with_or_without_value(void **state)
{
	(void)state;
	build("if_query = debug");
	expect("debug", "", "yes");
	expect("a=1&debug=&b", "", "yes");
	expect("a=debug&Debug&debugg&xdebug=1", "", "no");
	expect("", "", "no");
	expect(NULL, "debug: 1\n", "no");
	expect("%64ebu%67=1", "", "yes");
	expect("&&debug&", "", "yes");
	routing_drop();
	build("if_query = !debug");
	expect("a=1&debug", "", "no");
	expect("a=1", "", "yes");
	expect(NULL, "", "yes");
	routing_drop();
}

static void test_condition_parameter_is_decoded_before_it_is_compared(void **state)
{
	(void)state;
	build("if_query = q=a b&c=1");
	expect("q=a+b%26c=1", "", "yes");
	expect("q=a%20b%26c%3d1", "", "yes");
	expect("x&q=no&q=a+b%26c%3D1", "", "yes"); /* any of its values */
	expect("q=a+b&c=1", "", "no");
	expect("q=a%2bb%26c=1", "", "no");
	routing_drop();
	build("if_query = q=100%+");
	expect("q=100%%2B", "", "yes"); /* a malformed escape stands for itself */
	expect("q=100%25%2B", "", "yes");
	expect("q=100%25+", "", "no");
	routing_drop();
	build("if_query = q=");
	expect("q", "", "yes");
	expect("q=", "", "yes");
	expect("q=a", "", "no");
	routing_drop();
	build("if_query = !q=a");
	expect("q=%61", "", "no");
	expect("q=b", "", "yes");
	expect(NULL, "", "yes");
	routing_drop();
}

static void test_condition_parameter_is_searched_decoded(void **state)
{
	(void)state;
	build("if_query = id~^[0-9]+ x$");
	expect("id=12+x", "", "yes");
	expect("id=%31%32%20x", "", "yes");
	expect("id=12&id=1+x", "", "yes");
	expect("id=12%2bx", "", "no");
	expect("id", "", "no");
	routing_drop();
	build("if_query = !id~^$");
	expect("id", "", "no");
	expect("id=", "", "no");
	expect("id=1", "", "yes");
	expect("", "", "yes");
	routing_drop();
}

/* ---- together ---------------------------------------------------------------------------- */

static void test_condition_all_must_hold_and_any_method(void **state)
{
	(void)state;
	build("if_method = GET HEAD\nif_method = POST\nif_header = A\nif_header = B=1\nif_query = !c\nif_query = d");
	expect("d", "A: x\nB: 1\n", "yes");
	expect("d&c", "A: x\nB: 1\n", "no");
	expect("", "A: x\nB: 1\n", "no");
	expect("d", "A: x\nB: 2\n", "no");
	expect("d", "B: 1\n", "no");
	routing_drop();
	build("if_method = HEAD POST");
	expect_method("HEAD", "yes");
	expect_method("POST", "!yes"); /* chosen, though its handler does not serve it */
	expect_method("GET", "no");
	expect_method("head", "!no");
	routing_drop();
}

static void test_condition_that_fails_leaves_the_rest_of_the_order_as_it_is(void **state)
{
	(void)state;
	routing_build("[route prefix]\npath = /\nhandler = getter\n"
	              "[route regex-a]\npath = ~ ^/\nif_header = A\nhandler = getter\n"
	              "[route regex-b]\npath = ~ ^/\nif_header = B\nhandler = getter\n"
	              "[route exact-c]\npath = = /\nif_header = C\nhandler = getter\n"
	              "[route exact-d]\npath = = /\nif_header = D\nhandler = getter\n"
	              "[route host]\npath = /\nhost = h\nif_header = H\nhandler = getter\n"
	              "[route wild]\npath = /\nhost = *.x\nif_header = H\nhandler = getter\n");
	expect(NULL, "", "prefix");
	expect(NULL, "A: 1\n", "regex-a");
	expect(NULL, "B: 1\n", "regex-b");
	expect(NULL, "B: 1\nA: 1\n", "regex-a");
	expect(NULL, "A: 1\nC: 1\n", "exact-c");
	expect(NULL, "D: 1\nC: 1\n", "exact-c"); /* the first of equals */
	expect(NULL, "D: 1\n", "exact-d");
	struct route_request *request = ask(NULL, "C: 1\nH: 1\n");
	request->host = SLICE("h");
	assert_string_equal(routing_ask(0, request), "host");
	request->host = SLICE("a.x");
	assert_string_equal(routing_ask(0, request), "wild");
	request = ask(NULL, "C: 1\n");
	request->host = SLICE("h");
	assert_string_equal(routing_ask(0, request), "exact-c");
	routing_drop();
}

static void test_condition_that_fails_uncovers_a_shorter_prefix_and_nothing(void **state)
{
	(void)state;
	routing_build("[route long]\npath = /a/b\nif_header = L\nhandler = getter\n"
	              "[route first]\npath = /a\nif_header = F\nhandler = getter\n"
	              "[route second]\npath = /a/\nif_header = !F\nhandler = getter\n"
	              "[route never]\npath = /n\nif_header = N\nhandler = getter\n");
	struct route_request *request = ask(NULL, "L: 1\nF: 1\n");
	request->path = SLICE("/a/b/c");
	assert_string_equal(routing_ask(0, request), "long");
	request = ask(NULL, "F: 1\n");
	request->path = SLICE("/a/b/c");
	assert_string_equal(routing_ask(0, request), "first");
	request = ask(NULL, "");
	request->path = SLICE("/a/b/c");
	assert_string_equal(routing_ask(0, request), "second");
	request->path = SLICE("/n");
	assert_string_equal(routing_ask(0, request), "-");
	routing_drop();
}

/* ---- expressions that give up ---------------------------------------------------------- */

#define EVIL "~^(a+)+$"
#define ENDLESS "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"

static void test_condition_that_gives_up_never_fails_open(void **state)
{
	(void)state;
	build("if_header = X" EVIL);
	expect(NULL, "X: " ENDLESS "\n", "?yes");
	assert_string_equal(routing.failure, "if_header: match limit exceeded");
	expect(NULL, "X: a\n", "yes");
	expect(NULL, "X: b\n", "no");
	expect(NULL, "X: " ENDLESS "\nX: a\n", "yes"); /* another value decides it */
	routing_drop();
	build("if_header = !X" EVIL);
	expect(NULL, "X: " ENDLESS "\n", "?yes");
	expect(NULL, "X: " ENDLESS "\nX: a\n", "no");
	routing_drop();
	build("if_query = q" EVIL "\nif_header = Y");
	expect("q=" ENDLESS, "Y: 1\n", "?yes");
	assert_string_equal(routing.failure, "if_query: match limit exceeded");
	expect("q=%61" ENDLESS, "Y: 1\n", "?yes");
	expect("q=" ENDLESS, "", "no"); /* another condition decides it */
	expect("q=a", "Y: 1\n", "yes");
	routing_drop();
}

static void test_condition_that_fails_passes_over_a_path_that_gives_up(void **state)
{
	(void)state;
	routing_build("[route evil]\npath = ~ ^/(a+)+$\nif_header = X\nhandler = getter\n"
	              "[route regex]\npath = ~ b$\nhandler = getter\n");
	struct route_request *request = ask(NULL, "X: 1\n");
	request->path = SLICE("/" ENDLESS);
	assert_string_equal(routing_ask(0, request), "?evil");
	assert_string_equal(routing.failure, "path: match limit exceeded");
	request = ask(NULL, "");
	request->path = SLICE("/" ENDLESS);
	assert_string_equal(routing_ask(0, request), "regex");
	routing_drop();
}

/* ---- faults ---------------------------------------------------------------------------- */

static void expect_fault(const char *condition, const char *told)
{
	char text[256];
	snprintf(text, sizeof text, "[route a]\nhandler = getter\n%s\n", condition);
	routing_expect_faults(text, 1, (const char *const[]){told, NULL});
}

static void test_condition_faults_name_what_is_wrong(void **state)
{
	(void)state;
	static const char *const names[] = {"=x", "!", "!=x", "~x", "X Y=1", "X =1", "!!X", "! X", "(X)", "\xc3\xa4=1"};
	for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
		char condition[64], told[200];
		snprintf(condition, sizeof condition, "if_header = %s", names[i]);
		snprintf(told, sizeof told,
		        "t.ini:7: [route a] if_header: \"%s\" names no header field; allowed: NAME, NAME=VALUE or "
		        "NAME~REGEX, with ! in front for not\n",
		        names[i]);
		expect_fault(condition, told);
	}
	expect_fault("if_query = !=1", "t.ini:7: [route a] if_query: \"!=1\" names no parameter; allowed: NAME, ");
	expect_fault("if_query = a b", "[route a] if_query: \"a b\" names no parameter");
	expect_fault("if_query = a&b=1", "[route a] if_query: \"a&b=1\" names no parameter");
	expect_fault("if_header = !X= a  b",
	        "if_header: \"!X= a  b\" begins its value with a blank, which no field's value does; write !X=a  b\n");
	expect_fault("if_header = X~", "if_header: \"X~\" has no regular expression behind ~");
	expect_fault("if_header = X~a(b", "if_header: regular expression is wrong at byte 3: ");
	expect_fault("if_query = X~[", "if_query: regular expression is wrong at byte 1: ");
	expect_fault("if_method = GET FLY",
	        "t.ini:7: [route a] if_method: FLY is no method that is known; they are in upper case; allowed: ");
	expect_fault("if_method = get", "if_method: get is no method that is known; they are in upper case; allowed: ");
	expect_fault("if_method = TRACE", "if_method: TRACE is a method that is served nowhere; allowed: ");
}

static void test_condition_faults_are_all_told(void **state)
{
	(void)state;
	routing_expect_faults("[route a]\nhandler = getter\nif_header = =\nif_header = A\nif_header = B~(\n"
	                      "if_query = ~\nif_method = X Y\n",
	        5,
	        (const char *const[]){"t.ini:7: [route a] if_header: ", "t.ini:9: [route a] if_header: ",
	                "t.ini:10: [route a] if_query: ", "t.ini:11: [route a] if_method: X is ",
	                "t.ini:11: [route a] if_method: Y is ", NULL});
}

/* ---- routes that are never reached --------------------------------------------------------- */

static void expect_hidden(const char *first, const char *second)
{
	char text[512];
	snprintf(
	        text, sizeof text, "[route a]\nhandler = getter\n%s\n[route b]\nhandler = getter\n%s\n", first, second);
	routing_expect_faults(
	        text, 1, (const char *const[]){"[route b] path: is never reached: [route a] at t.ini:5 has", NULL});
}

static void expect_reached(const char *first, const char *second)
{
	char text[512];
	snprintf(
	        text, sizeof text, "[route a]\nhandler = getter\n%s\n[route b]\nhandler = getter\n%s\n", first, second);
	routing_build(text);
	routing_drop();
}

static void test_condition_keeps_routes_apart(void **state)
{
	(void)state;
	expect_reached("if_header = A", "");
	expect_reached("if_header = A", "if_header = !A");
	expect_reached("if_header = A", "if_header = A=1");
	expect_reached("if_header = A=1", "if_header = A~1");
	expect_reached("if_header = A=1", "if_header = A=2");
	expect_reached("if_header = A", "if_query = A");
	expect_reached("if_query = a", "if_query = A");
	expect_reached("if_header = A\nif_header = B", "if_header = A");
	expect_reached("if_method = GET", "if_method = HEAD");
	expect_reached("if_method = GET", "if_method = GET HEAD");
	expect_reached("if_method = GET", "");
}

static void test_condition_that_adds_nothing_does_not(void **state)
{
	(void)state;
	expect_hidden("if_header = A\nif_header = B=1", "if_header = b=1\nif_header = a");
	expect_hidden("if_query = A\nif_query = A", "if_query = A");
	expect_hidden("if_header = A", "if_header = A\nif_query = x");
	expect_hidden("", "if_header = A");
	expect_hidden("", "if_method = GET");
	expect_hidden("if_method = GET HEAD", "if_method = HEAD\nif_header = A");
	routing_expect_faults("[route a]\nhandler = getter\n[route b]\nif_query = x\nhandler = getter\n", 1,
	        (const char *const[]){
	                "t.ini:7: [route b] path: is never reached: [route a] at t.ini:5 has the same path, "
	                "hosts, listeners and methods, and no condition that this one has not; allowed: "
	                "the one with more conditions first\n",
	                NULL});
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(test_condition_header_is_there_whatever_its_case_and_value),
	        TEST(test_condition_header_equals_exactly_in_any_of_its_lines),
	        TEST(test_condition_header_is_searched_for_a_match),
	        TEST(test_condition_header_that_the_server_knows_itself),
	        TEST(test_condition_parameter_is_there_with_or_without_value),
	        TEST(test_condition_parameter_is_decoded_before_it_is_compared),
	        TEST(test_condition_parameter_is_searched_decoded),
	        TEST(test_condition_all_must_hold_and_any_method),
	        TEST(test_condition_that_fails_leaves_the_rest_of_the_order_as_it_is),
	        TEST(test_condition_that_fails_uncovers_a_shorter_prefix_and_nothing),
	        TEST(test_condition_that_gives_up_never_fails_open),
	        TEST(test_condition_that_fails_passes_over_a_path_that_gives_up),
	        TEST(test_condition_faults_name_what_is_wrong),
	        TEST(test_condition_faults_are_all_told),
	        TEST(test_condition_keeps_routes_apart),
	        TEST(test_condition_that_adds_nothing_does_not),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
