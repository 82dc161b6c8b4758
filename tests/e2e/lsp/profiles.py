"""profiles.py - a document with a mistake, for each client whose capabilities pytest-lsp knows.

    pytest profiles.py        # in a virtual environment with pytest-lsp
"""
import os
import pathlib

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

PROFILES = sorted(path.stem for path in (pathlib.Path(pytest_lsp.__file__).parent / "clients").glob("*.json"))
DOCUMENT = pathlib.Path(os.environ["DOCUMENT"])


@pytest_lsp.fixture(config=ClientServerConfig(server_command=[os.environ["TENON"], "lsp"]), params=PROFILES)
async def client(request, lsp_client: LanguageClient):
    capabilities = client_capabilities(request.param.replace("_v", "@v"))
    lsp_client.announced = capabilities
    for method in (types.CLIENT_REGISTER_CAPABILITY, types.CLIENT_UNREGISTER_CAPABILITY):
        lsp_client.feature(method)(lambda params: None)
    lsp_client.server = await lsp_client.initialize_session(
        types.InitializeParams(capabilities=capabilities, process_id=os.getpid(), root_uri=DOCUMENT.parent.as_uri(),
                               workspace_folders=[types.WorkspaceFolder(DOCUMENT.parent.as_uri(), "here")]))
    yield
    await lsp_client.shutdown_session()


async def diagnostics_of(client, uri, version):
    """Pushed, or pulled, as the client has announced."""
    if client.announced.text_document.diagnostic is not None:
        report = await client.text_document_diagnostic_async(
            types.DocumentDiagnosticParams(types.TextDocumentIdentifier(uri)))
        assert report.kind == "full"
        return report.items
    while True:
        await client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        found = client.diagnostics.get(uri)
        if found is not None:
            return found


def column(client, text):
    """Of a text, in the units of the connection."""
    encoding = client.server.capabilities.position_encoding or types.PositionEncodingKind.Utf16
    return len(text.encode("utf-8")) if encoding == types.PositionEncodingKind.Utf8 else len(text.encode("utf-16-le")) // 2


@pytest.mark.asyncio
async def test_repair(client):
    text, uri = DOCUMENT.read_text(), DOCUMENT.as_uri()
    lines = text.split("\n")
    line = next(index for index, found in enumerate(lines) if "passthroug}" in found)
    start = column(client, lines[line][:lines[line].index("passthroug}")])
    end = types.Position(line, start + len("passthroug"))
    can, document = client.server.capabilities, types.TextDocumentIdentifier(uri)

    client.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "yaml", 1, text)))
    found = await diagnostics_of(client, uri, 1)
    assert [(d.range, d.code) for d in found] == [(types.Range(types.Position(line, start), end), "ADL-E031")]
    assert "did you mean `passthrough`?" in found[0].message

    if can.hover_provider:
        hover = await client.text_document_hover_async(types.HoverParams(document, types.Position(lines.index("channels:"), 2)))
        formats = client.announced.text_document.hover.content_format
        assert hover.contents.kind in formats and hover.contents.value
    if can.completion_provider:
        result = await client.text_document_completion_async(types.CompletionParams(document, types.Position(line, start + 3)))
        items = result.items if isinstance(result, types.CompletionList) else result
        assert "passthrough" in [item.label for item in items]
        item = client.announced.text_document.completion.completion_item
        assert item.snippet_support or all(found.insert_text_format != types.InsertTextFormat.Snippet for found in items)
    if can.document_symbol_provider:
        symbols = await client.text_document_document_symbol_async(types.DocumentSymbolParams(document))
        hierarchy = client.announced.text_document.document_symbol.hierarchical_document_symbol_support
        assert all(isinstance(found, types.DocumentSymbol if hierarchy else types.SymbolInformation) for found in symbols)
    if can.definition_provider:
        at = types.Position(lines.index("  - {from: START, to: greet}"), lines[-4].index("greet") + 1)
        result = await client.text_document_definition_async(types.DefinitionParams(document, at))
        first = result[0] if isinstance(result, list) else result
        assert (getattr(first, "uri", None) or first.target_uri) == uri
    if can.code_action_provider:
        await client.text_document_code_action_async(types.CodeActionParams(document, found[0].range, types.CodeActionContext(found)))
    if can.rename_provider:
        at = types.Position(lines.index("  - {id: greet, config: {}, type: passthrough}"), 9)
        edit = await client.text_document_rename_async(types.RenameParams(document, at, "hello"))
        versions = client.announced.workspace.workspace_edit
        changes = edit.document_changes if versions and versions.document_changes else edit.changes[uri]
        assert changes

    change = types.TextDocumentContentChangePartial(types.Range(end, end), "h")
    client.text_document_did_change(types.DidChangeTextDocumentParams(types.VersionedTextDocumentIdentifier(2, uri), [change]))
    assert list(await diagnostics_of(client, uri, 2)) == []
    client.text_document_did_close(types.DidCloseTextDocumentParams(document))
