# A client that asks for its answer again after the server was killed, and after it was stopped: nothing is missing, and
# nothing is there twice.
command -v python3 >/dev/null || skips "python3 is not installed"
# chat ID: sends a message, and writes the stream to ID.sse. stream ID: reads the active answer again. status: of the response
chat() {
    curl -sN -m 60 -o "$1.sse" -D "$1.head" -X POST "$url/api/chat/stream?graph=two" -H "Authorization: Bearer $key" \
        -H 'Content-Type: application/json' -d "{\"id\": \"$1\", \"messages\": [{\"id\": \"u\", \"role\": \"user\", \"parts\": [{\"type\": \"text\", \"text\": \"Go\"}]}]}"
}
stream() {
    curl -sN -m 60 -o "$1.again" -w '%{http_code}' "$url/api/chat/$1/stream?graph=two" -H "Authorization: Bearer $key" >status
}
# The texts of a stream, in order; it must be complete.
texts() {
    python3 - "$1" <<'PY'
import json, sys
events = open(sys.argv[1]).read().split("\n\n")
chunks = [json.loads(event[6:]) for event in events if event.startswith("data: {")]
assert events[-2] == "data: [DONE]" and chunks[-1]["type"] == "finish", events[-3:]
assert chunks[0]["type"] == "start" and len({chunk["messageId"] for chunk in chunks if chunk["type"] == "start"}) == 1
print("".join("|" if chunk["type"] == "text-start" else chunk["delta"] for chunk in chunks if chunk["type"] in ("text-start", "text-delta")))
PY
}
web_start
chat killed &
client=$!
wait_until grep -qs '"delta":"5"' killed.sse
serve_stop KILL
wait "$client" || true # the connection is lost
web_start
for header in 'content-type: text/event-stream' 'cache-control: no-cache' 'connection: keep-alive' 'x-vercel-ai-ui-message-stream: v1' 'x-accel-buffering: no'; do
    tr -d '\r' <killed.head | grep -qix "$header" || { cat killed.head >&2; fails "expected the header $header"; }
done
stream killed
[ "$(cat status)" = 200 ] || fails "the answer is not continued: $(cat status)"
run texts killed.again
expect_out "|First.|0123456789abcdefghijklmnopqrstuvwxyz|Third."
[ "$(grep -o '"messageId":"[^"]*"' killed.sse)" = "$(grep -o '"messageId":"[^"]*"' killed.again | sort -u)" ] || fails "the message has another id"
stream killed
[ "$(cat status)" = 204 ] || fails "the run has ended: $(cat status)"

# The conversation, as a page that is loaded again shows it.
curl -sf -o messages.json "$url/api/chat/stream/killed/messages" -H "Authorization: Bearer $key"
run python3 -c 'import json; print([[m["role"]] + [p.get("text", p["type"]) for p in m["parts"]] for m in json.load(open("messages.json"))])'
expect_out "[['user', 'Go'], ['assistant', 'step-start', 'First.', 'step-start', '0123456789abcdefghijklmnopqrstuvwxyz', 'step-start', 'Third.']]"

# SIGTERM during the first step of a run: the run stops after it, and the connection ends without [DONE].
chat stopped &
client=$!
wait_until grep -qs '"delta"' stopped.sse
serve_stop TERM
wait "$client" || true
grep -q DONE stopped.sse && fails "the run was not stopped"
web_start
stream stopped
[ "$(cat status)" = 200 ] || fails "the stopped answer is not continued: $(cat status)"
run texts stopped.again
expect_out "|First.|0123456789abcdefghijklmnopqrstuvwxyz|Third."
serve_stop
