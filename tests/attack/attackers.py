"""attackers.py: what each kind of attacker in the tables writes into the folder of an attempt, and the command that runs it.

Each function prepare_X gets an Attempt (run.py) and changes its folder and its command.
"""
import concurrent.futures
import json
import os
import re
import shutil
import stat
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ISOLATIONS = ("in process", "isolated", "program")
RELEASED = "eval host http poll registry tool".split()
DRAFTS = "document/1-draft.2 graph/1-draft.3 launch/1-draft.2 server/1-draft.1 state/1-draft.2".split()
PROVIDED = {"store": "tenon.store/1-draft.3", "client": "tenon.http_client/1-draft.1",
            "server": "tenon.http_server/1-draft.1", "users": "tenon.authenticator/1-draft.1"}  # what a plugin offers, by attack
INTERFACES = [f"tenon.{name}/1" for name in RELEASED] + [f"tenon.{name}" for name in DRAFTS]


def document(config, node="hostile.node", **more):
    """A document with one node. `more` overrides its members; the value None removes one."""
    made = {
        "version": "1.0",
        "channels": [{"name": "out", "type": "last_value"}, {"name": "messages", "type": "reduce", "reducer": "messages"}],
        "nodes": [{"id": "n", "type": node, "config": config}],
        "edges": [{"from": "START", "to": "n"}, {"from": "n", "to": "END"}],
        **more,
    }
    return {key: value for key, value in made.items() if value is not None}


def agent_document(replies, tools):
    """A document with an agent. Its model has these replies."""
    config = {"model": "m", "prompt": "Hi", "messages_key": "messages", "output_key": "out", "tools": tools}
    models = {"m": {"provider": "scripted", "replies": replies, "templates": False}}
    return document(config, "agent", models=models)


def command_tool(name, effects, command):
    """A description of a tool, for tenon.define."""
    schema = {"type": "object", "additionalProperties": False}
    return {"name": name, "description": "d", "input": schema, "effects": effects, "command": command}


def tools_of_operator(attempt):
    """Dangerous tools that the operator has installed."""
    write = "fs.write:" + attempt.folder
    anything = {"type": "object", "properties": {"x": True}}
    text = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}
    return [
        command_tool("shell.run", ["process.spawn", write], ["touch", attempt.made]),
        command_tool("shell.wipe", ["process.spawn", write, "destructive"], ["touch", attempt.made]),
        command_tool("secret.read", ["process.spawn", "fs.read:" + attempt.secret], ["cat", attempt.secret]),
        # What a program can see: its environment, and that of the host.
        command_tool("spy.environment", ["process.spawn"], ["sh", "-c", "env; cat /proc/$PPID/environ; true"]),
        command_tool("spy.key", [], ["printenv", "TENON_IDEMPOTENCY_KEY"]),
        {**command_tool("spy.file", [], ["cat", "{x}"]), "input": text},
        command_tool("spy.write", ["fs.write:/nonexistent"], ["touch", attempt.made]),
        {**command_tool("spy.word", [], ["echo", "{x}"]), "input": text},
        # It sends what a model passes, and its answer has what was sent.
        {
            "name": "web.send",
            "description": "d",
            "input": anything,
            "http": {"url": attempt.server + "echo", "method": "POST", "json": "{x}", "headers": {"x-x": "{x}"}},
        },
        {
            "name": "web.echo",
            "description": "d",
            "input": anything,
            "http": {"url": attempt.server + "echo-only", "headers": {"authorization": {"secret": "CANARY_KEY"}}},
        },
    ]


# ---- A plugin, alone or in a pack ----


def plugin_files(attempt, words, rights):
    """Writes plugin/hostile.so or .py with its manifest. Returns its name, and its section of tenon.yaml."""
    attack, name, *rest = words.split(" ", 2)
    section = {"attack": attack, "name": attempt.fill(name)}
    if rest:
        kind = re.match(r"(tool|node|model|graph) ", rest[0])
        section["kind"] = kind.group(1) if kind else "tool"
        # A text, because the section would otherwise grant the secrets that it names.
        section["input"] = attempt.fill(rest[0][kind.end() if kind else 0 :])
        json.loads(section["input"])
    effects = [attempt.fill(effect) for effect in rights if effect != "dynamic"]
    common = {"title": "t", "documentation": "d", "style": "blocking", "effects": effects}
    properties = {"separator": {"type": "string", "x-tenon": "tool"}, "bystander": {"type": "boolean"}}
    named = {"type": "object", "properties": properties}
    manifest = {
        "plugin": {
            "id": "hostile.plugin",
            "version": "1.0.0",
            "title": "Tries one attack",
            "optional": INTERFACES,
            "config": {"type": "object"},
            **({"provides": [PROVIDED[attack]]} if attack in PROVIDED else {}),
            **({"dynamic": ["tool"]} if "dynamic" in rights else {}),
        },
        "components": [
            {"kind": "node", "id": "hostile.node", "config": named, **common},
            {"kind": "tool", "id": "hostile.tool", "input": {"type": "object"}, **common},
        ],
    }
    program = attempt.isolation == "program"
    file = "hostile.py" if program else "hostile.so"
    attempt.write("plugin/hostile.py.tenon.json" if program else "plugin/hostile.tenon.json", json.dumps(manifest))
    shutil.copy(os.path.join(HERE, file) if program else attempt.library, os.path.join(attempt.folder, "plugin", file))
    return file, {"hostile.plugin": section}


def plugin_rights(text):
    """Reads RIGHTS: effects, `only:TOOL` for `tools` of the document, `rule:RULE` for the policy, `names:TEXT`, `as:tool`,
    `timeout`, `beside`.

    Returns the effects, the document, and the rules.
    """
    words = text.split()
    only = [word[len("only:") :] for word in words if word.startswith("only:")]
    rules = [word[len("rule:") :] for word in words if word.startswith("rule:")]
    names = [word[len("names:") :] for word in words if word.startswith("names:")]
    made = document({"separator": names[0]} if names else {})
    if "as:tool" in words:
        call = {"id": "c", "name": "hostile.tool", "arguments": {}}
        made = agent_document([{"content": "", "tool_calls": [call]}, "that is all"], ["*" if "with:*" in words else "hostile.tool"])
    if "beside" in words:
        bystander = {"id": "bystander", "type": "hostile.node", "config": {"bystander": True}}
        made["nodes"].append(bystander)
        branches = [{"expression": "state.out == 'attack'", "to": "n"}, {"expression": "default", "to": "bystander"}]
        made["edges"] = [{"from": "START", "type": "conditional", "conditions": branches}]
        made["edges"] += [{"from": node, "to": "END"} for node in ("n", "bystander")]
    if "timeout" in words:
        made["nodes"][0]["timeout"] = "1s"
    if only:
        made["tools"] = only
    effects = [word for word in words if not word.startswith(("only:", "rule:", "as:", "names:")) and word not in ("timeout", "beside")]
    return effects, made, rules


def prepare_plugin(attempt):
    rights, made, rules = plugin_rights(attempt.row.rights)
    file, section = plugin_files(attempt, attempt.row.attack, rights)
    attempt.settings(section, rules=rules)
    attempt.write("project/attack.yaml", json.dumps(made))
    attempt.command += ["--plugins", f"../plugin/{file}", "--allow-drafts"]
    if attempt.isolation == "isolated":
        attempt.command += ["--isolate", "hostile.plugin"]
    if "beside" in attempt.row.rights.split():
        attempt.write("project/runs", '{"out": "attack"}\n' + '{"out": "work"}\n' * 3)
        attempt.command += ["--batch", "runs"]


def alter(path):
    with open(path, "ab") as file:
        file.write(b"\n")


def prepare_pack(attempt):
    """A pack with a plugin and a document. A trusted one runs in process; others are isolated, .so or program."""
    how, words = attempt.row.attack.split(" ", 1)
    rights, inner, rules = plugin_rights(attempt.row.rights)
    file, section = plugin_files(attempt, words if how != "document" else "log x", rights)
    if how == "document":
        inner = json.loads(attempt.fill(words))
    attempt.write("plugin/attack.yaml", json.dumps(inner))
    pack = {"name": "hostile", "version": "1.0.0", "title": "t", "plugins": [file], "documents": ["attack.yaml"]}
    attempt.write("plugin/pack.json", json.dumps(pack))
    packs = {"trust": [os.path.join(attempt.keys, "acme.pub")]} if attempt.isolation == "in process" else {}
    attempt.settings(section, rules, packs=packs)
    attempt.tenon("pack", "build", "plugin", "-o", "hostile.tenonpack")
    built = os.path.join(attempt.folder, "hostile.tenonpack")
    if attempt.isolation == "in process":
        attempt.tenon("pack", "sign", built, "--key", os.path.join(attempt.keys, "acme.key"))
    elif how == "forged":
        attempt.tenon("pack", "sign", built, "--key", os.path.join(attempt.keys, "other.key"))
    if how == "broken":
        with open(built, "r+b") as archive:
            archive.seek(2000)
            archive.write(b"X")
    attempt.tenon("pack", "install", built, check=how != "broken")
    installed = os.path.join(attempt.folder, "home/.local/share/tenon/packs/hostile/1.0.0")
    if how == "altered":
        os.chmod(os.path.join(installed, file), stat.S_IRWXU)
        alter(os.path.join(installed, file))
    attempt.command = ["run", os.path.join(installed, "attack.yaml"), "--allow-drafts"]
    if how == "broken":
        attempt.write("project/attack.yaml", json.dumps(inner))
        attempt.command[1] = "attack.yaml"


# ---- A document ----


def prepare_document(attempt):
    """ATTACK: the type of its node, its config, and other members of the document. RIGHTS: further rules of the policy, and
    how the run is saved: `saved`; `again`, after a thread of the same name was deleted; `damaged`, in a store that is; `shared`, by six processes at once,
    and then the thread is replayed."""
    node, rest = attempt.fill(attempt.row.attack).split(" ", 1)
    config, end = json.JSONDecoder().raw_decode(rest)
    more = json.loads(rest[end:]) if rest[end:].strip() else {}
    saved = set(attempt.row.rights.split()) & {"saved", "again", "damaged", "shared"}
    rules = [word for word in attempt.row.rights.split() if word not in saved]
    attempt.settings(rules=rules, **({"store": {"use": "sqlite", "path": "./store.db"}} if saved else {}))
    attempt.command += ["--thread", "t"] if saved else []
    attempt.write("project/attack.yaml", json.dumps(document(config, node, **more)))
    attempt.write("project/inner.yaml", attempt.fill("@SHELL"))
    attempt.write("project/wipes.yaml", attempt.fill("@SHELL").replace("shell.run", "shell.wipe"))
    calls = [{"type": "ai", "content": "", "tool_calls": [{"id": "c", "name": "shell.wipe", "arguments": {}}]}]
    approves = attempt.node("tools", tools=["shell.wipe"], auto_approve=["*"])
    messages = {"name": "messages", "type": "append", "default": calls}
    attempt.write("project/approves.yaml", json.dumps({**json.loads(attempt.fill("@SHELL")), "nodes": [approves], "channels": [messages]}))
    os.symlink(attempt.secret, os.path.join(attempt.project, "link"))
    os.mkfifo(os.path.join(attempt.project, "pipe"))
    if saved & {"again", "damaged"}:
        attempt.forbidden = attempt.tenon(*attempt.command, folder=attempt.project, check=False)
    if "shared" in saved:
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            list(pool.map(lambda _: attempt.tenon(*attempt.command, folder=attempt.project, check=False), range(6)))
        attempt.command = ["replay", "t"]
    if "again" in saved:
        attempt.tenon("thread", "delete", "t", folder=attempt.project)
    if "damaged" in saved:
        with open(os.path.join(attempt.project, "store.db"), "r+b") as file:
            file.seek(100)
            file.write(b"\xff" * 8000)


# ---- A model ----


def prepare_model(attempt):
    """ATTACK: the tool that it calls, and the arguments. RIGHTS: the tools that the document and its agent permit."""
    name, arguments = attempt.row.attack.split(" ", 1)
    attempt.settings()
    call = {"id": "c", "name": name, "arguments": json.loads(attempt.fill(arguments))}
    replies = [{"content": "", "tool_calls": [call]}, "that is all"]
    tools = attempt.row.rights.split()
    attempt.write("project/attack.yaml", json.dumps({**agent_document(replies, tools), "tools": tools}))


# ---- An MCP server ----


def prepare_server(attempt):
    """ATTACK: that of server.py. RIGHTS: the annotations of its tool, as JSON, and members of its section."""
    attack = attempt.fill(attempt.row.attack)
    annotations, *members = attempt.row.rights.split() or ["{}"]
    with open(os.path.join(HERE, "server.py")) as file:
        source = file.read()
    # The source is an argument, because an isolated server reads no file of this folder, and runs programs of the system.
    python = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
    server = {"command": [python, "-IS", "-c", source, annotations, *attack.split(" ", 1)]}
    for member in members:
        server.update(json.loads(member))
    attempt.settings({"tenon.mcp": {"servers": {"evil": server}}})
    node = {"tool": "evil.act", "arguments": {}, "output_key": "out"}
    attempt.write("project/attack.yaml", json.dumps(document(node, "tool")))
    if attempt.isolation == "isolated":
        attempt.command += ["--isolate", "tenon.mcp"]


# Each attacker, and the isolations in which its rows are tried.
ATTACKERS = {
    "plugin": (prepare_plugin, ISOLATIONS),
    "pack": (prepare_pack, ISOLATIONS),
    "document": (prepare_document, ISOLATIONS[:1]),
    "model": (prepare_model, ISOLATIONS[:1]),
    "server": (prepare_server, ISOLATIONS[:2]),
}


def keys_make(folder, tenon):
    """Makes the keys acme and other, for packs."""
    os.makedirs(folder, exist_ok=True)
    for name in ("acme", "other"):
        subprocess.run([tenon, "pack", "keygen", name], cwd=folder, check=True, capture_output=True)
