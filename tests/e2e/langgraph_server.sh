# The API of LangGraph's Agent Server over graphs: what no SDK does. langgraph_clients.sh has the SDKs.
for plugin in serve langgraph_server rest_server sqlite; do
    [ -e "$BINARY/lib/tenon/plugins/$plugin.so" ] || skips "built without $plugin"
done
command -v python3 >/dev/null || skips "python3 is not installed"
tests=$SOURCE/tests/protocols

cat >tenon.yaml <<'END'
store: {use: sqlite, path: ./store.db}
END
key() { "$TENON" key create "$1" --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["secret"])'; }
ada=$(key ada) bob=$(key bob)
"$TENON" serve --port 0 "$tests"/langgraph/{chat,steps}.yaml "$tests"/graphs/{error,question,slow}.yaml >serve.out 2>serve.err </dev/null &
host=$!
servers+=("$host")
wait_until eval 'grep -qs "http://" serve.err || ! kill -0 $host'
address=$(grep -ho 'http://[0-9.:]*' serve.err | head -n 1)
[ -n "$address" ] || { cat serve.err >&2; fails "the server did not start"; }
checked() { timeout 120 "$@" >"$work/out" 2>"$work/err" || { tail -n 5 serve.err >&2; fails "$*"; }; }

checked python3 "$tests/langgraph/live.py" "$address" "$ada" "$bob"
checked python3 "$tests/langgraph/crons.py" "$address" "$ada" "$bob"
kill -TERM "$host"
expect_ended "$host" "the server did not end after SIGTERM"
grep -qE 'Sanitizer|runtime error:' serve.err && fails "a sanitizer reported an error: $(grep -E 'Sanitizer|runtime' serve.err)"
grep -qF "$ada" serve.out serve.err && fails "a key is in the log"
true
