"""A simulated device with its page, and Chores beside it, for the tests that use them; no test itself."""

from browser import *

PASSCODE = "271828"
PASSWORD = "more soap"
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
            page.url = simulator.url
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


def type_passcode(page, passcode=PASSCODE):
    for digit in passcode:
        page.click(f"key-{digit}")
