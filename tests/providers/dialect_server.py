"""A strict server: it refuses every field that the vendor's SDK does not know, as FastAPI does with 422.

dialect_fields.json has the fields of each row of plugins/openai/presets.json, derived from the source that it names. As a
program it is a server on this machine, whose rows are the first part of the path: /groq/v1/chat/completions. It answers a
request for speech with two samples."""
import argparse
import http.server
import json
import os

HERE = os.path.dirname(os.path.abspath(__file__))

with open(os.path.join(HERE, "dialect_fields.json"), encoding="utf-8") as file:
    FIELDS = json.load(file)


def unknown(where, found, allowed):
    return [f"{where}.{name}" for name in found if name not in allowed]


def refuse_content(fields, where, message, wrong):
    allowed = fields["tool_parts"] if message.get("role") == "tool" else fields["parts"]
    content = message.get("content")
    members = {"text": ["text"], "image_url": ["image_url"], "thinking": ["thinking", "signature"], "input_audio": ["input_audio"],
               "document_url": ["document_url", "document_name"], "file": ["file_id", "file"]}
    for part in content if isinstance(content, list) else []:
        if part["type"] not in allowed:
            wrong.append(f"{where}.content: a part of type {part['type']}")
        else:
            wrong += unknown(f"{where}.content", part, ["type", *members[part["type"]]])


def refuse_message(fields, index, message, wrong):
    role, where = message["role"], f"messages[{index}]"
    if role not in fields["roles"]:
        wrong.append(f"{where}.role: {role}")
        return
    wrong += unknown(where, message, fields["system" if role == "developer" else role])
    refuse_content(fields, where, message, wrong)
    for call in message.get("tool_calls", []):
        wrong += unknown(f"{where}.tool_calls", call, ["id", "type", "function"])
        wrong += unknown(f"{where}.tool_calls.function", call["function"], ["name", "arguments"])


# The order of messages that mistral-common (protocol/instruct/validator.py) accepts; a user's message after a tool's is refused by
# the service.
MISTRAL_ORDER = {"system": ["user", "assistant", "system"], "user": ["assistant", "system", "user"],
                 "assistant": ["assistant", "user", "tool"], "tool": ["assistant", "tool"]}


def refuse_order(messages):
    roles = [message["role"] for message in messages]
    wrong = [f"order: {role} after {before}" for before, role in zip(roles, roles[1:]) if role not in MISTRAL_ORDER[before]]
    if roles[-1] not in ("user", "tool") and not messages[-1].get("prefix"):
        wrong.append(f"order: the last message is of {roles[-1]}")
    return wrong


def refuse(row, body):
    """The fields of the request that the row's server does not know."""
    fields, wrong = FIELDS[row], []
    wrong += unknown("request", body, fields["request"])
    for index, message in enumerate(body["messages"]):
        refuse_message(fields, index, message, wrong)
    wrong += refuse_order(body["messages"]) if row == "mistral" and not wrong else []
    for tool in body.get("tools", []):
        wrong += unknown("tools", tool, ["type", "function"]) + unknown("tools.function", tool["function"], fields["function"])
    choice = body.get("tool_choice")
    if choice is not None and ("function" if isinstance(choice, dict) else choice) not in fields["tool_choice"]:
        wrong.append(f"tool_choice: {choice}")
    response_format = body.get("response_format")
    if response_format is not None:
        wrong += [] if response_format["type"] in fields["formats"] else [f"response_format: {response_format['type']}"]
        wrong += unknown("response_format", response_format, ["type", "json_schema"])
        wrong += unknown("json_schema", response_format.get("json_schema", {}), fields["json_schema"])
    wrong += unknown("stream_options", body.get("stream_options", {}), ["include_usage"])
    reasoning = body.get("reasoning")
    if reasoning is not None:
        wrong += unknown("reasoning", reasoning, ["effort", "max_tokens"])
    return wrong


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *arguments):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        row = self.path.split("/")[1]
        wrong = refuse(row, body)
        with open(self.server.log, "a", encoding="utf-8") as log:
            log.write(json.dumps({"row": row, "path": self.path, "headers": dict(self.headers), "json": body}) + "\n")
        answer = {"detail": [{"loc": ["body", name], "msg": "Extra inputs are not permitted"} for name in wrong]}
        if not wrong:
            message = {"role": "assistant", "content": '{"answer": "yes"}'}
            if "audio" in body:
                message = {"role": "assistant", "content": None, "audio": {"id": "a1", "data": "AQACAA==", "transcript": "spoken"}}
            answer = {"model": body["model"], "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
        text = json.dumps(answer).encode()
        self.send_response(422 if wrong else 200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port-file", required=True)
    parser.add_argument("--log", required=True)
    arguments = parser.parse_args()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.log = arguments.log
    with open(arguments.port_file + ".new", "w", encoding="utf-8") as out:
        out.write(str(server.server_address[1]))
    os.rename(arguments.port_file + ".new", arguments.port_file)
    server.serve_forever()


if __name__ == "__main__":
    main()
