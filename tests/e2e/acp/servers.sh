# MCP servers that a client names for a session.
[ -e "$BINARY/lib/tenon/plugins/mcp.so" ] || skips "built without the plugin for MCP"
[ -e "$BINARY/lib/tenon/plugins/http.so" ] || skips "built without the HTTP client"
script servers
