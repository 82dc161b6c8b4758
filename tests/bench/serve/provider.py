#!/usr/bin/env python3
"""A service with OpenAI's streaming format on this machine; the model's name says what it sends.

    provider.py          prints its port

    burst-N      N tokens ` tok`, as fast as they are read
    paced-N-US   N tokens with a pause of US microseconds before each. A token is `@NANOSECONDS;`, the time (CLOCK_MONOTONIC)
                 just before it is sent
"""
import re
import socketserver
import time

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(delta, finish=b"null"):
    event = (b'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":%s,'
             b'"finish_reason":%s}]}\n\n' % (delta, finish))
    return b"%x\r\n%s\r\n" % (len(event), event)


BEGIN = HEAD + chunk(b'{"role":"assistant","content":""}')
END = chunk(b"{}", b'"stop"') + b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"


class Connection(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True

    def handle(self):
        while head := self.read_head():
            length = int(re.search(rb"(?i)content-length: *(\d+)", head)[1])
            model = re.search(rb'"model": ?"([^"]*)"', self.rfile.read(length))[1].decode().split("-")
            self.answer(model[0], *map(int, model[1:]))
            if b"Connection: close" in head:
                break

    def read_head(self):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            try:
                line = self.rfile.readline()
            except ConnectionResetError:
                return b""
            if not line:
                return b""
            head += line
        return head

    def answer(self, kind, count, pause_us=0):
        if kind == "burst":
            self.request.sendall(BEGIN + chunk(b'{"content":" tok"}') * count + END)
            return
        self.request.sendall(BEGIN)
        for _ in range(count):
            time.sleep(pause_us / 1e6)
            self.request.sendall(chunk(b'{"content":"@%d;"}' % time.monotonic_ns()))
        self.request.sendall(END)


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 128


if __name__ == "__main__":
    with Server(("127.0.0.1", 0), Connection) as server:
        print(server.server_address[1], flush=True)
        server.serve_forever()
