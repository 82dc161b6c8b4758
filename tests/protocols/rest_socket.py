"""The WebSocket of plugins/rest_server, with python-websockets: rest_socket.py ADDRESS KEY KEY_OF_ANOTHER_USER."""

import asyncio
import json
import sys

import websockets

address, key, other = sys.argv[1:4]


def expect(found, expected, what):
    if found != expected:
        sys.exit(f"{what}: found {found!r}, expected {expected!r}")


class Client:
    def __init__(self, socket):
        self.socket, self.last, self.events = socket, 0, []

    async def read(self):
        return json.loads(await asyncio.wait_for(self.socket.recv(), 30))

    async def send(self, method, params=None, **more):
        message = {"jsonrpc": "2.0", "method": method, **more}
        if params is not None:
            message["params"] = params
        await self.socket.send(json.dumps(message))

    async def answer(self):
        """The next response; events before it are kept."""
        while True:
            message = await self.read()
            if "id" in message:
                return message
            self.events.append(message)

    async def call(self, method, params=None):
        self.last += 1
        await self.send(method, params, id=self.last)
        answer = await self.answer()
        expect(answer["id"], self.last, "the id of the response")
        return answer["result"] if "result" in answer else answer["error"]

    async def event(self):
        return self.events.pop(0) if self.events else await self.read()


def connect(key):
    return websockets.connect(
        address.replace("http", "ws") + "/rpc", additional_headers={"authorization": "Bearer " + key}, max_size=None
    )


async def malformed(client):
    for text, number in (("{", -32700), ("[]", -32600), ('{"id": 1}', -32600)):
        await client.socket.send(text)
        expect((await client.answer())["error"]["code"], number, text)
    expect((await client.call("no/such"))["code"], -32601, "an unknown method")
    expect((await client.call("run/get"))["data"]["code"], "INVALID_INPUT", "no parameters")
    for method, params, code in (
        ("run/subscribe", {"run_id": "nothing"}, "NOT_FOUND"),
        ("run/subscribe", {"run_id": "nothing", "credit": 0}, "NOT_FOUND"),
        ("run/subscribe", {}, "INVALID_INPUT"),
        ("run/subscribe", {"run_id": "x", "credit": -1}, "INVALID_INPUT"),
        ("run/subscribe", {"run_id": "x", "credit": 1000001}, "INVALID_INPUT"),
        ("event/subscribe", {"events": ["no"]}, "INVALID_INPUT"),
        ("event/subscribe", {"events": ["run/ended"], "run_id": "x"}, "INVALID_INPUT"),
        ("event/grant", {"subscription": 1, "credit": 1}, "NOT_FOUND"),
        ("event/unsubscribe", {"subscription": 1}, "NOT_FOUND"),
        ("event/nothing", {}, "NOT_FOUND"),
    ):
        expect((await client.call(method, params))["data"]["code"], code, f"{method} {params}")


async def credit(client):
    given = {"document": "graph:weather", "input": {"messages": [{"type": "user", "content": "Hello"}]}}
    run = (await client.call("run/start", given))["run_id"]
    await client.call("run/wait", {"run_id": run})
    number = (await client.call("run/subscribe", {"run_id": run, "after": 0, "credit": 0}))["subscription"]
    expect((await client.call("event/grant", {"subscription": number, "credit": 1000001}))["code"], -32000, "a grant")
    for position in (1, 2):
        expect(client.events, [], "events without credit")
        await client.call("event/grant", {"subscription": number, "credit": 1})
        event = await client.event()
        expect((event["method"], event["params"]["seq"]), ("run/event", position), "an event")
        expect(event["params"]["subscription"], number, "its subscription")
        await client.call("host/info")
    await client.call("event/grant", {"subscription": number, "credit": 100})
    while (event := await client.event())["method"] != "run/ended":
        pass
    expect(event["params"]["status"], "done", "the end")
    expect((await client.call("event/unsubscribe", {"subscription": number}))["code"], -32000, "it has ended")
    return run


async def cancel(client, run):
    given = {"document": "graph:slow", "input": {"messages": [{"type": "user", "content": "Hello"}]}}
    run = (await client.call("run/start", given))["run_id"]
    await client.send("run/wait", {"run_id": run}, id="wait")
    await client.send("$/cancelRequest", {"id": "nothing"})
    await client.send("$/cancelRequest", {"id": "wait"})
    answer = await client.answer()
    expect((answer["id"], answer["error"]["data"]["code"]), ("wait", "CANCELLED"), "a request that was cancelled")
    number = (await client.call("event/subscribe", {"events": ["run/ended"]}))["subscription"]
    await client.call("run/cancel", {"run_id": run})
    event = await client.event()
    expect((event["method"], event["params"]["run_id"], event["params"]["subscription"]), ("run/ended", run, number), "")
    expect(await client.call("event/unsubscribe", {"subscription": number}), {}, "the end of a subscription")


async def limits(client):
    """257 requests that wait, and 257 subscriptions."""
    given = {"document": "graph:slow", "input": {"messages": [{"type": "user", "content": "Hello"}]}}
    run = (await client.call("run/start", given))["run_id"]
    for number in range(257):
        await client.send("run/wait", {"run_id": run}, id=f"wait {number}")
    answer = await client.answer()
    expect((answer["id"], answer["error"]["data"]["code"]), ("wait 256", "LIMIT"), "too many requests")
    await client.send("$/cancelRequest", {"id": "wait 0"})
    expect((await client.answer())["id"], "wait 0", "one that was cancelled")
    await client.call("run/cancel", {"run_id": run})
    for number in range(255):
        await client.answer()
    for number in range(256):
        await client.call("event/subscribe", {"events": ["run/ended"]})
    answer = await client.call("event/subscribe", {"events": ["run/ended"]})
    expect(answer["data"]["code"], "LIMIT", "too many subscriptions")


async def main():
    async with connect(key) as socket, connect(other) as stranger:
        client, another = Client(socket), Client(stranger)
        await malformed(client)
        run = await credit(client)
        expect((await another.call("run/subscribe", {"run_id": run}))["data"]["code"], "NOT_FOUND", "another user")
        await cancel(client, run)
        await socket.send(b"{}")
        await socket.wait_closed()
        expect(socket.close_code, 1003, "a message of bytes")
        await limits(another)


asyncio.run(main())
