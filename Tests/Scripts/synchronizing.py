"""Devices with a touchstone-sync of their own, and stores for them, for the tests in this directory; no test itself."""

import base64
import contextlib
import functools
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

from device import LONGEST_WAIT, PROGRAMS, REPOSITORY, Device, call, check, equal, wait_for
from keychain import PASSCODE

SYNC = PROGRAMS / "touchstone-sync"
if not os.access(SYNC, os.X_OK):
    sys.exit(f"{SYNC} is not there: run make sync")


class Servers:
    """PostgreSQL and an S3 server: Tests/Scripts/sync_servers.py, which ends with this object."""

    def __enter__(self):
        self.process = subprocess.Popen(
            [sys.executable, REPOSITORY / "Tests/Scripts/sync_servers.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.said = json.loads(self.process.stdout.readline())
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(LONGEST_WAIT)

    def ask(self, line):
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def postgresql(self):
        return Store([self.ask("database")], self.said["password"])

    def bucket(self):
        url, name = f"http://127.0.0.1:{self.said['port']}", f"keychains-{random.randrange(1 << 32)}"
        urllib.request.urlopen(urllib.request.Request(f"{url}/-/{name}", data=b"{}", method="POST"), timeout=LONGEST_WAIT).close()
        return Store([f"{url}/{name}?region={self.said['region']}", "--key-id", self.said["key"]], self.said["secret"])


class Store:
    """words: of the command line; secret: what the command asks for, or None."""

    def __init__(self, words, secret=None):
        self.words, self.lines = words, "" if secret is None else f"{secret}\n"


class Member(Device):
    """A device with a touchstone-sync of its own."""

    def __init__(self, name, **settings):
        super().__init__(name, **settings)
        self.process = None

    def __enter__(self):
        super().__enter__()
        self.set_up(PASSCODE)
        return self

    def __exit__(self, *_):
        self.stop()
        super().__exit__()

    def start(self, *options, waits=True):
        """Runs touchstone-sync, and waits for its line, which comes once the store and the device answer."""
        with open(self.work / f"{self.name}-sync.log", "a") as log:
            self.process = subprocess.Popen(
                [SYNC, *options], env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True)
        if not waits:
            return None
        line = self.process.stdout.readline()
        check(line.startswith("ready: "), f"{self.name}: {line!r} {self.sync_log}")
        return line

    def stop(self, number=signal.SIGTERM):
        if self.process:
            self.process.send_signal(number)
            status = self.process.wait(LONGEST_WAIT)
            self.process = None
            return status

    @property
    def sync_log(self):
        return (self.work / f"{self.name}-sync.log").read_text()

    def revive(self):
        """Waits until the device answers again after a kill, and unlocks it."""
        def is_unlocked():
            status = self.status
            if status and status["isLocked"]:
                self.touchstone("device", "unlock", input=f"{PASSCODE}\n")
            return status and not status["isLocked"]

        wait_for(is_unlocked, f"{self.name} to come back: {self.log}")

    def begin(self, *words):
        return subprocess.Popen(
            [self.programs / "touchstone", "sync", *words], env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)

    def found(self, store, status=0):
        return self.run("sync", "create", *store.words, "--name", self.name, input=f"{store.lines}{PASSCODE}\n", status=status)

    def join(self, store, approver, digits=lambda shown: shown, status=0):
        """This device joins, and the approver's owner types the digits."""
        joining = self.begin("join", *store.words, "--name", self.name)
        joining.stdin.write(store.lines)
        joining.stdin.flush()
        try:
            until(joining, "touchstone sync approve")
            approving = approver.begin("approve")
            shown = until(joining, "").strip() if until(joining, "Type these digits there:") else ""
            said, _ = approving.communicate(f"{digits(shown)}\n{PASSCODE}\n", timeout=LONGEST_WAIT)
            equal(approving.returncode, status, f"approve: {said}")
            said, _ = joining.communicate(f"{PASSCODE}\n", timeout=LONGEST_WAIT)
            equal(joining.returncode, status, f"join: {said}")
            return said
        finally:
            joining.kill()
            joining.wait()

    def recovery_key(self):
        """Makes one, and answers its words."""
        made = self.run("sync", "recovery-key", input=f"{PASSCODE}\n")
        check("only this once" in made.stderr, made.stderr)
        return made.stdout.strip()

    def recover(self, store, words, status=0):
        said = self.run("sync", "recover", *store.words, "--name", self.name, input=f"{store.lines}{words}\n{PASSCODE}\n", status=status)
        return said.stdout + said.stderr

    # items that travel

    def add(self, account, value):
        error, reply = call(self.connect(), "Keychain.Add", attributes=row(account) | {"v_Data": data(value), "pdmn": {"string": "ak"}})
        equal(error, None, f"{self.name}: add {account}: {reply}")

    def update(self, account, value):
        error, reply = call(self.connect(), "Keychain.Update", query=row(account), attributes={"v_Data": data(value)})
        equal(error, None, f"{self.name}: update {account}: {reply}")

    def delete(self, account):
        error, reply = call(self.connect(), "Keychain.Delete", query=row(account))
        equal(error, None, f"{self.name}: delete {account}: {reply}")

    def items(self):
        """Values by account, as an app reads them that has the group."""
        query = {
            "class": {"string": "genp"}, "sync": {"boolean": True}, "m_Limit": {"string": "m_LimitAll"},
            "r_Attributes": {"boolean": True}, "r_Data": {"boolean": True},
        }
        error, reply = call(self.connect(), "Keychain.CopyMatching", query=query)
        if error:
            return {}
        return {
            item["attributes"]["acct"]["string"]: base64.b64decode(item["data"]).decode() for item in reply["items"]}

    def value(self, account):
        """What one item has, as an app reads it; None: there is no such item."""
        error, reply = call(self.connect(), "Keychain.CopyMatching", query=row(account) | {"r_Data": {"boolean": True}})
        return None if error else base64.b64decode(reply["items"][0]["data"]).decode()

    def status_of_circle(self, status=0):
        return json.loads(self.run("sync", "status", "--json", status=status).stdout)

    def members(self):
        return sorted(member["name"] for member in json.loads(self.run("sync", "members", "--json").stdout))


def row(account):
    return {
        "class": {"string": "genp"}, "svce": {"string": "sync test"}, "acct": {"string": account}, "sync": {"boolean": True},
    }


def data(value):
    return {"data": base64.b64encode(value.encode()).decode()}


def until(process, words):
    """Reads lines until one has these words."""
    seen = ""
    while True:
        line = process.stdout.readline()
        check(line, f"it ended before '{words}': {seen}")
        seen += line
        if words in line:
            return line


def appears(member, account, value, seconds=LONGEST_WAIT):
    started = time.monotonic()
    wait_for(lambda: member.items().get(account) == value, f"{account} on {member.name}: {member.sync_log}", seconds)
    return time.monotonic() - started


def with_members(*names):
    def decorate(body):
        @functools.wraps(body)
        def run():
            with contextlib.ExitStack() as stack:
                body(*(stack.enter_context(Member(name)) for name in names))

        return run

    return decorate


@contextlib.contextmanager
def directory():
    path = pathlib.Path(tempfile.mkdtemp(prefix="touchstone-store."))
    try:
        yield Store([str(path)])
    finally:
        # One that still runs may delete from it, too.
        shutil.rmtree(path, ignore_errors=True)
