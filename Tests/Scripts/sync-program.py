#!/usr/bin/env python3
"""Devices of one owner that synchronize: `touchstone sync`, touchstone-sync and the real stores.

Each device has directories of its own, its own daemons and its own touchstone-sync.
"""

import contextlib
import hashlib
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import tempfile
import threading
import time

from device import LONGEST_WAIT, REPOSITORY, call, check, equal, main, wait_for
from keychain import PASSCODE
from synchronizing import Servers, Store, appears, data, directory, row, with_members


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


class Counter:
    """Between devices and the socket of a PostgreSQL: counts what goes through, both ways."""

    def __init__(self, store):
        self.bytes, self.directory = 0, tempfile.TemporaryDirectory(prefix="touchstone-counter.")
        address, _, host = store.words[0].partition("?host=")
        self.target = f"{host}/.s.PGSQL.5432"
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(f"{self.directory.name}/.s.PGSQL.5432")
        self.listener.listen()
        threading.Thread(target=self.accept, daemon=True).start()
        self.store = Store([f"{address}?host={self.directory.name}"])
        self.store.lines = store.lines

    def accept(self):
        while True:
            one, other = self.listener.accept()[0], socket.socket(socket.AF_UNIX)
            try:
                other.connect(self.target)
            except OSError:
                one.close()
                continue
            for source, sink in ((one, other), (other, one)):
                threading.Thread(target=self.carry, args=(source, sink), daemon=True).start()

    def carry(self, source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self.bytes += len(data)
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    def rest(self):
        """Waits until nothing has moved for two seconds; answers how much had."""
        before, since = self.bytes, time.monotonic()

        def is_quiet():
            nonlocal before, since
            if self.bytes != before:
                before, since = self.bytes, time.monotonic()
            return time.monotonic() - since > 2

        wait_for(is_quiet, "the store to be left alone")
        return self.bytes


@with_members("laptop", "desktop")
def what_a_change_and_a_first_synchronization_cost(laptop, desktop):
    """SY-33: the bytes of one change, and how long a device that joins takes for many items; SYNC_ITEMS says how many."""
    count, changes = int(os.environ.get("SYNC_ITEMS", "100")), 10
    with Servers() as servers:
        counter = Counter(servers.postgresql())
        laptop.found(counter.store)
        laptop.start()
        connection = laptop.connect()
        for number in range(count):
            error, reply = call(connection, "Keychain.Add", attributes=row(f"item {number}") | {
                "v_Data": data(f"secret {number}"), "pdmn": {"string": "ak"}})
            equal(error, None, f"add: {reply}")
        before = counter.rest()
        started = time.monotonic()
        desktop.join(counter.store, laptop)
        joined = time.monotonic()
        desktop.start()
        wait_for(lambda: len(desktop.items()) == count, "all items", 40 * LONGEST_WAIT)
        print(
            f"{count} items: {time.monotonic() - joined:.1f} s after {joined - started:.1f} s of joining, "
            f"{(counter.rest() - before) / count:.0f} bytes each", flush=True)
        puts = f"query {counter.store.words[0]} SELECT last FROM touchstone_sync_circles"
        before, until_seen, times, put = counter.rest(), 0, [], int(servers.ask(puts)[0])
        for number in range(changes):
            at = counter.bytes
            laptop.update("item 1", f"changed {number}")
            times.append(appears(desktop, "item 1", f"changed {number}"))
            until_seen += counter.bytes - at
            counter.rest()
        moved = (counter.bytes - before) / changes
        print(
            f"one change: {until_seen / changes:.0f} bytes until it is seen, after {max(times):.2f} s at most, and {moved:.0f} and "
            f"{(int(servers.ask(puts)[0]) - put) / changes:.1f} puts in all", flush=True)
        # A record and two rounds of heads, each up and down.
        check(moved <= 16 << 10, f"{moved} bytes")


def kills(store, servers, devices, changes, dice):
    """SY-41: changes on three devices, while everything between and below them is killed at random; all are equal at the end.

    Accounts of a device are changed by it alone, so that their last values are known. Shared ones are changed by all.
    """
    first, *others = devices
    first.found(store)
    first.start("--poll", "1")
    for other in others:
        other.join(store, first)
        other.start("--poll", "1")
    # A short run needs more of them to have some.
    often = 5 if changes < 500 else 1
    expected, count, is_stopped, ill = {}, {"changes": 0, "touchstone-sync": 0, "daemons": 0, "servers": 0}, False, set()
    for number in range(changes):
        device = dice.choice(devices)
        if device in ill:
            device.revive()
            ill.discard(device)
        value = f"value {number}"
        if dice.random() < 0.1:
            account = f"shared {dice.randrange(5)}"
            change = dice.choice((device.update, device.update, lambda account, _: device.delete(account)))
            # Another device's change may come between the two calls.
            with contextlib.suppress(AssertionError):
                (change if account in device.items() else device.add)(account, value)
        else:
            account = f"{device.name} {dice.randrange(20)}"
            if account in expected and dice.random() < 0.25:
                device.delete(account)
                del expected[account]
            else:
                (device.update if account in expected else device.add)(account, value)
                expected[account] = value
        count["changes"] += 1
        chance, victim = dice.random() / often, dice.choice(devices)
        if chance < 0.03:
            victim.stop(signal.SIGKILL)
            victim.start("--poll", "1", waits=False)
            count["touchstone-sync"] += 1
        elif chance < 0.05:
            with contextlib.suppress(OSError, KeyError):
                os.kill(victim.daemons[dice.choice(("touchstoned", "touchstone-enclave"))], signal.SIGKILL)
                ill.add(victim)
                count["daemons"] += 1
        elif chance < 0.06 or is_stopped and dice.random() < 0.3:
            is_stopped = servers(is_stopped)
            count["servers"] += not is_stopped
    if is_stopped:
        servers(is_stopped)
    for device in devices:
        device.revive()

    def are_equal():
        all_items = [device.items() for device in devices]
        own = {account: value for account, value in all_items[0].items() if not account.startswith("shared")}
        return own == expected and all(items == all_items[0] for items in all_items)

    started = time.monotonic()
    wait_for(are_equal, f"all devices to be equal: {[device.items() for device in devices]} and {expected}", 4 * LONGEST_WAIT)
    print(f"{count}, {len(first.items())} items, equal {time.monotonic() - started:.1f} s after the last change", flush=True)


def killed(kind):
    @with_members("laptop", "desktop", "phone")
    def run(*devices):
        seed = int(os.environ.get("SYNC_SEED", random.randrange(1 << 32)))
        with Servers() as servers:
            def crash(is_stopped):
                """Whether the store is gone now."""
                if kind == "postgresql":
                    equal(servers.ask("restart"), "ready", "PostgreSQL, stopped at once")
                    return False
                equal(servers.ask("s3 start" if is_stopped else "s3 stop"), "ready", "the S3 server")
                return not is_stopped

            try:
                kills(getattr(servers, kind)(), crash, devices, int(os.environ.get("SYNC_CHANGES", "40")), random.Random(seed))
            except BaseException:
                print(f"SYNC_SEED={seed}", *(device.sync_log for device in devices), sep="\n")
                raise

    run.__name__ = f"everything_is_killed_on_{kind}"
    return run


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
    postgresql_brings_an_item_at_once_and_comes_back, an_object_store_does_it_too, what_a_change_and_a_first_synchronization_cost,
    killed("postgresql"), killed("bucket"), a_recovery_key_brings_everything_back, what_another_device_replaced_can_be_had_back)
