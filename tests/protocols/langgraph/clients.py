"""The SDK of LangGraph for Python against `tenon serve`: clients.py URL KEY."""

import asyncio
import datetime
import sys
import zoneinfo

import httpx
from langgraph_sdk import get_client

HELLO = {"messages": [{"type": "human", "content": "hi"}]}
ANSWERED = [("human", "hi"), ("ai", "Hello there, friend.")]


def content(values):
    return [(message["type"], message["content"]) for message in values["messages"]]


async def events(stream):
    return [part async for part in stream]


async def main(url, key):
    client = get_client(url=url, api_key=key)
    names = {assistant["graph_id"] for assistant in await client.assistants.search(limit=100)}
    assert {"chat", "question"} <= names, names
    graph = await client.assistants.get_graph("chat")
    assert {node["id"] for node in graph["nodes"]} == {"__start__", "chat", "__end__"}, graph
    edges = [(edge["source"], edge["target"]) for edge in graph["edges"]]
    assert edges == [("__start__", "chat"), ("chat", "__end__")], graph

    thread = (await client.threads.create(metadata={"of": "python"}))["thread_id"]
    parts = await events(
        client.runs.stream(thread, "chat", input=HELLO, stream_mode=["values", "tasks", "checkpoints", "debug", "events"])
    )
    assert {part.event for part in parts} == {"metadata", "values", "tasks", "checkpoints", "debug", "events"}, parts
    assert [part.id for part in parts] == [str(number) for number in range(1, len(parts) + 1)]
    assert content(await client.runs.join(thread, parts[0].data["run_id"])) == ANSWERED

    updated = await client.threads.update_state(thread, {"messages": [{"role": "user", "content": "more"}]})
    state = await client.threads.get_state(thread)
    assert state["checkpoint"]["checkpoint_id"] == updated["checkpoint"]["checkpoint_id"], (state, updated)
    assert content(state["values"]) == [*ANSWERED, ("human", "more")], state
    copied = await client.threads.copy(thread)
    assert content((await client.threads.get_state(copied["thread_id"]))["values"]) == content(state["values"])

    failed = await client.runs.wait((await client.threads.create())["thread_id"], "error", input=HELLO, raise_error=False)
    assert failed["__error__"]["error"], failed
    batch = await client.runs.create_batch([{"assistant_id": "chat", "input": HELLO}] * 2)
    assert len({run["run_id"] for run in batch}) == 2, batch
    assert await client.threads.count(metadata={"of": "python"}) >= 1
    await client.threads.update(thread, metadata={"more": True})
    assert (await client.threads.get(thread))["metadata"]["more"] is True

    try:  # webhooks.py tests a server whose operator has allowed addresses
        await client.runs.create(thread, "chat", input=HELLO, webhook="http://127.0.0.1:9/")
        raise AssertionError("a webhook without an allowed address")
    except httpx.HTTPStatusError as error:
        assert error.response.status_code == 501, error
    await crons(client, thread)


async def crons(client, thread):
    """What crons start is tested by crons.py."""
    end = datetime.datetime(2099, 1, 1, tzinfo=datetime.timezone.utc)
    zone = zoneinfo.ZoneInfo("Europe/Berlin")
    made = await client.crons.create("chat", schedule="0 3 * * *", input=HELLO, timezone=zone, end_time=end,
                                     metadata={"of": "python"}, on_run_completed="keep", stream_mode="values")
    assert (made["timezone"], made["on_run_completed"], made["enabled"]) == ("Europe/Berlin", "keep", True), made
    bound = await client.crons.create_for_thread(thread, "chat", schedule="27 15 * * *", input=HELLO, enabled=False)
    assert bound["thread_id"] == thread and bound["next_run_date"] is None, bound
    found = await client.crons.search(metadata={"of": "python"}, sort_by="next_run_date", sort_order="asc")
    assert [cron["cron_id"] for cron in found] == [made["cron_id"]], found
    found = await client.crons.search(assistant_id="chat", enabled=False, select=["cron_id", "payload"])
    assert found == [{"cron_id": bound["cron_id"], "payload": bound["payload"]}], found
    assert await client.crons.count(thread_id=thread) == 1 and await client.crons.count(assistant_id="chat") >= 2
    changed = await client.crons.update(made["cron_id"], schedule="0 10 * * *", end_time=None, enabled=True, timezone="UTC")
    assert (changed["schedule"], changed["end_time"], changed["timezone"]) == ("0 10 * * *", None, "UTC"), changed
    assert "T10:00:00" in changed["next_run_date"] and changed["metadata"] == {"of": "python"}, changed
    for cron in (made, bound):
        await client.crons.delete(cron["cron_id"])
    assert await client.crons.search(thread_id=thread) == []


asyncio.run(main(*sys.argv[1:]))
