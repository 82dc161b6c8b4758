# What a plugin in a process of its own cannot do, and that each refusal is told; what it can where its manifest declares it.
# `tenon doctor` says what this kernel has.
run tenon doctor
grep -q '✓ seccomp' "$work/out" || skips "this kernel has no seccomp filters, or cannot tell what they refuse"
landlock=$(sed -n 's/.*Landlock  *version \([0-9]*\).*/\1/p' "$work/out")
[ -n "$landlock" ] || echo "this kernel has no Landlock: what only it refuses is left out"

cc=${CC:-cc}
inside=$PWD/inside outside=$work/outside
mkdir plugin inside "$outside"
build() { # NAME FLAGS…
    "$cc" -shared -fPIC -fvisibility=hidden -D_GNU_SOURCE -O1 -I"$SOURCE/sdk/include" -pthread \
        -Wl,--version-script="$SOURCE/sdk/cmake/tenon-plugin.map" -o "plugin/$1.so" "${@:2}" \
        "$SOURCE/tests/isolate/escapes.c" 2>"$work/log" || { cat "$work/log" >&2; fails "escapes.c"; }
}
build bare
build granted -DGRANTED="\"fs.write:$inside\""
export TOLD=told UNTOLD=untold

document() { # NODE CONFIG
    cat >escape.yaml <<YAML
version: "1.0"
agent: {name: escape}
channels: [{name: out, type: last_value}]
nodes: [{id: escape, type: $1, config: {$2, out: out}}]
edges: [{from: START, to: escape}, {from: escape, to: END}]
YAML
}
attempt() { # PLUGIN ATTEMPT FILE ANSWER [LINE]
    document test.escape "how: $2, file: \"$3\""
    run tenon run escape.yaml --plugins "plugin/$1.so" --isolate test.escapes
    expect_code 0
    [ "$(cat "$work/out")" = "{\"out\":\"$4\"}" ] || fails "$1: $2 $3: expected $4"
    [ -z "${5-}" ] || expect_in err "sandbox: refused $5"
}
refused() { attempt bare "$@"; } # ATTEMPT FILE ANSWER LINE
allowed() { # ATTEMPT FILE
    attempt granted "$1" "$2" done
    expect_not_in err "sandbox: refused"
}
anyhow() { # ATTEMPT FILE ANSWER LINE: refused, and no effect changes that
    attempt bare "$@"
    attempt granted "$@"
}
no_effect=": no effect opens it"

# What every plugin has, and what a constructor did not get.
attempt bare zone "" done
attempt bare pair "" done
attempt bare kill_self "" done
attempt bare open_write /dev/null done
attempt bare open_read /nowhere ENOENT
attempt bare open_read "$PWD/plugin/bare.so" done
attempt bare constructed "" EPERM "socket(AF_INET): the manifest does not declare net:raw"
[ "$(grep -c refused "$work/err")" = 1 ] || fails "a refusal was not told once"

# Files.
echo secret >"$outside/file"
secret="$outside/file"
refused open_read /etc/passwd EACCES 'open("/etc/passwd", read): the manifest does not declare fs.read of it'
allowed open_read /etc/passwd
anyhow open_read "$secret" EACCES "open(\"$secret\", read)"
anyhow open_far "$secret" EACCES "open(\"$secret\", read)"
anyhow list "$outside" EACCES "open(\"$outside\", read)"
ln -s "$secret" plugin/link # in a folder that may be read
anyhow open_read "$PWD/plugin/link" EACCES "open(\"$secret\", read)"
attempt bare repeat "$secret" EACCES
[ "$(grep -c 'sandbox: refused' "$work/err")" = 100 ] || fails "not as many lines as are told at most"
expect_in err "more than 100 refusals"
refused open_write "$inside/file" EACCES "open(\"$inside/file\", write): the manifest does not declare fs.write of it"
anyhow open_write "$secret" EACCES "open(\"$secret\", write)"
anyhow open_write "$outside/new" EACCES "open(\"$outside/new\", write)"
anyhow make "$outside/new" EACCES "mkdir(\"$outside/new\")"
anyhow remove_file "$secret" EACCES "unlink(\"$secret\")"
anyhow mode "$secret" EACCES "chmod(\"$secret\")"
anyhow mode_of_open "$secret" EACCES "chmod(\"$secret\")"
anyhow touch "$secret" EACCES "utimensat(\"$secret\")"
anyhow cut "$secret" EACCES "truncate(\"$secret\")"
anyhow link_to "$outside/new" EACCES "symlink(\"$outside/new\")"
[ "$(ls "$outside")" = file ] && [ "$(cat "$secret")" = secret ] || fails "something was changed where nothing may be"
allowed open_write "$inside/file"
for change in mode touch cut; do allowed "$change" "$inside/file"; done
attempt granted write_much "$inside/file" EFBIG
attempt granted open_read "$inside/file" EACCES # to write is not to read
allowed remove_file "$inside/file"
allowed make "$inside/folder"
allowed link_to "$inside/link"
attempt granted open_write "$inside/link" EACCES 'open("/etc/passwd", write)' # a link out of it leads nowhere
[ -z "$landlock" ] || anyhow race "$secret" EACCES # what is looked at is not what is opened

# The network, and other ways to other processes.
refused sock "" EPERM "socket(AF_INET): the manifest does not declare net:raw"
refused sock6 "" EPERM "socket(AF_INET6): the manifest does not declare net:raw"
allowed sock ""
allowed sock6 ""
anyhow sock_unix "" EPERM "socket(AF_UNIX)$no_effect"
anyhow sock_packet "" EPERM "socket(AF_PACKET)$no_effect"
anyhow pair_datagram "" EPERM "socketpair(AF_UNIX)$no_effect"
anyhow ring "" EPERM "io_uring_setup$no_effect"

# Processes.
refused fork_child "" EPERM "fork: the manifest does not declare process.spawn"
refused exec /bin/true EPERM 'execve("/bin/true"): the manifest does not declare process.spawn'
refused spawn /bin/true EPERM "fork: the manifest does not declare process.spawn"
allowed fork_child ""
allowed child_killed ""
[ -n "$SANITIZE" ] || allowed spawn /bin/true
attempt granted child_reads "$secret" EACCES "open(\"$secret\", read)"
anyhow trace "" EPERM "ptrace$no_effect"
anyhow read_host "" EPERM "process_vm_readv$no_effect"
anyhow open_host "" EACCES 'open("/proc/'
anyhow kill_host "" EPERM "kill("
anyhow kill_all "" EPERM "kill(-1)"
anyhow limit_host "" EPERM "prlimit64("
anyhow signal_by_descriptor "" EPERM "fcntl("
anyhow leave_group "" EPERM "setsid$no_effect"
anyhow outlive "" EPERM "prctl("

# The machine, and the sandbox itself.
anyhow new_user "" EPERM "unshare$no_effect"
anyhow mount_one /tmp EPERM "mount$no_effect"
anyhow keys "" EPERM "keyctl$no_effect"
anyhow watch_kernel "" EPERM "bpf$no_effect"
anyhow own_filter "" EPERM "seccomp$no_effect"
anyhow old_call "" ENOSYS
anyhow listener "" ENOENT
anyhow capable "" EPERM
[ -n "$SANITIZE" ] || anyhow allocate "" ENOMEM # the sanitizers need more than any limit

# Secrets: the one that is named, and nothing else of the host's environment.
attempt granted secret "" done
attempt bare secret "" ENOENT

# Threads are in it too, and so is a plugin whose folder is all that it may read.
document test.later "file: \"$secret\""
run tenon run escape.yaml --plugins plugin/bare.so --isolate test.escapes
expect_code 0
expect_out '{"out":"EACCES"}'
expect_in err "sandbox: refused open(\"$secret\", read)"

# In the host's process there is no sandbox.
document test.escape "how: open_read, file: \"$secret\""
run tenon run escape.yaml --plugins plugin/bare.so
expect_out '{"out":"done"}'

# What is declared and is not there is told.
rmdir "$inside/folder"
mv inside gone
document test.escape "how: zone"
run tenon run escape.yaml --plugins plugin/granted.so --isolate test.escapes
expect_out '{"out":"done"}'
expect_in err "sandbox: \`fs.write:$inside\` is not granted: there is no such file or folder"
mv gone inside

# Who does not end when the host is killed is ended.
document test.escape "how: stay, file: \"$inside/pids\""
"$TENON" run escape.yaml --plugins plugin/granted.so --isolate test.escapes >"$work/out" 2>"$work/err" &
host=$!
disown
for _ in $(seq 100); do [ "$(cat "$inside/pids" 2>/dev/null | wc -l)" = 2 ] && break; sleep 0.05; done
[ -s "$inside/pids" ] || fails "the plugin was not started"
kill -9 "$host"
for pid in $(cat "$inside/pids"); do gone "$pid" || fails "process $pid of the plugin is left when the host was killed"; done

# A plugin that is a program has the same walls.
cat >plugin/program <<SH
#!/bin/sh
read -r line <"$secret"
echo "\$line" >"$inside/file"
echo "\$(echo a child)" >>"$inside/file"
SH
chmod +x plugin/program
cat >plugin/program.tenon.json <<'JSON'
{"plugin": {"id": "test.program", "version": "1.0.0", "title": "Tries the same"},
 "components": [{"kind": "node", "id": "program.run", "title": "Runs", "style": "async", "effects": []}]}
JSON
sed 's/test.escape.*}/program.run}/; /channels/d' escape.yaml >program.yaml
run tenon run program.yaml --plugins plugin/program
expect_in err PLUGIN_CRASHED # as it speaks no protocol
expect_in err "sandbox: refused fork: the manifest does not declare process.spawn"
expect_in err "sandbox: refused open(\"$secret\", read)"
expect_in err "sandbox: refused open(\"$inside/file\", write)"
[ ! -e "$inside/file" ] || fails "a program wrote where it may not"
sed -i 's|"effects": \[\]|"effects": ["process.spawn", "fs.read:'"$secret"'", "fs.write:'"$inside"'"]|' plugin/program.tenon.json
run tenon run program.yaml --plugins plugin/program
expect_not_in err "sandbox: refused"
[ "$(cat "$inside/file")" = "$(printf 'secret\na child')" ] || fails "a program could not do what it declares"
