# `tenon plugin show` runs no plugin code.
run tenon plugin show "$(plugin aborts)"
expect_code 0 && expect_in out "test.aborts 1.0.0" && expect_in out "node test.aborts"
run tenon plugin show test.aborts -P "$TEST_PLUGINS/aborts"
expect_code 0 && expect_in out "test.aborts 1.0.0"
run tenon plugin show "$(plugin good)"
expect_code 0 && expect_in out "requires   tenon.value/1" && expect_in out "integer, required" && expect_in out "not declared: the most restricted policy applies"
expect_in out 'config   greeting           string, default "hello"' && expect_in out "about    Told in another note."
run tenon plugin show tenon.core
expect_in out 'string, one of "json" or "text", default "json"' && expect_in out "object or boolean"
run tenon plugin show "$(plugin good)" --json
expect_code 0
python '
import json, sys
manifest = json.load(sys.stdin)
assert manifest["plugin"]["id"] == "test.good" and len(manifest["components"]) == 2, manifest'
run tenon plugin show "$(plugin good)" --validate
expect_code 0 && expect_out ""
run tenon plugin show "$(plugin bad_manifest)" --validate
expect_code 4 && once "expected a JSON Schema"
# A manifest cannot act on the terminal.
cat >rude.c <<'C'
#define NOTE(json)                                                                                                     \
    __asm__(".pushsection .note.tenon,\"a\"\n.balign 4\n.long 6, 2f - 1f, 1\n.asciz \"Tenon\"\n.balign 4\n1: .ascii "   \
            json "\n2: .balign 4\n.popsection")
NOTE("\"{\\\"plugin\\\":{\\\"id\\\":\\\"test.rude\\\",\\\"version\\\":\\\"1.0.0\\\",\\\"title\\\":\\\"\\\\u001b[31m\\\\u001b]0;x\\\"}}\"");
C
if "$CC" -shared -fPIC -o rude.so rude.c 2>"$work/log"; then
    for command in "show ./rude.so" "list -P rude.so" "check ./rude.so"; do
        # shellcheck disable=SC2086
        run tenon plugin $command
        LC_ALL=C grep -q "$(printf '[\001-\011\013-\037]')" "$work/out" "$work/err" && fails "the output contains control characters"
    done
    run tenon plugin show ./rude.so
    expect_in out "<U+001B>[31m"
fi
