"""random_clients.py [CLIENTS [SEED]]: clients that do anything, at once, while the listener ends and starts again.

They send requests in pieces, mutated ones, and WebSocket frames, read a little or nothing, and leave at any time. The
server must end without an open request, an unreleased value, or a report of a sanitizer.
"""

import random
import sys
import time

import cases
import websocket
from harness import DEADLINE, Server

AT_ONCE = 50
PATHS = [b"/head", b"/echo", b"/count", b"/paused", b"/midway", b"/big?100000", b"/big?3000000", b"/stream?3000", b"/stream?0",
         b"/ticks?20", b"/idle", b"/never", b"/cut", b"/log", b"/x"]


def frames(choose):
    for _ in range(choose.randrange(4)):
        payload = b"x" * choose.choice([0, 1, 5, 200, 70000])
        yield websocket.frame(choose.choice([0, 1, 2, 8, 9, 10]), payload, fin=choose.random() < .8)


def body(choose):
    if choose.random() < .5:
        length = choose.choice([0, 1, 5, 1000, 100000, 2000000])
        return b"Content-Length: %d\r\n\r\n" % length + b"x" * length
    sizes = [choose.choice([1, 10, 5000]) for _ in range(choose.randrange(5))]
    return b"Transfer-Encoding: chunked\r\n\r\n" + b"".join(b"%x\r\n%s\r\n" % (size, b"y" * size) for size in sizes) + b"0\r\n\r\n"


def request(choose, mutations):
    kind, path = choose.randrange(10), choose.choice(PATHS)
    if kind == 0:
        return next(mutations)
    if kind == 1:
        paths = [b"/socket", b"/socket-flood", b"/socket-close"]
        return websocket.handshake(choose.choice(paths)) + b"".join(frames(choose))
    if kind == 2:
        path = b"/unlisten" if choose.random() < .05 else b"/head"
        return b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n" % path * choose.randrange(1, 5)
    if kind < 6:
        return b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n" % path
    return b"POST %s HTTP/1.1\r\nHost: a\r\n" % path + body(choose)


def step(choose, client, mutations):
    """Lets the client do one thing; false: it has left."""
    socket, rest = client
    try:
        kind = choose.random()
        if kind < .02:
            return False
        if kind < .04:
            socket.shutdown(1)
        if rest:
            client[1] = rest[socket.send(rest[:choose.choice([1, 10, 100, 100000])]):]
        elif kind < .1:
            client[1] = request(choose, mutations)
        return choose.random() < .3 or socket.recv(choose.choice([10, 65536])) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    choose, mutations = random.Random(seed), cases.mutations(100 * count, seed)
    limits = {"headers_ms": 300, "idle_ms": 1000, "connections": 60, "connections_per_address": 55, "write_bytes": 1 << 16,
              "message_bytes": 100000}
    with Server(**limits) as server:
        clients, opened, end = [], 0, time.monotonic() + 10 * DEADLINE
        while opened < count and time.monotonic() < end:
            if len(clients) < AT_ONCE:
                try:
                    socket = server.connect(choose.choice([None, 4096]))
                    socket.setblocking(False)
                    clients.append([socket, request(choose, mutations)])
                    opened += 1
                except OSError:  # between two listeners
                    pass
            for client in list(clients):
                if not step(choose, client, mutations):
                    client[0].close()
                    clients.remove(client)
        for client in clients:
            client[0].close()
    assert opened == count, "%d of %d clients" % (opened, count)
    print("%d clients" % opened)


if __name__ == "__main__":
    main()
