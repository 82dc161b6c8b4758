"""search.py: an agent that searches 1,000 tools (`tools: {search: true}`), with a service that records its requests."""
import http.server
import json
import os
import shutil
import sys
import threading

from harness import check, run_tests, tenon

VERBS = "add archive assign check close compare create delete disable download enable export find get import list lock merge move open".split()
NOUNS = ("issue comment pull_request branch tag release commit repository team member webhook secret variable workflow run job artifact "
         "cache environment deployment milestone label project column card gist reaction review thread discussion license template rule "
         "key runner package version file blob tree reference status suite annotation alert advisory dependency invitation organization token").split()
SERVER = '''
import json, sys
VERBS, NOUNS = %r, %r
def tool(verb, noun):
    words = noun.replace("_", " ")
    return {"name": verb + "_" + noun, "description": "Use this to %%s the %%s of a repository. The caller needs the right to %%s it." %% (verb, words, verb),
            "inputSchema": {"type": "object", "required": ["owner", "repo"], "properties": {
                "owner": {"type": "string", "description": "The account that owns the repository. The name is not case sensitive."},
                "repo": {"type": "string", "description": "The name of the repository without the extension. It is not case sensitive."},
                noun: {"type": "string", "description": "The %%s that it is about." %% words},
                "page": {"type": "integer", "description": "The page number of the results to fetch.", "minimum": 1},
                "per_page": {"type": "integer", "description": "The number of results per page (at most 100).", "maximum": 100}}},
            **({"annotations": {"readOnlyHint": True}} if verb in ("get", "list", "find", "check", "compare") else {})}
tools = [tool(verb, noun) for verb in VERBS for noun in NOUNS]
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m: continue
    result = {"server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}, "tools/list": {"tools": tools},
              "tools/call": {"content": [{"type": "text", "text": "called " + m["params"].get("name", "")}]}}[m["method"]]
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": {"resultType": "complete", **result}}), flush=True)
''' % (VERBS, NOUNS)


class Service(http.server.BaseHTTPRequestHandler):
    """A chat completions service that answers with the next of `answers`: a text, or (name of a tool, arguments)."""
    answers, requests = [], []

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        request = json.loads(body)
        self.requests.append((len(body), request))
        answer = self.answers.pop(0)
        message = {"role": "assistant", "content": answer}
        if not isinstance(answer, str):
            name = next((tool["function"]["name"] for tool in request["tools"] if tool["function"]["name"].replace("_", ".") == answer[0].replace("_", ".")), answer[0])
            call = {"id": "c%d" % len(self.requests), "type": "function", "function": {"name": name, "arguments": json.dumps(answer[1])}}
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
        done = json.dumps({"id": "1", "object": "chat.completion", "model": "m", "choices": [
            {"index": 0, "message": message, "finish_reason": "stop" if isinstance(answer, str) else "tool_calls"}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(done)))
        self.end_headers()
        self.wfile.write(done)

    def log_message(self, *arguments):
        pass


SERVICE = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
threading.Thread(target=SERVICE.serve_forever, daemon=True).start()


def prepare(tools):
    with open("hub.py", "w") as file:
        file.write(SERVER)
    config = {"plugins": {"config": {"tenon.mcp": {"servers": {"hub": {"command": [sys.executable, "hub.py"]}}}}},
              "models": {"default": {"provider": "openai", "model": "m", "base_url": "http://127.0.0.1:%d/v1" % SERVICE.server_address[1], "api_key": "k", "stream": False}},
              "store": {"use": "sqlite", "path": "./s.db"}}
    with open("tenon.yaml", "w") as file:
        json.dump(config, file)
    node = {"id": "a", "type": "agent", "config": {"messages_key": "messages", "tools": tools}}
    with open("agent.yaml", "w") as file:
        json.dump({"version": "1.0", "channels": [{"name": "messages", "type": "reduce", "reducer": "messages"}], "nodes": [node],
                   "edges": [{"from": "START", "to": "a"}, {"from": "a", "to": "END"}]}, file)


def run(tools, answers, *options):
    """Runs an agent with this `tools`. Returns the result and the requests: their size, and the names of their tools."""
    prepare(tools)
    Service.answers[:], Service.requests[:] = answers, []
    result = tenon("run", "agent.yaml", *(options or ("--input", '{"messages": [{"type": "user", "content": "go"}]}')))
    return result, [(size, [tool["function"]["name"] for tool in request.get("tools", [])]) for size, request in Service.requests]


def plain(names):
    return [name.replace("tool_search", "tool.search").replace("hub_", "hub.") for name in names]


def test_bytes_of_a_request():
    result, before = run(["hub.*"], ["done"])
    check(result.code == 0 and len(before[0][1]) == 1000, "all tools", result.err, result.out, before and len(before[0][1]))
    answers = [("tool.search", {"query": "create a new issue"}), ("hub.list_issue", {"owner": "o", "repo": "r"}), "done"]
    result, after = run({"search": True}, answers)
    check(result.code == 0, "it runs", result.err, result.out)
    check(plain(after[0][1]) == ["tool.search"], "only the search", after[0])
    check(len(after[1][1]) == 6 and "hub.create_issue" in plain(after[1][1])[1:2], "the tools found, the best first", after[1], result.out, Service.requests[1])
    check("called list_issue" in result.out, "a tool that was not loaded can be called", result.out)
    check(plain(after[2][1])[:6] == plain(after[1][1]) and plain(after[2][1])[-1] in ("hub.list_issue", *plain(after[1][1])), "what was called is loaded", after[2])
    print("   bytes of a request: %d with all tools; %s with a search" % (before[0][0], ", ".join(str(size) for size, _ in after)))
    check(after[2][0] * 50 < before[0][0], "fewer bytes", before[0][0], after)


def test_resumed_run_offers_the_same_tools():
    """create_issue needs an approval: the run goes on in another process."""
    answers = [("tool.search", {"query": "create issue", "limit": 3}), ("hub.create_issue", {"owner": "o", "repo": "r"})]
    start = ("--thread", "t", "--input", '{"messages": [{"type": "user", "content": "go"}]}')
    result, first = run({"search": True}, answers, *start)
    check(result.code == 5, "it waits for the approval", result.code, result.err, result.out)
    question = json.loads(tenon("thread", "show", "t", "--json").out)["interrupts"][0]
    check("declares nothing" in json.dumps(question), "the question", question)
    result, second = run({"search": True}, ["done"], "--thread", "t", "--resume", "--answer", question["id"] + "=yes")
    check(result.code == 0 and "called create_issue" in result.out, "the call", result.err, result.out)
    check(second[0][1] == first[1][1] and len(second[0][1]) == 4, "the same tools", first, second)
    result = tenon("replay", "t", "--document", "agent.yaml")
    check(result.code == 0, "a replay", result.err, result.out)


def test_limits():
    allowed = {"search": True, "names": ["hub.list_*"], "always": ["hub.get_tag"], "max_found": 2, "max_loaded": 3}
    answers = [("tool.search", {"query": "create issue"}), ("tool.search", {"query": "webhooks"}), ("tool.search", {"query": "..."}),
               ("tool.search", {"query": "xylophone"}), ("hub.create_issue", {"owner": "o", "repo": "r"}), "done"]
    result, requests = run(allowed, answers)
    check(result.code == 0, "it runs", result.err, result.out)
    names = [plain(names) for _, names in requests]
    check(names[0] == ["hub.get_tag", "tool.search"], "always", names[0])
    check(len(names[1]) == 3 and "hub.list_issue" in names[1] and all("create" not in name for name in names[1]), "only allowed tools are found", names[1])
    check(len(names[2]) <= 5 and "hub.list_webhook" in names[2], "at most three are loaded", names[2])
    contents = [message["content"] for message in json.loads(result.out)["messages"] if message["type"] == "tool"]
    check("INVALID_INPUT" in contents[2] and "no tool contains" in contents[3], "a query without words, and without a match", contents)
    check(contents[4].startswith("TOOL_NOT_FOUND"), "a tool that is not allowed", contents[4])


def test_check():
    for tools, word in (({"search": True, "nams": []}, "nams"), ({"names": ["hub.*"]}, "search"), ({"search": True, "names": ["hub.nothing"]}, "hub.nothing")):
        prepare(tools)
        tenon("tool", "show", "hub.get_tag")
        result = tenon("check", "agent.yaml")
        check(result.code != 0 and word in result.err, "a mistake is found", tools, result.err)
    prepare({"search": True})
    result = tenon("check", "agent.yaml")
    check(result.code == 0, "no mistake", result.err)


def before():
    os.environ["XDG_CACHE_HOME"] = os.path.abspath("cache")
    for name in ("s.db", "s.db-wal", "s.db-shm"):
        if os.path.exists(name):
            os.unlink(name)
    shutil.rmtree("cache", ignore_errors=True)


if __name__ == "__main__":
    run_tests(globals(), before=before)
