// extension.js - starts `tenon lsp`, and adds what the protocol does not have: a task that runs a document, and the graph view.
//
// Everything else (diagnostics, completion, renaming, …) is done by the server and by vscode-languageclient, Microsoft's library for
// extensions. It is the only dependency; it is installed by npm when the extension is packaged.
"use strict";
const path = require("node:path");
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");
const { GraphView } = require("./graph");

// Code lenses have these commands; the server sends such lenses only to clients that announce them.
const LENS_COMMANDS = ["tenon.run", "tenon.debug", "tenon.showReferences"];

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
    const program = settings().get("path", "tenon");
    const choice = await vscode.window.showErrorMessage(`Cannot start \`${program} lsp\`: ${error.message}`, "Open the Settings");
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

// A task has its own terminal, so that a run that waits for an answer does not get the next command, and no shell reads the name of the
// file. It runs in the folder of the document: the tenon.yaml that is found from there is the one with which the document is checked.
function runTask(file, more) {
  const execution = new vscode.ProcessExecution(settings().get("path", "tenon"), ["run", file, ...more], { cwd: path.dirname(file) });
  return new vscode.Task({ type: "tenon" }, vscode.TaskScope.Workspace, path.basename(file), "Tenon", execution);
}

// All events of the run, as lines of JSON: each task, what it wrote, and the state after each step.
const DEBUG = ["--stream", "tasks,updates,checkpoints,debug"];

async function run(uri, more = []) {
  const file = uri ? vscode.Uri.parse(uri) : vscode.window.activeTextEditor?.document.uri;
  if (!file || file.scheme !== "file") {
    await vscode.window.showInformationMessage("Save the document first: `tenon run` reads the file.");
    return;
  }
  if (!vscode.workspace.isTrusted) {
    await vscode.window.showInformationMessage("This workspace is not trusted: its documents are checked, but not run.");
    return;
  }
  const document = vscode.workspace.textDocuments.find((open) => open.uri.toString() === file.toString());
  if (document?.isDirty && !(await document.save())) return;
  await vscode.tasks.executeTask(runTask(file.fsPath, more));
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
    "tenon.run": (uri) => run(uri),
    "tenon.debug": (uri) => run(uri, DEBUG),
    "tenon.runDocument": () => run(),
    "tenon.debugDocument": () => run(undefined, DEBUG),
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
