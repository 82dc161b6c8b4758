"""hostile.py: servers that die, lie, flood and keep silent: one never harms another, and every call ends."""
import json
import os
import sys
import time

from harness import call, check, configure, fake, received, run_tests, tenon


def test_answers_that_are_wrong():
    configure({"s": fake("legacy", timeout_ms=20000)})
    got = call("s.answers_twice", "s.answers_another", "s.talks_nonsense", "s.says_nothing_sensible", "s.is_huge", ("s.echo", {"text": "x"}))
    check(got.contents[:3] == ["one", "yours", "still here"], "what is right counts", got.contents, got.err)
    check(got.contents[3].startswith("SERVER_ERROR: "), "a result that is none", got.contents)
    check(got.contents[4:] == ["small", "x"], "after a line that is too long", [str(c)[:80] for c in got.contents])
    for words in ("does not wait for one", "whose id is no request", "not JSON: hello there", "not JSON-RPC 2.0", "more than 64 MiB"):
        check(words in got.err, "expected in the log: " + words, got.err)


def test_a_server_that_dies_takes_only_its_own_calls_along():
    configure({"a": fake("legacy"), "b": fake("modern", log="b")})
    got = call("a.dies", "a.never", ("b.echo", {"text": "x"}), "b.dies")
    check(got.contents[0].startswith("SERVER_LOST: server `a`: tool `dies`: it ended with status 3"), "dies", got.contents)
    check(got.contents[1].startswith("SERVER_LOST: "), "the other call", got.contents)
    check(got.contents[2] == "x", "the other server", got.contents)


def test_it_is_started_again():
    configure({"a": fake("legacy")})
    open("twice.yaml", "w").write("""version: "1.0"
channels:
  - {name: messages, type: append}
  - {name: other, type: append}
nodes:
  - {id: t, type: tools, config: {tools: ["*"], auto_approve: ["*"]}}
  - {id: u, type: tools, config: {tools: ["*"], auto_approve: ["*"], messages_key: other}}
edges:
  - {from: START, to: t}
  - {from: t, to: u}
  - {from: u, to: END}
""")
    say = lambda name: [{"type": "ai", "content": "", "tool_calls": [{"id": "1", "name": name, "arguments": {}}]}]
    got = tenon("run", "twice.yaml", "--input", json.dumps({"messages": say("a.dies"), "other": say("a.says_environment")}))
    second = json.loads(got.out)["other"][-1]["content"]
    check(got.contents[0].startswith("SERVER_LOST: ") and second[0]["text"] == "none", "again", got.out, got.err)


def test_servers_that_do_not_come_up():
    configure({"exits": fake("legacy", "exits"), "mute": fake("legacy", "mute", connect_timeout_ms=400), "good": fake("modern", log="good"),
               "missing": {"command": ["/nowhere/at/all"]}, "closed": {"url": "http://127.0.0.1:1/mcp"}})
    got = call("mcp.servers", ("good.echo", {"text": "x"}), "exits.echo")
    check(got.contents[1] == "x", "the good one", got.contents, got.err)
    about = {server["name"]: server for server in got.json(0)["servers"]}
    states = {name: server["state"] for name, server in about.items()}
    check(states == {"exits": "failed", "mute": "failed", "good": "ready", "missing": "failed", "closed": "failed"}, "states", states)
    check("it ended with status 7" in about["exits"]["why"] and "stderr: it cannot be" in got.err, "exits", about, got.err)
    check("/nowhere/at/all" in about["missing"]["why"], "missing", about)
    check("initialize" in about["mute"]["why"], "mute", about)
    check(got.contents[2].startswith("TOOL_NOT_FOUND"), "a tool of a server that failed", got.contents)


def test_no_answer():
    configure({"s": fake("legacy", timeout_ms=300), "m": fake("modern", log="m", timeout_ms=300)})
    got = call("s.never", "m.never", ("s.echo", {"text": "x"}))
    check(got.contents[0].startswith("TIMEOUT: server `s`: tool `never`: there was no answer to `tools/call` within 300 ms"), "timeout", got.contents)
    check(got.contents[1].startswith("TIMEOUT: ") and got.contents[2] == "x", "timeout", got.contents)
    for log in ("log", "m"):
        sent = received(log)
        ident = [m["id"] for m in sent if m.get("method") == "tools/call" and m["params"]["name"] == "never"]
        gone = [m["params"]["requestId"] for m in sent if m.get("method") == "notifications/cancelled"]
        check(ident == gone, "the server is told that nobody waits any more", sent)


def test_ten_thousand_tools():
    configure({"s": fake("legacy", "many")})
    got = call("mcp.servers", "s.tool5", "s.tool5000")
    check(len(got.json(0)["servers"][0]["tools"]) == 2000, "2,000 of them", got.contents[0][:300])
    check(got.contents[1] == "called tool5" and "more than 2000 tools" in got.err, "the first ones", got.contents, got.err)
    configure({"s": fake("legacy", "many", tools=["tool7", "tool99*"], resources=False)})
    got = call("mcp.servers", "s.tool9999")
    check(len(got.json(0)["servers"][0]["tools"]) == 112 and got.contents[1] == "called tool9999", "a list of those wanted", got.contents[0][:300])
    configure({"s": fake("legacy", "circles")})
    check(call(("s.echo", {"text": "x"})).contents == ["x"], "pages in circles")


def test_odd_tools():
    configure({"s": fake("legacy", "odd", prefix="p.q"), "t": fake("modern", "odd", log="t", prefix="p.q", resources=False)})
    got = call("mcp.servers", "p.q.a_b_c", "p.q.a_b_c_2", "p.q.x_hidden", "p.q.good_2")
    tools = {server["name"]: server["tools"] for server in got.json(0)["servers"]}
    names = sorted(tool for server in tools.values() for tool in server if ".resources." not in tool and ".prompts." not in tool)
    wanted = sorted("p.q." + name for name in ["good", "a_b_c", "a_b_c_2", "x_hidden", "last", "good_2", "a_b_c_3", "a_b_c_4", "x_hidden_2", "last_2"])
    check(names == wanted, "ids", names)
    check(sorted(got.contents[1:3])[0] in ("called a b/c", "called a_b_c"), "each its own", got.contents)
    for name in ("good", "broken", "regex", "no_schema", "array"):
        check("tool `%s` is left out" % name in got.err, "expected to be left out: " + name, got.err)


def test_lists_that_change():
    configure({"l": fake("legacy"), "m": fake("modern", log="m")})
    open("grow.yaml", "w").write("""version: "1.0"
channels:
  - {name: messages, type: append}
  - {name: other, type: append}
nodes:
  - {id: t, type: tools, config: {tools: ["*"], auto_approve: ["*"]}}
  - {id: w, type: delay, config: {ms: 500}}
  - {id: u, type: tools, config: {tools: ["*"], auto_approve: ["*"], messages_key: other}}
edges:
  - {from: START, to: t}
  - {from: t, to: w}
  - {from: w, to: u}
  - {from: u, to: END}
""")
    say = lambda *names: [{"type": "ai", "content": "", "tool_calls": [{"id": n, "name": n, "arguments": {}} for n in names]}]
    got = tenon("run", "grow.yaml", "--input", json.dumps({"messages": say("l.grows", "m.grows"), "other": say("l.new0", "m.new0")}))
    contents = [m["content"] for m in json.loads(got.out)["other"][1:]]
    check(contents == ["called new0", "called new0"], "a new tool", contents, got.err)


def test_the_end():
    """A server that heeds neither the end of its input nor SIGTERM is killed."""
    configure({"s": fake("legacy", "stubborn"), "e": fake("legacy", log="e", env={"FAKE": "set"}, cwd="/")})
    start = time.monotonic()
    got = call(("s.echo", {"text": "x"}), "e.says_environment")
    check(got.contents[0] == "x" and time.monotonic() - start < 30, "it ends", got.contents)
    check([part["text"] for part in got.contents[1]] == ["set", ""], "its environment and folder", got.contents)


def test_on_demand():
    configure({"s": fake("legacy", connect="on_demand"), "x": fake("legacy", "exits", connect="on_demand")})
    got = call("mcp.servers", "s.echo")
    check([server["state"] for server in got.json(0)["servers"]] == ["idle", "idle"], "not started", got.contents)
    check(got.contents[1].startswith("TOOL_NOT_FOUND"), "its tools are not known", got.contents)
    for name, state in (("s", "ready"), ("x", "failed")):
        got = tenon("tool", "call", "mcp.servers", json.dumps({"connect": name}), "--yes")
        about = {server["name"]: server for server in json.loads(got.out)["servers"]}
        check(about[name]["state"] == state, "started: " + name, got.out, got.err)
    got = tenon("tool", "call", "mcp.servers", '{"connect": "nobody"}', "--yes")
    check("no server of this name" in got.err, "a name that nobody has", got.err)


def test_in_a_process_of_its_own():
    python = "/usr/bin/python3"
    if not os.path.exists(python):
        print("not tested in a sandbox: there is no " + python)
        return
    answers = {"server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}},
               "tools/list": {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]},
               "tools/call": {"content": [{"type": "text", "text": "from inside"}]}}
    program = ("import json, sys\nfor line in sys.stdin:\n    m = json.loads(line)\n"
               "    print(json.dumps({'jsonrpc': '2.0', 'id': m['id'], 'result': %r[m['method']]}), flush=True)" % answers)
    configure({"s": {"command": [python, "-c", program]}})
    got = tenon("tool", "call", "s.t", "{}", "--yes", "--isolate", "tenon.mcp")
    check("from inside" in got.out, "a server in the plugin's sandbox", got.out, got.err)


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
        got = call("mcp.servers")
        check(words in got.err, "a mistake: " + words, got.err, got.out)


def clean():
    for log in ("log", "b", "m", "t", "e", "good"):
        if os.path.exists(log):
            os.unlink(log)


if __name__ == "__main__":
    run_tests(globals(), before=clean)
