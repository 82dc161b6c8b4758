# Packs whose plugins claim the same id or component: `tenon pack install` warns, and `tenon pack list` shows it.
# made NAME ID NODE TITLE: builds NAME.tenonpack, with a program that claims a node
made() {
    mkdir -p "$1/plugins"
    printf '#!/bin/sh\n# %s\nexit 1\n' "$1" >"$1/plugins/claim"
    chmod +x "$1/plugins/claim"
    printf '{"plugin": {"id": "%s", "version": "1.0.0", "title": "T"}, "components": [{"kind": "node", "id": "%s", "title": "T", "style": "async", "effects": []}]}\n' \
        "$2" "$3" >"$1/plugins/claim.tenon.json"
    printf '{"name": "%s", "version": "1.0.0", "title": "T", "plugins": ["plugins/claim"]}\n' "$1" >"$1/pack.json"
    run tenon pack build "$1" -o "$1.tenonpack"
    expect_code 0
}
made first acme.first acme.node
made same-id acme.first acme.other
made same-node acme.second acme.node
run tenon pack install first.tenonpack
expect_code 0 && expect_in err "first 1.0.0 is not signed: its plugins run in separate processes" && once
run tenon pack list
expect_code 0 && expect_not_in out "cannot be used"
run tenon pack install same-id.tenonpack
expect_code 0 && expect_in err 'warning: two files claim the plugin `acme.first`' && expect_in err "$packs/first/1.0.0/plugins/claim"
run tenon pack list
expect_code 4 && [ "$(grep -c 'cannot be used: two files claim' "$work/out")" = 2 ] || fails "expected both plugins"
run tenon pack remove same-id
# A plugin is not reported because its file's name is the beginning of another one's.
cp -r same-id longer
mv longer/plugins/claim longer/plugins/claim-again
mv longer/plugins/claim.tenon.json longer/plugins/claim-again.tenon.json
sed 's/acme\.first/acme.third/; s/acme\.other/acme.third_node/' same-id/plugins/claim.tenon.json >longer/plugins/claim.tenon.json
printf '#!/bin/sh\n# third\nexit 1\n' >longer/plugins/claim
chmod +x longer/plugins/claim
sed 's/"same-id"/"longer"/; s/\["plugins.claim"\]/["plugins\/claim", "plugins\/claim-again"]/' same-id/pack.json >longer/pack.json
run tenon pack build longer -o longer.tenonpack
expect_code 0
run tenon pack install longer.tenonpack
expect_code 0
run tenon pack list
expect_code 4 && [ "$(grep -c 'cannot be used: two files claim' "$work/out")" = 2 ] || fails "expected two plugins of three"
run tenon pack remove longer
run tenon pack install same-node.tenonpack
expect_code 0 && expect_in err 'warning: two plugins claim the node `acme.node`'
run tenon pack list
expect_code 4 && [ "$(grep -c 'cannot be used: two plugins claim' "$work/out")" = 2 ] || fails "expected both plugins"
run tenon pack remove same-node
# A component of an earlier place of the search path is used instead.
mkdir earlier
cp same-node/plugins/* earlier/
run tenon plugin install earlier
expect_code 0
run tenon pack list
expect_code 0 && expect_in out 'shadowed by acme.second 1.0.0: ' && expect_in out 'which has the node `acme.node` [PLUGIN_SHADOWED]'
# A pack without plugins
mkdir plain
printf 'text\n' >plain/hello.txt
printf '{"name": "plain", "version": "1.0.0", "title": "T", "prompts": ["hello.txt"]}\n' >plain/pack.json
run tenon pack build plain -o plain.tenonpack
run tenon pack install plain.tenonpack
expect_code 0 && expect_in err "plain 1.0.0 is not signed" && expect_not_in err "separate processes"
# HOME can be empty.
run env -u XDG_DATA_HOME HOME= "$TENON" pack install plain.tenonpack
expect_code 4 && expect_in err "neither XDG_DATA_HOME nor HOME is set" && once
