"""sdk.py ADDRESS KEY: the SDK of A2A for Python, with each binding of 1.0 and with JSON-RPC of 0.3."""
import asyncio
import sys

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import Message, Part, Role, SendMessageRequest, TaskState, GetTaskRequest, CancelTaskRequest, SubscribeToTaskRequest, ListTasksRequest

address, key = sys.argv[1:3]


def message(name, text="Hello", **more):
    return SendMessageRequest(message=Message(role=Role.ROLE_USER, message_id=name, parts=[Part(text=text)], **more))


async def conversation(card, http, binding, version):
    card = type(card).FromString(card.SerializeToString())
    kept = [i for i in card.supported_interfaces if i.protocol_binding == binding and i.protocol_version == version]
    del card.supported_interfaces[:]
    card.supported_interfaces.extend(kept)
    assert len(kept) == 1, (binding, version)
    for streaming in (True, False):
        config = ClientConfig(httpx_client=http, streaming=streaming, supported_protocol_bindings=[binding])
        client = ClientFactory(config).create(card)
        events = [event async for event in client.send_message(message("tck-stream-artifact-chunked"))]
        if streaming:
            kinds = [event.WhichOneof("payload") for event in events]
            assert kinds == ["task", "artifact_update", "artifact_update", "status_update"], kinds
            assert events[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED
            texts = [event.artifact_update.artifact.parts[0].text for event in events[1:3]]
            assert texts == ["chunk-1 ", "chunk-2"] and events[2].artifact_update.last_chunk, events
            task_id = events[0].task.id
        else:
            task_id = events[-1].task.id
        task = await client.get_task(GetTaskRequest(id=task_id))
        assert [part.text for part in task.artifacts[0].parts] == ["chunk-1 ", "chunk-2"], task
        events = [event async for event in client.send_message(message("tck-input-required"))]
        first = events[0].task
        last = events[-1]
        status = last.status_update.status if streaming else last.task.status
        assert status.state == TaskState.TASK_STATE_INPUT_REQUIRED, last
        assert status.message.parts[0].text == "What else do you need?", status
        events = [event async for event in client.send_message(message("tck-complete-task", task_id=first.id))]
        task = await client.get_task(GetTaskRequest(id=first.id))
        assert task.status.state == TaskState.TASK_STATE_COMPLETED and len(task.history) == 3, task
        assert task.artifacts[0].parts[0].text == "Hello from TCK", task
        events = [event async for event in client.send_message(message("tck-input-required"))]
        task = await client.cancel_task(CancelTaskRequest(id=events[0].task.id))
        assert task.status.state == TaskState.TASK_STATE_CANCELED, task
        if version == "1.0":
            tasks = await client.list_tasks(ListTasksRequest(context_id=first.context_id))
            assert [listed.id for listed in tasks.tasks] == [first.id], tasks
        try:
            await client.get_task(GetTaskRequest(id="unknown"))
            raise AssertionError("a task that does not exist was found")
        except Exception as error:
            assert "not found" in str(error).lower(), repr(error)
    print("ok", binding, version)


async def main():
    async with httpx.AsyncClient(headers={"Authorization": "Bearer " + key}, timeout=30) as http:
        card = await A2ACardResolver(http, address).get_agent_card()
        await conversation(card, http, "JSONRPC", "1.0")
        await conversation(card, http, "HTTP+JSON", "1.0")
        await conversation(card, http, "JSONRPC", "0.3")


asyncio.run(main())
