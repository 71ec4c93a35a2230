#!/usr/bin/env python3
"""Devices of one owner that synchronize: `touchstone sync`, touchstone-sync and the real stores.

Each device has directories of its own, its own daemons and its own touchstone-sync.
"""

import contextlib
import os
import pathlib
import random
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time

from device import LONGEST_WAIT, call, check, equal, main, wait_for
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


@with_members("laptop", "desktop")
def the_largest_password_travels_and_stops_nothing(laptop, desktop):
    """SY-32: 16 MiB through each kind of store. What is too large for a record is refused before."""
    largest = "x" * (16 << 20)
    with Servers() as servers, directory() as folder:
        for store in folder, servers.postgresql(), servers.bucket():
            laptop.found(store)
            laptop.start("--poll", "1")
            desktop.join(store, laptop)
            desktop.start("--poll", "1")
            laptop.add("largest", largest)
            laptop.add("after it", "small")
            wait_for(lambda: desktop.value("after it") == "small", f"the small one: {laptop.sync_log}", 2 * LONGEST_WAIT)
            wait_for(lambda: desktop.value("largest") == largest, f"the large one: {laptop.sync_log}", 2 * LONGEST_WAIT)
            error, reply = call(
                laptop.connect(), "Keychain.Update", query=row("largest"), attributes={"icmt": {"string": "x" * ((1 << 20) - 700)}})
            equal((error, reply.get("status")), ("io.touchstone.Keychain.Failed", -25302), "no record has room for it")
            laptop.delete("largest")
            wait_for(lambda: desktop.value("largest") is None, "the deletion", 2 * LONGEST_WAIT)
            for member in laptop, desktop:
                member.run("sync", "leave", input=f"{PASSCODE}\n")
                equal(member.process.wait(LONGEST_WAIT), 0, "touchstone-sync")
                member.process = None
                member.delete("after it")


class Counter:
    """Between devices and the socket of a PostgreSQL: counts what goes through, both ways.

    puts: how much had gone through before each request of more than 256 bytes, which is a record or a head.
    """

    def __init__(self, store):
        self.bytes, self.puts, self.directory = 0, [], tempfile.TemporaryDirectory(prefix="touchstone-counter.")
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
                threading.Thread(target=self.carry, args=(source, sink, source is one), daemon=True).start()

    def carry(self, source, sink, is_request):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if is_request and len(data) > 256:
                    self.puts.append(self.bytes)
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


def arrived(device):
    """How many items have come that the keychain does not show yet."""
    return call(device.connect(), "Sync.GetStatus")[1].get("incoming") or 0


def has_all(device, other):
    """Whether all that the other one's newest head covers is in the keychain."""
    error, reply = call(device.connect(), "Sync.GetStatus")
    equal(error, None, f"status: {reply}")
    return reply.get("incoming") is None and {one["name"]: one for one in reply["members"]}[other]["isComplete"]


@with_members("laptop", "desktop")
def what_a_change_and_a_first_synchronization_cost(laptop, desktop):
    """SY-33: the bytes of one change, and how long a device that joins takes for many items; SYNC_ITEMS says how many.

    Its touchstone-sync and its touchstoned are killed on the way, and it goes on from there.
    """
    count, changes = int(os.environ.get("SYNC_ITEMS", "50")), 3
    with Servers() as servers:
        counter = Counter(servers.postgresql())
        for device in laptop, desktop:
            # More than an app may keep unless its owner says so.
            device.run("keychain", "quota", os.path.realpath(sys.executable), "--items", str(2 * count), "--size", "4GiB")
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
        wait_for(lambda: arrived(desktop) > count / 3 or has_all(desktop, "laptop"), "a third of the items", 20 * LONGEST_WAIT)
        print(f"touchstone-sync is killed after {time.monotonic() - joined:.1f} s, {arrived(desktop)} items are there", flush=True)
        desktop.stop(signal.SIGKILL)
        desktop.start()
        wait_for(lambda: arrived(desktop) > count / 2 or has_all(desktop, "laptop"), "half of the items", 20 * LONGEST_WAIT)
        print(f"touchstoned is killed after {time.monotonic() - joined:.1f} s", flush=True)
        os.kill(desktop.daemons["touchstoned"], signal.SIGKILL)
        desktop.revive()
        # An app that looks all the time would take longer than what is measured.
        wait_for(lambda: time.sleep(0.2) or has_all(desktop, "laptop"), "all items", 40 * LONGEST_WAIT)
        print(
            f"{count} items: {time.monotonic() - joined:.1f} s, after {joined - started:.1f} s of joining, "
            f"{(counter.rest() - before) / count:.0f} bytes each", flush=True)
        puts = f"query {counter.store.words[0]} SELECT last FROM touchstone_sync_circles"
        for number in range(count) if count < 1000 else random.sample(range(count), 1000):
            equal(desktop.value(f"item {number}"), f"secret {number}", f"item {number}")
        before, until_there, times, put = counter.rest(), [], [], int(servers.ask(puts)[0])
        for number in range(changes):
            at, counter.puts = counter.bytes, []
            laptop.update("item 1", f"changed {number}")
            since = time.monotonic()
            wait_for(lambda number=number: desktop.value("item 1") == f"changed {number}", f"the change: {desktop.sync_log}")
            times.append(time.monotonic() - since)
            wait_for(lambda: len(counter.puts) > 1, "the other device's head")
            counter.rest()
            # The other device's head says that it has the change. How soon an app looks is no matter.
            until_there.append(counter.puts[1] - at)
        moved = (counter.bytes - before) / changes
        print(
            f"one change: {max(until_there)} bytes until it is there, seen after {max(times):.2f} s at most; {moved:.0f} bytes and "
            f"{(int(servers.ask(puts)[0]) - put) / changes:.1f} puts in all", flush=True)
        check(max(until_there) <= 4 << 10, f"{until_there} bytes until it is there")
        check(moved <= 7 << 10, f"{moved} bytes")


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


main(
    devices_join_synchronize_and_are_removed, wrong_digits_let_nobody_in, credentials_are_in_no_file_and_wrong_ones_are_named,
    postgresql_brings_an_item_at_once_and_comes_back, an_object_store_does_it_too,
    the_largest_password_travels_and_stops_nothing, what_a_change_and_a_first_synchronization_cost,
    killed("postgresql"), killed("bucket"))
