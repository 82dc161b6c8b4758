"""Raw requests to Tenon's MCP server: sessions, streams that are taken up again, signed states, two users, and what a
client can send wrong. Arguments: the URL, and two keys of different owners."""
import concurrent.futures
import http.client
import json
import os
import sys

from own_server_kit import (ADA, BOB, HOST, LEGACY, MODERN, URL, call, connection, error, events, exchange, initialize, modern, request, result)

# ---- Sessions ----

def test_versions():
    for asked, given in ((LEGACY, LEGACY), ("2025-06-18", "2025-06-18"), ("2025-03-26", "2025-03-26"), ("1999-01-01", LEGACY)):
        assert initialize(version=asked)[1]["protocolVersion"] == given
    assert error(exchange("POST", request("initialize"))) == (400, -32602)


def test_session_belongs_to_a_user():
    session, _ = initialize()
    assert result(exchange("POST", request("ping"), session)) == {}
    assert exchange("POST", request("ping"), session, BOB)[0] == 404
    assert exchange("GET", None, session, BOB)[0] == 404
    assert exchange("DELETE", None, session, BOB)[0] == 404
    assert exchange("POST", request("ping"), {**session, "mcp-protocol-version": "1999"})[0] == 400
    assert exchange("POST", request("ping"))[0] == 400
    assert exchange("HEAD", None, session)[0] == 200  # not a DELETE
    assert exchange("POST", {"jsonrpc": "2.0", "method": "notifications/initialized"}, session)[0] == 202
    assert exchange("POST", {"jsonrpc": "2.0", "id": 99, "result": {}}, session)[0] == 202  # of nothing
    assert exchange("DELETE", None, session)[0] == 204
    for method, body in (("POST", request("ping")), ("GET", None), ("DELETE", None)):
        assert exchange(method, body, session)[0] == 404


def test_many_sessions():
    first, _ = initialize(key=BOB)
    for _ in range(32):
        last, _ = initialize(key=BOB)
    assert exchange("POST", request("ping"), first, BOB)[0] == 404  # the oldest made room
    assert exchange("POST", request("ping"), last, BOB)[0] == 200


def test_one_stream_of_messages():
    session, _ = initialize()
    link, response = connection("GET", None, session)
    assert response.status == 200 and next(events(response)) == ("1-0", None)
    assert exchange("GET", None, session)[0] == 409
    assert exchange("GET", None, {**session, "accept": "application/json"})[0] == 406
    assert result(exchange("POST", call(session, "test_trigger_tool_change"), session))["content"]
    identity, message = next(events(response))
    assert (identity, message["method"]) == ("1-1", "notifications/tools/list_changed")
    link.close()


def test_stream_is_taken_up():
    """The graph closes the stream in the middle of the call; the answer comes with the rest."""
    session, _ = initialize()
    link, response = connection("POST", call(session, "test_reconnection"), session)
    received = list(events(response))
    link.close()
    assert received[0][1] is None and all(message is None for _, message in received)
    link, response = connection("GET", None, {**session, "last-event-id": received[-1][0]})
    identity, message = next(events(response))
    assert message["id"] == 5 and message["result"]["content"]
    link.close()
    link, response = connection("GET", None, {**session, "last-event-id": received[-1][0]})  # once more, from the end
    assert next(events(response)) == (identity, message)
    link.close()


def test_lost_connection():
    """A client that goes away in the middle reads what it has missed, without a gap or a repeat."""
    session, _ = initialize()
    link, response = connection("POST", call(session, "test_tool_with_progress", meta={"progressToken": 1}), session)
    received, stream = [], events(response)
    while len([message for _, message in received if message]) < 1:
        received.append(next(stream))
    response.close()
    link.close()
    link, response = connection("GET", None, {**session, "last-event-id": received[-1][0]})
    received += list(events(response))
    messages = [message for _, message in received if message]
    assert [message["params"]["progress"] for message in messages[:-1]] == [0, 50, 100], messages
    assert messages[-1]["id"] == 5 and "result" in messages[-1]


def ask(name, answer, capabilities, arguments=None):
    session, _ = initialize(capabilities=capabilities)
    link, response = connection("POST", call(session, name, arguments=arguments), session)
    asked = []
    for _, message in events(response):
        if message and "method" in message:
            asked.append(message)
            reply = {"jsonrpc": "2.0", "id": message["id"], **answer(message)}
            assert exchange("POST", reply, session)[0] == 202
        elif message:
            link.close()
            return asked, message["result"]
    raise AssertionError("no answer")


def test_questions_of_a_session():
    asked, answer = ask("test_sampling", lambda _: {"result": {"role": "assistant", "model": "m", "content": {
        "type": "text", "text": "T"}}}, {"sampling": {}}, {"prompt": "p"})
    assert asked[0]["params"]["maxTokens"] == 100 and answer["content"][0]["text"] == "LLM response: T"
    _, answer = ask("test_sampling", lambda _: {"error": {"code": -1, "message": "no"}}, {"sampling": {}}, {"prompt": "p"})
    assert answer["isError"] and "no" in answer["content"][0]["text"]
    _, answer = ask("test_sampling", lambda _: {"result": 7}, {"sampling": {}}, {"prompt": "p"})
    assert answer["isError"]
    session, _ = initialize()
    answer = result(exchange("POST", call(session, "test_sampling", arguments={"prompt": "p"}), session))
    assert answer["isError"]  # the client has not declared that it can


def test_cancelled_question():
    session, _ = initialize(capabilities={"elicitation": {}})
    link, response = connection("POST", call(session, "test_elicitation", arguments={"message": "m"}), session)
    stream = events(response)
    next(stream)
    assert next(stream)[1]["method"] == "elicitation/create"
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}}
    assert exchange("POST", cancel, session)[0] == 202
    assert list(stream) == []  # the stream ends without an answer
    link.close()


def test_session_ends_with_open_calls():
    session, _ = initialize(capabilities={"elicitation": {}})
    link, response = connection("POST", call(session, "test_elicitation", arguments={"message": "m"}), session)
    stream = events(response)
    next(stream), next(stream)
    assert exchange("DELETE", None, session)[0] == 204
    assert list(stream) == []
    link.close()


# ---- 2026-07-28 ----

def test_state():
    elicitation = {"elicitation": {}}
    first = result(modern("tools/call", {"name": "test_input_required_result_multi_round"}, capabilities=elicitation))
    assert first["resultType"] == "input_required" and list(first["inputRequests"]) == ["step1"]
    answers = {"step1": {"action": "accept", "content": {"name": "Ada"}}}
    again = {"name": "test_input_required_result_multi_round", "inputResponses": answers, "requestState": first["requestState"]}
    for wrong in ({"requestState": first["requestState"][:-1]}, {"requestState": ""}, {"requestState": 7},
                  {"name": "test_input_required_result_elicitation"}, {"inputResponses": None}, {"inputResponses": []}):
        assert error(modern("tools/call", {**again, **wrong}, capabilities=elicitation))[1] == -32602, wrong
    assert error(modern("tools/call", again, BOB, elicitation))[1] == -32602  # of another user
    other = result(modern("tools/call", {**again, "inputResponses": {}}, capabilities=elicitation))
    assert list(other["inputRequests"]) == ["step1"]  # asked again
    second = result(modern("tools/call", again, capabilities=elicitation))
    assert list(second["inputRequests"]) == ["step2"]
    assert error(modern("tools/call", again, capabilities=elicitation))[1] == -32602  # used before
    last = {**again, "requestState": second["requestState"],
            "inputResponses": {"step2": {"action": "accept", "content": {"color": "red"}}}}
    assert "red" in result(modern("tools/call", last, capabilities=elicitation))["content"][0]["text"]
    assert error(modern("tools/call", last, capabilities=elicitation))[1] == -32602


def test_capabilities():
    assert error(modern("tools/call", {"name": "test_missing_capability"})) == (400, -32021)
    assert error(modern("tools/call", {"name": "test_input_required_result_elicitation"})) == (400, -32021)
    answer = result(modern("tools/call", {"name": "test_input_required_result_capabilities"}, capabilities={"sampling": {}}))
    assert list(answer["inputRequests"]) == ["capital_question"]


def test_logs_on_demand():
    def logged(meta):
        messages = modern("tools/call", {"name": "test_logging_tool"}, meta=meta)[2]
        return [message["params"]["level"] for message in messages if message.get("method") == "notifications/message"]
    assert logged({}) == [] and logged({"io.modelcontextprotocol/logLevel": "error"}) == []
    assert logged({"io.modelcontextprotocol/logLevel": "info"}) == ["info"] * 3


def test_listening():
    """Notifications reach the streams of the user that have asked for them, and no others."""
    def listen(key, wanted):
        params = {"notifications": wanted, "_meta": {"io.modelcontextprotocol/protocolVersion": MODERN,
                                                     "io.modelcontextprotocol/clientCapabilities": {}}}
        link, response = connection("POST", request("subscriptions/listen", params, "sub"), {
            "mcp-protocol-version": MODERN, "mcp-method": "subscriptions/listen"}, key)
        stream = events(response)
        acknowledged = next(stream)[1]
        assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
        assert acknowledged["params"]["notifications"] == wanted
        return link, stream
    tools, prompts = listen(ADA, {"toolsListChanged": True}), listen(ADA, {"promptsListChanged": True})
    other = listen(BOB, {"toolsListChanged": True, "promptsListChanged": True})
    for key in (ADA, BOB):
        for name in ("test_trigger_tool_change", "test_trigger_prompt_change"):
            result(modern("tools/call", {"name": name}, key))
    for (link, stream), kinds in ((tools, ["tools"]), (prompts, ["prompts"]), (other, ["tools", "prompts"])):
        for kind in kinds:
            message = next(stream)[1]
            assert message["method"] == "notifications/%s/list_changed" % kind
            assert message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == "sub"
        link.close()
    assert error(modern("subscriptions/listen"))[0] == 400
    assert error(modern("subscriptions/listen", {"notifications": {"resourceSubscriptions": ["a"] * 257}}))[0] == 400


def test_plain_graph():
    """A graph without declarations is a tool, with its schemas."""
    tools = {tool["name"]: tool for tool in result(modern("tools/list"))["tools"]}
    assert tools["greet"]["inputSchema"]["required"] == ["name"] and "outputSchema" in tools["greet"]
    answer = result(modern("tools/call", {"name": "greet", "arguments": {"name": "Ada"}}))
    assert answer["structuredContent"] == {"text": "Hello, Ada!"} and answer["content"] == [{"type": "text", "text": "Hello, Ada!"}]
    answer = result(modern("tools/call", {"name": "greet", "arguments": {}}))
    assert answer["isError"] and "name" in answer["content"][0]["text"]
    messages = modern("tools/call", {"name": "greet", "arguments": {"name": "A"}}, meta={"progressToken": "p"})[2]
    assert messages[0]["params"] == {"progressToken": "p", "progress": 1, "message": "greet"}, messages
    asked = result(modern("tools/call", {"name": "choose"}, capabilities={"elicitation": {}}))
    assert asked["inputRequests"]["ask"]["params"]["message"] == "Which colour?"
    answer = result(modern("tools/call", {"name": "choose", "requestState": asked["requestState"], "inputResponses": {
        "ask": {"action": "accept", "content": {"value": "red"}}}}, capabilities={"elicitation": {}}))
    assert answer["content"][0]["text"] == "red"
    asked = result(modern("tools/call", {"name": "choose"}, capabilities={"elicitation": {}}))
    again = {"name": "choose", "requestState": asked["requestState"], "inputResponses": {
        "ask": {"action": "accept", "content": {"value": "grey"}}}}  # the schema does not have it
    assert result(modern("tools/call", again, capabilities={"elicitation": {}}))["resultType"] == "input_required"
    again["inputResponses"] = {"ask": {"action": "decline"}}
    assert "CANCELLED" in result(modern("tools/call", again, capabilities={"elicitation": {}}))["content"][0]["text"]
    assert error(modern("tools/call", again, capabilities={"elicitation": {}}))[1] == -32602  # its run has ended


def test_artifacts():
    made = result(modern("tools/call", {"name": "keep", "arguments": {"text": "of Ada"}}))
    uri = "artifact:" + made["structuredContent"]["id"]
    listed = {resource["uri"] for resource in result(modern("resources/list"))["resources"]}
    assert uri in listed and "test://static-text" in listed
    assert result(modern("resources/read", {"uri": uri}))["contents"] == [
        {"uri": uri, "mimeType": "text/plain", "text": "of Ada"}]
    assert uri not in {resource["uri"] for resource in result(modern("resources/list", key=BOB))["resources"]}
    status, code = error(modern("resources/read", {"uri": uri}, BOB))
    absent = modern("resources/read", {"uri": "artifact:none"}, BOB)
    assert code == -32602 and error(absent) == (status, code)
    assert error(modern("resources/list", {"cursor": "a:" + "x" * 300}))[1] == -32602


def test_tools_of_the_host():
    """Those of `serve: {tools}`; the operator's policy asks the person before one of them runs."""
    names = [tool["name"] for tool in result(modern("tools/list"))["tools"]]
    assert "memory.get" in names and "memory.put" in names and "memory.delete" not in names
    put = {"name": "memory.put", "arguments": {"namespace": ["n"], "key": "k", "value": {"a": 1}}}
    form = {"elicitation": {}}
    assert error(modern("tools/call", put)) == (400, -32021)
    asked = result(modern("tools/call", put, capabilities=form))
    assert asked["inputRequests"]["memory.put"]["params"]["requestedSchema"]["required"] == ["approved"], asked

    def answer(action, approved):
        return modern("tools/call", {**put, "requestState": asked["requestState"], "inputResponses": {
            "memory.put": {"action": action, "content": {"approved": approved}}}}, capabilities=form)
    for action, approved in (("decline", True), ("accept", False)):
        assert "TOOL_DENIED" in result(answer(action, approved))["content"][0]["text"]
    assert not result(answer("accept", True)).get("isError")
    got = result(modern("tools/call", {"name": "memory.get", "arguments": {"namespace": ["n"], "key": "k"}}))
    assert json.loads(got["content"][0]["text"])["value"] == {"a": 1}
    got = result(modern("tools/call", {"name": "memory.get", "arguments": {"namespace": ["n"], "key": "k"}}, BOB))
    assert '"a"' not in got["content"][0]["text"]


def test_wrong_messages():
    for body, status, code in ((b"{", 400, -32700), (b"[]", 400, -32600), (b"7", 400, -32600), (b"{}", 400, -32600),
                               (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":7}', 400, -32602)):
        assert error(exchange("POST", body)) == (status, code), body
    assert exchange("POST", b"{}", {"content-type": "text/plain"})[0] == 415
    assert exchange("POST", b"{}", {"accept": "text/html"})[0] == 406
    assert exchange("POST", b"{}", {"content-length": "4194305"})[0] == 413  # before the body has come
    assert exchange("POST", b"[" * 100000)[0] == 400
    assert exchange("PUT", b"{}")[0] == 405
    status, headers, messages = exchange("POST", b"{}", key="tn_wrong")
    assert status == 401 and messages[0]["error"] and "/.well-known/oauth-protected-resource/mcp" in headers["www-authenticate"]
    assert exchange("POST", b"{}", {"origin": "https://evil.example"})[0] == 403
    assert exchange("POST", b"{}", {"host": "evil.example"})[0] in (400, 403, 421)
    assert error(modern("nope")) == (404, -32601)
    for method, params in (("tools/call", {"name": "nope"}), ("tools/call", {}), ("tools/call", {"name": "greet", "arguments": 7}),
                           ("prompts/get", {"name": "nope"}), ("completion/complete", {}), ("tools/list", {"cursor": "x"}),
                           ("completion/complete", {"ref": {"type": "ref/prompt", "name": "nope"}})):
        assert error(modern(method, params))[1] == -32602, method
    for value in ("artifact:../x", "x" * 3000):
        assert error(modern("resources/read", {"uri": value}))[1] == -32602


def test_metadata():
    link = http.client.HTTPConnection(HOST, timeout=60)
    for path in ("/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"):
        link.request("GET", path)
        response = link.getresponse()
        assert response.status == 200 and json.loads(response.read())["resource"] == URL
    link.close()


def test_many_at_once():
    session, _ = initialize()
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda n: exchange("POST", call(session, "test_tool_with_logging", identity=n), session), range(32)))
    assert sorted(messages[-1]["id"] for _, _, messages in answers) == list(range(32))
    assert all(len(messages) == 4 for _, _, messages in answers)  # and no others


only = os.environ.get("ONLY")
for name, test in list(globals().items()):
    if name.startswith("test_") and (not only or only in name):
        try:
            test()
        except BaseException:
            print("failed:", name, file=sys.stderr)
            raise
