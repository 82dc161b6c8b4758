"""tenon as it is run here: in a folder of its own, with a store and a file of what was done; and what is compared."""
import os
import re
import shutil
import subprocess
import threading
import time

from thread import Thread, read_lines

KILLED = -9
LIMIT_S = 60  # of one invocation: then it hangs


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
    watch = threading.Timer(LIMIT_S, process.kill)  # waiting with a timeout would sleep between looking
    watch.start()
    out, err = process.communicate()
    watch.cancel()
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


def replay(case, folder):
    document = run_arguments(case)[1]
    code, out, err = tenon(folder, ["replay", "t", "--document", document, "--plugins", os.environ["CRASH_NODES"]])
    expect(code == 0 and "all the same" in out, "replay: exit code %d\n%s%s" % (code, out, err))


# ---- Undisturbed ----


class Stand:
    """A thread after some of its turns, and how it came there: what a disturbed one is compared with."""

    def __init__(self, folder, code=0, out="", seconds=0):
        self.folder, self.code, self.out, self.seconds = folder, code, out, seconds
        self.thread = Thread(folder)
        self.state = self.thread.state()
        self.lines = set(read_lines(folder))


def undisturbed(case, work):
    """stands[n] is after n turns."""
    folder = os.path.join(work, case.name + "-0")
    os.mkdir(folder)
    with open(os.path.join(folder, "tenon.yaml"), "w") as file:
        file.write("store: {use: sqlite, path: ./s.db}\n")
    if not case.empty:  # the store is there, and another thread is in it
        other = ["run", run_arguments(case)[1], "--thread", "t2", "--quiet", "--plugins", os.environ["CRASH_NODES"]]
        tenon(folder, other, {"CRASH_LINES": "/dev/null"})
    stands = [Stand(folder)]
    for turn, step in enumerate(case.turns):
        before, folder = folder, os.path.join(work, "%s-%d" % (case.name, turn + 1))
        shutil.copytree(before, folder)
        arguments, began = invocation(case, folder, turn), time.monotonic()
        code, out, err = tenon(folder, arguments)
        expect(code == step.get("code", 0), "undisturbed turn %d: exit code %d\n%s" % (turn, code, err))
        stands.append(Stand(folder, code, out, time.monotonic() - began))
    return stands


def compare(case, folder, stand, replayed=True):
    thread, lines = Thread(folder), set(read_lines(folder))
    expect(thread.damage == "ok", "integrity_check: " + thread.damage)
    state = thread.state()
    expect(state == stand.state, "the state is\n%s\ninstead of\n%s" % (state[:4000], stand.state[:4000]))
    expect(thread.snapshots_fit(), "a snapshot is not what its checkpoints give")
    expected = stand.thread.under_way() if stand.thread.record["status"] != "done" else {}
    expect(thread.under_way() == expected, "left behind: %s, expected %s" % (thread.under_way(), expected))
    expect(lines == stand.lines, "done outside: more %s, less %s" % (lines - stand.lines, stand.lines - lines))
    if replayed and "--durability" not in case.options:
        replay(case, folder)
