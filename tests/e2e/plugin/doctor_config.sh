# `tenon doctor` checks the sections of plugins and models in tenon.yaml without starting a server.
doctors() { printf '%s\n' "$1" >tenon.yaml; problem "$2"; }
doctors 'plugins: {config: {tenon.mcp: {servers: {shop: {cmd: [touch, started]}}}}}' 'tenon.mcp at /servers/shop'
doctors 'plugins: {config: {tenon.mcp: {servers: {shop: {command: "python3 mcp.py"}}}}}' 'at /servers/shop/command: found the string'
doctors 'plugins: {config: {tenon.mcp: {servers: {shop: {command: [no-such-program]}}}}}' 'at /servers/shop/command/0: cannot find the program `no-such-program`'
doctors 'plugins: {config: {tenon.define: {tools: [{name: a, command: [no-such-program]}]}}}' 'tenon.define at /tools/0/command/0: cannot find the program `no-such-program`'
# Each mistake is one problem.
counts() { printf '%s\n' "$1" >tenon.yaml; run tenon doctor; expect_code 4 && [ "$(tail -n 1 "$work/out")" = "$2" ] && [ ! -s "$work/err" ] || fails "expected one row for each mistake"; }
counts 'plugins: {config: {tenon.define: {tools: [{name: a, title: 3, command: [echo]}]}}}' '1 problem'
counts 'plugins: {config: {tenon.define: {tools: [{name: a, command: [no-such]}, {name: b, command: ["{x}"]}]}}}' '1 problem'
counts 'plugins: {config: {tenon.mcp: {servers: {a: {command: [no-such]}, b: {command: [nor-this]}}}}}' '2 problems'
counts 'plugins: {config: {tenon.mpc: {}}}' '1 problem'
doctors 'plugins: {config: {tenon.mcp: {servers: {shop: {url: "https://x.example", headers: {a: {secret: NO_SUCH}}}}}}}' 'the secret `NO_SUCH` is not available'
doctors 'plugins: {config: {tenon.mpc: {}}}' 'unknown plugin `tenon.mpc`; did you mean `tenon.mcp`?'
[ ! -e "$BINARY/lib/tenon/plugins/openapi.so" ] || [ ! -e "$BINARY/lib/tenon/plugins/http.so" ] ||
    doctors 'plugins: {config: {tenon.openapi: {services: {pets: {document: absent.yaml}}}}}' 'absent.yaml: '
doctors 'models: {default: scriptde}' 'the model provider `scriptde`; did you mean `scripted`?'
doctors 'models: {default: [scripted, {provider: scripted, replies: hello}]}' 'models.default: the configuration of the model `scripted`: /replies: found the string'
run tenon check "$SOURCE/samples/hello/hello.yaml" --strict
expect_code 3 && expect_in err "/replies: found the string"
echo 'plugins: {config: {tenon.mcp: {servers: {shop: {command: [touch, started]}}}, tenon.define: {tools: [{name: a, command: [echo]}]}}}' >tenon.yaml
run tenon doctor
expect_code 0 && expect_in out "✓ tenon.mcp          its section of tenon.yaml is valid" && expect_in out "✓ tenon.define       its section"
[ ! -e started ] || fails "a server was started"
rm tenon.yaml
