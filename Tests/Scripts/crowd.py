#!/usr/bin/env python3
"""32 processes at one keychain: no update is lost, nobody waits for ever, no reader starves."""

import hashlib
import multiprocessing
import random
import time
import traceback

from daemons import add, delete, item, update
from device import LONGEST_WAIT, Device, check, equal, main

READERS, WRITERS, OWNERS = 12, 10, 10
SECONDS = 6
# Attributes of the one item that all writers change, each its own.
ATTRIBUTES = ["labl", "icmt", "desc", "gena", "crtr", "type", "scrp", "alis", "prot", "svce"]


def read(device, number, deadline):
    """Reads the item that everybody changes; it is whole each time."""
    count, longest = 0, 0
    with device.connect() as connection:
        while count < 3 or time.monotonic() < deadline:
            started = time.monotonic()
            data, attributes = item(connection, "shared")
            longest = max(longest, time.monotonic() - started)
            count += 1
            equal(attributes["cdat"] <= attributes["mdat"], True, "the dates")
            check(len(data) == 64, "the data")
    return count, longest


def write(device, number, deadline):
    """Counts up one attribute of the shared item; every fifth time its data."""
    key, count, longest = ATTRIBUTES[number], 0, 0
    with device.connect() as connection:
        while count < 3 or time.monotonic() < deadline:
            started = time.monotonic()
            changes = {key: f"{number}-{count + 1}"}
            if count % 5 == 0:
                changes["v_Data"] = hashlib.sha256(f"{number}-{count}".encode()).hexdigest().encode()
            equal(update(connection, "shared", **changes), 0, f"writer {number}, {count}")
            longest = max(longest, time.monotonic() - started)
            count += 1
            _, attributes = item(connection, "shared")
            equal(attributes[key], f"{number}-{count}", f"writer {number} reads its own")
    return count, longest


def own(device, number, deadline):
    """Adds, changes and deletes items that nobody else touches; the odd ones are fought for by all."""
    moments, known, count, longest = random.Random(number), {}, 0, 0
    with device.connect() as connection:
        while count < 3 or time.monotonic() < deadline:
            started, account = time.monotonic(), f"own {number} {moments.randrange(5)}"
            value = moments.randbytes(50)
            if account not in known:
                equal(add(connection, account, value), 0, account)
                known[account] = value
            elif moments.random() < 0.5:
                equal(update(connection, account, v_Data=value), 0, account)
                known[account] = value
            else:
                equal(delete(connection, account), 0, account)
                del known[account]
            found = item(connection, account)
            equal(found and found[0], known.get(account), account)
            # One name for all: whoever is first has it.
            check(add(connection, "contested", b"c") in (0, -25299), "the contested item")
            check(delete(connection, "contested") in (0, -25300), "the contested item")
            longest = max(longest, time.monotonic() - started)
            count += 1
        for account, value in known.items():
            equal(item(connection, account)[0], value, f"{account} at the end")
    return count, longest


def in_a_process(body, device, number, start, results):
    try:
        start.wait(LONGEST_WAIT)
        results.put((body.__name__, number, *body(device, number, time.monotonic() + SECONDS), None))
    except BaseException:
        results.put((body.__name__, number, 0, 0, traceback.format_exc()))


def nobody_loses_and_nobody_starves():
    with Device() as device:
        with device.connect() as connection:
            equal(add(connection, "shared", b"0" * 64, **{key: "0" for key in ATTRIBUTES}), 0, "the shared item")
        results, start = multiprocessing.Queue(), multiprocessing.Barrier(32)
        workers = [(read, n) for n in range(READERS)] + [(write, n) for n in range(WRITERS)] + [(own, n) for n in range(OWNERS)]
        equal(len(workers), 32, "the processes")
        processes = [
            multiprocessing.Process(target=in_a_process, args=(body, device, number, start, results), daemon=True)
            for body, number in workers]
        for process in processes:
            process.start()
        answers = [results.get(timeout=SECONDS + LONGEST_WAIT) for _ in processes]
        for process in processes:
            process.join(LONGEST_WAIT)
        for name, number, _, _, problem in answers:
            check(problem is None, f"{name} {number}: {problem}")
        with device.connect() as connection:
            _, attributes = item(connection, "shared")
            for name, number, count, _, _ in answers:
                if name == "write":
                    equal(attributes[ATTRIBUTES[number]], f"{number}-{count}", f"the last update of writer {number}")
        for kind in ("read", "write", "own"):
            counts = sorted(count for name, _, count, _, _ in answers if name == kind)
            longest = max(longest for name, _, _, longest, _ in answers if name == kind)
            print(f"  {kind}: {counts[0]} to {counts[-1]} rounds each, the longest {longest * 1000:.0f} ms")
            check(counts[0] * 5 >= counts[-1], f"{kind}: one had {counts[0]} rounds, another {counts[-1]}")
            check(longest < 30, f"{kind}: one waited {longest:.1f} s")


main(nobody_loses_and_nobody_starves)
