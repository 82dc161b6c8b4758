#!/bin/sh
# A released header does not change: those of sdk/include are sdk/frozen/1's, except for comments and white space. Neither
# does a draft under one id: its header is that of the museum, and every draft has an exhibit there. Released JSON Schemas
# only grow.
set -eu
frozen=$SOURCE/sdk/frozen/1/include
museum=$SOURCE/tests/abi/museum
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

# Prints every token and directive; one statement or directive a line, so that a difference is readable.
tokens() { # file: what is left of it without comments, and without white space that separates nothing
    gcc -w -fpreprocessed -dD -E -P -x c "$1" |
        awk '/^#/ { print ""; print; next } { printf "%s ", $0 } END { print "" }' |
        sed '/^#/! { s/[[:space:]][[:space:]]*/ /g; s/ *\([^[:alnum:]_" ]\) */\1/g; s/;/;\n/g; }' | grep .
}
compare() { # released header, today's: whether they have the same tokens
    tokens "$1" >"$work/released"
    tokens "$2" >"$work/today"
    [ -s "$work/released" ] && diff -u "$work/released" "$work/today"
}

released="tenon.h tenon/eval.h tenon/host.h tenon/http.h tenon/poll.h tenon/registry.h tenon/tool.h"
for header in $released; do
    compare "$frozen/$header" "$SOURCE/sdk/include/$header" || {
        echo "sdk/include/$header is not what was released: what must change gets a new interface id"
        status=1
    }
done
# Every interface that is not a draft is one of them.
for header in $(cd "$SOURCE/sdk/include" && grep -lE '^#define TN_[A-Z_]+_[0-9]+ +"tenon\.' tenon.h tenon/*.h); do
    case " $released " in *" $header "*) ;; *) echo "$header is released, and not in sdk/frozen/1"; status=1 ;; esac
done

# A difference would be found: a token more, less or changed, in code and directives, but not in comments or layout.
changes() { # what, sed script
    sed "$2" "$frozen/tenon.h" >"$work/changed.h"
    cmp -s "$frozen/tenon.h" "$work/changed.h" && { echo "nothing changed with $1"; status=1; }
    compare "$frozen/tenon.h" "$work/changed.h" >/dev/null && { echo "not seen: $1"; status=1; }
    return 0
}
changes "a member more" 's|^} tn_core_1;|int32_t TN_FN(more)(void);\n&|'
changes "a member less" '/TN_FN(quiesce)/d'
changes "another status" 's/^#define TN_AGAIN .*/#define TN_AGAIN (-70)/'
changes "another id" 's|tenon.task/1"|tenon.task/2"|'
changes "a const less" 's/const char \*key, uint64_t length, tn_value item/char *key, uint64_t length, tn_value item/'
changes "a macro more" 's/^#define TN_OK .*/&\n#define TN_FINE 0/'
sed 's|/\*.*\*/||; s/^    int32_t/      int32_t/; s|^#define TN_OK *0|#define TN_OK 0 /* all is well */|' "$frozen/tenon.h" >"$work/changed.h"
compare "$frozen/tenon.h" "$work/changed.h" || { echo "comments and layout were compared"; status=1; }

# Drafts. The id of a header is the value of its TN_..._DRAFT.
id_of() { sed -n 's/^#define TN_[A-Z_]*_DRAFT *"\(.*\)".*/\1/p' "$1"; }
seen=0
for header in "$SOURCE"/sdk/include/tenon/*.h; do
    id=$(id_of "$header")
    [ -n "$id" ] || continue
    seen=$((seen + 1))
    shown=
    for exhibit in "$museum"/drafts/tenon/*.h; do
        [ "$(id_of "$exhibit")" = "$id" ] || continue
        shown=$exhibit
        compare "$exhibit" "$header" || { echo "$header has changed, and its id is still $id"; status=1; }
    done
    [ -n "$shown" ] || { echo "$header: the museum has no exhibit of $id (tests/abi/museum/README.md)"; status=1; }
done
python3 "$SOURCE/tests/abi/frozen_schema.py" "$SOURCE/sdk/frozen/1/schema" "$SOURCE/sdk/schema" || status=1
[ $seen -gt 0 ] || { echo "no draft was found: the test looks in the wrong place"; status=1; }
exit $status
