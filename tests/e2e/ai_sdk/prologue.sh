# What the scripts of this folder share.
#
#   web_start [OPTION…]   starts `tenon serve` with graphs/ in the background, and waits until it listens: $url, $key; $web
#                         is its process
#   web_stop [SIGNAL]     ends it (TERM), and checks what a sanitizer has found
web_start() {
    : >web.err # the address of the host before it is not the one to wait for
    env --default-signal=INT "$TENON" serve "$@" graphs/*.yaml >web.out 2>web.err &
    web=$!
    servers+=("$web")
    wait_until eval 'grep -q " serves " web.err || ! kill -0 $web'
    kill -0 "$web" 2>/dev/null || { cat web.err >&2; fails "the host did not start"; }
    url=$(grep -o 'http://[0-9.:]*' web.err | head -n 1)
    key=$(sed -n "s/.*key \(tn_[A-Za-z0-9_-]*\).*/\1/p" web.out web.err | head -n 1) # none if the store has keys
}
web_stop() {
    kill -"${1:-TERM}" "$web"
    expect_ended "$web" "the host did not end"
    grep -qE 'Sanitizer|runtime error:' web.err && { cat web.err >&2; fails "a sanitizer reported an error"; }
    return 0
}
cp -r "$SOURCE/tests/e2e/ai_sdk/graphs" .
printf 'store: {use: sqlite, path: chats.db}\nserve: {port: 0, log: false}\n' >tenon.yaml
