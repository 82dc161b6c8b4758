#!/usr/bin/env python3
"""Workers of one store are killed, stopped and have wrong clocks. Afterwards every Task was handled once.

First, one worker handles all Tasks undisturbed. Then several processes handle the same Tasks in a copy of the store.
Each of them is, at random times, killed with SIGKILL and started again with another clock, or stopped for longer than its
claims are valid and continued, so that it writes what another worker has already written. After that:

  - every Task is done, its history has one `done`, and its output is that of the undisturbed run;
  - every effect outside of the store happened, and each with one idempotency key: it may be requested again, but a service
    that knows the key would have acted once;
  - every Task has its one Artifact, and the store has no others;
  - the log of every thread equals that of the undisturbed run (logs.py removes times and random ids);
  - no process crashed or ended by itself, and each one ends when it is asked to.

    chaos.py                                  a small size, for every change
    chaos.py --tasks 1000 --ttl 3 --skew 30   the full size (minutes)
    chaos.py --seed 7                         the random choices of an earlier run; prints its seed otherwise
    chaos.py --keep                           keeps the folder, and prints it

With --store postgres, the disturbed run is on a PostgreSQL server, into which `tenon store copy` copies the Tasks, and which is
restarted at random times (immediate: all connections break, and it recovers from its log).

    chaos.py --store postgres --tasks 1000 --ttl 3 --skew 30   the full size on PostgreSQL

Environment: TENON, CHAOS_NODES and CHAOS_CLOCK are files of the build.
"""
import argparse
import collections
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from logs import difference, normalised
from rpc import Host
from stores import Postgres, Sqlite

HERE = os.path.dirname(os.path.abspath(__file__))
EFFECTS = ["first", "left", "right", "called", "tool-a", "tool-b", "tool-c",  # of documents/job.yaml
           *("%s-%d" % (name, number) for name in ("one", "two") for number in (1, 2, 3))]
CONCURRENCY = [3, 3, 2]  # of each process
STALLED_S = 180  # without progress, the test fails; far more than any claim or pause between attempts
KILLED = -signal.SIGKILL


class CheckFailed(Exception):
    pass


def expect(condition, message):
    if not condition:
        raise CheckFailed(message)


def environment(folder, clock_ms=0, pause_ms=0):
    env = {key: value for key, value in os.environ.items() if not key.startswith(("CHAOS_", "TENON"))}
    env.update(HOME=folder, XDG_CONFIG_HOME=folder, XDG_DATA_HOME=folder, CHAOS_LINES=os.path.join(folder, "lines"),
               CHAOS_PAUSE_MS=str(pause_ms))
    if clock_ms:
        env.update(LD_PRELOAD=os.environ["CHAOS_CLOCK"], CHAOS_CLOCK_MS=str(clock_ms))
    return env


# ---- Workers ----


class Worker:
    """One process that handles Tasks; it is started again after it was killed."""

    def __init__(self, folder, store, name, concurrency, pause_ms):
        self.folder, self.store, self.name, self.concurrency, self.pause_ms = folder, store, name, concurrency, pause_ms
        self.process, self.stopped = None, False

    def log_path(self):
        return os.path.join(self.folder, self.name + ".err")

    def start(self, clock_ms=0, *more):
        arguments = ["work", "--types", "job", "--concurrency", str(self.concurrency), "--name", self.name, *more]
        with open(self.log_path(), "a") as log:
            self.process = subprocess.Popen([os.environ["TENON"], *arguments], cwd=self.folder, stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, env=environment(self.folder, clock_ms, self.pause_ms))

    def check(self):
        """Only the test ends a worker."""
        code = self.process.poll()
        expect(code is None, "%s ended by itself, with exit code %s:\n%s" % (self.name, code, self.log()))

    def log(self):
        with open(self.log_path(), errors="replace") as file:
            return file.read()[-3000:]

    def stop(self):
        self.process.send_signal(signal.SIGSTOP)
        self.stopped = True

    def resume(self):
        self.process.send_signal(signal.SIGCONT)
        self.stopped = False

    def kill(self):
        self.process.kill()
        code = self.process.wait()
        self.stopped = False
        expect(code == KILLED, "%s ended by itself, with exit code %s:\n%s" % (self.name, code, self.log()))

    def end(self):
        if self.stopped:
            self.resume()
        self.process.terminate()
        try:
            code = self.process.wait(STALLED_S)
        except subprocess.TimeoutExpired:
            raise CheckFailed("%s does not end after SIGTERM:\n%s" % (self.name, self.log())) from None
        expect(code == 0, "%s: exit code %d after SIGTERM, expected 0:\n%s" % (self.name, code, self.log()))


class Disturber:
    """Decides what happens to one worker, and when. Each kind of disturbance happens at least once: `first` is the first one,
    as soon as the worker has a Task, and `skew` is how many seconds its first clock is wrong."""

    def __init__(self, worker, options, first, skew):
        self.worker, self.options, self.counts = worker, options, collections.Counter()
        self.random = random.Random("%s:%s" % (options.seed, worker.name))
        self.first, self.skew = getattr(self, first), skew
        self.pending, self.due = self.start, 0

    def after(self, seconds, action):
        self.pending, self.due = action, time.monotonic() + seconds

    def run_if_due(self):
        if time.monotonic() >= self.due:
            self.pending()

    def start(self):
        self.worker.start(round(self.skew * 1000))
        self.counts["skewed" if self.skew else "started"] += 1
        most = self.options.skew
        self.skew = self.random.choice([0, 0, most, -most, self.random.uniform(-most, most)])
        if self.first:
            self.after(0, self.disturb_first)
        else:
            self.choose()

    def disturb_first(self):
        if not self.worker.store.has_task(self.worker.name):
            self.after(0.01, self.disturb_first)
            return
        action, self.first = self.first, None
        action()

    def choose(self):
        action = self.random.choices([self.kill, self.stop], [3, 2])[0]
        self.after(self.random.expovariate(1 / self.options.interval), action)

    def kill(self):
        self.worker.check()
        self.worker.kill()
        self.counts["killed"] += 1
        self.after(self.random.uniform(0, 0.2), self.start)

    def stop(self):
        self.worker.check()
        self.worker.stop()
        self.counts["stopped"] += 1
        self.after(self.options.ttl * self.random.uniform(1.1, 1.6),
                   self.resume if self.random.random() < 0.8 else self.kill)

    def resume(self):
        self.worker.resume()
        self.choose()


# ---- The store ----


def write_configuration(folder, store, ttl):
    with open(os.path.join(folder, "tenon.yaml"), "w") as file:
        json.dump({"store": store.section(), "plugins": {"path": [os.environ["CHAOS_NODES"]]},
                   "work": {"job": {"strategy": os.path.join(HERE, "documents", "job.yaml"), "ttl": ttl,
                                    "retries": {"max_attempts": 1000, "initial": "10ms", "max": "100ms"}}}}, file)


def create_tasks(folder, count):
    with Host(folder, environment(folder)) as host:
        tasks = host.call_many("task/create", [{"task_type": "job", "payload": {"number": number},
                                                "idempotency_key": "job-%d" % number} for number in range(count)])
        again = host.call("task/create", {"task_type": "job", "idempotency_key": "job-0"})
    expect(again["task_id"] == tasks[0]["task_id"], "the same idempotency key created another Task")
    return [task["task_id"] for task in tasks]


class Outcome:
    """What the Tasks, their threads and the file of effects contain after all workers have ended."""

    def __init__(self, folder, ids):
        with Host(folder, environment(folder)) as host:
            self.tasks = host.call_many("task/get", [{"task_id": task} for task in ids])
            self.logs = host.call_many("thread/export", [{"thread_id": task} for task in ids])
            self.artifacts, after = [], {}
            while True:
                page = host.call("artifact/search", {"limit": 1000, **after})
                self.artifacts += page["artifacts"]
                if not page["more"]:
                    break
                after = {"after": self.artifacts[-1]["artifact_id"]}
        self.keys = collections.defaultdict(collections.Counter)  # {(Task, effect): {idempotency key: requests}}
        with open(os.path.join(folder, "lines")) as file:
            for line in file:
                task, effect, key = line.split()
                self.keys[task, effect][key] += 1

    def requests(self):
        return sum(sum(keys.values()) for keys in self.keys.values())


# ---- The two runs ----


def run_undisturbed(folder, store, count, pause_ms):
    worker = Worker(folder, store, "undisturbed", sum(CONCURRENCY), pause_ms)
    worker.start(0, "--drain")
    done, progress = 0, time.monotonic()
    while worker.process.poll() is None:
        time.sleep(0.05)
        found = store.states().get("done", 0)
        if found != done:
            done, progress = found, time.monotonic()
        if time.monotonic() - progress > STALLED_S:
            worker.kill()
            raise CheckFailed("the undisturbed worker makes no progress: %s" % store.states())
    expect(worker.process.returncode == 0, "the undisturbed worker failed:\n" + worker.log())
    states = store.states()
    expect(states == {"done": count}, "the undisturbed worker left %s:\n%s" % (states, worker.log()))


def run_disturbed(folder, store, count, options):
    workers = [Worker(folder, store, "worker-%d" % number, concurrency, options.pause)
               for number, concurrency in enumerate(CONCURRENCY)]
    disturbers = [Disturber(worker, options, first, skew) for worker, first, skew in zip(
        workers, ["kill", "stop", "kill"], [0, options.skew, -options.skew])]
    done, progress = 0, time.monotonic()
    try:
        while done < count:
            for disturber in disturbers:
                disturber.run_if_due()
            store.disturb()
            time.sleep(0.01)
            states = store.states()
            expect("failed" not in states, "a Task failed: %s" % states)
            if states.get("done", 0) != done:
                done, progress = states["done"], time.monotonic()
            expect(time.monotonic() - progress < STALLED_S, "no progress: %s" % states)
        if store.name == "postgres":
            store.stop_disturbing()
        for worker in workers:
            if worker.process.poll() is None:
                worker.end()
    finally:
        for worker in workers:
            if worker.process and worker.process.poll() is None:
                worker.process.kill()
                worker.process.wait()
    for worker in workers:
        expect(not re.search("Sanitizer|runtime error:", worker.log()), worker.log())
    return sum((disturber.counts for disturber in disturbers), collections.Counter())


# ---- Checks ----


def check_task(task, expected):
    name = "Task %s" % task["task_id"]
    expect(task["state"] == "done", "%s is %s" % (name, task["state"]))
    expect(task["user_output"] == expected["user_output"], "%s: output %s" % (name, task["user_output"]))
    outcomes = [entry["outcome"] for entry in task["history"]]
    expect(outcomes.count("done") == 1 and "failed" not in outcomes, "%s: history %s" % (name, task["history"]))
    expect(len(task["artifact_refs"]) == 1, "%s: Artifacts %s" % (name, task["artifact_refs"]))


def check_effects(outcome, ids):
    missing = [(task, effect) for task in ids for effect in EFFECTS if (task, effect) not in outcome.keys]
    expect(not missing, "%d effects are missing: %s" % (len(missing), missing[:5]))
    expect(len(outcome.keys) == len(ids) * len(EFFECTS), "%d effects, expected %d" % (len(outcome.keys), len(ids) * len(EFFECTS)))
    twice = {place: keys for place, keys in outcome.keys.items() if len(keys) != 1}
    expect(not twice, "%d effects have several idempotency keys: %s" % (len(twice), list(twice.items())[:3]))
    keys = [key for keys in outcome.keys.values() for key in keys]
    expect(len(set(keys)) == len(keys), "an idempotency key belongs to two effects")


def check(outcome, undisturbed, ids):
    for task, expected in zip(outcome.tasks, undisturbed.tasks):
        check_task(task, expected)
    check_effects(outcome, ids)
    owned = {task["artifact_refs"][0] for task in outcome.tasks}
    expect(owned == {artifact["artifact_id"] for artifact in outcome.artifacts} and len(owned) == len(ids),
           "%d Tasks own %d of %d Artifacts" % (len(ids), len(owned), len(outcome.artifacts)))
    for task, log, expected in zip(ids, outcome.logs, undisturbed.logs):
        found = difference(normalised(log), normalised(expected))
        expect(not found, "the log of Task %s differs from the undisturbed one at %s" % (task, found))


def check_clock(folder):
    """A clock that is not wrong would make the test easier than it says."""
    times = [subprocess.run([os.environ["TENON"], "eval", "int(timestamp(now()))"], env=environment(folder, clock_ms),
                            capture_output=True, text=True, check=True).stdout for clock_ms in (0, 10 ** 9)]
    expect(0 <= int(times[1]) - int(times[0]) - 10 ** 6 < 600, "the preloaded clock has no effect: %s" % times)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--store", choices=["sqlite", "postgres"], default="sqlite", help="of the disturbed run")
    parser.add_argument("--restart", type=float, default=6, help="mean seconds between two restarts of PostgreSQL")
    parser.add_argument("--tasks", type=int, default=60)
    parser.add_argument("--ttl", type=float, default=1, help="seconds of a claim")
    parser.add_argument("--skew", type=float, default=3, help="seconds that a clock is wrong at most")
    parser.add_argument("--interval", type=float, default=1.2, help="mean seconds between two disturbances of a process")
    parser.add_argument("--pause", type=int, default=40, help="milliseconds before and after an effect, at most")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    print("chaos: seed %d" % options.seed, flush=True)
    work = tempfile.mkdtemp(prefix="tenon-chaos-")
    calm, folder = os.path.join(work, "undisturbed"), os.path.join(work, "disturbed")
    os.mkdir(calm)
    os.mkdir(folder)
    os.chmod(work, 0o711)  # the server of PostgreSQL can have another user
    os.chmod(folder, 0o711)
    store = None
    try:
        check_clock(calm)
        calm_store = Sqlite(calm)
        write_configuration(calm, calm_store, options.ttl)
        ids = create_tasks(calm, options.tasks)
        store = Postgres(folder, options.restart, options.seed) if options.store == "postgres" else Sqlite(folder)
        store.fill_from(calm)
        write_configuration(folder, store, options.ttl)
        run_undisturbed(calm, calm_store, options.tasks, 0)
        undisturbed = Outcome(calm, ids)
        check(undisturbed, undisturbed, ids)
        began = time.monotonic()
        counts = run_disturbed(folder, store, options.tasks, options)
        seconds = time.monotonic() - began
        outcome = Outcome(folder, ids)
        check(outcome, undisturbed, ids)
        taken_over = sum(len(task["history"]) > 1 for task in outcome.tasks)
        expect(taken_over, "no Task was taken over: %s" % dict(counts))
        counts.update(store.close())
        expect(store.name == "sqlite" or counts["restarts"], "the server was not restarted")
        print("chaos: %s: %d Tasks in %.0f s; server restarted %d times, processes killed %d times, stopped %d times, started %d times with a wrong clock; "
              "%d Tasks were claimed more than once; %d requests for %d effects" % (
                  store.name, options.tasks, seconds, counts["restarts"], counts["killed"], counts["stopped"], counts["skewed"], taken_over,
                  outcome.requests(), len(outcome.keys)))
    except CheckFailed as error:
        print("chaos: failed: %s\nchaos: the folder is kept: %s\nAgain: chaos.py %s --seed %d" % (
            error, work, " ".join(argument for argument in sys.argv[1:]), options.seed))
        sys.exit(1)
    finally:
        if store:
            store.close()
    if options.keep:
        print("kept:", work)
    else:
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
