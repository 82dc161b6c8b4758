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

# python_folder NAME PACKAGE==VERSION…: installs them once, beside the build, and python3 then finds them. Skips the test if
# that is impossible.
python_folder() {
    [ "${TENON_NPM:-}" != off ] || skips "TENON_NPM=off"
    python3 -m pip --version >/dev/null 2>&1 || skips "pip is not installed"
    local folder=$BINARY/python/$1
    mkdir -p "$BINARY/python"
    (
        flock 9
        [ "$(cat "$folder/done" 2>/dev/null)" = "${*:2}" ] && exit 0
        rm -rf "$folder"
        timeout 240 python3 -m pip install -q --disable-pip-version-check --no-input --no-compile --target "$folder" "${@:2}" &&
            echo "${*:2}" >"$folder/done"
    ) 9>"$BINARY/python/$1.lock" >pip.log 2>&1 || skips "pip could not install ${*:2}: $(tail -1 pip.log)"
    export PYTHONPATH=$folder
}

# lsp_packages: the packages of all tests here that need them, for python3.
lsp_packages() {
    python_folder lsp pytest-lsp==1.0.1 pygls==2.1.1 lsprotocol==2025.0.0 tree-sitter==0.25.2 tree-sitter-yaml==0.7.2
}
