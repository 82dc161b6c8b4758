"""The tools `interactions.*` and `responses.*`, and the stored Responses of the model `openai`: requests, guards, failures, what is
sent again and what is not, and that no failing allocation crashes or hangs them."""
import json

import drive as d

gemini, openai = d.Drive("gemini"), d.Drive("openai")


def whole(body, status=200, headers=None):
    return {"status": status, "body": json.dumps(body), "headers": {"content-type": "application/json", **(headers or {})}}


def events(*list_of):
    return {"stream": "".join("data: %s\n\n" % (event if isinstance(event, str) else json.dumps(event)) for event in list_of)}


def case(component, given, *exchanges, **more):
    return {"tool": True, "component": component, "config": {}, "input": given, "exchanges": list(exchanges), **more}


def lost(code="CONNECTION_LOST", status=None):
    found = {"failed": {"code": code, "message": "it broke", "retryable": True}}
    return {**found, "status": status} if status else found


def run(drive, made):
    result, = drive([made])
    return result


def expect(what, actual, wanted):
    d.check(actual == wanted, f"{what}: {json.dumps(actual)[:600]}, expected {json.dumps(wanted)}")


RUNNING = {"id": "v1_a", "status": "in_progress"}
DONE = {"id": "v1_a", "status": "completed", "steps": [{"type": "model_output", "content": [{"type": "text", "text": "Hi"}]}]}

# ---- Requests of `create` ----

result = run(gemini, case("interactions.create", {"input": "Why?"}, whole(RUNNING)))
expect("a small request", result["requests"][0]["json"], {
    "input": "Why?", "agent": "deep-research-preview-04-2026", "agent_config": {"type": "deep-research", "thinking_summaries": "auto"}, "background": True})
expect("its address", (result["requests"][0]["method"], result["requests"][0]["url"]), ("POST", "https://generativelanguage.googleapis.com/v1beta/interactions"))
expect("its result", result["output"], {"id": "v1_a", "state": "running", "status": "in_progress"})
result = run(gemini, case("interactions.create", {
    "input": [{"type": "text", "text": "See"}, {"type": "image", "url": "https://x.example/a.png"}, {"type": "file", "media_type": "application/pdf", "data": "JVBERg=="},
              {"type": "file", "media_type": "video/mp4", "file_id": "files/v"}, {"type": "document", "uri": "gs://b/c"}],
    "agent": "deep-research-max-preview-04-2026", "agent_config": {"thinking_summaries": "none", "visualization": "off"}, "tools": [{"type": "google_search"}],
    "previous_interaction_id": "v1_0", "system_instruction": "Be brief.", "extra": {"background": False, "labels": {"a": "b"}}, "store": True}, whole(DONE)))
expect("a large request", result["requests"][0]["json"], {
    "input": [{"type": "text", "text": "See"}, {"type": "image", "uri": "https://x.example/a.png"},
              {"type": "document", "data": "JVBERg==", "mime_type": "application/pdf"}, {"type": "video", "uri": "files/v", "mime_type": "video/mp4"},
              {"type": "document", "uri": "gs://b/c"}],
    "agent": "deep-research-max-preview-04-2026", "agent_config": {"type": "deep-research", "thinking_summaries": "none", "visualization": "off"},
    "background": False, "previous_interaction_id": "v1_0", "tools": [{"type": "google_search"}], "system_instruction": "Be brief.", "store": True, "labels": {"a": "b"}})
expect("a result at once", result["output"]["text"], "Hi")
result = run(gemini, case("interactions.create", {"model": "gemini-2.5-flash", "input": "Go on", "results": [{"id": "c1", "name": "f", "result": {"x": 1}}]}, whole(DONE)))
expect("results of calls", result["requests"][0]["json"]["input"], [
    {"type": "function_result", "call_id": "c1", "name": "f", "result": {"x": 1}}, {"type": "user_input", "content": [{"type": "text", "text": "Go on"}]}])
d.check("agent" not in result["requests"][0]["json"] and "agent_config" not in result["requests"][0]["json"], "a model has no agent")
result = run(gemini, case("interactions.create", {"results": [{"id": "c1", "result": "r"}], "input": [{"type": "image", "url": "https://x.example/a.png"}]}, whole(DONE)))
expect("results and an image", result["requests"][0]["json"]["input"], [
    {"type": "function_result", "call_id": "c1", "result": "r"}, {"type": "user_input", "content": [{"type": "image", "uri": "https://x.example/a.png"}]}])
result = run(gemini, case("interactions.create", {"input": [{"type": "image"}]}, whole(DONE)))
expect("a part without data", result["error"]["code"], "INVALID_REQUEST")
result = run(openai, case("responses.create", {
    "input": [{"type": "text", "text": "See"}, {"type": "image", "media_type": "image/png", "data": "iVBORw0KGgo="}, {"type": "file", "url": "https://x.example/a.pdf"}],
    "agent_config": {"reasoning": {"summary": "detailed"}}, "previous_interaction_id": "resp_0"}, whole({"id": "resp_1", "status": "queued", "output": []})))
expect("a request of OpenAI", result["requests"][0]["json"], {
    "model": "o3-deep-research", "background": True, "store": True, "previous_response_id": "resp_0", "tools": [{"type": "web_search_preview"}],
    "reasoning": {"summary": "detailed"},
    "input": [{"role": "user", "content": [{"type": "input_text", "text": "See"}, {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="},
                                           {"type": "input_file", "file_url": "https://x.example/a.pdf"}]}]})
result = run(openai, case("responses.create", {"agent": "gpt-5", "results": [{"id": "c1", "result": {"x": 1}}]}, whole({"id": "resp_1", "status": "queued"})))
expect("results of calls of OpenAI", result["requests"][0]["json"], {
    "model": "gpt-5", "background": True, "store": True, "input": [{"type": "function_call_output", "call_id": "c1", "output": '{"x":1}'}]})

# ---- A guard is needed once ----

expect("a guard of another process", run(gemini, case("interactions.create", {"input": "?", "guard": "old.1"}))["output"]["state"], "unconfirmed")
result = run(gemini, case("interactions.create", {"prepare": True}))
d.check(result["requests"] == [] and result["output"]["guard"] != "", f"a guard: {result}")

# `create` is sent again only if it was refused for the moment; what may have been received is not sent again.
busy = {"error": {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED"}}
result = run(gemini, case("interactions.create", {"input": "?"}, whole(busy, 429, {"retry-after": "2"}), whole(busy, 503), whole(RUNNING)))
expect("a create after two refusals", (len(result["requests"]), result["output"]["state"]), (3, "running"))
for name, exchange, code in (("status 500", whole(busy, 500), "OVERLOADED"), ("status 400", whole(busy, 400), "INVALID_REQUEST"),
                             ("a lost connection", lost(), "CONNECT"), ("a lost answer", lost(status=200), "INVALID_RESPONSE"),
                             ("not JSON", {"body": "<html>", "headers": {"content-type": "text/html"}}, "INVALID_RESPONSE"),
                             ("no id", whole({"status": "in_progress"}), "INVALID_RESPONSE"), ("no status", whole({"id": "x"}), "INVALID_RESPONSE")):
    result = run(gemini, case("interactions.create", {"input": "?"}, exchange))
    expect(f"create, {name}", (len(result["requests"]), result.get("error", {}).get("code")), (1, code))
no_key = {"failed": {"code": "SECRET_NOT_FOUND", "message": "there is no secret"}}
result = run(gemini, case("interactions.create", {"input": "?"}, no_key, whole(RUNNING)))
expect("the second secret", [request["headers"]["x-goog-api-key"]["secret"] for request in result["requests"]], ["GEMINI_API_KEY", "GOOGLE_API_KEY"])
result = run(gemini, case("interactions.create", {"input": "?"}, no_key, no_key))
d.check("neither the secret GEMINI_API_KEY nor GOOGLE_API_KEY" in result["error"]["message"], f"no key: {result['error']}")

# ---- get ----

get = {"id": "v1_a", "wait_ms": 3600000, "interval_ms": 1000}
result = run(gemini, case("interactions.get", get, whole(RUNNING), whole({"id": "v1_a", "status": "of_2027"}), whole(busy, 503), lost(), whole(DONE)))
expect("get waits", (len(result["requests"]), result["output"]["text"]), (5, "Hi"))
result = run(gemini, case("interactions.get", get, whole(RUNNING), *[whole(busy, 503)] * 4))
expect("get gives up", (len(result["requests"]), result["error"]["code"], result["error"]["retryable"]), (5, "OVERLOADED", True))
result = run(gemini, case("interactions.get", {"id": "v1_a"}, whole({"error": {"code": 404, "message": "gone"}}, 404)))
expect("get of what does not exist", result["error"]["code"], "NOT_FOUND")
for wrong in (".", ".."):
    result = run(gemini, case("interactions.get", {"id": wrong}))
    expect(f"the id {wrong}", (result["requests"], result["error"]["code"]), ([], "INVALID_REQUEST"))
result = run(gemini, case("interactions.get", {"id": "../../models/x:generate?a#b"}, whole(DONE)))
expect("an id is one segment", result["requests"][0]["url"], "https://generativelanguage.googleapis.com/v1beta/interactions/..%2F..%2Fmodels%2Fx%3Agenerate%3Fa%23b")

# ---- stream ----

start = {"event_type": "interaction.created", "event_id": "e1", "interaction": RUNNING}
text = {"event_type": "step.delta", "event_id": "e2", "index": 0, "delta": {"type": "text", "text": "Hi"}}
end = {"event_type": "interaction.completed", "event_id": "e3", "interaction": {"id": "v1_a", "status": "completed"}}
result = run(gemini, case("interactions.stream", {"id": "v1_a"}, events(start, text), events(), events(), events(), whole(RUNNING)))
expect("three connections without progress", (len(result["requests"]), result["output"]["state"], result["output"]["stalled"], result["output"]["event_id"]),
       (4, "running", True, "e2"))
result = run(gemini, case("interactions.stream", {"id": "v1_a"}, events(start), events(), events(), events(text), events(), events(), events(end)))
expect("progress resets the count", (len(result["requests"]), result["output"]["state"], result["output"]["text"]), (7, "completed", "Hi"))
broken = {"event_type": "error", "event_id": "e2", "error": {"code": "gateway_timeout", "message": "late"}}
result = run(gemini, case("interactions.stream", {"id": "v1_a"}, events(start, broken), events(text, end)))
expect("an error event", ([request["query"] for request in result["requests"]], result["output"]["text"]),
       ([{"stream": "true"}, {"stream": "true", "last_event_id": "e2"}], "Hi"))
result = run(gemini, case("interactions.stream", {"id": "v1_a"}, events(start, "{not json"), events(text, end, "[DONE]")))
expect("an event that is not JSON", (len(result["requests"]), result["output"]["text"]), (2, "Hi"))
result = run(gemini, case("interactions.stream", {"id": "v1_a", "event_id": "e1"}, events(text, end)))
expect("a part of a stream", (result["requests"][0]["query"]["last_event_id"], result["output"]["partial"]), ("e1", True))
result = run(gemini, case("interactions.stream", {"id": "v1_a", "messages": True}, events(start, text, end)))
expect("marked deltas", result["deltas"], [{"messages": {"content": "Hi"}}, {"messages": {"done": {"finish_reason": "stop"}}}])
result = run(gemini, case("interactions.stream", {"id": "v1_a", "wait_ms": 1000}, {**events(start, text), "hangs": True}))
expect("a leg ends", (result["output"]["state"], result["output"]["event_id"]), ("running", "e2"))
result = run(gemini, case("interactions.stream", {"id": "v1_a"}, whole({"error": {"code": 403, "message": "AIzaSyA-0123456789 is wrong"}}, 403)))
d.check(result["error"]["code"] == "AUTH" and "0123456789" not in json.dumps(result["error"]), f"a refused key: {result['error']}")
last = {"type": "response.completed", "sequence_number": 9, "response": {"id": "r", "status": "completed", "output": [
    {"type": "message", "content": [{"type": "output_text", "text": "All of it", "annotations": []}]}]}}
result = run(openai, case("responses.stream", {"id": "r", "event_id": 5}, events(last)))
expect("the last event has all of it", (result["requests"][0]["query"], result["output"]["text"], "partial" in result["output"]),
       ({"stream": "true", "starting_after": 5}, "All of it", False))

# ---- cancel ----

result = run(gemini, case("interactions.cancel", {"id": "v1_a"}, whole({"id": "v1_a", "status": "cancelled"})))
expect("cancel", (result["requests"][0]["method"], result["requests"][0]["url"][-12:], result["output"]["state"]), ("POST", "/v1_a/cancel", "cancelled"))
for given, urls in (({"id": "v1_a", "cancel": True}, 2), ({"id": "v1_a"}, 1)):
    result = run(gemini, case("interactions.stream", given, events(start, text), whole({"id": "v1_a", "status": "cancelled"}), cancel_after=1))
    expect(f"a cancelled call, {given}", (len(result["requests"]), result["error"]["code"]), (urls, "CANCELLED"))

# ---- Stored responses of the model ----

def response(status, text="Hi"):
    output = [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text, "annotations": []}]}]
    return whole({"id": "resp_1", "object": "response", "status": status, "model": "m", "output": output if status == "completed" else []})


def model(config, messages, *exchanges, **more):
    return {"component": "openai", "config": {"model": "m", "api": "responses", **config}, "input": {"messages": messages}, "exchanges": list(exchanges), **more}


before = {"type": "ai", "content": "b", "extra": {"openai": {"response_id": "resp_0"}}}
result = run(openai, model({"previous_response_id": True, "stream": False}, ["a", before, "c"], response("completed")))
sent = result["requests"][0]["json"]
expect("the id stands for the messages before", (sent["previous_response_id"], sent["input"], sent["store"]), ("resp_0", [{"role": "user", "content": "c"}], True))
expect("the answer has its id", result["output"]["message"]["extra"], {"openai": {"response_id": "resp_1"}})
result = run(openai, model({"stream": False}, ["a", before, "c"], response("completed")))
sent = result["requests"][0]["json"]
expect("by default nothing is stored", ("previous_response_id" in sent, len(sent["input"]), sent["store"]), (False, 3, False))
d.check("extra" not in result["output"]["message"], "an id that the service has forgotten")
result = run(openai, model({"background": True}, ["a"], response("queued"), response("in_progress"), response("completed")))
expect("in the background", ([(request["method"], request["url"][25:]) for request in result["requests"]], result["output"]["message"]["content"]),
       ([("POST", "/responses"), ("GET", "/responses/resp_1"), ("GET", "/responses/resp_1")], "Hi"))
d.check("json" not in result["requests"][1] and "stream" not in result["requests"][0]["json"], f"its requests: {result['requests']}")
down, lost = whole({"error": {"message": "gone", "code": "server_error"}}, 500), {"failed": {"code": "CONNECT", "message": "x"}}
result = run(openai, model({"background": True}, ["a"], response("queued"), down, lost, response("in_progress"), *[down] * 5, response("completed")))
expect("a read that fails is repeated", ([r["method"] for r in result["requests"]], result["output"]["message"]["content"]), (["POST", *["GET"] * 9], "Hi"))
result = run(openai, model({"background": True}, ["a"], response("queued"), *[down] * 6, whole({})))
expect("a background that fails is cancelled", (result["error"]["code"], result["requests"][7]["url"][25:]), ("OVERLOADED", "/responses/resp_1/cancel"))
result = run(openai, model({"background": True}, ["a"], down))
expect("a response that did not start", (result["error"]["code"], len(result["requests"])), ("OVERLOADED", 1))
result = run(openai, model({"background": True}, ["a"], response("queued"), whole({"error": {"message": "no"}}, 404), whole({})))
expect("a response that is gone", (result["error"]["code"], len(result["requests"])), ("NOT_FOUND", 3))

# ---- Every allocation fails once ----

for drive, made in ((gemini, case("interactions.create", {"input": [{"type": "image", "data": "iVBORw0KGgo="}], "agent_config": {"a": 1}}, whole(RUNNING))),
                    (gemini, case("interactions.stream", {"id": "v1_a"}, events(start, text, end))),
                    (gemini, case("interactions.get", {"id": "v1_a"}, whole(DONE))),
                    (openai, case("responses.create", {"input": "?"}, whole({"id": "r", "status": "queued"}))),
                    (openai, case("responses.stream", {"id": "r"}, events(last)))):
    result = run(drive, {**made, "fail_allocations": True})
    codes = result["allocation_failures"]
    d.check("OPEN" not in codes and "OTHER" not in codes and sum(codes.values()) > 3, f"{made['component']} without memory: {codes}")
d.finish()
