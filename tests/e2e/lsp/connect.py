"""connect.py - editors that use a host that runs (`tenon lsp --connect`): its plugins, long answers, and every end of it."""
import contextlib
import pathlib
import signal

from client import *

SAMPLES = pathlib.Path(os.environ["SAMPLES"])
COUNT = (SAMPLES / "python" / "count.yaml").read_text()
PLUGIN = str(SAMPLES / "python" / "wordcount.py")
HELLO = (SAMPLES / "hello" / "hello.yaml").read_text()
RELAY = ("lsp", "--connect", "host.sock")


@contextlib.contextmanager
def running_host(*options):
    with subprocess.Popen([TENON, "serve", "--socket", "host.sock", *options], stderr=subprocess.PIPE, text=True) as host:
        try:
            expect("listening" in host.stderr.readline())
            yield host
        finally:
            host.kill()  # no effect if it has ended


def test_plugin_loaded():
    """`tenon plugin load` in the host changes the diagnostics of the editor; the exit code is 0 after `shutdown`."""
    with running_host(), Client(arguments=RELAY) as client:
        document = client.open("/tmp/count.yaml", COUNT)
        expect("ADL-E061" in client.codes(document), client.codes(document))
        subprocess.run([TENON, "plugin", "load", PLUGIN, "--connect", "host.sock"], check=True, stderr=subprocess.DEVNULL)
        client.wait(lambda: client.published[document.uri]["diagnostics"] == [], "no diagnostics")
        subprocess.run([TENON, "plugin", "unload", "sample.words", "--connect", "host.sock"], check=True,
                       stderr=subprocess.DEVNULL)
        client.wait(lambda: client.published[document.uri]["diagnostics"] != [], "diagnostics without the plugin")


def test_late_reader():
    """Megabytes in both directions; the editor reads nothing before it has sent everything."""
    text = HELLO + "# " + "x" * 3000000 + "\n"
    with running_host(), Client(arguments=RELAY) as client:
        numbers = [client.ask("tenon/document/format", {"text": text}) for _ in range(4)]
        for number in numbers:
            expect_equal(client.answer(number), {"text": text, "changed": False})


def test_input_ends():
    """The end of the input is passed on: what is open is answered. Without `shutdown`, the exit code is 1."""
    with running_host():
        client = Client(arguments=RELAY, start=False)  # methods need no `initialize`
        number = client.ask("document/format", {"text": HELLO})
        client.process.stdin.close()
        expect_equal(client.answer(number), {"text": HELLO, "changed": False})
        expect_equal(client.wait_closed(), 1)


def test_exit_alone():
    """`exit` without `shutdown`, and a document that only contains the word."""
    with running_host():
        client = Client(arguments=RELAY)
        client.open("/tmp/a.yaml", HELLO + '# {"id": 1, "method": "shutdown"}\n')
        client.notify("exit", None)
        expect_equal(client.wait_closed(), 1)


def test_files_of_the_host():
    """The message for a client with the scope `read` says who may name files."""
    nested = HELLO.replace("type: prompt", "type: subgraph").replace('template: "Hello, {name}!", output_key: greeting',
                                                                     "document: other.yaml")
    with running_host("--scope", "read"), Client(arguments=RELAY) as client:
        document = client.open("/tmp/a.yaml", nested)
        messages = [found["message"] for found in client.diagnostics(document)]
        expect(any("only clients with the scope `admin` may" in message for message in messages), messages)


def test_host_ends():
    with running_host() as host:
        client = Client(arguments=RELAY)
        host.kill()
        expect_equal(client.wait_closed(), 1)


def test_signal():
    with running_host():
        client = Client(arguments=RELAY)
        client.process.send_signal(signal.SIGTERM)
        expect_equal(client.wait_closed(), 1)


run_tests(globals())
