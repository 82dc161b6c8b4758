# `tenon check`, `fmt`, `schema` and `graph`.
hello=$SOURCE/samples/hello/hello.yaml
python() { command -v python3 >"$work/which" || return 0; python3 -c "$1" <"$work/out" || fails "the Python check of standard output failed"; }

# File modes have no effect for root: as root, the command runs as user 65534.
as_user() {
    if [ "$(id -u)" = 0 ]; then setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; else "$@"; fi
}

# ---- check, for people ----
cat >wrong.yaml <<'YAML'
version: "1.0"
nodes:
  - {id: greet, type: promt, config: {template: hi, output_key: out}}
edges:
  - {from: START, to: greet}
  - {from: greet, to: END}
YAML
run tenon check wrong.yaml
expect_code 3 && expect_out ""
diff - "$work/err" >&2 <<'TEXT' || fails "the text of the diagnostics differs"
wrong.yaml:3:23: error[ADL-E031]: unknown node type `promt`
   3 |   - {id: greet, type: promt, config: {template: hi, output_key: out}}
     |                       ^~~~~
   = help: did you mean `prompt`?

1 error, 0 warnings
TEXT
run tenon check wrong.yaml --quiet
expect_not_in err "1 error, 0"
run tenon check wrong.yaml --color always
expect_in err "$(printf '\033[1;31m')"
run tenon check "$hello"
expect_code 0 && expect_out "" && expect_in err "no problems found"
run bash -c '"$TENON" check - <wrong.yaml'
expect_code 3 && expect_in err "<stdin>:3:23: error[ADL-E031]"

cat >warns.yaml <<'YAML'
version: "1.0"
nodes: [{id: only, type: passthrough}]
edges: [{from: START, to: only}]
YAML
run tenon check warns.yaml
expect_code 0 && expect_in err "warning[ADL-W101]" && expect_in err "0 errors, 1 warning"
run tenon check warns.yaml --strict
expect_code 3

# Several files: all are checked, even if one cannot be read.
run tenon check "$hello" absent.yaml wrong.yaml warns.yaml
expect_code 2 && expect_in err "cannot open absent.yaml: No such file or directory"
expect_in err "wrong.yaml:3:23" && expect_in err "warns.yaml:2:" && expect_in err "1 error, 1 warning"
expect_not_in err "no problems found"
run tenon check "$hello" wrong.yaml
expect_code 3
run tenon check
expect_code 2

# No document and no file name can control the terminal or break the JSON.
name=$(printf 'r\033[31md.yaml')
printf 'version: "1.0"\n"\\e]0;x": 1\n' >"$name"
run tenon check "$name"
expect_code 3 && LC_ALL=C grep -q "$(printf '[\001-\011\013-\037]')" "$work/err" && fails "the output contains control characters"
run tenon check "$name" --json
python 'import json, sys; assert json.load(sys.stdin)["diagnostics"]'

# ---- A plugin in tenon.yaml that does not exist: documents may not need it ----
printf 'models: {planner: "lokal:small", other: [{provider: lokal}]}\nplugins: {config: {tenon.cor: {a: 1}}}\n' >names.yaml
run tenon check "$hello" --config names.yaml
expect_code 0 && expect_in err 'models.planner: no plugin provides the model provider `lokal`' && expect_in err "0 errors, 2 warnings"
expect_in err 'models.other: no plugin' && expect_in err 'plugins.config: unknown plugin `tenon.cor`; did you mean `tenon.core`?'
run tenon check "$hello" --config names.yaml --strict
expect_code 3
run tenon run "$hello" --config names.yaml
expect_code 0 && expect_in err 'plugins.config' && expect_not_in err "lokal"

# ---- check, for programs ----
run tenon check "$hello" --json
expect_code 0 && expect_out '{"diagnostics":[]}' && [ ! -s "$work/err" ] || fails "expected nothing on standard error"
run tenon check wrong.yaml --json
expect_code 3 && [ ! -s "$work/err" ] || fails "expected nothing on standard error"
expect_out '{"diagnostics":[{"code":"ADL-E031","severity":"error","message":"unknown node type `promt`","file":"wrong.yaml","range":{"start":{"line":2,"character":22},"end":{"line":2,"character":27}},"suggestion":"did you mean `prompt`?","fix":{"title":"replace with `prompt`","range":{"start":{"line":2,"character":22},"end":{"line":2,"character":27}},"replacement":"prompt"}}]}'
# Positions count UTF-16 units: the cat has two.
sed 's/greet, type/🐱, type/' wrong.yaml >cat.yaml
run tenon check cat.yaml --json
expect_in out '"code":"ADL-E031"' && expect_in out '"range":{"start":{"line":2,"character":19},"end":{"line":2,"character":24}}'
cat >twice.yaml <<'YAML'
version: "1.0"
nodes: [{id: one, type: passthrough}, {id: one, type: passthrough}]
edges: [{from: START, to: one}, {from: one, to: END}]
YAML
run tenon check twice.yaml --json
expect_in out '"related":[{"message":"' && expect_in out '"file":"twice.yaml","range":{"start":{"line":1,"character":13}'
run tenon check twice.yaml wrong.yaml warns.yaml --json
[ "$(wc -l <"$work/out")" = 1 ] || fails "expected one object"
python '
import json, sys
seen = {(d["file"], d["severity"]) for d in json.load(sys.stdin)["diagnostics"]}
assert seen == {("twice.yaml", "error"), ("wrong.yaml", "error"), ("warns.yaml", "warning")}, seen'
run bash -c '"$TENON" check wrong.yaml --json >/dev/full'
expect_code 3 && expect_in err "cannot write to standard output"
run bash -c '"$TENON" check "$1" --json >/dev/full' - "$hello"
expect_code 1

# ---- fmt ----
printf '# top\nversion:    "1.0"   # v\nnodes:\n    - {id: a,   type: passthrough}   # a\n\n\n\n    # before b\n    - id: b\n      type: passthrough\nedges: [{from: START, to: a}]\n' >ugly.yaml
cat >pretty.yaml <<'YAML'
# top
version: "1.0"  # v
nodes:
  - {id: a, type: passthrough}  # a

  # before b
  - id: b
    type: passthrough
edges: [{from: START, to: a}]
YAML
cp ugly.yaml it.yaml
run tenon fmt --check it.yaml pretty.yaml
expect_code 1 && expect_out "" && expect_in err "it.yaml is not formatted" && expect_not_in err "pretty.yaml"
cmp -s it.yaml ugly.yaml || fails "--check changed the file"
run tenon fmt --stdout it.yaml
expect_code 0 && cmp -s "$work/out" pretty.yaml && cmp -s it.yaml ugly.yaml || fails "fmt --stdout printed another text or changed the file"
run bash -c '"$TENON" fmt - <ugly.yaml'
expect_code 0 && cmp -s "$work/out" pretty.yaml || fails "fmt - printed another text"
run bash -c '"$TENON" fmt --check - <ugly.yaml'
expect_code 1 && expect_in err "<stdin> is not formatted"
chmod 640 it.yaml
ln -s it.yaml link.yaml
run tenon fmt link.yaml
expect_code 0 && expect_out "" && cmp -s it.yaml pretty.yaml || fails "fmt wrote another text"
[ -L link.yaml ] || fails "fmt replaced the link by a file"
[ "$(stat -c %a it.yaml)" = 640 ] || fails "fmt changed the mode of the file"
run tenon fmt it.yaml --check
expect_code 0
# ADL-E001 to ADL-E019 are syntax errors: these documents cannot be formatted. All others can.
for document in "$SOURCE"/tests/corpus/diagnostics/*.yaml "$SOURCE"/samples/*/*.yaml; do
    case $document in
    */ADL-E0[01]*) expected=3 ;;
    *) expected=0 ;;
    esac
    run tenon fmt --stdout "$document"
    expect_code $expected
    cp "$work/out" once.yaml
    [ $expected = 3 ] || tenon fmt --stdout once.yaml | cmp -s - once.yaml || fails "formatting $document a second time changes it"
done
printf '{"version":"1.0","nodes":[]}' >it.json
run tenon fmt it.json
expect_code 0
run tenon fmt it.json --check
expect_code 0

# A file that cannot be formatted or written is unchanged, and no temporary file remains.
mkdir only
printf 'version: {\n' >only/broken.yaml
cp ugly.yaml only/ugly.yaml
whole() { cmp -s only/ugly.yaml ugly.yaml && [ "$(ls -A only | tr '\n' ' ')" = "broken.yaml ugly.yaml " ] || fails "the folder was changed: $(ls -A only)"; }
run tenon fmt only/broken.yaml absent.yaml
expect_code 3 && expect_in err "only/broken.yaml:1:" && expect_in err "cannot open absent.yaml"
whole
run bash -c '(trap "" XFSZ; ulimit -f 0; exec "$TENON" fmt only/ugly.yaml) 2>&1 | cat; exit ${PIPESTATUS[0]}'
expect_code 1 && expect_in out "cannot write only/ugly.yaml: File too large; the file is unchanged"
whole
run bash -c '"$TENON" fmt <(cat ugly.yaml)'
expect_code 1 && expect_in err "not a regular file" && expect_in err "--stdout"
chmod 755 "$work" "$work/here"
if as_user test -r "$TENON" 2>"$work/null" && as_user test -r "$BINARY"; then
    chmod 555 only
    run as_user "$TENON" fmt only/ugly.yaml
    expect_code 1 && expect_in err "cannot write only/ugly.yaml: Permission denied; the file is unchanged"
    whole
    chmod 755 only
    chmod 000 only/ugly.yaml
    run as_user "$TENON" fmt only/ugly.yaml
    expect_code 2 && expect_in err "cannot open only/ugly.yaml: Permission denied"
    run as_user "$TENON" check only/ugly.yaml
    expect_code 2 && expect_in err "Permission denied"
else
    echo "no user for whom file modes hold can run the program: they are not tested"
fi

# ---- schema ----
run tenon schema --plugins "$TEST_PLUGINS/good"
expect_code 0
for text in '"https://json-schema.org/draft/2020-12/schema"' '"test.one"' '"test.two"' "Told in another note." '"const": "prompt"' '"markdownDescription"'; do
    expect_in out "$text"
done
cp "$work/out" schema.json
python '
import json, sys
schema = json.load(sys.stdin)
def walk(node):
    if isinstance(node, dict):
        reference = node.get("$ref")
        if isinstance(reference, str) and reference.startswith("#/"):
            at = schema
            for part in reference[2:].split("/"):
                at = at[part.replace("~1", "/").replace("~0", "~")]
        for inner in node.values():
            walk(inner)
    elif isinstance(node, list):
        for inner in node:
            walk(inner)
walk(schema)
assert {"version", "nodes", "edges", "channels"} <= schema["properties"].keys()
assert all("description" in key for key in schema["properties"].values())'
run tenon schema
expect_not_in out '"test.one"'
run bash -c '"$TENON" schema >/dev/full'
expect_code 1 && expect_in err "cannot write to standard output"
# It is not an error if the reader closes the pipe early.
[ "$(tenon schema 2>"$work/err" | head -n 1)" = "{" ] || fails 'expected { as the first line of the schema'
[ ! -s "$work/err" ] || fails "expected nothing on standard error"

# ---- graph ----
cat >drawn.yaml <<'YAML'
version: "1.0"
agent: {name: "a \"b\" \\ <c>"}
channels: [{name: n, type: last_value, default: 0}, {name: items, type: append}]
nodes:
  - {id: a, type: passthrough}
  - {id: b, type: passthrough, defer: true, on_error: {to: c}}
  - {id: c, type: passthrough}
  - {id: w, type: passthrough}
edges:
  - {from: START, to: [a, b]}
  - from: a
    type: conditional
    conditions:
      - expression: |
          state.n > 1 &&
            "x|y" != "<\"z\">"
        to: c
      - {expression: default, to: END}
  - {from: [b, c], to: w}
  - {from: w, type: map, over: state.items, as: item, to: w, empty: END}
YAML
run tenon graph drawn.yaml
expect_code 0 && expect_out '○ START
    ──▶ a
    ──▶ b
● a  (passthrough)
    ┄┄▶ c  when state.n > 1 && "x|y" != "<\"z\">"
    ┄┄▶ END  otherwise
● b  (passthrough)  deferred
    ──▶ w  (join)
    ┄┄▶ c  on error
● c  (passthrough)
    ──▶ w  (join)
● w  (passthrough)
    ┄┄▶ w  for each of state.items
    ┄┄▶ END  if the list is empty'
run tenon graph drawn.yaml --format mermaid
expect_code 0 && expect_in out 'graph TD' && expect_in out 'n0["a"] -.->|"state.n #gt; 1 && #quot;x#124;y#quot; != #quot;#lt;'
[ "$(wc -l <"$work/out")" = 10 ] || fails "expected one arrow per line"
run tenon graph drawn.yaml --format json
expect_code 0
python '
import json, sys
graph = json.load(sys.stdin)
assert [n["id"] for n in graph["nodes"]] == ["a", "b", "c", "w"]
assert {"from": "b", "to": "c", "label": "on error", "dashed": True} in graph["edges"]
assert len(graph["edges"]) == 9'
run tenon graph drawn.yaml -f dot
expect_code 0 && expect_in out 'digraph "a \"b\" \\ <c>" {' && expect_in out '"a" -> "END" [label="default", style=dashed];'
if command -v dot >"$work/which"; then dot -Tsvg -o"$work/svg" <"$work/out" || fails "Graphviz rejects the drawing"; fi
for wrong in dto '' 'dot json'; do
    run tenon graph drawn.yaml --format "$wrong"
    expect_code 2 && expect_in err "expected svg, html, mermaid, dot, json or text"
done
run tenon graph absent.yaml
expect_code 2
run tenon graph wrong.yaml # the plugins need not be there
expect_code 0 && expect_in out "greet  (promt)"
run tenon graph only/broken.yaml
expect_code 3 && expect_out ""

# Successors that a config names are drawn, and are reachable without their plugin, too.
cat >router.yaml <<'YAML'
version: "1.0"
channels: [{name: q, type: last_value}]
nodes:
  - {id: route, type: router, config: {model: scripted, input_key: q, targets: {a: The first., END: Nothing else.}}}
  - {id: a, type: passthrough}
edges:
  - {from: START, to: route}
  - {from: a, to: END}
YAML
run tenon graph router.yaml
expect_code 0 && expect_out '○ START
    ──▶ route
● route  (router)
    ┄┄▶ a  chosen by the node
    ┄┄▶ END  chosen by the node
● a  (passthrough)
    ──▶ END'
sed 's/router/acme.router/' router.yaml >unknown.yaml
run tenon graph unknown.yaml
expect_code 0 && expect_in out "route  (acme.router)"
