#!/usr/bin/env python3
"""Measures `tenon work`; prints one line of JSON.

    tenon_work.py throughput FOLDER N --processes=P [--sync=full] [--postgres=CONNECTION]
    tenon_work.py latency FOLDER N …
    tenon_work.py waiting FOLDER N …
    tenon_work.py steps FOLDER N …

`throughput` creates N Tasks and then starts P processes of the default concurrency on the same file: seconds are from the
first claim to the last end. `latency` creates Tasks one by one while one worker is idle: from created_at to the `now` of the
first node. `waiting` creates N Tasks that ask a question while one worker runs: how much its resident set grows. `steps` runs a saved thread of N super-steps,
each of which is a commit.

With --postgres, the store is in the database of that connection string of libpq, in a schema that is removed at the end, and
bytes of its log (WAL) are reported.

FOLDER is empty or does not exist. TENON is the program (default: that of build/release).
"""
import argparse
import datetime
import json
import os
import sqlite3
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, os.path.join(ROOT, "tests", "chaos"))
os.environ.setdefault("TENON", os.path.join(ROOT, "build", "release", "bin", "tenon"))
from figures import pause_ms, percentiles, resident_kib, until
from rpc import Host
from stores import Postgres

class Sqlite:
    table, options = "records", ()

    def __init__(self, options):
        self.path, self.section = os.path.join(options.folder, "s.db"), {"use": "sqlite", "path": "./s.db", "sync": options.sync}

    def member(self, path):
        return "json_extract(json, '$.%s')" % path

    def query(self, text):
        database = sqlite3.connect("file:%s?mode=ro" % self.path, uri=True, timeout=60)
        rows = database.execute(text).fetchall()
        database.close()
        return rows

    def log_bytes(self):
        return 0

    def end(self):
        pass


class InPostgres:
    def __init__(self, options):
        self.server, self.schema = Postgres.running(options.postgres), "bench_%d" % os.getpid()
        self.table = self.schema + ".readable"
        self.section = {"use": "postgres", "url": options.postgres, "schema": self.schema,
                        "sync": "off" if options.sync == "off" else "full"}

    def member(self, path):
        return "json::jsonb#>>'{%s}'" % path.replace("[0]", ".0").replace(".", ",")

    def query(self, text):
        return self.server.query(text)

    def log_bytes(self):
        return int(self.query("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::int8")[0][0])

    def end(self):
        self.query("DROP SCHEMA IF EXISTS %s CASCADE; SELECT 1" % self.schema)
        self.server.close()


def select(store, members, condition="true"):
    """Rows of the members of the Tasks that meet the condition."""
    return store.query("SELECT %s FROM %s WHERE collection = 'tasks' AND %s" % (
        ", ".join(store.member(path) for path in members), store.table, condition))


def count(store, condition):
    return int(store.query("SELECT count(*) FROM %s WHERE collection = 'tasks' AND %s" % (store.table, condition))[0][0])


def is_ended(options, kind, number):
    store = options.store
    condition = "%s = '%s' AND %s = " % (store.member("task_type"), kind, store.member("state"))
    if count(store, condition + "'failed'"):
        raise SystemExit("a Task has failed: see " + options.folder)
    return count(store, condition + "'done'") == number


def write_configuration(options):
    os.makedirs(options.folder, exist_ok=True)
    with open(os.path.join(options.folder, "tenon.yaml"), "w") as file:
        json.dump({"store": options.store.section,
                   "work": {name: {"strategy": os.path.join(HERE, name + ".yaml")} for name in ("job", "ask")}}, file)


def seconds_of(iso):
    return datetime.datetime.fromisoformat(iso).timestamp()


class Workers:
    def __init__(self, options, count):
        command = [os.environ["TENON"], "work", "--types", "job,ask", "--quiet"]
        command += ["--concurrency", str(options.concurrency)] if options.concurrency else []
        self.processes = [subprocess.Popen(command, cwd=options.folder, stdin=subprocess.DEVNULL) for _ in range(count)]

    def resident_kib(self):
        return [resident_kib(process.pid) for process in self.processes]

    def end(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            if process.wait(60) != 0:
                raise SystemExit("a worker failed with exit code %d" % process.returncode)


def tasks(kind, numbers):
    return [{"task_type": kind, "payload": {"number": number}} for number in numbers]


# ---- Workloads ----


def throughput(options):
    with Host(options.folder) as host:
        began = time.monotonic()
        host.call_many("task/create", tasks("job", range(options.n)))
        created_s = time.monotonic() - began
    workers = Workers(options, options.processes)
    until(lambda: is_ended(options, "job", options.n), "all Tasks have ended", 0.1)
    resident = workers.resident_kib()
    workers.end()
    rows = select(options.store, ["history[0].started_at", "history[0].ended_at", "claimed_by"])
    first, last = min(seconds_of(row[0]) for row in rows), max(seconds_of(row[1]) for row in rows)
    used = len({row[2] for row in rows})
    return {"seconds": last - first, "per_second": options.n / (last - first), "created_per_second": options.n / created_s,
            "resident_mib": max(resident) / 1024, "processes_used": used}


def latency(options):
    with Host(options.folder) as host:
        workers = Workers(options, 1)
        host.call("task/create", tasks("job", [-1])[0])
        until(lambda: is_ended(options, "job", 1), "the worker is ready")
        for number in range(options.n):
            host.call("task/create", tasks("job", [number])[0])
            time.sleep(pause_ms(number) / 1000)
        until(lambda: is_ended(options, "job", options.n + 1), "all Tasks have ended")
    workers.end()
    # `user_output` is the time of the strategy's first node.
    rows = select(options.store, ["user_output", "created_at"], options.store.member("payload.number") + " <> '-1'")
    return percentiles([int(started) - 1000 * seconds_of(created) for started, created in rows])


def waiting(options):
    with Host(options.folder) as host:
        workers = Workers(options, 1)
        store = options.store
        waits = "%s IN ('1', 'true') AND %s = 'ask'" % ("CAST(%s AS text)" % store.member("waiting"), store.member("task_type"))
        host.call_many("task/create", tasks("ask", range(options.warm)))
        until(lambda: count(store, waits) == options.warm, "the worker is warm")
        before = workers.resident_kib()[0]
        host.call_many("task/create", tasks("ask", range(options.n)))
        until(lambda: count(store, waits) == options.warm + options.n, "all Tasks wait", 0.1)
        time.sleep(1)
        after = workers.resident_kib()[0]
    workers.end()
    return {"before_mib": before / 1024, "after_mib": after / 1024, "per_task_kib": (after - before) / options.n}


def steps(options):
    document = os.path.join(options.folder, "chain.yaml")
    with open(document, "w") as file:
        json.dump({"version": "1.0", "agent": {"name": "chain", "recursion_limit": options.n + 1},
                   "channels": [{"name": "n", "type": "last_value", "default": 0}],
                   "nodes": [{"id": "add", "type": "set", "config": {"values": {"n": "state.n + 1"}}}],
                   "edges": [{"from": "START", "to": "add"},
                             {"from": "add", "type": "conditional", "conditions": [
                                 {"expression": "state.n < %d" % options.n, "to": "add"}, {"expression": "true", "to": "END"}]}]}, file)
    command = [os.environ["TENON"], "run", document, "--quiet", "--thread"]
    subprocess.run([*command, "warm"], cwd=options.folder, check=True, stdout=subprocess.DEVNULL)
    before, began = options.store.log_bytes(), time.monotonic()
    subprocess.run([*command, "measured"], cwd=options.folder, check=True, stdout=subprocess.DEVNULL)
    seconds = time.monotonic() - began
    return {"seconds": seconds, "per_second": options.n / seconds, "log_bytes": (options.store.log_bytes() - before) / options.n}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("workload", choices=["throughput", "latency", "waiting", "steps"])
    parser.add_argument("folder")
    parser.add_argument("n", type=int)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--concurrency", type=int, default=0, help="of each process; 0: the default of `tenon work`")
    parser.add_argument("--warm", type=int, default=2000, help="Tasks until the caches of SQLite and of the allocator are full")
    parser.add_argument("--sync", choices=["off", "normal", "full"], default="normal")
    parser.add_argument("--postgres", help="a connection string of libpq; without it, the store is SQLite")
    options = parser.parse_args()
    options.folder = os.path.abspath(options.folder)
    options.store = InPostgres(options) if options.postgres else Sqlite(options)
    write_configuration(options)
    try:
        figures = {"throughput": throughput, "latency": latency, "waiting": waiting, "steps": steps}[options.workload](options)
    finally:
        options.store.end()
    print(json.dumps({"engine": "Tenon", "workload": options.workload, "n": options.n, "store": options.store.section["use"],
                      "synchronous": options.sync, **figures}))


if __name__ == "__main__":
    main()
