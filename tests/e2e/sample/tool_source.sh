# samples/tool-source: its README's commands, in process and isolated; tools that appear, change and disappear during a
# conversation, also when the service was restarted in between; a service that cannot be used.
command -v python3 >/dev/null || skips "python3 is not installed"
[ -e "$BINARY/lib/tenon/plugins/http.so" ] || skips "built without the HTTP client"
install_tenon
cp -r "$SOURCE/samples/tool-source" source
cd source
readme_commands README.md "sh build" >build.sh
quietly sh -eu build.sh
[ -n "$SANITIZE" ] || { run tenon plugin check build/acme-tools.so --no-config && expect_code 0 && expect_not_in out warning && expect_not_in err warning; }

serve() { # PORT
    rm -f port
    readme_commands README.md "sh service" | sed "s/^/exec /; s/--port 8090/--port $1 --port-file port/" >service.sh
    grep -q -- --port-file service.sh || fails "the README does not start the service"
    sh service.sh >service.log 3>&- & # 3: the pipe below, which would otherwise stay open
    server_wait port
}
serve 0
sed -i "s/:8090/:$(cat port)/" tenon.yaml

# ---- Calls: the README's, and its expected output ----
export "$(readme_commands README.md console | sed -n 's/^\$ export //p')"
readme_commands README.md console | grep -v '^\$ export' | sed -n '/tenon tool call/,/INVALID_INPUT/p' >calls
while read -r line; do
    case $line in
    '$ '*) # shellcheck disable=SC2086 # the command of the README, in words
        run ${line#\$ } ;;
    tenon:*) expect_code 2 && expect_in err "$line" ;;
    *) expect_code 0 && expect_out "$line" ;;
    esac
done <calls
[ "$(wc -l <calls)" = 6 ] || fails "expected three calls in the README"
for isolate in "" "--isolate acme.tools"; do
    # shellcheck disable=SC2086
    run tenon tool call shop.prices --set of=sofa --plugins build $isolate
    expect_code 1 && expect_in err "shop: the tool failed (status 409): nothing is known about sofa [TOOL_FAILED]"
    run tenon tool list --plugins build $isolate
    expect_in out "shop.prices" && expect_not_in out "shop.weights"
    # A check does not load the plugin's code into the host; the tool is not reported as missing.
    sed 's/tools: \["shop.\*"\]/tools: [shop.prices]/' agent.yaml >exact.yaml
    run tenon check agent.yaml exact.yaml --plugins build $isolate
    expect_code 0 && expect_not_in err warning && expect_not_in err error
    sed 's/tools: \["shop.\*"\]/tools: [shop.prizes]/' agent.yaml >typo.yaml
    run tenon run typo.yaml --plugins build $isolate
    expect_in err '`shop.prizes`' && expect_in err 'did you mean `shop.prices`?'
done

# ---- A conversation while tools come and go ----
has_lines() { [ "$(wc -l <answers)" -gt "$1" ]; }
ask() { # QUESTION: $answer is the agent's
    local before
    before=$(wc -l <answers)
    echo "$1" >&3
    wait_until has_lines "$before"
    answer=$(tail -1 answers)
}
asks_until() { # QUESTION PATTERN
    local deadline=$((SECONDS + 20))
    ask "$1"
    until [[ $answer == $2 ]]; do
        [ $SECONDS -lt $deadline ] || fails "asked for a minute: $1; expected $2, found $answer"
        sleep 0.05
        ask "$1"
    done
}
for isolate in "" "--isolate acme.tools"; do
    rm -f questions
    mkfifo questions
    : >answers
    # shellcheck disable=SC2086
    tenon chat agent.yaml --plugins build $isolate <questions >answers 2>errors &
    chat=$!
    exec 3>questions
    ask "What is the price?"
    [ "$answer" = "A lamp: 35" ] || fails "found the answer: $answer"
    ask "What is the weight?"
    [[ $answer == *shop.weights* ]] || fails "expected the error of the missing tool: $answer"
    readme_commands README.md "sh add" | sh -eu
    asks_until "What is the weight?" "A lamp: 2"
    readme_commands README.md "sh remove" | sh -eu
    asks_until "What is the weight?" "*shop.weights*"
    # The service is restarted: a tool has gone and another one has come meanwhile.
    servers_stop
    mv tables/prices.json .
    cp more/weights.json tables/
    serve "$(cat port)"
    asks_until "What is the weight?" "A lamp: 2"
    ask "What is the price?"
    [[ $answer == *shop.prices* ]] || fails "expected the error of the missing tool: $answer"
    mv prices.json tables/
    rm tables/weights.json
    asks_until "What is the price?" "A lamp: 35"
    exec 3>&-
    wait $chat || { cat errors >&2; fails "the chat failed"; }
done

# ---- A service that cannot be used ----
SHOP_KEY=wrong run tenon tool list --plugins build
expect_code 0 && expect_in err "status 401" && expect_not_in out shop.
mkdir -p broken
cat >broken/good.json <<<'{"description": "Still there.", "values": {"a": 1}}'
cat >broken/Bad\ name.json <<<'{"description": "Its name is not one of a tool.", "values": {"a": 1}}'
printf '%s' '{"description": "One\nshop.fake  auto  Two.", "values": {"a": 1}}' >broken/lines.json
servers_stop
rm -rf tables
mv broken tables
# The service also describes tools that no file can describe, and its result is not JSON.
sed -i 's/self.answer(200, .*/self.answer_text("fine")/
    s/^    def is_permitted/    def answer_text(self, text):\n        self.send_response(200)\n        self.send_header("content-length", str(len(text)))\n        self.end_headers()\n        self.wfile.write(text.encode())\n\n&/
    s/^\( *\)if sent is None:$/\1self.send_event("add", describe("", {"description": "No name.", "values": {}}))\n&/' service.py
serve "$(cat port)"
for isolate in "" "--isolate acme.tools"; do
    # shellcheck disable=SC2086
    run tenon tool list --plugins build $isolate
    expect_code 0 && expect_in out shop.good && expect_not_in out "Bad name"
    [ "$(grep -c "Bad name" "$work/err")" = 1 ] || fails "expected one message about the tool that is left out"
    expect_in err "shop: a tool is left out: acme.tools: at run time: component \`shop.Bad name\` (tool): \`id\`: found"
    expect_in err "a tool without a name is left out" && ! grep "^shop\.\( \|fake\)" "$work/out" || fails "expected no tool shop. or shop.fake"
    # shellcheck disable=SC2086
    run tenon tool call shop.good --set of=a --plugins build $isolate
    expect_code 1 && expect_in err "the service sent a result that is not JSON [INVALID_RESPONSE]"
done
servers_stop
run tenon tool list --plugins build
expect_code 0 && expect_in err "acme.tools: shop: " && expect_not_in out shop.
