#!/usr/bin/env python3
"""A service of tools for this sample: service.py FOLDER [--port N] [--key TEXT]

Each file of the folder, NAME.json with {"description": …, "values": {key: value, …}}, is a tool that looks up one key. Files
that are added, changed or removed while the service runs are reported to the clients at once.

    GET  /tools        a stream of events: add {name, description, input}, remove {name}, complete {}
    POST /tools/NAME   the arguments as JSON; the result as JSON, or {"error": "…"} with another status than 200
"""
import argparse
import http.server
import json
import os
import sys
import time

LOOK_S = 0.05  # how often the folder is read while a client listens


def read_tools(folder):
    tools = {}
    for file in sorted(os.listdir(folder)):
        name, extension = os.path.splitext(file)
        if extension == ".json":
            try:
                with open(os.path.join(folder, file), encoding="utf-8") as opened:
                    tools[name] = json.load(opened)
            except (OSError, ValueError):
                pass  # a file that is still being written is read the next time
    return tools


def describe(name, tool):
    key = {"enum": list(tool["values"]), "description": "what to look up"}
    schema = {"type": "object", "properties": {"of": key}, "required": ["of"], "additionalProperties": False}
    return {"name": name, "description": tool["description"], "input": schema}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def is_permitted(self):
        if self.headers.get("authorization") == f"Bearer {self.server.key}":
            return True
        self.answer(401, {"error": "the key is not valid"})
        return False

    def send_event(self, name, value):
        data = f"event: {name}\ndata: {json.dumps(value)}\n\n".encode()
        self.wfile.write(b"%x\r\n" % len(data) + data + b"\r\n")
        self.wfile.flush()

    def do_GET(self):
        if self.path != "/tools":
            self.answer(404, {"error": "no such path"})
        elif self.is_permitted():
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            self.close_connection = True
            try:
                self.report_changes()
            except (BrokenPipeError, ConnectionResetError):
                pass  # the client has closed the stream

    def report_changes(self):
        sent, quiet_s = None, 0.0
        while True:
            tools = read_tools(self.server.folder)
            for name in sent or {}:
                if name not in tools:
                    self.send_event("remove", {"name": name})
            for name, tool in tools.items():
                if (sent or {}).get(name) != tool:
                    self.send_event("add", describe(name, tool))
            if sent is None:
                self.send_event("complete", {})
            quiet_s = quiet_s + LOOK_S if tools == sent else 0.0
            if quiet_s > 15:  # so that the client knows that the service still exists
                self.send_event("alive", {})
                quiet_s = 0.0
            sent = tools
            time.sleep(LOOK_S)

    def do_POST(self):
        arguments = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)))
        if not self.is_permitted():
            return
        tool = read_tools(self.server.folder).get(self.path.removeprefix("/tools/"))
        if tool is None:
            self.answer(404, {"error": "the tool does not exist any more"})
        elif tool["values"].get(arguments["of"]) is None:
            self.answer(409, {"error": f"nothing is known about {arguments['of']}"})
        else:
            self.answer(200, tool["values"][arguments["of"]])


def main():
    parser = argparse.ArgumentParser(description="A service of tools for this sample.")
    parser.add_argument("folder")
    parser.add_argument("--port", type=int, default=8090)
    parser.add_argument("--key", default="test-key")
    parser.add_argument("--port-file", help="write the port to this file when the service is ready")
    options = parser.parse_args()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", options.port), Handler)
    server.daemon_threads = True
    server.folder, server.key = options.folder, options.key
    print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
    if options.port_file:
        with open(options.port_file + ".new", "w", encoding="utf-8") as file:
            file.write(str(server.server_port))
        os.rename(options.port_file + ".new", options.port_file)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        sys.exit(0)


if __name__ == "__main__":
    main()
