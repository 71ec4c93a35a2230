#!/usr/bin/env python3
"""What is left in memory: after the lock both daemons have nothing more of a secret, of its account's name or of a passcode.

Runs as root, which may read a daemon's memory. MEMORY_ROUNDS says how many devices are looked at, one after the other."""

import array
import base64
import contextlib
import fcntl
import json
import os
import pathlib
import re
import secrets
import sqlite3
import subprocess
import sys
import termios
import threading

from daemons import add, dictionary, item
from device import LONGEST_WAIT, Device, call, check, equal, main, wait_for
from enclave import Opened
from scanning import Value, scan

ROUNDS = int(os.environ.get("MEMORY_ROUNDS", "1"))
CALLS = 600
# Long enough to be looked for.
FINGER = f"finger-{secrets.token_hex(10)}"
BIOMETRY_ANY = 1 << 1

if os.geteuid() != 0:
    sys.exit("memory: run it as root: it reads the memory of hardened processes")


def is_found(value, found):
    return any(line.startswith(f"{value.name},") for line in found)


def check_found(process, what, value):
    check(is_found(value, scan(process, [value])), f"{value.name} is not found {what}")


def the_scanner_finds_each_form():
    """The control: a process that has a value in one form only."""
    content = secrets.token_bytes(40)
    for form in ("raw", "hex", "HEX", "base64+0", "base64+1", "base64+2"):
        program = ("import sys, base64\n"
                   "form, content = sys.argv[1], bytes(byte ^ 0x5A for byte in sys.stdin.buffer.read(40))\n"
                   "kept = {'raw': lambda: content, 'hex': lambda: content.hex(), 'HEX': lambda: content.hex().upper()}\n"
                   "kept = kept.get(form, lambda: base64.b64encode(bytes(int(form[-1])) + content))()\n"
                   "print('ready', flush=True)\n"
                   "sys.stdin.read()\n")
        child = subprocess.Popen([sys.executable, "-c", program, form], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            child.stdin.write(bytes(byte ^ 0x5A for byte in content))
            child.stdin.flush()
            equal(child.stdout.readline(), b"ready\n", form)
            found = scan(child.pid, [Value("it", content)])
            check(any(f"it, {form}," in line for line in found), f"{form} is not found: {found}")
            equal(scan(child.pid, [Value("another", secrets.token_bytes(40))]), {}, "what is not there")
        finally:
            child.kill()
            child.communicate()


class Owner:
    """`touchstone agent`, which shows the prompts, and the finger."""

    def __init__(self, device):
        self.device = device
        self.agent = subprocess.Popen(
            [str(device.programs / "touchstone"), "agent", "--reconnect", "--script", "-"], env=device.environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.agent.stdin.write("ignore\n")
        self.agent.stdin.close()
        self.agent.stdin = None
        check(self.agent.stdout.readline().startswith("ready"), "the agent's first line")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.agent.kill()
        self.agent.communicate()

    def touch(self):
        self.device.run("device", "match", FINGER, "--wait", str(LONGEST_WAIT))


def touched_context(device, owner, control):
    """A connection with a context in which the owner was recognised, for one read."""
    connection = device.connect()
    context = call(connection, "Authentication.CreateContext")[1]["context"]
    toucher = threading.Thread(target=owner.touch)
    toucher.start()
    options = {"reason": "the test", "reuseDuration": 0.0, "interactionNotAllowed": False}
    answer = call(
        connection, "Authentication.EvaluateAccessControl", context=context, accessControl=control, operation=1,
        options=options)
    toucher.join()
    equal(answer[0], None, f"the evaluation: {answer[1]}")
    return connection, context


def check_kept_half(device, process, method, *values, **parameters):
    """The control: who sends a message without its end has the daemon keep what came."""
    with device.connect() as connection:
        connection.sendall(json.dumps({"method": f"io.touchstone.{method}", "parameters": parameters}).encode())
        unread = array.array("i", [1])

        def is_read():
            fcntl.ioctl(connection, termios.TIOCOUTQ, unread)
            return unread[0] == 0

        wait_for(is_read, "the daemon to read")
        found = scan(process, values)
        for value in values:
            check(is_found(value, found), f"{value.name} is not found while it is there")


def plain_item_key(device, app, passcode):
    """The key of an item without an access control, which is the only one, as its files have it."""
    account = "plain"
    equal(add(app, account, b"the plain value", pdmn="ak"), 0, "the plain item")
    with contextlib.closing(sqlite3.connect(f"file:{device.state}/keychain/keychain.db?mode=ro", uri=True)) as database:
        rows = database.execute("SELECT class, identifier, version, wrappedKey FROM item WHERE guarded IS NULL").fetchall()
    equal(len(rows), 1, "items without an access control")
    item_class, identifier, version, wrapped = rows[0]
    # Its first read, which tells its group.
    group = item(app, account)[1]["agrp"]
    key = Opened(device, passcode).item_key(wrapped, group, item_class.encode() + identifier + version)
    return Value("the plain item's key", key)


def nothing_is_left_after_the_lock():
    for number in range(ROUNDS):
        one_device(number)


def one_device(number):
    content, account = secrets.token_bytes(40), f"account-{secrets.token_hex(20)}"
    passcode, large = secrets.token_hex(16), secrets.token_bytes(300_000)
    secret = Value("the secret", content)
    values = [
        secret, Value("the account", account.encode()), Value("the passcode", passcode.encode()),
        Value("the large secret", large[150_000:150_040])]
    control = {"protection": "ak", "flags": BIOMETRY_ANY}
    with Device() as device, Owner(device) as owner:
        device.set_up(passcode, FINGER)
        touchstoned, enclave = device.daemons["touchstoned"], device.daemons["touchstone-enclave"]
        guarded = {"accc": {"accessControl": control}}
        with device.connect() as app:
            # The controls: what has to be there is found, in either daemon.
            check_found(enclave, "in the enclave", Value("the finger's name", FINGER.encode()))
            check_kept_half(
                device, touchstoned, "Keychain.Add", secret, values[1], context=None,
                attributes=dictionary(account, v_Data=content) | guarded)
            for name, expected in ((account, content), (f"{account} large", large)):
                attributes = dictionary(name, v_Data=expected) | guarded
                equal(call(app, "Keychain.Add", context=None, attributes=attributes)[0], None, "the addition")
                evaluated, context = touched_context(device, owner, control)
                with evaluated:
                    error, reply = call(
                        app, "Keychain.CopyMatching", query=dictionary(name, r_Data=True, r_Attributes=True), context=context)
                    equal(error, None, f"the read: {reply}")
                    equal(base64.b64decode(reply["items"][0]["data"]), expected, "the secret")
            # The key of an item that was read stays until the lock: the control of what it leaves behind.
            plain = plain_item_key(device, app, passcode)
            check_found(touchstoned, "in touchstoned, which has read the item", plain)
            values.append(plain)
            for index in range(CALLS // 3):
                other = f"other {index}"
                equal(add(app, other, secrets.token_bytes(1 + index * 7)), 0, "another item")
                check(item(app, other), "another read")
                equal(call(app, "Authentication.CanEvaluatePolicy", policy=1)[0], None, "another call")
            device.run("device", "lock")
            # With the app's connection open, and all that belongs to it.
            left = {"touchstoned": scan(touchstoned, values), "touchstone-enclave": scan(enclave, values)}
        print(f"  {number + 1}: pieces found after the lock: {tuple(map(len, left.values()))}", flush=True)
        for program, found in left.items():
            lines = "\n".join(f"    {what} at {at:#x}" for what, at in found.items())
            check(not found, f"{program} still has\n{lines}")


def flags_of_mappings(process):
    """What the process has mapped: the access, the file, and the flags that the kernel keeps of it."""
    for part in re.split(r"^(?=[0-9a-f]+-[0-9a-f]+ )", pathlib.Path(f"/proc/{process}/smaps").read_text(), flags=re.MULTILINE):
        if part:
            words = part.splitlines()[0].split(maxsplit=5)
            yield words[1], words[5] if len(words) > 5 else "", re.search(r"^VmFlags:(.*)", part, re.MULTILINE)[1].split()


def data_is_locked_and_code_is_not():
    with Device() as device:
        device.set_up("271828", FINGER)
        for program, process in device.daemons.items():
            found = list(flags_of_mappings(process))
            heap = [flags for _, name, flags in found if name == "[heap]"]
            code = [flags for access, name, flags in found if access == "r-xp" and name.startswith("/")]
            check(heap and all("lo" in flags for flags in heap), f"the heap of {program} is locked: {heap}")
            check(code and not any("lo" in flags for flags in code), f"no code of {program} is locked: {code}")


main(the_scanner_finds_each_form, nothing_is_left_after_the_lock, data_is_locked_and_code_is_not)
