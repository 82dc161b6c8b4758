"""hostile.py: servers that exit, send wrong or too many messages, or do not answer. None affects another; every call ends."""
import json
import os
import sys

from harness import call, check, configure, received, run_tests, scripted_server, tenon


def call_in_steps(*steps):
    """Calls the tools of each step, without arguments, when those of the step before have ended. Returns the result, and
    the contents of the tools' messages of each step."""
    names, messages = ["m%d" % i for i in range(len(steps))], {}
    with open("steps.yaml", "w") as file:
        nodes = ["{id: %s, type: tools, config: {tools: ['*'], auto_approve: ['*'], messages_key: %s}}" % (name, name) for name in names]
        edges = ["{from: %s, to: %s}" % edge for edge in zip(["START", *names], [*names, "END"])]
        file.write("version: '1.0'\nchannels: [%s]\nnodes: [%s]\nedges: [%s]\n" % (
            ", ".join("{name: %s, type: append}" % name for name in names), ", ".join(nodes), ", ".join(edges)))
    for name, tools in zip(names, steps):
        calls = [{"id": tool, "name": tool, "arguments": {}} for tool in tools]
        messages[name] = [{"type": "ai", "content": "", "tool_calls": calls}]
    result = tenon("run", "steps.yaml", "--input", json.dumps(messages))
    check(result.out.startswith("{"), "a result", result.out, result.err)
    return result, [[message["content"] for message in json.loads(result.out)[name][1:]] for name in names]


def test_wrong_answers():
    configure({"s": scripted_server("legacy", timeout_ms=20000)})
    result = call("s.answers_twice", "s.answers_other_ids", "s.invalid_messages", "s.result_not_object", "s.huge_line", ("s.echo", {"text": "x"}))
    check(result.contents[:3] == ["one", "yours", "still here"], "the valid answers are used", result.contents, result.err)
    check(result.contents[3].startswith("SERVER_ERROR: "), "a result that is not an object", result.contents)
    check(result.contents[4:] == ["small", "x"], "calls after a line that is too long", [str(c)[:80] for c in result.contents])
    for words in ("which does not wait", "an answer with an unknown id", "not JSON: hello there", "not UTF-8: ", "not JSON-RPC 2.0", "more than 64 MiB"):
        check(words in result.err, "expected in the log: " + words, result.err)


def test_a_server_that_exits_fails_only_its_calls():
    configure({"a": scripted_server("legacy"), "b": scripted_server("modern", log="b")})
    result = call("a.exits_now", "a.no_answer", ("b.echo", {"text": "x"}), "b.exits_now")
    check(result.contents[0].startswith("SERVER_LOST: server `a`: tool `exits_now`: it ended with status 3"), "exits_now", result.contents)
    check(result.contents[1].startswith("SERVER_LOST: "), "the other call of the server", result.contents)
    check(result.contents[2] == "x", "the other server", result.contents)


def test_a_server_is_restarted():
    configure({"a": scripted_server("legacy")})
    result, contents = call_in_steps(["a.exits_now"], ["a.environment"])
    check(contents[0][0].startswith("SERVER_LOST: ") and contents[1][0][0]["text"] == "none", "the call after the restart", result.out, result.err)


def test_servers_that_do_not_start():
    configure({"exits": scripted_server("legacy", "exits"), "silent": scripted_server("legacy", "silent", connect_timeout_ms=400), "good": scripted_server("modern", log="good"),
               "missing": {"command": ["/nowhere/at/all"]}, "closed": {"url": "http://127.0.0.1:1/mcp"}})
    result = call("mcp.servers", ("good.echo", {"text": "x"}), "exits.echo")
    check(result.contents[1] == "x", "the server that works", result.contents, result.err)
    about = {server["name"]: server for server in result.json(0)["servers"]}
    states = {name: server["state"] for name, server in about.items()}
    check(states == {"exits": "failed", "silent": "failed", "good": "ready", "missing": "failed", "closed": "failed"}, "states", states)
    check("it ended with status 7" in about["exits"]["why"] and "stderr: cannot start" in result.err, "exits", about, result.err)
    check("/nowhere/at/all" in about["missing"]["why"], "missing", about)
    check("initialize" in about["silent"]["why"], "silent", about)
    check(result.contents[2].startswith("TOOL_NOT_FOUND"), "a tool of a server that failed", result.contents)


def test_attacks_on_the_handshake():
    """Each server attacks only itself: the good one works, and no log grows with what they send."""
    kinds = ["floods", "dies-at-initialize", "wrong-ids-first"]
    bad = ["floods-forever", "dies-at-any-request"]
    servers = {kind: scripted_server("legacy", kind, log="attacks", connect_timeout_ms=60000) for kind in kinds + bad}
    servers["floods-forever"]["connect_timeout_ms"] = 1500  # the others do not need their time
    configure({"good": scripted_server("modern", log="good"), **servers})
    result = call("mcp.servers", ("good.echo", {"text": "x"}), *[(kind + ".echo", {"text": kind}) for kind in kinds])
    check(result.contents[1:] == ["x", *kinds], "servers that answer in the end", result.contents, result.err[-3000:])
    about = {server["name"]: server for server in result.json(0)["servers"]}
    check({about[kind]["state"] for kind in bad} == {"failed"}, "servers that do not", about)
    check("status 9" in about["dies-at-any-request"]["why"], "the reason", about["dies-at-any-request"])
    lines = [line for line in result.err.splitlines() if "warning" in line]
    check(len(lines) <= 20 * 5 + 10, "at most 20 lines for each server", len(lines))
    os.unlink("attacks")


def test_no_answer():
    configure({"s": scripted_server("legacy", timeout_ms=8000), "m": scripted_server("modern", log="m", timeout_ms=8000)})
    # The answers of the second step show that the servers have received what was sent before.
    result, contents = call_in_steps(["s.no_answer", "m.no_answer", "s.environment"], ["s.environment", "m.environment"])
    first = contents[0]
    check(first[0].startswith("TIMEOUT: server `s`: tool `no_answer`: no answer to `tools/call` within 8000 ms"), "timeout", contents, result.err)
    check(first[1].startswith("TIMEOUT: ") and first[2][0]["text"] == "none", "timeout", contents, result.err)
    for log in ("log", "m"):
        sent = received(log)
        ident = [m["id"] for m in sent if m.get("method") == "tools/call" and m["params"]["name"] == "no_answer"]
        cancelled = [m["params"]["requestId"] for m in sent if m.get("method") == "notifications/cancelled"]
        check(ident == cancelled, "the request is cancelled at the server", sent)


def test_ten_thousand_tools():
    configure({"s": scripted_server("legacy", "many")})
    result = call("mcp.servers", "s.tool5", "s.tool5000")
    check(len(result.json(0)["servers"][0]["tools"]) == 2000, "at most 2,000 tools", result.contents[0][:300])
    check(result.contents[1] == "called tool5" and "more than 2000 tools" in result.err, "the first 2,000 tools", result.contents, result.err)
    configure({"s": scripted_server("legacy", "many", tools=["tool7", "tool99*"], resources=False)})
    result = call("mcp.servers", "s.tool9999")
    check(len(result.json(0)["servers"][0]["tools"]) == 112 and result.contents[1] == "called tool9999", "a list of chosen tools", result.contents[0][:300])
    configure({"s": scripted_server("legacy", "cyclic-pages")})
    check(call(("s.echo", {"text": "x"})).contents == ["x"], "pages that form a cycle")


def test_odd_tools():
    configure({"s": scripted_server("legacy", "odd", prefix="p.q"), "t": scripted_server("modern", "odd", log="t", prefix="p.q", resources=False)})
    result = call("mcp.servers", "p.q.a_b_c", "p.q.a_b_c_2", "p.q.x_hidden", "p.q.good_2")
    tools = {server["name"]: server["tools"] for server in result.json(0)["servers"]}
    names = sorted(tool for server in tools.values() for tool in server if ".resources." not in tool and ".prompts." not in tool)
    wanted = sorted("p.q." + name for name in ["good", "a_b_c", "a_b_c_2", "x_hidden", "last", "good_2", "a_b_c_3", "a_b_c_4", "x_hidden_2", "last_2"])
    check(names == wanted, "ids", names)
    check(sorted(result.contents[1:3])[0] in ("called a b/c", "called a_b_c"), "each tool has its own id", result.contents)
    for name in ("good", "broken", "regex", "no_schema", "array"):
        check("tool `%s` is left out" % name in result.err, "expected to be left out: " + name, result.err)


def test_changed_tool_lists():
    configure({"l": scripted_server("legacy"), "m": scripted_server("modern", log="m")})
    result, contents = call_in_steps(["l.adds_tool", "m.adds_tool"], ["l.awaits_list", "m.awaits_list"], ["l.new0", "m.new0"])
    check(contents[2] == ["called new0", "called new0"], "a new tool", contents, result.err)


def test_storms():
    """A server that reports changes and log messages all the time is read at intervals; the last change is not lost."""
    for era in ("legacy", "modern"):
        configure({"s": scripted_server(era, log="b", timeout_ms=20000)})
        result, contents = call_in_steps(["s.storms"], ["s.adds_tool"], ["s.awaits_list"], ["s.new0"])
        check(contents == [["stormed"], ["added"], ["listed"], ["called new0"]], "a change after a storm", era, contents, result.err[-2000:])
        check(result.err.count("of a storm") == 100 and "the next ones are left out" in result.err, "its log is limited", era, result.err.count("of a storm"))
        lists = [m for m in received("b") if m.get("method") == "tools/list" and "cursor" not in m.get("params", {})]
        check(len(lists) < 12, "the lists", era, len(lists))
        os.unlink("b")


def test_shutdown():
    """A server that ignores both the end of its input and SIGTERM is killed: it would run for longer than tenon() waits."""
    configure({"s": scripted_server("legacy", "ignores-sigterm"), "e": scripted_server("legacy", log="e", env={"FAKE": "set"}, cwd="/")})
    result = call(("s.echo", {"text": "x"}), "e.environment")
    check(result.contents[0] == "x", "the call of the server that is killed", result.contents)
    check([part["text"] for part in result.contents[1]] == ["set", ""], "environment and folder of the server", result.contents)


def test_on_demand():
    configure({"s": scripted_server("legacy", connect="on_demand"), "x": scripted_server("legacy", "exits", connect="on_demand")})
    result = call("mcp.servers", "s.echo")
    check([server["state"] for server in result.json(0)["servers"]] == ["idle", "idle"], "not started", result.contents)
    check(result.contents[1].startswith("TOOL_NOT_FOUND"), "its tools are not known", result.contents)
    for name, state in (("s", "ready"), ("x", "failed")):
        result = tenon("tool", "call", "mcp.servers", json.dumps({"connect": name}), "--yes")
        about = {server["name"]: server for server in json.loads(result.out)["servers"]}
        check(about[name]["state"] == state, "started: " + name, result.out, result.err)
    result = tenon("tool", "call", "mcp.servers", '{"connect": "unknown"}', "--yes")
    check("no server of this name" in result.err, "an unknown name", result.err)


def test_isolated():
    python = "/usr/bin/python3"
    if not os.path.exists(python):
        print("not tested in a sandbox: missing " + python)
        return
    answers = {"server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}},
               "tools/list": {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]},
               "tools/call": {"content": [{"type": "text", "text": "from the sandbox"}]}}
    program = ("import json, sys\nfor line in sys.stdin:\n    m = json.loads(line)\n"
               "    print(json.dumps({'jsonrpc': '2.0', 'id': m['id'], 'result': %r[m['method']]}), flush=True)" % answers)
    configure({"s": {"command": [python, "-c", program]}})
    for _ in range(5):  # the plugin may still be looked at while its process shuts down
        result = tenon("tool", "call", "s.t", "{}", "--yes", "--isolate", "tenon.mcp")
        check("from the sandbox" in result.out, "a server in the plugin's sandbox", result.out, result.err)


def test_configuration():
    for servers, words in (
        ({"s": {"command": []}}, "command"),
        ({"s": {}}, "/servers/s"),
        ({"s": {"command": ["x"], "url": "http://x"}}, "/servers/s"),
        ({"s s": {"command": ["x"]}}, "s s"),
        ({"s": {"url": "ftp://x"}}, "url"),
        ({"s": {"command": ["x"], "tiemout_ms": 5}}, "tiemout_ms"),
    ):
        configure(servers)
        result = call("mcp.servers")
        check(words in result.err, "expected in the message: " + words, result.err, result.out)


def remove_logs():
    for log in ("log", "b", "m", "t", "e", "good"):
        if os.path.exists(log):
            os.unlink(log)


if __name__ == "__main__":
    run_tests(globals(), before=remove_logs)
