# `tenon pack build` writes the same bytes for the same folder.
rm again.tenonpack
run tenon pack build src
expect_code 0 && expect_out acme-text-1.0.0.tenonpack
cp -r src again
touch -d @86400 again/one.yaml
chmod 600 again/prompts/hello.txt
(umask 077 && "$TENON" pack build again -o again.tenonpack >"$work/out")
cmp acme-text-1.0.0.tenonpack again.tenonpack || fails "expected the same bytes"
if command -v tar >"$work/which"; then
    [ "$(tar tf again.tenonpack | tr '\n' ' ')" = "pack.json one.yaml plugins/nodes.so prompts/hello.txt " ] || fails "unexpected list of files in the pack"
fi
cp again.tenonpack "$work/kept"
run tenon pack build src -o again.tenonpack
expect_code 4 && expect_in err "again.tenonpack already exists" && expect_in err "--force" && once
cmp again.tenonpack "$work/kept" || fails "the existing pack was replaced"
echo "another file" >again.tenonpack
run tenon pack build src -o again.tenonpack --force
expect_code 0 && expect_out again.tenonpack
cmp again.tenonpack "$work/kept" || fails "the existing pack was not replaced"
run tenon pack build nowhere
expect_code 2 && once
run tenon pack build "$SOURCE/samples/hello" # no pack.json
expect_code 2 && expect_in err "pack.json" && once
# broken EDIT MESSAGE: building the edited folder fails.
broken() {
    cp -r src broken
    (cd broken && eval "$1")
    run tenon pack build broken -o broken.tenonpack
    expect_code 4 && expect_in err "$2" && once
    [ ! -e broken.tenonpack ] && [ -z "$(find . -name '*.part-*')" ] || fails "expected no file"
    rm -rf broken
}
broken 'ln -s /etc/passwd link' "is a symbolic link"
broken 'mkfifo pipe' "is not a regular file"
broken 'sed -i s/acme-text/Acme/ pack.json' '`name`: found `Acme`'
broken 'sed -i s/1.0.0/1.0/ pack.json' '`version`: found `1.0`'
broken 'sed -i s/documents/document/ pack.json' 'did you mean `documents`?'
broken 'sed -i "s/A pack/A\\\\n pack/" pack.json' '`title`: it has a control character'
broken 'sed -i s/title/titel/ pack.json' 'did you mean `title`?'
broken 'sed -i s/licence/author/ pack.json' 'known keys are `name`, `version`, '
broken 'sed -i s/one.yaml/two.yaml/ pack.json' '`two.yaml` is not in `files`'
broken 'sed -i s/one.yaml/..\\\/one.yaml/ pack.json' 'it leads out of the pack'
broken 'printf "no plugin" >plugins/nodes.so' "plugins/nodes.so"
broken 'echo "[]" >pack.json' "found array"
broken 'touch "$(printf "a\nb")"' "it has a control character"
