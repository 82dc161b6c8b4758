"""Several hosts with one thread: the host that takes it over owns it, and the previous owner stops."""
import os
import select
import shutil
import time

from program import LIMIT_S, CheckFailed, compare, expect, invocation, run_arguments, start, tenon, wait_for_end
from thread import Thread, read_lines


def make_fifo(folder, name):
    path = os.path.join(folder, name)
    os.mkfifo(path)
    return path


class Host:
    """A host whose run has reached its waiting node."""

    def __init__(self, folder, name, arguments):
        reached, self.release_path = make_fifo(folder, name + ".reached"), make_fifo(folder, name + ".release")
        opened = os.open(reached, os.O_RDONLY | os.O_NONBLOCK)
        self.process = start(folder, arguments, {"CRASH_REACHED": reached, "CRASH_RELEASE": self.release_path})
        ready, _, _ = select.select([opened], [], [], LIMIT_S)
        os.close(opened)
        if not ready:
            self.process.kill()
            raise CheckFailed("the run does not reach its waiting node:\n%s%s" % self.process.communicate())

    def release(self):
        with open(self.release_path, "wb") as file:
            file.write(b".")
        return wait_for_end(self.process)


def expect_fenced(ended):
    code, out, err = ended
    expect(code == 1 and "FENCED" in err and out == "", "exit code %d, expected 1 and FENCED\n%s%s" % ended)


def compare_and_count(case, folder, undisturbed, most):
    """Expects the undisturbed result; only the step that was taken over may have been done twice."""
    compare(case, folder, undisturbed)
    lines = read_lines(folder)
    done = {line: lines.count(line) for line in lines}
    expect(max(done.values()) <= most, "done more than %d times: %s" % (most, lines))
    expect(sum(count > 1 for count in done.values()) <= 1, "more than the unfinished step was repeated: %s" % lines)


def resume_on_second_host(case, undisturbed_turns, folder, old_first):
    """The second host resumes the thread of the first. The commit of the first is refused in either order."""
    first = Host(folder, "first", invocation(case, folder, 0))
    refused = tenon(folder, run_arguments(case, "--resume"))
    expect(refused[0] == 1 and "process %d" % first.process.pid in refused[2], "not refused: exit code %d\n%s%s" % refused)
    resume = run_arguments(case, "--resume", "--force")
    if old_first:
        second = Host(folder, "second", resume)
        expect_fenced(first.release())
        ended = second.release()
    else:
        ended = tenon(folder, resume)
        expect_fenced(first.release())
    expect(ended[0] == 0 and ended[1] == undisturbed_turns[1].out, "the second: exit code %d\n%s%s" % ended)
    compare_and_count(case, folder, undisturbed_turns[1], 2)


def resume_concurrently(case, undisturbed_turns, folder, count):
    """Several hosts resume a killed run. One of them ends it; the others are fenced or find it done."""
    first = Host(folder, "first", invocation(case, folder, 0))
    first.process.kill()
    first.process.communicate()
    processes = [start(folder, run_arguments(case, "--resume")) for _ in range(count)]
    ended = [wait_for_end(process) for process in processes]
    for code, out, err in ended:
        if code == 0:
            expect(out == undisturbed_turns[1].out, "printed:\n" + out)
        else:
            expect(code == 1 and any(name in err for name in ("FENCED", "DONE", "STORE_BUSY", "OWNED")),
                   "exit code %d\n%s%s" % (code, out, err))
    expect(any(code == 0 for code, _, _ in ended), "no host reached the end")
    compare(case, folder, undisturbed_turns[1])


def start_concurrently(case, undisturbed_turns, folder):
    """Two hosts start one new thread. One of them is refused and has done nothing."""
    processes = [start(folder, invocation(case, folder, 0)) for _ in range(2)]
    ended = [wait_for_end(process) for process in processes]
    expect(any(code == 0 for code, _, _ in ended), "no host reached the end: %s" % ended)
    for code, out, err in ended:
        expect(code == 0 or code == 1 and (any(name in err for name in ("FENCED", "UNFINISHED", "OWNED"))), "exit code %d\n%s" % (code, err))
    if [code for code, _, _ in ended] != [0, 0]:  # otherwise one started after the other had ended
        compare_and_count(case, folder, undisturbed_turns[1], 1)


def ended_tasks_are_not_repeated(case, undisturbed_turns, folder):
    """Ended tasks of a step are not repeated, although another task of the step has not ended."""
    first = Host(folder, "first", invocation(case, folder, 0))
    deadline = time.monotonic() + LIMIT_S
    while len(Thread(folder).collection("pending")) < 3:
        expect(time.monotonic() < deadline, "the tasks that have ended are not in the store")
    first.process.kill()
    first.process.communicate()
    ended = tenon(folder, run_arguments(case, "--resume"))
    expect(ended[0] == 0 and ended[1] == undisturbed_turns[1].out, "resumed: exit code %d\n%s%s" % ended)
    compare_and_count(case, folder, undisturbed_turns[1], 2)


def run_rounds(case, undisturbed_turns, work, rounds):
    """Returns the number of points and a list of failures."""
    count, failed = 0, []
    kinds = [(ended_tasks_are_not_repeated, [])] if case.name == "unfinished_step" else [
        (resume_on_second_host, [True]), (resume_on_second_host, [False]),
        (resume_concurrently, [4]), (start_concurrently, [])]
    for number in range(rounds):
        for check, arguments in kinds:
            folder = os.path.join(work, "%s-hosts-%d" % (case.name, count))
            shutil.copytree(undisturbed_turns[0].folder, folder)
            count += 1
            try:
                check(case, undisturbed_turns, folder, *arguments)
            except CheckFailed as error:
                if len(failed) == 3:
                    return count, failed
                failed.append("%s %s, round %d: %s" % (check.__name__, arguments, number, error))
            shutil.rmtree(folder)
    return count, failed
