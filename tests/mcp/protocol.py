"""protocol.py: the plugin tenon.mcp against the scripted server of either era: results of tools, and the messages that the plugin sends."""
import json
import os
import re
import shutil
import subprocess
import sys

from harness import HERE, TENON, WAIT_S, ai_message, call, call_with_answers, check, configure, received, run_tests, scripted_server, tenon

SCRIPTED = {"models": {"small": {"provider": "scripted", "model": "m", "replies": ["Something."]}}}
ERAS = {"m": "modern", "l": "legacy"}


def test_tools_return_the_same_in_both_eras():
    configure({prefix: scripted_server(era, log=era) for prefix, era in ERAS.items()})
    for s in ERAS:
        names = ["echo", "fails", "refuses", "structured", "wrong_output", "blocks", "slow", "logs", "adds_tool"]
        calls = [(f"{s}.{name}", {"text": "hé\n"} if name == "echo" else {}) for name in names]
        result = call(*calls, (f"{s}.resources.read", {"uri": "x:/t"}), (f"{s}.prompts.get", {"name": "p", "arguments": {"who": "you"}}),
                   f"{s}.resources.list", f"{s}.resources.templates", f"{s}.prompts.list")
        check(result.contents[0] == "hé\n", "echo", result.contents, result.err)
        check(result.contents[1] == "TOOL_ERROR: It is broken." and result.status[1] == "error", "isError", result.contents[1])
        check(result.contents[2] == f"INVALID_INPUT: server `{s}`: tool `refuses`: no such thing", "refuses", result.contents[2])
        check(result.json(3) == {"sum": 3}, "structured", result.contents[3])
        check(result.contents[4].startswith("INVALID_OUTPUT: "), "an output that does not match its schema", result.contents[4])
        kinds = [part["type"] for part in result.contents[5]]
        check(kinds == ["text", "image", "audio", "text", "file", "source", "text"], "blocks", kinds)
        check(result.contents[5][4]["name"] == "x:/b" and result.contents[5][5]["url"] == "x:/l", "blocks", result.contents[5])
        check(result.contents[6] == "done" and result.contents[8] == "added", "slow, adds_tool", result.contents)
        check("server `%s`: fake: something  [31mred" % s in result.err, "the server's log, without control characters", result.err)
        check(result.contents[9] == "inside", "a resource", result.contents[9])
        prompt = result.json(10)
        check(prompt["messages"][0] == {"type": "user", "content": "hi you"}, "a prompt", prompt)
        check(prompt["messages"][1]["type"] == "ai", "a prompt", prompt)
        check(result.json(11)["resources"][0]["uri"] == "x:/t" and result.json(13)["prompts"] == [{"name": "p"}], "lists", result.contents)


def test_elicitation():
    configure({prefix: scripted_server(era, log=era) for prefix, era in ERAS.items()})
    for s in ERAS:
        result = call_with_answers(f"{s}.asks", [{"colour": "red"}])
        check(result.question["payload"]["question"] == "Which colour?", "the question", result.question)
        check(result.question["schema"]["anyOf"][0]["required"] == ["colour"], "the server's schema", result.question)
        accepted = {"action": "accept", "content": {"colour": "red", "shade": "dark"}}
        check(result.contents and result.json(0) == accepted, "the answer, with defaults", result.contents, result.err)
    for s in ERAS:
        remove_state()
        result = call_with_answers(f"{s}.asks", [None])
        check(result.contents and result.json(0) == {"action": "decline"}, "null declines", result.contents, result.err)
    for s in ERAS:
        result = call_with_answers(f"{s}.asks_twice", [{"colour": "a"}, None])
        check([part["text"] for part in result.contents[0]] == ["accept", "decline"], "two questions", result.contents, result.err)
    result = call_with_answers("l.opens_page", [True])
    check(result.question["payload"]["url"] == "https://example.com/in", "the page", result.question)
    check(result.contents == ["welcome"], "after the page", result.contents, result.err)
    os.unlink("signed-in")
    remove_state()
    result = call_with_answers("l.opens_page", [None])
    check(result.contents[0].startswith("TOOL_ERROR: ") and "declined" in result.contents[0], "a page declined", result.contents)


def test_state_of_a_server_that_was_started_again():
    """The answer comes in another process, whose server has another key: the call is made again, and answered."""
    configure({"m": scripted_server("modern", "seals", log="sealed"), "never": scripted_server("modern", "never-accepts", log="sealed")})
    result = call_with_answers("m.asks", [{"colour": "red"}])
    check(result.contents and result.json(0)["content"]["colour"] == "red", "the answer", result.contents, result.err, result.out)
    calls = [m["params"] for m in received("sealed") if m.get("method") == "tools/call"]
    sent = [("requestState" in params, "inputResponses" in params) for params in calls]
    check(sent == [(False, False), (True, True), (False, False), (True, True)], "again without the state, then with the new one", sent)
    check(len({params["_meta"]["dev.tenon/idempotency-key"] for params in calls}) == 1, "one key", calls)
    result = call_with_answers("never.asks", [{"colour": "red"}])
    check("requestState" in str(result.contents), "not for ever", result.contents, result.err)
    os.unlink("sealed")


def test_tasks():
    """A server may answer a call with a task, whose result comes later."""
    configure({"m": scripted_server("modern", log="tasks")})
    result = call("m.deferred", "m.deferred_fails", "m.deferred_cancelled", "m.deferred_odd", "m.deferred_without_id", options=("--json", "--stream", "custom"))
    lines = [json.loads(line) for line in result.out.splitlines()]
    contents = [m["content"] for m in lines[-1]["state"]["messages"] if m["type"] == "tool"]
    check(contents[0] == "later", "the result", contents, result.err)
    check("its task has failed: no luck" in contents[1] and "been cancelled by the server: not wanted" in contents[2], "tasks without a result", contents)
    check("`strange`" in contents[3] and "taskId" in contents[4], "wrong tasks", contents)
    check('"half"' in result.out, "the status is reported", result.out)
    sent = received("tasks")
    check(all(m["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"]["extensions"] == {"io.modelcontextprotocol/tasks": {}}
              for m in sent if m.get("method") == "tools/call"), "the capability of every call", sent)
    check(len([m for m in sent if m.get("method") == "tasks/get" and m["params"]["taskId"] == "t1"]) == 2, "asked until it has ended", sent)


def test_questions_of_a_task():
    configure({"m": scripted_server("modern", log="tasks")})
    os.unlink("tasks")
    answers = "wait ecline? \nsend a\nwait colour: \nsend red\nwait [dark]: \nsend \nend\n"
    command = [sys.executable, os.path.join(HERE, "../e2e/terminal.py"), TENON, "tool", "call", "m.deferred_asks", "--yes"]
    done = subprocess.run(command, input=answers, capture_output=True, text=True, timeout=WAIT_S)
    check('"content":{"colour":"red","shade":"dark"}' in re.sub(r"\s", "", done.stdout), "answered in the same process", done)
    updates = [m for m in received("tasks") if m.get("method") == "tasks/update"]
    check(len(updates) == 1, "answered once, although the server still listed it", updates)
    result = call_with_answers("m.deferred_asks", [{"colour": "blue"}])
    check(result.contents and result.json(0)["content"]["colour"] == "blue", "answered in another process, whose server does not know the task", result.contents, result.err)


def test_a_cancelled_task():
    configure({"m": scripted_server("modern", log="tasks")})
    os.unlink("tasks")
    with open("timeout.yaml", "w") as file:
        file.write(open("call.yaml").read() + "tools: [{name: 'm.*', timeout: 0.3}]\n")
    result = tenon("run", "timeout.yaml", "--input", json.dumps({"messages": [{"type": "ai", "content": "", "tool_calls": [
        {"id": "1", "name": "m.deferred_forever", "arguments": {}}]}]}))
    check("TIMEOUT" in result.out, "the document's timeout", result.out, result.err)
    methods = [m.get("method") for m in received("tasks")]
    check(methods[-1] == "tasks/cancel" and "notifications/cancelled" not in methods[-1:], "the task is cancelled", methods)


def test_tasks_of_the_older_era():
    """A tool can require that it is called as a task; its result is requested by tasks/result."""
    configure({"l": scripted_server("legacy", log="core"), "no": scripted_server("legacy", "no-tasks", log="core")})
    result = call("l.task_done", "l.task_tool_error", "l.task_refused", "l.task_cancelled", "no.task_done", options=("--json", "--stream", "custom"))
    lines = [json.loads(line) for line in result.out.splitlines()]
    contents = [m["content"] for m in lines[-1]["state"]["messages"] if m["type"] == "tool"]
    check(contents[:2] == ["later", "TOOL_ERROR: no luck"], "the results", contents, result.err)
    check("out of paper" in contents[2] and "been cancelled by the server: cancelled" in contents[3], "tasks without a result", contents)
    check("can only be called as a task" in contents[4] and "tasks.requests.tools.call" in contents[4], "no tasks are offered", contents)
    check('"begun"' in result.out and "notifications/tasks" not in result.err, "the status is reported", result.out, result.err)
    result = call_with_answers("l.task_asks", [{"colour": "blue"}])
    check(result.contents and result.json(0)["content"]["colour"] == "blue", "answered in another process", result.contents, result.err)
    answers = "wait ecline? \nsend a\nwait colour: \nsend red\nwait [dark]: \nsend \nend\n"
    command = [sys.executable, os.path.join(HERE, "../e2e/terminal.py"), TENON, "tool", "call", "l.task_asks", "--yes"]
    done = subprocess.run(command, input=answers, capture_output=True, text=True, timeout=WAIT_S)
    check('"content":{"colour":"red","shade":"dark"}' in re.sub(r"\s", "", done.stdout), "answered in the same process", done)
    sent = received("core")
    check({m["params"]["name"] for m in sent if m.get("method") == "tools/call" and m["params"].get("task") == {}} ==
          {"task_done", "task_tool_error", "task_refused", "task_cancelled", "task_asks"}, "only as tasks, and only if they are offered", sent)
    with open("timeout.yaml", "w") as file:
        file.write(open("call.yaml").read() + "tools: [{name: 'l.*', timeout: 0.3}]\n")
    result = tenon("run", "timeout.yaml", "--input", ai_message([("l.task_forever", {})]))
    check("TIMEOUT" in result.out and received("core")[-1].get("method") == "tasks/cancel", "the task is cancelled", result.out, received("core")[-3:])


def test_questions_of_tool_call():
    """`tenon tool call`, at a terminal: the form is asked field by field, and an empty answer is requested again."""
    configure({prefix: scripted_server(era, log=era) for prefix, era in ERAS.items()})
    answers = "wait ecline? \nsend a\nwait colour: \nsend \nwait colour: \nsend red\nwait [dark]: \nsend \nend\n"
    for s in ERAS:
        command = [sys.executable, os.path.join(HERE, "../e2e/terminal.py"), TENON, "tool", "call", f"{s}.asks", "--yes"]
        done = subprocess.run(command, input=answers, capture_output=True, text=True, timeout=WAIT_S)
        check(done.returncode == 0 and "Which colour?" in done.stdout and done.stdout.count("colour: ") >= 2, "asked", done)
        check('"content":{"colour":"red","shade":"dark"}' in re.sub(r"\s", "", done.stdout), "answered", done)
        result = tenon("tool", "call", f"{s}.asks", "--yes")
        check(result.code == 5 and "Call it at a terminal" in result.err, "without a terminal", result.code, result.err)


def test_sampling_and_roots():
    servers = {s: scripted_server(era, log=era, sampling="small", roots=[os.getcwd()]) for s, era in ERAS.items()}
    configure(servers, **SCRIPTED)
    for s in ERAS:
        result = call(f"{s}.samples", f"{s}.roots")
        check(len(result.contents) == 2, "two results", result.err, result.out)
        sampled = result.json(0)
        check(sampled["content"] == {"type": "text", "text": "Something."} and sampled["stopReason"] == "endTurn", "the model", sampled)
        check(result.json(1)["roots"][0]["uri"] == "file://" + os.path.realpath("."), "roots", result.contents[1])
    configure({s: scripted_server(era, log=era) for s, era in ERAS.items()})
    result = call("l.samples", "m.samples", "l.asks_unknown_method", "m.asks_unknown_method", "m.asks_endlessly", "l.pings")
    check("no method `sampling/createMessage`" in result.contents[0], "sampling without the capability, before", result.contents)
    check("did not announce" in str(result.contents[1]), "sampling without the capability", result.contents)
    check(result.contents[2] == "-32601", "an unknown request", result.contents)
    check("unknown/method" not in str(result.contents[3]) and result.status[3] == "error", "an unknown input request", result.contents)
    check("asks for more input too often" in result.contents[4], "endless input requests", result.contents)
    check(result.contents[5] == "pong", "ping", result.contents)


def test_versions():
    configure({"old": scripted_server("legacy", "old"), "future": scripted_server("legacy", "future"), "unsupported": scripted_server("modern", "unsupported"),
               "restarts": scripted_server("legacy", "exit-on-discover"), "silent": scripted_server("legacy", "silent-discover"),
               "late": scripted_server("modern", "late-discover", log="late"),
               "pinned": scripted_server("legacy", era="2025-06-18", log="pinned"), "wrong": scripted_server("legacy", era="2026-07-28")})
    result = call("mcp.servers", "old.echo", "restarts.echo", "silent.echo", "pinned.echo", "late.echo")
    about = {server["name"]: server for server in result.json(0)["servers"]}
    check(result.status[1:] == ["ok"] * 5, "servers with a common version", result.contents, result.err)
    check(about["old"]["protocol"] == "2024-11-05" and about["pinned"]["protocol"] == "2025-06-18", "versions", about)
    check(about["late"]["protocol"] == "2026-07-28", "a server of the newer era that needs long to start", about)
    check(about["old"]["instructions"] == "Be kind.", "instructions", about)
    check("2099-01-01" in about["future"]["why"] and "2099-01-01" in about["unsupported"]["why"], "no common version", about)
    check("server/discover" in about["wrong"]["why"], "an era that the server does not support", about)
    check("server/discover" not in [m.get("method") for m in received("pinned")], "a configured era is not detected")


def test_servers_that_start_slowly():
    """They get server/discover and initialize at once; whichever answer comes is accepted, in any order."""
    expected = {"in-order": ("modern", "2026-07-28"), "reversed": ("modern", "2026-07-28"), "lost": ("modern", "2026-07-28"),
                "older": ("legacy", "2025-11-25"), "older-reversed": ("legacy", "2025-11-25")}
    configure({kind: scripted_server(era, "both-" + kind, log="both", connect_timeout_ms=20000)
               for kind, (era, _) in {**expected, "refused": ("legacy", "")}.items()})
    result = call("mcp.servers", *[(kind + ".echo", {"text": kind}) for kind in expected])
    check(result.contents[1:] == list(expected), "each server works", result.contents, result.err)
    about = {server["name"]: server for server in result.json(0)["servers"]}
    for kind, (_, version) in expected.items():
        check(about[kind]["protocol"] == version, "the version of " + kind, about[kind])
    check("it refused `initialize`: not today" in about["refused"]["why"], "neither handshake", about["refused"])
    check("does not wait" not in result.err, "a late answer of the handshake is no mistake of the server", result.err)
    os.unlink("both")


def validators(version):
    import jsonschema
    folder = os.environ.get("TENON_SUITES") or os.path.join(os.environ["SOURCE"], "..", "shared", "suites")
    with open(os.path.join(folder, "mcp", version + ".schema.json")) as file:
        document = json.load(file)
    key = "$defs" if "$defs" in document else "definitions"

    def of(name):
        kind = jsonschema.Draft202012Validator if key == "$defs" else jsonschema.Draft7Validator
        return kind({**document, "$ref": f"#/{key}/{name}"}) if key == "$defs" else kind({key: document[key], "$ref": f"#/{key}/{name}"})

    return of


RESULTS = {"sampling/createMessage": "CreateMessageResult", "elicitation/create": "ElicitResult", "roots/list": "ListRootsResult"}


def test_sent_messages_match_the_schemas():
    """Validates the messages of all tests above."""
    try:
        import jsonschema  # noqa: F401
    except ImportError:
        print("skipped: the messages are not validated: python3-jsonschema is not installed")
        return
    try:
        schemas = {"modern": validators("2026-07-28"), "legacy": validators("2025-11-25"), "core": validators("2025-11-25"), "pinned": validators("2025-06-18")}
    except OSError as error:
        print("skipped: the messages are not validated: %s" % error)
        return
    count = 0
    for log, schema in schemas.items():
        for message in received(log):
            # The first message is of the other era, to detect the era of the server.
            if log in ("legacy", "core") and message.get("method") == "server/discover":
                names, where = ["ClientRequest"], schemas["modern"]
            elif "method" in message:
                names, where = ["ClientRequest" if "id" in message else "ClientNotification"], schema
            else:
                names, where = [], schema
                results = [name for name in RESULTS.values() if "result" in message and not list(schema(name).iter_errors(message["result"]))]
                check("error" in message or results or message["result"] == {}, "a result of no known type", message)
            for name in names:
                errors = [error.message for error in where(name).iter_errors(message)]
                check(not errors, "%s: not a valid %s" % (log, name), message, *errors)
            count += 1
            for responses in [message.get("params", {}).get("inputResponses", {})]:
                for value in responses.values():
                    check(not list(schema("InputResponse").iter_errors(value)), "an input response", value)
    check(count > 60, "expected more messages to validate", count)


def remove_state():
    shutil.rmtree(".tenon", ignore_errors=True)


if __name__ == "__main__":
    run_tests(globals(), before=remove_state)
