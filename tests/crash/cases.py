"""What is disturbed: documents of documents/, and the invocations of a thread of theirs.

A turn is {"input": JSON} or {"resume": [nodes whose interrupts are answered]}, with the exit code that it ends with.
"""


WAITS = 5


class Case:
    def __init__(self, name, document=None, turns=None, options=(), empty=False, disturbed=None, times=12, fails=False,
                 replaced=False):
        self.name, self.document = name, document or name + ".yaml"
        self.turns = turns or [{"input": "{}"}]
        self.options = list(options)
        self.empty = empty  # the store is made in the first turn
        self.disturbed = range(len(self.turns)) if disturbed is None else disturbed
        self.times = times  # points that are a time, in each turn
        self.fails = fails  # until it has been tried often enough, in whatever turn that is
        self.replaced = replaced  # by another invocation, where it was killed


CASES = [
    Case("map", times=40),
    Case("new", "chain.yaml", empty=True),
    Case("chain", turns=[{"input": "{}"}, {"input": '{"t": "again"}'}]),
    Case("exit", "chain.yaml", options=["--durability", "exit"]),
    Case("fanout", times=40),
    Case("agent", times=40),
    Case("asks", turns=[
        {"input": "{}", "code": WAITS},
        {"resume": ["b"], "code": WAITS},
        {"resume": ["agent"], "code": WAITS},
        {"resume": ["a"], "code": WAITS},
        {"resume": [], "code": WAITS},  # before
        {"resume": []},  # after
    ]),
    Case("nested", turns=[{"input": "{}", "code": WAITS}, {"resume": ["ask"]}]),
    Case("inside", turns=[{"input": "{}", "code": WAITS}, {"resume": [], "code": WAITS}, {"resume": [], "code": WAITS},
                          {"resume": []}]),
    Case("react", turns=[{"input": "{}", "code": WAITS}, {"resume": ["tools"]}]),
    Case("retry", times=20),
    Case("handled"),
    Case("heals", turns=[{"input": "{}", "code": 1}, {"resume": []}], fails=True),
    Case("broken", turns=[{"input": "{}", "code": 1}, {"resume": []}], fails=True),
    Case("single", replaced=True),
    Case("turns", turns=[{"input": '{"said": "turn %d"}' % n} for n in range(60)], disturbed=range(0, 60, 4), times=4),
]

HOSTS = Case("meet", times=8)
BESIDE = Case("beside")
