#!/usr/bin/env python3
"""Disks that fail, are full or read-only: the old state or the new, and a clear status."""

import contextlib
import errno
import os
import subprocess
import sys

from daemons import Daemons, Fault, add, compile_fault, delete, item, update
from device import Device, call, check, equal, main

OK, DISK_FULL, IO, READ_ONLY = 0, -34, -36, -25292
# Of a class that is open at once after a restart.
ALWAYS = {"pdmn": "dk"}


@contextlib.contextmanager
def on_its_own_disk(device, size="16m"):
    """The device's state on a file system of its own, in memory."""
    disk = device.work / "state"
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "touchstone-test", disk], check=True)
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


@contextlib.contextmanager
def a_device(size="16m"):
    """Created on a disk of its own, and not booted."""
    device = Device(boot=False)
    with on_its_own_disk(device, size):
        with device:
            yield device


CODES = {errno.EIO: {IO}, errno.ENOSPC: {DISK_FULL, IO}, errno.EROFS: {IO, READ_ONLY}}


def a_keychain_disk_that_fails_at_any_write():
    with a_device("64m") as device:
        library = compile_fault(device.work)
        keychain = Fault(library, device.work, "keychain", device.state)
        with Daemons(device, keychain=keychain) as daemons:
            total = 0
            for code, expected in CODES.items():
                for operation in ("add", "update", "enlarge", "delete"):
                    count = every_write(device, daemons, keychain, code, expected, operation)
                    check(count > 0, f"{operation}: no write failed")
                    total += count
            print(f"  {total} failed writes")


def every_write(device, daemons, fault, code, expected, operation):
    """Lets the first write of the operation fail, then the second, until none fails any more."""
    place, old, new = f"{operation}, {errno.errorcode[code]}", b"old", b"n" * (200000 if operation == "enlarge" else 10)
    for after in range(200):
        with device.connect() as connection:
            with contextlib.suppress(AssertionError):
                delete(connection, "a")
            if operation != "add":
                equal(add(connection, "a", old, labl="old", **ALWAYS), OK, f"{place}: the item")
            equal(item(connection, "b"), None, "another item")
            before = item(connection, "a")
            fault.arm(after, code)
            if operation == "add":
                result = add(connection, "a", new, labl="new", **ALWAYS)
            elif operation == "delete":
                result = delete(connection, "a")
            else:
                result = update(connection, "a", v_Data=new, labl="new")
            # While it fails what is there can be read.
            during = item(connection, "a")
            failed = fault.disarm()
            check(result == OK or result in expected, f"{place}, {after}: status {result}")
            check(result == OK or failed > 0, f"{place}, {after}: status {result} without a failure")
            wanted = None if operation == "delete" else new
            if result == OK:
                equal(during and during[0], wanted, f"{place}, {after}: the new state")
            else:
                equal(during, before, f"{place}, {after}: the old state")
            # The disk is well again, and so is the keychain.
            equal(add(connection, "b", b"b", **ALWAYS), OK, f"{place}, {after}: the next write")
            equal(delete(connection, "b"), OK, f"{place}, {after}: the write after it")
            found = item(connection, "a")
            equal(found and found[0], during and during[0], f"{place}, {after}: afterwards")
        if code == errno.EIO:
            # Killed while the disk does not work: whatever was told is what is there, or, after an error, one of the two.
            with device.connect() as connection:
                with contextlib.suppress(AssertionError):
                    delete(connection, "c")
                fault.arm(after, code)
                told = add(connection, "c", b"c", labl="c", **ALWAYS)
                daemons.kill()
                fault.disarm()
            daemons.start()
            with device.connect() as connection:
                found = item(connection, "c")
                check(found is None or (found[0], found[1]["labl"]) == (b"c", "c"), f"{place}, {after}: {found}")
                check(told != OK or found is not None, f"{place}, {after}: an acknowledged write is lost")
                found = item(connection, "a")
                equal(found and found[0], during and during[0], f"{place}, {after}: after a restart")
        if failed == 0:
            equal(result, OK, f"{place}: without a failure")
            return after
    raise AssertionError(f"{place}: 200 writes and no end")


def an_enclave_disk_that_fails_at_any_write():
    with a_device() as device:
        device.boot()
        device.set_up()
        device.shutdown()
        library = compile_fault(device.work)
        enclave = Fault(library, device.work, "enclave", device.state)
        with Daemons(device, enclave=enclave) as daemons:
            for code in CODES:
                for method, before, after in (("Enroll", [], ["f"]), ("RemoveFinger", ["f"], [])):
                    for number in range(50):
                        with device.connect() as connection:
                            equal(fingers(connection), before, f"before {method}")
                            enclave.arm(number, code)
                            error, reply = call(connection, f"Device.{method}", finger="f")
                            failed = enclave.disarm()
                            now = fingers(connection)
                            place = f"{method}, {errno.errorcode[code]}, {number}"
                            if error:
                                equal((error, reply["reason"]), ("io.touchstone.Device.Refused", "notKept"), place)
                                check(failed > 0, f"{place}: refused without a failure")
                                equal(now, before, f"{place}: the old state")
                            else:
                                equal(now, after, f"{place}: the new state")
                        daemons.restart()
                        with device.connect() as connection:
                            found = fingers(connection)
                            check(found == now or (error and found == after), f"{place}: {found} after a restart")
                            # Back to where it was, for the next.
                            if error and found == after:
                                undo = "RemoveFinger" if method == "Enroll" else "Enroll"
                                equal(call(connection, f"Device.{undo}", finger="f")[0], None, undo)
                        if failed == 0:
                            break
                    check(number > 2, f"{method}: only {number} writes failed")


def fingers(connection):
    return call(connection, "Device.ListFingers")[1]["fingers"]


def a_full_disk():
    with a_device("3m") as device:
        device.boot()
        device.set_up()
        device.shutdown()
        with Daemons(device) as daemons, device.connect() as connection:
            equal(add(connection, "a", b"a" * 1000, **ALWAYS), OK, "the item")
            filler = device.work / "state/filler"
            with open(filler, "wb", buffering=0) as file, contextlib.suppress(OSError):
                while True:
                    file.write(bytes(4096))
            big = b"b" * 500000
            equal(add(connection, "b", big, **ALWAYS), DISK_FULL, "an item too many")
            equal(update(connection, "a", v_Data=big), DISK_FULL, "an item that grows")
            equal(item(connection, "a")[0], b"a" * 1000, "what was there")
            equal(item(connection, "b"), None, "what was not")
            error, reply = call(connection, "Device.Enroll", finger="f")
            equal((error, reply.get("reason")), ("io.touchstone.Device.Refused", "notKept"), "a finger")
            equal(fingers(connection), [], "the fingers")
            filler.unlink()
            equal(add(connection, "b", big, **ALWAYS), OK, "with room again")
            equal(call(connection, "Device.Enroll", finger="f")[0], None, "a finger with room again")
            daemons.restart()
            with device.connect() as again:
                equal(item(again, "a")[0], b"a" * 1000, "after a restart")
                equal(item(again, "b")[0], big, "after a restart")
                equal(fingers(again), ["f"], "after a restart")


def contents(directory):
    return {path: path.read_bytes() for path in directory.rglob("*") if path.is_file() and path.suffix != ".log"}


def a_read_only_disk():
    with a_device() as device:
        with Daemons(device), device.connect() as connection:
            equal(add(connection, "a", b"a", **ALWAYS), OK, "the item")
        disk = device.work / "state"
        before = contents(device.state)
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        try:
            with Daemons(device), device.connect() as connection:
                equal(item(connection, "a")[0], b"a", "what was there")
                for what, result in (
                    ("add", add(connection, "b", b"b", **ALWAYS)), ("update", update(connection, "a", v_Data=b"c")),
                    ("delete", delete(connection, "a")),
                ):
                    equal(result, READ_ONLY, what)
                equal(item(connection, "a")[0], b"a", "what is there still")
        finally:
            subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
        equal(contents(device.state), before, "the files")
        with Daemons(device), device.connect() as connection:
            equal(item(connection, "a")[0], b"a", "on a disk that can be written")
            equal(update(connection, "a", v_Data=b"c"), OK, "a write")


if os.geteuid() != 0:
    sys.exit("faults: run it as root: it mounts disks")
main(
    a_keychain_disk_that_fails_at_any_write, an_enclave_disk_that_fails_at_any_write, a_full_disk, a_read_only_disk)
