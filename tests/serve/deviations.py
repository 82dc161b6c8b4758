"""The deviations that plugins/serve/README.md lists: how a case is recognized that has one."""

import os
import re


def chunked_bodies(case):
    """What follows each head that has a Transfer-Encoding."""
    for end in re.finditer(rb"(\r\n|:\n|\0\n)\r\n|(:|\0)\n", case):
        if b"transfer-encoding" in case[:end.start()].lower():
            yield case[end.end():]


def chunk_lines(body):
    """The lines of the framing, with their ends, as libmicrohttpd reads them; those of the trailer are the last."""
    at = 0
    while at < len(body):
        end = body.find(b"\n", at) + 1
        size = re.match(rb"[0-9a-fA-F]{1,9}", body[at:])
        if end == 0 or not size:
            return
        yield body[at:end]
        at = end + int(size.group(), 16)
        if at == end:
            yield from body[at:].splitlines(keepends=True)
            return
        end = at + (2 if body[at:at + 2] == b"\r\n" else 1)
        yield body[at:end]
        at = end


def any_line(case, pattern):
    return any(re.search(pattern, line) for body in chunked_bodies(case) for line in chunk_lines(body))


RECOGNIZED = {
    "empty-lines": lambda case: re.search(rb"(\A|\n|hello)(\0[^\n]*\n|\r?\n)+[A-Z]", case) is not None,
    "head-nul": lambda case: re.search(rb"\0\r?\n|\n\0|\n:\n", case) is not None,
    "chunk-line-feed": lambda case: any_line(case, rb"(?<!\r)\n\Z"),
    "trailer-nul": lambda case: any_line(case, rb"\0"),
    "chunk-extension": lambda case: any_line(case, rb"^[0-9a-fA-F]+;"),
}


def listed():
    readme = os.path.join(os.path.dirname(__file__), "../../plugins/serve/README.md")
    with open(readme, encoding="utf-8") as file:
        section = file.read().partition("## Deviations")[2].partition("\n## ")[0]
    return re.findall(r"^\| `([a-z-]+)` \|", section, re.M)
