# The READMEs of plugins are correct: the files that they show (`NAME`, … and a block) are written, and their terminal
# sessions are replayed and compared.
mkdir bin
ln -s "$TENON" bin/tenon
export PATH=$PWD/bin:$PATH
command -v python3 >/dev/null || skips "python3 is not installed"
for readme in "$SOURCE"/plugins/*/README.md; do
    plugin=$(basename "$(dirname "$readme")")
    [ -e "$BINARY/lib/tenon/plugins/$plugin.so" ] || continue
    if [ "$plugin" = postgres ]; then # its session needs a server
        [ -S "${TENON_TEST_POSTGRES:-}/.s.PGSQL.5432" ] || continue
        export PGHOST=$TENON_TEST_POSTGRES PGUSER=tenon PGDATABASE=tenon
    fi
    mkdir "$plugin"
    cd "$plugin"
    python3 - "$readme" <<'P' || fails "$readme"
import re, subprocess, sys
text = open(sys.argv[1]).read()
for name, block in re.findall(r"^`([\w.]+)`[^\n]*:\n\n```\w+\n(.*?)^```$", text, re.M | re.S):
    open(name, "w").write(block)
replayed = 0
for block in re.findall(r"^```console\n(.*?)^```$", text, re.M | re.S):
    for one in re.split(r"^\$ ", block, flags=re.M)[1:]:
        command, expected = one.split("\n", 1)
        done = subprocess.run(command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode or done.stdout.strip() != expected.strip():
            sys.exit(f"{command}: exit code {done.returncode}, prints:\n{done.stdout}")
        replayed += 1
if not replayed:
    sys.exit("no console in it")
P
    cd ..
done
