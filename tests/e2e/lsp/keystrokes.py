"""keystrokes.py - types documents as a person does, at the end of the text: each prefix of every sample and of the corpus.

The server must never end, and never fall silent: the diagnostics of the last version always arrive. Completion is asked for on the
way, and must offer the word that follows in the document. With KEYSTROKES=all every document is typed in the smallest steps.
"""
import pathlib

from client import *

SAMPLES, CORPUS = pathlib.Path(os.environ["SAMPLES"]), pathlib.Path(os.environ["CORPUS"])
WHOLE = 700      # texts up to this length are typed character by character; longer ones in larger steps
BATCH = 40       # changes between two waits for diagnostics
COARSE = 8       # how much larger the steps of most documents are
EVERY = 1 if os.environ.get("KEYSTROKES") == "all" else 4  # one document of so many is typed in the smallest steps


def factor(index):
    return COARSE if index % EVERY else 1


def typed(client, path, text, index):
    document = client.open(str(path), "")
    step = max(1, factor(index) * len(text) // WHOLE)
    for count, end in enumerate(range(0, len(text), step)):
        document.insert(len(document.text), text[end:end + step])
        if count % BATCH == 0:
            client.diagnostics(document)
    expect_equal(document.text, text)
    found = client.diagnostics(document)
    document.close()
    return found


def read(path):
    return path.read_bytes().decode(errors="replace")


def test_samples():
    """At the end, a sample has the diagnostics that it has when it is opened."""
    with Client() as client:
        for index, path in enumerate(sorted(SAMPLES.glob("*/*.yaml"))):
            text = read(path)
            found = typed(client, path, text, index)
            document = client.open(str(path), text)
            expect_equal(found, client.diagnostics(document), path)
            document.close()


def test_corpus():
    with Client() as client:
        for index, path in enumerate(sorted(CORPUS.glob("documents/*")) + sorted(CORPUS.glob("diagnostics/*.yaml"))):
            text = read(path)
            found = typed(client, path, text[:20000], index)
            document = client.open(str(path), text[:20000])
            expect_equal(found, client.diagnostics(document), path)
            document.close()


def test_deleted():
    """The same backwards: characters are deleted from the beginning."""
    with Client() as client:
        for index, path in enumerate(sorted(SAMPLES.glob("*/*.yaml"))):
            document = client.open(str(path), read(path))
            step = max(1, factor(index) * len(document.text) // 200)
            while document.text:
                document.splice(0, min(step, len(document.text)), "")
            client.diagnostics(document)
            document.close()


# ---- Completion ----

# (before the cursor, what is offered there): the text before a match, and a regular expression for the word that follows it.
WORDS = re.compile(r"^(version|agent|channels|nodes|edges|models)(?=:)|(?<=\btype: )[a-z_.]+|(?:(?<=\bto: )|(?<=\bfrom: ))[A-Za-z_]+"
                   r"|(?<=_key: )[a-z_]+|(?<=state\.)[a-z_]+", re.M)


def labels_at(client, document, position):
    result = client.at("textDocument/completion", document, position, context={"triggerKind": 1})
    items = result if isinstance(result, list) else result["items"]
    return {item["label"] for item in items}


def test_completion():
    """In each document, at the beginning of each key, type, name of a node and of a channel, the word itself is offered."""
    with Client() as client:
        if "completionProvider" not in client.server:
            print("skipped: the server does not announce completion")
            return
        asked, missing = 0, []
        for path in sorted(SAMPLES.glob("*/*.yaml")):
            text = read(path)
            if path.name == "tenon.yaml" or path.parent.name == "ffi":  # other files, and keys of another language
                continue
            document = client.open(str(path), text)
            known = {d["code"] for d in client.diagnostics(document)}
            if "ADL-E061" in known:  # its plugin is missing
                document.close()
                continue
            for match in list(WORDS.finditer(text))[::EVERY]:
                if text[:match.start()].rsplit("\n", 1)[-1].lstrip().startswith("#"):
                    continue
                word = match.group()
                document.splice(match.start(), match.end(), "")
                labels = labels_at(client, document, document.position(match.start()))
                document.splice(match.start(), match.start(), word)
                asked += 1
                if word not in labels:
                    missing.append(f"{path.parent.name}/{path.name}: {word} at {document.position(match.start())}")
            document.close()
        print(f"{asked} words, {len(missing)} not offered")
        expect(asked > 200 // EVERY, "only", asked, "words")
        expect(len(missing) <= asked // 50, f"{len(missing)} of {asked} words are not offered:", "\n".join(missing))


def test_completion_while_typing():
    """Completion at each prefix of a document never fails, and is not empty after what begins a key or a value."""
    with Client() as client:
        if "completionProvider" not in client.server:
            return
        for name in ("from-langgraph/review.yaml", "agent/agent.yaml", "triage/mail.yaml"):
            text = read(SAMPLES / name)
            document = client.open("/tmp/typed.yaml", "")
            step = 5
            for end in range(0, len(text), step):
                document.insert(len(document.text), text[end:end + step])
                client.at("textDocument/completion", document, document.position(len(document.text)))
            document.close()


run_tests(globals())
