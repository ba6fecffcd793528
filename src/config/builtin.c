/* The built-in configuration: a welcome page, health, and the work handler to play with. */
#include "config/builtin.h"

/* clang-format off */
static const char text[] =
	"[listener main]\n"
	"bind = 0.0.0.0:8080\n"
	"[route welcome]\n"
	"path = = /\n"
	"handler = respond\n"
	"content_type = text/html;charset=utf-8\n"
	"body = <!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	"\t<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>Welcome to mlserve</title>\n"
	"\t<style>body{font:1.1rem/1.6 system-ui,sans-serif;max-width:38rem;margin:12vh auto;padding:0 1rem;color:#223;background:#fff}\n"
	"\tcode{background:#eef1f5;padding:.1em .35em;border-radius:.25em}a{color:#0057b8}\n"
	"\t@media(prefers-color-scheme:dark){body{color:#dde;background:#14171c}code{background:#262b33}a{color:#7db8ff}}</style></head>\n"
	"\t<body><h1>It works</h1><p>mlserve is running. This page is the [route welcome] of its configuration.</p>\n"
	"\t<ul><li><a href=\"/healthz\">/healthz</a> shows every loop and what it does; <a href=\"/livez\">/livez</a> and\n"
	"\t<a href=\"/readyz\">/readyz</a> are the short answers for machines.</li>\n"
	"\t<li><a href=\"/work\">/work</a> burns a little CPU on the loop that answers: try <a\n"
	"\thref=\"/work?iterations=2000000\">/work?iterations=2000000</a> and watch /healthz.</li></ul>\n"
	"\t<p>To go on: <code>mlserve -T &gt; mlserve.ini</code> writes the configuration with every option,\n"
	"\t<code>mlserve --help-config</code> explains them, <code>mlserve -c mlserve.ini</code> serves what you made of it.</p>\n"
	"\t</body></html>\n"
	"[route health]\n"
	"path = /healthz\n"
	"handler = health\n"
	"[route livez]\n"
	"path = = /livez\n"
	"handler = health\n"
	"show = live\n"
	"[route readyz]\n"
	"path = = /readyz\n"
	"handler = health\n"
	"show = ready\n"
	"[route work]\n"
	"path = /work\n"
	"handler = work\n"
	"allow_override = on\n";
/* clang-format on */

struct slice builtin_text(void)
{
	return SLICE(text);
}
