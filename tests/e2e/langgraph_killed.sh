# Streams of langgraph_server over `kill -9`, and over a second start without anything to continue.
for plugin in serve langgraph_server sqlite; do
    [ -e "$BINARY/lib/tenon/plugins/$plugin.so" ] || skips "built without $plugin"
done
command -v python3 >/dev/null || skips "python3 is not installed"
tests=$SOURCE/tests/protocols/langgraph
printf 'store: {use: sqlite, path: ./store.db}\n' >tenon.yaml
ada=$("$TENON" key create ada)
serve() {
    rm -f serve.err # the address of the host before must not be found
    "$TENON" serve --port 0 "$tests/ticks.yaml" >serve.out 2>serve.err </dev/null &
    host=$!
    servers+=("$host")
    wait_until eval 'grep -qs "http://" serve.err || ! kill -0 $host'
    address=$(grep -ho 'http://[0-9.:]*' serve.err | head -n 1)
    [ -n "$address" ] || { cat serve.err >&2; fails "the server did not start"; }
}
checked() { timeout 120 "$@" >"$work/out" 2>"$work/err" || { tail -n 5 serve.err >&2; fails "$*"; }; }
serve
checked python3 "$tests/killed.py" begin "$address" "$ada" known.json
kill -9 "$host"
wait "$host" 2>/dev/null || true
serve
checked python3 "$tests/killed.py" end "$address" "$ada" known.json
kill -TERM "$host"
expect_ended "$host" "the server did not end after SIGTERM"
grep -qE 'Sanitizer|runtime error:' serve.err && fails "a sanitizer reported an error: $(grep -E 'Sanitizer|runtime' serve.err)"
# The saved events are enough for a stream that has ended.
serve
checked python3 "$tests/killed.py" end "$address" "$ada" known.json
kill -TERM "$host"
expect_ended "$host" "the server did not end after SIGTERM"
true
