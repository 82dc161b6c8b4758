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
# At the limit of 16777216 bytes, which the end of the line is not part of, the next line is always answered. A blank
# line is not sent.
spaces() { head -c "$1" /dev/zero | tr '\0' ' '; }
all_ends=('\n' '\r\n' '\r\r\n')
[ -z "${SANITIZE:-}" ] || all_ends=('\r\n') # a sanitizer makes lines of this length slow
for ends in "${all_ends[@]}"; do
    for length in 16777215 16777216 16777217 16777218; do
        { spaces $length && printf "${ends}next\nlast$ends"; } >lines
        code=0 last="chat with a line of $length bytes and '$ends'"
        "$TENON" chat echo.yaml <lines >"$work/out" 2>"$work/err" || code=$?
        expect_out "$(printf 'you said next, calm\nyou said last, calm')"
        if [ $length -le 16777216 ]; then expect_code 0; else expect_code 2 && expect_in err "longer than 16777216 bytes"; fi
    done
    # The line continues, although the backslash did not fit.
    for length in 16777215 16777216 16777217; do
        { spaces $length && printf "\\\\${ends}more${ends}next\n"; } >lines
        code=0 last="chat with a line of $length bytes, a backslash and '$ends'"
        "$TENON" chat echo.yaml <lines >"$work/out" 2>"$work/err" || code=$?
        expect_code 2 && expect_in err "longer than 16777216 bytes" && expect_out "you said next, calm"
    done
done
# A reader that closes the pipe ends the conversation.
run sh -c 'yes | "$0" chat echo.yaml | head -n 1' "$TENON"
expect_code 0 && expect_out "you said y, calm" && expect_in err "cannot write to standard output"
