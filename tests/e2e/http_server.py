#!/usr/bin/env python3
"""An HTTP/1.1 server (with a little HTTP/2) for the tests of the HTTP client. Some routes violate the protocol.

    http_server.py [--tls CERT KEY]

Listens on loopback only and prints one line of JSON: {"http": PORT, "other": PORT, "proxy": PORT, "https": PORT, "h2":
PORT}. `other` is another origin with the same routes. The server ends when its standard input ends. The route of a
request is the function with the name of the first part of the path. `?key=NAME` names a connection, so that routes such
as is-closed can report about it.
"""
import gzip
import json
import select
import socket
import ssl
import struct
import sys
import threading
import urllib.parse

ports = {}
lock = threading.Condition()
counts = {}  # number of requests of a route, by key
closed = set()  # keys of connections whose client has disconnected
sent = {}  # bytes that were sent, by key
stuck = set()  # keys of connections that accept no more data
named = {}  # connections
seen = []  # "METHOD path" of every request, in order


class Gone(Exception):
    pass


class Request:
    def __init__(self, connection, origin):
        self.connection, self.origin = connection, origin
        head = b""
        while b"\r\n\r\n" not in head:
            more = connection.recv(65536)
            if not more:
                raise Gone
            head += more
            if head[0] == 0x16:  # the start of TLS on a plain connection
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                raise Gone
        head, self.rest = head.split(b"\r\n\r\n", 1)
        lines = head.decode("latin-1").split("\r\n")
        self.method, self.target, _ = lines[0].split(" ", 2)
        self.headers = [line.split(": ", 1) if ": " in line else [line.rstrip(":"), ""] for line in lines[1:]]
        url = urllib.parse.urlsplit(self.target)
        self.parts = url.path.strip("/").split("/")
        self.query = dict(urllib.parse.parse_qsl(url.query))
        self.key = self.query.get("key")
        length = int(self.header("content-length", "0"))
        while len(self.rest) < length:
            more = connection.recv(65536)
            if not more:
                raise Gone
            self.rest += more
        self.body = self.rest[:length]

    def header(self, name, default=None):
        return next((value for key, value in self.headers if key.lower() == name), default)

    def send(self, data):
        self.connection.sendall(data)

    def head(self, status, *headers):
        lines = [f"HTTP/1.1 {status} Whatever"] + list(headers)
        self.send(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))

    def answer(self, status, body, *headers):
        if isinstance(body, str):
            body = body.encode()
        lines = [f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(body)}"] + list(headers)
        head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
        self.send(head if self.method == "HEAD" else head + body)

    def chunk(self, data):
        self.send(b"%x\r\n" % len(data) + data + b"\r\n")

    def stream(self, type_, *headers):
        self.head(200, "Transfer-Encoding: chunked", f"Content-Type: {type_}", *headers)

    def wait_for_end(self):
        """Waits until the client has closed the connection."""
        try:
            while self.connection.recv(4096):
                pass
        except OSError:
            pass
        with lock:
            closed.add(self.key)
            lock.notify_all()
        raise Gone


# ---- Routes ----


def hello(request):
    request.answer(200, "hello", "Content-Type: text/plain", "X-Twice: a", "X-Twice: b")


def echo(request):
    """Responds with the request as JSON."""
    body = {
        "method": request.method,
        "target": request.target,
        "headers": {key.lower(): value for key, value in request.headers},
        "body": request.body.decode("latin-1"),
        "origin": request.origin,
    }
    request.answer(200, json.dumps(body), "Content-Type: application/json")


def status(request):
    request.answer(int(request.parts[1]), "the body of " + request.parts[1], *([request.query["header"]] if "header" in request.query else []))


def flaky(request):
    """/flaky/STATUS/TIMES: responds TIMES times with STATUS and the header ?header=…, then with 200."""
    with lock:
        count = counts[request.key] = counts.get(request.key, 0) + 1
    if count <= int(request.parts[2]):
        if request.parts[1] == "reset":
            raise Gone
        if request.parts[1] == "cut":
            request.head(200, "Content-Length: 100")
            request.send(b"beginning")
            raise Gone
        request.answer(int(request.parts[1]), "not yet", *([request.query["header"]] if "header" in request.query else []))
    else:
        request.answer(200, str(count))


def chunked(request):
    request.stream("text/plain", "Trailer: x-after")
    for piece in (b"one ", b"two ", b"three"):
        request.chunk(piece)
    request.send(b"0\r\nx-after: yes\r\n\r\n")


STREAM = (
    b"\xef\xbb\xbf: comment\r\nevent: first\r\nid: 1\r\ndata: a\r\ndata: b\r\n\r\n"
    b"data: {\"n\": 2}\n\nretry: 7\rdata\r\rdata: \xc3\xa4 \xff!\n\nid\ndata: last\n\ndata: cut"
)


def events(request):
    """?size=N: sends pieces of N bytes."""
    size = int(request.query.get("size", "1000"))
    request.stream(request.query.get("type", "text/event-stream"))
    for at in range(0, len(STREAM), size):
        request.chunk(STREAM[at : at + size])
    request.send(b"0\r\n\r\n")


def many(request):
    """/many/N: sends N events in one chunk."""
    request.stream("text/event-stream")
    request.chunk(b"".join(b"data: %d\n\n" % i for i in range(int(request.parts[1]))))
    request.send(b"0\r\n\r\n")


def lines(request):
    size = int(request.query.get("size", "1000"))
    request.stream("application/x-ndjson")
    text = b'{"a": 1}\n\r\n{"b": \r2}\r\nlast \xff'
    for at in range(0, len(text), size):
        request.chunk(text[at : at + size])
    request.send(b"0\r\n\r\n")


def silence(request):
    request.wait_for_end()


def begins(request):
    """Sends one event and nothing more. With ?plain: sends the start of a body of a known length."""
    with lock:
        named[request.key] = request.connection
    if "plain" in request.query:
        request.head(200, "Content-Length: 100", "Content-Type: text/plain")
        request.send(b"beginning")
    else:
        request.stream("text/event-stream")
        request.chunk(b"data: first\n\n")
    request.wait_for_end()


def hang_up(request):
    """Closes the connection with this key."""
    with lock:
        named[request.key].shutdown(socket.SHUT_RDWR)
    request.answer(200, "done")


def cut(request):
    """/cut/WHERE: closes the connection at this point of the response."""
    where = request.parts[1]
    if where == "length":
        request.head(200, "Content-Length: 100")
        request.send(b"beginning")
    elif where == "chunk":
        request.stream("text/event-stream")
        request.send(b"20\r\ndata: first\n\ndata: se")
    elif where == "chunks":
        request.stream("text/event-stream")
        request.chunk(b"data: first\n\n")
    elif where == "head":
        request.send(b"HTTP/1.1 200 OK\r\nContent-")
    elif where == "encoding":
        request.stream("text/plain")
        request.send(b"zz\r\n")
        request.wait_for_end()
    elif where == "close":
        request.head(200, "Content-Type: text/plain")
        request.send(b"until the end")
    elif where == "nonsense":
        request.send(b"SSH-2.0-OpenSSH_9.2\r\n")
    raise Gone


def compressed(request):
    body = gzip.compress(b"compressed " * 1000)
    if request.query.get("how") == "stream":
        request.stream("text/event-stream", "Content-Encoding: gzip")
        packed = gzip.compress(b"data: one\n\ndata: two\n\n")
        for at in range(0, len(packed), 5):
            request.chunk(packed[at : at + 5])
        request.send(b"0\r\n\r\n")
    elif request.query.get("how") == "bomb":
        request.answer(200, gzip.compress(b"\0" * 10000000), "Content-Encoding: gzip")
    elif request.query.get("how") == "broken":
        request.answer(200, b"this is not gzip", "Content-Encoding: gzip")
    else:
        request.answer(200, body, "Content-Encoding: gzip")


def big(request):
    """/big/BYTES: a body of this size; with ?chunked in chunks."""
    left = int(request.parts[1])
    if "chunked" in request.query:
        request.stream(request.query.get("type", "text/plain"))
        while left:
            size = min(left, 10000)
            request.chunk(b"x" * size)
            left -= size
        request.send(b"0\r\n\r\n")
    else:
        request.answer(200, b"x" * left)


def endless(request):
    """Sends bytes for as long as the client accepts them."""
    request.connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
    request.stream(request.query.get("type", "text/plain"))
    request.connection.setblocking(False)
    line = b"data: " + b"x" * 994 + b"\n\n"
    piece = b"%x\r\n" % (len(line) * 8) + line * 8 + b"\r\n"
    total, rest = 0, b""
    try:
        while True:
            _, writable, _ = select.select([], [request.connection], [], 0.2)
            with lock:
                sent[request.key] = total
                (stuck.discard if writable else stuck.add)(request.key)
                lock.notify_all()
            if writable:
                rest = rest or piece
                count = request.connection.send(rest)
                total += count
                rest = rest[count:]
    except OSError:
        with lock:
            closed.add(request.key)
            stuck.discard(request.key)
            lock.notify_all()
        raise Gone


def redirect(request):
    """?to=URL&status=N: redirects to URL. /redirect/N: redirects N times, the last time to /echo."""
    to = request.query.get("to")
    if len(request.parts) > 1:
        left = int(request.parts[1])
        to = f"/redirect/{left - 1}" if left > 1 else "/echo"
    request.answer(int(request.query.get("status", "302")), "redirect", "Location: " + to)


def heads(request):
    """/heads/LINES/BYTES: sends this many headers of this size."""
    request.answer(200, "", *["X-Line: " + "x" * int(request.parts[2])] * int(request.parts[1]))


def odd(request):
    """Sends a 103 response first, then headers that are empty or not UTF-8."""
    request.send(b"HTTP/1.1 103 Early\r\nX-Early: yes\r\n\r\n")
    request.send(b"HTTP/1.1 200 OK\r\nX-Odd: caf\xe9\r\nX-Empty:\r\nContent-Length: 0\r\n\r\n")


def nothing(request):
    request.send(b"HTTP/1.1 204 No Content\r\n\r\n")


# ---- Routes that report about other connections; they wait until the condition is true ----


def wait_until(request, condition, body):
    with lock:
        held = lock.wait_for(condition, 30)
    request.answer(200 if held else 500, body())


def is_closed(request):
    wait_until(request, lambda: request.key in closed, lambda: "closed")


def is_stuck(request):
    wait_until(request, lambda: request.key in stuck, lambda: str(sent[request.key]))


def count(request):
    request.answer(200, str(counts.get(request.key, 0)))


def seen_since(request):
    with lock:
        request.answer(200, json.dumps(seen))


def gather(request):
    """/gather/N: waits until N requests have arrived, then responds with the maximum number of simultaneous requests."""
    with lock:
        now = counts["now", request.key] = counts.get(("now", request.key), 0) + 1
        counts["most", request.key] = max(now, counts.get(("most", request.key), 0))
        counts[request.key] = counts.get(request.key, 0) + 1
        lock.notify_all()
        lock.wait_for(lambda: counts[request.key] >= int(request.parts[1]), 30)
        most = counts["most", request.key]
        counts["now", request.key] -= 1
    request.answer(200, str(most))


ROUTES = {f.__name__.replace("_", "-"): f for f in list(globals().values()) if callable(f) and f.__module__ == __name__}


# ---- Connections ----


def serve(connection, origin):
    try:
        while True:
            request = Request(connection, origin)
            with lock:
                seen.append(f"{request.method} {request.target}")
            ROUTES[request.parts[0]](request)
    except (Gone, OSError, ValueError):
        pass
    finally:
        connection.close()


def proxy(connection, origin):
    """Forwards an http request with the header X-Proxied. For CONNECT, opens a tunnel."""
    del origin
    try:
        request = Request(connection, "proxy")
        if request.method == "CONNECT":
            host, port = request.target.rsplit(":", 1)
            there = socket.create_connection((host, int(port)))
            request.head(200)
        else:
            url = urllib.parse.urlsplit(request.target)
            there = socket.create_connection((url.hostname, url.port))
            lines = [f"{request.method} {url.path}?{url.query} HTTP/1.1", "X-Proxied: yes", "Connection: close"]
            lines += [f"{key}: {value}" for key, value in request.headers if key.lower() != "proxy-connection"]
            there.sendall(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + request.body)
        both = [connection, there]
        while True:
            for side in select.select(both, [], [])[0]:
                data = side.recv(65536)
                if not data:
                    raise Gone
                both[1 - both.index(side)].sendall(data)
    except (Gone, OSError):
        pass
    finally:
        connection.close()


def frame(type_, flags, stream, payload):
    return struct.pack(">I", len(payload))[1:] + bytes([type_, flags]) + struct.pack(">I", stream) + payload


def http2(connection, origin):
    """Sends one event to each stream at once, and the second event when three streams of the connection are open."""
    del origin
    data, streams, open_ = b"", 0, []

    def read(size):
        nonlocal data
        while len(data) < size:
            more = connection.recv(65536)
            if not more:
                raise Gone
            data += more
        taken, data = data[:size], data[size:]
        return taken

    try:
        read(24)
        connection.sendall(frame(4, 0, 0, b""))
        while True:
            head = read(9)
            length, type_, flags = int.from_bytes(head[:3], "big"), head[3], head[4]
            stream = int.from_bytes(head[5:], "big") & 0x7FFFFFFF
            payload = read(length)
            if type_ == 4 and not flags & 1:
                connection.sendall(frame(4, 1, 0, b""))
            if type_ == 6 and not flags & 1:
                connection.sendall(frame(6, 1, 0, payload))
            if type_ == 1:
                streams += 1
                open_.append(stream)
                name, value = b"content-type", b"text/event-stream"
                block = b"\x88\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value
                connection.sendall(frame(1, 4, stream, block))
                connection.sendall(frame(0, 0, stream, b"data: stream %d\n" % streams))
            if len(open_) == 3:
                for stream in open_:
                    connection.sendall(frame(0, 0, stream, b"\ndata: end\n\n"))
                    connection.sendall(frame(0, 1, stream, b""))
                open_ = []
    except (Gone, OSError):
        pass
    finally:
        connection.close()


def listen(name, handler, context=None):
    server = socket.create_server(("127.0.0.1", 0), backlog=1024)
    ports[name] = server.getsockname()[1]

    def run(connection):
        try:
            if context:
                connection = context.wrap_socket(connection, server_side=True)
        except (OSError, ssl.SSLError):
            connection.close()
            return
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        handler(connection, name)

    def accept():
        while True:
            connection, _ = server.accept()
            threading.Thread(target=run, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


def main():
    listen("http", serve)
    listen("other", serve)
    listen("proxy", proxy)
    if len(sys.argv) == 4 and sys.argv[1] == "--tls":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[2], sys.argv[3])
        listen("https", serve, context)
        context2 = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context2.load_cert_chain(sys.argv[2], sys.argv[3])
        context2.set_alpn_protocols(["h2"])
        listen("h2", http2, context2)
    print(json.dumps(ports), flush=True)
    sys.stdin.read()


main()
