# A step that failed is tried again with the same key. After `thread update` it pays another sum, with another key.
needs_server
touch fail
run tenon run pay.yaml --thread t
expect_code 1
run tenon run pay.yaml --thread t --resume
expect_code 1
expect_different "$(request 1)"
[ "$(request 1)" = "$(request 2)" ] || fails "the second attempt has another key"
run tenon thread update t pay.yaml --set sum=6
expect_code 0
rm fail
run tenon run pay.yaml --thread t --resume
expect_code 0
expect_different "$(request 2)" "$(request 3)"
[ "$(sed -n 3p requests | cut -d' ' -f4)" = '{"sum":6}' ] || fails "expected the changed sum: $(cat requests)"
run tenon replay t
expect_code 0
