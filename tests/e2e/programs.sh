# What programs that plugins start get: a short environment, and for command tools a sandbox with the declared effects.
[ -e "$BINARY/lib/tenon/plugins/define.so" ] || skips "built without tenon.define"
[ -x /usr/bin/python3 ] || skips "python3 is not installed in the system's folders"
sandboxed=yes
tenon doctor >doctor 2>&1 || true
grep -qE 'Landlock.*(none|not)|libseccomp.*not' doctor && sandboxed=

# ---- The environment of command tools ----
cat >tenon.yaml <<'Y'
secrets: {STORED: {file: stored}, BOUND: {file: stored, hosts: [api.example]}}
plugins:
  config:
    tenon.define:
      tools:
        - {name: env.plain, command: [env], effects: []}
        - {name: env.named, command: [env], effects: [], inherit_env: [LC_TIME, ABSENT], env: {MODE: fast, KEY: {secret: STORED}}}
        - {name: env.effect, command: [env], effects: ["secret:STORED", "secret:BOUND"]}
        - {name: env.free, command: [env], effects: [], sandbox: false}
        - more.yaml
Y
echo '- {name: env.filed, command: [env], effects: [], env: {KEY: {secret: STORED}}}' >more.yaml
echo stored-secret-1 >stored
export LANG=C.UTF-8 TMPDIR=/tmp LC_TIME=C LC_ALL=C SOME_TOKEN=token-of-the-host OPENAI_API_KEY=key-of-the-host
names() { grep = "$work/out" | cut -d= -f1 | sort | tr '\n' ' '; }
expect_names() { [ "$(names)" = "$1 " ] || fails "expected the variables $1, found $(names)"; }
export USER=tester SHELL=/bin/sh
for how in "" "--isolate tenon.define"; do
    # shellcheck disable=SC2086
    run tenon tool call env.plain '{}' $how
    expect_code 0 && expect_names "HOME LANG PATH SHELL TENON_IDEMPOTENCY_KEY TERM TMPDIR USER"
done
run tenon tool call env.free '{}'
expect_code 0 && expect_names "HOME LANG PATH SHELL TENON_IDEMPOTENCY_KEY TERM TMPDIR USER" && expect_in out "PATH=$PATH"
run tenon tool call env.named '{}'
expect_code 0 && expect_names "HOME KEY LANG LC_TIME MODE PATH SHELL TENON_IDEMPOTENCY_KEY TERM TMPDIR USER" && expect_in out MODE=fast
run tenon tool call env.named '{}' --isolate tenon.define # an isolated plugin has no variable of the host to pass on
expect_code 0 && expect_names "HOME KEY LANG MODE PATH SHELL TENON_IDEMPOTENCY_KEY TERM TMPDIR USER"
expect_in err 'does not get the variable `LC_TIME`: `inherit_env` passes on nothing'
run tenon tool call env.filed '{}'
expect_code 0 && expect_names "HOME KEY LANG PATH SHELL TENON_IDEMPOTENCY_KEY TERM TMPDIR USER"
run tenon tool call env.effect '{}' # BOUND is sent only to its hosts
expect_code 0 && expect_names "HOME LANG PATH SHELL STORED TENON_IDEMPOTENCY_KEY TERM TMPDIR USER"

# ---- The environment of an isolated plugin ----
cat >plugin.py <<'P'
#!/usr/bin/env -S python3 -IS
import os, sys
print("variables:", *sorted(os.environ), flush=True)
sys.exit(1)
P
chmod +x plugin.py
cat >plugin.py.tenon.json <<'J'
{"plugin": {"id": "test.variables", "version": "1.0.0", "title": "Prints its variables", "licence": "MIT", "requires": ["tenon.core/1"]},
 "components": [{"kind": "tool", "id": "test.variables", "title": "Prints", "effects": [], "style": "async", "input": {"type": "object"}}]}
J
run tenon tool call test.variables '{}' --plugins "$PWD/plugin.py"
expect_code 4 && expect_in err "variables: HOME LANG PATH SHELL TERM TMPDIR USER ["
expect_not_in err OPENAI_API_KEY && expect_not_in err SOME_TOKEN

# ---- The sandbox of command tools ----
[ -n "$sandboxed" ] || skips "this machine cannot enforce the sandbox"
mkdir -p data own
echo content >data/file
echo 'print(open("own/script.txt").read())' >own/script.py
echo neighbour >own/script.txt
cat >probe.py <<'P'
import os, socket, subprocess, sys
def attempt(name, action):
    try:
        print(name, action())
    except OSError as error:
        print(name, "refused", error.errno)
attempt("read", lambda: open(sys.argv[1]).read().strip())
attempt("write", lambda: open(os.path.join(os.path.dirname(sys.argv[1]), "made"), "w").write("x"))
attempt("socket", lambda: socket.socket() and "open")
attempt("spawn", lambda: subprocess.run(["/bin/true"]).returncode)
attempt("parent", lambda: len(open("/proc/%d/environ" % os.getppid()).read()) >= 0)
attempt("log", lambda: os.write(3, b"3forged\n"))
P
cat >tenon.yaml <<'Y'
plugins:
  config:
    tenon.define:
      tools:
        - {name: probe.none, command: [python3, probe.py, "{path}"], effects: []}
        - {name: probe.unknown, command: [python3, probe.py, "{path}"]}
        - {name: probe.read, command: [python3, probe.py, "{path}"], effects: ["fs.read:data"]}
        - {name: probe.write, command: [python3, probe.py, "{path}"], effects: ["fs.write:data"]}
        - {name: probe.all, command: [python3, probe.py, "{path}"], effects: ["fs.read:data", "fs.write:data", process.spawn, "net:raw"]}
        - {name: probe.http, command: [python3, probe.py, "{path}"], effects: [network.http]}
        - {name: probe.free, command: [python3, probe.py, "{path}"], effects: [], sandbox: false}
        - {name: script, command: [python3, own/script.py], effects: []}
        - {name: own, command: [./own/program], effects: []}
        - more.yaml
Y
echo '- {name: probe.file, command: [python3, probe.py, "{path}"], effects: [], sandbox: false}' >more.yaml
printf '#!/bin/sh\nread x <own/script.txt; echo "$x"\n' >own/program
chmod +x own/program
probe() { run tenon tool call "probe.$1" '{"path": "data/file"}' "${@:2}"; }
nothing=$'read refused 13\nwrite refused 13\nsocket refused 1\nspawn refused 1\nparent refused 13\nlog refused 9'
probe none
expect_code 0 && expect_out "$nothing"
expect_in err 'warning: tenon.define: `probe.none`: sandbox: refused open("'"$PWD"'/data/file", read): the effects of the program do not contain fs.read of it'
expect_in err 'sandbox: refused socket(AF_INET): the effects of the program do not contain net:raw'
expect_not_in err forged
probe unknown # approval assumes the worst, and the sandbox opens nothing
expect_code 5 && expect_in err "its effects are not known"
probe unknown --yes
expect_code 0 && expect_out "$nothing"
probe http # the host makes requests, a program does not
expect_code 0 && expect_out "$nothing"
probe read
expect_code 0 && expect_out "${nothing/read refused 13/read content}"
[ ! -e data/made ] || fails "a program wrote a file without fs.write"
probe write
expect_code 0 && expect_out "${nothing/write refused 13/write 1}"
probe all
expect_code 0 && expect_out $'read content\nwrite 1\nsocket open\nspawn 0\nparent refused 13\nlog refused 9'
probe free
expect_code 0 && [ "$(head -5 "$work/out")" = $'read content\nwrite 1\nsocket open\nspawn 0\nparent True' ] || fails "without the sandbox, something is refused"
# A file of the command can be read, the files beside it cannot. Only tenon.yaml switches the sandbox off.
run tenon tool call script '{}'
expect_code 1 && expect_in err "PermissionError" && expect_in err 'own/script.txt", read)'
run tenon tool call own '{}'
expect_in err 'own/script.txt", read)' && expect_not_in out neighbour
probe file
expect_code 2 && expect_in err 'more.yaml: [0]: found `sandbox: false`, which is allowed only in tenon.yaml itself'
