# A document of a pack reads only in its pack.
pack=$XDG_DATA_HOME/tenon/packs/acme/1.0.0
mkdir -p src/agents src/prompts
echo "Pack {name}" >src/prompts/hello.md
document ../prompts/hello.md >src/agents/good.yaml
document ../../../../../../project/prompts/hello.md >src/agents/bad.yaml
echo '{"name": "acme", "version": "1.0.0", "title": "A pack", "documents": ["agents/good.yaml", "agents/bad.yaml"]}' >src/pack.json
run tenon pack build src
run tenon pack install acme-1.0.0.tenonpack
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
