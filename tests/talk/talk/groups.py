"""A server whose only proxy route goes to one upstream group, for tests of groups."""

CONF = """
[server]
loops = $loops
dispatch = round-robin
$server
[listener main]
bind = $bind
$listener
[route ok]
path = = /ok
handler = respond
body = ok
[route health]
path = = /healthz
handler = health
[route up]
path = /
handler = proxy
upstream = app
debug_headers = on
[upstream app]
$lines
"""


def conf(*lines, loops=1, server="", listener=""):
    """`lines` of [upstream app]; `server`, `listener`: one more line of these sections."""
    text = CONF.replace("$lines", "\n".join(lines)).replace("$loops", str(loops))
    return text.replace("$server", server).replace("$listener", listener)
