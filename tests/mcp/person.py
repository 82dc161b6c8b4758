"""person.py: the person in a test of authorization, and the browser: visits a page, and comes back to where it leads."""
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
