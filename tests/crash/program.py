"""Runs tenon in a folder with a store and a file of actions, and compares the results."""
import os
import re
import shutil
import subprocess
import threading
import time

from thread import Thread, read_lines

KILLED = -9
LIMIT_S = 60  # for one invocation; after that it hangs


class CheckFailed(Exception):
    pass


def expect(condition, message):
    if not condition:
        raise CheckFailed(message)


def environment(folder, more):
    env = {key: value for key, value in os.environ.items() if not key.startswith(("CRASH_", "TENON"))}
    env.update(CRASH_LINES=os.path.join(folder, "lines"), HOME=folder, XDG_CONFIG_HOME=folder, XDG_DATA_HOME=folder)
    if "CRASH_SHIM" in os.environ:  # every process gets the same random bytes, so that runs can be compared
        env.update(LD_PRELOAD=os.environ["CRASH_SHIM"], CRASH_RANDOM="1")
    if more:
        env.update(more)
    return env


def start(folder, arguments, more=None):
    return subprocess.Popen([os.environ["TENON"], *arguments], cwd=folder, env=environment(folder, more), text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def wait_for_end(process):
    timer = threading.Timer(LIMIT_S, process.kill)  # communicate(timeout) would sleep between polls
    timer.start()
    out, err = process.communicate()
    timer.cancel()
    expect(not re.search("Sanitizer|runtime error:", err), err)
    return process.returncode, out, err


def tenon(folder, arguments, more=None):
    return wait_for_end(start(folder, arguments, more))


def shim_environment(folder, failure, at):
    mark = os.path.join(folder, "mark")
    if os.path.exists(mark):
        os.remove(mark)
    return {"LD_PRELOAD": os.environ["CRASH_SHIM"], "CRASH_FAILURE": failure, "CRASH_AT": str(at), "CRASH_MARK": mark}


def failure_occurred(folder):
    return os.path.exists(os.path.join(folder, "mark"))


def run_arguments(case, *more):
    document = os.path.join(os.path.dirname(os.path.abspath(__file__)), "documents", case.document)
    return ["run", document, "--thread", "t", "--quiet", "--plugins", os.environ["CRASH_NODES"], *case.options, *more]


def invocation(case, folder, turn):
    """The arguments of turn `turn`, from the present state of the thread."""
    step = case.turns[turn]
    if "resume" not in step:
        return run_arguments(case, "--input", step["input"])
    given = []
    for entry in Thread(folder).interrupts():
        if entry.get("node") in step["resume"]:
            given += ["--answer", entry["id"] + "=yes " + entry["node"]]
    return run_arguments(case, "--resume", *given)


def replay(case, folder):
    document = run_arguments(case)[1]
    code, out, err = tenon(folder, ["replay", "t", "--document", document, "--plugins", os.environ["CRASH_NODES"]])
    expect(code == 0 and "are identical" in out, "replay: exit code %d\n%s%s" % (code, out, err))


# ---- Undisturbed runs ----


class UndisturbedThread:
    """A thread after some undisturbed turns, with which a disturbed one is compared."""

    def __init__(self, folder, code=0, out="", seconds=0):
        self.folder, self.code, self.out, self.seconds = folder, code, out, seconds
        self.thread = Thread(folder)
        self.state = self.thread.state()
        self.lines = set(read_lines(folder))


def run_undisturbed(case, work):
    """turns[n] is the thread after n turns."""
    folder = os.path.join(work, case.name + "-0")
    os.mkdir(folder)
    with open(os.path.join(folder, "tenon.yaml"), "w") as file:
        file.write("store: {use: sqlite, path: ./s.db}\n")
    if not case.empty:  # the store exists and has another thread
        other = ["run", run_arguments(case)[1], "--thread", "t2", "--quiet", "--plugins", os.environ["CRASH_NODES"]]
        tenon(folder, other, {"CRASH_LINES": "/dev/null"})
    turns = [UndisturbedThread(folder)]
    for turn, step in enumerate(case.turns):
        before, folder = folder, os.path.join(work, "%s-%d" % (case.name, turn + 1))
        shutil.copytree(before, folder)
        arguments, began = invocation(case, folder, turn), time.monotonic()
        code, out, err = tenon(folder, arguments)
        expect(code == step.get("code", 0), "undisturbed turn %d: exit code %d\n%s" % (turn, code, err))
        turns.append(UndisturbedThread(folder, code, out, time.monotonic() - began))
    return turns


def compare(case, folder, undisturbed, replayed=True):
    thread, lines = Thread(folder), set(read_lines(folder))
    expect(thread.damage == "ok", "integrity_check: " + thread.damage)
    state = thread.state()
    expect(state == undisturbed.state, "the state is\n%s\ninstead of\n%s" % (state[:4000], undisturbed.state[:4000]))
    expect(thread.snapshots_match(), "a snapshot differs from its checkpoints")
    expected = undisturbed.thread.unfinished_records() if undisturbed.thread.record["status"] != "done" else {}
    unfinished = thread.unfinished_records()
    expect(unfinished == expected, "unfinished records: %s, expected %s" % (unfinished, expected))
    expect(lines == undisturbed.lines, "actions outside: unexpected %s, missing %s"
           % (lines - undisturbed.lines, undisturbed.lines - lines))
    if replayed and "--durability" not in case.options:
        replay(case, folder)
