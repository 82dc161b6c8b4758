# The README cannot be wrong: its consoles are replayed and compared, its shell blocks are run, its listings are files.
mkdir bin checkout
ln -s "$TENON" bin/tenon
export PATH=$PWD/bin:$PATH
cp -r "$SOURCE/samples" checkout/
readme=$SOURCE/README.md

# Blocks of one language, in order, with a line of NUL-free marker between them.
blocks() { awk -v lang="$1" '$0 == "```" lang {on = 1; next} $0 == "```" {if (on) print "\001"; on = 0} on' "$readme"; }

# console: "$ command", then what it prints, on either stream.
cd checkout
command= expected= replayed=0
compare() {
    [ -n "$command" ] || return 0
    local printed
    printed=$(bash -c "$command" 2>&1) || fails "$command: exit code $?: $printed"
    [ "$printed" = "$expected" ] || fails "$command prints: $printed"
    replayed=$((replayed + 1))
}
while IFS= read -r line; do
    case $line in
    '$ '* | $'\001')
        compare
        command=${line#\$ } expected=
        [ "$line" = $'\001' ] && command=
        ;;
    *) expected+=${expected:+$'\n'}$line ;;
    esac
done < <(blocks console)
[ "$replayed" -ge 3 ] || fails "found $replayed commands in the README's consoles"
cd ..

# sh: run line by line in one shell; except what this very test is a part of, and what installs for a whole machine.
blocks sh | tr -d '\001' | sed 's/ *#.*//' | grep -v '^$' >commands
for known in ./samples/run ./tests/run; do
    grep -qxF "$known" commands || fails "the README does not have the command $known"
    [ -x "$SOURCE/$known" ] || fails "$known is not there, or not executable"
done
for preset in $(grep -o 'preset [a-z]*' commands | awk '{print $2}' | sort -u) debug asan tsan coverage clang fuzz; do
    cmake --list-presets -S "$SOURCE" | grep -qF "\"$preset\"" || fails "there is no preset $preset"
done
grep -vE '^\./(samples|tests)/run$|--preset|cmake --install' commands >steps
[ -n "$SANITIZE" ] && sed -i '/^ctest/d' steps # what a sanitized tenon prints besides is another test's
{
    echo "set -e"
    echo "export CMAKE_PREFIX_PATH='$work/prefix'"
    cat steps
} >script
cmake --install "$BINARY" --prefix "$work/prefix" >"$work/log"
PATH=$work/prefix/bin:$PATH bash script >"$work/log" 2>&1 || { cat "$work/log" >&2; fails "the README's commands: $(tr '\n' ';' <steps)"; }

# What building needs is said whole.
for package in $(sed -n 's/^build=(\(.*\))$/\1/p' "$SOURCE/tests/tools/packages" | tr ' ' '\n' | grep -e '-dev$' -e pkg-config); do
    grep -qF "$package" "$readme" || fails "the README does not say that building needs $package"
done

# Listings: the documents and sources that it shows are these files' texts.
python3 - "$readme" "$SOURCE" <<'PYTHON'
import sys
readme, source = open(sys.argv[1]).read(), sys.argv[2]
for name in ("samples/hello/hello.yaml", "sdk/examples/tool.c", "sdk/examples/node.c"):
    text = open(f"{source}/{name}").read()
    body = text[text.index("#include"):] if name.endswith(".c") else text
    body = "\n".join(line for line in body.strip().splitlines())
    if body not in readme:
        sys.exit(f"failed: README.md does not show {name} as it is")
# Every path of the tour is there.
import os, re
for path in re.findall(r"`([a-z]+/[A-Za-z0-9_./-]*)`", readme):
    if path.startswith(("build/", "lib/")):
        continue
    if not os.path.exists(f"{source}/{path}"):
        sys.exit(f"failed: README.md names {path}, which is not there")
for path in re.findall(r"\]\(([^)#]+)\)", readme):
    if "://" not in path and not os.path.exists(f"{source}/{path}"):
        sys.exit(f"failed: README.md links to {path}, which is not there")
PYTHON
