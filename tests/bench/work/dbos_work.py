#!/usr/bin/env python3
"""The workloads of tenon_work.py for DBOS (PyPI dbos==3.4.0), with SQLite or PostgreSQL; prints one line of JSON.

    dbos_work.py throughput FOLDER N --processes=P [--journal=wal] [--poll=S] [--claim=N] [--postgres=URL]
    dbos_work.py latency FOLDER N …
    dbos_work.py waiting FOLDER N …
    dbos_work.py claims FOLDER N --batch=B --postgres=URL
    dbos_work.py steps FOLDER N --postgres=URL

`claims` calls the function with which its workers claim, up to B workflows at a time. `steps` runs a workflow of N steps. URL is a
postgresql:// URL of an empty database.

A job is a workflow with one step, enqueued by another process than the workers. --journal=wal sets the journal mode of the
file, which is `delete` by default; `synchronous` is FULL, because DBOS does not set it. --poll is the queue's interval of
polling (1 second by default in DBOS); --claim bounds how many workflows a process has at once (no bound by default).
"""
import argparse
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time

from figures import percentiles, resident_kib, until

QUEUE, VERSION = "jobs", "1"


def database_url(options):
    return options.postgres or "sqlite:///" + os.path.join(options.folder, "dbos.sqlite")


def query(options, text):
    if options.postgres:
        import psycopg
        with psycopg.connect(options.postgres) as connection:
            return connection.execute(text.replace("workflow_status", "dbos.workflow_status")).fetchall()
    folder = options.folder
    database = sqlite3.connect(os.path.join(folder, "dbos.sqlite"), timeout=60)
    rows = database.execute(text).fetchall()
    database.close()
    return rows


# ---- A worker process ----


def run_worker(options):
    from dbos import DBOS
    DBOS(config={"name": "work", "system_database_url": database_url(options), "application_version": VERSION,
                 "executor_id": options.executor, "log_level": "ERROR"})

    @DBOS.step()
    def step(created):
        return created + 1

    @DBOS.workflow(name="job")
    def job(created):
        started = time.time()
        step(created)
        return [created, started, time.time()]

    @DBOS.workflow(name="ask")
    async def ask(created):
        return await DBOS.recv_async("answer", timeout_seconds=86400)

    DBOS.launch()
    DBOS.register_queue(QUEUE, worker_concurrency=options.claim or None, polling_interval_sec=options.poll)
    with open(options.ready, "w"):
        pass
    signal.sigwait({signal.SIGTERM})
    os._exit(0)


class Workers:
    def __init__(self, options, count):
        self.processes = []
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        for number in range(count):
            ready = os.path.join(options.folder, "ready-%d" % number)
            self.processes.append(subprocess.Popen(
                [sys.executable, __file__, "worker", options.folder, "0", "--executor=e%d" % number, "--ready=" + ready,
                 "--poll=%s" % options.poll, "--claim=%d" % options.claim,
                 *(["--postgres=" + options.postgres] if options.postgres else [])], env=environment))
            if number == 0:  # the first one creates the tables
                until(lambda: os.path.exists(ready) or self.processes[0].poll() is not None, "the first worker is ready")
                assert os.path.exists(ready), "the worker ended"
        until(lambda: all(os.path.exists(os.path.join(options.folder, "ready-%d" % n)) for n in range(count)),
              "the workers are ready")

    def resident_kib(self):
        return [resident_kib(process.pid) for process in self.processes]

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()


def new_client(options):
    from dbos import DBOSClient
    return DBOSClient(system_database_url=database_url(options))


def enqueue(client, workflow="job"):
    client.enqueue({"queue_name": QUEUE, "workflow_name": workflow, "app_version": VERSION}, time.time())


def results(client):
    """(created, started, ended) of each job, in seconds; the times in the table have a resolution of a second."""
    return [workflow.output for workflow in client.list_workflows(name="job", load_output=True)]


def create_database(options):
    """A worker creates the tables; then the journal mode is set for all later processes."""
    Workers(options, 1).end()
    os.remove(os.path.join(options.folder, "ready-0"))
    if not options.postgres:
        mode = query(options, "PRAGMA journal_mode = %s" % options.journal)[0][0]
        assert mode == options.journal, mode


def ended(options):
    return query(options, "SELECT count(*) FROM workflow_status WHERE status = 'SUCCESS'")[0][0]


# ---- Workloads ----


def throughput(options):
    create_database(options)
    client, began = new_client(options), time.monotonic()
    for _ in range(options.n):
        enqueue(client)
    created_s = time.monotonic() - began
    workers = Workers(options, options.processes)
    until(lambda: ended(options) == options.n, "all workflows have ended", pause=0.2)
    resident = workers.resident_kib()
    workers.end()
    times = results(client)
    client.destroy()
    seconds = max(ended for _, _, ended in times) - min(started for _, started, _ in times)
    used = query(options, "SELECT count(DISTINCT executor_id) FROM workflow_status")[0][0]
    return {"seconds": seconds, "per_second": options.n / seconds, "created_per_second": options.n / created_s,
            "resident_mib": max(resident) / 1024, "processes_used": used}


def latency(options):
    create_database(options)
    workers, client = Workers(options, 1), new_client(options)
    for number in range(options.n):
        enqueue(client)
        time.sleep(options.pause_ms(number) / 1000)
    until(lambda: ended(options) == options.n, "all workflows have ended")
    times = results(client)
    client.destroy()
    workers.end()
    return percentiles([1000 * (started - created) for created, started, _ in times])


def waiting(options):
    create_database(options)
    workers, client = Workers(options, 1), new_client(options)
    for _ in range(100):
        enqueue(client)
    until(lambda: ended(options) == 100, "the worker is warm")
    before = workers.resident_kib()[0]
    for _ in range(options.n):
        enqueue(client, "ask")
    until(lambda: query(options, "SELECT count(*) FROM workflow_status WHERE name = 'ask' AND status = 'PENDING'"
                        )[0][0] == options.n, "all workflows wait", pause=0.2)
    time.sleep(2)  # the status is written before the workflow waits
    after = workers.resident_kib()[0]
    client.destroy()
    workers.end()
    return {"before_mib": before / 1024, "after_mib": after / 1024, "per_task_kib": (after - before) / options.n}


def claims(options):
    from dbos import DBOS
    create_database(options)
    client = new_client(options)
    for _ in range(options.n):
        enqueue(client)
    DBOS(config={"name": "work", "system_database_url": database_url(options), "application_version": VERSION,
                 "executor_id": "bench", "log_level": "ERROR"})
    DBOS.listen_queues(["another"])  # so that only the loop below claims
    DBOS.launch()
    DBOS.register_queue(QUEUE, worker_concurrency=options.batch)
    from dbos._dbos import _get_dbos_instance
    system, queue = _get_dbos_instance()._sys_db, DBOS.retrieve_queue(QUEUE)
    found, began = 0, time.monotonic()
    while found < options.n:
        ids, _ = system.start_queued_workflows(queue, "bench", VERSION, None)
        assert ids, found
        found += len(ids)
    seconds = time.monotonic() - began
    print(json.dumps({"engine": "DBOS", "workload": "claims", "n": options.n, "batch": options.batch, "seconds": seconds,
                      "per_second": options.n / seconds}), flush=True)
    os._exit(0)


def log_position(options):
    return int(query(options, "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::int8")[0][0])


def steps(options):
    from dbos import DBOS
    DBOS(config={"name": "work", "system_database_url": database_url(options), "application_version": VERSION, "log_level": "ERROR"})

    @DBOS.step()
    def add(number):
        return number + 1

    @DBOS.workflow()
    def chain(count):
        number = 0
        for _ in range(count):
            number = add(number)
        return number

    DBOS.launch()
    chain(10)
    before, began = log_position(options), time.monotonic()
    assert chain(options.n) == options.n
    seconds = time.monotonic() - began
    print(json.dumps({"engine": "DBOS", "workload": "steps", "n": options.n, "seconds": seconds, "per_second": options.n / seconds,
                      "log_bytes": (log_position(options) - before) / options.n}), flush=True)
    os._exit(0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("workload", choices=["throughput", "latency", "waiting", "worker", "claims", "steps"])
    parser.add_argument("folder")
    parser.add_argument("n", type=int)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--journal", default="delete")
    parser.add_argument("--poll", type=float, default=1.0)
    parser.add_argument("--claim", type=int, default=0)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--postgres")
    parser.add_argument("--executor")
    parser.add_argument("--ready")
    options = parser.parse_args()
    options.folder = os.path.abspath(options.folder)
    if options.workload == "worker":
        return run_worker(options)
    import importlib.metadata
    from figures import pause_ms
    options.pause_ms = pause_ms
    figures = {"throughput": throughput, "latency": latency, "waiting": waiting, "claims": claims, "steps": steps}[options.workload](options)
    print(json.dumps({"engine": "DBOS " + importlib.metadata.version("dbos"), "workload": options.workload, "n": options.n,
                      "store": "postgres" if options.postgres else "sqlite, " + options.journal, "synchronous": "full", **figures}))


if __name__ == "__main__":
    main()
