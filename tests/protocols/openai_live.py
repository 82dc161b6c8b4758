"""openai_live.py PHASE ADDRESS KEY OTHER_KEY: what SDKs do not do. The phase `before` ends with a response that runs in
the background; the server is then killed, and started again for the phase `after`. The file `responses` is between them.
"""
import concurrent.futures
import http.client
import json
import socket
import sys
import time

PHASE, ADDRESS, KEY, OTHER = sys.argv[1:5]
HOST, PORT = ADDRESS.split("//")[1].split(":")
HELLO = [{"role": "user", "content": "hi"}]


def connect(method, path, body=None, key=KEY, kind="application/json"):
    connection = http.client.HTTPConnection(HOST, int(PORT), timeout=60)
    headers = {"authorization": "Bearer " + key}
    if body is not None:
        headers["content-type"] = kind
    connection.request(method, path, body if body is None or isinstance(body, str) else json.dumps(body), headers)
    return connection, connection.getresponse()


def call(method, path, body=None, key=KEY, kind="application/json"):
    connection, response = connect(method, path, body, key, kind)
    text = response.read()
    connection.close()
    return response.status, json.loads(text), response


def stream(method, path, body=None, most=None):
    connection, response = connect(method, path, body)
    assert response.status == 200, response.read()
    assert response.getheader("content-type").startswith("text/event-stream")
    events = []
    for line in response:
        if not line.startswith(b"data: "):
            continue
        text = line[6:].strip()
        events.append(text.decode() if text == b"[DONE]" else json.loads(text))
        if len(events) == most:
            break
    connection.close()
    return events


def error(status, code, *arguments, **named):
    found, value, _ = call(*arguments, **named)
    assert found == status, (status, found, value)
    assert set(value) == {"error"} and set(value["error"]) == {"message", "type", "param", "code"}, value
    assert value["error"]["code"] == code, (code, value)
    assert value["error"]["message"] and isinstance(value["error"]["type"], str), value


def too_large():
    """The server does not read the body, so a client that insists on sending it would not see the response."""
    connection = http.client.HTTPConnection(HOST, int(PORT), timeout=60)
    connection.putrequest("POST", "/v1/chat/completions")
    for name, value in (("authorization", "Bearer " + KEY), ("content-type", "application/json"), ("content-length", 17 << 20)):
        connection.putheader(name, value)
    connection.endheaders()
    response = connection.getresponse()
    assert response.status == 413 and json.loads(response.read())["error"]["code"] == "request_too_large"
    connection.close()


def refusals():
    error(401, "invalid_api_key", "GET", "/v1/models", key="tn_nothing")
    error(404, "not_found", "GET", "/v1/nothing")
    error(405, "method_not_allowed", "PUT", "/v1/models")
    error(415, "unsupported_media_type", "POST", "/v1/responses", "x", kind="text/plain")
    too_large()
    for path in ("/v1/chat/completions", "/v1/responses"):
        for body in ("", "{", "[]", "7", "null", '{"model": null}', '{"model": "reasoning", "\\ud800": 1}'):
            found, value, _ = call("POST", path, body)
            assert found == 400 and value["error"]["type"] == "invalid_request_error", (body, value)
    deep = '{"model": "reasoning", "input": ' + "[" * 100000 + "]" * 100000 + "}"
    assert call("POST", "/v1/responses", deep)[0] == 400
    error(404, "model_not_found", "POST", "/v1/responses", {"model": "x" * 5000, "input": "hi"})
    error(404, "model_not_found", "POST", "/v1/chat/completions", {"model": "a/../b", "messages": HELLO})
    error(400, "invalid_value", "POST", "/v1/chat/completions", {"model": "structured", "messages": HELLO})
    # A member of a wrong type would otherwise begin a run that lacks what the client has asked for.
    said = [{"role": "assistant", "content": "", "tool_calls": "none"}, *HELLO]
    for path, valid, wrong in (
        ("/v1/responses", {"input": "hi"}, {"previous_response_id": 7}),
        ("/v1/responses", {"input": "hi"}, {"previous_response_id": ["resp_1"]}),
        ("/v1/responses", {"input": "hi"}, {"instructions": {"text": "x"}}),
        ("/v1/chat/completions", {"messages": HELLO}, {"n": "2"}),
        ("/v1/chat/completions", {"messages": HELLO}, {"stream_options": True}),
        ("/v1/chat/completions", {}, {"messages": said}),
    ):
        found, value, _ = call("POST", path, {"model": "reasoning", **valid, **wrong})
        assert found == 400 and value["error"]["param"].split("[")[0] == next(iter(wrong)), (wrong, found, value)
    error(400, "invalid_value", "GET", "/v1/responses/resp_1?stream=true&starting_after=-5")
    for name in ("nothing", "resp_", "resp_" + "0" * 32, "resp_" + "0" * 32 + "_0", "resp_" + "0" * 32 + "_x", "%00", "@ada:x"):
        for method, end in (("GET", ""), ("GET", "/input_items"), ("POST", "/cancel"), ("DELETE", "")):
            found, value, _ = call(method, f"/v1/responses/{name}{end}")
            assert found in (400, 404), (name, method, end, found, value)
    # A refused request starts no run: there is no thread that it could have made.
    unknown = {"model": "structured", "input": "not JSON"}
    error(400, "invalid_value", "POST", "/v1/responses", unknown)


# What one user has made does not exist for another one.
def isolation(made):
    for method, end in (("GET", ""), ("GET", "?stream=true"), ("GET", "/input_items"), ("POST", "/cancel"), ("DELETE", "")):
        found, value, _ = call(method, f"/v1/responses/{made['id']}{end}", key=OTHER)
        assert found == 404 and value["error"]["message"] == f"Response with id '{made['id']}' not found.", (method, end, value)
    error(
        400, "previous_response_not_found", "POST", "/v1/responses",
        {"model": "reasoning", "input": "x", "previous_response_id": made["id"]}, key=OTHER,
    )
    asked = call("POST", "/v1/chat/completions", {"model": "question", "messages": HELLO})[1]["choices"][0]["message"]
    answer = {"role": "tool", "tool_call_id": asked["tool_calls"][0]["id"], "content": "x"}
    messages = [*HELLO, asked, answer]
    error(400, "invalid_value", "POST", "/v1/chat/completions", {"model": "question", "messages": messages}, key=OTHER)
    assert call("POST", "/v1/chat/completions", {"model": "question", "messages": messages})[0] == 200


# Of answers that come at the same time, one counts, and no other run has its id.
def answered_at_once():
    asked = call("POST", "/v1/responses", {"model": "question", "input": "cats"})[1]
    body = {"model": "question", "input": "everybody", "previous_response_id": asked["id"]}
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: call("POST", "/v1/responses", body)[:2], range(4)))
    assert sorted(status for status, _ in answers)[0] == 200 and {status for status, _ in answers} <= {200, 400, 409}, answers
    assert [texts(value) for status, value in answers if status == 200] == [["everybody"]], answers
    assert texts(call("GET", f"/v1/responses/{asked['id']}_1")[1]) == ["everybody"]


# A run can be cancelled before anything of it is saved.
def cancelled_early():
    for _ in range(5):
        made = call("POST", "/v1/responses", {"model": "slow", "input": "hi", "background": True})[1]
        assert call("POST", f"/v1/responses/{made['id']}/cancel")[1]["status"] == "cancelled"
        assert call("DELETE", f"/v1/responses/{made['id']}")[:2] == (
            200, {"id": made["id"], "object": "response", "deleted": True})
        assert call("GET", f"/v1/responses/{made['id']}")[0] == 404


# A client that does not read holds its run up; when it reads on, nothing is missing.
def slow_client():
    words = "".join(f"word {i} " for i in range(4000))
    connection = http.client.HTTPConnection(HOST, int(PORT), timeout=60)
    connection.sock = socket.socket()
    connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.sock.connect((HOST, int(PORT)))
    body = json.dumps({"model": "long", "input": words, "stream": True, "store": False})
    connection.request(
        "POST", "/v1/responses", body, {"authorization": "Bearer " + KEY, "content-type": "application/json"}
    )
    time.sleep(0.5)
    received = connection.getresponse().read()
    connection.close()
    numbers = []
    text = ""
    for line in received.split(b"\n"):
        if line.startswith(b"data: "):
            event = json.loads(line[6:])
            numbers.append(event["sequence_number"])
            text += event["delta"] if event["type"] == "response.output_text.delta" else ""
    assert numbers == list(range(len(numbers))) and len(numbers) > 1000, len(numbers)
    assert event["type"] == "response.completed" and event["response"]["output"][0]["content"][0]["text"] == text


# More events, a longer input, and more responses than are kept in memory.
def limits():
    words = "".join(f"word {i} " for i in range(32000))
    body = {"model": "long", "input": words}
    made = call("POST", "/v1/responses", body)[1]
    events = stream("GET", f"/v1/responses/{made['id']}?stream=true")
    assert [event["sequence_number"] for event in events] == list(range(len(events))) and len(events) < 100
    assert texts(events[-1]["response"]) == texts(made) == [words]
    error(400, "input_too_large", "GET", f"/v1/responses/{made['id']}/input_items")
    first = call("POST", "/v1/responses", {"model": "tools", "input": "hi"})[1]
    for _ in range(101):
        assert call("POST", "/v1/responses", {"model": "reasoning", "input": "hi"})[0] == 200
    assert call("GET", f"/v1/responses/{first['id']}")[1]["output"] == first["output"]


def texts(response):
    return [part["text"] for item in response["output"] for part in item.get("content", [])]


def before():
    refusals()
    made = call("POST", "/v1/responses", {"model": "tools", "input": "hi", "new_member": {"a": []}})[1]
    assert made["status"] == "completed", made
    isolation(made)
    answered_at_once()
    cancelled_early()
    slow_client()
    limits()
    asked = call("POST", "/v1/responses", {"model": "question", "input": "cats"})[1]
    # Not stored: it is gone when it has ended, and its client is the only one that sees it.
    gone = call("POST", "/v1/responses", {"model": "reasoning", "input": "hi", "store": False})[1]
    assert gone["store"] is False
    assert call("GET", f"/v1/responses/{gone['id']}")[0] == 404
    runs = call("POST", "/v1/responses", {"model": "slow", "input": "hi", "background": True})[1]
    first = stream("GET", f"/v1/responses/{runs['id']}?stream=true", most=6)
    assert [event["sequence_number"] for event in first] == list(range(6))
    with open("responses", "w", encoding="utf-8") as file:
        json.dump({"made": made, "asked": asked, "runs": runs}, file)


def after():
    with open("responses", encoding="utf-8") as file:
        saved = json.load(file)
    made = saved["made"]
    found = call("GET", f"/v1/responses/{made['id']}")[1]
    assert found["output"] == made["output"] and found["created_at"] == made["created_at"], (found, made)
    events = stream("GET", f"/v1/responses/{made['id']}?stream=true")
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert events[-1]["response"]["output"] == made["output"]
    # More events than there are now: the last one, as the next number.
    rest = stream("GET", f"/v1/responses/{made['id']}?stream=true&starting_after=1000")
    assert [(event["sequence_number"], event["type"]) for event in rest] == [(1001, "response.completed")]
    rest = stream("GET", f"/v1/responses/{saved['runs']['id']}?stream=true&starting_after=5")
    assert [event["sequence_number"] for event in rest] == list(range(6, 6 + len(rest)))
    assert rest[-1]["type"] == "response.completed" and texts(rest[-1]["response"])[0].endswith("which is here")
    assert call("GET", f"/v1/responses/{saved['runs']['id']}")[1]["status"] == "completed"
    answer = {"model": "question", "input": "everybody", "previous_response_id": saved["asked"]["id"]}
    answered = call("POST", "/v1/responses", answer)[1]
    assert texts(answered) == ["everybody"], answered
    assert texts(call("GET", f"/v1/responses/{answered['id']}")[1]) == ["everybody"]
    error(400, "previous_response_not_found", "POST", "/v1/responses", answer)


before() if PHASE == "before" else after()
print("ok", PHASE)
