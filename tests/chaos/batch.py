#!/usr/bin/env python3
"""A batch of paid calls whose process is killed at random until every line is done.

    batch.py --lines 50 --kills 6    a small size, for every change
    batch.py                         the full size: 10,000 lines, 20,000 calls, 40 kills (a minute or two)
    batch.py --seed 7                the random choices of an earlier run; a failure prints its seed
    batch.py --durability exit       only the ends of runs are saved

Each line pays twice: two nodes of the plugin test.chaos append `THREAD STEP KEY` to a file, as a service would note the
idempotency keys of its requests. A request with a known key is paid once, so the number of keys is what was paid. The
batch is started, killed with SIGKILL (sometimes stopped with SIGTERM) after a random time, and resumed, until it ends by
itself. Then:

 - each line has paid each of its calls with one key, and no key belongs to two calls;
 - the output is, byte for byte, that of a batch that was not disturbed;
 - no call was made again that had ended before the kill, except those of the lines that were running.

Environment: TENON and CHAOS_NODES are files of the build.
"""
import argparse
import collections
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

DOCUMENT = """
version: "1.0"
agent: {name: paid}
channels:
  - {name: order, type: last_value}
  - {name: first, type: last_value}
  - {name: second, type: last_value}
nodes:
  - {id: charge, type: chaos.effect, config: {name: "charge-{order}", out: first}}
  - {id: ship, type: chaos.effect, config: {name: "ship-{order}", out: second}}
edges:
  - {from: START, to: charge}
  - {from: charge, to: ship}
  - {from: ship, to: END}
"""
CONCURRENCY = 16


class Batch:
    """One folder with a store; `paid` is the file of the calls."""

    def __init__(self, folder, lines, thread):
        self.folder, self.thread = folder, thread
        self.paid = os.path.join(folder, "paid")
        os.mkdir(folder)
        with open(os.path.join(folder, "tenon.yaml"), "w") as file:
            file.write("store: {use: sqlite, path: ./kept.db}\n")
        with open(os.path.join(folder, "paid.yaml"), "w") as file:
            file.write(DOCUMENT)
        with open(os.path.join(folder, "orders.jsonl"), "w") as file:
            for i in range(1, lines + 1):
                file.write('{"order": "%d"}\n' % i)

    def start(self, *options, pause_ms=0):
        command = [os.path.abspath(os.environ["TENON"]), "run", "paid.yaml", "--batch", "orders.jsonl", "--quiet",
                   "--thread", self.thread, "--durability", arguments.durability, "--concurrency", str(CONCURRENCY),
                   "--plugins", os.path.abspath(os.environ["CHAOS_NODES"]), "--allow-drafts"]
        environment = dict(os.environ, CHAOS_LINES=self.paid, CHAOS_PAUSE_MS=str(pause_ms))
        with open(os.path.join(self.folder, "out"), "wb") as out, open(os.path.join(self.folder, "err"), "wb") as err:
            return subprocess.Popen(command + list(options), cwd=self.folder, env=environment, stdout=out, stderr=err)

    def read(self, name):
        with open(os.path.join(self.folder, name), "rb") as file:
            return file.read()

    def call_count(self):
        return self.read("paid").count(b"\n") if os.path.exists(self.paid) else 0

    def calls(self):
        """[(thread, step, key)] in the order in which they were made."""
        if not os.path.exists(self.paid):
            return []
        with open(self.paid) as file:
            return [tuple(line.split()) for line in file]


def fail(why, batch=None):
    print("failed (seed %d): %s" % (arguments.seed, why), file=sys.stderr)
    if batch:
        sys.stderr.buffer.write(batch.read("err")[-2000:])
    sys.exit(1)


def wait_for_calls(batch, process, calls):
    """Waits until so many calls were made, or the process has ended."""
    while process.poll() is None and batch.call_count() < calls:
        time.sleep(0.001)


def until_done(batch, lines, kills, chance):
    """Starts and resumes the batch until it ends by itself. Returns (kills, stops): what the signals have ended."""
    killed = stopped = 0
    options = []
    while True:
        process = batch.start(*options, pause_ms=2)
        disturbed = killed + stopped < kills
        if disturbed:
            # Mostly in the middle of calls, sometimes before the first one. On average the last kill leaves a quarter.
            if chance.random() < 0.9:
                wait_for_calls(batch, process, batch.call_count() + chance.randint(1, 1 + 3 * lines // kills))
            else:
                time.sleep(chance.uniform(0, 0.05))
            if process.poll() is None:
                process.send_signal(signal.SIGTERM if chance.random() < 0.2 else signal.SIGKILL)
        code = process.wait()
        if code == -signal.SIGKILL:
            killed += 1
        elif code == 130:
            stopped += 1
        elif code == -signal.SIGTERM:
            stopped += 1  # before the program watches signals
        elif code == 0:
            return killed, stopped
        elif code == 1 and options and b"[NOT_FOUND]" in batch.read("err"):
            options = []  # killed before the record of the batch was written
            continue
        else:
            fail("exit code %d" % code, batch)
        options = ["--resume"]


def check_paid(batch, lines):
    """Returns the number of calls that were made again."""
    keys_of, calls_of = collections.defaultdict(set), collections.defaultdict(set)
    calls = batch.calls()
    for thread, step, key in calls:
        keys_of[thread, step].add(key)
        calls_of[key].add((thread, step))
    expected = {("%s/%d" % (batch.thread, i), "%s-%d" % (name, i)) for i in range(1, lines + 1)
                for name in ("charge", "ship")}
    if set(keys_of) != expected:
        fail("%d calls were made, expected %d; first difference: %s"
             % (len(keys_of), len(expected), sorted(set(keys_of) ^ expected)[:1]))
    for call, keys in keys_of.items():
        if len(keys) != 1:
            fail("the call %s was paid %d times: it had the keys %s" % (call, len(keys), sorted(keys)))
    for key, users in calls_of.items():
        if len(users) != 1:
            fail("the key %s belongs to several calls: %s" % (key, sorted(users)))
    return len(calls) - len(keys_of)


def main():
    chance = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory(prefix="tenon-batch-") as folder:
        calm = Batch(os.path.join(folder, "calm"), arguments.lines, "q")
        code = calm.start(pause_ms=2).wait()
        if code != 0:
            fail("exit code %d of the undisturbed batch" % code, calm)
        if check_paid(calm, arguments.lines) != 0:
            fail("the undisturbed batch made a call twice")
        batch = Batch(os.path.join(folder, "killed"), arguments.lines, "q")
        killed, stopped = until_done(batch, arguments.lines, arguments.kills, chance)
        again = check_paid(batch, arguments.lines)
        if again > CONCURRENCY * killed * (2 if arguments.durability == "exit" else 1):
            fail("%d calls were made again after %d kills of at most %d running lines" % (again, killed, CONCURRENCY))
        if batch.read("out") != calm.read("out"):
            fail("the output differs from that of the undisturbed batch", batch)
        print("%d lines, %d kills, %d stops: %d calls paid once each, %d requests repeated with the same key"
              % (arguments.lines, killed, stopped, 2 * arguments.lines, again))


parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--lines", type=int, default=10000)
parser.add_argument("--kills", type=int, default=40)
parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31))
parser.add_argument("--durability", choices=["sync", "exit"], default="sync")
arguments = parser.parse_args()
main()
