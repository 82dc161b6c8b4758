"""wanted.py: which servers a command starts and waits for. A server that was started has written a line to its log."""
import json
import os
import shutil
import subprocess
import sys

from harness import DOCUMENT, TENON, call, check, configure, scripted_server, run_tests, tenon

SILENT = {"command": [sys.executable, "-c", "import time; open('silent', 'w').close(); time.sleep(3600)"], "connect_timeout_ms": 600000}


def prepare(tools, **servers):
    """A server that never answers, and would delay each command for longer than the test runs, and `fs`."""
    configure({"silent": SILENT, "fs": scripted_server("modern", log="fs"), **servers})
    with open("call.yaml", "w") as file:
        file.write(DOCUMENT.replace('tools: ["*"]', "tools: %s" % json.dumps(tools)))


def started():
    return sorted(name for name in ("silent", "fs", "other") if os.path.exists(name))


def test_a_run_starts_only_servers_of_its_tools():
    for tools in (["fs.*"], ["fs.echo"], ["fs.e*"]):
        before()
        prepare(tools)
        result = call(("fs.echo", {"text": "x"}))
        check(result.contents == ["x"], "the call", result.contents, result.err)
        check(started() == ["fs"], "only the server that is wanted", started())
    before()
    prepare(["*"])
    with open("call.yaml", "a") as file:
        file.write("tools: [{name: 'fs.*'}]\n")
    result = call(("fs.echo", {"text": "x"}))
    check(result.contents == ["x"] and started() == ["fs"], "the document's list limits the pattern", started(), result.contents, result.err)


def test_tool_commands():
    prepare(["fs.*"])
    result = tenon("tool", "list", "fs.*", "--json")
    names = [tool["tool_name"] for tool in json.loads(result.out)]
    check("fs.echo" in names and all(name.startswith("fs.") for name in names), "the pattern", names)
    check(started() == ["fs"], "tool list PATTERN", started())
    check("fs.echo" in tenon("tool", "show", "fs.echo").out and started() == ["fs"], "tool show", started())
    check(tenon("tool", "call", "fs.echo", '{"text": "x"}', "--yes").out == "x\n" and started() == ["fs"], "tool call", started())
    check("no tool matches" in tenon("tool", "list", "nothing.*").err, "a pattern without a tool")


def test_check_starts_nothing():
    prepare(["fs.echo", "silent.x"])
    result = tenon("check", "call.yaml")
    check(result.code == 0 and started() == [], "nothing is known, nothing is started", result.err, started())
    check("the tool `fs.echo` is not checked" in result.err, "it says so", result.err)
    tenon("tool", "list", "fs.*")
    os.unlink("fs")
    prepare(["fs.echo"])
    result = tenon("check", "call.yaml")
    check(result.code == 0 and "not checked" not in result.err, "the tool is known", result.err)
    prepare(["fs.ecko"])
    result = tenon("check", "call.yaml")
    check(result.code == 3 and "fs.ecko" in result.err and "fs.echo" in result.err, "a wrong name of a known server", result.code, result.err)
    check(started() == [], "nothing is started", started())
    kept = [os.path.join("cache/tenon/mcp", name) for name in os.listdir("cache/tenon/mcp")]
    check(len(kept) == 1 and os.stat(kept[0]).st_mode & 0o777 == 0o600, "one file, mode 0600", kept)
    for text in ("", "{", "[]", '{"format": 1, "tools": [5, null, {}]}', '{"format": 2, "tools": []}'):
        with open(kept[0], "w") as file:
            file.write(text)
        result = tenon("check", "call.yaml")
        check(result.code in (0, 3) and started() == [], "a damaged file", text, result.code, result.err)


# In the sandbox of an isolated plugin, programs can be started, but hardly any file is readable.
DICE = r'''
answer() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
while read -r line; do
    id=${line#*\"id\":} id=${id%%[,\}]*}
    case "$line" in
    *\"initialize\"*) answer '"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"d","version":"1"}}' ;;
    *tools/list*) answer '"result":{"tools":[{"name":"roll","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"}}]}' ;;
    *tools/call*) answer '"result":{"content":[{"type":"text","text":"6"}]}' ;;
    *\"id\":*) answer '"error":{"code":-32601,"message":"no"}' ;;
    esac
done
'''


def test_an_isolated_plugin():
    """Its process starts only what the host looks for: `ends` would be reported, and `silent` be waited for."""
    servers = {"dice": {"command": ["sh", "-c", DICE]}, "ends": {"command": ["false"]},
               "silent": {"command": ["sleep", "3600"], "connect_timeout_ms": 600000}}
    with open("tenon.yaml", "w") as file:
        json.dump({"plugins": {"isolation": {"tenon.mcp": "process"}, "config": {"tenon.mcp": {"servers": servers}}}}, file)
    with open("call.yaml", "w") as file:
        file.write(DOCUMENT.replace('"*"', '"dice.*"', 1))
    result = tenon("check", "call.yaml")
    check(result.code == 0 and "server `" not in result.err, "check starts nothing", result.err)
    for result in (call("dice.roll"), tenon("tool", "list", "dice.*"), tenon("tool", "call", "dice.roll"), tenon("tool", "show", "dice.roll")):
        check(result.code == 0 and "6" in result.out + "".join(result.contents) or "dice.roll" in result.out, "the tool", result.out, result.err)
        check("server `ends`" not in result.err, "no other server is started", result.err)
    host = subprocess.Popen([TENON, "serve", "--socket", "socket"], stderr=subprocess.PIPE, text=True)
    try:
        check("listening" in host.stderr.readline(), "a host that runs")
        result = tenon("tool", "list", "dice.*", "--connect", "socket")
        check("dice.roll" in result.out, "its list waits for what matches, and for nothing else", result.out, result.err)
    finally:
        host.terminate()
        host.communicate()
    result = tenon("tool", "list", "ends.*")
    check("server `ends`" in result.err and "no tool matches" in result.err, "the other one, if it is wanted", result.err)
    servers.pop("silent")
    with open("tenon.yaml", "w") as file:
        json.dump({"plugins": {"isolation": {"tenon.mcp": "process"}, "config": {"tenon.mcp": {"servers": servers}}}}, file)
    result = tenon("tool", "call", "mcp.servers", "--yes")
    states = {server["name"]: server["state"] for server in json.loads(result.out)["servers"]}
    check(states == {"dice": "ready", "ends": "failed"}, "the states of all", states, result.err)


def test_states():
    """mcp.servers starts all servers, and waits for them."""
    configure({"fs": scripted_server("modern", log="fs"), "other": scripted_server("legacy", log="other"), "exits": scripted_server("legacy", "exits")})
    result = tenon("tool", "call", "mcp.servers", "--yes")
    states = {server["name"]: server["state"] for server in json.loads(result.out)["servers"]}
    check(states == {"fs": "ready", "other": "ready", "exits": "failed"}, "the states", states, result.err)


def test_tools_without_annotations():
    """The server declares nothing about most of its tools: their effects are unknown, which `unannotated` changes."""
    for how, effect, approval in ((None, "unknown:fs", "ask"), ("ask", "unknown:fs", "ask"), ("auto", "mcp.write", "auto"), ("deny", None, None)):
        configure({"fs": scripted_server("modern", log="fs", resources=False, **({"unannotated": how} if how else {}))})
        tools = {tool["tool_name"]: tool for tool in json.loads(tenon("tool", "list", "fs.*", "--json").out)}
        check("fs.echo" in tools and "mcp.write" not in tools["fs.echo"]["effects"], "an annotated tool", tools)
        if not how == "deny":
            check(effect in tools["fs.environment"]["effects"] and tools["fs.environment"]["approval"] == approval, how, tools["fs.environment"])
            check("destructive" not in tools["fs.environment"]["effects"], "not destructive", tools["fs.environment"])
        else:
            check(set(tools) == {"fs.echo"}, "deny leaves them out", tools)
    configure({"fs": scripted_server("modern", log="fs")})
    check("the server `fs` declares nothing about them" in tenon("tool", "show", "fs.environment").out, "the reason")
    check("the server `fs` declares nothing about them" in tenon("tool", "call", "fs.environment").err, "the question")
    configure({"fs": scripted_server("modern", log="fs")}, tools={"approval": {"effect:unknown:fs": "auto"}})
    check("none" in tenon("tool", "call", "fs.environment").out, "a rule of the operator")
    configure({"fs": scripted_server("modern", log="fs")}, tools={"approval": {"effect:unknown": "deny"}})
    check(tenon("tool", "call", "fs.environment", "--yes").code != 0, "a rule for every server")


def before():
    for name in ("silent", "fs", "other", "log"):
        if os.path.exists(name):
            os.unlink(name)
    shutil.rmtree("cache", ignore_errors=True)
    os.environ["XDG_CACHE_HOME"] = os.path.abspath("cache")


if __name__ == "__main__":
    run_tests(globals(), before=before)
