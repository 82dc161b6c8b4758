# A signal cancels the call, and the message reports it.
cat >slow.yaml <<Y
models: {default: {provider: scripted, chunk: 4, delay_ms: 500, replies: ["begun, $(printf 'and on %.0s' {1..100})"]}}
Y
for signal in INT TERM; do
    last="model test, SIG$signal" code=0
    : >"$work/out"
    "$TENON" model test -c slow.yaml >"$work/out" 2>"$work/err" </dev/null &
    host=$!
    wait_until test -s "$work/out"
    kill -$signal "$host"
    wait "$host" || code=$?
    expect_code 130 && expect_in err "cancelled [CANCELLED]"
done
