# Sourced by walshadow, build and .ci/run: finds the JDK, brings what a bare Debian machine lacks.
# shellcheck shell=bash

JDK_WANTED=25

say() { echo "walshadow: $*" >&2; }

# Prints the major version of the JDK in $1; nothing if there is none.
jdk_major() {
    [ -x "$1/bin/javac" ] && [ -x "$1/bin/java" ] || return 0
    sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$1/release" 2>/dev/null
}

# Sets JAVA_HOME to a JDK of at least $JDK_WANTED: JAVA_HOME, PATH, the usual folders.
find_jdk() {
    local candidate major on_path best= best_major=0
    if [ -n "${JAVA_HOME:-}" ]; then
        major=$(jdk_major "$JAVA_HOME")
        if [ "${major:-0}" -ge "$JDK_WANTED" ]; then
            export JAVA_HOME
            return 0
        fi
    fi
    on_path=$(command -v javac || true)
    [ -n "$on_path" ] && on_path=$(dirname "$(dirname "$(readlink -f "$on_path")")")
    for candidate in "$on_path" /usr/lib/jvm/* /opt/java/* /opt/jdk* /usr/local/jdk* \
        "$HOME"/.sdkman/candidates/java/* "$HOME"/.jdks/*; do
        [ -n "$candidate" ] || continue
        major=$(jdk_major "$candidate")
        if [ "${major:-0}" -ge "$JDK_WANTED" ] && [ "$major" -gt "$best_major" ]; then
            best=$candidate
            best_major=$major
        fi
    done
    if [ -z "$best" ]; then
        say "a JDK of version $JDK_WANTED or newer is needed, none was found in JAVA_HOME, PATH," \
            "/usr/lib/jvm; install one and set JAVA_HOME"
        return 2
    fi
    export JAVA_HOME=$best
}

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

# Everything that building and running needs.
bring_tools() {
    find_jdk
    need mvn maven
    need setpriv util-linux
    need flock util-linux
    "$ROOT/embedded/libchdb/install" --check || need npm nodejs npm
    "$ROOT/embedded/libchdb/install"
}
