# The process is killed while a payment is being made. The resumed run sends it again with the same key; a new thread of
# the same name that pays something else has another one.
needs_server
touch hang
"$TENON" run pay.yaml --thread t >/dev/null 2>&1 &
host=$!
disown
wait_until requests 1
kill -9 $host
rm hang
wait_until has_ended $host
run tenon run pay.yaml --thread t --resume
expect_code 0
requests 2 || fails "expected two requests: $(cat requests)"
[ "$(sed -n 1p requests)" = "$(sed -n 2p requests)" ] || fails "the repeated request differs: $(cat requests)"
expect_different "$(request 1)"
run tenon thread delete t
run tenon run pay.yaml --thread t --set sum=6
expect_code 0
expect_different "$(request 2)" "$(request 3)"
