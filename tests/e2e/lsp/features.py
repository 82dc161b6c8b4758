"""features.py - what the server announces, it answers. The features themselves are tested in tests/unit; here is what a client sees
of them: valid messages, places inside the text, edits that can be applied, references that agree with each other.

Each capability has a function in CHECKS. A capability without one fails: write its check first.
"""
import pathlib

from client import *

SAMPLES, CORPUS = pathlib.Path(os.environ["SAMPLES"]), pathlib.Path(os.environ["CORPUS"])
HERE = pathlib.Path.cwd()
# With characters outside of ASCII before names, so that bytes, UTF-16 units and characters differ.
REVIEW = (SAMPLES / "from-langgraph" / "review.yaml").read_text().replace('prompt: "', 'prompt: "é👋 ')
HELLO = 'version: "1.0"\nagent: {name: hello}\nnodes: [{id: greet, type: passthrough}]\n' \
        'edges: [{from: START, to: greet}, {from: greet, to: END}]\n'


def place(document, what, nth=0):
    """The range of the nth occurrence."""
    start = document.find(what, 0, nth)
    return {"start": as_position(start), "end": as_position((start[0], start[1] + width(what, document.client.encoding)))}


def pair(position):
    return position["line"], position["character"]


def expect_inside(document, found, what):
    """A range is in the text, not reversed, and not behind the end of a line."""
    for side in ("start", "end"):
        position = pair(found[side])
        expect(document.position(document.offset(position)) == position, what, "is outside of the text:", found)
    expect(pair(found["start"]) <= pair(found["end"]), what, "is reversed:", found)


def covers(found, position):
    return pair(found["start"]) <= position <= pair(found["end"])


def all_positions(document, step):
    return [document.position(offset) for offset in range(0, len(document.text) + 1, step)]


def applied(document, edit):
    """The texts of a WorkspaceEdit by URI; other documents are read from the disk."""
    texts = {}
    changes = [(change["textDocument"]["uri"], change["edits"]) for change in edit.get("documentChanges", []) if "edits" in change]
    for uri, edits in changes + list(edit.get("changes", {}).items()):
        before = document.text if uri == document.uri else pathlib.Path(urllib.parse.unquote(uri[7:])).read_text()
        texts[uri] = apply_edits(texts.get(uri, before), edits, document.client.encoding)
    return texts


def location(found):
    """Of a Location or LocationLink: URI and range."""
    return (found["targetUri"], found["targetSelectionRange"]) if "targetUri" in found else (found["uri"], found["range"])


def locations(result):
    return [location(item) for item in (result if isinstance(result, list) else [result] if result else [])]


# ---- A capability each: (client, its options, review: a document without mistakes) ----


def check_position_encoding(client, options, review):
    expect(options in ("utf-8", "utf-16"), options)


def check_sync(client, options, review):
    expect_equal((options["openClose"], options["change"]), (True, 2))


def check_workspace(client, options, review):
    expect(set(options) <= {"workspaceFolders", "fileOperations", "textDocumentContent"}, "a part without a check:", options)
    if "fileOperations" in options:
        check_file_operations(client, options["fileOperations"])
    if "textDocumentContent" in options:
        check_content(client, options["textDocumentContent"])


def check_file_operations(client, options):
    expect(set(options) <= {"willRename"}, options)
    outer, inner = HERE / "renames.yaml", HERE / "renamed.yaml"
    inner.write_text(HELLO)
    text = HELLO.replace("type: passthrough", "type: subgraph, config: {document: renamed.yaml}")
    outer.write_text(text)
    document = client.open(str(outer), text)
    edit = client.request("workspace/willRenameFiles", {"files": [{"oldUri": uri_of(str(inner)),
                                                                   "newUri": uri_of(str(HERE / "better.yaml"))}]})
    expect_equal(applied(document, edit), {document.uri: text.replace("renamed.yaml", "better.yaml")})
    document.close()


def check_content(client, options):
    schemes = options["schemes"]
    review = client.review
    uris = [uri for uri, _ in locations(client.at("textDocument/definition", review, review.find("type: llm", 7)))]
    expect(any(uri.startswith(schemes[0] + ":") for uri in uris), "a node type has no page:", uris)
    uris += [f"{schemes[0]}:/schema/adl.json", f"{schemes[0]}:/graph/review.txt?" + urllib.parse.quote(review.uri, safe="")]
    for uri in uris:
        expect(client.request("workspace/textDocumentContent", {"uri": uri})["text"], uri)
    for uri in (f"{schemes[0]}:nothing", f"{schemes[0]}://", f"{schemes[0]}:/../../etc/passwd", "other:x"):
        try:
            found = client.request("workspace/textDocumentContent", {"uri": uri})
            expect("root:" not in found["text"], uri)
        except ResponseError:
            pass


def check_diagnostics(client, options, review):
    """diagnostics.py."""


def check_formatting(client, options, review):
    options = {"tabSize": 2, "insertSpaces": True}
    request = lambda document: client.request("textDocument/formatting", document.params(options=options))
    expect(not request(review), "a formatted document has edits")
    ugly = REVIEW.replace("channels:\n", "channels:   \n\n\n").replace("{score: {type: integer}", "{ score:   {type: integer}")
    document = client.open("/tmp/ugly.yaml", ugly)
    formatted = client.request("tenon/document/format", {"text": ugly})["text"]
    expect(formatted != ugly)
    expect_equal(apply_edits(ugly, request(document), client.encoding), formatted)
    document.change(["nodes: [\n"])
    expect(not request(document), "a broken document is not formatted")
    document.close()


def check_range_formatting(client, options, review):
    ugly = REVIEW.replace("type: last_value}", "type:   last_value}")
    document = client.open("/tmp/ugly.yaml", ugly)
    line = document.find("name: draft")[0]
    near = {"start": as_position((line, 0)), "end": as_position((line + 1, 0))}
    settings = {"tabSize": 2, "insertSpaces": True}
    edits = client.request("textDocument/rangeFormatting", document.params(range=near, options=settings))
    expect(edits and all(line <= edit["range"]["start"]["line"] <= line + 1 for edit in edits), "not only the range:", edits)
    if isinstance(options, dict) and options.get("rangesSupport"):
        expect_equal(client.request("textDocument/rangesFormatting", document.params(ranges=[near], options=settings)), edits)
    document.close()


def check_on_type_formatting(client, options, review):
    for character in [options["firstTriggerCharacter"], *options.get("moreTriggerCharacter", [])]:
        for position in all_positions(review, 97):
            edits = client.at("textDocument/onTypeFormatting", review, position, ch=character,
                              options={"tabSize": 2, "insertSpaces": True})
            apply_edits(review.text, edits or [], client.encoding)


def check_definition(client, options, review):
    """From each use to the place of its name."""
    for use, nth, name, name_nth in (("to: review", 0, "review", 1), ("model: writer", 0, "writer", 1),
                                     ("output_key: draft", 0, "draft", 0), ("state.rounds", 0, "rounds", 0)):
        start = review.text.index(use) + len(use) - 1
        found = locations(client.at("textDocument/definition", review, review.position(start)))
        declared = {"review": "id: review", "writer": "writer: {", "draft": "name: draft", "rounds": "name: rounds"}[name]
        at = review.text.index(declared) + declared.index(name)
        expect(found, use, "has no definition")
        expect_equal(found[0][0], review.uri)
        expect(covers(found[0][1], review.position(at)), use, "->", found, "not", review.position(at))
    for uri, found in [item for position in all_positions(review, 13)
                       for item in locations(client.at("textDocument/definition", review, position))]:
        if uri == review.uri:
            expect_inside(review, found, "a definition")
    expect(not client.at("textDocument/definition", review, (0, 3)), "a comment has a definition")


def check_references(client, options, review):
    at = review.find("name: draft", 6)
    with_it = locations(client.at("textDocument/references", review, at, context={"includeDeclaration": True}))
    without = locations(client.at("textDocument/references", review, at, context={"includeDeclaration": False}))
    expect_equal(len(with_it), 3, "the channel `draft` is declared, written and read")
    expect_equal(len(without), 2)
    for uri, found in with_it:
        expect_equal((uri, review.text[review.offset(pair(found["start"])):review.offset(pair(found["end"]))]),
                     (review.uri, "draft"))
    expect_equal([], client.at("textDocument/references", review, (0, 3), context={"includeDeclaration": True}) or [])


def check_highlight(client, options, review):
    at = review.find("name: draft", 6)
    found = client.at("textDocument/documentHighlight", review, at)
    expect_equal(sorted(pair(item["range"]["start"]) for item in found),
                 sorted(review.position(match.start()) for match in re.finditer(r"\bdraft\b", REVIEW)))


def check_rename(client, options, review):
    for what, nth, new in (("id: count", 4, "tally"), ("name: draft", 6, "text_of_it"), ("to: review", 4, "judge"),
                           ("state.rounds", 6, "tries"), ("model: critic", 7, "judge")):
        old = re.match(r"\w+", what[nth:]).group()
        at = review.find(what, nth)
        if options["prepareProvider"]:
            ready = client.at("textDocument/prepareRename", review, at)
            found = ready.get("range", ready)
            expect_equal(review.text[review.offset(pair(found["start"])):review.offset(pair(found["end"]))], old)
        edit = client.at("textDocument/rename", review, at, newName=new)
        text = applied(review, edit)[review.uri]
        renamed = client.open("/tmp/renamed.yaml", text)
        expect_equal(client.codes(renamed), [], f"after {old} was renamed")
        expect(text != REVIEW and text.count(new) >= 2, old, "->", text)
        renamed.close()
    try:
        expect(not client.at("textDocument/prepareRename", review, (0, 3)), "a comment can be renamed")
    except ResponseError:
        pass
    odd = client.open("/tmp/odd.yaml", applied(review, client.at("textDocument/rename", review, review.find("id: count", 4),
                                                                 newName="a b: ["))[review.uri])
    expect_equal(client.codes(odd), [], "a name that needs quotes")
    odd.close()
    for wrong in ("", "END", "review"):  # empty, reserved, another node
        try:
            expect(client.at("textDocument/rename", review, review.find("id: count", 4), newName=wrong) is None,
                   "renamed to", repr(wrong))
        except ResponseError as error:
            expect(str(error), "a reason")
    check_rename_across(client)


def check_rename_across(client):
    """A channel of a document that is inside another one."""
    inner, outer = HERE / "across.yaml", HERE / "across_outer.yaml"
    text = 'version: "1.0"\nagent: {name: in}\nchannels: [{name: report, type: last_value}]\n' \
           "nodes: [{id: a, type: set, config: {values: {report: \"'x'\"}}}]\n" \
           "edges: [{from: START, to: a}, {from: a, to: END}]\n"
    around = HELLO.replace("nodes: [{id: greet, type: passthrough}]",
                           "channels: [{name: all, type: append}]\n"
                           "nodes: [{id: greet, type: subgraph, config: {document: across.yaml, output: {report: all}}}]")
    inner.write_text(text)
    outer.write_text(around)
    first, second = client.open(str(inner), text), client.open(str(outer), around)
    expect_equal((client.codes(first), client.codes(second)), ([], []))
    edit = client.at("textDocument/rename", first, first.find("name: report", 6), newName="summary")
    expect_equal(sorted(applied(first, edit)), sorted([first.uri, second.uri]))
    expect("output: {summary: all}" in applied(second, edit)[second.uri])
    first.close()
    second.close()


def check_hover(client, options, review):
    for what, at in (("type: llm", 7), ("channels:", 2), ("output_key: draft", 2), ("output_key: draft", 13),
                     ("state.verdict", 8), ("to: review", 5), ("reducer: sum", 10), ("model: writer", 8), ("{topic}", 2)):
        position = review.find(what, at)
        found = client.at("textDocument/hover", review, position)
        expect(found, "no hover at", what)
        expect(found["contents"]["value"].strip(), what)
        if "range" in found:
            expect_inside(review, found["range"], "a hover")
            expect(covers(found["range"], position), what, found)
    for position in all_positions(review, 11):
        found = client.at("textDocument/hover", review, position)
        expect(found is None or found["contents"]["value"].strip(), "an empty hover at", position)


def check_completion(client, options, review):
    if options.get("resolveProvider"):
        items = completions(client, review, review.find("type: llm", 6))
        resolved = client.request("completionItem/resolve", items[0])
        expect_equal(resolved["label"], items[0]["label"])
    for position in all_positions(review, 7):
        for item in completions(client, review, position)[:50]:
            edit = item.get("textEdit")
            if edit:
                for found in [edit["range"]] if "range" in edit else [edit["insert"], edit["replace"]]:
                    expect_inside(review, found, item["label"])
                    expect(found["start"]["line"] == found["end"]["line"] and covers(found, position), item, position)
            apply_edits(review.text, item.get("additionalTextEdits", []), client.encoding)
    for trigger in options.get("triggerCharacters", []):
        client.at("textDocument/completion", review, review.find("state.verdict", 6),
                  context={"triggerKind": 2, "triggerCharacter": trigger})
    broken = client.open("/tmp/broken.yaml", REVIEW.replace("type: llm", "type: l"))
    labels = [item["label"] for item in completions(client, broken, broken.find("type: l\n", 7))]
    expect("llm" in labels, labels)
    broken.close()


def completions(client, document, position):
    result = client.at("textDocument/completion", document, position, context={"triggerKind": 1})
    if isinstance(result, dict):
        defaults = result.get("itemDefaults", {})
        for item in result["items"]:
            if "editRange" in defaults and "textEdit" not in item:
                found = defaults["editRange"]
                item["textEdit"] = {"newText": item.get("textEditText", item["label"]),
                                    **(found if "insert" in found else {"range": found})}
        return result["items"]
    return result or []


def check_signature(client, options, review):
    text = REVIEW.replace("state.verdict.score >= 8", "math.greatest(state.verdict.score, 1) >= 8")
    for call in ("size(state.notes)", "math.greatest(1, 2)", "has(state.x)"):
        document = client.open("/tmp/call.yaml", REVIEW.replace("rounds: 1}", f"rounds: \"{call}\"}}"))
        found = client.at("textDocument/signatureHelp", document, document.find(call, call.index("(") + 1))
        if found is None:
            print("no signature of", call)
            continue
        active = found["signatures"][found.get("activeSignature") or 0]
        expect(call.split("(")[0].split(".")[-1] in active["label"], call, active)
        document.close()
    expect(client.at("textDocument/signatureHelp", review, (0, 3)) is None, "a comment has a signature")


def check_symbols(client, options, review):
    found = client.request("textDocument/documentSymbol", review.params())
    names = []

    def visit(symbols, around):
        for symbol in symbols:
            names.append(symbol["name"])
            for part in ("range", "selectionRange"):
                expect_inside(review, symbol[part], symbol["name"])
            expect(covers(symbol["range"], pair(symbol["selectionRange"]["start"])) and
                   covers(symbol["range"], pair(symbol["selectionRange"]["end"])), symbol)
            expect(around is None or covers(around, pair(symbol["range"]["start"])), symbol, "is outside of", around)
            visit(symbol.get("children", []), symbol["range"])
    visit(found, None)
    expect({"write", "review", "count", "draft"} <= set(names), names)


def check_workspace_symbols(client, options, review):
    found = client.request("workspace/symbol", {"query": "review"})
    expect(any("review" in symbol["name"].lower() and symbol["location"]["uri"] == review.uri for symbol in found), found)
    if isinstance(options, dict) and options.get("resolveProvider"):
        client.request("workspaceSymbol/resolve", found[0])
    expect_equal(client.request("workspace/symbol", {"query": "no symbol has this name"}) or [], [])


def check_folding(client, options, review):
    last = review.text.count("\n")
    found = client.request("textDocument/foldingRange", review.params())
    expect(found)
    for fold in found:
        expect(0 <= fold["startLine"] < fold["endLine"] <= last, fold)
    starts = {fold["startLine"] for fold in found}
    expect(review.find("nodes:")[0] in starts and review.find("- id: write")[0] in starts, starts)


def check_selection(client, options, review):
    positions = all_positions(review, 41)
    found = client.request("textDocument/selectionRange", review.params(positions=[as_position(p) for p in positions]))
    expect_equal(len(found), len(positions))
    for position, selection in zip(positions, found):
        inner, depth = None, 0
        while selection:
            expect_inside(review, selection["range"], "a selection")
            expect(covers(selection["range"], position), position, "is not in", selection["range"])
            if inner:
                expect(covers(selection["range"], pair(inner["start"])) and covers(selection["range"], pair(inner["end"])), selection)
            inner, selection, depth = selection["range"], selection.get("parent"), depth + 1
            expect(depth < 1000)


def decode_tokens(document, data, legend):
    line = column = 0
    found = []
    expect_equal(len(data) % 5, 0)
    for i in range(0, len(data), 5):
        if data[i]:
            line, column = line + data[i], 0
        column += data[i + 1]
        expect(data[i + 2] > 0 and data[i + 3] < len(legend["tokenTypes"]) and data[i + 4] < 1 << len(legend["tokenModifiers"]),
               "token", data[i:i + 5])
        end = (line, column + data[i + 2])
        expect(document.position(document.offset(end)) == end, "a token is behind the end of a line:", (line, column), data[i + 2])
        expect(not found or found[-1][1] <= (line, column), "tokens overlap at", (line, column))
        found.append(((line, column), end, legend["tokenTypes"][data[i + 3]]))
    return found


def check_tokens(client, options, review):
    legend = options["legend"]
    for name in ("from-langgraph/review.yaml", "triage/mail.yaml", "generator/generator.yaml"):
        document = client.open(f"/tmp/{name.replace('/', '-')}", (SAMPLES / name).read_text())
        whole = client.request("textDocument/semanticTokens/full", document.params())
        tokens = decode_tokens(document, whole["data"], legend)
        expect(tokens, name, "has no tokens")
        if options.get("range"):
            half = document.text.count("\n") // 2
            part = client.request("textDocument/semanticTokens/range", document.params(
                range={"start": as_position((0, 0)), "end": as_position((half, 0))}))
            expect_equal(decode_tokens(document, part["data"], legend), [t for t in tokens if t[0] < (half, 0)])
        check_token_differences(client, document, whole)
        document.close()


def check_token_differences(client, document, last):
    """After each change the differences lead to what a client without an earlier answer gets."""
    nodes = document.text.index("nodes:")
    edits = [(0, 0, "# one more line\n"), (0, 0, ""), (nodes, nodes, "# another\n"), (0, len(document.text) // 2, ""),
             (0, len(document.text), "version: '1.0'\nagent: {name: a}\nnodes: []\nedges: []\n")]
    expect(last["data"] and last["resultId"])
    for number, (start, end, text) in enumerate(edits):
        if end > start or text:
            document.splice(start, min(end, len(document.text)), text)
        delta = client.request("textDocument/semanticTokens/full/delta", document.params(previousResultId=last["resultId"]))
        expect("edits" in delta and delta["resultId"] != last["resultId"], delta)
        data = list(last["data"])
        for edit in delta["edits"]:
            data[edit["start"]:edit["start"] + edit["deleteCount"]] = edit["data"]
        if number < 2:  # a new line changes one token, and no change none
            expect_equal([len(edit["data"]) for edit in delta["edits"]], [5][number:])
        old = client.request("textDocument/semanticTokens/full/delta", document.params(previousResultId=last["resultId"]))
        expect_equal(old["data"], data, "the answer to an earlier resultId")
        last = old


def check_hints(client, options, review):
    everything = {"start": as_position((0, 0)), "end": as_position(review.position(len(review.text)))}
    found = client.request("textDocument/inlayHint", review.params(range=everything)) or []
    for hint in found:
        position = pair(hint["position"])
        expect_equal(review.position(review.offset(position)), position)
        apply_edits(review.text, hint.get("textEdits", []), client.encoding)
        if isinstance(options, dict) and options.get("resolveProvider"):
            client.request("inlayHint/resolve", hint)
    half = {"start": as_position((0, 0)), "end": as_position((10, 0))}
    for hint in client.request("textDocument/inlayHint", review.params(range=half)) or []:
        expect(hint["position"]["line"] <= 10, "a hint outside of the range:", hint)


def check_lenses(client, options, review):
    found = client.request("textDocument/codeLens", review.params())
    titles = [lens.get("command", {}).get("title") for lens in found]
    expect("Run" in titles and "Debug" in titles and "2 references" in titles, titles)
    for lens in found:
        expect_inside(review, lens["range"], "a lens")
        if "command" not in lens:
            lens = client.request("codeLens/resolve", lens)
        expect(lens["command"]["title"].strip(), lens)


def check_links(client, options, review):
    (HERE / "linked.yaml").write_text(HELLO)
    text = HELLO.replace("type: passthrough", "type: subgraph, config: {document: linked.yaml}")
    document = client.open(str(HERE / "links.yaml"), text)
    found = client.request("textDocument/documentLink", document.params())
    targets = []
    for link in found:
        expect_inside(document, link["range"], "a link")
        if "target" not in link:
            link = client.request("documentLink/resolve", link)
        targets.append(link["target"])
    expect(uri_of(str(HERE / "linked.yaml")) in targets, targets)
    document.close()


def check_calls(client, options, review):
    items = client.at("textDocument/prepareCallHierarchy", review, review.find("id: review", 4))
    expect_equal([item["name"] for item in items], ["review"])
    expect_inside(review, items[0]["selectionRange"], "an item")
    before = client.request("callHierarchy/incomingCalls", {"item": items[0]})
    after = client.request("callHierarchy/outgoingCalls", {"item": items[0]})
    expect("write" in [call["from"]["name"] for call in before], before)
    expect("count" in [call["to"]["name"] for call in after], after)
    for call in before + after:
        for found in call["fromRanges"]:
            expect_inside(review, found, "a call")


def resolved_action(client, action):
    return action if "edit" in action else client.request("codeAction/resolve", action)


def check_actions(client, options, review):
    """Each fix of the documents of tests/corpus/diagnostics removes its diagnostic, and leaves no syntax error."""
    fixed = 0
    for path in sorted((CORPUS / "diagnostics").glob("ADL-*.yaml")):
        document = client.open(str(path), path.read_bytes().decode(errors="replace"))
        found = client.diagnostics(document)
        for diagnostic in found[:4]:
            actions = client.request("textDocument/codeAction", document.params(
                range=diagnostic["range"], context={"diagnostics": [diagnostic], "triggerKind": 1})) or []
            for action in actions:
                if "disabled" in action:
                    continue
                if action.get("kind") != "quickfix":
                    continue
                action = resolved_action(client, action)
                expect(action.get("diagnostics"), "a quick fix without its diagnostic:", action)
                text = applied(document, action["edit"]).get(document.uri)
                if text is None or diagnostic not in action["diagnostics"]:
                    continue
                after = client.open("/tmp/fixed.yaml", text)
                remaining = client.diagnostics(after)
                same = [d for d in remaining if (d["code"], d["message"]) == (diagnostic["code"], diagnostic["message"])]
                had = [d for d in found if (d["code"], d["message"]) == (diagnostic["code"], diagnostic["message"])]
                expect(len(same) < len(had), path.name, ":", action["title"], "does not fix", diagnostic, "\n" + text)
                after.close()
                fixed += 1
        document.close()
    print(fixed, "fixes")
    expect(fixed > 50, "only", fixed, "fixes")
    changed = 0
    for position in all_positions(review, 29):
        empty = {"start": as_position(position), "end": as_position(position)}
        for action in client.request("textDocument/codeAction", review.params(range=empty, context={"diagnostics": []})) or []:
            if "disabled" not in action:
                try:
                    action = resolved_action(client, action)
                except ResponseError:  # what is not possible is known only now
                    continue
                text = applied(review, action["edit"]).get(review.uri, REVIEW)
                expect(text != REVIEW or len(applied(review, action["edit"])) > 1, "nothing changes:", action)
                after = client.open("/tmp/refactored.yaml", text)
                errors = [d for d in client.diagnostics(after) if d["severity"] == 1 and "document" not in d["message"]]
                changed += 1
                expect(not errors, action["title"], "at", position, "leaves errors:", errors, "\n" + text)
                after.close()
    expect(changed > 0, "no change of the graph is offered")
    only = client.request("textDocument/codeAction", review.params(
        range={"start": as_position((0, 0)), "end": as_position((5, 0))}, context={"diagnostics": [], "only": ["quickfix"]}))
    expect(all((action.get("kind") or "").startswith("quickfix") for action in only or []), only)


def check_commands(client, options, review):
    expect(options["commands"])
    for command in options["commands"]:
        for arguments in ([], [5], [review.uri], [{}]):
            try:
                client.request("workspace/executeCommand", {"command": command, "arguments": arguments})
            except ResponseError as error:
                expect(str(error), "a reason")
    try:
        client.request("workspace/executeCommand", {"command": "no.such"})
        raise AssertionError("an unknown command does not fail")
    except ResponseError:
        pass


def check_linked_editing(client, options, review):
    for position in all_positions(review, 31):
        found = client.at("textDocument/linkedEditingRange", review, position)
        texts = {review.text[review.offset(pair(r["start"])):review.offset(pair(r["end"]))] for r in (found or {}).get("ranges", [])}
        expect(len(texts) <= 1, texts)


def check_other_definitions(method):
    def check(client, options, review):
        for position in all_positions(review, 17):
            for uri, found in locations(client.at(method, review, position)):
                if uri == review.uri:
                    expect_inside(review, found, method)
    return check


CHECKS = {
    "positionEncoding": check_position_encoding, "textDocumentSync": check_sync, "diagnosticProvider": check_diagnostics,
    "documentFormattingProvider": check_formatting, "documentRangeFormattingProvider": check_range_formatting,
    "documentOnTypeFormattingProvider": check_on_type_formatting, "definitionProvider": check_definition,
    "declarationProvider": check_other_definitions("textDocument/declaration"),
    "typeDefinitionProvider": check_other_definitions("textDocument/typeDefinition"),
    "implementationProvider": check_other_definitions("textDocument/implementation"),
    "referencesProvider": check_references, "documentHighlightProvider": check_highlight, "renameProvider": check_rename,
    "hoverProvider": check_hover, "completionProvider": check_completion, "signatureHelpProvider": check_signature,
    "documentSymbolProvider": check_symbols, "workspaceSymbolProvider": check_workspace_symbols,
    "foldingRangeProvider": check_folding, "selectionRangeProvider": check_selection, "semanticTokensProvider": check_tokens,
    "inlayHintProvider": check_hints, "codeLensProvider": check_lenses, "documentLinkProvider": check_links,
    "callHierarchyProvider": check_calls, "codeActionProvider": check_actions, "executeCommandProvider": check_commands,
    "linkedEditingRangeProvider": check_linked_editing, "workspace": check_workspace,
}

# Features that this server does not have. (Node types and documents are found by `definition`.)
NOT_OFFERED = {"declarationProvider", "documentOnTypeFormattingProvider", "executeCommandProvider", "implementationProvider",
               "linkedEditingRangeProvider", "typeDefinitionProvider"}


def run_checks(capabilities):
    failed = []
    with Client(capabilities=capabilities, folders=[str(HERE)], root=str(HERE),
                options={"commands": ["tenon.run", "tenon.debug", "tenon.showReferences"]}) as client:
        client.review = client.open(str(HERE / "review.yaml"), REVIEW)
        if capability(capabilities, "textDocument.diagnostic") is None:
            expect_equal(client.codes(client.review), [])
        announced = dict(client.server)
        announced.pop("experimental")
        missing = sorted(set(announced) - set(CHECKS))
        expect(not missing, "capabilities without a check in CHECKS:", missing)
        for name in sorted(announced, key=lambda name: name == "workspace"):
            if announced[name] is False:
                continue
            try:
                CHECKS[name](client, announced[name], client.review)
            except (AssertionError, Violation, ResponseError, metamodel.Mismatch, KeyError, TypeError) as error:
                failed.append(f"{name}: {traceback.format_exc()}")
        expect(not failed, "\n".join(failed))
        expect_equal(client.review.text, REVIEW)
        expect_equal(set(CHECKS) - set(announced), NOT_OFFERED)


def test_all():
    (HERE / "review.yaml").write_text(REVIEW)
    run_checks(FULL)


def test_utf8():
    """The same with positions in bytes."""
    run_checks({**FULL, "general": {"positionEncodings": ["utf-8"]}})


def test_without_commands():
    """An editor without the commands of code lenses: no lens offers to run, and those that count are texts."""
    (HERE / "review.yaml").write_text(REVIEW)
    for options in (None, {}, {"commands": []}, {"commands": "tenon.run"}, {"commands": ["tenon.showReferences"]}):
        with Client(options=options) as client:
            document = client.open(str(HERE / "review.yaml"), REVIEW)
            expect("executeCommandProvider" not in client.server)
            found = client.request("textDocument/codeLens", document.params())
            shows = bool(options) and options["commands"] == ["tenon.showReferences"]
            expect_equal({lens["command"]["command"] for lens in found}, {"tenon.showReferences" if shows else ""})
            expect(all("reference" in lens["command"]["title"] for lens in found), found)


def test_every_sample():
    """Requests at many places of each sample, for a client with all capabilities and for one with none: all answers are valid."""
    methods = {"hoverProvider": "hover", "completionProvider": "completion", "signatureHelpProvider": "signatureHelp",
               "definitionProvider": "definition", "documentHighlightProvider": "documentHighlight",
               "renameProvider": "prepareRename", "callHierarchyProvider": "prepareCallHierarchy"}
    whole = {"documentSymbolProvider": "documentSymbol", "foldingRangeProvider": "foldingRange",
             "documentLinkProvider": "documentLink", "codeLensProvider": "codeLens",
             "semanticTokensProvider": "semanticTokens/full"}
    for capabilities in (FULL, {}):
        with Client(capabilities=capabilities) as client:
            for path in sorted(SAMPLES.glob("*/*.yaml")) + sorted((CORPUS / "documents").glob("*")):
                document = client.open(str(path), path.read_bytes().decode(errors="replace"))
                for name, method in whole.items():
                    if name in client.server:
                        client.request("textDocument/" + method, document.params())
                numbers = []
                for position in all_positions(document, 37):
                    for name, method in methods.items():
                        if name in client.server:
                            numbers.append(client.ask("textDocument/" + method, document.params(position=as_position(position))))
                for number in numbers:
                    try:
                        client.answer(number)
                    except ResponseError as error:
                        expect(error.code == -32803, error)
                document.close()


run_tests(globals())
