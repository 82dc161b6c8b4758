// node saved.mjs turn|summary|edit|merge [N] [--turns=T] [--items=I]: tests/bench/saved.c in LangGraph.js, with its SQLite
// saver. It runs beside the other benchmark of LangGraph.js (TENON_PEERS), whose helpers and packages it uses.
//
// `turn`: the thread is filled by one turn whose input has all messages before it, because the savers of LangGraph.js
// store the whole state at each super-step. The result of a turn does not contain the conversation.
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { Annotation, END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import fs from "node:fs";
import { parseArgs } from "node:util";
import { check, report, timed } from "./lib/measure.mjs";
import { openSaver } from "./lib/savers.mjs";

const TEXT = "x".repeat(200);
const changed = (i) => String(i).padStart(16, "0") + "x".repeat(184);
const place = (i, items) => (i * 7919) % items;
const config = { configurable: { thread_id: "bench" }, recursionLimit: 1_000_000 };

function written() {
  const found = fs.readFileSync("/proc/self/io", "utf8").match(/^wchar: (\d+)[\s\S]*^write_bytes: (\d+)/m);
  return { wchar: Number(found[1]), write_bytes: Number(found[2]) };
}

// Measures `work`, and what was written by it and until the store was closed.
async function measured(workload, n, notes, opened, work) {
  const before = written();
  const t = await timed(work);
  const after = written();
  const closed = opened.close();
  const end = written();
  report({
    workload, n, units: n, t,
    notes: {
      ...notes, db_bytes: closed.db_bytes, wchar: after.wchar - before.wchar, write_bytes: after.write_bytes - before.write_bytes,
      closed_wchar: end.wchar - before.wchar, closed_write_bytes: end.write_bytes - before.write_bytes,
    },
  });
}

async function turn(n, { turns }) {
  const Output = Annotation.Root({ done: Annotation() });
  const State = Annotation.Root({ ...MessagesAnnotation.spec, done: Annotation() });
  const calls = (m) => m.tool_calls?.length;
  const graph = new StateGraph({ stateSchema: State, output: Output })
    .addNode("agent", ({ messages }) => {
      const i = messages.length;
      return messages[i - 1].getType() === "human"
        ? { messages: [new AIMessage({ id: `a-${i}`, content: TEXT, tool_calls: [{ id: `call-${i}`, name: "lookup", args: { query: i } }] })] }
        : { messages: [new AIMessage({ id: `f-${i}`, content: TEXT })] };
    })
    .addNode("tools", ({ messages }) => {
      const i = messages.length;
      return { messages: [new ToolMessage({ id: `t-${i}`, content: TEXT, tool_call_id: messages[i - 1].tool_calls[0].id })] };
    })
    .addEdge(START, "agent")
    .addConditionalEdges("agent", ({ messages }) => (calls(messages[messages.length - 1]) ? "tools" : END), ["tools", END])
    .addEdge("tools", "agent");
  const opened = await openSaver("sqlite");
  const app = graph.compile({ checkpointer: opened.saver });
  const user = (i) => new HumanMessage({ id: `u-${i}`, content: TEXT });
  const talk = async (i, messages = [user(i)]) => {
    const out = await app.invoke({ messages }, config);
    check(out?.messages === undefined, "the result contains the conversation");
  };
  await talk(0, Array.from({ length: 4 * turns - 3 }, (_, i) => new HumanMessage({ id: `i-${i}`, content: TEXT })));
  for (let i = 0; i < 3; i += 1) await talk(turns + i);
  const before = written();
  const t = await timed(async () => {
    for (let i = 0; i < n; i += 1) await talk(turns + 3 + i);
  });
  const after = written();
  const state = await app.getState(config);
  check(state.values.messages.length === 4 * (turns + 3 + n), `${state.values.messages.length} messages`);
  const { db_bytes } = opened.close();
  report({ workload: "turn", n, units: n, t, notes: { turns, db_bytes, wchar: after.wchar - before.wchar, write_bytes: after.write_bytes - before.write_bytes } });
}

// N steps of one node. `step(count)` is the update of `data`.
async function change(workload, n, data, reducer, step, expected) {
  const State = Annotation.Root({ count: Annotation(), data: Annotation({ reducer, default: () => data }) });
  const opened = await openSaver("sqlite");
  const app = new StateGraph(State)
    .addNode("step", ({ count }) => ({ data: step(count), count: count + 1 }))
    .addEdge(START, "step")
    .addConditionalEdges("step", ({ count }) => (count < n ? "step" : END), ["step", END])
    .compile({ checkpointer: opened.saver });
  await measured(workload, n, {}, opened, async () => {
    const out = await app.invoke({ count: 0, data }, config);
    const size = Array.isArray(out.data) ? out.data.length : Object.keys(out.data).length;
    check(size === expected && out.count === n, `${size} items after ${out.count} steps`);
  });
}

const human = (id, content = TEXT) => new HumanMessage({ id, content });
const messagesReducer = MessagesAnnotation.spec.messages.operator;

const WORKLOADS = {
  turn,
  summary: (n) =>
    change("summary", n, [human("summary")], messagesReducer, (i) => [human("summary", changed(i)), human(`m-${i}`, changed(i))], n + 1),
  edit: (n, { items }) =>
    change("edit", n, Array.from({ length: items }, (_, i) => human(`m-${i}`)), messagesReducer,
      (i) => [human(`m-${place(i, items)}`, changed(i))], items),
  merge: (n, { items }) =>
    change("merge", n, Object.fromEntries(Array.from({ length: items }, (_, i) => [`k-${i}`, TEXT.repeat(5)])),
      (a, b) => ({ ...a, ...b }), (i) => ({ [`k-${place(i, items)}`]: changed(i) }), items),
};

const { values, positionals } = parseArgs({ allowPositionals: true, options: { turns: { type: "string" }, items: { type: "string" } } });
const [name, count = "100"] = positionals;
const n = Number(count), options = { turns: Number(values.turns ?? 10), items: Number(values.items ?? 1000) };
if (!(name in WORKLOADS) || ![n, options.turns, options.items].every((x) => Number.isInteger(x) && x > 0)) {
  process.stderr.write("usage: node saved.mjs turn|summary|edit|merge [N] [--turns=T] [--items=I]\n");
  process.exit(2);
}
await WORKLOADS[name](n, options);
