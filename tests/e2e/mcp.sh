# Servers of the Model Context Protocol: a scripted one of either era, good and hostile; what it is sent is validated.
command -v python3 >/dev/null || skips "there is no python3"
export TENON SOURCE TENON_SUITES="${TENON_SUITES:-$SOURCE/../shared/suites}"

# A server that waits on when the host is killed, and what it has started.
cat >tenon.yaml <<'Y'
plugins: {config: {tenon.mcp: {servers: {s: {command: [sh, -c, "trap '' TERM; sleep 100 & sleep 0.3; echo $$ $! >pids; sleep 100"]}}}}}
Y
killed pids "$TENON" tool list
rm tenon.yaml

# One that says nothing holds up nobody who means another one's tools, and nobody for longer than it may: what the
# first is given is more than the test has.
sed -n '/^```python/,/^```/p' "$SOURCE/plugins/mcp/README.md" | sed '1d;$d' >dice.py
cat >tenon.yaml <<'Y'
plugins: {config: {tenon.mcp: {servers: {hang: {command: [sleep, "3600"], connect_timeout_ms: 600000}, dice: {command: [python3, dice.py]}}}}}
Y
run timeout 50 "$TENON" tool call dice.roll --set sides=1
expect_code 0 && expect_out 1
run timeout 50 "$TENON" check "$SOURCE/samples/hello/hello.yaml"
expect_code 0
cat >tenon.yaml <<'Y'
plugins: {config: {tenon.mcp: {servers: {hang: {command: [sleep, "3600"], connect_timeout_ms: 1000}}}}}
Y
run tenon tool list
expect_code 0 && expect_in err 'server `hang`: it does not take `initialize`: there was no answer'
python3 - "$work/err" <<'P' || fails "it was waited for longer than the timeout"
import re, sys
sys.exit(int(re.search(r"within (\d+) ms", open(sys.argv[1]).read())[1]) > 500)
P
echo 'plugins: {config: {tenon.mcp: {servers: {echoes: {command: [cat]}}}}}' >tenon.yaml
run tenon tool list
expect_code 0 && expect_in err 'server `echoes`: it sends our own `server/discover` back, and so is no server of MCP'
sed -i 's/\[cat\]/[cat], era: "2025-06-18"/' tenon.yaml
run tenon tool list
expect_code 0 && expect_in err 'it sends our own `initialize` back'
rm tenon.yaml dice.py

python3 "$SOURCE/tests/mcp/protocol.py" || fails "protocol.py"
python3 "$SOURCE/tests/mcp/hostile.py" || fails "hostile.py"
[ ! -e "$BINARY/lib/tenon/plugins/http.so" ] || python3 "$SOURCE/tests/mcp/web.py" || fails "web.py"
[ ! -e "$BINARY/lib/tenon/plugins/http.so" ] || python3 "$SOURCE/tests/mcp/authorization.py" || fails "authorization.py"
