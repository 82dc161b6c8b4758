"""Runs samples/many-hosts in the folder of the first argument; see many_hosts.sh. PGHOST leads to an empty database."""
import asyncio
import configparser
import glob
import importlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time
import types

import yaml

TENON, LIMIT_S, PASSWORD = os.environ["TENON"], 60, "a-secret-of-the-test"
os.chdir(sys.argv[1])
sys.path.insert(0, os.path.abspath("engines"))
import tenon_task

with open("tenon.yaml") as file:
    text = file.read()
assert "ttl: 30 " in text and "initial: 1s" in text
with open("tenon.yaml", "w") as file:
    file.write(text.replace("ttl: 30 ", "ttl: 1 ").replace("initial: 1s", "initial: 10ms"))
os.environ.update(PGDATABASE="tenon", PGUSER="tenon")
processes = []


def until(condition, what):
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, "waited %d seconds: %s" % (LIMIT_S, what)
        time.sleep(0.02)


def command_of(words):
    assert words[0] in ("tenon", "/usr/bin/tenon"), words
    return [TENON, *words[1:]]


def start(words, name):
    log = open(name + ".log", "a")
    processes.append(subprocess.Popen(command_of(words), stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=environment))
    return processes[-1]


def tenon(*words):
    done = subprocess.run([TENON, *words], capture_output=True, text=True, env=environment, timeout=LIMIT_S)
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout.strip()


def tasks():
    return json.loads(tenon("task", "list", "--json", "--limit", "1000"))["tasks"]


# ---- compose.yaml ----

with open("compose.yaml") as file:
    services = yaml.safe_load(file)["services"]
assert services["worker"]["environment"].keys() == {"PGHOST", "PGDATABASE", "PGUSER", "PGPASSWORD"}
environment = {**os.environ, "PGPASSWORD": PASSWORD}
assert "created" in tenon(*services["migrate"]["command"][1:])
assert "current" in tenon(*services["migrate"]["command"][1:])
os.mkdir("run")
server = start(services["server"]["command"], "server")
workers = [start([*services["worker"]["command"], "--name", "worker-%d" % number], "worker-%d" % number)
           for number in range(services["worker"]["deploy"]["replicas"])]
socket_path = os.path.relpath("run/tenon.sock")
until(lambda: os.path.exists(socket_path), "the server listens")

with open("README.md") as file:
    readme = file.read()
create = shlex.split(re.search(r"exec server (tenon task create .*)", readme)[1])
first = tenon(*create[1:])
ids = [tenon("task", "create", "report", "--payload", json.dumps({"text": "a " * number + "a"})) for number in range(12)]
until(lambda: all(task["state"] == "done" for task in tasks()), "all Tasks are done")
outputs = {task["task_id"]: task["user_output"] for task in tasks()}
assert outputs[first] == "3 words" and [outputs[task] for task in ids] == ["%d words" % (number + 1) for number in range(12)], outputs
print("compose.yaml: %d Tasks done by %s" % (len(outputs), sorted({task["claimed_by"] for task in tasks()})))

# A worker that dies: another one continues.
victim = tenon("task", "create", "report", "--payload", json.dumps({"text": "x"}))
until(lambda: json.loads(tenon("task", "show", victim, "--json"))["claimed_by"], "a worker claims it")
claimed_by = json.loads(tenon("task", "show", victim, "--json"))["claimed_by"]
dead = workers[int(claimed_by.split("-")[1])]
dead.kill()
dead.wait()
processes.remove(dead)
until(lambda: json.loads(tenon("task", "show", victim, "--json"))["state"] == "done", "another worker has taken over")

# ---- systemd ----

for path in sorted(glob.glob("systemd/*.service")):
    unit = configparser.RawConfigParser(strict=False)
    unit.optionxform = str
    unit.read(path)
    words = shlex.split(unit["Service"]["ExecStart"].replace("%H", "host").replace("%i", "1").replace("/run/tenon/", "run/unit-"))
    unit_process = start(words, os.path.basename(path))
    if "serve" in words:
        until(lambda: os.path.exists("run/unit-tenon.sock"), "the unit's server listens")
    else:
        until(lambda: "claims Tasks" in open(os.path.basename(path) + ".log").read(), "the unit's worker claims Tasks")
    assert unit_process.poll() is None

# ---- The client of the engines ----

count = len(tasks())
assert tenon_task.run_task(socket_path, "key-1", "report", {"text": "one two"}, pause_s=0.05) == "2 words"
assert tenon_task.run_task(socket_path, "key-1", "report", {"text": "one two"}, pause_s=0.05) == "2 words"
assert len(tasks()) == count + 1, "the key created two Tasks"
# The process of an activity dies after it has created the Task, and while it waits.
activity = subprocess.Popen([sys.executable, "engines/tenon_task.py", socket_path, "key-2", "report", '{"text": "a b c d"}'])
until(lambda: len(tasks()) == count + 2, "the activity has created its Task")
activity.kill()
activity.wait()
again = subprocess.run([sys.executable, "engines/tenon_task.py", socket_path, "key-2", "report", '{"text": "a b c d"}'],
                       capture_output=True, text=True, timeout=LIMIT_S)
assert again.stdout == "4 words\n", again
assert len(tasks()) == count + 2
# Many attempts at once.
results = []
threads = [threading.Thread(target=lambda: results.append(tenon_task.run_task(socket_path, "key-3", "report", {"text": "a"}, pause_s=0.05)))
           for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert results == ["1 words"] * 8 and len(tasks()) == count + 3, results
# The strategy fails: no text to count. A refused call: the payload must be an object.
try:
    tenon_task.run_task(socket_path, "key-4", "report", {"wrong": 1}, pause_s=0.05)
    raise SystemExit("a Task that fails must raise TaskFailed")
except tenon_task.TaskFailed as error:
    print("a failed Task: %s" % error.code)
try:
    tenon_task.run_task(socket_path, "key-5", "report", [], pause_s=0.05)
    raise SystemExit("a refused call must raise CallFailed")
except tenon_task.CallFailed as error:
    assert error.code == "INVALID_INPUT" and not error.retryable, error.code

# ---- The engines, with as much of their packages as these files use ----


def module(name, **members):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__dict__.update(members)
    return sys.modules[name]


def load(name):
    loaded = importlib.import_module(name)
    loaded.SOCKET = socket_path
    return loaded


class Stop(Exception):
    def __init__(self, message, **more):
        super().__init__(message)


beats = []
info = types.SimpleNamespace(workflow_id="w", workflow_run_id="r", activity_id="1")
temporal = module("temporalio.activity", defn=lambda name: lambda function: function, info=lambda: info, heartbeat=beats.append)
module("temporalio", activity=temporal)
module("temporalio.exceptions", ApplicationError=Stop)
count = len(tasks())
report = load("temporal_activity").report
assert [asyncio.run(report("a b c")) for attempt in range(2)] == ["3 words"] * 2 and beats
assert len(tasks()) == count + 1
info.activity_id = "2"
assert asyncio.run(report("a")) == "1 words" and len(tasks()) == count + 2
try:
    info.activity_id = "3"
    asyncio.run(report(None))
    raise SystemExit("a failed Task must end the activity for good")
except Stop:
    pass


class Durable:
    """A step that has ended is not repeated."""

    def __init__(self):
        self.saved, self.sleeps = {}, 0

    async def run(self, name, function):
        result = function()
        self.saved.setdefault(name, await result if asyncio.iscoroutine(result) else result)
        return self.saved[name]

    def request(self):
        return types.SimpleNamespace(id=b"\x01\x02")


module("restate", Service=lambda name: types.SimpleNamespace(handler=lambda: lambda function: function), Context=Durable)
module("restate.exceptions", TerminalError=Stop)
report, count = load("restate_service").report, len(tasks())
assert [asyncio.run(report(Durable(), "a b")) for attempt in range(2)] == ["2 words"] * 2
assert len(tasks()) == count + 1


class Step:
    saved = {}

    def run(self, name, function):
        return self.saved.setdefault(name, function()) if name not in self.saved else self.saved[name]

    def sleep(self, name, duration):
        time.sleep(0.1)


module("inngest", Inngest=lambda app_id: types.SimpleNamespace(create_function=lambda **more: lambda function: function),
       TriggerEvent=lambda event: event, ContextSync=object, NonRetriableError=Stop)
report, count = load("inngest_function").report, len(tasks())
context = types.SimpleNamespace(event=types.SimpleNamespace(data={"text": "a b c d e"}), run_id="run-1", step=Step())
assert [report(context) for attempt in range(2)] == ["5 words"] * 2 and len(tasks()) == count + 1
print("engines: one Task for each key, in every attempt")

# ---- A copy back, and the end ----

copied = tenon("store", "copy", "--while-used", ".", "backup.db", "--quiet")
print(copied)
for process in processes:
    process.terminate()
for process in processes:
    assert process.wait(LIMIT_S) == 0, process.args
target = {"use": "postgres", "schema": "restored", "password": PASSWORD}
assert tenon("store", "copy", "backup.db", json.dumps(target), "--quiet").split()[-1] == copied.split()[-1]
assert not [path for path in glob.glob("*.log") if PASSWORD in open(path).read()], "the password is in a log"
