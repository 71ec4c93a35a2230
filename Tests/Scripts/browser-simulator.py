#!/usr/bin/env python3
"""The simulator's page in a real browser, with Chores in another tab: both served by their own programs, on real daemons."""

import contextlib
import functools
import os
import signal
import socket
import threading
import time
import urllib.parse

from browser import Browser, ChoresApp, SimulatorPage
from device import LONGEST_WAIT, Device, Evaluation, check, equal, main
from simulated import AWAY, FINGER, PASSCODE, PASSWORD, ask, miss, simulated, touch, type_passcode, with_chores
from synchronizing import Member, directory

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

# What the browser says of a stream whose server is gone.
GONE = ("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE")


def the_first_run_is_done_with_the_keyboard_alone(browser):
    with simulated(browser, enrolled=()) as (device, page):
        page.wait_test("home-note", "no passcode yet")
        page.pictures("simulator-new")
        page.tab_to("Controls", "tab").send_keys(Keys.ARROW_RIGHT)
        page.tab_to("Made of", "combobox").send_keys("Four")
        page.tab_to("New passcode", "textbox").send_keys("1618")
        page.tab_to("The new passcode again", "textbox").send_keys("1618", Keys.ENTER)
        page.wait(lambda page: page.test("settings-passcode"), "the passcode to be asked for at the door of the settings")
        equal(device.status["passcodeKind"], "fourDigit", "the passcode's kind")
        page.tab_to("Passcode", "textbox").send_keys("1618", Keys.ENTER)
        page.wait_test("finger-name")
        page.tab_to("Name of the new finger", "textbox").send_keys(FINGER, Keys.ENTER)
        page.wait_test("enrolled", FINGER)
        equal(device.run("device", "fingers").stdout.split(), [FINGER], "the enrolled fingers")
        page.pictures("simulator-settings")
        print(f"weight of the page: {page.weight()} bytes")
        with ChoresApp(device) as app:
            chores = browser.open(app.url)
            chores.tab_to("New password", "textbox").send_keys(PASSWORD, Keys.ENTER)
            chores.wait_text("Signed in")
            chores.tab_to("Sign Out").send_keys(Keys.ENTER)
            chores.wait_for("#biometrics")
            chores.tab_to("Sign In with Touch ID").send_keys(Keys.ENTER)
            page.wait_test("alert", "Touch ID for “Chores”")
            # F6 leads out of the alert, to the fingers.
            page.keys(Keys.F6)
            page.wait(
                lambda page: page.driver.switch_to.active_element.accessible_name == f"Touch with {FINGER}", "the focus on the finger")
            page.keys(Keys.ENTER)
            page.wait_gone("alert")
            chores.wait_text("Signed in")
            chores.driver.get("about:blank")


def the_fingers_are_in_sight(page):
    """With the whole alert, on a telephone and on a tablet."""
    for width, height in ((390, 844), (820, 1180), (1120, 727)):
        page.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        page.driver.execute_script("scrollTo(0, 0)")
        for name in ("alert", "finger-nomatch", f"finger-{FINGER}"):
            place = page.driver.execute_script(
                "const { top, bottom, left, right } = arguments[0].getBoundingClientRect(); return { top, bottom, left, right };", page.test(name))
            check(
                0 <= place["top"] and place["bottom"] <= height and 0 <= place["left"] and place["right"] <= width,
                f"{name} at {width} × {height}: {place}")
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def a_finger_lets_the_owner_in(browser):
    with with_chores(browser) as (device, page, chores):
        # When the alert comes into sight, by the page's own clock.
        page.driver.execute_script("""
            const alert = document.querySelector('[data-testid="alert"]');
            new MutationObserver(() => { if (!alert.hidden) window.shownAt ??= Date.now(); })
              .observe(alert, {attributes: true, attributeFilter: ["hidden"]});""")
        asked = chores.driver.execute_script("const asked = Date.now(); document.getElementById('biometrics').click(); return asked;")
        page.wait_test("alert", "Touch ID for “Chores”")
        print(f"from the click in Chores to the alert: {page.driver.execute_script('return window.shownAt') - asked} ms")
        page.wait_test("alert-reason", "change the chores")
        check(page.test("alert-fallback") is None, "the fallback is offered before a miss (EV-15)")
        page.wait(lambda page: page.driver.title.startswith("Asked by Chores"), "the tab to say who asks")
        the_fingers_are_in_sight(page)
        page.pictures("simulator-alert")
        touch(page)
        page.wait_gone("alert")
        page.wait(lambda page: "Asked by" not in page.driver.title, "the tab to say that nobody asks")
        page.wait_test("outcome", "Recognised")
        chores.wait_text("Signed in")
        # The page goes on to the next.
        chores.press("Sign Out")
        ask(chores, page)
        touch(page)
        chores.wait_text("Signed in")


def the_app_stands_beside_the_device(browser):
    """On one page with one address, at every width; its icon opens it, and it reaches nothing of the device's page."""
    with Device() as device:
        device.set_up(PASSCODE, FINGER)
        with ChoresApp(device, framed=True) as app, SimulatorPage(device, app) as simulator, browser.open(simulator.url) as page:
            # axe asks the frame, which is of another origin, whether it is there too.
            page.expected = ("'postMessage'",)
            page.wait_test("connection", "Connected, unlocked")
            page.wait_test("app-pane", "Chores")
            with page.frame():
                page.type("#new-password", PASSWORD)
                page.press("Begin")
                page.wait_text("Signed in")
                page.press("Sign Out")
                page.click_by("#biometrics")
            page.wait_test("alert", "Touch ID for “Chores”")
            page.wait_test("connection", "asking for Chores")
            focused = page.driver.execute_script("return document.activeElement.dataset.testid")
            equal(focused, "alert", "the focus while the app waits")
            for width, height, columns in ((1600, 900, 3), (1100, 900, 2), (820, 1180, 1), (390, 844, 1)):
                page.driver.execute_cdp_cmd(
                    "Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
                places = page.driver.execute_script("""
                    const place = (selector) => document.querySelector(selector).getBoundingClientRect().toJSON();
                    return [place(".stage"), place(".app-pane"), place(".panel"), document.documentElement.scrollWidth];""")
                device_place, app_place, panel_place, whole = places
                check(whole <= width, f"the page is {whole} wide at {width}")
                beside = app_place["left"] >= device_place["right"]
                equal(beside, columns > 1, f"whether the app stands beside the device at {width}: {places}")
                equal(panel_place["left"] >= app_place["right"], columns == 3, f"whether the views stand beside the app at {width}")
                if columns == 1:
                    check(device_place["bottom"] <= app_place["top"] <= panel_place["top"], f"the order at {width}: {places}")
                page.pictures(f"simulator-beside-{width}")
            page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
            the_fingers_are_in_sight(page)
            touch(page)
            page.wait_gone("alert")
            with page.frame():
                page.wait_text("Signed in")
            # Its icon brings it into sight and gives it the keyboard.
            page.wait_test("home-apps", "Chores")
            equal(len(page.driver.find_elements(By.CSS_SELECTOR, '[data-testid="home-apps"] .app-icon')), 2, "icons: the settings, Chores")
            page.click_by('[data-testid^="home-app-"]')
            page.wait(lambda page: page.driver.execute_script("return document.activeElement.tagName") == "IFRAME", "the app to have the keyboard")
            # What is in the frame is another origin.
            with page.frame():
                reached = page.driver.execute_script("try { return window.parent.document.title; } catch (error) { return error.name; }")
                equal(reached, "SecurityError", "what the app reaches of the page around it")
            page.click("lock")
            page.wait_test("connection", "Connected, locked")
            page.driver.get("about:blank")


def two_devices_stand_side_by_side(browser):
    """SY: on one page with one address, each with its own controls; an item that one of them gets appears on the other."""
    with Member("left") as left, Member("right", beside=left) as right, directory() as store:
        left.found(store)
        left.start()
        right.join(store, left)
        right.start()
        with SimulatorPage(left, beside=right) as simulator, browser.open(simulator.url) as page:
            page.wait(lambda page: page.driver.title == "left – right – Touchstone simulator", "the tab's title")
            frames = {device: f'[data-testid="{device.name}"]' for device in (left, right)}
            for device, frame in frames.items():
                page.wait(
                    lambda page, device=device, frame=frame: page.find(frame).get_attribute("title").startswith(device.name),
                    "the frame to be named by its device")
                with page.frame(frame):
                    page.wait_test("connection", "Connected, unlocked")
                    page.wait_test("device-name", device.name)
                    page.click("tab-inspector")
            left.add("wifi", "no secret")
            # The only item here that is not of one device alone.
            shared = "also from a backup"
            for frame in frames.values():
                with page.frame(frame):
                    page.wait_test("items", shared)
            page.pictures("simulator-two")
            with page.frame(frames[right]):
                page.click("tab-controls")
                page.click("lock")
                page.wait_test("lock-screen")
            equal([device.status["isLocked"] for device in frames], [False, True], "which of them was locked")
            with page.frame(frames[right]):
                page.wait_test("passcode-field").send_keys(PASSCODE, Keys.ENTER)
                page.wait_test("home-screen")
            left.delete("wifi")
            with page.frame(frames[right]):
                page.click("tab-inspector")
                page.wait(lambda page: shared not in page.text("#inspector"), "the item to go")
            page.driver.get("about:blank")


def an_app_that_was_not_framed_is_shown_by_nobody(browser):
    with Device() as device:
        device.set_up(PASSCODE, FINGER)
        with ChoresApp(device) as app, SimulatorPage(device, app) as simulator, browser.open(simulator.url) as page:
            page.expected = ("frame-ancestors", "Framing", "ERR_BLOCKED_BY_RESPONSE")
            page.wait_test("connection", "Connected")
            page.wait_test("app-pane")
            with page.frame():
                check(page.find("#new-password") is None, "another page shows it")
            page.driver.get("about:blank")
        with SimulatorPage(device) as simulator, browser.open(simulator.url) as page:
            page.wait_test("connection", "Connected")
            check(page.test("app-pane") is None, "there is room for an app that nobody named")
            page.driver.get("about:blank")


def three_misses_end_it_and_the_fallback_is_the_app_s(browser):
    with with_chores(browser) as (device, page, chores):
        ask(chores, page)
        miss(page, 1)
        page.wait_test("alert-fallback", "Use Chores Password")
        page.pictures("simulator-miss")
        miss(page, 2)
        touch(page, "nomatch")
        page.wait_gone("alert")
        chores.wait_text("Not recognised. Try again")
        ask(chores, page)
        miss(page, 1)
        page.click("alert-fallback")
        page.wait_gone("alert")
        chores.wait_text("Enter the Chores password")
        chores.type("#password", PASSWORD)
        chores.press("Sign In")
        chores.wait_text("Signed in")


def after_five_misses_only_the_passcode_helps(browser):
    with with_chores(browser) as (device, page, chores):
        ask(chores, page)
        for count in (1, 2):
            miss(page, count)
        touch(page, "nomatch")
        page.wait_gone("alert")
        ask(chores, page)
        miss(page, 1)
        touch(page, "nomatch")
        page.wait_gone("alert")
        chores.wait_text("Unlock the device with its passcode first")
        page.click("lock")
        page.wait_test("lock-hint", "Your passcode is required")
        page.pictures("simulator-lock-screen")
        type_passcode(page, "000000")
        page.wait_test("passcode-message", "Wrong passcode")
        type_passcode(page)
        page.wait_test("home-screen")
        ask(chores, page)
        touch(page)
        chores.wait_text("Signed in")


def the_owner_cancels(browser):
    with with_chores(browser) as (device, page, chores):
        ask(chores, page)
        page.click("alert-cancel")
        page.wait_gone("alert")
        chores.wait_text("You cancelled")
        ask(chores, page)
        page.keys(Keys.ESCAPE)
        page.wait_gone("alert")
        chores.wait_text("You cancelled")
        # And the app does.
        ask(chores, page)
        chores.press("Stop Waiting")
        page.wait_gone("alert")
        chores.wait_text("Stopped waiting")


def another_finger_signs_out(browser):
    with with_chores(browser) as (device, page, chores):
        ask(chores, page)
        touch(page)
        chores.wait_text("Signed in")
        page.click("tab-settings")
        page.wait_test("settings-passcode").send_keys(PASSCODE, Keys.ENTER)
        page.wait_test("finger-name").send_keys("left-thumb", Keys.ENTER)
        page.wait_test("enrolled", "left-thumb")
        chores.wait_text("The enrolled fingers or faces have changed")
        check(chores.find("#biometrics") is None, "a finger that nobody vouched for is offered")
        chores.type("#password", PASSWORD)
        chores.press("Sign In")
        chores.wait_text("Signed in")
        chores.press("Sign Out")
        page.click("tab-controls")
        ask(chores, page)
        touch(page, "left-thumb")
        chores.wait_text("Signed in")


def who_denies_face_id_is_not_looked_at(browser):
    with with_chores(browser, "faceid", ["my-face"]) as (device, page, chores):
        equal(chores.text("#biometrics"), "Sign In with Face ID", "the button")
        ask(chores, page, "Do you want to allow “Chores” to use Face ID?")
        page.wait_test("alert-reason", "See that it is you")
        page.pictures("simulator-face-id-permission")
        page.click("alert-deny")
        page.wait_gone("alert")
        chores.wait_text("Chores may not use the sensor")
        # Nor is anybody asked again.
        chores.click_by("#biometrics")
        chores.wait_text("Chores may not use the sensor")
        check(page.test("alert") is None, "the owner is asked again")
        # The settings take it back.
        page.click("tab-settings")
        page.wait_test("settings-passcode").send_keys(PASSCODE, Keys.ENTER)
        page.wait_test("permissions").find_element(By.CSS_SELECTOR, '[role="switch"]').click()
        page.wait(
            lambda page: page.find('[data-testid="permissions"] [aria-checked="true"]'), "the permission to be given")
        page.click("tab-controls")
        chores.click_by("#biometrics")
        page.wait_test("face-indicator")
        page.click("finger-nomatch")
        page.wait_test("alert", "Face Not Recognised")
        page.pictures("simulator-face-retry")
        page.click("finger-my-face")
        page.click("alert-retry")
        chores.wait_text("Signed in")


def the_daemon_is_killed_while_the_alert_is_up(browser):
    with with_chores(browser) as (device, page, chores):
        page.expected = AWAY
        ask(chores, page)
        killed = device.daemons["touchstoned"]
        os.kill(killed, signal.SIGKILL)
        page.wait_gone("alert")
        chores.wait(lambda page: "Waiting for the owner" not in page.text(), "Chores to stop waiting")
        # The supervisor starts the next, which wants the passcode as after a restart.
        page.wait_test("lock-hint", "when the device restarts")
        page.wait_test("connection", "Connected")
        device.processes += device.daemons.values()
        check(device.daemons["touchstoned"] != killed, "the daemon is the same")
        type_passcode(page)
        page.wait_test("home-screen")
        chores.wait_for("#biometrics")
        ask(chores, page)
        touch(page)
        chores.wait_text("Signed in")


def two_tabs_show_one_alert(browser):
    with with_chores(browser) as (device, page, chores):
        other = browser.open(page.url)
        other.wait_test("connection", "Connected")
        ask(chores, page)
        other.wait_test("alert", "Touch ID for “Chores”")
        other.click("alert-cancel")
        page.wait_gone("alert")
        other.wait_gone("alert")
        chores.wait_text("You cancelled")
        # One tab is enough.
        ask(chores, page)
        other.driver.close()
        touch(page)
        chores.wait_text("Signed in")


def what_is_typed_for_one_app_is_not_another_s(browser):
    with simulated(browser, enrolled=()) as (device, page):
        device.run("device", "passcode", "set", "--kind", "six-digit", input=f"{PASSCODE}\n")
        first = Evaluation(device, policy=2)
        page.wait_test("alert", "Enter the device’s passcode")
        type_passcode(page, "000000")
        page.wait_test("passcode-message", "Wrong passcode")
        # What the alert takes at the moment at which it is another app's.
        page.driver.execute_script("""
            const alert = document.querySelector('[data-testid="alert"]');
            new MutationObserver(() => {
              window.isOpenAtOnce ??= alert.querySelector('[data-testid="key-1"]').getAttribute("aria-disabled") !== "true";
            }).observe(alert, {attributes: true, attributeFilter: ["data-prompt"]});""")
        other = Evaluation(device, policy=2)
        equal(first.result()[1]["code"], -4, "the evaluation whose place was taken")
        page.wait(lambda page: page.driver.execute_script("return window.isOpenAtOnce") is not None, "the other app's alert")
        equal(page.driver.execute_script("return window.isOpenAtOnce"), False, "the keys when the other app's alert comes")
        type_passcode(page)
        equal(other.result()[0], None, "the other evaluation")


class Listener:
    """Has a port of this machine, keeps all that is sent there, and passes it on as long as there is a server behind it."""

    def __init__(self, port=0, server=None):
        self.received, self.server, self.connections = bytearray(), server, 0
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(("127.0.0.1", port))
        self.socket.listen()
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.socket.accept()
                self.connections += 1
                threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, near):
        far = None
        if self.server:
            far = socket.create_connection(("127.0.0.1", self.server))
            threading.Thread(target=self.answer, args=(far, near), daemon=True).start()
        # Its own end is not passed on: a stream whose server is gone stays open, as long as an impostor likes.
        with contextlib.suppress(OSError):
            while data := near.recv(1 << 16):
                self.received += data
                if far and self.server:
                    far.sendall(data.replace(f"127.0.0.1:{self.port}".encode(), f"127.0.0.1:{self.server}".encode()))
                else:
                    near.sendall(
                        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 17\r\n\r\n" + b'{"parameters":{}}')

    @staticmethod
    def answer(far, near):
        with contextlib.suppress(OSError):
            while data := far.recv(1 << 16):
                near.sendall(data)


def is_quiet(page):
    """Whether no call was under way for a second."""
    def looked():
        time.sleep(0.1)
        return page.driver.execute_script("return window.underWay")
    return not any(looked() for _ in range(10))


def who_takes_the_port_of_a_page_that_ended_is_told_nothing(browser):
    with simulated(browser, enrolled=()) as (device, page):
        page.driver.execute_script("""
            const { fetch } = window;
            window.underWay = 0;
            window.fetch = (...request) => {
              window.underWay += 1;
              return fetch(...request).finally(() => window.underWay -= 1);
            };""")
        device.run("device", "passcode", "set", input="more soap and water\n")
        page.expected = GONE
        page.click("lock")
        page.click("lock-enter-passcode") if page.test("lock-enter-passcode") else None
        page.wait_test("passcode-field").send_keys("more soap")
        page.driver.execute_script("window.field = document.querySelector('[data-testid=\"passcode-field\"]')")
        port = urllib.parse.urlsplit(page.url).port
        # The browser sends a call that is under way once more, to whoever has the port then.
        page.wait(is_quiet, "the page's calls to end")
        page.stop()
        with Listener(port) as impostor:
            page.wait_test("ended", "This page has ended")
            equal(page.driver.execute_script("return window.field.value"), "", "what was typed into the field that is gone")
            equal(page.text('[data-testid="connection"]'), "Ended", "the connection")
            check(page.find("input") is None and page.find("main button") is None, "something can still be typed or pressed")
            page.keys(" and water", Keys.ENTER)
            # Nor does what of the page still runs send anything, also not to who answers as it would be answered.
            said = page.driver.execute_async_script("""
                const [done] = arguments;
                import(new URL("device.js", location.href)).then(async ({ call, enter }) => {
                  const typed = new TextEncoder().encode("more soap and water");
                  const ends = [];
                  for (const action of [() => enter("unlock", typed), () => call("Device.Enroll", { finger: "more soap" })])
                    await action().then(() => ends.push("done"), (error) => ends.push(error.message));
                  ends.push(typed.every((byte) => byte === 0));
                  done(ends);
                });""")
            equal(said, ["the device does not answer", "the device does not answer", True], "what became of it")
            # Longer than a stream that opens itself again would take.
            time.sleep(4)
            equal(bytes(impostor.received), b"", "what the impostor was sent")
            # It does answer whoever asks.
            with socket.create_connection(("127.0.0.1", port), LONGEST_WAIT) as connection:
                connection.sendall(b"x")
                check(connection.recv(9) == b"HTTP/1.1 ", "the impostor's answer")
            equal(bytes(impostor.received), b"x", "what it was sent by us")
        page.pictures("simulator-ended")


def what_is_typed_crosses_sealed(browser):
    """As the port may change hands between the last word of the server and the next of the page, which cannot see it."""
    with simulated(browser, enrolled=()) as (device, page):
        device.run("device", "passcode", "set", "--kind", "six-digit", input=f"{PASSCODE}\n")
        url = urllib.parse.urlsplit(page.url)
        with Listener(server=url.port) as listener:
            # The same page by way of the listener, which the server cannot tell from the browser.
            through = browser.open(page.url.replace(f":{url.port}/", f":{listener.port}/"))
            through.wait_test("connection", "Connected")
            through.click("lock")
            through.wait_test("lock-screen")
            type_passcode(through)
            through.wait_test("home-screen")
            check(b"/passcode/unlock" in listener.received, "the passcode came by the listener")
            check(PASSCODE.encode() not in listener.received, "the passcode is in what it was sent")
            through.click("lock")
            through.wait_test("lock-screen")
            listener.server = None
            del listener.received[:]
            type_passcode(through)
            through.wait(lambda _: b"/passcode/unlock" in listener.received, "the passcode to be sent to the impostor")
            check(PASSCODE.encode() not in listener.received, "the passcode is in what the impostor was sent")
            check(device.status["isLocked"], "the impostor opened the device")
            through.driver.get("about:blank")


with Browser(1280, 960) as browser:
    main(*[functools.partial(test, browser) for test in (
        the_first_run_is_done_with_the_keyboard_alone, a_finger_lets_the_owner_in,
        the_app_stands_beside_the_device, two_devices_stand_side_by_side, an_app_that_was_not_framed_is_shown_by_nobody,
        three_misses_end_it_and_the_fallback_is_the_app_s, after_five_misses_only_the_passcode_helps, the_owner_cancels,
        another_finger_signs_out, who_denies_face_id_is_not_looked_at, the_daemon_is_killed_while_the_alert_is_up,
        two_tabs_show_one_alert, what_is_typed_for_one_app_is_not_another_s,
        who_takes_the_port_of_a_page_that_ended_is_told_nothing, what_is_typed_crosses_sealed)])
