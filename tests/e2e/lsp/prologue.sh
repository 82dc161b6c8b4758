# A script of this folder runs NAME.py with the program. Messages are validated against the model of the protocol if
# $TENON_SUITES/lsp/metaModel.json exists.
command -v python3 >/dev/null || skips "python3 is not installed"
export PYTHONDONTWRITEBYTECODE=1 SAMPLES=$SOURCE/samples CORPUS=$SOURCE/tests/corpus
echo '{}' >tenon.yaml

# lsp_test NAME: its output is the log of the test.
lsp_test() {
    run python3 "$SOURCE/tests/e2e/lsp/$1.py"
    cat "$work/out"
    expect_code 0
}

# Files for editors: $DOCUMENT has one mistake, `passthroug`, behind characters outside of ASCII; $OTHER is another YAML file.
editor_files() {
    export DOCUMENT=$PWD/mistake.yaml OTHER=$PWD/compose.yaml
    cat >"$DOCUMENT" <<'Y'
version: "1.0"
agent: {name: editors}
channels:
  - {name: text, type: last_value}
nodes:
  - {id: greet, config: {}, type: passthrough}
  - {id: "é👋 wave", type: passthroug}
edges:
  - {from: START, to: greet}
  - {from: greet, to: "é👋 wave"}
  - {from: "é👋 wave", to: END}
Y
    printf 'services:\n  web: {image: nginx\n' >"$OTHER"
}

# lsp_packages: the packages of all tests here that need them, for python3.
lsp_packages() {
    pip_packages lsp pytest-lsp==1.0.1 pygls==2.1.1 lsprotocol==2025.0.0 tree-sitter==0.25.2 tree-sitter-yaml==0.7.2
    PATH=$(dirname "$python"):$PATH
}
