#!/usr/bin/env python3
"""What comes back: everything by a recovery key, and what another device replaced."""

import hashlib
import json
import os
import time

from device import LONGEST_WAIT, REPOSITORY, call, check, equal, main, wait_for
from keychain import PASSCODE
from synchronizing import Servers, appears, directory, with_members


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


@with_members("laptop", "fresh")
def a_recovery_key_works_on_postgresql(laptop, fresh):
    """SY-14: also after the server was stopped at once; with a wrong password of the server nothing is looked at."""
    with Servers() as servers:
        store = servers.postgresql()
        laptop.found(store)
        words = laptop.recovery_key()
        laptop.start()
        for number in range(20):
            laptop.add(f"item {number}", f"value {number}")
        wait_for(lambda: fits(laptop, servers, store), f"all records in the store: {laptop.sync_log}")
        laptop.stop()
        laptop.shutdown()
        equal(servers.ask("restart"), "ready", "PostgreSQL")
        said = fresh.run("sync", "recover", *store.words, input=f"wrong\n{words}\n{PASSCODE}\n", status=78).stderr
        check("user or password" in said, said)
        fresh.run("sync", "status", status=1)
        fresh.recover(store, words)
        fresh.start()
        expected = {f"item {number}": f"value {number}" for number in range(20)}
        wait_for(lambda: fresh.items() == expected, f"everything: {fresh.items()} {fresh.sync_log}")


def fits(member, servers, store):
    """Whether the store has all that a member lists, which is 20 records and a head that comes after them."""
    error, reply = call(member.connect(), "Sync.ListObjects")
    equal(error, None, f"list: {reply}")
    names = servers.ask(f"query {store.words[0]} SELECT name FROM touchstone_sync_records")
    counters = {int(name.split("-")[1], 16) for name in names if not name.startswith("chain")}
    records = [one for one in reply["objects"] if one["kind"] == "record"]
    return len(records) == 20 and reply["objects"][-1]["kind"] == "head" and {one["counter"] for one in reply["objects"]} <= counters


main(what_another_device_replaced_can_be_had_back, a_recovery_key_brings_everything_back, a_recovery_key_works_on_postgresql)
