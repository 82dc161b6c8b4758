"""run.py TENON SOURCE CC ATTACKER [NAME…]: makes each attack of the file ATTACKER.table, in each isolation and under each
policy, and compares what happened with what the table expects. With `coverage` as ATTACKER it fails if an interface, a
bundled tool or a bundled node type is in no row of any table.

Each attempt is a run of the program in a separate folder, with a file that must not be made, and secrets that must
neither be printed nor arrive at a server. An outcome is observed: it is the program's own error, what was made, what was
printed, and what was sent. plugin.table explains the columns. With ATTACKS=all every attempt of a large table is made.
"""
import concurrent.futures
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import threading

from attackers import ATTACKERS, ISOLATIONS, document, keys_make, tools_of_operator

TENON, SOURCE, CC, ATTACKER, ONLY = *sys.argv[1:5], sys.argv[5:]
HERE = os.path.join(SOURCE, "tests/attack")
BASE = os.getcwd()
POLICIES = ("none", "ask", "deny")
WAIT_S = 300  # never reached unless a run hangs
MANY, EVERY = 200, 1 if os.environ.get("ATTACKS") == "all" else 4  # of a table with many attempts, one of so many is made
CONTROLS = "[\x00-\x08\x0b-\x1f\x7f-\x9f]"
# Texts that must stay where they are: in a file outside of the project, in a file with a key, in the environment, in a
# secret that may be sent to another host only, and in what a model says.
CANARIES = FILE, KEY, ENVIRONMENT, BOUND, MODEL = [
    f"canary-of-the-{name}-7391" for name in ("file", "key", "env", "host", "model")
]
SHELL = document({"tool": "shell.run", "arguments": {}, "output_key": "out"}, "tool")

# ---- A server that records what it receives ----

received = {}  # folder of the attempt -> bytes


class Recorder(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        name, _, path = self.path[1:].partition("/")
        if path == "elsewhere":
            self.send_response(302)
            self.send_header("location", f"http://localhost:{server.server_port}/{name}/made")
            self.end_headers()
            return
        text = f"{self.path}\n{self.headers}".encode() + body
        if path != "echo-only":
            received[name] = received.get(name, b"") + text
        answer = json.dumps({"echo": text.decode(errors="replace")}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_GET = do_POST

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
threading.Thread(target=server.serve_forever, daemon=True).start()

# ---- One attempt ----


class Attempt:
    """One attack in one isolation under one policy: its folder, its command, and what happened."""

    def __init__(self, row, isolation, policy):
        self.row, self.isolation, self.policy = row, isolation, policy
        self.name = row.name.replace(" ", "-") + f"-{ISOLATIONS.index(isolation)}-{policy}"
        self.folder = os.path.join(BASE, self.name)
        self.made = os.path.join(self.folder, "made")
        self.secret = os.path.join(self.folder, "outside", "secret.txt")
        self.project = os.path.join(self.folder, "project")
        self.server = f"http://127.0.0.1:{server.server_port}/{self.name}/"
        self.keys, self.library = os.path.join(BASE, "keys"), os.path.join(BASE, "hostile.so")
        self.command = ["run", "attack.yaml"]
        self.forbidden = None  # the output of an earlier run, which must not come again
        shutil.rmtree(self.folder, ignore_errors=True)
        for folder in ("home", "tmp", "project"):
            os.makedirs(os.path.join(self.folder, folder))
        self.write("outside/secret.txt", FILE + "\n")
        self.write("outside/key.txt", KEY + "\n")
        self.write("outside/shell.yaml", json.dumps(SHELL))
        os.symlink(self.secret, os.path.join(self.folder, "link"))
        kept = {name: os.environ[name] for name in os.environ if name in ("PATH", "LANG") or "SAN_OPTIONS" in name}
        home = os.path.join(self.folder, "home")
        self.environment = {**kept, "HOME": home, "TERM": "dumb", "CANARY_ENV": ENVIRONMENT, "CANARY_BOUND": BOUND}
        if os.environ.get("SANITIZE"):
            self.environment["TENON_DUMPABLE"] = "1"

    def write(self, path, text):
        path = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)

    def fill(self, text):
        shell = json.dumps(SHELL)
        outside = json.dumps({**SHELL, "nodes": [self.node("subgraph", document=self.folder + "/outside/shell.yaml")]})
        quoting = json.dumps({**SHELL, "nodes": [self.node("prompt", template={"file": self.secret}, output_key="out")]})
        selecting = self.node("delegate", select="'a'", documents="{'a': 'inner.yaml'}", output_key="out")
        sending = self.node("llm", prompt="x", output_key="out", base_url=self.server, api_key={"secret": "CANARY_KEY"})
        for word, value in (
            ("@FOLDER", self.folder),
            ("@MADE", self.made),
            ("@SECRET", self.secret),
            ("@SERVER", self.server),
            ("@SHELL_TEXT", json.dumps(shell)),
            ("@OUTSIDE_TEXT", json.dumps(outside)),
            ("@OUTSIDE", outside),
            ("@QUOTING_TEXT", json.dumps(quoting)),
            ("@QUOTING", quoting),
            ("@DEEP", "[" * 100000),
            ("@NESTED", "[" * 220 + "]" * 220),
            ("@SENDING_TEXT", json.dumps(json.dumps({**SHELL, "nodes": [sending]}))),
            ("@SELECTING_TEXT", json.dumps(json.dumps({**SHELL, "nodes": [selecting]}))),
            ("@ASKING", json.dumps({**SHELL, "nodes": [self.node("llm", prompt="x", output_key="out")]})),
            ("@SHELL", shell),
            ("@CONTROLS", "\\u001b]0;title\\u0007\\u202e"),
        ):
            text = text.replace(word, value)
        return text

    @staticmethod
    def node(kind, **config):
        return {"id": "n", "type": kind, "config": config}

    def settings(self, plugins=None, rules=(), **more):
        """tenon.yaml: dangerous tools, secrets, and the policy."""
        settings = {
            "models": {"default": {"provider": "scripted", "replies": [MODEL]}, "paid": {"provider": "openai", "model": "m"}},
            "plugins": {"config": {"tenon.define": {"tools": tools_of_operator(self)}, **(plugins or {})}},
            "secrets": {
                "CANARY_KEY": {"file": os.path.join(self.folder, "outside", "key.txt")},
                "CANARY_ENV": {"env": "CANARY_ENV"},
                "CANARY_BOUND": {"env": "CANARY_BOUND", "hosts": ["api.example"]},
            },
            "store": {"use": "memory"},
            **more,
        }
        if self.policy != "none":
            settings["tools"] = {"approval": {rule: self.policy for rule in ("*", *rules)}}
        self.write("project/tenon.yaml", json.dumps(settings))

    def tenon(self, *arguments, folder=None, check=True):
        """Runs a command before the attack. Returns its standard output if it succeeded, else None."""
        ended = subprocess.run(
            [TENON, *arguments],
            cwd=folder or self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
        )
        if check and ended.returncode:
            raise RuntimeError(f"{self.name}: tenon {' '.join(arguments)}: {ended.stderr.decode(errors='replace')}")
        return None if ended.returncode else ended.stdout.decode(errors="replace")

    def observe(self):
        try:
            ended = subprocess.run(
                [TENON, *self.command],
                cwd=self.project,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=WAIT_S,
            )
        except subprocess.TimeoutExpired:
            self.output = "it did not end"
            return "HANGS"
        out, err = ended.stdout.decode(errors="replace"), ended.stderr.decode(errors="replace")
        self.output = out + err
        return self.outcome(ended.returncode, out, err) + ("!" if self.reached() else "")

    def outcome(self, code, out, err):
        if "Sanitizer" in err or "runtime error:" in err:
            return "a sanitizer's report"
        # What reverses text is data on standard output, unless that is a terminal.
        if re.search(CONTROLS, self.output) or re.search("[\u200e\u200f\u202a-\u202e\u2066-\u2069]", err):
            return "control characters in the output"
        if code == 5:
            # The question shows who asks: the chain that ends with the document, or the server.
            shown = re.search(r"; for .*document `|\"server\":\"evil\"", err)
            return "ASKED" if shown else "ASKED without the chain"
        if "--batch" in self.command:
            lines = [json.loads(line) for line in out.splitlines()]
            codes = [line["error"]["code"] for line in lines if "error" in line]
            return f"{len(codes)} of {len(lines)} {' '.join(codes)}"
        if code != 0:
            codes = re.findall(r"error\[(ADL-E\d+)\]|\[([A-Z][A-Z_]{3,})\]$", err, re.MULTILINE)
            return "".join(codes[-1]) if codes else f"exit {code}"
        # What a model received from its calls: the first error.
        told = re.search(r'"content":"([A-Z_]{4,}): ', out)
        return told.group(1) if told else "done"

    def reached(self):
        sent = received.get(self.name, b"").decode(errors="replace")
        return (
            os.path.exists(self.made)
            or any(canary in self.output or canary in sent for canary in CANARIES)
            or "/made" in sent
            or (self.forbidden is not None and self.forbidden in self.output)
        )


# ---- The tables ----


class Row:
    def __init__(self, attacker, line, number):
        cells = re.split(r"\s*\|\s*", line.strip())
        if len(cells) != 7:
            sys.exit(f"{attacker}.table:{number}: expected 7 columns, found {len(cells)}")
        self.attacker, self.number, self.name = attacker, number, f"{attacker} {cells[0]}"
        self.covers, self.attack, self.rights = cells[1].split(), cells[2], cells[3]
        self.outcomes = dict(zip(POLICIES, cells[4:]))

    def expected(self, isolation, policy):
        each = self.outcomes[policy].split(":")
        return each[min(ISOLATIONS.index(isolation), len(each) - 1)]


def read_table(attacker):
    rows = []
    with open(os.path.join(HERE, attacker + ".table")) as file:
        for number, line in enumerate(file, 1):
            if line.strip() and not line.startswith("#"):
                rows.append(Row(attacker, line, number))
    return rows


def try_attack(job):
    """Returns None if the outcome is the expected one, or a description."""
    row, isolation, policy = job
    attempt = Attempt(row, isolation, policy)
    ATTACKERS[row.attacker][0](attempt)
    found, expected = attempt.observe(), row.expected(isolation, policy)
    if found == expected:
        shutil.rmtree(attempt.folder)
        return None
    where = f"{row.attacker}.table:{row.number}: {row.name} ({isolation}, policy {policy})"
    return f"{where}: expected {expected}, found {found}\n    " + attempt.output[:1500].replace("\n", "\n    ")


def skip_without_sandbox():
    report = subprocess.run([TENON, "doctor", "--no-config"], capture_output=True).stdout.decode()
    if "✓ seccomp" not in report or not re.search(r"Landlock +version", report):
        print("skipped: this kernel, or this build, has no whole sandbox")
        sys.exit(77)


def attack(attacker):
    skip_without_sandbox()
    rows = [row for row in read_table(attacker) if not ONLY or row.name in ONLY or row.name.split()[1] in ONLY]
    if attacker in ("plugin", "pack"):
        flags = ["-shared", "-fPIC", "-fvisibility=hidden", "-O1", "-I" + os.path.join(SOURCE, "sdk/include")]
        flags += ["-fsanitize=" + os.environ["SANITIZE"]] if os.environ.get("SANITIZE") else []
        script = "-Wl,--version-script=" + os.path.join(SOURCE, "sdk/cmake/tenon-plugin.map")
        hostile = os.path.join(HERE, "hostile.c")
        subprocess.run([*CC.split(), *flags, script, "-o", "hostile.so", hostile], check=True)
    if attacker == "pack":
        shutil.rmtree("keys", ignore_errors=True)
        keys_make("keys", TENON)
    # A sanitizer makes a run take ten times as long, and finds errors of memory, which hardly depend on the policy.
    tried = POLICIES[:1] if os.environ.get("SANITIZE") else POLICIES
    jobs = [
        (row, isolation, policy)
        for row in rows
        for isolation in ATTACKERS[attacker][1]
        for policy in tried
        if row.expected(isolation, policy) != "-"
    ]
    # Isolations and policies take turns: a row has three of each, and three is no divisor of four.
    jobs = jobs[:: EVERY if len(jobs) > MANY and not ONLY else 1]
    failures = {}
    with concurrent.futures.ThreadPoolExecutor(2 * os.cpu_count()) as pool:
        for job, failure in zip(jobs, pool.map(try_attack, jobs)):
            if failure:
                failures.setdefault(job[0].name, []).append(failure)
    for row in rows:
        print(("FAILED " if row.name in failures else "ok     ") + row.name)
    print(f"{len(jobs)} attempts, {sum(map(len, failures.values()))} with another outcome than the table's")
    if failures or not jobs:
        sys.exit("\n".join(failure for each in failures.values() for failure in each))


# ---- Coverage ----


def interfaces():
    ids = []
    for folder, _, files in os.walk(os.path.join(SOURCE, "sdk/include")):
        for name in files:
            with open(os.path.join(folder, name)) as file:
                ids += re.findall(r'^#define TN_\w+ +"(tenon\.[a-z_]+/[^"]+)"', file.read(), re.MULTILINE)
    return ids


def bundled(kind):
    listed = subprocess.run([TENON, "plugin", "list", "--json", "--no-config"], check=True, capture_output=True)
    plugins = [plugin for plugin in json.loads(listed.stdout)["plugins"] if plugin["id"].startswith("tenon.")]
    return [component["id"] for plugin in plugins for component in plugin["components"] if component["kind"] == kind]


def coverage():
    covered = {name for attacker in ATTACKERS for row in read_table(attacker) for name in row.covers}
    subjects = {"interface": interfaces(), "tool": bundled("tool"), "node type": bundled("node")}
    missing = []
    for kind, names in subjects.items():
        print(f"{len(names)} of the kind {kind}")
        if len(names) < 10:
            sys.exit(f"expected at least ten of the kind {kind}, found {names}")
        missing += [f"the {kind} `{name}` is in no row of tests/attack/*.table" for name in names if name not in covered]
    unknown = covered - {name for names in subjects.values() for name in names}
    missing += [f"tests/attack/*.table covers `{name}`, which does not exist" for name in sorted(unknown)]
    if missing:
        sys.exit("\n".join(missing))


if ATTACKER == "coverage":
    coverage()
else:
    attack(ATTACKER)
