"""The two daemons of a device without a supervisor, for tests that kill them and let their disk fail; no test itself."""

import base64
import contextlib
import mmap
import os
import pathlib
import socket as sockets
import struct
import subprocess

from device import LONGEST_WAIT, call, check, equal, wait_for

HERE = pathlib.Path(__file__).resolve().parent


def compile_fault(directory):
    """The preloaded library of fault.c."""
    library = pathlib.Path(directory) / "fault.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library, HERE / "fault.c", "-ldl"], check=True)
    return library


class Fault:
    """What the disk of one daemon does: shared with the library that is preloaded into it."""

    def __init__(self, library, directory, name, state):
        path = pathlib.Path(directory) / f"{name}.control"
        path.write_bytes(bytes(12))
        self.file = open(path, "r+b")
        self.memory = mmap.mmap(self.file.fileno(), 12)
        self.environment = {
            "LD_PRELOAD": str(library), "FAULT_CONTROL": str(path), "FAULT_STATE": str(state)}

    def arm(self, after, code):
        """Lets so many changes succeed, and then none."""
        self.memory[:] = struct.pack("iii", after, code, 0)

    def disarm(self):
        """The disk is well again. Returns how many changes failed."""
        failed = struct.unpack("iii", self.memory)[2]
        self.memory[:] = bytes(12)
        return failed


class Daemons:
    """Starts both, without anybody who starts them again."""

    def __init__(self, device, keychain=None, enclave=None):
        self.device, self.faults = device, {"touchstoned": keychain, "touchstone-enclave": enclave}
        self.children = {}
        device.runtime.parent.mkdir(mode=0o700, exist_ok=True)
        device.runtime.mkdir(mode=0o700, exist_ok=True)
        self.log = open(device.work / "daemons.log", "ab")
        self.start()

    def start(self):
        for path in (self.device.socket,):
            with contextlib.suppress(FileNotFoundError):
                path.unlink()
        calls, events = sockets.socketpair(), sockets.socketpair()
        state = self.device.state
        programs = {
            "touchstone-enclave": (
                ["run", "--state", state / "enclave", "--runtime", self.device.runtime], calls[1], events[1]),
            "touchstoned": (
                ["--device", self.device.name, "--state", state, "--socket", self.device.socket,
                 "--enclave-calls-fd", "3", "--enclave-events-fd", "4"], calls[0], events[0]),
        }
        for name, (arguments, three, four) in programs.items():
            def place(three=three.fileno(), four=four.fileno()):
                a, b = os.dup(three), os.dup(four)
                high = [os.dup2(a, 100), os.dup2(b, 101)]
                os.dup2(high[0], 3)
                os.dup2(high[1], 4)
                os.closerange(5, 200)

            fault = self.faults[name]
            self.children[name] = subprocess.Popen(
                [self.device.programs / name, *arguments], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                env=self.device.environment | (fault.environment if fault else {}), preexec_fn=place, close_fds=False)
        for end in (*calls, *events):
            end.close()
        wait_for(self.answers, "the daemons to answer")

    def answers(self):
        try:
            with self.device.connect() as connection:
                return call(connection, "Device.GetStatus")[0] is None
        except OSError:
            for name, child in self.children.items():
                check(child.poll() is None, f"{name} ended: {(self.device.work / 'daemons.log').read_text()[-500:]}")
            return False

    def kill(self, name=None):
        """Kills one, which takes the other with it, or both."""
        for program, child in self.children.items():
            if name in (None, program):
                child.kill()
        for child in self.children.values():
            child.wait(LONGEST_WAIT)

    def restart(self, name=None):
        self.kill(name)
        self.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        self.log.close()


def dictionary(account, **values):
    """A generic password's dictionary: text as it is, bytes as data."""
    entries = {"class": {"string": "genp"}, "acct": {"string": account}}
    for key, value in values.items():
        if isinstance(value, bool):
            entries[key] = {"boolean": value}
        elif isinstance(value, bytes):
            entries[key] = {"data": base64.b64encode(value).decode()}
        else:
            entries[key] = {"string": value}
    return entries


def status(answer):
    """The OSStatus of an answer of the keychain."""
    error, parameters = answer
    if error is None:
        return 0
    equal(error, "io.touchstone.Keychain.Failed", "the error")
    return parameters["status"]


def add(connection, account, value, **attributes):
    return status(call(
        connection, "Keychain.Add", attributes=dictionary(account, v_Data=value, **attributes), context=None))


def update(connection, account, **changes):
    attributes = dictionary("", **changes)
    del attributes["class"], attributes["acct"]
    return status(call(
        connection, "Keychain.Update", query=dictionary(account), attributes=attributes, context=None))


def delete(connection, account):
    return status(call(connection, "Keychain.Delete", query=dictionary(account), context=None))


def item(connection, account):
    """(data, attributes); None where there is none."""
    error, reply = call(
        connection, "Keychain.CopyMatching", query=dictionary(account, r_Data=True, r_Attributes=True), context=None)
    if error:
        equal((error, reply["status"]), ("io.touchstone.Keychain.Failed", -25300), "the read")
        return None
    found = reply["items"][0]
    return base64.b64decode(found["data"]), {k: next(iter(v.values())) for k, v in found["attributes"].items()}


def guarded(name, **values):
    """An item that wants its owner: of a class of its own, that is open at once after a boot."""
    return {"class": {"string": "inet"}, "acct": {"string": name}} | values


def add_guarded(connection, name):
    # userPresence
    control = {"accessControl": {"protection": "dk", "flags": 1}}
    attributes = guarded(name, accc=control, v_Data={"data": base64.b64encode(name.encode()).decode()})
    return status(call(connection, "Keychain.Add", attributes=attributes, context=None))


def delete_guarded(connection, name):
    return status(call(connection, "Keychain.Delete", query=guarded(name), context=None))


def has_guarded(connection, name):
    """Whether it is there, and would open for its owner: nobody is asked."""
    query = guarded(name, r_Data={"boolean": True}, u_AuthUI={"string": "u_AuthUIF"})
    found = status(call(connection, "Keychain.CopyMatching", query=query, context=None))
    check(found in (-25308, -25300), f"{name}: the read of an item that wants its owner: {found}")
    return found == -25308


def check_unaltered(connection):
    """Nobody is said to have altered the items that want their owner."""
    error, reply = call(connection, "Backup.Check", after=None, repairs=False)
    check(error is None and "alteredGroups" not in reply, f"the check: {error} {reply}")
