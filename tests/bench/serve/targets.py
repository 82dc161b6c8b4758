"""The servers that are compared. Each has start(), requests for load.py, and a process."""
import json
import os
import signal
import socket
import subprocess
import sys
import time

import load

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
TENON = os.environ.get("TENON", os.path.join(ROOT, "build", "release", "bin", "tenon"))
TICK = os.sysconf("SC_CLK_TCK")
DOCUMENT = """version: "1.0"
agent: {name: %s}
models: {default: %s}
channels: [{name: messages, type: reduce, reducer: messages}]
nodes: [{id: answer, %s}]
edges: [{from: START, to: answer}, {from: answer, to: END}]
"""
CALLS = "type: llm, config: {messages_key: messages}"
HELLO = "type: set, config: {values: {messages: '{\"type\": \"ai\", \"content\": \"Hello, \" + state.messages[0].content + \"!\"}'}}"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Target:
    ready_path, headers, environment, held = "/ready", {}, {}, 10000
    fewer_tokens, fewer_requests = 1, 1  # how many times less a slow server gets to do

    def __init__(self, folder, provider, models):
        """`models`: the names of models of the provider, for the kinds `burst` and `paced`."""
        self.folder, self.provider, self.models = folder, "http://127.0.0.1:%d/v1" % provider, models
        os.makedirs(folder)

    def start(self):
        """Returns the seconds until it was ready."""
        self.port = free_port()
        with open(os.path.join(self.folder, "log"), "w", encoding="utf-8") as log:
            begin = time.monotonic()
            self.process = subprocess.Popen(self.command(), cwd=self.folder, stdout=log, stderr=log, start_new_session=True,
                                            env=dict(os.environ, PROVIDER=self.provider, **self.environment))
        while not load.ready(self.port, self.ready_path):
            if self.process.poll() is not None or time.monotonic() - begin > load.LIMIT_S:
                raise SystemExit("%s did not start: %s" % (self.name, self.log()[-2000:]))
            time.sleep(0.002)
        return time.monotonic() - begin

    def log(self):
        with open(os.path.join(self.folder, "log"), encoding="utf-8") as file:
            return file.read()

    def stop(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, number)
                self.process.wait(10)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                pass

    def processes(self):
        found, parents = [self.process.pid], {}
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/stat" % entry, encoding="utf-8") as file:
                    parents.setdefault(int(file.read().rpartition(")")[2].split()[1]), []).append(int(entry))
            except OSError:
                pass
        for one in found:
            found += parents.get(one, [])
        return found

    def cpu_s(self):
        total = 0
        for process in self.processes():
            with open("/proc/%d/stat" % process, encoding="utf-8") as file:
                total += sum(map(int, file.read().rpartition(")")[2].split()[11:13]))
        return total / TICK

    def resident_kib(self):
        total = 0
        for process in self.processes():
            with open("/proc/%d/status" % process, encoding="utf-8") as file:
                total += next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))
        return total

    def request(self, kind):
        """The bytes of a request: `burst`, `paced`, `held` and `trivial`; those of all but the last are streamed."""
        body = {"model": self.models.get(kind, kind), "messages": [{"role": "user", "content": "Ada"}], "stream": kind != "trivial"}
        return load.post("/v1/chat/completions", json.dumps(body).encode(), self.headers, close=kind != "trivial")


class Tenon(Target):
    name, ready_path = "Tenon", "/readyz"

    def __init__(self, *arguments):
        super().__init__(*arguments)
        provider = '{provider: openai, base_url: "%s", model: %%s, api_key: none}' % self.provider
        slow = "{provider: scripted, replies: [{message: hello, delay_ms: 600000}]}"
        for name, model, node in (("burst", provider % self.models["burst"], CALLS), ("paced", provider % self.models["paced"], CALLS),
                                  ("held", slow, CALLS), ("trivial", "scripted", HELLO)):
            with open(os.path.join(self.folder, name + ".yaml"), "w", encoding="utf-8") as file:
                file.write(DOCUMENT % (name, model, node))
        limits = "{connections: 20000, connections_per_address: 20000, open_requests: 20000}"
        with open(os.path.join(self.folder, "tenon.yaml"), "w", encoding="utf-8") as file:
            file.write("store: {use: memory}\nserve: {protocols: [openai_server], log: false, limits: %s}\n" % limits)
        self.models = {}

    def command(self):
        return [TENON, "serve", "--port", str(self.port), "burst.yaml", "paced.yaml", "held.yaml", "trivial.yaml"]

    def start(self):
        seconds = super().start()
        self.headers = {"Authorization": "Bearer " + self.log().split("key ", 1)[1].split()[0]}
        return seconds


class FastApi(Target):
    name = "FastAPI"

    def command(self):
        return [sys.executable, "-m", "uvicorn", "fastapi_server:app", "--app-dir", HERE, "--port", str(self.port), "--loop", "uvloop",
                "--http", "httptools", "--no-access-log", "--log-level", "warning"]


class LangGraph(Target):
    name, ready_path, held, fewer_tokens, fewer_requests = "langgraph-api", "/ok", 100, 20, 400

    def __init__(self, *arguments):
        super().__init__(*arguments)
        graphs = {name: "%s:%s" % (os.path.join(HERE, "langgraph_graphs.py"), name) for name in ("burst", "paced", "trivial", "held")}
        with open(os.path.join(self.folder, "langgraph.json"), "w", encoding="utf-8") as file:
            json.dump({"dependencies": ["."], "graphs": graphs}, file)
        self.environment = {"BURST": self.models["burst"], "PACED": self.models["paced"], "LOG_LEVEL": "ERROR", "LANGSMITH_TRACING": "false"}

    def command(self):
        return [os.path.join(os.path.dirname(sys.executable), "langgraph"), "dev", "--port", str(self.port), "--no-browser", "--no-reload",
                "--n-jobs-per-worker", "200"]

    def request(self, kind):
        body = {"assistant_id": kind, "input": {"messages": [{"role": "user", "content": "Ada"}]}}
        if kind == "trivial":
            return load.post("/runs/wait", json.dumps(body).encode(), {})
        return load.post("/runs/stream", json.dumps(dict(body, stream_mode=["messages-tuple"])).encode(), {}, close=True)


ALL = [Tenon, FastApi, LangGraph]
