#!/usr/bin/env python3
"""Values of up to 16 MiB: they are kept whole, and touchstoned stays small however many come at once."""

import base64
import contextlib
import hashlib
import json
import multiprocessing
import os
import pathlib
import random
import re
import time
import traceback

from daemons import add, delete, dictionary, item, update
from device import LONGEST_WAIT, Device, check, equal, main

LARGEST = 16 << 20
CALLS = 32
# What touchstoned may take at most, in bytes, while so many calls with the largest value are under way.
BOUND = 384 << 20
SECONDS = 900


def value(number):
    """As long as it may be, and another one for each number."""
    return random.Random(number).randbytes(LARGEST)


def connect(device):
    connection = device.connect()
    connection.settimeout(SECONDS)
    return connection


def insist(device, change):
    """Makes a change; again if the device ends the connection, as it does after ten seconds without the whole message."""
    for number in range(5):
        with connect(device) as connection, contextlib.suppress(ConnectionError):
            status = change(connection)
            # What was cut may have been added.
            return check(status == 0 or (number > 0 and status == -25299), f"status {status}")
    raise AssertionError("the connection was closed each time")


def at_once(body):
    """Runs 32 calls at once, each in a process of its own; each has to end well."""
    results = multiprocessing.Queue()

    def run(number):
        try:
            body(number)
            results.put(None)
        except BaseException:
            results.put(f"{number}: {traceback.format_exc()}")

    processes = [multiprocessing.Process(target=run, args=(number,), daemon=True) for number in range(CALLS)]
    for process in processes:
        process.start()
    failures = [results.get(timeout=SECONDS) for _ in processes]
    for process in processes:
        process.join(LONGEST_WAIT)
    check(not any(failures), "\n".join(filter(None, failures)))


def memory(device):
    """The most that touchstoned had in memory since it was asked to forget, and what it has now, in bytes."""
    status = pathlib.Path(f"/proc/{device.daemons['touchstoned']}/status").read_text()
    return [int(re.search(rf"^{name}:\s+(\d+) kB", status, re.M).group(1)) << 10 for name in ("VmHWM", "VmRSS")]


def held_small(device, what, body):
    started = time.monotonic()
    at_once(body)
    most, now = memory(device)
    print(f"  {what}: {time.monotonic() - started:.0f} s, at most {most >> 20} MiB, then {now >> 20} MiB")
    check(most <= BOUND, f"{what}: touchstoned took {most >> 20} MiB, more than {BOUND >> 20} MiB")


def values_are_kept_whole_and_memory_is_bounded():
    with Device() as device:
        # Beyond what an app may keep if its owner says nothing.
        with connect(device) as connection:
            equal(add(connection, "small", b"value"), 0, "add")
        device.run("keychain", "quota", os.path.realpath("/proc/self/exe"), "--size", "2GiB")
        with connect(device) as connection:
            equal(delete(connection, "small"), 0, "delete")
        digests = [hashlib.sha256(value(number)).hexdigest() for number in range(CALLS)]

        def add_one(number):
            data = value(number)
            insist(device, lambda connection: add(connection, f"large {number}", data))

        def read_one(number):
            with connect(device) as connection:
                equal(hashlib.sha256(item(connection, f"large {number}")[0]).hexdigest(), digests[number], "the value")

        def change_one(number):
            data = value(number + CALLS)
            insist(device, lambda connection: update(connection, f"large {number}", v_Data=data))

        def read_all(number):
            """As a stream, the way the library does: two of the items, of all of which one call finds."""
            query = dictionary("", r_Data=True, m_Limit="m_LimitAll")
            del query["acct"]
            with connect(device) as connection:
                connection.sendall(json.dumps({
                    "method": "io.touchstone.Keychain.CopyMatching", "more": True, "parameters": {"query": query},
                }).encode() + b"\0")
                found, rest = 0, bytearray()
                while found < 2:
                    chunk = connection.recv(1 << 20)
                    check(chunk, "closed")
                    *ends, beginning = chunk.split(b"\0")
                    for end in ends:
                        reply, rest = json.loads(rest + end), bytearray()
                        check("error" not in reply, "the stream")
                        for found_item in reply["parameters"]["items"]:
                            equal(len(base64.b64decode(found_item["data"])), LARGEST, "the length")
                            found += 1
                    rest += beginning

        held_small(device, "32 additions", add_one)
        held_small(device, "32 reads", read_one)
        held_small(device, "32 changes", change_one)
        held_small(device, "32 streams", read_all)
        with connect(device) as connection:
            equal(hashlib.sha256(item(connection, "large 0")[0]).digest(),
                  hashlib.sha256(value(CALLS)).digest(), "the changed value")


def what_is_larger_is_refused():
    with Device() as device:
        with connect(device) as connection:
            equal(add(connection, "a", bytes(LARGEST + 1)), -25302, "one byte more")
            equal(add(connection, "a", bytes(LARGEST)), 0, "the largest")
            equal(update(connection, "a", v_Data=bytes(LARGEST + 1)), -25302, "an update")
            equal(len(item(connection, "a")[0]), LARGEST, "the item is as it was")
        # Nothing else may be large: neither another method, nor one that says its name behind the value.
        for frame in (
                json.dumps({"method": "io.touchstone.Keychain.Delete", "parameters": {
                    "query": dictionary("a", v_Data=bytes(1 << 20))}}),
                json.dumps({"parameters": {"attributes": dictionary("b", v_Data=bytes(1 << 20))},
                            "method": "io.touchstone.Keychain.Add"}),
                json.dumps({"method": "io.touchstone.Keychain.Add", "parameters": {
                    "attributes": dictionary("b", v_Data=bytes(19 << 20))}})):
            with connect(device) as connection:
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    connection.sendall(frame.encode() + b"\0")
                with contextlib.suppress(ConnectionResetError):
                    equal(connection.recv(1), b"", "the answer")


def who_does_not_go_on_holds_up_only_itself():
    """Two that stop in the middle of a large message end after ten seconds, and small calls do not wait for them."""
    with Device() as device:
        stuck = [connect(device) for _ in range(2)]
        for connection in stuck:
            connection.sendall(b'{"method":"io.touchstone.Keychain.Add","parameters":{"x":"' + b"x" * (2 << 20))
        started = time.monotonic()
        with connect(device) as connection:
            equal(add(connection, "small", b"s"), 0, "a small one")
            check(time.monotonic() - started < 9, "a small call waited")
            equal(add(connection, "large", bytes(LARGEST)), 0, "a large one")
            check(time.monotonic() - started < 60, "a large call waited too long")
        for connection in stuck:
            with contextlib.suppress(ConnectionResetError):
                equal(connection.recv(1), b"", "the one that stopped")
            connection.close()


main(values_are_kept_whole_and_memory_is_bounded, what_is_larger_is_refused, who_does_not_go_on_holds_up_only_itself)
