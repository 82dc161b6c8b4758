// HttpAgent of @ag-ui/client, which checks the order of events itself (verifyEvents), against a served host.
//     node client.mjs ADDRESS KEY
// Standard output has all events that the client has received, one in each line.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { HttpAgent } from '@ag-ui/client'

const [, , address, key] = process.argv
const agentOf = (graph, more = {}) =>
  new HttpAgent({ url: `${address}/ag-ui/${graph}`, headers: { authorization: `Bearer ${key}` }, threadId: randomUUID(), ...more })

async function run(agent, parameters = {}) {
  const events = []
  const result = await agent.runAgent(parameters, {
    onEvent: ({ event }) => {
      events.push(event)
      console.log(JSON.stringify(event))
    },
  })
  return { events, result, last: events.at(-1), types: events.map((event) => event.type) }
}
const say = (agent, content) => agent.addMessage({ id: randomUUID(), role: 'user', content })
const texts = (agent) => agent.messages.filter((m) => m.role === 'assistant').map((m) => m.content ?? '')

async function tools() {
  const agent = agentOf('tools')
  say(agent, 'I like pizza.')
  const { last } = await run(agent)
  assert.deepEqual(last.outcome, { type: 'success' })
  assert.ok(last.usage[0].totalTokens > 0)
  assert.deepEqual(agent.messages.map((m) => m.role), ['user', 'assistant', 'tool', 'tool', 'assistant'])
  assert.deepEqual(agent.messages[1].toolCalls.map((c) => c.function.name), ['memory.put', 'memory.get'])
  assert.equal(agent.messages[1].content, 'I note that.')
  assert.equal(agent.messages[4].content, 'Noted: you like pizza.')
  say(agent, 'Again.') // the model repeats the ids of its calls
  await run(agent)
  const ids = agent.messages.flatMap((m) => m.toolCalls ?? []).map((c) => c.id)
  assert.equal(new Set(ids).size, ids.length)
}

async function approval() {
  for (const approved of [true, false, undefined]) {
    const agent = agentOf('approval')
    say(agent, 'I like pizza.')
    const { last } = await run(agent)
    assert.equal(last.outcome.type, 'interrupt')
    const [interrupt] = last.outcome.interrupts
    assert.equal(interrupt.reason, 'tool_call')
    assert.equal(interrupt.toolCallId, agent.messages[1].toolCalls[0].id)
    assert.equal(interrupt.metadata.payload.tool, 'memory.put')
    const resume = approved === undefined
      ? [{ interruptId: interrupt.id, status: 'cancelled' }]
      : [{ interruptId: interrupt.id, status: 'resolved', payload: { approved } }]
    const next = await run(agent, { resume })
    assert.equal(next.last.outcome.type, 'success')
    assert.ok(!next.types.includes('TOOL_CALL_START'), 'the call was shown before')
    assert.deepEqual(agent.messages.map((m) => m.role), ['user', 'assistant', 'tool', 'assistant'])
    assert.equal(/created_at/.test(agent.messages[2].content), approved === true)
  }
}

async function question() {
  const agent = agentOf('question')
  say(agent, 'cats')
  const { last } = await run(agent)
  const [interrupt] = last.outcome.interrupts
  assert.deepEqual([interrupt.reason, interrupt.message, interrupt.responseSchema], ['input_required', 'Who will read the report about cats?', { type: 'string' }])
  assert.equal(agent.state.topic, 'cats')
  const cancelled = await run(agent, { resume: [{ interruptId: interrupt.id, status: 'cancelled' }] })
  assert.deepEqual(cancelled.last.outcome, { type: 'cancelled' })
  agent.pendingInterrupts = [interrupt]
  const done = await run(agent, { resume: [{ interruptId: interrupt.id, status: 'resolved', payload: 'children' }] })
  assert.equal(done.last.outcome.type, 'success')
  assert.equal(agent.state.readers, 'children')
}

async function frontendTool() {
  const agent = agentOf('weather')
  const weather = { name: 'weather', description: 'The weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } }
  say(agent, 'How is the weather?')
  const { last } = await run(agent, { tools: [weather] })
  const [call] = agent.messages.at(-1).toolCalls
  assert.deepEqual(last.outcome, { type: 'success', pendingToolCallIds: [call.id] })
  assert.deepEqual(JSON.parse(call.function.arguments), { city: 'Kyoto' })
  agent.addMessage({ id: randomUUID(), role: 'tool', toolCallId: call.id, content: 'sunny' })
  await run(agent, { tools: [weather] })
  assert.equal(texts(agent).at(-1), 'It is sunny.')
}

async function state() {
  const agent = agentOf('structured', { initialState: { a: 1, b: 2, own: { kept: true } } })
  const { types } = await run(agent)
  assert.deepEqual(agent.state, { a: 1, b: 2, sum: 3, own: { kept: true } })
  assert.ok(types.includes('STATE_DELTA'))
  agent.setState({ ...agent.state, a: 5 })
  await run(agent)
  assert.equal(agent.state.sum, 7)
}

async function removed() {
  const agent = agentOf('reasoning')
  say(agent, 'One')
  const first = await run(agent)
  assert.ok(first.types.includes('REASONING_MESSAGE_CONTENT'))
  const question = agent.messages[0]
  agent.setMessages([question]) // the answer is made again
  const again = await run(agent)
  assert.equal(again.last.outcome.type, 'success')
  assert.ok(again.types.includes('TEXT_MESSAGE_CONTENT'))
}

async function failures() {
  const failing = agentOf('error')
  say(failing, 'Hello')
  let error
  await failing.runAgent({}, { onRunErrorEvent: ({ event }) => { error = event } }).catch(() => {})
  assert.equal(error?.code, 'RATE_LIMITED')
  for (const [graph, status] of [['nothing', 404], ['tools', 400]]) {
    const agent = agentOf(graph)
    if (graph === 'nothing') say(agent, 'Hello')
    const refused = await agent.runAgent().then(() => undefined, (problem) => problem)
    assert.equal(refused?.status, status)
    assert.equal(refused.payload.type, 'RUN_ERROR')
  }
}

async function abort() {
  const agent = agentOf('slow')
  say(agent, 'Hello')
  await agent.runAgent({}, { onTextMessageContentEvent: () => agent.abortRun() }).catch(() => {})
  let last
  for (let tries = 0; tries < 100 && last?.outcome?.type !== 'success'; tries++) { // as soon as the run has ended
    say(agent, 'Hello again')
    last = (await run(agent).catch(() => undefined))?.last
    if (last === undefined) await new Promise((resolve) => setTimeout(resolve, 50))
  }
  assert.equal(last?.outcome?.type, 'success')
}

for (const test of [tools, approval, question, frontendTool, state, removed, failures, abort])
  await test().catch((error) => {
    console.error(test.name)
    throw error
  })
