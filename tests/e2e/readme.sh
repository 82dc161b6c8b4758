# The README is correct: its terminal sessions are replayed and compared, its shell blocks run, and its listings are files.
mkdir bin checkout
ln -s "$TENON" bin/tenon
export PATH=$PWD/bin:$PATH
cp -r "$SOURCE/samples" checkout/
readme=$SOURCE/README.md

# Prints the blocks of one language, in order, with a marker line between them.
blocks() { awk -v lang="$1" '$0 == "```" lang {on = 1; next} $0 == "```" {if (on) print "\001"; on = 0} on' "$readme"; }

# console: "$ command", then its output on both streams.
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
[ "$replayed" -ge 3 ] || fails "expected at least 3 console commands in the README, found $replayed"
cd ..

# sh: runs each line in one shell, except those that run the tests or install for the whole machine.
blocks sh | tr -d '\001' | sed 's/ *#.*//' | grep -v '^$' >commands
for known in ./samples/run ./tests/run; do
    grep -qxF "$known" commands || fails "the README does not have the command $known"
    [ -x "$SOURCE/$known" ] || fails "$known does not exist or is not executable"
done
for preset in $(grep -o 'preset [a-z]*' commands | awk '{print $2}' | sort -u) debug asan tsan coverage clang fuzz; do
    cmake --list-presets -S "$SOURCE" | grep -qF "\"$preset\"" || fails "the preset $preset does not exist"
done
grep -vE '^\./(samples|tests)/run$|--preset|cmake --install' commands >steps
[ -n "$SANITIZE" ] && sed -i '/^ctest/d' steps # what a sanitized tenon prints besides is another test's
{
    echo "set -e"
    echo "export CMAKE_PREFIX_PATH='$work/prefix'"
    cat steps
} >script
cmake --install "$BINARY" --prefix "$work/prefix" >"$work/log"
PATH=$work/prefix/bin:$PATH bash script >"$work/log" 2>&1 || { cat "$work/log" >&2; fails "a command of the README failed: $(tr '\n' ';' <steps)"; }

# All packages that the build needs are listed.
for package in $(sed -n 's/^build=(\(.*\))$/\1/p' "$SOURCE/tests/tools/packages" | tr ' ' '\n' | grep -e '-dev$' -e pkg-config); do
    grep -qF "$package" "$readme" || fails "the README does not say that building needs $package"
done

# Listings have the same text as the files.
python3 - "$readme" "$SOURCE" <<'PYTHON'
import sys
readme, source = open(sys.argv[1]).read(), sys.argv[2]
for name in ("samples/hello/hello.yaml", "sdk/examples/tool.c", "sdk/examples/node.c"):
    text = open(f"{source}/{name}").read()
    body = text[text.index("#include"):] if name.endswith(".c") else text
    body = "\n".join(line for line in body.strip().splitlines())
    if body not in readme:
        sys.exit(f"failed: README.md does not show {name} as it is")
# Every path of the tour exists.
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
