"""projects.py - folders with their own tenon.yaml in one editor: plugins, models, changes, and renaming over all documents."""
import pathlib
import shutil

from client import *

SAMPLES = pathlib.Path(os.environ["SAMPLES"])
COUNT = (SAMPLES / "python" / "count.yaml").read_text()
HERE = pathlib.Path.cwd()
WITH_PLUGIN = f"plugins: {{path: [{SAMPLES}/python/wordcount.py]}}\n"
INNER = 'version: "1.0"\nagent: {name: inner}\nchannels: [{name: report, type: last_value}]\n' \
        "nodes: [{id: a, type: set, config: {values: {report: \"'x'\"}}}]\nedges: [{from: START, to: a}, {from: a, to: END}]\n"
OUTER = 'version: "1.0"\nagent: {name: outer}\nchannels: [{name: all, type: append}]\n' \
        "nodes: [{id: a, type: subgraph, config: {document: inner.yaml, output: {report: all}}}]\n" \
        "edges: [{from: START, to: a}, {from: a, to: END}]\n"


def project(name, config, **files):
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "tenon.yaml").write_text(config)
    for file, text in files.items():
        (folder / f"{file}.yaml").write_text(text)
    return folder


def changed(client, path, kind):
    client.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": uri_of(str(path)), "type": kind}]})


def wait_codes(client, document, wanted):
    client.wait(lambda: sorted({d["code"] for d in client.published[document.uri]["diagnostics"]}) == wanted, wanted)


def test_plugins_of_projects():
    """The same document in two projects, of which one has the plugin."""
    one, two = project("one", WITH_PLUGIN), project("two", "{}\n")
    with Client(folders=[str(one), str(two)]) as client:
        first, second = (client.open(str(folder / "count.yaml"), COUNT) for folder in (one, two))
        expect_equal(client.codes(first), [])
        expect("ADL-E061" in client.codes(second))
        # Another program changes the configuration of the second one, and then that of the first.
        (two / "tenon.yaml").write_text(WITH_PLUGIN)
        changed(client, two / "tenon.yaml", 2)
        wait_codes(client, second, [])
        (one / "tenon.yaml").unlink()
        changed(client, one / "tenon.yaml", 3)
        client.wait(lambda: "ADL-E061" in {d["code"] for d in client.published[first.uri]["diagnostics"]}, "no plugin")
        expect_equal(client.published[second.uri]["diagnostics"], [])


def test_watched():
    """The editor is asked to watch files, if it can."""
    with Client(folders=[str(HERE)]) as client:
        client.settle()
        watched = [r for r in client.registrations.values() if r["method"] == "workspace/didChangeWatchedFiles"]
        expect_equal(len(watched), 1)
    with Client(capabilities={}, folders=[str(HERE)]) as client:
        client.settle()
        expect_equal(client.registrations, {})


def test_configuration():
    """An open tenon.yaml has diagnostics."""
    folder = project("config", "{}\n")
    with Client(folders=[str(folder)]) as client:
        document = client.open(str(folder / "tenon.yaml"), "modls: {}\n", language="yaml")
        found = client.diagnostics(document)
        expect(found and "modls" in found[0]["message"], found)
        expect_equal(found[0]["range"]["start"], as_position((0, 0)))
        document.change(["models: {}\n"])
        expect_equal(client.diagnostics(document), [])
        document.change(["models: [\n"])
        expect(client.diagnostics(document))


def test_rename_closed():
    """A channel of an open document is used in one that is not open, on the disk."""
    folder = project("rename", "{}\n", inner=INNER, outer=OUTER)
    with Client(folders=[str(folder)]) as client:
        document = client.open(str(folder / "inner.yaml"), INNER)
        edit = client.at("textDocument/rename", document, document.find("name: report", 6), newName="summary")
        touched = {change["textDocument"]["uri"]: change for change in edit["documentChanges"]}
        other = uri_of(str(folder / "outer.yaml"))
        expect_equal(sorted(touched), sorted([document.uri, other]))
        expect_equal(touched[document.uri]["textDocument"]["version"], document.version)
        expect_equal(touched[other]["textDocument"]["version"], None)
        expect("output: {summary: all}" in apply_edits(OUTER, touched[other]["edits"], client.encoding))
        # A document that is new on the disk is found, too.
        (folder / "third.yaml").write_text(OUTER)
        changed(client, folder / "third.yaml", 1)
        edit = client.at("textDocument/rename", document, document.find("name: report", 6), newName="summary")
        expect_equal(len(edit["documentChanges"]), 3)
        places = client.at("textDocument/references", document, document.find("name: report", 6), context={"includeDeclaration": False})
        expect_equal(len({place["uri"] for place in places}), 3)


def test_nested():
    """A folder of the workspace with its own tenon.yaml: its documents that are not open have the plugins of their project."""
    project("nested", "{}\n", count=COUNT)
    inner = project("nested/inner", WITH_PLUGIN, count=COUNT)
    project("nested/deeper", WITH_PLUGIN, count=COUNT)
    outer = OUTER.replace("inner.yaml", "count.yaml").replace("report", "counted")
    with Client(folders=[str(HERE / "nested")]) as client:
        document = client.open(str(inner / "outer.yaml"), outer)
        places = client.at("textDocument/references", document, document.find("counted:", 1), context={"includeDeclaration": True})
        lines = {COUNT.splitlines()[place["range"]["start"]["line"]].strip() for place in places
                 if place["uri"] == uri_of(str(inner / "count.yaml"))}
        expect([line for line in lines if "output_key: counted" in line], lines)
        expect_equal({place["uri"] for place in places} - {document.uri, uri_of(str(inner / "count.yaml"))}, set())
        symbols = client.request("workspace/symbol", {"query": "counted"})
        expect_equal(len({symbol["location"]["uri"] for symbol in symbols}), 3)


def test_folders_change():
    """A folder that is added and removed while the editor runs."""
    first, second = project("first", "{}\n", inner=INNER), project("second", "{}\n", outer=OUTER.replace("outer", "added"))
    with Client(folders=[str(first)]) as client:
        client.open(str(first / "inner.yaml"), INNER)
        def names():
            return {symbol["location"]["uri"] for symbol in client.request("workspace/symbol", {"query": "a"}) or []}
        added = uri_of(str(second / "outer.yaml"))
        expect(added not in names(), names())
        folder = {"uri": uri_of(str(second)), "name": "second"}
        client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [folder], "removed": []}})
        expect(added in names(), names())
        client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": [folder]}})
        expect(added not in names(), names())


run_tests(globals())
