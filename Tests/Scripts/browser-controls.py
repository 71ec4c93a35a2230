#!/usr/bin/env python3
"""What stands beside the device in the simulator's page, in a real browser: fingers and faces, keys, apps, clock and settings."""

import functools
import http.server
import threading

from browser import Browser, SimulatorPage
from device import LONGEST_WAIT, Evaluation, call, check, equal, main, wait_for
from reader import Reader, with_reader
from simulated import AWAY, FINGER, PASSCODE, ask, miss, open_settings, simulated, touch, type_passcode, with_chores

from selenium.webdriver.common.keys import Keys


def press_digits(page, passcode):
    """With the keyboard, once the pad takes digits."""
    page.wait(
        lambda page: (key := page.test("key-1")) and key.get_attribute("aria-disabled") != "true", "the digits to be taken")
    page.test("key-1").send_keys(passcode)


def wait_state(page, state):
    page.wait_for(f'[data-testid="screen"][data-state="{state}"]')


def a_finger_or_the_passcode_unlocks(browser):
    with simulated(browser, enrolled=(FINGER, "left-thumb")) as (device, page):
        page.expected = AWAY
        page.click("lock")
        page.wait_test("lock-hint", "Touch the sensor, or enter the passcode.")
        page.pictures("simulator-lock")
        touch(page, "nomatch")
        page.wait_test("outcome", "Not recognised")
        wait_state(page, "locked")
        # Each finger that is enrolled is as good.
        touch(page, "left-thumb")
        page.wait_test("outcome", "Unlocked")
        wait_state(page, "home")
        page.click("lock")
        page.click("lock-enter-passcode")
        press_digits(page, PASSCODE)
        wait_state(page, "home")
        page.click("lock-passcode")
        wait_state(page, "locked")
        touch(page)
        page.wait_test("outcome", "passcode is required")
        press_digits(page, PASSCODE)
        wait_state(page, "home")
        page.click("reboot")
        # The first status after it; the dark screen before it may be too short to be seen.
        page.wait_test("lock-hint", "when the device restarts")
        # Not that it is about to.
        page.wait_test("outcome", "The device has restarted.")
        touch(page)
        page.wait_test("outcome", "passcode is required")
        press_digits(page, PASSCODE)
        wait_state(page, "home")
        device.processes += device.daemons.values()
        check(device.status["wasUnlockedSinceBoot"], "the device was not restarted")


def shows_the_device_s_clock(page, ahead):
    """On the lock screen, by the page's own words for a time."""
    page.wait(lambda page: page.driver.execute_script("""
        const now = new Date(Date.now() + arguments[0] * 1000);
        return document.querySelector(".lock-screen .time").textContent
          === now.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });""", ahead), "the device's time on its screen")


def the_clock_goes_on(browser):
    """PC-20: after 48 hours only the passcode helps; PC-01: delays after wrong ones."""
    with simulated(browser) as (device, page):
        page.click("lock")
        page.wait_test("outcome", "Locked.")
        page.click("clock-3600")
        page.wait_test("outcome", "moved on by 1 hour")
        page.wait_test("clock-ahead", "1 hour ahead")
        shows_the_device_s_clock(page, 3600)
        # Also where another program moved it.
        device.run("device", "advance-clock", "5400")
        page.wait_test("clock-ahead", "2 hours 30 minutes ahead")
        shows_the_device_s_clock(page, 9000)
        touch(page)
        wait_state(page, "home")
        page.click("lock")
        page.wait_test("outcome", "Locked.")
        page.click("clock-172800")
        page.wait_test("outcome", "moved on by 48 hours")
        touch(page)
        page.wait_test("outcome", "passcode is required")
        page.wait_test("lock-hint", "Your passcode is required")
        # Other ones: the same again does not count (PC-02).
        for wrong in range(4):
            press_digits(page, f"00000{wrong}")
            page.wait(lambda page: device.status["passcodeFailures"] == wrong + 1, "the wrong passcode to be counted")
        page.wait_test("passcode-message", "Wrong passcode. Try again in ")
        page.pictures("simulator-delay")
        page.click("clock-60")
        press_digits(page, PASSCODE)
        wait_state(page, "home")


def what_cannot_work_is_disabled_and_says_why(browser):
    with simulated(browser, enrolled=()) as (device, page):
        page.wait_test("lock-note", "without a passcode cannot be locked")
        page.wait(lambda page: page.test("lock").get_attribute("aria-disabled") == "true", "the lock to be disabled")
        page.test("lock").click()
        page.wait_test("outcome", "without a passcode cannot be locked")
        equal(device.status["isLocked"], False, "the device is locked")
        device.run("device", "passcode", "set", "--kind", "six-digit", input=f"{PASSCODE}\n")
        page.wait_gone("lock-note")
        page.click("lock")
        wait_state(page, "locked")
        page.wait_test("connection", "Connected, locked")


def an_app_in_the_background_asks_nobody(browser):
    with with_chores(browser) as (device, page, chores):
        ask(chores, page)
        # By the name of its manifest from now on.
        page.wait_test("apps", "Chores")
        page.wait_test("home-apps", "Chores")
        # Also on a page that is reloaded, which is shown no prompt.
        touch(page)
        page.wait_gone("alert")
        chores.wait_text("Signed in")
        chores.press("Sign Out")
        page.driver.refresh()
        page.wait_test("apps", "Chores")
        page.wait_test("home-apps", "Chores")
        ask(chores, page)
        background = '[data-testid^="move-"]'
        page.wait_text("Send to background", background)
        page.click_by(background)
        page.wait_gone("alert")
        chores.wait_text("Something else came first")
        chores.click_by("#biometrics")
        chores.wait_text("Chores is in the background")
        check(page.test("alert") is None, "an app in the background asks")
        # Its icon on the home screen brings it to the front.
        page.click_by('[data-testid^="home-app-"].is-background')
        page.wait_text("Send to background", background)
        ask(chores, page)
        touch(page)
        chores.wait_text("Signed in")


def an_unplugged_sensor_asks_nobody(browser):
    with with_chores(browser) as (device, page, chores):
        ask(chores, page)
        page.click("sensor-connection")
        page.wait_gone("alert")
        chores.wait_text("Chores may not use the sensor, or there is no sensor")
        equal(device.status["sensor"]["problem"], "noReader", "what is wrong with the sensor")
        page.wait_test("hands-note", "The sensor is unplugged")
        page.wait(lambda page: page.test("finger-nomatch").get_attribute("aria-disabled") == "true", "the fingers to be disabled")
        page.test("finger-nomatch").click()
        page.wait_test("outcome", "The sensor is unplugged")
        page.click("lock")
        page.wait_test("lock-hint", "Enter the passcode.")
        press_digits(page, PASSCODE)
        wait_state(page, "home")
        page.wait_text("Plug the sensor in", '[data-testid="sensor-connection"]')
        page.click("sensor-connection")
        page.wait_text("Unplug the sensor", '[data-testid="sensor-connection"]')
        chores.driver.refresh()
        ask(chores, page)
        touch(page)
        chores.wait_text("Signed in")


def the_passcode_is_entered_in_the_alert(browser):
    """EV-15, EV-17: after a miss the device's own fallback leads to its passcode."""
    with simulated(browser) as (device, page):
        evaluation = Evaluation(device, policy=2, reason="open the test")
        page.wait_test("alert-reason", "open the test")
        miss(page, 1)
        page.wait_test("alert-fallback", "Enter Passcode")
        page.click("alert-fallback")
        page.wait_test("alert-title", "passcode")
        page.wait_test("passcode-dots")
        page.pictures("simulator-passcode")
        press_digits(page, "000000")
        page.wait_test("passcode-message", "Wrong passcode")
        type_passcode(page)
        page.wait_gone("alert")
        equal(evaluation.result()[0], None, "the evaluation")
        # One of letters is typed into a field.
        open_settings(page)
        page.click("fold-change")
        page.wait_test("passcode-old").send_keys(PASSCODE)
        page.wait_test("passcode-kind").send_keys("Letters")
        page.wait_test("passcode-new").send_keys("pass wörd")
        page.wait_test("passcode-again").send_keys("pass wörd", Keys.ENTER)
        page.wait_test("settings-message", "The passcode is changed")
        evaluation = Evaluation(device, policy=2)
        page.wait_test("alert")
        page.click("tab-controls")
        miss(page, 1)
        page.click("alert-fallback")
        page.wait_test("passcode-field").send_keys("pass wörd", Keys.ENTER)
        page.wait_gone("alert")
        equal(evaluation.result()[0], None, "the evaluation")


def the_password_of_an_app_is_entered_in_the_alert(browser):
    """EV-61"""
    with simulated(browser) as (device, page):
        connection = device.connect()
        _, reply = call(connection, "Authentication.CreateContext")
        answers = []

        def run():
            answers.append(call(
                connection, "Authentication.EvaluateAccessControl", context=reply["context"], operation=0,
                accessControl={"protection": "ak", "flags": 1 << 31},
                options={"reason": "keep it", "reuseDuration": 0.0, "interactionNotAllowed": False}))

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        page.wait_test("alert", "not the device’s passcode")
        page.pictures("simulator-app-password")
        page.wait_test("passcode-field").send_keys("open sesame", Keys.ENTER)
        page.wait_gone("alert")
        thread.join(LONGEST_WAIT)
        equal([answer[0] for answer in answers], [None], "the evaluation")


def settings_change_what_the_passcode_allows(browser):
    with simulated(browser) as (device, page):
        page.click("tab-settings")
        page.wait_test("settings-passcode").send_keys("000000", Keys.ENTER)
        page.wait_test("settings-message", "Wrong passcode")
        check(page.test("enroll") is None, "the settings open with a wrong passcode")
        page.test("settings-passcode").send_keys(PASSCODE, Keys.ENTER)
        page.wait_test("enroll")
        # Who leaves is asked again.
        page.click("tab-controls")
        open_settings(page)
        page.wait_test("finger-name").send_keys("left-thumb", Keys.ENTER)
        page.wait_test("enrolled-left-thumb")
        page.test("finger-name").send_keys("left-thumb", Keys.ENTER)
        page.wait_test("settings-message", "is already enrolled")
        page.click(f"remove-{FINGER}")
        page.wait_gone(f"enrolled-{FINGER}")
        equal(device.run("device", "fingers").stdout.split(), ["left-thumb"], "the enrolled fingers")
        # Each change of the passcode wants the one that there is.
        page.click("fold-change")
        page.wait_test("passcode-old").send_keys("000000")
        page.wait_test("passcode-kind").send_keys("Four")
        page.wait_test("passcode-new").send_keys("1618")
        page.wait_test("passcode-again").send_keys("1619", Keys.ENTER)
        page.wait_test("settings-message", "differ")
        page.wait_test("passcode-old").send_keys("000001")
        page.wait_test("passcode-new").send_keys("1618")
        page.wait_test("passcode-again").send_keys("1618", Keys.ENTER)
        page.wait_test("settings-message", "Wrong passcode")
        equal(device.status["passcodeKind"], "sixDigit", "the passcode's kind")
        page.wait_test("passcode-old").send_keys(PASSCODE)
        page.wait_test("passcode-new").send_keys("1618")
        page.wait_test("passcode-again").send_keys("1618", Keys.ENTER)
        page.wait_test("settings-message", "The passcode is changed")
        equal(device.status["passcodeKind"], "fourDigit", "the passcode's kind")
        page.click("fold-remove")
        page.wait_test("passcode-remove").send_keys("1618", Keys.ENTER)
        page.wait_test("settings-message", "The passcode is off")
        equal(device.status["isPasscodeSet"], False, "the passcode")


def ten_wrong_passcodes_erase_the_device(browser):
    """PC-02, with the clock's help against the delays."""
    with simulated(browser) as (device, page):
        open_settings(page)
        page.click("fold-erase")
        page.wait_test("erase-passcode").send_keys(PASSCODE, Keys.ENTER)
        page.wait_test("erase-state", "On:")
        page.click("tab-controls")
        page.click("lock-passcode")
        wait_state(page, "locked")
        for wrong in range(10):
            press_digits(page, f"00000{wrong}")
            page.wait(
                lambda page: (status := device.status) and (status["wasErased"] or status["passcodeFailures"] == wrong + 1),
                f"wrong passcode {wrong + 1} to be counted")
            if 3 <= wrong < 9:
                page.wait_test("passcode-message", "Wrong passcode. Try again in")
                page.click("clock-28800")
        page.wait_test("home-note", "was erased")
        equal(device.status["isPasscodeSet"], False, "the passcode")
        equal(device.run("device", "fingers").stdout, "", "the enrolled fingers")


def who_looks_away_is_waited_for(browser):
    """EV-16: with Face ID there is an indicator, one second look, and then the app's fallback."""
    with with_chores(browser, "faceid", ["my-face", "glasses"]) as (device, page, chores):
        chores.click_by("#biometrics")
        page.click("alert-allow")
        page.wait_test("face-indicator")
        page.pictures("simulator-face-indicator")
        check(page.test("alert") is None, "there is an alert while Face ID looks")
        touch(page, "glasses")
        chores.wait_text("Signed in")
        # Who looks goes on looking, until they look away.
        chores.press("Sign Out")
        chores.click_by("#biometrics")
        chores.wait_text("Signed in")
        page.click("look-away")
        chores.press("Sign Out")
        chores.click_by("#biometrics")
        page.wait_test("face-indicator")
        touch(page, "nomatch")
        page.wait_test("alert-title", "Face Not Recognised")
        page.click("alert-retry")
        page.wait_test("alert-fallback", "Use Chores Password")
        page.pictures("simulator-face-fallback")
        page.click("alert-fallback")
        chores.wait_text("Enter the Chores password")
        # An app that is to ask again does.
        page.click("look-away")
        open_settings(page)
        page.click_by('[data-testid^="permission-forget-"]')
        page.wait_test("settings-message", "is asked again")
        page.click("tab-controls")
        ask(chores, page, "Do you want to allow “Chores” to use Face ID?")
        page.click("alert-deny")
        chores.wait_text("Chores may not use the sensor")


def a_real_reader_is_touched_by_hand(browser):
    """The page shows its prompts, what the reader asks for too, and has no fingers for it."""
    with Reader() as reader, with_reader(reader) as device:
        device.run("device", "passcode", "set", "--kind", "six-digit", input=f"{PASSCODE}\n")
        reader.enroll("right-index-finger", "A", device)
        with SimulatorPage(device) as simulator, browser.open(simulator.url) as page:
            page.wait_test("controls", "Its sensor is real: Virtual device")
            for control in ("finger-right-index-finger", "finger-nomatch", "sensor-connection"):
                check(page.test(control) is None, f"{control} is there for a real reader")
            evaluation = Evaluation(device)
            page.wait_test("alert")
            wait_for(lambda: reader.tell("RETRY 0"), "the reader to be opened")
            page.wait_test("alert-message", "Not read. Touch the sensor once more")
            reader.touch("B")
            page.wait_test("alert-message", "Not recognised")
            reader.touch("A")
            page.wait_gone("alert")
            equal(evaluation.result()[0], None, "the evaluation")
            open_settings(page)
            page.wait_test("enrolled-elsewhere", "Use its own programs to add and remove")
            check(page.test("enroll") is None, "the page enrols a real finger")


# What another site would try, were it told the page's address. Each ends as a word in the page's text.
HOSTILE = """<!doctype html><title>elsewhere</title><pre id="said"></pre><script type="module">
const page = "PAGE", call = page + "call/io.touchstone.Device.Lock";
const say = (name, word) => document.getElementById("said").textContent += `${name}: ${word}\\n`;
const send = async (name, url, options) => {
  try { say(name, (await fetch(url, options)).type === "opaque" ? "sent" : "read"); } catch { say(name, "refused"); }
};
await send("json", call, {method: "POST", headers: {"Content-Type": "application/json"}, body: "{}"});
await send("text", call, {method: "POST", headers: {"Content-Type": "text/plain"}, body: "{}"});
await send("opaque", call, {method: "POST", mode: "no-cors", body: "{}"});
await send("page", page, {});
await new Promise((done) => {
  const events = new EventSource(page + "events");
  events.onopen = () => { say("events", "read"); done(); };
  events.onerror = () => { events.close(); say("events", "refused"); done(); };
});
for (const [name, kind, attribute] of [["script", "script", "src"], ["picture", "img", "src"], ["style", "link", "href"]]) {
  await new Promise((done) => {
    const made = Object.assign(document.createElement(kind), {rel: "stylesheet"});
    made.onload = () => { say(name, "read"); done(); };
    made.onerror = () => { say(name, "refused"); done(); };
    made[attribute] = page + {script: "words.js", picture: "icon.svg", style: "style.css"}[name];
    document.body.append(made);
  });
}
const frame = Object.assign(document.createElement("iframe"), {name: "frame"});
document.body.append(frame);
await new Promise((done) => { frame.onload = done; frame.src = page; });
const form = Object.assign(document.createElement("form"), {method: "post", action: call, target: "frame", enctype: "text/plain"});
form.innerHTML = '<input name="{" value="}">';
document.body.append(form);
await new Promise((done) => { frame.onload = done; form.submit(); });
say("all", "done");
</script>"""


def another_site_does_nothing(browser):
    """Not even one that was told the address, which no site can guess."""
    with simulated(browser) as (device, page):
        page.expected = ("",)
        page.driver.get("about:blank")
        wait_for(lambda: not device.status["hasAgent"], "the page to be no agent any more")

        class Elsewhere(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(HOSTILE.replace("PAGE", page.url).encode())

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            page.driver.get(f"http://127.0.0.1:{server.server_port}/")
            page.wait_text("all: done")
            said = dict(line.split(": ") for line in page.text("#said").splitlines())
            equal(said.pop("all"), "done", "the end")
            equal(
                said, dict.fromkeys(("json", "text", "opaque", "page", "events", "script", "picture", "style"), "refused"),
                "what the other site was let do")
            status = device.status
            equal((status["isLocked"], status["hasAgent"]), (False, False), "the device is locked, has an agent")
        finally:
            server.shutdown()
            server.server_close()


with Browser(1280, 960) as browser:
    main(*[functools.partial(test, browser) for test in (
        a_finger_or_the_passcode_unlocks, the_clock_goes_on, what_cannot_work_is_disabled_and_says_why, an_app_in_the_background_asks_nobody,
        an_unplugged_sensor_asks_nobody, the_passcode_is_entered_in_the_alert, the_password_of_an_app_is_entered_in_the_alert,
        settings_change_what_the_passcode_allows, ten_wrong_passcodes_erase_the_device, who_looks_away_is_waited_for,
        a_real_reader_is_touched_by_hand, another_site_does_nothing)])
