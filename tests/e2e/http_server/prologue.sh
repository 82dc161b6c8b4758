# Shared by the scripts of this folder: the plugin `serve` behind the handler of tests/serve/server.c.
command -v python3 >/dev/null || skips "python3 is not installed"
export TENON_SERVE_TEST=$BINARY/tests/serve/tenon-serve-test
[ -x "$TENON_SERVE_TEST" ] || skips "built without the HTTP server"
python=python3

# serve_test SCRIPT ARGUMENT…: runs a script of tests/serve, which prints what it measures.
serve_test() {
    run timeout 300 "$python" "$SOURCE/tests/serve/$1" "${@:2}"
    cat "$work/out"
    expect_code 0
}
