#!/usr/bin/env python3
"""The window of prompts, driven by AT-SPI and by the keyboard, on a display and a bus of its own.

    Tests/Scripts/desktop-agent.py             all of it
    Tests/Scripts/desktop-agent.py DIRECTORY   only pictures of every phase, into the directory

TOUCHSTONE_DESKTOP_BIN says where touchstone-agent is, if not in Desktop/.build/debug. TOUCHSTONE_TEST_PROMPTS says how
many prompts the test of growth shows.
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from concurrent.futures import ThreadPoolExecutor

from device import (
    LONGEST_WAIT,
    REPOSITORY,
    Device,
    Evaluation,
    call,
    check,
    equal,
    main,
    wait_for,
)

try:
    import gi
except ImportError:
    # Debian's own Python has it.
    if sys.executable == "/usr/bin/python3":
        sys.exit("the Debian package python3-gi is not there: run script/install-packages test")
    os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])
gi.require_version("Atspi", "2.0")

PROGRAM = pathlib.Path(os.environ.get("TOUCHSTONE_DESKTOP_BIN", REPOSITORY / "Desktop/.build/debug")) / "touchstone-agent"
if not os.access(PROGRAM, os.X_OK):
    sys.exit(f"{PROGRAM} is not there: run make desktop")

PROMPTS = int(os.environ.get("TOUCHSTONE_TEST_PROMPTS", "200"))
SIZE = (1280, 1400)
# An app that evaluates a policy, and says by its status how that ended.
APP = """
import json, socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
def call(method, **parameters):
    connection.sendall(json.dumps({"method": "io.touchstone.Authentication." + method, "parameters": parameters}).encode() + b"\\0")
    reply = b""
    while not reply.endswith(b"\\0"): reply += connection.recv(65536) or sys.exit("closed")
    reply = json.loads(reply[:-1])
    if "error" in reply: sys.exit(str(reply))
    return reply["parameters"]
options = {"reason": "test", "reuseDuration": 0.0, "interactionNotAllowed": False}
call("EvaluatePolicy", context=call("CreateContext")["context"], policy=int(sys.argv[2]), options=options)
"""
# What an app needs before it may use Face ID.
INFO = """<?xml version="1.0" encoding="UTF-8"?>
<plist version="1.0"><dict>
  <key>CFBundleExecutable</key><string>app</string>
  <key>NSFaceIDUsageDescription</key><string>open the safe</string>
</dict></plist>
"""
RIGHT, WRONG = "271828", "314159"
# What the session of a desktop has: a display and a bus, for all tests of this file.
session = {}
directory = tempfile.TemporaryDirectory(prefix="touchstone-desktop.")


@contextlib.contextmanager
def desktop():
    """A display without a window manager, and a session bus that starts AT-SPI when asked for."""
    reading, writing = os.pipe()
    frames = pathlib.Path(directory.name)
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(writing), "-screen", "0", "x".join(map(str, (*SIZE, 24))), "-nolisten", "tcp",
         "-noreset", "-ac", "-fbdir", str(frames)],
        pass_fds=[writing], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(writing)
    bus = None
    try:
        session["DISPLAY"] = f":{os.read(reading, 16).decode().strip()}"
        own = {name: value for name, value in os.environ.items() if not name.startswith(("DBUS_", "AT_SPI_", "WAYLAND_"))}
        run = frames / "run"
        run.mkdir(mode=0o700)
        bus = subprocess.Popen(
            ["dbus-daemon", "--session", "--nofork", "--print-address"], stdout=subprocess.PIPE, text=True,
            stderr=subprocess.DEVNULL, env=own | session | {"XDG_RUNTIME_DIR": str(run), "HOME": str(frames)})
        session["DBUS_SESSION_BUS_ADDRESS"] = bus.stdout.readline().strip()
        os.environ.update(session)
        yield
    finally:
        os.close(reading)
        for process in (bus, server):
            if process:
                process.kill()
                process.wait()


def picture(path, window):
    """Writes what is on the display where the window is."""
    geometry = dict(
        line.split("=") for line in xdotool("getwindowgeometry", "--shell", window) if "=" in line)
    x, y, width, height = (int(geometry[name]) for name in ("X", "Y", "WIDTH", "HEIGHT"))
    data = (pathlib.Path(directory.name) / "Xvfb_screen0").read_bytes()
    header = struct.unpack(">25I", data[:100])
    begin, line = header[0] + 12 * header[19], header[12]
    rows = bytearray()
    for row in range(y, min(y + height, SIZE[1])):
        pixels = data[begin + row * line + 4 * x:begin + row * line + 4 * min(x + width, SIZE[0])]
        rgb = bytearray(len(pixels) // 4 * 3)
        rgb[0::3], rgb[1::3], rgb[2::3] = pixels[2::4], pixels[1::4], pixels[0::4]
        rows += b"\0" + rgb
    count = (len(rows) // (min(y + height, SIZE[1]) - y) - 1) // 3

    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    pathlib.Path(path).write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", count, min(y + height, SIZE[1]) - y, 8, 2, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(bytes(rows), 9)) + chunk(b"IEND", b""))


def xdotool(*arguments):
    return subprocess.run(
        ["xdotool", *map(str, arguments)], env=os.environ | session, capture_output=True, text=True,
        timeout=LONGEST_WAIT).stdout.split()


def become(user):
    if user:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)


class Agent:
    """touchstone-agent, as a session starts it."""

    def __init__(self, device, text_scale=1, user=None, **environment):
        config = device.work / f"config-{text_scale}"
        (config / "gtk-4.0").mkdir(parents=True, exist_ok=True)
        (config / "gtk-4.0/settings.ini").write_text("[Settings]\ngtk-enable-animations=0\n")
        # Where no desktop says how large text is, GTK reads it here.
        (device.work / ".Xdefaults").write_text(f"Xft.dpi: {96 * text_scale}\n")

        program = PROGRAM
        if user:
            program = device.programs / PROGRAM.name
            shutil.copy(PROGRAM, program)
        self.journal = open(device.work / f"journal-{time.monotonic_ns()}", "w+")
        self.process = subprocess.Popen(
            [program], stdout=self.journal, stderr=self.journal, preexec_fn=lambda: become(user),
            env=device.environment | session | {"XDG_CONFIG_HOME": str(config), "LC_ALL": "C.UTF-8"} | environment)

    @property
    def said(self):
        self.journal.seek(0)
        return self.journal.read()

    def wait_until_ready(self):
        wait_for(lambda: "ready:" in self.said or self.process.poll() is not None, "the agent to be ready")
        check(self.process.poll() is None, f"the agent ended: {self.said}")
        return self

    @property
    def windows(self):
        return xdotool("search", "--onlyvisible", "--pid", self.process.pid)

    def __enter__(self):
        return self.wait_until_ready()

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.journal.close()

    # AT-SPI

    @property
    def tree(self):
        """Every accessible object that is visible, with its role, its name and its states."""
        from gi.repository import Atspi, GLib

        found = []

        def add(item):
            item.clear_cache()
            states = item.get_state_set()
            if not states.contains(Atspi.StateType.VISIBLE):
                return
            found.append((item.get_role_name(), item.get_name(), item))
            for index in range(item.get_child_count()):
                child = item.get_child_at_index(index)
                if child:
                    add(child)

        root = Atspi.get_desktop(0)
        root.clear_cache()
        for index in range(root.get_child_count()):
            # One that ends meanwhile.
            with contextlib.suppress(GLib.Error):
                program = root.get_child_at_index(index)
                if program and program.get_process_id() == self.process.pid:
                    for number in range(program.get_child_count()):
                        window = program.get_child_at_index(number)
                        window.clear_cache()
                        if window.get_state_set().contains(Atspi.StateType.SHOWING):
                            add(window)
        return found

    @property
    def words(self):
        return "\n".join(name for _, name, _ in self.tree if name)

    def wait(self, *words):
        """Until all of them are in the window."""
        wait_for(
            lambda: all(word in self.words for word in words) or self.process.poll() is not None,
            f"{words} in a window, which has:\n{self.words}\n{self.said}")
        check(self.process.poll() is None, f"the agent ended: {self.said}")

    def button(self, name):
        from gi.repository import Atspi

        for role, found, item in self.tree:
            if "button" in role and found == name and item.get_state_set().contains(Atspi.StateType.SENSITIVE):
                return item
        return None

    def press(self, name):
        """By its accessible action, once the button counts."""
        button = wait_for(lambda: self.button(name), f"the button {name} in:\n{self.words}")
        check(button.do_action(0), f"{name} was pressed")

    def type(self, text):
        # OK counts as long as keys do.
        wait_for(lambda: self.button("OK"), f"keys to count in:\n{self.words}")
        xdotool("type", text)
        xdotool("key", "Return")

    def wait_until_gone(self):
        wait_for(lambda: not self.windows, "the window to be gone")


def finger(device, name="thumb"):
    device.client("Device").PresentFinger(finger=name)


def to_be_cancelled(evaluation):
    error, reply = evaluation.result()
    equal((error, reply.get("code")), ("io.touchstone.Authentication.Failed", -2), "the evaluation")


def waits_without_a_window():
    equal(subprocess.run([PROGRAM, "--version"], capture_output=True, text=True).returncode, 0, "the version")
    usage = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True)
    check("never for the password of your login" in usage.stdout and usage.returncode == 0, "the help")
    equal(subprocess.run([PROGRAM, "--not"], capture_output=True).returncode, 64, "an unknown option")
    bare = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    equal(subprocess.run([PROGRAM], env=bare, capture_output=True).returncode, 69, "without a display")
    with Device() as device, Agent(device) as agent:
        # DA-1
        equal(agent.windows, [], "the windows")
        equal(device.status["hasAgent"], True, "an agent is there")
        # DA-11
        limits = pathlib.Path(f"/proc/{agent.process.pid}/limits").read_text()
        check("Max core file size        0 " in limits, "core dumps are forbidden")
        status = pathlib.Path(f"/proc/{agent.process.pid}/status").read_text()
        print("  waiting:", *(line for line in status.split("\n") if line.startswith(("VmRSS", "RssAnon"))))
        # On a machine without a graphics driver, OpenGL would load LLVM; Benchmarks/window holds the figure of a release build.
        maps = pathlib.Path(f"/proc/{agent.process.pid}/maps").read_text()
        check("libgtk-4" in maps and "libLLVM" not in maps, "nothing loads OpenGL")
        agent.process.send_signal(signal.SIGTERM)
        equal(agent.process.wait(LONGEST_WAIT), 0, "the exit status after SIGTERM")


def a_finger_answers():
    with Device() as device, Agent(device) as agent:
        device.set_up(RIGHT, "thumb")
        began = time.monotonic()
        evaluation = Evaluation(device, reason="read your mail")
        wait_for(lambda: agent.windows, "a window")
        print(f"  the window: {(time.monotonic() - began) * 1000:.0f} ms after the call")
        # DA-3, DA-10: what, who, the rest; each in the accessible tree.
        agent.wait("read your mail", "python3", "/python3", "Touch the fingerprint sensor.", "Details", "verified")
        wait_for(lambda: agent.button("Cancel"), "keys to count")
        # DA-5: Return does nothing while biometry waits.
        xdotool("key", "Return", "space")
        finger(device, None)
        agent.wait("Not recognised. Try again.")
        check(agent.windows, "the window is still there")
        finger(device)
        equal(evaluation.result()[0], None, "the evaluation")
        # DA-7
        agent.wait_until_gone()
        print(f"  gone {(time.monotonic() - evaluation.ended) * 1000:.0f} ms after the answer, or sooner")


def escape_cancels():
    with Device() as device, Agent(device) as agent:
        device.set_up(RIGHT, "thumb")
        evaluation = Evaluation(device)
        wait_for(lambda: agent.button("Cancel"), "keys to count")
        xdotool("key", "Escape")
        to_be_cancelled(evaluation)
        agent.wait_until_gone()
        evaluation = Evaluation(device)
        agent.press("Cancel")
        to_be_cancelled(evaluation)


def keys_of_the_first_half_second_count_for_nothing():
    with Device() as device, Agent(device) as agent:
        device.set_up(RIGHT, "thumb")
        survived = 0
        # On a slow machine a key can come later than it was sent. One that counted at once would end every prompt. Three cancels are the
        # most that an app may have.
        for _ in range(3):
            evaluation = Evaluation(device)
            wait_for(lambda: agent.windows, "a window")
            xdotool("key", "Escape")
            wait_for(lambda: agent.button("Cancel") or evaluation.ended, "keys to count")
            if evaluation.ended is None:
                # DA-5
                survived += 1
                finger(device)
                equal(evaluation.result()[0], None, "the evaluation")
            agent.wait_until_gone()
        check(survived > 0, "each key was taken")


def the_passcode_is_typed():
    with Device() as device, Agent(device) as agent:
        device.set_up(RIGHT, "thumb")
        evaluation = Evaluation(device, policy=2)
        agent.wait("Touch the fingerprint sensor.")
        # EV-14: the other way is offered after a miss.
        finger(device, None)
        agent.press("Enter Passcode")
        agent.wait("Enter the passcode of this device.", "Passcode")
        wait_for(lambda: agent.button("OK"), "keys to count")
        xdotool("type", "31415")
        # DA-4: how long it is, and what, nothing tells.
        check("3141" not in agent.words and "\u2022" not in agent.words, "nothing of it is in the accessible tree")
        for _, _, item in agent.tree:
            check("Text" not in item.get_interfaces() or "31415" not in item.get_text(0, -1), "no object has it")
        xdotool("type", "9")
        xdotool("key", "Return")
        agent.wait("Wrong passcode.")
        agent.type(RIGHT)
        equal(evaluation.result()[0], None, "the evaluation")
        agent.wait_until_gone()


def the_keyboard_alone_is_enough():
    """DA-4, DA-10: Caps Lock is told; Tab goes through all that counts, in the order in which it is read, and back."""
    from gi.repository import Atspi

    with Device() as device, Agent(device) as agent:
        device.set_up(RIGHT)
        evaluation = Evaluation(device, policy=2)
        agent.wait("Enter the passcode of this device.", "Passcode")
        wait_for(lambda: agent.button("OK"), "keys to count")
        check("Caps Lock" not in agent.words, "the hint without Caps Lock")
        xdotool("key", "Caps_Lock")
        agent.wait("Caps Lock is on.")
        xdotool("key", "Caps_Lock")
        wait_for(lambda: "Caps Lock" not in agent.words, "the hint to go")

        def focused():
            return [name for _, name, item in agent.tree if item.get_state_set().contains(Atspi.StateType.FOCUSED)]

        def goes(key):
            before = focused()
            xdotool("key", key)
            return wait_for(lambda: focused() != before and focused(), f"the focus to leave {before}")[-1]

        equal(focused(), ["Passcode"], "what has the keyboard")
        forward = [goes("Tab") for _ in range(3)]
        equal(sorted(forward), ["Cancel", "Details", "OK"], "where Tab goes")
        read = [name for role, name, _ in agent.tree if "button" in role and name in forward]
        equal(forward, read, "the order of Tab, and that of reading")
        equal([goes("shift+Tab") for _ in range(3)], [*reversed(forward[:-1]), "Passcode"], "the way back")
        agent.type(RIGHT)
        equal(evaluation.result()[0], None, "the evaluation")


def digits_have_a_keypad():
    with Device() as device, Agent(device) as agent:
        # Each once: GTK takes no second activation of a button within a quarter of a second.
        digits = "358172"
        device.run("device", "passcode", "set", "--kind", "six-digit", input=f"{digits}\n")
        evaluation = Evaluation(device, policy=2)
        agent.wait("Enter the six-digit passcode of this device.")
        for digit in digits:
            agent.press(digit)
        agent.press("OK")
        equal(evaluation.result()[0], None, "the evaluation")


def left_edge(agent, name):
    """How far from the window's left edge it begins, in pixels."""
    from gi.repository import Atspi

    found = wait_for(lambda: [item for _, word, item in agent.tree if word.strip("\u201c\u2068\u2069\u201d") == name], f"{name} in the window")
    return Atspi.Component.get_extents(found[0], Atspi.CoordType.WINDOW).x


def a_window_runs_from_right_to_left():
    """DA-3: where the desktop's language does; its twin is every other test's window."""
    for language, runs_from_right in (("he", True), ("en", False)):
        with Device() as device, Agent(device, LANGUAGE=language) as agent:
            device.run("device", "passcode", "set", "--kind", "six-digit", input="358172\n")
            evaluation = Evaluation(device, policy=2, reason="read your mail")
            agent.wait("read your mail", "Enter the six-digit passcode of this device.")
            equal(left_edge(agent, "verified") > left_edge(agent, pathlib.Path(os.path.realpath(sys.executable)).name), runs_from_right, f"the check mark is on the right in {language}")
            # Digits are as telephones have them.
            check(left_edge(agent, "1") < left_edge(agent, "2") < left_edge(agent, "3"), f"the keypad in {language}")
            agent.type("358172")
            equal(evaluation.result()[0], None, "the evaluation")


@contextlib.contextmanager
def face_asked_for(device):
    """By a copy of the interpreter, alone in a directory."""
    place = device.work / "app"
    place.mkdir()
    shutil.copy(os.path.realpath("/usr/bin/python3"), place / "app")
    (place / "Info.plist").write_text(INFO)
    app = subprocess.Popen(
        [str(place / "app"), "-S", "-c", APP, str(device.socket), "1"], stderr=subprocess.PIPE, text=True)
    try:
        yield app
    finally:
        app.kill()
        app.communicate()


def a_face_is_asked_for():
    with Device(biometry="faceid") as device, Agent(device) as agent:
        device.set_up(RIGHT, "face")
        with face_asked_for(device) as app:
            # DA-9: permission, a look, one more look, and then none.
            agent.wait("to use Face ID?", "open the safe")
            agent.press("Allow")
            agent.wait("Looking…")
            finger(device, None)
            agent.press("Try Face ID Again")
            agent.wait("Looking…")
            finger(device, None)
            agent.wait("Choose how to continue.")
            agent.press("Cancel")
            check("'code': -2" in app.communicate(timeout=LONGEST_WAIT)[1], "the evaluation was cancelled")


def an_app_has_its_own_password():
    with Device() as device, Agent(device) as agent:
        device.set_up(RIGHT)
        with password_asked_for(device) as answer:
            agent.wait("It is not your passcode.", "App password")
            agent.type("open sesame")
            equal(answer()[0], None, "the addition")


@contextlib.contextmanager
def password_asked_for(device):
    """An item that the app's own password guards is stored."""
    connection, keys = device.connect(), device.connect()
    context = call(connection, "Authentication.CreateContext")[1]["context"]
    item = {
        "class": {"string": "genp"}, "acct": {"string": "a"},
        "accc": {"accessControl": {"protection": "ak", "flags": 1 << 31}}, "v_Data": {"data": "YQ=="}}
    options = {"reason": "keep it", "reuseDuration": 0.0, "interactionNotAllowed": False}
    with ThreadPoolExecutor() as pool:
        result = pool.submit(call, keys, "Keychain.Add", attributes=item, context=context, options=options)
        try:
            yield lambda: result.result(LONGEST_WAIT)
        finally:
            connection.close()
            keys.shutdown(2)


@contextlib.contextmanager
def unlock_asked_for(device):
    connection = device.connect()
    with ThreadPoolExecutor() as pool:
        result = pool.submit(call, connection, "Authentication.RequestUnlock")
        try:
            yield lambda: result.result(LONGEST_WAIT)
        finally:
            connection.shutdown(2)


def the_device_is_unlocked():
    with Device() as device, Agent(device) as agent:
        device.set_up(RIGHT)
        device.run("device", "lock")
        with unlock_asked_for(device) as answer:
            agent.wait("Unlock this device")
            agent.type(WRONG)
            agent.wait("Wrong passcode.")
            agent.type(RIGHT)
            equal(answer()[0], None, "the request")
        equal(device.status["isLocked"], False, "the device")
        agent.wait_until_gone()


def a_name_changes_nothing_around_it():
    name = "<b>bank</b>\u202e\u2067e\u0301"
    with Device() as device, Agent(device) as agent:
        device.set_up(RIGHT, "thumb")
        evaluation = Evaluation(device, reason=name + "\n" + "x" * 4000)
        # DA-3: no markup, and no letters that turn the others around.
        agent.wait("<b>bank</b>", "Touch the fingerprint sensor.", "Cancel")
        words = agent.words
        check("\u202e" not in words and "\u2067" not in words, "no overrides of direction")
        check("\u2068<b>bank</b>" in words, "it is isolated")
        width, height = (int(line.split("=")[1]) for line in xdotool("getwindowgeometry", "--shell", agent.windows[0]) if line.startswith(("WIDTH", "HEIGHT")))
        check(width < SIZE[0] / 2 and height < SIZE[1] * 0.8, f"the window has {width} by {height}")
        agent.press("Cancel")
        to_be_cancelled(evaluation)


def another_agent_takes_over():
    """DA-8: killed in each phase."""
    with Device() as device:
        device.set_up(RIGHT, "thumb")
        with Agent(device) as agent:
            evaluation = Evaluation(device, policy=2)
            agent.wait("Touch the fingerprint sensor.")
            with Agent(device) as second:
                equal(second.windows, [], "the windows of the second")
                agent.process.kill()
                second.wait("Touch the fingerprint sensor.")
                finger(device, None)
                second.press("Enter Passcode")
                second.wait("Enter the passcode of this device.")
                with Agent(device) as third:
                    second.process.kill()
                    third.wait("Enter the passcode of this device.")
                    third.type(RIGHT)
                    equal(evaluation.result()[0], None, "the evaluation")
        with Agent(device) as agent, password_asked_for(device) as answer:
            agent.wait("App password")
            with Agent(device) as second:
                agent.process.kill()
                second.wait("App password")
                second.type("open sesame")
                equal(answer()[0], None, "the addition")
        device.run("device", "lock")
        with Agent(device) as agent, unlock_asked_for(device) as answer:
            agent.wait("Unlock this device")
            with Agent(device) as second:
                agent.process.kill()
                second.wait("Unlock this device")
                second.type(RIGHT)
                equal(answer()[0], None, "the request")
    # Permission, retry and fallback are Face ID's.
    with Device(biometry="faceid") as device:
        device.set_up(RIGHT, "face")
        with contextlib.ExitStack() as agents:
            agent = agents.enter_context(Agent(device))
            app = agents.enter_context(face_asked_for(device))
            for words, answer in (
                    ("to use Face ID?", lambda agent: agent.press("Allow")), ("Looking…", lambda _: finger(device, None)),
                    ("Try Face ID Again", lambda agent: (
                        agent.press("Try Face ID Again"), agent.wait("Looking…"), finger(device, None))),
                    ("Choose how to continue.", lambda agent: agent.press("Cancel"))):
                agent.wait(words)
                following = agents.enter_context(Agent(device))
                equal(following.windows, [], f"the windows of the second at {words}")
                agent.process.kill()
                agent = following
                agent.wait(words)
                answer(agent)
            check("'code': -2" in app.communicate(timeout=LONGEST_WAIT)[1], "the evaluation was cancelled")


def nobody_looks_into_it_while_something_is_typed():
    user = 65534
    with Device(user=user) as device, Agent(device, user=user, GTK_A11Y="none", DBUS_SESSION_BUS_ADDRESS="") as agent:
        device.set_up(RIGHT)
        owner = lambda: os.stat(f"/proc/{agent.process.pid}/mem").st_uid
        app = subprocess.Popen(
            ["/usr/bin/python3", "-I", "-c", APP, str(device.socket), "2"], cwd="/", preexec_fn=lambda: become(user))
        wait_for(lambda: agent.windows, "a window")
        equal(owner(), user, "whose process it is while nothing is typed")

        # DA-11: until a key counts, it is gone for nothing.
        def typed():
            xdotool("type", "3")
            return owner() == 0

        wait_for(typed, "the process to be closed to its user")
        xdotool("key", "ctrl+u")
        wait_for(lambda: owner() == user, "it to be open again")
        xdotool("type", RIGHT)
        xdotool("key", "Return")
        equal(app.wait(LONGEST_WAIT), 0, "the app")
        equal(owner(), user, "whose process it is afterwards")


def a_wayland_compositor_shows_it():
    with Device() as device:
        compositor = subprocess.Popen(
            ["weston", "--backend=headless-backend.so", "--socket=wayland-test", "--idle-time=0", "--no-config"],
            env=device.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            with socket.socket(socket.AF_UNIX) as probe:
                wait_for(lambda: probe.connect_ex(str(device.work / "run/wayland-test")) == 0, "the compositor")
            with Agent(device, WAYLAND_DISPLAY="wayland-test", GDK_BACKEND="wayland") as agent:
                device.set_up(RIGHT, "thumb")
                evaluation = Evaluation(device, reason="read your mail")
                agent.wait("read your mail")
                agent.press("Cancel")
                to_be_cancelled(evaluation)
                # DA-7: buttons count, and the sensor too, only after a frame was presented.
                evaluation = Evaluation(device)
                wait_for(lambda: agent.button("Cancel"), "keys to count")
                finger(device)
                equal(evaluation.result()[0], None, "the evaluation")
                check("CRITICAL" not in agent.said, agent.said)
        finally:
            compositor.kill()
            compositor.wait()


def prompts_leave_nothing_behind():
    with Device() as device, Agent(device) as agent:
        device.set_up(RIGHT, "thumb")

        def resident():
            status = pathlib.Path(f"/proc/{agent.process.pid}/status").read_text()
            return int(next(line.split()[1] for line in status.split("\n") if line.startswith("RssAnon")))

        def show(count):
            for number in range(count):
                with device.connect() as connection:
                    context = call(connection, "Authentication.CreateContext")[1]["context"]
                    options = {"reason": f"prompt {number}", "reuseDuration": 0.0, "interactionNotAllowed": False}
                    connection.sendall(request("Authentication.EvaluatePolicy", context=context, policy=1, options=options))
                    wait_for(lambda: agent.windows, "a window")
                agent.wait_until_gone()

        show(20)
        before = resident()
        show(PROMPTS)
        print(f"  {PROMPTS} prompts: {resident() - before} KiB more than {before} KiB")
        check(resident() - before < 2048 + 2 * PROMPTS, "it grows with each prompt")


def request(method, **parameters):
    return json.dumps({"method": f"io.touchstone.{method}", "parameters": parameters}).encode() + b"\0"


# Pictures


def pictures(place):
    place = pathlib.Path(place)
    place.mkdir(parents=True, exist_ok=True)
    for language, scale in (("en", 1), ("en", 2), ("he", 1)):
        for style in ("light", "dark"):
            look = {"text_scale": scale, "ADW_DEBUG_COLOR_SCHEME": f"prefer-{style}", "LANGUAGE": language}
            suffix = f"{style}-{scale * 100}" + ("" if language == "en" else f"-{language}")

            def take(agent, name):
                time.sleep(1.2)
                picture(place / f"{name}-{suffix}.png", agent.windows[0])

            with Device() as device, Agent(device, **look) as agent:
                device.set_up(RIGHT, "thumb")
                evaluation = Evaluation(device, policy=2, reason="read your mail")
                agent.wait("read your mail")
                take(agent, "biometry")
                for _, name, item in agent.tree:
                    if name == "Details" and item.get_n_actions():
                        item.do_action(0)
                take(agent, "details")
                finger(device, None)
                agent.wait("Not recognised. Try again.")
                take(agent, "biometry-missed")
                agent.press("Enter Passcode")
                agent.wait("passcode of this device.")
                take(agent, "passcode")
                agent.type(WRONG)
                agent.wait("Wrong passcode.")
                xdotool("type", "31")
                take(agent, "passcode-wrong")
                xdotool("key", "Escape")
                evaluation.result()
                with password_asked_for(device):
                    agent.wait("App password")
                    take(agent, "application-password")
                device.run("device", "lock")
                with unlock_asked_for(device):
                    agent.wait("Unlock this device")
                    take(agent, "unlock")
            with Device(biometry="faceid") as device, Agent(device, **look) as agent:
                device.set_up(RIGHT, "face")
                with face_asked_for(device):
                    agent.wait("to use Face ID?")
                    take(agent, "permission")
                    agent.press("Allow")
                    agent.wait("Looking…")
                    take(agent, "face")
                    finger(device, None)
                    agent.wait("Try Face ID Again")
                    take(agent, "retry")
                    agent.press("Try Face ID Again")
                    agent.wait("Looking…")
                    finger(device, None)
                    agent.wait("Choose how to continue.")
                    take(agent, "fallback")


with desktop():
    if len(sys.argv) > 1:
        pictures(sys.argv[1])
    else:
        main(
            waits_without_a_window, a_finger_answers, escape_cancels, keys_of_the_first_half_second_count_for_nothing,
            the_passcode_is_typed, the_keyboard_alone_is_enough, digits_have_a_keypad, a_window_runs_from_right_to_left, a_face_is_asked_for, an_app_has_its_own_password, the_device_is_unlocked,
            a_name_changes_nothing_around_it, another_agent_takes_over, nobody_looks_into_it_while_something_is_typed,
            a_wayland_compositor_shows_it, prompts_leave_nothing_behind)
