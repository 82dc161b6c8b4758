// vscode.mjs - the packaged extension, with a stub of VS Code's API: it starts the server, shows diagnostics, runs, and draws.
//   node vscode.mjs EXTENSION DOCUMENT
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import assert from "node:assert/strict";

const [extension, file] = process.argv.slice(2);
const require = createRequire(import.meta.url);
const { vscode, state } = require("./vscode_stub.cjs");
const until = async (what, condition) => {
  const limit = Date.now() + 60000;
  while (!condition()) {
    assert(Date.now() < limit, `waited for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
};
process.on("unhandledRejection", (error) => { console.error(error); process.exit(1); });

state.settings["tenon.path"] = process.env.TENON;
const manifest = JSON.parse(readFileSync(`${extension}/package.json`, "utf8"));
const { activate, deactivate } = require(`${extension}/${manifest.main}`);
const context = { subscriptions: [] };
await activate(context);
assert.deepEqual(state.messages, []);
for (const { command } of manifest.contributes.commands) assert(command in state.commands, `${command} is not registered`);
for (const name of ["tenon.run", "tenon.debug", "tenon.showReferences"]) assert(name in state.commands, name);

// Diagnostics, at the columns of JavaScript; a change repairs them.
const text = readFileSync(file, "utf8"), lines = text.split("\n");
const document = await state.open(file, "adl", text);
const uri = document.uri.toString();
const found = () => state.diagnostics.get(uri);
await until("a diagnostic", () => found()?.length === 1);
const line = lines.findIndex((one) => one.includes("passthroug}")), column = lines[line].indexOf("passthroug}");
const { range, message } = found()[0];
assert.deepEqual([range.start.line, range.start.character, range.end.character], [line, column, column + 10]);
assert.match(message, /unknown node type/);

// The graph: it is drawn, follows the text, keeps the last picture while the text is broken, and a click shows the line.
vscode.window.activeTextEditor = { document };
await state.commands["tenon.showGraph"]();
const [panel] = state.panels;
assert.equal(panel.title, "Graph: mistake.yaml");
assert.match(panel.webview.html, /<svg[^]*data-node="greet"/);
const scripts = panel.webview.html.match(/<script[^>]*>/g);
assert.equal(scripts.length, 1);
assert.match(panel.webview.html, /default-src 'none'; style-src 'unsafe-inline'; script-src 'nonce-[0-9a-f]{32}'/);
const clicked = Number(panel.webview.html.match(/data-node="greet"[^>]*data-line="([0-9]+)"/)[1]);
assert.match(lines[clicked - 1], /id: greet/);
await panel.messages.fire({ line: clicked });
assert.equal(state.shown[0].options.selection.start.line, clicked - 1);
for (const wrong of [0, -1, 1e9, "x", undefined]) await panel.messages.fire({ line: wrong });
assert.equal(state.shown.length, 1);

const end = new vscode.Position(line, column + 10);
await state.edit(document, new vscode.Range(end, end), "h");
await until("no diagnostics", () => found()?.length === 0);
await state.edit(document, new vscode.Range(0, 0, lines.length, 0), document.getText().replaceAll("greet", "hello"));
await until("the new name", () => panel.webview.html.includes('data-node="hello"'));
await state.edit(document, new vscode.Range(4, 0, 4, 6), "nodes: [");
await until("a message", () => /<p id="message">[^<]/.test(panel.webview.html));
assert.match(panel.webview.html, /data-node="hello"/);
await state.edit(document, new vscode.Range(4, 0, 4, 8), "nodes:");
await until("no message", () => /<p id="message"><\/p>/.test(panel.webview.html));

// What vscode-languageclient has registered for what the server announces.
for (const wanted of ["HoverProvider", "CompletionItemProvider", "DefinitionProvider", "ReferenceProvider", "RenameProvider", "DocumentSymbolProvider",
  "DocumentFormattingEditProvider", "CodeActionsProvider", "CodeLensProvider", "DocumentSemanticTokensProvider"])
  assert(state.registered[`register${wanted}`]?.length, `no ${wanted}`);

// A task without a shell, in the folder of the document, of which the saved text is run; not in a workspace that is not trusted.
assert.equal(document.isDirty, true);
await state.commands["tenon.run"](uri);
assert.equal(document.isDirty, false);
const [, scope, name, source, execution] = state.tasks[0];
assert.deepEqual([scope, name, source], [vscode.TaskScope.Workspace, "mistake.yaml", "Tenon"]);
assert.deepEqual(execution.values, [process.env.TENON, ["run", file], { cwd: file.slice(0, file.lastIndexOf("/")) }]);
assert.equal(execution.constructor.name, "ProcessExecution");
const strange = await state.open("/tmp/it's $(a) file.yaml", "adl", text);
await state.commands["tenon.run"](strange.uri.toString());
assert.deepEqual(state.tasks[1][4].values[1], ["run", "/tmp/it's $(a) file.yaml"]);
await state.commands["tenon.debug"](uri);
assert.deepEqual(state.tasks[2][4].values[1], ["run", file, "--stream", "tasks,updates,checkpoints,debug"]);
vscode.workspace.isTrusted = false;
await state.commands["tenon.run"](uri);
assert.equal(state.tasks.length, 3);
assert.match(state.messages.pop(), /not trusted/);
vscode.workspace.isTrusted = true;

// Restarted, and ended.
await state.commands["tenon.restart"]();
await until("diagnostics of the second server", () => found() !== undefined);
await deactivate();
state.settings["tenon.path"] = "/nonexistent/tenon";
await state.commands["tenon.restart"]();
assert(state.messages.some((one) => one.startsWith("Cannot start `/nonexistent/tenon lsp`")), state.messages.join());
for (const one of context.subscriptions) one.dispose();
process.exit(0);
