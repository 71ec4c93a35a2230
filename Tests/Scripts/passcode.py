#!/usr/bin/env python3
"""The passcode against who can end the daemons, move the clocks and put old files back."""

import mmap
import os
import pathlib
import random
import shutil
import struct
import subprocess
import time

from daemons import HERE, Daemons, add, item
from device import LONGEST_WAIT, Device, call, check, equal, main

ALWAYS = {"pdmn": "dk"}
PASSCODE = "271828"


class Clocks:
    """The clocks of the daemons, moved by the test."""

    def __init__(self, directory):
        library = pathlib.Path(directory) / "clocks.so"
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library, HERE / "clocks.c", "-ldl"], check=True)
        path = pathlib.Path(directory) / "clocks.control"
        path.write_bytes(bytes(16))
        self.file = open(path, "r+b")
        self.memory = mmap.mmap(self.file.fileno(), 16)
        self.environment = {"LD_PRELOAD": str(library), "CLOCKS_CONTROL": str(path)}
        self.wall, self.boot = 0, 0

    def move(self, wall=0, boot=0):
        self.wall, self.boot = self.wall + wall, self.boot + boot
        self.memory[:] = struct.pack("qq", self.wall, self.boot)


def status_of(device):
    """Of daemons without a supervisor, which 'device status' would call off."""
    with device.connect() as connection:
        return call(connection, "Device.GetStatus")[1]["status"]


def unlock(device, passcode, status):
    return device.run("device", "unlock", "--device", device.name, input=f"{passcode}\n", status=status)


def guesses_are_counted_however_the_enclave_ends():
    seed = int(os.environ.get("SEED", "1"))
    print(f"  SEED={seed}")
    chance = random.Random(seed)
    with Device(boot=False) as device, Daemons(device) as daemons:
        device.set_up(PASSCODE)
        counted, judged, missed, before = 0, 0, 0, 0
        started = time.monotonic()
        unlock(device, PASSCODE, 0)
        longest = max(1, 1.5 * (time.monotonic() - started))
        for number in range(24):
            # The right one too: whoever ends the process before the verdict cannot know which it was.
            passcode = PASSCODE if number % 4 == 3 else f"wrong {number}"
            program = subprocess.Popen(
                [str(device.programs / "touchstone"), "device", "unlock"], env=device.environment,
                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)
            program.stdin.write(f"{passcode}\n")
            program.stdin.close()
            time.sleep(chance.uniform(0, longest))
            daemons.kill("touchstone-enclave" if chance.random() < 0.5 else None)
            code = program.wait(LONGEST_WAIT)
            daemons.start()
            after = status_of(device)["passcodeFailures"]
            if code == 0:
                equal(after, 0, "after the right one")
                judged += 1
            elif code == 6:
                equal(after, before + 1, "a verdict that was told")
                judged += 1
            elif after == 0 and passcode == PASSCODE:
                # Judged and kept, and ended before it was told.
                judged += 1
            else:
                check(after in (before, before + 1), f"{after} failures after {before}")
                counted, missed = counted + (after > before), missed + (after == before)
            before = after
            if before >= 3:
                # The fourth would have to wait.
                unlock(device, PASSCODE, 0)
                before = 0
        print(f"  {judged} judged, {counted} counted without a verdict, {missed} that never began")
        check(judged > 0, "none was judged")
        check(counted > 0, "none was ended between the guess and its verdict")


def no_clock_shortens_a_delay():
    with Device(boot=False) as device:
        clocks = Clocks(device.work)
        with Daemons(device, keychain=clocks, enclave=clocks) as daemons:
            device.set_up(PASSCODE)
            for number in range(4):
                unlock(device, f"wrong {number}", 6)
            check(30 < status_of(device)["passcodeRetryAfterSeconds"] <= 60, "the delay")
            year, seen = 366 * 86400, []
            for wall in (year, -2 * year, 50 * year):
                clocks.move(wall=wall)
                with device.connect() as connection:
                    equal(add(connection, str(wall), b"a", **ALWAYS), 0, "an item")
                    seen.append(item(connection, str(wall))[1]["cdat"])
                check(30 < status_of(device)["passcodeRetryAfterSeconds"] <= 60, f"after {wall} s of the wall clock")
                unlock(device, PASSCODE, 6)
                equal(status_of(device)["passcodeFailures"], 4, "not looked at, so not counted")
            check(seen[1] < seen[0] - year and seen[2] > seen[0] + 40 * year, f"the daemons' wall clock was moved: {seen}")
            # A restart begins it again, whatever the clock of the new boot says.
            for boot in (-30, 1000000):
                clocks.move(boot=boot)
                daemons.restart()
                check(30 < status_of(device)["passcodeRetryAfterSeconds"] <= 60, "PC-03: in full")
            clocks.move(boot=61)
            unlock(device, PASSCODE, 0)


def an_old_state_is_noticed():
    with Device() as device:
        device.set_up(PASSCODE)
        device.shutdown()
        state = device.state / "enclave/state"
        old = state.read_bytes()
        device.boot()
        unlock(device, "wrong", 6)
        device.shutdown()
        new = state.read_bytes()
        state.write_bytes(old)
        refused = device.run("device", "boot", device.name, "--detach", status=78)
        check("put back from a copy" in refused.stderr, refused.stderr)
        equal(state.read_bytes(), old, "what was there is left as it is")
        state.write_bytes(new)
        device.boot()
        equal(device.status["passcodeFailures"], 1, "the newest")
        device.shutdown()
        # What a key file cannot tell, and 'doctor' says so: the machine restarted, or the user logged out.
        state.write_bytes(old)
        shutil.rmtree(device.runtime)
        device.boot()
        equal(device.status["passcodeFailures"], 0, "the old one")
        check("the device notices this until" in device.run("doctor", device.name).stdout, "doctor says it")


def ten_wrong_ones_erase():
    with Device(boot=False) as device:
        clocks = Clocks(device.work)
        with Daemons(device, keychain=clocks, enclave=clocks) as daemons:
            device.run("device", "passcode", "set", "--kind", "six-digit", input=f"{PASSCODE}\n")
            device.run("device", "enroll", "thumb")
            equal(status_of(device)["passcodeKind"], "sixDigit", "the kind")
            device.run("device", "passcode", "erase-data", "on", input="wrong\n", status=6)
            equal(status_of(device)["erasesData"], False, "with a wrong passcode")
            device.run("device", "passcode", "erase-data", "on", input=f"{PASSCODE}\n")
            with device.connect() as connection:
                equal(add(connection, "a", b"a", **ALWAYS), 0, "an item")
            for number in range(10):
                clocks.move(boot=int(status_of(device).get("passcodeRetryAfterSeconds") or 0) + 1)
                said = unlock(device, f"wrong {number}", 6).stderr
                check(("was erased" in said) == (number == 9), said)
                if number == 5:
                    daemons.restart()
            for what in ("at once", "after a restart"):
                status = status_of(device)
                equal((status["wasErased"], status["isPasscodeSet"], status["isEnrolled"]), (True, False, False), what)
                equal(status["passcodeFailures"], 0, what)
                with device.connect() as connection:
                    equal(item(connection, "a"), None, what)
                check("was erased" in device.run("doctor", device.name).stdout, what)
                daemons.restart()
            device.set_up("1234", "thumb")
            equal(status_of(device)["wasErased"], False, "set up again")


def the_passcodes_kind_and_lock():
    with Device() as device:
        for kind, passcode in (("four-digit", "12345"), ("six-digit", "1234"), ("numeric", "12a4")):
            said = device.run("device", "passcode", "set", "--kind", kind, input=f"{passcode}\n", status=5).stderr
            check("--kind" in said, said)
        device.run("device", "passcode", "set", "--kind", "pattern", input="1234\n", status=64)
        device.run("device", "passcode", "set", "--kind", "four-digit", input="1234\n")
        device.run("device", "passcode", "change", input="1234\ncorrect horse\n")
        equal(device.status["passcodeKind"], "alphanumeric", "the new one's")
        device.run("device", "passcode", "erase-data", "on", input="correct horse\n")
        said = device.run("device", "status", device.name).stdout
        check("set (alphanumeric), erases the device after ten wrong ones" in said, said)
        device.run("device", "enroll", "thumb")
        device.run("device", "lock")
        device.run("device", "unlock", "--finger", "thumb")
        device.run("device", "lock", "--require-passcode")
        # The last word of most commands is a device. Here it would be a finger, which shuts the items of the others for good.
        said = device.run("device", "enroll", "thumb", device.name, status=64).stderr
        check(f"--device {device.name}" in said, said)
        equal(device.run("device", "fingers").stdout, "thumb\n", "what is enrolled")
        device.run("device", "unlock", "--finger", "thumb", status=4)
        unlock(device, "correct horse", 0)


def the_key_is_new_at_each_boot():
    """What passcodes are sealed to: another after each boot, and one that is in the way is a clear answer (DEC-005)."""
    with Device(boot=False) as device, Daemons(device) as daemons:
        device.set_up(PASSCODE)
        published = device.state / "enclave/passcode.pub"
        keys = [published.read_bytes()]
        for _ in range(3):
            daemons.restart()
            unlock(device, PASSCODE, 0)
            keys.append(published.read_bytes())
        equal((len(set(keys)), [len(key) for key in keys]), (4, [32] * 4), "its keys")
        equal(os.stat(published).st_mode & 0o777, 0o600, "the file's mode")
        # A file of an earlier boot.
        published.write_bytes(keys[0])
        old = unlock(device, PASSCODE, 5)
        check("is from an earlier boot" in old.stderr, old.stderr)
        equal(status_of(device)["passcodeFailures"], 0, "wrong ones")
        published.write_bytes(keys[-1])
        unlock(device, PASSCODE, 0)
        daemons.kill()
        # An older installation has a derived key, which stays when it is booted: it is replaced.
        published.write_bytes(bytes(32))
        daemons.start()
        unlock(device, PASSCODE, 0)


main(
    the_key_is_new_at_each_boot, guesses_are_counted_however_the_enclave_ends, no_clock_shortens_a_delay, an_old_state_is_noticed,
    ten_wrong_ones_erase, the_passcodes_kind_and_lock)
