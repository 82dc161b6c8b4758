"""life.py - the life of a connection, and what its two sides announce."""
from client import *

HELLO = """version: "1.0"
agent: {name: hello}
nodes: [{id: greet, type: passthrough}]
edges: [{from: START, to: greet}, {from: greet, to: END}]
"""


def mistake(before):
    """A document whose only mistake comes after the text `before` in its line."""
    return HELLO.replace("{id: greet, type: passthrough}", "{id: greet, config: {note: \"%s\"}, type: passthroug}" % before)


def test_order():
    client = Client(start=False)
    for method in ("textDocument/hover", "textDocument/diagnostic"):
        expect_equal(client.error_of(method, {"textDocument": {"uri": "file:///a"}, "position": as_position((0, 0))}),
                     NOT_INITIALIZED)
    client.notify("textDocument/didOpen", {"textDocument": {"uri": "file:///a.yaml", "languageId": "adl", "version": 1, "text": "a: ["}})
    expect_equal(client.request("tenon/host/info", {})["scope"], "admin", "methods need no handshake")
    client.initialize()
    expect("file:///a.yaml" not in client.published, "a notification before `initialize` is ignored")
    expect_equal(client.error_of("initialize", {"processId": None, "rootUri": None, "capabilities": {}}), INVALID_REQUEST)
    expect_equal(client.error_of("textDocument/noSuch", {}), METHOD_NOT_FOUND)
    expect_equal(client.error_of("$/noSuch", {}), METHOD_NOT_FOUND)
    client.notify("$/noSuch", {})
    client.notify("textDocument/noSuch", [1])
    client.notify("textDocument/didChange", {"textDocument": {"uri": "file:///not-open", "version": 1}, "contentChanges": []})
    client.notify("textDocument/didClose", {"textDocument": {"uri": "file:///not-open"}})
    client.settle()
    expect_equal(client.request("shutdown"), None)
    expect_equal(client.error_of("textDocument/hover", {}), INVALID_REQUEST)
    expect_equal(client.error_of("shutdown"), INVALID_REQUEST)
    client.notify("exit", None)
    expect_equal(client.wait_closed(), 0)


def test_exit_codes():
    without_shutdown = Client()
    without_shutdown.notify("exit", None)
    expect_equal(without_shutdown.wait_closed(), 1)
    end_of_input = Client()
    end_of_input.process.stdin.close()
    expect_equal(end_of_input.process.wait(PATIENCE), 1)
    end_of_input.process.stdout.close()
    after_shutdown = Client()
    after_shutdown.request("shutdown")
    after_shutdown.process.stdin.close()
    expect_equal(after_shutdown.process.wait(PATIENCE), 0)
    after_shutdown.process.stdout.close()
    never_initialized = Client(start=False)
    never_initialized.notify("exit", None)
    expect_equal(never_initialized.wait_closed(), 1)


def test_exit_while_checking():
    """The connection ends while a thread checks a document."""
    large = HELLO.replace("nodes: [", "nodes:\n" + "".join(f"  - {{id: n{i}, type: nosuch{i}}}\n" for i in range(3000)) + "#")
    for end in ("exit", "close"):
        client = Client()
        client.open("/tmp/large.yaml", large)
        if end == "exit":
            client.request("shutdown")
            client.notify("exit", None)
            expect_equal(client.wait_closed(), 0)
        else:
            client.process.stdin.close()
            client.process.stdout.close()
            expect_equal(client.process.wait(PATIENCE), 1)


def test_parent_ends():
    """The process that `initialize` names has ended: so does the server."""
    parent = subprocess.Popen(["true"])
    parent.wait()
    client = Client(start=False)
    client.request("initialize", {"processId": parent.pid, "rootUri": None, "capabilities": {}})
    client.wait_closed()


def test_capabilities():
    """Announced once, complete, and without what the client cannot use."""
    minimal = Client(capabilities={})
    expect_equal(minimal.encoding, "utf-16")
    expect_equal(minimal.server["textDocumentSync"], {"openClose": True, "change": 2, "save": True})
    expect(not minimal.requests, "requests to a client without capabilities:", minimal.requests)
    document = minimal.open("/tmp/a.yaml", mistake(""))
    found = minimal.diagnostics(document)
    expect_equal([d["code"] for d in found], ["ADL-E031"])
    expect_equal(minimal.finish(), 0)
    with Client(capabilities=PULL, folders=["/tmp"]) as client:
        expect(client.server["diagnosticProvider"]["interFileDependencies"])
        expect(client.server["workspace"]["workspaceFolders"]["supported"])
        for name, options in client.server.items():
            expect(options not in (None, {}), name, options)  # some clients read {} as `no`


def test_encodings():
    """An emoji is 4 units of UTF-8 and 2 of UTF-16."""
    wanted = {"utf-8": 4, "utf-16": 2}
    for announced, chosen in ((["utf-8", "utf-16"], "utf-8"), (["utf-16"], "utf-16"), (["utf-32", "utf-16"], "utf-16"),
                              (["utf-16", "utf-8"], None), ([], "utf-16"), (["utf-32"], None)):
        capabilities = {**FULL, "general": {"positionEncodings": announced}}
        with Client(capabilities=capabilities) as client:
            expect(chosen in (None, client.encoding), announced, "->", client.encoding)
            document = client.open("/tmp/a.yaml", mistake("👋"))
            start = client.diagnostics(document)[0]["range"]["start"]
            expect_equal((start["line"], start["character"]), document.find("passthroug}"), announced)
            plain = client.open("/tmp/b.yaml", mistake(""))
            shift = start["character"] - client.diagnostics(plain)[0]["range"]["start"]["character"]
            expect_equal(shift, wanted.get(client.encoding, 1), client.encoding)
            # A position inside a character, and one after the end of the line, are moved, not refused.
            for character in (len('nodes: [{id: greet, config: {note: "') + 1, 10**6, 2**31 - 1):
                document.replace((2, character), (2, character), "")
            document.replace((2**31 - 1, 0), (2**31 - 1, 5), "# end")
            expect_equal(client.codes(document), ["ADL-E031"])


def test_cancel():
    """Each request gets an answer: its result, or the error for a cancelled one."""
    large = HELLO + "".join(f"# {i}\n" for i in range(20000))
    with Client(capabilities=PULL) as client:
        document = client.open("/tmp/a.yaml", large)
        outcomes = []
        for i in range(30):
            document.insert(len(document.text), f"# more {i}\n")
            number = client.ask("textDocument/diagnostic", document.params())
            client.cancel(number)
            try:
                outcomes.append(client.answer(number)["kind"])
            except ResponseError as error:
                outcomes.append(error.code)
        expect(set(outcomes) <= {"full", "unchanged", CANCELLED} and CANCELLED in outcomes, outcomes)
        client.cancel(10**6)
        client.notify("$/cancelRequest", {"id": "none"})
        client.notify("$/cancelRequest", {})
        expect_equal(client.request("textDocument/diagnostic", document.params())["items"], [])
        # A document that is closed while a request waits for it.
        document.insert(0, "#\n")
        number = client.ask("textDocument/diagnostic", document.params())
        document.close()
        try:
            client.answer(number)
        except ResponseError as error:
            expect_equal(error.code, CANCELLED)


def test_malformed_params():
    """Requests whose parameters are missing or have another type are refused or answered without a result."""
    with Client() as client:
        document = client.open("/tmp/a.yaml", HELLO)
        client.diagnostics(document)
        wrong = [None, {}, [], {"textDocument": None}, {"textDocument": {"uri": 5}}, {"textDocument": {"uri": ""}},
                 document.params(), document.params(position=None), document.params(position={"line": -1, "character": 0}),
                 document.params(position={"line": 0}), document.params(position={"line": 1.5, "character": "a"}),
                 document.params(range={}, context={}), document.params(positions=[{}], ranges=[5], newName=7, options=[])]
        for method in sorted(REQUESTS):
            for params in wrong:
                try:
                    client.request(method, params)
                except ResponseError as error:
                    expect(error.code in (METHOD_NOT_FOUND, INVALID_PARAMS, -32803, -32000, -32801), method, params, error)
        for method in ("textDocument/didOpen", "textDocument/didChange", "textDocument/didClose", "textDocument/didSave",
                       "workspace/didChangeWatchedFiles", "workspace/didChangeWorkspaceFolders",
                       "workspace/didChangeConfiguration", "$/setTrace", "window/workDoneProgress/cancel", "initialized"):
            for params in wrong:
                if not (method == "textDocument/didClose" and isinstance(params, dict) and
                        params.get("textDocument") == {"uri": document.uri}):
                    client.notify(method, params)
        document.insert(0, "# still alive\n")
        expect_equal(client.codes(document), [])


def test_trace():
    with Client() as client:
        for value in ("messages", "verbose", "off"):
            client.notify("$/setTrace", {"value": value})
            client.settle()
        expect(any(method == "$/logTrace" for method, _ in client.notifications), "no trace")


REQUESTS = [entry for entry, row in MODEL.requests.items() if row["messageDirection"] != "serverToClient"
            and entry not in ("initialize", "shutdown")] if MODEL else ["textDocument/hover", "textDocument/completion"]

run_tests(globals())
