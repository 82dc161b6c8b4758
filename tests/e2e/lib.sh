# lib.sh SCRIPT: runs an end-to-end test in an empty folder of its own; what the scripts share.
#
#   run COMMAND…         runs it; afterwards $code is its exit code, and the files out and err are what it printed
#   expect_code N        fails unless $code is N
#   expect_out TEXT      fails unless standard output is TEXT
#   expect_in FILE TEXT  fails unless FILE (out, err) has TEXT in it
#   fails WHY            ends the test
#   skips WHY            ends it as not made
#   gone PID             whether the process has ended, within a few seconds
#   killed PIDS COMMAND… runs it, kills it when the file PIDS has numbers, and fails unless these processes end as well
#   server_start PORT_FILE PROGRAM [ARGUMENT…]
#                        starts a server of tests/e2e in the background; $port is where
#   servers_stop         stops all of them, as the end of the test does
#
# No configuration of whoever runs the tests takes part: HOME and the rest are the folder. What HOME was is $owner_home,
# for tools that are installed there.
set -euo pipefail

fails() {
    echo "failed: $1" >&2
    echo "command: $(head -c 2000 <<<"${last:-none}") (exit code ${code:-none})" >&2
    for file in "$work/out" "$work/err"; do
        [ -e "$file" ] && { echo "--- $(basename "$file"):"; head -c 4000 "$file"; echo; } >&2
    done
    exit 1
}

skips() {
    echo "skipped: $1"
    exit 77
}

run() {
    last=$*
    code=0
    "$@" >"$work/out" 2>"$work/err" </dev/null || code=$?
    # A sanitizer's report is a failure, whatever was expected.
    grep -qE 'Sanitizer|runtime error:' "$work/err" && fails "a sanitizer found something"
    return 0
}

expect_code() { [ "$code" = "$1" ] || fails "expected exit code $1"; }
expect_out() { [ "$(cat "$work/out")" = "$1" ] || fails "expected on standard output: $1"; }
expect_in() { grep -qF -- "$2" "$work/$1" || fails "expected in $1: $2"; }
expect_not_in() { ! grep -qF -- "$2" "$work/$1" || fails "not expected in $1: $2"; }

gone() {
    for _ in $(seq 400); do
        kill -0 "$1" 2>/dev/null || return 0
        [ "$(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -c1)" = Z ] && return 0
        sleep 0.05
    done
    return 1
}

killed() {
    local file=$1 host pid
    rm -f "$file"
    last="killed: ${*:2}" code=0
    "${@:2}" >"$work/out" 2>"$work/err" </dev/null &
    host=$!
    disown
    for _ in $(seq 400); do [ -s "$file" ] && break; sleep 0.05; done
    [ -s "$file" ] || fails "it started nothing"
    kill -9 "$host"
    for pid in $(cat "$file"); do gone "$pid" || fails "process $pid is left when the host was killed"; done
}

servers=()
server_start() {
    rm -f "$1"
    python3 "$SOURCE/tests/e2e/$2" "${@:3}" --port-file "$1" &
    servers+=($!)
    for _ in $(seq 400); do
        [ -e "$1" ] && break
        sleep 0.05
    done
    port=$(cat "$1")
}
servers_stop() {
    local server
    for server in "${servers[@]}"; do
        kill "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
    done
    servers=()
}

work=$(mktemp -d "${TMPDIR:-/tmp}/tenon-e2e-XXXXXX")
trap 'servers_stop; chmod -R u+w "$work"; rm -rf "$work"' EXIT
owner_home=${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}
export HOME=$work XDG_CONFIG_HOME=$work/config XDG_DATA_HOME=$work/data TERM=dumb
unset TENON_PLUGIN_PATH NO_COLOR
# LeakSanitizer guesses where other libraries' thread-local variables are, and crashes where it guesses wrong.
[ -z "${SANITIZE:-}" ] || export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}intercept_tls_get_addr=0
mkdir "$work/here"
cd "$work/here"
tenon() { "$TENON" "$@"; }
. "$1"
