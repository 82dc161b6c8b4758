"""client.py - a client of the language server for tests; it has no opinion about what is right, but everything that it receives must
conform to the protocol (metamodel.py) and to the capabilities that it announced.

    with Client(capabilities=FULL) as client:                  # starts `tenon lsp`, sends `initialize` and `initialized`
        document = client.open("/tmp/a.yaml", text)
        found = client.diagnostics(document)                   # waits for those of the newest version
        document.replace((3, 0), (3, 4), "nodes")              # an incremental change
        hover = client.at("textDocument/hover", document, (3, 1))
                                                               # `shutdown` and `exit`; the exit code must be 0
"""
import bisect
import collections
import functools
import json
import os
import re
import select
import socket
import subprocess
import sys
import time
import traceback
import urllib.parse

import metamodel

TENON = os.environ.get("TENON", "tenon")
PATIENCE = 120  # seconds: only for a server that is broken
MODEL = metamodel.load()
INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32600, -32601, -32602
NOT_INITIALIZED, CANCELLED = -32002, -32800

# Everything that the server can use.
FULL = {
    "general": {"positionEncodings": ["utf-16"]},
    "window": {"workDoneProgress": True, "showDocument": {"support": True}},
    "workspace": {
        "applyEdit": True,
        "workspaceEdit": {"documentChanges": True, "resourceOperations": ["create", "rename", "delete"],
                          "changeAnnotationSupport": {}, "snippetEditSupport": True, "metadataSupport": True,
                          "failureHandling": "transactional"},
        "configuration": True, "workspaceFolders": True, "symbol": {"resolveSupport": {"properties": ["location.range"]}},
        "didChangeWatchedFiles": {"dynamicRegistration": True, "relativePatternSupport": True},
        "didChangeConfiguration": {"dynamicRegistration": True}, "executeCommand": {},
        "codeLens": {"refreshSupport": True}, "inlayHint": {"refreshSupport": True},
        "semanticTokens": {"refreshSupport": True}, "foldingRange": {"refreshSupport": True},
        "diagnostics": {"refreshSupport": True}, "textDocumentContent": {"dynamicRegistration": True},
        "fileOperations": {"willRename": True, "didRename": True},
    },
    "textDocument": {
        "synchronization": {"didSave": True},
        "publishDiagnostics": {"relatedInformation": True, "versionSupport": True, "codeDescriptionSupport": True,
                               "dataSupport": True, "tagSupport": {"valueSet": [1, 2]}},
        "completion": {
            "contextSupport": True, "insertTextMode": 2,
            "completionItem": {"snippetSupport": True, "documentationFormat": ["markdown", "plaintext"], "deprecatedSupport": True,
                               "preselectSupport": True, "labelDetailsSupport": True, "insertReplaceSupport": True,
                               "commitCharactersSupport": True, "tagSupport": {"valueSet": [1]},
                               "insertTextModeSupport": {"valueSet": [1, 2]},
                               "resolveSupport": {"properties": ["documentation", "detail", "additionalTextEdits"]}},
            "completionList": {"itemDefaults": ["commitCharacters", "editRange", "insertTextFormat", "insertTextMode", "data"],
                               "applyKindSupport": True}},
        "hover": {"contentFormat": ["markdown", "plaintext"]},
        "signatureHelp": {"contextSupport": True,
                          "signatureInformation": {"documentationFormat": ["markdown"], "activeParameterSupport": True,
                                                   "parameterInformation": {"labelOffsetSupport": True}}},
        "definition": {"linkSupport": True}, "typeDefinition": {"linkSupport": True}, "declaration": {"linkSupport": True},
        "implementation": {"linkSupport": True}, "references": {}, "documentHighlight": {},
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True, "symbolKind": {"valueSet": list(range(1, 27))},
                           "tagSupport": {"valueSet": [1]}, "labelSupport": True},
        "codeAction": {"dataSupport": True, "isPreferredSupport": True, "disabledSupport": True,
                       "resolveSupport": {"properties": ["edit"]},
                       "codeActionLiteralSupport": {"codeActionKind": {"valueSet": [
                           "", "quickfix", "refactor", "refactor.extract", "refactor.inline", "refactor.rewrite", "source",
                           "source.fixAll"]}}},
        "codeLens": {"resolveSupport": {"properties": ["command"]}}, "documentLink": {"tooltipSupport": True},
        "formatting": {}, "rangeFormatting": {"rangesSupport": True}, "onTypeFormatting": {},
        "rename": {"prepareSupport": True, "prepareSupportDefaultBehavior": 1, "honorsChangeAnnotations": True},
        "foldingRange": {"rangeLimit": 5000, "foldingRangeKind": {"valueSet": ["comment", "imports", "region"]},
                         "foldingRange": {"collapsedText": True}},
        "selectionRange": {}, "linkedEditingRange": {}, "callHierarchy": {}, "inlineValue": {}, "moniker": {},
        "semanticTokens": {"requests": {"full": {"delta": True}, "range": True}, "formats": ["relative"],
                           "tokenTypes": [], "tokenModifiers": [], "multilineTokenSupport": False,
                           "overlappingTokenSupport": False, "augmentsSyntaxTokens": True},
        "inlayHint": {"resolveSupport": {"properties": ["tooltip", "textEdits"]}},
    },
}
# The same for a client that pulls diagnostics.
PULL = json.loads(json.dumps(FULL))
PULL["textDocument"]["diagnostic"] = {"relatedDocumentSupport": True, "relatedInformation": True}

# What the server may send, only if the client has announced the capability.
NEEDS = {
    "workspace/codeLens/refresh": "workspace.codeLens.refreshSupport",
    "workspace/inlayHint/refresh": "workspace.inlayHint.refreshSupport",
    "workspace/semanticTokens/refresh": "workspace.semanticTokens.refreshSupport",
    "workspace/foldingRange/refresh": "workspace.foldingRange.refreshSupport",
    "workspace/diagnostic/refresh": "workspace.diagnostics.refreshSupport",
    "workspace/textDocumentContent/refresh": "workspace.textDocumentContent",
    "workspace/configuration": "workspace.configuration",
    "workspace/workspaceFolders": "workspace.workspaceFolders",
    "workspace/applyEdit": "workspace.applyEdit",
    "window/workDoneProgress/create": "window.workDoneProgress",
    "window/showDocument": "window.showDocument.support",
}


class ResponseError(Exception):
    def __init__(self, error):
        super().__init__(f"{error['code']}: {error['message']}")
        self.code, self.data = error["code"], error.get("data")


class Violation(Exception):
    """The server has sent what it must not send."""


def capability(capabilities, path):
    for name in path.split("."):
        capabilities = capabilities.get(name) if isinstance(capabilities, dict) else None
    return capabilities


def has(capabilities, path):
    """True if it is announced: true, or an object, even an empty one."""
    found = capability(capabilities, path)
    return found is not None and found is not False


def uri_of(path):
    return path if "://" in path or path.startswith("untitled:") else "file://" + urllib.parse.quote(path)


# ---- A stream ----


class Stream:
    """Content-Length frames over file descriptors. Reads while it writes, so that neither side waits for the other."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer
        self.received, self.ended = bytearray(), False
        os.set_blocking(writer, False)

    def send_bytes(self, data):
        data = memoryview(data)
        while data:
            readable, writable, _ = select.select([] if self.ended else [self.reader], [self.writer], [], PATIENCE)
            if not readable and not writable:
                raise TimeoutError("the server does not read")
            if readable:
                self.read_more()
            if writable:
                data = data[os.write(self.writer, data[:65536]):]

    def read_more(self):
        try:
            data = os.read(self.reader, 1 << 18)
        except ConnectionResetError:  # the other side of a socket has not read everything
            data = b""
        self.ended = not data
        self.received += data

    def next_message(self):
        """Returns None if the rest of a message is missing."""
        end = self.received.find(b"\r\n\r\n")
        if end < 0:
            return None
        headers = dict(line.split(b": ", 1) for line in bytes(self.received[:end]).split(b"\r\n"))
        size = int(headers[b"Content-Length"])
        if len(self.received) < end + 4 + size:
            return None
        body = bytes(self.received[end + 4:end + 4 + size])
        del self.received[:end + 4 + size]
        return json.loads(body)

    def receive(self, timeout):
        """Returns None after the timeout, or at the end."""
        limit = time.monotonic() + timeout
        while True:
            message = self.next_message()
            if message is not None or self.ended:
                return message
            left = limit - time.monotonic()
            if left < 0 or not select.select([self.reader], [], [], left)[0]:
                return None
            self.read_more()


# ---- Documents ----


class Document:
    """A document as the client has it. Positions are (line, character) in the encoding of the connection."""

    def __init__(self, client, uri, text, version):
        self.client, self.uri, self.text, self.version = client, uri, text, version

    def offset(self, position):
        return offset_of(self.text, position, self.client.encoding)

    def position(self, offset):
        return position_of(self.text, offset, self.client.encoding)

    def find(self, what, at=0, nth=0):
        """The position `at` characters after the beginning of the nth occurrence."""
        found = -1
        for _ in range(nth + 1):
            found = self.text.index(what, found + 1)
        return self.position(found + at)

    def params(self, **more):
        return {"textDocument": {"uri": self.uri}, **more}

    def replace(self, start, end, text):
        self.change([(start, end, text)])

    def insert(self, offset, text):
        self.splice(offset, offset, text)

    def splice(self, start, end, text):
        self.replace(self.position(start), self.position(end), text)

    def change(self, changes):
        """Each change is (start, end, text), or the whole text."""
        sent = []
        for change in changes:
            if isinstance(change, str):
                self.text = change
                sent.append({"text": change})
            else:
                start, end, text = change
                self.text = self.text[:self.offset(start)] + text + self.text[self.offset(end):]
                sent.append({"range": {"start": as_position(start), "end": as_position(end)}, "text": text})
        self.version += 1
        self.client.notify("textDocument/didChange", {"textDocument": {"uri": self.uri, "version": self.version},
                                                      "contentChanges": sent})

    def close(self):
        self.client.notify("textDocument/didClose", self.params())


def as_position(pair):
    return {"line": pair[0], "character": pair[1]}


def width(text, encoding):
    return len(text.encode("utf-8")) if encoding == "utf-8" else len(text.encode("utf-16-le")) // 2


@functools.lru_cache(maxsize=8)
def line_starts(text):
    """Lines end with \\n, \\r\\n or \\r."""
    return [0] + [found.end() for found in re.finditer("\r\n|\n|\r", text)]


def offset_of(text, position, encoding):
    """A position after the end of the line is its end."""
    starts = line_starts(text)
    if position[0] >= len(starts):
        return len(text)
    start = starts[position[0]]
    end = starts[position[0] + 1] if position[0] + 1 < len(starts) else len(text)
    line = text[start:end].rstrip("\r\n")
    used = 0
    for index, char in enumerate(line):
        if used >= position[1]:
            return start + index
        used += width(char, encoding)
    return start + len(line)


def position_of(text, offset, encoding):
    starts = line_starts(text)
    line = bisect.bisect_right(starts, offset) - 1
    return (line, width(text[starts[line]:offset], encoding))


def apply_edits(text, edits, encoding):
    """Text edits of the protocol; they must not overlap."""
    found = []
    for index, edit in enumerate(edits):
        start, end = ((edit["range"][side]["line"], edit["range"][side]["character"]) for side in ("start", "end"))
        found.append((offset_of(text, start, encoding), offset_of(text, end, encoding), index, edit_text(edit)))
    found.sort()
    for before, after in zip(found, found[1:]):
        if before[1] > after[0]:
            raise Violation(f"edits overlap: {edits}")
    for start, end, _, new in reversed(found):
        text = text[:start] + new + text[end:]
    return text


def edit_text(edit):
    return edit["newText"] if "newText" in edit else edit["snippet"]["value"]


# ---- The client ----


class Client:
    def __init__(self, capabilities=FULL, arguments=("lsp",), at=None, root=None, folders=None, options=None, start=True,
                 environment=None, cwd=None):
        self.capabilities = capabilities
        self.process = None
        if at:
            self.connection = socket.socket(socket.AF_UNIX)
            self.connection.connect(at)
            self.stream = Stream(self.connection.fileno(), self.connection.fileno())
        else:
            self.process = subprocess.Popen([TENON, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            env={**os.environ, **(environment or {})}, cwd=cwd)
            self.stream = Stream(self.process.stdout.fileno(), self.process.stdin.fileno())
        self.next_id, self.sent, self.answers = 1, {}, {}
        self.notifications = collections.deque(maxlen=100000)
        self.faults = []
        self.requests = []  # of the server, answered
        self.registrations = {}
        self.published = {}  # by URI: the newest parameters
        self.configuration = {}
        self.encoding = "utf-16"
        self.server = {}
        self.closed = False
        if start:
            self.initialize(root, folders, options)

    def initialize(self, root=None, folders=None, options=None, **more):
        params = {"processId": os.getpid(), "clientInfo": {"name": "tests"}, "rootUri": uri_of(root) if root else None,
                  "capabilities": self.capabilities, **more}
        if folders is not None:
            params["workspaceFolders"] = [{"uri": uri_of(path), "name": os.path.basename(path)} for path in folders]
        if options is not None:
            params["initializationOptions"] = options
        result = self.request("initialize", params)
        self.server = result["capabilities"]
        self.encoding = self.server.get("positionEncoding", "utf-16")
        announced = capability(self.capabilities, "general.positionEncodings") or ["utf-16"]
        if self.encoding not in announced + ["utf-16"]:
            raise Violation(f"position encoding {self.encoding}, but the client knows {announced}")
        self.notify("initialized", {})
        return result

    # ---- Sending ----

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode("utf-8", "surrogatepass")
        self.stream.send_bytes(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    def notify(self, method, params):
        self.send({"method": method, "params": params})

    def ask(self, method, params=None):
        """Sends a request; returns its number."""
        number = self.next_id
        self.next_id += 1
        self.sent[number] = method
        self.send({"id": number, "method": method, **({} if params is None else {"params": params})})
        return number

    def request(self, method, params=None):
        return self.answer(self.ask(method, params))

    def at(self, method, document, position, **more):
        return self.request(method, document.params(position=as_position(position), **more))

    def cancel(self, number):
        self.notify("$/cancelRequest", {"id": number})

    # ---- Receiving ----

    def answer(self, number):
        self.wait(lambda: number in self.answers, f"the answer to {self.sent.get(number)}")
        kind, value = self.answers.pop(number)
        if kind == "error":
            raise ResponseError(value)
        return value

    def error_of(self, method, params=None):
        """The code of the error with which the request fails."""
        try:
            result = self.request(method, params)
        except ResponseError as error:
            return error.code
        raise Violation(f"{method} does not fail: {result!r:.200}")

    def wait(self, condition, what):
        limit = time.monotonic() + PATIENCE
        while not condition():
            message = self.stream.receive(limit - time.monotonic())
            if message is None:
                raise TimeoutError(f"{'the server ended' if self.stream.ended else 'too late'}: waited for {what}")
            self.take(message)

    def settle(self):
        """Everything that the server has sent before the answer to a request that it answers at once."""
        self.request("tenon/host/info", {})

    def take(self, message):
        if message.get("jsonrpc") != "2.0":
            raise Violation(f"not JSON-RPC 2.0: {message!r:.300}")
        if "method" not in message:
            self.take_response(message)
        elif "id" in message:
            self.take_request(message["id"], message["method"], message.get("params"))
        else:
            self.take_notification(message["method"], message.get("params"))

    def take_response(self, message):
        if message["id"] is None:  # a message that could not be read; finish() fails unless the test has taken it
            self.faults.append(message["error"])
            return
        method = self.sent.pop(message["id"], None)
        if method is None:
            raise Violation(f"an answer to nothing: {message!r:.300}")
        if "error" in message:
            if MODEL:
                MODEL.check_error(method, message["error"])
            self.answers[message["id"]] = ("error", message["error"])
        else:
            if MODEL:
                MODEL.check_result(method, message["result"])
            check_abilities(self.capabilities, method, message["result"])
            self.answers[message["id"]] = ("result", message["result"])

    def take_request(self, number, method, params):
        if MODEL:
            MODEL.check_params(method, params)
        if method in NEEDS and not has(self.capabilities, NEEDS[method]):
            raise Violation(f"{method}, but the client has not announced {NEEDS[method]}")
        self.requests.append((method, params))
        try:
            self.send({"id": number, "result": self.reply(method, params)})
        except (BrokenPipeError, ConnectionResetError):
            pass  # the server has ended meanwhile, which the next read finds

    def reply(self, method, params):
        if method == "client/registerCapability":
            for registration in params["registrations"]:
                self.register(registration)
        elif method == "client/unregisterCapability":
            for registration in params["unregisterations"]:
                del self.registrations[registration["id"]]
        elif method == "workspace/configuration":
            return [self.configuration.get(item.get("section")) for item in params["items"]]
        elif method == "workspace/applyEdit":
            return {"applied": True}
        elif method == "window/showDocument":
            return {"success": True}
        return None

    def register(self, registration):
        method = registration["method"]
        entry = MODEL and (MODEL.requests.get(method) or MODEL.notifications.get(method))
        path = entry and entry.get("clientCapability") or method.replace("/", ".")
        if not capability(self.capabilities, path + ".dynamicRegistration"):
            raise Violation(f"{method} is registered, but the client has not announced {path}.dynamicRegistration")
        if registration["id"] in self.registrations:
            raise Violation(f"registered twice: {registration['id']}")
        self.registrations[registration["id"]] = registration

    def take_notification(self, method, params):
        if not method.startswith("tenon/") and MODEL:
            MODEL.check_params(method, params)
        self.notifications.append((method, params))
        if method == "textDocument/publishDiagnostics":
            self.take_diagnostics(params)

    def take_diagnostics(self, params):
        if capability(self.capabilities, "textDocument.diagnostic") is not None:
            raise Violation("diagnostics are pushed to a client that pulls them")
        if "version" in params and not capability(self.capabilities, "textDocument.publishDiagnostics.versionSupport"):
            raise Violation("diagnostics have a version, but the client has not announced versionSupport")
        for diagnostic in params["diagnostics"]:
            if "relatedInformation" in diagnostic and \
                    not capability(self.capabilities, "textDocument.publishDiagnostics.relatedInformation"):
                raise Violation("relatedInformation was not announced")
        self.published[params["uri"]] = params

    # ---- Documents ----

    def open(self, path, text, language="adl", version=1):
        document = Document(self, uri_of(path), text, version)
        self.published.pop(document.uri, None)
        self.notify("textDocument/didOpen", {"textDocument": {"uri": document.uri, "languageId": language, "version": version,
                                                              "text": text}})
        return document

    def diagnostics(self, document):
        """Those of the newest version: waits for it if the client has announced versionSupport."""
        versions = capability(self.capabilities, "textDocument.publishDiagnostics.versionSupport")

        def is_newest():
            found = self.published.get(document.uri)
            return found is not None and (not versions or found.get("version") == document.version)
        self.wait(is_newest, f"the diagnostics of version {document.version} of {document.uri}")
        return self.published[document.uri]["diagnostics"]

    def codes(self, document):
        return sorted(diagnostic["code"] for diagnostic in self.diagnostics(document))

    # ---- Ending ----

    def finish(self):
        """Ends in order, and returns the exit code."""
        if self.closed:
            return None
        if self.faults:
            raise Violation(f"the server could not read messages: {self.faults}")
        self.request("shutdown")
        self.notify("exit", None)
        return self.wait_closed()

    def wait_closed(self):
        limit = time.monotonic() + PATIENCE
        while not self.stream.ended:
            message = self.stream.receive(limit - time.monotonic())
            if message is not None:
                self.take(message)
            elif not self.stream.ended:
                raise TimeoutError("the server does not close the connection")
        self.closed = True
        if not self.process:
            self.connection.close()
            return 0
        self.process.stdin.close()
        self.process.stdout.close()
        return self.process.wait(PATIENCE)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is None:
            code = self.finish()
            if code not in (0, None):
                raise Violation(f"exit code {code}")
        elif self.process:
            self.process.kill()
            self.process.wait()


# ---- What answers may contain, given the capabilities ----


def check_abilities(capabilities, method, result):
    def can(path):
        return has(capabilities, path)
    if not result:
        return
    if method == "textDocument/completion":
        check_completion(capabilities, can, result)
    elif method == "textDocument/documentSymbol":
        if "selectionRange" in result[0] and not can("textDocument.documentSymbol.hierarchicalDocumentSymbolSupport"):
            raise Violation("hierarchical symbols were not announced")
    elif method == "textDocument/hover":
        kind = result["contents"].get("kind") if isinstance(result["contents"], dict) else None
        if kind == "markdown" and "markdown" not in (capability(capabilities, "textDocument.hover.contentFormat") or []):
            raise Violation("Markdown was not announced for hover")
    elif method == "textDocument/signatureHelp":
        check_signatures(capabilities, can, result)
    elif method == "textDocument/codeAction":
        literals = can("textDocument.codeAction.codeActionLiteralSupport")
        for action in result:
            if isinstance(action.get("command"), str) == literals:
                raise Violation(f"literals: {literals}, but an action is {action!r:.300}")
            if "edit" in action:
                check_workspace_edit(capabilities, action["edit"])
    elif method == "textDocument/rename":
        check_workspace_edit(capabilities, result)
    elif method == "textDocument/documentLink":
        if any("tooltip" in link for link in result) and not can("textDocument.documentLink.tooltipSupport"):
            raise Violation("tooltips of links were not announced")
    elif method in ("textDocument/definition", "textDocument/typeDefinition"):
        if isinstance(result, list) and "targetUri" in result[0] and not can(method.replace("/", ".") + ".linkSupport"):
            raise Violation(f"{method}: links were not announced")
    elif method == "textDocument/foldingRange":
        if can("textDocument.foldingRange.lineFoldingOnly") and any("startCharacter" in fold for fold in result):
            raise Violation("the client folds lines only")


def check_signatures(capabilities, can, result):
    information = "textDocument.signatureHelp.signatureInformation."
    formats = capability(capabilities, information + "documentationFormat") or []
    for signature in result["signatures"]:
        kind = signature["documentation"].get("kind") if isinstance(signature.get("documentation"), dict) else None
        if kind == "markdown" and "markdown" not in formats:
            raise Violation(f"Markdown was not announced for signatures: {signature}")
        for parameter in signature.get("parameters", []):
            if isinstance(parameter["label"], list) and not can(information + "parameterInformation.labelOffsetSupport"):
                raise Violation(f"offsets of labels were not announced: {signature}")


def check_completion(capabilities, can, result):
    formats = capability(capabilities, "textDocument.completion.completionItem.documentationFormat") or []
    item_of = "textDocument.completion.completionItem."
    items = result if isinstance(result, list) else result["items"]
    defaults = {} if isinstance(result, list) else result.get("itemDefaults", {})
    if defaults and not can("textDocument.completion.completionList.itemDefaults"):
        raise Violation("defaults of items were not announced")
    for item in items:
        if item.get("insertTextFormat", defaults.get("insertTextFormat")) == 2 and not can(item_of + "snippetSupport"):
            raise Violation(f"snippets were not announced: {item}")
        if "labelDetails" in item and not can(item_of + "labelDetailsSupport"):
            raise Violation(f"label details were not announced: {item}")
        if "insert" in item.get("textEdit", {}) and not can(item_of + "insertReplaceSupport"):
            raise Violation(f"insert and replace were not announced: {item}")
        if isinstance(item.get("documentation"), dict) and item["documentation"]["kind"] not in formats:
            raise Violation(f"{item['documentation']['kind']} was not announced for items: {item}")
        if "insertTextMode" in item and not can(item_of + "insertTextModeSupport"):
            raise Violation(f"modes of insertion were not announced: {item}")
        if "tags" in item and not can(item_of + "tagSupport"):
            raise Violation(f"tags were not announced: {item}")


def check_workspace_edit(capabilities, edit):
    changes = edit.get("documentChanges")
    if changes is None:
        return
    if not capability(capabilities, "workspace.workspaceEdit.documentChanges"):
        raise Violation("documentChanges was not announced")
    allowed = capability(capabilities, "workspace.workspaceEdit.resourceOperations") or []
    for change in changes:
        if "kind" in change and change["kind"] not in allowed:
            raise Violation(f"{change['kind']} was not announced")
        if any("snippet" in part for part in change.get("edits", [])) and \
                not capability(capabilities, "workspace.workspaceEdit.snippetEditSupport"):
            raise Violation("snippet edits were not announced")


# ---- Tests ----


def expect(condition, *what):
    if not condition:
        raise AssertionError(" ".join(str(part) for part in what))


def expect_equal(found, wanted, what=""):
    if found != wanted:
        raise AssertionError(f"{what}\n  expected {wanted!r:.3000}\n  found    {found!r:.3000}")


def run_tests(names):
    """Runs the functions test_* in the order of the file; the arguments of the program select some. Exits with 1 if one fails."""
    selected = sys.argv[1:]
    tests = [(name, function) for name, function in names.items() if name.startswith("test_") and callable(function)]
    failed = []
    if not MODEL:
        print(f"skipped: messages are not validated, because {metamodel.model_path()} is missing")
    for name, function in tests:
        if selected and name not in selected:
            continue
        started = time.monotonic()
        try:
            function()
        except Exception:
            failed.append(name)
            print(f"failed: {name}", file=sys.stderr)
            traceback.print_exc()
        else:
            print(f"{name}: ok, {time.monotonic() - started:.2f} s", flush=True)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")
