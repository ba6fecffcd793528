/* A resolver on a loop of the test's own, and what its lookups brought. */
#ifndef TESTS_NET_RESOLVING_H
#define TESTS_NET_RESOLVING_H

#include "dns_server.h"
#include "net/resolver.h"

extern struct loop loop;
extern struct resolver *resolver;
extern struct lookup lookup;
extern struct resolver_answer answer; /* its addresses as texts only: */
extern char found[65536];             /* "ADDRESS:PORT ..."; of a service "ADDRESS:PORT priority/weight ..." */

/* cmocka setup and teardown, which looks at what is left. */
int resolving_setup(void **state);
int resolving_teardown(void **state);
/* A resolver that asks this server. */
void use_server(const char *server);
/* A resolver that asks a scripted server. */
void use_script(dns_script *);
/* Looks up and waits for the answer. */
void look_up(const char *name, uint16_t port, enum resolver_kind);
void look_up_host(const char *name); /* at port 80 */
void look_up_service(const char *name);
void expect_found(const char *texts, int64_t ttl_s);
void expect_error(enum resolver_error);
void run_loop(void); /* until loop_stop */

#endif
