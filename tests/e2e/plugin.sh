# `tenon plugin list|show|check|new` and `tenon doctor`: what there is, what is wrong with it, and where it comes from.
once() { expect_in err "$1" && [ "$(grep -cE '^tenon: |: error\[ADL-' "$work/err")" = 1 ] || fails "expected one message"; }
python() { command -v python3 >"$work/which" || return 0; python3 -c "$1" <"$work/out" || fails "what python3 makes of it"; }
plugin() { echo "$TEST_PLUGINS/$1/$1.so"; }
# node TYPE: a document of one node.
node() {
    printf 'version: "1.0"\nnodes: [{id: a, type: %s}]\nedges: [{from: START, to: a}, {from: a, to: END}]\n' "$1" >"$1.yaml"
}

# ---- list: every component says where it comes from; no code runs ----
run tenon plugin list
expect_code 0 && expect_in out "tenon.core" && expect_in out "core.so (installed)" && expect_in out "passthrough"
[ ! -s "$work/err" ] || fails "expected nothing on standard error"
run tenon plugin list --plugins "$TEST_PLUGINS/good" -P "$(plugin aborts)"
expect_code 0 && expect_in out "$(plugin good) (--plugins)" && expect_in out "$(plugin aborts) (--plugins)"
expect_in out "test.good 1.2.3  A plugin for tests" && expect_in out "test.aborts"
run tenon plugin list --json -P "$TEST_PLUGINS/good" -P "$TEST_PLUGINS/library"
expect_code 0
python '
import json, sys
told = json.load(sys.stdin)
good = [p for p in told["plugins"] if p["id"] == "test.good"][0]
assert good["version"] == "1.2.3" and good["source"] == "--plugins" and good["file"].endswith("good.so"), good
assert {"kind": "node", "id": "test.two", "title": "The other node"} in good["components"]
assert isinstance(told["problems"], list)'

# What runs in a process of its own, and why.
run tenon plugin list -P "$TEST_PLUGINS/good"
[ "$(grep -c 'in a process of its own' "$work/out")" = 1 ] || fails "expected tenon.ffi alone"
expect_in out "in a process of its own: its manifest asks for it"
run tenon plugin list -P "$TEST_PLUGINS/good" --isolate test.good
expect_in out "in a process of its own: --isolate"
printf 'plugins: {isolation: {"*": process}}\n' >isolation.yaml
run tenon plugin list -P "$TEST_PLUGINS/good" --config isolation.yaml
expect_in out "in a process of its own: tenon.yaml, plugins.isolation"
run tenon plugin list -P "$TEST_PLUGINS/good" --config isolation.yaml --json
expect_in out '"isolated":"tenon.yaml, plugins.isolation"'
run tenon plugin list -P "$SOURCE/samples/python"
expect_in out "in a process of its own: it is a program"

# The order of the search path: flag, environment, tenon.yaml, the user's folder, what was installed. Of copies of one file
# the first is taken. tenon.yaml is found upwards, and its paths are its own.
mkdir -p flag environment project "$XDG_DATA_HOME/tenon/plugins" folder/folder
for place in flag environment project "$XDG_DATA_HOME/tenon/plugins"; do cp "$(plugin good)" "$place/"; done
printf 'plugins: {path: [./project]}\n' >tenon.yaml
node test.one
cd folder/folder
# comes_from SOURCE [ARGUMENT…]
comes_from() {
    local source=$1
    shift
    run env TENON_PLUGIN_PATH=/nonexistent::../../environment "$TENON" plugin list "$@"
    expect_code 0 && expect_in out "good.so ($source)"
    [ "$(grep -c '^test.good ' "$work/out")" = 1 ] || fails "expected test.good once"
    run env TENON_PLUGIN_PATH=../../environment "$TENON" run ../../test.one.yaml "$@"
    expect_code 0 && expect_out "{}"
}
comes_from --plugins -P ../../flag
comes_from TENON_PLUGIN_PATH
expect_not_in err nonexistent # it is of no concern to a run
rm ../../environment/good.so
comes_from tenon.yaml
run tenon plugin list --no-config
expect_in out "good.so (user directory)"
rm ../../project/good.so
comes_from "user directory"
cd ../..
rm -r "$XDG_DATA_HOME" tenon.yaml
run tenon plugin list --plugins absent
expect_code 4 && once "absent (from --plugins): No such file or directory"

# ---- Two that claim the same ----
run tenon plugin list -P "$TEST_PLUGINS/good" -P "$TEST_PLUGINS/impostor"
expect_in out "$(plugin good)" && expect_in out "$(plugin impostor)" && expect_in out "refused: two files claim the plugin"
expect_not_in err "two files claim" # it was said once
run tenon run test.one.yaml -P "$TEST_PLUGINS/good" -P "$TEST_PLUGINS/impostor"
expect_code 4 && once "$(plugin good) (version 1.2.3, from --plugins)" && expect_in err "$(plugin impostor) (version 9.9.9"
run tenon run test.one.yaml -P "$TEST_PLUGINS/good" -P "$TEST_PLUGINS/duplicate"
expect_code 4 && once 'two plugins claim the node `test.one`' && expect_in err "$(plugin good)" && expect_in err "$(plugin duplicate)"
run tenon check test.one.yaml -P "$TEST_PLUGINS/good" -P "$TEST_PLUGINS/duplicate"
expect_code 3 && expect_in err "ADL-E068"
run tenon run "$SOURCE/samples/hello/hello.yaml" -P "$TEST_PLUGINS/good" -P "$TEST_PLUGINS/duplicate"
expect_code 0 # what nobody asks for is in nobody's way

# ---- What is no plugin ----
printf 'not a plugin' >fake.so
: >empty.so
head -c 200 "$(plugin good)" >cut.so
head -c 100000 "$(plugin good)" | tr '\001-\100' '\377' >garbage.so
for file in fake empty cut garbage; do
    run tenon plugin show ./$file.so
    expect_code 4 && once "$file.so"
    run tenon plugin check $file.so
    expect_code 4 && expect_in err "$file.so: error["
done
run tenon plugin show absent.so
expect_code 2 && once "No such file or directory"
run tenon plugin check absent.so
expect_code 2 && once "No such file or directory"
run tenon plugin show ./
expect_code 4 && once "not a shared object"
run tenon plugin show "$(plugin library)"
expect_code 4 && once "no plugin: it has no notes of owner Tenon"
run tenon plugin show test.goood
expect_code 4 && once 'there is no plugin `test.goood`'

# ---- show: without running any of its code ----
run tenon plugin show "$(plugin aborts)"
expect_code 0 && expect_in out "test.aborts 1.0.0" && expect_in out "node test.aborts"
run tenon plugin show test.aborts -P "$TEST_PLUGINS/aborts"
expect_code 0 && expect_in out "test.aborts 1.0.0"
run tenon plugin show "$(plugin good)"
expect_code 0 && expect_in out "requires   tenon.value/1" && expect_in out "integer, required" && expect_in out "not declared: the worst is assumed"
expect_in out 'config   greeting           string, default "hello"' && expect_in out "about    Told in another note."
run tenon plugin show tenon.core
expect_in out 'string, one of "json" or "text", default "json"' && expect_in out "object or boolean"
run tenon plugin show "$(plugin good)" --json
expect_code 0
python '
import json, sys
manifest = json.load(sys.stdin)
assert manifest["plugin"]["id"] == "test.good" and len(manifest["components"]) == 2, manifest'
run tenon plugin show "$(plugin good)" --validate
expect_code 0 && expect_out ""
run tenon plugin show "$(plugin bad_manifest)" --validate
expect_code 4 && once "expected a JSON Schema that says something"
# A configuration's schema is printed whole: what is inside, by reference, one of several, and without an end.
run tenon plugin show tenon.define
expect_in out "   (either)       string, a file's name" && expect_in out "     command      array of string"
expect_in out '     output_as    one of "text" or "json", default "text"' && expect_in out "       url        string, required"
run tenon plugin show tenon.openapi
expect_in out " (any name)       object" && expect_in out "   document       string, required, a file's name"
run tenon plugin show tenon.mcp
expect_in out "connect_timeout_ms integer, at least 1, at most 600000" && expect_in out "(or)           with url"
run tenon plugin show tenon.scripted
expect_in out "   contains       string" && expect_in out "   (either)       with contains"
# schema NAME JSON: shows a plugin's schema of its configuration
schema() {
    printf '#define NOTE(json) __asm__(".pushsection .note.tenon,\\"a\\"\\n.balign 4\\n.long 6, 2f - 1f, 1\\n.asciz \\"Tenon\\"\\n.balign 4\\n1: .ascii " json "\\n2: .balign 4\\n.popsection")\n' >"$1.c"
    printf '{"plugin":{"id":"test.%s","version":"1.0.0","title":"t","config":%s}}' "$1" "$2" |
        python3 -c 'import json, sys; print("NOTE(" + json.dumps(json.dumps(sys.stdin.read())) + ");")' >>"$1.c"
    "$CC" -shared -fPIC -o "$1.so" "$1.c" 2>"$work/log" || return 1
    run tenon plugin show "./$1.so"
    expect_code 0
}
if command -v python3 >/dev/null; then
    schema tree '{"type": "object", "properties": {"t": {"$ref": "#/$defs/t"}}, "$defs": {"t": {"type": "object", "required": ["left"], "properties": {"left": {"$ref": "#/$defs/t"}, "n": {"type": ["integer", "null"]}}}}}' || fails "no object"
    expect_in out "left             object, required, as above" && expect_in out "n                integer or null"
    schema round '{"$ref": "#", "allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"properties": {"x": {"$ref": "#/$defs/b"}}, "allOf": [{"$ref": "#/$defs/a"}]}}}' || fails "no object"
    schema deep "$(python3 -c 'print("{\"properties\":{\"a\":" * 25 + "{\"const\":1}" + "}}" * 25)')" || fails "no object"
    expect_in out "deeper than is shown here"
    # Nine levels of nine each: as many lines as there may be, and no more looks.
    schema wide "$(python3 -c '
import json
defs = {"d9": {"type": "string", "description": "the end"}}
for i in range(9): defs["d%d" % i] = {"anyOf": [{"$ref": "#/$defs/d%d" % (i + 1), "x": j} for j in range(9)]}
print(json.dumps({"properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": defs}))')" || fails "no object"
    expect_in out "the rest is in what --json prints"
    [ "$(wc -l <"$work/out")" -lt 2100 ] || fails "too many lines"
fi
# A manifest cannot act on the terminal.
cat >rude.c <<'C'
#define NOTE(json)                                                                                                     \
    __asm__(".pushsection .note.tenon,\"a\"\n.balign 4\n.long 6, 2f - 1f, 1\n.asciz \"Tenon\"\n.balign 4\n1: .ascii "   \
            json "\n2: .balign 4\n.popsection")
NOTE("\"{\\\"plugin\\\":{\\\"id\\\":\\\"test.rude\\\",\\\"version\\\":\\\"1.0.0\\\",\\\"title\\\":\\\"\\\\u001b[31m\\\\u001b]0;x\\\"}}\"");
C
if "$CC" -shared -fPIC -o rude.so rude.c 2>"$work/log"; then
    for command in "show ./rude.so" "list -P rude.so" "check ./rude.so"; do
        # shellcheck disable=SC2086
        run tenon plugin $command
        LC_ALL=C grep -q "$(printf '[\001-\011\013-\037]')" "$work/out" "$work/err" && fails "control characters"
    done
    run tenon plugin show ./rude.so
    expect_in out "<U+001B>[31m"
fi

# ---- check: of the good, and of each that breaks the contract in one place ----
run tenon plugin check "$(plugin sidecar)"
expect_code 0 && expect_out "" && expect_in err "no problems found"
run tenon plugin check "$(plugin posts)" # what it does by itself has a moment to end
expect_code 0 && expect_not_in err "error["
run tenon plugin check "$(plugin good)" --json
expect_code 0
python '
import json, sys
found = json.load(sys.stdin)["findings"]
assert {f["severity"] for f in found} == {"warning", "note"}, found'
# hangs is the unit tests' (they wait less long for it).
while read -r name finding; do
    run tenon plugin check "$(plugin "$name")"
    expect_code 4 && expect_in err "$name.so: error[$finding]: " && expect_out ""
    [ "$name" = library ] || [ "$(grep -c 'error\[' "$work/err")" = 1 ] || fails "$name: expected one error for one cause"
    expect_not_in err "$(plugin "$name"): $(plugin "$name")"
done <<'TABLE'
aborts CRASHED
bad_manifest MANIFEST_INVALID
broken_schema MANIFEST_INVALID
crashes CRASHED
declines LOAD_REFUSED
draft LOAD_REFUSED
extra EXTRA_SYMBOL
greedy CRASHED
later LOAD_REFUSED
library MANIFEST_MISSING
missing LOAD_REFUSED
no_component LOAD_REFUSED
refuses LOAD_REFUSED
unresolved LOAD_REFUSED
wrong_component LOAD_REFUSED
wrong_size LOAD_REFUSED
TABLE
run tenon plugin check "$(plugin missing)"
expect_in err '`tenon.value/7` (this host offers `tenon.value/1`)'
run tenon plugin check "$(plugin draft)" --allow-drafts
expect_not_in err "tenon.registry"
run tenon plugin check "$(plugin later)" --json
expect_code 4 && expect_in out '"severity":"error","code":"LOAD_REFUSED"' && expect_in out ">=900.1"
run tenon plugin check "$(plugin prints)" # what it prints is not in our output
expect_code 0 && expect_out "" && expect_in err "warning[STDOUT]"
for name in later missing declines wrong_size; do
    node test.$name
    run tenon run test.$name.yaml -P "$TEST_PLUGINS/$name"
    expect_code 4 && once "$(plugin $name)"
done

# ---- doctor ----
run tenon doctor
expect_code 0 && expect_in out "no problems found" && expect_in out "✓ tenon " && expect_in out "tenon.core"
run tenon doctor --json
expect_code 0
python '
import json, sys
told = json.load(sys.stdin)
assert told["problems"] == 0 and {f["state"] for f in told["facts"]} <= {"ok", "note"}
assert {"versions", "configuration", "plugins"} <= {f["section"] for f in told["facts"]}'
# problem TEXT ARGUMENT…: that one, and no other for it.
problem() {
    local text=$1
    shift
    run tenon doctor "$@"
    expect_code 4 && expect_in out "$text" && expect_in out "1 problem" && [ "$(grep -c '✗' "$work/out")" = 1 ] || fails "expected one problem"
    expect_in out "tenon.core" # the rest is looked at
}
problem "absent is not there" --plugins absent
problem "not a shared object" --plugins fake.so
problem "is for Tenon >=900.1" --plugins "$(plugin later)"
problem "two files claim" --plugins "$(plugin good)" --plugins "$(plugin impostor)"
problem "two plugins claim the node" --plugins "$(plugin good)" --plugins "$(plugin duplicate)"
problem "absent.yaml: cannot be read" --config absent.yaml
while IFS='|' read -r text wanted; do
    printf '%b' "$text" >tenon.yaml
    problem "$PWD/tenon.yaml:1:"
    expect_in out "$wanted"
    run tenon run "$SOURCE/samples/hello/hello.yaml"
    expect_code 4 && once "$PWD/tenon.yaml:1:" && expect_in err "$wanted"
    run tenon run "$SOURCE/samples/hello/hello.yaml" --no-config
    expect_code 0
done <<'TABLE'
plugins: {pth: [x]}|did you mean `path`?
limits: {concurrency: 0}|found 0, expected 1 to 1000000
limits: {recursion_limit: many}|found string, expected a whole number
log: loud|expected debug, info, warn or error
[]|expected a mapping
{|expected it to be closed
\xff|UTF-8
TABLE
printf 'plugins: {path: [./absent]}\n' >tenon.yaml
problem "absent is not there"

# What tenon.yaml tells plugins and models, without a server being started.
doctors() { printf '%s\n' "$1" >tenon.yaml; problem "$2"; }
doctors 'plugins: {config: {tenon.mcp: {servers: {shop: {cmd: [touch, started]}}}}}' 'tenon.mcp at /servers/shop'
doctors 'plugins: {config: {tenon.mcp: {servers: {shop: {command: "python3 mcp.py"}}}}}' 'at /servers/shop/command: found the string'
doctors 'plugins: {config: {tenon.mcp: {servers: {shop: {command: [no-such-program]}}}}}' 'at /servers/shop/command/0: there is no program `no-such-program`'
doctors 'plugins: {config: {tenon.mcp: {servers: {shop: {url: "https://x.example", headers: {a: {secret: NO_SUCH}}}}}}}' 'the secret `NO_SUCH` cannot be had'
doctors 'plugins: {config: {tenon.mpc: {}}}' 'there is no plugin `tenon.mpc`; did you mean `tenon.mcp`?'
[ ! -e "$BINARY/lib/tenon/plugins/openapi.so" ] || [ ! -e "$BINARY/lib/tenon/plugins/http.so" ] ||
    doctors 'plugins: {config: {tenon.openapi: {services: {pets: {document: absent.yaml}}}}}' 'absent.yaml: '
doctors 'models: {default: scriptde}' 'the model provider `scriptde`; did you mean `scripted`?'
doctors 'models: {default: [scripted, {provider: scripted, replies: hello}]}' 'models.default: the configuration of the model `scripted`: /replies: found the string'
run tenon check "$SOURCE/samples/hello/hello.yaml" --strict
expect_code 3 && expect_in err "/replies: found the string"
echo 'plugins: {config: {tenon.mcp: {servers: {shop: {command: [touch, started]}}}, tenon.define: {tools: [{name: a, command: [echo]}]}}}' >tenon.yaml
run tenon doctor
expect_code 0 && expect_in out "✓ tenon.mcp          its section of tenon.yaml fits" && expect_in out "✓ tenon.define       its section"
[ ! -e started ] || fails "a server was started"
rm tenon.yaml

# ---- The operator's limits bound what a document and a run ask for ----
printf 'limits: {recursion_limit: 5}\n' >tenon.yaml
cat >loop.yaml <<'YAML'
version: "1.0"
agent: {recursion_limit: 50}
channels: [{name: n, type: last_value, default: 0}]
nodes: [{id: a, type: set, config: {values: {n: state.n + 1}}}]
edges:
  - {from: START, to: a}
  - from: a
    type: conditional
    conditions: [{expression: state.n < 30, to: a}, {expression: default, to: END}]
YAML
run tenon run loop.yaml --run-config '{"recursion_limit": 40}'
expect_code 1 && once "has taken 5 steps" && expect_in err "tenon.yaml"
run tenon run loop.yaml --no-config
expect_code 0 && expect_out '{"n":30}'
run tenon run loop.yaml --config /dev/null
expect_code 0
run tenon run loop.yaml --no-config --run-config '{"recursion_limit": 7}'
expect_code 1 && once "has taken 7 steps" && expect_not_in err "tenon.yaml"
run tenon doctor
expect_in out "at most 5 steps"
rm tenon.yaml

# ---- new ----
run tenon plugin new acme-text
expect_code 0 && expect_out "" && expect_in err "the plugin acme.text" && expect_in err "cmake --build build"
[ -s acme-text/CMakeLists.txt ] && [ -s acme-text/README.md ] || fails "the project is not whole"
grep -rn '@NAME@\|@ID@' acme-text && fails "a name is not in place"
cp -r acme-text before
run tenon plugin new acme-text
expect_code 2 && once "acme-text is there already; nothing was changed"
diff -r acme-text before >&2 || fails "the folder has changed"
run tenon plugin new other -d acme-text/sub/sub
expect_code 1 && once "cannot make acme-text/sub/sub"
diff -r acme-text before >&2 || fails "the folder has changed"
ln -s nowhere dangling
: >file
for there in dangling file .; do
    run tenon plugin new acme-text --directory $there
    expect_code 2 && once "is there already"
done
for name in x a.b acme-text2 a-b-c; do
    run tenon plugin new $name --directory made
    expect_code 0
    grep -q "$name\|${name//./-}" made/CMakeLists.txt || fails "$name is not in the project"
    rm -r made
done
for name in '' A a..b a- -a .a ../a a/b 'a b' $'a\n' 'a"' 'a;b' 'ä' "$(printf 'a%.0s' {1..300})"; do
    run tenon plugin new --directory made -- "$name"
    expect_code 2 && once "found the name" && [ ! -e made ] || fails "something was made"
done
