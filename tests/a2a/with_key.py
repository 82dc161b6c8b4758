"""with_key.py PORT KEY: a proxy that adds a key to each request, for clients that send none, and asks for agent cards of
1.0 alone. It prints its address."""
import http.client
import http.server
import sys

PORT, KEY = int(sys.argv[1]), sys.argv[2]
DROPPED = ("transfer-encoding", "content-length", "connection", "keep-alive")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def forward(self):
        length = int(self.headers.get("content-length") or 0)
        body = self.rfile.read(length) if length else None
        headers = {name: text for name, text in self.headers.items() if name.lower() not in ("host", "connection")}
        headers |= {"Authorization": "Bearer " + KEY, "Host": f"127.0.0.1:{PORT}"}
        if self.path.endswith("/agent-card.json"):
            headers["A2A-Version"] = "1.0"
        server = http.client.HTTPConnection("127.0.0.1", PORT, timeout=60)
        server.request(self.command, self.path, body, headers)
        response = server.getresponse()
        self.send_response_only(response.status)
        for name, text in response.getheaders():
            if name.lower() not in DROPPED:
                self.send_header(name, text)
        self.send_header("Connection", "close")
        self.close_connection = True
        streams = "event-stream" in (response.getheader("content-type") or "")
        if not streams:
            whole = response.read().replace(b"127.0.0.1:%d" % PORT, b"127.0.0.1:%d" % self.server.server_port)
            self.send_header("Content-Length", str(len(whole)))
            self.end_headers()
            self.wfile.write(whole)
            return
        self.end_headers()
        while part := response.read1(65536):
            self.wfile.write(part)
            self.wfile.flush()

    do_GET = do_POST = do_DELETE = forward

    def log_message(self, *arguments):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(f"http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
