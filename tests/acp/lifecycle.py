"""lifecycle.py: `tenon acp` from initialize to the end: versions, sessions, content, settings, mistakes."""
import json
import os
import sys
import threading
import time

from harness import Agent, Refused, call, check, kinds_of, run_tests, scripted, text_of, write_document

UNKNOWN = "0193a0c2-7c4e-7b1e-8a55-2b6c1c9f0d11"


def test_initialize():
    write_document("hello.yaml", scripted("Hello!"))
    with Agent("hello.yaml") as agent:
        agent.refused("session/new", -32600, "initialize", cwd="/", mcpServers=[])
        agent.refused("initialize", -32602, "protocolVersion", protocolVersion="one")
        agent.refused("initialize", -32602, "protocolVersion")
        hello = agent.initialize(version=7)
        check(hello["protocolVersion"] == 1 and hello["authMethods"] == [], "initialize", hello)
        check(hello["agentInfo"]["name"] == "hello", "agentInfo", hello)
        has = hello["agentCapabilities"]
        check(has["loadSession"] and has["promptCapabilities"] == {"image": True, "audio": True, "embeddedContext": True}, "prompts", has)
        check(has["mcpCapabilities"] == {"http": True, "sse": False}, "servers", has)
        check(set(has["sessionCapabilities"]) == {"list", "delete", "resume", "close", "additionalDirectories"}, "sessions", has)
        agent.refused("initialize", -32600, "twice", protocolVersion=1)
        agent.refused("authenticate", -32602, "methodId", methodId="x")
        check(agent.request("logout") == {}, "logout")
        agent.refused("session/fork", -32601, "session/fork", sessionId=UNKNOWN)
    check(agent.process.returncode == 0, "the exit code", agent.process.returncode)


def test_a_wrong_document():
    """Reported at once, with the exit code of `tenon run`, whether the editor sends something or not."""
    with open("wrong.yaml", "w") as file:
        file.write('version: "1.0"\nagent: {name: wrong}\nnods: []\nedges: []\n')
    for document, code, why in [("wrong.yaml", 3, "wrong.yaml:3:1: error[ADL-E021]"), ("nope.yaml", 2, "nope.yaml"), ("-", 2, "messages of the editor")]:
        agent = Agent(document)
        agent.process.wait(20)
        agent.end()
        check(agent.process.returncode == code and why in agent.err, document, agent.process.returncode, agent.err)
        check(not agent.updates and not agent.waiting, "nothing on standard output", document)


def test_an_edited_document():
    """A new session gets the document as it is now, with other models and another input."""
    write_document("edited.yaml", scripted("Before."))
    with Agent("edited.yaml") as agent:
        agent.initialize()
        check(text_of(agent.prompt(agent.new(), "hi")[1]) == "Before.", "before", agent.updates)
        node = "[{id: a, type: prompt, config: {template: 'Hello, {name}!', output_key: greeting}}]"
        write_document("edited.yaml", "{}", node, "[{name: name, type: last_value}, {name: greeting, type: last_value}]",
                       "input: {type: object, properties: {name: {type: string}}}\n")
        session = agent.new()
        check(text_of(agent.prompt(session, "Ada")[1]) == "Hello, Ada!", "after", agent.updates)
        with open("edited.yaml", "w") as file:
            file.write("nods: []\n")
        agent.refused("session/new", -32603, "`edges`", cwd="/", mcpServers=[])
        agent.refused("session/prompt", -32603, "`edges`", sessionId=session, prompt=[{"type": "text", "text": "x"}])
        write_document("edited.yaml", scripted("Again."))
        check(text_of(agent.prompt(agent.new(), "hi")[1]) == "Again.", "repaired", agent.updates)


def test_a_conversation():
    write_document("talk.yaml", scripted("One.", "Two."))
    with Agent("talk.yaml", "--context", "1000") as agent:
        agent.initialize()
        session = agent.new()
        commands = agent.wait_update("available_commands_update")["availableCommands"]
        check([c["name"] for c in commands] == ["graph", "mode", "model", "state"], "commands", commands)
        answer, updates = agent.prompt(session, "A first question\nand more")
        check(answer == {"stopReason": "end_turn"} and text_of(updates) == "One.", "the answer", answer, updates)
        chunks = [u for u in updates if u["sessionUpdate"] == "agent_message_chunk"]
        check(len({c["messageId"] for c in chunks}) == 1, "one message", chunks)
        info = [u for u in updates if u["sessionUpdate"] == "session_info_update"]
        check(info[0]["title"] == "A first question" and "updatedAt" in info[-1], "the title", info)
        usage = [u for u in updates if u["sessionUpdate"] == "usage_update"]
        check(len(usage) == 1 and usage[0]["size"] == 1000 and usage[0]["used"] > 0, "usage", usage)
        answer, updates = agent.prompt(session, "And?")
        check(text_of(updates) == "Two." and "title" not in json.dumps(updates), "the second answer", updates)
        listed = agent.request("session/list")["sessions"]
        check([s["sessionId"] for s in listed] == [session] and listed[0]["title"] == "A first question", "the list", listed)


def test_content():
    write_document("echo.yaml", scripted("{last}"))
    with Agent("echo.yaml") as agent:
        agent.initialize()
        session = agent.new()
        _, updates = agent.prompt(session, [
            {"type": "text", "text": "Look:"}, {"type": "image", "mimeType": "image/png", "data": "aGk="},
            {"type": "audio", "mimeType": "audio/wav", "data": "aGk="},
            {"type": "resource_link", "uri": "file:///a/b.txt", "name": "b.txt"},
            {"type": "resource", "resource": {"uri": "file:///a/c.txt", "text": "Inside.", "mimeType": "text/plain"}},
            {"type": "resource", "resource": {"uri": "file:///a/d.bin", "blob": "aGk="}}])
        _, updates = agent.prompt(session, "/state")
        state = json.loads(text_of(updates).strip("`").removeprefix("json"))
        parts = state["messages"][0]["content"]
        check([p["type"] for p in parts] == ["text", "image", "audio", "text", "text", "file"], "parts", parts)
        check(parts[1]["media_type"] == "image/png" and parts[5]["name"] == "d.bin", "media", parts)
        check("file:///a/b.txt" in parts[3]["text"] and "Inside." in parts[4]["text"], "resources", parts)
        for block, why in [({"type": "text"}, "text"), ({"type": "video", "data": ""}, "video"), ({"type": "image", "data": "x"}, "mimeType"),
                           ({"type": "resource", "resource": {"uri": "x"}}, "resource"), ("text", "prompt/0")]:
            agent.refused("session/prompt", -32602, why, sessionId=session, prompt=[block])
        for block in [{"type": "image", "mimeType": "image/png", "data": "!!!notbase64"}, {"type": "audio", "mimeType": "audio/wav", "data": "aGk"},
                      {"type": "resource", "resource": {"uri": "x", "blob": "a b"}}]:
            agent.refused("session/prompt", -32602, "base64", sessionId=session, prompt=[block])
        agent.refused("session/prompt", -32602, "prompt", sessionId=session, prompt=[])
        agent.refused("session/prompt", -32602, "prompt", sessionId=session, prompt=[{"type": "text", "text": "x"}] * 1001)
        # Members of other types of blocks have no meaning, and are not validated.
        for block in [{"type": "image", "mimeType": "image/png", "data": "aGk="}, {"type": "text", "text": "x"}]:
            for resource in [{}, {"uri": 7}, 7, {"text": "x"}, {"blob": "x"}]:
                agent.prompt(session, [{**block, "resource": resource}])


def test_other_inputs():
    """Documents without a channel of messages: one text, a given channel, or JSON."""
    node = "[{id: a, type: prompt, config: {template: 'Hello, {name}!', output_key: greeting}}]"
    channels = "[{name: name, type: last_value}, {name: greeting, type: last_value}]"
    write_document("text.yaml", "{}", node, channels, "input: {type: object, properties: {name: {type: string}}}\n")
    with Agent("text.yaml") as agent:
        has = agent.initialize()["agentCapabilities"]
        check(has["promptCapabilities"] == {"image": False, "audio": False, "embeddedContext": True}, "prompts", has)
        session = agent.new()
        _, updates = agent.prompt(session, "Ada")
        check(text_of(updates) == "Hello, Ada!", "the answer", updates)
        agent.refused("session/prompt", -32602, "image", sessionId=session,
                      prompt=[{"type": "image", "mimeType": "image/png", "data": ""}])
    write_document("json.yaml", "{}", node, channels)
    with Agent("json.yaml") as agent:
        agent.initialize()
        session = agent.new()
        agent.refused("session/prompt", -32602, "JSON", sessionId=session, prompt=[{"type": "text", "text": "Ada"}])
        _, updates = agent.prompt(session, '{"name": "Ada"}')
        check('"greeting": "Hello, Ada!"' in text_of(updates), "the answer", updates)
    with Agent("json.yaml", "--channel", "name") as agent:
        agent.initialize()
        session = agent.new()
        _, updates = agent.prompt(session, "Grace")
        check(text_of(updates) == "Hello, Grace!", "the answer", updates)


def test_settings():
    roles = {"default": {"provider": "scripted", "replies": ["the default"]}, "fast": {"provider": "scripted", "model": "f", "replies": ["the fast one"]}}
    write_document("roles.yaml", json.dumps(roles))
    with Agent("roles.yaml") as agent:
        agent.initialize()
        opened = agent.request("session/new", cwd="/", mcpServers=[])
        session, options = opened["sessionId"], opened["configOptions"]
        check(opened["modes"]["currentModeId"] == "ask" and len(opened["modes"]["availableModes"]) == 3, "modes", opened)
        check([(o["id"], o["category"], o["currentValue"]) for o in options] == [("mode", "mode", "ask"), ("model.default", "model", "default"), ("model.fast", "model", "fast")], "options", options)
        check([c["value"] for c in options[1]["options"]] == ["default", "fast"], "choices", options)
        _, updates = agent.prompt(session, "hi")
        check(text_of(updates) == "the default", "before", updates)
        changed = agent.request("session/set_config_option", sessionId=session, configId="model.default", value="fast")
        check(changed["configOptions"][1]["currentValue"] == "fast", "changed", changed)
        _, updates = agent.prompt(session, "hi")
        check(text_of(updates) == "the fast one", "after", updates)
        agent.refused("session/set_config_option", -32602, "slow", sessionId=session, configId="model.default", value="slow")
        agent.refused("session/set_config_option", -32602, "role `x`", sessionId=session, configId="model.x", value="fast")
        agent.refused("session/set_config_option", -32602, "colour", sessionId=session, configId="colour", value="red")
        agent.refused("session/set_config_option", -32602, "boolean", sessionId=session, configId="model.default", type="boolean", value=True)
        check(agent.request("session/set_mode", sessionId=session, modeId="reject") == {}, "set_mode")
        check(agent.wait_update("config_option_update")["configOptions"][0]["currentValue"] == "reject", "the option follows the mode")
        changed = agent.request("session/set_config_option", sessionId=session, configId="mode", value="ask")
        check(changed["configOptions"][0]["currentValue"] == "ask", "the mode as an option", changed)
        agent.wait_update("current_mode_update", currentModeId="ask")
        agent.refused("session/set_config_option", -32602, "yolo", sessionId=session, configId="mode", value="yolo")
        agent.refused("session/set_mode", -32602, "modeId", sessionId=session, modeId="yolo")
        agent.prompt(session, "/mode allow")
        agent.wait_update("current_mode_update", currentModeId="allow")
        agent.prompt(session, "/model fast")
        _, updates = agent.prompt(session, "/model")
        lines = text_of(updates).splitlines()
        check("- `default`: scripted, the model of `fast`" in lines and "- `fast`: scripted" in lines, "the roles", lines)
        check("- `default`: scripted" in lines and "- `fast`: scripted (current)" in lines, "the choices", lines)
        _, updates = agent.prompt(session, "/model slow")
        check("`slow`" in text_of(updates), "an unknown name", updates)
        _, updates = agent.prompt(session, "/model default=default")
        check(agent.wait_update("config_option_update")["configOptions"][1]["currentValue"] == "default", "by a command", updates)
        _, updates = agent.prompt(session, "/graph")
        check("mermaid" in text_of(updates), "/graph", updates)
        answer, updates = agent.prompt(session, "/unknown command")
        check(text_of(updates) == "the default", "any other text is a prompt", updates)


def test_sessions():
    write_document("many.yaml", scripted("Yes.", "Again."))
    here, other = os.getcwd(), "/tmp"
    with Agent("many.yaml") as agent:
        agent.initialize()
        check(agent.request("session/list") == {"sessions": []}, "nothing is saved")
        ids = [agent.new() for _ in range(3)]
        check(agent.request("session/list") == {"sessions": []}, "a session is saved with its first prompt")
        agent.request("session/close", sessionId=ids[2])
        agent.refused("session/load", -32002, "first prompt", sessionId=ids[2], cwd=here, mcpServers=[])
        agent.request("session/delete", sessionId=ids[2])
        for session in ids[:2]:
            agent.prompt(session, "Question of " + session)
        there = agent.request("session/new", cwd=other, mcpServers=[], additionalDirectories=["/usr"])["sessionId"]
        agent.prompt(there, "elsewhere")
        found = agent.request("session/list", cwd=other)["sessions"]
        check([(s["sessionId"], s["cwd"], s["additionalDirectories"]) for s in found] == [(there, other, ["/usr"])], "by folder", found)
        found = agent.request("session/list", cwd=here)["sessions"]
        check({s["sessionId"] for s in found} == set(ids[:2]), "by folder", found)
        agent.refused("session/list", -32602, "cursor", cursor=UNKNOWN)
        check(agent.request("session/close", sessionId=ids[0]) == {}, "close")
        for method, more in [("session/prompt", {"prompt": [{"type": "text", "text": "x"}]}), ("session/close", {}),
                             ("session/set_mode", {"modeId": "ask"})]:
            agent.refused(method, -32002, ids[0], sessionId=ids[0], **more)
        before = len(agent.updates)
        loaded = agent.request("session/load", sessionId=ids[0], cwd=here, mcpServers=[])
        check("modes" in loaded and "configOptions" in loaded, "load", loaded)
        replay = agent.updates[before:]
        check(kinds_of(replay)[:2] == ["user_message_chunk", "agent_message_chunk"] and text_of(replay) == "Yes.", "replay", replay)
        check(text_of(replay, "user_message_chunk") == "Question of " + ids[0], "replay", replay)
        _, updates = agent.prompt(ids[0], "more")
        check(text_of(updates) == "Again.", "it continues", updates)
        agent.request("session/close", sessionId=ids[1])
        before = len(agent.updates)
        agent.request("session/resume", sessionId=ids[1], cwd=here)
        agent.prompt(ids[1], "/mode ask")
        check(not text_of(agent.updates[before:], "user_message_chunk"), "no replay", agent.updates[before:])
        agent.request("session/delete", sessionId=ids[1])
        agent.request("session/delete", sessionId=ids[0])
        agent.refused("session/load", -32002, ids[0], sessionId=ids[0], cwd=here, mcpServers=[])
        check(agent.request("session/delete", sessionId=UNKNOWN) == {}, "what does not exist is deleted")
        check([s["sessionId"] for s in agent.request("session/list")["sessions"]] == [there], "what is left")


def test_pages():
    write_document("pages.yaml", scripted("Yes."))
    with Agent("pages.yaml") as agent:
        agent.initialize()
        ids = [agent.new() for _ in range(53)]
        numbers = [agent.start_prompt(session, "hi") for session in ids]
        for number in numbers:
            agent.wait(number)
        first = agent.request("session/list")
        second = agent.request("session/list", cursor=first["nextCursor"])
        check(len(first["sessions"]) == 50 and len(second["sessions"]) == 3 and "nextCursor" not in second, "pages", second)
        check({s["sessionId"] for s in first["sessions"] + second["sessions"]} == set(ids), "all of them")
        for _ in range(47):
            agent.new()
        agent.refused("session/new", -32603, "LIMIT", cwd="/", mcpServers=[])


def test_other_threads():
    """A thread of another document does not belong to this agent; one of `tenon chat` is not listed."""
    write_document("one.yaml", scripted("One."))
    write_document("two.yaml", scripted("Two."))
    with Agent("one.yaml") as agent:
        agent.initialize()
        session = agent.new()
        agent.prompt(session, "hi")
    with Agent("two.yaml") as agent:
        agent.initialize()
        agent.refused("session/load", -32002, session, sessionId=session, cwd="/", mcpServers=[])
        check(agent.request("session/list")["sessions"] == [], "no session")


def test_mistakes():
    write_document("mistakes.yaml", scripted("Yes."))
    with Agent("mistakes.yaml") as agent:
        agent.initialize()
        session = agent.new()
        for params, why in [({}, "cwd"), ({"cwd": "here", "mcpServers": []}, "`cwd`: found `here`, expected an absolute path"),
                            ({"cwd": "", "mcpServers": []}, "expected an absolute path"), ({"cwd": "/a\0b", "mcpServers": []}, "expected an absolute path"),
                            ({"cwd": "/"}, "mcpServers"),
                            ({"cwd": "/", "mcpServers": {}}, "mcpServers"), ({"cwd": "/", "mcpServers": [{"name": "x"}]}, "command"),
                            ({"cwd": "/", "mcpServers": [{"name": "x", "type": "http"}]}, "url"),
                            ({"cwd": "/", "mcpServers": [{"name": "x", "type": "sse", "url": "http://x/", "headers": []}]}, "sse"),
                            ({"cwd": "/", "mcpServers": [{"name": "x", "command": "y", "args": [], "env": []}] * 17}, "16"),
                            ({"cwd": "/", "mcpServers": [], "additionalDirectories": ["/", "x"]}, "`additionalDirectories`: found `x`, expected an absolute path")]:
            agent.refused("session/new", -32602, why, **params)
        agent.refused("session/prompt", -32602, "sessionId", prompt=[])
        agent.refused("session/load", -32002, "none", sessionId="none", cwd="/", mcpServers=[])
        agent.refused("session/load", -32602, "sessionId", sessionId="x" * 201, cwd="/", mcpServers=[])
        agent.refused("session/load", -32002, "session/new", sessionId="ä" * 101, cwd="/", mcpServers=[])  # 202 bytes
        check(agent.request("session/delete", sessionId="ä" * 101) == {}, "what cannot exist is deleted")
        agent.notify("session/cancel", sessionId="none")
        agent.notify("session/cancel")
        agent.notify("unknown/notification", x=1)
        agent.write("{not json\n\n")
        agent.write(b'{"jsonrpc":"2.0","id":"a","method":"\xff"}\n')
        agent.write("[]\n" + '{"jsonrpc":"2.0","id":"text","method":7}\n')
        agent._wait(lambda: "text" in agent.waiting, "the answers to malformed messages")
        answer, _ = agent.prompt(session, "still here?")
        check(answer["stopReason"] == "end_turn", "it continues", answer)
    check("Error" not in agent.err and not agent.err, "nothing is logged", agent.err)


def memory_of(agent):
    """Bytes of memory of the process."""
    with open("/proc/%d/statm" % agent.process.pid) as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_a_client_that_does_not_read():
    """The run waits, memory stays, and nothing is lost."""
    text = "0123456789abcdef" * 8000
    write_document("flood.yaml", scripted(text, templates=False))
    with Agent("flood.yaml") as agent:
        agent.initialize()
        session = agent.new()
        agent.reads.clear()
        number = agent.start_prompt(session, "go")
        before = memory_of(agent)
        time.sleep(0.8)
        check(memory_of(agent) - before < 48 << 20, "memory", memory_of(agent) - before)
        agent.reads.set()
        check(agent.wait(number) == {"stopReason": "end_turn"}, "the end")
        check(text_of(agent.updates) == text, "the text is complete")


def test_the_end_of_a_client_that_does_not_read():
    write_document("stuck.yaml", scripted("0123456789abcdef" * 8000, templates=False))
    agent = Agent("stuck.yaml")
    agent.initialize()
    session = agent.new()
    agent.reads.clear()
    agent.start_prompt(session, "go")
    time.sleep(0.5)
    agent.process.terminate()
    agent.process.wait(20)
    check(agent.process.returncode == 130, "the exit code", agent.process.returncode)
    agent.reads.set()
    agent.end(kill=True)


def test_many_requests():
    """Without reading the answers: those beyond the limit of open requests are refused, and all are answered."""
    write_document("requests.yaml", scripted("Yes."))
    with Agent("requests.yaml") as agent:
        agent.initialize()
        agent.reads.clear()
        writer = threading.Thread(target=lambda: [agent.start("session/list") for _ in range(3000)])
        writer.start()
        time.sleep(0.5)
        agent.reads.set()
        writer.join(30)
        limits = 0
        for number in range(2, 3002):
            try:
                agent.wait(number)
            except Refused as error:
                limits += "limit" in error.message
                check("limit" in error.message, "refused", error.message)
        check(agent.prompt(agent.new(), "hi")[0] == {"stopReason": "end_turn"}, "it continues", limits)


def test_the_end_of_the_input():
    """Open prompts are answered first."""
    write_document("end.yaml", scripted("Yes."))
    with Agent("end.yaml") as agent:
        agent.initialize()
        session = agent.new()
        number = agent.start_prompt(session, "hi")
        agent.process.stdin.close()
        check(agent.wait(number)["stopReason"] == "end_turn", "answered")
        agent.process.wait(20)


if __name__ == "__main__":
    run_tests(globals(), sys.argv[1:])
