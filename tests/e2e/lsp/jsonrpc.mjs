// jsonrpc.mjs - the client libraries of VS Code, over stdio: framing and types are Microsoft's.
//   node jsonrpc.mjs MODULES DOCUMENT
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import assert from "node:assert/strict";

const [modules, file] = process.argv.slice(2);
const require = createRequire(modules + "/");
const rpc = require("vscode-jsonrpc/node");
const lsp = require("vscode-languageserver-protocol/node");
const server = spawn(process.env.TENON, ["lsp"], { stdio: ["pipe", "pipe", "inherit"] });
const connection = rpc.createMessageConnection(new rpc.StreamMessageReader(server.stdout), new rpc.StreamMessageWriter(server.stdin));
const ended = new Promise((resolve) => server.on("exit", resolve));
const uri = pathToFileURL(file).href;
let text = readFileSync(file, "utf8");
let version = 1;

// Waits for the diagnostics of a version.
const waiting = [];
connection.onNotification(lsp.PublishDiagnosticsNotification.type, (params) => {
  assert(lsp.Diagnostic.is(params.diagnostics[0] ?? { range: lsp.Range.create(0, 0, 0, 0), message: "" }));
  for (const wait of waiting.splice(0)) (wait.version === params.version ? wait.resolve(params.diagnostics) : waiting.push(wait));
});
const diagnosticsOf = (wanted) => new Promise((resolve) => waiting.push({ version: wanted, resolve }));
connection.onRequest(lsp.RegistrationRequest.type, () => {});
connection.onError((error) => { throw error[0]; });
connection.onUnhandledNotification((message) => { throw new Error(`unexpected: ${JSON.stringify(message)}`); });
connection.listen();

const capabilities = { textDocument: { publishDiagnostics: { versionSupport: true, relatedInformation: true },
  hover: { contentFormat: ["markdown"] }, completion: { completionItem: { snippetSupport: true } } } };
const { capabilities: can, serverInfo } = await connection.sendRequest(lsp.InitializeRequest.type,
  { processId: process.pid, rootUri: null, workspaceFolders: null, capabilities });
assert.equal(serverInfo.name, "tenon");
assert.equal(can.textDocumentSync.change, lsp.TextDocumentSyncKind.Incremental);
await connection.sendNotification(lsp.InitializedNotification.type, {});

// A mistake behind an emoji: columns are UTF-16 units, as those of JavaScript.
let next = diagnosticsOf(1);
await connection.sendNotification(lsp.DidOpenTextDocumentNotification.type,
  { textDocument: lsp.TextDocumentItem.create(uri, "adl", version, text) });
const [mistake, ...more] = await next;
assert.deepEqual(more, []);
const lines = text.split("\n");
const line = lines.findIndex((found) => found.includes("passthroug}"));
const column = lines[line].indexOf("passthroug}");
assert.deepEqual(mistake.range, lsp.Range.create(line, column, line, column + "passthroug".length));
assert.equal(mistake.severity, lsp.DiagnosticSeverity.Error);
assert.match(mistake.message, /unknown node type `passthroug`/);

const textDocument = { uri };
if (can.hoverProvider) {
  const hover = await connection.sendRequest(lsp.HoverRequest.type,
    { textDocument, position: { line: lines.indexOf("channels:"), character: 3 } });
  assert(lsp.MarkupContent.is(hover.contents) && hover.contents.value.length > 0);
}
if (can.completionProvider) {
  const found = await connection.sendRequest(lsp.CompletionRequest.type, { textDocument, position: { line, character: column + 3 } });
  const items = Array.isArray(found) ? found : found.items;
  assert(items.some((item) => item.label === "passthrough"), JSON.stringify(items));
}

// An incremental change repairs it.
next = diagnosticsOf(++version);
const end = { line, character: column + "passthroug".length };
await connection.sendNotification(lsp.DidChangeTextDocumentNotification.type,
  { textDocument: { uri, version }, contentChanges: [{ range: { start: end, end }, text: "h" }] });
assert.deepEqual(await next, []);

// Methods of the host, on the same connection; a cancelled request; an unknown one.
const { drawing } = await connection.sendRequest("tenon/document/graph", { text, format: "mermaid" });
assert.match(drawing, /greet/);
const source = new rpc.CancellationTokenSource();
const cancelled = connection.sendRequest("tenon/event/subscribe", { events: ["run/started"] }, source.token);
source.cancel();
await cancelled.catch((error) => assert.equal(error.code, lsp.LSPErrorCodes.RequestCancelled));
await assert.rejects(connection.sendRequest("textDocument/none", {}), { code: rpc.ErrorCodes.MethodNotFound });

await connection.sendNotification(lsp.DidCloseTextDocumentNotification.type, { textDocument });
await connection.sendRequest(lsp.ShutdownRequest.type);
await assert.rejects(connection.sendRequest(lsp.HoverRequest.type, { textDocument, position: end }), { code: rpc.ErrorCodes.InvalidRequest });
await connection.sendNotification(lsp.ExitNotification.type);
assert.equal(await ended, 0);
connection.dispose();
