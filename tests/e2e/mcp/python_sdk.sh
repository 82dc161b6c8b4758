# Servers of the SDK for Python, of both eras, which need long to start. Installed once, into the build directory.
[ "${TENON_PYPI:-}" != off ] || skips "TENON_PYPI=off"
python3 -m venv --help >/dev/null 2>&1 || skips "python3-venv is not installed"
folder=$BINARY/tests/mcp-python
mkdir -p "$folder"
for kind in modern legacy; do
    list=$SOURCE/tests/mcp/python-$kind.txt
    cmp -s "$list" "$folder/$kind.txt" && continue
    rm -rf "${folder:?}/$kind"
    { python3 -m venv "$folder/$kind" && timeout 300 "$folder/$kind/bin/pip" install -q --no-compile --disable-pip-version-check \
        --retries 1 --timeout 20 -r "$list"; } >"$work/log" 2>&1 ||
        { tail -3 "$work/log"; skips "pip could not install the servers"; }
    cp "$list" "$folder/$kind.txt"
done
export PYTHONS="$folder"
script python_sdk
