"""Does what a guide says, in the present folder: guide.py GUIDE.md

A block after "`NAME`…:" is a listing: the file is written, or, if it exists, has this text. The commands of `sh` blocks
succeed. Those of `console` blocks, behind `$ `, also print what follows them; in it, `…` stands for any text, and for any
lines if it is alone. `echo $?` prints the exit code of the command before it, which may then fail. ID stands for the id of
the last question that was printed, and a command that ends in `# …` has a comment. `cd` applies to what follows. Blocks with
further words, as `sh registry`, are not run: they need what only another test has.
"""
import os
import re
import subprocess
import sys


def matches(expected, printed):
    pattern = ""
    for line in expected.splitlines():
        line = line.rstrip()
        pattern += r"(?:[^\n]*\n)*?" if line == "…" else ".*".join(map(re.escape, line.split("…"))) + r" *\n"
    return re.fullmatch(pattern, printed if printed.endswith("\n") or not printed else printed + "\n") is not None


class Guide:
    def __init__(self):
        self.folder, self.id, self.commands, self.listings = os.getcwd(), "", 0, 0

    def run(self, command, may_fail):
        command = re.sub(r"\bID\b", self.id, command)
        script = command + '\ncode=$?\npwd >"$GUIDE_FOLDER"\nexit $code'
        where = os.path.join(os.environ["TMPDIR"], "guide-folder")
        done = subprocess.run(["bash", "-c", script], cwd=self.folder, env={**os.environ, "GUIDE_FOLDER": where}, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode and not may_fail:
            sys.exit(f"{command}: exit code {done.returncode}, prints:\n{done.stdout}")
        self.folder = open(where).read().rstrip("\n")
        self.id = (re.findall(r"\(id ([0-9a-f]{16})\)", done.stdout) or [self.id])[-1]
        self.commands += 1
        return done

    def console(self, block):
        code = 0
        steps = re.split(r"^\$ ", block, flags=re.M)[1:]
        for step, after in zip(steps, steps[1:] + [""]):
            command, _, expected = step.partition("\n")
            if command == "echo $?":
                printed = f"{code}\n"
            else:
                done = self.run(command, after.startswith("echo $?\n"))
                printed, code = done.stdout, done.returncode
            if not matches(expected, printed):
                sys.exit(f"{command}: expected:\n{expected}\nprinted:\n{printed}")

    def listing(self, name, block):
        path = os.path.join(self.folder, name)
        self.listings += 1
        if os.path.exists(path) and name not in self.written:
            text = open(path).read()
            if block.strip() not in text:
                sys.exit(f"the guide shows {name} differently")
        else:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            open(path, "w").write(block)

    def follow(self, text, written):
        self.written = written
        for name, language, more, block in re.findall(r"(?:^[^\n]*`([\w/-]+\.\w+)`[^\n]*:\n\n)?^```(\S*)([^\n]*)\n(.*?)^```$", text, re.M | re.S):
            if more:
                continue
            if name and language not in ("console", "sh"):
                self.listing(name, block)
            elif language == "console":
                self.console(block)
            elif language == "sh":
                for command in filter(None, re.sub(r" +# .*", "", block).splitlines()):
                    self.run(command, False)


guide = Guide()
guide.follow(open(sys.argv[1], encoding="utf-8").read(), sys.argv[2:])
if guide.commands == 0:
    sys.exit("no command in it")
print(guide.commands, "commands,", guide.listings, "listings")
