# Streams of langgraph_server over `kill -9`, and over a second start without anything to continue.
for plugin in serve langgraph_server sqlite; do
    [ -e "$BINARY/lib/tenon/plugins/$plugin.so" ] || skips "built without $plugin"
done
command -v python3 >/dev/null || skips "python3 is not installed"
tests=$SOURCE/tests/protocols/langgraph
printf 'store: {use: sqlite, path: ./store.db}\n' >tenon.yaml
ada=$("$TENON" key create ada)
serve() { serve_start serve --port 0 "$tests/ticks.yaml"; }
checked() { timeout 120 "$@" >"$work/out" 2>"$work/err" || { serve_failed; fails "$*"; }; }
serve
checked python3 "$tests/killed.py" begin "$address" "$ada" known.json
serve_stop KILL
serve
checked python3 "$tests/killed.py" end "$address" "$ada" known.json
serve_stop
# The saved events are enough for a stream that has ended.
serve
checked python3 "$tests/killed.py" end "$address" "$ada" known.json
serve_stop
true
