# SPDX-License-Identifier: MIT
"""browser: a headless Chromium, driven over the WebDriver protocol (W3C) by chromedriver. Both are Debian packages."""

import base64
import json
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
import harness  # noqa: E402

ARGUMENTS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", "--force-color-profile=srgb")
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


class Browser:
    def __init__(self, width=1280, height=900):
        driver, chromium = shutil.which("chromedriver"), shutil.which("chromium")
        if not driver or not chromium:
            raise harness.Skip("chromium and chromium-driver are not installed")
        try:
            socket.getaddrinfo("localhost", None)
        except OSError:
            raise harness.Skip("the name localhost has no address here (/etc/hosts), and chromedriver needs it") from None
        self.profile = tempfile.TemporaryDirectory(prefix="mtrace-web.", ignore_cleanup_errors=True)
        self.driver = subprocess.Popen([driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        port = None
        for line in self.driver.stdout:
            port = re.search(r"started successfully on port (\d+)", line)
            if port:
                break
        if not port:
            raise harness.Failure("chromedriver did not start")
        self.base = f"http://127.0.0.1:{port.group(1)}"
        options = {"binary": chromium, "args": [*ARGUMENTS, f"--window-size={width},{height}", f"--user-data-dir={self.profile.name}"]}
        session = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}}})
        self.session = "/session/" + session["sessionId"]
        self.call("POST", self.session + "/timeouts", {"implicit": 60000})  # what is clicked or typed into may still have to come

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.call("DELETE", self.session)
        finally:
            self.driver.terminate()
            self.driver.wait(timeout=400)
            self.profile.cleanup()

    def call(self, method, path, body=None):
        request = urllib.request.Request(self.base + path, json.dumps(body or {}).encode() if method == "POST" else None,
                                         {"Content-Type": "application/json"}, method=method)
        try:
            return json.load(urllib.request.urlopen(request, timeout=400))["value"]
        except urllib.error.HTTPError as refused:
            raise harness.Failure(f"{path}: {json.load(refused)['value']['message']}") from None

    def open(self, address):
        self.call("POST", self.session + "/url", {"url": address})

    def run(self, script, *arguments):
        """The value of a JavaScript function's body."""
        return self.call("POST", self.session + "/execute/sync", {"script": script, "args": list(arguments)})

    def run_async(self, script, *arguments):
        """The value that the script gives to its last argument, a function."""
        return self.call("POST", self.session + "/execute/async", {"script": script, "args": list(arguments)})

    def size(self, width, height):
        """The width of the page, however narrow; windows of a desktop cannot be so narrow."""
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def dark(self, is_dark=True):
        """Sets the preferred colour scheme of the system."""
        self.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}])

    def devtools(self, command, **parameters):
        return self.call("POST", self.session + "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def address(self):
        return self.call("GET", self.session + "/url")

    def back(self):
        self.call("POST", self.session + "/back")

    def find(self, selector):
        return self.call("POST", self.session + "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        self.call("POST", f"{self.session}/element/{self.find(selector)}/click")

    def type(self, selector, text):
        self.call("POST", f"{self.session}/element/{self.find(selector)}/value", {"text": text})

    def press(self, key, times=1):
        """For whatever has the focus."""
        strokes = [{"type": kind, "value": key} for kind in ("keyDown", "keyUp")] * times
        self.call("POST", f"{self.session}/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": strokes}]})

    def text(self, selector="body"):
        return self.run("return document.querySelector(arguments[0])?.innerText ?? ''", selector)

    def drag(self, selector, start, end, button=0):
        """Over an element, from one share of its width to another, in the middle of its height."""
        box = self.run("const b = document.querySelector(arguments[0]).getBoundingClientRect(); return [b.left, b.top, b.width, b.height]", selector)
        at = [{"type": "pointerMove", "duration": 0, "x": round(box[0] + share * box[2]), "y": round(box[1] + box[3] / 2)} for share in (start, end)]
        actions = [at[0], {"type": "pointerDown", "button": button}, {**at[1], "duration": 100}, {"type": "pointerUp", "button": button}]
        self.call("POST", self.session + "/actions", {"actions": [{"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": actions}]})

    def wait(self, what, script, *arguments):
        """Waits until the script's value is true. Only a condition that never holds is a failure."""
        for _ in range(2000):
            value = self.run(script, *arguments)
            if value:
                return value
            time.sleep(0.1)
        raise harness.Failure(f"{what} did not come about at {self.address()}: {self.text()[:1500]}")

    def wait_for_text(self, text, selector="body"):
        return self.wait(f"'{text}'", "return (document.querySelector(arguments[1])?.innerText ?? '').includes(arguments[0])", text, selector)

    def complaints(self):
        """Errors of the page's code and violations of its policy, from the browser's console."""
        log = self.call("POST", self.session + "/se/log", {"type": "browser"})
        return [entry["message"] for entry in log if entry["level"] == "SEVERE"]

    def screenshot(self, path):
        Path(path).write_bytes(base64.b64decode(self.call("GET", self.session + "/screenshot")))
