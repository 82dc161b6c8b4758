"""diagnostics.py - diagnostics of documents while they are edited: pushed, pulled, across files, of large and of broken documents."""
import pathlib

from client import *

HELLO = """version: "1.0"
agent: {name: hello}
nodes: [{id: greet, type: passthrough}]
edges: [{from: START, to: greet}, {from: greet, to: END}]
"""
HERE = pathlib.Path.cwd()


def with_nodes(lines):
    return 'version: "1.0"\nagent: {name: a}\nnodes:\n' + "".join(lines) + "edges: [{from: START, to: END}]\n"


def pull(document, previous=None):
    return document.client.request("textDocument/diagnostic",
                                   document.params(**({"previousResultId": previous} if previous else {})))


def test_pushed():
    with Client() as client:
        document = client.open(str(HERE / "a.yaml"), HELLO)
        expect_equal(client.codes(document), [])
        document.change([(document.find("to: greet", 4), document.find("to: greet", 9), "great")])
        found = client.diagnostics(document)
        expect_equal([d["code"] for d in found], ["ADL-E035"])
        wrong = found[0]
        expect_equal(wrong["range"], {"start": as_position(document.find("great")), "end": as_position(document.find("great", 5))})
        expect_equal((wrong["severity"], wrong["source"]), (1, "tenon"))
        expect("did you mean `greet`?" in wrong["message"], wrong["message"])
        document.change([(document.find("great"), document.find("great", 5), "greet")])
        expect_equal(client.codes(document), [])
        document.change([HELLO + "x-retry: &often {max_attempts: 2}\n"])
        unused = client.diagnostics(document)
        expect_equal([(d["code"], d["severity"], d["tags"]) for d in unused], [("ADL-H002", 4, [1])])


def test_pulled():
    with Client(capabilities=PULL) as client:
        document = client.open(str(HERE / "a.yaml"), HELLO)
        report = pull(document)
        expect_equal((report["kind"], report["items"]), ("full", []))
        again = pull(document, report["resultId"])
        expect_equal(again["kind"], "unchanged")
        expect_equal(again["resultId"], report["resultId"])
        document.change([HELLO.replace("passthrough", "passthroug")])
        changed = pull(document, report["resultId"])
        expect_equal((changed["kind"], [d["code"] for d in changed["items"]]), ("full", ["ADL-E031"]))
        expect(changed["resultId"] != report["resultId"], "the resultId is that of another text")
        expect_equal(pull(document, changed["resultId"])["kind"], "unchanged")
        expect_equal(pull(document, "nonsense")["kind"], "full")
        # Documents that are not open, and files that are not ADL.
        nothing = client.request("textDocument/diagnostic", {"textDocument": {"uri": "file:///tmp/not-open.yaml"}})
        expect_equal((nothing["kind"], nothing["items"]), ("full", []))
        other = client.open("/tmp/compose.yaml", "services: [\n", language="yaml")
        expect_equal(pull(other)["items"], [])
        # The whole workspace.
        everything = client.request("workspace/diagnostic", {"previousResultIds": []})["items"]
        mine = [item for item in everything if item["uri"] == document.uri]
        expect_equal([(item["kind"], item["version"]) for item in mine], [("full", document.version)])
        known = [{"uri": item["uri"], "value": item["resultId"]} for item in mine]
        everything = client.request("workspace/diagnostic", {"previousResultIds": known})["items"]
        expect_equal([item["kind"] for item in everything if item["uri"] == document.uri], ["unchanged"])


def test_recovery():
    """A syntax error inside one node costs only that node: the mistakes of the others stay, and names stay known."""
    lines = [f"  - {{id: n{i}, type: nosuch{i}}}\n" for i in range(6)]
    broken = ["  - {id: n3, type: \n", "  - id: n3\n    type: [\n", "  - {id: \"n3\n", "  - id: n3\n   type: x\n", "  - &\n",
              "  - id: n3\n    type: *x\n", "  - id: n3\n\ttype: a\n"]
    with Client() as client:
        document = client.open("/tmp/a.yaml", with_nodes(lines))
        expect_equal(client.codes(document).count("ADL-E031"), 6)
        for text in broken:
            document.change([with_nodes(lines[:3] + [text] + lines[4:])])
            found = client.diagnostics(document)
            names = " ".join(d["message"] for d in found)
            for i in (0, 1, 2, 4, 5):
                expect(f"nosuch{i}" in names, repr(text), "hides the mistake of node", i, ":", found)
            line = found and [d for d in found if d["range"]["start"]["line"] in (6, 7)]
            expect(line, repr(text), "has no diagnostic of its own:", found)
        document.change([with_nodes(lines)])
        expect_equal(client.codes(document).count("ADL-E031"), 6)


def test_conflict_markers():
    """Lines of git where it could not merge: one clear diagnostic for each conflict, and the rest is still checked."""
    conflict = ["  - {id: a, type: nosuch1}\n", "<<<<<<< HEAD\n", "  - {id: b, type: passthrough}\n", "=======\n",
                "  - {id: b, type: prompt}\n", ">>>>>>> branch\n", "  - {id: c, type: nosuch2}\n"]
    with Client() as client:
        document = client.open("/tmp/a.yaml", with_nodes(conflict))
        found = client.diagnostics(document)
        messages = " ".join(d["message"] for d in found)
        expect("nosuch1" in messages and "nosuch2" in messages, "the rest is not checked:", found)
        expect(any("conflict" in d["message"] for d in found), "no diagnostic names the conflict:", found)
        expect(len(found) < 10, "too many diagnostics:", found)
        many = with_nodes([f"<<<<<<< HEAD\n  - {{id: a{i}}}\n=======\n>>>>>>> b\n" for i in range(2000)])
        document.change([many])
        expect(len(client.diagnostics(document)) > 0)


def test_aliases():
    """1,000 aliases, and aliases of aliases."""
    with Client() as client:
        lines = ["  - &first {id: first, type: set, config: &config {values: {a: \"'x'\"}}}\n"]
        lines += [f"  - {{id: n{i}, type: set, config: *config}}\n" for i in range(1000)]
        document = client.open("/tmp/a.yaml", with_nodes(lines))
        codes = set(client.codes(document))
        expect("ADL-E001" not in codes, codes)
        document.change([document.text.replace("id: n500, type: set", "id: n500, type: sett")])
        expect("ADL-E031" in client.codes(document))
        bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
            f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(12))
        document.change([bomb + HELLO])
        expect(client.diagnostics(document))
        document.change([HELLO])
        expect_equal(client.codes(document), [])


def large(count):
    """A chain of nodes, 50 lines for each 10 of them."""
    lines = ["version: \"1.0\"\nagent: {name: large, recursion_limit: 10000}\nchannels:\n  - {name: a, type: last_value}\nnodes:\n"]
    lines += [f"  - id: n{i}\n    type: set\n    config:\n      values:\n        a: state.a + {i}\n" for i in range(count)]
    lines += ["edges:\n  - {from: START, to: n0}\n", f"  - {{from: n{count - 1}, to: END}}\n"]
    lines += [f"  - {{from: n{i}, to: n{i + 1}}}\n" for i in range(count - 1)]
    return "".join(lines)


def test_large():
    """50,000 lines: other requests are answered while a thread checks, the newest version wins, and none is lost."""
    with Client() as client:
        document = client.open("/tmp/large.yaml", large(9000))
        expect(document.text.count("\n") > 50000)
        number = client.ask("tenon/host/info", {})
        client.answer(number)
        expect(document.uri not in client.published, "the check has blocked the connection")
        other = client.open("/tmp/small.yaml", HELLO)
        expect_equal(client.diagnostics(document), [])
        expect_equal(client.codes(other), [])
        edge = document.text.index("to: n4000}")
        for char in "abcdefghij":
            document.insert(edge + len("to: n4000"), char)
        expect_equal(client.request("tenon/host/info", {})["scope"], "admin")
        expect_equal(client.codes(document), ["ADL-E035"])
        versions = [params["version"] for method, params in client.notifications
                    if method == "textDocument/publishDiagnostics" and params["uri"] == document.uri]
        expect_equal(versions, sorted(versions), "an older version came after a newer one")


def test_files_inside():
    """Mistakes of a document inside another one are reported there, from the editor's text if it is open."""
    inner, outer = HERE / "inner.yaml", HERE / "outer.yaml"
    inner.write_text(HELLO)
    text = HELLO.replace("type: passthrough", "type: subgraph, config: {document: inner.yaml}")
    outer.write_text(text)
    with Client() as client:
        document = client.open(str(outer), text)
        expect_equal(client.codes(document), [])
        opened = client.open(str(inner), HELLO)
        expect_equal(client.codes(opened), [])
        opened.change([HELLO.replace("passthrough", "passthroug")])
        expect_equal(client.codes(opened), ["ADL-E031"])
        client.wait(lambda: client.published[document.uri]["diagnostics"], "the mistake of the inner document")
        found = client.published[document.uri]["diagnostics"][0]
        expect_equal(found["code"], "ADL-E031")
        place = found["relatedInformation"][0]["location"]
        expect_equal((place["uri"], place["range"]["start"]), (opened.uri, as_position(opened.find("passthroug"))))
        # The editor closes it without saving: the file on the disk counts again.
        opened.close()
        client.wait(lambda: not client.published[document.uri]["diagnostics"], "no mistakes")
        # Another program changes the file.
        inner.write_text(HELLO.replace("passthrough", "passthroug"))
        client.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": opened.uri, "type": 2}]})
        client.wait(lambda: client.published[document.uri]["diagnostics"], "the mistake on the disk")
        inner.unlink()
        client.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": opened.uri, "type": 3}]})
        client.wait(lambda: [d["code"] for d in client.published[document.uri]["diagnostics"]] not in ([], ["ADL-E031"]),
                    "that the file is missing")
        inner.write_text(HELLO)
        client.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": opened.uri, "type": 1}]})
        client.wait(lambda: not client.published[document.uri]["diagnostics"], "no mistakes")


def test_without_versions():
    """A client that has announced nothing gets neither versions nor related information."""
    with Client(capabilities={"textDocument": {"publishDiagnostics": {}}}) as client:
        text = HELLO.replace("id: greet", "id: greet, type: passthrough}, {id: greet")
        document = client.open("/tmp/a.yaml", text)
        expect(client.diagnostics(document))
        expect_equal(set(client.published[document.uri]), {"uri", "diagnostics"})


# The first is not UTF-8. The others need components of test plugins.
NOT_IN_EDITORS = {"ADL-E003", "ADL-E033-arguments", "ADL-E057", "ADL-E059-given", "ADL-E068", "ADL-W108", "ADL-W110", "ADL-W112",
                  "ADL-W114"}


def test_corpus():
    """The documents of tests/corpus/diagnostics: the editor finds the code of their name, as `tenon check` does."""
    folder = pathlib.Path(os.environ["CORPUS"]) / "diagnostics"
    with Client() as client:
        missing = []
        for path in sorted(folder.glob("ADL-*.yaml")):
            expected = folder / (path.stem + ".expected")
            if not expected.exists():
                continue
            wanted = set(re.findall(r"\bADL-[EWH][0-9]+\b", expected.read_text()))
            document = client.open(str(path), path.read_text(errors="surrogateescape").encode(
                errors="surrogateescape").decode(errors="replace"))
            found = set(client.codes(document))
            if path.stem[:8] in wanted and path.stem[:8] not in found:
                missing.append(path.stem)
            document.close()
        expect(set(missing) <= NOT_IN_EDITORS, "not reported:", sorted(set(missing) - NOT_IN_EDITORS))


run_tests(globals())
