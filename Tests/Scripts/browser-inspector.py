#!/usr/bin/env python3
"""The inspector of the simulator's page in a real browser: what it shows is what real daemons do meanwhile."""

import base64
import functools
import re

from browser import Browser
from device import call, check, equal, main, wait_for
from simulated import PASSCODE, ask, simulated, type_passcode, with_chores

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

CLASSES = ["ak", "ck", "dk", "akpu"]
# In the value, the account and the service of an item; nothing of it may reach the page.
CANARY = "canary-8d1f"
# Whatever the page is told, it is told through these two.
RECORDER = """
    window.heard = [];
    const ask = window.fetch.bind(window);
    window.fetch = async (...request) => {
      const response = await ask(...request);
      window.heard.push(await response.clone().text());
      return response;
    };
    const { addEventListener } = EventSource.prototype;
    EventSource.prototype.addEventListener = function (name, listener) {
      addEventListener.call(this, name, (event) => { window.heard.push(String(event.data)); listener(event); });
    };"""


def data(text):
    return base64.b64encode(text.encode()).decode()


def add(device, account, accessible=None, control=None, value="v"):
    guard = {"accc": {"accessControl": control}} if control else {"pdmn": {"string": accessible}}
    error, _ = call(
        device.connect(), "Keychain.Add", attributes={
            "class": {"string": "genp"}, "acct": {"string": account}, "svce": {"string": f"service of {account}"},
            "v_Data": {"data": data(value)}} | guard)
    equal(error, None, f"add {account}")


def read(device, account):
    error, reply = call(
        device.connect(), "Keychain.CopyMatching",
        query={"class": {"string": "genp"}, "acct": {"string": account}, "r_Data": {"boolean": True}})
    equal(error, None, f"read {account}")
    return base64.b64decode(reply["items"][0]["data"]).decode()


def inspect(page):
    page.click("tab-inspector")
    page.wait_test("inspector-keys")


def wait_items(page, **expected):
    """Until the items, in the order of their rows, say so in the column that tells whether they could be opened now."""
    wanted = [list(words) for words in expected.values()]
    page.wait(
        lambda page: sorted(page.driver.execute_script("""
            return [...document.querySelectorAll('[data-testid^="item-"]')].map((item) => [
              Number(item.dataset.testid.slice(5)), [...item.querySelector(".now").children].map((part) => part.textContent)]);
            """)) == [[row + 1, words] for row, words in enumerate(wanted)],
        f"the items to say {wanted}")


def wait_keys(page, enclave, touchstoned, app):
    """Until the boxes of the three processes hold this of each class, in the order of CLASSES."""
    def found(process):
        return [page.text(f'[data-testid="keys-{process}-{code}"]').split("\n") for code in CLASSES]

    page.wait(
        lambda page: [cell[0] for cell in found("enclave")] == enclave
        and [cell[0] for cell in found("touchstoned")] == touchstoned
        and [cell[0].startswith("Gets its own items") for cell in found("app")] == app,
        f"the keys {enclave}, {touchstoned}, {app}")


def messages(page):
    """(from, to, method, kind, text) of each message that is shown, from top to bottom."""
    return page.driver.execute_script("""
        return [...document.querySelectorAll('[data-testid="messages"] li[data-method]')].map((item) => [
          item.dataset.from, item.dataset.to, item.dataset.method.replace("io.touchstone.", ""), item.dataset.kind,
          item.querySelector("button").textContent]);""")


def reboot(page):
    # What the page asks for in that moment its server answers so.
    page.expected = ["the server responded with a status of 503"]
    page.click("inspector-reboot")


def in_order(found, expected):
    """Whether the expected ones are among those found, in this order."""
    rest = iter(found)
    return all(any(one[: len(wanted)] == wanted for one in rest) for wanted in expected)


def items_say_what_could_be_opened_now(browser):
    with simulated(browser) as (device, page):
        for code in CLASSES:
            add(device, code, code)
        add(device, "guarded", control={"protection": "aku", "flags": 8})
        inspect(page)
        wait_items(
            page, ak=("Yes", "the device is unlocked"), ck=("Yes", "the device was unlocked since it started"),
            dk=("Yes", "its class key is always there"), akpu=("Yes", "the device is unlocked"),
            guarded=("If the owner agrees", "its class key is there; the enclave asks first"))
        page.wait_test("items", "A finger or face enrolled when it was stored")
        check("Unknown app" not in page.text('[data-testid="items"]'), "an item is nobody's while names can be read")
        page.pictures("inspector-unlocked")
        print(f"weight of the page: {page.weight()} bytes")
        page.click("inspector-lock")
        left = ("No", "its class key left when the device was locked")
        wait_items(
            page, ak=left, ck=("Yes", "the device was unlocked since it started"),
            dk=("Yes", "its class key is always there"), akpu=left, guarded=left)
        # KC-15: whose it is nobody can read either.
        page.wait_test("items", "Unknown app")
        page.pictures("inspector-locked")
        page.click("inspector-touch")
        page.wait(lambda page: "Unknown app" not in page.text('[data-testid="items"]'), "the names to be read again")
        reboot(page)
        page.wait_test("lock-hint", "when the device restarts")
        first = ("No", "its class key comes with the first passcode after a restart")
        wait_items(page, ak=first, ck=first, dk=("Yes", "its class key is always there"), akpu=first, guarded=first)
        type_passcode(page)
        page.wait_test("home-screen")
        device.run("device", "enroll", "left-thumb")
        wait_items(
            page, ak=("Yes", "the device is unlocked"), ck=("Yes", "the device was unlocked since it started"),
            dk=("Yes", "its class key is always there"), akpu=("Yes", "the device is unlocked"),
            guarded=("Never again", "other fingers or faces are enrolled than when it was stored"))
        device.run("device", "passcode", "remove", input=f"{PASSCODE}\n")
        page.wait_test("items", "without a passcode nothing is locked")


def keys_come_and_go(browser):
    with simulated(browser) as (device, page):
        inspect(page)
        everything = ["class key"] * 4, ["metadata key"] * 4, [True] * 4
        wait_keys(page, *everything)
        page.wait_test("keys-state", "The device is unlocked.")
        page.click("inspector-lock")
        wait_keys(
            page, ["put aside", "class key", "class key", "put aside"], ["no key", "metadata key", "metadata key", "no key"],
            [False, True, True, False])
        page.wait_test("keys-state", "The device is locked.")
        page.wait_test("keys-change", "Just now the keys of “When unlocked”, “With a passcode set” left.")
        page.click("inspector-touch")
        wait_keys(page, *everything)
        page.wait_test("keys-change", "Just now the keys of “When unlocked”, “With a passcode set” came.")
        # PC-33: locked so that only the passcode helps, there is nothing to put aside.
        page.click("tab-controls")
        page.click("lock-passcode")
        inspect(page)
        wait_keys(
            page, ["sealed", "class key", "class key", "sealed"], ["no key", "metadata key", "metadata key", "no key"],
            [False, True, True, False])
        page.driver.execute_script("""
            window.states = [];
            const cell = document.querySelector('[data-testid="keys-enclave-ck"]');
            new MutationObserver(() => window.states.push(cell.dataset.state))
              .observe(cell, {attributes: true, attributeFilter: ["data-state"]});
            window.lines = [];
            const line = document.querySelector('[data-testid="keys-state"]');
            new MutationObserver(() => window.lines.push(`${line.dataset.state}: ${line.textContent}`))
              .observe(line, {attributes: true, childList: true});""")
        reboot(page)
        page.wait_test("lock-hint", "when the device restarts")
        wait_keys(
            page, ["sealed", "sealed", "class key", "sealed"], ["no key", "no key", "metadata key", "no key"],
            [False, False, True, False])
        # In between every process had ended, and what it had before was not shown again.
        equal(page.driver.execute_script("return window.states"), ["off", "sealed"], "the states on the way")
        lines = page.driver.execute_script("return window.lines")
        check(any(line.startswith("off: The device is off") for line in lines), f"the device was not said to be off: {lines}")
        page.wait_test("keys-state", "has not been unlocked since it started")
        type_passcode(page)
        wait_keys(page, *everything)
        device.run("device", "passcode", "remove", input=f"{PASSCODE}\n")
        wait_keys(
            page, ["class key"] * 3 + ["none"], ["metadata key"] * 3 + ["no key"], [True, True, True, False])
        page.wait_test("keys-state", "The device has no passcode")
        page.click("inspector-lock")
        page.wait_test("inspector-said", "Without a passcode nothing can be locked")


def a_sign_in_grows_the_diagram(browser):
    with with_chores(browser) as (device, page, chores):
        inspect(page)
        page.click("messages-clear")
        equal(messages(page), [], "the messages after they were cleared")
        ask(chores, page)
        page.click("inspector-touch")
        chores.wait_text("Signed in")
        expected = [
            ("app", "touchstoned", "Authentication.CreateContext", "call"),
            ("touchstoned", "enclave", "Enclave.CreateContext", "call"),
            ("enclave", "touchstoned", "Enclave.CreateContext", "answer"),
            ("touchstoned", "app", "Authentication.CreateContext", "answer"),
            ("app", "touchstoned", "Authentication.EvaluatePolicy", "call"),
            ("touchstoned", "enclave", "Enclave.BeginEvaluation", "call"),
            ("touchstoned", "agent", "Agent.Subscribe", "part"),
            ("agent", "touchstoned", "Agent.ConfirmShown", "call"),
            ("owner", "touchstoned", "Device.PresentFinger", "call"),
            ("touchstoned", "enclave", "Enclave.PresentFinger", "call"),
            ("enclave", "touchstoned", "Enclave.WatchEvents", "part"),
            ("touchstoned", "app", "Authentication.EvaluatePolicy", "answer"),
        ]
        page.wait(lambda page: in_order([tuple(one) for one in messages(page)], expected), "the messages of the sign-in, in their order")
        shown = messages(page)
        check({"Device.GetStatus", "Enclave.GetFacts"}.isdisjoint(method for _, _, method, *_ in shown), "a look-up is shown")
        # The architecture itself: the enclave hears only touchstoned.
        check(all(one[0] == "touchstoned" for one in shown if one[1] == "enclave"), "somebody else asks the enclave")
        asked = next(text for _, _, method, kind, text in shown if method == "Authentication.EvaluatePolicy" and kind == "call")
        check(asked.startswith("Chores to touchstoned, asks: ask the owner"), f"the words of the question: {asked}")
        # One stop for the tab key, the arrow keys inside, and what a message carried.
        page.tab_to("Pause").send_keys(Keys.ENTER)
        page.keys(Keys.TAB, Keys.TAB, Keys.TAB)
        check(
            page.driver.execute_script("return document.activeElement.matches('[data-testid=\"messages\"] li:last-child button')"),
            "the tab key does not lead to the newest message")
        line = page.driver.find_element(By.CSS_SELECTOR, '[data-method$="EvaluatePolicy"][data-kind="call"] button')
        page.driver.execute_script("arguments[0].focus()", line)
        page.keys(Keys.ARROW_DOWN)
        below = page.driver.execute_script("return document.activeElement.parentNode.dataset.method")
        equal(below, "io.touchstone.Enclave.BeginEvaluation", "the message below")
        page.keys(Keys.ARROW_UP, Keys.ENTER)
        detail = page.wait_test("message-detail", "context, policy, options")
        check(re.search(r"Size\n\d+ B", detail.text), f"no size in {detail.text}")
        check(str(device.work.resolve() / "chores") in detail.text, f"another program in {detail.text}")
        equal(len(page.driver.find_elements(By.CSS_SELECTOR, '[data-testid="messages"] [tabindex="0"]')), 1, "the stops of the tab key")
        check(page.driver.find_elements(By.CSS_SELECTOR, ".is-pair"), "the answer is not marked")
        page.pictures("inspector-message")
        page.test("messages-look-ups").send_keys(Keys.SPACE)
        page.wait(lambda page: any(method == "Enclave.GetFacts" for _, _, method, *_ in messages(page)), "the look-ups")
        page.test("messages-look-ups").send_keys(Keys.SPACE)
        # Paused, nothing comes; then what was missed does.
        before = messages(page)
        page.click("inspector-lock")
        page.wait_test("messages-count", "Paused: ")
        page.wait_test("lock-screen")
        equal(messages(page), before, "the messages while it is paused")
        page.test("messages-pause").send_keys(Keys.ENTER)
        page.wait(lambda page: ["owner", "touchstoned", "Device.Lock", "call"] in [one[:4] for one in messages(page)], "the lock among the messages")


def the_oldest_messages_go(browser):
    with simulated(browser) as (device, page):
        inspect(page)
        page.click("messages-clear")
        add(device, "a", "dk")
        page.wait(lambda page: any(one[2] == "Keychain.Add" for one in messages(page)), "the first message")
        connection = device.connect()
        query = {"class": {"string": "genp"}, "acct": {"string": "nobody"}}
        for _ in range(200):
            call(connection, "Keychain.CopyMatching", query=query)
        page.wait_test("messages-count", "Older ones are gone.")
        page.wait(lambda page: len(messages(page)) == 300, "300 messages")
        check(all(one[2] == "Keychain.CopyMatching" for one in messages(page)), "an old message is there")
        check(any("no: nothing matches" in one[4] for one in messages(page)), "no refusal in words")


def a_log_row_appears_live(browser):
    with simulated(browser) as (device, page):
        inspect(page)
        page.wait_test("log-chain", "Complete: entries 1 to ")
        # The page's own connection is in the log, too.
        page.wait_test("log", "A program that shows prompts connected")
        rows = len(page.driver.find_elements(By.CSS_SELECTOR, '[data-testid="log"] tbody tr'))
        page.click("inspector-lock")
        page.wait_test("log", "The device was locked")
        page.click("inspector-touch")
        page.wait(
            lambda page: page.text('[data-testid="log"] tbody tr').replace("\n", " ").split(" ", 1)[1].startswith(
                "The device was unlocked – a finger done"), "the newest row to be the unlocking, with its proof")
        page.wait(
            lambda page: page.text('[data-testid="log"] tbody tr').endswith("genuine"), "the newest row to be genuine")
        equal(len(page.driver.find_elements(By.CSS_SELECTOR, '[data-testid="log"] tbody tr')), rows + 2, "the rows")


def quiet(log):
    """What is in the log, once the page's own connection since the last boot is."""
    wait_for(lambda: '"agent-connected"' in log.read_text().rpartition('"device-started"')[2], "the page's connection in the log")
    return log.read_text()


def a_log_that_was_changed_is_seen(browser):
    with simulated(browser) as (device, page):
        inspect(page)
        log = device.state / "audit.log"
        for pattern, change, words in (
            (r'"event":"passcode-set"', '"event":"locked"', "Broken: entry 2 is not as the enclave wrote it."),
            (r'.*"sequence":2,.*\n', "", "Broken: entry 3 does not follow the entry before.")):
            page.wait_test("log-chain", "Complete: entries 1 to ")
            whole = quiet(log)
            changed, count = re.subn(pattern, change, whole)
            equal(count, 1, "the changes")
            log.write_text(changed)
            reboot(page)
            page.wait_test("log-chain", words)
            if change:
                page.wait_test("log-2", "not genuine")
                # Put right, it is whole again.
                log.write_text(quiet(log).replace(changed, whole))
                reboot(page)


def a_narrow_page_has_room_for_all(browser):
    with simulated(browser) as (device, page):
        page.driver.set_window_size(700, 1000)
        try:
            inspect(page)
            add(device, "a", "ak")
            page.wait(lambda page: messages(page), "a message")
            page.pictures("inspector-narrow")
            # What is wide scrolls by itself, and can be reached with the keyboard; axe looks at that.
            page.driver.set_window_size(520, 1000)
            page.check_accessibility()
            equal(page.driver.execute_script(
                "return document.documentElement.scrollWidth - document.documentElement.clientWidth"), 0, "what is cut off")
        finally:
            page.driver.set_window_size(1280, 1000)


def every_method_has_words(browser):
    with simulated(browser, enrolled=()) as (device, page):
        known, described, looks = page.driver.execute_async_script("""
            const done = arguments[arguments.length - 1];
            Promise.all([import("./methods.js"), import("./inspector-words.js")]).then(([{ methods }, { messageWords, lookUps }]) =>
              done([Object.keys(methods), Object.keys(messageWords), [...lookUps]]), (error) => done([`${error}`, [], []]));""")
        # The inspector's own are never told.
        equal(sorted(name for name in known if "Inspector" not in name), sorted(described), "the methods that are described")
        check(looks and set(looks) <= set(known), "a look-up is no method")


def nothing_that_is_stored_reaches_the_page(browser):
    with simulated(browser) as (device, page):
        page.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": RECORDER})
        page.driver.refresh()
        page.wait_test("connection", "Connected")
        inspect(page)
        add(device, CANARY, "ak", value=f"{CANARY} value")
        equal(read(device, CANARY), f"{CANARY} value", "the value")
        page.wait(lambda page: any(one[2] == "Keychain.CopyMatching" and one[3] == "answer" for one in messages(page)), "the reading")
        page.wait(lambda page: page.driver.find_elements(By.CSS_SELECTOR, '[data-testid^="item-"]'), "the item")
        page.click("messages-pause")
        for line in page.driver.find_elements(By.CSS_SELECTOR, '[data-method*="Keychain."] button'):
            line.send_keys(Keys.ENTER)
            page.wait_test("message-detail", "Keychain.")
        seen = page.driver.execute_script("return document.documentElement.outerHTML")
        heard = "\n".join(page.driver.execute_script("return window.heard"))
        for sign in ("io.touchstone.Keychain.CopyMatching", '"valueBytes"', '"itemsRevision"', '"event"'):
            check(sign in heard, f"{sign} was not recorded among the server's answers: {heard[:200]}")
        secrets = [CANARY, "service of", data(CANARY), data(f"{CANARY} value")[:16], CANARY.encode().hex()]
        for place, text in (("page", seen), ("server's answers", heard)):
            for secret in secrets:
                check(secret not in text, f"{secret} is in the {place}")


with Browser(1280, 1000) as browser:
    main(*[functools.partial(test, browser) for test in (
        items_say_what_could_be_opened_now, keys_come_and_go, a_sign_in_grows_the_diagram, the_oldest_messages_go,
        a_log_row_appears_live, a_log_that_was_changed_is_seen,
        a_narrow_page_has_room_for_all, every_method_has_words, nothing_that_is_stored_reaches_the_page)])
