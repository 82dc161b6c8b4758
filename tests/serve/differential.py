"""differential.py [MUTATIONS [SEED]]: what h11, httptools or Node refuses, the server refuses.

Each case is sent to the server and to Node's, and parsed by h11 and httptools. A judge accepts some requests of a case,
then refuses or wants more. The server must accept no more requests than a judge that refuses, and what both accept
must have the same method, target and body. The table of plugins/serve/README.md lists the deviations that the library
forces; one that is not listed there fails, and so does one that is listed but does not occur.
"""

import json
import os
import re
import select
import socket
import subprocess
import sys

import h11
import httptools

import cases
from deviations import RECOGNIZED, listed
from harness import Server, exchange


def answers(data):
    """The requests that a server has answered with 200: (method, target, body); and whether it refused the next."""
    accepted = []
    while data:
        head, separator, rest = data.partition(b"\r\n\r\n")
        status = int(head.split()[1])
        if status == 100:
            data = rest
            continue
        if status != 200 or not separator:
            return accepted, True
        length = int(re.search(rb"(?i)content-length: (\d+)", head).group(1))
        answer, data = rest[:length], rest[length:]
        about, _, body = answer.partition(b"\n")
        if length == 0 or not about:
            accepted.append(("HEAD", None, b""))
            continue
        about = json.loads(about)
        accepted.append((about["method"], about["target"], body))
    return accepted, False


def ask_h11(case):
    connection, accepted = h11.Connection(h11.SERVER), []
    try:
        connection.receive_data(case)
        while True:
            request, body = connection.next_event(), b""
            if request is h11.NEED_DATA or isinstance(request, h11.ConnectionClosed) or request is h11.PAUSED:
                return accepted, False
            while True:
                event = connection.next_event()
                if event is h11.NEED_DATA:
                    return accepted, False
                if isinstance(event, h11.EndOfMessage):
                    break
                body += bytes(event.data)
            accepted.append((request.method.decode(), request.target.decode("latin-1"), body))
            if connection.their_state is h11.MIGHT_SWITCH_PROTOCOL: # CONNECT
                return accepted, False
            connection.send(h11.Response(status_code=200, headers=[("content-length", "0")]))
            connection.send(h11.EndOfMessage())
            if connection.our_state is not h11.DONE or connection.their_state is not h11.DONE:
                return accepted, False
            connection.start_next_cycle()
    except h11.RemoteProtocolError:
        return accepted, True


class Collector:
    def __init__(self):
        self.accepted, self.target, self.body = [], b"", b""

    def on_message_begin(self):
        self.target, self.body = b"", b""

    def on_url(self, url):
        self.target += url

    def on_body(self, body):
        self.body += body

    def on_message_complete(self):
        self.accepted.append((self.parser.get_method().decode(), self.target.decode("latin-1"), self.body))


def ask_httptools(case):
    collector = Collector()
    collector.parser = httptools.HttpRequestParser(collector)
    try:
        collector.parser.feed_data(case)
    except httptools.HttpParserUpgrade:
        return collector.accepted, False
    except httptools.HttpParserError:
        return collector.accepted, True
    return collector.accepted, False


class Node:
    def __init__(self):
        self.process = subprocess.Popen([os.environ.get("NODE", "node"), os.path.join(os.path.dirname(__file__), "judge.js")],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())

    def ask(self, case):
        send(self.port, case)
        report = json.loads(self.process.stdout.readline())
        return [(entry["method"], entry["target"], entry["body"].encode("latin-1")) for entry in report["accepted"]], report["refused"]

    def stop(self):
        self.process.stdin.close()
        self.process.wait(30)


def send(port, case):
    with socket.create_connection(("127.0.0.1", port), 30) as client:
        try:
            client.sendall(case)
            select.select([client], [], [], 0.02)  # a case without an answer ends with the connection
            client.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        return exchange(client, b"")


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    names, seen, wrong, refused, accepted = listed(), set(), 0, 0, 0
    assert names and all(name in RECOGNIZED for name in names), names
    node = Node()
    all_cases = [*cases.corpus(), *cases.mutations(count, seed)]
    with Server(headers_ms=400) as server:
        for case in all_cases:
            ours, we_refused = answers(send(server.port, case))
            refused += we_refused
            accepted += len(ours)
            for judge, (theirs, they_refused) in [("h11", ask_h11(case)), ("httptools", ask_httptools(case)),
                                                 ("node", node.ask(case))]:
                both = min(len(ours), len(theirs))
                different = [(a, b) for a, b in zip(ours[:both], theirs[:both]) if a != b and a[0] != "HEAD"]
                if not different and not (they_refused and len(ours) > len(theirs)):
                    continue
                found = [name for name in names if RECOGNIZED[name](case)]
                seen.update(found)
                if not found:
                    wrong += 1
                    print("%s: %r\n  server: %s\n  %s: %s" % ("different" if different else "accepted", case, ours, judge, theirs))
    node.stop()
    print("%d cases: %d requests accepted, %d cases refused; deviations: %s" % (len(all_cases), accepted, refused, sorted(seen)))
    assert accepted > len(all_cases) // 10 and refused > len(all_cases) // 10, "the cases test nothing"
    missing = set(names) - seen
    if missing:
        print("listed but not seen: %s" % sorted(missing))
    sys.exit(1 if wrong or missing else 0)


if __name__ == "__main__":
    main()
