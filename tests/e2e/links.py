"""Checks that the links of Markdown files lead to files, and to headings in them: links.py FOLDER FILE..."""
import os
import re
import sys


def anchors(path):
    """The anchors of the headings, as GitHub names them."""
    text = re.sub(r"^```.*?^```$", "", open(path, encoding="utf-8").read(), flags=re.M | re.S)
    headings = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def check(folder, name):
    text = re.sub(r"^```.*?^```$", "", open(os.path.join(folder, name), encoding="utf-8").read(), flags=re.M | re.S)
    count = 0
    for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`(?!\])", "", text)):
        if "://" in link:
            continue
        count += 1
        file, _, anchor = link.partition("#")
        path = os.path.normpath(os.path.join(folder, os.path.dirname(name), file)) if file else os.path.join(folder, name)
        if not os.path.exists(path):
            wrong.append(f"{name} links to {link}, which does not exist")
        elif anchor and path.endswith(".md") and anchor not in anchors(path):
            wrong.append(f"{name} links to {link}, but there is no such heading")
    return count


wrong = []
total = sum(check(sys.argv[1], name) for name in sys.argv[2:])
if wrong or total == 0:
    sys.exit("\n".join(wrong or ["found no links"]))
