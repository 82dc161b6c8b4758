# The recipes of CONTRIBUTING.md work: their blocks are applied to a copy of the tree, which is built and tried.
[ -z "$SANITIZE" ] || skips "a sanitizer does not change what this tests"
command -v python3 >/dev/null || skips "python3 is not installed"
mkdir tree
(cd "$SOURCE" && tests/tools/sources . | grep -v '^tests/' | tar cf - -T -) | tar xf - -C tree

# A block begins with "```c new PATH" (a new file) or "```c in PATH before TEXT" (lines before the first line that
# begins with TEXT); `c` can be another language.
python3 - "$SOURCE/CONTRIBUTING.md" tree <<'PYTHON' || fails "a block of CONTRIBUTING.md cannot be applied"
import os
import re
import sys

text, applied = open(sys.argv[1], encoding="utf-8").read(), 0
for how, path, before, block in re.findall(r"^```\w+ (new|in) (\S+)(?: before ([^\n]*))?\n(.*?)^```$", text, re.M | re.S):
    path = sys.argv[2] + "/" + path
    if how == "new":
        os.makedirs(os.path.dirname(path), exist_ok=True)
        open(path, "x", encoding="utf-8").write(block)
    else:
        lines = open(path, encoding="utf-8").read().splitlines(keepends=True)
        places = [i for i, line in enumerate(lines) if line.startswith(before)]
        if not places:
            sys.exit("%s has no line that begins with: %s" % (path, before))
        lines[places[0] : places[0]] = [block]
        open(path, "w", encoding="utf-8").write("".join(lines))
    applied += 1
sys.exit(applied < 12 and "found only %d blocks" % applied)
PYTHON

providers=
[ -e "$BINARY/lib/tenon/plugins/http.so" ] && providers="acme http"
# A compiler that takes the object of this build where it would be the same.
cat >compiler <<'SH'
#!/bin/sh
for option; do
    [ "$before" != -o ] || object=$option
    before=$option
done
if [ -e "$REUSED/$object" ]; then exec ln -s "$REUSED/$object" "$object"; fi
exec "$@"
SH
chmod +x compiler
export REUSED=$PWD/reused
last="build of the copy"
build_copy() {
    cmake -S tree -B built -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O0 -DCMAKE_C_COMPILER="$CC" -DTENON_TESTS=OFF \
        -DTENON_WERROR=ON -DCMAKE_C_COMPILER_LAUNCHER="$PWD/compiler" || return 1
    python3 "$SOURCE/tests/e2e/reuse_objects.py" "$SOURCE" "$BINARY" tree built reused || return 1
    cmake --build built --target tenon core $providers
}
build_copy >log 2>&1 || { tail -n 40 log >&2; fails "the copy does not build"; }
TENON=$PWD/built/bin/tenon

# The node type.
cat >shout.yaml <<'YAML'
version: "1.0"
channels: [{name: a, type: last_value, default: quiet}, {name: b, type: last_value}]
nodes: [{id: Loud, type: shout, config: {input_key: a, output_key: b}}]
edges: [{from: START, to: Loud}, {from: Loud, to: END}]
YAML
run tenon run shout.yaml
expect_code 0 && expect_out '{"a":"quiet","b":"QUIET"}'
run tenon plugin list
expect_in out "    node     shout  "
run tenon reference shout
expect_code 0 && expect_in out "input_key: title" && expect_in out '- `TYPE`: The channel has no text.'
# The diagnostic.
run tenon check shout.yaml
expect_code 0 && expect_in err "warning[ADL-W190]: the id \`Loud\` begins with an upper-case letter"
run tenon reference ADL-W190
expect_code 0 && expect_in out "upper-case node id"
# The command.
run tenon hello Ada
expect_code 0 && expect_out "Hello, Ada!"
run tenon hello
expect_code 2
run tenon help
expect_in out "greet someone"
# The error code.
run tenon reference OUT_OF_INK
expect_code 0 && expect_in out "Retryable: yes"

# The provider, with a service that answers in two events.
[ -n "$providers" ] || exit 0
cat >service.py <<'PYTHON'
import http.server, json, os, sys

class Service(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        known = self.headers["authorization"] == "Bearer open sesame"
        self.send_response(200 if known else 401)
        self.send_header("content-type", "text/event-stream" if known else "application/json")
        self.end_headers()
        text = json.dumps({"text": asked["model"] + ": " + asked["messages"][-1]["content"]})
        self.wfile.write(f"data: {text}\n\nevent: end\ndata: {{}}\n\n".encode() if known else b'{"error": "unknown key"}')

server = http.server.HTTPServer(("127.0.0.1", 0), Service)
open("port.new", "w").write(str(server.server_port))
os.rename("port.new", "port")
server.serve_forever()
PYTHON
python3 service.py 2>service.log &
server_wait port
answer() { run tenon model test --no-config --prompt hello -M "{\"provider\": \"acme\", \"model\": \"acme-1\", \"base_url\": \"http://127.0.0.1:$(cat port)\", \"api_key\": \"$1\"}"; }
answer "open sesame"
expect_code 0 && expect_out "acme-1: hello"
answer wrong
expect_code 1 && expect_in err "[AUTH]" && expect_in err "acme"
