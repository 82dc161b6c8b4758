"""Checks the page of `tenon graph --format html` in a browser: page_check.py BROWSER PAGE HOSTILE-PAGE.

It drives Chromium over its debugging pipe (descriptors 3 and 4; messages of JSON that end with a zero byte). PAGE is that of
samples/triage/triage.yaml. Exits with status 1 and the reason if something does not work.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time


class Browser:
    def __init__(self, program, profile):
        to_read, self.write = os.pipe()
        self.read, to_write = os.pipe()

        def place():  # the descriptors may be 3 or 4 themselves
            first, second = os.dup(to_read), os.dup(to_write)
            os.dup2(first, 3)
            os.dup2(second, 4)

        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--window-size=1000,800",
             "--user-data-dir=" + profile], preexec_fn=place, close_fds=False, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.buffer, self.number, self.session, self.problems = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")

    def receive(self):
        while b"\0" not in self.buffer:
            data = os.read(self.read, 65536)
            if not data:
                sys.exit("the browser ended")
            self.buffer += data
        message, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(message)
        method = message.get("method")
        if method == "Runtime.exceptionThrown" or (
                method == "Log.entryAdded" and message["params"]["entry"]["level"] in ("error", "warning")):
            self.problems.append(json.dumps(message["params"]))
        if method == "Page.javascriptDialogOpening":
            self.problems.append("a dialog opened")
        return message

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    sys.exit(f"{method}: {answer['error']}")
                return answer["result"]

    def open(self, file):
        self.call("Page.navigate", url=pathlib.Path(file).absolute().as_uri())
        deadline = time.monotonic() + 30
        while self.value("document.readyState") != "complete" or "tools" not in self.value("document.body.innerHTML"):
            if time.monotonic() > deadline:
                sys.exit(f"{file} does not load")
            time.sleep(0.05)

    def value(self, expression):
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def view(self):
        return [float(part) for part in self.value("document.querySelector('svg').getAttribute('viewBox')").split()]

    def key(self, key):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, text=key if len(key) == 1 and kind == "keyDown" else "")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)


def check(condition, what):
    if not condition:
        sys.exit("page_check: " + what)


def check_page(browser, page):
    browser.open(page)
    fitted = browser.view()
    size = json.loads(browser.value(
        "JSON.stringify([document.querySelector('.page').width.baseVal.value, document.querySelector('.page').height.baseVal.value])"))
    check(fitted[0] <= 0 and fitted[1] <= 0 and fitted[0] + fitted[2] >= size[0] - 1 and fitted[1] + fitted[3] >= size[1] - 1,
          f"the window does not show the whole picture: {fitted} of {size}")
    browser.key("+")
    near = browser.view()
    check(near[2] < fitted[2], "+ does not zoom in")
    browser.key("-")
    check(abs(browser.view()[2] - fitted[2]) < 0.01, "- does not undo +")
    browser.key("ArrowDown")
    check(browser.view()[1] > fitted[1], "an arrow does not move the picture")
    browser.key("0")
    check(browser.view() == fitted, "0 does not fit the picture")
    browser.mouse("mousePressed", 700, 600, button="left", buttons=1, clickCount=1)
    browser.mouse("mouseMoved", 650, 560, button="left", buttons=1)
    browser.mouse("mouseReleased", 650, 560, button="left", clickCount=1)
    moved = browser.view()
    check(moved[0] > fitted[0] and moved[1] > fitted[1] and moved[2] == fitted[2], "a drag does not move the picture")
    browser.mouse("mouseWheel", 500, 400, deltaX=0, deltaY=-200)
    check(browser.view()[2] < moved[2], "the wheel does not zoom")
    browser.key("/")
    browser.call("Input.insertText", text="SORT")
    check(browser.value("document.querySelectorAll('.node.found').length") == 1, "the search does not find the node")
    check(browser.value("document.querySelector('.current').dataset.node") == "sort", "the search finds another node")
    check(browser.value("document.getElementById('count').textContent") == "1 / 1", "the search does not count")
    check(browser.value("(r => Math.abs(r.x + r.width / 2 - innerWidth / 2) < 20)"
                        "(document.querySelector('.current').getBoundingClientRect())"), "the node is not in the middle")
    browser.key("Escape")
    place = json.loads(browser.value(
        "JSON.stringify((r => [r.x + r.width / 2, r.y + r.height / 2])(document.querySelector('.current .box').getBoundingClientRect()))"))
    browser.mouse("mousePressed", *place, button="left", buttons=1, clickCount=1)
    browser.mouse("mouseReleased", *place, button="left", clickCount=1)
    check(browser.value("document.querySelectorAll('.edge:not(.dimmed)').length") == 3, "a click does not show the lines")


def main():
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(sys.argv[1], profile)
        try:
            check_page(browser, sys.argv[2])
            browser.open(sys.argv[3])
            check(browser.value("document.querySelectorAll('script').length") == 1, "a text became a script")
            check(browser.value("document.querySelectorAll('img').length") == 0, "a text became an element")
            check(browser.value("document.querySelectorAll('.node').length") == 4, "the hostile nodes are not drawn")
            check(not browser.problems, "; ".join(browser.problems))
        finally:
            browser.process.kill()
            browser.process.wait()


main()
