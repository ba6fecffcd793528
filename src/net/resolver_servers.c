/* The option `resolver`. */
#include "config/config.h"
#include "net/resolver.h"

static bool check_server(const struct mlserve_settings *settings, size_t item, const char *word)
{
	struct endpoint e;
	const char *reason;
	bool is_server = endpoint_parse(slice_of(word), false, &e, &reason) && e.to.any.sa_family != AF_UNIX;
	if (is_server && endpoint_port(&e) != 0)
		return true;
	if (is_server)
		mlserve_setting_fault(settings, "resolver", item,
		        "%s: there is no port 0; a port from 1 to 65535 is wanted, most often 53", word);
	else
		mlserve_setting_fault(settings, "resolver", item,
		        "\"%s\" is no DNS server; allowed are ADDRESS:PORT and [IPV6]:PORT, or auto alone", word);
	return false;
}

bool resolver_read_servers(
        const struct mlserve_settings *settings, const char *const **ret_servers, size_t *ret_server_count)
{
	const char *const *words;
	size_t count = mlserve_setting_list(settings, "resolver", &words);
	bool fine = count > 0;
	if (count == 0)
		mlserve_setting_fault(
		        settings, "resolver", 0, "is empty; allowed are ADDRESS:PORT and [IPV6]:PORT, or auto alone");
	if (count == 1 && strcmp(words[0], "auto") == 0)
		count = 0;
	for (size_t i = 0; i < count; i++)
		fine = check_server(settings, i, words[i]) && fine;
	if (!fine)
		return false;
	*ret_servers = words;
	*ret_server_count = count;
	return true;
}
