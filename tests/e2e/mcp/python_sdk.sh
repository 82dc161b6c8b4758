# Servers of the SDK for Python, of both eras, which need long to start. Installed once, into the build directory: one
# virtual environment, and beside it a folder with the older SDK, which uses the same other packages.
[ "${TENON_PYPI:-}" != off ] || skips "TENON_PYPI=off"
python3 -m venv --help >/dev/null 2>&1 || skips "python3-venv is not installed"
folder=$BINARY/tests/mcp-python
install() { timeout 300 "$folder/bin/pip" install -q --no-compile --disable-pip-version-check --retries 1 --timeout 20 "$@"; }
cat "$SOURCE"/tests/mcp/python*.txt >wanted.txt
if ! cmp -s wanted.txt "$folder/installed.txt"; then
    rm -rf "${folder:?}"
    { python3 -m venv "$folder" && install -r "$SOURCE/tests/mcp/python.txt" &&
        install --no-deps --target "$folder/legacy" -r "$SOURCE/tests/mcp/python-legacy.txt"; } >"$work/log" 2>&1 ||
        { tail -3 "$work/log"; skips "pip could not install the servers"; }
    cp wanted.txt "$folder/installed.txt"
fi
export PYTHON_FOLDER="$folder"
script python_sdk
