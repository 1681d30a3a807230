# Sourced by walshadow, build and .ci/run: finds the JDK, brings what a bare Debian machine lacks.
# shellcheck shell=bash

. "$ROOT/scripts/java.sh"

find_jdk() { find_java javac; }

# need COMMAND PACKAGE...: installs Debian packages when the command is missing and we may.
need() {
    local command=$1
    shift
    command -v "$command" >/dev/null && return 0
    local sudo=
    if [ "$(id -u)" != 0 ]; then
        if ! { command -v sudo >/dev/null && sudo -n true 2>/dev/null; }; then
            say "$command is missing: install the package(s) $*"
            return 2
        fi
        sudo="sudo -n"
    fi
    if ! command -v apt-get >/dev/null; then
        say "$command is missing and there is no apt-get here: install $*"
        return 2
    fi
    say "installing $*"
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get update -qq </dev/null >&2
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" \
        </dev/null >&2
}

# Prints a new file that says when a build began; moved to cli/target/built when it is done. Its
# lines: where, and the build's name.
begin_build() {
    local started
    started=$(mktemp "$ROOT/cli/target/built.XXXXXX")
    printf '%s\n%s\n' "$ROOT" "${started##*.}" >"$started"
    echo "$started"
}

# Everything that building and running needs.
bring_tools() {
    find_jdk
    need mvn maven
    need setpriv util-linux
    need flock util-linux
    "$ROOT/embedded/libchdb/install" --check || need npm nodejs npm
    "$ROOT/embedded/libchdb/install"
}

# What the tests need besides: a browser that looks at the status page, what the README calls clients.
bring_test_tools() {
    need chromium chromium
    need psql postgresql-client
    need curl curl
}
