"""The stores of chaos.py: what is read from them without a process of tenon, and what is done to their server."""
import json
import os
import random
import shutil
import sqlite3
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SERVER = os.path.join(os.path.dirname(HERE), "postgres", "server")


class Sqlite:
    """A file in the folder of the workers."""
    name = "sqlite"

    def __init__(self, folder):
        self.path = os.path.join(folder, "s.db")

    def section(self):
        return {"use": "sqlite", "path": "./s.db"}

    def fill_from(self, folder):
        for name in os.listdir(folder):
            if name.startswith("s.db"):
                shutil.copy(os.path.join(folder, name), os.path.dirname(self.path))

    def query(self, text, *values):
        database = sqlite3.connect("file:%s?mode=ro" % self.path, uri=True, timeout=60)
        rows = database.execute(text, values).fetchall()
        database.close()
        return rows

    def states(self):
        """The number of Tasks in each state."""
        return dict(self.query("SELECT json_extract(json, '$.state'), count(*) FROM records WHERE collection = 'tasks' GROUP BY 1"))

    def has_task(self, worker):
        return self.query("SELECT count(*) FROM records WHERE collection = 'tasks' AND json_extract(json, '$.state') = 'running' AND"
                          " json_extract(json, '$.claimed_by') = ?", worker)[0][0] > 0

    def disturb(self):
        pass

    def close(self):
        return {}


class Postgres:
    """A separate server, which is restarted at random times without an orderly end: each connection breaks, and the server
    recovers from its log. `interval` is the mean number of seconds between two restarts; 0: it is not restarted."""
    name = "postgres"

    def __init__(self, folder, interval=0, seed=0, settings=()):
        # The path of a socket is at most 107 bytes long.
        self.folder = os.path.join(folder, "pg")
        done = subprocess.run(["bash", SERVER, "start", self.folder, *settings], capture_output=True, text=True)
        if done.returncode == 77:
            raise SystemExit(77)
        assert done.returncode == 0, done.stderr
        self.connection = done.stdout.strip()
        self.psql, self.restart, self.restarts = None, None, 0
        self.random, self.interval, self.due = random.Random("%s:server" % seed), interval, None

    @classmethod
    def running(cls, connection):
        """A server that was started by its caller: only for queries."""
        self = cls.__new__(cls)
        self.folder, self.connection, self.psql, self.restart, self.restarts, self.interval = None, connection, None, None, 0, 0
        return self

    def section(self):
        return {"use": "postgres", "url": self.connection}

    def fill_from(self, folder):
        copied = subprocess.run([os.environ["TENON"], "store", "copy", "--quiet", folder, json.dumps(self.section())], cwd=folder,
                                capture_output=True, text=True)
        assert copied.returncode == 0, copied.stderr

    def query(self, text):
        """The rows, as lists of texts. Waits for a server that restarts."""
        deadline = time.monotonic() + 60
        while True:
            if not self.psql:
                self.psql = subprocess.Popen(["psql", "-XqAt", "-F", "\t", self.connection], stdin=subprocess.PIPE,
                                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            rows = []
            try:
                self.psql.stdin.write(text + ";\n\\echo =\n")
                self.psql.stdin.flush()
                while (line := self.psql.stdout.readline()) not in ("=\n", ""):
                    rows.append(line.rstrip("\n").split("\t"))
                if line and rows:
                    return rows
            except OSError:
                pass
            self.psql.kill()
            self.psql.wait()
            self.psql = None
            assert time.monotonic() < deadline, "the server does not answer"
            time.sleep(0.05)

    def states(self):
        # count(*) and not GROUP BY alone, so that there is a row also without Tasks
        rows = self.query("SELECT coalesce(json::jsonb->>'state', ''), count(*) FROM tenon.readable WHERE collection = 'tasks'"
                          " GROUP BY ROLLUP (1)")
        return {state: int(count) for state, count in rows if state}

    def has_task(self, worker):
        return self.query("SELECT count(*) FROM tenon.readable WHERE collection = 'tasks' AND json::jsonb->>'state' = 'running'"
                          " AND json::jsonb->>'claimed_by' = '%s'" % worker)[0][0] != "0"

    def disturb(self):
        """Call it often: restarts the server when it is time, and does not wait for it."""
        now = time.monotonic()
        if self.restart:
            if self.restart.poll() is None:
                return
            assert self.restart.returncode == 0, "the server did not start again"
            self.restart, self.restarts = None, self.restarts + 1
            self.due = now + self.random.expovariate(1 / self.interval)
        elif self.interval and self.due is None:
            self.due = now + self.random.uniform(0, self.interval)
        elif self.interval and now >= self.due:
            self.restart = subprocess.Popen(["bash", SERVER, "restart", self.folder, "immediate"], stdout=subprocess.DEVNULL)

    def stop_disturbing(self):
        if self.restart:
            self.restart.wait()
            self.restarts += 1
        self.restart, self.interval = None, 0

    def close(self):
        self.stop_disturbing()
        if self.psql:
            self.psql.kill()
            self.psql.wait()
        if self.folder:
            subprocess.run(["bash", SERVER, "stop", self.folder, "immediate"], capture_output=True)
        return {"restarts": self.restarts}
