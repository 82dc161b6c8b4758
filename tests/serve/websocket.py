"""WebSocket: the cases of RFC 6455 as bytes, the client `websockets`, and clients that push on a limit."""

import os
import struct
import time

from harness import DEADLINE, Server, read_all, read_head

UPGRADE = [b"GET %s HTTP/1.1", b"Host: a", b"Upgrade: websocket", b"Connection: Upgrade", b"Sec-WebSocket-Version: 13",
           b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="]
CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10


def handshake(path=b"/socket", lines=UPGRADE):
    return b"\r\n".join([lines[0] % path, *lines[1:], b"", b""])


def frame(opcode, payload=b"", fin=True, masked=True, rsv=0, length=None):
    size = len(payload) if length is None else length
    first = (0x80 if fin else 0) | rsv << 4 | opcode
    mask = 0x80 if masked else 0
    if size < 126:
        head = struct.pack("!BB", first, mask | size)
    elif size < 65536:
        head = struct.pack("!BBH", first, mask | 126, size)
    else:
        head = struct.pack("!BBQ", first, mask | 127, size)
    if not masked:
        return head + payload
    key = b"\x01\x02\x03\x04"
    whole = (key * (len(payload) // 4 + 1))[:len(payload)]
    return head + key + (int.from_bytes(payload, "big") ^ int.from_bytes(whole, "big")).to_bytes(len(payload), "big")


class Client:
    def __init__(self, server, path=b"/socket", with_handshake=b"", receive_buffer=None, extra=()):
        self.socket = server.connect(receive_buffer)
        self.socket.sendall(handshake(path, [*UPGRADE, *extra]) + with_handshake)
        self.data = b""
        head = read_head(self.socket)
        assert head.startswith(b"HTTP/1.1 101 ") and b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in head, head

    def send(self, *frames):
        self.socket.sendall(b"".join(frames))

    def take(self, count):
        while len(self.data) < count:
            part = self.socket.recv(65536)
            if not part:
                return None
            self.data += part
        taken, self.data = self.data[:count], self.data[count:]
        return taken

    def frame(self):
        """(fin, opcode, payload); None: the connection has ended."""
        head = self.take(2)
        if head is None:
            return None
        size = head[1]
        assert size < 128, "a server must not mask"
        if size == 126:
            size = struct.unpack("!H", self.take(2))[0]
        elif size == 127:
            size = struct.unpack("!Q", self.take(8))[0]
        return head[0] & 0x80 != 0, head[0] & 0x7f, self.take(size)

    def closed_with(self, code):
        found = self.frame()
        while found and found[1] in (PONG, PING):
            found = self.frame()
        assert found and found[1] == CLOSE, (found, code)
        got = struct.unpack("!H", found[2][:2])[0] if found[2] else None
        assert got == code or (code == 1002 and got is None), (got, code)  # wslay answers malformed frames without a code
        try:
            assert self.frame() is None
        except ConnectionResetError:
            pass
        self.socket.close()


def echoes(client, opcode, payload):
    client.send(frame(opcode, payload))
    assert client.frame() == (True, opcode, payload)


def handshakes(server):
    for index in range(1, len(UPGRADE)):
        assert server.status(handshake(lines=UPGRADE[:index] + UPGRADE[index + 1:])) in (400, 426), UPGRADE[index]
    for old, new in [(b"websocket", b"h2c"), (b"Connection: Upgrade", b"Connection: close"), (b": 13", b": 8"), (b": 13", b": 13\r\nSec-WebSocket-Version: 13"),
                     (b"bm9uY2U", b"bm9u"), (b"GET", b"POST"), (b"1.1", b"1.0"), (b"nonceQ==", b"!"), (b"dGhl", b"d\xc3\xa4l")]:
        case = handshake().replace(old, new)
        if case != handshake():
            status = server.status(case)
            assert status in (426, 400), (case, status)
    client = Client(server, with_handshake=frame(TEXT, b"early"))
    assert client.frame() == (True, TEXT, b"early")
    lines = [line.upper() if b"Upgrade" in line else line for line in UPGRADE]
    assert server.connect().sendall(handshake(lines=lines)) is None


def messages(server):
    client = Client(server)
    for size in [0, 1, 125, 126, 127, 128, 65535, 65536, 1000000]:
        echoes(client, BINARY, b"\xff" * size)
        echoes(client, TEXT, b"t" * size)
    echoes(client, TEXT, "\u00e4\u20ac\U0001f600".encode())
    client.send(frame(TEXT, b"a", fin=False), frame(CONTINUATION, b"b", fin=False), frame(PING, b"p"), frame(CONTINUATION, b"c"))
    assert client.frame() == (True, PONG, b"p")
    assert client.frame() == (True, TEXT, b"abc")
    client.send(frame(TEXT, b"\xe2\x82", fin=False), frame(CONTINUATION, b"\xac"))  # a character in two frames
    assert client.frame() == (True, TEXT, b"\xe2\x82\xac")
    client.send(frame(PONG, b"unasked"), frame(PING, b"x" * 125))
    assert client.frame() == (True, PONG, b"x" * 125)
    for byte in frame(TEXT, b"slow"):
        client.send(bytes([byte]))
    assert client.frame() == (True, TEXT, b"slow")
    client.send(*[frame(TEXT, b"%d" % number) for number in range(1000)])
    for number in range(1000):
        assert client.frame() == (True, TEXT, b"%d" % number)
    client.send(frame(CLOSE, struct.pack("!H", 1000) + b"bye"))
    client.closed_with(1000)


def protocol_errors(server):
    for code, frames in [(1002, [frame(TEXT, b"a", masked=False)]), (1002, [frame(TEXT, b"a", rsv=4)]), (1002, [frame(TEXT, b"a", rsv=1)]),
                         (1002, [frame(3)]), (1002, [frame(7)]), (1002, [frame(11)]), (1002, [frame(15)]), (1002, [frame(CONTINUATION, b"a")]),
                         (1002, [frame(TEXT, b"a", fin=False), frame(TEXT, b"b")]), (1002, [frame(PING, b"a", fin=False)]),
                         (1002, [frame(PING, b"x" * 126)]), (1002, [frame(CLOSE, b"a")]), (1002, [frame(CLOSE, struct.pack("!H", 999))]),
                         (1002, [frame(CLOSE, struct.pack("!H", 1005))]), (1002, [frame(CLOSE, struct.pack("!H", 1006))]),
                         (1002, [frame(CLOSE, struct.pack("!H", 1004))]), (1002, [frame(CLOSE, struct.pack("!H", 65535))]),
                         (1007, [frame(CLOSE, struct.pack("!H", 1000) + b"\xff")]), (1007, [frame(TEXT, b"\xff")]),
                         (1007, [frame(TEXT, b"\xc0\x80")]), (1007, [frame(TEXT, b"\xed\xa0\x80")]), (1007, [frame(TEXT, b"\xf4\x90\x80\x80")]),
                         (1007, [frame(TEXT, b"\xe2\x82")]), (1007, [frame(TEXT, b"\xe2\x82", fin=False), frame(CONTINUATION, b"a")]),
                         (1009, [frame(BINARY, b"x", length=2000000)]), (1009, [frame(BINARY, b"x" * 600000, fin=False), frame(CONTINUATION, b"x" * 600000)])]:
        client = Client(server)
        try:
            client.send(*frames)
        except OSError:
            pass
        try:
            client.closed_with(code)
        except (AssertionError, TimeoutError) as error:
            raise AssertionError("%s: %s" % ([part[:20] for part in frames], error)) from error
    for code in [1000, 1001, 1003, 1011, 3000, 4999]:
        client = Client(server)
        client.send(frame(CLOSE, struct.pack("!H", code)))
        client.closed_with(code)
    reasons = {entry["reason"] for entry in server.log() if entry.get("path") == "/socket"}
    assert {"protocol", "limit", "client"} <= reasons, reasons


def endings(server):
    client = Client(server, b"/socket-close")
    client.send(frame(TEXT, b"a"))
    assert client.frame() == (True, CLOSE, struct.pack("!H", 4000) + b"enough")
    client.send(frame(CLOSE, struct.pack("!H", 4000)))
    assert client.frame() is None
    server.wait_for(lambda entry: entry.get("path") == "/socket-close" and entry["reason"] == "closed")
    client = Client(server, b"/socket")
    client.socket.close()
    server.wait_for(lambda entry: entry.get("path") == "/socket" and entry["reason"] == "client")


def limits():
    with Server(idle_ms=1000, message_bytes=1 << 20, write_bytes=1 << 18) as server:
        before = server.memory_kib()
        # A quiet client that answers pings stays; one that does not is closed.
        quiet, deaf = Client(server), Client(server)
        # A client that does not read what is sent without end, and one that does not read its pongs.
        flood = Client(server, b"/socket-flood", receive_buffer=4096)
        flood.send(frame(TEXT, b"go"))
        pings = Client(server, receive_buffer=4096)
        pings.socket.setblocking(False)
        many = frame(PING, b"x" * 125) * 500
        sent = 0
        try:
            while sent < 1 << 27:
                sent += pings.socket.send(many)
        except OSError:
            pass
        assert sent < 1 << 26, "pings have no limit"
        # A message of tiny fragments.
        fragments = Client(server)
        try:
            fragments.send(frame(TEXT, b"a", fin=False) + frame(CONTINUATION, b"b", fin=False) * 100000)
            fragments.closed_with(1009)
        except (ConnectionResetError, BrokenPipeError):
            pass
        for _ in range(3):
            assert quiet.frame()[1] == PING
            quiet.send(frame(PONG))
        echoes(quiet, TEXT, b"still here")
        server.wait_for(lambda entry: entry.get("path") == "/socket-flood" and entry["reason"] == "limit")
        server.expect_memory(before, 4096)
        assert deaf.frame()[1] == PING and deaf.frame() is None


def library(tls):
    import ssl
    import tempfile

    from websockets.sync.client import connect
    options, context, scheme = None, None, "ws"
    if tls:
        with tempfile.TemporaryDirectory() as folder:
            key, certificate = os.path.join(folder, "key"), os.path.join(folder, "certificate")
            command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost " \
                "-addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout %s -out %s 2>/dev/null" % (key, certificate)
            assert os.system(command) == 0
            options = {"certificate": open(certificate).read(), "key": open(key).read()}
        context, scheme = ssl.create_default_context(cadata=options["certificate"]), "wss"
    if tls:
        with Server(tls=options, headers_ms=200) as server:
            slow = server.connect()
            slow.sendall(b"\x16\x03\x01")  # a handshake that does not continue
            assert slow.recv(100) == b""
    with Server(tls=options) as server:
        if tls:
            server.connect().close()
            plain = server.send(b"GET /head HTTP/1.1\r\nHost: a\r\n\r\n")
            assert b"200" not in plain
            with context.wrap_socket(server.connect(), server_hostname="localhost") as client:
                client.sendall(b"POST /count HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n" + b"x" * 1000000 +
                               b"GET /stream?30000 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                data = read_all(client)
                assert b"\r\n\r\n1000000\n" in data and data.endswith(b"0\r\n\r\n") and len(data) > 3000000
        with connect("%s://127.0.0.1:%d/socket" % (scheme, server.port), ssl=context, max_size=None, proxy=None) as client:
            for message in ["text", b"bytes", "\u20ac" * 100000, b"x" * 1000000]:
                client.send(message)
                assert client.recv(DEADLINE) == message
            for number in range(200):
                client.send(str(number))
            assert [client.recv(DEADLINE) for _ in range(200)] == [str(number) for number in range(200)]
            client.ping().wait(DEADLINE)
        with connect("%s://127.0.0.1:%d/socket" % (scheme, server.port), ssl=context, proxy=None) as client:
            client.send("a")
            client.recv(DEADLINE)
            server.process.stdin.close()  # the server ends while the connection is open
            assert server.process.wait(DEADLINE) == 0


if __name__ == "__main__":
    started = time.monotonic()
    with Server() as server:
        for test in [handshakes, messages, protocol_errors, endings]:
            test(server)
    print("frames: %.1f s" % (time.monotonic() - started))
    limits()
    print("limits: %.1f s" % (time.monotonic() - started))
    for tls in [False, True]:
        library(tls)
    print("library: %.1f s" % (time.monotonic() - started))
