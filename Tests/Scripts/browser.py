"""A headless Chromium for the tests that look at a page as a person does; no test itself.

What it fails on without being asked: a line in the browser's console, a violation of a page's content security policy, and any
request that is not for this machine.
"""

import contextlib
import importlib.resources
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.parse

from device import LONGEST_WAIT, REPOSITORY, check, equal

try:
    from selenium import webdriver
    from selenium.common.exceptions import StaleElementReferenceException, TimeoutException, WebDriverException
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.wait import WebDriverWait
except ImportError:
    sys.exit("the Python package selenium is not there: run script/python-environment")

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
if not CHROMIUM or not DRIVER:
    sys.exit("chromium and chromedriver are not there: run script/install-packages test")

# Where screenshots go; what stood there of an earlier run is replaced.
SCREENSHOTS = REPOSITORY / ".build-screenshots"


class Browser:
    """One browser; `open` gives each page a tab of its own."""

    def __init__(self, width=1280, height=900):
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        self.directory = tempfile.mkdtemp(prefix="touchstone-browser.")
        for argument in (
            "--headless=new", f"--window-size={width},{height}", "--hide-scrollbars", "--force-device-scale-factor=1",
            f"--user-data-dir={self.directory}", "--disable-dev-shm-usage", "--no-first-run", "--lang=en",
            # Nothing of the browser's own is looked up, and nothing but this machine has an address.
            "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-proxy-server",
            "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost",
        ):
            options.add_argument(argument)
        if os.geteuid() == 0:
            # Chromium's own sandbox does not run as root.
            options.add_argument("--no-sandbox")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
        # The tab that the driver speaks to.
        self.current = self.driver.current_window_handle
        self.driver.set_page_load_timeout(LONGEST_WAIT)
        self.driver.set_script_timeout(LONGEST_WAIT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.driver.quit()
        shutil.rmtree(self.directory, ignore_errors=True)

    def open(self, url):
        """A page in a new tab. At the end of `with`, every tab is looked over and closed."""
        self.driver.switch_to.new_window("tab")
        self.current = self.driver.current_window_handle
        # From here on requests are heard of.
        self.driver.execute_cdp_cmd("Network.enable", {})
        page = Page(self, self.current)
        self.driver.get(url)
        return page

    def close_pages(self, *expected):
        """
        Nothing was complained of in the console, but for what has one of these texts in it, and nothing asked for elsewhere.
        """
        complaints, requested = [], set()
        for entry in self.driver.get_log("browser"):
            if not any(text in entry["message"] for text in expected):
                complaints.append(entry["message"])
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] in ("Network.requestWillBeSent", "Network.webSocketCreated"):
                requested.add(message["params"].get("url") or message["params"]["request"]["url"])
        first, *others = self.driver.window_handles
        for handle in others:
            self.driver.switch_to.window(handle)
            self.driver.close()
        self.driver.switch_to.window(first)
        self.current = first
        equal(complaints[:5], [], "the browser's console")
        check(requested, "no request was heard of")
        elsewhere = [
            url for url in requested
            if urllib.parse.urlsplit(url).scheme not in ("data", "chrome", "about")
            and urllib.parse.urlsplit(url).hostname not in ("127.0.0.1", "localhost")]
        equal(elsewhere, [], "what was asked for from elsewhere")


class Page:
    """One tab. Every member switches to it first."""

    def __init__(self, browser, handle):
        self.browser, self.handle = browser, handle
        # What the console may say.
        self.expected = ()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind:
            with contextlib.suppress(WebDriverException):
                print(f"the page when it failed:\n{self.text()}\nscreenshot: {self.screenshot('failed')}")
            with contextlib.suppress(AssertionError, WebDriverException):
                self.browser.close_pages()
        else:
            self.browser.close_pages(*self.expected)

    @property
    def driver(self):
        driver = self.browser.driver
        if self.browser.current != self.handle:
            driver.switch_to.window(self.handle)
            self.browser.current = self.handle
        return driver

    @contextlib.contextmanager
    def frame(self, selector="iframe"):
        """The page in a frame: everything is looked for and done there."""
        self.driver.switch_to.frame(self.driver.find_element(By.CSS_SELECTOR, selector))
        try:
            yield self
        finally:
            self.driver.switch_to.default_content()

    # looking

    def find(self, selector):
        """The first element that is shown; None where none is."""
        for element in self.driver.find_elements(By.CSS_SELECTOR, selector):
            if element.is_displayed():
                return element
        return None

    def test(self, identifier):
        """The element that the page marks so for tests, where it is shown."""
        return self.find(f'[data-testid="{identifier}"]')

    def wait_test(self, identifier, text=""):
        return self.wait(
            lambda page: (element := page.test(identifier)) and text in element.text and element,
            f"{identifier} to be shown" + (f" with {text!r}" if text else ""))

    def wait_gone(self, identifier):
        self.wait(lambda page: not page.test(identifier), f"{identifier} to be gone")

    def click(self, identifier):
        """Once it is shown and can be used."""
        self.wait(
            lambda page: (element := page.test(identifier)) and element.is_enabled()
            and element.get_attribute("aria-disabled") != "true" and element, f"{identifier} to be there"
        ).click()

    def named(self, name, role="button"):
        """The control of this accessible name that is shown and can be used; None where there is none."""
        for element in self.driver.find_elements(By.CSS_SELECTOR, "button, a, input, select, textarea, [role]"):
            if element.is_displayed() and element.is_enabled() and element.aria_role == role:
                if element.accessible_name == name:
                    return element
        return None

    def text(self, selector="body"):
        element = self.find(selector)
        return element.text if element else ""

    def wait(self, condition, what, seconds=LONGEST_WAIT):
        """Until `condition(page)` returns something true, which is returned."""
        try:
            return WebDriverWait(self.driver, seconds, 0.05, [WebDriverException]).until(lambda _: condition(self))
        except TimeoutException:
            picture = self.screenshot("failed")
            raise AssertionError(
                f"waited {seconds} s for {what}\nthe page: {self.driver.current_url.rpartition('/')[0][:22]}…\n"
                f"{self.text()}\nscreenshot: {picture}") from None

    def wait_for(self, selector):
        return self.wait(lambda page: page.find(selector), f"{selector} to be shown")

    def wait_text(self, text, selector="body"):
        return self.wait(lambda page: text in page.text(selector), f"{text!r} in {selector}")

    def wait_named(self, name, role="button"):
        return self.wait(lambda page: page.named(name, role), f"the {role} {name!r}")

    # acting

    def click_by(self, selector):
        self.wait_for(selector).click()

    def press(self, name):
        self.wait_named(name).click()

    def type(self, selector, text):
        field = self.wait_for(selector)
        field.clear()
        field.send_keys(text)

    def keys(self, *keys):
        """To whatever has the focus."""
        ActionChains(self.driver).send_keys(*keys).perform()

    def tab_to(self, name, role="button", longest=60):
        """With the keyboard alone."""
        for _ in range(longest):
            focused = self.driver.switch_to.active_element
            with contextlib.suppress(StaleElementReferenceException):
                if focused.aria_role == role and focused.accessible_name == name and focused.is_displayed():
                    return focused
            self.keys(Keys.TAB)
        picture = self.screenshot("failed")
        raise AssertionError(f"the tab key does not lead to the {role} {name!r}; screenshot: {picture}")

    # looking at the whole

    def dark(self, is_dark=True):
        scheme = "dark" if is_dark else "light"
        self.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {
                "features": [
                    {"name": "prefers-color-scheme", "value": scheme},
                    {"name": "prefers-reduced-motion", "value": "reduce"}]})
        self.wait(
            lambda page: page.driver.execute_script(
                "return matchMedia(`(prefers-color-scheme: ${arguments[0]})`).matches", scheme),
            f"the {scheme} appearance")

    def screenshot(self, name, directory=SCREENSHOTS):
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / f"{name}.png"
        check(self.driver.save_screenshot(str(path)), f"{path} cannot be written")
        return path

    def pictures(self, name):
        """Of both appearances; each is also looked at by axe."""
        for is_dark in (False, True):
            self.dark(is_dark)
            self.screenshot(f"{name}-{'dark' if is_dark else 'light'}")
            self.check_accessibility()
        self.dark(False)

    def check_accessibility(self):
        """axe-core's rules of WCAG 2.1, levels A and AA, and of best practice. Injected by the driver, past the page's policy."""
        source = importlib.resources.files("axe_core_python").joinpath("axe.min.js").read_text()
        self.driver.execute_script(source)
        result = self.driver.execute_async_script(
            "axe.run(document, {runOnly: arguments[0]}).then(arguments[1], error => arguments[1]({error: `${error}`}))",
            ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"])
        check("passes" in result and result["passes"], f"axe looked at nothing: {result.get('error')}")
        found = [
            f"{violation['id']} ({violation['impact']}): {violation['help']}: {node['html']}"
            for violation in result["violations"] for node in violation["nodes"]]
        if found:
            picture = self.screenshot("failed")
            raise AssertionError("not accessible\n" + "\n".join(found) + f"\nscreenshot: {picture}")
        return len(result["passes"])

    def weight(self):
        """Bytes of the page and of what it loaded, before any compression."""
        return self.driver.execute_script(
            "return performance.getEntriesByType('navigation').concat(performance.getEntriesByType('resource'))"
            ".reduce((sum, entry) => sum + entry.decodedBodySize, 0)")


class SimulatorPage:
    """`touchstone simulator`, serving the page of a booted device."""

    PROGRAM = pathlib.Path(
        os.environ.get("TOUCHSTONE_SIMULATOR", REPOSITORY / ".build/debug/touchstone-simulator")).resolve()

    def __init__(self, device, app=None, beside=None):
        """app: a ChoresApp that runs framed, to stand beside the device; beside: another booted device."""
        if not os.access(self.PROGRAM, os.X_OK):
            sys.exit(f"{self.PROGRAM} is not there: run make pages")
        self.device, self.beside = device, beside
        self.app = {"TOUCHSTONE_SIMULATOR_APP": f"Chores={app.url}"} if app else {}

    def __enter__(self):
        self.process = subprocess.Popen(
            [
                self.device.programs / "touchstone", "simulator", self.device.name, "--no-boot",
                *(["--beside", self.beside.name] if self.beside else [])],
            env=self.device.environment | self.app | {"TOUCHSTONE_SIMULATOR": str(self.PROGRAM)}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        named = f"{self.device.name} and {self.beside.name} are" if self.beside else f"{self.device.name} is"
        check(f"{named} at http://127.0.0.1:" in line, f"the first line of the simulator: {line!r}")
        self.url = line.split()[-1]
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        """`touchstone simulator` becomes the server of the page: this ends it."""
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class ChoresApp:
    """The sample app, a process of its own, on a device."""

    PROGRAM = pathlib.Path(
        os.environ.get("TOUCHSTONE_CHORES", REPOSITORY / ".build/debug/chores")).resolve()

    def __init__(self, device, program=None, starter=(), framed=False):
        """starter: the words of a command that starts what is put behind them. framed: another page may show it."""
        if not os.access(self.PROGRAM, os.X_OK):
            sys.exit(f"{self.PROGRAM} is not there: run make pages")
        self.device, self.starter = device, starter
        self.options = ["--framed"] if framed else []
        # A file of the test's own, which the test may replace.
        self.program = program or device.work.resolve() / "chores"
        if not self.program.exists():
            shutil.copy(self.PROGRAM, self.program)
        manifests = device.state / "apps.d"
        manifests.mkdir(mode=0o700, exist_ok=True)
        manifest = (REPOSITORY / "Examples/Chores/io.touchstone.Chores.conf").read_text()
        (manifests / "io.touchstone.Chores.conf").write_text(manifest.replace("@PROGRAM@", str(self.program)))
        self.process = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        self.process = subprocess.Popen(
            [*self.starter, self.program, *self.options], env=self.device.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            text=True, start_new_session=True)
        line = self.process.stdout.readline()
        check(line.startswith("Chores: http://127.0.0.1:"), f"the first line of Chores: {line!r}")
        self.url = line.split()[1]

    def stop(self):
        # What started it with it.
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()


class TerminalAgent:
    """`touchstone agent`, with its answers on paper; without any it shows prompts and leaves them alone."""

    def __init__(self, device, *answers):
        self.process = subprocess.Popen(
            [str(device.programs / "touchstone"), "agent", "--reconnect", "--script", "-"], env=device.environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdin.write("".join(f"{answer}\n" for answer in answers or ["ignore"]))
        self.process.stdin.close()
        self.process.stdin = None
        check(self.process.stdout.readline().startswith("ready"), "the agent's first line")

    def wait_for(self, text):
        """Until it has shown a line with this text."""
        for line in self.process.stdout:
            if text in line:
                return
        raise AssertionError(f"the agent ended before it showed {text!r}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()
