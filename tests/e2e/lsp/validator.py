"""validator.py - the validator itself: it accepts what the protocol allows, and refuses each kind of mistake."""
from client import *

AT = {"line": 1, "character": 2}
RANGE = {"start": AT, "end": AT}

RIGHT = [
    ("textDocument/hover", None),
    ("textDocument/hover", {"contents": {"kind": "markdown", "value": "a"}, "range": RANGE}),
    ("textDocument/hover", {"contents": ["a", {"language": "c", "value": "b"}]}),
    ("textDocument/definition", [{"targetUri": "file:///a", "targetRange": RANGE, "targetSelectionRange": RANGE}]),
    ("textDocument/completion", {"isIncomplete": False, "items": [{"label": "a", "data": {"any": [None]}}]}),
    ("textDocument/diagnostic", {"kind": "unchanged", "resultId": "1"}),
    ("textDocument/rename", {"changes": {"file:///a": [{"range": RANGE, "newText": ""}]}}),
    ("textDocument/codeAction", [{"title": "a", "kind": "quickfix.custom"}, {"title": "b", "command": "c"}]),
    ("textDocument/semanticTokens/full", {"data": [0, 1, 2, 3, 4]}),
    ("textDocument/semanticTokens/full/delta", {"edits": [{"start": 5, "deleteCount": 5, "data": [0, 1, 2, 3, 4]}], "resultId": "2"}),
    ("textDocument/semanticTokens/full/delta", {"data": []}),
    ("shutdown", None),
]
WRONG = [
    ("textDocument/hover", {}),                                                            # a property is missing
    ("textDocument/hover", {"contents": {"kind": "markdown", "value": "a"}, "more": 1}),   # one is unknown
    ("textDocument/hover", {"contents": {"kind": "html", "value": "a"}}),                  # not a value of the enumeration
    ("textDocument/hover", {"contents": {"kind": "markdown", "value": "a"}, "range": None}),  # null is not `absent`
    ("textDocument/hover", {"contents": "a", "range": {"start": AT, "end": {"line": -1, "character": 0}}}),
    ("textDocument/hover", {"contents": "a", "range": {"start": AT, "end": {"line": 1.5, "character": 0}}}),
    ("textDocument/hover", {"contents": "a", "range": {"start": AT, "end": {"line": True, "character": 0}}}),
    ("textDocument/definition", [{"uri": "no uri at all", "range": RANGE}]),
    ("textDocument/completion", {"items": []}),
    ("textDocument/completion", [{"label": "a", "kind": 99}]),
    ("textDocument/completion", [{"label": "a", "textEdit": {"range": RANGE}}]),
    ("textDocument/diagnostic", None),
    ("textDocument/diagnostic", {"kind": "full", "items": [{"range": RANGE}]}),
    ("textDocument/diagnostic", {"kind": "unchanged"}),
    ("textDocument/rename", {"changes": {"file:///a": {"range": RANGE, "newText": ""}}}),
    ("textDocument/codeAction", [{"kind": "quickfix"}]),
    ("textDocument/semanticTokens/full", {"data": [0, -1]}),
    ("textDocument/semanticTokens/full/delta", {"edits": [{"start": 5}]}),
    ("textDocument/signatureHelp", {"signatures": [{"label": "f(a)", "parameters": [{"label": [1, 2, 3]}]}]}),
    ("shutdown", True),
]


def refuses(check, *arguments):
    try:
        check(*arguments)
    except metamodel.Mismatch as mismatch:
        return str(mismatch)
    return None


def test_results():
    if MODEL:
        for method, result in RIGHT:
            expect_equal(refuses(MODEL.check_result, method, result), None, (method, result))
        for method, result in WRONG:
            expect(refuses(MODEL.check_result, method, result), method, "accepts", result)


def test_params():
    if MODEL:
        MODEL.check_params("textDocument/publishDiagnostics", {"uri": "file:///a", "diagnostics": []})
        MODEL.check_params("workspace/codeLens/refresh", None)
        for method, params in (("textDocument/publishDiagnostics", {"uri": "file:///a"}), ("textDocument/none", {}),
                               ("workspace/codeLens/refresh", {}), ("textDocument/didOpen", {}), ("window/showMessage", {"type": 9, "message": "a"})):
            expect(refuses(MODEL.check_params, method, params), method, params)
        for error in ({"message": "a"}, {"code": 1}, {"code": 1, "message": ""}, {"code": "a", "message": "a"},
                      {"code": 1, "message": "a", "more": 1}):
            expect(refuses(MODEL.check_error, "a", error), error)


def test_abilities():
    """What was not announced is a violation."""
    for method, result in (("textDocument/completion", [{"label": "a", "insertTextFormat": 2}]),
                           ("textDocument/completion", {"items": [], "isIncomplete": False, "itemDefaults": {"data": 1}}),
                           ("textDocument/documentSymbol", [{"name": "a", "selectionRange": RANGE}]),
                           ("textDocument/hover", {"contents": {"kind": "markdown", "value": "a"}}),
                           ("textDocument/rename", {"documentChanges": []} | {"documentChanges": [{"kind": "create"}]}),
                           ("textDocument/codeAction", [{"title": "a"}]),
                           ("textDocument/definition", [{"targetUri": "file:///a"}])):
        check_abilities(FULL, method, result)
        try:
            check_abilities({}, method, result)
        except Violation:
            continue
        raise AssertionError(f"{method} accepts {result}")


def test_positions():
    """The texts of the client: positions, and edits."""
    text = "a👋b\r\né\rc\n"
    for encoding, columns in (("utf-8", [0, 1, 5, 6]), ("utf-16", [0, 1, 3, 4])):
        for offset, column in enumerate(columns):
            expect_equal(position_of(text, offset, encoding), (0, column))
            expect_equal(offset_of(text, (0, column), encoding), offset)
    expect_equal([offset_of(text, (line, 0), "utf-8") for line in range(5)], [0, 5, 7, 9, 9])
    edits = [{"range": {"start": as_position((0, 3)), "end": as_position((0, 4))}, "newText": "x"},
             {"range": {"start": as_position((0, 0)), "end": as_position((0, 0))}, "newText": "y"}]
    expect_equal(apply_edits(text, edits, "utf-16"), "ya👋x\r\né\rc\n")
    try:
        apply_edits(text, edits + edits[:1], "utf-16")
    except Violation:
        return
    raise AssertionError("edits that overlap")


run_tests(globals())
