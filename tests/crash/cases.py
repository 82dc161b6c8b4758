"""The cases: documents of documents/, and the invocations of a thread.

A turn is {"input": JSON} or {"resume": [nodes whose interrupts are answered]}, with its exit code.
"""
INTERRUPTED = 5  # exit code


class Case:
    def __init__(self, name, document=None, turns=None, options=(), empty=False, disturbed=None, times=12, fails=False,
                 replaced=False):
        self.name, self.document = name, document or name + ".yaml"
        self.turns = turns or [{"input": "{}"}]
        self.options = list(options)
        self.empty = empty  # the first turn creates the store
        self.disturbed = range(len(self.turns)) if disturbed is None else disturbed
        self.times = times  # points in each turn whose failure is at a random time
        self.fails = fails  # fails until it has been tried often enough, in any turn
        self.replaced = replaced  # a killed invocation is replaced by another one


CASES = [
    Case("map", times=40),
    Case("new", "chain.yaml", empty=True),
    Case("chain", turns=[{"input": "{}"}, {"input": '{"t": "again"}'}]),
    Case("exit", "chain.yaml", options=["--durability", "exit"]),
    Case("fanout", times=40),
    Case("agent", times=40),
    Case("interrupts", turns=[
        {"input": "{}", "code": INTERRUPTED},
        {"resume": ["b"], "code": INTERRUPTED},
        {"resume": ["agent"], "code": INTERRUPTED},
        {"resume": ["a"], "code": INTERRUPTED},
        {"resume": [], "code": INTERRUPTED},  # before
        {"resume": []},  # after
    ]),
    Case("nested", turns=[{"input": "{}", "code": INTERRUPTED}, {"resume": ["ask"]}]),
    Case("nested_interrupts", turns=[
        {"input": "{}", "code": INTERRUPTED},
        {"resume": [], "code": INTERRUPTED},
        {"resume": [], "code": INTERRUPTED},
        {"resume": []},
    ]),
    Case("react", turns=[{"input": "{}", "code": INTERRUPTED}, {"resume": ["tools"]}]),
    Case("retry", times=20),
    Case("handled"),
    Case("flaky", turns=[{"input": "{}", "code": 1}, {"resume": []}], fails=True),
    Case("flaky_tool", turns=[{"input": "{}", "code": 1}, {"resume": []}], fails=True),
    Case("single", replaced=True),
    Case("turns", turns=[{"input": '{"said": "turn %d"}' % n} for n in range(60)], disturbed=range(0, 60, 4), times=4),
]

TAKEOVER = Case("takeover", times=8)
UNFINISHED_STEP = Case("unfinished_step")
