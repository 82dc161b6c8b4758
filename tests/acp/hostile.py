"""hostile.py: a client that sends what it likes: mutated parameters, wrong orders, answers of any form, cancellations.

    hostile.py [SEED…]                  each seed is one connection for each document

The agent must answer every request that it can, send only valid messages, and end as usual.
"""
import json
import os
import random
import sys
import time

from harness import Agent, Refused, call, check, run_tests, scripted, write_document

NODES = ["--plugins", os.environ["TEST_NODES"]]
SEEDS = [1, 7, 101]
TEXT = [{"type": "text", "text": "hi"}]
JUNK = [None, True, 0, -1, 1e300, "", "x" * 300, "\u0000", [], {}, [[]], {"a": {}}, "/", "/tmp", TEXT[0], TEXT,
        [{"type": "image", "data": 1}], 2 ** 63, "1", "ask"]
PROMPTS = ["hi", "/mode allow", "/mode ask", "/graph", "/state", "/model default", "{}", "true", "7", ""]
ANSWERS = [{}, {"outcome": None}, {"outcome": []}, {"outcome": {"outcome": "cancelled"}}, {"outcome": {"outcome": 7, "optionId": []}},
           {"action": "accept"}, {"action": "accept", "content": {"answer": 7}}, {"action": "accept", "content": []},
           {"action": "decline"}, {"action": "cancel"}, {"action": 7}]
CAPABILITIES = [{}, {"elicitation": {"form": {}}}, {"elicitation": {"form": {}, "url": {}}}, {"elicitation": 7},
                {"elicitation": {"form": None, "url": {}}}, {"fs": [], "terminal": "x"}]
METHODS = ["session/new", "session/prompt", "session/prompt", "session/prompt", "session/cancel", "session/close",
           "session/load", "session/resume", "session/list", "session/delete", "session/set_mode",
           "session/set_config_option", "$/cancel_request", "authenticate", "logout", "x"]


def documents():
    yield write_document("approvals.yaml", scripted(call("test.tally"), "Done {last}", "x " * 50, chunk=8, delay_ms=1))
    messages = "[{name: messages, type: append}, {name: answer, type: last_value}]"
    yield write_document("forms.yaml", "{}", "[{id: a, type: test.ask, config: {out: answer, schema: {type: integer}}}]", messages)
    yield write_document("pauses.yaml", "{}", "[{id: a, type: set, interrupt: before, config: {values: {answer: '1'}}}]", messages)
    yield write_document("texts.yaml", "{}", "[{id: a, type: prompt, config: {template: '{name}', output_key: out}}]",
                         "[{name: name, type: last_value}, {name: out, type: last_value}]",
                         "input: {type: object, properties: {name: {type: string}}}\n")


class Client:
    def __init__(self, document, seed):
        self.random = random.Random(seed)
        self.agent = Agent(document, *NODES, answer=self.answer)
        self.sessions = []

    def answer(self, method, params):
        kind = self.random.random()
        if kind < 0.3:
            option = self.random.choice(["allow_once", "allow_always", "reject_once", "reject_always", "x"])
            return {"outcome": {"outcome": "selected", "optionId": option}}
        return self.random.choice(ANSWERS) if kind < 0.7 else None

    def params(self, method):
        choose = self.random.choice
        session = choose(self.sessions) if self.sessions and self.random.random() < 0.9 else "none"
        known = {"session/new": {"cwd": "/tmp", "mcpServers": []},
                 "session/prompt": {"sessionId": session, "prompt": [{"type": "text", "text": choose(PROMPTS)}]},
                 "session/load": {"sessionId": session, "cwd": "/tmp", "mcpServers": []},
                 "session/resume": {"sessionId": session, "cwd": "/tmp"},
                 "session/list": {"cwd": None, "cursor": None},
                 "session/set_mode": {"sessionId": session, "modeId": choose(["ask", "allow", "reject"])},
                 "session/set_config_option": {"sessionId": session, "configId": "mode", "value": choose(["ask", "allow"])},
                 "$/cancel_request": {"requestId": self.random.randint(1, 200)}, "authenticate": {"methodId": "x"},
                 "logout": {}, "x": {}}
        params = json.loads(json.dumps(known.get(method, {"sessionId": session})))
        for _ in range(self.random.randint(0, 2) if self.random.random() < 0.35 else 0):
            if params:
                name = choose(list(params))
                if self.random.random() < 0.3:
                    del params[name]
                else:
                    params[name] = choose(JUNK)
        return params

    def step(self):
        method = self.random.choice(METHODS)
        params = self.params(method)
        if method in ("session/cancel", "$/cancel_request"):
            self.agent.notify(method, **params)
            return
        number = self.agent.start(method, **params)
        if method == "session/new":
            try:
                self.sessions.append(self.agent.wait(number)["sessionId"])
            except Refused:
                pass
        if self.random.random() < 0.1:
            time.sleep(self.random.random() * 0.01)

    def run(self):
        with self.agent as agent:
            agent.initialize(self.random.choice(CAPABILITIES))
            for _ in range(150):
                self.step()
            for session in self.sessions:
                agent.notify("session/cancel", sessionId=session)
            try:  # it still works
                check(agent.prompt(agent.new(), "/mode ask")[0] == {"stopReason": "end_turn"}, "a last prompt")
            except Refused as error:
                check("LIMIT" in error.message, "a last session", error.message)
        check(agent.process.returncode == 0, "the exit code", agent.process.returncode, agent.err)


def test_hostile():
    for document in documents():
        for seed in SEEDS:
            try:
                Client(document, seed).run()
            except Exception as error:
                raise AssertionError("%s, seed %d: %s" % (document, seed, error))


if __name__ == "__main__":
    SEEDS = [int(seed) for seed in sys.argv[1:]] or SEEDS
    run_tests(globals(), [])
