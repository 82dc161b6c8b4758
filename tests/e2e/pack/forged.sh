# A forged or damaged pack: one message, and nothing is installed.
signed
if command -v python3 >"$work/which"; then
    mkdir bad
    python3 - again.tenonpack signed.tenonpack bad "$work/absolute" <<'PYTHON'
import hashlib, json, sys
plain, signed = open(sys.argv[1], "rb").read(), open(sys.argv[2], "rb").read()
empty = hashlib.sha256(b"").hexdigest()
def header(path, size, kind=b"0", mode=b"0000644", link=b""):
    h = bytearray(512)
    for at, text in ((0, path), (100, mode), (108, b"0000000"), (116, b"0000000"), (124, b"%011o" % size), (136, b"0" * 11),
                     (148, b" " * 8), (156, kind), (157, link), (257, b"ustar\x0000"), (329, b"0000000"), (337, b"0000000")):
        h[at:at + len(text)] = text
    h[148:156] = b"%06o\x00 " % sum(h)
    return bytes(h)
def member(path, data=b"", **more): return header(path, len(data), **more) + data + b"\0" * (-len(data) % 512)
def manifest(files, **more):
    return member(b"pack.json", json.dumps({"name": "bad", "version": "1.0.0", "title": "T", "files": files, **more}).encode())
def write(name, *parts, end=b"\0" * 1024): open(sys.argv[3] + "/" + name, "wb").write(b"".join(parts) + end)
a, b = manifest({"a": empty}), manifest({"a": empty, "b": empty})
write("it leads out of the pack", a, member(b"../../a"))
write("it is absolute", a, member(sys.argv[4][:99].encode()))
write("`a` is a symbolic link", a, member(b"a", kind=b"2", link=b"/etc/passwd"))
write("`b` is a hard link", b, member(b"a"), member(b"b", kind=b"1", link=b"a"))
write("`a` is a device", a, member(b"a", kind=b"3"))
write("`a` is a folder", a, member(b"a", kind=b"5"))
write("`a` is an extended header", a, member(b"a", b"11 path=..\n", kind=b"x"))
write("`a` is in the pack twice", b, member(b"a"), member(b"a"), member(b"b"))
write("listed in pack.json and missing", b, member(b"a"))
write("`z` is in the pack, but not listed", a, member(b"a"), member(b"z"))
write("its hash is e3b0c442", manifest({"a": "0" * 64}), member(b"a"))
write("is truncated", plain[:5000], end=b"")
write("bytes after the end", plain, end=b"x")
write("larger than 256 MiB", a, header(b"a", 1 << 31))
write("pack.json is larger than 4096 KiB", header(b"pack.json", 5 << 20), b" " * (5 << 20))
write("`a` is executable", a, member(b"a", mode=b"0000755"))
write("its mode is neither", a, member(b"a", mode=b"0004755"))
write("`name`: found `Bad`", manifest({"a": empty}, name="Bad"), member(b"a"))
write("`name`: found `..`", manifest({"a": empty}, name=".."), member(b"a"))
write("`title`: it has a control character", manifest({"a": empty}, title="T\n\nacme 1.0.0"), member(b"a"))
write("`version`: found `1`", manifest({"a": empty}, version="1"), member(b"a"))
write("a name in it begins with a dot", manifest({".installed.json": empty}), member(b".installed.json"))
write("`a` is a file and a folder", manifest({"a": empty, "a%2fb".replace("%2f", "/"): empty}), member(b"a"))
write("it requires Tenon >= 99", manifest({"a": empty}, tenon=">= 99"), member(b"a"))
write("not a pack: expected an archive", b"x" * 4096)
at = signed.index(b'"signature": "') + 14
write("the signature is wrong", signed[:at] + (b"A" if signed[at:at + 1] != b"A" else b"B") + signed[at + 1:], end=b"")
write("`key`: expected 32 bytes in base64", signed.replace(b'"key": "', b'"key":" ', 1), end=b"")
write("found the algorithm `ed25518`", signed.replace(b'"ed25519"', b'"ed25518"', 1), end=b"")
write("pack.sig: found 'x'", a, member(b"pack.sig", b"x"), member(b"a"))
write("pack.sig: expected an object with", a, member(b"pack.sig", b"{}"), member(b"a"))
write("is not what the key", signed.replace(b"A pack for tests", b"a pack for tests", 1), end=b"")
PYTHON
    for file in bad/*; do
        run tenon pack install "$file"
        expect_code 4
        expect_in err "${file#bad/}"
        once
        expect_in err "nothing was installed"
        nothing_installed
    done
    [ ! -e "$work/absolute" ] || fails "a file with an absolute path was written"
    rm -r bad
fi
run tenon pack install nowhere.tenonpack
expect_code 2 && once
mkfifo pipe
run tenon pack install pipe
expect_code 4 && expect_in err "not a regular file"
nothing_installed
