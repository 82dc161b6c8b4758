#!/usr/bin/env python3
"""Kills durable runs at every write to their store, resumes them, and checks that nothing is lost or done twice.

A case (cases.py) is a document and the invocations (turns) of one thread. First they run undisturbed. After each
invocation, its folder is kept: the store, and a file with one line for each action of nodes and tools outside of the
store. A point starts from such a folder and makes the next invocation, in which one failure occurs: the process is
killed before, after or during the Nth write, or at a random time, or the disk fails or is full (shim.c). Then the
thread is resumed, and possibly killed again, until it reaches the end of the undisturbed invocation. After that:

  - the state, the output and the effect of the next invocation equal the undisturbed ones, byte for byte;
  - the actions are the same, if two actions with the same idempotency key count as one;
  - no action was repeated that the store had recorded as done;
  - an error of the disk was reported and lost no data;
  - `tenon replay` finds no difference, SQLite finds no damage, and no record of an unfinished step is left.

hosts.py starts several hosts with one thread.

    crash.py                        everything; prints the number of points
    crash.py map                    a case
    crash.py map:0:half:17          a point: case, turn, kind of failure, and number of the write; keeps its folders

Environment: TENON, CRASH_NODES and CRASH_SHIM are files of the build. CRASH_STRIDE=N tests one of N writes; if N is the
number of failures, each write is tested with one of them. CRASH_SEED is the seed of random choices.
"""
import concurrent.futures
import os
import random
import shutil
import sys
import tempfile
import time

import hosts
from cases import CASES, TAKEOVER, UNFINISHED_STEP
from program import KILLED, CheckFailed, compare, expect, failure_occurred, invocation, replay, run_arguments
from program import run_undisturbed, shim_environment, start, tenon, wait_for_end
from thread import Thread, read_lines

FAILURES = ["before", "enospc", "half", "eio", "after"]
ATTEMPTS = 50  # the most times that a thread is resumed

# A large stride leaves out whole kinds of points, because each kind needs a last run in which no failure occurs.
STRIDE = int(os.environ.get("CRASH_STRIDE", "1"))
KIND_STRIDE = STRIDE // 15 | 1
WRITE_STRIDE = max(1, STRIDE // KIND_STRIDE)


def seeded_random(*what):
    return random.Random(":".join(str(part) for part in (os.environ.get("CRASH_SEED", "1"), *what)))


def check_reported(failure, ended, undisturbed):
    code, out, err = ended
    if failure in ("before", "after", "half"):
        expect(code == KILLED, "exit code %d, expected to be killed\n%s" % (code, err))
    elif code != undisturbed.code or out != undisturbed.out:  # otherwise the run repeated the write or did not need it
        name = "STORE_FULL" if failure == "enospc" else "STORE_ERROR"
        expect(code == 1 and name in err, "exit code %d, expected 1 and %s\n%s" % (code, name, err))


def inject_failure(case, folder, turn, failure, at, rng, undisturbed):
    """Returns False if the invocation ended before the failure."""
    arguments = invocation(case, folder, turn)
    if failure == "time":
        process = start(folder, arguments)
        time.sleep(rng.random() * undisturbed.seconds)
        process.kill()
        return wait_for_end(process)[0] == KILLED
    ended = tenon(folder, arguments, shim_environment(folder, failure, at))
    if failure_occurred(folder):
        check_reported(failure, ended, undisturbed)
    return failure_occurred(folder)


def recover(case, folder, turn, undisturbed, before, rng):
    """Resumes until the undisturbed state is reached. Returns the output of the last invocation, or None."""
    out = None
    for attempt in range(ATTEMPTS):
        thread = Thread(folder)
        if thread.record == before.record:
            arguments = invocation(case, folder, turn)  # nothing of the invocation was saved
        elif thread.has_reached(undisturbed.thread):
            return out
        else:
            failed_to_save = (thread.record.get("error") or {}).get("code", "").startswith("STORE_")
            expect(thread.record["status"] == ("failed" if failed_to_save else "running")
                   or case.fails and thread.record["status"] == "failed",
                   "the thread is %s, at %s" % (thread.record["status"], thread.position()))
            arguments = run_arguments(case, "--resume")
        killed_again = attempt < 2 and rng.random() < 0.4
        again = shim_environment(folder, "before", rng.randrange(1, 40)) if killed_again else None
        code, out, err = tenon(folder, arguments, again)
        if code == KILLED and again:
            out = None
        else:
            expect(code == undisturbed.code or case.fails and code == 1,
                   "resumed: exit code %d, expected %d\n%s" % (code, undisturbed.code, err))
    raise CheckFailed("the thread does not end: %s" % Thread(folder).record)


def recover_and_check(case, folder, turn, rng, before, undisturbed):
    lines = read_lines(folder)
    recorded = {line: lines.count(line) for line in Thread(folder).recorded_lines(lines)}
    out = recover(case, folder, turn, undisturbed, before, rng)
    expect(out is None or out == undisturbed.out, "printed:\n%s\ninstead of:\n%s" % (out, undisturbed.out))
    lines = read_lines(folder)
    again = {line for line in recorded if lines.count(line) != recorded[line]}
    expect(not again, "repeated, although the store had recorded it: %s" % again)


def replace_and_check(case, folder, rng):
    """Replaces the killed invocation by one with another input, which must not use the outcomes of the first."""
    before, more = read_lines(folder), shim_environment(folder, "before", rng.randrange(1, 60))
    code, out, err = tenon(folder, run_arguments(case, "--replace", "--input", "{}"), more)
    if code == KILLED:
        if Thread(folder).record["status"] == "done":
            return
        mode = ["--resume"] if len(read_lines(folder)) > len(before) else ["--replace", "--input", "{}"]
        code, out, err = tenon(folder, run_arguments(case, *mode))
    expect(code == 0, "replaced: exit code %d\n%s%s" % (code, out, err))
    same = set(before) & set(read_lines(folder)[len(before):])
    expect(not same, "keys were used twice: %s" % same)
    thread = Thread(folder)
    expect(thread.damage == "ok", "integrity_check: " + thread.damage)
    expect(not thread.unfinished_records(), "unfinished records: %s" % thread.unfinished_records())
    replay(case, folder)


def run_point(case, undisturbed_turns, turn, failure, at, work, keep=False):
    """Returns False if no failure occurred, because the invocation has fewer writes."""
    folder = tempfile.mkdtemp(prefix="point-", dir=work)
    shutil.copytree(undisturbed_turns[turn].folder, folder, dirs_exist_ok=True)
    rng = seeded_random(case.name, turn, failure, at)
    hit = inject_failure(case, folder, turn, failure, at, rng, undisturbed_turns[turn + 1])
    if hit and keep:
        shutil.copytree(folder, folder + "-failed")
        print("kept:", folder)
    if hit and case.replaced and Thread(folder).record:
        replace_and_check(case, folder, rng)
        if not keep:
            shutil.rmtree(folder)
        return True
    reached_turn = len(undisturbed_turns) - 2 if hit and case.fails else turn
    if hit:
        recover_and_check(case, folder, turn, rng, undisturbed_turns[turn].thread, undisturbed_turns[reached_turn + 1])
    follows = reached_turn + 2 < len(undisturbed_turns) and (keep or rng.random() < 0.25)
    compare(case, folder, undisturbed_turns[reached_turn + 1], not follows)
    if follows:
        code, out, err = tenon(folder, invocation(case, folder, turn + 1))
        following = undisturbed_turns[turn + 2]
        expect((code, out) == (following.code, following.out), "the next turn: exit code %d\n%s%s" % (code, out, err))
        compare(case, folder, following)
    if not keep:
        shutil.rmtree(folder)
    return hit


def run_points(case, undisturbed_turns, turn, failure, work):
    """Runs all points of one kind. Returns their number and a list of failures."""
    count, failed = 0, []
    if failure == "time":
        writes = range(1, case.times * len(FAILURES) // max(WRITE_STRIDE, len(FAILURES)) + 1)
    else:
        first = FAILURES.index(failure) * max(1, WRITE_STRIDE // len(FAILURES)) + turn
        writes = range(first % WRITE_STRIDE + 1, 1 << 30, WRITE_STRIDE)
    for at in writes:
        try:
            hit = run_point(case, undisturbed_turns, turn, failure, at, work)
        except CheckFailed as error:
            hit = True
            failed.append("%s:%d:%s:%d: %s" % (case.name, turn, failure, at, error))
        count += hit
        if not hit and failure != "time" or len(failed) == 3:
            break
    return count, failed


def submit_all(pool, cases, undisturbed, work):
    jobs, kinds = {}, 0
    for case in cases:
        if case in (TAKEOVER, UNFINISHED_STEP):
            rounds = case.times // STRIDE + 1
            jobs[pool.submit(hosts.run_rounds, case, undisturbed[case.name], work, rounds)] = "hosts"
            continue
        for turn in case.disturbed:
            needed_turns = undisturbed[case.name][:turn + 3] if not case.fails else undisturbed[case.name]
            for failure in [*FAILURES, "time"]:
                kinds += 1
                if kinds % KIND_STRIDE == 0:
                    jobs[pool.submit(run_points, case, needed_turns, turn, failure, work)] = failure
    return jobs


def main():
    # Only processes are killed, so what they wrote survives in memory as well as on a disk.
    work = tempfile.mkdtemp(prefix="tenon-crash-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
    chosen = sys.argv[1].split(":") if len(sys.argv) > 1 else []
    cases = [case for case in [*CASES, TAKEOVER, UNFINISHED_STEP] if not chosen or case.name == chosen[0]]
    undisturbed = {case.name: run_undisturbed(case, work) for case in cases}
    if len(chosen) == 4:
        run_point(cases[0], undisturbed[chosen[0]], int(chosen[1]), chosen[2], int(chosen[3]), work, True)
        return
    failed, counts = [], {}
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        jobs = submit_all(pool, cases, undisturbed, work)
        for job in concurrent.futures.as_completed(jobs):
            count, found = job.result()
            counts[jobs[job]] = counts.get(jobs[job], 0) + count
            failed += found
    shutil.rmtree(work)
    for text in failed:
        print("failed:", text)
    kinds = ", ".join("%s %d" % item for item in sorted(counts.items()))
    print("crash: %d points (%s), %d failed" % (sum(counts.values()), kinds, len(failed)))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
