"""conformance_client.py URL: the client that the conformance suite runs. It calls every tool of the server once.

The arguments are those of the scenario (MCP_CONFORMANCE_CONTEXT), or match the schema of the tool. Questions are answered
with {} at a terminal, while the call waits. In the scenarios auth/… it also grants permission like a person: it visits the
page, follows the redirects, and answers true. TENON_CLIENT_LOGS names a folder, which gets a log with the name of the scenario.
"""
import json
import os
import subprocess
import sys
import tempfile

from person import run_at_terminal

TENON = os.environ["TENON"]
SIMPLE = {"boolean": True, "integer": 7, "number": 1.5, "array": [], "null": None}


def value_for(schema):
    """Returns a value that matches a simple schema."""
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
nodes: [{id: a, type: agent, config: {tools: ["%s"], auto_approve: ["*"], messages_key: messages}}]
edges: [{from: START, to: a}, {from: a, to: END}]
"""


def converse(name, arguments, folder, log):
    """Runs `tenon chat` at a terminal, with a model that calls the tool. Questions are answered by answer_question."""
    calls = [{"id": "1", "name": name, "arguments": arguments}]
    replies = [{"type": "ai", "content": "", "tool_calls": calls}, "It is done."]
    model = {"default": {"provider": "scripted", "model": "m", "replies": replies, "templates": False}}
    with open(os.path.join(folder, "chat.yaml"), "w") as file:
        file.write(DOCUMENT % name)
    command = [TENON, "chat", "chat.yaml", "--model", "default=" + json.dumps(model["default"])]
    output = run_at_terminal(command, folder, "start", "It is done.")
    log.write("%s %s\n%s\n" % (name, arguments, output))
    log.flush()


def settings(context):
    """The configuration that an operator would write for the scenario, given its context."""
    name, server, oauth = os.environ.get("MCP_CONFORMANCE_SCENARIO", ""), {"url": sys.argv[-1]}, {}
    secrets = {"client_secret": context.get("client_secret"), "private_key": context.get("private_key_pem"), "assertion": context.get("valid_jwt"),
               "id_token": context.get("idp_id_token")}
    for key, value in secrets.items():
        if value:
            os.environ["CONFORMANCE_" + key.upper()] = value
            oauth[key] = {"secret": "CONFORMANCE_" + key.upper()}
    if "client_id" in context:
        oauth["client_id"] = context["client_id"]
    if "client-credentials" in name:
        oauth["grant"] = "client_credentials"
    if "wif" in name:
        oauth["grant"] = "jwt_bearer"
    if "idp_token_endpoint" in context:
        idp = {"token_url": context["idp_token_endpoint"], "client_id": context["idp_client_id"], "id_token": oauth.pop("id_token")}
        oauth.update(grant="enterprise", idp=idp)
    if name == "auth/basic-cimd":
        oauth["client_metadata_url"] = "https://conformance-test.local/client-metadata.json"
    if "2025-03-26" in name:
        server["era"] = "2025-03-26"
    return {**server, "oauth": oauth} if oauth else server


def main():
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    given = {call["name"]: call["arguments"] for call in context.get("toolCalls", [])}
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    folder, log = tempfile.mkdtemp(dir=os.getcwd()), open(os.path.join(os.environ["TENON_CLIENT_LOGS"], scenario.replace("/", "-")), "a")
    with open(os.path.join(folder, "tenon.yaml"), "w") as file:
        config = {"servers": {"s": settings(context)}, "tokens": os.path.join(folder, "tokens")}
        json.dump({"plugins": {"config": {"tenon.mcp": config}}, "log": "info"}, file)
    if scenario.startswith("auth/"):
        converse("mcp.servers", {"connect": "s"}, folder, log)
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
            # Leaves out a null that the schema does not allow, as the protocol requires.
            arguments = {key: value for key, value in given[name[2:]].items() if value is not None}
        else:
            arguments = value_for(tool["input_schema"])
        converse(name, arguments, folder, log)


main()
