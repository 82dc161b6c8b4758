# Links of the documentation lead to files and headings that exist.
command -v python3 >/dev/null || skips "python3 is not installed"
cd "$SOURCE"
mapfile -t files < <(tests/tools/sources '*.md')
[ "${#files[@]}" -ge 30 ] || fails "expected at least 30 Markdown files"
python3 tests/e2e/links.py . "${files[@]}" || fails "a link of the documentation is wrong"
