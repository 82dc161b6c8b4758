"""100 clients and their runs, each with a subscriber: events arrive in order and complete, and memory stays flat.

    flat.py HOST_PROCESS RUNS BOUND_KIB     BOUND_KIB 0: memory is not compared

First RUNS runs fill what the host keeps of ended runs. Then memory is read after each RUNS, until it is flat: over three
times RUNS it grows by at most the bound. On a busy machine more messages wait for slow clients for a moment, which can
make the heap larger once; but what is kept of each run would make it grow each time. Then so many runs start that do not end:
their memory shows that the bound can fail. Of the clients, 85 read at once, 10 read slowly, and 5 start a long run and then
read nothing: their runs wait.
"""
import json
import selectors
import socket
import sys
import time

STEPS, OPEN, SLOW, DEAF, CLIENTS = 10, 10, 10, 5, 100
ROUNDS = 10  # of RUNS runs, until memory is flat
DEAF_STEPS = 20000  # more than fit into what a client has not read (1 MiB) and the buffers of its socket, at 1 KB for each
process, runs, bound = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
selector = selectors.DefaultSelector()
left = ended = 0  # runs to start, and runs that have ended


class Client:
    def __init__(self, slow):
        self.slow, self.open, self.rest, self.answers = slow, {}, b"", {}
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect("s")
        if slow:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)

    def send(self, method, params, id=0):
        self.socket.sendall(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode() + b"\n")

    def start(self):
        global left
        if left > 0:
            left -= 1
            self.send("run/start", {"document": "count.yaml", "input": {"n": STEPS}, "subscribe": {}})

    def read(self):
        data = self.socket.recv(1500 if self.slow else 1 << 20)
        assert data, "the host has closed a connection"
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            self.take(json.loads(line))

    def take(self, message):
        global ended
        params = message.get("params")
        if params is None:
            assert "result" in message, message
            self.open.setdefault(message["result"].get("run_id"), 0)
            self.answers[message["id"]] = message["result"]
            return
        run = params["run_id"]
        self.open[run] += 1
        assert params["seq"] == self.open[run] and "missed" not in params, f"out of order: {message}"
        if message["method"] == "run/ended":
            assert params["status"] == "done" and params["seq"] == STEPS + 1, params
            del self.open[run]
            ended += 1
            self.start()


def memory():
    with open(f"/proc/{process}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


def until(count):
    """Reads until so many runs have ended. A slow client reads a little, and only sometimes."""
    deadline, turn = time.monotonic() + 120, 0
    while ended < count:
        assert time.monotonic() < deadline, f"only {ended} of {count} runs have ended"
        turn += 1
        for key, _ in selector.select(1):
            if not key.data.slow or turn % 5 == 0:
                key.data.read()


def work(count):
    """Starts so many runs; returns the memory when all have ended."""
    global left
    before, left = ended, count
    for client in clients:
        for _ in range(OPEN):
            client.start()
    until(before + count)
    assert not any(client.open for client in clients), "a run has not ended"
    return memory()


def ask(method, params):
    asker.send(method, params, id=1)
    while 1 not in asker.answers:
        asker.read()
    return asker.answers.pop(1)


def long_runs():
    """The steps of the runs of the deaf clients."""
    return {run["run_id"]: run["steps"] for run in ask("run/list", {"status": "running"})["runs"]}


clients = [Client(slow=index < SLOW) for index in range(CLIENTS - DEAF)]
for client in clients:
    selector.register(client.socket, selectors.EVENT_READ, client)
asker = Client(False)
deaf = [Client(False) for _ in range(DEAF)]
for client in deaf:
    client.send("run/start", {"document": "count.yaml", "input": {"n": 1000000, "note": "x" * 1000}, "subscribe": {}})
    client.send("run/list", {})

flat = [work(runs)]
while not (len(flat) > 3 and max(flat[-3:]) - flat[-4] <= bound):
    assert len(flat) <= ROUNDS, f"memory grows, in KiB: {flat}"
    flat.append(work(runs))
    if not bound and len(flat) > 3:
        break
steps = long_runs()
assert len(steps) == DEAF and max(steps.values()) < DEAF_STEPS, f"a run did not wait for its client: {steps}"
for _ in range(3 * runs):
    ask("run/start", {"document": "hours.yaml"})
kept = memory()
print("memory in KiB:", *flat, f"and {kept} with {3 * runs} open runs; steps of runs that wait:", *steps.values())
assert not bound or kept - flat[-1] > bound, "the bound could not fail"
