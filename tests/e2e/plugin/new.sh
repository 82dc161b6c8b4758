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
for name in '' A a..b a- -a .a ../a a/b 'a b' $'a\n' 'a"' 'a;b' 'ä' "$(printf 'a%.0s' {1..300})"; do
    run tenon plugin new --directory made -- "$name"
    expect_code 2 && once "found the name" && [ ! -e made ] || fails "the folder was created in spite of the invalid name"
done
