"""prompts.py: what happens in a prompt: cancelling, approvals, questions, calls of tools, plans, usage, and a killed process."""
import json
import os
import sys
import time

from harness import Agent, Refused, call, check, kinds_of, run_tests, scripted, text_of, write_document

NODES = ["--plugins", os.environ["TEST_NODES"]]
SLOW = {"message": "one two three four five six seven", "delay_ms": 0}


def allow(option):
    return lambda method, params: {"outcome": {"outcome": "selected", "optionId": option}}


def tools_of(updates):
    return [u for u in updates if u["sessionUpdate"].startswith("tool_call")]


# ---- Cancelling ----

def test_cancel():
    write_document("slow.yaml", scripted("a very long answer " * 50, "Quick.", chunk=4, delay_ms=30))
    with Agent("slow.yaml") as agent:
        agent.initialize()
        session = agent.new()
        number = agent.start_prompt(session, "first")
        agent.wait_update("agent_message_chunk")
        agent.refused("session/prompt", -32600, "open prompt", sessionId=session, prompt=[{"type": "text", "text": "x"}])
        agent.refused("session/load", -32600, "busy", sessionId=session, cwd="/", mcpServers=[])
        agent.notify("session/cancel", sessionId=session)
        agent.notify("session/cancel", sessionId=session)
        check(agent.wait(number) == {"stopReason": "cancelled"}, "cancelled")
        agent.notify("session/cancel", sessionId=session)  # nothing is open
        number = agent.start_prompt(session, "second")
        agent.wait_update("agent_message_chunk")
        agent.notify("$/cancel_request", requestId=number)
        check(agent.wait(number) == {"stopReason": "cancelled"}, "the request was cancelled")
        number = agent.start_prompt(session, "third")
        agent.wait_update("agent_message_chunk")
        check(agent.request("session/close", sessionId=session) == {}, "close cancels")
        check(agent.wait(number) == {"stopReason": "cancelled"}, "closed")
    write_document("slow.yaml", scripted("The answer."))
    with Agent("slow.yaml", "--accept-changes") as agent:
        agent.initialize()
        agent.request("session/resume", sessionId=session, cwd="/")
        answer, updates = agent.prompt(session, "again")
        check(text_of(updates) == "The answer.", "a cancelled turn is discarded", updates)
        _, updates = agent.prompt(session, "/state")
        check("first" not in text_of(updates) and "again" in text_of(updates), "its messages are removed", updates)


def test_cancel_an_approval():
    write_document("tally.yaml", scripted(call("test.tally"), "Done: {last}"))
    with Agent("tally.yaml", *NODES) as agent:
        agent.initialize()
        session = agent.new()
        number = agent.start_prompt(session, "count")
        asked = agent.wait_request("session/request_permission")
        agent.notify("session/cancel", sessionId=session)
        check(agent.wait(number) == {"stopReason": "cancelled"}, "cancelled")
        check(agent.wait_request("$/cancel_request")["params"]["requestId"] == asked["id"], "the question is withdrawn")
        agent.send({"id": asked["id"], "result": {"outcome": {"outcome": "cancelled"}}})
        agent.wait_update("tool_call_update", status="failed")
        number = agent.start_prompt(session, "count again")
        asked = agent.wait_request("session/request_permission", 2)
        agent.send({"id": asked["id"], "result": {"outcome": {"outcome": "cancelled"}}})
        check(agent.wait(number) == {"stopReason": "cancelled"}, "the client cancels")
        number = agent.start_prompt(session, "once more")
        asked = agent.wait_request("session/request_permission", 3)
        agent.process.stdin.close()
        check(agent.wait(number) == {"stopReason": "cancelled"}, "the client ends")


def test_close_at_an_approval():
    write_document("closing.yaml", scripted(call("test.tally"), "Done: {last}"))
    for method in ("session/close", "session/delete"):
        with Agent("closing.yaml", *NODES) as agent:
            agent.initialize()
            session = agent.new()
            number = agent.start_prompt(session, "count")
            agent.wait_request("session/request_permission")
            check(agent.request(method, sessionId=session) == {}, method)
            check(agent.wait(number) == {"stopReason": "cancelled"}, "the prompt")
            agent.refused("session/set_mode", -32002, session, sessionId=session, modeId="ask")


# ---- Approvals ----

def approvals(option, prompts=1, mode=None):
    write_document("tally.yaml", scripted(call("test.tally", {"unused": 1}), "Done: {last}"))
    with Agent("tally.yaml", *NODES, answer=allow(option)) as agent:
        agent.initialize()
        session = agent.new()
        if mode:
            agent.request("session/set_mode", sessionId=session, modeId=mode)
        all_updates = []
        for _ in range(prompts):
            answer, updates = agent.prompt(session, "count")
            check(answer == {"stopReason": "end_turn"}, "the end", answer)
            all_updates.append(updates)
        return agent.requests, all_updates


def test_approvals():
    requests, [updates] = approvals("allow_once")
    asked = requests[0]["params"]
    check([o["kind"] for o in asked["options"]] == ["allow_once", "allow_always", "reject_once", "reject_always"], "options", asked)
    check(asked["toolCall"]["status"] == "pending" and asked["toolCall"]["rawInput"] == {"unused": 1}, "the call", asked)
    shown = tools_of(updates)
    check([u.get("status") for u in shown] == ["pending", "in_progress", "completed"], "the states", shown)
    check(len({u["toolCallId"] for u in shown} | {asked["toolCall"]["toolCallId"]}) == 1, "one call", shown)
    check(text_of(updates) == "Done: tallied 1" and shown[2]["rawOutput"] == "tallied 1", "the result", updates)
    requests, updates = approvals("allow_once", 2)
    check(len(requests) == 2, "asked each time", requests)
    requests, updates = approvals("allow_always", 2)
    check(len(requests) == 1 and text_of(updates[1]) == "Done: tallied 2", "asked once", updates)
    requests, updates = approvals("reject_once", 2)
    check(len(requests) == 2 and "rejected" in text_of(updates[1]), "rejected", updates)
    check([u["status"] for u in tools_of(updates[0])][-1] == "failed", "a rejected call has failed", updates)
    requests, updates = approvals("reject_always", 2)
    check(len(requests) == 1 and "rejected" in text_of(updates[1]), "rejected always", updates)
    requests, [updates] = approvals("", mode="allow")
    check(not requests and text_of(updates) == "Done: tallied 1", "the mode allow", updates)
    requests, [updates] = approvals("", mode="reject")
    check(not requests and "rejected" in text_of(updates), "the mode reject", updates)


def test_a_wrong_answer():
    """An option that was not offered cancels; an error is said, and the approval is asked again."""
    write_document("tally.yaml", scripted(call("test.tally"), "Done: {last}"))
    with Agent("tally.yaml", *NODES) as agent:
        agent.initialize()
        session = agent.new()
        number = agent.start_prompt(session, "count")
        asked = agent.wait_request("session/request_permission")
        agent.send({"id": asked["id"], "result": {"outcome": {"outcome": "selected", "optionId": "whatever"}}})
        check(agent.wait(number) == {"stopReason": "cancelled"}, "an unknown option")
        number = agent.start_prompt(session, "count")
        asked = agent.wait_request("session/request_permission", 2)
        agent.send({"id": asked["id"], "error": {"code": -32601, "message": "I cannot ask"}})
        check(agent.wait(number) == {"stopReason": "end_turn"} and "I cannot ask" in text_of(agent.updates), "the error is said")
        agent.answer = allow("allow_once")
        answer, updates = agent.prompt(session, "go on")
        check(answer == {"stopReason": "end_turn"} and len(agent.requests) == 4, "asked again, and by the next turn", agent.requests)
        check(text_of(updates) == "Done: tallied 1Done: tallied 2", "both turns", updates)


def test_a_pause():
    write_document("pause.yaml", scripted("After the pause."),
                   "[{id: a, type: llm, interrupt: before, config: {messages_key: messages}}]")
    with Agent("pause.yaml", answer=allow("reject_once")) as agent:
        agent.initialize()
        session = agent.new()
        answer, updates = agent.prompt(session, "hi")
        check(answer == {"stopReason": "end_turn"} and not text_of(updates), "stopped there", updates)
        agent.answer = allow("allow_once")
        answer, updates = agent.prompt(session, "and now")
        check(text_of(updates).startswith("After the pause."), "continued", updates)
        check(len(agent.requests) == 3, "the pause of the next turn, too", agent.requests)


# ---- Questions ----

def ask_document(name, schema):
    more = "" if schema is None else ", schema: " + json.dumps(schema)
    return write_document(name, "{}", "[{id: a, type: test.ask, config: {out: answer%s}}]" % more,
                          "[{name: messages, type: append}, {name: answer, type: last_value}]")


def answer_in(agent, session):
    _, updates = agent.prompt(session, "/state")
    return json.loads(text_of(updates).strip("`").removeprefix("json"))["answer"]


def test_forms():
    person = {"type": "object", "properties": {"name": {"type": "string", "minLength": 1}, "age": {"type": "integer"},
                                               "size": {"enum": ["s", "m"]}}, "required": ["name"]}
    for schema, content, expected, wrapped in [
            (person, {"name": "Ada", "age": 36}, {"name": "Ada", "age": 36}, False),
            ({"type": "boolean"}, {"answer": True}, True, True), ({"type": "string"}, {"answer": "7"}, "7", True),
            ({"type": "integer", "minimum": 3}, {"answer": 5}, 5, True), (None, {"answer": "yes"}, "yes", True)]:
        ask_document("form.yaml", schema)
        with Agent("form.yaml", *NODES, answer=lambda *_: {"action": "accept", "content": content}) as agent:
            agent.initialize({"elicitation": {"form": {}}})
            session = agent.new()
            answer, updates = agent.prompt(session, "go")
            asked = agent.requests[0]["params"]
            check(asked["mode"] == "form" and asked["message"] == "may I?" and asked["sessionId"] == session, "asked", asked)
            check(set(asked["requestedSchema"]["properties"]) == ({"answer"} if wrapped else {"name", "age", "size"}), "the form", asked)
            check(answer == {"stopReason": "end_turn"} and answer_in(agent, session) == expected, "the answer", updates)


def test_a_form_has_only_what_the_protocol_has():
    """Other formats, and limits that are not whole numbers, are left out; the run checks the answer with the whole schema."""
    fields = {"id": {"type": "string", "format": "uuid"}, "day": {"type": "string", "format": "date"},
              "n": {"type": "integer", "minimum": 0.5, "maximum": 9}}
    ask_document("form.yaml", {"type": "object", "properties": fields})
    with Agent("form.yaml", *NODES, answer=lambda *_: {"action": "accept", "content": {"n": 1}}) as agent:
        agent.initialize({"elicitation": {"form": {}}})
        session = agent.new()
        answer, updates = agent.prompt(session, "go")
        asked = agent.requests[0]["params"]["requestedSchema"]["properties"]
        check(asked == {"id": {"type": "string"}, "day": fields["day"], "n": {"type": "integer", "maximum": 9}}, "the form", asked)
        check(answer_in(agent, session) == {"n": 1}, "the answer", updates)


def test_questions_in_the_text():
    """Without forms, for schemas that no form can have, and if the person declines."""
    deep = {"type": "object", "properties": {"a": {"type": "object"}}}
    for schema, capabilities, reply, text, expected in [
            ({"type": "boolean"}, {}, None, "true", True), ({"type": "string"}, {}, None, "42", "42"),
            (deep, {"elicitation": {"form": {}}}, None, '{"a": {}}', {"a": {}}),
            ({"type": "boolean"}, {"elicitation": {"form": {}}}, {"action": "decline"}, "false", False),
            ({"type": "boolean"}, {"elicitation": {"form": {}}}, {"action": "cancel"}, "false", False)]:
        ask_document("words.yaml", schema)
        with Agent("words.yaml", *NODES, answer=lambda *_: reply) as agent:
            agent.initialize(capabilities)
            session = agent.new()
            answer, updates = agent.prompt(session, "go")
            check(answer == {"stopReason": "end_turn"} and text_of(updates) == "may I?", "asked", updates)
            answer, updates = agent.prompt(session, text)
            check(answer == {"stopReason": "end_turn"} and answer_in(agent, session) == expected, "the answer", updates)
            check(len(agent.requests) == (1 if reply else 0), "requests", agent.requests)


def test_declined_with_null():
    ask_document("null.yaml", None)
    with Agent("null.yaml", *NODES, answer=lambda *_: {"action": "decline"}) as agent:
        agent.initialize({"elicitation": {"form": {}}})
        session = agent.new()
        answer, _ = agent.prompt(session, "go")
        check(answer == {"stopReason": "end_turn"} and answer_in(agent, session) is None, "null", agent.updates)


def test_an_answer_that_does_not_fit():
    ask_document("fit.yaml", {"type": "integer"})
    with Agent("fit.yaml", *NODES) as agent:
        agent.initialize()
        session = agent.new()
        agent.prompt(session, "go")
        answer, updates = agent.prompt(session, "many")
        check(answer == {"stopReason": "end_turn"} and "integer" in text_of(updates), "refused", updates)
        answer, updates = agent.prompt(session, "7")
        check(answer_in(agent, session) == 7, "then it fits", updates)


# ---- Updates ----

def test_calls():
    replies = [{"content": "Two at once.", "tool_calls": [
        {"id": "x", "name": "artifact.write", "arguments": {"body": "hi", "media_type": "text/plain"}},
        {"id": "y", "name": "artifact.read", "arguments": {"artifact_id": "none"}}]}, "Done."]
    write_document("calls.yaml", scripted(*replies))
    with Agent("calls.yaml") as agent:
        agent.initialize()
        session = agent.new()
        _, updates = agent.prompt(session, "go")
        shown = tools_of(updates)
        check(kinds_of(shown)[:3] == ["tool_call", "tool_call", "tool_call_update"], "calls", shown)
        check(shown[0]["title"] == "Writes an Artifact" and shown[0]["kind"] == "other", "the title", shown)
        states = {u["toolCallId"]: u["status"] for u in shown}  # the last ones
        check(list(states.values()) == ["completed", "failed"], "the states", shown)
        check(text_of(updates) == "Two at once.Done.", "the text once", updates)
        ids = {u["messageId"] for u in updates if u["sessionUpdate"] == "agent_message_chunk"}
        check(len(ids) == 2, "two messages", updates)
        first = {u["toolCallId"] for u in shown}
        _, updates = agent.prompt(session, "again")
        check(not first & {u["toolCallId"] for u in tools_of(updates)}, "ids differ, although the model repeats them", updates)
        agent.request("session/close", sessionId=session)
        before = len(agent.updates)
        agent.request("session/load", sessionId=session, cwd=os.getcwd(), mcpServers=[])
        replay = [k for k in kinds_of(agent.updates[before:])]
        check(replay[:7] == ["user_message_chunk", "agent_message_chunk", "tool_call", "tool_call", "tool_call_update",
                             "tool_call_update", "agent_message_chunk"], "the replay", replay)


def test_plans():
    entries = '[{"content": "Read", "status": "completed", "priority": "high"}, {"title": "Write", "status": "running"}, "Ship"]'
    expected = [{"content": "Read", "status": "completed", "priority": "high"},
                {"content": "Write", "status": "in_progress", "priority": "medium"},
                {"content": "Ship", "status": "pending", "priority": "medium"}]
    channels = "[{name: messages, type: append}, {name: plan, type: last_value}]"
    for node in ["[{id: a, type: emit, config: {value: '{\"plan\": %s}'}}]" % entries,
                 "[{id: a, type: emit, config: {value: '{\"type\": \"plan\", \"entries\": %s}'}}]" % entries,
                 "[{id: a, type: set, config: {values: {plan: '%s'}}}]" % entries,
                 "[{id: a, type: set, config: {values: {plan: '{\"steps\": %s}'}}}]" % entries]:
        write_document("plan.yaml", "{}", node, channels)
        with Agent("plan.yaml") as agent:
            agent.initialize()
            _, updates = agent.prompt(agent.new(), "plan it")
            found = [u["entries"] for u in updates if u["sessionUpdate"] == "plan"]
            check(found == [expected], "the plan", updates)


def test_messages_without_ids():
    """A channel `append` has no ids: earlier answers are not sent again."""
    write_document("append.yaml", scripted("One.", "Two."), "[{id: a, type: llm, config: {messages_key: messages}}]",
                   "[{name: messages, type: append}]")
    with Agent("append.yaml") as agent:
        agent.initialize()
        session = agent.new()
        check(text_of(agent.prompt(session, "a")[1]) == "One.", "the first answer", agent.updates)
        check(text_of(agent.prompt(session, "b")[1]) == "Two.", "only the second answer", agent.updates)


def test_two_processes():
    """While another process runs a thread, its prompt fails, and the thread stays as it is."""
    write_document("owned.yaml", scripted("a long answer " * 8, "Next.", chunk=4, delay_ms=30))
    with Agent("owned.yaml") as first, Agent("owned.yaml") as second:
        first.initialize()
        second.initialize()
        session = first.new()
        number = first.start_prompt(session, "begin")
        first.wait_update("agent_message_chunk")
        try:
            second.request("session/resume", sessionId=session, cwd="/")
        except Refused as error:
            check(error.code == -32002, "it is not saved yet", error.message)
        else:
            second.refused("session/prompt", -32603, "[OWNED]", sessionId=session, prompt=[{"type": "text", "text": "x"}])
        check(first.wait(number) == {"stopReason": "end_turn"}, "the first one is not disturbed")
        second.request("session/resume", sessionId=session, cwd="/")
        check(text_of(second.prompt(session, "more")[1]) == "Next.", "then it continues", second.updates)
        _, updates = first.prompt(session, "and I?")
        check("a long answer" in text_of(updates) or "Next" in text_of(updates), "both can", updates)


def test_a_changed_document():
    write_document("changed.yaml", scripted("Before."))
    with Agent("changed.yaml") as agent:
        agent.initialize()
        session = agent.new()
        agent.prompt(session, "hi")
    write_document("changed.yaml", scripted("x", "After."), "[{id: a, type: llm, config: {messages_key: messages}}]")
    with Agent("changed.yaml") as agent:
        agent.initialize()
        agent.request("session/resume", sessionId=session, cwd="/")
        agent.refused("session/prompt", -32603, "--accept-changes", sessionId=session, prompt=[{"type": "text", "text": "x"}])
    with Agent("changed.yaml", "--accept-changes") as agent:
        agent.initialize()
        agent.request("session/resume", sessionId=session, cwd="/")
        check(text_of(agent.prompt(session, "x")[1]) == "After.", "it continues", agent.updates)


def test_limits():
    plan = json.dumps(["step"] * 250)
    write_document("limits.yaml", "{}", "[{id: a, type: emit, config: {value: '{\"plan\": %s}'}}]" % plan,
                   "[{name: messages, type: append}]")
    with Agent("limits.yaml") as agent:
        agent.initialize()
        session = agent.new()
        _, updates = agent.prompt(session, "ä" * 100)
        check([len(u["entries"]) for u in updates if u["sessionUpdate"] == "plan"] == [200], "entries of a plan")
        check([u["title"] for u in updates if "title" in u] == ["ä" * 40], "the title has 80 bytes", updates[0])
        agent.refused("session/prompt", -32602, "16777216 bytes", sessionId=session,
                      prompt=[{"type": "text", "text": "x" * (17 << 20)}])
    ask_document("many.yaml", {"type": "object", "properties": {"m%d" % i: {"type": "string"} for i in range(101)}})
    with Agent("many.yaml", *NODES) as agent:
        agent.initialize({"elicitation": {"form": {}}})
        _, updates = agent.prompt(agent.new(), "go")
        check(text_of(updates) == "may I?" and not agent.requests, "a form with too many members", updates)


def test_stop_reasons():
    write_document("stops.yaml", scripted({"message": "cut", "finish_reason": "length"}, {"message": "no", "finish_reason": "content_filter"},
                                          {"error": {"code": "AUTH", "message": "no key"}}, "fine"))
    with Agent("stops.yaml") as agent:
        agent.initialize()
        session = agent.new()
        check(agent.prompt(session, "1")[0] == {"stopReason": "max_tokens"}, "length")
        check(agent.prompt(session, "2")[0] == {"stopReason": "refusal"}, "content_filter")
        agent.refused("session/prompt", -32603, "no key [AUTH]", sessionId=session, prompt=[{"type": "text", "text": "3"}])
    write_document("loop.yaml", scripted(call("mcp.servers")))
    with Agent("loop.yaml") as agent:
        agent.initialize()
        session = agent.new()
        answer, updates = agent.prompt(session, "forever")
        check(answer["stopReason"] == "max_turn_requests" and "max_turns" in text_of(updates), "the limit", answer)


def test_cost_and_thoughts():
    with open("tenon.yaml", "w") as file:
        file.write('prices: {"scripted:m": {input: 1000000, output: 2000000}}\n')
    usage = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5, "reasoning_tokens": 1}
    content = [{"type": "reasoning", "text": "Hm."}, {"type": "text", "text": "Yes."}]
    write_document("cost.yaml", scripted({"message": {"type": "ai", "content": content}, "usage": usage}, model="m"))
    try:
        with Agent("cost.yaml") as agent:
            agent.initialize()
            session = agent.new()
            _, updates = agent.prompt(session, "think")
            shown = [u for u in updates if u["sessionUpdate"] == "usage_update"]
            check(shown[0]["used"] == 5 and shown[0]["cost"] == {"amount": 7, "currency": "USD"}, "the cost", shown)
            check(text_of(updates) == "Yes." and text_of(updates, "agent_thought_chunk") == "Hm.", "thoughts", updates)
            _, updates = agent.prompt(session, "think again")
            shown = [u for u in updates if u["sessionUpdate"] == "usage_update"]
            check(shown[0]["used"] == 5 and shown[0]["cost"]["amount"] == 14, "the cost of the session", shown)
    finally:
        os.remove("tenon.yaml")


def test_locations_and_kinds():
    write_document("where.yaml", scripted(call("document.check", {"path": "a.yaml"}), "ok"))
    with Agent("where.yaml") as agent:
        agent.initialize()
        _, updates = agent.prompt(agent.new(), "check it")
        shown = tools_of(updates)[0]
        check(shown["locations"] == [{"path": os.getcwd() + "/a.yaml"}], "the location", shown)
        check(shown["title"].endswith(": a.yaml"), "the title", shown)


# ---- A killed process ----

def test_killed():
    """Killed in the middle of an answer: the session is loaded, and its unfinished turn is continued first."""
    write_document("killed.yaml", scripted(call("test.tally", {"unused": 5}), "The end: {last}", "More.", chunk=4, delay_ms=20))
    agent = Agent("killed.yaml", *NODES, answer=allow("allow_once"))
    agent.initialize()
    session = agent.new()
    agent.start_prompt(session, "begin")
    agent.wait_update("tool_call_update", status="completed")
    agent.wait_update("agent_message_chunk")
    agent.kill()
    with Agent("killed.yaml", *NODES, answer=allow("allow_once")) as agent:
        agent.initialize()
        check([s["sessionId"] for s in agent.request("session/list")["sessions"]][0] == session, "it is listed")
        agent.request("session/load", sessionId=session, cwd=os.getcwd(), mcpServers=[])
        check(text_of(agent.updates, "user_message_chunk") == "begin", "the replay", agent.updates)
        shown = tools_of(agent.updates)
        check([u["status"] for u in shown] == ["pending", "completed"] and shown[1]["rawOutput"] == "tallied 1", "the call of the unfinished turn", shown)
        answer, updates = agent.prompt(session, "and then?")
        check(answer == {"stopReason": "end_turn"}, "the end", answer)
        check(not tools_of(updates), "the call is not sent again", updates)
        check(text_of(updates) == "The end: tallied 1More.", "continued, then answered", updates)
        check(not [r for r in agent.requests if r["method"] == "session/request_permission"], "the tool is not called again", agent.requests)


def test_killed_at_a_question():
    """Killed while an approval is asked: it is asked again. A question is answered by the next prompt."""
    write_document("asking.yaml", scripted(call("test.tally"), "The end: {last}", "More."))
    agent = Agent("asking.yaml", *NODES)
    agent.initialize()
    session = agent.new()
    agent.start_prompt(session, "begin")
    agent.wait_request("session/request_permission")
    agent.kill()
    with Agent("asking.yaml", *NODES, answer=allow("allow_once")) as agent:
        agent.initialize()
        agent.request("session/load", sessionId=session, cwd=os.getcwd(), mcpServers=[])
        replayed = tools_of(agent.updates)
        check([u["status"] for u in replayed] == ["pending"], "the call waits", replayed)
        answer, updates = agent.prompt(session, "go on")
        check(len(agent.requests) == 1 and text_of(updates) == "The end: tallied 1More.", "asked again", updates)
        check([(u["toolCallId"], u["status"]) for u in tools_of(updates)] == [(replayed[0]["toolCallId"], s) for s in ("in_progress", "completed")],
              "the call that was replayed ends", updates)
    ask_document("question.yaml", {"type": "integer"})
    agent = Agent("question.yaml", *NODES)
    agent.initialize({"elicitation": {"form": {}}})
    session = agent.new()
    agent.start_prompt(session, "begin")
    agent.wait_request("elicitation/create")
    agent.kill()
    with Agent("question.yaml", *NODES) as agent:
        agent.initialize()
        agent.request("session/load", sessionId=session, cwd=os.getcwd(), mcpServers=[])
        check("may I?" in text_of(agent.updates), "the question is said", agent.updates)
        answer, updates = agent.prompt(session, "7")
        check(answer == {"stopReason": "end_turn"} and answer_in(agent, session) == 7, "answered", updates)


def test_a_signal():
    """The run ends after its super-step, and the next prompt continues it in another process."""
    nodes = "[{id: a, type: llm, config: {messages_key: messages}}, {id: b, type: set, config: {values: {seen: \"'b'\"}}}]"
    channels = "[{name: messages, type: reduce, reducer: messages}, {name: seen, type: last_value}]"
    write_document("signal.yaml", scripted("a long answer " * 10, "More.", chunk=4, delay_ms=20), nodes, channels)
    text = open("signal.yaml").read().replace("{from: a, to: END}", "{from: a, to: b}, {from: b, to: END}")
    with open("signal.yaml", "w") as file:
        file.write(text)
    agent = Agent("signal.yaml")
    agent.initialize()
    session = agent.new()
    number = agent.start_prompt(session, "go")
    agent.wait_update("agent_message_chunk")
    agent.process.terminate()
    check(agent.wait(number) == {"stopReason": "cancelled"}, "the prompt")
    agent.process.wait(20)
    check(agent.process.returncode == 130, "the exit code", agent.process.returncode)
    agent.end()
    check(text_of(agent.updates) == "a long answer " * 10, "the node has ended", agent.updates)
    with Agent("signal.yaml") as agent:
        agent.initialize()
        agent.request("session/load", sessionId=session, cwd="/", mcpServers=[])
        check(text_of(agent.updates) == "a long answer " * 10, "what was done is kept", agent.updates)
        answer, updates = agent.prompt(session, "and then?")
        check(answer == {"stopReason": "end_turn"} and text_of(updates) == "More.", "the model is not called again", updates)
        _, updates = agent.prompt(session, "/state")
        state = json.loads(text_of(updates).strip("`").removeprefix("json"))
        check([m["type"] for m in state["messages"]] == ["user", "ai", "user", "ai"] and state["seen"] == "b", "the state", state)


def test_a_signal_in_a_long_step():
    """The second signal, like the end of the time, ends the process as if it was killed: the turn is continued."""
    write_document("long.yaml", scripted(call("test.tally"), "The end: {last}" + " and more" * 200, "More.", chunk=4, delay_ms=20))
    agent = Agent("long.yaml", *NODES, answer=allow("allow_once"))
    agent.initialize()
    session = agent.new()
    agent.start_prompt(session, "begin")
    agent.wait_update("tool_call_update", status="completed")
    agent.wait_update("agent_message_chunk")
    agent.process.terminate()
    while True:
        try:
            agent.request("session/list")
        except Refused as error:
            check("ends" in error.message, "no more requests", error.message)
            break
    agent.process.terminate()
    agent.process.wait(20)
    agent.end()
    check(agent.process.returncode == 130 and "continues" in agent.err, "the exit", agent.process.returncode, agent.err)
    write_document("long.yaml", scripted("unused", "The end: {last}", "More."))
    with Agent("long.yaml", "--accept-changes", *NODES) as agent:
        agent.initialize()
        agent.request("session/load", sessionId=session, cwd="/", mcpServers=[])
        answer, updates = agent.prompt(session, "and then?")
        check(answer == {"stopReason": "end_turn"} and not agent.requests, "the tool is not called again", agent.requests)
        check(text_of(updates) == "The end: tallied 1More.", "continued, then answered", updates)


def test_a_signal_at_an_approval():
    write_document("asked.yaml", scripted(call("test.tally"), "The end: {last}", "More."))
    agent = Agent("asked.yaml", *NODES)
    agent.initialize()
    session = agent.new()
    number = agent.start_prompt(session, "begin")
    asked = agent.wait_request("session/request_permission")
    agent.process.terminate()
    check(agent.wait(number) == {"stopReason": "cancelled"}, "the prompt")
    agent.process.wait(20)
    agent.end()
    check(agent.wait_request("$/cancel_request")["params"]["requestId"] == asked["id"], "the question is withdrawn")
    with Agent("asked.yaml", *NODES, answer=allow("allow_once")) as agent:
        agent.initialize()
        agent.request("session/resume", sessionId=session, cwd="/")
        _, updates = agent.prompt(session, "go on")
        check(len(agent.requests) == 1 and text_of(updates) == "The end: tallied 1More.", "asked again", updates)


if __name__ == "__main__":
    run_tests(globals(), sys.argv[1:])
