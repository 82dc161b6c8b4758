// graph.js - the graph of a document beside its text: a picture that follows the text, and in which a click on a node shows its line.
"use strict";
const { randomBytes } = require("node:crypto");
const vscode = require("vscode");

const DELAY_MS = 250; // after the last change

// The page of the view. Everything in the picture is the document's: no script in it can run.
function page(drawing, message, nonce) {
  const text = (value) => value.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`);
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'nonce-${nonce}'">
<style>
  body { margin: 0; padding: 12px; }
  [data-line] { cursor: pointer; }
  [data-line]:hover { opacity: 0.7; }
  #message { color: var(--vscode-errorForeground); font-family: var(--vscode-font-family); }
</style>
</head>
<body>
<p id="message">${text(message)}</p>
${drawing}
<script nonce="${nonce}">
  const api = acquireVsCodeApi();
  document.addEventListener("click", (event) => {
    const found = event.target.closest("[data-line]");
    if (found) api.postMessage({ line: Number(found.dataset.line) });
  });
</script>
</body>
</html>`;
}

class GraphView {
  // `request` sends a request to the server.
  constructor(request) {
    this.request = request;
    this.listener = vscode.workspace.onDidChangeTextDocument((event) => {
      if (this.panel && event.document.uri.toString() === this.document.uri.toString()) this.later();
    });
  }

  async show(document) {
    if (!document) return;
    this.document = document;
    this.drawing = "";
    if (!this.panel) {
      this.panel = vscode.window.createWebviewPanel("tenon.graph", "Graph", { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true },
        { enableScripts: true, localResourceRoots: [] });
      this.panel.onDidDispose(() => {
        clearTimeout(this.timer);
        this.panel = undefined;
      });
      this.panel.webview.onDidReceiveMessage((message) => this.jump(message.line));
    }
    this.panel.title = `Graph: ${document.fileName.split(/[\\/]/).pop()}`;
    await this.draw();
  }

  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.draw(), DELAY_MS);
  }

  // While the text is incomplete, the last picture stays.
  async draw() {
    let message = "";
    const version = this.document.version;
    try {
      const params = { text: this.document.getText(), name: this.document.fileName, format: "svg" };
      const { drawing } = await this.request("tenon/document/graph", params);
      if (this.document.version !== version) return; // a newer picture follows
      this.drawing = drawing;
    } catch (error) {
      message = error.message;
    }
    if (this.panel) this.panel.webview.html = page(this.drawing, message, randomBytes(16).toString("hex"));
  }

  // Lines of the picture count from 1.
  async jump(line) {
    if (!Number.isInteger(line) || line < 1 || line > this.document.lineCount) return;
    const at = new vscode.Range(line - 1, 0, line - 1, 0);
    const editor = await vscode.window.showTextDocument(this.document, { viewColumn: vscode.ViewColumn.One, selection: at });
    editor.revealRange(at, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  }

  dispose() {
    clearTimeout(this.timer);
    this.listener.dispose();
    this.panel?.dispose();
  }
}

module.exports = { GraphView, page };
