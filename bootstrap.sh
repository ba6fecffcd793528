#!/bin/sh
# From a fresh clone to a running or tested mlserve, on Debian 12 and 13:
#
#   ./bootstrap.sh          installs the build dependencies and makes ./configure
#   ./bootstrap.sh run      also builds in build/ and serves on http://127.0.0.1:8080
#   ./bootstrap.sh check    also installs what the tests need, builds and runs every test
#   ./bootstrap.sh ci       also installs what .ci/run needs, and builds nothing
#
# Root is needed to install packages only: sudo is used for that alone, and only when something is missing.
set -eu

cd "$(dirname "$0")"
export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive

BUILD_PACKAGES="gcc libc6-dev binutils make autoconf automake pkgconf libssl-dev libinih-dev libpcre2-dev libev-dev
	libc-ares-dev libxxhash-dev"
TEST_PACKAGES="python3 python3-pytest libcmocka-dev dnsmasq-base shellcheck"
CI_PACKAGES="clang libclang-rt-dev ccache xz-utils build-essential debhelper lintian systemd"
# Debian 12 has these, others do without: the format lint says so, llhttp comes as a library.
OPTIONAL_TEST_PACKAGES="clang-format-14"
# Debian 13 has it apart from systemd: where unit files go.
OPTIONAL_CI_PACKAGES="systemd-dev"
LLHTTP_DIR=.deps/llhttp

is_updated=no
is_installed=no
missing=

step() {
	echo "bootstrap: $*"
}

fail() {
	echo "bootstrap: error: $*" >&2
	exit 1
}

as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo DEBIAN_FRONTEND="$DEBIAN_FRONTEND" "$@"
	else
		fail "only root may install packages, and sudo is not here; missing:$missing"
	fi
}

is_package_installed() {
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

is_package_available() {
	apt-cache policy "$1" 2>/dev/null | grep -q '^  Candidate: [^(]'
}

update_lists() {
	[ $is_updated = no ] || return 0
	step "apt-get update"
	as_root apt-get -qq update || fail "apt-get update failed; is there a network, and is /etc/apt/sources.list right?"
	is_updated=yes
}

# Installs those of the named packages that are not there yet.
install_packages() {
	missing=
	for package; do
		is_package_installed "$package" || missing="$missing $package"
	done
	[ -n "$missing" ] || return 0
	update_lists
	for package in $missing; do
		is_package_available "$package" || fail "package $package cannot be had from the configured archives"
	done
	step "apt-get install$missing"
	# shellcheck disable=SC2086 # one word a package
	as_root apt-get -qq -y --no-install-recommends -o Dpkg::Use-Pty=0 install $missing >/dev/null ||
		fail "apt-get could not install:$missing"
	is_installed=yes
}

install_optional_packages() {
	for package; do
		if ! is_package_installed "$package" && is_package_available "$package"; then
			install_packages "$package"
		fi
	done
}

# Debian 13 has llhttp as a library. Debian 12 has its C sources in node-llhttp, which installed whole would bring
# all of nodejs: the package is unpacked into the tree instead.
provide_llhttp() {
	if pkg-config --exists libllhttp || [ -f /usr/share/llhttp/llhttp.c ] || [ -f $LLHTTP_DIR/usr/share/llhttp/llhttp.c ]; then
		return 0
	fi
	missing=" libllhttp-dev or node-llhttp"
	is_package_available libllhttp-dev || is_package_available node-llhttp || update_lists
	if is_package_available libllhttp-dev; then
		install_packages libllhttp-dev
		return 0
	fi
	is_package_available node-llhttp || fail "neither package libllhttp-dev nor node-llhttp can be had"
	step "unpacking node-llhttp into $LLHTTP_DIR"
	rm -rf $LLHTTP_DIR
	mkdir -p $LLHTTP_DIR
	download_llhttp || { update_lists && download_llhttp; } || fail "package node-llhttp cannot be downloaded or unpacked"
}

download_llhttp() (
	cd $LLHTTP_DIR && apt-get -qq -o APT::Sandbox::User=root download node-llhttp && dpkg-deb -x node-llhttp_*.deb . &&
		rm node-llhttp_*.deb
)

make_configure() {
	if [ -x configure ] && [ -f Makefile.in ] &&
		[ -z "$(find configure.ac Makefile.am src tests -newer Makefile.in \
			\( -name configure.ac -o -name Makefile.am -o -name '*.mk' \) -print)" ]; then
		return 0
	fi
	step "autoreconf -fi"
	if ! output=$(autoreconf -fi 2>&1); then
		echo "$output" >&2
		fail "autoreconf failed"
	fi
}

prepare() {
	command -v apt-get >/dev/null || fail "this script knows Debian only; README.md lists what to install elsewhere"
	# shellcheck disable=SC2086 # one word a package
	install_packages $BUILD_PACKAGES
	provide_llhttp
	make_configure
}

build() {
	mkdir -p build
	if [ $is_installed = yes ] || [ ! -f build/config.status ]; then
		step "configure in build/"
		(cd build && ../configure --quiet) || fail "configure failed; see build/config.log"
	fi
	step "make in build/"
	make -C build -s -j "$(nproc)" || fail "make failed"
}

prepare_tests() {
	# shellcheck disable=SC2086 # one word a package
	install_packages $TEST_PACKAGES
	# shellcheck disable=SC2086 # one word a package
	install_optional_packages $OPTIONAL_TEST_PACKAGES
}

case ${1:-} in
'')
	prepare
	step "ready: ./configure && make && make install"
	;;
run)
	prepare
	build
	step "serving on http://127.0.0.1:8080 (Ctrl-C ends it)"
	exec build/mlserve
	;;
check)
	prepare
	prepare_tests
	build
	step "make check in build/"
	exec make -C build -s --no-print-directory -j "$(nproc)" check
	;;
ci)
	prepare
	prepare_tests
	# shellcheck disable=SC2086 # one word a package
	install_packages $CI_PACKAGES
	# shellcheck disable=SC2086 # one word a package
	install_optional_packages $OPTIONAL_CI_PACKAGES
	;;
*)
	echo "usage: ./bootstrap.sh [run | check | ci]" >&2
	exit 2
	;;
esac
