// The SDK of LangGraph for JavaScript against `tenon serve`: node clients.mjs URL KEY
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [, , apiUrl, apiKey, modules] = process.argv;
const { Client } = await import(pathToFileURL(createRequire(modules + "/").resolve("@langchain/langgraph-sdk")).href);
const client = new Client({ apiUrl, apiKey });

async function all(stream) {
    const events = [];
    for await (const part of stream) events.push(part);
    return events;
}
const names = (events) => events.map((event) => event.event);
const content = (values) => values.messages.map((message) => [message.type, message.content]);

const hello = { messages: [{ role: "user", content: "hi" }] };
const answered = [["human", "hi"], ["ai", "Hello there, friend."]];

// Assistants: by id and by the name of the graph.
const assistants = await client.assistants.search({ limit: 100 });
const chat = assistants.find((assistant) => assistant.graph_id === "chat");
assert.equal((await client.assistants.get(chat.assistant_id)).graph_id, "chat");
assert.equal((await client.assistants.getSchemas("chat")).graph_id, "chat");
await assert.rejects(client.assistants.get("absent"), /404/);

// A streamed run of a thread, and its state.
const thread = await client.threads.create({ metadata: { of: "js" } });
let created;
const events = await all(
    client.runs.stream(thread.thread_id, chat.assistant_id, {
        input: hello,
        streamMode: ["values", "updates", "messages", "messages-tuple"],
        onRunCreated: (run) => { created = run; },
    })
);
assert.deepEqual([...new Set(names(events))], [
    "metadata", "values", "messages/metadata", "messages/partial", "messages", "updates", "messages/complete",
]);
assert.equal(created.thread_id, thread.thread_id);
assert.equal(created.run_id, events[0].data.run_id);
const chunks = events.filter((event) => event.event === "messages").map((event) => event.data[0]);
assert.equal(chunks.map((chunk) => chunk.content).join(""), "Hello there, friend.");
assert.equal(new Set(chunks.map((chunk) => chunk.id)).size, 1);
assert.deepEqual(content(events.findLast((event) => event.event === "values").data), answered);
const state = await client.threads.getState(thread.thread_id);
assert.deepEqual(content(state.values), answered);
assert.deepEqual(state.next, []);
const history = await client.threads.getHistory(thread.thread_id);
assert.deepEqual(history.map((point) => point.next), [[], ["chat"], ["__start__"]]);
assert.equal(history[0].parent_checkpoint.checkpoint_id, history[1].checkpoint.checkpoint_id);
const first = await client.threads.getState(thread.thread_id, history[1].checkpoint.checkpoint_id);
assert.deepEqual(content(first.values), answered.slice(0, 1));

// All events again, and those after one of them.
const again = await all(client.runs.joinStream(thread.thread_id, created.run_id, { lastEventId: "-1" }));
assert.deepEqual(again, events);
const rest = await all(client.runs.joinStream(thread.thread_id, created.run_id, { lastEventId: "3" }));
assert.deepEqual(rest, events.slice(3));

// An edited message: the first one again, from the state before it; and the same with a breakpoint.
const edited = await client.runs.wait(thread.thread_id, "chat", {
    input: { messages: [{ role: "user", content: "hello" }] }, checkpoint: history[1].parent_checkpoint,
});
assert.deepEqual(content(edited), [["human", "hello"], answered[1]]);
const branches = await client.threads.getHistory(thread.thread_id);
const fork = branches.find((point) => point.metadata.source === "fork");
assert.deepEqual(fork.parent_checkpoint, history[2].checkpoint);
const paused = await client.threads.create({ graphId: "steps" });
await client.runs.wait(paused.thread_id, "steps", { input: {}, interruptBefore: ["c"] });
assert.deepEqual((await client.threads.getState(paused.thread_id)).next, ["c"]);
await client.threads.updateState(paused.thread_id, { values: { trace: ["js"] }, asNode: "a" });
assert.deepEqual(await client.runs.wait(paused.thread_id, "steps", { input: null }), { trace: ["a", "b", "js", "b", "c"] });
const jump = await client.runs.wait(paused.thread_id, "steps", { command: { goto: "c", update: { trace: ["jump"] } } });
assert.deepEqual(jump.trace.slice(-2), ["jump", "c"]);
const mine = await client.assistants.create({ graphId: "steps", name: "mine", config: { recursion_limit: 2 } });
await assert.rejects(client.runs.wait(null, mine.assistant_id, { input: {} }), /RECURSION_LIMIT|limit/);
await client.assistants.delete(mine.assistant_id);

// Runs in the background: one after the other, or refused.
const slow = await client.threads.create();
const one = await client.runs.create(slow.thread_id, "slow", { input: { messages: [{ role: "user", content: "x" }] } });
const two = await client.runs.create(slow.thread_id, "slow", { input: { messages: [{ role: "user", content: "y" }] } });
assert.equal(two.status, "pending");
await assert.rejects(
    client.runs.create(slow.thread_id, "slow", { input: { messages: [] }, multitaskStrategy: "reject" }),
    /409/
);
await client.runs.cancel(slow.thread_id, one.run_id, true);
assert.equal((await client.runs.get(slow.thread_id, one.run_id)).status, "interrupted");
await client.runs.cancel(slow.thread_id, two.run_id, true);
assert.deepEqual((await client.runs.list(slow.thread_id)).map((run) => run.status), ["interrupted", "interrupted"]);

// A question and its answer.
const asks = await client.threads.create();
const asked = await client.runs.wait(asks.thread_id, "question", { input: { topic: "cats" } });
assert.match(asked.__interrupt__[0].value.question, /cats/);
assert.equal((await client.threads.get(asks.thread_id)).status, "interrupted");
assert.equal((await client.threads.getState(asks.thread_id)).tasks[0].interrupts.length, 1);
const resumed = await client.runs.wait(asks.thread_id, "question", { command: { resume: "children" } });
assert.deepEqual(resumed, { topic: "cats", readers: "children" });

// Runs without a thread, the store, and what is refused.
assert.deepEqual(content(await client.runs.wait(null, "chat", { input: hello })), answered);
await assert.rejects(client.runs.wait(null, "error", { input: hello }), /./);
await client.store.putItem(["js", "b"], "k", { v: 1 });
assert.deepEqual((await client.store.getItem(["js", "b"], "k")).value, { v: 1 });
assert.equal((await client.store.searchItems(["js"])).items.length, 1);
assert.deepEqual((await client.store.listNamespaces({ prefix: ["js"] })).namespaces, [["js", "b"]]);
await client.store.deleteItem(["js", "b"], "k");

// Crons. What they start is tested by crons.py.
const cron = await client.crons.create("chat", { schedule: "0 3 * * *", input: hello, metadata: { of: "js" } });
assert.match(cron.next_run_date, /T03:00:00/);
const bound = await client.crons.createForThread(thread.thread_id, "chat", { schedule: "27 15 * * *", input: hello });
assert.equal(bound.thread_id, thread.thread_id);
assert.deepEqual((await client.crons.search({ threadId: thread.thread_id })).map((one) => one.cron_id), [bound.cron_id]);
assert.equal(await client.crons.count({ threadId: thread.thread_id }), 1);
const changed = await client.crons.update(cron.cron_id, { schedule: "0 4 * * *", enabled: false });
assert.deepEqual([changed.schedule, changed.enabled, changed.metadata], ["0 4 * * *", false, { of: "js" }]);
for (const one of [cron, bound]) await client.crons.delete(one.cron_id);
assert.equal(await client.crons.count({ threadId: thread.thread_id }), 0);

const found = await client.threads.search({ metadata: { of: "js" } });
assert.deepEqual(found.map((each) => each.thread_id), [thread.thread_id]);
await client.threads.delete(thread.thread_id);
await assert.rejects(client.threads.get(thread.thread_id), /404/);
