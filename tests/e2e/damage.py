#!/usr/bin/env python3
"""damage.py NUMBER: damages a copy of a store in NUMBER ways, and runs commands on each copy.

A command may work, or exit with 1 to 5 and a message. It must not crash, hang, report a sanitizer's finding, or blame
the memory of the machine. The folder has the store `good.db`, its threads and the documents that made them (damaged.sh).
DAMAGE_SEED is the seed of the random choices; DAMAGE_ONLY is one way, whose output is printed.
"""
import concurrent.futures
import os
import random
import re
import shutil
import subprocess
import sys

THREADS = ["done", "asked", "failed"]
COMMANDS = [
    ["thread", "list"], ["thread", "show", "asked"], ["thread", "history", "done"], ["thread", "state", "done"],
    ["thread", "export", "asked"], ["thread", "fork", "done", "forked"], ["replay", "done", "--document", "count.yaml"],
    ["run", "count.yaml", "--thread", "new"], ["run", "count.yaml", "--thread", "done", "--input", "{}"],
    ["run", "ask.yaml", "--thread", "failed", "--resume"], ["doctor"], ["thread", "gc", "--days", "0"],
    ["task", "list"], ["task", "create", "work", "--payload", "{}"], ["task", "claim", "--as", "me"],
    ["memory", "get", "n", "k"], ["memory", "search", "n", "pizza"], ["memory", "put", "n", "k", "1"],
    ["artifact", "list"], ["artifact", "search", "pizza"], ["artifact", "write", "count.yaml"],
    ["thread", "delete", "done"],
]
BLAME = re.compile(r"memory \(|not enough memory|out of memory|no memory left", re.I)


def damage(data, number, rng):
    """One byte, a run of bytes, a whole page or the end of the file; more often where records are than elsewhere."""
    data, kind = bytearray(data), number % 8
    at = rng.randrange(len(data)) if kind != 1 else rng.randrange(100)  # 1: the header of the file
    if kind == 2:  # in a text, which is then not UTF-8
        found = [match.span() for match in re.finditer(rb"CREATE [ -~]{20,}|threads|checkpoints|\\{[ -~]{20,}", data)]
        at = rng.randrange(*rng.choice(found))
        data[at] = rng.choice([0xff, 0xc3, 0x80])
    elif kind == 3:
        page = at // 4096 * 4096
        data[page:page + 4096] = rng.randbytes(4096)
    elif kind == 4:
        data = data[:at]
    elif kind == 5:
        size = rng.randrange(1, 64)
        data[at:at + size] = rng.randbytes(size)
    elif kind == 6:  # the header of a page and the offsets of its cells
        page = at // 4096 * 4096 + rng.randrange(24)
        data[page if page < len(data) else at] ^= 1 << rng.randrange(8)
    elif kind == 7:
        data[at] = 0xff
    else:
        data[at] ^= 1 << rng.randrange(8)
    return bytes(data)


def one_way(number, good, verbose):
    rng = random.Random("%s:%d" % (os.environ.get("DAMAGE_SEED", "1"), number))
    folder = "damaged-%d" % number
    os.mkdir(folder)
    failed = []
    try:
        for name in os.listdir("."):
            if name.endswith(".yaml"):
                shutil.copy(name, folder)
        data = damage(good, number, rng)
        commands = list(COMMANDS)
        rng.shuffle(commands)
        for command in commands[:len(commands) if verbose else int(os.environ.get("DAMAGE_COMMANDS", "8"))]:
            for suffix in ("", "-wal", "-shm"):
                if os.path.exists(folder + "/kept.db" + suffix):
                    os.remove(folder + "/kept.db" + suffix)
            with open(folder + "/kept.db", "wb") as file:
                file.write(data)
            arguments = [os.environ.get("TENON", "tenon"), *command, *os.environ["DAMAGE_OPTIONS"].split()]
            try:
                ended = subprocess.run(arguments, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, timeout=60)
            except subprocess.TimeoutExpired:
                failed.append("%d: %s: hangs" % (number, " ".join(command)))
                continue
            err, out = ended.stderr.decode(errors="replace"), ended.stdout.decode(errors="replace")
            if verbose:
                print("%s: %d\n%s%s" % (" ".join(command), ended.returncode, out[:600], err[:3000]))
            why = None
            if ended.returncode not in (0, 1, 2, 3, 4, 5):
                why = "exit code %d" % ended.returncode
            elif re.search("Sanitizer|runtime error:|Assertion", err):
                why = "a sanitizer reports an error"
            elif BLAME.search(err + out):
                why = "blames the memory"
            elif ended.returncode != 0 and not (err.strip() or out.strip()):
                why = "fails without a message"
            if why:
                failed.append("%d: %s: %s: %s" % (number, " ".join(command), why, err[-600:]))
    finally:
        shutil.rmtree(folder)
    return failed


def main():
    with open("good.db", "rb") as file:
        good = file.read()
    only = os.environ.get("DAMAGE_ONLY")
    numbers = [int(only)] if only else range(int(sys.argv[1]))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        failed = [text for texts in pool.map(lambda number: one_way(number, good, bool(only)), numbers)
                  for text in texts]
    for text in failed[:20]:
        print("failed:", text)
    print("damage: %d ways, %d failures" % (len(numbers), len(failed)))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
