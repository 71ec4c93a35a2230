#!/usr/bin/env python3
"""Chores, the sample app, in a real browser: on real daemons, with `touchstone agent` and `touchstone device match` as its owner."""

import contextlib
import functools
import http.client
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.parse

from browser import Browser, ChoresApp, TerminalAgent
from device import LONGEST_WAIT, Device, Evaluation, check, equal, main, wait_for

from selenium.webdriver.common.keys import Keys

PASSWORD = "more soap"
FINGER = "right-index"
# What the browser says of a page whose app is not running. It may say so late, when the app runs again.
GONE = ("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING")


@contextlib.contextmanager
def chores(browser, *fingers, registered=True, passcode="271828"):
    """(device, app, page): a device with these fingers; where it is registered, signed out, with one chore."""
    with Device() as device:
        if passcode:
            device.set_up(passcode, *fingers)
        with ChoresApp(device) as app:
            with browser.open(app.url) as page:
                if registered:
                    register(page)
                    add(page, "Water the plants")
                    sign_out(page)
                yield device, app, page


def register(page):
    page.type("#new-password", PASSWORD)
    page.press("Begin")
    page.wait_text("Signed in")


def add(page, title):
    page.type("#title", title)
    page.press("Add")
    page.wait_text(title, "#list")


def sign_out(page):
    page.press("Sign Out")
    page.wait_text("Only the owner can change the chores")


def sign_in(page, password=PASSWORD):
    page.type("#password", password)
    page.press("Sign In")


def touch(device, finger, status=0, times=1):
    device.run("device", "match", finger, "--wait", str(LONGEST_WAIT), "--times", str(times), status=status)


def begin(page):
    page.press("Sign In with Touch ID")
    page.wait_text("Waiting for the owner")


def the_first_run_asks_for_a_password_of_its_own(browser):
    with chores(browser, FINGER, registered=False) as (device, app, page):
        page.wait_text("Choose a password for Chores")
        page.pictures("chores-first-run")
        # With the keyboard alone.
        page.tab_to("New password", "textbox").send_keys(PASSWORD, Keys.ENTER)
        page.wait_text("Signed in")
        page.tab_to("New chore", "textbox").send_keys("Water the plants", Keys.ENTER)
        page.wait_text("Water the plants", "#list")
        page.tab_to("Water the plants", "checkbox").send_keys(Keys.SPACE)
        page.wait_for("li.done")
        page.tab_to("New chore", "textbox").send_keys("Buy soap", Keys.ENTER)
        page.wait_text("Buy soap", "#list")
        page.pictures("chores-signed-in")
        page.tab_to("Remove Buy soap").send_keys(Keys.ENTER)
        page.wait(lambda page: "Buy soap" not in page.text(), "the chore to be gone")
        page.tab_to("Sign Out").send_keys(Keys.ENTER)
        page.wait_text("Only the owner can change the chores")
        print(f"weight of the page: {page.weight()} bytes")


def anybody_reads_and_only_the_owner_changes(browser):
    with chores(browser, FINGER) as (device, app, page):
        page.wait_text("Water the plants", "#list")
        equal(page.find("#list input").is_enabled(), False, "the box of who is not signed in")
        check(page.named("Remove Water the plants") is None, "a chore can be removed by anybody")
        check(page.find("#title") is None, "a chore can be added by anybody")
        # Nor by asking the server past its page.
        page.driver.execute_async_script(
            "fetch('add', {method: 'POST', headers: {'Content-Type': 'application/json'},"
            " body: JSON.stringify({title: 'Sneak in'})}).then(answer => arguments[0](answer.status))")
        page.wait_text("Sign in first")
        check("Sneak in" not in page.text("#list"), "anybody added a chore")
        # The list is in the keychain, not in the process.
        page.expected = GONE
        app.stop()
        page.wait_text("does not answer")
        browser.close_pages(*GONE)
        app.start()
        page = browser.open(app.url)
        page.wait_text("Water the plants", "#list")
        page.wait_named("Sign In with Touch ID")


def a_finger_signs_in(browser):
    with chores(browser, FINGER) as (device, app, page), TerminalAgent(device):
        begin(page)
        touch(device, FINGER)
        page.wait_text("Signed in")
        add(page, "Sweep the yard")
        # What the finger released is the use of a key.
        log = device.run("log").stdout
        check(re.search(r"/chores\) +key used to sign +finger +ok", log), f"no key was used with a finger:\n{log}")


def each_way_that_an_evaluation_ends_is_told(browser):
    with chores(browser, FINGER) as (device, app, page):
        page.press("Sign In with Touch ID")
        page.wait_text("The owner cannot be asked")
        with TerminalAgent(device, "cancel"):
            page.press("Sign In with Touch ID")
            page.wait_text("You cancelled")
        with TerminalAgent(device):
            begin(page)
            page.press("Stop Waiting")
            page.wait_text("Stopped waiting")
            begin(page)
            touch(device, "nomatch", 1, times=3)
            page.wait_text("Not recognised. Try again")
            begin(page)
            touch(device, "nomatch", 1, times=2)
            page.wait_text("Unlock the device with its passcode first")
            page.press("Sign In with Touch ID")
            page.wait_text("Unlock the device with its passcode first")
        page.pictures("chores-lockout")
        device.run("device", "unlock", input="271828\n")
        with TerminalAgent(device, "fallback"):
            begin(page)
            touch(device, "nomatch", 1)
            page.wait_text("Enter the Chores password")
        # The field that the words are about has the focus.
        page.keys(PASSWORD, Keys.ENTER)
        page.wait_text("Signed in")


def a_prompt_of_another_app_waits(browser):
    with chores(browser, FINGER) as (device, app, page), TerminalAgent(device) as agent:
        begin(page)
        # Its program is read for its first prompt, and the other one's could be quicker.
        agent.wait_for("Chores")
        other = Evaluation(device)
        touch(device, FINGER)
        page.wait_text("Signed in")
        touch(device, FINGER)
        equal(other.result()[0], None, "the other app's evaluation")


def a_wrong_password_opens_nothing(browser):
    with chores(browser, FINGER) as (device, app, page):
        for _ in range(3):
            sign_in(page, "no such soap")
            page.wait_text("That is not the Chores password")
            sign_in(page, "soap")
            check(page.find("#password:invalid"), "a password of four characters was taken")
        sign_in(page)
        page.wait_text("Signed in")
        sign_out(page)
        for _ in range(4):
            sign_in(page, "no such soap")
            page.wait(lambda page: page.find("#password").get_attribute("value") == "", "the field to be emptied")
            page.wait_text("That is not the Chores password")
        # From the fourth on the device makes the app wait, whatever comes next.
        sign_in(page)
        page.wait_text("accepts no password now")


def another_finger_signs_out(browser):
    with chores(browser, FINGER) as (device, app, page), TerminalAgent(device):
        begin(page)
        touch(device, FINGER)
        page.wait_text("Signed in")
        device.run("device", "enroll", "left-thumb")
        page.wait_text("The enrolled fingers or faces have changed")
        page.pictures("chores-other-fingers")
        check(page.named("Sign In with Touch ID") is None, "a finger that nobody vouched for is offered")
        page.wait_text("Water the plants", "#list")
        # And so it stays when the finger is taken back (DS-04), and when the app was not running meanwhile.
        device.run("device", "remove", "left-thumb")
        page.expected = GONE
        app.stop()
        browser.close_pages(*GONE)
        app.start()
        page = browser.open(app.url)
        page.wait_text("The enrolled fingers or faces have changed")
        sign_in(page)
        page.wait_text("Signed in")
        add(page, "Sweep the yard")
        sign_out(page)
        begin(page)
        touch(device, FINGER)
        page.wait_text("Signed in")
        page.wait_text("Water the plants", "#list")


def two_tabs_show_the_same(browser):
    with chores(browser, FINGER) as (device, app, first), TerminalAgent(device):
        second = browser.open(app.url)
        begin(second)
        first.wait_text("Waiting for the owner")
        touch(device, FINGER)
        first.wait_text("Signed in")
        second.wait_text("Signed in")
        add(first, "Sweep the yard")
        second.wait_text("Sweep the yard", "#list")
        second.press("Remove Sweep the yard")
        first.wait(lambda page: "Sweep the yard" not in page.text(), "the chore to be gone in the other tab")


def the_daemon_is_killed_while_the_owner_is_asked(browser):
    with chores(browser, FINGER) as (device, app, page), TerminalAgent(device):
        begin(page)
        killed = device.daemons["touchstoned"]
        os.kill(killed, signal.SIGKILL)
        page.wait(lambda page: "Waiting for the owner" not in page.text(), "the page to stop waiting")
        wait_for(lambda: device.daemons.get("touchstoned", killed) != killed and device.status, "the next daemon")
        device.processes += device.daemons.values()
        # It starts as after a restart: only the passcode helps at first, and until then the chores cannot be read.
        page.driver.refresh()
        page.wait_text("Unlock it once with the passcode")
        device.run("device", "unlock", input="271828\n")
        page.wait_text("Water the plants", "#list")
        wait_for(lambda: device.status["hasAgent"], "the agent to come back")
        begin(page)
        touch(device, FINGER)
        page.wait_text("Signed in")
        # The proof went with the daemon: whoever is signed in then has to prove it again.
        os.kill(device.daemons["touchstoned"], signal.SIGKILL)
        wait_for(
            lambda: (status := device.status) and not status["wasUnlockedSinceBoot"], "the next daemon")
        device.processes += device.daemons.values()
        device.run("device", "unlock", input="271828\n")
        page.driver.refresh()
        page.type("#title", "Sneak in")
        page.press("Add")
        page.wait_text("You are signed out")
        check("Sneak in" not in page.text("#list"), "a chore was added without a proof")


def without_a_finger_or_a_passcode_the_password_is_enough(browser):
    with chores(browser, passcode=None) as (device, app, page):
        check(page.named("Sign In with Touch ID") is None, "a finger is offered where none is enrolled")
        device.set_up("271828", FINGER)
        sign_in(page)
        page.wait_text("Signed in")
        sign_out(page)
        # A finger has come since.
        page.wait_named("Sign In with Touch ID")


# Puts a list without a signature of the owner in the place of the one that is there: runs as the app itself.
FORGE = """
import base64, json, socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
def call(method, **parameters):
    connection.sendall(json.dumps({"method": "io.touchstone.Keychain." + method, "parameters": parameters}).encode() + b"\\0")
    reply = b""
    while not reply.endswith(b"\\0"): reply += connection.recv(65536)
    reply = json.loads(reply[:-1])
    if "error" in reply: sys.exit(f"{reply}")
    return reply["parameters"]
item = {"class": {"string": "genp"}, "svce": {"string": "chores"}, "acct": {"string": "list"}}
found = call("CopyMatching", query=item | {"r_Data": {"boolean": True}}, context=None)["items"][0]
kept = json.loads(base64.b64decode(found["data"]))
chores = json.loads(base64.b64decode(kept["chores"]))
chores[0]["title"] = "Give the forger your keys"
kept["chores"] = base64.b64encode(json.dumps(chores).encode()).decode()
if sys.argv[2] != "same": kept["signature"] = base64.b64encode(bytes(int(sys.argv[2]))).decode()
data = base64.b64encode(json.dumps(kept).encode()).decode()
call("Update", query=item, attributes={"v_Data": {"data": data}}, context=None)
"""


def a_list_that_the_owner_did_not_sign_is_not_shown(browser):
    """The keychain believes who runs the app's file; the signature does not."""
    with chores(browser, FINGER) as (device, app, page):
        # With the earlier list's signature, with one that nobody made, and with bytes that are not a signature.
        for signature in ("same", "64", "63", "0"):
            page.expected = GONE
            app.stop()
            browser.close_pages(*GONE)
            kept = app.program.with_suffix(".kept")
            app.program.rename(kept)
            shutil.copy(os.path.realpath("/usr/bin/python3"), app.program)
            forger = subprocess.run(
                [app.program, "-I", "-S", "-c", FORGE, device.socket, signature], capture_output=True, text=True,
                timeout=LONGEST_WAIT)
            equal(forger.returncode, 0, f"the forger: {forger.stdout}{forger.stderr}")
            kept.rename(app.program)
            app.start()
            page = browser.open(app.url)
            page.wait_text("changed by somebody who is not the owner")
            # Whoever knows the password is told the same, and does not sign what was changed.
            for password in (PASSWORD, "no such soap"):
                page.driver.execute_async_script(
                    "document.getElementById('notice').textContent = '';"
                    "fetch('sign-in', {method: 'POST', headers: {'Content-Type': 'application/json'},"
                    " body: JSON.stringify({password: arguments[0]})}).then(answer => arguments[1](answer.status))", password)
                page.wait_text("changed by somebody who is not the owner")
                check("Signed in" not in page.text(), "who signs in takes the forger's list")
            check("forger" not in page.text("#list"), "a list without the owner's signature is shown")


def who_connects_and_says_nothing_keeps_nobody_out(browser):
    with chores(browser, FINGER) as (device, app, page), contextlib.ExitStack() as stack:
        url = urllib.parse.urlsplit(app.url)
        descriptors = pathlib.Path(f"/proc/{app.process.pid}/fd")
        before = len(list(descriptors.iterdir()))
        for _ in range(100):
            stack.enter_context(contextlib.closing(socket.create_connection((url.hostname, url.port), LONGEST_WAIT)))
        wait_for(lambda: len(list(descriptors.iterdir())) > before + 50, "the connections to be taken")
        time.sleep(0.5)
        # The limit is 64. The listener may take a few more in the turn in which it reaches that.
        check(len(list(descriptors.iterdir())) <= before + 80, "more connections are taken than there may be")
        started = time.monotonic()
        equal(ask(app)[0], 200, "the page, once those who say nothing are gone")
        print(f"the page after {time.monotonic() - started:.1f} s")
        # A page that is open says nothing for longer, and stays.
        sign_in(page)
        page.wait_text("Signed in")


def ask(app, method="GET", path="", token=True, host=None, body=None, **headers):
    """(status, headers) of a request past the browser."""
    url = urllib.parse.urlsplit(app.url)
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=LONGEST_WAIT)
    connection.putrequest(method, (url.path if token else "/") + path, skip_host=True)
    for name, value in {"Host": host or url.netloc, **headers}.items():
        connection.putheader(name.replace("_", "-"), value)
    if body is not None:
        connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status, answer.headers


def nobody_else_gets_in(browser):
    with chores(browser, FINGER) as (device, app, page):
        url = urllib.parse.urlsplit(app.url)
        origin = f"http://{url.netloc}"
        json_type = "application/json"
        status, headers = ask(app)
        equal(status, 200, "the page")
        policy = headers["Content-Security-Policy"]
        check("default-src 'none'" in policy and "unsafe" not in policy and policy.endswith("frame-ancestors 'none'"), policy)
        equal(ask(app, token=False)[0], 404, "without the token")
        equal(ask(app, token=False, path="0" * 26 + "/")[0], 404, "with another token")
        for host in ("localhost", f"localhost:{url.port}", "attacker.example", f"attacker.example:{url.port}"):
            equal(ask(app, host=host)[0], 421, f"by the name {host}")
        body = b'{"title": "Sneak in"}'
        post = functools.partial(ask, app, "POST", "add", body=body)
        equal(post(Content_Type=json_type)[0], 403, "without Origin")
        for other in ("null", "http://attacker.example", "http://127.0.0.1:1", f"https://{url.netloc}"):
            equal(post(Content_Type=json_type, Origin=other)[0], 403, f"from {other}")
        equal(post(Content_Type="text/plain", Origin=origin)[0], 403, "as a form of another page sends it")
        equal(post(Content_Type=json_type, Origin=origin)[0], 204, "from the page itself")
        equal(post(Content_Type=json_type, Origin=origin, body=b'{"title": 1}')[0], 400, "what is no title")
        equal(post(Content_Type=json_type, Origin=origin, body=b"{" * 100000)[0], 400, "what is no JSON")
        # Not from any other machine.
        port = f"{url.port:04X}"
        listening = [
            line.split()[1] for file in ("tcp", "tcp6") for line in pathlib.Path(f"/proc/net/{file}").read_text().splitlines()
            if line.split()[1].endswith(f":{port}") and line.split()[3] == "0A"]
        equal(listening, [f"0100007F:{port}"], "where it listens")


with Browser(900, 1000) as browser:
    main(*[functools.partial(test, browser) for test in (
        the_first_run_asks_for_a_password_of_its_own, anybody_reads_and_only_the_owner_changes, a_finger_signs_in,
        each_way_that_an_evaluation_ends_is_told, a_prompt_of_another_app_waits,
        a_wrong_password_opens_nothing, another_finger_signs_out, two_tabs_show_the_same,
        the_daemon_is_killed_while_the_owner_is_asked, without_a_finger_or_a_passcode_the_password_is_enough,
        a_list_that_the_owner_did_not_sign_is_not_shown,
        who_connects_and_says_nothing_keeps_nobody_out, nobody_else_gets_in)])
