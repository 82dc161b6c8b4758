// sdk_client.mjs: a session with the client side of @agentclientprotocol/sdk.
//
//     node sdk_client.mjs MODULES AGENT ARGUMENT…
import { createRequire } from "node:module";
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";
const [modules, agent, ...args] = process.argv.slice(2);
const sdk = await import(pathToFileURL(createRequire(modules + "/").resolve("@agentclientprotocol/sdk")).href);
const { client, methods, ndJsonStream, PROTOCOL_VERSION } = sdk;

const check = (good, what, ...more) => {
  if (good) return;
  console.error(what, JSON.stringify(more));
  process.exit(1);
};
const child = spawn(agent, args, { stdio: ["pipe", "pipe", "inherit"] });
const stream = ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
const updates = [];
const asked = [];
const app = client({ name: "test" })
  .onRequest(methods.client.session.requestPermission, ({ params }) => {
    asked.push(params);
    return { outcome: { outcome: "selected", optionId: params.options.find((o) => o.kind === "allow_once").optionId } };
  })
  .onNotification(methods.client.session.update, ({ params }) => { updates.push(params.update); });
const text = () => updates.filter((u) => u.sessionUpdate === "agent_message_chunk").map((u) => u.content.text).join("");
await app.connectWith(stream, async (ctx) => {
  const hello = await ctx.request(methods.agent.initialize, { protocolVersion: PROTOCOL_VERSION, clientCapabilities: {} });
  check(hello.protocolVersion === 1 && hello.agentCapabilities.loadSession, "initialize", hello);
  const { sessionId } = await ctx.request(methods.agent.session.new, { cwd: process.cwd(), mcpServers: [] });
  const answer = await ctx.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text: "hi" }] });
  check(answer.stopReason === "end_turn" && asked.length === 1 && text().endsWith("Done: tallied 1"), "prompt", answer, updates);
  const { sessions } = await ctx.request(methods.agent.session.list, {});
  check(sessions.some((s) => s.sessionId === sessionId && s.title === "hi"), "list", sessions);
  await ctx.request(methods.agent.session.close, { sessionId });
  updates.length = 0;
  await ctx.request(methods.agent.session.load, { sessionId, cwd: process.cwd(), mcpServers: [] });
  check(updates[0].sessionUpdate === "user_message_chunk" && text().endsWith("Done: tallied 1"), "load", updates);
  const error = await ctx.request(methods.agent.session.load, { sessionId: "none", cwd: "/", mcpServers: [] }).catch((e) => e);
  check(error.code === -32002, "an unknown session", error.code, error.message);
  await ctx.request(methods.agent.session.delete, { sessionId });
});
child.kill();
process.exit(0);
