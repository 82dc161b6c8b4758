"""faults.py PHASE ADDRESS …: clients of a host that is killed, and of the next one (tests/e2e/serve/killed.sh). The file
`begun` is between the phases.

begin ADDRESS ADA BOB GRAPH   starts runs of both users by two protocols, and reads the beginning of some streams
resume, whole                 the same clients at the next host: their streams continue; all answers are complete
one ADDRESS KEY GRAPH FILE    starts one run that continues in the background, and writes its id to FILE
failed ADDRESS KEY FILE       its response says that hosts have died with it
"""
import http.client
import json
import socket
import sys

import websocket

PHASE, ADDRESS, KEYS = sys.argv[1], sys.argv[2].split("//")[1], sys.argv[3:5]
TEXT = ["First.", "0123456789abcdefghijklmnopqrstuvwxyz", "Third."]
EACH = 5  # runs of a user by a protocol


def connect(method, path, key, body=None):
    connection = http.client.HTTPConnection(ADDRESS, timeout=60)
    connection.request(method, path, body and json.dumps(body),
                       {"authorization": "Bearer " + key, "content-type": "application/json"})
    response = connection.getresponse()
    assert response.status == 200, (method, path, response.status, response.read())
    return response


def call(*arguments):
    return json.loads(connect(*arguments).read())


def events(response, most=None):
    found = []
    for line in response:
        if line.startswith(b"data: {"):
            found.append(json.loads(line[6:]))
            if len(found) == most:
                break
    return found


def respond(key, graph):
    return call("POST", "/v1/responses", key, {"model": graph, "input": "hi", "background": True})["id"]


def begin(graph):
    made = []
    for key in KEYS:
        for number in range(EACH):
            made.append({"key": key, "response": respond(key, graph)})
            chat = f"chat-{number}"
            message = {"id": "u", "role": "user", "parts": [{"type": "text", "text": "hi"}]}
            stream = connect("POST", f"/api/chat/stream?graph={graph}", key, {"id": chat, "messages": [message]})
            made.append({"key": key, "chat": chat, "stream": stream})
    for how in (rest_events, rest_socket):
        run = call("POST", "/api/run/start", KEYS[0], {"document": "graph:" + graph, "config": {"thread_id": how.__name__},
                                                      "input": {"messages": [{"role": "user", "content": "hi"}]}})["run_id"]
        made.append({"key": KEYS[0], "rest": run, "how": how.__name__, "heard": how(run, KEYS[0], 0, 8)})
    for number, one_of in enumerate(made):
        if "rest" in one_of:
            continue
        # Some clients have read the first event, others are in the second message, whose text comes slowly.
        if "response" in one_of:
            stream = connect("GET", f"/v1/responses/{one_of['response']}?stream=true", one_of["key"])
            one_of["heard"] = events(stream, 14 * (number // 2 % 2) + 1)
        else:
            one_of["heard"] = events(one_of.pop("stream"), 8)
    with open("begun", "w", encoding="utf-8") as file:
        json.dump(made, file)


def output(heard):
    """The texts of a client that keeps an item by its index, and begins it again when it is added again."""
    items = {}
    for event in heard:
        if event["type"] == "response.output_item.added":
            items[event["output_index"]] = [event["item"]["id"], ""]
        elif event["type"] == "response.output_text.delta":
            item = items[event["output_index"]]
            assert item[0] == event["item_id"], (item, event)
            item[1] += event["delta"]
    assert len({item[0] for item in items.values()}) == len(items), items
    return [items[index][1] for index in sorted(items)]


def resume_response(made):
    last = made["heard"][-1]["sequence_number"]
    rest = events(connect("GET", f"/v1/responses/{made['response']}?stream=true&starting_after={last}", made["key"]))
    numbers = [event["sequence_number"] for event in rest]
    assert numbers == list(range(last + 1, last + 1 + len(rest))), (last, numbers)
    assert rest[-1]["type"] == "response.completed", rest[-1]
    return output(made["heard"] + rest)


def resume_chat(made):
    """The answer from its start, as useChat reads it."""
    heard, texts = events(connect("GET", f"/api/chat/{made['chat']}/stream", made["key"])), []
    assert heard[0]["type"] == "start" and heard[0]["messageId"] == made["heard"][0]["messageId"], heard[0]
    for chunk in heard:
        if chunk["type"] == "text-start":
            texts.append("")
        elif chunk["type"] == "text-delta":
            texts[-1] += chunk["delta"]
    assert heard[-1]["type"] == "finish", heard[-1]
    return texts


def rest_events(run, key, after, most=None):
    """Up to so many events of the run, or all, as server-sent events."""
    return events(connect("GET", f"/api/runs/{run}/events?after={after}", key), most)


class Place:
    """The server, as websocket.Client expects it."""

    @staticmethod
    def connect(_):
        host, _, port = ADDRESS.partition(":")
        return socket.create_connection((host, int(port)), timeout=60)


def rest_socket(run, key, after, most=None):
    """The same over a WebSocket."""
    websocket.UPGRADE[1:2] = [b"Host: " + ADDRESS.encode()]
    client = websocket.Client(Place, b"/rpc", extra=[b"Authorization: Bearer " + key.encode()])
    call = {"jsonrpc": "2.0", "id": 1, "method": "run/subscribe", "params": {"run_id": run, "after": after}}
    client.send(websocket.frame(websocket.TEXT, json.dumps(call).encode()))
    heard = []
    while len(heard) != most and not (heard and "status" in heard[-1]):
        _, opcode, payload = client.frame()
        message = json.loads(payload) if opcode == websocket.TEXT else {}
        if message.get("method") in ("run/event", "run/ended"):
            heard.append(message["params"])
    client.socket.close()
    return heard


def rest_texts(made):
    """What a client has that continues after its last event, and replaces what happens again: all that follows the
    last step that was saved."""
    run = call("POST", "/api/run/get", made["key"], {"run_id": made["rest"]})
    last, kept = made["heard"][-1]["seq"], 0
    rest = globals()[made["how"]](made["rest"], made["key"], last)
    numbers = [event["seq"] for event in rest]
    assert numbers == list(range(numbers[0], numbers[0] + len(rest))) and numbers[0] > last + 1, (last, numbers)
    assert "missed" not in rest[0] and rest[-1]["status"] == "done", (rest[0], rest[-1])
    for number, params in enumerate(made["heard"]):
        event = params["event"]
        if event["type"] == "updates" and "path" not in event and event["step"] <= run["continued_from"]:
            kept = number + 1
    texts = {}
    for params in made["heard"][:kept] + rest[:-1]:
        event = params["event"]
        if event["type"] == "messages":
            name = event["path"][0]
            texts[name] = texts.get(name, "") + event["delta"].get("content", "")
    return [texts[name] for name in ("first", "second", "third")]


def resume(_):
    with open("begun", encoding="utf-8") as file:
        begun = json.load(file)
    for made in begun[: EACH * 2] + begun[EACH * 4:]:  # those of Ada
        if "rest" in made:
            texts = rest_texts(made)
        elif "response" in made:
            texts = resume_response(made)
        else:
            texts = [text for text in resume_chat(made) if text]
        assert texts == TEXT, (made, texts)


def whole(_):
    with open("begun", encoding="utf-8") as file:
        begun = json.load(file)
    for made in begun:
        if "rest" in made:
            texts = rest_texts(made)  # the run has ended
        elif "response" in made:
            response = call("GET", f"/v1/responses/{made['response']}", made["key"])
            assert response["status"] == "completed", response
            texts = [part["text"] for item in response["output"] for part in item["content"]]
        else:
            messages = call("GET", f"/api/chat/stream/{made['chat']}/messages", made["key"])
            texts = [part["text"] for part in messages[-1]["parts"] if part["type"] == "text"]
        assert texts == TEXT, (made, texts)


def one(graph):
    response = respond(KEYS[0], graph)
    events(connect("GET", f"/v1/responses/{response}?stream=true", KEYS[0]), 12)
    with open(sys.argv[5], "w", encoding="utf-8") as file:
        file.write(response)


def failed(_):
    with open(sys.argv[4], encoding="utf-8") as file:
        response = call("GET", f"/v1/responses/{file.read()}", KEYS[0])
    assert response["status"] == "failed" and "has died 3 times" in response["error"]["message"], response


if PHASE == "one":
    KEYS, GRAPH = [sys.argv[3]], sys.argv[4]
else:
    GRAPH = sys.argv[5] if len(sys.argv) > 5 else None
globals()[PHASE](GRAPH)
