"""Several hosts at one thread: who takes it over has it, and whoever had it before notices and stops."""
import os
import select
import shutil
import time

from program import LIMIT_S, Wrong, compare, expect, finish, invocation, run_arguments, start, tenon
from thread import Thread, read_lines


def fifo(folder, name):
    path = os.path.join(folder, name)
    os.mkfifo(path)
    return path


class Host:
    """One that has come to where its node waits, in the middle of the run."""

    def __init__(self, folder, name, arguments):
        reached, self.go_path = fifo(folder, name + ".reached"), fifo(folder, name + ".go")
        opened = os.open(reached, os.O_RDONLY | os.O_NONBLOCK)
        self.process = start(folder, arguments, {"CRASH_REACHED": reached, "CRASH_GO": self.go_path})
        came, _, _ = select.select([opened], [], [], LIMIT_S)
        os.close(opened)
        if not came:
            self.process.kill()
            raise Wrong("it does not come to where it waits:\n%s%s" % self.process.communicate())

    def go(self):
        with open(self.go_path, "wb") as file:
            file.write(b".")
        return finish(self.process)


def expect_fenced(ended):
    code, out, err = ended
    expect(code == 1 and "FENCED" in err and out == "", "exit code %d, expected 1 and FENCED\n%s%s" % ended)


def compare_done(case, folder, stand, twice):
    """All as undisturbed; only what was under way when it was taken over has been done twice."""
    compare(case, folder, stand)
    lines = read_lines(folder)
    done = {line: lines.count(line) for line in lines}
    expect(max(done.values()) <= twice, "done more than %d times: %s" % (twice, lines))
    expect(sum(count > 1 for count in done.values()) <= 1, "more than the step under way was repeated: %s" % lines)


def taken_over(case, stands, folder, old_first):
    """The second resumes what the first is at; whichever comes on first, the first one's commit is refused."""
    first = Host(folder, "first", invocation(case, folder, 0))
    resume = run_arguments(case, "--resume")
    if old_first:
        second = Host(folder, "second", resume)
        expect_fenced(first.go())
        ended = second.go()
    else:
        ended = tenon(folder, resume)
        expect_fenced(first.go())
    expect(ended[0] == 0 and ended[1] == stands[1].out, "the second: exit code %d\n%s%s" % ended)
    compare_done(case, folder, stands[1], 2)


def all_at_once(case, stands, folder, count):
    """Several resume what was killed: each is the last, or is fenced, or finds it done; and one of them ends it."""
    first = Host(folder, "first", invocation(case, folder, 0))
    first.process.kill()
    first.process.communicate()
    processes = [start(folder, run_arguments(case, "--resume")) for _ in range(count)]
    ended = [finish(process) for process in processes]
    for code, out, err in ended:
        if code == 0:
            expect(out == stands[1].out, "printed:\n" + out)
        else:
            expect(code == 1 and any(name in err for name in ("FENCED", "DONE", "STORE_BUSY")),
                         "exit code %d\n%s%s" % (code, out, err))
    expect(any(code == 0 for code, _, _ in ended), "nobody came to the end")
    compare(case, folder, stands[1])


def both_begin(case, stands, folder):
    """Two give one new thread its first input: one of them is refused, and has done nothing."""
    processes = [start(folder, invocation(case, folder, 0)) for _ in range(2)]
    ended = [finish(process) for process in processes]
    expect(any(code == 0 for code, _, _ in ended), "nobody came to the end: %s" % ended)
    for code, out, err in ended:
        expect(code == 0 or code == 1 and ("FENCED" in err or "UNFINISHED" in err), "exit code %d\n%s" % (code, err))
    if [code for code, _, _ in ended] != [0, 0]:  # else one came after the other
        compare_done(case, folder, stands[1], 1)


def not_repeated(case, stands, folder):
    """Tasks of a step that have ended are not repeated, though one beside them has not."""
    first = Host(folder, "first", invocation(case, folder, 0))
    until = time.monotonic() + LIMIT_S
    while len(Thread(folder).of("pending")) < 3:
        expect(time.monotonic() < until, "the tasks that have ended are not in the store")
    first.process.kill()
    first.process.communicate()
    ended = tenon(folder, run_arguments(case, "--resume"))
    expect(ended[0] == 0 and ended[1] == stands[1].out, "resumed: exit code %d\n%s%s" % ended)
    compare_done(case, folder, stands[1], 2)


def contend(case, stands, work, rounds):
    """Gives how many points there were, and what was wrong."""
    count, wrong = 0, []
    kinds = [(not_repeated, [])] if case.name == "beside" else [
        (taken_over, [True]), (taken_over, [False]), (all_at_once, [4]), (both_begin, [])]
    for number in range(rounds):
        for what, more in kinds:
            folder = os.path.join(work, "%s-hosts-%d" % (case.name, count))
            shutil.copytree(stands[0].folder, folder)
            count += 1
            try:
                what(case, stands, folder, *more)
            except Wrong as error:
                if len(wrong) == 3:
                    return count, wrong
                wrong.append("%s %s, round %d: %s" % (what.__name__, more, number, error))
            shutil.rmtree(folder)
    return count, wrong
