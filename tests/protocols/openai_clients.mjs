// openai_clients.mjs ADDRESS KEY PACKAGE: OpenAI's SDK, unchanged, with the graphs of tests/protocols/graphs.
import assert from "node:assert/strict";

const [address, key, name] = process.argv.slice(2);
const { default: OpenAI } = await import(name);
const client = new OpenAI({ baseURL: `${address}/v1`, apiKey: key, maxRetries: 0 });
const hello = [{ role: "user", content: "hi" }];

async function models() {
  const ids = [];
  for await (const model of client.models.list()) ids.push(model.id);
  assert.ok(ids.includes("reasoning"), ids.join());
  assert.equal((await client.models.retrieve("reasoning")).object, "model");
  await assert.rejects(client.models.retrieve("nothing"), (error) => error.status === 404 && error.code === "model_not_found");
}

async function chat() {
  const made = await client.chat.completions.create({ model: "reasoning", messages: hello, temperature: 0.3 });
  assert.equal(made.choices[0].message.content, "Hello there, how are you?");
  assert.equal(made.usage.total_tokens, 19);
  const stream = client.chat.completions.stream({
    model: "reasoning",
    messages: hello,
    stream_options: { include_usage: true },
  });
  let text = "";
  stream.on("content", (delta) => (text += delta));
  const final = await stream.finalChatCompletion();
  assert.equal(text, "Hello there, how are you?");
  assert.equal(final.choices[0].message.content, text);
  assert.equal(final.usage.total_tokens, 19);
  await assert.rejects(
    client.chat.completions.create({ model: "error", messages: hello }),
    (error) => error instanceof OpenAI.RateLimitError && error.code === "rate_limit_exceeded",
  );
  await assert.rejects(async () => {
    for await (const _ of await client.chat.completions.create({ model: "error", messages: hello, stream: true }));
  }, /slow down/);
  await assert.rejects(
    client.chat.completions.create({ model: "reasoning", messages: [{ role: "pope", content: "x" }] }),
    (error) => error instanceof OpenAI.BadRequestError && error.param === "messages[0].role",
  );
}

// The client executes its tool; the graph gets the result with the next request.
async function chatTools() {
  const seen = [];
  const runner = client.chat.completions.runTools({
    model: "weather",
    messages: [{ role: "user", content: "How is it in Kyoto?" }],
    stream: true,
    tools: [
      {
        type: "function",
        function: {
          name: "weather",
          description: "The weather of a city",
          parse: JSON.parse,
          parameters: { type: "object", properties: { city: { type: "string" } } },
          function: (args) => {
            seen.push(args.city);
            return "sunny";
          },
        },
      },
    ],
  });
  assert.equal(await runner.finalContent(), "It is sunny.");
  assert.deepEqual(seen, ["Kyoto"]);
}

async function collect(stream) {
  const events = [];
  for await (const event of stream) events.push(event);
  events.forEach((event, index) => assert.equal(event.sequence_number, events[0].sequence_number + index));
  return events;
}

async function responses() {
  const made = await client.responses.create({ model: "reasoning", input: "hi", metadata: { a: "b" } });
  assert.equal(made.output_text, "Hello there, how are you?");
  assert.equal(made.metadata.a, "b");
  assert.deepEqual(await client.responses.retrieve(made.id), await client.responses.retrieve(made.id));
  const items = [];
  for await (const item of client.responses.inputItems.list(made.id)) items.push(item);
  assert.equal(items[0].content[0].text, "hi");
  const next = await client.responses.create({ model: "reasoning", input: "more", previous_response_id: made.id });
  assert.equal(next.previous_response_id, made.id);
  const stream = client.responses.stream({ model: "tools", input: "I like pizza" });
  const final = await stream.finalResponse();
  assert.deepEqual(
    final.output.map((item) => item.type),
    ["message", "mcp_call", "mcp_call", "message"],
  );
  const saved = await client.responses.retrieve(final.id);
  assert.deepEqual(saved.output.map((item) => item.id), final.output.map((item) => item.id));
  assert.equal(saved.output_text, final.output_text);
  await client.responses.delete(made.id);
  await assert.rejects(client.responses.retrieve(made.id), (error) => error.status === 404);
  assert.equal((await client.responses.retrieve(next.id)).status, "completed");
}

async function responseTools() {
  const tools = [{ type: "function", name: "weather", parameters: { type: "object" }, strict: false }];
  const asked = await client.responses.create({ model: "weather", input: "How is it in Kyoto?", tools });
  const call = asked.output.find((item) => item.type === "function_call");
  assert.deepEqual(JSON.parse(call.arguments), { city: "Kyoto" });
  const answered = await client.responses.create({
    model: "weather",
    previous_response_id: asked.id,
    input: [{ type: "function_call_output", call_id: call.call_id, output: "sunny" }],
  });
  assert.equal(answered.output_text, "It is sunny.");
}

async function approvals() {
  for (const approve of [true, false]) {
    const asked = await client.responses.create({ model: "approval", input: "I like pizza" });
    const request = asked.output.find((item) => item.type === "mcp_approval_request");
    assert.equal(request.name, "memory.put");
    const answered = await client.responses.create({
      model: "approval",
      previous_response_id: asked.id,
      input: [{ type: "mcp_approval_response", approval_request_id: request.id, approve }],
    });
    assert.equal(answered.output_text, "Noted: you like pizza.");
  }
  const asked = await client.responses.create({ model: "question", input: "cats" });
  assert.equal(asked.output_text, "Who will read the report about cats?");
  const answered = await client.responses.create({ model: "question", previous_response_id: asked.id, input: "all" });
  assert.equal(answered.output_text, "all");
}

async function background() {
  const made = await client.responses.create({ model: "slow", input: "hi", background: true });
  assert.ok(["queued", "in_progress"].includes(made.status));
  const first = await client.responses.retrieve(made.id, { stream: true });
  const events = [];
  for await (const event of first) {
    events.push(event);
    if (events.length === 6) break;
  }
  const rest = await collect(
    await client.responses.retrieve(made.id, { stream: true, starting_after: events.at(-1).sequence_number }),
  );
  assert.equal(rest[0].sequence_number, 6);
  assert.equal(rest.at(-1).type, "response.completed");
  const text = [...events, ...rest].map((event) => (event.type === "response.output_text.delta" ? event.delta : "")).join("");
  assert.equal(text, rest.at(-1).response.output[0].content[0].text);
  const cancelled = await client.responses.create({ model: "slow", input: "hi", background: true });
  assert.equal((await client.responses.cancel(cancelled.id)).status, "cancelled");
  assert.equal((await client.responses.retrieve(cancelled.id)).status, "cancelled");
}

const cases = { models, chat, chatTools, responses, responseTools, approvals, background };
for (const [title, run] of Object.entries(cases)) {
  await run();
  console.log(`ok ${name} ${title}`);
}
