"""server.py ERA LOG [QUIRK…]: a scripted MCP server on standard input and output, correct or hostile.

ERA is "legacy" (with `initialize`) or "modern" (server/discover, 2026-07-28). Each received line is appended to the
file LOG, which tests validate. QUIRKs change how it starts. Its tools are named after their behaviour.
"""
import json
import os
import sys
import threading
import time

era, log, quirks = sys.argv[1], open(sys.argv[2], "a"), sys.argv[3:]
META = "io.modelcontextprotocol/"
STATE = "opaque %d" % os.getpid() if "seals" in quirks else "opaque"  # a server that seals it accepts only its own
if "never-accepts" in quirks:
    STATE = type("State", (str,), {"__ne__": lambda self, other: True})("opaque")
result_handlers = {}  # id of a request to the client -> handler of its result
error_handlers = {}
state = {"next": 1000, "added": 0, "listed": False}
awaiting_list = []  # ids of calls that are answered after the next complete tools/list


def out(text):
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def send(**message):
    out(json.dumps({"jsonrpc": "2.0", **message}))


def answer(ident, result):
    if era == "modern":
        result = {"resultType": "complete", "_meta": {META + "serverInfo": {"name": "fake", "version": "1"}}, **result}
    send(id=ident, result=result)


def refuse(ident, code, message, **more):
    send(id=ident, error={"code": code, "message": message, **more})


def ask(method, params, then, otherwise=None):
    state["next"] += 1
    result_handlers[state["next"]] = then
    if otherwise:
        error_handlers[state["next"]] = otherwise
    send(id=state["next"], method=method, params=params)


def text(*parts, **more):
    return {"content": [{"type": "text", "text": part} for part in parts], **more}


FORM = {
    "message": "Which colour?",
    "requestedSchema": {
        "type": "object",
        "properties": {"colour": {"type": "string"}, "shade": {"type": "string", "default": "dark"}},
        "required": ["colour"],
    },
}
QUESTION = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "Say something."}}],
    "systemPrompt": "Be short.",
    "maxTokens": 20,
}


# ---- Tools: functions of the id and params of the request ----


def echo(ident, params):
    answer(ident, text(params["arguments"].get("text", "")))


def fails(ident, params):
    answer(ident, text("It is broken.", isError=True))


def refuses(ident, params):
    refuse(ident, -32602, "no such thing")


def structured(ident, params):
    answer(ident, text('{"sum": 3}', structuredContent={"sum": 3}))


def wrong_output(ident, params):
    answer(ident, text("x", structuredContent={"sum": "three"}))


def blocks(ident, params):
    answer(
        ident,
        {
            "content": [
                {"type": "text", "text": "a"},
                {"type": "image", "data": "AAEC", "mimeType": "image/png"},
                {"type": "audio", "data": "AAEC", "mimeType": "audio/wav"},
                {"type": "resource", "resource": {"uri": "x:/t", "text": "inside", "mimeType": "text/plain"}},
                {"type": "resource", "resource": {"uri": "x:/b", "blob": "AAEC", "mimeType": "application/zip"}},
                {"type": "resource_link", "uri": "x:/l", "name": "link"},
                {"type": "hologram", "data": 1},
            ]
        },
    )


def ask_client(params, key, request, ident, then):
    """Sends a request to the client, in either era; calls `then` with the answer."""
    if era == "legacy":
        ask(request["method"], request["params"], then, lambda error: answer(ident, text(error["message"], isError=True)))
    elif key in params.get("inputResponses", {}):
        if params["requestState"] != STATE:  # as both SDKs
            refuse(ident, -32602, "Invalid or expired requestState", data={"reason": "invalid_request_state"})
        else:
            then(params["inputResponses"][key])
    else:
        answer(ident, {"resultType": "input_required", "inputRequests": {key: request}, "requestState": STATE})


def asks(ident, params):
    request = {"method": "elicitation/create", "params": FORM}
    ask_client(params, "colour", request, ident, lambda result: answer(ident, text(json.dumps(result, sort_keys=True))))


def samples(ident, params):
    request = {"method": "sampling/createMessage", "params": QUESTION}
    ask_client(params, "words", request, ident, lambda result: answer(ident, text(json.dumps(result, sort_keys=True))))


def roots(ident, params):
    request = {"method": "roots/list", "params": {}}
    ask_client(params, "roots", request, ident, lambda result: answer(ident, text(json.dumps(result))))


def asks_twice(ident, params):
    if era == "legacy":
        second = lambda one: ask("elicitation/create", dict(FORM, message="And?"),
                                 lambda two: answer(ident, text(one["action"], two["action"])))
        ask("elicitation/create", FORM, second)
    else:
        answered = params.get("inputResponses", {})
        if len(answered) == 2:
            answer(ident, text(answered["one"]["action"], answered["two"]["action"]))
        else:
            requests = {name: {"method": "elicitation/create", "params": dict(FORM, message=name)} for name in ("one", "two")}
            answer(ident, {"resultType": "input_required", "inputRequests": requests})


def asks_endlessly(ident, params):
    answer(ident, {"resultType": "input_required", "requestState": "again"})


def asks_unknown_method(ident, params):
    if era == "legacy":
        ask("unknown/method", {}, lambda result: answer(ident, text("?")), lambda error: answer(ident, text(str(error["code"]))))
    else:
        answer(ident, {"resultType": "input_required", "inputRequests": {"x": {"method": "unknown/method", "params": {}}}})


def opens_page(ident, params):
    elicitation = {"mode": "url", "message": "Sign in", "url": "https://example.com/in", "elicitationId": "e1"}
    if os.path.exists("signed-in"):
        answer(ident, text("welcome"))
    else:
        open("signed-in", "w").close()
        refuse(ident, -32042, "sign in first", data={"elicitations": [elicitation]})


tasks = {}  # id -> [states that tasks/get returns, then always the last one]
updates = []


def task_state(status, **more):
    return {"taskId": more.pop("taskId"), "status": status, "createdAt": "2026-07-28T10:00:00Z", "lastUpdatedAt": "2026-07-28T10:00:00Z", "ttlMs": None, "pollIntervalMs": 100, **more}


def make_task(ident, name, *states):
    tasks[name] = list(states)
    answer(ident, {**task_state("working", taskId=name, statusMessage="begun"), "resultType": "task"})


def deferred(ident, params):
    make_task(ident, "t1", task_state("working", taskId="t1", statusMessage="half"), task_state("completed", taskId="t1", result=text("later")))


def deferred_fails(ident, params):
    make_task(ident, "t2", task_state("failed", taskId="t2", error={"code": -32603, "message": "no luck"}))


def deferred_cancelled(ident, params):
    make_task(ident, "t3", task_state("cancelled", taskId="t3", statusMessage="not wanted"))


def deferred_asks(ident, params):
    inputs = {"colour": {"method": "elicitation/create", "params": FORM}}
    make_task(ident, "t4", task_state("input_required", taskId="t4", inputRequests=inputs))


def deferred_odd(ident, params):
    make_task(ident, "t5", task_state("strange", taskId="t5"))


def deferred_forever(ident, params):
    make_task(ident, "t6", task_state("working", taskId="t6"))


def deferred_without_id(ident, params):
    answer(ident, {"resultType": "task", "status": "working", "taskId": 5})


def get_task(ident, params):
    states = tasks.get(params["taskId"])
    if states is None:
        refuse(ident, -32602, "Unknown task")
        return
    state = states.pop(0) if len(states) > 1 else states[0]
    answer(ident, state)


def update_task(ident, params):
    if params["taskId"] not in tasks:
        refuse(ident, -32602, "Unknown task")
        return
    result = text(json.dumps(params["inputResponses"]["colour"], sort_keys=True))
    # The old state is still reported once: the answer must not be requested again.
    tasks[params["taskId"]] += [tasks[params["taskId"]][0], task_state("completed", taskId=params["taskId"], result=result)]
    tasks[params["taskId"]].pop(0)
    answer(ident, {})


def cancel_task(ident, params):
    answer(ident, {})


# ---- Tasks of 2025-11-25: the tool requires `task` in the params, and the result is requested by tasks/result ----

core_results = {}  # id of a task -> function that answers tasks/result


def core_state(name, status, **more):
    return {"taskId": name, "status": status, "createdAt": "2025-11-25T10:00:00Z", "lastUpdatedAt": "2025-11-25T10:00:00Z", "ttl": 60000, "pollInterval": 100, **more}


def make_core_task(ident, params, name, result, *states):
    if "task" not in params:
        refuse(ident, -32601, "must be called as a task")
        return
    tasks[name], core_results[name] = [core_state(name, status, statusMessage=status) for status in states], result
    answer(ident, {"task": core_state(name, "working", statusMessage="begun")})
    send(method="notifications/tasks/status", params=core_state(name, "working"))


def task_done(ident, params):
    make_core_task(ident, params, "c1", lambda i: answer(i, text("later")), "working", "completed")


def task_tool_error(ident, params):
    make_core_task(ident, params, "c2", lambda i: answer(i, text("no luck", isError=True)), "failed")


def task_refused(ident, params):
    make_core_task(ident, params, "c3", lambda i: refuse(i, -32603, "out of paper"), "failed")


def task_cancelled(ident, params):
    make_core_task(ident, params, "c4", lambda i: refuse(i, -32602, "cancelled"), "cancelled")


def task_asks(ident, params):
    form = {**FORM, "_meta": {META + "related-task": {"taskId": "c5"}}}
    make_core_task(ident, params, "c5", lambda i: ask("elicitation/create", form, lambda result: answer(i, text(json.dumps(result, sort_keys=True)))), "input_required")


def task_forever(ident, params):
    make_core_task(ident, params, "c6", lambda i: None, "working")


def task_result(ident, params):
    core_results[params["taskId"]](ident)


CORE_TASKS = (task_done, task_tool_error, task_refused, task_cancelled, task_asks, task_forever)


def slow(ident, params):
    token = params["_meta"]["progressToken"]
    for step in range(3):
        send(method="notifications/progress", params={"progressToken": token, "progress": step, "total": 3, "message": "step"})
    answer(ident, text("done"))


def no_answer(ident, params):
    pass


def exits_now(ident, params):
    os._exit(3)


def answers_twice(ident, params):
    answer(ident, text("one"))
    answer(ident, text("two"))


def answers_other_ids(ident, params):
    answer(ident + 500, text("not yours"))
    answer(str(ident), text("nor this"))
    answer(None, text("nor that"))
    answer(ident, text("yours"))


def invalid_messages(ident, params):
    out("hello there")
    out("{")
    out("[]")
    out('"text"')
    out("")
    out('{"jsonrpc": "1.0", "id": 1, "result": {}}')
    sys.stdout.buffer.write(b'{"jsonrpc": "2.0", "method": "\xff\xfe"}\n')
    send(method="notifications/unheard-of", params=[])
    send(id={"a": 1}, method="ping")
    send(id=ident + 7000, result=None)
    answer(ident, text("still here"))


def result_not_object(ident, params):
    send(id=ident, result=17)


def huge_line(ident, params):
    block = "x" * (1 << 20)
    sys.stdout.write('{"jsonrpc": "2.0", "id": %d, "result": {"content": [{"type": "text", "text": "' % ident)
    for _ in range(66):
        sys.stdout.write(block)
    sys.stdout.write('"}]}}\n')
    answer(ident, text("small"))


def pings(ident, params):
    ask("ping", {}, lambda result: answer(ident, text("pong")))


def logs(ident, params):
    send(method="notifications/message", params={"level": "error", "logger": "fake", "data": "something \x1b[31mred"})
    answer(ident, text("logged"))


def storms(ident, params):
    for i in range(3000):
        send(method="notifications/tools/list_changed")
        send(method="notifications/message", params={"level": "error", "data": "message %d of a storm" % i})
    answer(ident, text("stormed"))


def adds_tool(ident, params):
    state["added"] += 1
    state["listed"] = False
    send(method="notifications/tools/list_changed")
    answer(ident, text("added"))


def adds_tool_later(ident, params):
    """When the client reads a changed list at once again."""
    time.sleep(0.6)
    adds_tool(ident, params)


def awaits_list(ident, params):
    """Answers when the client has the list with the added tools."""
    awaiting_list.append(ident)
    answer_awaiting()


def answer_awaiting():
    while state["listed"] and awaiting_list:
        answer(awaiting_list.pop(), text("listed"))


def environment(ident, params):
    answer(ident, text(os.environ.get("FAKE", "none"), os.path.basename(os.getcwd())))


NOTHING = {"type": "object", "properties": {}, "additionalProperties": False}
SUM = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}
TOOLS = {
    "echo": (echo, {"inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}, "annotations": {"readOnlyHint": True, "openWorldHint": False}}),
    "structured": (structured, {"outputSchema": SUM}),
    "wrong_output": (wrong_output, {"outputSchema": SUM}),
}
for function in (fails, refuses, blocks, asks, asks_twice, asks_endlessly, asks_unknown_method, opens_page, samples, roots, slow, no_answer, exits_now,
                 deferred, deferred_fails, deferred_cancelled, deferred_asks, deferred_odd, deferred_forever, deferred_without_id,
                 answers_twice, answers_other_ids, invalid_messages, result_not_object, huge_line, pings, logs, storms, adds_tool, adds_tool_later, awaits_list, environment):
    TOOLS[function.__name__] = (function, {})
if era == "legacy":
    TOOLS.update({function.__name__: (function, {"execution": {"taskSupport": "required"}}) for function in CORE_TASKS})


def describe(name, more):
    return {"name": name, "description": name + " does what it says.", "inputSchema": NOTHING, **more}


def tools():
    if "many" in quirks:
        return [describe("tool%d" % i, {}) for i in range(10000)]
    if "odd" in quirks:
        return [
            describe("good", {}),
            describe("good", {"description": "the second of this name"}),
            describe("a b/c", {}),
            describe("a_b_c", {}),
            describe("_hidden", {}),
            describe("x" * 200, {}),
            describe("", {}),
            {"name": 5},
            {"name": "no_schema"},
            describe("broken", {"inputSchema": {"type": "object", "properties": {"a": {"type": "strin"}}}}),
            describe("regex", {"inputSchema": {"type": "object", "properties": {"a": {"pattern": "("}}}}),
            describe("array", {"inputSchema": {"type": "array"}}),
            "no tool at all",
            None,
            describe("last", {}),
        ]
    added = [describe("new%d" % i, {}) for i in range(state["added"])]
    return added + [describe(name, more) for name, (_, more) in TOOLS.items()]


def list_tools(ident, params):
    everything, start = tools(), int(params.get("cursor", 0))
    size = 500 if "many" in quirks else 7
    page = {"tools": everything[start:start + size]}
    if start + size < len(everything) or "cyclic-pages" in quirks:
        page["nextCursor"] = str(start + size if "cyclic-pages" not in quirks else size)
    if era == "modern":
        page.update(ttlMs=0, cacheScope="private")
    if "late-lists" in quirks and state["added"]:
        threading.Timer(0.25, answer, (ident, page)).start()
        return
    answer(ident, page)
    if "nextCursor" not in page:
        state["listed"] = True
        answer_awaiting()


def call(ident, params):
    function = TOOLS.get(params["name"], (lambda i, p: answer(i, text("called " + p["name"])), {}))[0]
    function(ident, params)


CAPABILITIES = {"tools": {"listChanged": True}, "resources": {}, "prompts": {}, "logging": {}}


def discover(ident, params):
    if "unsupported" in quirks:
        refuse(ident, -32022, "no", data={"supported": ["2099-01-01"], "requested": "2026-07-28"})
    else:
        answer(ident, {"supportedVersions": ["2026-07-28"], "capabilities": CAPABILITIES, "ttlMs": 0, "cacheScope": "private"})


def initialize(ident, params):
    version = params["protocolVersion"]
    if "old" in quirks:
        version = "2024-11-05"
    if "future" in quirks:
        version = "2099-01-01"
    answer(ident, {"protocolVersion": version, "capabilities": CAPABILITIES, "serverInfo": {"name": "fake", "version": "1"}, "instructions": "Be kind."})


def listen(ident, params):
    send(method="notifications/subscriptions/acknowledged", params={"_meta": {META + "subscriptionId": ident}, "notifications": params["notifications"]})


RESOURCES = {"resources": [{"uri": "x:/t", "name": "t"}]}
METHODS = {
    "tools/list": list_tools,
    "tools/call": call,
    "ping": lambda ident, params: answer(ident, {}),
    "logging/setLevel": lambda ident, params: answer(ident, {}),
    "resources/list": lambda ident, params: answer(ident, RESOURCES),
    "resources/templates/list": lambda ident, params: answer(ident, {"resourceTemplates": []}),
    "resources/read": lambda ident, params: answer(ident, {"contents": [{"uri": params["uri"], "text": "inside"}]}),
    "prompts/list": lambda ident, params: answer(ident, {"prompts": [{"name": "p"}]}),
    "prompts/get": lambda ident, params: answer(ident, {"description": "d", "messages": [
        {"role": "user", "content": {"type": "text", "text": "hi " + params.get("arguments", {}).get("who", "")}},
        {"role": "assistant", "content": {"type": "image", "data": "AAEC", "mimeType": "image/png"}}]}),
}
if era == "modern":
    METHODS.update({"server/discover": discover, "subscriptions/listen": listen, "tasks/get": get_task, "tasks/update": update_task, "tasks/cancel": cancel_task})
    for removed in ("ping", "logging/setLevel"):
        del METHODS[removed]
else:
    METHODS.update({"initialize": initialize, "tasks/get": get_task, "tasks/result": task_result, "tasks/cancel": lambda ident, params: answer(ident, core_state(params["taskId"], "cancelled"))})
    if "no-tasks" not in quirks:
        CAPABILITIES["tasks"] = {"cancel": {}, "requests": {"tools": {"call": {}}}}

late = []  # the id of the first server/discover


def meet_both(message):
    """A server that was slow to start gets server/discover and initialize at once; the quirk says how it reacts. Returns
    true if the message is handled."""
    kind = next((quirk for quirk in quirks if quirk.startswith("both-")), None)
    if kind and message["method"] == "server/discover" and not late:
        late.append(message["id"])
        return True
    if not kind or message["method"] != "initialize":
        return False
    locked = lambda: refuse(message["id"], -32022, "this connection serves 2026-07-28", data={"supported": ["2026-07-28"], "requested": "2025-11-25"})
    if kind == "both-in-order":  # as the SDK for Python from 2.0 on
        discover(late[0], {})
        locked()
    elif kind == "both-reversed":
        locked()
        discover(late[0], {})
    elif kind == "both-lost":  # the first request was lost
        locked()
    elif kind == "both-older":  # as the SDK for Python before 2.0
        refuse(late[0], -32602, "Invalid request parameters")
        initialize(message["id"], message["params"])
    elif kind == "both-older-reversed":
        initialize(message["id"], message["params"])
        refuse(late[0], -32601, "Method not found")
    elif kind == "both-refused":
        refuse(message["id"], -32603, "not today")
        refuse(late[0], -32601, "Method not found")
    return True


if "exits" in quirks:
    sys.stderr.write("cannot start\n")
    sys.exit(7)

for line in sys.stdin:
    log.write(line)
    log.flush()
    message = json.loads(line)
    if "silent" in quirks or ("method" in message and "id" not in message):
        continue
    if "method" not in message:
        then = result_handlers.pop(message["id"])
        if "result" in message:
            then(message["result"])
        elif message["id"] in error_handlers:
            error_handlers.pop(message["id"])(message["error"])
        continue
    if "floods" in quirks and message["method"] in ("server/discover", "initialize"):
        for i in range(20000):
            send(method="notifications/progress", params={"progressToken": i, "progress": 1})
            out("no message %d" % i)
    if "floods-forever" in quirks:
        while True:
            out("no message, and no end")
    if "dies-at-any-request" in quirks or ("dies-at-initialize" in quirks and late and message["method"] == "initialize"):
        sys.exit(9)
    if "dies-at-initialize" in quirks and message["method"] == "server/discover":
        late.append(message["id"])
        continue
    if "wrong-ids-first" in quirks:
        for wrong in (message["id"] + 100, str(message["id"]), None, [1], message["id"] - 1000):
            send(id=wrong, result={"supportedVersions": ["2099-01-01"], "protocolVersion": "2099-01-01", "tools": []})
    if "exit-on-discover" in quirks and message["method"] == "server/discover":
        sys.exit(1)
    if "silent-discover" in quirks and message["method"] == "server/discover":
        continue
    if meet_both(message):
        continue
    if "late-discover" in quirks and message["method"] == "server/discover" and not late:
        late.append(message["id"])  # answered when the client no longer waits for it
        continue
    if late and message["method"] == "initialize":
        discover(late[0], {})
    if message["method"] in METHODS:
        METHODS[message["method"]](message["id"], message.get("params", {}))
    else:
        refuse(message["id"], -32601, "Method not found")
if "ignores-sigterm" in quirks:
    import signal
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(3600)
