# `tenon plugin install` and `remove`: plugins in the user's folder.
folder=$XDG_DATA_HOME/tenon/plugins
run tenon plugin install "$(plugin good)"
expect_code 0 && expect_in err "test.good 1.2.3: installed in $folder/good.so"
node test.one
run tenon run test.one.yaml
expect_code 0
# An installed plugin is not replaced without saying so.
run tenon plugin install "$(plugin impostor)"
expect_code 4 && expect_in err 'the plugin `test.good` is already installed: '"$folder/good.so" && expect_in err "--force" && [ ! -e "$folder/impostor.so" ] || fails "it was copied"
run tenon plugin install --force "$(plugin impostor)"
expect_code 0 && expect_in err "test.good 9.9.9: replaced" && [ "$(ls "$folder")" = impostor.so ] || fails "expected only impostor.so"
cp "$(plugin duplicate)" impostor.so
run tenon plugin install impostor.so
expect_code 4 && expect_in err 'impostor.so exists and is the plugin `test.good`' && cmp -s "$folder/impostor.so" "$(plugin impostor)" || fails "it was replaced"
# A plugin with a defect, or that claims a reserved name, is not installed; and of a folder, all plugins or none.
run tenon plugin install "$(plugin extra)"
expect_code 4 && expect_in err "the plugin has defects: " && [ ! -e "$folder/extra.so" ] || fails "it was copied"
mkdir several
cp "$(plugin sidecar)" "$TEST_PLUGINS/sidecar/sidecar.tenon.json" "$TEST_PLUGINS/library/library.so" several/
printf '#!/bin/sh\n' >several/zz
chmod +x several/zz
claims() { printf '{"plugin": {"id": "%s", "version": "1.0.0", "title": "T"}, "components": [{"kind": "node", "id": "a.b", "title": "T", "documentation": "D", "style": "async", "effects": []}]}\n' "$1" >several/zz.tenon.json; }
claims tenon.core
run tenon plugin install several
expect_code 4 && expect_in err "NAME_RESERVED" && [ "$(ls "$folder")" = impostor.so ] || fails "expected only impostor.so"
claims acme.zz
run tenon plugin install several
expect_code 0 && [ "$(ls "$folder" | tr '\n' ' ')" = "impostor.so sidecar.so sidecar.tenon.json zz zz.tenon.json " ] || fails "unexpected files: $(ls "$folder")"
# Two plugins of the folder cannot have the same id, or the same component.
before=$(ls "$folder")
mkdir twice
cp several/zz twice/a
cp several/zz.tenon.json twice/a.tenon.json
cp several/zz twice/b
sed 's/acme.zz/acme.yy/' several/zz.tenon.json >twice/b.tenon.json
unchanged() { expect_code 4 && expect_in err PLUGIN_DUPLICATE && [ "$(ls "$folder")" = "$before" ] || fails "the folder was changed"; }
run tenon plugin install twice/b
unchanged && expect_in err 'twice/b claims the node `a.b`, which the plugin `acme.zz` ('"$folder/zz"') also claims'
run tenon plugin remove acme.zz
before=$(ls "$folder")
run tenon plugin install twice
unchanged && expect_in err 'twice/b claims the node `a.b`, which the plugin `acme.zz`'
cp twice/a.tenon.json twice/b.tenon.json
run tenon plugin install twice
unchanged && expect_in err 'twice/b are both the plugin `acme.zz`'
# What killed processes have left is removed.
(exit 0) & gone=$!
wait $gone
for name in zz.tenon-new-$gone impostor.so.tenon-old-$gone zz.tenon-old-$gone zz.tenon-new-$$; do echo left >"$folder/$name"; done
run tenon plugin install --force several
expect_code 0
[ "$(cd "$folder" && ls -d -- *-old-* *-new-* 2>/dev/null)" = "zz.tenon-new-$$" ] || fails "unexpected files: $(ls "$folder")"
rm "$folder/zz.tenon-new-$$"
mkdir empty
run tenon plugin install empty
expect_code 4 && expect_in err "found no plugin in this folder"
run tenon plugin install absent.so
expect_code 2 && expect_in err "cannot open absent.so"
run tenon plugin install "$(plugin draft)"
expect_code 0 && expect_in err 'allow it with `plugins: {drafts: [test.draft]}` in tenon.yaml'
run env TENON_PLUGIN_PATH="$TEST_PLUGINS/duplicate" "$TENON" plugin install "$(plugin duplicate)"
expect_code 0 && expect_in err "is not used, because $TEST_PLUGINS/duplicate/duplicate.so (TENON_PLUGIN_PATH) is found first"

run tenon plugin remove test.draft
expect_code 0 && expect_in err "test.draft: removed $folder/draft.so"
run tenon plugin remove acme.zz
expect_code 0 && [ ! -e "$folder/zz.tenon.json" ] || fails "the manifest was left"
run tenon plugin remove test.god
expect_code 4 && expect_in err 'there is no plugin `test.god` in '"$folder"'; did you mean `test.good`?'
run tenon plugin remove tenon.core
expect_code 4 && expect_in err "core.so (installed); nothing was removed"
