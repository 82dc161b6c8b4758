#!/bin/sh
# Dependencies point downwards: sdk <- adl <- host, and plugins know the sdk alone. Read from the includes.
set -eu
status=0
cd "$SOURCE"

includes() { # folders: file:line:name, of every include
    find "$@" -type f \( -name '*.h' -o -name '*.c' -o -name '*.cc' -o -name '*.def' \) 2>/dev/null |
        xargs -r grep -nE '^[[:space:]]*#[[:space:]]*include' /dev/null | sed 's/#[[:space:]]*include[[:space:]]*//'
}
forbid() { # rule, pattern, folders
    rule=$1 pattern=$2
    shift 2
    found=$(includes "$@" | grep -E "$pattern" | grep -vE "$allowed" || true)
    [ -z "$found" ] || { echo "$rule:"; echo "$found"; status=1; }
}

# The seed of hashes comes from the system, not from a thread or a file.
allowed='^adl/value/hash\.c:[0-9]*:<sys/random\.h>'

forbid 'sdk/ includes the C library and itself' ':"|:<(uv|yaml|pcre2|curl|cmocka|jansson)' sdk/include sdk/examples
forbid 'adl/ includes nothing of host/ and plugins/' ':["<](host|plugins)/' adl
forbid 'adl/ has no threads and no I/O' ':<(pthread|threads|uv|unistd|fcntl|poll|dlfcn|signal|dirent|sys/.*)\.h>' adl
forbid 'host/ knows no plugin' ':["<]plugins/' host
forbid 'plugins and samples include <tenon.h>, <tenon/...> and what is beside them' \
    ':["<](adl|host)/|"\.\./|<tenon/embed' plugins tests/bench/plugin samples/triage samples/hello

# Only one file includes each of these libraries.
forbid 'only the loader opens shared objects' '^host/(assembly|base|data|embed|engine|net|program|plugin/(abi|call|conformance|isolate|pack|sandbox))/.*:<dlfcn\.h>' host

# Private headers: x_internal.h is for its own folder, but the struct of an instance and of a call is for all of host/plugin.
private_headers() { # folder: prints every include of a private header from elsewhere
    includes "$1" | awk '
        {
            split($0, at, ":"); split($0, quoted, "\""); header = quoted[2]
            if (header !~ /^host\//) next
            from = at[1]; sub(/\/[^\/]*$/, "", from); to = header; sub(/\/[^\/]*$/, "", to); name = header; sub(/.*\//, "", name)
            if (header ~ /^host\/plugin\/call\/(slot|call_internal|instance_internal)\.h$/)
                bad = from !~ /^host\/plugin(\/|$)/
            else
                bad = name ~ /_internal\.h$/ && from != to
            if (bad) print at[1] ":" at[2] ": must not include " header
        }'
}
found=$(private_headers host)
[ -z "$found" ] || { echo "private headers stay in their folder:"; echo "$found"; status=1; }

# One name, one file: a stem (without the extension) belongs to one folder of host/, and a guard to one header.
found=$(find host -type f \( -name '*.c' -o -name '*.h' -o -name '*.cc' \) | sed 's/\.[a-z]*$//' | sort -u | sed 's/.*\///' | sort | uniq -d)
[ -z "$found" ] || { echo "stems that two folders of host/ use:"; echo "$found"; status=1; }
found=$(find host -type f -name '*.h' | xargs -r sed -n 's/^#ifndef \(TENON_[A-Z0-9_]*_H\)$/\1/p' | sort | uniq -d)
[ -z "$found" ] || { echo "header guards that two headers of host/ use:"; echo "$found"; status=1; }
for header in $(find host -type f -name '*.h' | sort); do
    guard=TENON_$(echo "$header" | tr 'a-z/.-' 'A-Z___')
    grep -q "^#ifndef $guard\$" "$header" || { echo "$header: its guard is not $guard"; status=1; }
done

# An implementation of an interface gets its object from the registry, with its own type.
found=$(grep -rn 'registry_user' host tests --include='*.[ch]' || true)
[ -z "$found" ] || { echo "registry_user does not exist: use registry_owner or a typed callback:"; echo "$found"; status=1; }

# layers TABLE FOLDER: every include between rooms of FOLDER is in TABLE, and no row names a room of a later row.
layers() {
    includes "$2" | grep -E "\"$2/" | awk -v table="$1" -v top="$2" '
        function room(path) { sub("^" top "/", "", path); return path ~ /\// ? substr(path, 1, match(path, /\/[^\/]*$/) - 1) : "." }
        function may(from, to,    i, n, names, prefix) {
            n = split(allowed[from], names, " ")
            for (i = 1; i <= n; i++) {
                prefix = names[i]
                if (prefix == to || (sub(/\*$/, "", prefix) && index(to "/", prefix) == 1)) return 1
            }
            return 0
        }
        BEGIN {
            while ((getline line < table) > 0) {
                if (line ~ /^(#|$)/) continue
                split(line, part, " *: *"); allowed[part[1]] = part[2]; n = split(part[2], names, " ")
                for (i = 1; i <= n; i++)
                    if (names[i] !~ /\*/ && !(names[i] in seen)) { print table ": " part[1] " names " names[i] ", which is not an earlier row"; bad = 1 }
                seen[part[1]] = 1; rows++
            }
            if (!rows) { print table ": the table is empty"; bad = 1 }
        }
        {
            split($0, at, ":"); from = room(at[1]); split($0, quoted, "\""); to = room(quoted[2]); count++
            if (!(from in allowed)) { print at[1] ": the room " from " is not in " table; bad = 1 }
            else if (from != to && !may(from, to)) { print at[1] ":" at[2] ": " from " must not include " to; bad = 1 }
        }
        END { if (!count) { print top ": no includes were found"; bad = 1 } exit bad }' || status=1
}
layers tests/abi/layers.adl adl
layers tests/abi/layers host

[ -n "$(includes sdk plugins)" ] || { echo "no includes were found: the test looks in the wrong place"; status=1; }
exit $status
