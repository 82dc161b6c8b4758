# What the scripts of this folder share.
#
#   web_start [OPTION…]   starts `tenon serve` with graphs/ as serve_start does: $url, $key
web_start() {
    serve_start web "$@" graphs/*.yaml
    url=$address
    key=$(sed -n "s/.*key \(tn_[A-Za-z0-9_-]*\).*/\1/p" web.out web.err | head -n 1) # none if the store has keys
}
cp -r "$SOURCE/tests/e2e/ai_sdk/graphs" .
printf 'store: {use: sqlite, path: chats.db}\nserve: {port: 0, log: false}\n' >tenon.yaml
