#!/usr/bin/env python3
"""A hostile store and a hostile member, by docs/sync-format.md alone, against real devices (SY-42).

The member joins by its digits, and writes what real devices take. Then everything is tried that a store or a member can do. After
each attack the devices live on, have all that they had, and show nothing wrong to an app.

A run tries some flips that a seed chooses. SYNC_ATTACKS=all tries every bit. SYNC_SEED is the seed.
"""

import contextlib
import copy
import os
import random
import secrets
import struct

from circle import done, members, status, sync
from circle_member import (
    ADD,
    EPOCH,
    FOUND,
    MAXIMUM_COUNTER,
    REMOVE,
    Directory,
    Item,
    Keys,
    Member,
    changed,
    now,
    short,
)
from device import LONGEST_WAIT, check, equal, main, wait_for
from enclave import encode
from keychain import PASSCODE
from synchronizing import appears, directory, with_members

ALL = os.environ.get("SYNC_ATTACKS") == "all"
SEED = int(os.environ.get("SYNC_SEED", random.randrange(1 << 32)))
# Order of P-256: with it anybody makes a second signature from a first one.
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
dice = random.Random(SEED)
count = 0


class Circle:
    """Two real devices and a member of this program's own, which a store connects."""

    def __init__(self, desk, lap, store):
        self.desk, self.lap, self.store = desk, lap, Directory(store.words[0])
        self.devices = (desk, lap)
        desk.found(store)
        desk.start("--poll", "1")
        desk.add("of desk", "the first")
        self.expected = {"of desk": "the first"}
        self.evil = Member.joins("evil", self.store, self.approve)
        lap.join(store, desk)
        lap.start("--poll", "1")
        appears(lap, "of desk", "the first")
        self.group = self.read()["of desk"][0]["agrp"]
        self.daemons = [device.daemons for device in self.devices]

    @contextlib.contextmanager
    def approve(self):
        approving = self.desk.begin("approve")
        said = []

        def answer(digits):
            said.append(approving.communicate(f"{digits}\n{PASSCODE}\n", timeout=LONGEST_WAIT)[0])

        yield answer
        equal(approving.returncode, 0, f"approve: {said}")

    def read(self):
        """What the member reads of desk's records in the store, by account: attributes and value."""
        def found():
            heads, records = self.store.objects(bytes.fromhex(members(self.desk)["desk"]["member"]))
            self.evil.chain = type(self.evil.chain)(self.store.links())
            opened = [self.evil.open(record)[1:] for record in records]
            return heads and {attributes["acct"].decode(): (attributes, value) for attributes, value in opened if attributes}

        return wait_for(found, "desk's records")

    def item(self, account, value, **more):
        return Item(account, value.encode(), self.group, **more)

    def give(self, *objects, to=None):
        """Verdicts of the device, or the same of both."""
        verdicts = [done(device, "AddObjects", objects=list(objects))["verdicts"] for device in ([to] if to else self.devices)]
        for other in verdicts[1:]:
            equal(other, verdicts[0], "both say the same")
        return verdicts[0]

    def link(self, link):
        """Puts a link that counts, and has both devices take it."""
        check(self.store.put("link", None, len(self.evil.chain.links), link), "nobody was faster")
        self.evil.chain.append(link)
        for device in self.devices:
            equal(done(device, "AddLinks", links=[encode(link)])["count"], len(self.evil.chain.links), "taken")

    def liar(self, name):
        """A new member, which the first one adds, as any member can. It has written one good item."""
        liar = Member(name, self.evil.chain)
        self.link(self.evil.chain.adding(self.evil, liar))
        account = f"of {name}"
        record = liar.write(self.item(account, "good"))
        equal(self.give(liar.object("record", record), liar.object("head", liar.head())), ["taken", "taken"], f"{name}'s good item")
        self.expected[account] = "good"
        return liar

    def attacked(self, what, number=1):
        """After an attack: the devices live, all items are there, and none is wrong."""
        global count
        count += number
        for device, daemons in zip(self.devices, self.daemons):
            equal(device.daemons, daemons, f"{what}: {device.name}'s daemons")
            # What is merged is merged in the call that brings it.
            equal(device.items(), self.expected, f"{what}: items of {device.name}")

    def fault(self, name, device=None):
        return members(device or self.desk)[name].get("fault")

    def works(self, what):
        """Both ways, through the store."""
        account = f"after {len(self.expected)}"
        for writer, reader in (self.devices, self.devices[::-1]):
            mine = f"{account} by {writer.name}"
            writer.add(mine, what)
            self.expected[mine] = what
            appears(reader, mine, what)


def attacks(*names):
    def decorate(body):
        @with_members(*names)
        def run(*devices):
            with directory() as store:
                body(Circle(*devices, store))

        run.__name__ = body.__name__
        return run

    return decorate


# The fields of each kind of bytes: where they begin.
FIELDS = {
    "record": [0, 1, 33, 37, 69, 77, 85, 89, 101, -150, -132, -64, -32],
    "head": [0, 1, 33, 41, 49, 57, 61, 65, 97, 129, 131, -66, -64, -32],
    "link": [0, 1, 2, 6, 38, 70, 72, 104, 136, 168, 200, -144, -80, -64, -32],
}


def flips(kind, data):
    """Copies with one bit flipped: every one, or one in each field and some more."""
    bits = range(8 * len(data))
    if not ALL:
        fields = [place % len(data) for place in FIELDS[kind] if place < len(data)]
        bits = [8 * place + dice.randrange(8) for place in fields] + dice.sample(bits, 30)
    for bit in bits:
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        yield bytes(flipped)


def cuts(data, step):
    """Copies that are cut, or longer."""
    lengths = range(0, len(data)) if ALL else [0, 1, step, len(data) - step, len(data) - 1, dice.randrange(len(data))]
    yield from (data[:max(length, 0)] for length in lengths if length < len(data))
    yield from (data + bytes(more) for more in (1, step, 64 << 10))


def second_signature(data):
    s = int.from_bytes(data[-32:], "big")
    return data[:-32] + (ORDER - s).to_bytes(32, "big")


@attacks("desk", "lap")
def whatever_is_flipped_or_cut_is_refused(circle):
    """SY-11, SY-13, SY-22: every link, record and head, of the hostile member and of a real device."""
    evil = circle.evil
    # The accepting twin: what it wrote arrives, through the store and touchstone-sync.
    item = circle.item("of evil", "by the page")
    record, head = evil.write(item), evil.head()
    deleted = evil.write(changed(circle.item("never", "", binding=None), value=None))
    last = evil.head()
    circle.store.put("record", evil.member, 1, record)
    circle.store.put("head", evil.member, 1, head)
    appears(circle.lap, "of evil", "by the page")
    circle.expected["of evil"] = "by the page"
    desk = bytes.fromhex(members(circle.desk)["desk"]["member"])
    heads, records = circle.store.objects(desk)
    objects = [("record", evil.member, record), ("record", evil.member, deleted), ("head", evil.member, last)]
    objects += [("record", desk, records[0]), ("head", desk, heads[-1])]
    for kind, member, data in objects:
        name = evil.object(kind, data, member=member)
        bad = [*flips(kind, data), *cuts(data, 256)]
        for start in range(0, len(bad), 200):
            batch = [{**name, "bytes": encode(one)} for one in bad[start:start + 200]]
            verdicts = circle.give(*batch)
            wrong = [(start + place, one) for place, one in enumerate(verdicts) if one != "forged"]
            equal(wrong, [], f"a changed {kind} of {member.hex()}, {len(data)} bytes")
        circle.attacked(f"changed {kind}s", len(bad))
    # Whole, and in any order, twice, they are taken.
    whole = [evil.object("head", last), evil.object("record", deleted), evil.object("record", second_signature(record))] * 2
    equal(set(circle.give(*whole)), {"taken"}, "what is whole")
    circle.attacked("repeated", 3)
    # Links: one of each kind, before it is taken. Nobody else puts one meanwhile.
    for device in circle.devices:
        device.stop()
    other, third = Member("other", evil.chain), Member("third", evil.chain)
    for make in (
        lambda: evil.chain.adding(evil, other), lambda: evil.chain.adding(evil, third, is_recovery_key=1),
        lambda: evil.chain.removing(evil, third.member, 0), lambda: evil.chain.link(other, REMOVE, other.member + bytes(8)),
        lambda: evil.chain.link(evil, EPOCH, evil.chain.start(evil, None)),
    ):
        link = make()
        bad = [*flips("link", link), *cuts(link, 16)]
        for device in circle.devices:
            for one in bad:
                # A signature is in no hash, so that a flipped one is refused, too.
                error, reply = sync(device, "AddLinks", links=[encode(one)])
                check((error, reply.get("reason")) in (("Refused", "invalidLink"), ("Refused", "forked")), f"{error} {reply}")
            equal(status(device)["links"], len(evil.chain.links), "the chain is as it was")
        circle.attacked("changed links", 2 * len(bad))
        circle.link(link)
        # A second signature is no fork.
        equal(done(circle.desk, "AddLinks", links=[encode(second_signature(link))])["count"], len(evil.chain.links), "known")
        circle.attacked("a second signature")
    for device in circle.devices:
        device.start("--poll", "1")
    circle.works("after all of them")


def lies_of_records(circle, liar):
    """What, object, verdict, and the fault that is shown, of records that only a member can make."""
    desk = bytes.fromhex(members(circle.desk)["desk"]["member"])
    good, epoch = circle.item("lie", "a lie"), max(liar.chain.keys(liar))
    victim = circle.item("of desk", "a lie")
    name = victim.record_name(liar.epoch_key(0))

    def lie(what, verdict, fault=None, counter=None, member=None, item=good, **lies):
        kept = verdict == "taken"
        record = liar.write(item, counter=counter, member=member, kept=kept, **lies)
        return what, liar.object("record", record, member=member), verdict, fault

    yield lie("in another's name", "forged", member=desk)
    yield lie("in another's name, with a number of its own", "forged", member=desk, counter=1)
    yield lie("for another place", "forged", context=bytes(84))
    yield lie("under a key of its own", "forged", key=secrets.token_bytes(32))
    yield lie("of an epoch to come", "waiting", epoch=epoch + 1, key=secrets.token_bytes(32))
    yield lie("of the last epoch there can be", "waiting", epoch=(1 << 32) - 1, key=secrets.token_bytes(32))
    yield lie("of a stranger", "waiting", member=secrets.token_bytes(32))
    for hours in (25, 90 * 24, 24 * 365 * 60):
        yield lie(f"{hours} hours ahead", "waiting", "clock", clock=now() + hours * 3_600_000)
    yield lie("at the end of time", "waiting", "clock", clock=(1 << 48) - 1)
    for number in (0, MAXIMUM_COUNTER + 1, (1 << 63) - 1):
        yield lie(f"number {number}", "forged", counter=number)
    for protection in (0, 9, 10, 11, 12, 255):
        yield lie(f"class {protection}", "forged", item=changed(good, protection=protection))
    yield lie("a group that is no text", "forged", item=changed(good, group=b"\xff\xfe"))
    # What opens and is no item is kept, and shown to nobody.
    large = b"\xff" * (1 << 20 if ALL else 64 << 10)
    unusable = {
        "attributes of nobody": {"attributes": b"\xff" * 100}, "attributes that end early": {"attributes": good.encoded[:-1]},
        "no attributes": {"attributes": b""}, "another group inside": {"attributes": changed(good, group=b"another").encoded},
        "no group": {"group": b""}, "a binding of another class": {"binding": b"inet" + bytes(32)},
        "a binding that is too long": {"binding": bytes(256)}, "no binding": {"binding": b""},
        "a class that nothing has": {"item_class": "zzzz"}, "another class inside": {"code": "ck"},
        "an enclave's key": {"item_class": "keys", "more": Item.attribute("tkid", 0, b"com.apple.setoken")},
        "not to synchronize": {"more": Item.attribute("sync", 2, bytes(8))},
        "an access control": {"more": Item.attribute("accc", 6, b"\1" + bytes(7) + b"ak")},
        "a date that is no number": {"more": Item.attribute("mdat", 5, struct.pack("<d", float("nan")))},
        "a number of 1,000 bytes": {"more": Item.attribute("crtr", 2, bytes(1000))},
        "a length without an end": {"more": b"\4acct\0\xff\xff\xff\xff"},
        "ten thousand attributes": {"more": Item.attribute("zzzz", 0, b"") * 10_000},
        "attributes of attributes": {"more": Item.attribute("zzzz", 1, good.encoded * 50)},
        "very long attributes": {"more": Item.attribute("icmt", 1, large), "attributes": b""},
    }
    for what, change in unusable.items():
        yield lie(what, "taken", item=changed(good, **change))
        # Under the name of an item that is there, and newer.
        yield lie(f"{what}, of another's item", "taken", item=changed(good, **change), name=name)
    yield lie("another item under a name", "taken", name=name)
    # One number twice: with the same header nobody looks at the content, with another it is shown.
    first = liar.written[0]
    same = liar.write(circle.item("of record", "a lie"), name=first.name, clock=first.clock >> 16, counter=1, kept=False)
    yield "one number, another content", liar.object("record", same), "taken", None
    yield "one number twice", liar.object("record", liar.write(good, counter=1, kept=False)), "forged", "rolledBack"


@attacks("desk", "lap")
def a_member_that_lies_in_records_shows_nothing_wrong(circle):
    """SY-13, SY-20, SY-22: records that are signed by a member and are not what they say."""
    liar = circle.liar("record")
    for what, lie, verdict, fault in lies_of_records(circle, liar):
        equal(circle.give(lie), [verdict], what)
        for device in circle.devices:
            equal(circle.fault("record", device), fault, f"{what}: what is said of it")
        equal(circle.give(liar.object("head", liar.head())), ["taken"], f"{what}: a head after it")
        circle.attacked(what)
    # What is right is taken from it even now: an item that has the identifier of another one, and an hour that is still believed.
    row = circle.item("twin", "one")
    for account, value in (("twin", "one"), ("other twin", "two")):
        item = circle.item(account, value, binding=row.binding)
        record = liar.write(item, clock=now() + 23 * 3_600_000)
        equal(circle.give(liar.object("record", record), liar.object("head", liar.head())), ["taken", "taken"], account)
        circle.expected[account] = value
        circle.attacked(f"one identifier: {account}")
    # Large ones, and one whose secret does not open: an app gets no value that nobody wrote.
    big = "x" * (3 << 20 if ALL else 300_000)
    equal(circle.give(liar.object("record", liar.write(circle.item("big", big))), liar.object("head", liar.head())), ["taken"] * 2, "large")
    circle.expected["big"] = big
    circle.attacked("a large secret")
    circle.works("after all of them")


def lies_of_heads(circle, liar):
    desk = bytes.fromhex(members(circle.desk)["desk"]["member"])
    chain, lap = liar.chain, bytes.fromhex(members(circle.desk)["lap"]["member"])
    say = liar.head

    def lie(what, verdict, fault, **lies):
        return what, liar.object("head", say(**lies), member=lies.get("member")), verdict, fault

    yield lie("in another's name", "forged", None, member=desk)
    yield lie("of a stranger", "waiting", None, member=secrets.token_bytes(32))
    wrong = secrets.token_bytes(32)
    yield lie("two wrong sums", "taken", "missing", sum=wrong, newest_sum=wrong, counter=liar.counter + 1)
    # A number that it never gave to a record is one that it dropped.
    # By now it has replaced its own record several times, so only the second sum can fit (DEC-588).
    for what, lies, fault in (
            ("a number without a record", {}, None), ("one wrong sum", {"sum": wrong}, None), ("the other", {"newest_sum": wrong}, "missing")):
        liar.counter += 1
        yield lie(what, "taken", fault, **lies)
    for hours in (25, 90 * 24):
        yield lie(f"{hours} hours ahead", "waiting", "clock", time=now() + hours * 3_600_000)
    yield lie("after the end of time", "forged", None, time=1 << 48)
    yield lie("before all times", "taken", None, time=0)
    yield lie("sequence 0", "forged", None, sequence=0)
    yield lie("a sequence that is too large", "forged", None, sequence=MAXIMUM_COUNTER + 1)
    yield lie("a link to come", "waiting", None, link=len(chain.links) + 5)
    yield lie("an epoch to come", "waiting", None, epoch=len(chain.epochs), sum=bytes(32), newest_sum=bytes(32))
    yield lie("members in another order", "forged", None, seen=[(b"\2" * 32, 1), (b"\1" * 32, 1)])
    yield lie("a member twice", "forged", None, stable=[(b"\1" * 32, 1)] * 2)
    # It does not say that it has seen its own records, so it replaced none of them.
    yield lie("strangers", "taken", "missing", seen=[(bytes([n]) * 32, MAXIMUM_COUNTER) for n in range(180)])
    yield lie("too many strangers", "forged", None, seen=[(bytes([n]) * 32, 1) for n in range(255)])
    yield lie("everything is known to all", "taken", None, stable={desk: MAXIMUM_COUNTER, lap: MAXIMUM_COUNTER, liar.member: MAXIMUM_COUNTER})
    yield lie("another chain", "forged", "forked", link_hash=bytes(32))


@attacks("desk", "lap")
def a_member_that_lies_in_heads_is_named(circle):
    """SY-22: a head that says what is not so, and a member that is named for it and removed."""
    liar = circle.liar("head")
    for what, lie, verdict, fault in lies_of_heads(circle, liar):
        equal(circle.give(lie), [verdict], what)
        for device in circle.devices:
            equal(circle.fault("head", device), fault, f"{what}: what is said of it")
        # It wrote a little more, and says so.
        record = liar.write(circle.item("of head", f"after {what}"))
        equal(set(circle.give(liar.object("record", record), liar.object("head", liar.head()))), {"taken"}, f"{what}: a right head")
        circle.expected["of head"] = f"after {what}"
        circle.attacked(what)
    again = liar.object("head", liar.head())
    equal(circle.give(again), ["taken"], "the last")
    for what, lies in (("a number twice", {"sequence": liar.sequence}), ("a counter that goes back", {"counter": 1})):
        other = circle.liar(what[:20])
        other.write(circle.item("never", "not in a head"), kept=False)
        circle.give(other.object("head", other.head(counter=other.counter, sum=bytes(32), newest_sum=bytes(32))))
        lies = {"sequence": other.sequence} if "sequence" in lies else lies
        equal(circle.give(other.object("head", other.head(time=1, **lies))), ["forged"], what)
        equal(circle.fault(what[:20]), "rolledBack", what)
        circle.attacked(what)
    # It says that it has what no device wrote. Whoever it says so of is named, because nobody can know who lies; its removal ends that.
    boaster = circle.liar("boaster")
    desk = bytes.fromhex(members(circle.desk)["desk"]["member"])
    circle.give(boaster.object("head", boaster.head(seen={desk: MAXIMUM_COUNTER})))
    equal([circle.fault("desk", device) for device in circle.devices], ["rolledBack"] * 2, "of whom it says so")
    circle.attacked("more than there is")
    said = circle.desk.run("sync", "status").stdout
    check("gave back an older state" in said and "another circle" in said, said)
    for name in ("boaster", "head"):
        circle.desk.run("sync", "remove", name, input=f"{PASSCODE}\n")
        wait_for(lambda name=name: name not in members(circle.lap), "the removal")
    equal([circle.fault("desk", device) for device in circle.devices], [None] * 2, "after the removal")
    circle.works("after all of them")


@attacks("desk", "lap")
def a_member_that_lies_in_links_changes_nothing(circle):
    """SY-11: links that a member signs, and that do not follow the rules."""
    evil, chain = circle.evil, circle.evil.chain
    other = circle.liar("other")
    chain = evil.chain
    lap, new = bytes.fromhex(members(circle.desk)["lap"]["member"]), Keys("new")
    stranger = Keys("stranger")
    add = new.identity + short(b"new", 1) + b"\0" + chain.box(evil.epoch_key(), 0, new.identity)
    start = chain.start(evil, other.member)
    boxes = start[97:]
    parts = [boxes[n:n + 112] for n in range(1, len(boxes), 112)]

    def removing(parts, earlier=None):
        return other.member + bytes(8) + chain.start(evil, other.member, earlier=earlier, boxes=parts)

    lies = {
        "a number to come": chain.link(evil, ADD, add, number=len(chain.links) + 1),
        "the largest number": chain.link(evil, ADD, add, number=(1 << 32) - 1),
        "another link before": chain.link(evil, ADD, add, previous=bytes(32)),
        "in another's name": chain.link(evil, ADD, add, name=lap), "by a stranger": chain.link(stranger, ADD, add),
        "no kind": chain.link(evil, 0, add), "another kind": chain.link(evil, 5, add), "the last kind": chain.link(evil, 255, add),
        "a second beginning": chain.link(evil, FOUND, bytes(32) + new.identity + short(b"new", 1) + start),
        "an epoch without a reason": chain.link(evil, EPOCH, chain.start(evil, None)),
        "a name that is taken": chain.adding(evil, new, b"lap"), "no name": chain.adding(evil, new, b""),
        "a name of two lines": chain.adding(evil, new, b"new\nlap"), "a name that turns": chain.adding(evil, new, "\u202epal".encode()),
        "a name that is no text": chain.adding(evil, new, b"\xff"), "a long name": chain.adding(evil, new, b"x" * 65),
        "who is in it": chain.adding(evil, other, b"twice"), "half a recovery key": chain.adding(evil, new, is_recovery_key=2),
        "a key that is no point": chain.link(evil, ADD, b"\1" * 64 + add[64:]),
        "more than a link": chain.link(evil, ADD, add + b"\0"), "less": chain.link(evil, ADD, add[:-1]),
        "a link of 64 KiB": chain.link(evil, ADD, add + bytes(60_000)),
        "who is not in it": chain.removing(evil, stranger.member, 0, start),
        "without an epoch": chain.link(evil, REMOVE, other.member + bytes(8)),
        "who leaves begins the epoch": chain.removing(evil, evil.member, 0),
        "a number of records that is too large": chain.removing(evil, other.member, MAXIMUM_COUNTER + 1),
        "a box less": chain.link(evil, REMOVE, removing(parts[:-1])), "a box twice": chain.link(evil, REMOVE, removing(parts + parts[:1])),
        "boxes in another order": chain.link(evil, REMOVE, removing(parts[::-1])), "no box": chain.link(evil, REMOVE, removing([])),
        "an earlier epoch to come": chain.link(evil, REMOVE, removing(parts, 1)),
    }
    for what, link in lies.items():
        for device in circle.devices:
            error, reply = sync(device, "AddLinks", links=[encode(link)])
            check(error == "Refused" and reply["reason"] in ("invalidLink", "forked"), f"{what}: {error} {reply}")
            equal(status(device)["links"], len(chain.links), what)
        circle.attacked(what)
    # An epoch that desk gets no key of. Its owner removes who did that.
    desk = bytes.fromhex(members(circle.desk)["desk"]["member"])
    spoiled = [part if part[:32] != desk else desk + bytes(80) for part in parts]
    circle.link(chain.link(evil, REMOVE, removing(spoiled)))
    del circle.expected["of other"]
    for device in circle.devices:
        equal(device.daemons, circle.daemons[circle.devices.index(device)], "they live")
        check(device.items().get("of desk") == "the first", "and have their items")
    circle.desk.run("sync", "remove", "evil", input=f"{PASSCODE}\n")
    wait_for(lambda: sorted(members(circle.lap)) == ["desk", "lap"], "the removal")
    circle.expected = {account: value for account, value in circle.expected.items() if not account.startswith("of other")}
    for device in circle.devices:
        circle.expected |= {account: value for account, value in device.items().items() if account == "of other"}
    circle.works("after the epoch that was spoiled")
    circle.attacked("an epoch that one gets no key of")


@attacks("desk", "lap")
def a_store_that_lies_gets_nothing_in_and_stops_nothing(circle):
    """SY-22, SY-30, SY-32: what stands in the directory is changed, exchanged, withheld, put back, and more comes than belongs there."""
    evil, store, desk = circle.evil, circle.store, circle.desk
    for number in range(1, 5):
        store.put("record", evil.member, number, evil.write(circle.item(f"evil {number}", "good")))
        circle.expected[f"evil {number}"] = "good"
    store.put("head", evil.member, 1, evil.head())
    for device in circle.devices:
        wait_for(lambda device=device: device.items() == circle.expected, "what it wrote")
    before = {path: path.read_bytes() for path in store.path.rglob("*-*") if path.is_file()}
    # Files that nobody of the circle makes.
    junk = store.path / "records" / ("r" + store.base32(evil.member))
    record = next(path.read_bytes() for path in before if path.name.endswith("-record"))
    for name, content in {
        "0000000000000009-record": record, "ffffffffffffffff-record": record, "7fffffffffffffff-record": record,
        "000000000000000a-record": b"", "000000000000000b-record": b"touchstone-sync1" + bytes(32) + b"part",
        "zz-record": b"x", "000000000000000c-head": record, "-": b"", "000000000000000d-record-": record,
        "000000000000000e-record": secrets.token_bytes(9 << 20 if ALL else 1 << 20), "." + "x" * 200: b"",
    }.items():
        (junk / name).write_bytes(content)
    (store.path / "records/no-writer").mkdir()
    (store.path / "records/zzzz").mkdir()
    os.symlink("/etc/passwd", junk / "000000000000000f-record")
    os.mkfifo(junk / "0000000000000010-record")
    (junk / "0000000000000011-record").mkdir()
    for counter in range(18, 40):
        for flipped in [next(iter(flips("record", evil.written[0].bytes)))]:
            store.put("record", evil.member, counter, flipped)
        store.put("head", evil.member, counter, secrets.token_bytes(dice.randrange(2000)))
    circle.works("among files that are not the circle's")
    circle.attacked("files that are not the circle's", 60)
    # The board, between a device that joins and its approver.
    for board in (
        b"{", b"[" * 60_000, b'{"joining":' * 5000, b"null", b'{"change":1}', b'{"joining":{"application":"AAAA"}}', b"\0" * 60_000,
    ):
        files = sorted((store.path / "heads").glob("[0-9a-f]" * 16))
        store.make(store.path / "heads" / f"{int(files[-1].name, 16) + 1:016x}", board)
        approving = desk.begin("approve")
        if board in (b"null", b'{"change":1}'):
            approving.kill()
        said = approving.communicate(f"000000\n{PASSCODE}\n", timeout=LONGEST_WAIT)[0]
        check(approving.returncode != 0, f"no board: {said}")
    circle.attacked("what is no board", 7)
    # All records, heads and links are put back to what they were some time ago, or are gone: devices put their own there again.
    old = {path: path.read_bytes() for path in store.path.rglob("*-*") if path.is_file() and not path.is_symlink()}
    circle.works("newer than the copy")
    for path in list(store.path.rglob("*-link")):
        if path not in before:
            path.unlink()
    for path, content in before.items():
        path.write_bytes(content)
    circle.works("after the copy was put back")
    for path in list(store.path.rglob("*-head")):
        path.unlink(missing_ok=True)
    circle.works("without heads")
    check(old, "there was a copy")
    circle.attacked("an older copy", 3)
    # A link in the next place that nobody of the circle signed: records go on, and the status names it.
    number = len(store.links())
    stranger = Keys("stranger")
    for what, link in {
        "by a stranger": evil.chain.link(stranger, ADD, b"", number=number), "no link": b"\xff" * 100,
        "of another chain": evil.chain.link(evil, ADD, b"", number=number, previous=bytes(32)),
    }.items():
        store.put("link", None, number, link, replaces=True)
        circle.works(f"with a link {what}")
        said = wait_for(lambda: desk.status_of_circle()["store"]["problem"], f"a link {what} to be named")
        check("circle" in said, said)
        circle.attacked(f"a link {what}")
    store.make(store.name("link", None, number), b"\xff" * 256, replaces=True)
    circle.works("with a link that is not whole")
    check("not whole" in desk.status_of_circle()["store"]["problem"], "it is named")
    circle.attacked("a link that is not whole")
    store.name("link", None, number).unlink()
    equal(desk.status_of_circle()["store"]["problem"], None, "it is gone")
    circle.works("after all of them")


@attacks("desk", "lap")
def a_removed_member_that_writes_on_counts_no_more(circle):
    """SY-11, SY-12, SY-22: records, heads and links of a removed member, and what it can still read."""
    evil, store, desk, lap = circle.evil, circle.store, circle.desk, circle.lap
    store.put("record", evil.member, 1, evil.write(circle.item("of evil", "kept")))
    store.put("head", evil.member, 1, evil.head())
    circle.expected["of evil"] = "kept"
    for device in circle.devices:
        appears(device, "of evil", "kept")
    before = copy.copy(evil.chain)
    desk.run("sync", "remove", "evil", input=f"{PASSCODE}\n")
    wait_for(lambda: "evil" not in members(lap), "the removal")
    circle.works("not for who was removed")
    # It reads the chain, and has no key of the new epoch.
    evil.chain = type(evil.chain)(store.links())
    equal(sorted(evil.chain.keys(evil)), [0], "the keys that it has")
    new_epoch = 0
    for member in (members(desk)[name]["member"] for name in ("desk", "lap")):
        for record in store.objects(bytes.fromhex(member))[1]:
            if record[33:37] != bytes(4):
                new_epoch += 1
                with contextlib.suppress(Exception):
                    evil.chain.epochs[1][3][evil.member] = evil.chain.epochs[1][3][bytes.fromhex(member)]
                    raise AssertionError(f"it reads {evil.open(record)}")
    check(new_epoch > 0, "there are records of the new epoch")
    evil.chain = before
    newest = type(before)(store.links())
    own = evil.chain.epochs
    victim = circle.item("of desk", "a lie")
    late = [
        evil.write(circle.item("of evil", "late")), evil.write(circle.item("new", "late")), evil.write(victim),
        evil.write(changed(victim, value=None)), evil.write(victim, epoch=1, key=secrets.token_bytes(32)),
        evil.write(victim, counter=MAXIMUM_COUNTER), evil.write(victim, clock=now() + 23 * 3_600_000),
    ]
    verdicts = circle.give(*(evil.object("record", record) for record in late))
    equal(set(verdicts) - {"forged"}, {"notMember"}, "late records")
    heads = [evil.head(), evil.head(link=len(newest.links) - 1, link_hash=newest.previous, epoch=0)]
    check("taken" not in circle.give(*(evil.object("head", head) for head in heads)), "late heads")
    desk_id = bytes.fromhex(members(desk)["desk"]["member"])
    forged = evil.write(victim, member=desk_id, kept=False)
    equal(circle.give(evil.object("record", forged, member=desk_id)), ["forged"], "in a member's name, under the old key")
    circle.attacked("late records and heads", len(late) + 3)
    for counter, record in enumerate(late, 2):
        store.put("record", evil.member, counter, record)
    for counter, head in enumerate(heads, 2):
        store.put("head", evil.member, counter, head)
    # Links: on top of the newest, and of the number that removed it.
    number = len(newest.links)
    friend = Keys("friend")
    box = before.box(evil.epoch_key(0), 0, friend.identity)
    body = friend.identity + short(b"friend", 1) + b"\0" + box
    links = [
        newest.link(evil, ADD, body), newest.link(evil, REMOVE, desk_id + bytes(8)), newest.link(evil, EPOCH, b""),
        before.link(evil, ADD, body), before.removing(evil, desk_id, 0),
    ]
    for link in links:
        for device in circle.devices:
            error, reply = sync(device, "AddLinks", links=[encode(link)])
            check(error == "Refused" and reply["reason"] in ("invalidLink", "forked"), f"{error} {reply}")
        circle.attacked("a link of a removed member")
    check(own, "it had keys")
    # It is first with the next number, so that nobody can change the circle there; items go on.
    store.put("link", None, number, links[0])
    circle.works("with its link in the next place")
    said = desk.status_of_circle()["store"]["problem"]
    check(said and "no member signed" in said, f"it is named: {said}")
    circle.attacked("a place that it took")
    store.name("link", None, number).unlink()
    circle.works("after all of it")


@attacks("desk", "lap")
def two_chains_are_named(circle):
    """SY-11, SY-22: a member signs two links of one number, and the store shows each device another one."""
    evil = circle.evil
    for device in circle.devices:
        device.stop()
    one, two = (evil.chain.adding(evil, Keys(name)) for name in ("first", "second"))
    for device, link in zip(circle.devices, (one, two)):
        done(device, "AddLinks", links=[encode(link)])
    for device, link in zip(circle.devices, (two, one)):
        equal(sync(device, "AddLinks", links=[encode(link)]), ("Refused", {"reason": "forked"}), "the other one")

    def heads(device):
        return [one for one in done(device, "ListObjects")["objects"] if one["kind"] == "head"]

    for device, other in (circle.devices, circle.devices[::-1]):
        newest = wait_for(lambda other=other: heads(other)[-1:], "a head")

        def is_named(device=device, other=other, newest=newest):
            done(device, "AddObjects", objects=heads(other)[-1:])
            return circle.fault(other.name, device) == "forked"

        wait_for(is_named, f"{device.name} to name {other.name}")
    circle.attacked("two chains", 2)
    said = circle.desk.run("sync", "status").stdout
    check("another circle" in said, said)
    for device in circle.devices:
        check(device.items() == circle.expected, "the items are there")


try:
    main(
        whatever_is_flipped_or_cut_is_refused, a_member_that_lies_in_records_shows_nothing_wrong, a_member_that_lies_in_heads_is_named,
        a_member_that_lies_in_links_changes_nothing, a_store_that_lies_gets_nothing_in_and_stops_nothing,
        a_removed_member_that_writes_on_counts_no_more, two_chains_are_named)
finally:
    print(f"SYNC_SEED={SEED}: {count} attacks", flush=True)
