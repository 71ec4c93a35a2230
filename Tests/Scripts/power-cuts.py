#!/usr/bin/env python3
"""Power cuts: what was acknowledged before one is there after it, nothing is half, and the device always boots.

The programs' changes to files are recorded once. Each cut then lays the files out as a disk may have them that lost power after one of
these changes, and boots the daemons on them. What was synchronised is there. Of the rest, each write and each name is kept or lost by
chance, and a write also in part, by sectors of 512 bytes or pages of 4096.

POWER_CUTS says how many cuts (10000 is a full run), SEED which, POWER_CUT_WORKERS how many are looked at at a time."""

import base64
import collections
import contextlib
import hashlib
import multiprocessing
import os
import pathlib
import random
import shutil
import struct
import subprocess
import tempfile
import traceback

from daemons import HERE, Daemons, add, add_guarded, check_unaltered, delete, delete_guarded, has_guarded, update
from device import LONGEST_WAIT, PROGRAMS, Device, call, check, equal, main
from keychain import PASSCODE, backup

CUTS = int(os.environ.get("POWER_CUTS", "200"))
SEED = int(os.environ.get("SEED", "20261122"))
WORKERS = int(os.environ.get("POWER_CUT_WORKERS", "2"))
# Of a class that is open at once after a boot.
ALWAYS = {"pdmn": "dk"}
HEAD = struct.Struct("<IIQQ")
# Items that want their owner.
GUARDED = tuple(f"guarded {number}" for number in range(4))
PASSCODES = (PASSCODE, "correct horse", "31415926")
# Where nothing waits for a disk: what a cut leaves is for us to say.
MEMORY = "/dev/shm"


# What a disk has

class Node:
    """A file: the contents that are safe, and the changes since; `entries` where it is a directory, by name."""

    def __init__(self, mode, is_directory):
        self.mode, self.is_directory = mode, is_directory
        self.data, self.entries, self.pending = bytearray(), {}, []


def write_into(data, at, piece):
    if len(data) < at:
        data.extend(bytes(at - len(data)))
    data[at:at + len(piece)] = piece


class Disk:
    """What is on it for certain, and what was not synchronised yet."""

    def __init__(self, root):
        self.root, self.nodes = str(root), {}
        self.top = self.read(self.root)

    def read(self, path):
        facts = os.lstat(path)
        node = self.nodes[facts.st_ino] = Node(facts.st_mode & 0o7777, os.path.isdir(path))
        if node.is_directory:
            node.entries = {name: self.read(f"{path}/{name}") for name in os.listdir(path)}
        else:
            node.data = bytearray(pathlib.Path(path).read_bytes())
        return node

    def directory(self, path):
        """The directory that a name is in as the programs see it, and the name."""
        node = self.top
        *parts, name = os.path.relpath(path, self.root).split("/")
        for part in parts:
            node = self.seen(node)[part]
        return node, name

    @staticmethod
    def seen(directory):
        """Its entries with all changes."""
        return Disk.changed(directory.entries, directory.pending)

    @staticmethod
    def changed(entries, changes):
        entries = dict(entries)
        for change in changes:
            for name, node in change.items():
                if node is None:
                    entries.pop(name, None)
                else:
                    entries[name] = node
        return entries

    def apply(self, kind, number, at, payload):
        """One change that a program made."""
        if kind in "WTS" and number not in self.nodes:
            # A file elsewhere, such as those that a machine's boot empties.
            return
        if kind == "W":
            self.nodes[number].pending.append((at, payload))
        elif kind == "T":
            self.nodes[number].pending.append((at, None))
        elif kind == "S":
            node = self.nodes[number]
            if node.is_directory:
                node.entries = self.seen(node)
            else:
                for change in node.pending:
                    self.change(node.data, change)
            node.pending = []
        elif kind in "CM":
            directory, name = self.directory(payload.decode())
            node = self.nodes[number] = Node(at & 0o7777, kind == "M")
            directory.pending.append({name: node})
        elif kind == "U":
            directory, name = self.directory(payload.decode())
            directory.pending.append({name: None})
        elif kind == "R":
            (old, old_name), (new, new_name) = map(self.directory, payload.decode().split("\0"))
            node, other = self.seen(old)[old_name], self.seen(new).get(new_name) if at else None
            check(old is new, f"a name that moves to another directory: {payload}")
            # One step: never the one half without the other.
            old.pending.append({old_name: other, new_name: node})
        else:
            raise AssertionError(f"the change {kind}")

    @staticmethod
    def change(data, change):
        at, piece = change
        if piece is not None:
            write_into(data, at, piece)
        elif at < len(data):
            del data[at:]
        else:
            data.extend(bytes(at - len(data)))

    def lay_out(self, path, chance):
        """Writes what a power cut may leave, by chance; without `chance` all that the programs did."""
        # Some disks lose nearly all, some nearly nothing.
        share = chance.choice([0, 0.1, 0.5, 0.5, 0.9, 1]) if chance else 1

        def kept():
            return chance is None or chance.random() < share

        def contents(node):
            data = bytearray(node.data)
            for at, piece in node.pending:
                if piece is None or not chance or share in (0, 1) or chance.random() < 0.7:
                    if kept():
                        self.change(data, (at, piece))
                    continue
                # Torn: sector by sector.
                size, start = chance.choice([512, 4096]), 0
                while start < len(piece):
                    end = min(start + size - (at + start) % size, len(piece))
                    if kept():
                        write_into(data, at + start, piece[start:end])
                    start = end
            return data

        def place(node, path):
            if not node.is_directory:
                path.write_bytes(contents(node))
            else:
                path.mkdir()
                # A journal keeps the order of names; other disks do not.
                if chance and chance.random() < 0.5:
                    changes = node.pending[:chance.randint(0, len(node.pending))]
                else:
                    changes = [change for change in node.pending if kept()]
                for name, entry in self.changed(node.entries, changes).items():
                    # An index in memory, which SQLite makes again.
                    if not name.endswith("-shm"):
                        place(entry, path / name)
            path.chmod(node.mode)

        place(self.top, path)


# What the programs did

class Trace:
    """The directory as it was, and every change since, with what was asked and what was acknowledged between them."""

    def __init__(self, library, root, file):
        self.root, self.file = pathlib.Path(root), pathlib.Path(file)
        self.before, self.steps = None, []
        self.file.write_bytes(b"")
        self.environment = {"LD_PRELOAD": str(library), "CUT_TRACE": str(self.file), "CUT_ROOT": str(self.root)}

    def begin(self):
        """From here on; nobody may be changing anything."""
        self.file.write_bytes(b"")
        self.disk = Disk(self.root)

    def step(self, change, body):
        """Has `body` make a change to what is promised: a function of the promises; it may return a better one."""
        number = len(self.steps)
        self.steps.append(change)
        self.mark("B", number)
        better = body()
        self.mark("A", number)
        if callable(better):
            self.steps[number] = better

    def mark(self, kind, number):
        with open(self.file, "ab", buffering=0) as file:
            file.write(HEAD.pack(0, ord(kind), number, 0))

    def changes(self):
        content, at, changes = self.file.read_bytes(), 0, []
        while at < len(content):
            count, kind, number, where = HEAD.unpack_from(content, at)
            at += HEAD.size
            changes.append((chr(kind), number, where, content[at:at + count]))
            at += count
        return changes


def promise(**changes):
    """The promises with these changed: an item by its account, or `passcode`, `fingers`, `backup`."""
    def change(state):
        return state | changes
    return change


def keep(account, value):
    def change(state):
        items = dict(state["items"])
        items.pop(account, None)
        if value is not None:
            items[account] = hashlib.sha256(value).hexdigest()
        return state | {"items": items}
    return change


def guard(name, is_there):
    def change(state):
        return state | {"guarded": state["guarded"] | {name} if is_there else state["guarded"] - {name}}
    return change


# The cuts

class Cut(Device):
    """A device whose files are what a power cut left; its machine has booted since."""

    def __init__(self, device, directory):
        super().__init__(device.name, boot=False)
        shutil.rmtree(self.work / "state")
        directory.rename(self.work / "state")

    def found(self):
        with self.connect() as connection:
            query = {"class": {"string": "genp"}, "m_Limit": {"string": "m_LimitAll"}, "r_Data": {"boolean": True},
                     "r_Attributes": {"boolean": True}}
            error, reply = call(connection, "Keychain.CopyMatching", query=query, context=None)
            check(error is None or reply.get("status") == -25300, f"the items: {error} {reply}")
            items = {}
            for found in reply.get("items", []):
                digest = hashlib.sha256(base64.b64decode(found["data"])).hexdigest()
                equal(found["attributes"]["labl"]["string"], digest, "an item is half of one and half of another")
                items[found["attributes"]["acct"]["string"]] = digest
            _, fingers = call(connection, "Device.ListFingers")
            check_unaltered(connection)
            held = {name for name in GUARDED if has_guarded(connection, name)}
        return {"items": items, "fingers": set(fingers["fingers"]), "guarded": held}

    def backup(self):
        file = self.work / "state/backup.age"
        return hashlib.sha256(file.read_bytes()).hexdigest() if file.exists() else None


def promised(states):
    return [{key: state[key] for key in ("items", "fingers", "guarded")} for state in states]


def look(cut, states, is_asked_for_passcode, is_mended):
    """Boots what is left, and holds it against the promises: those that were kept, or the next too."""
    cut.environment["SWIFT_BACKTRACE"] = "enable=no"
    if is_mended:
        # As its owner does who is told that it is damaged.
        file = cut.state / "keychain/keychain.db"
        checked = subprocess.run(
            [PROGRAMS / "touchstoned", "check", "--keychain", file], capture_output=True, text=True, timeout=LONGEST_WAIT)
        if checked.returncode != 0:
            mended = subprocess.run(
                [PROGRAMS / "touchstoned", "check", "--keychain", file, "--repair"], capture_output=True, text=True,
                timeout=LONGEST_WAIT)
            equal(mended.returncode, 0, f"the repair: {checked.stdout} {mended.stdout}{mended.stderr}")
    with Daemons(cut):
        found = cut.found()
        check(found in promised(states), f"found {found}, promised {promised(states)}")
        if is_asked_for_passcode:
            codes = [cut.touchstone("device", "unlock", input=f"{passcode}\n").returncode
                     for passcode in dict.fromkeys(state["passcode"] for state in reversed(states))]
            check(0 in codes, f"no passcode opens it: {codes}")
    check(cut.backup() in [state["backup"] for state in states], "the backup is not one that was whole")


def cuts(*arguments, results, **options):
    try:
        make_cuts(*arguments, results=results, **options)
    except BaseException:
        results.put(traceback.format_exc())
    results.put("end")


def make_cuts(device, trace, start, count, seed, worker, is_mended, results):
    """Every WORKERS-th of the cuts, in the order of the changes."""
    changes = trace.changes()
    changing = [index for index, change in enumerate(changes) if change[0] not in "BA"]
    chance = random.Random(seed)
    # Each change is cut behind as often as any other, or one time more.
    places = collections.Counter()
    for _ in range(count // len(changing)):
        places.update(changing)
    places.update(chance.sample(changing, count % len(changing)))
    state, begun, number = start, None, 0
    disk = trace.disk
    for index, (kind, which, at, payload) in enumerate(changes):
        if kind == "B":
            begun = which
        elif kind == "A":
            state, begun = trace.steps[which](state), None
        else:
            disk.apply(kind, which, at, payload)
        for attempt in range(places[index]):
            number += 1
            if number % WORKERS != worker:
                continue
            states = [state] + ([trace.steps[begun](state)] if begun is not None else [])
            is_new = len({state["passcode"] for state in states}) > 1
            own = random.Random(f"{seed} {index} {attempt}")
            directory = pathlib.Path(tempfile.mkdtemp(prefix="touchstone-cut.")) / "state"
            cut = None
            try:
                disk.lay_out(directory, own)
                cut = Cut(device, directory)
                look(cut, states, is_new or own.random() < 0.05, is_mended)
                results.put(None)
            except BaseException:
                kept = f", files in {cut.work}" if cut else ""
                results.put(f"seed {seed}, cut behind change {index} ({kind}), attempt {attempt}{kept}\n"
                            f"{traceback.format_exc()}")
                cut = None
            finally:
                shutil.rmtree(directory.parent, ignore_errors=True)
                if cut:
                    shutil.rmtree(cut.work, ignore_errors=True)


def cut_everywhere(device, trace, start, count, is_mended=False):
    changes = [change[0] for change in trace.changes()]
    results = multiprocessing.Queue()
    processes = [
        multiprocessing.Process(
            target=cuts, args=(device, trace, start, count, SEED, worker, is_mended), kwargs={"results": results})
        for worker in range(WORKERS)]
    for process in processes:
        process.start()
    ended, done, failures = 0, 0, []
    while ended < WORKERS:
        result = results.get(timeout=3 * LONGEST_WAIT)
        if result == "end":
            ended += 1
        else:
            done += 1
            failures += [result] if result else []
            if done % 500 == 0:
                print(f"  {done} cuts, {len(failures)} of them lost something", flush=True)
    counts = collections.Counter(changes)
    print(f"  {done} cuts behind {counts['W']} writes, {counts['S']} synchronisations, "
          f"{sum(counts[kind] for kind in 'TCMUR')} other changes of {counts['A']} acknowledged steps; SEED={SEED}")
    check(not failures, f"{len(failures)} of {done} cuts\n" + "\n".join(failures[:5]))
    equal(done, count, "cuts")


def check_whole(trace, directory):
    """The control: with every change kept, the files that are laid out are those that are there."""
    disk = Disk.__new__(Disk)
    disk.__dict__.update(trace.disk.__dict__)
    changes = [change for change in trace.changes() if change[0] not in "BA"]
    # In a process of its own, as it changes the disk.
    def apply():
        for change in changes:
            disk.apply(*change)
        disk.lay_out(directory, None)
    process = multiprocessing.Process(target=apply)
    process.start()
    process.join()
    equal(process.exitcode, 0, "the changes can be made again")

    def files(root):
        return {str(path.relative_to(root)): path.read_bytes() if path.is_file() else None
                for path in pathlib.Path(root).rglob("*") if not path.name.endswith("-shm")}

    found, expected = files(directory), files(trace.root)
    equal(sorted(found), sorted(expected), "the files")
    for name, content in expected.items():
        check(found[name] == content, f"{name} was changed in a way that was not recorded")
    shutil.rmtree(directory)


@contextlib.contextmanager
def recorded():
    """(device, trace, start): with a passcode, and recorded from then on."""
    with Device(boot=False) as device:
        device.boot()
        device.set_up(PASSCODES[0])
        device.shutdown()
        library = device.work / "cut.so"
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library, HERE / "cut.c", "-ldl"], check=True)
        start = {"items": {}, "fingers": set(), "guarded": set(), "passcode": PASSCODES[0], "backup": None}
        yield device, Trace(library, device.work / "state", device.work / "trace"), start


def every_kind_of_write():
    """Items that come, change and go, fingers, a new passcode, a backup."""
    chance = random.Random(SEED)
    with recorded() as (device, trace, start):
        trace.begin()
        with Daemons(device, keychain=trace, enclave=trace), device.connect() as connection:
            known = {}

            def write(account, value, body):
                trace.step(keep(account, value), lambda: equal(body(), 0, f"the write of {account}"))
                known[account] = value

            there = set()

            def guard_or_not(name):
                is_there = name not in there
                change = add_guarded if is_there else delete_guarded
                trace.step(guard(name, is_there), lambda: equal(change(connection, name), 0, name))
                there.symmetric_difference_update({name})

            def some_writes(count):
                for _ in range(count):
                    if chance.random() < 0.4:
                        guard_or_not(chance.choice(GUARDED))
                    account = f"account {chance.randrange(6)}"
                    value = chance.randbytes(chance.choice([10, 300, 5000, 40000]))
                    label = hashlib.sha256(value).hexdigest()
                    if known.get(account) is None:
                        write(account, value, lambda: add(connection, account, value, labl=label, **ALWAYS))
                    elif chance.random() < 0.3:
                        write(account, None, lambda: delete(connection, account))
                    else:
                        write(account, value, lambda: update(connection, account, v_Data=value, labl=label))

            def passcode(old, new):
                def change():
                    device.run("device", "passcode", "change", input=f"{old}\n{new}\n")
                trace.step(promise(passcode=new), change)

            def back_up(passcode, *options):
                file = trace.root / "backup.age"
                old = dict(device.environment)
                device.environment |= trace.environment

                # Whose digest is known once it is there; its step is told then.
                def export():
                    backup(device, "export", file, *options, passcode=passcode)
                    return promise(backup=hashlib.sha256(file.read_bytes()).hexdigest())
                try:
                    trace.step(promise(), export)
                finally:
                    device.environment = old

            trace.step(promise(), lambda: device.run("device", "unlock", input=f"{PASSCODES[0]}\n"))
            some_writes(14)
            trace.step(promise(fingers={"thumb"}), lambda: equal(
                call(connection, "Device.Enroll", finger="thumb")[0], None, "a finger"))
            passcode(PASSCODES[0], PASSCODES[1])
            some_writes(6)
            back_up(PASSCODES[1])
            some_writes(4)
            trace.step(promise(fingers=set()), lambda: equal(
                call(connection, "Device.RemoveFinger", finger="thumb")[0], None, "no finger"))
            passcode(PASSCODES[1], PASSCODES[2])
            back_up(PASSCODES[2], "--force")
            some_writes(10)
        check_whole(trace, device.work / "again")
        cut_everywhere(device, trace, start, CUTS * 4 // 5)


def a_repair():
    with recorded() as (device, trace, start):
        with Daemons(device), device.connect() as connection:
            items = {}
            for number in range(40):
                value = bytes([number]) * (50 + 100 * number)
                items[f"account {number}"] = digest = hashlib.sha256(value).hexdigest()
                equal(add(connection, f"account {number}", value, labl=digest, **ALWAYS), 0, "an item")
        start = start | {"items": items}
        database = device.state / "keychain/keychain.db"
        import sqlite3
        connection = sqlite3.connect(database)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        connection.close()
        file = bytearray(database.read_bytes())
        # A page of an index: every item can still be read.
        leaves = [page for page in range(4096, len(file), 4096) if file[page] == 0x0A and file[page + 4] > 1]
        file[leaves[-1]:leaves[-1] + 4096] = random.Random(SEED).randbytes(4096)
        database.write_bytes(file)
        device.run("keychain", "check", device.name, status=1)
        trace.begin()

        def repair():
            device.environment |= trace.environment
            try:
                device.run("keychain", "check", device.name, "--repair")
            finally:
                for name in trace.environment:
                    del device.environment[name]
        trace.step(promise(), repair)
        check_whole(trace, device.work / "again")
        cut_everywhere(device, trace, start, CUTS - CUTS * 4 // 5, is_mended=True)


if os.path.isdir(MEMORY) and os.access(MEMORY, os.W_OK):
    tempfile.tempdir = MEMORY
main(every_kind_of_write, a_repair)
