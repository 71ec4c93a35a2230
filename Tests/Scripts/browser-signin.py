#!/usr/bin/env python3
"""
The sign-in page in a real browser: a real `touchstone-signin`, a simulated device, and `touchstone-login approve` as what stands
between them. The owner's finger approves; what others try fails where it can be seen.
"""

import contextlib
import functools
import http.server
import json
import socket
import threading

from browser import Browser, TerminalAgent
from device import Device, check, equal, main, wait_for
from login import FINGER, PASSCODE, Login
from signin import PASSWORD, Client, Server, refused

from selenium.webdriver.common.keys import Keys

NOBODY = "ERR_CONNECTION_REFUSED"


class Front:
    """Stands before the server at the address that is its origin, and keeps what was sent to it, as who reads along would."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.sent = []
        self.backend = None
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        record = bytearray()
        self.sent.append(record)
        with connection, contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.backend)) as backend:
            def back():
                with contextlib.suppress(OSError):
                    while data := backend.recv(65536):
                        connection.sendall(data)
                    connection.shutdown(socket.SHUT_RDWR)

            threading.Thread(target=back, daemon=True).start()
            while data := connection.recv(65536):
                record += data
                backend.sendall(data)

    def posts(self, path):
        """Bodies of what was posted there."""
        found = []
        for record in self.sent:
            for part in bytes(record).split(b"POST ")[1:]:
                if part.startswith(path.encode() + b" "):
                    found.append(json.loads(part.partition(b"\r\n\r\n")[2].partition(b"GET /")[0]))
        return found

    def close(self):
        self.listener.close()


class Site:
    """A server with an account, the device that is registered there, its approver and its agent."""

    def __init__(self, approver=True, agent=("ignore",), **settings):
        self.has_approver, self.answers, self.settings = approver, agent, settings

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            self.front = Front()
            stack.callback(self.front.close)
            self.server = stack.enter_context(Server(origin=f"http://127.0.0.1:{self.front.port}", **self.settings))
            self.front.backend = self.server.port
            self.server.add_account("alice", PASSWORD)
            self.device = stack.enter_context(Device())
            self.device.set_up(PASSCODE, FINGER)
            self.login = Login(self.device)
            with TerminalAgent(self.device):
                self.login.register(self.server, "alice", PASSWORD)
            self.agent = stack.enter_context(TerminalAgent(self.device, *self.answers))
            if self.has_approver:
                self.approver = stack.enter_context(self.login.approve())
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *error):
        return self.stack.__exit__(*error)

    def prompt(self):
        """What the next prompt that comes up says, in one line."""
        lines = []
        while not lines or "[c]" not in lines[-1]:
            line = self.agent.process.stdout.readline()
            check(line, f"the agent ended after {lines}")
            lines.append(line)
        return " ".join("".join(lines).split())


def begin(page):
    page.click("begin")
    return page.wait(lambda page: (element := page.test("code")) and element.text, "the code")


def a_finger_signs_in(browser):
    with Site() as site, browser.open(site.server.origin + "/") as page:
        page.wait_test("start")
        equal(page.test("site").text, site.server.audience, "the site's name")
        page.pictures("signin-start")
        # With the keyboard alone.
        page.tab_to("Sign in with your device").send_keys(Keys.ENTER)
        code = page.wait(lambda page: (element := page.test("code")) and element.text, "the code")
        said = site.prompt()
        check(code in said and site.server.audience in said, f"the prompt has neither code {code} nor site: {said}")
        check("left" in page.test("countdown").text, "the countdown")
        page.pictures("signin-waiting")
        site.login.touch()
        page.wait_test("signed-in", "Signed in as alice")
        page.pictures("signin-signed-in")
        # The page is left and opened again.
        page.driver.refresh()
        page.wait_test("signed-in", "Signed in as alice")
        page.tab_to("Sign out").send_keys(Keys.ENTER)
        page.wait_test("start")
        page.driver.refresh()
        page.wait_test("start")
        check(not page.test("signed-in"), "signed in after signing out")
        # What the page has is not a script's to read.
        equal(page.driver.execute_script("return document.cookie"), "", "the cookies that a script sees")
        print(f"weight of the page: {page.weight()} bytes")


def an_approval_is_worth_nothing_a_second_time(browser):
    with Site() as site, browser.open(site.server.origin + "/") as page:
        page.wait_test("start")
        begin(page)
        site.prompt()
        site.login.touch()
        page.wait_test("signed-in")
        captured = site.front.posts("/v1/web/requests/approve")
        equal(len(captured), 1, "the approvals that were sent")
        refused(Client(site.server).post("/v1/web/requests/approve", captured[0]), "the approval sent again")
        # In another browser's request it is worth nothing either.
        page.click("sign-out")
        page.wait_test("start")
        begin(page)
        refused(Client(site.server).post("/v1/web/requests/approve", captured[0]), "the approval for another request")
        check(page.test("waiting") and not page.test("signed-in"), "the page went on")
        page.click("cancel")
        page.wait_test("denied")


def the_owner_says_no(browser):
    with Site(agent=("cancel",)) as site, browser.open(site.server.origin + "/") as page:
        page.wait_test("start")
        page.click("begin")
        page.wait_test("denied", "Nobody was signed in")
        page.pictures("signin-denied")
        # On the page too: the request is over, and the prompt goes.
        page.press("Try again")
        page.wait_test("waiting")
        page.click("cancel")
        page.wait_test("denied")
        page.driver.refresh()
        page.wait_test("start")


def a_code_runs_out(browser):
    with Site(web_request_seconds=20) as site, browser.open(site.server.origin + "/") as page:
        page.wait_test("start")
        begin(page)
        page.wait_test("expired", "Nobody was signed in")
        page.pictures("signin-expired")
        page.press("Get a new code")
        page.wait_test("waiting")
        page.click("cancel")


# What a page does that was tampered with: the approver hears of another code than the one it shows.
OTHER_CODE = """
    const real = globalThis.fetch;
    globalThis.fetch = (address, options) => {
      if (String(address).includes(":47813/")) {
        const body = JSON.parse(options.body);
        body.code = body.code === "000 000" ? "111 111" : "000 000";
        options = { ...options, body: JSON.stringify(body) };
      }
      return real(address, options);
    };
"""


def another_code_is_refused(browser):
    with Site() as site, browser.open("about:blank") as page:
        # The approver tells the page that the server refused.
        page.expected = ("47813/approve - Failed to load resource: the server responded with a status of 502",)
        page.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": OTHER_CODE})
        page.driver.get(site.server.origin + "/")
        page.wait_test("start")
        code = begin(page)
        said = site.prompt()
        check(code not in said and "000 000" in said, f"the prompt shows the page's code: {said}")
        # An owner who does not look.
        site.login.touch()
        page.wait_test("refused", "Nobody was signed in")
        page.pictures("signin-refused")
        equal(page.driver.execute_script(
            "return fetch('v1/web/session').then(answer => answer.status)"), 204, "the session of what was refused")


class LookAlike(http.server.ThreadingHTTPServer):
    """Another site, which shows the real one's page and passes on all that it is sent: a relay."""

    def __init__(self, site):
        self.site, self.cookie = site, ""
        super().__init__(("127.0.0.1", 0), LookAlikeAnswer)
        self.origin = f"http://127.0.0.1:{self.server_port}"

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()

    def relay(self, method, path, body=None):
        headers = {"Origin": self.site.server.origin, **({"Cookie": self.cookie} if self.cookie else {})}
        answer = Client(self.site.server).request(method, path, body, headers)
        for name, value in answer.headers:
            if name.lower() == "set-cookie":
                self.cookie = value.partition(";")[0]
        return answer


class LookAlikeAnswer(http.server.BaseHTTPRequestHandler):
    def answer(self):
        length = int(self.headers.get("Content-Length", 0))
        answer = self.server.relay(self.command, self.path, self.rfile.read(length) if length else None)
        self.send_response(answer.status)
        if kind := answer.header("Content-Type"):
            self.send_header("Content-Type", kind)
        if answer.status != 204:
            self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass


def a_look_alike_is_refused(browser):
    with Site() as site, LookAlike(site) as relay, browser.open(relay.origin + "/") as page:
        page.expected = ("47813/approve",)
        page.wait_test("start")
        page.click("begin")
        # It has a request of the real site's, code and all.
        page.wait_test("unknown-site", relay.origin)
        page.pictures("signin-unknown-site")
        wait_for(lambda: relay.origin in site.approver.output, "the approver to name the look-alike")
        equal(relay.relay("GET", "/v1/web/requests/state").json, {"state": "pending"}, "the real request")
        # By the other ways that a page has: a request without leave, as a form would, and one of a frame without an origin.
        asked = relay.relay("POST", "/v1/web/requests", b"{}").json
        body = json.dumps({"request": asked["request"], "code": asked["code"]})
        page.driver.execute_script("""
            fetch("http://127.0.0.1:47813/approve", { method: "POST", mode: "no-cors", body: arguments[0] }).catch(() => {});
            const frame = document.createElement("iframe");
            frame.sandbox = "allow-scripts allow-forms";
            frame.srcdoc = `<form method="post" enctype="text/plain" action="http://127.0.0.1:47813/approve">
              <input name='${arguments[0].slice(0, -1)},"x":"' value='"}'></form><script>document.forms[0].submit()</` + "script>";
            document.body.append(frame);""", body)
        # The look-alike itself was named before, and is once a minute.
        wait_for(lambda: "refused null" in site.approver.output, "the approver to refuse the frame")
        equal(site.approver.output.count(f"refused {relay.origin}"), 1, "lines about the look-alike")
        equal(site.front.posts("/v1/web/requests/approve"), [], "the approvals that were sent")
        equal(relay.relay("GET", "/v1/web/requests/state").json, {"state": "pending"}, "the real request")
        # Nor was the owner asked.
        site.agent.process.kill()
        check("Touch ID" not in site.agent.process.stdout.read(), "a prompt for a look-alike")


def without_an_approver_the_page_says_what_to_do(browser):
    with Site(approver=False) as site, browser.open(site.server.origin + "/") as page:
        page.expected = (NOBODY,)
        page.wait_test("start")
        page.click("begin")
        page.wait_test("no-approver", "touchstone-login approve")
        page.pictures("signin-no-approver")
        with site.login.approve():
            page.tab_to("Try again").send_keys(Keys.ENTER)
            page.wait_test("waiting")
            site.prompt()
            site.login.touch()
            page.wait_test("signed-in")


def without_a_server_the_page_says_so(browser):
    with Site(approver=False) as site, browser.open(site.server.origin + "/") as page:
        page.expected = (NOBODY, "ERR_EMPTY_RESPONSE", "ERR_CONNECTION_RESET", "ERR_CONNECTION_CLOSED", "ERR_SOCKET_NOT_CONNECTED")
        page.wait_test("start")
        site.server.stop()
        page.click("begin")
        page.wait_test("offline")
        page.pictures("signin-offline")


with Browser(700, 700) as opened:
    main(*(functools.partial(test, opened) for test in (
        a_finger_signs_in, an_approval_is_worth_nothing_a_second_time, the_owner_says_no, a_code_runs_out,
        another_code_is_refused, a_look_alike_is_refused, without_an_approver_the_page_says_what_to_do,
        without_a_server_the_page_says_so)))
