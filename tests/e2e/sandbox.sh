# An isolated plugin cannot do what its manifest does not declare, and each refusal is logged; what it declares, it can do.
# `tenon doctor` reports what this kernel supports.
run tenon doctor
grep -q '✓ seccomp' "$work/out" || skips "this kernel has no seccomp filters, or cannot report refusals"
landlock=$(sed -n 's/.*Landlock  *version \([0-9]*\).*/\1/p' "$work/out")
[ -n "$landlock" ] || echo "this kernel has no Landlock: what only Landlock refuses is not tested"

cc=${CC:-cc}
inside=$PWD/inside outside=$work/outside
mkdir plugin inside "$outside"
build() { # NAME FLAGS…
    "$cc" -shared -fPIC -fvisibility=hidden -D_GNU_SOURCE -O1 -I"$SOURCE/sdk/include" -pthread \
        -Wl,--version-script="$SOURCE/sdk/cmake/tenon-plugin.map" -o "plugin/$1.so" "${@:2}" \
        "$SOURCE/tests/isolate/escapes.c" 2>"$work/log" || { cat "$work/log" >&2; fails "escapes.c does not compile"; }
}
build bare
build granted -DGRANTED="\"fs.write:$inside\""
build everything -DGRANTED='"fs.read"'
export DECLARED_SECRET=declared OTHER_SECRET=other

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
always_refused() { # ATTEMPT FILE ANSWER LINE: refused, whatever effects the manifest declares
    attempt bare "$@"
    attempt granted "$@"
}
no_effect=": no effect opens it"

# What every plugin may do; a constructor runs in the sandbox, too.
attempt bare open_system_files "" done
attempt bare pair "" done
attempt bare kill_self "" done
attempt bare open_write /dev/null done
attempt bare open_read /nowhere ENOENT
attempt bare open_read "$PWD/plugin/bare.so" done
attempt bare socket_in_constructor "" EPERM "socket(AF_INET): the manifest does not declare net:raw"
[ "$(grep -c refused "$work/err")" = 1 ] || fails "expected one refusal in the log"

# Files.
echo secret >"$outside/file"
secret="$outside/file"
refused open_read /etc/passwd EACCES 'open("/etc/passwd", read): the manifest does not declare fs.read of it'
allowed open_read /etc/passwd
always_refused open_read "$secret" EACCES "open(\"$secret\", read)"
always_refused open_relative "$secret" EACCES "open(\"$secret\", read)"
always_refused list_folder "$outside" EACCES "open(\"$outside\", read)"
ln -s "$secret" plugin/link # in a folder that may be read
always_refused open_read "$PWD/plugin/link" EACCES "open(\"$secret\", read)"
attempt bare open_repeatedly "$secret" EACCES
[ "$(grep -c 'sandbox: refused' "$work/err")" = 100 ] || fails "expected 100 refusals in the log"
expect_in err "more than 100 refusals"
refused open_write "$inside/file" EACCES "open(\"$inside/file\", write): the manifest does not declare fs.write of it"
always_refused open_write "$secret" EACCES "open(\"$secret\", write)"
always_refused open_write "$outside/new" EACCES "open(\"$outside/new\", write)"
always_refused make_folder "$outside/new" EACCES "mkdir(\"$outside/new\")"
always_refused remove_file "$secret" EACCES "unlink(\"$secret\")"
always_refused change_mode "$secret" EACCES "chmod(\"$secret\")"
always_refused change_mode_of_open "$secret" EACCES "chmod(\"$secret\")"
always_refused change_times "$secret" EACCES "utimensat(\"$secret\")"
always_refused truncate_file "$secret" EACCES "truncate(\"$secret\")"
always_refused link_to_passwd "$outside/new" EACCES "symlink(\"$outside/new\")"
[ "$(ls "$outside")" = file ] && [ "$(cat "$secret")" = secret ] || fails "a file outside the granted folder was changed"
allowed open_write "$inside/file"
for change in change_mode change_times truncate_file; do allowed "$change" "$inside/file"; done
attempt granted write_beyond_limit "$inside/file" EFBIG
attempt granted open_read "$inside/file" EACCES # fs.write does not grant reading
allowed remove_file "$inside/file"
allowed make_folder "$inside/folder"
allowed link_to_passwd "$inside/link"
attempt granted open_write "$inside/link" EACCES 'open("/etc/passwd", write)' # a link out of the folder is refused
[ -z "$landlock" ] || always_refused race_with_check "$secret" EACCES # the path changes between check and open

# What Landlock does not guard. Attributes are never read by path; a descriptor that may be read has them.
setfattr() { python3 -c 'import os, sys; os.setxattr(sys.argv[1], "user.secret", b"value")' "$1"; }
echo open >plugin/open
if setfattr "$secret" 2>/dev/null && setfattr plugin/open 2>/dev/null; then
    for how in get_attribute list_attributes get_attribute_of_link get_attribute_by_descriptor; do
        always_refused $how "$secret" EACCES
        expect_in err "xattr(\"$secret\"): the manifest does not declare fs.read of it"
        attempt bare $how "$PWD/plugin/open" EOPNOTSUPP
        expect_not_in err xattr
    done
    always_refused get_attribute_of_path "$secret" EBADF
    attempt bare get_attribute_of_open "$PWD/plugin/open" done
    attempt everything get_attribute "$secret" done
else
    echo "the file system of $work has no extended attributes, or python3 is not installed: they are not tested"
fi
ln -s "$outside/nothing" "$outside/link"
ln -s "$outside" "$outside/folder"
for how in read_link read_link_relative read_open_link; do
    always_refused $how "$outside/link" EACCES
    expect_in err "(\"$outside/link\"): the manifest does not declare fs.read of it"
done
always_refused read_link_by_descriptor "$outside/folder" EACCES "readlink(\"/proc/"
always_refused enter_link "$outside/folder" EACCES "getcwd(\"$outside\")"
always_refused resolve "$outside/folder/file" EACCES
always_refused race_with_link "$outside/link" EACCES
attempt bare read_own_links "" done
attempt bare read_link "$PWD/plugin/link" done # in a folder that may be read
ln -s "$PWD/plugin" "$outside/plugin"          # leads to what may be read
attempt bare read_link "$outside/plugin" done
attempt bare resolve "$outside/plugin/bare.so" done
attempt bare resolve /etc/localtime done
attempt everything read_link "$outside/link" done
attempt everything enter_link "$outside/folder" done
rm "$outside/link" "$outside/folder" "$outside/plugin"
always_refused inform "" EPERM "inotify_init1: the manifest does not declare fs.read of all files"
attempt everything inform "" done
always_refused inform_of_all "" EPERM "fanotify_init$no_effect"

# Memory that the limit of data does not count: only plugins that may start processes share memory.
refused share_memory "" EPERM "mmap(shared memory): the manifest does not declare process.spawn"
refused make_memory_file "" EPERM "memfd_create: the manifest does not declare process.spawn"
refused make_secret_memory "" EPERM "memfd_secret: the manifest does not declare process.spawn"
refused share_zeros /dev/zero EACCES 'open("/dev/zero", write)'
for how in share_memory make_memory_file; do allowed $how ""; done
allowed share_zeros /dev/zero
always_refused make_shared_object /tenon-test EACCES 'open("/dev/shm/tenon-test", write)'
always_refused make_segment "" EPERM "shmget$no_effect"

# Sockets, and other ways to reach other processes.
refused sock "" EPERM "socket(AF_INET): the manifest does not declare net:raw"
refused sock6 "" EPERM "socket(AF_INET6): the manifest does not declare net:raw"
allowed sock ""
allowed sock6 ""
always_refused sock_unix "" EPERM "socket(AF_UNIX)$no_effect"
always_refused sock_packet "" EPERM "socket(AF_PACKET)$no_effect"
always_refused pair_datagram "" EPERM "socketpair(AF_UNIX)$no_effect"
always_refused io_uring_setup "" EPERM "io_uring_setup$no_effect"

# Processes.
refused fork_child "" EPERM "fork: the manifest does not declare process.spawn"
refused exec /bin/true EPERM 'execve("/bin/true"): the manifest does not declare process.spawn'
refused spawn /bin/true EPERM "fork: the manifest does not declare process.spawn"
allowed fork_child ""
allowed child_killed ""
[ -n "$SANITIZE" ] || allowed spawn /bin/true
attempt granted child_reads "$secret" EACCES "open(\"$secret\", read)"
always_refused trace_host "" EPERM "ptrace$no_effect"
always_refused read_host "" EPERM "process_vm_readv$no_effect"
always_refused open_host "" EACCES 'open("/proc/'
always_refused kill_host "" EPERM "kill("
always_refused kill_all "" EPERM "kill(-1)"
always_refused limit_host "" EPERM "prlimit64("
always_refused signal_by_descriptor "" EPERM "fcntl("
refused signal_group "" EPERM "kill(0)"
refused stop_group "" EPERM "kill(0)"
allowed signal_group ""
always_refused kill_group_of_host "" EPERM "kill(-"
always_refused tkill_host "" EPERM "tkill("
always_refused tgkill_host "" EPERM "tgkill("
always_refused queue_to_host "" EPERM "rt_sigqueueinfo("
always_refused signal_host_by_pidfd "" EPERM
always_refused slow_host "" EPERM "setpriority"
always_refused slow_group "" EPERM "setpriority"
always_refused slow_user "" EPERM "setpriority"
always_refused slow_disk_of_host "" EPERM "ioprio_set"
always_refused schedule_host "" EPERM "sched_setscheduler("
always_refused pin_host "" EPERM "sched_setaffinity("
attempt bare pin_self "" done
always_refused leave_group "" EPERM "setsid$no_effect"
always_refused clear_death_signal "" EPERM "prctl("

# The machine, and the sandbox itself.
always_refused new_user "" EPERM "unshare$no_effect"
always_refused mount_one /tmp EPERM "mount$no_effect"
always_refused read_keys "" EPERM "keyctl$no_effect"
always_refused load_bpf "" EPERM "bpf$no_effect"
always_refused add_filter "" EPERM "seccomp$no_effect"
always_refused call_32_bit "" ENOSYS
always_refused find_listener "" ENOENT
always_refused find_capability "" EPERM
[ -n "$SANITIZE" ] || always_refused allocate "" ENOMEM # sanitizers need more memory than any limit

# A process that hides memory from the limit is killed; so is one that stops itself, or its group, at its timeout.
killed() { # PLUGIN ATTEMPT
    document test.escape "how: $2"
    sed -i 's/config: {how/timeout: {total: 1s}, config: {how/' escape.yaml
    run tenon run escape.yaml --plugins "plugin/$1.so" --isolate test.escapes
    expect_code 1
}
if [ -z "$SANITIZE" ]; then
    document test.escape "how: hide_memory"
    run bash -c 'ulimit -d 400000; exec "$@"' - "$TENON" run escape.yaml --plugins plugin/bare.so --isolate test.escapes
    expect_in err "sandbox: the process is killed because it uses more than 454 MiB of memory"
    expect_in err "was killed by signal 9"
fi
killed bare stop_self
killed granted stop_group

# Secrets: only the one that the manifest names; nothing else of the host's environment.
attempt granted read_secrets "" done
attempt bare read_secrets "" ENOENT

# Worker threads are in the sandbox, too.
document test.later "file: \"$secret\""
run tenon run escape.yaml --plugins plugin/bare.so --isolate test.escapes
expect_code 0
expect_out '{"out":"EACCES"}'
expect_in err "sandbox: refused open(\"$secret\", read)"

# Without isolation nothing is refused.
document test.escape "how: open_read, file: \"$secret\""
run tenon run escape.yaml --plugins plugin/bare.so
expect_out '{"out":"done"}'

# A declared file that does not exist is logged.
rmdir "$inside/folder"
mv inside gone
document test.escape "how: open_system_files"
run tenon run escape.yaml --plugins plugin/granted.so --isolate test.escapes
expect_out '{"out":"done"}'
expect_in err "sandbox: \`fs.write:$inside\` is not granted: there is no such file or folder"
mv gone inside

# When the host is killed, a plugin that ignores signals is killed, also if it has stopped its group.
for how in pids stopped; do
    document test.escape "how: ignore_signals, file: \"$inside/$how\""
    "$TENON" run escape.yaml --plugins plugin/granted.so --isolate test.escapes >"$work/out" 2>"$work/err" &
    host=$!
    disown
    has_two_lines() { [ "$(cat "$inside/$how" 2>/dev/null | wc -l)" = 2 ]; }
    wait_until has_two_lines
    has_stopped() { [ "$(sed 's/.*) //' "/proc/$(head -1 "$inside/$how")/stat" | cut -c1)" = T ]; }
    [ $how = pids ] || wait_until has_stopped
    kill -9 "$host"
    for pid in $(cat "$inside/$how"); do
        expect_ended "$pid" "process $pid of the plugin still runs after the host was killed"
    done
done

# A plugin that is a program is in the same sandbox.
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
expect_in err PLUGIN_CRASHED # it does not speak the protocol
expect_in err "sandbox: refused fork: the manifest does not declare process.spawn"
expect_in err "sandbox: refused open(\"$secret\", read)"
expect_in err "sandbox: refused open(\"$inside/file\", write)"
[ ! -e "$inside/file" ] || fails "a program wrote to a file that was not granted"
sed -i 's|"effects": \[\]|"effects": ["process.spawn", "fs.read:'"$secret"'", "fs.write:'"$inside"'"]|' plugin/program.tenon.json
run tenon run program.yaml --plugins plugin/program
expect_not_in err "sandbox: refused"
[ "$(cat "$inside/file")" = "$(printf 'secret\na child')" ] || fails "a program could not do what it declares"
