# The methods of packs: the same checks of signatures, and the same rows, as those of the commands.
signed
run tenon call pack/list
expect_code 0 && expect_out '{"packs":[]}'
run tenon call pack/install '{"file": "signed.tenonpack"}'
expect_code 0 && expect_in out '"installed":true' && expect_in out "\"key\":\"$(cat acme.pub)\"" && expect_in out '"trusted":false'
run tenon pack list --json
cp "$work/out" listed.json
run tenon call pack/show '{"name": "acme-text"}'
expect_code 0 && grep -qF "$(cat "$work/out")" listed.json || fails "the row of pack/show differs from that of the command"
run tenon call document/graph '{"document": "pack:acme-text/one.yaml", "format": "json"}'
expect_code 0 && expect_in out '"id":"a"'
run tenon call pack/remove '{"name": "acme-text"}'
expect_code 0 && expect_out '{"removed":1}'
nothing_installed

echo "packs: {trust: [\"$(cat acme.pub)\", gone.pub]}" >tenon.yaml
run tenon call pack/install '{"file": "signed.tenonpack"}'
expect_code 0 && expect_in out '"trusted":true' && expect_in out '"trust_error":"' && expect_in out 'gone.pub'
run tenon call pack/remove '{"name": "acme-text", "version": "1.0.0"}'
expect_code 0
rm tenon.yaml

# A damaged signature.
sed 's/"key": *"./&x/' signed.tenonpack >forged.tenonpack
cmp -s signed.tenonpack forged.tenonpack && fails "the pack was not changed"
run tenon call pack/install '{"file": "forged.tenonpack"}'
expect_code 1 && expect_in err '[PACK_INVALID]'
nothing_installed
