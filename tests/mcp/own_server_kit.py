"""What own_server.py and tasks.py share: requests to Tenon's MCP server. Arguments: the URL, and two keys of different owners."""
import http.client
import json
import sys
from urllib.parse import urlsplit

URL, ADA, BOB = sys.argv[1:4]
HOST, PATH = urlsplit(URL).netloc, urlsplit(URL).path
MODERN, LEGACY = "2026-07-28", "2025-11-25"
BOTH = "application/json, text/event-stream"


def connection(method, body=None, headers=None, key=ADA):
    link = http.client.HTTPConnection(HOST, timeout=60)
    sent = {"authorization": "Bearer " + key, "accept": BOTH, **(headers or {})}
    if body is not None and not isinstance(body, bytes):
        body = json.dumps(body).encode()
    if body is not None:
        sent.setdefault("content-type", "application/json")
    link.request(method, PATH, body, sent)
    return link, link.getresponse()


def events(response):
    """Each event of a stream: (id, message or None)."""
    found, data = None, None
    for line in response:
        line = line.decode().rstrip("\r\n")
        if line.startswith("id:"):
            found = line[3:].strip()
        elif line.startswith("data:"):
            data = line[5:].strip()
        elif line == "" and data is not None:
            yield found, json.loads(data) if data else None
            found, data = None, None


def exchange(method, body=None, headers=None, key=ADA):
    """(status, headers, messages)"""
    link, response = connection(method, body, headers, key)
    if "event-stream" in (response.getheader("content-type") or ""):
        messages = [message for _, message in events(response) if message]
    else:
        text = response.read()
        messages = [json.loads(text)] if text else []
    link.close()
    return response.status, response.headers, messages


def request(method, params=None, identity=1):
    return {"jsonrpc": "2.0", "id": identity, "method": method, "params": params or {}}


def modern(method, params=None, key=ADA, capabilities=None, meta=None, headers=None):
    params = {**(params or {}), "_meta": {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": capabilities or {}, **(meta or {})}}
    named = params.get("name", params.get("uri", params.get("taskId")))
    sent = {"mcp-protocol-version": MODERN, "mcp-method": method, **({"mcp-name": named} if named else {}), **(headers or {})}
    return exchange("POST", request(method, params), sent, key)


def result(answer):
    status, _, messages = answer
    assert status == 200 and "result" in messages[-1], answer
    return messages[-1]["result"]


def error(answer):
    assert "error" in answer[2][-1], answer
    return answer[0], answer[2][-1]["error"]["code"]


def initialize(key=ADA, capabilities=None, version=LEGACY):
    status, headers, messages = exchange("POST", request("initialize", {
        "protocolVersion": version, "capabilities": capabilities or {}, "clientInfo": {"name": "t", "version": "1"}}), key=key)
    assert status == 200, messages
    session = {"mcp-session-id": headers["mcp-session-id"], "mcp-protocol-version": messages[0]["result"]["protocolVersion"]}
    return session, messages[0]["result"]


def call(session, name, key=ADA, arguments=None, identity=5, meta=None):
    return request("tools/call", {"name": name, "arguments": arguments or {}, **({"_meta": meta} if meta else {})}, identity)
