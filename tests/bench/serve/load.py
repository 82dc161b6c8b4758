"""The client of all servers: requests are bytes, and answers are only looked at as far as the measurement needs."""
import re
import select
import socket
import time

LIMIT_S = 300
STAMP = re.compile(rb"@(\d+);")


def post(path, body, headers, close=False):
    lines = ["POST %s HTTP/1.1" % path, "Host: 127.0.0.1", "Content-Type: application/json", "Content-Length: %d" % len(body)]
    lines += ["%s: %s" % header for header in headers.items()] + (["Connection: close"] if close else [])
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def connect(port):
    client = socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return client


def ready(port, path):
    """True if a GET is answered with 200."""
    try:
        with connect(port) as client:
            client.sendall(b"GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n" % path.encode())
            return client.recv(64).split(b" ")[1:2] == [b"200"]
    except OSError:
        return False


def check(head):
    if head.split(b" ", 2)[1:2] != [b"200"]:
        raise SystemExit("an answer is not 200: %s" % head[:800])


def pieces(port, request):
    """Yields what arrives until the server closes."""
    with connect(port) as client:
        client.sendall(request)
        first = True
        while data := client.recv(1 << 18):
            if first:
                check(data)
            first = False
            yield data


def latencies_us(port, request, count):
    """Of each token with a time: from there to here."""
    found, rest = [], b""
    for data in pieces(port, request):
        now = time.monotonic_ns()
        rest += data
        at = 0
        for match in STAMP.finditer(rest):
            found.append((now - int(match[1])) / 1000)
            at = match.end()
        rest = rest[max(at, len(rest) - 64):]
    if len(found) < count:
        raise SystemExit("expected %d tokens, found %d" % (count, len(found)))
    return found[:count]


def burst(port, request, streams, count):
    """Seconds in which this number of streams have `count` tokens each."""
    poll, found = select.poll(), {}
    begin = time.monotonic()
    clients = [connect(port) for _ in range(streams)]
    for client in clients:
        client.sendall(request)
        poll.register(client, select.POLLIN)
        found[client.fileno()] = [client, 0, b""]
    while found:
        for number, _ in poll.poll(LIMIT_S * 1000):
            state = found[number]
            data = state[0].recv(1 << 18)
            text = state[2] + data
            state[1] += text.count(b" tok")
            state[2] = text[-3:]
            if data:
                continue
            poll.unregister(number)
            state[0].close()
            del found[number]
            if state[1] < count:
                raise SystemExit("expected %d tokens, found %d: %s" % (count, state[1], text[:800]))
    return time.monotonic() - begin


class Answer:
    """Answers of a connection, one after the other."""

    def __init__(self):
        self.data = b""

    def complete(self, data):
        self.data += data
        end = self.data.find(b"\r\n\r\n")
        if end < 0:
            return False
        length = re.search(rb"(?i)content-length: *(\d+)", self.data[:end])
        done = len(self.data) >= end + 4 + int(length[1]) if length else self.data.endswith(b"0\r\n\r\n")
        if done:
            check(self.data)
            self.data = b""
        return done


def requests(port, request, connections, count):
    """Seconds in which `count` requests are answered, with this number of connections."""
    poll, open_, sent, done = select.epoll(), {}, 0, 0
    begin = time.monotonic()
    for _ in range(min(connections, count)):
        client = connect(port)
        open_[client.fileno()] = client, Answer()
        poll.register(client, select.EPOLLIN)
        client.sendall(request)
        sent += 1
    while done < count:
        for number, _ in poll.poll(LIMIT_S):
            client, answer = open_[number]
            data = client.recv(65536)
            if not data:
                raise SystemExit("the server has closed a connection: %s" % answer.data[:800])
            if answer.complete(data):
                done += 1
                if sent < count:
                    client.sendall(request)
                    sent += 1
    seconds = time.monotonic() - begin
    for client, _ in open_.values():
        client.close()
    return seconds


def hold(port, request, count):
    """Opens this number of streams, and returns them when the head of each has arrived."""
    clients, waiting = [], []
    for _ in range(count):
        client = connect(port)
        client.sendall(request)
        clients.append(client)
        waiting.append(client)
        if len(waiting) == 100 or len(clients) == count:
            for other in waiting:
                check(other.recv(4096))
            waiting = []
    return clients
