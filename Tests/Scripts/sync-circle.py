#!/usr/bin/env python3
"""Devices of one owner that synchronize, and a store between them that this program is: io.touchstone.Sync from outside."""

import contextlib
import os
import pathlib
import signal
import sqlite3
import sys
import time

from circle import (
    PASSCODE,
    SYNCHRONIZABLE,
    Store,
    agreed,
    app_add,
    app_delete,
    app_read,
    app_update,
    decode,
    digest,
    done,
    encode,
    found,
    item,
    join,
    meet,
    members,
    status,
    sync,
    with_passcode,
)
from device import LONGEST_WAIT, Device, call, check, equal, main, wait_for


def devices(*names):
    """Runs a test with devices that have a passcode."""

    def decorate(test):
        def run(left=names, made=()):
            if not left:
                return test(*made)
            with Device(left[0]) as device:
                device.set_up(PASSCODE)
                run(left[1:], (*made, device))

        run.__name__ = test.__name__
        return run

    return decorate


@devices("one", "two")
def an_item_goes_to_the_other_device(one, two):
    """SY-3, SY-10, SY-11, SY-13: two devices meet by digits, and an app finds what another device's app added."""
    store = Store()
    equal(sync(one, "ListObjects")[0], "NoCircle", "before there is one")
    found(one, "desk")
    app_add(one, "before", "was there")
    join(one, two, "lap", store)
    equal(sorted(members(two)), ["desk", "lap"], "who is in it")
    store.carry_until(lambda: app_read(two, "before"), "the earlier item", one, two)
    app_add(one, "now", "secret")
    store.carry_until(lambda: app_read(two, "now"), "the new item", one, two)
    equal(app_read(two, "now"), "secret", "the other device's secret")
    app_add(two, "back", "other way")
    store.carry_until(lambda: app_read(one, "back") == "other way", "the way back", one, two)
    check(all(member["isComplete"] for member in members(one).values()), f"{members(one)}")



@devices("one", "two")
def changes_and_deletions_follow(one, two):
    """SY-2, SY-20: what an app changes, deletes, takes out or renames on one device is so on the other."""
    store = Store()
    found(one, "desk")
    join(one, two, "lap", store)
    for account in ("changed", "deleted", "private", "named"):
        app_add(one, account, "first")
    store.carry_until(lambda: app_read(two, "named") == "first", "the items", one, two)
    app_update(two, "changed", "second")
    app_delete(two, "deleted")
    app_update(two, "private", "first", sync={"boolean": False})
    app_update(two, "named", "first", acct={"string": "renamed"})
    store.carry_until(
        lambda: (app_read(one, "changed"), app_read(one, "deleted"), app_read(one, "private"), app_read(one, "named"),
                 app_read(one, "renamed")) == ("second", None, None, None, "first"), "the changes", one, two)
    # SY-1: what is of this device only stays on it.
    app_add(one, "here", "stays", pdmn={"string": "aku"})
    app_add(one, "last", "goes")
    store.carry_until(lambda: app_read(two, "last") == "goes", "what was added after", one, two)
    equal(app_read(two, "here"), None, "an item of the other device only")
    # SY-2: without the attribute a deletion does not touch it.
    check(call(one.connect(), "Keychain.Delete", query=item("last"))[0] is not None, "no such item")
    equal(app_read(one, "last"), "goes", "still there")


@devices("one", "two")
def a_conflict_ends_the_same_on_both(one, two):
    """SY-20: of two changes at once the newer one counts, on both devices and in every order."""
    store = Store()
    app_add(one, "both", "of one")
    app_add(two, "both", "of two")
    found(one, "desk")
    join(one, two, "lap", store)
    store.carry_until(lambda: app_read(one, "both") == app_read(two, "both") == "of two", "the newer one", one, two)
    app_update(two, "both", "earlier")
    app_update(one, "both", "later")
    wait_for(lambda: store.put(one) or len(store.objects) > 2, "one's record")
    store.carry_until(lambda: app_read(one, "both") == app_read(two, "both") == "later", "the later one", one, two)
    app_update(one, "both", "gone")
    app_delete(two, "both")
    store.carry_until(lambda: app_read(one, "both") is None and app_read(two, "both") is None, "deleted later", one, two)


def epochs(store, gone):
    """Of all records in the store but the removed member's: docs/decisions/DEC-460.md says where it stands."""
    return {
        int.from_bytes(decode(found["bytes"])[33:37], "little") for (kind, member, _), found in store.objects.items()
        if kind == "record" and member != gone}


@devices("one", "two", "three")
def a_removed_device_reads_nothing_new(one, two, three):
    """SY-11, SY-12: a third device joins, and one is removed: it has no circle, and opens nothing that is new."""
    store = Store()
    found(one, "desk")
    join(one, two, "lap", store)
    app_add(one, "old", "for all")
    store.carry_until(lambda: app_read(two, "old"), "the old item", one, two)
    join(two, three, "pad", store)
    store.carry_until(lambda: app_read(three, "old") == "for all", "the third one's", one, two, three)
    removed = members(one)["lap"]["member"]
    # The name that the passcode is for has to be that member's.
    error, reply = with_passcode(
        one, "Remove", f"remove device {removed} pad", member=removed, name="pad")
    equal((error, reply), ("Refused", {"reason": "noMember"}), "another name")
    agreed(one, "Remove", f"remove device {removed} lap", member=removed, name="lap")
    equal(status(one)["epoch"], 0, "until the link came back")
    store.put(one)
    store.get(one)
    equal((status(one)["epoch"], sorted(members(one))), (1, ["desk", "pad"]), "the new epoch")
    app_add(one, "new", "not for all")
    store.carry_until(lambda: app_read(three, "new") == "not for all", "the new item", one, three)
    # What was written before is sealed anew, and the earlier records go.
    store.carry_until(lambda: epochs(store, removed) == {1}, "all in the new epoch", one, three)
    equal((app_read(one, "old"), app_read(three, "old")), ("for all", "for all"), "the old item")
    # It gets everything that the store has, without the links and then with them.
    verdicts = done(two, "AddObjects", objects=list(store.objects.values()))["verdicts"]
    check("waiting" in verdicts, f"the new epoch's: {verdicts}")
    equal(app_read(two, "new"), None, "before it knows")
    store.get(two)
    equal((sync(two, "ListObjects")[0], status(two).get("circle")), ("NoCircle", None), "it has no circle")
    equal((app_read(two, "new"), app_read(two, "old")), (None, "for all"), "its items stay")


@devices("one", "two")
def nothing_is_lost_by_a_restart(one, two):
    """SY-13, SY-40: a device goes on where it was, after a restart and after its daemon was killed."""
    store = Store()
    found(one, "desk")
    join(one, two, "lap", store)
    store.carry(one, two)
    for number in range(6):
        app_add(one, f"item {number}", f"secret {number}")
        device = (one, two)[number % 2]
        with contextlib.suppress(OSError):
            os.kill(device.daemons["touchstoned"], signal.SIGKILL)
        wait_for(lambda device=device: unlocked(device), "the device to come back")
        store.carry_until(lambda: app_read(two, f"item {number}") == f"secret {number}", f"item {number}", one, two)
    two.shutdown()
    app_add(one, "while it was off", "waits")
    two.boot()
    # Before the first unlock it takes nothing.
    store.put(one)
    store.get(two)
    equal(app_read(two, "while it was off"), None, "locked")
    wait_for(lambda: unlocked(two), "two")
    store.carry_until(lambda: app_read(two, "while it was off") == "waits", "after the unlock", one, two)


def unlocked(device):
    """Whether the device answers, and is unlocked: unlocks it if it does."""
    if device.status is None:
        return False
    if device.status["isLocked"]:
        device.touchstone("device", "unlock", input=f"{PASSCODE}\n")
    return device.status is not None and not device.status["isLocked"]


@devices("one", "two")
def a_locked_device_catches_up(one, two):
    """SY-23: a class that is shut is neither given nor taken."""
    store = Store()
    found(one, "desk")
    join(one, two, "lap", store)
    store.carry(one, two)
    two.run("device", "lock")
    app_add(one, "shut", "when unlocked")
    app_add(one, "open", "after the first unlock", pdmn={"string": "ck"})
    store.carry_until(lambda: app_read(two, "open") == "after the first unlock", "what is open", one, two)
    check(status(two)["waiting"] > 0, "what waits is counted")
    two.run("device", "unlock", input=f"{PASSCODE}\n")
    store.carry_until(lambda: app_read(two, "shut") == "when unlocked", "what was shut", one, two)
    equal(status(two)["waiting"], 0, "nothing waits")


def is_at_rest(device):
    """Whether touchstoned uses less than a fifth of a processor for half a second."""
    def ticks():
        return sum(int(time) for time in pathlib.Path(f"/proc/{device.daemons['touchstoned']}/stat").read_text().rpartition(")")[2].split()[11:13])

    before = ticks()
    time.sleep(0.5)
    return ticks() - before < os.sysconf("SC_CLK_TCK") / 10


@devices("one", "two")
def many_items_come_in_turns(one, two):
    """SY-33, SY-23: more than one turn takes. What is shut is tried once, waits for the unlock, and comes in turns again."""
    count, store, connection = 2100, Store(), one.connect()
    for number in range(count):
        added = call(connection, "Keychain.Add", attributes=item(f"item {number}", "x", sync={"boolean": True}, pdmn={"string": "ak"}))
        equal(added[0], None, "add")
    found(one, "desk")
    join(one, two, "lap", store)

    def objects(kind):
        return [key for key in store.objects if key[0] == kind and key[1] == members(one)["desk"]["member"]]

    wait_for(lambda: store.put(one) or len(objects("record")) == count, "all records")
    wait_for(lambda: is_at_rest(one), "the device that has them to rest")
    store.put(one)
    store.get(two, objects("record"))
    equal(status(two).get("incoming"), count, "without its writer's head nothing counts")
    two.run("device", "lock")
    equal(set(store.get(two, objects("head")).values()), {"taken"}, "its head")
    wait_for(lambda: is_at_rest(two), "a locked device to rest")
    equal(app_read(two, "item 0"), None, "what is shut")
    two.run("device", "unlock", input=f"{PASSCODE}\n")
    query = item("", sync={"boolean": True}, m_Limit={"string": "m_LimitAll"}, r_Attributes={"boolean": True})
    del query["acct"]
    wait_for(lambda: len(call(two.connect(), "Keychain.CopyMatching", query=query)[1].get("items", [])) == count, "all items")
    wait_for(lambda: status(two).get("incoming") is None, "nothing on its way")


@devices("one", "two", "three")
def what_a_device_wrote_that_left_is_kept(one, two, three):
    """SY-12, SY-20: its items stay on the others, also if the one that answers for them hears of the leave while it is locked, and starts anew."""
    store = Store()
    found(one, "desk")
    join(one, two, "lap", store)
    join(one, three, "pad", store)
    app_add(two, "left", "stays")
    store.carry_until(lambda: app_read(one, "left") == app_read(three, "left") == "stays", "the item", one, two, three)
    me = members(two)["lap"]["member"]
    agreed(two, "Remove", f"remove device {me} lap", member=me, name="lap")
    store.put(two)
    store.get(two)
    one.run("device", "lock")
    store.get(one)
    store.put(one)
    store.get(one)
    one.shutdown()
    one.boot()
    wait_for(lambda: unlocked(one), "one")
    app_add(one, "afterwards", "new")
    store.carry_until(lambda: app_read(three, "afterwards") == "new", "what was added later", one, three)
    store.carry(one, three)
    equal((app_read(one, "left"), app_read(three, "left")), ("stays", "stays"), "what it wrote")
    check(all(member["isComplete"] for member in members(three).values()), f"{members(three)}")


@devices("one", "two")
def an_item_of_this_device_only_stays(one, two):
    """SY-1: another device's item of the same name does not take its place."""
    store = Store()
    found(one, "desk")
    join(one, two, "lap", store)
    app_add(two, "both", "of two only", pdmn={"string": "aku"})
    app_add(one, "both", "of the circle")
    app_add(one, "last", "goes")
    store.carry_until(lambda: app_read(two, "last") == "goes", "what was added after", one, two)
    equal((app_read(one, "both"), app_read(two, "both")), ("of the circle", "of two only"), "each its own")


@devices("one", "two")
def a_quiet_device_rests(one, two):
    """SY-33: when nothing is new, a device of a circle takes no processor time."""
    store = Store()
    found(one, "desk")
    join(one, two, "lap", store)
    app_add(one, "one", "secret")
    store.carry_until(lambda: app_read(two, "one") == "secret", "the item", one, two)

    def taken():
        """Hundredths of a second of both."""
        stats = [pathlib.Path(f"/proc/{device.daemons['touchstoned']}/stat").read_text() for device in (one, two)]
        return sum(sum(map(int, stat.rpartition(")")[2].split()[11:13])) for stat in stats)

    def rests():
        before = taken()
        time.sleep(2)
        return taken() - before <= 3

    wait_for(rests, "the devices to rest")


def database(device, statement, *values):
    with contextlib.closing(sqlite3.connect(device.state / "keychain/keychain.db", timeout=LONGEST_WAIT)) as connection, connection:
        return connection.execute(statement, values).fetchall()


@devices("one", "two", "three")
def a_member_that_is_away_fills_no_disk(one, two, three):
    """SY-21: an app that updates an item all the time, and one that adds and deletes, leave little on both devices and in the store."""
    store = Store()
    found(one, "desk")
    join(one, two, "lap", store)
    join(one, three, "pad", store)
    app_add(one, "busy", "value 0")
    store.carry_until(
        lambda: {app_read(device, "busy") for device in (one, two, three)} == {"value 0"}, "the item", one, two, three)
    for number in range(1, 21):
        app_update(one, "busy", f"value {number}")
        store.carry_until(lambda number=number: app_read(two, "busy") == f"value {number}", "the update", one, two)
    most = "SELECT max(n) FROM (SELECT count(*) AS n FROM circle_record GROUP BY name)"
    for device in one, two:
        wait_for(lambda device=device: database(device, most)[0][0] <= 7, f"few versions: {database(device, most)}")
    store.carry(one, two)
    name, = database(one, "SELECT name FROM circle_record GROUP BY name ORDER BY count(*) DESC LIMIT 1")[0]
    mine = [key for key in store.objects if key[0] == "record" and key[1] == members(one)["desk"]["member"]]
    check(len(mine) <= 7, f"the store has {mine}")

    def add(account):
        return call(one.connect(), "Keychain.Add", attributes=item(account, "short", **SYNCHRONIZABLE, pdmn={"string": "ak"}))

    # Ten times as many tombstones as items.
    one.run("keychain", "quota", os.path.realpath(sys.executable), "--items", "2")
    for number in range(20):
        error, reply = add(f"short {number}")
        if error:
            break
        for wait in (lambda: None, lambda number=number: app_delete(one, f"short {number}")):
            wait()
            wait_for(lambda: database(one, "SELECT count(*) FROM circle_change") == [(0,)], "the record")
    check(5 <= number < 12, f"refused after {number}")
    equal((error, reply["status"]), ("io.touchstone.Keychain.Failed", -34), "too many records")
    # What is there can be changed and deleted, and what does not travel can be added.
    app_update(one, "busy", "last")
    app_add(one, "here", "stays", sync={"boolean": False})
    one.run("keychain", "quota", os.path.realpath(sys.executable), "--default")
    equal(add("short")[0], None, "with a higher limit")
    store.carry_until(lambda: app_read(three, "busy") == "last", "all that counts", one, two, three)
    store.carry(one, two, three)
    check(all(one["isComplete"] and "fault" not in one for device in (one, two, three) for one in members(device).values()),
          f"{members(three)}")
    # All have said so with their next heads.
    for device in (one, two, three, one):
        app_update(device, "short", device.name)
        store.carry(one, two, three)
    equal(database(one, "SELECT count(*) FROM circle_record WHERE name = ?", name), [(1,)], "one version")


@devices("one", "two")
def a_number_that_is_damaged_stops_nothing(one, two):
    """SY-13: numbers of the database that nobody writes, at a boot."""
    store = Store()
    found(one, "desk")
    join(one, two, "lap", store)
    app_add(one, "first", "secret")
    store.carry_until(lambda: app_read(two, "first") == "secret", "the item", one, two)
    largest = (1 << 63) - 1
    for number, (table, columns, value) in enumerate((
            ("state", ("counter", "first"), -1), ("state", ("contact",), largest), ("state", ("counter", "clock"), -1),
            ("member", ("seen", "whole", "waited"), largest), ("item", ("counter",), -1))):
        one.shutdown()
        for column in columns:
            database(one, f"UPDATE circle_{table} SET {column} = ?", value)
        one.boot()
        wait_for(lambda: unlocked(one), f"the device, with {columns}: {one.log}")
        app_add(one, f"item {number}", "new")
        store.carry_until(lambda number=number: app_read(two, f"item {number}") == "new", f"{columns}", one, two)
        app_add(two, f"back {number}", "new")
        store.carry_until(lambda number=number: app_read(one, f"back {number}") == "new", f"{columns}, back", one, two)
        equal((app_read(one, "first"), app_read(two, "first")), ("secret", "secret"), "what was there")
    check(all("fault" not in one for device in (one, two) for one in members(device).values()), f"{members(one)} {members(two)}")


@devices("one", "two", "three")
def a_hostile_store_gets_nowhere(one, two, three):
    """SY-10, SY-11, SY-22, SY-42: objects and links that are forged, repeated, reordered, foreign or withheld."""
    store = Store()
    equal(
        with_passcode(one, "Found", "found circle desk", "000000", name="desk")[0], "PasscodeRejected", "wrong passcode")
    equal(with_passcode(one, "Found", "found circle desk", name="other"), ("Refused", {"reason": "staleNonce"}), "name")
    found(one, "desk")
    # A foreign circle's link: three made it, and gives it to who asked one.
    found(three, "evil")
    application, challenge, reveal = meet(one, two, "lap", store)
    said = digest(application, challenge, reveal)
    foreign = done(three, "ListLinks")["links"]
    equal(
        with_passcode(two, "Join", f"join circle {said}", links=foreign), ("Refused", {"reason": "otherChallenge"}),
        "a foreign circle")
    other = done(three, "Challenge", application=encode(application))["challenge"]
    equal(sync(two, "Reveal", challenge=other), ("Refused", {"reason": "otherChallenge"}), "a second challenge")
    agreed(one, "Approve", f"approve device {said}", application=encode(application), reveal=encode(reveal))
    store.put(one)
    store.get(one)
    agreed(two, "Join", f"join circle {said}", links=store.links)
    equal(sync(two, "AddLinks", links=foreign), ("Refused", {"reason": "forked"}), "a foreign link")
    for number in range(4):
        app_add(one, f"item {number}", f"secret {number}")
    wait_for(lambda: store.put(one) or sum(kind == "record" for kind, *_ in store.objects) == 4, "the records")
    records = [key for key in store.objects if key[0] == "record"]
    for key in records:
        data = bytearray(decode(store.objects[key]["bytes"]))
        data[len(data) // 2] ^= 1
        forged = {**store.objects[key], "bytes": encode(data)}
        renamed = {**store.objects[key], "counter": key[2] + 1000}
        equal(done(two, "AddObjects", objects=[forged, renamed])["verdicts"], ["forged", "forged"], "forged")
    # In any order, and twice; one is withheld.
    verdicts = store.get(two, [*reversed(records[1:]), *records[1:]])
    equal(set(verdicts.values()), {"taken"}, "taken")
    store.get(two, [key for key in store.objects if key[0] == "head"])
    equal(members(two)["desk"]["fault"], "missing", "what is withheld is named")
    store.get(two, records[:1])
    equal(members(two)["desk"].get("fault"), None, "all is there")
    store.carry_until(lambda: app_read(two, "item 0") == "secret 0", "all of it", one, two)
    # The store shows a new device an older state of one than two has seen.
    old = dict(store.objects)
    app_update(one, "item 1", "newer")
    store.carry_until(lambda: app_read(two, "item 1") == "newer", "the newer one", one, two)
    three.run("device", "shutdown", three.name)
    with Device("four") as four:
        four.set_up(PASSCODE)
        join(two, four, "pad", store)
        desk = members(four)["desk"]["member"]
        store.carry(two)
        shown = {key: value for key, value in store.objects.items() if key[1] != desk}
        shown |= {key: value for key, value in old.items() if key[1] == desk}
        done(four, "AddObjects", objects=list(shown.values()))
        wait_for(lambda: members(four)["desk"].get("fault") == "rolledBack", "the store to be named")
    # Numbers for digits are few.
    answers = set()
    for _ in range(8):
        answers.add(sync(one, "Challenge", application=done(Fresh.device(three), "Apply", name="x")["application"])[1].get("reason"))
    check("tooOften" in answers, f"{answers}")


class Fresh:
    """A device in no circle, which asks again and again."""

    @staticmethod
    def device(device):
        if device.status is None:
            device.boot()
            wait_for(lambda: unlocked(device), "three")
            member = next(member for member in status(device)["members"])
            agreed(
                device, "Remove", f"remove device {member['member']} {member['name']}", member=member["member"],
                name=member["name"])
        return device


@devices("one", "two")
def a_device_leaves_and_an_owner_alone_is_served(one, two):
    """SY-11: leaving by a link; and what is in no circle says so."""
    store = Store()
    found(one, "desk")
    join(one, two, "lap", store)
    app_add(two, "mine", "stays")
    store.carry_until(lambda: app_read(one, "mine") == "stays", "the item", one, two)
    me = members(two)["lap"]["member"]
    agreed(two, "Remove", f"remove device {me} lap", member=me, name="lap")
    store.put(two)
    store.get(two)
    equal(sync(two, "ListLinks")[0], "NoCircle", "it left")
    store.get(one)
    # One proposes the epoch that has to follow.
    store.put(one)
    store.get(one)
    equal((status(one)["epoch"], sorted(members(one))), (1, ["desk"]), "the next epoch")
    equal((app_read(one, "mine"), app_read(two, "mine")), ("stays", "stays"), "items stay")
    # Without a passcode nobody could agree to anything: the circle ends with it.
    one.run("device", "passcode", "remove", input=f"{PASSCODE}\n")
    equal(status(one).get("circle"), None, "without a passcode")


main(
    an_item_goes_to_the_other_device, changes_and_deletions_follow, a_conflict_ends_the_same_on_both,
    a_removed_device_reads_nothing_new, nothing_is_lost_by_a_restart, a_locked_device_catches_up, many_items_come_in_turns,
    what_a_device_wrote_that_left_is_kept, an_item_of_this_device_only_stays, a_quiet_device_rests,
    a_member_that_is_away_fills_no_disk, a_number_that_is_damaged_stops_nothing,
    a_hostile_store_gets_nowhere, a_device_leaves_and_an_owner_alone_is_served)
