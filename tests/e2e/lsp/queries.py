"""queries.py - the injections for tree-sitter find the expressions of a sample, and nothing else. Arguments: SAMPLES."""
import pathlib
import sys

import tree_sitter
import tree_sitter_yaml

samples = pathlib.Path(sys.argv[1])
language = tree_sitter.Language(tree_sitter_yaml.language())
parser = tree_sitter.Parser(language)
texts = {path: path.read_text() for path in (samples / "editors" / "neovim/after/queries/yaml/injections.scm",
                                             samples / "editors" / "helix/runtime/queries/adl/injections.scm")}
first, second = texts.values()
assert first.split("\n", 1)[1] == second.split("\n", 1)[1], "the queries for Neovim and Helix differ"
assert [text.split("\n")[0] for text in texts.values()] == ["; extends", "; inherits: yaml"]


def expressions(name):
    text = (samples / name).read_bytes()
    tree = parser.parse(text)
    query = tree_sitter.Query(language, first)
    found = []
    for _, captures in tree_sitter.QueryCursor(query).matches(tree.root_node):
        found += [node.text.decode() for node in captures["injection.content"]]
    return found


assert expressions("from-langgraph/review.yaml") == ["state.verdict.note", "state.verdict.score >= 8 || state.rounds >= 3", "default"]
triage = expressions("triage/triage.yaml")
assert any(text.startswith(">-") for text in triage) and "state.mails" in triage and "state.summary.urgent > 0" in triage, triage
assert any(text.startswith("\"state.reports.filter(") for text in triage), triage
assert not any("mail.yaml" in text or "support.mbox" in text for text in triage), triage
