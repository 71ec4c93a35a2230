#!/usr/bin/env python3
"""Devices of one owner that synchronize: `touchstone sync`, touchstone-sync and the real stores.

Each device has directories of its own, its own daemons and its own touchstone-sync.
"""

import base64
import contextlib
import functools
import hashlib
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

from device import LONGEST_WAIT, PROGRAMS, REPOSITORY, Device, call, check, equal, main, wait_for
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

    def __init__(self, name):
        super().__init__(name)
        self.process = None

    def __enter__(self):
        super().__enter__()
        self.set_up(PASSCODE)
        return self

    def __exit__(self, *_):
        self.stop()
        super().__exit__()

    def start(self, *options):
        """Runs touchstone-sync, and waits for its line."""
        with open(self.work / "sync.log", "a") as log:
            self.process = subprocess.Popen(
                [SYNC, *options], env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True)
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
        return (self.work / "sync.log").read_text()

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


def both_ways(one, two, what):
    """An item of each appears on the other, and how long that took."""
    times = []
    for number in range(3):
        one.add(f"of one {number}", f"first {number}")
        times.append(appears(two, f"of one {number}", f"first {number}"))
        two.update(f"of one {number}", f"second {number}")
        times.append(appears(one, f"of one {number}", f"second {number}"))
        one.delete(f"of one {number}")
        wait_for(lambda number=number: f"of one {number}" not in two.items(), "the deletion")
    print(f"{what}: {', '.join(f'{seconds:.2f}' for seconds in times)} s", flush=True)
    return times


@with_members("laptop", "desktop", "phone")
def devices_join_synchronize_and_are_removed(laptop, desktop, phone):
    """SY-3: this program has the same path for each device, and with it the same group. SY-12: what a removed device reads. SY-32."""
    with directory() as store:
        equal(laptop.run("sync", "status", status=1).stdout, "", "no circle yet")
        check("no circle" in desktop.run("sync", "join", *store.words, input=f"{PASSCODE}\n", status=5).stderr, "nothing to join")
        check("first member" in laptop.found(store).stdout, "created")
        check("in a circle" in laptop.found(store, status=5).stderr, "twice")
        laptop.start()
        laptop.add("before", "it was there")
        desktop.join(store, laptop)
        desktop.start()
        appears(desktop, "before", "it was there")
        both_ways(laptop, desktop, "directory, polls of 2 s")
        equal(desktop.members(), ["desktop", "laptop"], "members")
        status = wait_for(
            lambda: (status := laptop.status_of_circle()) and all(one["isComplete"] for one in status["members"]) and status,
            "all that the heads cover")
        equal((status["store"]["isRunning"], status["store"]["problem"], status["waiting"]), (True, None, 0), "status")
        equal([one.get("fault") for one in status["members"]], [None, None], "faults")
        text = laptop.run("sync", "status").stdout
        check("desktop" in text and "this device" in text and store.words[0] in text, text)
        # A third, by the second.
        phone.join(store, desktop)
        phone.start()
        appears(phone, "before", "it was there")
        wait_for(lambda: len(laptop.members()) == 3, "the new member everywhere")
        # What is taken out reads nothing new, and says so.
        check("removed" in laptop.run("sync", "remove", "phone", input=f"{PASSCODE}\n").stdout, "removed")
        wait_for(lambda: desktop.members() == ["desktop", "laptop"], "the removal everywhere")
        laptop.add("after", "not for the phone")
        appears(desktop, "after", "not for the phone")
        equal(phone.process.wait(LONGEST_WAIT), 0, "touchstone-sync of who was removed")
        phone.process = None
        check("after" not in phone.items() and "before" in phone.items(), "what the removed device reads")
        check("no such device" in laptop.run("sync", "remove", "phone", input=f"{PASSCODE}\n", status=1).stderr, "gone")
        check("left the circle" in desktop.run("sync", "leave", input=f"{PASSCODE}\n").stdout, "left")
        wait_for(lambda: laptop.members() == ["laptop"], "who is left")
        equal(desktop.items().get("after"), "not for the phone", "items stay")
        desktop.run("sync", "status", status=1)
        equal(laptop.stop(), 0, "SIGTERM")


@with_members("laptop", "desktop")
def wrong_digits_let_nobody_in(laptop, desktop):
    with directory() as store:
        laptop.found(store)
        said = desktop.join(store, laptop, lambda shown: f"{(int(shown.replace(' ', '')) + 1) % 1_000_000:06}", status=5)
        check("turned" in said, said)
        equal(laptop.members(), ["laptop"], "members")
        desktop.run("sync", "status", status=1)
        # The same two devices, with a typing error less.
        desktop.join(store, laptop)
        equal(laptop.members(), ["desktop", "laptop"], "members")
        # The store is gone for ever.
        shutil.rmtree(store.words[0])
        desktop.run("sync", "leave", input=f"{PASSCODE}\n", status=78)
        desktop.run("sync", "leave", "--without-store", input=f"{PASSCODE}\n{PASSCODE}\n")
        desktop.run("sync", "status", status=1)


@with_members("laptop")
def credentials_are_in_no_file_and_wrong_ones_are_named(laptop):
    with Servers() as servers:
        store = servers.postgresql()
        said = laptop.run("sync", "create", *store.words, input=f"wrong\n{PASSCODE}\n", status=78).stderr
        check("user or password" in said and "wrong" not in said, said)
        check("names a host" in laptop.run("sync", "create", "postgresql://x", input=f"\n{PASSCODE}\n", status=78).stderr, "address")
        check("a store is a directory" in laptop.run("sync", "create", "ftp://x", input="\n", status=78).stderr, "kinds")
        check("--key-id" in laptop.run("sync", "create", "https://x/y?region=z", input="\n", status=78).stderr, "access key")
        laptop.run("sync", "create", *store.words, input=f"{store.lines}123456\n", status=6)
        laptop.run("sync", "status", status=1)
        laptop.found(store)
        laptop.start()
        for path in laptop.work.rglob("*"):
            if path.is_file():
                check(servers.said["password"].encode() not in path.read_bytes(), f"the store's password is in {path}")
        command = pathlib.Path(f"/proc/{laptop.process.pid}/cmdline").read_bytes()
        check(servers.said["password"].encode() not in command, command)
        error, _ = call(laptop.connect(), "Keychain.CopyMatching", query={
            "class": {"string": "genp"}, "svce": {"string": "io.touchstone.sync"}, "r_Data": {"boolean": True}})
        equal(error, "io.touchstone.Keychain.Failed", "another program asks for the store's credentials")


@with_members("laptop", "desktop")
def postgresql_brings_an_item_at_once_and_comes_back(laptop, desktop):
    with Servers() as servers:
        store = servers.postgresql()
        laptop.found(store)
        laptop.start()
        desktop.join(store, laptop)
        desktop.start()
        laptop.add("first", "one")
        appears(desktop, "first", "one")
        both_ways(laptop, desktop, "PostgreSQL")
        # As after a crash of the server.
        equal(servers.ask("restart"), "ready", "PostgreSQL")
        laptop.add("after the crash", "two")
        appears(desktop, "after the crash", "two")


@with_members("laptop", "desktop")
def an_object_store_does_it_too(laptop, desktop):
    with Servers() as servers:
        store = servers.bucket()
        laptop.found(store)
        laptop.start("--poll", "1")
        desktop.join(store, laptop)
        desktop.start("--poll", "1")
        both_ways(laptop, desktop, "object store, polls of 1 s")


@with_members("laptop", "desktop")
def killed_at_random_times_it_loses_nothing(laptop, desktop):
    seed = int(os.environ.get("SYNC_SEED", random.randrange(1 << 32)))
    dice = random.Random(seed)
    with directory() as store:
        laptop.found(store)
        laptop.start("--poll", "1")
        desktop.join(store, laptop)
        desktop.start("--poll", "1")
        expected = {}
        for number in range(200):
            # Each account belongs to one device, so that the last writer is known.
            member = dice.choice((laptop, desktop))
            account = f"{member.name} {dice.randrange(20)}"
            if account in expected and dice.random() < 0.25:
                member.delete(account)
                del expected[account]
            else:
                (member.update if account in expected else member.add)(account, f"value {number}")
                expected[account] = f"value {number}"
            if dice.random() < 0.05:
                killed = dice.choice((laptop, desktop))
                killed.stop(signal.SIGKILL)
                killed.start("--poll", "1")
        for member in (laptop, desktop):
            try:
                wait_for(lambda member=member: member.items() == expected, f"all on {member.name}")
            except AssertionError as error:
                raise AssertionError(f"SYNC_SEED={seed}: {error}\n{member.items()}\n{expected}\n{member.sync_log}") from error


@with_members("laptop", "desktop", "phone")
def what_another_device_replaced_can_be_had_back(laptop, desktop, phone):
    """SY-20: after the passcode, on the device that had it; and then it is the newest on both."""
    with directory() as store:
        laptop.found(store)
        laptop.start()
        desktop.join(store, laptop)
        desktop.start()
        for account in ("changed", "deleted"):
            laptop.add(account, "first")
            appears(desktop, account, "first")

        def history(member, *words, passcode=PASSCODE, status=0):
            return member.run("sync", "history", *words, input=f"{passcode}\n", status=status).stdout

        # Who removes a device writes anew what it wrote. That replaces nothing.
        phone.join(store, laptop)
        phone.start()
        phone.add("of the phone", "stays")
        appears(desktop, "of the phone", "stays")
        appears(laptop, "of the phone", "stays")
        laptop.run("sync", "remove", "phone", input=f"{PASSCODE}\n")
        wait_for(lambda: desktop.members() == ["desktop", "laptop"], "the removal")
        laptop.add("later", "than that")
        appears(desktop, "later", "than that")
        check("No other device" in history(desktop), "nothing yet")
        check("No other device" in history(laptop), "nothing yet")
        # Both change it while they hear nothing of each other.
        desktop.stop()
        laptop.update("changed", "of the laptop")
        laptop.stop()
        desktop.update("changed", "of the desktop")
        desktop.delete("deleted")
        laptop.start()
        desktop.start()
        appears(laptop, "changed", "of the desktop")
        wait_for(lambda: "deleted" not in laptop.items(), "the deletion")
        text = history(laptop)
        check("of the laptop" not in text and "first" not in text, "no password is shown")
        listed = {one["account"]: one for one in json.loads(history(laptop, "--json"))}
        equal(sorted(listed), ["changed", "deleted"], text)
        equal({(one["place"], one["writerName"], one["itemClass"]) for one in listed.values()}, {("sync test", "laptop", "genp")}, "which")
        check(all(str(one["number"]) in text and one["account"] in text for one in listed.values()), text)
        check(abs(listed["changed"]["replacedAt"] + 978307200 - time.time()) < 3600 * 2, "when")
        # The desktop never had what lost.
        equal(json.loads(history(desktop, "--json")), [], "the desktop's")
        number = str(listed["changed"]["number"])
        history(laptop, passcode="999999", status=6)
        history(laptop, "--restore", number, passcode="999999", status=6)
        history(laptop, "--restore", "12345", status=1)
        laptop.run("device", "lock")
        history(laptop, status=5)
        history(laptop, "--restore", number, status=5)
        laptop.run("device", "unlock", input=f"{PASSCODE}\n")
        equal(laptop.items().get("changed"), "of the desktop", "until it is asked for")
        check("newest one again" in history(laptop, "--restore", number), "restored")
        equal(laptop.items().get("changed"), "of the laptop", "at once")
        appears(desktop, "changed", "of the laptop")
        equal([one["writerName"] for one in json.loads(history(desktop, "--json"))], ["desktop"], "the desktop's, now")
        history(laptop, "--restore", str(listed["deleted"]["number"]))
        appears(desktop, "deleted", "first")
        # And what that replaced, in turn.
        newest = json.loads(history(laptop, "--json"))[0]
        equal((newest["account"], newest["writerName"]), ("changed", "desktop"), "the newest")
        history(laptop, "--restore", str(newest["number"]))
        appears(desktop, "changed", "of the desktop")


def words_of(secret):
    """A recovery key's secret of 16 bytes as words, after docs/decisions/DEC-550.md."""
    swift = (REPOSITORY / "Sources/touchstone/Sync/RecoveryWords+List.swift").read_text()
    words = swift.split('"""')[1].split()
    equal((len(words), words == sorted(words), len({word[:4] for word in words})), (2048, True, 2048), "the list")
    checksum = int.from_bytes(hashlib.sha256(b"io.touchstone recovery words 1\0" + secret).digest()[:2]) >> 1
    bits = int.from_bytes(secret) << 15 | checksum
    return [words[bits >> 11 * place & 2047] for place in reversed(range(13))]


@with_members("laptop", "desktop", "fresh")
def a_recovery_key_brings_everything_back(laptop, desktop, fresh):
    """SY-14: when all members are gone, and not by a key that was removed, misspelled, or of another circle."""
    with directory() as store:
        laptop.found(store)
        laptop.start()
        desktop.join(store, laptop)
        desktop.start()
        check("no recovery key" in fresh.recover(store, "", status=5), "before there is one")
        laptop.run("sync", "recovery-key", input="999999\n", status=6)
        equal(laptop.members(), ["desktop", "laptop"], "after a wrong passcode")
        check("1 other device;" in laptop.run("sync", "status").stdout, "ways back")
        old, words = laptop.recovery_key(), laptop.recovery_key()
        check("2: 1 other device, 1 recovery key" not in laptop.run("sync", "status").stdout, "there are two keys")
        laptop.add("before", "in the first epoch")
        check("no longer lets" in laptop.run("sync", "remove", "recovery key", input=f"{PASSCODE}\n").stdout, "removed")
        check("2: 1 other device, 1 recovery key" in laptop.run("sync", "status").stdout, laptop.run("sync", "status").stdout)
        equal(laptop.members(), ["desktop", "laptop", "recovery key 2"], "members")
        wait_for(lambda: len(desktop.members()) == 3, "the changes everywhere")
        laptop.add("after", "in the second epoch")
        laptop.update("before", "changed")
        desktop.add("of the desktop", "other")
        desktop.add("deleted", "nothing")
        appears(laptop, "deleted", "nothing")
        laptop.delete("deleted")
        expected = {"before": "changed", "after": "in the second epoch", "of the desktop": "other"}
        for member in (laptop, desktop):
            wait_for(lambda member=member: member.items() == expected, f"all on {member.name}: {member.items()}")
        wait_for(
            lambda: all(one["isComplete"] for member in (laptop, desktop) for one in member.status_of_circle()["members"]
                        if not one["isRecoveryKey"]), "all that the heads cover")
        # Both devices are gone for ever.
        for member in (laptop, desktop):
            member.stop()
            member.shutdown()
        right = words.split()
        equal(len(right), 13, words)
        wrong = right[:]
        wrong[6] = "touchstone"
        check("word 7 is not" in fresh.recover(store, " ".join(wrong), status=5), "a word that is not in the list")
        swapped = [right[1], right[0], *right[2:]]
        if swapped != right:
            said = fresh.recover(store, " ".join(swapped), status=5)
            check("not in their order" in said and right[0] not in said, said)
        check("13 words, and these are 12" in fresh.recover(store, " ".join(right[1:]), status=5), "one is missing")
        check("of this circle" in fresh.recover(store, " ".join(words_of(os.urandom(16))), status=5), "another circle's")
        check("was removed" in fresh.recover(store, old, status=5), "a removed one")
        fresh.run("sync", "recover", *store.words, input=f"{words}\n999999\n", status=6)
        fresh.run("sync", "recover", *store.words, "--name", "laptop", input=f"{words}\n{PASSCODE}\n", status=5)
        fresh.run("sync", "status", status=1)
        # Large letters and more spaces are no mistake.
        said = fresh.recover(store, words.upper().replace(" ", "   "))
        check("touchstone sync remove 'desktop'; touchstone sync remove 'laptop'" in said, said)
        fresh.start()
        wait_for(lambda: fresh.items() == expected, f"everything: {fresh.items()} {fresh.sync_log}")
        check("in a circle already" in fresh.recover(store, words, status=5), "a second time")
        for name in ("desktop", "laptop"):
            fresh.run("sync", "remove", name, input=f"{PASSCODE}\n")
        equal(fresh.members(), ["fresh", "recovery key 2"], "members")
        fresh.add("new", "on the new device")
        wait_for(lambda: fresh.items() == expected | {"new": "on the new device"}, "items stay")
        # The last device leaves, and the key brings it back all the same.
        fresh.run("sync", "leave", input=f"{PASSCODE}\n")
        fresh.process.wait(LONGEST_WAIT)
        fresh.process = None
        fresh.run("sync", "recover", *store.words, "--name", "again", input=f"{words}\n{PASSCODE}\n")
        fresh.start()
        equal(fresh.members(), ["again", "fresh", "recovery key 2"], "members")
        fresh.update("new", "on the same one")
        wait_for(lambda: fresh.items() == expected | {"new": "on the same one"}, "items stay")


main(
    devices_join_synchronize_and_are_removed, wrong_digits_let_nobody_in, credentials_are_in_no_file_and_wrong_ones_are_named,
    postgresql_brings_an_item_at_once_and_comes_back, an_object_store_does_it_too, killed_at_random_times_it_loses_nothing,
    a_recovery_key_brings_everything_back, what_another_device_replaced_can_be_had_back)
