#!/usr/bin/env python3
"""Ten processes use one thread at the same time: they start, resume, replace and kill its runs. Whatever happens, the
thread can be replayed afterwards, it can be brought to its end, and no process crashes or hangs.

Each result of a node or tool is different (CRASH_VARY). A process that takes the thread over and does not see
everything that the process before it wrote would therefore save a history that no replay can repeat.

    race.py ROUNDS

Environment: as of crash.py. CRASH_SEED is the seed of random choices; with CRASH_KEEP, the folders of failures are kept.
"""
import concurrent.futures
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile

import program
from program import CheckFailed, expect, start, tenon, wait_for_end
from thread import Thread

PROCESSES = 10
INVOCATIONS = 6  # of each process
REFUSED = ("FENCED", "DONE", "UNFINISHED", "OWNED", "STORE_BUSY", "NOT_FOUND",
           "no open interrupt")
DOCUMENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "documents", "race.yaml")


def arguments(*more):
    return ["run", DOCUMENT, "--thread", "t", "--quiet", "--plugins", os.environ["CRASH_NODES"], *more]


def answers(folder):
    try:
        record = Thread(folder).record
    except (OSError, sqlite3.Error):  # the file is being created
        return []
    given = []
    for entry in (record or {}).get("interrupts") or []:
        if "id" in entry:
            given += ["--answer", entry["id"] + "=yes"]
    return given


def one_process(folder, rng):
    """Invocations of one process after another; returns what was not expected of them."""
    for _ in range(INVOCATIONS):
        kind = rng.choices(["resume", "start", "replace"], [6, 2, 1])[0]
        more = {"resume": ["--resume", *rng.choice([[], ["--force"]]), *answers(folder)], "start": ["--input", "{}"],
                "replace": ["--replace", "--input", "{}"]}[kind]
        process = start(folder, arguments(*more), {"CRASH_VARY": "1"})
        if rng.random() < 0.2:
            try:
                process.wait(rng.random() * 0.2)
            except subprocess.TimeoutExpired:
                process.kill()
        code, out, err = wait_for_end(process)
        refused = code == 1 and any(name in err for name in REFUSED)
        expect(code in (0, 5, program.KILLED) or refused, "%s: exit code %d\n%s%s" % (kind, code, out, err))


def one_round(number, work):
    folder = tempfile.mkdtemp(prefix="race-", dir=work)
    with open(os.path.join(folder, "tenon.yaml"), "w") as file:
        file.write("store: {use: sqlite, path: ./s.db}\n")
    rng = random.Random("%s:%d" % (os.environ.get("CRASH_SEED", "1"), number))
    try:
        with concurrent.futures.ThreadPoolExecutor(PROCESSES) as pool:
            jobs = [pool.submit(one_process, folder, random.Random(rng.random())) for _ in range(PROCESSES)]
            for job in jobs:
                job.result()
        replay(folder)
        for _ in range(20):
            record = Thread(folder).record
            if record["status"] == "done":
                break
            code, out, err = tenon(folder, arguments("--resume", *answers(folder)), {"CRASH_VARY": "1"})
            expect(code in (0, 5), "resumed: exit code %d\n%s%s" % (code, out, err))
        thread = Thread(folder)
        expect(thread.record["status"] == "done", "the thread does not end: %s" % thread.record)
        expect(not thread.unfinished_records(), "unfinished records: %s" % thread.unfinished_records())
        expect(thread.snapshots_match(), "a snapshot differs from its checkpoints")
        replay(folder)
    except CheckFailed as error:
        return "round %d: %s" % (number, error) + (" (kept: %s)" % folder if os.environ.get("CRASH_KEEP") else "")
    shutil.rmtree(folder)
    return None


def replay(folder):
    code, out, err = tenon(folder, ["replay", "t", "--document", DOCUMENT, "--plugins", os.environ["CRASH_NODES"]])
    expect(code == 0 and "are identical" in out, "replay: exit code %d\n%s%s" % (code, out, err))


def main():
    rounds = int(sys.argv[1])
    work = tempfile.mkdtemp(prefix="tenon-race-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
    failed = [text for text in (one_round(number, work) for number in range(rounds)) if text]
    for text in failed:
        print("failed:", text)
    if not os.environ.get("CRASH_KEEP"):
        shutil.rmtree(work)
    print("race: %d rounds, %d failed" % (rounds, len(failed)))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
