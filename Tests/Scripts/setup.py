#!/usr/bin/env python3
"""Setting a device up, at a real terminal and through a pipe, with a real fprintd: every step, stopping and going on."""

import contextlib
import errno
import os
import pathlib
import queue
import signal
import socket
import struct
import threading
import time

from daemons import Fault, compile_fault
from device import Device, call, check, equal, main, wait_for
from reader import Reader
from terminal import Person, touches

PASSCODE = "correct horse 271828"
INDEX, THUMB = "right-index-finger", "left-thumb"
READER = "Virtual device for debugging"


@contextlib.contextmanager
def nothing():
    """Where no device is yet; whatever comes to be is gone at the end."""
    device = Device(boot=False)
    try:
        yield device
    finally:
        if (device.runtime / "supervisor.pid").exists():
            with contextlib.suppress(Exception):
                device.processes += [device.supervisor, *device.daemons.values()]
        device.clean_up()


def options(reader):
    return "--bus", str(reader.bus), "--templates", str(reader.templates)


SELF_TEST = (
    "[ok] stores an item that opens only while the device is unlocked", "[ok] locks, and the item does not open",
    "[ok] unlocks with the passcode", "[ok] reads the item, and it is what was stored",
    "[ok] makes a key in the enclave, and signs with it", "[ok] removes the item again")


def a_person_sets_up_a_device_with_a_finger():
    with Reader() as reader, nothing() as device, Person(device, *options(reader)) as person:
        person.reads("Ctrl-C stops at any time")
        person.reads("1. Sensor and root of trust")
        person.reads("a key file")
        person.answers(f"A reader was found: {READER}. Use it? [Y/n]", "perhaps")
        person.reads("Answer y or n.")
        person.answers(f"A reader was found: {READER}. Use it? [Y/n]")
        person.reads("Sensor: fprintd")
        person.reads("2. Passcode")
        person.answers("New passcode:", PASSCODE)
        person.answers("Repeat the new passcode:", "another")
        person.reads("two entries differ")
        person.answers("New passcode:", "abc")
        person.answers("Repeat the new passcode:", "abc")
        person.reads("too short")
        person.answers("New passcode:", PASSCODE)
        person.answers("Repeat the new passcode:", PASSCODE)
        person.reads("3. Fingers")
        person.answers("Enrol a finger? [Y/n]")
        person.answers("Which one? [right-index-finger]", "third-hand")
        person.reads("One of: right-index-finger, left-index-finger,")
        person.answers("Which one? [right-index-finger]")
        person.reads("Touch the reader")
        touches(reader, person, "A")
        person.reads("Good. Lift it and touch again.")
        person.answers("Enrol another? [y/N]", "y")
        person.answers("Which one? [left-index-finger]", THUMB)
        touches(reader, person, "B")
        person.answers("Enrol another? [y/N]")
        person.reads("4. Window")
        person.reads("5. Recovery")
        for line in SELF_TEST:
            person.reads(line)
        person.reads("Now touch the reader")
        touches(reader, person, "B", until="[ok] unlocks with the finger")
        person.reads("test is set up")
        person.ends()
        check(PASSCODE not in person.all, "the passcode is not shown")
        status = device.status
        equal((status["isPasscodeSet"], status["isEnrolled"], status["isLocked"]), (True, True, False), "the device")
        equal(sorted(device.client("Device").ListFingers()["fingers"]), sorted([INDEX, THUMB]), "the fingers")
        # Nothing of the test is left.
        error, reply = call(
            device.connect(), "Keychain.CopyMatching",
            query={"class": {"string": "genp"}, "svce": {"string": "io.touchstone.setup"}, "r_Attributes": {"boolean": True}})
        equal((error, reply["status"]), ("io.touchstone.Keychain.Failed", -25300), "the item of the test")
        device.run("doctor")


class LateBus:
    """A bus in the bus's place that brings the enclave everything late while `is_late`, as a busy machine does."""

    # A look is waited for half a second.
    SECONDS = 0.55

    def __init__(self, reader):
        self.bus, self.reader, self.is_late = reader.work / "late-bus", reader.bus, False
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(str(self.bus))
        self.server.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client = self.server.accept()[0]
                pid = struct.unpack("3i", client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
                is_enclave = b"touchstone-enclave" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]
                bus = socket.socket(socket.AF_UNIX)
                bus.connect(str(self.reader))
                chunks = queue.Queue()
                for body in ((self.carry, client, bus), (self.read, bus, chunks, is_enclave), (self.deliver, chunks, client)):
                    threading.Thread(target=body[0], args=body[1:], daemon=True).start()

    def carry(self, source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def read(self, bus, chunks, is_enclave):
        with contextlib.suppress(OSError):
            while data := bus.recv(65536):
                chunks.put((time.monotonic() + (self.SECONDS if is_enclave and self.is_late else 0), data))
        chunks.put((0, b""))

    def deliver(self, chunks, client):
        with contextlib.suppress(OSError):
            while True:
                due, data = chunks.get()
                time.sleep(max(0, due - time.monotonic()))
                if not data:
                    return client.shutdown(socket.SHUT_WR)
                client.sendall(data)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.close()


def an_enclave_that_hears_late_of_a_finger_is_asked_until_it_has():
    with Reader() as reader, LateBus(reader) as late, nothing() as device:
        with Person(device, "--bus", str(late.bus), "--templates", str(reader.templates)) as person:
            person.answers("Use it? [Y/n]")
            person.answers("New passcode:", PASSCODE)
            person.answers("Repeat the new passcode:", PASSCODE)
            person.answers("Enrol a finger? [Y/n]")
            person.answers("Which one?")
            person.reads("Touch the reader")
            late.is_late = True
            touches(reader, person, "A", until="Enrolled.")
            person.reads("[")
            check("Enrol another? " in person.all and person.all.count("Enrol a finger?") == 1, person.all)
            late.is_late = False
            person.types("n")
            person.answers("Now touch the reader")
            person.ends()


def who_stops_goes_on_later():
    with Reader() as reader, nothing() as device:
        goes_on = "'touchstone setup' continues from there"
        # Before anything is made.
        with Person(device, *options(reader)) as person:
            person.reads("Use it? [Y/n]")
            person.types("\x03", end="")
            person.reads("stopped")
            person.reads(goes_on)
            person.ends(-signal.SIGINT)
            check(not device.state.exists() and not list(device.state.parent.glob(".create*")), "nothing is made")
        # In the passcode.
        with Person(device, *options(reader)) as person:
            person.answers("Use it? [Y/n]")
            person.reads("New passcode:")
            person.types(PASSCODE, end="\x03")
            person.reads(goes_on)
            person.ends(-signal.SIGINT)
        check(not device.status["isPasscodeSet"], "no passcode is set")
        created = (device.state / "enclave/root.key").read_bytes()
        # While the finger is enrolled.
        with Person(device, *options(reader)) as person:
            person.reads("already exists, and stays as it was created")
            person.answers("New passcode:", PASSCODE)
            person.answers("Repeat the new passcode:", PASSCODE)
            person.answers("Enrol a finger? [Y/n]")
            person.answers("Which one?")
            wait_for(lambda: reader.is_open, "the reader to be claimed")
            person.types("\x03", end="")
            person.reads(goes_on)
            person.ends(-signal.SIGINT)
        wait_for(lambda: not reader.is_open, "the reader to be left alone")
        equal(device.client("Device").ListFingers()["fingers"], [], "the fingers")
        # The rest, with another passcode first.
        with Person(device, *options(reader)) as person:
            person.answers("Passcode:", "another one")
            person.reads("was not accepted")
            person.answers("Passcode:", PASSCODE)
            person.answers("Enrol a finger? [Y/n]")
            person.answers("Which one?")
            touches(reader, person, "A")
            person.answers("Enrol another? [y/N]")
            person.answers("Now touch the reader")
            person.reads("[--] unlocks with the finger: skipped")
            person.ends()
        check(not device.status["isLocked"], "the device is unlocked")
        equal((device.state / "enclave/root.key").read_bytes(), created, "the device is the one it was")


def a_pipe_does_as_well():
    with nothing() as device:
        nowhere = device.work / "no-bus"
        script = ["setup", "--bus", str(nowhere)]
        result = device.touchstone(*script, input="n\n")
        equal(result.returncode, 8, f"the status\n{result.stdout}{result.stderr}")
        check("No reader was found: fprintd" in result.stdout and not device.state.exists(), result.stdout)
        result = device.touchstone(*script, input="")
        check(result.returncode == 8 and "there was no answer" in result.stderr and not device.state.exists(), result.stderr)
        result = device.touchstone(*script, input=f"y\n{PASSCODE}\n")
        equal(result.returncode, 0, f"the status\n{result.stdout}{result.stderr}")
        for line in SELF_TEST:
            check(line in result.stdout, f"{line} in\n{result.stdout}")
        check("There is no sensor." in result.stdout and PASSCODE not in result.stdout + result.stderr, result.stdout)
        device.processes += [device.supervisor, *device.daemons.values()]
        # Locked, and with all done: it is tested again, and stays as it is.
        device.run("device", "lock")
        key = (device.state / "enclave/root.key").read_bytes()
        result = device.touchstone(*script, input=f"{PASSCODE}\n")
        equal((result.returncode, result.stdout.count("[ok]")), (0, 6), f"the status\n{result.stdout}{result.stderr}")
        result = device.touchstone(*script, input="wrong\nwrong too\nstill wrong\n")
        equal(result.returncode, 6, f"the status\n{result.stdout}{result.stderr}")
        equal((device.state / "enclave/root.key").read_bytes(), key, "the device is the one it was")


def a_test_that_fails_says_which_step():
    with Reader() as reader, nothing() as device:
        fault = Fault(compile_fault(device.work), device.work, "keychain", device.work / "state")
        with Person(device, *options(reader), environment=fault.environment) as person:
            person.answers("Use it? [Y/n]")
            person.answers("New passcode:", PASSCODE)
            person.answers("Repeat the new passcode:", PASSCODE)
            person.reads("Enrol a finger? [Y/n]")
            fault.arm(0, errno.ENOSPC)
            person.types("n")
            person.reads("No finger is enrolled. To enrol one later, use 'fprintd-enroll'.")
            person.reads("[no] stores an item")
            person.reads("the disk of test is full")
            person.ends(70)
        fault.disarm()
        with Person(device, *options(reader)) as person:
            person.answers("Passcode:", PASSCODE)
            person.answers("Enrol a finger? [Y/n]", "n")
            person.reads(SELF_TEST[-1])
            person.reads("test is set up")
            person.ends()


def root_by_sudo_sets_up_no_device_of_roots():
    """Tests/System has what it does set up."""
    check(os.geteuid() == 0, "this test is about sudo: run it as root")
    with nothing() as device:
        device.environment["SUDO_UID"] = "1"
        result = device.touchstone("setup", "--device", "another", input="y\n")
        check(result.returncode == 64 and "without sudo" in result.stderr and not device.state.exists(), result.stderr)


main(a_person_sets_up_a_device_with_a_finger, an_enclave_that_hears_late_of_a_finger_is_asked_until_it_has, who_stops_goes_on_later, a_pipe_does_as_well, a_test_that_fails_says_which_step,
    root_by_sudo_sets_up_no_device_of_roots)
