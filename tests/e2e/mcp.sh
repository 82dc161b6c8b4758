# Servers of the Model Context Protocol: a scripted one of either era, good and hostile; what it is sent is validated.
command -v python3 >/dev/null || skips "there is no python3"
export TENON SOURCE TENON_SUITES="${TENON_SUITES:-$SOURCE/../shared/suites}"

# A server that waits on when the host is killed, and what it has started.
cat >tenon.yaml <<'Y'
plugins: {config: {tenon.mcp: {servers: {s: {command: [sh, -c, "trap '' TERM; sleep 100 & sleep 0.3; echo $$ $! >pids; sleep 100"]}}}}}
Y
killed pids "$TENON" tool list
rm tenon.yaml

python3 "$SOURCE/tests/mcp/protocol.py" || fails "protocol.py"
python3 "$SOURCE/tests/mcp/hostile.py" || fails "hostile.py"
[ ! -e "$BINARY/lib/tenon/plugins/http.so" ] || python3 "$SOURCE/tests/mcp/web.py" || fails "web.py"
[ ! -e "$BINARY/lib/tenon/plugins/http.so" ] || python3 "$SOURCE/tests/mcp/authorization.py" || fails "authorization.py"
