"""config.py - completion, hover, symbols and folding in a tenon.yaml."""
import pathlib
import shutil

from client import *

SAMPLES = pathlib.Path(os.environ["SAMPLES"])
HERE = pathlib.Path.cwd()
WHOLE = """# The operator's part.
plugins:
  path: [plugins]
  config:
    tenon.http: {proxy: ""}
    tenon.mcp:
      servers:
        dice:
          command: [python3, dice.py]
  isolation: {"*": process, tenon.mcp: none}
models:
  default: {provider: scripted, replies: [hello]}
  planner: [openai:gpt-5-mini, scripted]
store: {use: sqlite, path: ./state.db}
secrets: {KEY: {env: OTHER}}
tools:
  approval: {"effect:destructive": ask}
  audit_arguments: true
limits: {workers: 4}
log: info
"""
DOCUMENT = 'version: "1.0"\nagent: {name: a}\nchannels: [{name: messages, type: append}]\n' \
           "nodes: [{id: a, type: llm, config: {model: judge, output_key: messages}}]\nedges: [{from: START, to: a}, {from: a, to: END}]\n"


def open_config(client, text):
    return client.open(str(HERE / "tenon.yaml"), text, "yaml")


def ask(client, method, marked):
    """The text has the cursor `‸`."""
    document = open_config(client, marked.replace("‸", ""))
    result = client.at(method, document, document.position(marked.index("‸")))
    document.close()
    return result


def complete(client, marked):
    return {item["label"]: item for item in ask(client, "textDocument/completion", marked)["items"]}


def applied(client, marked, label):
    """The text after the item was inserted."""
    item = complete(client, marked)[label]
    return apply_edits(marked.replace("‸", ""), [item["textEdit"]], client.encoding)


def documentation(item):
    found = item["documentation"]
    return found["value"] if isinstance(found, dict) else found


def hover(client, marked):
    found = ask(client, "textDocument/hover", marked)
    return found and found["contents"]["value"]


def test_keys():
    with Client(folders=[str(HERE)]) as client:
        keys = ["plugins", "packs", "models", "prices", "store", "secrets", "http", "tools", "schedules", "files", "limits", "log"]
        for text, wanted in (
                ("‸", keys),
                ("log: info\n‸", [key for key in keys if key != "log"]),
                ("plugins:\n  ‸", ["path", "config", "isolation", "drafts", "admin", "processes"]),
                ("plugins: {path: a, ‸}\n", ["config", "isolation", "drafts", "admin", "processes"]),
                ("tools:\n  ‸\nlog: info\n", ["approval", "audit", "audit_arguments", "audit_required"]),
                ("limits:\n  ‸", ["concurrency", "workers", "recursion_limit", "thread_days", "interrupt_hours"]),
                ("secrets:\n  KEY: {env: A, ‸}\n", ["file", "command", "hosts"]),
                ("store:\n  ‸", ["use", "path"]),
                ("packs: {registries: {ghcr.io: {‸}}}\n", ["user", "password", "plain_http"]),
                ("schedules:\n  a:\n    ‸", ["cron", "every", "at", "task", "timezone", "misfire", "enabled"]),
                ("schedules: {a: {every: 1m, task: {‸}}}\n", ["type", "payload"]),
                ("prices: {a: {‸}}\n", ["input", "output", "cached", "cache_write"])):
            found = complete(client, text)
            expect_equal([label for label in found if label in wanted], wanted, text)
            expect(all(documentation(found[label]) for label in wanted), text)
        expect_equal(applied(client, "plug‸", "plugins"), "plugins:\n  $0")
        expect_equal(applied(client, "plugins:\n  iso‸\n", "isolation"), "plugins:\n  isolation:\n    $0\n")


def test_names():
    """Keys and values that the host knows."""
    with Client(folders=[str(HERE)]) as client:
        for text, some in (
                ("plugins:\n  config:\n    ‸", ["tenon.core", "tenon.agents"]),
                ("plugins:\n  isolation:\n    ‸", ["*", "tenon.core"]),
                ("plugins: {processes: {‸}}\n", ["*", "tenon.core"]),
                ("plugins: {drafts: [‸]}\n", ["tenon.core"]),
                ("models:\n  ‸", ["default"]),
                ("models:\n  default: ‸", ["scripted:"]),
                ("models:\n  default:\n    provider: ‸", ["scripted"]),
                ("models:\n  default:\n    - ‸", ["provider", "scripted:"]),
                ("store: ‸", ["memory"]),
                ("store:\n  use: ‸", ["memory"]),
                ("tools: {approval: {‸}}\n", ["effect:destructive", "effect:unknown", "memory.put"]),
                ("plugins: {isolation: {tenon.mcp: ‸}}\n", ["process", "none"]),
                ("tools: {approval: {shell.run: ‸}}\n", ["auto", "ask", "deny"]),
                ("tools:\n  audit_required: ‸\n", ["true", "false"]),
                ("schedules: {a: {misfire: ‸}}\n", ["skip", "once", "all"]),
                ("log: ‸", ["debug", "info", "warn", "error"])):
            found = complete(client, text)
            expect(set(some) <= set(found), text, list(found))
            expect(all(documentation(found[label]) for label in some), text)
        expect("tenon.core" not in complete(client, "plugins: {drafts: [tenon.core, ‸]}\n"))
        expect("tenon.core" not in complete(client, "plugins: {isolation: {tenon.core: none, ‸}}\n"))
        expect_equal(applied(client, "plugins:\n  isolation:\n    ‸", "*"), 'plugins:\n  isolation:\n    "*": ')
        expect_equal(applied(client, "log: w‸", "warn"), "log: warn")


def test_schemas_of_plugins():
    """The section of a plugin, and the options of a provider."""
    with Client(folders=[str(HERE)]) as client:
        expect("servers" in complete(client, "plugins:\n  config:\n    tenon.mcp:\n      ‸"))
        expect("command" in complete(client, "plugins:\n  config:\n    tenon.mcp:\n      servers:\n        a:\n          ‸"))
        expect_equal(list(complete(client, "plugins:\n  config:\n    other:\n      ‸")), [])
        found = complete(client, "models:\n  default:\n    provider: scripted\n    ‸")
        expect("replies" in found and "chunk" in found, list(found))
        expect("replies" not in complete(client, "models:\n  default:\n    provider: other\n    ‸"))
        expect_equal(list(complete(client, "models: {a: {provider: scripted, by: ‸}}\n")), ["history", "calls"])
        found = complete(client, "plugins:\n  config:\n    tenon.mcp:\n      tokens:\n        ‸")
        expect("secret" in found, list(found))


def test_plugin_with_a_mistake():
    """A plugin whose schema cannot be used takes nothing from the others."""
    folder = HERE / "mistake"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, schema in (("good", {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"enum": ["x"]}}}),
                         ("bad", {"type": "object", "properties": {"a": {"$ref": "#/$defs/missing"}}})):
        shutil.copy(SAMPLES / "python/wordcount.py", folder / f"{name}.py")
        manifest = json.loads((SAMPLES / "python/wordcount.py.tenon.json").read_text())
        manifest["plugin"].update(id=f"acme.{name}", config=schema)
        manifest["components"] = []
        (folder / f"{name}.py.tenon.json").write_text(json.dumps(manifest))
    (folder / "tenon.yaml").write_text("plugins: {path: [.]}\n")

    def labels(client, text):
        document = client.open(str(folder / "tenon.yaml"), text.replace("‸", ""), "yaml")
        result = client.at("textDocument/completion", document, document.position(text.index("‸")))
        document.close()
        return [item["label"] for item in result["items"]]
    with Client(folders=[str(folder)]) as client:
        expect({"acme.good", "acme.bad", "tenon.core"} <= set(labels(client, "plugins:\n  config:\n    ‸")))
        expect_equal(labels(client, "plugins:\n  config:\n    acme.good:\n      ‸"), ["a"])
        expect_equal(labels(client, "plugins:\n  config:\n    acme.good: {a: ‸}\n"), ["x"])
        expect_equal(labels(client, "plugins:\n  config:\n    acme.bad:\n      ‸"), [])


def test_incomplete():
    """Texts with mistakes before and behind the cursor."""
    with Client(folders=[str(HERE)]) as client:
        expect("isolation" in complete(client, "plugins:\n  path: [a\n  iso‸\nmodels:\n"))
        expect("ask" in complete(client, "tools: {approval: {shell.run: a‸"))
        expect("drafts" in complete(client, "mod\nplugins:\n  dra‸\n"))
        expect("replies" in complete(client, "models:\n  default:\n    provider: scripted\n    repl‸\nlog info\n"))
        expect_equal(complete(client, "# log‸\n"), {})
        for cut in range(0, len(WHOLE), 7):
            expect(isinstance(complete(client, WHOLE[:cut] + "‸"), dict))
            hover(client, WHOLE[:cut] + "‸" + WHOLE[cut:])


def test_hover():
    with Client(folders=[str(HERE)]) as client:
        for text, some in (
                ("plugins:\n  isol‸ation: {}\n", ["**isolation**", "`plugins.isolation`", "separate process", "Example"]),
                ("limits: {work‸ers: 4}\n", ["Threads for blocking", "`limits.workers`", "integer", "`1`", "`256`"]),
                ("limits: {workers: 4‸}\n", ["**workers**", "integer"]),
                ("l‸og: info\n", ["Default: `\"warn\"`", "`debug`"]),
                ("log: in‸fo\n", ["**info**"]),
                ("tools: {audit_arguments: tr‸ue}\n", ["**audit_arguments**", "Default: `false`"]),
                ("plugins: {isolation: {tenon.core: proc‸ess}}\n", ["**process**", "separate process"]),
                ("plugins:\n  drafts: [tenon.co‸re]\n", ["**tenon.core**"]),
                ("plugins: {config: {tenon.m‸cp: {}}}\n", ["**tenon.mcp**", "Model Context Protocol"]),
                ("plugins: {config: {tenon.mcp: {serv‸ers: {}}}}\n", ["**servers**"]),
                ("models: {default: scrip‸ted}\n", ["scripted"]),
                ("models: {default: {provider: scripted, chu‸nk: 4}}\n", ["**chunk**", "Default: `16`"]),
                ("store: {use: mem‸ory}\n", ["**memory**"]),
                ("schedules: {a: {cr‸on: x}}\n", ["**cron**", "day of week"]),
                ("schedules: {a: {misfire: on‸ce}}\n", ["**once**", "One Task"]),
                ("secrets: {K: {en‸v: A}}\n", ["environment variable"])):
            found = hover(client, text)
            expect(found and all(words in found for words in some), text, found)
        for text in ("unkno‸wn: 1\n", "# com‸ment\n", "plugins: {‸}\n"):
            expect_equal(hover(client, text), None, text)


def test_structure():
    with Client(folders=[str(HERE)]) as client:
        document = open_config(client, WHOLE)
        symbols = client.request("textDocument/documentSymbol", document.params())
        expect_equal([symbol["name"] for symbol in symbols],
                     ["plugins", "models", "store", "secrets", "tools", "limits", "log"])
        expect_equal([symbol["name"] for symbol in symbols[1]["children"]], ["default", "planner"])
        folds = client.request("textDocument/foldingRange", document.params())
        expect((1, 9) in {(fold["startLine"], fold["endLine"]) for fold in folds}, folds)
        chosen = client.request("textDocument/selectionRange", {**document.params(), "positions": [as_position(document.find("none"))]})
        expect(chosen[0]["parent"], chosen)
        expect_equal(client.diagnostics(document), [])
        # Features of documents have nothing to say here.
        expect_equal(client.request("textDocument/inlayHint", {**document.params(), "range": {
            "start": as_position((0, 0)), "end": as_position((3, 0))}}), [])
        expect_equal(client.request("textDocument/codeLens", document.params()), [])
        expect_equal(client.request("textDocument/semanticTokens/full", document.params()), None)


def test_wrong_schedules():
    """Expressions and time zones are checked at their places, beside the form."""
    with Client(folders=[str(HERE)]) as client:
        document = open_config(client, 'schedules:\n  a: {cron: "0 25 * * *", task: {type: w}}\n  b:\n    cron: "@daily"\n'
                               "    timezone: Europe/Berlim\n    task: {type: w}\n  c: {every: 1m, task: {type: w}, misfire: no}\n")
        found = {(one["range"]["start"]["line"], one["range"]["start"]["character"]): one["message"] for one in client.diagnostics(document)}
        expect_equal(sorted(found), [(1, 12), (4, 14), (6, 43)])
        expect("hour, column 3: found `25`, expected 0 to 23" in found[1, 12], found)
        expect("schedules.b.timezone: found `Europe/Berlim`" in found[4, 14], found)
        document.change(['schedules:\n  a: {cron: "0 23 * * *", task: {type: w}}\n'])
        expect_equal(client.diagnostics(document), [])


def test_roles_of_documents():
    """Roles that the open documents of the project use."""
    with Client(folders=[str(HERE)]) as client:
        client.diagnostics(client.open(str(HERE / "doc.adl.yaml"), DOCUMENT))
        expect_equal(sorted(complete(client, "models:\n  ‸")), ["default", "judge"])
        expect_equal(sorted(complete(client, "models:\n  judge: scripted\n  ‸")), ["default"])
        expect("judge" not in complete(client, "models:\n  default: ‸"))


run_tests(globals())
