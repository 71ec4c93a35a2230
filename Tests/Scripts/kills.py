#!/usr/bin/env python3
"""Either daemon killed while both write: what was acknowledged is there, what was not is there or not, and all of it is whole."""

import contextlib
import hashlib
import random
import threading
import time

from daemons import (
    Daemons,
    add,
    add_guarded,
    check_unaltered,
    delete,
    delete_guarded,
    has_guarded,
    item,
    update,
)
from device import LONGEST_WAIT, Device, call, check, equal, main

OK, NOT_AVAILABLE = 0, -25291
# Of a class that is open at once after a restart.
ALWAYS = {"pdmn": "dk"}
KILLS = 60


class Writer(threading.Thread):
    """Adds, updates and deletes items of its own, and knows what was acknowledged."""

    ACCOUNTS = 6

    def __init__(self, device, number, seed):
        super().__init__(daemon=True)
        self.device, self.number, self.random = device, number, random.Random(seed)
        # By account: what is there for certain, and what may be there in its place where no answer came.
        self.known = {f"{number}.{index}": None for index in range(self.ACCOUNTS)}
        self.possible, self.acknowledged, self.problem = {}, 0, None

    def run(self):
        try:
            with self.device.connect() as connection:
                while True:
                    self.step(connection)
        except OSError:
            # The daemon is gone.
            pass
        except BaseException as error:
            self.problem = error

    def step(self, connection):
        account = self.random.choice(list(self.known))
        before = self.known[account]
        # Large ones take long to write: what is not one transaction is caught in between.
        value = self.random.randbytes(self.random.choice([10, 5000, 500000]))
        after = None if before is not None and self.random.random() < 0.15 else value
        self.possible = {account: after}
        label = hashlib.sha256(value).hexdigest()
        if before is None:
            result = add(connection, account, value, labl=label, **ALWAYS)
        elif after is None:
            result = delete(connection, account)
        else:
            result = update(connection, account, v_Data=value, labl=label)
        # -25291: the enclave is gone. After an error nothing was done.
        check(result in (OK, NOT_AVAILABLE), f"status {result}")
        if result == OK:
            self.known[account] = after
            self.acknowledged += 1
        self.possible = {}

    def compare(self, connection):
        """What is there is what was acknowledged, or what was asked for last; and whole."""
        for account, known in self.known.items():
            found = item(connection, account)
            data = found[0] if found else None
            check(data == known or (account in self.possible and data == self.possible[account]),
                  f"{account}: {data and len(data)} bytes, expected {known and len(known)} bytes")
            if found:
                equal(found[1]["labl"], hashlib.sha256(data).hexdigest(), f"{account}: data and label")
            self.known[account] = data


class GuardedWriter(Writer):
    """The same with items that want their owner: added and deleted."""

    def step(self, connection):
        name = self.random.choice(list(self.known))
        after = None if self.known[name] else name
        self.possible = {name: after}
        result = (add_guarded if after else delete_guarded)(connection, name)
        check(result in (OK, NOT_AVAILABLE), f"status {result}")
        if result == OK:
            self.known[name] = after
            self.acknowledged += 1
        self.possible = {}

    def compare(self, connection):
        for name, known in self.known.items():
            data = name if has_guarded(connection, name) else None
            check(data == known or (name in self.possible and data == self.possible[name]),
                  f"{name}: {data}, expected {known}")
            self.known[name] = data
        check_unaltered(connection)


def killed_at_random_moments(device):
    moments, acknowledged = random.Random(20261121), 0
    device.boot()
    device.set_up()
    device.shutdown()
    writers, fingers, counted = [Writer(device, number, number) for number in range(3)], set(), 0
    writers.append(GuardedWriter(device, len(writers), len(writers)))
    with Daemons(device) as daemons:
        for number in range(KILLS):
            for writer in writers:
                writer.start()
            # The enclave writes as well: a finger comes, a finger goes.
            wanted, deadline = None, time.monotonic() + moments.uniform(0, 0.08)
            with device.connect() as connection, contextlib.suppress(OSError):
                # A busy machine has the time for a change, too.
                while time.monotonic() < deadline or (counted <= number + 1 and time.monotonic() < deadline + 10):
                    wanted = set() if fingers else {"thumb"}
                    method = "Device.RemoveFinger" if fingers else "Device.Enroll"
                    equal(call(connection, method, finger="thumb")[0], None, method)
                    fingers, wanted, counted = wanted, None, counted + 1
            daemons.restart(moments.choice(["touchstoned", "touchstone-enclave", None]))
            with device.connect() as connection:
                for writer in writers:
                    writer.join(LONGEST_WAIT)
                    if writer.problem:
                        raise writer.problem
                    writer.compare(connection)
                _, reply = call(connection, "Device.ListFingers")
                found = set(reply["fingers"])
                check(found in (fingers, wanted), f"fingers {found}, expected {fingers} or {wanted}")
                fingers = found
            acknowledged += sum(writer.acknowledged for writer in writers)
            writers = [succeed(writer, number) for writer in writers]
    print(f"  {KILLS} kills, {acknowledged} acknowledged writes of the keychain, {counted} of the enclave")
    check(acknowledged > KILLS and counted > KILLS, "there was something to lose")


def succeed(writer, round):
    """A thread that goes on where this one ended."""
    new = type(writer)(writer.device, writer.number, f"{writer.number} {round}")
    new.known = writer.known
    return new


def a_killed_daemon_loses_nothing_acknowledged():
    with Device(boot=False) as device:
        killed_at_random_moments(device)


main(a_killed_daemon_loses_nothing_acknowledged)
