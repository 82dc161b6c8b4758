"""methods.py - what is beside the protocol: the host's methods on the same connection, and modules that come and go."""
import pathlib
import signal

from client import *

SAMPLES = pathlib.Path(os.environ["SAMPLES"])
COUNT = (SAMPLES / "python" / "count.yaml").read_text()
PLUGIN = str(SAMPLES / "python" / "wordcount.py")
HELLO = (SAMPLES / "hello" / "hello.yaml").read_text()


def test_methods():
    """With and without the prefix, between requests of the protocol."""
    with Client() as client:
        document = client.open("/tmp/a.yaml", HELLO)
        check = client.request("tenon/document/check", {"text": HELLO.replace("nodes", "nods"), "name": "a.yaml"})
        expect(not check["valid"] and check["diagnostics"][0]["code"] == "ADL-E021", check)
        expect("greet" in client.request("document/graph", {"text": HELLO, "format": "mermaid"})["drawing"])
        expect_equal(client.request("tenon/document/format", {"text": "nodes:   [ ]\n"}), {"text": "nodes: []\n", "changed": True})
        started = client.request("tenon/run/start", {"text": HELLO, "subscribe": {}})
        client.wait(lambda: any(method == "tenon/run/ended" for method, _ in client.notifications), "the end of the run")
        ended = [params for method, params in client.notifications if method == "tenon/run/ended"][0]
        expect_equal((ended["run_id"], ended["status"]), (started["run_id"], "done"))
        expect_equal(client.error_of("tenon/run/strat", {}), METHOD_NOT_FOUND)
        expect_equal(client.error_of("tenon/run/get", {"run_id": "none"}), -32000)
        expect_equal(client.codes(document), [])


def test_plugin_loaded():
    """The diagnostics of open documents change at once, without a restart; the event arrives if it is subscribed to."""
    with Client() as client:
        document = client.open("/tmp/count.yaml", COUNT)
        unaffected = client.open("/tmp/hello.yaml", HELLO)
        expect("ADL-E061" in client.codes(document), client.codes(document))
        client.request("tenon/event/subscribe", {"events": ["component/changed"]})
        loaded = client.request("tenon/plugin/load", {"file": PLUGIN})
        expect_equal(loaded["plugin"], "sample.words")
        client.wait(lambda: client.published[document.uri]["diagnostics"] == [], "no diagnostics")
        client.wait(lambda: any(method == "tenon/component/changed" for method, _ in client.notifications), "the event")
        changed = [params for method, params in client.notifications if method == "tenon/component/changed"][-1]
        expect("node words.count" in changed["added"], changed)
        for method in ("workspace/codeLens/refresh", "workspace/inlayHint/refresh", "workspace/semanticTokens/refresh",
                       "workspace/foldingRange/refresh"):
            client.wait(lambda: method in [name for name, _ in client.requests], method)
        client.request("tenon/plugin/unload", {"plugin": "sample.words"})
        client.wait(lambda: client.published[document.uri]["diagnostics"] != [], "diagnostics without the plugin")
        expect_equal(client.published[unaffected.uri]["diagnostics"], [])


def test_plugin_loaded_pull():
    """A client that pulls diagnostics is asked to do so; the old resultId is not `unchanged`."""
    with Client(capabilities=PULL) as client:
        document = client.open("/tmp/count.yaml", COUNT)
        report = client.request("textDocument/diagnostic", document.params())
        expect(report["items"])
        client.request("tenon/plugin/load", {"file": PLUGIN})
        client.wait(lambda: "workspace/diagnostic/refresh" in [name for name, _ in client.requests], "the refresh")
        report = client.request("textDocument/diagnostic", document.params(previousResultId=report["resultId"]))
        expect_equal((report["kind"], report["items"]), ("full", []))


def test_two_clients():
    """Two editors on one host: each has its documents, what one loads concerns both, and the host outlives them."""
    with subprocess.Popen([TENON, "serve", "--socket", "host.sock"], stderr=subprocess.PIPE, text=True) as host:
        try:
            expect("listening" in host.stderr.readline())
            use_two_clients(host)
        finally:
            host.kill()  # no effect if it has ended


def use_two_clients(host):
    with Client(at="host.sock") as first, Client(at="host.sock", capabilities=PULL) as second:
        mine = first.open("/tmp/count.yaml", COUNT)
        theirs = second.open("/tmp/count.yaml", COUNT.replace("id: say", "id: said"))
        expect("ADL-E061" in first.codes(mine))
        report = second.request("textDocument/diagnostic", theirs.params())
        expect("ADL-E061" in [d["code"] for d in report["items"]])
        second.request("tenon/plugin/load", {"file": PLUGIN})
        first.wait(lambda: first.published[mine.uri]["diagnostics"] == [], "no diagnostics in the other editor")
        second.wait(lambda: "workspace/diagnostic/refresh" in [name for name, _ in second.requests], "the refresh")
        items = second.request("textDocument/diagnostic", theirs.params())["items"]
        expect_equal(sorted({d["code"] for d in items}), ["ADL-E035"])
    with Client(at="host.sock") as third:
        expect_equal(third.codes(third.open("/tmp/count.yaml", COUNT)), [])
        host.send_signal(signal.SIGTERM)
        expect_equal(host.wait(PATIENCE), 0)
        third.wait_closed()


def test_flood():
    """A client that sends much and reads late: it gets every answer, and the host has not buffered without a limit."""
    with Client() as client:
        document = client.open("/tmp/a.yaml", HELLO)
        numbers = [client.ask("tenon/document/graph", {"text": HELLO, "format": "json"}) for _ in range(3000)]
        answered = refused = 0
        for number in numbers:
            try:
                answered += "graph" in client.answer(number)
            except ResponseError as error:
                expect_equal(error.data["code"], "LIMIT")
                refused += 1
        expect(answered >= 1024 and answered + refused == 3000, answered, refused)
        expect_equal(client.codes(document), [])


run_tests(globals())
