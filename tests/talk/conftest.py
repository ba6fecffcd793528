"""Fixtures: servers, upstreams and connections that end with the test; logs of failed tests."""
import os
import sys

sys.dont_write_bytecode = True

import pytest

from talk import settings
from talk.server import Server
from talk.upstream import SilentPort, Upstream

_servers = []  # alive, or ended but not yet reported


def pytest_report_header():
    return f"mlserve: {settings.MLSERVE} (times allowed x{settings.SLOW:g})"


def pytest_sessionstart():
    if not os.access(settings.MLSERVE, os.X_OK):
        pytest.exit(f"{settings.MLSERVE} is not there; set MLSERVE or MLSERVE_BUILD", 3)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.failed:
        for server in _servers:
            if server.process:
                report.sections.append((f"log of mlserve {server.pid}", server.log[-6000:] or "(empty)"))
    if report.when == "teardown":
        _servers[:] = [server for server in _servers if server.is_running()]


def _make_servers():
    made = []

    def make(text="", start=True, **more):
        server = Server(text, **more)
        made.append(server)
        _servers.append(server)
        return server.start() if start else server

    yield make
    faults = []
    for server in reversed(made):
        try:
            if server.returncode is None:
                server.stop(patience=2)
            else:
                server.assert_clean_log()
        except AssertionError as fault:
            faults.append(fault)
        finally:
            server.dispose()
    if faults:
        raise faults[0]


@pytest.fixture
def serve():
    """serve(ini, **names): a started Server; stopped by SIGTERM and held to exit code 0 and a clean log."""
    yield from _make_servers()


@pytest.fixture(scope="module")
def serve_module():
    """The same for a server that all tests of a file share."""
    yield from _make_servers()


def _make_upstreams():
    made = []

    def make(script=None, **more):
        made.append(Upstream(script, **more))
        return made[-1]

    yield make
    faults = []
    for upstream in made:
        try:
            upstream.close()
        except (AssertionError, OSError) as fault:
            faults.append(fault)
    if faults:
        raise faults[0]


@pytest.fixture
def origin():
    """origin(script): an Upstream; what its scripts found wrong fails the test."""
    yield from _make_upstreams()


@pytest.fixture(scope="module")
def origin_module():
    """The same for an upstream that all tests of a file share."""
    yield from _make_upstreams()


@pytest.fixture
def silent_port():
    port = SilentPort()
    yield port
    port.close()


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A web root shared by a file's tests."""
    return tmp_path_factory.mktemp("root")
