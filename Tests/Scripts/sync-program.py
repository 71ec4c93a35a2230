#!/usr/bin/env python3
"""Devices of one owner that synchronize: `touchstone sync`, touchstone-sync and the real stores.

Each device has directories of its own, its own daemons and its own touchstone-sync.
"""

import os
import pathlib
import random
import shutil
import signal

from device import LONGEST_WAIT, call, check, equal, main, wait_for
from keychain import PASSCODE
from synchronizing import Servers, appears, directory, with_members


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


main(
    devices_join_synchronize_and_are_removed, wrong_digits_let_nobody_in, credentials_are_in_no_file_and_wrong_ones_are_named,
    postgresql_brings_an_item_at_once_and_comes_back, an_object_store_does_it_too, killed_at_random_times_it_loses_nothing)
