// clients.mjs ADDRESS KEY: the SDK of A2A for JavaScript, with each binding of 1.0 and with JSON-RPC of 0.3.
import assert from "node:assert";
import { once } from "node:events";
import { createServer } from "node:http";
import { Role, TaskState } from "@a2a-js/sdk";
import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory } from "@a2a-js/sdk/client";

const [address, key] = process.argv.slice(2);

function message(messageId, more = {}) {
    const parts = [{ content: { $case: "text", value: "Hello" }, metadata: undefined, filename: "", mediaType: "" }];
    return {
        tenant: "",
        message: { messageId, contextId: "", taskId: "", role: Role.ROLE_USER, parts, metadata: undefined, extensions: [], referenceTaskIds: [], ...more },
        configuration: undefined,
        metadata: undefined,
    };
}

// A configuration of push notifications is created, read, listed and deleted, and used.
async function notifications(client, version) {
    const waits = await client.sendMessage(message("tck-input-required"));
    const received = [];
    const server = createServer((request, response) => {
        let text = "";
        request.on("data", part => (text += part)).on("end", () => {
            received.push({ headers: request.headers, body: JSON.parse(text) });
            response.end();
            server.emit("received");
        });
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const given = {
        tenant: "", id: "one", taskId: waits.id, url: `http://127.0.0.1:${server.address().port}/`, token: "t",
        authentication: { scheme: "Bearer", credentials: "c" },
    };
    const one = { tenant: "", taskId: waits.id, id: "one" };
    const made = await client.createTaskPushNotificationConfig(given);
    assert.deepEqual([made.id, made.taskId, made.url, made.token], ["one", waits.id, given.url, "t"]);
    assert.deepEqual(await client.getTaskPushNotificationConfig(one), made);
    const list = { tenant: "", taskId: waits.id, pageSize: 0, pageToken: "" };
    assert.deepEqual((await client.listTaskPushNotificationConfig(list)).configs, [made]);
    await client.sendMessage(message("tck-complete-task", { taskId: waits.id }));
    while (received.length < (version === "1.0" ? 3 : 2)) await once(server, "received");
    const last = received.at(-1);
    assert.equal(last.headers.authorization, "Bearer c");
    if (version === "1.0") assert.equal(last.body.statusUpdate.status.state, "TASK_STATE_COMPLETED");
    else assert.equal(last.body.status.state, "completed");
    await client.deleteTaskPushNotificationConfig(one);
    assert.deepEqual((await client.listTaskPushNotificationConfig(list)).configs, []);
    server.close();
    server.closeAllConnections();
}

// A client that has lost its stream subscribes to the task: first the task as it is, then what changes.
async function again(client) {
    let id;
    for await (const event of client.sendMessageStream(message("test-steps"))) {
        if (event.payload.$case === "artifactUpdate") break;
        if (event.payload.$case === "task") id = event.payload.value.id;
    }
    const events = [];
    for await (const event of client.resubscribeTask({ tenant: "", id })) events.push(event.payload);
    assert.deepEqual(events.map(event => event.$case), ["task", "artifactUpdate", "statusUpdate"]);
    assert.deepEqual(events[0].value.artifacts[0].parts.map(part => part.content.value), ["chunk-1 "]);
    assert.deepEqual(events[1].value.artifact.parts.map(part => part.content.value), ["chunk-2"]);
}

async function conversation(binding, version) {
    const fetchImpl = (url, options = {}) => {
        const headers = new Headers(options.headers);
        headers.set("Authorization", `Bearer ${key}`);
        return fetch(url, { ...options, headers });
    };
    const legacyCompat = { enabled: true };
    const cards = new DefaultAgentCardResolver({
        legacyCompat,
        fetchImpl: (url, options) => fetchImpl(url, version === "1.0" ? options : { ...options, headers: {} }),
    });
    const card = await cards.resolve(address);
    card.supportedInterfaces = card.supportedInterfaces.filter(
        one => one.protocolBinding === binding && one.protocolVersion === version);
    assert.equal(card.supportedInterfaces.length, 1);
    const factory = new ClientFactory({
        transports: [new JsonRpcTransportFactory({ fetchImpl, legacyCompat }), new RestTransportFactory({ fetchImpl })],
    });
    const client = await factory.createFromAgentCard(card);
    const kinds = [];
    let task;
    for await (const event of client.sendMessageStream(message("tck-stream-artifact-chunked"))) {
        kinds.push(event.payload.$case);
        if (event.payload.$case === "task") task = event.payload.value;
        if (event.payload.$case === "statusUpdate")
            assert.equal(event.payload.value.status.state, TaskState.TASK_STATE_COMPLETED);
    }
    assert.deepEqual(kinds, ["task", "artifactUpdate", "artifactUpdate", "statusUpdate"]);
    task = await client.getTask({ tenant: "", id: task.id });
    assert.deepEqual(task.artifacts[0].parts.map(part => part.content.value), ["chunk-1 ", "chunk-2"]);
    const asks = await client.sendMessage(message("tck-input-required"));
    assert.equal(asks.status.state, TaskState.TASK_STATE_INPUT_REQUIRED);
    const done = await client.sendMessage(message("tck-complete-task", { taskId: asks.id, contextId: asks.contextId }));
    assert.equal(done.status.state, TaskState.TASK_STATE_COMPLETED);
    assert.equal(done.artifacts[0].parts[0].content.value, "Hello from TCK");
    const waits = await client.sendMessage(message("tck-input-required"));
    const cancelled = await client.cancelTask({ tenant: "", id: waits.id, metadata: undefined });
    assert.equal(cancelled.status.state, TaskState.TASK_STATE_CANCELED);
    const direct = await client.sendMessage(message("tck-message-response"));
    assert.equal(direct.parts[0].content.value, "Direct message response");
    await assert.rejects(client.getTask({ tenant: "", id: "unknown" }), /not found/i);
    await notifications(client, version);
    console.log("ok", binding, version);
    return again(client);
}

await Promise.all([conversation("JSONRPC", "1.0"), conversation("HTTP+JSON", "1.0"), conversation("JSONRPC", "0.3")]);
