"""Clients that push on a limit: each meets it, the server stays up, and its memory stays bounded.

limits.py [CONNECTIONS]: so many idle connections and streams; fewer if the system does not allow as many descriptors.
"""

import json
import os
import resource
import select
import subprocess
import sys
import time

from harness import DEADLINE, LIMITS, Server, exchange, parse, read_all, read_head, unchunk

GET = b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n"
MIB = 1024


def is_closed(client):
    """Waits until the server closes the connection."""
    try:
        return client.recv(65536) == b""
    except ConnectionResetError:
        return True


def reason(path, wanted):
    return lambda entry: entry.get("path") == path and entry["reason"] == wanted


def refused_options(**changes):
    """The error of `listen` with these options."""
    options = dict({"address": "127.0.0.1", "port": 0, "limits": LIMITS}, **changes)
    done = subprocess.run([os.environ["TENON_SERVE_TEST"], json.dumps(options)], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=DEADLINE)
    assert done.returncode == 1, (changes, done)
    return json.loads(done.stderr.splitlines()[0].partition(": ")[2])


def options():
    for changes in [{"address": 1}, {"address": "example.com"}, {"port": -1}, {"port": 65536}, {"port": "1"}, {"limits": {}},
                    {"limits": dict(LIMITS, headers_bytes=100)}, {"limits": dict(LIMITS, connections=0)},
                    {"limits": dict(LIMITS, idle_ms=None)}, {"tls": {}}, {"tls": {"certificate": "x"}}]:
        error = refused_options(**changes)
        assert error["code"] == "INVALID_INPUT" and next(iter(changes)) in error["message"], (changes, error)
    assert refused_options(tls={"certificate": "x", "key": "y"})["code"] == "TLS"
    assert refused_options(address="192.0.2.1")["code"] == "IO"
    with Server() as server:
        error = refused_options(port=server.port)
        assert error["code"] == "IO" and "another port" in error["message"], error
    with Server(address="::1") as server:
        assert b'"address":"[::1]:' in server.get("/head")


def heads():
    with Server(headers_bytes=4096, headers_ms=200, idle_ms=1000) as server:
        assert server.status(GET % b"/head") == 200
        for case in [b"GET /" + b"a" * 5000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nA: " + b"b" * 5000 + b"\r\n\r\n",
                     b"GET / HTTP/1.1\r\nHost: a\r\n" + b"A: b\r\n" * 101 + b"\r\n",
                     b"GET / HTTP/1.1\r\nHost: a\r\n" + b"".join(b"A%d: b\r\n" % i for i in range(700)) + b"\r\n",
                     b"A" * 100000, b"GET / HTTP/1.1\r\nHost: a\r\nA: " + b"b" * 1000000]:
            status = parse(server.send(case))[0]
            assert status in (414, 431), (case[:40], status)
        refused = [entry for entry in server.log() if entry.get("status")]
        assert len(refused) >= 4 and all(entry["code"] == "LIMIT" for entry in refused), refused
        # Nothing, half a request, a byte now and then, half a request after a whole one.
        clients = [server.connect() for _ in range(4)]
        clients[1].sendall(b"GET / HT")
        clients[3].sendall(GET % b"/head" + b"GET / HTTP/1.1\r\n")
        trickle = b"GET / HTTP/1.1\r\nHost: a\r\n" + b"A: b\r\n" * 100
        for at in range(len(trickle)):
            try:
                clients[2].sendall(trickle[at:at + 1])
            except OSError:
                break
            if select.select([clients[2]], [], [], 0.01)[0]:
                break
        else:
            raise AssertionError("a head may take as long as it likes")
        assert parse(read_all(clients[3]))[0] == 200
        for client in clients[:3]:
            assert is_closed(client)
        server.wait_for(lambda entry: entry.get("status") == 408)


def bodies():
    with Server(idle_ms=1000) as server:
        start = b"POST /count HTTP/1.1\r\nHost: a\r\n"
        client = server.connect()
        client.sendall(start + b"Content-Length: 10\r\n\r\nabc")
        assert is_closed(client)
        server.wait_for(reason("/count", "limit"))
        client = server.connect()
        client.sendall(start + b"Content-Length: 10\r\n\r\nabc")
        client.close()
        server.wait_for(reason("/count", "client"))
        before = server.memory_kib()
        # Chunks of one byte; a chunk that never ends; a size that overflows; an extension and a trailer without end.
        many = start + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\na\r\n" * 200000 + b"0\r\n\r\n"
        assert server.send(many + b"GET /head HTTP/1.0\r\n\r\n").partition(b"\r\n\r\n")[2].startswith(b"200000\n")
        for bomb in [b"fffffffffffffffff\r\n", b"1;" + b"a" * 1000000, b"0\r\n" + b"A: b\r\n" * 100000]:
            answer = exchange(server.connect(), start + b"Transfer-Encoding: chunked\r\n\r\n" + bomb)
            assert not answer or parse(answer)[0] in (400, 413, 431), answer
        client = server.connect()
        client.sendall(b"POST /echo?1000000 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n7fffffff\r\n")
        sent = 0
        try:
            while sent < 1 << 28:
                sent += client.send(b"x" * 65536)
        except OSError:
            pass
        assert sent < 1 << 26, "a body has no limit"
        server.wait_for(reason("/echo", "limit"))
        # Too long by a little: the answer comes after it. By a lot: at once.
        for length in [100, 1 << 30]:
            client = server.connect()
            client.sendall(b"POST /echo?10 HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % length + b"x" * 100)
            assert parse(read_all(client))[0] == 413
        # Not received: answered at once, and closed.
        assert parse(exchange(server.connect(), b"POST /head HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n"))[0] == 200
        # 16 uploads at once that are not received.
        clients = [server.connect() for _ in range(16)]
        for client in clients:
            client.sendall(b"POST /never HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\n")
            client.setblocking(False)
            try:
                while True:
                    client.send(b"x" * 65536)
            except BlockingIOError:
                pass
        server.expect_memory(before, 8 * MIB)
        for client in clients:
            client.close()


def readers():
    with Server(idle_ms=1000, write_bytes=1 << 18) as server:
        before = server.memory_kib()
        clients = [server.connect(receive_buffer=4096) for _ in range(8)]
        for client in clients:
            client.sendall(GET % b"/stream?0")
        for client in clients:
            read_head(client)
        server.wait_for(reason("/stream", "limit"))
        server.expect_memory(before, 8 * (MIB + 512))
        # A slow reader is not a client that stops.
        client = server.connect(receive_buffer=65536)
        client.sendall(b"GET /stream?100000 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        head = read_head(client)
        assert b"chunked" in head
        data = read_all(client)
        body, complete = unchunk(data)
        assert complete and len(body) == 10000000, len(body)
        server.wait_for(reason("/stream", "done"))


def connections():
    with Server(connections=50, connections_per_address=30) as server:
        clients = [server.connect() for _ in range(29)]
        for client in clients:
            client.sendall(GET % b"/idle")
            read_head(client)
        more = [server.connect() for _ in range(5)]
        closed = [client for client in more if select.select([client], [], [], 1)[0]]
        assert len(closed) == 4, len(closed)
        for client in clients + more:
            client.close()
        server.wait_for(lambda entry: entry.get("message") == "too many connections of this address")
    with Server(connections_per_address=1, trusted=["10.0.0.0/8", "127.9.0.0/16"]) as server:  # proxies are not limited
        clients = [server.connect(source="127.9.0.1") for _ in range(3)] + [server.connect(source="127.8.0.1")]
        for client in clients:
            client.sendall(GET % b"/idle")
            read_head(client)
        with server.connect(source="127.8.0.1") as over:
            assert over.recv(1) == b""
        for client in clients:
            client.close()
    with Server(connections=5) as server:
        clients = [server.connect() for _ in range(4)]
        for client in clients:
            client.sendall(GET % b"/idle")
            read_head(client)
        more = [server.connect() for _ in range(3)]
        assert sum(bool(select.select([client], [], [], 1)[0]) for client in more) == 2
        for client in clients + more:
            client.close()
        server.wait_for(lambda entry: entry.get("message") == "too many connections")


def many(wanted):
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    count = min(wanted, hard - 1000)
    with Server(connections=count + 10, connections_per_address=count + 10, idle_ms=600000, headers_ms=60000,
                headers_bytes=8192) as server:
        before = server.memory_kib()
        clients = [server.connect() for _ in range(count)]
        server.get("/head")
        idle = server.memory_kib() - before
        for client in clients:
            client.sendall(GET % b"/idle")
        for client in clients:
            read_head(client)
        streams = server.memory_kib() - before
        started = time.monotonic()
        server.get("/big?1000000")
        took = time.monotonic() - started
        print("%d connections: %.1f KiB each; as open streams: %.1f KiB; another request: %.1f ms" %
              (count, idle / count, streams / count, took * 1000))
        assert os.environ.get("SANITIZE") or count < 1000 or (idle / count < 8 and streams / count < 24)
        for client in clients:
            client.close()
        closed, end = 0, time.monotonic() + 60
        while closed < count:
            assert time.monotonic() < end, "%d of %d streams have ended" % (closed, count)
            closed += sum(entry.get("path") == "/idle" for entry in server.log())


def endings():
    server = Server()
    client, stream, idle = server.connect(), server.connect(), server.connect()
    stream.sendall(GET % b"/ticks?100")
    head = read_head(stream)
    assert b"close" not in head
    client.sendall(GET % b"/drain")
    assert parse(read_all(client))[1]["connection"] == "close"
    assert is_closed(idle)
    body, complete = unchunk(read_all(stream))
    assert complete and body.count(b"\n") == 100
    try:
        server.connect()
        raise AssertionError("it still listens")
    except ConnectionRefusedError:
        pass
    server.stop()
    with Server() as server:
        stream, waiting = server.connect(), server.connect()
        stream.sendall(GET % b"/idle")
        waiting.sendall(GET % b"/never")
        read_head(stream)
        assert server.send(GET % b"/unlisten") == b""
        assert server.process.stdout.readline()  # it listens again
        assert not unchunk(read_all(stream))[1] and is_closed(waiting)
        reasons = [(entry["path"], entry["reason"]) for entry in server.log()]
        assert sorted(reasons) == [("/idle", "closed"), ("/never", "closed"), ("/unlisten", "closed")], reasons
        data = server.send(GET % b"/cut")
        assert b"0\r\n\r\n" not in data
        server.wait_for(reason("/cut", "closed"))
        # The client leaves while nothing is sent.
        for path in [b"/idle", b"/never"]:
            client = server.connect()
            client.sendall(GET % path)
            if path == b"/idle":
                read_head(client)
            else:
                server.get("/head")
            client.close()
            server.wait_for(reason(path.decode(), "client"))
        status, answer, body = parse(server.send(b"GET /invalid HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"))
        assert status == 200 and answer["content-length"] == "0" and body == b""
        client = server.connect()
        client.sendall(GET % b"/head")
        head = read_head(client).lower()
        assert b"\r\nconnection: keep-alive\r\n" in head and head.count(b"content-length") == 1 and head.count(b"set-cookie") == 2
        # 100 Continue; a pipeline; HTTP/1.0; HEAD.
        client = server.connect()
        client.sendall(b"POST /count HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
        assert read_head(client) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(b"hello" + GET % b"/head" + b"GET /head HTTP/1.0\r\n\r\n")
        assert read_all(client).count(b"HTTP/1.1 200 OK") == 3
        assert b"\r\n\r\n" == server.send(b"HEAD /big?10 HTTP/1.0\r\n\r\n")[-4:]
        assert server.send(b"GET /ticks?3 HTTP/1.0\r\n\r\n").partition(b"\r\n\r\n")[2].count(b"\n") == 3
        for path, body in [(b"/paused", b"3000000\n"), (b"/midway", b"not wanted\n")]:
            client = server.connect()
            client.sendall(b"POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: 3000000\r\nConnection: close\r\n\r\n" % path)
            answer = exchange(client, b"x" * 3000000)
            if path == b"/paused" or answer:
                assert parse(answer)[2] == body, answer


if __name__ == "__main__":
    started = time.monotonic()
    for test in [options, heads, bodies, readers, connections, endings]:
        test()
        print("%s: %.1f s" % (test.__name__, time.monotonic() - started))
        started = time.monotonic()
    many(int(sys.argv[1]) if len(sys.argv) > 1 else 10000)
    print("many: %.1f s" % (time.monotonic() - started))
