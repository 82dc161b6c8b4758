"""python_sdk.py: servers of the SDK for Python, before and after 2.0, and three servers that are built with it.

They read their first request only after their imports, so that server/discover and initialize may both wait for them
then. PYTHON_FOLDER is the virtual environment, and the folder PYTHON_LEGACY has the SDK before 2.0.
"""
import os

from harness import call, call_with_answers, check, configure, run_tests, tenon

SERVER = '''
import sys, time
time.sleep(float(sys.argv[1]))
try:
    from mcp.server.mcpserver import MCPServer as Server, Context
except ImportError:
    from mcp.server.fastmcp import FastMCP as Server, Context
from pydantic import BaseModel

class Colour(BaseModel):
    colour: str

server = Server("colours")

@server.tool()
def add(a: int, b: int) -> int:
    """Adds."""
    return a + b

try:
    from typing import Annotated
    from mcp.server.mcpserver import Elicit, Resolve  # keeps its state in a sealed requestState

    def which() -> Elicit[Colour]:
        return Elicit("Which colour?", Colour)

    @server.tool()
    async def asks(answer: Annotated[Colour, Resolve(which)]) -> str:
        """Asks a person."""
        return answer.colour
except ImportError:
    @server.tool()
    async def asks(context: Context) -> str:
        """Asks a person."""
        answer = await context.elicit("Which colour?", Colour)
        return answer.data.colour if answer.action == "accept" else answer.action

server.run()
'''


FOLDER = os.environ["PYTHON_FOLDER"]


def program(name):
    return os.path.join(FOLDER, "bin", name)


def colours(kind, delay):
    """The server above, built with the SDK of the era."""
    legacy = {"env": {"PYTHONPATH": os.environ["PYTHON_LEGACY"]}} if kind == "legacy" else {}
    return {"command": [program("python3"), "server.py", delay], **legacy}


def test_slow_start():
    """2.5 s before the imports: the second request of the handshake is sent after 2 s."""
    write_server()
    configure({kind: colours(kind, "2.5") for kind in ("modern", "legacy")})
    result = call(("modern.add", {"a": 1, "b": 2}), ("legacy.add", {"a": 3, "b": 4}), "mcp.servers")
    about = {server["name"]: server for server in result.json(2)["servers"]}
    check(about["modern"]["protocol"] == "2026-07-28" and about["legacy"]["protocol"] == "2025-11-25", "versions", about, result.err)
    check(result.json(0) == {"result": 3} and result.json(1) == {"result": 7}, "results", result.contents, result.err)
    check("tenon: error" not in result.err, "no error", result.err)


def write_server():
    with open("server.py", "w") as file:
        file.write(SERVER)


def test_questions_across_processes():
    """With another process comes another server: one of the newer era has another key then, and refuses the state."""
    write_server()
    for kind in ("modern", "legacy"):
        configure({kind: colours(kind, "0")})
        result = call_with_answers(kind + ".asks", [{"colour": "red"}])
        check("red" in str(result.contents), "the answer in another process: " + kind, result.contents, result.err)


def test_servers():
    names = {"time": "time.get_current_time", "fetch": "fetch.fetch", "git": "git.git_status"}
    configure({name: {"command": [program("mcp-server-" + name)]} for name in names})
    result = tenon("tool", "list")
    for name in names.values():
        check(name in result.out, "a tool of a server", name, result.out, result.err)
    check("tenon: error" not in result.err, "no error", result.err)
    result = tenon("tool", "call", "time.get_current_time", '{"timezone": "Asia/Tokyo"}', "--yes")
    check("Asia/Tokyo" in result.out, "a call", result.out, result.err)


if __name__ == "__main__":
    run_tests(globals())
