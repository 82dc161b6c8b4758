"""person.py: somebody at a terminal, and their browser: visits a page, and comes back to where it leads."""
import json
import os
import pty
import select
import subprocess
import threading
import urllib.error
import urllib.parse
import urllib.request


class Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *arguments):
        return None


def fetch(url):
    """The answer, redirects included."""
    try:
        return urllib.request.build_opener(Stay).open(url, timeout=20)
    except urllib.error.HTTPError as error:
        return error


def led_to(url):
    """Where the page sends the browser at its end; None where it sends it nowhere."""
    back = urllib.parse.parse_qs(urllib.parse.urlsplit(url).query)["redirect_uri"][0]
    for _ in range(10):
        url = urllib.parse.urljoin(url, fetch(url).headers.get("location") or "")
        if url.startswith(back):
            return url
    return None


def visit(url):
    """True. The browser loads the last page while the person is on the way back."""
    back = led_to(url)

    def load():
        try:
            fetch(back)
        except OSError:
            pass

    if back:
        threading.Thread(target=load, daemon=True).start()
    return True


def answers_to(question):
    """Permission is given where that is asked for: the page is visited. Anything else is answered with {}."""
    return "true" if '"mode":"authorization"' in question and visit(json.loads(question)["url"]) else "{}"


def sit(command, folder=".", say=None, until=None, answers=answers_to):
    """Runs it at a terminal, says something first, answers its questions, and leaves once it shows `until`."""
    master, slave = pty.openpty()
    child = subprocess.Popen(command, cwd=folder, stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
    os.close(slave)
    if say:
        os.write(master, say.encode() + b"\n")
    said, asked, left = b"", 0, False
    while True:
        if not select.select([master], [], [], 30)[0]:
            child.kill()
            break
        try:
            data = os.read(master, 65536)
        except OSError:
            break
        if not data:
            break
        said += data
        while asked < said.count(b"answer: "):
            asked += 1
            question = said.split(b"answer: ")[asked - 1].decode(errors="replace").strip().splitlines()[-1]
            os.write(master, answers(question).encode() + b"\n")
        if until and until.encode() in said and not left:
            left = True
            os.write(master, b"\x04")
    child.wait()
    os.close(master)
    return said.decode(errors="replace")
