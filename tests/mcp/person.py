"""person.py: simulates a person at a terminal with a browser, who visits a page and follows its redirects."""
import os
import pty
import re
import select
import subprocess
import threading
import urllib.error
import urllib.parse
import urllib.request


class NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *arguments):
        return None


def fetch(url):
    """Returns the response. Does not follow redirects."""
    try:
        return urllib.request.build_opener(NoRedirects).open(url, timeout=20)
    except urllib.error.HTTPError as error:
        return error


def last_redirect(url):
    """Follows redirects from `url` until one leads to the `redirect_uri`. Returns that address, or None."""
    redirect_uri = urllib.parse.parse_qs(urllib.parse.urlsplit(url).query)["redirect_uri"][0]
    for _ in range(10):
        url = urllib.parse.urljoin(url, fetch(url).headers.get("location") or "")
        if url.startswith(redirect_uri):
            return url
    return None


def visit(url):
    """Returns True. Loads the redirect address in the background."""
    address = last_redirect(url)

    def load():
        try:
            fetch(address)
        except OSError:
            pass

    if address:
        threading.Thread(target=load, daemon=True).start()
    return True


# What the host shows when it waits for a line: a whole answer, whether a form is answered, a page, a field of a form.
PROMPT = re.compile(r"(answer: |\[a\]nswer, \[d\]ecline\? |or \[d\]ecline: |\]: |\(optional\): )$")


def page_of(question):
    """The URL that a question shows."""
    return [line.strip() for line in question.splitlines() if line.strip().startswith("http")][-1]


def answer_question(question):
    """Answers the prompt at the end: visits a page, and leaves the fields of a form as they are."""
    prompt = PROMPT.search(question).group(1)
    if prompt.startswith("or"):
        visit(page_of(question))
    return "a" if prompt.startswith("[a]") else "{}" if prompt == "answer: " else ""


def run_at_terminal(command, folder=".", type_first=None, until=None, answers=answer_question):
    """Runs a command at a terminal: types `type_first`, answers questions, and types Ctrl-D when `until` is shown.

    Returns the output.
    """
    master, slave = pty.openpty()
    child = subprocess.Popen(command, cwd=folder, stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
    os.close(slave)
    if type_first:
        os.write(master, type_first.encode() + b"\n")
    output, asked, closed = b"", 0, False
    while True:
        if not select.select([master], [], [], 120)[0]:
            child.kill()
            break
        try:
            data = os.read(master, 65536)
        except OSError:
            break
        if not data:
            break
        output += data
        question = output[asked:].decode(errors="replace")
        if PROMPT.search(question):
            asked = len(output)
            os.write(master, answers(question).encode() + b"\n")
        if until and until.encode() in output and not closed:
            closed = True
            os.write(master, b"\x04")
    child.wait()
    os.close(master)
    return output.decode(errors="replace")
