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

# The seed of hashes comes from the system: neither a thread nor a file.
allowed='^adl/value/hash\.c:[0-9]*:<sys/random\.h>'

forbid 'sdk/ includes the C library and itself' ':"|:<(uv|yaml|pcre2|curl|cmocka|jansson)' sdk/include sdk/examples
forbid 'adl/ includes nothing of host/ and plugins/' ':["<](host|plugins)/' adl
forbid 'adl/ has no threads and no I/O' ':<(pthread|threads|uv|unistd|fcntl|poll|dlfcn|signal|dirent|sys/.*)\.h>' adl
forbid 'host/ knows no plugin' ':["<]plugins/' host
forbid 'plugins and samples include <tenon.h>, <tenon/...> and what is beside them' \
    ':["<](adl|host)/|"\.\./|<tenon/embed' plugins tests/bench/plugin samples/triage samples/hello

# One place each for what is taken: nobody else includes the library.
forbid 'only the loader opens shared objects' '^host/(engine|call|loop|runnable|command)/.*:<dlfcn\.h>' host

[ -n "$(includes sdk plugins)" ] || { echo "no includes were found: the test looks in the wrong place"; status=1; }
exit $status
