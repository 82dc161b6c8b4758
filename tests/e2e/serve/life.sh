# `tenon serve` and `tenon lsp`: sockets, signals, draining, the end of the input.

# ---- Wrong arguments and paths ----
run tenon serve
expect_code 2 && expect_in err 'expected what to serve: a FILE, --port or --address'
for mode in 0999 9 '' -1 u+rw 01777; do
    run tenon serve --socket s --mode "$mode"
    expect_code 2 && expect_in err 'expected an octal file mode'
done
run tenon serve --socket s --scope all
expect_code 2
run tenon serve --socket "$(printf 'x%.0s' {1..108})"
expect_code 1 && expect_in err 'has 1 to 107 bytes' && expect_in err '[INVALID_INPUT]'
mkdir folder && touch file
for path in folder file; do
    run tenon serve --socket $path
    expect_code 1 && expect_in err "$path exists and is not a socket"
    [ -e $path ] && [ ! -e $path.lock ] || fails "$path was changed"
done
run tenon serve --socket none/s
expect_code 1 && expect_in err 'cannot listen on none/s: the folder none does not exist [IO]'

# ---- One owner, mode, scope ----
host_start --mode 0660 --scope read
[ "$(stat -c %a s)" = 660 ] || fails "expected the mode 0660"
run tenon serve --socket s
expect_code 1 && expect_in err 'another host listens on s'
cat >scope.py <<'PY'
from wire import *
client = Client("s")
print(client.call("host/info")["scope"])
for method, params in [("run/start", {"document": "hours.yaml"}), ("plugin/unload", {"plugin": "x"}),
                       ("document/check", {"document": "/etc/passwd"})]:
    try:
        client.call(method, params)
    except Failed as why:
        print(why.code)
PY
client scope.py
expect_code 0 && expect_out 'read
PERMISSION_DENIED
PERMISSION_DENIED
PERMISSION_DENIED'
serve_stop
[ "$code" = 0 ] || fails "expected exit status 0"
[ ! -e s ] && [ ! -e s.lock ] || fails "the socket was left"

# ---- A killed host leaves its socket, which the next one replaces ----
host_start
kill -KILL "$host"
wait "$host" 2>/dev/null || true
[ -S s ] || fails "expected the socket of the killed host"
host_start
[ "$(stat -c %a s)" = 600 ] || fails "expected the mode 0600"

# ---- SIGTERM drains: the run ends after its step, its clients hear of it, and its thread continues later ----
cat >drained.py <<'PY'
import sys
from wire import *
client, late = Client("s"), Client("s")
run = client.call("run/start", {"document": "count.yaml", "input": {"n": 100000000}, "config": {"thread_id": "drained"},
                               "subscribe": {"modes": []}})
waits = client.send("run/wait", {"run_id": run["run_id"]})
client.call("run/start", {"document": "hours.yaml"})  # its step does not end: the host waits for it
print("started", flush=True)
sys.stdin.readline()  # the host drains
try:
    late.call("run/start", {"document": "hours.yaml"})
except Failed as why:
    print(why.code)
print(client.answer(waits)["status"], client.event("run/ended")["status"], flush=True)
while client.receive():
    pass
print("closed")
PY
mkfifo go
PYTHONPATH="$SOURCE/tests/e2e/serve" python3 drained.py <go >drained.out 2>&1 &
drained=$!
exec 9>go
wait_until grep -q started drained.out
kill -TERM "$host"
wait_until eval '[ ! -e s ]' # it accepts no more
echo >&9
exec 9>&-
wait_until grep -q stopped drained.out
kill -TERM "$host"
expect_ended "$drained" "the client did not end"
expect_ended "$host" "the host did not end"
[ "$(cat drained.out)" = 'started
CANCELLED
stopped stopped
closed' ] || { cat drained.out host.err; fails "expected the end of the run"; }
run tenon thread update drained count.yaml --set n=5
expect_code 0
run tenon run count.yaml --thread drained --resume
expect_code 0 && expect_in out '"n":5'

# ---- The second signal ends the drain, whichever they are; --drain is its limit ----
cat >hours.py <<'PY'
from wire import *
Client("s").call("run/start", {"document": "hours.yaml"})
PY
for signals in 'TERM TERM' 'TERM INT' 'INT TERM' 'INT INT'; do
    host_start
    client hours.py
    expect_code 0
    kill -"${signals% *}" "$host"
    wait_until eval '[ ! -e s ]'
    kill -0 "$host" || fails "$signals: the host did not wait for the run"
    kill -"${signals#* }" "$host"
    expect_ended "$host" "$signals: the second signal did not end the drain"
    wait "$host" && code=0 || code=$?
    [ "$code" = 0 ] || fails "$signals: expected exit status 0"
done
host_start --drain 0
client hours.py
serve_stop
[ "$code" = 0 ] || fails "expected exit status 0"

# ---- tenon lsp: the end of the input, half a message, exit with and without shutdown ----
framed() { for text; do printf 'Content-Length: %d\r\n\r\n%s' ${#text} "$text"; done; }
initialize='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"processId":null,"capabilities":{}}}'
run_lsp() { # TEXT CODE
    last="tenon lsp" code=0
    printf %s "$1" | "$TENON" lsp >"$work/out" 2>"$work/err" || code=$?
    expect_code "$2"
}
run_lsp "$(framed "$initialize" '{"jsonrpc":"2.0","id":2,"method":"shutdown"}' '{"jsonrpc":"2.0","method":"exit"}')" 0
expect_in out '"serverInfo":{"name":"tenon"' && expect_in out '{"jsonrpc":"2.0","id":2,"result":null}'
run_lsp "$(framed "$initialize" '{"jsonrpc":"2.0","method":"exit"}')" 1
run_lsp "$(framed "$initialize")" 1
expect_in out '"serverInfo":{"name":"tenon"'
run_lsp "$(framed "$initialize")Content-Length: 50

{" 1
expect_in out 'the input ends inside a message'
run_lsp 'Content-Length: x

' 1
expect_in out '"code":-32700'
run_lsp '{"jsonrpc":"2.0","id":1,"method":"run/list"}
' 1
expect_out '{"jsonrpc":"2.0","id":1,"result":{"runs":[],"more":false}}'
run_lsp "" 1

# Regular files are an input and an output, too.
framed "$initialize" '{"jsonrpc":"2.0","id":2,"method":"shutdown"}' >in.txt
code=0
"$TENON" lsp <in.txt >out.txt || code=$?
[ "$code" = 0 ] || fails "expected exit status 0 after shutdown"
grep -q '"id":2,"result":null' out.txt || fails "expected the answers in the file"
