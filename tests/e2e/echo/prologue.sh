# Shared by the tests of this folder: $ECHO_KEY is a secret; expect_no_secret FILE… fails if the last command's output or
# one of these files and folders contains it or half of it, in any form that the host searches for.
command -v python3 >/dev/null || skips "python3 is not installed"
export ECHO_KEY='kept+secret/0123456789?>~'
printf '%s' "$ECHO_KEY" >"$work/key"
cat >"$work/search.py" <<'PY'
import base64, os, sys, urllib.parse
key = open(sys.argv[1]).read()
parts = [key, key[:12], key[12:]]
forms = set()
for part in parts:
    percent = urllib.parse.quote(part, safe="")
    forms |= {part, percent, percent.lower(), part.replace("/", "\\/")}
for text in [before + key for before in ("", "u", "us")]:
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        encoded = encode(text.encode()).decode().rstrip("=")
        forms |= {encoded[4:16], encoded[16:28]}
bad = 0
for path in sys.argv[2:]:
    files = [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names] if os.path.isdir(path) else [path]
    for name in files:
        data = open(name, "rb").read()
        for form in sorted(forms):
            if form.encode() in data:
                print(f"{name} contains {form}: ...{data[max(0, data.find(form.encode()) - 40):][:120]!r}")
                bad += 1
    if not files: bad += 1; print(f"{path} contains no file")
sys.exit(1 if bad else 0)
PY
expect_no_secret() {
    python3 "$work/search.py" "$work/key" "$work/out" "$work/err" "$@" >"$work/found" || {
        cat "$work/found" >&2
        fails "a secret is in the output or in a file"
    }
}
