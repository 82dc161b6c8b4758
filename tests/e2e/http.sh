# HTTP requests of plugins through the bundled client: recorded, then replayed after the server is killed.
command -v python3 >/dev/null || skips "python3 is not installed"
[ -e "$(dirname "$TENON")/../lib/tenon/plugins/http.so" ] || skips "built without the HTTP client"
cat >server.py <<'PY'
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *arguments): pass
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
        if self.path.startswith("/events"):
            self.send_response_only(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("connection", "close")
            self.end_headers()
            for part in ["event: a\ndata: {\"n\":", "1}\n\nda", "ta: \u20ac\nid: 7\n\n", "data: " + str(self.headers["authorization"]) + "\n\n"]:
                self.wfile.write(part.encode()); self.wfile.flush()
            self.close_connection = True
        elif self.path == "/moved":
            self.send_response_only(307)
            self.send_header("location", "/whole")
            self.send_header("content-length", "0")
            self.end_headers()
        else:
            answer = ("%s %s %s" % (self.path, self.headers["authorization"], body)).encode()
            self.send_response_only(200)
            self.send_header("content-type", "text/plain")
            self.send_header("set-cookie", "session=top")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
import os
with open("port.new", "w") as file:
    file.write(str(server.server_address[1]))
os.rename("port.new", "port")
server.serve_forever()
PY
python3 server.py &
server=$!
server_wait port
port=$(cat port)

cat >ask.yaml <<YAML
version: "1.0"
agent: {name: asks}
channels: [{name: out, type: append}]
nodes:
  - id: events
    type: test.asks.stream
    config:
      request:
        url: http://127.0.0.1:$port/events
        query: {key: {secret: KEY}}
        headers: {authorization: ["Bearer ", {secret: KEY}]}
        json: {n: 1}
        receive: events
  - {id: moved, type: test.asks.wait, config: {request: {url: "http://127.0.0.1:$port/moved", redirects: 1, headers: {authorization: {secret: KEY}}, body: moved}}}
  - {id: same, type: test.asks.wait, config: {request: {url: "http://127.0.0.1:$port/same", method: POST, headers: {authorization: {secret: KEY}}}}}
  - {id: again, type: test.asks.wait, config: {request: {url: "http://127.0.0.1:$port/same", method: POST, headers: {authorization: x}}}}
edges: [{from: START, to: events}, {from: events, to: moved}, {from: moved, to: same}, {from: same, to: again}, {from: again, to: END}]
YAML
asks() { run tenon run ask.yaml -q --plugins "$TEST_PLUGINS/asks" --allow-drafts "$@"; }

export KEY=hush-hush/42
asks --record recordings
expect_code 0
expect_in out '"DATA {\"event\":\"a\",\"data\":\"{\\\"n\\\":1}\"}"'
expect_in out '"DATA {\"event\":\"message\",\"data\":\"€\",\"id\":\"7\"}"'
cp "$work/out" live
asks --isolate test.asks --record apart
expect_code 0
cmp -s live "$work/out" || fails "the isolated run has a different output"
# A plugin that is a program has no socket, and requests through the host: in one call, and as a stream.
cat >program.py <<'PY'
#!/usr/bin/env -S python3 -IS
import json, os, socket, sys
wire = socket.socket(fileno=3)
incoming = wire.makefile("rb")
def send(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    wire.sendall(b"Content-Length: %d\r\n\r\n" % len(body) + body)
def receive():
    length = None
    while line := incoming.readline().strip():
        length = int(line.partition(b":")[2])
    return json.loads(incoming.read(length)) if length is not None else sys.exit(0)
configs = {}
while True:
    message = receive()
    method, params = message["method"], message.get("params", {})
    if method == "initialize":
        send({"id": message["id"], "result": {"protocol": params["protocol"], "plugin": params["plugin"], "version": "1.0.0"}})
    elif method == "create":
        configs[params["instance"]] = params["config"]
        send({"id": message["id"], "result": {"reads": [], "writes": ["out"], "calls": []}})
    elif method == "start":
        task, url = params["task"], configs[params["instance"]]["url"]
        print("the key is", os.environ.get("KEY"), flush=True)
        send({"method": "log", "params": {"level": 2, "message": "logged: " + str(os.environ.get("KEY"))}})
        send({"method": "call", "params": {"task": task, "call": 1, "operation": "http.send", "input": {
            "url": url + "/same", "body": "x", "headers": {"authorization": {"secret": "KEY"}}}}})
        lines = [receive()["params"]["output"]["status"]]
        send({"method": "http_send", "params": {"exchange": 9, "request": {
            "url": url + "/events", "method": "POST", "receive": "lines"}}})
        while (event := receive()["params"])["event"] not in ("end", "failed"):
            if event["event"] == "data":
                lines.append(event["value"])
                send({"method": "http_credit", "params": {"exchange": 9, "events": 1}})
        send({"method": "http_send", "params": {"exchange": 10, "request": {"url": "http://elsewhere.example"}}})
        lines.append(receive()["params"]["value"]["code"])
        send({"method": "complete", "params": {"task": task, "writes": [["out", lines]]}})
    elif "id" in message:
        send({"id": message["id"], "result": None})
PY
chmod +x program.py
cat >program.py.tenon.json <<'JSON'
{"plugin": {"id": "test.program", "version": "1.0.0", "title": "Asks"},
 "components": [{"kind": "node", "id": "test.program.ask", "title": "Asks", "documentation": "Asks.", "style": "async",
  "effects": ["network.http:127.0.0.1", "secret:KEY"],
  "config": {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]}}]}
JSON
cat >program.yaml <<YAML
version: "1.0"
agent: {name: program}
channels: [{name: out, type: last_value}]
nodes: [{id: ask, type: test.program.ask, config: {url: "http://127.0.0.1:$port"}}]
edges: [{from: START, to: ask}, {from: ask, to: END}]
YAML
echo "log: info" >info.yaml
run tenon run program.yaml --plugins ./program.py --record program --config info.yaml
expect_code 0
expect_in err "test.program: the key is {secret:KEY}"
expect_in err "test.program: logged: {secret:KEY}"
expect_out '{"out":[200,"event: a","data: {\"n\":1}","","data: €","id: 7","","data: None","","PERMISSION_DENIED"]}'

kill $server; wait $server 2>/dev/null || true
unset KEY
run tenon run program.yaml -q --plugins ./program.py --replay program
expect_code 0
expect_in out '"data: None","","PERMISSION_DENIED"'

[ "$(ls recordings)" = "000001-POST-127.0.0.1-$port-events.json
000002-POST-127.0.0.1-$port-moved.json
000003-POST-127.0.0.1-$port-same.json
000004-POST-127.0.0.1-$port-same.json" ] || { ls recordings >&2; fails "unexpected names of recordings"; }
! grep -rF hush recordings apart || fails "a secret was recorded"
! grep -rF session=top recordings || fails "a cookie was recorded"

# The recordings have the name of the secret in place of its text; everything else is the same, byte for byte.
python3 - live >expected <<'PY'
import sys, re, json, base64
def unkey(text):
    def bytes_of(match):
        return '{\\"$bytes\\":\\"' + base64.b64encode(base64.b64decode(match[1]).replace(b"hush-hush/42", b"{secret:KEY}")).decode() + '\\"}'
    text = re.sub(r'\{\\"\$bytes\\":\\"([^\\]*)\\"\}', bytes_of, text)
    return text.replace("hush-hush/42", "{secret:KEY}").replace("session=top", "{redacted}")
sys.stdout.write(unkey(open(sys.argv[1]).read()))
PY
asks --replay recordings
expect_code 0
cmp -s expected "$work/out" || { diff expected "$work/out" >&2 || true; fails "the replay differs from the recorded run"; }
TENON_HTTP_REPLAY=$PWD/recordings asks
cmp -s expected "$work/out" || fails "the replay with TENON_HTTP_REPLAY differs from the recorded run"
asks --replay recordings --isolate test.asks
cmp -s expected "$work/out" || fails "the isolated replay differs from the recorded run"
# A request that was not recorded fails.
sed -i 's/n: 1/n: 2/' ask.yaml
asks --replay recordings
expect_in out '"FAILED {\"code\":\"NOT_RECORDED\"'
expect_in out 'differs in `json/n`: found 2, recorded 1'
asks --replay nowhere
expect_code 4
expect_in err "cannot read the folder nowhere"
asks --record recordings --replay recordings
expect_code 4
expect_in err "at the same time"
