# Files that are not plugins.
: >empty.so
head -c 200 "$(plugin good)" >cut.so
head -c 100000 "$(plugin good)" | tr '\001-\100' '\377' >garbage.so
for file in fake empty cut garbage; do
    run tenon plugin show ./$file.so
    expect_code 4 && once "$file.so"
    run tenon plugin check $file.so
    expect_code 4 && expect_in err "$file.so: error["
done
run tenon plugin show absent.so
expect_code 2 && once "No such file or directory"
run tenon plugin check absent.so
expect_code 2 && once "No such file or directory"
run tenon plugin show ./
expect_code 4 && once "not a shared object"
run tenon plugin show "$(plugin library)"
expect_code 4 && once "not a plugin: it has no notes of owner Tenon"
run tenon plugin show test.goood
expect_code 4 && once 'there is no plugin `test.goood`'
