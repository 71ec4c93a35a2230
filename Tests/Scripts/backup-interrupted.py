#!/usr/bin/env python3
"""Exports and imports that are killed, or meet a full disk, lose nothing; and long ones stay small."""

import base64
import os
import pathlib
import re
import shutil
import signal
import subprocess

from device import Device, call, check, equal, main, wait_for
from keychain import PASSCODE, PASSPHRASE, accounts, add, backup, two_devices


class Interrupted:
    """A command of the keychain, on its way, to be killed."""

    def __init__(self, device, direction, file, *options):
        self.read, write = os.pipe()
        os.write(write, f"{PASSPHRASE}\n".encode())
        os.close(write)
        self.process = subprocess.Popen(
            [str(device.programs / "touchstone"), "keychain", direction, str(file), *options, "--passphrase-fd",
             str(self.read)],
            env=device.environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            pass_fds=[self.read])
        self.process.stdin.write(f"{PASSCODE}\n".encode())
        self.process.stdin.close()

    def kill(self, once):
        """Kills it once `once` returns true; whether it was still there."""
        wait_for(lambda: once() or self.process.poll() is not None, "the command to be on its way")
        self.process.kill()
        os.close(self.read)
        return self.process.wait() == -signal.SIGKILL


def large(device, count=200):
    add(device, *(f"item {number}" for number in range(count)), value="{} " + "x" * 16000)


@two_devices
def a_killed_export_leaves_the_last_backup(one, two):
    large(one)
    file, partial = one.work / "backup.age", one.work / ".backup.age.partial"
    backup(one, "export", file)
    before = file.read_bytes()
    for size in (0, 300_000):
        for _ in range(50):
            export = Interrupted(one, "export", file, "--force")
            killed = export.kill(lambda: partial.exists() and partial.stat().st_size >= size)
            if killed and partial.exists():
                break
            # It was through before we came: then that is the last backup, and the next one is killed.
            before = file.read_bytes()
        else:
            check(False, f"none was killed when it had written {size} bytes")
        equal(file.read_bytes(), before, "the last backup")
    backup(one, "export", file, "--force")
    check(not partial.exists() and file.read_bytes() != before, "nothing is left once one is through")
    backup(two, "import", file)
    equal(len(accounts(two)), 200, "items")


@two_devices
def a_killed_import_is_run_again(one, two):
    # So many that each kill comes in the middle.
    count = 1500
    large(one, count)
    file = one.work / "backup.age"
    backup(one, "export", file)
    first = Interrupted(two, "import", file)
    check(first.kill(lambda: accounts(two)), "the command was killed")
    found = len(accounts(two))
    check(0 < found < count, f"{found} items after the command was killed")
    # The daemon under it.
    second = Interrupted(two, "import", file)
    wait_for(lambda: len(accounts(two)) > found, "more items")
    os.kill(two.daemons["touchstoned"], signal.SIGKILL)
    equal(second.kill(lambda: False), False, "the command ends by itself")
    equal(second.process.returncode, 69, "its exit status")
    wait_for(lambda: two.status, "the device to come back")
    two.processes += [*two.daemons.values()]
    two.run("device", "unlock", input=f"{PASSCODE}\n")
    found = len(accounts(two))
    check(0 < found < count, f"{found} items after the daemon was killed")
    said = backup(two, "import", file).stdout
    check(f"{count - found} added" in said and f"{found} kept" in said, said)
    query = {
        "class": {"string": "genp"}, "m_Limit": {"string": "m_LimitAll"}, "r_Attributes": {"boolean": True},
        "r_Data": {"boolean": True},
    }
    _, reply = call(two.connect(), "Keychain.CopyMatching", query=query)
    equal(len(reply["items"]), count, "items")
    for item in reply["items"]:
        text = base64.b64decode(item["data"]).decode()
        check(text.startswith(item["attributes"]["acct"]["string"] + " x"), "each item has its own secret")


@two_devices
def a_full_disk_leaves_the_last_backup(one, two):
    add(one, *(f"item {number}" for number in range(300)))
    file = one.work / "backup.age"
    backup(one, "export", file)
    before = file.read_bytes()
    # Of 1 KiB each.
    for limit in (0, 1, 40, 70):
        said = backup(one, "export", file, "--force", status=70, limit=limit).stderr
        check("cannot be written" in said, said)
        equal(file.read_bytes(), before, "the last backup")
        equal([path.name for path in one.work.glob(".*")], [], "nothing is left")


def an_import_onto_a_full_disk_is_whole_or_not_there():
    """The device's state lies on a file system of 3 MiB."""
    check(os.geteuid() == 0, "this test mounts a file system: run it as root")
    with Device("one") as one:
        one.set_up(PASSCODE)
        add(one, *(f"item {number}" for number in range(600)), value="{} " + "x" * 8000)
        file = one.work / "backup.age"
        backup(one, "export", file)
        two = Device("two", boot=False)
        small = two.work / "state"
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m,mode=0700", "tmpfs", str(small)], check=True)
        try:
            with two:
                two.boot()
                two.set_up(PASSCODE)
                said = backup(two, "import", file, status=70).stderr
                check("full" in said, said)
                there = len(accounts(two))
                check(0 <= there < 600, f"{there} items")
                subprocess.run(["mount", "-o", "remount,size=40m", str(small)], check=True)
                backup(two, "import", file)
                equal(len(accounts(two)), 600, "items once there is room")
        finally:
            subprocess.run(["umount", "-l", str(small)], check=True)
            shutil.rmtree(two.work, ignore_errors=True)


def a_large_keychain_goes_through_in_bounded_memory():
    def resident(pid):
        return int(re.search(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1])

    with Device("one") as one, Device("two") as two:
        one.set_up(PASSCODE)
        two.set_up(PASSCODE)
        add(one, *(f"item {number}" for number in range(3000)), value="{} " + "x" * 16000)
        file = one.work / "backup.age"
        before = {device.name: resident(device.daemons["touchstoned"]) for device in (one, two)}
        backup(one, "export", file)
        check(file.stat().st_size > 48_000_000, "a large backup")
        backup(two, "import", file)
        for device in (one, two):
            grown = resident(device.daemons["touchstoned"]) - before[device.name]
            print(f"{device.name}: {before[device.name]} KiB, then {grown} KiB more")
            check(grown < 28 << 10, f"touchstoned of {device.name} grew by {grown} KiB")


main(
    a_killed_export_leaves_the_last_backup, a_killed_import_is_run_again, a_full_disk_leaves_the_last_backup,
    an_import_onto_a_full_disk_is_whole_or_not_there, a_large_keychain_goes_through_in_bounded_memory)
