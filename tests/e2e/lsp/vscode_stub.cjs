// vscode_stub.cjs - as much of VS Code's API as the extension of samples/editors/vscode and vscode-languageclient use: documents that
// are edited, commands, diagnostics, providers that can be asked, tasks and web views that keep what they are given.
"use strict";
const Module = require("node:module");
const { pathToFileURL, fileURLToPath } = require("node:url");

class Disposable {
  constructor(dispose) { this.dispose = dispose ?? (() => {}); }
  static from(...all) { return new Disposable(() => all.forEach((one) => one.dispose())); }
}
class EventEmitter {
  constructor() {
    this.listeners = new Set();
    this.event = (listener, self, disposables) => {
      const bound = self ? listener.bind(self) : listener;
      this.listeners.add(bound);
      const disposable = new Disposable(() => this.listeners.delete(bound));
      disposables?.push(disposable);
      return disposable;
    };
  }
  fire(value) { return Promise.all([...this.listeners].map((listener) => listener(value))); }
  dispose() { this.listeners.clear(); }
}
class Uri {
  constructor(text) { Object.assign(this, { text, scheme: text.slice(0, text.indexOf(":")) }); }
  static parse(text) { return new Uri(text); }
  static file(path) { return new Uri(pathToFileURL(path).href); }
  get fsPath() { return fileURLToPath(this.text); }
  get path() { return this.fsPath; }
  toString() { return this.text; }
  with() { return this; }
}
class Position {
  constructor(line, character) { Object.assign(this, { line, character }); }
}
class Range {
  constructor(a, b, c, d) {
    this.start = a instanceof Position ? a : new Position(a, b);
    this.end = a instanceof Position ? b : new Position(c, d);
  }
}
class Diagnostic {
  constructor(range, message, severity) { Object.assign(this, { range, message, severity }); }
}
class CodeActionKind {
  constructor(value) { this.value = value; }
  append(part) { return new CodeActionKind(this.value ? `${this.value}.${part}` : part); }
}

// Any other class of the API, and any other function that only registers something.
const anyClass = (name) => ({ [name]: class { constructor(...values) { this.values = values; } } })[name];
const registered = {};
const register = (name) => (...values) => {
  (registered[name] ??= []).push(values);
  return new Disposable(() => { registered[name] = registered[name].filter((entry) => entry !== values); });
};
const withDefaults = (known, makeOther) => new Proxy(known, {
  get(target, name) {
    if (!(name in target) && typeof name === "string" && name !== "then") target[name] = makeOther(name);
    return target[name];
  },
});

const events = withDefaults({}, () => new EventEmitter());
const state = { settings: {}, commands: {}, documents: [], tasks: [], panels: [], shown: [], messages: [], registered, events, diagnostics: new Map() };

class Document {
  constructor(path, languageId, text) {
    Object.assign(this, { uri: Uri.file(path), fileName: path, languageId, text, version: 1, isDirty: false, isClosed: false, eol: 1 });
  }
  getText() { return this.text; }
  get lineCount() { return this.text.split("\n").length; }
  async save() { this.isDirty = false; return true; }
  offsetAt({ line, character }) { return this.text.split("\n").slice(0, line).join("\n").length + (line > 0 ? 1 : 0) + character; }
}
state.open = async (path, languageId, text) => {
  const document = new Document(path, languageId, text);
  state.documents.push(document);
  await events.didOpenTextDocument.fire(document);
  return document;
};
// Replaces a range, as a person who types does.
state.edit = async (document, range, text) => {
  const start = document.offsetAt(range.start), end = document.offsetAt(range.end);
  document.text = document.text.slice(0, start) + text + document.text.slice(end);
  document.version++;
  document.isDirty = true;
  const change = { range, rangeOffset: start, rangeLength: end - start, text };
  await events.didChangeTextDocument.fire({ document, contentChanges: [change] });
};

const event = (name) => (...values) => events[name].event(...values);
const on = (target) => withDefaults(target, (name) =>
  name.startsWith("on") ? event(name[2].toLowerCase() + name.slice(3)) : register(name));

const workspace = on({
  get textDocuments() { return state.documents; },
  workspaceFolders: undefined,
  notebookDocuments: [],
  getConfiguration: (section) => ({ get: (name, fallback) => state.settings[section ? `${section}.${name}` : name] ?? fallback, has: () => false,
    inspect: () => undefined }),
  getWorkspaceFolder: () => undefined,
  applyEdit: async () => true,
  createFileSystemWatcher: () => ({ onDidCreate: new EventEmitter().event, onDidChange: new EventEmitter().event,
    onDidDelete: new EventEmitter().event, dispose() {} }),
  isTrusted: true,
});
const window = on({
  visibleTextEditors: [], tabGroups: { all: [], onDidChangeTabs: event("didChangeTabs") },
  createOutputChannel: () => withDefaults({ append() {}, appendLine() {}, show() {}, dispose() {} }, () => () => {}),
  createWebviewPanel: (type, title) => {
    const messages = new EventEmitter(), disposed = new EventEmitter();
    const panel = { type, title, messages, webview: { html: "", onDidReceiveMessage: messages.event }, onDidDispose: disposed.event,
      dispose: () => disposed.fire() };
    state.panels.push(panel);
    return panel;
  },
  showErrorMessage: async (text) => { state.messages.push(text); },
  showInformationMessage: async (text) => { state.messages.push(text); },
  showTextDocument: async (document, options) => {
    state.shown.push({ document, options });
    return { revealRange() {} };
  },
  withProgress: (options, task) => task({ report() {} }, { isCancellationRequested: false, onCancellationRequested: () => new Disposable() }),
});
const commands = {
  registerCommand: (name, command) => {
    if (name in state.commands) throw new Error(`command '${name}' already exists`);
    state.commands[name] = command;
    return new Disposable(() => delete state.commands[name]);
  },
  executeCommand: async (name, ...values) => state.commands[name]?.(...values),
};
const tasks = { executeTask: async (task) => { state.tasks.push(task.values); } };
const languages = on({
  createDiagnosticCollection: () => ({
    set: (uri, found) => { state.diagnostics.set(uri.toString(), found ?? []); events.diagnostics.fire(uri); },
    delete: (uri) => state.diagnostics.delete(uri.toString()), clear() {}, dispose() {}, forEach() {}, has: () => false,
  }),
  match: (selector, document) => [selector].flat().some((filter) => (filter.language ?? filter) === document.languageId) ? 10 : 0,
});

const vscode = withDefaults(
  {
    Disposable, EventEmitter, Uri, Position, Range, Diagnostic, workspace, window, commands, languages, tasks,
    version: "1.106.0",
    env: { appName: "Visual Studio Code", language: "en", clipboard: {}, onDidChangeTelemetryEnabled: event("telemetry"), uriScheme: "vscode" },
    extensions: { all: [], getExtension: () => undefined, onDidChange: event("extensions") },
    l10n: { t: (text) => text },
    CodeActionKind: { Empty: new CodeActionKind("") },
    DiagnosticSeverity: { Error: 0, Warning: 1, Information: 2, Hint: 3 },
    ViewColumn: { Active: -1, Beside: -2, One: 1 },
    TaskScope: { Global: 1, Workspace: 2 },
    TextEditorRevealType: { InCenterIfOutsideViewport: 2 },
    TextDocumentChangeReason: { Undo: 1, Redo: 2 },
    CancellationTokenSource: class { token = { isCancellationRequested: false, onCancellationRequested: () => new Disposable() }; cancel() {} dispose() {} },
    __esModule: true, // otherwise the library copies the properties that exist
  },
  anyClass,
);

const load = Module._load;
Module._load = function (request, ...rest) { return request === "vscode" ? vscode : load.call(this, request, ...rest); };
module.exports = { vscode, state };
