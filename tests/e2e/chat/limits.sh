# An input line of more than 16 MiB is refused before its end. A reader that closes the pipe ends the conversation.
run sh -c 'ulimit -v unlimited; exec "$0" chat echo.yaml </dev/zero' "$TENON"
expect_code 2 && expect_in err "longer than 16777216 bytes"
run sh -c 'yes | "$0" chat echo.yaml | head -n 1' "$TENON"
expect_code 0 && expect_out "you said y, calm" && expect_in err "cannot write to standard output"
