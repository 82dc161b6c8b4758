#!/usr/bin/env python3
"""Runs a program on a pseudo-terminal, driven by a script on standard input.

    terminal.py COMMAND… <<'END'
    wait > 
    send hello
    wait you said hello
    key C-c
    end
    END

wait TEXT   waits until the terminal has shown TEXT since the last wait; at most a minute
send TEXT   types TEXT and Enter
sends TEXT  the same with several lines, at once: in TEXT, \\n stands between them
type TEXT   types TEXT without Enter
key C-x     types a control character
run COMMAND runs a command of the shell, and waits for its end
end         waits until the program has ended
The terminal's output goes to standard output. The exit code is the program's, or 99 if a wait timed out.
"""
import os
import pty
import select
import sys
import time


def main():
    child, terminal = pty.fork()
    if child == 0:
        os.execvp(sys.argv[1], sys.argv[1:])
    shown, seen = b"", 0

    def read(seconds):
        nonlocal shown
        if not select.select([terminal], [], [], seconds)[0]:
            return True
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            piece = b""
        shown += piece
        return bool(piece)

    def finish(code):
        sys.stdout.buffer.write(shown.replace(b"\r\n", b"\n"))
        sys.stdout.flush()
        if code == 99:
            os.kill(child, 9)
        sys.exit(code)

    for line in sys.stdin:
        word, _, text = line.rstrip("\n").partition(" ")
        if word == "send":
            os.write(terminal, text.encode() + b"\n")
        elif word == "sends":  # lines, separated by \\n, at once
            os.write(terminal, text.replace("\\n", "\n").encode() + b"\n")
        elif word == "type":
            os.write(terminal, text.encode())
        elif word == "key":
            os.write(terminal, bytes([ord(text[-1].upper()) - 64]))
        elif word == "run":
            os.system(text)
        elif word == "wait":
            until, wanted = time.monotonic() + 60, text.encode()
            while wanted not in shown[seen:]:
                if time.monotonic() > until or not read(0.2):
                    shown += b"\n*** waited in vain for: " + wanted + b"\n"
                    finish(99)
            seen = shown.index(wanted, seen) + len(wanted)
        elif word == "end":
            until = time.monotonic() + 60
            while read(0.2) and time.monotonic() < until:
                pass
    _, status = os.waitpid(child, 0)
    finish(os.waitstatus_to_exitcode(status) & 0xFF)


main()
