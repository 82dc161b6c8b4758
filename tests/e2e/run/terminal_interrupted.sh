# Ctrl-C on a terminal: the first prints what happens next, the second ends the process at once.
command -v python3 >"$work/which" || skips "python3 is not installed"
graph deaf test.hang '{}'
cat >type.py <<'PYTHON'
import os, pty, signal, sys, termios
times, command = int(sys.argv[1]), sys.argv[2:]
signal.alarm(60)
pid, terminal = pty.fork()
if pid == 0:
    os.execv(command[0], command)
modes = termios.tcgetattr(terminal)
modes[3] |= termios.NOFLSH  # otherwise Ctrl-C discards output that was not read yet
termios.tcsetattr(terminal, termios.TCSANOW, modes)
seen = b""
def until(text):
    global seen
    while text not in seen:
        try:
            seen += os.read(terminal, 4096)
        except OSError:
            sys.exit(f"the program ended before it printed {text!r}; it printed {seen!r}")
until("…".encode())  # the node runs
os.write(terminal, b"\x03")
until(b"press Ctrl-C again to exit at once")
for _ in range(times - 1):
    os.write(terminal, b"\x03")
try:
    while True:
        more = os.read(terminal, 4096)
        if not more:
            break
        seen += more
except OSError:
    pass
sys.stdout.buffer.write(seen)
status = os.waitpid(pid, 0)[1]
print("signal", os.WTERMSIG(status)) if os.WIFSIGNALED(status) else print("exit", os.WEXITSTATUS(status))
PYTHON
run python3 type.py 1 "$TENON" run slow.yaml
expect_in out "exit 130" && expect_in out "cancelled after 1 step" && expect_in out "[CANCELLED]"
run python3 type.py 2 "$TENON" run deaf.yaml --plugins "$TEST_NODES"
expect_in out "signal 2"
