// The clients of the TypeScript SDKs against Tenon's MCP server: version 1 (2025-11-25), version 2 (both eras).
import assert from "node:assert/strict"
import { Client as Client2, StreamableHTTPClientTransport as Transport2 } from "@modelcontextprotocol/client"
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport as Transport1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import * as types from "@modelcontextprotocol/sdk/types.js"

const url = new URL(process.argv[2])
const options = { requestInit: { headers: { authorization: `Bearer ${process.env.TENON_KEY}` } } }
const info = { name: "test", version: "1" }
const capabilities = { elicitation: {}, sampling: {}, roots: {} }
const answers = {
  "elicitation/create": async () => ({ action: "accept", content: { name: "Ada", color: "red", ok: true } }),
  "sampling/createMessage": async () => ({ role: "assistant", model: "m", content: { type: "text", text: "T" } }),
  "roots/list": async () => ({ roots: [{ uri: "file:///x", name: "x" }] }),
}

async function check(client, version, callTool) {
  const text = async (name, parameters = {}) => (await callTool(name, parameters)).content[0].text
  assert.equal(client.getServerVersion().name, "tenon")
  const { tools } = await client.listTools()
  assert.deepEqual(tools.map((tool) => tool.name), tools.map((tool) => tool.name).sort())
  assert.equal((await client.listPrompts()).prompts.length, 5)
  assert.ok((await client.listResources()).resources.length >= 3)
  assert.equal((await client.listResourceTemplates()).resourceTemplates.length, 1)
  assert.match((await client.readResource({ uri: "test://template/9/data" })).contents[0].text, /"id":"9"/)
  const prompt = await client.getPrompt({ name: "test_prompt_with_arguments", arguments: { arg1: "a", arg2: "b" } })
  assert.equal(prompt.messages[0].content.text, "Prompt with arguments: arg1='a', arg2='b'")
  const completed = await client.complete({ ref: { type: "ref/prompt", name: "test_prompt_with_arguments" },
    argument: { name: "arg1", value: "par" } })
  assert.deepEqual(completed.completion.values, ["paris", "park", "party"])
  const greeting = await callTool("greet", { name: "Zoë" })
  assert.deepEqual(greeting.structuredContent, { text: "Hello, Zoë!" })
  assert.match(await text("test_input_required_result_multiple_inputs"), /client_roots.*|user_name.*/)
  assert.match(await text("test_input_required_result_multi_round"), /red/)
  assert.equal(await text("test_input_required_result_request_state"), "state-ok")
  assert.equal((await callTool("test_error_handling", {})).isError, true)
  assert.equal(await text("test_x_mcp_header", { region: "Zürich ", count: 7 }), "done")
  const progress = []
  await callTool("test_tool_with_progress", {}, { onprogress: (one) => progress.push(one.progress) })
  assert.deepEqual(progress, [0, 50, 100])
  await assert.rejects(callTool("nope", {}), /no tool/)
  await client.close()
}

const first = new Client1(info, { capabilities })
first.setRequestHandler(types.ElicitRequestSchema, answers["elicitation/create"])
first.setRequestHandler(types.CreateMessageRequestSchema, answers["sampling/createMessage"])
first.setRequestHandler(types.ListRootsRequestSchema, answers["roots/list"])
const transport = new Transport1(url, options)
await first.connect(transport)
const cancelled = first.callTool({ name: "test_reconnection", arguments: {} }, undefined, { signal: AbortSignal.timeout(20) })
await assert.rejects(cancelled)
// A call as a task: the SDK polls, and answers the question on the stream of tasks/result.
await first.listTools()
for (const [name, parameters, text] of [["slow_compute", { seconds: 0.1 }, "computed"], ["confirm_delete", {}, "confirm"]]) {
  const types = []
  for await (const message of first.experimental.tasks.callToolStream({ name, arguments: parameters }, undefined, { task: { ttl: 60000 } })) {
    types.push(message.type)
    if (message.type === "result") assert.equal(message.result.content[0].text, text)
  }
  assert.equal(types[0], "taskCreated")
  assert.equal(types.at(-1), "result", JSON.stringify(types))
}
assert.ok((await first.experimental.tasks.listTasks()).tasks.length >= 2)
await check(first, "2025-11-25", (name, parameters, more) => first.callTool({ name, arguments: parameters }, undefined, more))

for (const [mode, version] of [["legacy", "2025-11-25"], ["auto", "2026-07-28"], [{ pin: "2026-07-28" }, "2026-07-28"]]) {
  const client = new Client2(info, { capabilities, versionNegotiation: { mode } })
  for (const [method, answer] of Object.entries(answers)) client.setRequestHandler(method, answer)
  await client.connect(new Transport2(url, options))
  assert.equal(client.getNegotiatedProtocolVersion(), version)
  await check(client, version, (name, parameters, more) => client.callTool({ name, arguments: parameters }, more))
}
