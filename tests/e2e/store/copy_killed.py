"""Kills `tenon store copy` again and again, until one of its runs ends; see copy_killed.sh. Prints what happened."""
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests", "chaos"))
from rpc import Host

TENON, RECORDS = os.environ["TENON"], 1000


def tenon(*arguments):
    return subprocess.run([TENON, *arguments], capture_output=True, text=True)


def notes(path):
    database = sqlite3.connect("file:%s?mode=ro" % path, uri=True, timeout=60)
    try:
        return database.execute("SELECT count(*) FROM records WHERE collection = 'store'").fetchone()[0]
    except sqlite3.OperationalError:  # the table does not exist yet
        return -1
    finally:
        database.close()


with open("tenon.yaml", "w") as file:
    file.write("store: {use: sqlite, path: ./s.db}\n")
with open("t.yaml", "w") as file:
    file.write("store: {use: sqlite, path: ./t.db}\n")
with Host(".") as host:
    host.call_many("memory/put", [{"namespace": ["n", str(number % 7)], "key": str(number), "value": {"text": "word%d " % number * 40}}
                                  for number in range(RECORDS)])
seed = random.SystemRandom().randrange(1 << 32)
choice, killed, inside, pause = random.Random(seed), 0, 0, 0.03
print("seed %d" % seed, flush=True)
while True:
    copy = subprocess.Popen([TENON, "store", "copy", "s.db", "t.db", "--quiet"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        out, err = copy.communicate(timeout=choice.uniform(0, pause))
    except subprocess.TimeoutExpired:
        copy.kill()
        out, err = copy.communicate()
    if copy.returncode == 1 and "is not empty" in err:  # the copy before was killed after its end
        for name in ("t.db", "t.db-wal", "t.db-shm"):
            if os.path.exists(name):
                os.remove(name)
        continue
    if copy.returncode == 0:
        break
    assert copy.returncode == -signal.SIGKILL, (copy.returncode, err)
    killed, pause = killed + 1, pause * 1.12
    if os.path.exists("t.db") and notes("t.db") == 1:
        inside += 1
        refused = tenon("thread", "list", "--config", "t.yaml")
        assert refused.returncode == 4 and "STORE_INCOMPLETE" in refused.stderr, refused
assert "copied %d records" % RECORDS in out, out
assert notes("t.db") == 0
again = tenon("store", "copy", "s.db", "u.db")
assert again.returncode == 0 and again.stdout.split()[-1] == out.split()[-1], (again, out)
assert inside, "no copy was killed while it wrote; killed %d times" % killed
print("killed %d times, %d of them inside of the copy" % (killed, inside))
