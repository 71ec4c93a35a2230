#!/usr/bin/env python3
"""Attacks by another user, and by other programs of the same one. Runs as root, so that it can be anybody."""

import base64
import contextlib
import ctypes
import errno
import functools
import json
import multiprocessing
import os
import pathlib
import struct
import subprocess
import sys

from device import LONGEST_WAIT, Device, call, check, equal, main

OWNER, STRANGER = 65533, 65534
CANARY = b"canary-7f3d9c1e-of-the-hardening-test"

if os.geteuid() != 0:
    sys.exit("hardening: run it as root: it acts as other users")


def as_user(user, body):
    """Runs `body` in a process of that user; returns what it returned, or re-raises."""
    receiver, sender = multiprocessing.Pipe(False)
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
            # Who changes users becomes undumpable, and then no daemon of the same user can see what it executes.
            ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)
            sender.send((True, body()))
        except BaseException as error:
            sender.send((False, f"{type(error).__name__}: {error}"))
        os._exit(0)
    check(receiver.poll(LONGEST_WAIT), "the other user's process does not answer")
    is_done, result = receiver.recv()
    os.waitpid(pid, 0)
    check(is_done, result)
    return result


def error_number(body):
    """The errno that `body` ends with; None where it succeeds."""
    try:
        body()
    except OSError as error:
        return error.errno
    return None


def read(path):
    with open(path, "rb") as file:
        return file.read(1)


REFUSED = (errno.EACCES, errno.EPERM)


def another_user_cannot_connect(device):
    check(as_user(STRANGER, lambda: error_number(device.connect)) in REFUSED, "connecting as another user")
    for path in (device.runtime, device.runtime.parent):
        equal(path.stat().st_mode & 0o7777, 0o700, f"the mode of {path}")
    equal(device.socket.stat().st_mode & 0o7777, 0o600, "the mode of the socket")


def files_are_unreadable_for_another_user(device):
    for path in [device.state, *device.state.rglob("*"), *device.runtime.rglob("*")]:
        mode = path.lstat().st_mode & 0o7777
        equal(mode & 0o077, 0, f"what others may do with {path}")
        if path.is_file():
            check(as_user(STRANGER, lambda: error_number(lambda: read(path))) in REFUSED, f"{path} is read")


def a_stranger_who_reaches_the_socket_is_not_the_owner(device):
    """Somebody opened the way: the daemon still asks the kernel who it is."""
    named = {"class": {"string": "genp"}, "acct": {"string": "of the owner"}}
    owner = as_user(OWNER, lambda: call(
        device.connect(), "Keychain.Add",
        attributes=named | {"v_Data": {"data": base64.b64encode(CANARY).decode()}}))
    equal(owner[0], None, "the owner's item")
    opened = [device.work, device.work / "run", device.runtime.parent, device.runtime]
    for path in opened:
        path.chmod(0o711)
    device.socket.chmod(0o666)

    def ask(method, more=False, **parameters):
        def body():
            connection = device.connect()
            connection.sendall(json.dumps(
                {"method": f"io.touchstone.{method}", "parameters": parameters, "more": more}).encode() + b"\0")
            reply = connection.recv(65536)
            return json.loads(reply[:-1]) if reply else "closed"
        return as_user(STRANGER, body)

    refused = {"error": "io.touchstone.Device.Refused", "parameters": {"reason": "notOwner"}}
    sealed = {"encapsulatedKey": base64.b64encode(bytes(32)).decode(), "ciphertext": base64.b64encode(bytes(32)).decode()}
    found = {
        name: ask(name, **parameters)
        for name, parameters in {
            "Device.GetNonce": {}, "Device.Lock": {}, "Device.Reboot": {}, "Device.Enroll": {"finger": "x"},
            "Device.RemoveFinger": {"finger": "thumb"}, "Device.ListFingers": {}, "Device.PresentFinger": {"finger": "thumb"},
            "Device.SetApplicationState": {"app": "x", "state": "background"}, "Device.Unlock": {"passcode": sealed},
            "Device.ChangePasscode": {"passcodes": sealed}, "Device.GetStatus": {},
        }.items()
    }
    found["Agent.Subscribe"] = ask("Agent.Subscribe", more=True)
    found["Agent.Cancel"] = ask("Agent.Cancel", prompt="x")
    found["Agent.ChooseFallback"] = ask("Agent.ChooseFallback", prompt="x")
    found["Agent.EnterPasscode"] = ask("Agent.EnterPasscode", prompt="x", passcode=sealed)
    query = named | {"r_Data": {"boolean": True}}
    item = ask("Keychain.CopyMatching", query=query)
    deletion = ask("Keychain.Delete", query=named)

    device.socket.chmod(0o600)
    for path in reversed(opened):
        path.chmod(0o700)
    answered = {name: reply for name, reply in found.items() if reply not in (refused, "closed")}
    check(base64.b64encode(CANARY).decode() not in json.dumps(item), "the stranger reads the owner's item")
    check(as_user(OWNER, lambda: call(device.connect(), "Keychain.CopyMatching", query=query))[0] is None,
          f"the stranger deletes the owner's item: {deletion}")
    equal(answered, {}, "what the stranger is answered other than notOwner")


def a_stranger_with_the_same_program_is_not_the_owners_app():
    """A daemon that may look at everybody's processes, as a system service may, and a stranger who runs the owner's program."""
    with Device() as device:
        named = {"class": {"string": "genp"}, "acct": {"string": "of the owner"}}
        added = named | {"v_Data": {"data": base64.b64encode(CANARY).decode()}}
        query = named | {"r_Data": {"boolean": True}}
        equal(call(device.connect(), "Keychain.Add", attributes=added)[0], None, "the owner's item")
        for path in (device.work, device.work / "run", device.runtime.parent, device.runtime):
            path.chmod(0o711)
        device.socket.chmod(0o666)
        for method, parameters in (
            ("Keychain.CopyMatching", {"query": query}), ("Keychain.Delete", {"query": named}),
            ("Keychain.Update", {"query": named, "attributes": {"labl": {"string": "mine"}}}),
            ("Keychain.Add", {"attributes": named | {"svce": {"string": "a stranger's"}}}),
            ("Authentication.CreateContext", {}),
        ):
            def ask():
                try:
                    return call(device.connect(), method, **parameters)[0]
                except ConnectionError:
                    return "closed"
            check(as_user(STRANGER, ask) is not None, f"{method} is answered to a stranger")
        (item,) = call(device.connect(), "Keychain.CopyMatching", query=query)[1]["items"]
        equal(base64.b64decode(item["data"]), CANARY, "the owner's item")


def the_daemons_are_closed_to_their_own_user(device):
    libc = ctypes.CDLL(None, use_errno=True)

    class Vector(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]

    def trace(pid):
        # PTRACE_ATTACH
        if libc.ptrace(16, pid, None, None) != 0:
            raise OSError(ctypes.get_errno(), "ptrace")

    def read_memory(pid, address):
        target = ctypes.create_string_buffer(8)
        here = Vector(ctypes.cast(target, ctypes.c_void_p), 8)
        there = Vector(address, 8)
        if libc.process_vm_readv(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0) < 0:
            raise OSError(ctypes.get_errno(), "process_vm_readv")

    for program, pid in device.daemons.items():
        with open(f"/proc/{pid}/maps") as file:
            address = int(file.readline().split("-")[0], 16)
        for what, attack in {
            "mem": lambda: read(f"/proc/{pid}/mem"), "environ": lambda: read(f"/proc/{pid}/environ"),
            "maps": lambda: read(f"/proc/{pid}/maps"), "fd": lambda: os.listdir(f"/proc/{pid}/fd"),
            "root": lambda: os.listdir(f"/proc/{pid}/root"), "exe": lambda: os.readlink(f"/proc/{pid}/exe"),
            "ptrace": lambda: trace(pid), "process_vm_readv": lambda: read_memory(pid, address),
        }.items():
            found = as_user(OWNER, lambda: error_number(attack))
            check(found in REFUSED, f"{program}: {what} by its own user: errno {found}")
        equal(os.stat(f"/proc/{pid}/mem").st_uid, 0, f"{program}: the owner of mem, as of an undumpable process")
        # The control: the same attacks succeed on a program that is not hardened.
    ordinary = as_user_process(OWNER)
    try:
        equal(as_user(OWNER, lambda: error_number(lambda: read(f"/proc/{ordinary.pid}/environ"))), None, "the control")
    finally:
        ordinary.kill()
        ordinary.wait()


def as_user_process(user):
    return subprocess.Popen(["sleep", "60"], user=user, group=user, extra_groups=[])


def the_daemons_dump_no_core_and_gain_nothing(device):
    for program, pid in device.daemons.items():
        status = dict(
            line.split(":", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line)
        equal(status["NoNewPrivs"].strip(), "1", f"{program}: NoNewPrivs")
        equal(status["CapEff"].strip().lstrip("0"), "", f"{program}: capabilities")
        limits = pathlib.Path(f"/proc/{pid}/limits").read_text()
        core = next(line for line in limits.splitlines() if line.startswith("Max core file size"))
        equal(core.split()[4:6], ["0", "0"], f"{program}: core limits")
    # Nothing of the private socket pairs, or of anything else, is left open in the supervisor's other child.
    for program, pid in device.daemons.items():
        targets = {}
        for entry in os.listdir(f"/proc/{pid}/fd"):
            # It may be closed since.
            with contextlib.suppress(FileNotFoundError):
                targets[entry] = os.readlink(f"/proc/{pid}/fd/{entry}")
        if program == "touchstone-enclave":
            files = [target for target in targets.values() if target.endswith((".db", ".db-wal", ".sock"))]
            equal(files, [], "the enclave's open files of the keychain")
            sockets = [entry for entry, target in targets.items() if target.startswith("socket:")]
            equal(sorted(sockets), ["3", "4"], "the enclave's sockets")


def section(path, name):
    """Where a section of a program begins, and where it ends."""
    content = pathlib.Path(path).read_bytes()
    table, = struct.unpack_from("<Q", content, 0x28)
    size, count, names = struct.unpack_from("<HHH", content, 0x3A)
    sections = [struct.unpack_from("<IIQQQQ", content, table + index * size) for index in range(count)]
    text = sections[names][4]
    for word, _, _, address, _, length in sections:
        if content[text + word:].split(b"\0", 1)[0] == name:
            return address, address + length
    raise AssertionError(f"{path} has no {name.decode()}")


def constants_cannot_be_written_to(device):
    """The linker puts Swift's among what can be written to, so that the programs see to it (DEC-362)."""
    page = os.sysconf("SC_PAGESIZE")
    for program, pid in device.daemons.items():
        path = os.readlink(f"/proc/{pid}/exe")
        maps = [line.split() for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()]
        base = min(int(fields[0].split("-")[0], 16) for fields in maps if fields[-1] == path)
        start, end = section(path, b".rodata")
        start, end = (base + start + page - 1) // page * page, (base + end) // page * page
        check(start < end, f"{program}: no constants")
        found = []
        for fields in maps:
            first, last = (int(number, 16) for number in fields[0].split("-"))
            if max(first, start) < min(last, end):
                found.append(fields[1])
        check(found and not any("w" in rights for rights in found), f"{program}: rights at its constants: {found}")


def a_secret_is_nowhere_in_the_clear(device):
    passcode = "canary-passcode-31415926"
    device.run("device", "passcode", "set", input=f"{passcode}\n")
    named = {"class": {"string": "genp"}, "acct": {"string": "canary-account-b41f"}, "svce": {"string": "canary-service-b41f"}}
    added = named | {"v_Data": {"data": base64.b64encode(CANARY).decode()}, "labl": {"string": "canary-label-b41f"}}
    equal(as_user(OWNER, lambda: call(device.connect(), "Keychain.Add", attributes=added))[0], None, "the addition")
    # What goes wrong is logged; the values in it are not.
    as_user(OWNER, lambda: call(device.connect(), "Keychain.Add", attributes=added))
    as_user(OWNER, lambda: call(device.connect(), "Keychain.Add", attributes=added | {"nonsense-canary-b41f": {"data": "?"}}))
    words = [CANARY, passcode.encode(), b"canary-account", b"canary-service", b"canary-label", b"nonsense-canary"]
    words += [base64.b64encode(CANARY)[:-4], CANARY.hex().encode()]

    def scan(when):
        seen = 0
        for path in device.work.rglob("*"):
            if path.is_file() and not path.is_relative_to(device.work / "bin"):
                seen += 1
                content = path.read_bytes()
                for word in words:
                    check(word not in content, f"{word} in {path} {when}")
        check(seen >= 5, f"{seen} files were looked at: too few to be the device's")

    scan("while it runs")
    for program, pid in device.daemons.items():
        for part in ("environ", "cmdline"):
            content = pathlib.Path(f"/proc/{pid}/{part}").read_bytes()
            check(not any(word in content for word in words), f"a secret in {program}'s {part}")
    device.shutdown()
    scan("after the shutdown")


main(a_stranger_with_the_same_program_is_not_the_owners_app)
with Device(user=OWNER) as device:
    main(*(
        functools.partial(test, device)
        for test in (
            another_user_cannot_connect, files_are_unreadable_for_another_user, the_daemons_are_closed_to_their_own_user,
            the_daemons_dump_no_core_and_gain_nothing, constants_cannot_be_written_to,
            a_stranger_who_reaches_the_socket_is_not_the_owner, a_secret_is_nowhere_in_the_clear)))
