#!/usr/bin/env python3
"""Nobody fills the keychain for others, and a full disk locks nobody out: quotas, guesses and deletions without room."""

import os
import sys

if os.geteuid() != 0:
    # It mounts small disks: as nobody's root, in a name space of its own.
    os.execvp("unshare", ["unshare", "--user", "--map-root-user", "--mount", sys.executable, *sys.argv])

import base64
import contextlib
import json
import random
import re
import shutil
import subprocess
import threading

from daemons import Daemons, add, delete, dictionary, item, status
from device import LONGEST_WAIT, Device, call, check, equal, main, wait_for
from enclave import seal_passcodes

OK, DISK_FULL, NOT_FOUND, NOT_AVAILABLE = 0, -34, -25300, -25291
PASSCODE = "271828"
# Of a class that is open at once after a restart.
ALWAYS = {"pdmn": "dk"}

CALL = """
import json, socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
for line in sys.stdin:
    connection.sendall(line.encode().strip() + b"\\0")
    reply = b""
    while not reply.endswith(b"\\0"): reply += connection.recv(65536)
    print(reply[:-1].decode(), flush=True)
"""


class Program:
    """An app: a copy of the interpreter at a path of its own, with one connection."""

    def __init__(self, device, name):
        self.path = str((device.work / name).resolve())
        shutil.copy(os.path.realpath("/usr/bin/python3"), self.path)
        self.process = subprocess.Popen(
            [self.path, "-S", "-c", CALL, device.socket], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def add(self, account, value):
        request = {"attributes": dictionary(account, v_Data=value, **ALWAYS), "context": None}
        self.process.stdin.write(json.dumps({"method": "io.touchstone.Keychain.Add", "parameters": request}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        return status((answer.get("error"), answer.get("parameters")))

    def end(self):
        self.process.stdin.close()
        self.process.wait(LONGEST_WAIT)


def use_of(device, app):
    return json.loads(device.run("keychain", "quota", app, "--json").stdout)


def whoever_reaches_its_quota_keeps_nobody_else_from_adding():
    with Device() as device:
        device.set_up(PASSCODE)
        greedy, other = Program(device, "greedy"), Program(device, "other")
        device.run("keychain", "quota", greedy.path, "--items", "3")
        for number in range(3):
            equal(greedy.add(f"item {number}", b"value"), OK, f"item {number}")
        refused = 200
        for number in range(refused):
            equal(greedy.add(f"more {number}", b"value"), DISK_FULL, "an item beyond the quota")
        equal(other.add("item", b"value"), OK, "another app's item")
        # Counted in the log, and not one line for each.
        entries = []

        def all_counted():
            entries[:] = [json.loads(line) for line in device.run("log", "--refused", "--json").stdout.splitlines()]
            return sum(entry.get("count", 1) for entry in entries if entry["result"] == "quotaReached") == refused

        wait_for(all_counted, "all refusals in the log")
        check(len(entries) < refused / 2, f"{len(entries)} lines for {refused} refusals")
        # The owner's view, and changes.
        (use,) = use_of(device, greedy.path)
        equal((use["used"]["items"], use["limit"]["items"], use["isDefault"]), (3, 3, False), "the use")
        equal(use["limit"]["bytes"], 64 << 20, "the limit of bytes, of which nothing was said")
        said = device.run("keychain", "quota").stdout
        check(re.search(r"3 of 3 items .* of 64 MiB .*/greedy \(own limit\)", said), said)
        check(re.search(r"1 of 10000 items .* of 64 MiB .*/other\n", said), said)
        device.run("keychain", "quota", greedy.path, "--default")
        equal(greedy.add("more", b"value"), OK, "an item with the limit that all have")
        equal(use_of(device, greedy.path)[0]["isDefault"], True, "the limit")
        device.run("keychain", "quota", greedy.path, "--size", "64KiB")
        equal(greedy.add("large", bytes(65536)), DISK_FULL, "too many bytes")
        equal(greedy.add("small", bytes(1024)), OK, "few bytes")
        for wrong in (["--items", "3"], [greedy.path, "--size", "many"], [greedy.path, "--size", "-1"],
                      [greedy.path, "--items", "-1"], [greedy.path, "--default", "--items", "3"]):
            device.run("keychain", "quota", *wrong, status=64)
        device.run("keychain", "check")
        greedy.end()
        other.end()


def nobody_keeps_more_than_64_mib_that_the_owner_did_not_allow():
    with Device() as device:
        device.set_up(PASSCODE)
        greedy, other = Program(device, "greedy"), Program(device, "other")
        value = bytes(15 << 20)
        for number in range(4):
            equal(greedy.add(f"item {number}", value), OK, f"item {number}, of 15 MiB")
        equal(greedy.add("item 4", value), DISK_FULL, "more than 64 MiB")
        equal(greedy.add("item 5", bytes(1000)), OK, "what has room")
        equal(other.add("item", value), OK, "another app's item")
        greedy.end()
        other.end()


# A full disk


@contextlib.contextmanager
def a_device(size="32m"):
    """A device with a disk of its own, created and set up, and not booted."""
    device = Device()
    disk = device.work / "state"
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "touchstone-test", disk], check=True)
    try:
        with device:
            device.set_up(PASSCODE)
            device.shutdown()
            yield device
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def fill(device, name="filler"):
    """Takes all room that there is, to the last block."""
    with open(device.work / "state" / name, "ab", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            with contextlib.suppress(OSError):
                while True:
                    file.write(bytes(size))
    equal(os.statvfs(device.work / "state").f_bavail, 0, "blocks that are free")


def guess(device, connection, passcode):
    """Whether it was right; an OSError where the daemons end before they tell."""
    error, reply = call(connection, "Device.GetNonce")
    if error:
        raise ConnectionResetError(f"no nonce: {error}")
    nonce = base64.b64decode(reply["nonce"])
    public_key = (device.state / "enclave/passcode.pub").read_bytes()
    error, reply = call(
        connection, "Device.Unlock", passcode=seal_passcodes(public_key, [passcode], nonce + b"unlock"))
    if (error, reply) == ("io.touchstone.Device.Refused", {"reason": "busy"}):
        # touchstoned outlived the enclave by a moment.
        raise ConnectionResetError("the enclave ended before its verdict")
    check(error in (None, "io.touchstone.Device.PasscodeRejected"), f"a guess: {error} {reply}")
    return error is None


def state_of(connection):
    return call(connection, "Device.GetStatus")[1]["status"]


def a_full_disk_locks_nobody_out():
    with a_device() as device, Daemons(device) as daemons:
        with device.connect() as connection:
            for number in range(100):
                equal(add(connection, f"item {number}", bytes(1000), **ALWAYS), OK, "an item")
            equal(add(connection, "large", bytes(5 << 20), **ALWAYS), OK, "a large item")
            fill(device)
            equal(add(connection, "more", bytes(1 << 20), **ALWAYS), DISK_FULL, "an item too many")
            # Guesses.
            for number in range(3):
                equal(guess(device, connection, f"wrong {number}"), False, "a wrong passcode")
            equal(state_of(connection)["passcodeFailures"], 3, "wrong passcodes")
        daemons.restart()
        with device.connect() as connection:
            equal(state_of(connection)["passcodeFailures"], 3, "wrong passcodes, after a crash on the full disk")
            equal(guess(device, connection, PASSCODE), True, "the right passcode")
            status = state_of(connection)
            equal((status["isLocked"], status["passcodeFailures"]), (False, 0), "the device")
            # Many more than there are spares: what a guess used is there for the next.
            for number in range(60):
                call(connection, "Device.Lock")
                equal(guess(device, connection, PASSCODE), True, f"unlock {number}")
            fill(device, "filler-2")
            # Deletions.
            for number in range(50):
                equal(delete(connection, f"item {number}"), OK, f"deletion {number}")
            equal(item(connection, "item 49"), None, "a deleted item")
            equal(delete(connection, "large"), OK, "the deletion of a large item")
            fill(device, "filler-3")
            # What was deleted makes room for what is added.
            equal(add(connection, "new", b"n" * (1 << 20), **ALWAYS), OK, "an item with room again")
            equal(item(connection, "new")[0], b"n" * (1 << 20), "the new item")
            equal(item(connection, "item 99")[0], bytes(1000), "an old item")
        daemons.restart()
        with device.connect() as connection:
            equal(item(connection, "new")[0], b"n" * (1 << 20), "the new item after a crash")
            equal(item(connection, "item 99")[0], bytes(1000), "an old item after a crash")
            equal(item(connection, "large"), None, "the large item after a crash")
            everything = {"class": {"string": "genp"}, "sync": {"string": "syna"}}
            equal(status_of_all(connection, everything), OK, "the deletion of everything")
            equal(status_of_all(connection, everything), NOT_FOUND, "which leaves nothing")
            # With room again all is as it was.
            for path in (device.work / "state").glob("filler*"):
                path.unlink()
            equal(add(connection, "large", bytes(5 << 20), **ALWAYS), OK, "a large item")
        spares = list((device.state / "enclave").glob(".state.spare-*"))
        wait_for(lambda: guess_again(device) and len(list((device.state / "enclave").glob(".state.spare-*"))) == 16,
                 f"all spares, of which {len(spares)} were there")


def status_of_all(connection, query):
    return status(call(connection, "Keychain.Delete", query=query, context=None))


def guess_again(device):
    with device.connect() as connection:
        call(connection, "Device.Lock")
        return guess(device, connection, PASSCODE)


def additions_leave_room_for_deletions():
    """An app adds until it is refused, again and again: the log's room never ends with it."""
    with a_device() as device, Daemons(device) as daemons, device.connect() as connection:
        equal(add(connection, "first", bytes(3 << 20), **ALWAYS), OK, "an item")
        fill(device)
        accounts = []
        for round in range(3):
            # What is freed is used up.
            for number in range(3000):
                account = f"{round} {number}"
                result = add(connection, account, bytes(8000), **ALWAYS)
                check(result in (OK, DISK_FULL), f"status {result}")
                if result == DISK_FULL:
                    break
                accounts.append(account)
            check(result == DISK_FULL, f"{number} items and no end")
            for _ in range(30):
                equal(add(connection, "no", bytes(1 << 20), **ALWAYS), DISK_FULL, "an item too many")
            target = "first" if round == 0 else accounts.pop(0)
            equal(delete(connection, target), OK, f"round {round}: the deletion of {target}")
            if round > 0:
                for account in accounts[:100]:
                    equal(delete(connection, account), OK, f"round {round}: the deletion of {account}")
                del accounts[:100]
        check(len(accounts) > 100, f"{len(accounts)} items after deletions")
        daemons.restart()
        with device.connect() as again:
            for account in accounts:
                equal(item(again, account)[0], bytes(8000), account)


def killed_at_any_moment_on_a_full_disk():
    moments = random.Random(20261122)
    with a_device() as device, Daemons(device) as daemons:
        known, possible = {}, {}
        with device.connect() as connection:
            for number in range(300):
                equal(add(connection, f"{number}", f"of {number}".encode(), **ALWAYS), OK, "an item")
                known[f"{number}"] = f"of {number}".encode()
        fill(device)
        wrong = 0
        for number in range(30):
            timer = threading.Timer(moments.uniform(0, 0.4), daemons.kill)
            with device.connect() as connection:
                timer.start()
                with contextlib.suppress(OSError):
                    while True:
                        account = moments.choice(sorted(known))
                        value = None if known[account] is not None else os.urandom(500)
                        possible = {account: value}
                        result = (
                            delete(connection, account) if value is None
                            else add(connection, account, value, **ALWAYS))
                        # A larger item than the deleted one may need a page that the disk does not have.
                        if value is not None and result == DISK_FULL:
                            possible = {}
                            continue
                        check(result in (OK, NOT_AVAILABLE), f"kill {number}: {account}: status {result}")
                        if result == NOT_AVAILABLE:
                            break
                        known[account], possible = value, {}
                        if moments.random() < 0.3 and wrong < 3:
                            equal(guess(device, connection, f"wrong {moments.random()}"), False, "a wrong passcode")
                            wrong += 1
            timer.join()
            daemons.start()
            with device.connect() as connection:
                for account, value in known.items():
                    found = item(connection, account)
                    data = found and found[0]
                    check(data == value or (account in possible and data == possible[account]),
                          f"kill {number}: {account}: {data!r}, expected {value!r}")
                    known[account] = data
                failures = state_of(connection)["passcodeFailures"]
                check(failures >= wrong, f"kill {number}: {failures} wrong passcodes, {wrong} were told")
                # A delay begins again with the boot.
                call(connection, "Device.AdvanceClock", seconds=30000.0)
                equal(guess(device, connection, PASSCODE), True, f"kill {number}: the right passcode")
                wrong, possible = 0, {}


@contextlib.contextmanager
def somebody_takes_every_block(device):
    """A program that writes wherever there is room, for as long as the body runs."""
    ended = threading.Event()

    def take():
        with open(device.work / "state" / "taken", "ab", buffering=0) as file:
            while not ended.is_set():
                with contextlib.suppress(OSError):
                    file.write(bytes(4096))

    taker = threading.Thread(target=take)
    taker.start()
    try:
        yield
    finally:
        ended.set()
        taker.join()


def nobody_takes_the_room_of_the_start():
    with a_device() as device, Daemons(device) as daemons:
        with device.connect() as connection:
            for number in range(20):
                equal(add(connection, f"{number}", b"value", **ALWAYS), OK, "an item")
        fill(device)
        with somebody_takes_every_block(device):
            for number in range(20):
                daemons.restart()
                with device.connect() as connection:
                    equal(item(connection, f"{number}")[0], b"value", f"an item after crash {number}")
                    equal(delete(connection, f"{number}"), OK, f"a deletion after crash {number}")


# Rows that were put aside


def what_was_put_aside_is_mentioned():
    import sqlite3
    with Device() as device:
        device.set_up(PASSCODE)
        with device.connect() as connection:
            equal(add(connection, "a", b"a", **ALWAYS), OK, "an item")
        report = json.loads(device.run("doctor", "--json").stdout)
        (finding,) = [finding for finding in report["findings"] if finding["topic"] == "keychain"]
        equal((finding["state"], finding["text"]), ("good", "1 item"), "the doctor's finding")
        check("put aside" not in device.log, device.log)
        database = sqlite3.connect(device.state / "keychain/keychain.db")
        database.execute("UPDATE item SET secret = zeroblob(60)")
        database.commit()
        database.close()
        device.run("keychain", "check", "--repair")
        report = json.loads(device.run("doctor", "--json").stdout)
        (finding,) = [finding for finding in report["findings"] if finding["topic"] == "keychain"]
        equal(finding["state"], "warning", "the doctor's finding")
        check("damaged and put aside: 1" in finding["text"] and "keychain check" in finding["text"], finding["text"])
        device.shutdown()
        device.boot()
        wait_for(lambda: "1 damaged item was put aside; 'touchstone keychain check'" in device.log, "the line at boot")


main(
    whoever_reaches_its_quota_keeps_nobody_else_from_adding, nobody_keeps_more_than_64_mib_that_the_owner_did_not_allow,
    a_full_disk_locks_nobody_out, additions_leave_room_for_deletions, killed_at_any_moment_on_a_full_disk,
    nobody_takes_the_room_of_the_start, what_was_put_aside_is_mentioned)
