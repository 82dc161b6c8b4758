"""provider_hangs.py provider PORT_FILE: an OpenAI provider whose model `silent` never answers, `half` stops inside of an
event, and `good` answers. provider_hangs.py client ADDRESS KEY: clients of a host with graphs of these names.
"""
import concurrent.futures
import http.client
import http.server
import json
import os
import sys
import threading


class Provider(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        model = json.loads(self.rfile.read(int(self.headers["content-length"])))["model"]
        if model == "silent":
            threading.Event().wait(600)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        if model == "half":
            self.wfile.write(b'data: {"choices": [{"delta": {"content": "Ha')
            self.wfile.flush()
            threading.Event().wait(600)
        for delta, reason in (({"content": "Good."}, None), ({}, "stop")):
            choice = {"index": 0, "delta": delta, "finish_reason": reason}
            self.wfile.write(b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n")
        self.wfile.write(b"data: [DONE]\n\n")


def provider(path):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    server.daemon_threads = True
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(str(server.server_port))
    os.rename(path + ".new", path)
    server.serve_forever()


def post(path, body):
    connection = http.client.HTTPConnection(sys.argv[2].split("//")[1], timeout=60)
    connection.request("POST", path, json.dumps(body), {"authorization": "Bearer " + sys.argv[3], "content-type": "application/json"})
    response = connection.getresponse()
    return response.status, response.read().decode()


def complete(graph):
    """Chat completions: an error with its status."""
    status, text = post("/v1/chat/completions", {"model": graph, "messages": [{"role": "user", "content": "hi"}]})
    if graph == "good":
        assert status == 200 and json.loads(text)["choices"][0]["message"]["content"] == "Good.", text
        return
    error = json.loads(text)["error"]
    assert status >= 500 and set(error) == {"message", "type", "param", "code"}, (status, text)
    assert "700" in error["message"], error


def respond(graph):
    """Responses: the response has failed."""
    status, text = post("/v1/responses", {"model": graph, "input": "hi"})
    response = json.loads(text)
    assert status == 200 and response["status"] == ("completed" if graph == "good" else "failed"), (status, text)
    assert graph == "good" or "700" in response["error"]["message"], response


def chat(graph):
    """A stream that ends with an error."""
    message = {"id": "u", "role": "user", "parts": [{"type": "text", "text": "hi"}]}
    status, text = post(f"/api/chat/stream?graph={graph}", {"id": "chat-" + graph, "messages": [message]})
    assert status == 200 and text.endswith("data: [DONE]\n\n"), (status, text)
    assert ('"type":"error"' in text) == (graph != "good"), text


def client():
    with concurrent.futures.ThreadPoolExecutor(27) as pool:
        jobs = [pool.submit(job, graph) for job in (complete, respond, chat) for graph in ("silent", "half", "good")]
        for job in jobs:
            job.result()


provider(sys.argv[2]) if sys.argv[1] == "provider" else client()
