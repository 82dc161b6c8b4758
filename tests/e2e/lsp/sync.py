"""sync.py - the server's text is the client's, whatever edits the client sends.

The server does not show its text, but each `type: zqN` is a mistake, and its diagnostic says where the server has it.
"""
import random

from client import *

MARKER = re.compile(r"zq[0-9]+")
HEAD = 'version: "1.0"\nagent: {name: edited}\nnodes:\n'
TAIL = "edges: [{from: START, to: END}]\n"


def nodes(names, end="\n"):
    return "".join(f'  - {{id: n{name}, config: {{a: "é👋{name}"}}, type: zq{name}}}  # ß👩‍💻{end}' for name in names)


def markers(document):
    found = {}
    for match in MARKER.finditer(document.text):
        found[match.group()] = (document.position(match.start()), document.position(match.end()))
    return found


def reported(document):
    found = {}
    for diagnostic in document.client.diagnostics(document):
        name = MARKER.search(diagnostic["message"].split("\n")[0])
        if name:
            place = diagnostic["range"]
            found[name.group()] = tuple((place[side]["line"], place[side]["character"]) for side in ("start", "end"))
    return found


def expect_equal_texts(document, what=""):
    expect_equal(reported(document), markers(document), what)


def random_edit(document, chance):
    """An edit that leaves the text a document: inside a string or a comment, or of whole nodes."""
    lines = [match for match in re.finditer(r"  - \{id[^\n\r]*(\r\n|\n|\r)", document.text)]
    kind = chance.randrange(5)
    if kind == 0 or len(lines) < 3:
        names = [chance.randrange(10**6) for _ in range(chance.randrange(1, 4))]
        names = [name for name in names if f"zq{name}" not in document.text]
        place = chance.choice(lines).start() if lines else document.text.index(TAIL)
        return place, place, nodes(dict.fromkeys(names), chance.choice(["\n", "\r\n"]))
    line = chance.choice(lines)
    if kind == 1:
        return line.start(), line.end(), ""
    start = document.text.index('a: "', line.start()) + 4 if kind < 4 else document.text.index("# ", line.start()) + 2
    end = document.text.index('"', start) if kind < 4 else line.end() - len(line.group(1))
    first = chance.randint(start, end)
    return first, chance.randint(first, end), chance.choice(["", "x", "Ω", "🦉🦉", "日本語", "a b", "é"])


def edit_at_random(client, seed, count):
    chance = random.Random(seed)
    document = client.open(f"/tmp/{seed}.yaml", HEAD + nodes(range(12)) + TAIL)
    for step in range(count):
        changes = []
        text = document.text
        for _ in range(chance.choice([1, 1, 1, 4])):  # positions of the second change are those after the first
            start, end, new = random_edit(document, chance)
            changes.append((document.position(start), document.position(end), new))
            document.text = document.text[:start] + new + document.text[end:]
        document.text, after = text, document.text
        document.change(changes)
        expect_equal(document.text, after, "the test itself")
        if chance.randrange(40) == 0:  # a change that makes nonsense, and its reverse
            first, last = sorted(chance.randrange(len(document.text)) for _ in range(2))
            if document.text[first - 1:first + 1] != "\r\n" and document.text[last - 1:last + 1] != "\r\n":
                cut = document.text[first:last]
                document.splice(first, last, "\n]: {👋 [")
                document.splice(first, first + len("\n]: {👋 ["), cut)
        if step % 10 == 0:
            expect_equal_texts(document, f"seed {seed}, step {step}")
    expect_equal_texts(document, f"seed {seed}, end")
    expect(len(markers(document)) > 0, "no markers are left")
    document.close()


def test_random_edits():
    for encoding in ("utf-8", "utf-16"):
        with Client(capabilities={**FULL, "general": {"positionEncodings": [encoding]}}) as client:
            for seed in range(3):
                edit_at_random(client, seed, 150)


def test_full():
    """A change without a range replaces the whole text; both kinds may be mixed."""
    with Client() as client:
        document = client.open("/tmp/a.yaml", HEAD + nodes([1]) + TAIL)
        expect_equal_texts(document)
        text = HEAD + nodes([2, 3]) + TAIL
        document.change([text])
        expect_equal_texts(document)
        document.change([((3, 0), (4, 0), ""), text, ((3, 0), (3, 0), nodes([4])), ((0, 0), (0, 0), "# 👋\n")])
        expect_equal(sorted(reported(document)), ["zq2", "zq3", "zq4"])
        expect_equal_texts(document)
        document.change([])
        expect_equal_texts(document)


def test_line_ends():
    for end in ("\n", "\r\n", "\r"):
        with Client() as client:
            document = client.open("/tmp/a.yaml", (HEAD + nodes([1, 2]) + TAIL).replace("\n", end))
            expect_equal_texts(document, repr(end))
            document.replace((4, 0), (4, 0), nodes([3, 4], end))
            expect_equal_texts(document, repr(end))


def test_typed():
    """A document that is typed at its end, one character a change, as one notification each."""
    text = HEAD + nodes([1, 2, 3]) + TAIL
    with Client() as client:
        document = client.open("/tmp/a.yaml", "")
        for index, char in enumerate(text):
            document.insert(index, char)
        expect_equal(document.text, text)
        expect_equal_texts(document)
        for index in range(len(text), 0, -1):
            document.splice(index - 1, index, "")
        client.diagnostics(document)
        document.change([text])
        expect_equal_texts(document)


def test_untitled():
    with Client() as client:
        document = client.open("untitled:Untitled-1", HEAD + nodes([1]) + TAIL)
        expect_equal_texts(document)
        other = client.open("untitled:Untitled-2", HEAD + nodes([2]) + TAIL)
        expect_equal_texts(other)
        document.insert(0, "# a\n")
        expect_equal_texts(document)
        other.close()
        document.close()


def test_names():
    """URIs with percent signs, spaces and letters outside of ASCII; the answer has the client's own."""
    with Client() as client:
        for uri in ("file:///tmp/a%20b%C3%A4.yaml", "file:///tmp/%61.yaml", "file:///c%3A/x.yaml", "file://localhost/tmp/l.yaml",
                    "vscode-vfs://github/o/r/a.yaml", "file:///tmp/%00.yaml", "file:///tmp/%zz.yaml", "git:/a.yaml?%7B%22r%22%7D"):
            document = client.open(uri, HEAD + nodes([1]) + TAIL)
            expect_equal_texts(document, uri)
            document.close()


def test_reopened():
    """Diagnostics end with the document, and come back; a document that is opened twice is the newer one."""
    with Client() as client:
        document = client.open("/tmp/a.yaml", HEAD + nodes([1]) + TAIL, version=7)
        expect_equal_texts(document)
        document.close()
        client.wait(lambda: client.published[document.uri]["diagnostics"] == [], "no diagnostics")
        document = client.open("/tmp/a.yaml", HEAD + nodes([2]) + TAIL, version=1)
        expect_equal_texts(document)
        document = client.open("/tmp/a.yaml", HEAD + nodes([3]) + TAIL, version=3)
        expect_equal_texts(document)
        # A change after the end of a document has no effect.
        document.close()
        document.insert(0, nodes([4]))
        client.settle()
        document = client.open("/tmp/a.yaml", HEAD + nodes([5]) + TAIL, version=9)
        expect_equal_texts(document)


def test_not_adl():
    """Nothing is reported about other files, even if they are wrong; they may become documents later."""
    compose = "services:\n  web: {image: nginx, nods: 3}\n  web: [\n"
    with Client() as client:
        for path, text in (("/tmp/compose.yaml", compose), ("/tmp/values.yaml", "nodes: [a\n"), ("/tmp/package.json", "{\"a\": ")):
            client.open(path, text, language="json" if path.endswith("json") else "yaml")
        document = client.open("/tmp/later.yaml", compose, language="yaml")
        client.settle()
        first = client.open("/tmp/adl.yaml", HEAD + nodes([1]) + TAIL, language="yaml")
        expect_equal_texts(first)
        expect_equal(list(client.published), [first.uri])
        document.change([HEAD + nodes([2]) + TAIL])
        expect_equal_texts(document)
        document.change([compose])
        client.wait(lambda: client.published[document.uri]["diagnostics"] == [], "no diagnostics")
        # The client says that it is a document, or its name does.
        for path in ("/tmp/a.adl.yaml", "/tmp/a.adl.yml", "/tmp/a.adl.json"):
            expect(client.diagnostics(client.open(path, "{}" if path.endswith("json") else "a: 1\n", language="yaml")) != [], path)
        expect(client.diagnostics(client.open("/tmp/nothing.yaml", "a: 1\n", language="adl")) != [], "an incomplete document")


def test_limits():
    """A text over the limit, many documents: a message, and the others work on."""
    with Client() as client:
        many = [client.open(f"/tmp/many{i}.yaml", HEAD + nodes([i]) + TAIL) for i in range(1010)]
        for document in many[:3] + many[900:1000]:
            expect_equal_texts(document)
        client.settle()
        told = [params["message"] for method, params in client.notifications if method == "window/showMessage"]
        expect_equal(told, ["1000 documents are open; further ones are not checked"])
        for document in many:
            document.close()
        document = client.open("/tmp/large.yaml", HEAD + nodes([1]) + TAIL)
        document.replace((0, 0), (0, 0), "# " + "x" * (17 << 20) + "\n")
        client.settle()
        document.close()
        expect_equal_texts(client.open("/tmp/small.yaml", HEAD + nodes([2]) + TAIL))


def test_surrogates():
    """Unusual characters. Half a surrogate pair, which JSON can express, is read as one other character."""
    with Client() as client:
        document = client.open("/tmp/a.yaml", HEAD + nodes([1]) + TAIL)
        for text in ("\ud83d", "\0", "\ufeff", "\u2028", "\x85"):
            body = json.dumps({"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {
                "textDocument": {"uri": document.uri, "version": 2},
                "contentChanges": [{"range": {"start": as_position((0, 0)), "end": as_position((0, 0))}, "text": f"# {text}\n"}]}})
            client.stream.send_bytes(b"Content-Length: %d\r\n\r\n%s" % (len(body), body.encode()))
            client.settle()
            expect_equal(client.faults, [], repr(text))
        document.version += 1
        document.change([HEAD + nodes([2]) + TAIL])
        expect_equal_texts(document)


run_tests(globals())
