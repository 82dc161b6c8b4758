# The extension for VS Code: packaged as its README says, and run with a stub of VS Code's API.
command -v npm >/dev/null || skips "npm is not installed"
npm_packages @vscode/vsce vscode-textmate vscode-oniguruma
mkdir bin
# `npx PACKAGE@VERSION ARGUMENT…` with the installed packages, and `code`, which lists what it is asked to install.
cat >bin/npx <<N
#!/usr/bin/env bash
[ "\$1 \$2" = "--yes @vscode/vsce@3.9.2" ] || { echo "unexpected: npx \$*" >&2; exit 1; }
exec node "$modules/@vscode/vsce/vsce" "\${@:3}"
N
printf '#!/usr/bin/env bash\necho "$@" >"%s/installed"\n' "$PWD" >bin/code
chmod +x bin/*
PATH=$PWD/bin:$PATH
export npm_config_cache=$BINARY/npm/cache npm_config_audit=false npm_config_fund=false
mkdir editors
cp -r "$SAMPLES/editors/vscode" editors/
rm -rf editors/vscode/node_modules
awk '$0 == "```sh vscode" {on = 1; next} $0 == "```" {on = 0} on' "$SAMPLES/editors/README.md" >commands
timeout 240 npm ci --prefix editors/vscode --fetch-retries=1 >npm.log 2>&1 || skips "npm could not install vscode-languageclient: $(tail -1 npm.log)"
run bash -c 'cd editors && bash -e ../commands'
expect_code 0
expect_in out "DONE  Packaged"
! grep -v 'you should bundle your extension' "$work/err" | grep -q WARNING || fails "vsce has a warning"
[ "$(cat installed)" = "--install-extension tenon-0.1.0.vsix" ] || fails "the README installs $(cat installed)"

# Unpacked, as VS Code has it: all files that the manifest names are there, and it is small.
python3 - editors/vscode/tenon-0.1.0.vsix <<'P'
import json, pathlib, sys, xml.etree.ElementTree, zipfile
archive = zipfile.ZipFile(sys.argv[1])
archive.extractall("unpacked")
names = set(archive.namelist())
manifest = json.loads(archive.read("extension/package.json"))
paths = [manifest["main"]] + [entry["configuration"] for entry in manifest["contributes"]["languages"]]
paths += [entry["path"] for entry in manifest["contributes"]["grammars"]]
for path in paths:
    assert "extension/" + path.removeprefix("./") in names, path
assert {"extension/readme.md", "extension/LICENSE.txt", "extension.vsixmanifest", "[Content_Types].xml"} <= names, sorted(names)[:20]
xml.etree.ElementTree.fromstring(archive.read("extension.vsixmanifest"))
assert pathlib.Path(sys.argv[1]).stat().st_size < 600_000
for name in names:
    if name.endswith(".json") and "tsconfig" not in name:
        json.loads(archive.read(name))
commands = {entry["command"] for entry in manifest["contributes"]["commands"]}
menus = [entry["command"] for entries in manifest["contributes"]["menus"].values() for entry in entries]
assert set(menus) <= commands
P
editor_files
export TENON
run timeout 120 node "$SOURCE/tests/e2e/lsp/vscode.mjs" "$PWD/unpacked/extension" "$DOCUMENT"
expect_code 0
run node "$SOURCE/tests/e2e/lsp/textmate.mjs" "$modules" "$PWD/unpacked/extension"
expect_code 0
