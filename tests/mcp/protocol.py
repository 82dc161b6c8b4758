"""protocol.py: the plugin tenon.mcp against the scripted server of either era: what tools give, and what is sent."""
import glob
import json
import os
import re
import subprocess
import sys

from harness import HERE, TENON, call, call_with_answers, check, configure, fails, fake, received, run_tests, tenon

SCRIPTED = {"models": {"small": {"provider": "scripted", "model": "m", "replies": ["Something."]}}}
ERAS = {"m": "modern", "l": "legacy"}


def test_tools_give_the_same_in_both_eras():
    configure({prefix: fake(era, log=era) for prefix, era in ERAS.items()})
    for s in ERAS:
        names = ["echo", "fails", "refuses", "structured", "lies", "blocks", "slow", "logs", "grows"]
        calls = [(f"{s}.{name}", {"text": "hé\n"} if name == "echo" else {}) for name in names]
        got = call(*calls, (f"{s}.resources.read", {"uri": "x:/t"}), (f"{s}.prompts.get", {"name": "p", "arguments": {"who": "you"}}),
                   f"{s}.resources.list", f"{s}.resources.templates", f"{s}.prompts.list")
        check(got.contents[0] == "hé\n", "echo", got.contents, got.err)
        check(got.contents[1] == "TOOL_ERROR: It is broken." and got.status[1] == "error", "isError", got.contents[1])
        check(got.contents[2] == f"INVALID_INPUT: server `{s}`: tool `refuses`: no such thing", "refuses", got.contents[2])
        check(got.json(3) == {"sum": 3}, "structured", got.contents[3])
        check(got.contents[4].startswith("INVALID_OUTPUT: "), "an output that does not fit its schema", got.contents[4])
        kinds = [part["type"] for part in got.contents[5]]
        check(kinds == ["text", "image", "audio", "text", "file", "source", "text"], "blocks", kinds)
        check(got.contents[5][4]["name"] == "x:/b" and got.contents[5][5]["url"] == "x:/l", "blocks", got.contents[5])
        check(got.contents[6] == "done" and got.contents[8] == "grown", "slow, grows", got.contents)
        check("server `%s`: fake: something  [31mred" % s in got.err, "the server's log, without control characters", got.err)
        check(got.contents[9] == "inside", "a resource", got.contents[9])
        prompt = got.json(10)
        check(prompt["messages"][0] == {"type": "user", "content": "hi you"}, "a prompt", prompt)
        check(prompt["messages"][1]["type"] == "ai", "a prompt", prompt)
        check(got.json(11)["resources"][0]["uri"] == "x:/t" and got.json(13)["prompts"] == [{"name": "p"}], "lists", got.contents)


def test_a_person_is_asked():
    configure({prefix: fake(era, log=era) for prefix, era in ERAS.items()})
    for s in ERAS:
        got = call_with_answers(f"{s}.asks", [{"colour": "red"}])
        check(got.question["payload"]["question"] == "Which colour?", "the question", got.question)
        check(got.question["schema"]["anyOf"][0]["required"] == ["colour"], "the server's schema", got.question)
        accepted = {"action": "accept", "content": {"colour": "red", "shade": "dark"}}
        check(got.contents and got.json(0) == accepted, "the answer, with defaults", got.contents, got.err)
    for s in ERAS:
        os.system("rm -rf .tenon")
        got = call_with_answers(f"{s}.asks", [None])
        check(got.contents and got.json(0) == {"action": "decline"}, "null declines", got.contents, got.err)
    for s in ERAS:
        got = call_with_answers(f"{s}.asks_twice", [{"colour": "a"}, None])
        check([part["text"] for part in got.contents[0]] == ["accept", "decline"], "two questions", got.contents, got.err)
    got = call_with_answers("l.opens_page", [True])
    check(got.question["payload"]["url"] == "https://example.com/in", "the page", got.question)
    check(got.contents == ["welcome"], "after the page", got.contents, got.err)
    os.unlink("signed-in")
    os.system("rm -rf .tenon")
    got = call_with_answers("l.opens_page", [None])
    check(got.contents[0].startswith("TOOL_ERROR: ") and "declined" in got.contents[0], "a page declined", got.contents)


def test_a_person_is_asked_by_hand():
    """`tenon tool call`, at a terminal: what does not fit is asked for again."""
    configure({prefix: fake(era, log=era) for prefix, era in ERAS.items()})
    answers = 'wait answer: \nsend {"colour": 7}\nwait answer: \nsend {"colour": "red"}\nend\n'
    for s in ERAS:
        command = [sys.executable, os.path.join(HERE, "../e2e/terminal.py"), TENON, "tool", "call", f"{s}.asks", "--yes"]
        done = subprocess.run(command, input=answers, capture_output=True, text=True, timeout=90)
        check(done.returncode == 0 and "Which colour?" in done.stdout and "INVALID_INPUT" in done.stdout, "asked", done)
        check('"content":{"colour":"red","shade":"dark"}' in re.sub(r"\s", "", done.stdout), "answered", done)
        got = tenon("tool", "call", f"{s}.asks", "--yes")
        check(got.code == 5 and "call it at a terminal" in got.err, "nobody is there", got.code, got.err)


def test_a_model_is_asked():
    servers = {s: fake(era, log=era, sampling="small", roots=[os.getcwd()]) for s, era in ERAS.items()}
    configure(servers, **SCRIPTED)
    for s in ERAS:
        got = call(f"{s}.samples", f"{s}.roots")
        check(len(got.contents) == 2, "two answers", got.err, got.out)
        said = got.json(0)
        check(said["content"] == {"type": "text", "text": "Something."} and said["stopReason"] == "endTurn", "the model", said)
        check(got.json(1)["roots"][0]["uri"] == "file://" + os.path.realpath("."), "roots", got.contents[1])
    configure({s: fake(era, log=era, timeout_ms=1500) for s, era in ERAS.items()})
    got = call("l.samples", "m.samples", "l.asks_what_nobody_can", "m.asks_what_nobody_can", "m.asks_for_ever", "l.pings")
    check("never" in str(got.contents[1]), "a model that was not offered", got.contents)
    check(got.contents[2] == "-32601", "a request that is unknown", got.contents)
    check("who/are-you" not in str(got.contents[3]) and got.status[3] == "error", "an input that is unknown", got.contents)
    check("again and again" in got.contents[4], "no end of rounds", got.contents)
    check(got.contents[5] == "pong", "ping", got.contents)


def test_versions():
    configure({"old": fake("legacy", "old"), "future": fake("legacy", "future"), "never": fake("modern", "unsupported"),
               "fragile": fake("legacy", "fragile"), "mute": fake("legacy", "mute-discover", connect_timeout_ms=1500),
               "told": fake("legacy", era="2025-06-18", log="told"), "wrong": fake("legacy", era="2026-07-28")})
    got = call("mcp.servers", "old.echo", "fragile.echo", "mute.echo", "told.echo")
    about = {server["name"]: server for server in got.json(0)["servers"]}
    check(got.status[1:] == ["ok"] * 4, "those that were agreed with", got.contents, got.err)
    check(about["old"]["protocol"] == "2024-11-05" and about["told"]["protocol"] == "2025-06-18", "versions", about)
    check(about["old"]["instructions"] == "Be kind.", "instructions", about)
    check("2099-01-01" in about["future"]["why"] and "2099-01-01" in about["never"]["why"], "no version in common", about)
    check("server/discover" in about["wrong"]["why"], "an era that the server has not", about)
    check("server/discover" not in [m.get("method") for m in received("told")], "an era that is given is not asked for")


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


def test_what_is_sent_is_as_the_schemas_have_it():
    """Of everything that the tests before have had sent."""
    try:
        import jsonschema  # noqa: F401
    except ImportError:
        print("not validated: there is no python3-jsonschema here")
        return
    try:
        schemas = {"modern": validators("2026-07-28"), "legacy": validators("2025-11-25"), "told": validators("2025-06-18")}
    except OSError as error:
        print("not validated: %s" % error)
        return
    count = 0
    for log, schema in schemas.items():
        for message in received(log):
            # Begun in the other era: it is what finds out.
            if log == "legacy" and message.get("method") == "server/discover":
                names, where = ["ClientRequest"], schemas["modern"]
            elif "method" in message:
                names, where = ["ClientRequest" if "id" in message else "ClientNotification"], schema
            else:
                names, where = [], schema
                results = [name for name in RESULTS.values() if "result" in message and not list(schema(name).iter_errors(message["result"]))]
                check("error" in message or results or message["result"] == {}, "an answer that is none of the results", message)
            for name in names:
                errors = [error.message for error in where(name).iter_errors(message)]
                check(not errors, "%s: not as %s" % (log, name), message, *errors)
            count += 1
            for responses in [message.get("params", {}).get("inputResponses", {})]:
                for value in responses.values():
                    check(not list(schema("InputResponse").iter_errors(value)), "an input response", value)
    check(count > 60, "expected more messages to validate", count)


def clean():
    for left in glob.glob(".tenon"):
        os.system("rm -rf .tenon")


if __name__ == "__main__":
    run_tests(globals(), before=clean)
