# A plugin that claims a name of the bundled plugins is refused at check, build, install and load, and stops nothing else.
# claim FOLDER ID NODE: a program with a manifest
claim() {
    mkdir -p "$1"
    printf '#!/bin/sh\nexit 1\n' >"$1/claim"
    chmod +x "$1/claim"
    printf '{"plugin": {"id": "%s", "version": "1.0.0", "title": "T"}, "components": [{"kind": "node", "id": "%s", "title": "T", "style": "async", "effects": []}]}\n' \
        "$2" "$3" >"$1/claim.tenon.json"
}
hello() { run tenon run "$SOURCE/samples/hello/hello.yaml" "$@" && expect_code 0; }
claim core tenon.core acme.x
claim set acme.nodes set
hello -P core
expect_not_in err NAME_RESERVED
hello -P set
hello -P set/claim
expect_in err 'claims the node `set`' && expect_in err "is not used"
run tenon plugin list -P core -P set
expect_code 0 && expect_in out "refused: ./core/claim: a plugin claims the id" && expect_in out "[NAME_RESERVED]"
cp "$BINARY/lib/tenon/plugins/core.so" core/core.so # a copy of a bundled plugin is that plugin
run tenon plugin list -P core/core.so
expect_code 0 && expect_not_in out "core/core.so (--plugins)" && expect_not_in err NAME_RESERVED
run tenon plugin check core/core.so
expect_code 4 && expect_in err "NAME_RESERVED"
sed 's/"plugins": \[/&"plugins\/claim", /' src/pack.json >claims.json
cp set/claim set/claim.tenon.json src/plugins/
cp src/pack.json kept.json
cp claims.json src/pack.json
run tenon pack build src -o claims.tenonpack
expect_code 4 && expect_in err 'src/plugins/claim: plugin `acme.nodes` claims the node `set`' && [ ! -e claims.tenonpack ] || fails "the pack was built"
# The same after the pack is built: bytes of the manifest are exchanged before the hashes are written.
sed -i 's/"set"/"a.b"/' src/plugins/claim.tenon.json
run tenon pack build src -o claims.tenonpack
expect_code 0
now=$(sha256sum src/plugins/claim.tenon.json | cut -d' ' -f1)
sed -i 's/"a.b"/"set"/' src/plugins/claim.tenon.json
then=$(sha256sum src/plugins/claim.tenon.json | cut -d' ' -f1)
LC_ALL=C sed -i "s/$now/$then/; s/\"id\": \"a.b\"/\"id\": \"set\"/" claims.tenonpack
run tenon pack install claims.tenonpack
expect_code 4 && expect_in err 'claims.tenonpack/plugins/claim: plugin `acme.nodes` claims the node `set`' && nothing_installed
