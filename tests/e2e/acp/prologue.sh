# Shared by the tests of `tenon acp`: tests/acp/NAME.py is a client. Every message of the agent is validated with the
# schema of the protocol: the one of its package (ACP_SCHEMA), or one in TENON_SUITES.
command -v python3 >/dev/null || skips "python3 is not installed"
export TENON SOURCE TEST_NODES
npm_install @agentclientprotocol/sdk || true
schemas() {
    echo "${ACP_SCHEMA:-}"
    echo "$modules/@agentclientprotocol/sdk/schema/v1/schema.json"
    echo "${TENON_SUITES:-$SOURCE/../shared/suites}/acp/schema.json"
}
ACP_SCHEMA=$(schemas | while read -r file; do [ ! -f "$file" ] || { echo "$file"; break; }; done)
export ACP_SCHEMA
[ -n "$ACP_SCHEMA" ] || echo "no schema of the protocol was found: messages are not validated"
# script NAME: runs tests/acp/NAME.py
script() { python3 "$SOURCE/tests/acp/$1.py" || fails "$1.py"; }
