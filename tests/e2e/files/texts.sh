# Documents that are not files read no file at all, or only below files.roots.
[ -e "$BINARY/lib/tenon/plugins/document.so" ] || skips "the plugin is not built"
command -v python3 >/dev/null || skips "python3 is not installed"
texts() { # DOCUMENT: checked and run as a text whose name is that of a file in this folder
    python3 -c 'import json, sys; print(json.dumps({"text": sys.stdin.read(), "name": sys.argv[1]}))' "$PWD/d.yaml" <<<"$1" >text.json
}
text_reads() {
    texts "$1"
    run tenon tool call document.run @text.json --yes
    expect_code 0 && expect_in out "$2"
}
text_refuses() {
    texts "$1"
    run timeout 60 "$TENON" tool call document.check @text.json
    expect_code 0 && expect_in out '"valid":false' && expect_in out "$2" && expect_not_in out hunter2
    run timeout 60 "$TENON" tool call document.run @text.json --yes
    expect_code 1 && expect_in err "[INVALID_GRAPH]" && expect_in err "$2" && expect_not_in err hunter2
}
echo 'KEY=hunter2 {' >env
mkfifo pipe
ln -s ../secret ../shared/folder
document prompts/hello.md >d.yaml
none="the document that names it is not a file, and such a document reads no files unless"
for file in prompts/hello.md "$PWD/prompts/hello.md" /etc/passwd ../secret/key env pipe absent; do
    text_refuses "$(document "$file")" "$none"
    text_refuses "$(outer "$file")" "$none"
done
text_refuses "$(outer d.yaml)" "$none"
echo 'files: {roots: [../shared]}' >tenon.yaml
outside='outside the folders in `files.roots` of tenon.yaml, below which a document that is not a file may read'
document bye.md >../shared/d.yaml
text_reads "$(document bye.md)" "Bye Ada"
text_reads "$(document "$(dirname "$PWD")/shared/bye.md")" "Bye Ada"
text_reads "$(outer d.yaml)" "Bye Ada"
text_refuses "$(document "$PWD/prompts/hello.md")" "$outside"
text_refuses "$(document ../project/prompts/hello.md)" "$outside"
text_refuses "$(document folder/key)" "it is a link to a place $outside"
text_refuses "$(outer "$PWD/d.yaml")" "$outside"
document ../project/prompts/hello.md >../shared/d.yaml # the same rule for the documents that a text names
text_refuses "$(outer d.yaml)" "file that cannot be read"

# ---- ... and of the files below files.roots diagnostics tell only where a mistake is ----
echo 'KEY {hunter2} {hunter2.hunter2(' >../shared/env
text_refuses "$(document env)" "shared/env:1:"
printf 'version: "1.0"\nagent: {name: x}\nnodes: [{id: a, type: hunter2}]\n' >../shared/env
text_refuses "$(outer env)" "shared/env:3:"
