#!/usr/bin/env python3
"""confine.py UNIT COMMAND…: runs the command with the system calls that SystemCallFilter of the unit allows, and without memory that
is writable and executable, as systemd would. Others than those of the filter fail with EPERM."""
import ctypes
import os
import subprocess
import sys

EPERM, ALLOW = 0x00050000 | 1, 0x7FFF0000
PR_SET_MDWE = 65  # Linux 6.3; before, only the filter is tested


def calls(names):
    """Names of system calls and of groups (@…), as names of system calls."""
    found = set()
    for name in names:
        if not name.startswith("@"):
            found.add(name)
            continue
        lines = subprocess.run(["systemd-analyze", "syscall-filter", name], capture_output=True, text=True, check=True).stdout.splitlines()
        found |= calls(line.strip() for line in lines[1:] if line.strip() and not line.strip().startswith("#"))
    return found


def main():
    unit, command = sys.argv[1], sys.argv[2:]
    with open(unit, encoding="utf-8") as file:
        settings = dict(line.strip().split("=", 1) for line in file if "=" in line and not line.startswith("#"))
    seccomp = ctypes.CDLL("libseccomp.so.2")
    seccomp.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(seccomp.seccomp_init(EPERM))
    names = calls(settings["SystemCallFilter"].split())
    assert len(names) > 100, names
    for name in names:
        number = seccomp.seccomp_syscall_resolve_name(name.encode())
        if number >= 0:
            assert seccomp.seccomp_rule_add(context, ALLOW, number, 0) == 0, name
    if settings["MemoryDenyWriteExecute"] == "yes":
        ctypes.CDLL(None).prctl(PR_SET_MDWE, 1, 0, 0, 0)
    assert seccomp.seccomp_load(context) == 0
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
