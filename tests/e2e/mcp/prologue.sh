# Shared by the tests of the MCP plugin: scripted servers of both protocol eras, good and hostile. What the plugin sends
# is validated against the schemas of the protocol.
command -v python3 >/dev/null || skips "python3 is not installed"
export TENON SOURCE TENON_SUITES="${TENON_SUITES:-$SOURCE/../shared/suites}"
# script NAME: runs tests/mcp/NAME.py
script() { python3 "$SOURCE/tests/mcp/$1.py" || fails "$1.py"; }
needs_http() { [ -e "$BINARY/lib/tenon/plugins/http.so" ] || skips "built without the HTTP client"; }
