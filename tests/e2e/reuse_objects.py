"""Finds the object files of a build that a build of a changed copy of the tree would compile again, only to get the same.

    reuse_objects.py SOURCE BINARY TREE BUILT FOLDER

BUILT, of the copy TREE, is configured, but not built. FOLDER gets a link to each such object of BINARY, at the same path. An
object is the same if its command is (apart from how it is optimized), and each file that it was compiled from.
"""
import filecmp
import functools
import json
import os
import re
import subprocess
import sys

source, binary, tree, built, folder = map(os.path.abspath, sys.argv[1:])


def commands(build, sources):
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        rows = json.load(file)
    found = {}
    for row in rows:
        command = row["command"].replace(build, "BUILD").replace(sources, "SOURCE")
        name = re.search(r" -o (\S+) ", command)[1]
        found[name] = re.sub(r"^.*? (?=-)| -(O\w*|g1?|DNDEBUG)(?= )", "", command)
    return found


@functools.lru_cache(maxsize=None)
def copy_of(path):
    """The file of the copy, if it is the same."""
    for outer, inner in ((binary, built), (source, tree)):
        if path.startswith(outer + "/"):
            copy = inner + path[len(outer) :]
            return copy if os.path.exists(copy) and filecmp.cmp(path, copy, shallow=False) else None
    return path


@functools.lru_cache(maxsize=None)
def modified(path):
    return os.stat(path).st_mtime_ns


def is_same(name, files):
    files = [os.path.normpath(os.path.join(binary, file)) for file in files]
    # An object may be older than its source, if somebody is working on it.
    return all(copy_of(file) and modified(file) <= modified(os.path.join(binary, name)) for file in files)


if not os.path.exists(os.path.join(binary, "build.ninja")):
    sys.exit(0)  # another generator, which does not list the files
here, there = commands(binary, source), commands(built, tree)
reused = 0
deps = subprocess.run(["ninja", "-C", binary, "-t", "deps"], check=True, capture_output=True, text=True).stdout
for block in deps.split("\n\n"):
    head, *files = block.strip().split("\n")
    name = head.partition(": #deps ")[0]
    if name in there and here.get(name) == there[name] and head.endswith("(VALID)") and is_same(name, map(str.strip, files)):
        os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
        os.symlink(os.path.join(binary, name), os.path.join(folder, name))
        reused += 1
print(f"{reused} of {len(there)} objects are reused")
