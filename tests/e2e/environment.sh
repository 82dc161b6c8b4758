# Secrets in the environment: no other process can read them there while the program runs.
[ -e "$BINARY/lib/tenon/plugins/define.so" ] || skips "built without tenon.define"
cat >tenon.yaml <<'Y'
secrets: {MINE: {env: MY_VARIABLE}, OTHER: {file: other}}
plugins:
  config:
    tenon.define:
      tools:
        - {name: host.environment, command: [sh, -c, "tr '\\0' '\\n' </proc/$PPID/environ"], sandbox: false, inherit_env: [HARMLESS]}
        - {name: host.reaper, command: [sh, reaper.sh], sandbox: false}
Y
# The environment of the process that ends programs when the host is killed: a child of the host.
cat >reaper.sh <<'S'
for process in /proc/[0-9]*; do
    grep -qs "^PPid:.$PPID$" $process/status && [ "$(cat $process/comm 2>/dev/null)" = tenon-orphans ] || continue
    echo found
    tr '\0' '\n' <$process/environ
done
S
echo file-secret-1234 >other
export OPENAI_API_KEY=conventional-1234 MY_VARIABLE=configured-1234 OTHER=other-1234 HARMLESS=harmless-1234

run tenon tool call host.environment '{}' --yes
expect_code 0
expect_in out HARMLESS=harmless-1234 && expect_in out OTHER=other-1234 # OTHER is read from a file
expect_not_in out conventional-1234 && expect_not_in out configured-1234
run tenon tool call host.reaper '{}' --yes
expect_code 0 && expect_in out found && expect_not_in out 1234

# A secret that only the document names is removed before its first program starts, whether it is used or not.
cat >document.yaml <<'Y'
version: "1.0"
channels: [{name: a, type: last_value}, {name: b, type: last_value}]
models: {unused: {provider: openai, model: m, api_key: {secret: DOCUMENT_KEY}}}
nodes:
  - {id: a, type: tool, config: {tool: host.environment, output_key: a}}
  - {id: b, type: tool, config: {tool: host.environment, output_key: b}}
edges: [{from: START, to: a}, {from: a, to: b}, {from: b, to: END}]
Y
printf 'tools: {approval: {"host.*": auto}}\n' >>tenon.yaml
DOCUMENT_KEY=document-1234 run tenon run document.yaml
expect_code 0 && expect_in out HARMLESS=harmless-1234 && expect_not_in out document-1234
# A variable that a tool inherits by name is not a secret for that reason: it stays in the environment.
grep -q '"b":"[^"]*HARMLESS=harmless-1234' "$work/out" || fails "a variable that was passed on is not in the environment any more"

# ---- The process is not dumpable while it holds a secret: another process of the same user cannot read it ----
[ -z "${SANITIZE:-}" ] || skips "LeakSanitizer attaches to the process"
# Root can read every process, so the program runs as another user, if that user can start it.
other_user=(env)
[ "$(id -u)" != 0 ] || other_user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
chmod 755 "$work" && chmod 777 "$work/here"
"${other_user[@]}" "$TENON" --version >/dev/null 2>&1 || skips "another user cannot start the program"
cat >reader.sh <<'S'
# The parent's environment and memory, as a child of it sees them.
cat /proc/$PPID/environ >/dev/null 2>&1 && echo environment
head -c 0 /proc/$PPID/mem 2>/dev/null && echo memory
echo end
S
cat >reader.yaml <<'Y'
plugins: {config: {tenon.define: {tools: [{name: host.read, command: [sh, reader.sh], sandbox: false}]}}}
Y
reads() { run "${other_user[@]}" env HOME="$work/here" "$@" "$TENON" tool call host.read '{}' --yes -c reader.yaml; }
unset MY_VARIABLE OTHER
reads
expect_code 0 && expect_out end
reads TENON_DUMPABLE=1
expect_code 0 && expect_out $'environment\nmemory\nend'
unset OPENAI_API_KEY # it holds no secret
reads
expect_code 0 && expect_out $'environment\nmemory\nend'
