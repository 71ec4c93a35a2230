#!/usr/bin/env python3
"""A device of one's own locks with its owner's session and before the machine sleeps, by logind's word (DEC-225)."""

import contextlib
import os
import subprocess
import time

from device import LONGEST_WAIT, Device, check, equal, main, wait_for
from reader import USER, Reader, with_reader

PASSCODE, INDEX = "271828", "right-index-finger"
LOGIND, MANAGER, MOCK = "org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.DBus.Mock"


class Machine(Reader):
    """A reader on a machine with a logind, on which two people are logged in."""

    def start_fprintd(self):
        self.start_logind()
        super().start_fprintd()

    def start_logind(self):
        self.start("logind", "/usr/bin/python3", "-m", "dbusmock", "--system", "--template", "logind")
        wait_for(lambda: self.gdbus(LOGIND, MANAGER, f"{LOGIND}.Manager.ListInhibitors") is not None, "the logind")
        for name, number, user in (("own", 0, USER), ("other", 4711, "somebody")):
            check(self.gdbus(LOGIND, MANAGER, f"{MOCK}.AddSession", name, "seat0", str(number), user, "true"), f"the session {name}")

    def emit(self, path, interface, signal, signature="", arguments="[]"):
        check(self.gdbus(LOGIND, path, f"{MOCK}.EmitSignal", interface, signal, signature, arguments), f"the signal {signal}")

    def lock(self, session):
        self.emit(f"{MANAGER}/session/{session}", f"{LOGIND}.Session", "Lock")

    def sleep(self, begins):
        self.emit(MANAGER, f"{LOGIND}.Manager", "PrepareForSleep", "b", f"[<{str(begins).lower()}>]")

    @property
    def inhibitors(self):
        return self.gdbus(LOGIND, MANAGER, f"{LOGIND}.Manager.ListInhibitors")


@contextlib.contextmanager
def device_of(machine, device):
    """Booted where that machine's bus is the system's."""
    device.environment["DBUS_SYSTEM_BUS_ADDRESS"] = f"unix:path={machine.bus}"
    with device:
        device.boot()
        device.set_up(PASSCODE)
        yield device


def unlock(device):
    device.run("device", "unlock", input=f"{PASSCODE}\n")
    equal(device.status["isLocked"], False, "the device after its passcode")


def locks(device, what):
    wait_for(lambda: device.status["isLocked"], f"the device to lock with {what}")
    unlock(device)


def it_locks_with_the_session_and_before_sleep():
    with Machine() as machine, device_of(machine, with_reader(machine, boot=False)) as device:
        wait_for(lambda: "Touchstone" in machine.inhibitors, "the device to ask to be told of sleep")
        # Somebody else's session is nobody's business here.
        machine.lock("other")
        machine.lock("own")
        locks(device, "its owner's session")
        machine.lock("other")
        time.sleep(1)
        equal(device.status["isLocked"], False, "the device when another session was locked")
        machine.sleep(True)
        locks(device, "sleep")
        machine.sleep(False)
        # Another program's word is not logind's.
        forged = subprocess.run(
            ["gdbus", "emit", "--system", "--object-path", f"{MANAGER}/session/own", "--signal", f"{LOGIND}.Session.Lock"],
            env=machine.environment, capture_output=True, timeout=LONGEST_WAIT)
        equal(forged.returncode, 0, "the forged signal")
        time.sleep(1)
        equal(device.status["isLocked"], False, "the device after a forged signal")
        # Whoever is heard no longer may have locked the session.
        machine.stop("logind")
        locks(device, "the end of logind")
        machine.start_logind()
        wait_for(lambda: "Touchstone" in machine.inhibitors, "the device to hear the next logind")
        machine.lock("own")
        locks(device, "the session, by the next logind")
        said = device.touchstone("doctor").stdout
        check("only while it hears the login service" in said, said)


# Sends a descriptor to each connection of one program, and prints what the bus or that program says to it.
SEND_DESCRIPTOR = """
import os, sys, dbus
bus = dbus.SystemBus()
driver = bus.get_object("org.freedesktop.DBus", "/org/freedesktop/DBus", introspect=False)
for name in driver.ListNames(dbus_interface="org.freedesktop.DBus"):
    if name.startswith(":") and driver.GetConnectionUnixProcessID(name, dbus_interface="org.freedesktop.DBus") == int(sys.argv[1]):
        try:
            bus.call_blocking(name, "/", "a.b", "C", "h", [dbus.types.UnixFd(0)], timeout=5)
            print("taken")
        except dbus.DBusException as error:
            print(error.get_dbus_name())
"""


def nobody_hands_the_enclave_a_descriptor():
    # One that takes for ever to close would keep the thread that hears the login service.
    with Machine() as machine, device_of(machine, with_reader(machine, boot=False)) as device:
        wait_for(lambda: "Touchstone" in machine.inhibitors, "the device to ask to be told of sleep")
        enclave = next(pid for pid in device.processes if os.readlink(f"/proc/{pid}/exe").endswith("/touchstone-enclave"))
        said = subprocess.run(
            ["/usr/bin/python3", "-c", SEND_DESCRIPTOR, str(enclave)], env=machine.environment, capture_output=True, text=True,
            timeout=LONGEST_WAIT)
        answers = said.stdout.split()
        check(answers and set(answers) == {"org.freedesktop.DBus.Error.NotSupported"}, f"{answers}\n{said.stderr}")
        machine.lock("own")
        locks(device, "its owner's session")


def it_asks_again_to_delay_the_sleep_if_nobody_answers():
    with Machine() as machine:
        first, second = machine.work / "first", machine.work / "second"
        # Later than anybody waits for it, once.
        code = f"""
import os, time
if os.path.exists({str(first)!r}):
    open({str(second)!r}, "w").close()
else:
    open({str(first)!r}, "w").close()
    time.sleep(3)
ret = dbus.types.UnixFd(os.pipe()[0])
"""
        check(machine.gdbus(LOGIND, MANAGER, f"{MOCK}.AddMethod", f"{LOGIND}.Manager", "Inhibit", "ssss", "h", code), "the slow method")
        with device_of(machine, with_reader(machine, boot=False)) as device:
            wait_for(second.exists, "the device to ask again")
            equal(device.log.count("does not let this program delay a sleep"), 1, "reports")
            machine.lock("own")
            locks(device, "its owner's session")


def without_a_login_service_it_stays_open():
    with Reader() as reader, device_of(reader, with_reader(reader, boot=False)) as device:
        wait_for(lambda: "the login service cannot be reached" in device.log, "the device to say so")
        equal(device.status["isLocked"], False, "the device")


def it_locks_with_the_session_without_a_reader():
    with Machine() as machine, device_of(machine, Device(boot=False, biometry="none")) as device:
        wait_for(lambda: "Touchstone" in machine.inhibitors, "the device to ask to be told of sleep")
        machine.lock("own")
        locks(device, "its owner's session")
        machine.sleep(True)
        locks(device, "sleep")
        check("only while it hears the login service" in device.touchstone("doctor").stdout, "the doctor's report")


def simulated_fingers_go_on_behind_the_lock_screen():
    with Machine() as machine, device_of(machine, Device(boot=False)) as device:
        machine.lock("own")
        machine.sleep(True)
        time.sleep(1)
        equal(device.status["isLocked"], False, "the device for tests")
        check("Touchstone" not in machine.inhibitors, "it delays nobody's sleep")
        check("it does not lock with your login session" in device.touchstone("doctor").stdout, "the doctor's report")


def it_locks_with_the_session_from_when_it_has_a_reader():
    with Machine() as machine, device_of(machine, Device(boot=False)) as device:
        check("Touchstone" not in machine.inhibitors, "it delays a sleep without a reader")
        device.run(
            "device", "sensor", "add", "fprintd", "--bus", str(machine.bus), "--templates", str(machine.templates), input=f"{PASSCODE}\n")
        wait_for(lambda: "Touchstone" in machine.inhibitors, "the device to ask to be told of sleep")
        check("only while it hears the login service" in device.touchstone("doctor").stdout, "the doctor's report")
        if device.status["isLocked"]:
            unlock(device)
        machine.lock("own")
        locks(device, "its owner's session")


main(
    it_locks_with_the_session_and_before_sleep, nobody_hands_the_enclave_a_descriptor,
    it_asks_again_to_delay_the_sleep_if_nobody_answers, without_a_login_service_it_stays_open, simulated_fingers_go_on_behind_the_lock_screen,
    it_locks_with_the_session_from_when_it_has_a_reader, it_locks_with_the_session_without_a_reader)
