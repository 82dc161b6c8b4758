// plugins/rest_server with the WebSocket and the fetch of Node, and its OpenRPC document with the meta-schema.
// rest_clients.mjs ADDRESS KEY MODULES
import assert from "node:assert/strict";
import { createRequire } from "node:module";

const [address, key, modules] = process.argv.slice(2);
const headers = { authorization: `Bearer ${key}` };
const require = createRequire(`${modules}/`);

// As a page does it: without headers.
const socket = new WebSocket(`${address.replace("http", "ws")}/rpc`, ["tenon", `tenon.key.${key}`]);
await new Promise((resolve, reject) => { socket.onopen = resolve; socket.onerror = reject; });
assert.equal(socket.protocol, "tenon");
const waiting = new Map(), events = [];
let ended, last = 0;
const end = new Promise((resolve) => { ended = resolve; });
socket.onmessage = ({ data }) => {
  const message = JSON.parse(data);
  if ("id" in message) waiting.get(message.id)(message);
  else events.push(message.params);
  if (message.method === "run/ended") ended(message.params);
};
const call = (method, params) => new Promise((resolve) => {
  waiting.set(++last, resolve);
  socket.send(JSON.stringify({ jsonrpc: "2.0", id: last, method, params }));
});
const input = { messages: [{ type: "user", content: "Hello" }] };
const { result } = await call("run/start", { document: "graph:weather", input });
await call("run/subscribe", { run_id: result.run_id, after: 0 });
assert.equal((await end).status, "done");
const numbers = events.map(({ seq }) => seq);
assert.deepEqual(numbers, numbers.map((_, i) => i + 1));
socket.close();

const stream = await fetch(`${address}/api/runs/${encodeURIComponent(result.run_id)}/events`, { headers });
assert.match(stream.headers.get("content-type"), /^text\/event-stream/);
const sent = [...(await stream.text()).matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data));
assert.deepEqual(sent, events.map(({ subscription, ...event }) => event));

const read = async (path) => (await fetch(`${address}/${path}`, { headers })).json();
const Ajv = require("ajv"), formats = require("ajv-formats");
const schema = structuredClone(require("@json-schema-tools/meta-schema").default);
const document = structuredClone(require("@open-rpc/meta-schema").default);
delete schema.$schema; // both name themselves as their own dialect; they are schemas of draft 7
delete document.$schema;
const ajv = formats(new Ajv({ strict: false, allErrors: true }));
ajv.addSchema(schema, "https://meta.json-schema.tools");
const conforms = ajv.compile(document), openrpc = await read("openrpc.json");
assert.ok(conforms(openrpc), JSON.stringify(conforms.errors));
openrpc.methods[0].more = 1;
assert.ok(!conforms(openrpc));
