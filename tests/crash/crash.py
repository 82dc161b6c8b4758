#!/usr/bin/env python3
"""Durable runs, killed at every write to their store, and gone on with: what was lost, and what was done twice?

Every case (cases.py) is a document and the invocations of one thread. Undisturbed, they give a folder after each of
them: the store, and a file with a line for everything that nodes and tools did outside. A point is one invocation more,
from such a folder, in which one thing goes wrong: it is killed before, after or in the middle of the Nth write, or told
that the disk fails or is full (shim.c), or it is killed at some time. Then it is resumed, and perhaps killed again,
until the thread stands where the undisturbed one does. After that

  - the state is the undisturbed one's, byte for byte, and so is what is printed, and what the next invocation makes;
  - what was done outside is the same, once what was done twice by one idempotency key is counted once;
  - what the store knew to be done was not done again;
  - a disk that failed was told as that, and nothing was lost by it;
  - `tenon replay` finds all the same, SQLite finds nothing damaged, and nothing of a step under way is left.

hosts.py has several hosts at one thread.

    crash.py                        all of it; how many points there were is printed
    crash.py map                    a case
    crash.py map:0:half:17          a point: case, turn, what goes wrong, and at which write; its folders are kept

Environment: TENON, CRASH_NODES and CRASH_SHIM are the files of the build. CRASH_STRIDE N takes one write of N; by as
many as there are ways to go wrong, each write goes wrong in one of them. CRASH_SEED is for what is random.
"""
import concurrent.futures
import os
import random
import shutil
import sys
import tempfile
import time

import hosts
from cases import BESIDE, CASES, HOSTS
from program import KILLED, Wrong, compare, expect, finish, invocation, replay, run_arguments, shim, start, tenon
from program import undisturbed, was_hit
from thread import Thread, read_lines

HOWS = ["before", "enospc", "half", "eio", "after"]
ATTEMPTS = 50  # of resuming, until it must have come to its end

# A large stride leaves out whole kinds of points, as one alone costs a run that is not hit any more.
STRIDE = int(os.environ.get("CRASH_STRIDE", "1"))
EACH = STRIDE // 15 | 1
WITHIN = max(1, STRIDE // EACH)


def seeded(*what):
    return random.Random(":".join(str(part) for part in (os.environ.get("CRASH_SEED", "1"), *what)))


def check_failed(how, ended, stand):
    code, out, err = ended
    if how in ("before", "after", "half"):
        expect(code == KILLED, "exit code %d, expected to be killed\n%s" % (code, err))
    elif code != stand.code or out != stand.out:  # else it could do without that write, or has repeated it
        name = "STORE_FULL" if how == "enospc" else "STORE_ERROR"
        expect(code == 1 and name in err, "exit code %d, expected 1 and %s\n%s" % (code, name, err))


def disturb(case, folder, turn, how, at, rng, stand):
    """False where it came to its end before that."""
    arguments = invocation(case, folder, turn)
    if how == "time":
        process = start(folder, arguments)
        time.sleep(rng.random() * stand.seconds)
        process.kill()
        return finish(process)[0] == KILLED
    ended = tenon(folder, arguments, shim(folder, how, at))
    if was_hit(folder):
        check_failed(how, ended, stand)
    return was_hit(folder)


def recover(case, folder, turn, stand, before, rng):
    """Until the thread stands as the undisturbed one. Gives what the last invocation printed, or None."""
    out = None
    for attempt in range(ATTEMPTS):
        thread = Thread(folder)
        if thread.record == before.record:
            arguments = invocation(case, folder, turn)  # nothing of it was kept
        elif thread.record["status"] == stand.thread.record["status"] and thread.at() == stand.thread.at():
            return out
        else:
            expect(thread.record["status"] == "running" or case.fails and thread.record["status"] == "failed",
                   "it is %s, at %s" % (thread.record["status"], thread.at()))
            arguments = run_arguments(case, "--resume")
        again = shim(folder, "before", rng.randrange(1, 40)) if attempt < 2 and rng.random() < 0.4 else None
        code, out, err = tenon(folder, arguments, again)
        if code == KILLED and again:
            out = None
        else:
            expect(code == stand.code or case.fails and code == 1,
                   "resumed: exit code %d, expected %d\n%s" % (code, stand.code, err))
    raise Wrong("it does not come to its end: %s" % Thread(folder).record)


def resume(case, folder, turn, rng, before, stand):
    lines = read_lines(folder)
    known = {line: lines.count(line) for line in Thread(folder).known(lines)}
    out = recover(case, folder, turn, stand, before, rng)
    expect(out is None or out == stand.out, "printed:\n%s\ninstead of:\n%s" % (out, stand.out))
    lines = read_lines(folder)
    again = {line for line in known if lines.count(line) != known[line]}
    expect(not again, "done again, though the store knew of it: %s" % again)


def replace(case, folder, rng):
    """Another input in its place: what that one does is not taken for what was done for the first."""
    before, more = read_lines(folder), shim(folder, "before", rng.randrange(1, 60))
    code, out, err = tenon(folder, run_arguments(case, "--replace", "--input", "{}"), more)
    if code == KILLED:
        if Thread(folder).record["status"] == "done":
            return
        mode = ["--resume"] if len(read_lines(folder)) > len(before) else ["--replace", "--input", "{}"]
        code, out, err = tenon(folder, run_arguments(case, *mode))
    expect(code == 0, "replaced: exit code %d\n%s%s" % (code, out, err))
    same = set(before) & set(read_lines(folder)[len(before):])
    expect(not same, "keys are given twice: %s" % same)
    thread = Thread(folder)
    expect(thread.damage == "ok", "integrity_check: " + thread.damage)
    expect(not thread.under_way(), "left behind: %s" % thread.under_way())
    replay(case, folder)


def point(case, stands, turn, how, at, work, keep=False):
    """False where nothing went wrong any more."""
    folder = tempfile.mkdtemp(prefix="point-", dir=work)
    shutil.copytree(stands[turn].folder, folder, dirs_exist_ok=True)
    rng = seeded(case.name, turn, how, at)
    hit = disturb(case, folder, turn, how, at, rng, stands[turn + 1])
    if hit and keep:
        shutil.copytree(folder, folder + "-disturbed")
        print("kept:", folder)
    if hit and case.replaced and Thread(folder).record:
        replace(case, folder, rng)
        if not keep:
            shutil.rmtree(folder)
        return True
    turn_then = len(stands) - 2 if hit and case.fails else turn
    if hit:
        resume(case, folder, turn, rng, stands[turn].thread, stands[turn_then + 1])
    follows = turn_then + 2 < len(stands) and (keep or rng.random() < 0.25)
    compare(case, folder, stands[turn_then + 1], not follows)
    if follows:
        code, out, err = tenon(folder, invocation(case, folder, turn + 1))
        then = stands[turn + 2]
        expect((code, out) == (then.code, then.out), "the next turn: exit code %d\n%s%s" % (code, out, err))
        compare(case, folder, then)
    if not keep:
        shutil.rmtree(folder)
    return hit


def points(case, stands, turn, how, work):
    """All of one kind: how many there were, and what was wrong."""
    count, wrong = 0, []
    if how == "time":
        places = range(1, case.times * len(HOWS) // max(WITHIN, len(HOWS)) + 1)
    else:
        first = HOWS.index(how) * max(1, WITHIN // len(HOWS)) + turn
        places = range(first % WITHIN + 1, 1 << 30, WITHIN)
    for at in places:
        try:
            hit = point(case, stands, turn, how, at, work)
        except Wrong as error:
            hit = True
            wrong.append("%s:%d:%s:%d: %s" % (case.name, turn, how, at, error))
        count += hit
        if not hit and how != "time" or len(wrong) == 3:
            break
    return count, wrong


def submit_all(pool, cases, stands, work):
    jobs, kinds = {}, 0
    for case in cases:
        if case in (HOSTS, BESIDE):
            rounds = case.times // STRIDE + 1
            jobs[pool.submit(hosts.contend, case, stands[case.name], work, rounds)] = "hosts"
            continue
        for turn in case.disturbed:
            near = stands[case.name][:turn + 3] if not case.fails else stands[case.name]
            for how in [*HOWS, "time"]:
                kinds += 1
                if kinds % EACH == 0:
                    jobs[pool.submit(points, case, near, turn, how, work)] = how
    return jobs


def main():
    # What is written outlives the process that wrote it wherever it is: no need to wait for a disk.
    work = tempfile.mkdtemp(prefix="tenon-crash-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
    chosen = sys.argv[1].split(":") if len(sys.argv) > 1 else []
    cases = [case for case in [*CASES, HOSTS, BESIDE] if not chosen or case.name == chosen[0]]
    stands = {case.name: undisturbed(case, work) for case in cases}
    if len(chosen) == 4:
        point(cases[0], stands[chosen[0]], int(chosen[1]), chosen[2], int(chosen[3]), work, True)
        return
    wrong, counts = [], {}
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        jobs = submit_all(pool, cases, stands, work)
        for job in concurrent.futures.as_completed(jobs):
            count, found = job.result()
            counts[jobs[job]] = counts.get(jobs[job], 0) + count
            wrong += found
    shutil.rmtree(work)
    for text in wrong:
        print("wrong:", text)
    kinds = ", ".join("%s %d" % item for item in sorted(counts.items()))
    print("crash: %d points (%s), %d wrong" % (sum(counts.values()), kinds, len(wrong)))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
