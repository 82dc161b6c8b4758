# groff formats the manual page without warnings.
"$TENON" reference --man >tenon.1
command -v groff >"$work/log" || skips "groff is not installed"
run groff -man -ww -Tutf8 -z tenon.1
expect_code 0 && [ ! -s "$work/err" ] || fails "groff reports warnings"
groff -man -Tascii -P-c -rLL=110n tenon.1 2>/dev/null | sed 's/.\x08//g' >page
grep -q '^SYNOPSIS' page && grep -qE '^ +-i, --input JSON' page && grep -q 'tenon eval .state.score > 80.' page ||
    fails "the manual page lacks an expected section"
