"""Checks the parts of guides that describe and are not followed as steps: guide_parts.py GUIDE.md…

A `yaml` block is accepted as tenon.yaml. A `c` block, a component of a plugin, is built, and its effects are shown. A `python`
block is valid Python. A command in the text, such as `tenon plugin reset ID`, exists.
"""
import ast
import os
import re
import subprocess
import sys


def run(*command):
    done = subprocess.run(command, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def expect(guide, what, done, text=""):
    code, printed = done
    if code or text not in printed:
        sys.exit(f"{guide}: {what}: exit code {code}, expected {text or 'success'}; prints:\n{printed}")


def check_yaml(guide, block):
    open("part.yaml", "w").write(block)
    expect(guide, block, run("tenon", "reference", "llm", "--config", "part.yaml"))


def check_c(guide, block):
    open("part.c", "w").write('#include <tenon/easy.h>\nTN_PLUGIN("acme.part", "1.0.0", "A part of a guide")\n' + block)
    flags = run("pkg-config", "--variable=plugin_flags", "tenon-sdk")[1].split() + run("pkg-config", "--cflags", "tenon-sdk")[1].split()
    expect(guide, block, run(os.environ.get("CC", "cc"), *flags, "-o", "part.so", "part.c"))
    for effect in re.findall(r'TN_EFFECTS\((.*?)\)', block):
        for name in re.findall(r'"(.*?)"', effect):
            expect(guide, block, run("tenon", "plugin", "show", "./part.so"), name)


def check_python(guide, block):
    ast.parse(block)


def check_command(guide, text, commands):
    words = text.split()[1:]
    names = [" ".join(words[:n]) for n in (2, 1)]
    name = next((name for name in names if name in commands or any(one.startswith(name + " ") for one in commands)), None)
    if name is None:
        sys.exit(f"{guide}: `{text}`: there is no such command")
    for option in re.findall(r"--[a-z-]+", text):
        expect(guide, text, run("tenon", *name.split(), "--help"), option)


commands = set(re.findall(r"^## tenon (.+)$", run("tenon", "reference", "commands")[1], re.M))
checks = {"yaml": check_yaml, "c": check_c, "python": check_python}
for guide in sys.argv[1:]:
    text, count = open(guide, encoding="utf-8").read(), 0
    blocks = re.findall(r"^```(\S*)[^\n]*\n(.*?)^```$", text, re.M | re.S)
    for language, block in blocks:
        if language in checks:
            checks[language](guide, block)
            count += 1
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    for command in re.findall(r"`(tenon [a-z][^`]*)`", prose):
        check_command(guide, command, commands)
        count += 1
    print(os.path.basename(guide), count)
