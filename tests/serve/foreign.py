"""foreign.py ADDRESS ADA BOB READER: every route of every protocol with no key, an unknown key, a key of too small a
scope (READER may only read), and the key of another user (BOB) with the ids of what ADA has made. GET / lists the
routes; a route without a row in ROWS fails the test.
"""
import http.client
import json
import re
import sys
import foreign_a2a

ADDRESS, ADA, BOB, READER = sys.argv[1:5]
HOST = ADDRESS.split("//")[1]
MARKER = "orchid-7319"  # is in everything that Ada makes
SAY = [{"role": "user", "content": MARKER}]
failures = []


def connect(method, path, body=None, key=None, headers=None):
    connection = http.client.HTTPConnection(HOST, timeout=60)
    sent = {"accept": "application/json, text/event-stream", **(headers or {})}
    if key is not None:
        sent["authorization"] = "Bearer " + key
    if body is not None:
        sent["content-type"] = "application/json"
    connection.request(method, path, None if body is None else json.dumps(body), sent)
    return connection, connection.getresponse()


def call(*arguments, **named):
    connection, response = connect(*arguments, **named)
    text = response.read().decode()
    connection.close()
    return response.status, text, response


def made(*arguments, **named):
    status, text, response = call(*arguments, **named)
    assert status == 200, (arguments, status, text)
    return json.loads(text), response


# ---- The shape of an error, of each protocol ----

def openai_error(text, response):
    error = json.loads(text)["error"]
    return set(error) == {"message", "type", "param", "code"} and isinstance(error["message"], str)


def ai_sdk_error(text, response):
    """The client shows the text."""
    return response.getheader("content-type").startswith("text/plain") and text != "" and not text.startswith("{")


def mcp_error(text, response):
    message = json.loads(text)
    return message["jsonrpc"] == "2.0" and isinstance(message["error"]["code"], int) and message["error"]["message"] != ""


def rest_error(text, response):
    message = json.loads(text)
    return mcp_error(text, response) if "jsonrpc" in message else {"code", "message", "status"} <= set(message["error"])


def ag_ui_error(text, response):
    message = json.loads(text)
    return message["type"] == "RUN_ERROR" and message["message"] != "" and message["code"] != ""


def session_error(text, response):
    messages = json.loads(text)["messages"]
    return [message["role"] for message in messages] == ["error"] and messages[0]["content"] != ""


def langgraph_error(text, response):
    error = json.loads(text)
    return set(error) == {"detail"} and isinstance(error["detail"], str) and error["detail"] != ""


SHAPES = {"tenon.openai_server": openai_error, "tenon.ai_sdk": ai_sdk_error, "tenon.mcp_server": mcp_error,
          "tenon.rest_server": rest_error, "tenon.metrics": rest_error, "tenon.ag_ui": ag_ui_error, "tenon.session_server": session_error,
          "tenon.langgraph_server": langgraph_error, "tenon.a2a_server": foreign_a2a.error}


# ---- What Ada has made ----

def chat(identity, text=MARKER):
    return {"id": identity, "messages": [{"id": "u", "role": "user", "parts": [{"type": "text", "text": text}]}]}


def ag_ui(thread, text=MARKER):
    return {"threadId": thread, "runId": "r", "messages": [{"id": "u", "role": "user", "content": text}]}


def session(identity, text=MARKER):
    return {"id": identity, "title": None, "start_time": "2026-11-28 10:00", "character": "helper", "status": "active",
            "messages": [{"role": "user", "content": text}], "config": {"yaa": {}, "llm_api": {}, "tool": {}}}


def rpc(method, **params):
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def begin():
    """{name: id}; the runs of the graph `slow` last longer than the test."""
    done, _ = made("POST", "/v1/responses", {"model": "long", "input": MARKER}, ADA)
    runs, _ = made("POST", "/v1/responses", {"model": "slow", "input": MARKER, "background": True}, ADA)
    asks, _ = made("POST", "/v1/chat/completions", {"model": "question", "messages": SAY}, ADA)
    for path, body in (("/ag-ui/long", ag_ui("page")), ("/session/question", session("asked"))):
        status, text, _ = call("POST", path, body, ADA)
        assert status == 200, (status, text)
    _, started = made("POST", "/mcp", rpc("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={
        "name": "t", "version": "1"}), ADA)
    status, text, _ = call("POST", "/api/chat?graph=long", chat("done"), ADA)
    assert status == 200 and MARKER in text, (status, text)
    run, _ = made("POST", "/api/run/start", {"document": "graph:slow", "input": {"messages": [
        {"type": "user", "content": MARKER}]}}, ADA)
    status, text, _ = call("PUT", "/api/artifacts/note", {"text": MARKER}, ADA)
    assert status == 201, (status, text)
    artifact = json.loads(text)
    thread, _ = made("POST", "/threads", {"metadata": {"of": MARKER}}, ADA)
    of = "/threads/" + thread["thread_id"]
    made("POST", of + "/runs/wait", {"assistant_id": "long", "input": {"messages": SAY}}, ADA)
    active, _ = made("POST", of + "/runs", {"assistant_id": "slow", "input": {"messages": SAY}}, ADA)
    assistant, _ = made("POST", "/assistants", {"graph_id": "long", "metadata": {"of": MARKER}}, ADA)
    cron, _ = made("POST", of + "/runs/crons", {"assistant_id": "long", "input": {"messages": SAY}, "schedule": "@yearly"}, ADA)
    assert call("PUT", "/store/items", {"namespace": ["a"], "key": "k", "value": {"v": MARKER}}, ADA)[0] == 204
    open_chat = connect("POST", "/api/chat?graph=slow", chat("active"), ADA)
    assert open_chat[1].status == 200
    return {"a2a": foreign_a2a.begin(made, ADA),
            "run": run["run_id"], "artifact": artifact["artifact_id"], "done": done["id"], "runs": runs["id"],
            "asked": asks["choices"][0]["message"], "open": open_chat,
            "session": {"mcp-session-id": started.getheader("mcp-session-id"), "mcp-protocol-version": "2025-11-25"},
            "thread": thread["thread_id"], "active": active["run_id"], "assistant": assistant["assistant_id"],
            "cron": cron["cron_id"]}


def still_there(ada):
    """Nothing that Bob did has changed what Ada has."""
    assert MARKER in call("GET", f"/api/artifacts/{ada['artifact']}/body", key=ADA)[1]
    assert json.loads(call("POST", "/api/run/get", {"run_id": ada["run"]}, ADA)[1])["status"] in ("running", "done")
    for thread in ("done", "page"):
        assert MARKER in call("GET", "/api/thread/state?thread_id=" + thread, key=ADA)[1]
    assert json.loads(call("GET", "/api/thread/get?thread_id=session-asked", key=ADA)[1])["status"] == "interrupted"
    assert MARKER in call("GET", "/v1/responses/" + ada["done"], key=ADA)[1]
    assert json.loads(call("GET", "/v1/responses/" + ada["runs"], key=ADA)[1])["status"] in ("in_progress", "completed")
    assert MARKER in call("GET", "/api/chat/done/messages", key=ADA)[1]
    assert call("POST", "/mcp", rpc("ping"), ADA, ada["session"])[0] == 200
    foreign_a2a.still_there(call, ADA, ada["a2a"])
    of = "/threads/" + ada["thread"]
    assert MARKER in call("GET", of + "/state", key=ADA)[1] and MARKER in call("GET", of, key=ADA)[1]
    assert json.loads(call("GET", of + "/runs/" + ada["active"], key=ADA)[1])["status"] in ("running", "success")
    assert MARKER in call("GET", "/store/items?namespace=a&key=k", key=ADA)[1]
    assert MARKER in call("GET", "/assistants/" + ada["assistant"], key=ADA)[1]
    cron = call("GET", "/runs/crons/" + ada["cron"], key=ADA)[1]
    assert MARKER in cron and json.loads(cron)["enabled"], cron
    received = ada["open"][1].read().decode()
    assert '"finishReason":"stop"' in received, received[-500:]
    answer = {"role": "tool", "tool_call_id": ada["asked"]["tool_calls"][0]["id"], "content": "x"}
    assert call("POST", "/v1/chat/completions", {"model": "question", "messages": [*SAY, ada["asked"], answer]}, ADA)[0] == 200


# ---- The routes ----

def rows(ada):
    """{(method, path): [(statuses for Bob, path, body, headers)]}"""
    responses = [name for identity in (ada["done"], ada["runs"]) for name in (identity, "@ada:" + identity)]
    chats = [name for identity in ("done", "active") for name in (identity, "@ada:" + identity)]
    answer = {"role": "tool", "tool_call_id": ada["asked"]["tool_calls"][0]["id"], "content": "x"}
    user = [{"role": "user", "content": "hi"}]

    def each(names, path, statuses, body=None):
        return [(statuses, path.format(name), body, None) for name in names]

    table = {
        ("GET", "/v1/models"): [((200,), "/v1/models", None, None)],
        ("GET", "/v1/models/{id}"): [((200,), "/v1/models/long", None, None)],
        ("POST", "/v1/chat/completions"): [
            ((400,), "/v1/chat/completions", {"model": "question", "messages": [*user, ada["asked"], answer]}, None)],
        ("POST", "/v1/responses"): [
            ((400,), "/v1/responses", {"model": "long", "input": "hi", "previous_response_id": name}, None) for name in responses],
        ("GET", "/v1/responses/{id}"): each(responses, "/v1/responses/{}", (404,)) + each(
            responses, "/v1/responses/{}?stream=true&starting_after=1", (404,)),
        ("POST", "/v1/responses/{id}/cancel"): each(responses, "/v1/responses/{}/cancel", (404,)),
        ("DELETE", "/v1/responses/{id}"): each(responses, "/v1/responses/{}", (404,)),
        ("GET", "/v1/responses/{id}/input_items"): each(responses, "/v1/responses/{}/input_items", (404,)),
        ("POST", "/mcp"): [((404,), "/mcp", rpc("ping"), ada["session"])],
        ("GET", "/mcp"): [((404,), "/mcp", None, ada["session"])],
        ("DELETE", "/mcp"): [((404,), "/mcp", None, ada["session"])],
        ("GET", "/.well-known/oauth-protected-resource"): [((200,), "/.well-known/oauth-protected-resource", None, None)],
        ("GET", "/.well-known/oauth-protected-resource/mcp"): [((200,), "/.well-known/oauth-protected-resource/mcp", None, None)],
    }
    runs, artifacts = [ada["run"], "@ada:" + ada["run"]], [ada["artifact"], "@ada:" + ada["artifact"]]
    table["PUT", "/api/artifacts/{name}"] = [((201,), "/api/artifacts/note", {}, None)]
    table["GET", "/api/artifacts/{id}/body"] = each(artifacts, "/api/artifacts/{}/body", (404,))
    table["GET", "/api/runs/{run_id}/events"] = each(runs, "/api/runs/{}/events?after=0", (404,))
    table["POST", "/api/{family}/{method}"] = [
        ((404,), "/api/run/" + method, {"run_id": run}, None) for run in runs for method in ("get", "cancel", "wait")]
    table["GET", "/api/{family}/{method}"] = each(["@ada:done", "active"], "/api/thread/state?thread_id={}", (404,))
    table["POST", "/rpc"] = [((200,), "/rpc", rpc("thread/state", thread_id="@ada:done"), None)]
    table["GET", "/rpc"] = [((400, 426), "/rpc", None, None)]  # not a WebSocket
    for path, said in (("/ag-ui", ag_ui), ("/session", session)):
        table["POST", path] = [((400, 404), path, said("bob", "hi"), None)]  # there is more than one graph
        theirs = (404,) if said is ag_ui else (200,)  # the thread of a session is `session-ID`, so it is one of Bob
        table["POST", path + "/{graph}"] = [(theirs, path + "/long", said("@ada:page", "hi"), None),
                                            ((200,), path + "/long", said("page", "hi"), None)]  # a thread of Bob
    table["GET", "/metrics"] = [((403,), "/metrics", None, None)]
    for path in ("/openapi.json", "/openrpc.json"):
        table["GET", path] = [((200,), path, None, None)]
    table |= foreign_a2a.rows(ada["a2a"])
    for base in ("/api/chat", "/api/chat/stream"):
        table["POST", base] = [((404,), base + "?graph=long", chat("@ada:done", "hi"), None),
                               ((200,), base + "?graph=long", chat("done", "hi"), None)]  # a chat of Bob
        table["GET", base + "/{chatId}/messages"] = each(["@ada:done", "active"], base + "/{}/messages", (404,))
        table["GET", base + "/{chatId}/stream"] = each(chats, base + "/{}/stream", (204, 404))
        table["DELETE", base + "/{chatId}/stream"] = each(chats, base + "/{}/stream", (204, 404))
    return table | langgraph_rows(ada)


def langgraph_rows(ada):
    point = "00000000-0000-8000-a000-000000000000"
    hello = {"assistant_id": "long", "input": {"messages": [{"role": "user", "content": "hi"}]}}
    item = {"namespace": ["a"], "key": "k"}
    named = {"{thread}": ada["thread"], "{run}": ada["active"], "{checkpoint}": point}
    hidden = [
        ("GET", "/threads/{thread}", None), ("PATCH", "/threads/{thread}", {"metadata": {"x": 1}}),
        ("DELETE", "/threads/{thread}", None), ("POST", "/threads/{thread}/copy", {}),
        ("GET", "/threads/{thread}/state", None), ("POST", "/threads/{thread}/state", {"values": {}}),
        ("GET", "/threads/{thread}/state/{checkpoint}", None),
        ("POST", "/threads/{thread}/state/checkpoint", {"checkpoint": {"checkpoint_id": point}}),
        ("GET", "/threads/{thread}/history", None), ("POST", "/threads/{thread}/history", {}),
        ("GET", "/threads/{thread}/runs", None), ("POST", "/threads/{thread}/runs", hello),
        ("POST", "/threads/{thread}/runs/stream", hello), ("POST", "/threads/{thread}/runs/wait", hello),
        ("POST", "/threads/{thread}/runs/crons", {**hello, "schedule": "@daily"}), ("GET", "/runs/crons/{cron}", None),
        ("PATCH", "/runs/crons/{cron}", {"enabled": False}), ("DELETE", "/runs/crons/{cron}", None),
        ("GET", "/threads/{thread}/runs/{run}", None), ("DELETE", "/threads/{thread}/runs/{run}", None),
        ("GET", "/threads/{thread}/runs/{run}/join", None), ("GET", "/threads/{thread}/runs/{run}/stream", None),
        ("POST", "/threads/{thread}/runs/{run}/cancel", {}), ("GET", "/store/items", None),
        ("POST", "/runs/cancel", {"run_ids": [ada["active"]]}),
        ("GET", "/assistants/{assistant}", None), ("PATCH", "/assistants/{assistant}", {"name": "x"}),
        ("DELETE", "/assistants/{assistant}", None), ("POST", "/assistants/{assistant}/latest", {"version": 1}),
        ("GET", "/assistants/{assistant}/graph", None), ("GET", "/assistants/{assistant}/schemas", None),
        ("GET", "/assistants/{assistant}/subgraphs", None),
        ("GET", "/assistants/{assistant}/subgraphs/{namespace}", None),
        ("POST", "/assistants/{assistant}/versions", {}),
        ("POST", "/assistants", {"graph_id": "absent", "assistant_id": ada["assistant"]}),
    ]
    open_to_all = [
        ((200,), "GET", "/ok", None), ((200,), "GET", "/info", None), ((200,), "POST", "/assistants/search", {}),
        ((200,), "POST", "/assistants/count", {}),
        ((200,), "POST", "/threads", {}), ((200,), "POST", "/threads/search", {"ids": [ada["thread"]]}),
        ((200,), "POST", "/threads/count", {}), ((200,), "POST", "/threads/prune", {"thread_ids": [ada["thread"]]}),
        ((200,), "POST", "/runs", hello), ((200,), "POST", "/runs/stream", hello), ((200,), "POST", "/runs/wait", hello),
        ((200,), "POST", "/runs/batch", [hello]), ((200,), "POST", "/runs/crons", {**hello, "schedule": "@yearly"}),
        ((200,), "POST", "/runs/crons/search", {}), ((200,), "POST", "/runs/crons/count", {}), ((204,), "PUT", "/store/items", {**item, "key": "b", "value": {}}),
        ((204,), "DELETE", "/store/items", item), ((200,), "POST", "/store/items/search", {"namespace_prefix": []}),
        ((200,), "POST", "/store/namespaces", {}),
    ]
    named |= {"{assistant}": ada["assistant"], "{namespace}": "x", "{cron}": ada["cron"]}
    table = {}
    for statuses, method, path, body in [((404,), *row) for row in hidden] + open_to_all:
        filled = re.sub(r"\{\w+\}", lambda found: named[found[0]], path)
        table[method, path] = [(statuses, filled + ("?namespace=a&key=k" if method == "GET" and path == "/store/items" else ""),
                                body, None)]
    return table


def check(condition, *what):
    if not condition:
        failures.append(what)


def check_route(shape, route, row):
    method, scope = route["method"], route["scope"]
    for statuses, path, body, headers in row:
        if scope != "none":
            for key in (None, "", "tn_unknown", ADA[:-1], ADA + "x"):
                status, text, response = call(method, path, body, key, headers)
                check(status == 401 and shape(text, response), "wrong key", method, path, key, status, text)
        if scope in ("run", "admin"):
            status, text, response = call(method, path, body, READER, headers)
            check(status == 403 and shape(text, response), "key that may only read", method, path, status, text)
        status, text, response = call(method, path, body, BOB, headers)
        check(status in statuses, "another user", method, path, body, status, text)
        check(MARKER not in text and MARKER not in str(response.headers), "marker", method, path, text)
        check(status < 400 or shape(text, response), "shape", method, path, status, text)


def main():
    ada = begin()
    table = rows(ada)
    for protocol in json.loads(call("GET", "/")[1])["protocols"]:
        shape = SHAPES.get(protocol["plugin"])
        check(shape is not None, "no shape of errors in SHAPES", protocol["plugin"])
        for route in protocol["routes"]:
            row = table.pop((route["method"], route["path"]), None)
            check(row is not None, "no row in rows()", protocol["plugin"], route["method"], route["path"])
            if row is not None and shape is not None:
                check_route(shape, route, row)
    check(not table, "rows without a route", list(table))
    still_there(ada)
    for failure in failures:
        print(*failure)
    return 1 if failures else 0


sys.exit(main())
