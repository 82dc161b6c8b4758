"""harness.py: a client of `tenon acp` for tests: it sends messages, and validates each one that it receives.

    with Agent("agent.yaml") as agent:
        agent.initialize()
        session = agent.request("session/new", cwd=os.getcwd(), mcpServers=[])["sessionId"]
        answer, updates = agent.prompt(session, "hi")

Every message of the agent is checked with the schema of the protocol (ACP_SCHEMA), if it is there.
"""
import json
import os
import queue
import subprocess
import sys
import threading
import time

from schema import Schema

TENON = os.environ["TENON"]
WAIT_S = 30
SCHEMA = Schema.load(os.environ.get("ACP_SCHEMA"))

RESULTS = {"initialize": "InitializeResponse", "authenticate": "AuthenticateResponse", "logout": "LogoutResponse",
           "session/new": "NewSessionResponse", "session/load": "LoadSessionResponse", "session/resume": "ResumeSessionResponse",
           "session/list": "ListSessionsResponse", "session/close": "CloseSessionResponse",
           "session/delete": "DeleteSessionResponse", "session/prompt": "PromptResponse",
           "session/set_mode": "SetSessionModeResponse", "session/set_config_option": "SetSessionConfigOptionResponse"}
PARAMS = {"session/update": "SessionNotification", "session/request_permission": "RequestPermissionRequest",
          "elicitation/create": "CreateElicitationRequest", "$/cancel_request": "CancelRequestNotification"}


class Refused(Exception):
    def __init__(self, error):
        super().__init__(error["message"])
        self.code = error["code"]
        self.message = error["message"]


def check(condition, what, *details):
    if not condition:
        raise AssertionError(" ".join([what, *(json.dumps(d)[:3000] if not isinstance(d, str) else d[:3000] for d in details)]))


class Agent:
    def __init__(self, document, *options, answer=None):
        """`answer(method, params)` answers requests of the agent: a result, or None to leave them open."""
        self.process = subprocess.Popen([TENON, "acp", document, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.answer = answer
        self.methods, self.waiting = {}, {}
        self.updates, self.requests, self.others = [], [], queue.Queue()
        self.number = 0
        self.failure, self.ended = None, False
        self.lock = threading.Condition()
        self.reads = threading.Event()  # clear it, and nothing is read any more
        self.reads.set()
        self.errors = []
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        self.log = threading.Thread(target=lambda: self.errors.extend(self.process.stderr), daemon=True)
        self.log.start()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.end(kill=kind is not None)

    @property
    def err(self):
        return b"".join(self.errors).decode(errors="replace")

    def end(self, kill=False):
        if self.process.poll() is None:
            try:
                self.process.stdin.close()
            except OSError:
                pass
            if kill:
                self.process.kill()
        try:
            self.process.wait(WAIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError("the agent does not end: " + self.err)
        self.reader.join(WAIT_S)
        self.log.join(WAIT_S)
        for stream in (self.process.stdout, self.process.stderr):
            stream.close()
        if not kill:
            check(self.failure is None, "a message is wrong:", self.failure or "")
            check("Sanitizer" not in self.err and "runtime error:" not in self.err, self.err)

    def kill(self):
        self.process.kill()
        self.end(kill=True)

    # ---- Messages of the agent ----

    def _read(self):
        for line in self.process.stdout:
            self.reads.wait()
            try:
                self._receive(json.loads(line))
            except Exception as error:  # reported by end()
                self.failure = self.failure or "%s in %s" % (error, line[:2000].decode(errors="replace"))
                with self.lock:
                    self.lock.notify_all()
        with self.lock:
            self.ended = True
            self.lock.notify_all()

    def _receive(self, message):
        check(message.get("jsonrpc") == "2.0", "jsonrpc")
        if "method" in message:
            SCHEMA.check(PARAMS[message["method"]], message["params"])
            with self.lock:
                kept = self.updates if message["method"] == "session/update" else self.requests
                kept.append(message["params"]["update"] if kept is self.updates else message)
                self.lock.notify_all()
            if "id" in message and self.answer:
                result = self.answer(message["method"], message["params"])
                if result is not None:
                    self.send({"id": message["id"], "result": result})
            return
        method = self.methods.get(message.get("id"))
        if "result" in message and method:
            SCHEMA.check(RESULTS[method], message["result"])
        else:
            SCHEMA.check("Error", message["error"])
        with self.lock:
            self.waiting[message.get("id")] = message
            self.lock.notify_all()

    # ---- Messages to the agent ----

    def send(self, message):
        self.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")

    def write(self, text):
        self.process.stdin.write(text.encode() if isinstance(text, str) else text)
        self.process.stdin.flush()

    def notify(self, method, **params):
        self.send({"method": method, "params": params})

    def start(self, method, **params):
        self.number += 1
        self.methods[self.number] = method
        self.send({"id": self.number, "method": method, "params": params})
        return self.number

    def _wait(self, what, why):
        deadline = time.monotonic() + WAIT_S
        with self.lock:
            while not what():
                left = deadline - time.monotonic()
                check(self.failure is None, "a message is wrong:", self.failure or "")
                check(left > 0 and not self.ended, "waited for " + why, self.updates[-3:], self.err)
                self.lock.wait(left)

    def wait(self, number):
        self._wait(lambda: number in self.waiting, "an answer to %s" % self.methods.get(number))
        message = self.waiting.pop(number)
        if "error" in message:
            raise Refused(message["error"])
        return message["result"]

    def request(self, method, **params):
        return self.wait(self.start(method, **params))

    def refused(self, method, code, text, **params):
        try:
            result = self.request(method, **params)
        except Refused as error:
            check(error.code == code and text in error.message, "%s: the error:" % method, error.code, error.message)
            return error
        raise AssertionError("%s: not refused: %s" % (method, result))

    def initialize(self, capabilities=None, version=1):
        return self.request("initialize", protocolVersion=version, clientCapabilities=capabilities or {},
                            clientInfo={"name": "test", "version": "1"})

    def new(self, servers=(), **more):
        return self.request("session/new", cwd=os.getcwd(), mcpServers=list(servers), **more)["sessionId"]

    def start_prompt(self, session, text):
        prompt = [{"type": "text", "text": text}] if isinstance(text, str) else text
        return self.start("session/prompt", sessionId=session, prompt=prompt)

    def prompt(self, session, text):
        """The answer, and the updates since the prompt was sent."""
        before = len(self.updates)
        answer = self.wait(self.start_prompt(session, text))
        return answer, self.updates[before:]

    def wait_request(self, method, count=1):
        found = lambda: [r for r in self.requests if r["method"] == method]
        self._wait(lambda: len(found()) >= count, method)
        return found()[count - 1]

    def wait_update(self, kind, **members):
        found = lambda: [u for u in self.updates if u["sessionUpdate"] == kind and members.items() <= u.items()]
        self._wait(found, "%s %s" % (kind, members))
        return found()[-1]


def text_of(updates, kind="agent_message_chunk"):
    return "".join(u["content"].get("text", "") for u in updates if u["sessionUpdate"] == kind)


def kinds_of(updates):
    return [u["sessionUpdate"] for u in updates]


def write_document(name, models, nodes=None, channels=None, more=""):
    nodes = nodes or '[{id: a, type: agent, config: {messages_key: messages, tools: ["*"]}}]'
    channels = channels or "[{name: messages, type: reduce, reducer: messages}]"
    with open(name, "w") as file:
        file.write('version: "1.0"\nagent: {name: %s}\nmodels: %s\nchannels: %s\nnodes: %s\n'
                   "edges: [{from: START, to: a}, {from: a, to: END}]\n%s" % (name.split(".")[0], models, channels, nodes, more))
    return name


def scripted(*replies, **options):
    return json.dumps({"default": {"provider": "scripted", "replies": list(replies), **options}})


def call(name, arguments=None, id="c1", content=""):
    return {"content": content, "tool_calls": [{"id": id, "name": name, "arguments": arguments or {}}]}


def run_tests(tests, names):
    failed = False
    for name, test in list(tests.items()):
        if not name.startswith("test_") or (names and name not in names):
            continue
        started = time.monotonic()
        try:
            test()
            if os.environ.get("VERBOSE"):
                print("%-40s %.2f s" % (name, time.monotonic() - started))
        except Exception as error:
            failed = True
            print("%s: %s: %s" % (name, type(error).__name__, error), file=sys.stderr)
            if os.environ.get("VERBOSE"):
                import traceback
                traceback.print_exc()
    sys.exit(1 if failed else 0)
