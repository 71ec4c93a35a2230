#!/usr/bin/env python3
"""Nothing to start by hand: who logs in has the device and a window of prompts, because `touchstone setup` was told so once.

With a real systemd of the user's, in mounts, processes and control groups of its own: as root. Each session has a bus and
a display of its own, and its desktop is a target of systemd's, as GNOME and Plasma are.
"""

import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import time

import usersystemd
from device import LONGEST_WAIT, PROGRAMS, REPOSITORY, Device, check, equal, main, wait_for
from reader import Reader
from terminal import Person, touches

usersystemd.enter(__file__)

AGENT = pathlib.Path(os.environ.get("TOUCHSTONE_DESKTOP_BIN", REPOSITORY / "Desktop/.build/debug"))
for program in (AGENT / "touchstone-agent", "/usr/bin/weston", "/usr/bin/Xvfb", "/usr/lib/systemd/user/dbus.socket"):
    if not os.access(program, os.R_OK):
        sys.exit(f"{program} is not there: run script/install-packages test, and make desktop")

PASSCODE, SECRET = "correct horse 271828", "swordfish"
INDEX = "right-index-finger"
START, WINDOW = "when it is first used, now and after each login? [Y/n]", "in a window, now and after each login? [Y/n]"
SOCKET, SERVICE, AGENT_SERVICE = "touchstone@test.socket", "touchstone@test.service", "touchstone-agent.service"
COMPOSITORS = {
    "wayland": "weston --backend=headless-backend.so --socket=wayland-test --idle-time=0 --no-config",
    "x11": "sh -c 'exec Xvfb -displayfd 3 -screen 0 1280x1400x24 -nolisten tcp -noreset -ac 3>%t/display'",
}
# The names of what the agent shows: by AT-SPI, as a screen reader has them, from a process that knows one bus.
LOOK = """
import gi, sys
gi.require_version("Atspi", "2.0")
from gi.repository import Atspi, GLib
def add(item):
    item.clear_cache()
    if not item.get_state_set().contains(Atspi.StateType.VISIBLE): return
    sensitive = item.get_state_set().contains(Atspi.StateType.SENSITIVE)
    if item.get_name(): print(("+" if sensitive else "-") + item.get_role_name(), item.get_name())
    for index in range(item.get_child_count()):
        child = item.get_child_at_index(index)
        if child: add(child)
root = Atspi.get_desktop(0)
for index in range(root.get_child_count()):
    try:
        program = root.get_child_at_index(index)
        if program and program.get_name() in ("touchstone-agent", "Touchstone"):
            for number in range(program.get_child_count()):
                window = program.get_child_at_index(number)
                if window.get_state_set().contains(Atspi.StateType.SHOWING): add(window)
    except GLib.Error: pass
"""


class Session:
    """Somebody who is logged in; the end of `with` logs out. Without a display: over ssh, for example."""

    def __init__(self, device, display=None):
        self.device, self.display = device, display
        self.environment = device.environment | {
            "PATH": f"{AGENT}:{device.programs}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8",
            "DBUS_SESSION_BUS_ADDRESS": f"unix:path={device.work}/run/bus"}
        self.stack = contextlib.ExitStack()

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            stack.enter_context(usersystemd.running(self.environment))
            if self.display:
                self.begin_desktop()
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self.stack.close()

    def begin_desktop(self):
        """What a login screen does: a compositor, its variables for all units, and the target of the desktop."""
        units = self.device.work / "run/systemd/user"
        units.mkdir(parents=True, exist_ok=True)
        (units / "compositor.service").write_text(f"[Service]\nExecStart={COMPOSITORS[self.display]}\n")
        (units / "desktop.target").write_text(
            "[Unit]\nRequires=compositor.service\nAfter=compositor.service\nBindsTo=graphical-session.target\nBefore=graphical-session.target\n")
        run = self.device.work / "run"
        (run / "display").unlink(missing_ok=True)
        self.systemctl("daemon-reload")
        self.systemctl("start", "compositor.service")
        if self.display == "wayland":
            wait_for(lambda: (run / "wayland-test").exists(), "the compositor")
            variables = {"WAYLAND_DISPLAY": "wayland-test", "GDK_BACKEND": "wayland"}
        else:
            number = wait_for(lambda: (run / "display").exists() and (run / "display").read_text().strip(), "the display")
            variables = {"DISPLAY": f":{number}", "GDK_BACKEND": "x11"}
        self.environment |= variables
        self.systemctl("set-environment", *(f"{name}={value}" for name, value in variables.items()))
        self.systemctl("start", "desktop.target")

    def run(self, *words, status=0, input=""):
        done = subprocess.run(
            [str(word) for word in words], env=self.environment, input=input, capture_output=True, text=True, timeout=LONGEST_WAIT)
        check(done.returncode == status, f"{words}: exit {done.returncode}, expected {status}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def touchstone(self, *words, status=0, input=""):
        return self.run(self.device.programs / "touchstone", *words, status=status, input=input)

    def systemctl(self, *words, status=0):
        return self.run("systemctl", "--user", *words, status=status)

    def is_active(self, unit):
        return subprocess.run(["systemctl", "--user", "--quiet", "is-active", unit], env=self.environment).returncode == 0

    def row(self, topic):
        done = subprocess.run(
            [self.device.programs / "touchstone", "doctor", "--json"], env=self.environment, capture_output=True, text=True,
            timeout=LONGEST_WAIT)
        (found,) = [each for each in json.loads(done.stdout)["findings"] if each["topic"] == topic]
        return found

    def mend(self, found):
        return self.run("sh", "-c", found["fix"])

    # the window

    @property
    def window(self):
        return subprocess.run(
            ["/usr/bin/python3", "-c", LOOK], env=self.environment, capture_output=True, text=True, timeout=LONGEST_WAIT).stdout

    def sees(self, program, *words):
        """Waits until the window has these words, while the program waits."""
        seen = ""

        def is_there():
            nonlocal seen
            if program.poll() is not None:
                check(False, f"the program ended with {program.returncode} before {words}: {program.communicate()}\n{seen}")
            seen = self.window
            return all(word in seen for word in words)

        wait_for(is_there, f"{words} in a window")
        return seen

    def begin(self, *words):
        return subprocess.Popen(
            [self.device.programs / "touchstone", *words], env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)


@contextlib.contextmanager
def owner():
    """Somebody without a device."""
    device = Device(boot=False)
    try:
        yield device
    finally:
        device.clean_up()


@contextlib.contextmanager
def owner_of_one():
    with Device(boot=False) as device:
        yield device


def files(device):
    """Each file and link of the owner's settings."""
    top = device.work / "config"
    return {str(path.relative_to(top)) for path in top.rglob("*") if path.is_symlink() or path.is_file()} - {"dconf/user"}


def answered(program, reader, finger):
    """Lays the finger on the reader until the program has what it asked for."""
    limit = time.monotonic() + LONGEST_WAIT
    while program.poll() is None:
        check(time.monotonic() < limit, "the program to have its answer")
        # The reader answers nobody before it looks, and what it is told before that is lost.
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(1)
            connection.connect(str(reader.device))
            connection.sendall(f"SCAN {finger}".encode())
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1)
        with contextlib.suppress(subprocess.TimeoutExpired):
            program.wait(0.3)
    output, errors = program.communicate()
    equal((program.returncode, output), (0, SECRET), f"what the program read: {errors}")


def who_logs_in_has_a_window_without_starting_anything():
    with Reader() as reader, owner() as device:
        with Session(device, "wayland") as session:
            person = Person(device, "--bus", str(reader.bus), "--templates", str(reader.templates), environment=session.environment)
            with person:
                person.answers("Use it? [Y/n]")
                person.answers(START)
                person.reads(f"This runs systemctl --user enable --now {SOCKET}.")
                person.reads("To undo that: touchstone session disable device")
                person.reads("Sensor: fprintd")
                person.answers("New passcode:", PASSCODE)
                person.answers("Repeat the new passcode:", PASSCODE)
                person.answers("Enrol a finger? [Y/n]")
                person.answers("Which one? [right-index-finger]")
                touches(reader, person, "A")
                person.answers("Enrol another? [y/N]")
                person.answers(WINDOW)
                person.reads("To undo that: touchstone session disable window")
                person.reads("Now touch the reader")
                touches(reader, person, "A", until="[ok] unlocks with the finger")
                person.reads("test is set up")
                person.ends()
            check("  touchstone agent " not in person.all, "nothing is left to be started")
            device.processes += [device.supervisor, *device.daemons.values()]
            for unit in (SOCKET, SERVICE, AGENT_SERVICE):
                check(session.is_active(unit), f"{unit} is active")
            session.touchstone("item", "add", "example", "me", input=SECRET)
            show = session.begin("item", "show", "example", "me")
            session.sees(show, "example/me", "Touch the fingerprint sensor.")
            answered(show, reader, "A")
            for topic in ("start", "window"):
                equal(session.row(topic)["state"], "good", f"the doctor's row: {session.row(topic)}")
            pids = [device.supervisor, *device.daemons.values()]
        wait_for(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids), "the device to end with the session")

        # After a restart.
        with Session(device, "x11") as session:
            # Its window comes with the desktop. It need not be there yet.
            wait_for(lambda: (device.status or {}).get("hasAgent"), "the window")
            show = session.begin("item", "show", "example", "me")
            seen = session.sees(show, "Unlock this device", "+push button OK")
            check("example/me" not in seen, "what is behind the lock screen")
            session.run("xdotool", "type", PASSCODE)
            session.run("xdotool", "key", "Return")
            session.sees(show, "example/me", "Touch the fingerprint sensor.")
            answered(show, reader, "A")
            device.processes += [device.supervisor, *device.daemons.values()]
            # Its twin: the owner does not want the window any more.
            session.touchstone("session", "disable", "window", "--yes")
            check(not session.is_active(AGENT_SERVICE), "the window runs")
            wait_for(lambda: not device.status["hasAgent"], "the agent to be gone")
            check("nothing can show you the prompt" in session.touchstone("item", "show", "example", "me", status=69), "without a window")
            session.touchstone("session", "disable", "device", "--yes")
            equal(files(device), set(), "the files after both were disabled")


def nothing_is_started_that_the_owner_did_not_want():
    with owner() as device, Session(device) as session:
        with Person(device, "--bus", str(device.work / "no-bus"), environment=session.environment) as person:
            person.answers("Continue without a reader? [Y/n]")
            person.answers(START, "n")
            person.reads("After each login, boot it: touchstone device boot --detach")
            person.answers("New passcode:", PASSCODE)
            person.answers("Repeat the new passcode:", PASSCODE)
            person.answers(WINDOW, "n")
            person.reads("Prompts appear where 'touchstone agent' runs.")
            person.reads("test is set up")
            person.reads("touchstone agent ")
            person.ends()
        device.processes += [device.supervisor, *device.daemons.values()]
        equal(files(device), set(), "the files")
        # Once more, with another answer: the device that runs goes on as systemd's.
        before = device.supervisor
        with Person(device, environment=session.environment) as person:
            person.answers(START, "y")
            person.reads("shuts test down; after its next boot it asks for its passcode")
            person.answers("Passcode:", PASSCODE)
            person.answers(WINDOW, "y")
            person.reads("The window appears with your next graphical login.")
            person.reads("test is set up")
            person.ends()
        device.processes += [device.supervisor, *device.daemons.values()]
        check(device.supervisor != before and session.is_active(SERVICE), "systemd boots it")
        check("autostart/io.touchstone.Agent.desktop" in files(device), f"desktops that systemd does not start: {files(device)}")


def the_doctor_says_what_is_missing():
    with owner_of_one() as device, Session(device, "x11") as session:
        for topic, words in (("start", "until somebody boots it"), ("window", "nothing starts the window")):
            found = session.row(topic)
            check(found["state"] == "warning" and words in found["text"], found)
            if topic == "window":
                # Its socket waits, and the doctor asks nobody there.
                check(not session.is_active(SERVICE), "the doctor booted the device")
                row = session.row("device")
                check(row["state"] == "good" and "boots when it is first used" in row["text"], row)
                said = session.touchstone("device", "status", status=69)
                check(f"systemctl --user start {SERVICE}" in said, said)
                check(not session.is_active(SERVICE), "the doctor booted the device")
                # What it advises works, where booting by hand is refused.
                session.touchstone("device", "boot", "--detach", status=1)
                session.systemctl("start", SERVICE)
                check("test answers" in session.row("device")["text"], session.row("device"))
            session.mend(found)
            equal(session.row(topic)["state"], "good", f"the row after that command: {session.row(topic)}")
        device.processes += [device.supervisor, *device.daemons.values()]
        session.systemctl("stop", AGENT_SERVICE)
        found = session.row("window")
        check(found["state"] == "bad" and "does not run now" in found["text"], found)
        session.mend(found)
        equal(session.row("window")["state"], "good", "the row of the window after that command")
        check("nothing was changed" in session.touchstone("session", "enable", "window", "--yes"), "once more")
        check("nothing was changed" in session.touchstone("session", "enable", "device", "--yes"), "once more")


def an_erased_device_leaves_nothing_behind():
    with owner_of_one() as device, Session(device) as session:
        device.run("device", "create", "second")
        said = session.touchstone("session", "enable", "device", "--yes")
        check("writes" in said and "touchstone@.socket" in said and SOCKET in said, said)
        session.touchstone("session", "enable", "device", "--yes", "--device", "second")
        for name in ("test", "second"):
            session.touchstone("device", "status", name, status=69)
            session.touchstone("item", "list", "--device", name)
        session.touchstone("device", "erase", "test", "--force")
        check(not session.is_active(SOCKET) and not device.socket.exists() and not device.state.exists(), "its socket")
        # The other one needs the same units.
        check(session.is_active("touchstone@second.socket"), "the socket of the other")
        session.touchstone("item", "list", "--device", "second")
        session.touchstone("device", "erase", "second", "--force")
        equal(files(device), set(), "the files")
        check("nothing was changed" in session.touchstone("session", "disable", "device", "--yes"), "disabled once more")


def the_window_goes_from_one_device_to_another():
    drop_in = "systemd/user/touchstone-agent.service.d/device.conf"
    with owner_of_one() as device, Session(device) as session:
        for name in ("default", "second"):
            device.run("device", "create", name)
        config = device.work / "config"

        def shows(name):
            check(f"TOUCHSTONE_DEVICE={name}\n" in (config / drop_in).read_text(), f"the window of {name}")
            text = (config / "autostart/io.touchstone.Agent.desktop").read_text()
            equal(" --device " in text, name != "default", text)

        session.touchstone("session", "enable", "window", "--yes", "--device", "default")
        check(drop_in not in files(device), "the default device needs no name")
        session.touchstone("session", "enable", "window", "--yes", "--device", "second")
        shows("second")
        said = session.touchstone("session", "enable", "window", "--yes", "--device", "default")
        check("it shows the prompts of default" in said, said)
        shows("default")
        check("nothing was changed" in session.touchstone("session", "enable", "window", "--yes", "--device", "default"), "once more")
        # Another device that is set up has the window only if its owner says so.
        for answer, shown in (("", "default"), ("y", "test")):
            with Person(device, "--bus", str(device.work / "no-bus"), environment=session.environment) as person:
                person.answers(START, "n")
                person.answers("New passcode:" if shown == "default" else "Passcode:", PASSCODE)
                if shown == "default":
                    person.answers("Repeat the new passcode:", PASSCODE)
                person.reads("The window shows the prompts of default")
                person.answers("Should it show those of test instead? [y/N]", answer)
                person.reads("test is set up")
                person.ends()
            device.processes += [device.supervisor, *device.daemons.values()]
            shows(shown)
        # The window of a device that is erased ends; that of another one's stays.
        session.touchstone("device", "erase", "second", "--force")
        shows("test")
        said = session.touchstone("device", "erase", "test", "--force")
        check("the window showed the prompts of test" in said, said)
        equal(files(device), set(), "the files")


# As debian/rules and dh_installsystemduser put them.
PACKAGE = '''
for directory in usr etc; do
    mkdir -p /run/package/$directory /run/package/$directory.work
    mount -t overlay overlay -o "lowerdir=/$directory,upperdir=/run/package/$directory,workdir=/run/package/$directory.work" /$directory
done
install -D -m 755 "$1/touchstone-agent" /usr/bin/touchstone-agent
install -D -m 644 -t /usr/lib/systemd/user "$2/system/systemd-user/touchstone-agent.service"
install -D -m 644 -t /etc/xdg/autostart "$2/system/autostart/io.touchstone.Agent.desktop"
mkdir -p /etc/systemd/user/graphical-session.target.wants
ln -s /usr/lib/systemd/user/touchstone-agent.service /etc/systemd/user/graphical-session.target.wants/
'''


@contextlib.contextmanager
def package_installed():
    """touchstone-desktop, for every user: in this test's own mounts."""
    subprocess.run(["sh", "-euc", PACKAGE, "sh", str(AGENT), str(REPOSITORY)], check=True, timeout=LONGEST_WAIT)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", "/usr", "/etc"], check=True, timeout=LONGEST_WAIT)


def what_the_package_starts_can_be_stopped_for_one_user():
    autostart, mask = "autostart/io.touchstone.Agent.desktop", f"systemd/user/{AGENT_SERVICE}"
    with owner_of_one() as device, package_installed():
        device.programs = place = device.work / "installed"
        place.mkdir()
        # Copies, because the window's program stands beside what a link leads to.
        for program in ("touchstone", "touchstoned", "touchstone-enclave"):
            shutil.copy(PROGRAMS / program, place)
        device.environment["TOUCHSTONE_DEVICE"] = "default"
        device.run("device", "create", "default")

        def starts():
            return subprocess.run(["systemctl", "--user", "--quiet", "is-enabled", AGENT_SERVICE], env=session.environment).returncode == 0

        with Session(device, "x11") as session:
            session.environment["PATH"] = f"/usr/bin:{os.environ['PATH']}"
            check(session.is_active(AGENT_SERVICE) and starts(), "the package starts the window")
            equal(files(device), set(), "the files")
            said = session.touchstone("session", "disable", "window", "--yes")
            check(f"runs systemctl --user mask --now {AGENT_SERVICE}" in said, said)
            check(not session.is_active(AGENT_SERVICE) and not starts(), "the window starts")
            equal(files(device), {autostart, mask}, "the files")
            # Desktops that systemd does not start look here first.
            check("Hidden=true" in (device.work / "config" / autostart).read_text(), "the entry is hidden")
            check("nothing was changed" in session.touchstone("session", "disable", "window", "--yes"), "once more")
            check("nothing starts the window" in session.row("window")["text"], session.row("window"))
        # The next login.
        with Session(device, "x11") as session:
            session.environment["PATH"] = f"/usr/bin:{os.environ['PATH']}"
            check(not session.is_active(AGENT_SERVICE), "the window starts with the next session")
            said = session.touchstone("session", "enable", "window", "--yes")
            check(f"runs systemctl --user unmask {AGENT_SERVICE}" in said, said)
            check(session.is_active(AGENT_SERVICE) and starts(), "the window starts again")
            equal(files(device), set(), "the files")
            check("nothing was changed" in session.touchstone("session", "enable", "window", "--yes"), "once more")
        # Without a systemd of the user's the entry alone counts.
        (device.work / "without").mkdir(mode=0o700)
        device.environment |= {"PATH": f"/usr/bin:{os.environ['PATH']}", "XDG_RUNTIME_DIR": str(device.work / "without")}
        device.run("session", "disable", "window", "--yes")
        equal(files(device), {autostart}, "the files without systemd")
        device.run("session", "enable", "window", "--yes")
        equal(files(device), set(), "the files without systemd after that")


def a_device_that_ends_for_a_new_unit_is_announced():
    with owner_of_one() as device, Session(device) as session:
        session.touchstone("session", "enable", "device", "--yes")
        unit = device.work / "config/systemd/user/touchstone@.service"
        unit.write_text(unit.read_text().replace("TasksMax=512", "TasksMax=500"))
        said = session.touchstone("session", "enable", "device", status=64)
        check("changes" in said and "shuts test down" not in said, said)
        session.touchstone("item", "list")
        before = device.supervisor
        said = session.touchstone("session", "enable", "device", "--yes")
        check("shuts test down; after its next boot it asks for its passcode" in said, said)
        session.touchstone("item", "list")
        device.processes += [before, device.supervisor, *device.daemons.values()]
        check(device.supervisor != before, "the device runs on with the old unit")


def what_cannot_be_started_is_said():
    with owner_of_one() as device:
        environment = device.environment
        device.environment = environment | {"PATH": f"{AGENT}:{environment['PATH']}"}
        said = device.run("session", "enable", "device", "--yes", status=69).stderr
        check("touchstone device boot --detach test" in said, said)
        check("--yes" in device.run("session", "enable", "window", status=64).stderr, "without a terminal")
        equal(files(device), set(), "the files")
        # Desktops that systemd does not start have their own way.
        said = device.run("session", "enable", "window", "--yes").stdout
        equal(files(device), {"autostart/io.touchstone.Agent.desktop"}, said)
        text = (device.work / "config/autostart/io.touchstone.Agent.desktop").read_text()
        # The test's environment names the device, and a login would not.
        check(f"Exec={(AGENT / 'touchstone-agent').resolve()} --device test\n" in text, text)
        device.run("session", "disable", "window", "--yes")
        equal(files(device), set(), "the files after that")
        device.environment = environment
        # Where it stands apart from the window's program.
        programs, device.programs = device.programs, device.work / "apart"
        device.programs.mkdir()
        shutil.copy(programs / "touchstone", device.programs)
        check("touchstone-desktop" in device.run("session", "enable", "window", "--yes", status=70).stderr, "without the program")
        device.programs = programs
        for part in ("device", "window"):
            device.run("session", "enable", part, "--yes", "--device", "absent", status=69)
        equal(files(device), set(), "the files after all")
        # A desktop's entry names its device too.
        device.environment = environment | {"PATH": f"{AGENT}:{environment['PATH']}"}
        device.run("session", "enable", "window", "--yes")
        check("the window showed the prompts of test" in device.run("device", "erase", "test", "--force").stderr, "the erased device")
        equal(files(device), set(), "the files of a device that was erased")


main(
    who_logs_in_has_a_window_without_starting_anything, nothing_is_started_that_the_owner_did_not_want,
    the_doctor_says_what_is_missing, an_erased_device_leaves_nothing_behind, the_window_goes_from_one_device_to_another,
    what_the_package_starts_can_be_stopped_for_one_user, a_device_that_ends_for_a_new_unit_is_announced, what_cannot_be_started_is_said)
