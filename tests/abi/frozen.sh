#!/bin/sh
# A released header does not change: sdk/include/tenon.h is sdk/frozen/1's but for comments and white space. Neither does
# a draft under one id: a header whose id the museum has is the museum's, and an id that it has not wants an exhibit.
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

compare "$frozen/tenon.h" "$SOURCE/sdk/include/tenon.h" || {
    echo "sdk/include/tenon.h is not what was released: what must change gets a new interface id"
    status=1
}

# A difference would be found: a token more, less or changed, in code and directives, but not in comments or layout.
changes() { # what, sed script
    sed "$2" "$frozen/tenon.h" >"$work/changed.h"
    cmp -s "$frozen/tenon.h" "$work/changed.h" && { echo "nothing changed with $1"; status=1; }
    compare "$frozen/tenon.h" "$work/changed.h" >/dev/null && { echo "not seen: $1"; status=1; }
    return 0
}
changes "a member more" 's|^} tn_core_1;|int32_t (*more)(void);\n&|'
changes "a member less" '/(\*quiesce)/d'
changes "another status" 's/^#define TN_AGAIN .*/#define TN_AGAIN (-70)/'
changes "another id" 's|tenon.task/1"|tenon.task/2"|'
changes "a const less" 's/const char \*key, tn_value value/char *key, tn_value value/'
changes "a macro more" 's/^#define TN_OK .*/&\n#define TN_FINE 0/'
sed 's|/\*.*\*/||; s/^    int32_t/      int32_t/; s|^#define TN_OK *0|#define TN_OK 0 /* all is well */|' "$frozen/tenon.h" >"$work/changed.h"
compare "$frozen/tenon.h" "$work/changed.h" || { echo "comments and layout were compared"; status=1; }

# Drafts. The id of a header is the value of its last TN_..._DRAFT or …_DRAFT_2; earlier versions are in it unchanged.
id_of() { sed -n 's/^#define TN_[A-Z_]*_DRAFT\(_[0-9]*\)\{0,1\} *"\(.*\)".*/\2/p' "$1" | tail -n 1; }
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
[ $seen -gt 0 ] || { echo "no draft was found: the test looks in the wrong place"; status=1; }
exit $status
