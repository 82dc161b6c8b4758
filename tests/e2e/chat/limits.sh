# An input line of more than 16 MiB is refused before its end; its rest is skipped, and the next line is answered.
mkfifo long
"$TENON" chat echo.yaml <long >"$work/out" 2>"$work/err" &
exec 3>long
head -c 17000000 /dev/zero >&3
wait_until grep -q "longer than 16777216 bytes" "$work/err"
printf 'more\\\nof it\nnext\n' >&3
exec 3>&-
last="chat with a long line" code=0
wait $! || code=$?
expect_code 2 && expect_out "you said next, calm"
# A reader that closes the pipe ends the conversation.
run sh -c 'yes | "$0" chat echo.yaml | head -n 1' "$TENON"
expect_code 0 && expect_out "you said y, calm" && expect_in err "cannot write to standard output"
