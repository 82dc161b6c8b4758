# `tenon check` warns about an effect that must not happen twice, of a tool that receives no key.
needs_server
cat >>tenon.yaml <<Y
        - {name: off, effects: [destructive], http: {url: "http://127.0.0.1:$port/", method: POST, idempotency_header: false}}
        - {name: off2, effects: [destructive], http: {url: "http://127.0.0.1:$port/", method: PUT, idempotency_header: false}}
        - {name: read, http: {url: "http://127.0.0.1:$port/", idempotency_header: false}}
        - {name: harmless, effects: [], http: {url: "http://127.0.0.1:$port/", method: POST, idempotency_header: false}}
        - {name: alias, tool: off}
Y
# warned TOOLS TOOL COUNT: checks pay.yaml with these tools; fails unless there are so many warnings W112 (one)
warned() {
    sed "s/^tools:.*/tools: $1/; s/tool: [a-z]*,/tool: ${2:-off},/; /tool: c\\./s/{sum: state.sum}/{}/" pay.yaml >other.yaml
    run tenon check other.yaml
    expect_code 0
    [ "$(grep -c 'warning.ADL-W112' "$work/err")" = "${3:-1}" ] || fails "expected ${3:-1} of ADL-W112"
}
clean() {
    sed "s/^tools:.*/tools: $1/; s/tool: [a-z]*,/tool: ${2:-off},/; /tool: c\\./s/{sum: state.sum}/{}/" pay.yaml >other.yaml
    run tenon check other.yaml
    expect_not_in err W112
}
warned '[off]'
expect_in err 'the tool `off` has the effect `destructive`'
warned '["off*"]'
expect_in err 'the tool `off` (and 1 more) has the effect `destructive`'
warned '[alias, off]' alias 2
expect_in err 'the tool `alias` calls `off`, which has the effect `destructive`'
warned ''
clean '[pay]' pay
clean '[read]' read
clean '[harmless]' harmless
clean '[pay, {name: "off*", approval: deny}]' pay

# A C function has no place for a key.
[ -e "$BINARY/lib/tenon/plugins/ffi.so" ] || skips "built without libffi; the other part passed"
cat >>tenon.yaml <<'Y'
    tenon.ffi:
      libraries:
        - name: c
          library: libc.so.6
          functions:
            - {name: sync, effects: [destructive]}
            - {name: getpid, returns: int, effects: []}
            - {name: setsid, returns: int, effects: [destructive], idempotent: true}
            - {name: getppid, returns: int}
Y
warned '[c.sync]' c.sync
expect_in err 'the tool `c.sync` has the effect `destructive`'
warned '[c.getppid]' c.getppid
expect_in err 'the tool `c.getppid` has effects that are not declared'
clean '[c.getpid, c.setsid]' c.getpid
expect_code 0
