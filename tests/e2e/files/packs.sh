# A document of a pack reads only in its pack.
pack=$XDG_DATA_HOME/tenon/packs/acme/1.0.0
mkdir -p "$pack/agents" "$pack/prompts"
echo "Pack {name}" >"$pack/prompts/hello.md"
document ../prompts/hello.md >"$pack/agents/good.yaml"
document ../../../../../../project/prompts/hello.md >"$pack/agents/bad.yaml"
run tenon run "$pack/agents/good.yaml"
expect_code 0 && expect_in out "Pack Ada"
run tenon run "$pack/agents/bad.yaml"
expect_code 3 && expect_in err "outside the pack in $pack, and a document of a pack reads only files of its pack"
echo "files: {roots: [$PWD]}" >tenon.yaml
run tenon run "$pack/agents/bad.yaml"
expect_code 3 && expect_in err "outside the pack in $pack"
rm tenon.yaml
outer "$pack/agents/good.yaml" >d.yaml # a pack is for use by documents
run tenon run d.yaml
expect_code 0 && expect_in out "Pack Ada"
outer "$pack/agents/bad.yaml" >d.yaml
run tenon run d.yaml
expect_code 3 && expect_in err "outside the pack in $pack"
