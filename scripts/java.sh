# Sourced by the start scripts: finds a Java and starts the walshadow command with it.
# shellcheck shell=bash

JDK_WANTED=25

say() { echo "walshadow: $*" >&2; }

# Prints the major version of the Java in $1; nothing if it lacks the program $2.
java_major() {
    [ -x "$1/bin/$2" ] && [ -x "$1/bin/java" ] || return 0
    local line # read here: another process costs milliseconds of every start
    while IFS= read -r line; do
        if [[ $line =~ ^JAVA_VERSION=\"([0-9]+) ]]; then
            echo "${BASH_REMATCH[1]}"
        fi
    done 2>/dev/null <"$1/release" || true
}

# find_java java|javac: sets JAVA_HOME to one of at least $JDK_WANTED that has this program:
# JAVA_HOME, PATH, the usual folders.
find_java() {
    local candidate major on_path best= best_major=0
    if [ -n "${JAVA_HOME:-}" ]; then
        major=$(java_major "$JAVA_HOME" "$1")
        if [ "${major:-0}" -ge "$JDK_WANTED" ]; then
            export JAVA_HOME
            return 0
        fi
    fi
    on_path=$(command -v "$1" || true)
    [ -n "$on_path" ] && on_path=$(dirname "$(dirname "$(readlink -f "$on_path")")")
    for candidate in "$on_path" /usr/lib/jvm/* /opt/java/* /opt/jdk* /usr/local/jdk* \
        "${HOME:-/root}"/.sdkman/candidates/java/* "${HOME:-/root}"/.jdks/*; do
        [ -n "$candidate" ] || continue
        major=$(java_major "$candidate" "$1")
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

# Where walshadow keeps what it unpacks or makes once per machine; see CacheDirectory.java.
cache_directory() {
    if [ -n "${WALSHADOW_CACHE:-}" ]; then
        echo "$WALSHADOW_CACHE"
    elif [ "$EUID" = 0 ]; then
        echo /var/cache/walshadow
    else
        echo "${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/walshadow"
    fi
}

# run_java CLASS_PATH OPTIONS... -- ARGUMENTS...: becomes the JVM of the walshadow command.
run_java() {
    local class_path=$1 options=() memory
    shift
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    # The daemon's share of a small machine; the short commands are happy with less.
    case "${1:-}" in
        # Classes take about 55 MB: a start without a full collection on their account.
        # check judges the heap that it has, which must be that of run.
        run | check | demo | verify) memory=(-Xmx640m -XX:+UseParallelGC -XX:MetaspaceSize=96m) ;;
        clickhouse) memory=(-Xmx256m -XX:+UseSerialGC) ;;
        *) memory=(-Xmx128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1) ;;
    esac
    # shellcheck disable=SC2086 # options are words
    exec "$JAVA_HOME/bin/java" "${memory[@]}" \
        -XX:+ExitOnOutOfMemoryError --enable-native-access=ALL-UNNAMED \
        --sun-misc-unsafe-memory-access=allow "${options[@]}" ${WALSHADOW_JAVA_OPTIONS:-} \
        -cp "$class_path" dev.walshadow.cli.Main "$@"
}
