# If memory runs out in a program that embeds the host, its handler is called; the default writes one line and aborts.
[ -z "$SANITIZE" ] || skips "a sanitizer needs more address space than any limit"
cc=${CC:-cc}
"$cc" -O1 -D_GNU_SOURCE -I"$SOURCE/sdk/include" -o exhaust "$SOURCE/tests/embed/exhaust.c" -L"$BINARY/lib" -ltenon \
    -Wl,-rpath,"$BINARY/lib" 2>"$work/log" || { cat "$work/log" >&2; fails "exhaust.c does not compile"; }
exhaust() { run ./exhaust "$1" "$SOURCE/samples/hello/hello.yaml"; }

exhaust exits
expect_code 42
[ "$(cat "$work/err")" = "handler: exits: some bytes" ] || fails "expected the handler's line and nothing else"

aborted=134 # SIGABRT
for how in returns none; do
    exhaust $how
    expect_code $aborted
    grep -qE '^tenon: out of memory: cannot allocate [0-9]+ bytes$' "$work/err" || fails "expected the library's line"
    expect_not_in err plugin
    if [ $how = returns ]; then expect_in err "handler: returns"; else expect_not_in err "handler:"; fi
done

# The program says the same, and does not blame a plugin.
awk 'BEGIN { printf "{\"name\":[[]"; for (i = 0; i < 1300000; i++) printf ",[[1]]"; print "]}" }' >large.json
run bash -c 'ulimit -c 0; ulimit -v 150000; exec "$@"' - "$TENON" run "$SOURCE/samples/hello/hello.yaml" --input @large.json
expect_code $aborted
grep -qE '^tenon: out of memory: cannot allocate [0-9]+ bytes$' "$work/err" || fails "expected the program's line"
expect_not_in err plugin
