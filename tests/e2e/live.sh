# tests/live/run, which is for real services, against servers of this machine: aimock from npm, and a small local model if
# tests/e2e/local_model.sh has downloaded it. What it records is then replayed.
[ -e "$BINARY/lib/tenon/plugins/http.so" ] || skips "built without the HTTP client"
live() { run env -u OPENAI_API_KEY -u ANTHROPIC_API_KEY -u GEMINI_API_KEY "$@" "$SOURCE/tests/live/run" --tenon "$TENON" $options; }
# Without keys it lists what it skips.
options="--cases stream,images"
live
expect_code 0 && expect_in out "openai             stream         skipped: OPENAI_API_KEY is not set"
options="--only nothing" live
expect_code 2 && expect_in err 'there is no target `nothing`; available: openai,'

options="--tenon nowhere" live
expect_code 2 && expect_in err 'there is no program `nowhere`'
# What a person with keys has recorded.
if [ -d "$SOURCE/tests/live/recorded" ]; then
    options="--replay $SOURCE/tests/live/recorded"
    live
    expect_code 0
fi

# A server that answers as OpenAI's does, with headers that name an account. It can repeat the key in a form that the host does not redact.
cat >server.py <<'P'
import http.server, json, os, sys, time
class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_): pass
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        key = self.headers.get("authorization", "")[7:]
        asked = json.dumps(request["messages"])
        message, status = {"role": "assistant", "content": "OK"}, 200
        if key.startswith("wrong"):
            message, status = {"error": {"message": "Incorrect API key provided", "type": "invalid_request_error", "code": "invalid_api_key"}}, 401
        elif request["model"].startswith("no-such"):
            message, status = {"error": {"message": "The model does not exist", "type": "invalid_request_error", "code": "model_not_found"}}, 404
        elif "extract" in asked and '"role": "tool"' not in asked:
            arguments = json.dumps({"from": "see https://a.example/x", "what": "links"})
            message = {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "extract", "arguments": arguments}}]}
        elif "Classify" in asked: message["content"] = '{"verdict": "positive"}'
        elif "audio" in request: message = {"role": "assistant", "content": None, "audio": {"id": "a", "data": "AQACAA==", "transcript": "Hi"}}
        elif "image_url" in asked: message["content"] = "It is red."
        elif os.path.exists("hold") and request.get("stream"):
            os.rename("hold", "held")
            time.sleep(30)
        elif os.path.exists("leak"): message["content"] = "Your key is " + key.encode().hex()
        body = json.dumps(message if status != 200 else {"id": "x", "object": "chat.completion", "model": request["model"], "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if message.get("tool_calls") else "stop"}], "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}}).encode()
        kind = "application/json"
        if status == 200 and request.get("stream"):
            delta = {**message, "tool_calls": [{"index": 0, **call} for call in message.get("tool_calls", [])]}
            end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls" if delta["tool_calls"] else "stop"}]}
            body = "".join(f"data: {json.dumps(event)}\n\n" for event in ({"choices": [{"index": 0, "delta": delta}]}, end)).encode() + b"data: [DONE]\n\n"
            kind = "text/event-stream"
        self.send_response(status)
        for name, value in {"content-type": kind, "content-length": str(len(body)), "openai-organization": "acme-corp", "set-cookie": "session=1"}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open("port.new", "w") as file: file.write(str(server.server_port))
os.rename("port.new", "port")
server.serve_forever()
P
python3 server.py &
server_wait port
cat >targets.json <<J
[{"name": "fake", "key": "FAKE_KEY", "model": "m", "binding": {"provider": "openai", "base_url": "http://127.0.0.1:$(cat port)/v1"}, "cases": {"speech": {"speech": {}}}}]
J
options="--targets targets.json --only fake --record recorded"
live FAKE_KEY=sk-live-1234567890
expect_code 0 && expect_in out "8 ok, 0 failed, 0 skipped"
! grep -rqE 'acme-corp|session=1|sk-live' recorded || fails "expected no key and no account in the recordings"
[ "$(find recorded/fake/tools -name '*.json' | wc -l)" = 2 ] || fails "expected two exchanges with a tool"
# The recordings are enough: without the server, and without the key.
servers_stop
options="--targets targets.json --only fake --replay recorded"
live
expect_code 0 && expect_in out "8 ok, 0 failed, 0 skipped"
# A case that fails is reported, and a key that a service repeats does not stay in a recording.
sed -i 's/red/blue/' recorded/fake/images/*.json
rm recorded/fake/stream/*.json
live
expect_code 1 && expect_in out 'FAILED: expected `red`, found It is blue.' && expect_in out "6 ok, 2 failed"
rm port
touch leak
python3 server.py &
server_wait port
sed -i "s/127.0.0.1:[0-9]*/127.0.0.1:$(cat port)/" targets.json
options="--targets targets.json --only fake --cases whole --record leaked"
live FAKE_KEY=sk-live-1234567890
expect_code 1 && expect_in err "contains FAKE_KEY; it was deleted"
[ "$(find leaked/fake/whole -name "*.json" | wc -l)" = 0 ] || fails "expected no recording with the key"
# Ctrl-C: what was recorded before has no key and no account either. The program is named from this folder.
touch hold
ln -s "$TENON" tenon-here
FAKE_KEY=sk-live-1234567890 python3 - "$SOURCE/tests/live/run" --tenon ./tenon-here --targets targets.json --only fake --cases whole,stream --record stopped >"$work/out" 2>"$work/err" <<'P' &
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background processes ignore it
os.execv(sys.argv[1], sys.argv[1:])
P
wait_until test -e held
kill -INT $!
code=0
wait $! || code=$?
last="tests/live/run, interrupted"
expect_code 130
[ "$(find stopped/fake/whole -name "*.json" | wc -l)" = 0 ] || fails "expected no recording with the key after an interruption"

# A third-party server, if it can be installed.
if command -v node >/dev/null && npm_install @copilotkit/aimock; then
    cat >server.mjs <<'J'
import { createRequire } from "node:module";
import { renameSync, writeFileSync } from "node:fs";
const { LLMock } = createRequire(process.argv[2] + "/")("@copilotkit/aimock");
const mock = new LLMock({ port: 0 });
const call = { name: "extract", arguments: JSON.stringify({ from: "see https://a.example/x", what: "links" }) };
mock.on({ userMessage: "Which links", hasToolResult: false }, { content: "I look.", toolCalls: [call] });
mock.on({ userMessage: "Which links", hasToolResult: true }, { content: "https://a.example/x" });
mock.on({ userMessage: "Answer with the one word" }, { content: "OK" });
mock.on({ userMessage: "Classify" }, { content: '{"verdict": "positive"}' });
mock.on({ userMessage: "Which colour" }, { content: "Red" });
await mock.start();
writeFileSync("url.new", mock.url);
renameSync("url.new", "url");
J
    node server.mjs "$modules" >server.log 2>&1 &
    server_wait url
    at=$(cat url)
    cat >targets.json <<J
[{"name": "aimock-openai", "key": "FAKE_KEY", "model": "m", "binding": {"provider": "openai", "base_url": "$at/v1"}},
 {"name": "aimock-anthropic", "key": "FAKE_KEY", "model": "m", "binding": {"provider": "anthropic", "base_url": "$at/v1"}}]
J
    options="--targets targets.json --only aimock-openai,aimock-anthropic --cases stream,whole,tools,structured,images --record recorded"
    live FAKE_KEY=k-1234567
    expect_code 0 && expect_in out "10 ok, 0 failed, 0 skipped"
fi
# A real model on this machine, if it is there.
folder=$BINARY/local-model
if [ -z "$SANITIZE" ] && [ -e "$folder/ready" ] && [ -e "$folder/model.gguf" ]; then
    reserve_port
    "$folder/python/bin/python" "$SOURCE/samples/local-model/server.py" "$port" "$folder/model.gguf" >gemma.log 2>&1 &
    servers+=($!)
    answers() { python3 -c "import urllib.request; urllib.request.urlopen('http://127.0.0.1:$port/health', timeout=1)" 2>/dev/null; }
    wait_until answers
    cat >targets.json <<J
[{"name": "gemma", "model": "local", "max_tokens": 8, "binding": {"provider": "openai", "base_url": "http://127.0.0.1:$port/v1"}}]
J
    options="--targets targets.json --only gemma --cases stream,wrong-key --record recorded"
    live
    expect_code 0 && expect_in out "1 ok, 0 failed, 1 skipped"
fi
