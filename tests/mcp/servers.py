"""servers.py: the plugin tenon.mcp against third-party servers, and the conformance suite of the protocol.

MODULES is the folder with the packages of npm, NODE24 the program that runs them.
"""
import json
import os
import re
import socket
import subprocess
import sys
import tempfile

from harness import HERE, WAIT_S, call, call_with_answers, check, configure, run_tests, tenon

MODULES = os.environ["MODULES"]
NODE = os.environ["NODE24"]
SCRIPTED = {"models": {"small": {"provider": "scripted", "model": "m", "replies": ["Something."]}}}


def server(name, *arguments):
    return [NODE, os.path.join(MODULES, "@modelcontextprotocol", "server-" + name, "dist", "index.js"), *arguments]


EVERYTHING = ["s.echo", "s.get-sum", "s.get-tiny-image", "s.get-structured-content", "s.get-resource-links",
              "s.get-resource-reference", "s.trigger-long-running-operation", "s.get-annotated-message", "s.resources.list",
              "s.resources.templates", "s.resources.read", "s.prompts.list", "s.prompts.get", "s.trigger-sampling-request"]
ARGUMENTS = {"s.echo": {"message": "hi"}, "s.get-sum": {"a": 1, "b": 2}, "s.get-structured-content": {"location": "New York"},
             "s.trigger-long-running-operation": {"duration": 0.3, "steps": 3}, "s.get-annotated-message": {"messageType": "error"},
             "s.get-resource-reference": {"resourceType": "Blob", "resourceId": 1},
             "s.resources.read": {"uri": "demo://resource/dynamic/text/1"}, "s.trigger-sampling-request": {"prompt": "p"},
             "s.prompts.get": {"name": "args-prompt", "arguments": {"city": "Kyoto"}}}


def check_everything(*more):
    names = EVERYTHING + list(more)
    result = call(*[(name, ARGUMENTS.get(name, {})) for name in names])
    results = dict(zip(names, result.contents))
    check(result.status == ["ok"] * len(names), "every tool", result.contents, result.err)
    check(results["s.echo"] == "Echo: hi" and "3" in results["s.get-sum"], "texts", result.contents)
    check(results["s.get-tiny-image"][1]["type"] == "image", "an image", results["s.get-tiny-image"])
    check(set(json.loads(results["s.get-structured-content"])) == {"temperature", "conditions", "humidity"}, "structured", results)
    check(any(part["type"] == "source" for part in results["s.get-resource-links"]), "links", results["s.get-resource-links"])
    check(any(part["type"] == "file" for part in results["s.get-resource-reference"]), "a resource", results["s.get-resource-reference"])
    check("Kyoto" in results["s.prompts.get"] and "args-prompt" in results["s.prompts.list"], "prompts", results)
    check("Something." in results["s.trigger-sampling-request"], "a model was asked", results["s.trigger-sampling-request"])
    check("Resource 1" in results["s.resources.read"], "a text resource", results["s.resources.read"])
    return results


def test_everything_through_pipes():
    configure({"s": {"command": server("everything", "stdio"), "sampling": "small", "roots": ["."]}}, **SCRIPTED)
    results = check_everything("s.get-roots-list", "s.toggle-simulated-logging")
    check(os.path.realpath(".") in results["s.get-roots-list"], "roots", results)
    shown = tenon("tool", "show", "s.get-sum")
    check("number, required First number" in re.sub("\\s+", " ", shown.out), "tenon tool show", shown.out, shown.err)


def reserve_port():
    """The server cannot choose a port itself. Linux assigns this one to no other program while the socket is open.

    Both sockets have SO_REUSEADDR, and this one does not listen, so the server can bind it.
    """
    reserved = socket.socket()
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reserved.bind(("127.0.0.1", 0))
    return reserved


def test_everything_over_http():
    reserved = reserve_port()
    port = reserved.getsockname()[1]
    started = subprocess.Popen(server("everything", "streamableHttp"), env={**os.environ, "PORT": str(port)},
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        for line in started.stdout:
            if "listening" in line:
                break
        configure({"s": {"url": "http://127.0.0.1:%d/mcp" % port, "sampling": "small"}}, **SCRIPTED)
        check_everything()
        result = call_with_answers("s.trigger-elicitation-request", [{"name": "Ada"}])
        check("Ada" in str(result.contents), "a person was asked", result.contents, result.err)
    finally:
        reserved.close()
        started.kill()
        output = started.communicate()[0]
    check(output.count("session termination request") == output.count("Session initialized"), "each session is ended (DELETE)", output)


def test_files_and_memory():
    os.makedirs("files", exist_ok=True)
    with open("files/a.txt", "w") as file:
        file.write("inside")
    configure({"f": {"command": server("filesystem", os.path.abspath("files"))},
               "m": {"command": server("memory"), "env": {"MEMORY_FILE_PATH": os.path.abspath("memory.json")}}})
    entity = {"entities": [{"name": "Ada", "entityType": "person", "observations": ["counts"]}]}
    result = call(("f.read_text_file", {"path": os.path.abspath("files/a.txt")}), ("f.list_directory", {"path": os.path.abspath("files")}),
               ("f.read_text_file", {"path": "/etc/passwd"}), ("m.create_entities", entity))
    check("inside" in str(result.contents[0]) and "a.txt" in str(result.contents[1]), "files", result.contents, result.err)
    check(result.contents[2].startswith("TOOL_ERROR: ") and "Access denied" in result.contents[2], "outside", result.contents[2])
    check("Ada" in tenon("tool", "call", "m.read_graph", "--yes").out, "stored entities", result.contents)
    listed = {tool["tool_name"]: tool for tool in json.loads(tenon("tool", "list", "f.*", "--json").out)}
    check("destructive" not in listed["f.read_text_file"]["effects"], "a reading tool", listed["f.read_text_file"]["effects"])
    check("destructive" in listed["f.write_file"]["effects"], "a destructive tool", listed["f.write_file"]["effects"])


SCENARIOS = ["initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry", "request-metadata",
             "sep-2322-client-request-state", "http-standard-headers", "http-custom-headers", "http-invalid-tool-headers",
             "json-schema-ref-no-deref", "json-schema-2020-12-preservation"]
AUTHORIZATION = ["metadata-default", "metadata-var1", "metadata-var2", "metadata-var3", "basic-cimd", "scope-from-www-authenticate",
                 "scope-from-scopes-supported", "scope-omitted-when-undefined", "scope-step-up", "scope-retry-limit",
                 "token-endpoint-auth-basic", "token-endpoint-auth-post", "token-endpoint-auth-none", "pre-registration",
                 "2025-03-26-oauth-metadata-backcompat", "2025-03-26-oauth-endpoint-fallback", "resource-mismatch",
                 "offline-access-scope", "offline-access-not-supported", "authorization-server-migration", "iss-supported",
                 "iss-not-advertised", "iss-supported-missing", "iss-wrong-issuer", "iss-unexpected", "iss-normalized",
                 "metadata-issuer-mismatch", "client-credentials-jwt", "client-credentials-basic", "wif-jwt-bearer",
                 "enterprise-managed-authorization", "dpop", "dpop-nonce"]


def test_conformance():
    """All scenarios at once, in one process of the suite: it has the servers, and runs a client for each."""
    suite = os.path.join(MODULES, "@modelcontextprotocol", "conformance", "dist", "index.js")
    client, logs = "%s %s" % (sys.executable, os.path.join(HERE, "conformance_client.py")), tempfile.mkdtemp(dir=os.getcwd())
    done = subprocess.run([NODE, suite, "client", "--command", client, "--suite", "all", "--timeout", "600000", "--output-dir", "results"],
                          capture_output=True, text=True, timeout=WAIT_S, env={**os.environ, "TENON_CLIENT_LOGS": logs})
    output = done.stdout + done.stderr
    passed = {name: int(count) for name, count in re.findall(r"\u2713 (\S+): (\d+) passed, 0 failed", output)}
    missing = [name for name in SCENARIOS + ["auth/" + name for name in AUTHORIZATION] if not passed.get(name)]
    logged = {name: open(os.path.join(logs, name), errors="replace").read() for name in os.listdir(logs)}
    reports = [words for words in ("ERROR: AddressSanitizer", "detected memory leaks", "runtime error:") if words in "".join(logged.values())]
    print("   %d scenarios, %d checks" % (len(passed), sum(passed.values())), flush=True)
    check(done.returncode == 0 and not missing and not reports, "conformance: %s" % (missing or reports), output[-12000:],
          *(logged.get(name.replace("/", "-"), "")[-4000:] for name in missing))


if __name__ == "__main__":
    run_tests(globals())
