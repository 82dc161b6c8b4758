"""plugins/rest_server against a host that runs: methods, JSON-RPC, events, bodies of Artifacts, users.

rest_live.py ADDRESS KEY KEY_OF_ANOTHER_USER
"""

import http.client
import json
import socket
import sys
import urllib.parse

address, key, other = sys.argv[1:4]
place = urllib.parse.urlsplit(address)
JSON = {"content-type": "application/json"}


def request(method, path, body=None, headers=None, key=key):
    connection = http.client.HTTPConnection(place.hostname, place.port, timeout=30)
    given = dict(headers or {})
    if key:
        given["authorization"] = "Bearer " + key
    connection.request(method, path, body, given)
    response = connection.getresponse()
    return response, response.read()


def call(path, params=None, key=key):
    """POST: the status and the value."""
    response, body = request("POST", path, json.dumps(params or {}), JSON, key)
    return response.status, json.loads(body)


def expect(found, expected, what):
    if found != expected:
        sys.exit(f"{what}: found {found!r}, expected {expected!r}")


def error_of(path, params, status, code, key=key):
    found, value = call(path, params, key)
    expect((found, value["error"]["code"], value["error"]["status"]), (status, code, status), path)


def start(graph):
    given = {"document": "graph:" + graph, "input": {"messages": [{"type": "user", "content": "Hello"}]}}
    status, value = call("/api/run/start", given)
    expect(status, 200, "run/start")
    return value["run_id"]


def methods():
    expect(call("/api/host/info")[1]["client"], "ada", "the client")
    response, body = request("GET", "/api/run/list?limit=3&status=done")
    expect((response.status, "runs" in json.loads(body)), (200, True), "GET with a query")
    for query in ("limit=0", "limit=x", "limit=1&limit=2", "unknown=1", "limit="):
        expect(request("GET", "/api/run/list?" + query)[0].status, 400, query)
    for path in ("/api/run/start", "/api/task/list", "/api/document/describe"):
        response, _ = request("GET", path)
        expect((response.status, response.headers["allow"]), (405, "POST"), path)
    expect(request("GET", "/api/nothing/here")[0].status, 404, "an unknown method")
    error_of("/api/nothing/here", {}, 404, "NOT_FOUND")
    error_of("/api/event/subscribe", {"events": ["run/ended"]}, 404, "NOT_FOUND")
    error_of("/api/run/get", {}, 400, "INVALID_INPUT")
    error_of("/api/run/get", [1], 400, "INVALID_INPUT")
    error_of("/api/key/list", {}, 403, "PERMISSION_DENIED")
    error_of("/api/run/start", {"document": "graph:nothing"}, 404, "NOT_FOUND")
    error_of("/api/run/start", {"document": "/etc/passwd"}, 403, "PERMISSION_DENIED")
    status, task = call("/api/task/create", {"task_type": "a"})
    error_of("/api/task/complete", {"task_id": task["task_id"], "claim_token": "x"}, 409, "INVALID_TRANSITION")
    error_of("/api/task/get", {"task_id": task["task_id"]}, 404, "NOT_FOUND", other)
    expect(request("POST", "/api/host/info", "{}", {"content-type": "text/plain"})[0].status, 415, "a text")
    expect(request("POST", "/api/host/info", "{", JSON)[0].status, 400, "half of an object")
    expect(request("POST", "/api/host/info", None)[0].status, 200, "no body")
    expect(request("GET", "/api/host/info", key=None)[0].status, 401, "no key")


def rpc():
    def send(text, status, headers=JSON, key=key):
        response, body = request("POST", "/rpc", text, headers, key)
        expect(response.status, status, text)
        return json.loads(body) if body else None

    answer = send('{"jsonrpc": "2.0", "id": "a", "method": "host/info"}', 200)
    expect((answer["id"], answer["result"]["client"]), ("a", "ada"), "a result")
    expect(send('{"jsonrpc": "2.0", "method": "host/info"}', 204), None, "a notification")
    for text, status, number, id in (
        ("{", 400, -32700, None),
        ("[]", 400, -32600, None),
        ('[{"jsonrpc": "2.0", "id": 1, "method": "host/info"}]', 400, -32600, None),
        ("7", 400, -32600, None),
        ('{"id": 1, "method": "host/info"}', 400, -32600, 1),
        ('{"jsonrpc": "2.0", "id": {}, "method": "host/info"}', 400, -32600, None),
        ('{"jsonrpc": "2.0", "id": "' + 257 * "x" + '", "method": "host/info"}', 400, -32600, None),
        ('{"jsonrpc": "2.0", "id": 1, "method": 5}', 400, -32600, 1),
        ('{"jsonrpc": "2.0", "id": 1, "method": "host/info", "params": []}', 400, -32602, 1),
        ('{"jsonrpc": "2.0", "id": 1, "method": "no/such"}', 200, -32601, 1),
        ('{"jsonrpc": "2.0", "id": 1, "method": "run/get"}', 200, -32000, 1),
        ('{"jsonrpc": "2.0", "id": null, "method": "event/subscribe"}', 200, -32000, None),
    ):
        answer = send(text, status)
        expect((answer["error"]["code"], answer["id"]), (number, id), text)
    expect(send("{}", 401, key=None)["error"]["data"]["code"], "UNAUTHORIZED", "no key")


def events_of(run, query="", headers=None, key=key):
    response, body = request("GET", f"/api/runs/{urllib.parse.quote(run, safe='')}/events{query}", None, headers, key)
    found = []
    for block in body.decode().split("\n\n") if response.status == 200 else []:
        lines = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line and line[0] != ":")
        if lines:
            found.append((lines["event"], int(lines["id"]), json.loads(lines["data"])))
    return response.status, found


def events():
    run = start("weather")
    expect(call("/api/run/wait", {"run_id": run})[1]["status"], "done", "the run")
    status, all = events_of(run)
    expect([number for _, number, _ in all], list(range(1, len(all) + 1)), "numbers of events")
    expect((all[-1][0], all[-1][2]["status"]), ("run/ended", "done"), "the last event")
    last = all[-1][1]
    expect(events_of(run, headers={"last-event-id": "2"})[1], all[2:], "events after the second one")
    expect(events_of(run, "?after=2")[1], all[2:], "the same by the query")
    expect(events_of(run, "?modes=updates")[0], 200, "one mode")
    expect(events_of(run, f"?after={last}"), (204, []), "events after the last one")
    for query in ("?after=x", "?after=-1", "?after=1&after=2", "?after=" + 20 * "9", "?modes=no"):
        expect(events_of(run, query)[0], 400, query)
    expect(events_of("nothing")[0], 404, "an unknown run")
    expect(events_of(run, key=other)[0], 404, "a run of another user")


def artifacts():
    body = bytes(range(256)) * 5000
    response, answer = request("PUT", "/api/artifacts/a%20b.png", body, {"content-type": "image/png"})
    artifact = json.loads(answer)
    expect((response.status, artifact["size"], artifact["metadata"]), (201, len(body), {"name": "a b.png"}), "PUT")
    path = response.headers["location"]
    for given, status, found, ranges in (
        (None, 200, body, None),
        ("bytes=10-19", 206, body[10:20], "bytes 10-19/1280000"),
        ("bytes=1279990-", 206, body[-10:], "bytes 1279990-1279999/1280000"),
        ("bytes=-5", 206, body[-5:], "bytes 1279995-1279999/1280000"),
        ("bytes=-9999999", 206, body, "bytes 0-1279999/1280000"),
        ("bytes=0-9999999", 206, body, "bytes 0-1279999/1280000"),
        ("bytes=5-4", 200, body, None),
        ("bytes=0-1,3-4", 200, body, None),
        ("bytes=" + 30 * "9" + "-", 200, body, None),
        ("lines=1-2", 200, body, None),
    ):
        response, bytes_ = request("GET", path, None, {"range": given} if given else {})
        expect((response.status, response.headers["content-range"]), (status, ranges), f"range {given}")
        expect(bytes_ == found, True, f"the bytes of range {given}")
        expect(response.headers["content-type"], "image/png", "the type")
    for given in ("bytes=1280000-", "bytes=-0"):
        response, _ = request("GET", path, None, {"range": given})
        expect((response.status, response.headers["content-range"]), (416, "bytes */1280000"), given)
    tag = response.headers["etag"]
    expect(request("GET", path, None, {"if-none-match": tag})[0].status, 304, "If-None-Match")
    expect(request("GET", path, None, {"if-range": tag, "range": "bytes=0-0"})[0].status, 206, "If-Range")
    expect(request("GET", path, None, {"if-range": '"x"', "range": "bytes=0-0"})[0].status, 200, "another If-Range")
    response, bytes_ = request("HEAD", path)
    expect((response.status, bytes_), (200, b""), "HEAD")
    expect(request("GET", path, key=other)[0].status, 404, "an Artifact of another user")
    expect(request("GET", "/api/artifacts/none/body")[0].status, 404, "an unknown Artifact")
    expect(request("PUT", "/api/artifacts/" + 513 * "x", b"x")[0].status, 400, "a long name")
    expect(request("PUT", "/api/artifacts/x", b"x", {"content-type": 300 * "x"})[0].status, 400, "a long type")
    response, answer = request("PUT", "/api/artifacts/empty", b"")
    expect((response.status, json.loads(answer)["size"]), (201, 0), "an empty body")
    expect(request("GET", response.headers["location"])[1], b"", "the empty body")
    response, answer = request("PUT", "/api/artifacts/x", iter([b"ab", b"c" * 300000]))
    expect((response.status, json.loads(answer)["size"]), (201, 300002), "a chunked body")
    status, artifact = call("/api/artifact/write", {"media_type": "no type\u00e4", "body": "text"})
    response, bytes_ = request("GET", f"/api/artifacts/{urllib.parse.quote(artifact['artifact_id'], safe='')}/body")
    expect((response.headers["content-type"], bytes_), ("application/octet-stream", b"text"), "a type for no header")
    half_upload()


def half_upload():
    """A client that ends in the middle leaves nothing."""
    before = len(call("/api/artifact/search", {})[1]["artifacts"])
    connection = http.client.HTTPConnection(place.hostname, place.port, timeout=30)
    connection.putrequest("PUT", "/api/artifacts/half")
    connection.putheader("authorization", "Bearer " + key)
    connection.putheader("content-length", "1000000")
    connection.endheaders(b"x" * 500000)
    connection.close()
    expect(len(call("/api/artifact/search", {})[1]["artifacts"]), before, "Artifacts after half of an upload")


def documents():
    def names(path, key=key):
        return json.loads(request("GET", path, key=key)[1])

    paths = names("/openapi.json")["paths"]
    expect({"get", "post"}, set(paths["/api/run/list"]), "the operations of run/list")
    expect(["post"], list(paths["/api/run/start"]), "the operations of run/start")
    expect([name for name in paths if name.startswith(("/api/event", "/api/key", "/api/work"))], [], "closed methods")
    rows = {row["name"]: row for row in names("/openrpc.json")["methods"]}
    expect({"run/subscribe", "event/grant", "run/start"} <= set(rows), True, "methods of a WebSocket")
    expect("subscribe" in json.dumps(rows["run/start"]["params"]), False, "run/start has no subscription")


def slow_readers():
    """Clients that do not read large responses: a key holds so many bytes, and others are served."""
    size = 8 << 20
    started = call("/api/run/start", {"document": "graph:question", "input": {"topic": "x" * size}, "config": {"thread_id": "large"}})
    call("/api/run/wait", {"run_id": started[1]["run_id"]})  # it fails, because its question is too long; its state is saved
    path, clients = "/api/thread/state?thread_id=large", []
    for _ in range(26):
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect((place.hostname, place.port))
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: {place.netloc}\r\nauthorization: Bearer {key}\r\n\r\n".encode())
        clients.append((client, int(client.recv(12, socket.MSG_WAITALL)[9:])))
    statuses = [status for _, status in clients]
    expect(statuses, [200] * 23 + [429] * 3, "192 MiB that are not read")
    expect(clients[-1][0].recv(4000).split(b"\r\n\r\n")[0].count(b"Retry-After: "), 1, "a header of the refusal")
    expect(call("/api/thread/list", key=other)[0], 200, "another user")
    for client, _ in clients:
        client.close()


methods()
rpc()
events()
artifacts()
documents()
slow_readers()
