#!/bin/sh
# The contract stays small: tenon.h has at most 300 lines of code, every other interface at most 80.
set -eu
status=0
check() {
    lines=$(gcc -fpreprocessed -dD -E -P "$SOURCE/sdk/include/$1" 2>/dev/null | grep -c .)
    [ "$lines" -le "$2" ] && return
    echo "$1 has $lines lines of code; at most $2 are allowed"
    status=1
}
check tenon.h 300
for header in authenticator demand document eval graph host http http_client http_server launch note poll registry server state store tool; do check tenon/$header.h 80; done
exit $status
