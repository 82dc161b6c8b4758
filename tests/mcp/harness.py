"""harness.py: shared by the tests of the plugin tenon.mcp: writes a configuration and calls tools."""
import json
import os
import re
import subprocess
import sys
import time

TENON = os.environ["TENON"]
WAIT_S = 600  # for a program or a condition of a test; never reached unless something is wrong
HERE = os.path.dirname(os.path.abspath(__file__))
DOCUMENT = """version: "1.0"
channels:
  - {name: messages, type: append}
nodes:
  - {id: t, type: tools, config: {tools: ["*"], auto_approve: ["*"]}}
edges:
  - {from: START, to: t}
  - {from: t, to: END}
"""


def fail(message, *values):
    sys.exit("failed: %s\n%s" % (message, "\n".join(str(value)[:4000] for value in values)))


def check(condition, message, *values):
    if not condition:
        fail(message, *values)


def wait_for(condition, message, *values):
    """Waits until condition() is true: another thread or process may need time."""
    deadline = time.monotonic() + WAIT_S
    while not condition():
        check(time.monotonic() < deadline, message, *values)
        time.sleep(0.02)


class Result:
    """The contents of the tools' messages in the order of the calls; errors begin with their code."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err, self.contents, self.status = code, out, err, [], []
        check("Sanitizer" not in err and "runtime error:" not in err, "a sanitizer reported an error", err[-4000:])
        for message in json.loads(out)["messages"] if out.startswith('{"messages"') else []:
            if message["type"] == "tool":
                self.contents.append(message["content"])
                self.status.append(message.get("status", "ok"))

    def json(self, index):
        try:
            return json.loads(self.contents[index])
        except (ValueError, IndexError, TypeError):
            fail("expected JSON as result %d" % index, self.contents, self.err, self.out)


def configure(servers, section=None, **more):
    """Writes tenon.yaml and the document; tokens are kept in this folder."""
    section = {"servers": servers, "tokens": os.path.abspath("tokens"), **(section or {})}
    config = {"plugins": {"config": {"tenon.mcp": section}}, "log": "info", **more}
    with open("tenon.yaml", "w") as file:
        json.dump(config, file)
    with open("call.yaml", "w") as file:
        file.write(DOCUMENT)


def scripted_server(kind, *quirks, log="log", **more):
    return {"command": [sys.executable, os.path.join(HERE, "server.py"), kind, os.path.abspath(log), *quirks], **more}


def tenon(*arguments, **more):
    done = subprocess.run([TENON, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=WAIT_S, **more)
    return Result(done.returncode, done.stdout, done.stderr)


def ai_message(calls):
    tool_calls = [{"id": "c%d" % i, "name": name, "arguments": arguments} for i, (name, arguments) in enumerate(calls)]
    return json.dumps({"messages": [{"type": "ai", "content": "", "tool_calls": tool_calls}]})


def call(*calls, options=()):
    """Calls tools concurrently; each is a name or (name, arguments)."""
    pairs = [item if isinstance(item, tuple) else (item, {}) for item in calls]
    return tenon("run", "call.yaml", "--input", ai_message(pairs), *options)


def first_question(thread, result):
    """Returns the first interrupt of the thread, whose last run returned `result`."""
    check("tenon: waiting for an " in result.err, "expected a question", result.err, result.out)
    return json.loads(tenon("thread", "show", thread, "--json").out)["interrupts"][0]


def call_with_answers(name, answers, arguments=None, between=None):
    """Makes one call in a thread. Each question is answered with the next of `answers`, in a separate process."""
    thread = "t-" + re.sub(r"\W", "-", name)
    result = call((name, arguments or {}), options=("--thread", thread))
    for value in answers:
        result.question = first_question(thread, result)
        if between:
            between()
        question = result.question
        answer = "%s=%s" % (question["id"], json.dumps(value))
        result = tenon("run", "call.yaml", "--thread", thread, "--resume", "--answer", answer)
        result.question = question
    return result


def received(log="log"):
    """The messages that a scripted server received."""
    with open(log) as file:
        return [json.loads(line) for line in file]


def run_tests(tests, before=None):
    """Runs every test_… of `tests`, a script's globals(); with an argument, only those whose names contain it."""
    for name, test in list(tests.items()):
        if name.startswith("test_") and (len(sys.argv) < 2 or sys.argv[1] in name):
            if before:
                before()
            begin = time.monotonic()
            test()
            print("ok %s (%.1f s)" % (name, time.monotonic() - begin), flush=True)
