# Secrets in the environment: no other process can read them there while the program runs.
[ -e "$BINARY/lib/tenon/plugins/define.so" ] || skips "built without tenon.define"
cat >tenon.yaml <<'Y'
secrets: {MINE: {env: MY_VARIABLE}, OTHER: {file: other}}
plugins:
  config:
    tenon.define:
      tools:
        - {name: host.environment, command: [sh, -c, "tr '\\0' '\\n' </proc/$PPID/environ"], sandbox: false}
Y
echo file-secret-1234 >other
export OPENAI_API_KEY=conventional-1234 MY_VARIABLE=configured-1234 OTHER=other-1234 HARMLESS=harmless-1234

run tenon tool call host.environment '{}' --yes
expect_code 0
expect_in out HARMLESS=harmless-1234 && expect_in out OTHER=other-1234 # OTHER is read from a file
expect_not_in out conventional-1234 && expect_not_in out configured-1234

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
