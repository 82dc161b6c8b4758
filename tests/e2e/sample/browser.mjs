// A page in a headless Chromium, over its debugging protocol: `node browser.mjs PAGE EXPRESSION…`. Each expression is
// evaluated in the page until it is true; then the text of the page is printed. Needs Node 22 (WebSocket).
import { spawn } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";

const [page, ...expressions] = process.argv.slice(2);
const profile = mkdtempSync(`${tmpdir()}/chromium-`);
const browser = spawn("chromium", ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", `--user-data-dir=${profile}`, "--remote-debugging-port=0", "about:blank"], { stdio: ["ignore", "ignore", "pipe"] });
const address = await new Promise((resolve, reject) => {
  let text = "";
  browser.stderr.on("data", data => { text += data; const found = /ws:\/\/\S+/.exec(text); if (found) resolve(found[0]); });
  browser.on("exit", code => reject(new Error(`chromium has ended: ${code}\n${text}`)));
});
const socket = new WebSocket(address), waiting = new Map();
await new Promise((resolve, reject) => { socket.onopen = resolve; socket.onerror = reject; });
let number = 0;
socket.onmessage = ({ data }) => { const message = JSON.parse(data); waiting.get(message.id)?.(message); };
const call = (method, params = {}, sessionId) => new Promise(resolve => {
  waiting.set(++number, resolve);
  socket.send(JSON.stringify({ id: number, method, params, sessionId }));
});
const { result: { targetId } } = await call("Target.createTarget", { url: page });
const { result: { sessionId } } = await call("Target.attachToTarget", { targetId, flatten: true });
const evaluate = async expression => (await call("Runtime.evaluate", { expression, returnByValue: true }, sessionId)).result?.result?.value;
for (const expression of expressions) {
  const end = Date.now() + 30000;
  while (!(await evaluate(expression))) {
    if (Date.now() > end) { console.error(`never true: ${expression}\n${await evaluate("document.body.innerText")}`); process.exit(1); }
    await new Promise(resolve => setTimeout(resolve, 20));
  }
}
console.log(await evaluate("document.body.innerText"));
await Promise.race([call("Browser.close"), new Promise(resolve => browser.on("exit", resolve))]);
process.exit(0);
