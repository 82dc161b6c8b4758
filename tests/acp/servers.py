"""servers.py: MCP servers that the client names in session/new."""
import json
import os
import subprocess
import sys
import time

from harness import Agent, call, check, run_tests, scripted, text_of, write_document

HERE = os.path.dirname(os.path.abspath(__file__))


def server(name, *arguments, **env):
    return {"name": name, "command": sys.executable, "args": [os.path.join(HERE, "mcp_server.py"), *arguments],
            "env": [{"name": key, "value": value} for key, value in env.items()]}


def until(what, why):
    deadline = time.monotonic() + 20
    while not what():
        check(time.monotonic() < deadline, "waited for " + why)
        time.sleep(0.02)


def ended(pid):
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rsplit(") ", 1)[1][0] == "Z"
    except FileNotFoundError:
        return True


def pid_in(name):
    until(lambda: os.path.exists(name) and open(name).read(), name)
    return int(open(name).read())


def test_a_server_of_a_session():
    write_document("one.yaml", scripted(call("acp.tools.say", {"text": "hi"}), "Got: {last}"))
    with Agent("one.yaml") as agent:
        agent.initialize()
        session = agent.new([server("tools", "--flag", GREETING="hello", PID_FILE=os.path.abspath("one.pid"))])
        _, updates = agent.prompt(session, "go")
        check(text_of(updates) == "Got: hi|hello|%s|--flag|" % os.getcwd(), "the tool", updates)
        shown = [u for u in updates if u["sessionUpdate"] == "tool_call"]
        check(shown[0]["kind"] == "read" and shown[0]["rawInput"] == {"text": "hi"}, "the call", shown)
        pid = pid_in("one.pid")
        check(not ended(pid), "it runs")
        agent.request("session/close", sessionId=session)
        until(lambda: ended(pid), "the end of the server")
        session = agent.new([server("tools", PID_FILE=os.path.abspath("two.pid"))])
        _, updates = agent.prompt(session, "again")
        check(text_of(updates).startswith("Got: hi||"), "the name is free again", updates)
        pid = pid_in("two.pid")
    until(lambda: ended(pid), "the end of the server")
    check(not agent.err, "nothing is logged", agent.err)


def test_sessions_are_separate():
    """The same name in two sessions: each uses its own server; a session without servers has no such tools."""
    write_document("two.yaml", scripted(call("acp.tools.say", {"text": "hi"}), "Got: {last}"))
    write_document("second.yaml", scripted(call("acp.tools-2.say", {"text": "hi"}), "Got: {last}"))
    with Agent("two.yaml") as agent:
        agent.initialize()
        first = agent.new([server("tools", GREETING="first")])
        second = agent.new([server("tools", GREETING="second")])
        none = agent.new()
        _, updates = agent.prompt(first, "go")
        check("|first|" in text_of(updates), "the first", updates)
        for session in (second, none):
            _, updates = agent.prompt(session, "go")
            check("first" not in text_of(updates) and "cannot find tool" in text_of(updates), "not that of another session", updates)


def test_a_document_decides():
    """The list `tools` of a document is an allow-list for the tools of the client, too."""
    write_document("closed.yaml", scripted(call("acp.tools.say"), "Got: {last}"), more='tools: ["memory.*"]\n')
    with Agent("closed.yaml") as agent:
        agent.initialize()
        _, updates = agent.prompt(agent.new([server("tools")]), "go")
        check("cannot find tool" in text_of(updates), "not allowed", updates)
    write_document("open.yaml", scripted(call("acp.tools.say"), "Got: {last}"), more='tools: ["memory.*", "acp.*"]\n')
    with Agent("open.yaml") as agent:
        agent.initialize()
        _, updates = agent.prompt(agent.new([server("tools", GREETING="open")]), "go")
        check("|open|" in text_of(updates), "allowed", updates)


def test_approval_and_output():
    replies = [call("acp.tools.wipe"), call("acp.tools.long", id="c2"), call("acp.tools.edit", {"path": "a.txt"}, id="c3"), "Done."]
    write_document("wipe.yaml", scripted(*replies))
    answer = lambda method, params: {"outcome": {"outcome": "selected", "optionId": "allow_once"}}
    with Agent("wipe.yaml", answer=answer) as agent:
        agent.initialize()
        _, updates = agent.prompt(agent.new([server("tools")]), "go")
        asked = [r["params"]["toolCall"] for r in agent.requests]
        check([a["title"] for a in asked] == ["tools.wipe"], "the destructive one is asked for", asked)
        ends = [u for u in updates if u["sessionUpdate"] == "tool_call_update" and u["status"] == "completed"]
        check(len(json.dumps(ends[1])) < 270000 and "bytes more" in json.dumps(ends[1]) and "rawOutput" not in ends[1], "cut", len(json.dumps(ends[1])))
        check(ends[2]["content"] == [{"type": "diff", "path": os.getcwd() + "/a.txt", "oldText": "a", "newText": "b"}], "a diff", ends[2])


def test_questions_of_a_server():
    """A form, and a page: the client opens it, and the run continues when the person says that it is done."""
    write_document("asks.yaml", scripted(call("acp.tools.ask"), "Got: {last}"))
    for reply, expected in [({"action": "accept", "content": {"name": "Ada"}}, '"Ada"'), ({"action": "decline"}, "decline")]:
        with Agent("asks.yaml", answer=lambda method, params: reply) as agent:
            agent.initialize({"elicitation": {"form": {}, "url": {}}})
            _, updates = agent.prompt(agent.new([server("tools")]), "go")
            check(agent.requests[0]["params"]["message"] == "Who?" and expected in text_of(updates), "the form", updates)
    write_document("visits.yaml", scripted(call("acp.tools.visit"), "Got: {last}"))
    for option, expected in [("allow_once", "accept"), ("reject_once", "decline")]:
        outcome = {"outcome": {"outcome": "selected", "optionId": option}}
        answer = lambda method, params: {"action": "accept"} if method == "elicitation/create" else outcome
        with Agent("visits.yaml", answer=answer) as agent:
            agent.initialize({"elicitation": {"url": {}}})
            _, updates = agent.prompt(agent.new([server("tools")]), "go")
            asked = agent.requests[0]["params"]
            check(asked["mode"] == "url" and asked["url"] == "https://example.test/page", "the page", asked)
            check(agent.requests[1]["method"] == "session/request_permission" and expected in text_of(updates), "done", updates)
    with Agent("visits.yaml") as agent:
        agent.initialize()
        session = agent.new([server("tools")])
        _, updates = agent.prompt(session, "go")
        check("https://example.test/page" in text_of(updates), "the text has the page", updates)
        _, updates = agent.prompt(session, "done")
        check("accept" in text_of(updates), "the next prompt answers", updates)


def states_of(updates):
    return [u["status"] for u in updates if u["sessionUpdate"].startswith("tool_call")]


def test_states_of_a_call():
    """A call that takes time is in progress before its result; one that waits for an approval, only after it."""
    write_document("holds.yaml", scripted(call("acp.tools.hold"), "Got: {last}"))
    with Agent("holds.yaml") as agent:
        agent.initialize()
        number = agent.start_prompt(agent.new([server("tools", HOLD_FILE=os.path.abspath("hold"))]), "go")
        agent.wait_update("tool_call_update", status="in_progress")
        open("hold", "w").close()
        agent.wait(number)
        check(states_of(agent.updates) == ["pending", "in_progress", "completed"], "a long call", agent.updates)
    write_document("wipes.yaml", scripted(call("acp.tools.wipe"), "Got: {last}"))
    with Agent("wipes.yaml") as agent:
        agent.initialize()
        session = agent.new([server("tools")])
        number = agent.start_prompt(session, "go")
        asked = agent.wait_request("session/request_permission")
        check(states_of(agent.updates) == ["pending"], "before the approval", agent.updates)
        agent.send({"id": asked["id"], "result": {"outcome": {"outcome": "selected", "optionId": "allow_once"}}})
        agent.wait(number)
        check(states_of(agent.updates) == ["pending", "in_progress", "completed"], "after the approval", agent.updates)
        agent.request("session/set_mode", sessionId=session, modeId="allow")
        _, updates = agent.prompt(session, "again")
        check(states_of(updates) == ["pending", "in_progress", "completed"], "approved by the mode", updates)


def test_a_call_that_asks_in_the_text():
    """The call is not finished while the next prompt is awaited, and completed after it; or failed if that is cancelled."""
    replies = [call("acp.tools.ask"), call("acp.tools.hold", id="c2"), "Got: {last}"]
    write_document("text.yaml", scripted(*replies, call("acp.tools.ask", id="c3")))
    with Agent("text.yaml") as agent:
        agent.initialize()
        session = agent.new([server("tools", HOLD_FILE=os.path.abspath("held"))])
        answer, updates = agent.prompt(session, "go")
        check(answer == {"stopReason": "end_turn"} and text_of(updates) == "Who?", "asked", updates)
        check(states_of(updates) == ["pending", "in_progress"], "it waits", updates)
        first = [u["toolCallId"] for u in updates if u["sessionUpdate"] == "tool_call"]
        before = len(agent.updates)
        number = agent.start_prompt(session, '{"name": "Ada"}')
        agent.wait_update("tool_call", toolCallId="2-c2")
        ended = [u for u in agent.updates[before:] if u["sessionUpdate"] == "tool_call_update"][0]
        check(ended["toolCallId"] == first[0] and ended["status"] == "completed", "the answer ends the call", ended)
        open("held", "w").close()
        agent.wait(number)
        _, updates = agent.prompt(session, "again")
        check(states_of(updates) == ["pending", "in_progress"] and text_of(updates) == "Who?", "the second question", updates)
        agent.request("session/close", sessionId=session)


def test_http():
    started = subprocess.Popen([sys.executable, os.path.join(HERE, "mcp_server.py"), "--http", "port"])
    try:
        until(lambda: os.path.exists("port"), "the port")
        url = "http://127.0.0.1:%s/mcp" % open("port").read()
        write_document("http.yaml", scripted(call("acp.web.say", {"text": "hi"}), "Got: {last}"))
        with Agent("http.yaml") as agent:
            agent.initialize()
            session = agent.new([{"type": "http", "name": "web", "url": url, "headers": [{"name": "x-key", "value": "k7"}]}])
            _, updates = agent.prompt(session, "go")
            check(text_of(updates).endswith("|k7"), "the header", updates)
    finally:
        started.kill()
        started.wait()


def test_servers_that_fail():
    """The session opens without them; its first prompt and the log say why."""
    write_document("fails.yaml", scripted("Still here."))
    broken = [{"name": "gone", "command": "/nonexistent/program", "args": [], "env": []},
              {"name": "ends", "command": "/bin/true", "args": [], "env": []}]
    with Agent("fails.yaml") as agent:
        agent.initialize()
        session = agent.new(broken)
        _, updates = agent.prompt(session, "go")
        text = text_of(updates)
        check(text.endswith("\n\nStill here."), "it works", updates)
        check("server `gone` of the client cannot be used" in text and "/nonexistent/program" in text and "server `ends`" in text, "the notices", text)
        _, updates = agent.prompt(session, "again")
        check(text_of(updates) == "Still here.", "they are said once", updates)
        session = agent.new(broken[:1])
        _, updates = agent.prompt(session, "/mode")
        check("server `gone` of the client cannot be used" in text_of(updates), "before the answer to a command, too", updates)
    check("/nonexistent/program" in agent.err and "server `ends`" in agent.err, "the log", agent.err)
    with Agent("fails.yaml", "--no-mcp") as agent:
        check(agent.initialize()["agentCapabilities"]["mcpCapabilities"] == {"http": False, "sse": False}, "capabilities")
        agent.new(broken)
    check("/nonexistent" not in agent.err, "nothing was started", agent.err)
    with open("tenon.yaml", "w") as file:
        file.write('tools: {approval: {"node:mcp.connect": deny}}\n')
    try:
        with Agent("fails.yaml") as agent:
            agent.initialize()
            _, updates = agent.prompt(agent.new([server("tools", PID_FILE=os.path.abspath("denied.pid"))]), "go")
            check("servers of the client cannot be used" in text_of(updates), "the notice", updates)
        check("cannot be used" in agent.err and not os.path.exists("denied.pid"), "the operator denies it", agent.err)
    finally:
        os.remove("tenon.yaml")


def test_load_with_servers():
    write_document("again.yaml", scripted(call("acp.tools.say", {"text": "hi"}), "Got: {last}"))
    with Agent("again.yaml") as agent:
        agent.initialize()
        session = agent.new()
        agent.prompt(session, "without")
    with Agent("again.yaml") as agent:
        agent.initialize()
        agent.request("session/load", sessionId=session, cwd=os.getcwd(), mcpServers=[server("tools", GREETING="loaded")])
        _, updates = agent.prompt(session, "with")
        check("|loaded|" in text_of(updates), "the tool", updates)


if __name__ == "__main__":
    run_tests(globals(), sys.argv[1:])
