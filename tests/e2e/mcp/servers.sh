# Third-party servers from npm, and the conformance suite of the protocol. Installed once, into the build directory.
[ "${TENON_NPM:-}" != off ] || skips "TENON_NPM=off"
command -v npm >/dev/null || skips "npm is not installed"
folder=$BINARY/tests/mcp
mkdir -p "$folder"
if ! cmp -s "$SOURCE/tests/mcp/package.json" "$folder/installed.json"; then
    cp "$SOURCE/tests/mcp/package.json" "$folder/package.json"
    HOME=$folder timeout 300 npm install --prefix "$folder" --no-audit --no-fund --loglevel=error \
        --fetch-retries=1 --fetch-timeout=20000 >"$work/log" 2>&1 || { tail -3 "$work/log"; skips "npm could not install the servers"; }
    cp "$SOURCE/tests/mcp/package.json" "$folder/installed.json"
fi
node24 || { tail -3 "$work/node24.log"; skips "Node 24 cannot be installed or does not run"; }
export MODULES="$folder/node_modules" NODE24="$node24"
script servers
