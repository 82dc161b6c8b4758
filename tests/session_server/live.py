#!/usr/bin/env python3
"""Sessions over HTTP: live.py ADDRESS KEY OTHER-KEY. Standard output has what came: {stream} or {response} in each line."""
import json
import sys
import urllib.error
import urllib.request

ADDRESS, ADA, BOB = sys.argv[1:4]


def session(name, *texts, **more):
    messages = [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(texts)]
    return {"id": name, "title": None, "start_time": "2026-11-27 10:00", "character": "helper", "status": "active", "messages": messages,
            "config": {"yaa": {}, "llm_api": {}, "tool": {}}, **more}


def post(graph, body, key=ADA, stream=False):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", "Authorization": "Bearer " + key}
    request = urllib.request.Request(f"{ADDRESS}/session{graph}", data, {**headers, **({"Accept": "text/event-stream"} if stream else {})})
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            status, text = response.status, response.read().decode()
            streamed = response.headers["content-type"].startswith("text/event-stream")
    except urllib.error.HTTPError as error:
        status, text, streamed = error.code, error.read().decode(), False
    if not streamed:
        print(json.dumps({"response": json.loads(text)}))
        return status, json.loads(text)
    data = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]
    for item in data:
        print(json.dumps({"stream": item}))
    return status, data


def roles(response):
    return [message["role"] for message in response["messages"]]


def main():
    for body, code in ((b"{", 400), ([], 400), ({}, 400), (session("x"), 400), (session("a/b", "x"), 400), (session("x", "y", title=7), 400)):
        status, answer = post("/reasoning", body)
        assert status == code and roles(answer) == ["error"] and answer["finish_reason"] == "error", answer
    assert post("/nothing", session("x", "y"))[0] == 404 and post("", session("x", "y"))[0] == 404
    assert post("/tools", session("x", "y"), key="tn_wrong")[0] == 401
    assert post("/structured", session("x", "no JSON"))[0] == 400

    status, answer = post("/tools", session("t", "I like pizza."))
    assert status == 200 and answer["id"] == "t" and answer["title"] is None and answer["finish_reason"] == "stop", answer
    assert roles(answer) == ["assistant", "tool", "tool", "assistant"] and answer["usage"]["total_tokens"] > 0
    status, data = post("/tools", session("t", "I like pizza.", "Noted.", "Again."), stream=True)
    assert "".join(item["message"]["content"] for item in data if item["status"] == "running" and item["message"]["role"] == "assistant").endswith(
        data[-1]["message"]["content"]) and data[-1]["status"] == "done", data

    status, answer = post("/approval", session("a", "I like pizza."))
    assert answer["finish_reason"] == "authorization" and "[approve memory.put]" in answer["messages"][-1]["content"], answer
    # The thread of another user does not exist: the mark is an ordinary text, and another run asks again.
    status, other = post("/approval", session("a", "[approve]"), key=BOB)
    assert other["finish_reason"] == "authorization", other
    status, answer = post("/approval", session("a", "I like pizza.", "May I?", "[approve]"))
    assert answer["finish_reason"] == "stop" and roles(answer) == ["tool", "assistant"], answer
    config = {"tool": {"memory.put": {"auto_approve": True}}}
    status, answer = post("/approval", session("b", "I like pizza.", config=config))
    assert answer["finish_reason"] == "stop" and roles(answer) == ["assistant", "tool", "assistant"], answer
    status, data = post("/approval", session("b2", "I like pizza.", config=config), stream=True)
    assert data[-1]["status"] == "done" and "authorization" not in {item["status"] for item in data}, data

    status, answer = post("/question", session("q", "cats"))
    assert answer["finish_reason"] == "question" and "cats" in answer["messages"][-1]["content"], answer
    assert post("/question", session("q", "cats", "Who?", "children"))[1]["finish_reason"] == "stop"
    status, answer = post("/structured", session("s", '{"a": 1, "b": 2}'))
    assert "3" in answer["messages"][-1]["content"], answer
    status, answer = post("/error", session("e", "Hello"))
    assert status == 429 and roles(answer) == ["error"], (status, answer)
    status, data = post("/error", session("e", "Hello"), stream=True)
    assert status == 200 and data[-1]["status"] == "error" and data[-1]["message"]["role"] == "error", data


main()
