"""conformance_client.py URL: what the conformance suite runs as a client: every tool of the server there, once.

Arguments are the scenario's (MCP_CONFORMANCE_CONTEXT) or made from the tool's schema; questions are answered with {},
at a terminal, while the call waits. What it does goes to the file named by TENON_CLIENT_LOG.
"""
import json
import os
import pty
import select
import subprocess
import sys
import tempfile

TENON = os.environ["TENON"]
SIMPLE = {"boolean": True, "integer": 7, "number": 1.5, "array": [], "null": None}


def value_for(schema):
    """Something that fits, of schemas as simple as those here."""
    schema = schema if isinstance(schema, dict) else {}
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "object" if "properties" in schema else "string")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        names = list(schema.get("required", []))
        for choice in ("anyOf", "oneOf"):
            names += schema[choice][0].get("required", []) if choice in schema else []
        return {name: value_for(schema.get("properties", {}).get(name)) for name in names}
    return SIMPLE.get(kind, "us-west1")


DOCUMENT = """version: "1.0"
channels: [{name: messages, type: reduce, reducer: messages, default: []}]
nodes: [{id: a, type: agent, config: {tools: ["s.*"], auto_approve: ["*"], messages_key: messages}}]
edges: [{from: START, to: a}, {from: a, to: END}]
"""


def at_terminal(name, arguments, folder, log):
    """A conversation at a terminal with a model that calls the tool: every question is answered with {}."""
    calls = [{"id": "1", "name": name, "arguments": arguments}]
    replies = [{"type": "ai", "content": "", "tool_calls": calls}, "It is done."]
    model = {"default": {"provider": "scripted", "model": "m", "replies": replies, "templates": False}}
    with open(os.path.join(folder, "chat.yaml"), "w") as file:
        file.write(DOCUMENT)
    master, slave = pty.openpty()
    command = [TENON, "chat", "chat.yaml", "--model", "default=" + json.dumps(model["default"])]
    child = subprocess.Popen(command, cwd=folder, stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
    os.close(slave)
    os.write(master, b"go\n")
    said, asked, over = b"", 0, False
    while True:
        if not select.select([master], [], [], 30)[0]:
            child.kill()
            break
        try:
            data = os.read(master, 65536)
        except OSError:
            break
        if not data:
            break
        said += data
        while asked < said.count(b"answer: "):
            asked += 1
            os.write(master, b"{}\n")
        if b"It is done." in said and not over:
            over = True
            os.write(master, b"\x04")
    child.wait()
    os.close(master)
    log.write("%s %s\n%s\n" % (name, arguments, said.decode(errors="replace")))
    log.flush()


def main():
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    given = {call["name"]: call["arguments"] for call in context.get("toolCalls", [])}
    folder, log = tempfile.mkdtemp(), open(os.environ.get("TENON_CLIENT_LOG", os.devnull), "a")
    with open(os.path.join(folder, "tenon.yaml"), "w") as file:
        json.dump({"plugins": {"config": {"tenon.mcp": {"servers": {"s": {"url": sys.argv[-1]}}}}}, "log": "info"}, file)
    listed = subprocess.run([TENON, "tool", "list", "--json"], cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    log.write(listed.stderr)
    tools = json.loads(listed.stdout)
    for tool in tools:
        name = tool["tool_name"]
        if not name.startswith("s."):
            continue
        if name == "s.resources.read":
            arguments = {"uri": "file:///path/to/file%20name.txt"}
        elif name == "s.prompts.get":
            arguments = {"name": "test_prompt"}
        elif name == "s.json_schema_echo":
            seen = [other["input_schema"] for other in tools if other["tool_name"] == "s.json_schema_2020_12_tool"]
            arguments = {"schema": seen[0]}
        elif name[2:] in given:
            # A null where the schema wants a boolean is left out, as the protocol has it.
            arguments = {key: value for key, value in given[name[2:]].items() if value is not None}
        else:
            arguments = value_for(tool["input_schema"])
        at_terminal(name, arguments, folder, log)


main()
