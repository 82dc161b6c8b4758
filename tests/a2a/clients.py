"""clients.py ADDRESS KEY: the SDK of A2A for Python, with each binding of 1.0 and with JSON-RPC of 0.3."""
import asyncio
import sys

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import (
    AuthenticationInfo, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest, GetTaskRequest, ListTaskPushNotificationConfigsRequest, ListTasksRequest, Message, Part,
    Role, SendMessageRequest, StreamResponse, SubscribeToTaskRequest, TaskPushNotificationConfig, TaskState)
from google.protobuf import json_format
from wire import Hook

address, key = sys.argv[1:3]


def message(name, text="Hello", **more):
    return SendMessageRequest(message=Message(role=Role.ROLE_USER, message_id=name, parts=[Part(text=text)], **more))


def client_of(card, http, binding, version, streaming=True):
    """A client that can use only this interface of the card."""
    card = type(card).FromString(card.SerializeToString())
    kept = [i for i in card.supported_interfaces if i.protocol_binding == binding and i.protocol_version == version]
    del card.supported_interfaces[:]
    card.supported_interfaces.extend(kept)
    assert len(kept) == 1, (binding, version)
    config = ClientConfig(httpx_client=http, streaming=streaming, supported_protocol_bindings=[binding])
    return ClientFactory(config).create(card)


async def notifications(client, hook, path, version):
    """A configuration is created, read, listed, used and deleted."""
    events = [event async for event in client.send_message(message("tck-input-required"))]
    task = events[0].task.id
    authentication = AuthenticationInfo(scheme="Bearer", credentials="c")
    given = TaskPushNotificationConfig(task_id=task, id="one", url=hook.address + path, token="t", authentication=authentication)
    made = await client.create_task_push_notification_config(given)
    assert (made.task_id, made.id, made.url, made.token) == (task, "one", given.url, "t"), made
    assert made == await client.get_task_push_notification_config(GetTaskPushNotificationConfigRequest(task_id=task, id="one"))
    listed = await client.list_task_push_notification_configs(ListTaskPushNotificationConfigsRequest(task_id=task))
    assert list(listed.configs) == [made], listed
    [event async for event in client.send_message(message("tck-complete-task", task_id=task))]
    received = hook.wait(path, lambda all: len(all) == (3 if version == "1.0" else 2))
    if version == "1.0":
        updates = [json_format.ParseDict(body, StreamResponse()) for _, body in received]
        assert [update.WhichOneof("payload") for update in updates] == ["status_update", "artifact_update", "status_update"]
        assert updates[2].status_update.status.state == TaskState.TASK_STATE_COMPLETED, updates
    else:
        assert [body["status"]["state"] for _, body in received] == ["working", "completed"], received
    await client.delete_task_push_notification_config(DeleteTaskPushNotificationConfigRequest(task_id=task, id="one"))
    listed = await client.list_task_push_notification_configs(ListTaskPushNotificationConfigsRequest(task_id=task))
    assert not listed.configs, listed


async def again(client):
    """A client that has lost its stream subscribes to the task: first the task as it is, then what changes."""
    events = client.send_message(message("test-steps"))
    async for event in events:
        if event.HasField("artifact_update"):
            break
        task = event.task.id
    await events.aclose()
    events = [event async for event in client.subscribe(SubscribeToTaskRequest(id=task))]
    kinds = [event.WhichOneof("payload") for event in events]
    assert kinds == ["task", "artifact_update", "status_update"], kinds
    assert [part.text for part in events[0].task.artifacts[0].parts] == ["chunk-1 "], events[0]
    assert [part.text for part in events[1].artifact_update.artifact.parts] == ["chunk-2"], events[1]


async def conversation(card, http, hook, binding, version):
    for streaming in (True, False):
        client = client_of(card, http, binding, version, streaming)
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
    await notifications(client, hook, f"/{binding}/{version}", version)
    assert (await client.get_extended_agent_card(GetExtendedAgentCardRequest())).name == "tck"
    print("ok", binding, version)


async def main():
    hook = Hook()
    interfaces = [("JSONRPC", "1.0"), ("HTTP+JSON", "1.0"), ("JSONRPC", "0.3")]
    async with httpx.AsyncClient(headers={"Authorization": "Bearer " + key}, timeout=30) as http:
        card = await A2ACardResolver(http, address).get_agent_card()
        for binding, version in interfaces:
            await conversation(card, http, hook, binding, version)
        await asyncio.gather(*[again(client_of(card, http, *one)) for one in interfaces])


asyncio.run(main())
