"""Devices that are shown by the simulator's page, for the tests in this directory that look at it in a browser; no test itself."""

import contextlib

from browser import ChoresApp, SimulatorPage
from device import Device

from selenium.webdriver.common.keys import Keys

PASSCODE = "271828"
PASSWORD = "more soap"
# What the browser says of a call that met a device on its way down or up.
AWAY = ("status of 503",)
FINGER = "right-index"


@contextlib.contextmanager
def simulated(browser, biometry="touchid", enrolled=(FINGER,)):
    """(device, page): a device with a passcode of six digits and these fingers or faces, unlocked, and its page."""
    with Device(biometry=biometry) as device:
        if enrolled:
            device.run("device", "passcode", "set", "--kind", "six-digit", input=f"{PASSCODE}\n")
            for finger in enrolled:
                device.run("device", "enroll", finger)
        with SimulatorPage(device) as simulator, browser.open(simulator.url) as page:
            page.url, page.stop = simulator.url, simulator.stop
            page.wait_test("connection", "Connected")
            yield device, page


@contextlib.contextmanager
def with_chores(browser, *arguments, **settings):
    """(device, page, chores): Chores in a tab of its own, registered and signed out."""
    with simulated(browser, *arguments, **settings) as (device, page), ChoresApp(device) as app:
        chores = browser.open(app.url)
        chores.type("#new-password", PASSWORD)
        chores.press("Begin")
        chores.type("#title", "Water the plants")
        chores.press("Add")
        chores.wait_text("Water the plants", "#list")
        chores.press("Sign Out")
        chores.wait_for("#biometrics")
        try:
            yield device, page, chores
        except Exception:
            print(f"the page of Chores:\n{chores.text()}\nscreenshot: {chores.screenshot('failed-chores')}")
            raise
        # Before its server is gone, of which it would complain.
        chores.driver.get("about:blank")


def ask(chores, page, words="Touch ID for “Chores”"):
    """Has Chores ask, and waits for the alert."""
    chores.click_by("#biometrics")
    page.wait_test("alert", words)


def touch(page, finger=FINGER):
    page.click(f"finger-{finger}")


def miss(page, count):
    """The miss after `count` - 1 others at this prompt, which stays up."""
    touch(page, "nomatch")
    page.wait_for(f'[data-testid="alert"][data-failures="{count}"]')
    page.wait_test("alert-message", "Not recognised")


def type_passcode(page, passcode=PASSCODE):
    for digit in passcode:
        page.click(f"key-{digit}")


def open_settings(page, passcode=PASSCODE):
    page.click("tab-settings")
    page.wait_test("settings-passcode").send_keys(passcode, Keys.ENTER)
    page.wait_gone("settings-gate")
