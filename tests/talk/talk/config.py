"""The routes that many tests serve, put together to a configuration. $names are left to the server."""

ROUTES = {
    "ok": ("path = = /ok", "handler = respond", "body = ok", "debug_headers = on"),
    "wait": ("path = = /wait", "handler = work", "iterations = 10", "io_delay = $delay", "debug_headers = on"),
    "files": ("path = /files", "handler = static", "root = $dir"),
    "up": ("path = /up", "handler = proxy", "upstream = app"),
    "health": ("path = /healthz", "handler = health"),
}


def section(name, *lines):
    return "\n".join((f"[{name}]", *lines, ""))


def config(*routes, server=("loops = 2",), listener=(), upstream=(), delay="1h", more=""):
    """`server`, `listener`, `upstream`: lines of these sections; `routes`: of those above; `delay`: of the
    wait route; `more`: whole sections."""
    text = section("server", *server) + section("listener main", "bind = $bind", *listener)
    text += "".join(section(f"route {name}", *ROUTES[name]) for name in routes)
    if "up" in routes:
        text += section("upstream app", "server = $up", *upstream)
    return text.replace("$delay", delay) + more
