// extension.js - starts `tenon lsp`, and adds what the protocol does not have: a terminal in which a document runs, and the graph view.
//
// Everything else (diagnostics, completion, renaming, …) is done by the server and by vscode-languageclient, Microsoft's library for
// extensions. It is the only dependency; it is installed by npm when the extension is packaged.
"use strict";
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");
const { GraphView } = require("./graph");

// Code lenses have these commands; the server sends such lenses only to clients that announce them.
const LENS_COMMANDS = ["tenon.run", "tenon.showReferences"];

let client;

function settings() {
  return vscode.workspace.getConfiguration("tenon");
}

function makeClient() {
  const selector = [{ language: "adl" }];
  if (settings().get("otherYaml", true)) selector.push({ language: "yaml" });
  return new LanguageClient(
    "tenon",
    "Tenon",
    { command: settings().get("path", "tenon"), args: ["lsp", ...settings().get("arguments", [])] },
    { documentSelector: selector, initializationOptions: { commands: LENS_COMMANDS } },
  );
}

async function startClient() {
  client = makeClient();
  try {
    await client.start();
  } catch (error) {
    const path = settings().get("path", "tenon");
    const choice = await vscode.window.showErrorMessage(`Cannot start \`${path} lsp\`: ${error.message}`, "Open the Settings");
    if (choice) await vscode.commands.executeCommand("workbench.action.openSettings", "tenon.path");
  }
}

async function stopClient() {
  const old = client;
  client = undefined;
  if (old) await old.stop().catch(() => {});
}

async function restartClient() {
  await stopClient();
  await startClient();
}

// ---- Run ----

// For a terminal: quotes for a POSIX shell, or for cmd.exe and PowerShell.
function quoted(text) {
  if (/^[A-Za-z0-9_./:@%+=,-]+$/.test(text)) return text;
  return process.platform === "win32" ? `"${text}"` : `'${text.replace(/'/g, "'\\''")}'`;
}

async function run(uri) {
  const file = uri ? vscode.Uri.parse(uri) : vscode.window.activeTextEditor?.document.uri;
  if (!file || file.scheme !== "file") {
    await vscode.window.showInformationMessage("Save the document first: `tenon run` reads the file.");
    return;
  }
  const document = vscode.workspace.textDocuments.find((open) => open.uri.toString() === file.toString());
  if (document?.isDirty && !(await document.save())) return;
  const terminal = vscode.window.terminals.find((open) => open.name === "Tenon") ?? vscode.window.createTerminal("Tenon");
  terminal.show(true);
  terminal.sendText(`${quoted(settings().get("path", "tenon"))} run ${quoted(file.fsPath)}`);
}

// ---- References ----

async function showReferences(uri, position) {
  const file = vscode.Uri.parse(uri);
  const at = new vscode.Position(position.line, position.character);
  const places = await vscode.commands.executeCommand("vscode.executeReferenceProvider", file, at);
  await vscode.commands.executeCommand("editor.action.showReferences", file, at, places ?? []);
}

// ---- The extension ----

async function activate(context) {
  const graph = new GraphView((method, params) => {
    if (!client?.isRunning()) throw new Error("the language server does not run");
    return client.sendRequest(method, params);
  });
  const commands = {
    "tenon.run": run,
    "tenon.runDocument": () => run(),
    "tenon.showReferences": showReferences,
    "tenon.showGraph": () => graph.show(vscode.window.activeTextEditor?.document),
    "tenon.restart": restartClient,
  };
  for (const [name, command] of Object.entries(commands))
    context.subscriptions.push(vscode.commands.registerCommand(name, command));
  context.subscriptions.push(
    graph,
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (["path", "arguments", "otherYaml"].some((name) => change.affectsConfiguration(`tenon.${name}`))) return restartClient();
    }),
  );
  await startClient();
}

module.exports = { activate, deactivate: stopClient };
