#!/usr/bin/env python3
"""A service that works in the background, in the wire formats of Gemini's Interactions and OpenAI's Responses, for tests
without network. It counts what is created.

    research_server.py SCRIPT.json --port-file port --log requests.jsonl

SCRIPT is an object; all members are optional:

    {"polls": 2,          how many requests of the state find it running
     "hold": 3,           the request with this number is logged, and not answered before its client disconnects; once
     "drop": 1,           the connection of the request with this number is closed without an answer
     "text": "…",         of the report
     "status": "failed",  with which the work ends
     "error": {…},        of the work
     "per_connection": 4, events after which the connection of a stream is closed
     "numbered": false,   events have no event_id (Interactions)
     "older": true,       the shape before 2026 (Interactions)
     "calls": true,       the first work calls a function, and waits for its result
     "continues": true,   the first work ends with requires_continuation
     "answers": [{"match": "GET", "status": 503, "json": {}, "times": 2}]}   answers instead, to requests of the method
                          whose path contains "path"

Each line of the log is {"number", "method", "path", "json"?}. With `collaborative_planning` a work ends with a plan.
"""
import argparse
import http.server
import json
import os
import threading
import urllib.parse

SOURCES = [("https://example.org/pumps", "Heat pumps"), ("https://example.org/cold", "Cold climates")]
lock = threading.Lock()
requests, works, script = 0, {}, {}


class Work:
    def __init__(self, body, number):
        self.id, self.body, self.polls, self.cancelled = "v1_work%d" % number, body, 0, False
        planning = body.get("agent_config", {}).get("collaborative_planning")
        self.status = script.get("status", "completed")
        self.text = "Plan: search, then write." if planning else script.get("text", "Heat pumps work in the cold. Really.")
        if script.get("calls") and number == 1:
            self.status = "requires_action"
        if script.get("continues") and number == 1:
            self.status = "requires_continuation"

    def state(self, count):
        """The status now; `count`: this request counts as a poll."""
        if self.cancelled:
            return "cancelled"
        self.polls += count
        return "in_progress" if self.polls <= script.get("polls", 0) else self.status


# ---- Interactions ----

def citations():
    return [{"type": "url_citation", "url": url, "title": title, "start_index": 0, "end_index": 9} for url, title in SOURCES]


def steps(work):
    call = {"type": "function_call", "id": "c1", "name": "lookup", "arguments": {"what": "pumps"}}
    if work.status == "requires_action":
        return [call]
    return [{"type": "user_input", "content": [{"type": "text", "text": "?"}]},
            {"type": "thought", "summary": [{"type": "text", "text": "**Searching** for pumps"}], "signature": "c2ln"},
            {"type": "google_search_call", "id": "s1", "arguments": {"queries": ["pumps"]}},
            {"type": "google_search_result", "call_id": "s1", "result": [{"search_suggestions": "x"}]},
            {"type": "model_output", "content": [{"type": "text", "text": work.text, "annotations": citations()}]}]


def interaction(work, status, full=True):
    found = {"id": work.id, "status": status, "object": "interaction", "agent": work.body.get("agent")}
    if status == "in_progress" or not full:
        return found
    found["usage"] = {"total_input_tokens": 100, "total_output_tokens": 20, "total_thought_tokens": 30,
                      "total_tool_use_tokens": 50, "total_tokens": 200}
    if status == "requires_continuation":
        found["continuation_token"] = "next-" + work.id
    if status in ("failed", "budget_exceeded"):
        found["errors"] = [script.get("error", {"code": "internal", "message": "no luck"})]
    listed = steps(work)
    if script.get("older"):
        found["outputs"] = [content for step in listed for content in (step.get("content") or [step]) if step["type"] != "user_input"]
    else:
        found["steps"] = listed
    return found


def interaction_events(work):
    start, delta, stop = ("content",) * 3 if script.get("older") else ("step",) * 3
    events = [{"event_type": "interaction.start" if script.get("older") else "interaction.created",
               "interaction": interaction(work, "in_progress")},
              {"event_type": "interaction.status_update", "interaction_id": work.id, "status": "in_progress"}]
    for index, step in enumerate(steps(work)):
        shown = {key: value for key, value in step.items() if key not in ("content", "summary", "signature")}
        if step["type"] == "function_call":
            shown["arguments"] = {}
        events.append({"event_type": start + ".start", "index": index, start: shown})
        deltas = []
        if step["type"] == "thought":
            deltas = [{"type": "thought_summary", "content": step["summary"][0]}, {"type": "thought_signature", "signature": "c2ln"}]
        if step["type"] == "function_call":
            deltas = [{"type": "arguments_delta", "arguments": piece} for piece in ('{"what":', '"pumps"}')]
        if step["type"] == "model_output":
            deltas = [{"type": "text", "text": work.text[at:at + 8]} for at in range(0, len(work.text), 8)]
            deltas.append({"type": "text_annotation_delta", "annotations": citations()})
        if step["type"].startswith("google_search"):
            deltas = [{**step}]
        events += [{"event_type": delta + ".delta", "index": index, "delta": each} for each in deltas]
        events.append({"event_type": stop + ".stop", "index": index})
    events.append({"event_type": "interaction.complete" if script.get("older") else "interaction.completed",
                   "interaction": {**interaction(work, work.status, full=True), "steps": None, "outputs": None}})
    if script.get("numbered", True):
        events = [{**event, "event_id": "e%d" % number} for number, event in enumerate(events)]
    return events


# ---- Responses ----

def response(work, status):
    found = {"id": work.id, "object": "response", "status": status, "model": work.body.get("model"), "output": []}
    if status in ("in_progress", "queued"):
        return found
    found["usage"] = {"input_tokens": 150, "output_tokens": 50, "total_tokens": 200, "output_tokens_details": {"reasoning_tokens": 30}}
    if status == "failed":
        found["error"] = script.get("error", {"code": "server_error", "message": "no luck"})
        return found
    found["output"] = items(work)
    return found


def items(work):
    if work.status == "requires_action":
        return [{"type": "function_call", "id": "fc1", "call_id": "c1", "name": "lookup", "arguments": '{"what":"pumps"}'}]
    return [{"type": "reasoning", "id": "rs1", "summary": [{"type": "summary_text", "text": "**Searching** for pumps"}]},
            {"type": "web_search_call", "id": "ws1", "status": "completed", "action": {"type": "search", "query": "pumps"}},
            {"type": "message", "id": "m1", "role": "assistant", "content": [{"type": "output_text", "text": work.text, "annotations": citations()}]}]


def response_events(work):
    events = [{"type": "response.created", "response": response(work, "queued")},
              {"type": "response.in_progress", "response": response(work, "in_progress")}]
    for index, item in enumerate(items(work)):
        events.append({"type": "response.output_item.added", "output_index": index, "item": {**item, "content": [], "summary": []}})
        if item["type"] == "reasoning":
            events.append({"type": "response.reasoning_summary_text.delta", "output_index": index, "delta": item["summary"][0]["text"]})
        if item["type"] == "message":
            events += [{"type": "response.output_text.delta", "output_index": index, "delta": work.text[at:at + 8]} for at in range(0, len(work.text), 8)]
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    ends = "completed" if work.status == "requires_action" else work.status
    events.append({"type": "response." + ends, "response": response(work, ends)})
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


# ---- The service ----

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def send(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def stream(self, events, after, key):
        if after is not None:
            at = [str(event[key]) for event in events].index(after) + 1
            events = events[at:]
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        limit = script.get("per_connection")
        for event in events[:limit]:
            self.wfile.write(("data: %s\n\n" % json.dumps(event)).encode())
            self.wfile.flush()
        if not limit or len(events) <= limit:
            self.wfile.write(b"data: [DONE]\n\n")

    def handle_one(self, body):
        global requests
        path, _, query = self.path.partition("?")
        query = dict(urllib.parse.parse_qsl(query))
        with lock:
            requests += 1
            number = requests
            entry = {"number": number, "method": self.command, "path": self.path}
            if body is not None:
                entry["json"] = body
            entry["headers"] = {key.lower(): value for key, value in self.headers.items()}
            responses = "/responses" in path
            creates = self.command == "POST" and path.endswith(("/interactions", "/responses"))
            answer = next((each for each in script.get("answers", []) if each["times"] > 0 and each.get("match", self.command) == self.command
                           and each.get("path", "") in self.path), None)
            if answer:
                answer["times"] -= 1
            elif creates:
                work = Work(body, len(works) + 1)
                works[work.id] = work
            with open(arguments.log, "a") as log:
                log.write(json.dumps(entry) + "\n")
        if number == script.get("hold"):
            self.connection.recv(1)  # until the client is gone
            self.close_connection = True
            return
        if number == script.get("drop"):
            self.close_connection = True
            return
        if answer:
            self.send(answer["status"], answer.get("json", {}))
            return
        wire = response if responses else interaction
        if creates:
            status = "in_progress" if body.get("background") else work.state(1)
            self.send(200, wire(work, status))
            return
        parts = path.split("/responses/" if responses else "/interactions/")[-1].split("/")
        work = works.get(urllib.parse.unquote(parts[0]).removesuffix(":poll"))
        if work is None:
            self.send(404, {"error": {"code": 404, "message": "no such work", "status": "NOT_FOUND"}})
        elif self.command == "POST" and parts[-1] == "cancel":
            work.cancelled = True
            self.send(200, wire(work, "cancelled"))
        elif query.get("stream") == "true":
            if responses:
                self.stream(response_events(work), query.get("starting_after"), "sequence_number")
            else:
                self.stream(interaction_events(work), query.get("last_event_id"), "event_id")
        else:
            status = work.state(1)
            self.send(200, wire(work, "completed" if responses and status == "requires_action" else status))

    def do_GET(self):
        self.handle_one(None)

    def do_POST(self):
        length = int(self.headers.get("content-length", 0))
        self.handle_one(json.loads(self.rfile.read(length) or b"{}"))


parser = argparse.ArgumentParser()
parser.add_argument("script")
parser.add_argument("--port-file", required=True)
parser.add_argument("--log", required=True)
arguments = parser.parse_args()
with open(arguments.script) as file:
    script.update(json.load(file))
http.server.ThreadingHTTPServer.daemon_threads = True
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(arguments.port_file + ".new", "w") as file:
    file.write(str(server.server_address[1]))
os.rename(arguments.port_file + ".new", arguments.port_file)
server.serve_forever()
