// The AI SDK against a server: `node clients.mjs URL KEY MODULE`, with MODULE `ai6` or `ai7`.
import assert from "node:assert/strict";

const [url, key, module] = process.argv.slice(2);
const { AbstractChat, DefaultChatTransport, readUIMessageStream,
        lastAssistantMessageIsCompleteWithApprovalResponses, lastAssistantMessageIsCompleteWithToolCalls } = await import(module);
const headers = { authorization: `Bearer ${key}` };
const seven = module === "ai7", version = seven ? "&version=7" : "";
const run = `${module}-${process.pid}`;
let chats = 0;

// What `useChat` of a framework is, without a framework.
class Chat extends AbstractChat {
  constructor(options) {
    const state = {
      status: "ready", error: undefined, messages: options.messages ?? [],
      pushMessage(message) { this.messages = [...this.messages, message]; },
      popMessage() { this.messages = this.messages.slice(0, -1); },
      replaceMessage(index, message) { this.messages = this.messages.map((old, i) => (i === index ? structuredClone(message) : old)); },
      snapshot: value => structuredClone(value),
    };
    super({ ...options, state });
  }
}

const chat = (graph, { transport, ...options } = {}) => new Chat({
  id: `${run}-${++chats}`,
  transport: new DefaultChatTransport({ api: `${url}/api/chat/stream?graph=${graph}${version}`, headers, ...transport }),
  ...options,
});
const texts = message => message.parts.filter(part => part.type === "text").map(part => part.text).join("|");
const tools = message => message.parts.filter(part => part.type.startsWith("tool-"));
const until = async condition => { while (!condition()) await new Promise(resolve => setTimeout(resolve, 5)); };
const settled = async one => { await until(() => one.status === "ready" || one.status === "error"); if (one.error) throw one.error; };

const post = (body, graph = "chat", more = {}) =>
  fetch(`${url}/api/chat/stream?graph=${graph}`, { method: "POST", headers: { ...headers, "content-type": "application/json" }, body: typeof body === "string" ? body : JSON.stringify(body), ...more });
const user = (text, id = "u1") => ({ id, role: "user", parts: [{ type: "text", text }] });
// The chunks of a raw stream, with what the SDK does not check.
async function raw(response) {
  assert.equal(response.status, 200);
  for (const [name, value] of [["content-type", "text/event-stream"], ["cache-control", "no-cache"], ["x-vercel-ai-ui-message-stream", "v1"], ["x-accel-buffering", "no"], ["content-encoding", null]])
    assert.equal(response.headers.get(name), value, name);
  const events = (await response.text()).split("\n\n").filter(event => event && !event.startsWith(":"));
  assert.equal(events.pop(), "data: [DONE]");
  const chunks = events.map(event => { assert.match(event, /^data: \{[^\n]*\}$/); return JSON.parse(event.slice(6)); });
  assert.equal(chunks[0].type, "start");
  assert.ok(chunks[0].messageId);
  return chunks;
}

const cases = {
  async "the stream has headers, finish and [DONE], and every part that is opened is closed"() {
    for (const graph of ["chat", "tools", "approve", "ask", "client", "page", "text"]) {
      const chunks = await raw(await post({ id: `${run}-raw-${graph}`, messages: [user("I like pizza.")] }, graph));
      assert.equal(chunks.at(-1).type, "finish", graph);
      const open = new Set();
      for (const { type, id } of chunks) {
        if (/^(text|reasoning)-start$/.test(type)) open.add(id);
        if (/^(text|reasoning)-end$/.test(type)) assert.ok(open.delete(id));
        if (type === "finish-step") assert.equal(open.size, 0);
      }
      assert.equal(open.size, 0, graph);
      assert.equal(chunks.filter(chunk => chunk.type === "start-step").length, chunks.filter(chunk => chunk.type === "finish-step").length);
    }
  },
  async "readUIMessageStream accepts the stream"() {
    for (const graph of ["chat", "tools", "approve", "ask", "client", "page", "text"]) {
      const transport = new DefaultChatTransport({ api: `${url}/api/chat?graph=${graph}`, headers });
      const stream = await transport.sendMessages({ chatId: `${run}-read-${graph}`, trigger: "submit-message", messages: [user("I like pizza.")] });
      let error, message;
      for await (message of readUIMessageStream({ stream, onError: e => { error = e; }, terminateOnError: true }));
      if (error) throw error;
      assert.ok(message.parts.length, graph);
    }
  },
  async "a conversation"() {
    const one = chat("chat");
    await one.sendMessage({ text: "Hello" });
    await one.sendMessage({ text: "Again" });
    await settled(one);
    assert.deepEqual(one.messages.map(message => `${message.role} ${texts(message)}`), ["user Hello", "assistant 1: Hello", "user Again", "assistant 2: Again"]);
    assert.ok(one.messages[1].id !== one.messages[3].id);
    assert.ok(one.lastMessage.metadata.usage.totalTokens > 0);
  },
  async "an answer is made again, and a message is edited"() {
    const one = chat("chat");
    await one.sendMessage({ text: "Hello" });
    await one.sendMessage({ text: "Again" });
    await one.regenerate();
    await settled(one);
    assert.deepEqual(one.messages.map(texts), ["Hello", "1: Hello", "Again", "2: Again"]);
    await one.sendMessage({ text: "Edited", messageId: one.messages[0].id });
    await settled(one);
    assert.deepEqual(one.messages.map(texts), ["Hello", "Edited"].slice(1).concat("1: Edited"));
    await one.sendMessage({ text: "More" });
    assert.equal(texts(one.lastMessage), "2: More");
  },
  async "texts, reasoning, tools, sources, files and data"() {
    const data = [];
    const one = chat("tools", { onData: part => data.push(part.type) });
    await one.sendMessage({ text: "I like pizza." });
    await settled(one);
    assert.deepEqual(one.lastMessage.parts.map(part => part.type), ["data-progress", "step-start", "reasoning", "text", "tool-memory.put", "tool-memory.get", "step-start", "text", "source-url", "file", "data-artifact"]);
    for (const part of tools(one.lastMessage)) assert.equal(part.state, "output-available");
    assert.deepEqual(tools(one.lastMessage)[0].output.value, { likes: "pizza" });
    assert.equal(tools(one.lastMessage)[1].output, null);
    assert.deepEqual(one.lastMessage.parts.at(-1).data, { title: "Plan", kind: "text" });
    assert.deepEqual(data, ["data-progress", "data-artifact"]);
    assert.equal(lastAssistantMessageIsCompleteWithToolCalls({ messages: one.messages }), false);
  },
  async "an approval"() {
    for (const approved of [true, false]) {
      const one = chat("approve", { sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses });
      await one.sendMessage({ text: "I like pizza." });
      await settled(one);
      const [asked] = tools(one.lastMessage), { id } = one.lastMessage;
      assert.equal(asked.state, "approval-requested");
      assert.match(one.lastMessage.parts.find(part => part.type === "data-approval").data.why, /ask/);
      await one.addToolApprovalResponse({ id: asked.approval.id, approved });
      await until(() => tools(one.lastMessage)[0].state.startsWith("output-") && one.status !== "streaming" && one.status !== "submitted");
      await settled(one);
      assert.equal(one.messages.length, 2);
      assert.equal(one.lastMessage.id, id);
      assert.deepEqual(tools(one.lastMessage).map(part => part.state), [approved ? "output-available" : "output-denied"]);
      assert.equal(texts(one.lastMessage), "I note that.|Noted: you like pizza.");
    }
  },
  async "an approval counts only for the call that the person saw"() {
    const id = `${run}-other`, first = await raw(await post({ id, messages: [user("I like pizza.")] }, "approve"));
    const { toolCallId, approvalId } = first.find(chunk => chunk.type === "tool-approval-request"), { messageId } = first[0];
    const answer = input => ({ id: messageId, role: "assistant", parts: [{ type: "tool-memory.put", toolCallId, input, state: "approval-responded", approval: { id: approvalId, approved: true } }] });
    const other = await post({ id, messages: [user("I like pizza."), answer({ namespace: ["ada"], key: "food", value: {} })], messageId }, "approve");
    assert.equal(other.status, 409);
    assert.match(await other.text(), /waits for an answer/);
    await raw(await post({ id, messages: [user("I like pizza."), answer({ namespace: ["ada"], key: "food", value: { likes: "pizza" } })], messageId }, "approve"));
  },
  async "a message instead of an approval"() {
    const one = chat("approve");
    await one.sendMessage({ text: "I like pizza." });
    await one.sendMessage({ text: "No, I like tea." });
    await settled(one);
    assert.equal(tools(one.lastMessage)[0].state, "approval-requested");
    assert.equal(one.messages.length, 4);
  },
  async "a question is answered by the next message, or by data-answer"() {
    const one = chat("ask");
    await one.sendMessage({ text: "Hi" });
    assert.equal(texts(one.lastMessage), "Which color?");
    await one.sendMessage({ text: "red" });
    await settled(one);
    assert.equal(texts(one.lastMessage), "You said: Hi");
    const other = chat("ask");
    await other.sendMessage({ text: "Hi" });
    const { data } = other.lastMessage.parts.find(part => part.type === "data-interrupt");
    assert.deepEqual(data.schema, { type: "string" });
    await other.sendMessage({ parts: [{ type: "data-answer", data: { id: data.id, answer: "blue" } }] });
    await settled(other);
    assert.equal(texts(other.lastMessage), "You said: Hi");
  },
  async "a tool of the page"() {
    for (const graph of ["client", "page"]) {
      const one = chat(graph, {
        sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
        onToolCall: ({ toolCall }) => { void one.addToolOutput({ tool: toolCall.toolName, toolCallId: toolCall.toolCallId, output: "Kyoto" }); },
      });
      await one.sendMessage({ text: "Where am I?" });
      await until(() => one.status !== "submitted" && texts(one.lastMessage) !== "");
      await settled(one);
      assert.equal(texts(one.lastMessage), graph === "client" ? "You are in Kyoto." : "Thank you.");
      assert.equal(one.messages.length, 2);
      assert.equal(tools(one.lastMessage).length, 1);
    }
  },
  async "a graph with one text"() {
    const one = chat("text");
    await one.sendMessage({ text: "Hello" });
    await settled(one);
    assert.equal(texts(one.lastMessage), "I repeat: Hello");
    await assert.rejects(async () => { await one.sendMessage({ files: [{ type: "file", mediaType: "image/png", url: "data:image/png;base64,iVBORw0KGgo=" }] }); await settled(one); }, /accepts only texts/);
  },
  async "an attachment"() {
    const one = chat("chat");
    await one.sendMessage({ text: "Look", files: [{ type: "file", mediaType: "image/png", url: "data:image/png;base64,iVBORw0KGgo=" }] });
    await settled(one);
    assert.equal(texts(one.lastMessage), "1: Look");
  },
  async "a run that fails is an error, and the chat continues"() {
    const one = chat("chat");
    await one.sendMessage({ text: "fail" });
    assert.equal(one.status, "error");
    assert.match(one.error.message, /credit/);
    await one.sendMessage({ text: "Hello" });
    await settled(one);
    assert.match(texts(one.lastMessage), /: Hello$/);
  },
  async "the text of a refusal is the error that is shown, and no run starts"() {
    const refused = [
      ["{", 400, /JSON/], [[], 400, /JSON object/], [{}, 400, /`id`/], [{ id: "a/b", messages: [user("x")] }, 400, /`id`/],
      [{ id: "x" }, 400, /`messages`/], [{ id: "x", messages: [] }, 400, /`messages`/], [{ id: "x", messages: [{}] }, 400, /`role`/],
      [{ id: "x", messages: [{ role: "user" }] }, 400, /`parts`/], [{ id: "x", messages: [{ role: "user", parts: [{}] }] }, 400, /`type`/],
      [{ id: "x", messages: [{ role: "user", parts: [] }] }, 400, /neither a text nor a file/], [{ id: "x", messages: [user("x")], trigger: "other" }, 400, /`trigger`/],
      [{ id: "x", messages: [{ role: "user", parts: [{ type: "file", mediaType: "image/png", url: "data:image/png;base64,%" }] }] }, 400, /base64/],
      [{ id: "x", messages: [{ role: "user", parts: [{ type: "file", mediaType: "image/png", url: "file:///etc/passwd" }] }] }, 400, /https:/],
      [{ id: "x", messages: [user("x"), { id: "a", role: "assistant", parts: [] }] }, 404, /does not exist/],
    ];
    for (const [body, status, text] of refused) {
      const response = await post(body);
      assert.equal(response.status, status, JSON.stringify(body));
      assert.match(await response.text(), text);
      assert.match(response.headers.get("content-type"), /^text\/plain/);
    }
    assert.equal((await post({ id: "x", messages: [user("x")] }, "nope")).status, 404);
    assert.equal((await post("id=x", "chat", { headers: { ...headers, "content-type": "text/plain" } })).status, 415);
    assert.equal((await post({ id: "x", messages: [user("x")] }, "chat", { headers: { "content-type": "application/json" } })).status, 401);
    const one = chat("chat", { transport: { headers: {} } });
    await one.sendMessage({ text: "Hello" });
    assert.match(one.error.message, /key/);
  },
  async "a model that is asked again"() {
    const one = chat("again");
    await one.sendMessage({ text: "Do you agree?" });
    await settled(one);
    assert.equal(texts(one.lastMessage), seven ? "Well, I agree." : "Well, I|Well, I agree.");
    const id = `${run}-again`, body = { id, messages: [user("Do you agree?")] };
    assert.equal((await raw(await post(body, "again&version=7"))).filter(chunk => chunk.type === "reset-step").length, 1);
    const transport = new DefaultChatTransport({ api: `${url}/api/chat/stream?graph=again&version=7`, headers });
    const stream = await transport.sendMessages({ chatId: `${run}-schema`, trigger: "submit-message", messages: body.messages });
    const read = async () => { let last; for await (last of readUIMessageStream({ stream, terminateOnError: true })); return last; };
    if (seven) assert.equal(texts(await read()), "Well, I agree.");
    else await assert.rejects(read, /validation/); // version 6 knows no reset-step
    assert.equal((await post(body, "again&version=5")).status, 400);
  },
  async "an answer that is continued repeats its unfinished step"() {
    const one = chat("two"), all = "0123456789abcdefghijklmnopqrstuvwxyz";
    const sent = one.sendMessage({ text: "Go" });
    await until(() => one.lastMessage?.role === "assistant" && texts(one.lastMessage).includes("5"));
    await fetch(`${url}/api/chat/stream/${one.id}/stream`, { method: "DELETE", headers });
    await sent;
    const before = texts(one.lastMessage);
    assert.match(before, /^First\.\|012345[^z]*$/);
    await one.sendMessage();
    await settled(one);
    assert.equal(texts(one.lastMessage), seven ? `First.|${all}|Third.` : `${before}|${all}|Third.`);
    assert.equal(one.messages.length, 2);
  },
  async "an answer for version 7 is not read by version 6"() {
    const id = `${run}-versions`, response = await post({ id, messages: [user("Go")] }, "slow&version=7");
    const six = await fetch(`${url}/api/chat/stream/${id}/stream`, { headers });
    assert.equal(six.status, 409);
    assert.match(await six.text(), /version=7/);
    const chunks = await raw(await fetch(`${url}/api/chat/stream/${id}/stream?version=7`, { headers }));
    assert.deepEqual(chunks, await raw(response));
  },
  async "an answer is read again from its start while its run continues"() {
    const all = "0123456789abcdefghijklmnopqrstuvwxyz", id = `${run}-resumed`;
    const aborting = new AbortController();
    const response = await post({ id, messages: [user("Go", "first")] }, "slow", { signal: aborting.signal });
    const reader = response.body.getReader();
    let seen = "";
    while (!seen.includes('"delta":"5"')) seen += new TextDecoder().decode((await reader.read()).value);
    aborting.abort();
    const early = fetch(`${url}/api/chat/stream/${id}/stream`, { headers }).then(raw);
    const busy = await post({ id, messages: [user("Go", "first"), { id: "a", role: "assistant", parts: [] }] }, "slow");
    assert.equal(busy.status, 409);
    assert.match(await busy.text(), /active answer/);
    const one = chat("slow", { id, messages: [user("Go", "first")] });
    await one.resumeStream();
    await settled(one);
    assert.equal(texts(one.lastMessage), all);
    assert.equal((await early).filter(chunk => chunk.type === "text-delta").map(chunk => chunk.delta).join(""), all);
    await one.resumeStream(); // 204
    assert.equal(one.status, "ready");
    assert.equal(one.messages.length, 2);
  },
  async "a continued answer is read again as a whole"() {
    const id = `${run}-continued`, first = await raw(await post({ id, messages: [user("I like pizza.")] }, "approve-slow"));
    const { toolCallId, approvalId } = first.find(chunk => chunk.type === "tool-approval-request"), { messageId } = first[0];
    const answer = { id: messageId, role: "assistant", parts: [{ type: "step-start" }, { type: "text", text: "I note that.", state: "done" },
      { type: "tool-memory.put", toolCallId, input: { namespace: ["ada"], key: "food", value: { likes: "pizza" } }, state: "approval-responded", approval: { id: approvalId, approved: true } }] };
    const aborting = new AbortController();
    const response = await post({ id, messages: [user("I like pizza."), answer], messageId }, "approve-slow", { signal: aborting.signal });
    await response.body.getReader().read();
    aborting.abort();
    const one = chat("approve-slow", { id, messages: [user("I like pizza.")] });
    await one.resumeStream();
    await settled(one);
    assert.equal(texts(one.lastMessage), "I note that.|Noted: you like pizza.");
    assert.deepEqual(tools(one.lastMessage).map(part => part.state), ["output-available"]);
    assert.equal(one.lastMessage.id, messageId);
  },
  async "an answer is stopped, and another message follows"() {
    const one = chat("slow");
    const sent = one.sendMessage({ text: "Go" });
    await until(() => one.lastMessage?.role === "assistant" && texts(one.lastMessage).includes("2"));
    await one.stop();
    await sent;
    assert.equal(one.status, "ready");
    await one.sendMessage({ text: "Again" });
    await settled(one);
    assert.equal(texts(one.lastMessage), "0123456789abcdefghijklmnopqrstuvwxyz");
    const history = await (await fetch(`${url}/api/chat/${one.id}/messages`, { headers })).json();
    assert.deepEqual(history.map(message => texts(message)), ["Go", "Again", "0123456789abcdefghijklmnopqrstuvwxyz"]);
  },
  async "an answer is cancelled"() {
    const id = `${run}-cancelled`;
    const response = await post({ id, messages: [user("Go")] }, "slow");
    const cancelled = await fetch(`${url}/api/chat/${id}/stream`, { method: "DELETE", headers });
    assert.equal(cancelled.status, 204);
    const chunks = await raw(response);
    assert.equal(chunks.at(-1).type, "abort");
    const again = await raw(await post({ id, messages: [user("Go on", "u2")] }, "slow"));
    assert.equal(again.at(-1).finishReason, "stop");
  },
};

const only = process.argv[5];
for (const [name, test] of Object.entries(cases)) {
  if (only && !name.includes(only)) continue;
  console.log(`${module}: ${name}`);
  await test();
}
console.log(`${module}: ${Object.keys(cases).length} cases`);
