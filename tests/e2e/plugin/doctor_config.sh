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
counts 'plugins: {config: {tenon.define: {tools: [{name: a, description: d, document: absent.yaml}]}}}' '1 problem'
[ ! -e "$BINARY/lib/tenon/plugins/ffi.so" ] || counts 'plugins: {config: {tenon.ffi: {libraries: [absent.yaml]}}}' '1 problem'
# Programs that cannot be started, also of descriptions in files.
commands() { doctors "plugins: {config: {tenon.define: {tools: [{name: a, command: [$1]}]}}}" "$2"; }
printf '#!/bin/sh\n' >plain.sh
printf '#!/no/such/shell -e\n' >orphan.sh
printf '#! /usr/bin/env no-such-language\n' >env.sh
chmod +x orphan.sh env.sh
commands ./plain.sh 'the program `./plain.sh` is not executable; use chmod +x'
commands /tmp 'found the folder or device `/tmp`, expected a program'
commands ./orphan.sh 'cannot find the program `/no/such/shell`, the interpreter of the script `./orphan.sh`'
commands ./env.sh 'cannot find the program `no-such-language`, the interpreter of the script `./env.sh`'
printf '[{name: a, command: [echo]}, {name: b, command: [no-such-program]}]\n' >more.yaml
doctors 'plugins: {config: {tenon.define: {tools: [more.yaml]}}}' 'more.yaml: [1]/command/0: cannot find the program `no-such-program`'
counts 'plugins: {config: {tenon.define: {tools: [more.yaml, {name: c, command: [echo]}]}}}' '1 problem'
printf '{name: a, command: [no-such-program]}\n' >single.yaml
doctors 'plugins: {config: {tenon.define: {tools: [{name: c, command: [echo]}, single.yaml]}}}' 'single.yaml: [0]/command/0: cannot find the program `no-such-program`'
# Each description of a file is checked without another walk of the section.
count=60000
[ -z "${SANITIZE:-}" ] || count=2000
{ seq -f '- {name: a%.0f, command: [echo]}' $count && echo '- {name: b, command: [no-such-program]}'; } >many.yaml
words=$(seq -s , -f w%.0f 100)
{ echo 'plugins: {config: {tenon.define: {tools: [' && seq -f "{name: c%.0f, command: [echo, $words]}," 900 && echo 'many.yaml]}}}'; } >tenon.yaml
run tenon doctor
expect_code 4 && expect_in out "many.yaml: [$count]"'/command/0: cannot find the program `no-such-program`'
doctors 'plugins: {config: {tenon.mcp: {servers: {shop: {command: [echo], cwd: absent}}}}}' 'at /servers/shop/cwd: cannot find the folder `'
# Every secret that tenon.yaml names is fetched.
[ ! -e "$BINARY/lib/tenon/plugins/openai.so" ] ||
    doctors 'models: {default: {provider: openai, model: x, api_key: {secret: NO_SUCH}}}' 'tenon.yaml: models: the secret `NO_SUCH` is not available'
counts 'secrets: {A: {env: NO_SUCH}, B: {file: /no/such}, C: {command: [echo, c]}}' '2 problems'
doctors 'packs: {registries: {ghcr.io: {user: jane, password: {secret: NO_SUCH}}}}' 'tenon.yaml: packs.registries: the secret `NO_SUCH`'
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
