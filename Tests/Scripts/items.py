#!/usr/bin/env python3
"""Secrets of a person: kept, listed, shown after a finger, copied to a clipboard that is cleared, removed, imported, exported."""

import contextlib
import csv
import json
import os
import pathlib
import pty
import signal
import subprocess
import tempfile

from bridges import Person
from device import LONGEST_WAIT, PROGRAMS, Device, call, check, confirm, equal, main, wait_for

TOUCHSTONE = PROGRAMS / "touchstone"


def with_device(body):
    """A device with a passcode and a finger, and a person."""

    def run():
        with Device() as device:
            device.set_up("271828", "thumb")
            body(device, Person(device))

    run.__name__ = body.__name__
    return run


def item(device, *arguments, input="", status=0):
    """Standard output, and what was said on standard error."""
    done = device.run("item", *arguments, input=input, status=status)
    return done.stdout, done.stderr


@with_device
def a_secret_is_kept_listed_shown_and_removed(device, person):
    """EX-10."""
    said, _ = item(device, "add", "github.com", "octo cat", "--label", "Code", input="sword\nfish\n")
    equal(said, "kept; commands call it touchstone://github.com/octo%20cat\n", "what add says")
    said, _ = item(device, "add", "db", "root", "--json", input="second")
    equal(json.loads(said), {"service": "db", "account": "root", "label": "db", "reference": "touchstone://db/root"}, "add --json")
    said, _ = item(device, "list")
    equal([line.split() for line in said.splitlines()], [["SERVICE", "ACCOUNT", "LABEL"], ["db", "root", "db"], ["github.com", "octo", "cat", "Code"]], "the list")
    said, _ = item(device, "list", "--json")
    equal([(row["service"], row["account"], row["label"]) for row in json.loads(said)], [("db", "root", "db"), ("github.com", "octo cat", "Code")], "the list as JSON")
    check("sword" not in said and "second" not in said, "a secret is in the list")
    equal(person.asked(), 0, "prompts so far")
    equal(item(device, "show", "github.com")[0], "sword\nfish", "the secret")
    reason = person.prompts[0]["reason"]
    check("show the secret of octo cat at github.com" in reason, reason)
    equal(person.asked(), 1, "prompts of one look")
    item(device, "show", "github.com", "octo cat")
    equal(person.asked(), 1, "prompts of a second look: nothing is remembered")
    # What is wrong asks nobody.
    item(device, "show", "gitlab.com", status=1)
    item(device, "show", "github.com", "other", status=1)
    item(device, "add", "db", "root", input="third", status=1)
    item(device, "add", "db", "empty", input="\n", status=8)
    item(device, "add", "db", "large", input="x" * (65537), status=5)
    item(device, "add", "db", "a\tb", input="x", status=64)
    item(device, "add", "db", "me", "secret", input="x", status=64)
    item(device, "add", "db", "me", input="x")
    said = item(device, "show", "db", status=64)[1]
    check("me, root" in said, said)
    equal(person.asked(), 0, "prompts for what is refused")
    item(device, "add", "db", "root", "--replace", input="x" * 65536)
    check("store over" in person.prompts[0]["reason"], person.prompts[0])
    equal(person.asked(), 1, "prompts of a replacement")
    equal(item(device, "show", "db", "root")[0], "x" * 65536, "the new secret")
    said = item(device, "remove", "db", "root", status=8)[1]
    check("--yes" in said, said)
    item(device, "remove", "db", "root", "--yes")
    item(device, "show", "db", "root", status=1)
    item(device, "remove", "db", "root", "--yes", status=1)


@with_device
def nobody_but_the_owner_gets_a_secret(device, person):
    """EX-10, AC-40: a cancel, a wrong finger, a locked device, no agent, another program."""
    item(device, "add", "db", "root", input="swordfish")
    person.answer = "cancel"
    said, errors = item(device, "show", "db", status=8)
    check("cancelled" in errors and "swordfish" not in said + errors, errors)
    item(device, "add", "db", "root", "--replace", input="other", status=8)
    person.answer = "nothing"
    person.asked()
    shown = subprocess.Popen([TOUCHSTONE, "item", "show", "db"], env=device.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    prompt = wait_for(lambda: person.prompts and person.prompts[0], "the prompt")
    confirm(device, {"prompt": prompt})
    device.client("Device").PresentFinger(finger=None)
    device.client("Agent").Cancel(prompt=prompt["identifier"])
    output, errors = shown.communicate(timeout=LONGEST_WAIT)
    equal((shown.returncode, output), (8, b""), f"after a wrong finger and a cancel: {errors}")
    person.answer = "finger"
    # Another program has neither the item nor its name.
    with contextlib.closing(device.connect()) as connection:
        for query in ({"class": {"string": "genp"}, "r_Data": {"boolean": True}}, {"class": {"string": "genp"}, "svce": {"string": "db"}, "r_Attributes": {"boolean": True}}):
            error, parameters = call(connection, "Keychain.CopyMatching", query=query, options={"reason": "x", "reuseDuration": 0.0, "interactionNotAllowed": False})
            equal(parameters.get("status"), -25300, f"what another program is told: {error} {parameters}")


@with_device
def behind_the_lock_screen_the_owner_is_asked_to_open_it(device, person):
    """ND-6."""
    item(device, "add", "db", "root", input="swordfish")
    device.run("device", "lock")
    person.asked()
    check("db" in item(device, "list")[0], "the list after the lock screen was opened")
    equal([prompt["phase"] for prompt in person.prompts], ["unlock"], "what was asked")
    # What is shown needs both: the lock screen opened, and the finger for the secret.
    device.run("device", "lock")
    person.asked()
    equal(item(device, "show", "db")[0].strip(), "swordfish", "the secret after the lock screen was opened")
    equal([prompt["phase"] for prompt in person.prompts][0], "unlock", "what was asked first")
    check(len(person.prompts) > 1, f"what was asked: {person.prompts}")
    device.run("device", "lock")
    person.answer = "cancel"
    said, errors = item(device, "list", status=8)
    check("cancelled" in errors, errors)
    equal(device.status["isLocked"], True, "the device after a cancel")


def a_locked_device_without_an_agent_says_what_to_do():
    with Device() as device:
        device.set_up("271828", "thumb")
        item(device, "add", "db", "root", input="swordfish")
        device.run("device", "lock")
        for words in (("list",), ("show", "db")):
            said, errors = item(device, *words, status=5)
            check("unlock" in errors and "swordfish" not in said + errors, errors)


@with_device
def a_secret_is_typed_twice_and_hidden(device, person):
    """EX-10."""

    def typed(*lines):
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(TOUCHSTONE, [str(TOUCHSTONE), "item", "add", "db", "root"], device.environment)
        shown = b""
        for question, line in zip((b"Secret: ", b"Repeat the secret: "), lines):
            while question not in shown:
                shown += os.read(terminal, 1024)
            os.write(terminal, line + b"\n")
        with contextlib.suppress(OSError):
            while chunk := os.read(terminal, 1024):
                shown += chunk
        os.close(terminal)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown

    status, shown = typed(b"swordfish", b"swordfisx")
    check(status == 8 and b"differ" in shown and b"swordfis" not in shown, shown)
    status, shown = typed(b"swordfish", b"swordfish")
    check(status == 0 and b"swordfish" not in shown, shown)
    equal(item(device, "show", "db")[0], "swordfish", "what was typed")


def a_clipboard_has_a_secret_for_a_while(device, person, paste, put):
    """EX-11, with programs of a session that read the clipboard and write it."""

    def clipboard():
        return subprocess.run(paste, env=device.environment, capture_output=True, timeout=LONGEST_WAIT).stdout

    def copy(*options):
        process = subprocess.Popen([TOUCHSTONE, "item", "copy", "db", *options], env=device.environment, stderr=subprocess.PIPE)
        line = process.stderr.readline()
        check(b"on the clipboard" in line, line)
        # xclip goes on in the background, and takes the clipboard there.
        wait_for(lambda: clipboard() == b"swordfish", "the secret on the clipboard")
        return process

    process = copy("--seconds", "5")
    check(b"is cleared" in process.communicate(timeout=LONGEST_WAIT)[1], "what it says at the end")
    equal(process.returncode, 0, "the exit status after five seconds")
    wait_for(lambda: clipboard() == b"", "the clipboard to be cleared after five seconds")
    equal(person.asked(), 1, "prompts")
    for number in (signal.SIGINT, signal.SIGTERM):
        process = copy("--seconds", "300")
        process.send_signal(number)
        process.communicate(timeout=LONGEST_WAIT)
        equal(process.returncode, 0, f"the exit status after signal {number}")
        wait_for(lambda: clipboard() == b"", f"the clipboard to be cleared after signal {number}")
    # What somebody else put there stays, also what begins like it.
    process = copy("--seconds", "300")
    subprocess.run(put, input=b"swordfish and more", env=device.environment, timeout=LONGEST_WAIT, stdout=subprocess.DEVNULL, check=True)
    wait_for(lambda: clipboard() == b"swordfish and more", "the other program's words on the clipboard")
    process.send_signal(signal.SIGINT)
    check(b"something else" in process.communicate(timeout=LONGEST_WAIT)[1], "what it says")
    equal(clipboard(), b"swordfish and more", "the clipboard of somebody else")
    person.asked()
    person.answer = "cancel"
    item(device, "copy", "db", status=8)
    equal(clipboard(), b"swordfish and more", "the clipboard after a cancel")
    person.asked()


@with_device
def the_clipboard_of_x11_has_a_secret_for_a_while(device, person):
    """EX-11: on a display of its own, with the real xclip."""
    item(device, "add", "db", "root", input="swordfish")
    said = item(device, "copy", "db", status=69)[1]
    check("DISPLAY" in said, said)
    equal(person.asked(), 0, "prompts without a clipboard")
    reading, writing = os.pipe()
    display = subprocess.Popen(["Xvfb", "-displayfd", str(writing), "-nolisten", "tcp", "-noreset"], pass_fds=[writing], stderr=subprocess.DEVNULL)
    os.close(writing)
    try:
        with open(reading) as file:
            device.environment["DISPLAY"] = f":{file.readline().strip()}"
        xclip = ["xclip", "-selection", "clipboard"]
        a_clipboard_has_a_secret_for_a_while(device, person, [*xclip, "-out"], [*xclip, "-in"])
        bare = device.work / "bare"
        bare.mkdir()
        device.environment["PATH"] = str(bare)
        said = item(device, "copy", "db", status=69)[1]
        check("install the package xclip" in said, said)
        device.environment["WAYLAND_DISPLAY"] = "wayland-0"
        said = item(device, "copy", "db", status=69)[1]
        check("install the package wl-clipboard" in said, said)
        equal(person.asked(), 0, "prompts without the programs")
    finally:
        display.terminate()
        display.wait(LONGEST_WAIT)


@with_device
def the_clipboard_of_wayland_has_a_secret_for_a_while(device, person):
    """EX-11: on a compositor of its own, with the real wl-copy. It wants a seat, which sway without a screen has."""
    item(device, "add", "db", "root", input="swordfish")
    nobody = 65534
    # sway does not run as root.
    change = {"user": nobody, "group": nobody, "extra_groups": []} if os.geteuid() == 0 else {}
    with tempfile.TemporaryDirectory(prefix="touchstone-sway.") as directory:
        if change:
            os.chown(directory, nobody, nobody)
        compositor = subprocess.Popen(
            ["sway", "--config", "/dev/null"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/", **change,
            env={"PATH": os.environ["PATH"], "XDG_RUNTIME_DIR": directory, "WLR_BACKENDS": "headless", "WLR_LIBINPUT_NO_DEVICES": "1",
                 "WLR_RENDERER": "pixman"})
        try:
            path = pathlib.Path(directory, "wayland-1")
            wait_for(path.is_socket, "the compositor")
            device.environment["WAYLAND_DISPLAY"] = str(path)
            a_clipboard_has_a_secret_for_a_while(device, person, ["wl-paste", "--no-newline"], ["wl-copy"])
        finally:
            compositor.kill()
            compositor.wait(LONGEST_WAIT)


@with_device
def passwords_are_imported_once(device, person):
    """EX-12."""
    file = device.work / "passwords.csv"
    file.write_text('\ufeff"Group","Title","Username","Password","URL","Notes","TOTP","Icon","Last Modified","Created"\r\n'
                    '"Root","GitHub","octocat","sword, ""fish""","https://www.github.com/login","note","","0","",""\r\n'
                    '"Root","Router","","secret\nof two lines","","","","0","",""\r\n'
                    '"Root","GitHub","octocat","another one","https://github.com","","","0","",""\r\n'
                    '"Root","Empty","me","","","","","0","",""\r\n')
    said, errors = item(device, "import", file.as_posix())
    check("2 imported from KeePassXC; 2 left out" in said and "line 5: octocat at github.com is in the file twice" in said, said)
    check("line 6: it has no password" in said and "1 have notes" in said and "rm" in said and str(file) in said, said)
    for secret in ("sword, ", "two lines", "another one"):
        check(secret not in said + errors, said)
    equal(person.asked(), 0, "prompts of an import")
    equal(item(device, "show", "github.com", "octocat")[0], 'sword, "fish"', "a password")
    equal(item(device, "show", "Router")[0], "secret\nof two lines", "a password of two lines")
    said, _ = item(device, "import", str(file))
    check("0 imported from KeePassXC; 4 left out" in said and "is kept already" in said, said)
    equal(len(json.loads(item(device, "list", "--json")[0])), 2, "secrets after a second import")
    check(file.exists(), "the file is gone")
    for text in ("", "a,b,c\n1,2,3\n", 'title,url,username,password\n"a,b,c,d', "title,url,username,password\na,b,c\n"):
        file.write_text(text)
        said = item(device, "import", str(file), status=78)[1]
        check("nothing was imported" in said, said)
    item(device, "import", str(device.work / "none.csv"), status=78)
    equal(len(json.loads(item(device, "list", "--json")[0])), 2, "secrets after files that are refused")


@with_device
def all_secrets_are_exported_after_one_prompt(device, person):
    """EX-13."""
    file = device.work / "out.csv"
    said = item(device, "export", str(file), status=1)[1]
    check("nothing is kept" in said and not file.exists(), said)
    item(device, "add", "github.com", "octocat", "--label", "Code", input='sword, "fish"')
    item(device, "add", "npm/token", "default", input="two\nlines")
    item(device, "add", "raw", "bytes", input=b"\xff\xfe".decode("latin-1"))
    with_bytes = subprocess.run([TOUCHSTONE, "item", "add", "raw", "no text"], env=device.environment, input=b"\xff\xfe", capture_output=True, timeout=LONGEST_WAIT)
    equal(with_bytes.returncode, 0, f"a secret that is no text: {with_bytes.stderr}")
    equal(person.asked(), 0, "prompts so far")
    said, errors = item(device, "export", str(file))
    check("3 written; 1 left out" in said and "no text at raw" in said and "rm" in said, said)
    check("fish" not in said + errors and "two" not in said + errors, said + errors)
    reason = person.prompts[0]["reason"]
    check("write 4 secrets into" in reason and file.name in reason, reason)
    equal(person.asked(), 1, "prompts of an export")
    equal(file.stat().st_mode & 0o7777, 0o600, "who may read the file")
    with file.open(newline="") as lines:
        rows = list(csv.reader(lines))
    equal(rows, [["Title", "URL", "Username", "Password"], ["Code", "https://github.com", "octocat", 'sword, "fish"'],
                 ["npm/token", "", "", "two\nlines"], ["raw", "https://raw", "bytes", "\xff\xfe"]], "the file")
    # What is there stays.
    before = file.read_bytes()
    said = item(device, "export", str(file), status=5)[1]
    check("--force" in said and file.read_bytes() == before, said)
    person.asked()
    # Nobody is asked, or the owner does not want to: there is no file, and no part of one.
    other = device.work / "other.csv"
    item(device, "export", str(device.work / "none" / "out.csv"), status=70)
    equal(person.asked(), 0, "prompts where no file can be written")
    person.answer = "cancel"
    item(device, "export", str(other), status=8)
    item(device, "export", "--force", str(file), status=8)
    check(file.read_bytes() == before, "a cancel changed the file that was there")
    equal([path.name for path in device.work.iterdir() if ".csv" in path.name], [file.name], "files after a cancel")
    person.answer = "finger"
    # Another device takes it.
    with Device() as second:
        second.set_up("271828", "thumb")
        said, _ = item(second, "import", str(file))
        check("3 imported from Touchstone; 0 left out" in said, said)
        taken = Person(second)
        equal(item(second, "show", "npm/token", "default")[0], "two\nlines", "a secret on another device")
        equal(item(second, "show", "github.com")[0], 'sword, "fish"', "another")
        equal([row["label"] for row in json.loads(item(second, "list", "--json")[0])], ["Code", "npm/token", "raw"], "labels on another device")
        check(taken.prompts, "prompts on another device")


main(
    all_secrets_are_exported_after_one_prompt, a_secret_is_kept_listed_shown_and_removed, nobody_but_the_owner_gets_a_secret,
    behind_the_lock_screen_the_owner_is_asked_to_open_it, a_locked_device_without_an_agent_says_what_to_do,
    a_secret_is_typed_twice_and_hidden, the_clipboard_of_x11_has_a_secret_for_a_while,
    the_clipboard_of_wayland_has_a_secret_for_a_while, passwords_are_imported_once)
