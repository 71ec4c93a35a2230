#!/usr/bin/env python3
"""The login password as the passcode (PM-24): the helper, and a device that is told how to answer. As root, in a mount namespace of its own.

With the real device and login: Tests/System/pam.py.
"""

import base64
import json
import os
import pathlib
import socket
import subprocess
import sys
import threading

if os.geteuid() != 0:
    sys.exit("only root can make what root keeps: run it as root")
if "TOUCHSTONE_TEST_NAMESPACE" not in os.environ:
    environment = {name: value for name, value in os.environ.items() if name != "SSH_CONNECTION"}
    os.execvpe("unshare", ["unshare", "--mount", sys.executable, *sys.argv], environment | {"TOUCHSTONE_TEST_NAMESPACE": "1"})

from device import LONGEST_WAIT, REPOSITORY, check, equal, main

HELPER = pathlib.Path(os.environ.get("TOUCHSTONE_BRIDGES", REPOSITORY / ".build/debug")).resolve() / "touchstone-pam-helper"
OWNER = 4711
ETC, RUN, STATE = pathlib.Path("/etc/touchstone/pam"), pathlib.Path(f"/run/touchstone/{OWNER}"), pathlib.Path(f"/var/lib/touchstone/{OWNER}")
CONSENT, ASIDE = ETC / f"{OWNER}.same-passcode", ETC / f"{OWNER}.same-passcode.tried"
REJECTED = {"error": "io.touchstone.Device.PasscodeRejected", "parameters": {"isErased": False}}
BUSY = {"error": "io.touchstone.Device.Refused", "parameters": {"reason": "busy"}}
# It hangs up, or never answers.
CLOSED, SILENT = "closed", "silent"


class Told:
    """A device that answers Unlock as it is told, and counts how often it was asked."""

    def __init__(self):
        self.answer, self.nonce, self.failures, self.tries, self.asked = {"parameters": {}}, True, 0, 0, threading.Event()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(RUN / "touchstoned.sock"))
        self.listener.listen()
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            threading.Thread(target=self.serve, args=(self.listener.accept()[0],), daemon=True).start()

    def serve(self, connection):
        with connection, connection.makefile("rb") as file:
            data = b""
            while byte := file.read(1):
                data += byte
                if byte != b"\0":
                    continue
                reply, data = self.reply(json.loads(data[:-1])), b""
                if reply == CLOSED:
                    return connection.shutdown(socket.SHUT_RDWR)
                if reply != SILENT:
                    connection.sendall(json.dumps(reply).encode() + b"\0")

    def reply(self, call):
        method = call["method"].rpartition(".")[2]
        if method == "GetStatus":
            flags = dict.fromkeys(("isEnrolled", "isPasscodeSet", "isLocked", "hasAgent"), True)
            return {"parameters": {"status": flags | {"isSimulated": False, "passcodeFailures": self.failures}}}
        if method == "GetNonce":
            return {"parameters": {"nonce": base64.b64encode(bytes(16)).decode()}} if self.nonce else BUSY
        equal(method, "Unlock", "the call")
        self.tries += 1
        self.asked.set()
        return self.answer


def start():
    """A login: the helper, and the module's end of its socket."""
    ours, theirs = socket.socketpair()
    ours.settimeout(LONGEST_WAIT)
    arguments = ["unlock-device", "ada", "login", "tty1", "", "local", "skip", "yes"]
    helper = subprocess.Popen(
        ["/bin/sh", "-c", f'exec "$0" "$@" 3<&{theirs.fileno()}', HELPER, *arguments], pass_fds=[theirs.fileno()], env={"LANG": "C.UTF-8"})
    theirs.close()
    ours.sendall(b"\0\5right")
    return helper, ours


def log_in():
    """What a login says, and whether the password was tried."""
    before = device.tries
    helper, ours = start()
    with ours:
        said = b""
        while more := ours.recv(4096):
            said += more
    equal(helper.wait(LONGEST_WAIT), 0, "the helper's end")
    return said.decode(), device.tries - before


def cut_off():
    """A login whose module ends the helper while the device looks at the password."""
    device.answer = SILENT
    device.asked.clear()
    helper, ours = start()
    check(device.asked.wait(LONGEST_WAIT), "the password was not tried")
    helper.kill()
    helper.wait(LONGEST_WAIT)
    ours.close()


def enroll(key=1, consents=True):
    """What `touchstone pam enroll` writes."""
    keys = [base64.b64encode(bytes([number]) * 65).decode() + " " + base64.b64encode(b"blob").decode() for number in (key, key + 1)]
    (ETC / str(OWNER)).write_text(f"Touchstone PAM 1\nuser ada\npresence {keys[0]}\nunlocked {keys[1]}\n")
    CONSENT.unlink(missing_ok=True)
    if consents:
        CONSENT.touch()


def begin():
    ASIDE.unlink(missing_ok=True)
    enroll()
    device.answer, device.nonce, device.failures = {"parameters": {}}, True, 0


def lies():
    """Where the consent is."""
    return [path.name.removeprefix(f"{OWNER}.same-passcode") for path in (CONSENT, ASIDE) if path.exists()]


def a_right_password_is_tried_at_each_login():
    begin()
    for _ in range(3):
        said, tries = log_in()
        check("was unlocked" in said and tries == 1, said)
    equal(lies(), [""], "the consent")


def a_wrong_password_is_tried_once():
    begin()
    device.answer = REJECTED
    said, tries = log_in()
    check("touchstone pam enroll --same-passcode" in said and tries == 1, said)
    equal((lies(), log_in()[1]), ([], 0), "the consent, and the next login")


def what_was_not_looked_at_is_tried_at_the_next_login():
    begin()
    device.answer = BUSY
    said, tries = log_in()
    check("did not look" in said and tries == 1, said)
    equal(lies(), [""], "the consent after a refusal")
    device.nonce = False
    equal((log_in()[1], lies()), (0, [""]), "without a nonce")
    begin()
    equal(log_in()[1], 1, "tries of the next login")


def after_a_try_that_was_cut_off_the_count_decides():
    for cut in (cut_off, lambda: (setattr(device, "answer", CLOSED), log_in())):
        # It cost nothing, or a right passcode came since.
        begin()
        device.failures = 1
        cut()
        equal(lies(), [".tried"], "the consent after it was cut off")
        # The device may still be at it.
        device.answer = BUSY
        equal((log_in()[1], lies()), (1, [".tried"]), "a refusal")
        device.answer, device.failures = {"parameters": {}}, 0
        equal((log_in()[1], lies()), (1, [""]), "the next login")
        # It was wrong.
        cut()
        device.answer, device.failures = {"parameters": {}}, 1
        equal((log_in()[1], lies()), (0, [".tried"]), "the next login after a wrong one")
        # Root says something else since.
        device.failures = 0
        enroll(key=5, consents=False)
        equal(log_in()[1], 0, "the next login after an enrolment without consent")
        enroll(key=5)
        equal((log_in()[1], lies()), (1, [""]), "after one with consent")


def two_logins_do_not_try_at_once():
    begin()
    device.answer = SILENT
    device.asked.clear()
    helper, ours = start()
    check(device.asked.wait(LONGEST_WAIT), "the password was not tried")
    equal(log_in()[1], 0, "tries of a second login")
    helper.kill()
    helper.wait(LONGEST_WAIT)
    ours.close()
    # A file from before there were notes.
    begin()
    CONSENT.unlink()
    ASIDE.touch()
    equal(log_in()[1], 0, "tries with a file that says nothing")
    equal(os.stat(ETC).st_mode & 0o777, 0o755, "the directory")


for place in ("/run", "/var/lib"):
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "touchstone-test", place], check=True)
pathlib.Path("/run/etc").mkdir()
for part in ("upper", "work"):
    pathlib.Path("/run/etc", part).mkdir()
subprocess.run(["mount", "-t", "overlay", "-o", "lowerdir=/etc,upperdir=/run/etc/upper,workdir=/run/etc/work", "overlay", "/etc"], check=True)
with open("/etc/passwd", "a") as file:
    file.write(f"ada:x:{OWNER}:{OWNER}::/:/bin/sh\n")
for directory in (ETC, RUN, STATE / "public"):
    directory.mkdir(parents=True, exist_ok=True)
# Any point of X25519.
(STATE / "public/passcode.pub").write_bytes(bytes([9]) + bytes(31))
device = Told()
main(
    a_right_password_is_tried_at_each_login, a_wrong_password_is_tried_once, what_was_not_looked_at_is_tried_at_the_next_login,
    after_a_try_that_was_cut_off_the_count_decides, two_logins_do_not_try_at_once)
