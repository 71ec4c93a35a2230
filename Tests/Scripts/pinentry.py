#!/usr/bin/env python3
"""Prompts as dialogs of the real pinentry programs: in a terminal, and on a display of their own."""

import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

from device import LONGEST_WAIT, Device, Evaluation, check, equal, main, wait_for


class Terminal:
    """`touchstone agent` in a terminal of tmux, with the words that are on it."""

    def __init__(self, device, *arguments):
        # A server of its own: one that is about to end takes no session.
        self.device, self.socket = device, str(device.work / f"tmux-{time.monotonic_ns()}")
        command = " ".join(f"'{word}'" for word in (str(device.programs / "touchstone"), "agent", *arguments))
        self.tmux("new-session", "-d", "-x", "90", "-y", "34", f"{command}; echo status $?; sleep 600")
        self.wait("ready:")

    def tmux(self, *arguments):
        environment = self.device.environment | {"LC_ALL": "C.UTF-8", "TERM": "screen", "NO_COLOR": "1"}
        return subprocess.run(
            ["tmux", "-f", "/dev/null", "-S", self.socket, *arguments], env=environment, capture_output=True, text=True,
            timeout=LONGEST_WAIT).stdout

    @property
    def text(self):
        return self.tmux("capture-pane", "-p")

    def wait(self, *words):
        wait_for(lambda: all(word in self.text for word in words), f"{words} in:\n{self.text}")
        return self.text

    def type(self, *keys):
        self.tmux("send-keys", *keys)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tmux("kill-server")


def pinentries(device):
    """The process ids of the pinentry programs that show something for this device."""
    found = []
    for directory in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if b"pinentry" in (directory / "comm").read_bytes() and str(device.work) in os.fsdecode((directory / "environ").read_bytes()):
                found.append(int(directory.name))
    return found


def finger(device):
    device.client("Device").PresentFinger(finger="thumb")


def miss(device):
    device.client("Device").PresentFinger(finger=None)


def dialog_closes_when_the_finger_matches(program):
    with Device() as device:
        device.set_up("271828", "thumb")
        with Terminal(device, "--pinentry", program) as terminal:
            evaluation = Evaluation(device, reason="open the safe")
            terminal.wait("Touch ID for", "(verified: executable)", "says: “open the safe”", "Touch the fingerprint sensor.")
            check(pinentries(device), "a pinentry shows it")
            finger(device)
            equal(evaluation.result()[0], None, "the evaluation")
            terminal.wait("Recognised:")
            wait_for(lambda: not pinentries(device), "the pinentry to end")


def curses_closes():
    dialog_closes_when_the_finger_matches("pinentry-curses")


def tty_closes():
    dialog_closes_when_the_finger_matches("pinentry-tty")


def passcode_is_typed(program, *cancel):
    with Device() as device:
        device.set_up("271828")
        with Terminal(device, "--pinentry", program) as terminal:
            evaluation = Evaluation(device, policy=2)
            terminal.wait("Enter the passcode of this device.", "Passcode:")
            terminal.type("314159", "Enter")
            terminal.wait("Wrong passcode.")
            check("314159" not in terminal.text, "what was typed does not show")
            terminal.type("271828", "Enter")
            equal(evaluation.result()[0], None, "the evaluation")
            terminal.wait("Recognised:")
            check("271828" not in terminal.text, "what was typed does not show")
            wait_for(lambda: not pinentries(device), "the pinentry to end")
            evaluation = Evaluation(device, policy=2, reason="second")
            wait_for(lambda: pinentries(device), "the next dialog")
            terminal.wait("second", "Enter the passcode of this device.")
            terminal.type(*cancel)
            equal(evaluation.result()[1].get("code"), -2, "the cancelled evaluation")
            wait_for(lambda: not pinentries(device), "the pinentry to end")


def curses_types():
    passcode_is_typed("pinentry-curses", "Tab", "Tab", "Enter")


def tty_types():
    passcode_is_typed("pinentry-tty", "C-c")


def a_failure_offers_the_fallback_and_it_leads_to_the_passcode():
    with Device() as device:
        device.set_up("271828", "thumb")
        with Terminal(device, "--pinentry", "pinentry-curses") as terminal:
            evaluation = Evaluation(device, policy=2)
            terminal.wait("Touch the fingerprint sensor.", "<Cancel>")
            miss(device)
            terminal.wait("Not recognised. Try again.", "<Enter Passcode>", "<Cancel>")
            terminal.type("Enter")
            terminal.wait("Passcode:")
            terminal.type("271828", "Enter")
            equal(evaluation.result()[0], None, "the evaluation")


def a_missing_pinentry_is_named():
    with Device() as device:
        result = device.run("agent", "--pinentry", "pinentry-fltk-none", status=69)
        check("is not installed: it comes with a package such as pinentry-curses" in result.stderr, result.stderr)
        device.environment["PATH"] = "/nowhere"
        result = device.run("agent", "--pinentry", "pinentry-gtk-2", status=69)
        check("the Debian package pinentry-gtk2" in result.stderr, result.stderr)


def a_pinentry_that_dies_is_begun_once_more_and_then_given_up():
    with Device() as device:
        device.set_up("271828", "thumb")
        broken = device.work / "pinentry-broken"
        count = device.work / "count"
        for script in (
            "exit 1", "echo OK; exit 0", "echo nonsense; sleep 5", "head -c 100000 /dev/zero; sleep 5",
            "echo OK; while read line; do echo ERR 5 no; done",
        ):
            broken.write_text(f"#!/bin/sh\necho x >>{count}\n{script}\n")
            broken.chmod(0o755)
            count.write_text("")
            with Terminal(device, "--pinentry", str(broken)) as terminal:
                evaluation = Evaluation(device)
                equal(evaluation.result()[1].get("code"), -4, f"the evaluation ({script})")
                equal(count.read_text().count("x"), 2, f"starts of it ({script})")
                terminal.wait("pinentry-broken")
                # It goes on with the next, when there is one that works.
                wait_for(lambda: device.status["hasAgent"], "the agent to be there again")
                shutil.copy("/usr/bin/pinentry-curses", broken)
                evaluation = Evaluation(device)
                terminal.wait("Touch the fingerprint sensor.")
                for pid in pinentries(device):
                    os.kill(pid, signal.SIGKILL)
                time.sleep(0.2)
                terminal.wait("Touch the fingerprint sensor.")
                finger(device)
                equal(evaluation.result()[0], None, "the evaluation")
                terminal.wait("Recognised:")
            broken.unlink()


def what_is_refused_is_asked_for_again():
    with Device() as device:
        device.set_up("271828")
        with Terminal(device, "--pinentry", "pinentry-curses") as terminal:
            evaluation = Evaluation(device, policy=2)
            terminal.wait("Passcode:")
            (first,) = pinentries(device)
            # Too long to be sealed, so that no event comes of it.
            terminal.type("-l", "7" * 300)
            terminal.type("Enter")
            wait_for(lambda: pinentries(device) not in ([], [first]), "the dialog to be there again")
            terminal.wait("Passcode:")
            terminal.type("271828", "Enter")
            equal(evaluation.result()[0], None, "the evaluation")


def keys_meant_for_the_prompt_before_open_nothing():
    with Device() as device:
        device.set_up("271828")
        with Terminal(device, "--pinentry", "pinentry-curses") as terminal:
            for number in range(10):
                first = Evaluation(device, policy=2, reason=f"first{number}")
                terminal.wait("Passcode:", f"first{number}")
                terminal.type("27")
                started = time.monotonic()
                second = Evaluation(device, policy=2, reason=f"second{number}")
                wait_for(lambda: f"second{number}" in terminal.text, "the second prompt")
                terminal.type("271828", "Enter")
                took = time.monotonic() - started
                equal(first.result()[1].get("code"), -4, "the first evaluation")
                if took < 1:
                    break
                # Keys that come later may count, and a part of them is a wrong passcode.
                second.connection.shutdown(socket.SHUT_RDWR)
                wait_for(lambda: not pinentries(device), "the pinentry to end")
                device.run("device", "unlock", input="271828\n")
            check(took < 1, "no keys were typed in time")
            time.sleep(2)
            check(device.status["hasPrompt"], "the second prompt is still there")
            terminal.wait("Passcode:", f"second{number}")
            terminal.type("271828", "Enter")
            equal(second.result()[0], None, "the second evaluation")


@contextlib.contextmanager
def display(device):
    reading, writing = os.pipe()
    # -noreset: else it restarts whenever its last client goes, as each look does, and whoever connects meanwhile is lost.
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(writing), "-screen", "0", "900x700x24", "-nolisten", "tcp", "-noreset"], pass_fds=[writing],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(writing)
    try:
        number = os.read(reading, 16).decode().strip()
        device.environment["DISPLAY"] = f":{number}"
        yield
    finally:
        os.close(reading)
        server.kill()
        server.wait()


def xdotool(device, *arguments):
    return subprocess.run(
        ["xdotool", *arguments], env=device.environment, capture_output=True, text=True, timeout=LONGEST_WAIT).stdout.split()


def windows(device):
    return xdotool(device, "search", "--onlyvisible", "--name", "Touch ID|Passcode")


def a_window_closes_when_the_finger_matches(program):
    with Device() as device, display(device):
        device.set_up("271828", "thumb")
        process = subprocess.Popen(
            [str(device.programs / "touchstone"), "agent", "--pinentry", program], env=device.environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        try:
            check("ready" in process.stdout.readline(), "the agent's first line")
            evaluation = Evaluation(device)
            wait_for(lambda: windows(device), "the window")
            picture = os.environ.get("TOUCHSTONE_PICTURES")
            if picture:
                time.sleep(0.5)
                subprocess.run(["import", "-window", "root", f"{picture}/{program}.png"], env=device.environment, check=True)
            finger(device)
            equal(evaluation.result()[0], None, "the evaluation")
            wait_for(lambda: not windows(device) and not pinentries(device), "the window to go")

            evaluation = Evaluation(device, policy=2)
            wait_for(lambda: windows(device), "the window")
            for _ in range(3):
                miss(device)
            entry = wait_for(
                lambda: xdotool(device, "search", "--onlyvisible", "--name", "Passcode"), "the window of the entry")
            if picture:
                time.sleep(0.5)
                subprocess.run(["import", "-window", "root", f"{picture}/{program}-passcode.png"], env=device.environment, check=True)

            def has_focus():
                xdotool(device, "windowfocus", "--sync", entry[0])
                return xdotool(device, "getwindowfocus", "-f") == [entry[0]]

            wait_for(has_focus, "the entry to have the keys")
            xdotool(device, "type", "--delay", "20", "271828")
            xdotool(device, "key", "Return")
            equal(evaluation.result()[0], None, "the evaluation with the passcode")
        finally:
            process.kill()
            process.wait()


def gtk_closes_and_takes_the_passcode():
    a_window_closes_when_the_finger_matches("pinentry-gtk-2")


def qt_closes():
    a_window_closes_when_the_finger_matches("pinentry-qt")


main(
    curses_closes, tty_closes, curses_types, tty_types, a_failure_offers_the_fallback_and_it_leads_to_the_passcode,
    what_is_refused_is_asked_for_again, keys_meant_for_the_prompt_before_open_nothing, a_missing_pinentry_is_named,
    a_pinentry_that_dies_is_begun_once_more_and_then_given_up,
    gtk_closes_and_takes_the_passcode, qt_closes)
