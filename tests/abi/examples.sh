#!/bin/sh
# A tool with its schema has at most ten lines, a node at most fifteen, as complete files; the README shows the same files.
# The notes that the macros of easy.h make are those of fields.expected with every compiler and language.
#   examples.sh --update writes fields.expected.
set -eu
: "${SOURCE:=$(cd "$(dirname "$0")/../.." && pwd)}"
examples=$SOURCE/sdk/examples
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

count() { # file, bound
    lines=$(grep -c . "$examples/$1")
    [ "$lines" -le "$2" ] || { echo "sdk/examples/$1 has $lines lines; at most $2 were promised"; status=1; }
    gcc -std=c17 -Wall -Wextra -Wpedantic -Wconversion -Werror -shared -fPIC -fvisibility=hidden \
        -I"$SOURCE/sdk/include" -o "$work/$1.so" "$examples/$1" || status=1
    exported=$(nm -D --defined-only "$work/$1.so" | awk '{print $3}')
    [ "$exported" = tn_plugin_entry_1 ] || { echo "$1 exports: $exported"; status=1; }
}
count tool.c 10
count node.c 15

# The README quotes the files line by line.
readme=$SOURCE/README.md
if [ -f "$readme" ] && grep -q 'TN_PLUGIN(' "$readme"; then
    for example in tool.c node.c; do
        while IFS= read -r line; do
            grep -qxF -e "$line" "$readme" || { echo "README.md does not show, from $example: $line"; status=1; }
        done <"$examples/$example"
    done
fi

# Strings that are in a note as they are (tenon/note.h) are shown as <text>, their line feeds and tabs as ^J and ^I.
notes() { # object
    objcopy -O binary --only-section=.note.tenon "$1" "$work/notes"
    tr '\n\0' '\013\n' <"$work/notes" | grep -a '^{' |
        sed 's/\x01/</g; s/\x02/>/g; s/\x0b/^J/g; s/\t/^I/g' | LC_ALL=C sort
}
if [ "${1-}" = --update ]; then
    gcc -shared -fPIC -I"$SOURCE/sdk/include" -o "$work/fields.so" "$SOURCE/tests/abi/fields.c"
    notes "$work/fields.so" >"$SOURCE/tests/abi/fields.expected"
    exit
fi
cp "$SOURCE/tests/abi/fields.c" "$work/fields.cc"
for try in "gcc -std=c99 $SOURCE/tests/abi/fields.c" "gcc -O2 -flto -Wl,--gc-sections $SOURCE/tests/abi/fields.c" \
    "g++ -std=c++11 $work/fields.cc" "clang -std=c11 $SOURCE/tests/abi/fields.c" \
    "clang -fsanitize=address $SOURCE/tests/abi/fields.c" "clang++ -std=c++11 $work/fields.cc"; do
    command -v "${try%% *}" >/dev/null || continue
    $try -shared -fPIC -I"$SOURCE/sdk/include" -o "$work/fields.so"
    notes "$work/fields.so" | diff -u "$SOURCE/tests/abi/fields.expected" - || { echo "with: $try"; status=1; }
done
exit $status
