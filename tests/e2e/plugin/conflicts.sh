# Two files that claim the same plugin or component.
node test.one
run tenon plugin list -P "$TEST_PLUGINS/good" -P "$TEST_PLUGINS/impostor"
expect_in out "$(plugin good)" && expect_in out "$(plugin impostor)" && expect_in out "refused: two files claim the plugin"
expect_not_in err "two files claim" # the warning is not repeated
run tenon run test.one.yaml -P "$TEST_PLUGINS/good" -P "$TEST_PLUGINS/impostor"
expect_code 4 && once "$(plugin good) (version 1.2.3, from --plugins)" && expect_in err "$(plugin impostor) (version 9.9.9"
run tenon run test.one.yaml -P "$TEST_PLUGINS/good" -P "$TEST_PLUGINS/duplicate"
expect_code 4 && once 'two plugins claim the node `test.one`' && expect_in err "$(plugin good)" && expect_in err "$(plugin duplicate)"
run tenon check test.one.yaml -P "$TEST_PLUGINS/good" -P "$TEST_PLUGINS/duplicate"
expect_code 3 && expect_in err "ADL-E068"
run tenon run "$SOURCE/samples/hello/hello.yaml" -P "$TEST_PLUGINS/good" -P "$TEST_PLUGINS/duplicate"
expect_code 0 # a conflict of unused components is not an error
