#!/usr/bin/env python3
"""Durable runs, killed at every write to their store, and gone on with: what was lost, and what was done twice?

Every case is a document and the invocations of one thread (cases.py). Undisturbed, they give a folder after each of
them: the store, and the file with a line for everything that nodes and tools did outside. A point is one invocation
more, from such a folder, in which one thing goes wrong (shim.c: killed before, after or in the middle of the Nth write,
or told that the disk fails or is full; or killed at some time). Then it is resumed, and may be killed again, until the
thread stands where the undisturbed one does. After that

  - the state is the undisturbed one's, byte for byte, and so is what was printed;
  - what was done outside is the same, once what has been said twice by one key is counted once;
  - what the store knew when it was killed was not done again;
  - `tenon replay` finds all the same, and SQLite nothing that is damaged;
  - nothing of a step under way is left behind.

    crash.py                        all of it; how many points there were is printed
    crash.py map:0:half:17          one point, and where its folder is

Environment: TENON, CRASH_NODES and CRASH_SHIM are the files; CRASH_STRIDE tries each Nth write only; CRASH_SEED; a
sanitizer's report is a failure.
"""
import concurrent.futures
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

import hosts
from cases import CASES
from thread import Thread, read_lines

HOWS = ["before", "after", "half", "eio", "enospc"]
KILLED = -9
LIMIT_S = 60  # of one invocation: it hangs


class Wrong(Exception):
    pass


def expect(holds, what):
    if not holds:
        raise Wrong(what)


def environment(folder, more):
    env = {key: value for key, value in os.environ.items() if not key.startswith(("CRASH_", "TENON"))}
    env.update(CRASH_LINES=os.path.join(folder, "lines"), HOME=folder, XDG_CONFIG_HOME=folder, XDG_DATA_HOME=folder)
    if more:
        env.update(more)
    return env


def start(folder, arguments, more=None):
    return subprocess.Popen([os.environ["TENON"], *arguments], cwd=folder, env=environment(folder, more), text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finish(process):
    try:
        out, err = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        raise Wrong("it hangs: " + " ".join(process.args))
    expect(not re.search("Sanitizer|runtime error:", err), err)
    return process.returncode, out, err


def tenon(folder, arguments, more=None):
    return finish(start(folder, arguments, more))


def shim(folder, how, at):
    mark = os.path.join(folder, "mark")
    if os.path.exists(mark):
        os.remove(mark)
    return {"LD_PRELOAD": os.environ["CRASH_SHIM"], "CRASH_HOW": how, "CRASH_AT": str(at), "CRASH_MARK": mark}


def was_hit(folder):
    return os.path.exists(os.path.join(folder, "mark"))


def run_arguments(case, *more):
    document = os.path.join(os.path.dirname(os.path.abspath(__file__)), "documents", case.document)
    return ["run", document, "--thread", "t", "--quiet", "--plugins", os.environ["CRASH_NODES"], *case.options, *more]


def invocation(case, folder, turn):
    """What turn `turn` is called with, as the thread stands now."""
    step = case.turns[turn]
    if "resume" not in step:
        return run_arguments(case, "--input", step["input"])
    given = []
    for entry in Thread(folder).interrupts():
        if entry.get("node") in step["resume"]:
            given += ["--answer", entry["id"] + "=yes " + entry["node"]]
    return run_arguments(case, "--resume", *given)


# ---- Undisturbed ----


class Stand:
    """A thread after some of its turns: what a disturbed one is compared with."""

    def __init__(self, case, folder, code, out):
        self.folder, self.code, self.out = folder, code, out
        self.thread = Thread(folder)
        self.lines = set(read_lines(folder))
        self.replay = None if "--durability" in case.options else replay(case, folder)


def replay(case, folder):
    document = run_arguments(case)[1]
    code, out, err = tenon(folder, ["replay", "t", "--document", document, "--plugins", os.environ["CRASH_NODES"]])
    expect(code == 0 and "all the same" in out, "replay: exit code %d\n%s%s" % (code, out, err))


def undisturbed(case, work):
    """stands[n] is after n turns."""
    folder = os.path.join(work, case.name + "-0")
    os.mkdir(folder)
    with open(os.path.join(folder, "tenon.yaml"), "w") as file:
        file.write("store: {use: sqlite, path: ./s.db}\n")
    if not case.empty:  # the store is there; another thread is, too
        tenon(folder, [*run_arguments(case)[:3], "other", "--quiet", "--plugins", os.environ["CRASH_NODES"]],
              {"CRASH_LINES": "/dev/null"})
    stands = [Stand.__new__(Stand)]
    stands[0].folder = folder
    stands[0].thread = Thread(folder)
    for turn in range(len(case.turns)):
        before, folder = folder, os.path.join(work, "%s-%d" % (case.name, turn + 1))
        shutil.copytree(before, folder)
        code, out, err = tenon(folder, invocation(case, folder, turn))
        expect(code == case.turns[turn].get("code", 0), "undisturbed turn %d: exit code %d\n%s" % (turn, code, err))
        stands.append(Stand(case, folder, code, out))
    return stands


# ---- One point ----


def recover(case, folder, turn, stand, before, rng):
    """On until the thread stands as the undisturbed one; gives what the last invocation printed, or NULL."""
    out = None
    for attempt in range(50):
        thread = Thread(folder)
        if thread.record == before.record:
            arguments = invocation(case, folder, turn)  # nothing of it was kept
        elif thread.record["status"] == stand.thread.record["status"] and thread.at() == stand.thread.at():
            return out
        else:
            expect(thread.record["status"] == "running" or case.fails and thread.record["status"] == "failed",
                   "it is %s, at %s" % (thread.record["status"], thread.at()))
            arguments = run_arguments(case, "--resume")
        more = shim(folder, "before", rng.randrange(1, 40)) if attempt < 2 and rng.random() < 0.4 else None
        code, out, err = tenon(folder, arguments, more)
        if more and code == KILLED:
            out = None
            continue
        if code != stand.code and not (case.fails and code == 1):
            raise Wrong("resumed: exit code %d, expected %d\n%s" % (code, stand.code, err))
    raise Wrong("it does not come to its end: %s" % Thread(folder).record)


def compare(case, folder, stand):
    thread = Thread(folder)
    expect(thread.integrity() == "ok", "integrity_check: " + thread.integrity())
    expect(thread.state() == stand.thread.state(),
           "the state is another one:\n%s\n%s" % (thread.state()[:4000], stand.thread.state()[:4000]))
    expect(thread.snapshots_fit(), "a snapshot is not what its checkpoints give")
    expect(thread.under_way() == stand.thread.under_way(),
           "left behind: %s, expected %s" % (thread.under_way(), stand.thread.under_way()))
    lines = set(read_lines(folder))
    expect(lines == stand.lines, "done outside: more %s, less %s" % (lines - stand.lines, stand.lines - lines))
    if "--durability" not in case.options:
        replay(case, folder)


def check_failed(how, code, out, err, stand):
    if how in ("before", "after", "half"):
        expect(code == KILLED, "exit code %d, expected to be killed\n%s" % (code, err))
    elif code == stand.code and out == stand.out:
        pass  # SQLite came by without that call
    else:
        name = "STORE_FULL" if how == "enospc" else "STORE_ERROR"
        expect(code == 1 and name in err, "exit code %d, expected 1 and %s\n%s" % (code, name, err))


def point(case, stands, turn, how, at, work, keep=False):
    """True where it was hit: there may be a next one."""
    folder = tempfile.mkdtemp(prefix="point-", dir=work)
    shutil.rmtree(folder)
    shutil.copytree(stands[turn].folder, folder)
    rng = random.Random("%s %s %d %s %s" % (os.environ.get("CRASH_SEED", "1"), case.name, turn, how, at))
    before, stand = Thread(folder), stands[turn + 1]
    if how == "time":
        process = start(folder, invocation(case, folder, turn))
        time.sleep(rng.random() * case.duration)
        process.kill()
        hit = finish(process)[0] == KILLED
    else:
        code, out, err = tenon(folder, invocation(case, folder, turn), shim(folder, how, at))
        hit = was_hit(folder)
        if hit:
            check_failed(how, code, out, err, stand)
    if hit:
        if keep:
            shutil.copytree(folder, folder + "-disturbed")
            print("kept:", folder)
        lines = read_lines(folder)
        known = {line: lines.count(line) for line in Thread(folder).known(lines)}
        stand = stands[-1] if case.fails else stand
        out = recover(case, folder, turn, stand, before, rng)
        expect(out is None or out == stand.out, "printed:\n%s\ninstead of:\n%s" % (out, stand.out))
        lines = read_lines(folder)
        again = {line for line in known if lines.count(line) != known[line]}
        expect(not again, "done again, though the store knew of it: %s" % again)
        if case.fails:
            stands = stands[-1:]  # nothing follows
    compare(case, folder, stand)
    if turn + 2 < len(stands):  # and the turn that follows does not see that anything has been
        code, out, err = tenon(folder, invocation(case, folder, turn + 1))
        expect(code == stands[turn + 2].code and out == stands[turn + 2].out, "the next turn: exit code %d\n%s" % (code, err))
        compare(case, folder, stands[turn + 2])
    if not keep:
        shutil.rmtree(folder)
    return hit


def points(case, stands, turn, how, stride, work):
    """All of one kind: (how many, what was wrong)."""
    count, wrong = 0, []
    rng = random.Random("%s %d %s" % (case.name, turn, how))
    at = rng.randrange(stride) + 1
    while len(wrong) < 3:
        try:
            hit = point(case, stands, turn, how, at, work)
        except Wrong as error:
            hit = True
            wrong.append("%s:%d:%s:%d: %s" % (case.name, turn, how, at, error))
        count += hit
        if not hit or how == "time" and count >= case.times:
            break
        at += stride
    return count, wrong


def main():
    # What is written outlives the process that wrote it wherever it is: no need to wait for a disk.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    work = tempfile.mkdtemp(prefix="tenon-crash-", dir=memory)
    stride = int(os.environ.get("CRASH_STRIDE", "1"))
    chosen = sys.argv[1].split(":") if len(sys.argv) > 1 else []
    wrong, counts = [], {}
    cases = [case for case in CASES if not chosen or case.name == chosen[0]]
    stands = {case.name: undisturbed(case, work) for case in cases}
    if len(chosen) == 4:
        point(cases[0], stands[chosen[0]], int(chosen[1]), chosen[2], int(chosen[3]), work, True)
        return
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        jobs = {}
        for case in cases:
            for turn in case.disturbed:
                for how in [*HOWS, "time"]:
                    if len(chosen) > 2 and chosen[2] != how:
                        continue
                    job = pool.submit(points, case, stands[case.name], turn, how, stride * case.stride, work)
                    jobs[job] = how
        for job in concurrent.futures.as_completed(jobs):
            count, found = job.result()
            counts[jobs[job]] = counts.get(jobs[job], 0) + count
            wrong += found
    if not chosen:
        counts["hosts"] = hosts.contend(work, stride, wrong)
    for text in wrong:
        print("wrong:", text)
    print("crash: %d points (%s), %d wrong" % (sum(counts.values()), ", ".join(
        "%s %d" % item for item in sorted(counts.items())), len(wrong)))
    if wrong:
        sys.exit(1)
    shutil.rmtree(work)


if __name__ == "__main__":
    main()
