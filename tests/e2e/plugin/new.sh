# `tenon plugin new`
run tenon plugin new acme-text
expect_code 0 && expect_out "" && expect_in err "the plugin acme.text" && expect_in err "cmake --build build"
[ -s acme-text/CMakeLists.txt ] && [ -s acme-text/README.md ] || fails "the project lacks CMakeLists.txt or README.md"
grep -rn '@NAME@\|@ID@' acme-text && fails "a placeholder was not replaced"
cp -r acme-text before
run tenon plugin new acme-text
expect_code 2 && once "acme-text already exists; nothing was changed"
diff -r acme-text before >&2 || fails "the existing folder was changed"
run tenon plugin new other -d acme-text/sub/sub
expect_code 1 && once "cannot make acme-text/sub/sub"
diff -r acme-text before >&2 || fails "the existing folder was changed"
ln -s nowhere dangling
: >file
for there in dangling file .; do
    run tenon plugin new acme-text --directory $there
    expect_code 2 && once "already exists"
done
for name in x a.b acme-text2 a-b-c; do
    run tenon plugin new $name --directory made
    expect_code 0
    grep -q "$name\|${name//./-}" made/CMakeLists.txt || fails "$name is not in the project"
    rm -r made
done
for name in tenon tenon.text tenon-text; do
    run tenon plugin new --directory made -- "$name"
    expect_code 2 && once 'ids that begin with `tenon.` are reserved' && [ ! -e made ] || fails "the folder was created"
done
run tenon plugin new --directory made "$(printf 'a%.0s' {1..100})"
expect_code 2 && once "found a name of 100 bytes, expected at most 99" && [ ! -e made ] || fails "the folder was created"
run tenon plugin new acme-text -d ''
expect_code 2 && once "--directory is empty; expected the name of a folder that does not exist"
run tenon plugin new acme-text -d "a folder; of \$HOME's"
expect_code 0
sed -n 's/^  \(cd .*\)/\1 \&\& test -e CMakeLists.txt/p' "$work/err" >enter
sh -eu enter || fails "the printed \`cd\` does not work"
for name in '' A a..b a- -a .a ../a a/b 'a b' $'a\n' 'a"' 'a;b' 'ä'; do
    run tenon plugin new --directory made -- "$name"
    expect_code 2 && once "found the name" && [ ! -e made ] || fails "the folder was created in spite of the invalid name"
done
