#!/usr/bin/env python3
"""Measures `tenon work`; prints one line of JSON.

    tenon_work.py throughput FOLDER N --processes=P [--sync=full]
    tenon_work.py latency FOLDER N [--sync=full]
    tenon_work.py waiting FOLDER N

`throughput` creates N Tasks and then starts P processes of the default concurrency on the same file: seconds are from the
first claim to the last end. `latency` creates Tasks one by one while one worker is idle: from created_at to the `now` of the
first node. `waiting` creates N Tasks that ask a question while one worker runs: how much its resident set grows.

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

STATE = "json_extract(json, '$.state')"


def query(folder, text):
    database = sqlite3.connect("file:%s?mode=ro" % os.path.join(folder, "s.db"), uri=True, timeout=60)
    rows = database.execute(text).fetchall()
    database.close()
    return rows


def count(folder, condition):
    return query(folder, "SELECT count(*) FROM records WHERE collection = 'tasks' AND " + condition)[0][0]


def is_ended(folder, kind, number):
    condition = "json_extract(json, '$.task_type') = '%s' AND " % kind
    if count(folder, condition + STATE + " = 'failed'"):
        raise SystemExit("a Task has failed: see " + folder)
    return count(folder, condition + STATE + " = 'done'") == number


def write_configuration(options):
    os.makedirs(options.folder, exist_ok=True)
    with open(os.path.join(options.folder, "tenon.yaml"), "w") as file:
        json.dump({"store": {"use": "sqlite", "path": "./s.db", "sync": options.sync},
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
    until(lambda: is_ended(options.folder, "job", options.n), "all Tasks have ended", 0.1)
    resident = workers.resident_kib()
    workers.end()
    rows = query(options.folder, "SELECT json_extract(json, '$.history[0].started_at'), json_extract(json,"
                 " '$.history[0].ended_at'), json_extract(json, '$.claimed_by') FROM records WHERE collection = 'tasks'")
    first, last = min(seconds_of(row[0]) for row in rows), max(seconds_of(row[1]) for row in rows)
    used = len({row[2] for row in rows})
    return {"seconds": last - first, "per_second": options.n / (last - first), "created_per_second": options.n / created_s,
            "resident_mib": max(resident) / 1024, "processes_used": used}


def latency(options):
    with Host(options.folder) as host:
        workers = Workers(options, 1)
        host.call("task/create", tasks("job", [-1])[0])
        until(lambda: is_ended(options.folder, "job", 1), "the worker is ready")
        for number in range(options.n):
            host.call("task/create", tasks("job", [number])[0])
            time.sleep(pause_ms(number) / 1000)
        until(lambda: is_ended(options.folder, "job", options.n + 1), "all Tasks have ended")
    workers.end()
    # `user_output` is the time of the strategy's first node.
    rows = query(options.folder, "SELECT json_extract(json, '$.user_output'), json_extract(json, '$.created_at')"
                 " FROM records WHERE collection = 'tasks' AND json_extract(json, '$.payload.number') >= 0")
    return percentiles([int(started) - 1000 * seconds_of(created) for started, created in rows])


def waiting(options):
    with Host(options.folder) as host:
        workers = Workers(options, 1)
        waits = "json_extract(json, '$.waiting') AND json_extract(json, '$.task_type') = 'ask'"
        host.call_many("task/create", tasks("ask", range(options.warm)))
        until(lambda: count(options.folder, waits) == options.warm, "the worker is warm")
        before = workers.resident_kib()[0]
        host.call_many("task/create", tasks("ask", range(options.n)))
        until(lambda: count(options.folder, waits) == options.warm + options.n, "all Tasks wait", 0.1)
        time.sleep(1)
        after = workers.resident_kib()[0]
    workers.end()
    return {"before_mib": before / 1024, "after_mib": after / 1024, "per_task_kib": (after - before) / options.n}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("workload", choices=["throughput", "latency", "waiting"])
    parser.add_argument("folder")
    parser.add_argument("n", type=int)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--concurrency", type=int, default=0, help="of each process; 0: the default of `tenon work`")
    parser.add_argument("--warm", type=int, default=2000, help="Tasks until the caches of SQLite and of the allocator are full")
    parser.add_argument("--sync", choices=["off", "normal", "full"], default="normal")
    options = parser.parse_args()
    options.folder = os.path.abspath(options.folder)
    write_configuration(options)
    figures = {"throughput": throughput, "latency": latency, "waiting": waiting}[options.workload](options)
    print(json.dumps({"engine": "Tenon", "workload": options.workload, "n": options.n, "journal": "wal",
                      "synchronous": options.sync, **figures}))


if __name__ == "__main__":
    main()
