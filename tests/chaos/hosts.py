#!/usr/bin/env python3
"""Hosts of one PostgreSQL database that are not alike: of two versions, and beside a transaction that is held open; and copies.

    hosts.py formats     a host of an older release: the schema is newer than it can write. It refuses, and changes nothing
    hosts.py documents   hosts with two versions of a strategy: a Task that one version began is ended by that version
    hosts.py xmin [N]    claims of N Tasks, without and with a transaction that keeps all dead rows; prints claims/s and blocks
    hosts.py copy [N]    N memories from SQLite into PostgreSQL and back; the copies are killed, and the server is restarted meanwhile

Without arguments, all of them. Environment: TENON; for xmin also TASKS, the program tenon-tasks.
"""
import datetime
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from rpc import Host
from stores import SERVER, Postgres

LIMIT_S = 20


def until(condition, what):
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, "waited %d seconds: %s" % (LIMIT_S, what)
        time.sleep(0.02)


class Place:
    """A folder with a database, a tenon.yaml for each version, and processes of tenon."""

    def __init__(self, server, name):
        self.folder = tempfile.mkdtemp(prefix="tenon-hosts-")
        self.server, self.schema, self.workers = server, name, []
        self.environment = {**os.environ, "HOME": self.folder, "XDG_CONFIG_HOME": self.folder, "XDG_DATA_HOME": self.folder}

    def configure(self, version, **job):
        with open(os.path.join(self.folder, version + ".yaml"), "w") as file:
            json.dump({"store": {**self.server.section(), "schema": self.schema}, "work": {"job": job}}, file)

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w") as file:
            file.write(text)

    def tenon(self, version, *arguments):
        return subprocess.run([os.environ["TENON"], *arguments, "--config", version + ".yaml"], cwd=self.folder, env=self.environment,
                              capture_output=True, text=True, timeout=LIMIT_S)

    def create(self, version):
        created = self.tenon(version, "task", "create", "job")
        assert created.returncode == 0, created.stderr
        return created.stdout.strip()

    def task(self, version, task):
        return json.loads(self.tenon(version, "task", "show", task, "--json").stdout)

    def state(self, task):
        """As `task`, without a process: for a condition that is asked again and again."""
        return self.server.query("SELECT json::jsonb->>'state' FROM %s.readable WHERE collection = 'tasks' AND key = '%s'"
                                 % (self.schema, task))[0][0]

    def worker(self, version):
        log = open(os.path.join(self.folder, version + ".log"), "a")
        self.workers.append(subprocess.Popen([os.environ["TENON"], "work", "--types", "job", "--config", version + ".yaml", "--name",
                                              version], cwd=self.folder, env=self.environment, stdout=log, stderr=log))
        return self.workers[-1]

    def log(self, version):
        with open(os.path.join(self.folder, version + ".log")) as file:
            return file.read()

    def end(self):
        for worker in self.workers:
            if worker.poll() is None:
                worker.kill()
                worker.wait()
        shutil.rmtree(self.folder)


STRATEGY = """
version: "1.0"
agent: {name: job}
channels:
  - {name: task, type: last_value}
  - {name: user_output, type: last_value}
  - {name: task_state, type: last_value}
nodes:
  - {id: begin, type: set, config: {values: {user_output: "'begun'"}}}
  - {id: rest, type: delay, config: {ms: 1000}}
  - {id: end, type: set, config: {values: {user_output: "'VERSION'", task_state: "'done'"}}}
edges: [{from: START, to: begin}, {from: begin, to: rest}, {from: rest, to: end}, {from: end, to: END}]
output:
  type: object
  properties: {user_output: {type: [string, "null"]}, task_state: {enum: [done, failed, running]}}
"""


def formats(server):
    place = Place(server, "formats")
    try:
        place.configure("old", strategy="./job.yaml", ttl=2)
        place.write("job.yaml", STRATEGY.replace("ms: 1000", "ms: 1"))
        first, worker = place.create("old"), place.worker("old")
        until(lambda: place.state(first) == "done", "the worker handles Tasks")
        later = place.create("old")
        until(lambda: place.state(later) == "done", "the worker handles Tasks")
        soon = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=1)
        due = place.tenon("old", "task", "create", "job", "--not-before", soon.strftime("%Y-%m-%dT%H:%M:%S.%fZ")).stdout.strip()
        server.query("UPDATE formats.meta SET version = version + 1 RETURNING version")
        refused = place.tenon("old", "task", "wake", due)
        assert refused.returncode == 4 and "STORE_VERSION" in refused.stderr, refused
        refused = place.tenon("old", "store", "migrate")
        assert refused.returncode == 4 and "STORE_VERSION" in refused.stderr, refused
        until(lambda: "was written by a newer release" in place.log("old"), "the worker reports that it cannot claim")
        assert place.state(due) == "queued", place.state(due)
        server.query("UPDATE formats.meta SET version = version - 1 RETURNING version")
        assert worker.poll() is None, worker.poll()
        until(lambda: place.state(due) == "done", "the Task is done when the format is the old one again")
        print("formats: refused with STORE_VERSION, and nothing was changed; the worker waited, and continued when it could")
    finally:
        place.end()


def documents(server):
    place = Place(server, "documents")
    try:
        for version in ("one", "two"):
            place.write(version + "-job.yaml", STRATEGY.replace("VERSION", version))
            place.configure(version, strategy="./%s-job.yaml" % version, ttl=1,
                            retries={"max_attempts": 100, "initial": "50ms", "max": "100ms"})
        task, worker = place.create("one"), place.worker("one")
        until(lambda: "rest" in place.tenon("one", "thread", "show", task).stdout, "the first host has begun the Task")
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        place.worker("two")
        until(lambda: any(attempt["claimed_by"] == "two" and attempt["outcome"] for attempt in place.task("one", task)["history"]),
              "the other version has tried")
        fresh = place.create("two")
        until(lambda: place.state(fresh) == "done", "the other version handles its own Tasks")
        assert place.task("two", fresh)["user_output"] == "two"
        assert place.task("one", task)["state"] != "failed", place.task("one", task)
        place.worker("one")
        until(lambda: place.state(task) == "done", "a host of the first version ends the Task")
        found = place.task("one", task)
        assert found["user_output"] == "one", found
        refused = [attempt for attempt in found["history"] if (attempt.get("error") or {}).get("code") == "GRAPH_CHANGED"]
        assert refused, found
        print("documents: the version that had begun the Task has ended it; the other one released it %d times" % len(refused))
    finally:
        place.end()


def held_transaction(server):
    psql = subprocess.Popen(["psql", "-XqAt", server.connection], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    psql.stdin.write("BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT pg_current_xact_id();\n")
    psql.stdin.flush()
    assert psql.stdout.readline().strip()
    return psql


def claims(server, count, batch):
    """(claims a second, blocks that a claim reads)"""
    blocks = "SELECT blks_hit + blks_read FROM pg_stat_database WHERE datname = 'tenon'"
    before = int(server.query(blocks)[0][0])
    done = subprocess.run([os.environ["TASKS"], "claim", str(count), "--batch=%d" % batch, "--store=postgres", "--url=" + server.connection],
                          capture_output=True, text=True, cwd=tempfile.gettempdir())
    assert done.returncode == 0, done.stderr
    until(lambda: server.query("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'tenon'")[0][0] == "0",
          "the connections have ended, and their counts are in the statistics")
    figures = json.loads(done.stdout)
    server.query("DROP SCHEMA tenon CASCADE; SELECT 1")
    return figures["notes"]["per_s"], (int(server.query(blocks)[0][0]) - before) / count


def xmin(server, count=300):
    rows = []
    for batch in (1, 20):
        free = claims(server, count, batch)
        holder = held_transaction(server)
        held = claims(server, count, batch)
        holder.kill()
        holder.wait()
        print("xmin: %d Tasks, in batches of %d: %.0f claims/s and %.0f blocks a claim; with a transaction held open %.0f claims/s and"
              " %.0f blocks" % (count, batch, *free, *held))
        rows.append((free, held))
    # All Tasks were claimed, each once (tenon-tasks checks it). The work of a claim may grow, but not without bound.
    assert all(held[1] < 20 * free[1] for free, held in rows), rows


def copy_until_done(source, target, server, choice):
    """Runs `tenon store copy` until it ends. It is killed, or the server restarts, at random times. Returns its last line."""
    killed = restarted = 0
    while True:
        process = subprocess.Popen([os.environ["TENON"], "store", "copy", source, target, "--quiet"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        try:
            out, err = process.communicate(timeout=choice.uniform(0, 0.2 + 0.1 * (killed + restarted)))
        except subprocess.TimeoutExpired:
            if choice.random() < 0.3:  # the copy connects again, and continues
                subprocess.run(["bash", SERVER, "restart", server.folder, "immediate"], check=True, stdout=subprocess.DEVNULL)
                restarted += 1
                out, err = process.communicate(timeout=LIMIT_S)
            else:
                process.kill()
                out, err = process.communicate()
                killed += 1
        if process.returncode == 0:
            return out, killed, restarted
        if process.returncode == 1 and "is not empty" in err:  # the copy before was killed after its end
            again = subprocess.run([os.environ["TENON"], "store", "copy", "--replace", source, target, "--quiet"], capture_output=True, text=True)
            assert again.returncode == 0, again.stderr
            return again.stdout, killed, restarted
        # A copy that opens a store while its server is down ends with an error, as if it had been killed.
        assert process.returncode == -signal.SIGKILL or "the server cannot be reached" in err, err


def copy(server, count=1000):
    place, seed = Place(server, "copy"), random.SystemRandom().randrange(1 << 32)
    choice = random.Random(seed)
    print("copy: seed %d" % seed, flush=True)
    try:
        source, back = os.path.join(place.folder, "source.db"), os.path.join(place.folder, "back.db")
        place.write("tenon.yaml", json.dumps({"store": {"use": "sqlite", "path": source}}))
        with Host(place.folder, place.environment) as host:
            host.call_many("memory/put", [{"namespace": ["n", str(number % 7)], "key": str(number), "value": {"text": "word%d " % number * 30}}
                                          for number in range(count)])
        target = json.dumps({**server.section(), "schema": "copy"})
        place.write("target.yaml", json.dumps({"store": json.loads(target)}))
        out, killed, restarted = copy_until_done(source, target, server, choice)
        found = place.tenon("target", "memory", "search", "n", "--query", "word7", "--json")
        assert found.returncode == 0 and "word7" in found.stdout, found
        again, killed_back, restarted_back = copy_until_done(target, back, server, choice)
        assert out.split()[-1] == again.split()[-1] and "copied %d records" % count in again, (out, again)
        # An unfinished copy: no host uses it.
        server.query("INSERT INTO copy.collections (name, hot) VALUES ('store', false) ON CONFLICT DO NOTHING; SELECT 1")
        server.query("INSERT INTO copy.records (collection, key, version, found_by, json) SELECT id, 'copy', 1, 0, '{\"from\":\"x\"}'"
                     " FROM copy.collections WHERE name = 'store'; UPDATE copy.meta SET epoch = epoch + 1; SELECT 1")
        refused = place.tenon("target", "thread", "list")
        assert refused.returncode == 4 and "STORE_INCOMPLETE" in refused.stderr, refused
        print("copy: %d records there and back, with equal hashes; killed %d times, server restarted %d times" % (
            count, killed + killed_back, restarted + restarted_back))
    finally:
        place.end()


def main():
    parts = {"formats": formats, "documents": documents, "copy": copy, "xmin": xmin}
    chosen = [sys.argv[1]] if len(sys.argv) > 1 else [name for name in parts if name != "xmin" or "TASKS" in os.environ]
    more = [int(sys.argv[2])] if len(sys.argv) > 2 else []
    folder = tempfile.mkdtemp(prefix="tenon-hosts-")
    os.chmod(folder, 0o711)
    server = Postgres(folder)
    try:
        for name in chosen:
            parts[name](server, *more)
    finally:
        server.close()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
