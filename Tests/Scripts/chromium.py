"""Debian's Chromium with a profile of its own, and a page for it, for the tests in this directory, which are executable; this file is not."""

import contextlib
import http.server
import json
import os
import pathlib
import sqlite3
import subprocess
import threading
import urllib.parse

from device import LONGEST_WAIT, check, equal, wait_for

FORM = b"""<img src=/shown><form method=post><input id=user name=user autocomplete=username>
<input id=password type=password name=password autocomplete=current-password><button>Sign in</button></form>"""


class Site(http.server.ThreadingHTTPServer):
    """Gives each browser a cookie that lasts, and remembers what it was sent: cookies, and what was typed into the form."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), self.Page)
        self.cookies, self.shown, self.signed_in = [], 0, []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_port}/"

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            if self.path == "/":
                self.server.cookies.append(self.headers.get("Cookie"))
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            if self.path == "/" and not self.headers.get("Cookie"):
                self.send_header("Set-Cookie", "visit=first; Max-Age=86400")
            self.end_headers()
            self.wfile.write(FORM)
            # The browser has the page, and its cookie with it.
            self.server.shown += self.path == "/shown"

        def do_POST(self):
            form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            self.server.signed_in.append({name: value for name, (value,) in form.items()})
            self.send_response(303)
            self.send_header("Location", "/welcome")
            self.end_headers()

        def log_message(self, *_):
            pass


class Chromium:
    """On the private bus. It has its key from `gnome-libsecret`, as on GNOME."""

    def __init__(self, bus, site, program="chromium"):
        self.bus, self.site, self.program = bus, site, program
        self.profile, self.process = bus.work / "profile", None

    @contextlib.contextmanager
    def running(self, address):
        """Started with this page; asked to close at the end, since it would lose its cookies by a signal."""
        (commands, command), (answer, answers) = os.pipe(), os.pipe()
        self.process = process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{commands} 4>&{answers}', "bash", self.program, "--headless=new", "--no-sandbox", "--disable-gpu",
             "--no-first-run", "--password-store=gnome-libsecret", f"--user-data-dir={self.profile}", "--remote-debugging-pipe", address],
            env=self.bus.environment | {"HOME": str(self.bus.work)}, pass_fds=(commands, answers), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(commands)
        os.close(answers)
        try:
            with os.fdopen(command, "wb", buffering=0) as out, os.fdopen(answer, "rb") as into:
                self.out, self.into, self.number = out, into, 0
                yield
                self.say("Browser.close")
                process.wait(LONGEST_WAIT)
        finally:
            process.kill()
            process.wait(LONGEST_WAIT)

    def say(self, method, session=None, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters} | ({"sessionId": session} if session else {})
        self.out.write(json.dumps(message).encode() + b"\0")

    def ask(self, method, session=None, **parameters):
        """A call of its protocol for developers. The browser's end ends the wait."""
        self.say(method, session, **parameters)
        message = b""
        while True:
            byte = self.into.read(1)
            check(byte, "Chromium ended")
            message += byte
            if byte == b"\0":
                answer, message = json.loads(message[:-1]), b""
                if answer.get("id") == self.number:
                    check("result" in answer, f"{method}: {answer}")
                    return answer["result"]

    def open(self, address):
        """A page; what is run in it."""
        target = self.ask("Target.createTarget", url=address)["targetId"]
        session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

        def run(script):
            return self.ask("Runtime.evaluate", session, expression=script, awaitPromise=True, returnByValue=True)["result"].get("value")

        run.session = session
        return run

    def visit(self):
        """Looks at the page, and says which cookie it sent."""
        before = self.site.shown
        with self.running(self.site.address):
            wait_for(lambda: self.site.shown > before or self.process.poll() is not None, "Chromium to show the page")
            check(self.site.shown > before, "Chromium ended before it showed the page")
        return self.site.cookies[-1]

    def save(self, user, password):
        """Has the browser keep a password for the site, as a person does on its page of passwords."""
        with self.running("about:blank"):
            page = self.open("chrome://password-manager/passwords")
            wait_for(lambda: page("typeof chrome.passwordsPrivate"), "the page of passwords")
            entry = {"url": self.site.address, "username": user, "password": password, "note": "", "useAccountStore": False}
            equal(page(f"chrome.passwordsPrivate.addPassword({json.dumps(entry)}).then(() => 'kept', error => String(error))"), "kept", "saving")
            # It says so before it wrote it; and what it did not write is lost when it closes.
            wait_for(
                lambda: page("chrome.passwordsPrivate.getSavedPasswordList().then((list) => list.length)"), "the password in its list")

    def sign_in(self):
        """Opens the page and sends its form, into which nobody typed: what the site got."""
        before = len(self.site.signed_in)
        with self.running("about:blank"):
            page = self.open(self.site.address)

            def filled():
                # A page may not see what was filled in before a person did something on it.
                for kind in ("mousePressed", "mouseReleased"):
                    self.ask("Input.dispatchMouseEvent", page.session, type=kind, x=400, y=300, button="left", clickCount=1)
                return page("document.querySelector('#password')?.value")

            wait_for(filled, "Chromium to fill in the form")
            page("document.querySelector('button').click()")
            wait_for(lambda: len(self.site.signed_in) > before, "the form")
        return self.site.signed_in[-1]

    def database(self, name, query):
        with sqlite3.connect(f"file:{pathlib.Path(self.profile) / 'Default' / name}?mode=ro", uri=True) as database:
            return database.execute(query).fetchall()

    @property
    def kind(self):
        """How the cookie is encrypted: v11 with a key from the Secret Service, v10 with a fixed one."""
        return [row[0][:3] for row in self.database("Cookies", "SELECT encrypted_value FROM cookies")]

    @property
    def saved(self):
        """What the browser's own file says of passwords: whose they are, and how they are encrypted."""
        return [(user, bytes(value)[:3]) for user, value in self.database("Login Data", "SELECT username_value, password_value FROM logins")]
