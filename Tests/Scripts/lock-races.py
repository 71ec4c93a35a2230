#!/usr/bin/env python3
"""Reads raced against locks: what begins once the lock was answered succeeds never again.

LOCKS says how many locks there are (100 in a full run), READS how many reads at each (1000 in a full run), SEED which moments."""

import base64
import contextlib
import json
import os
import random
import selectors
import subprocess
import threading
import time

from daemons import add, dictionary
from device import LONGEST_WAIT, Device, call, check, equal, main

LOCKS = int(os.environ.get("LOCKS", "10"))
READS = int(os.environ.get("READS", "200"))
SEED = int(os.environ.get("SEED", "20261122"))
# A connection takes 16 requests at a time: the one that is answered, and those that wait.
AT_ONCE = 8
FINGER = "thumb"
BIOMETRY_ANY = 1 << 1
PLAIN, GUARDED = "plain", "guarded"


class Reader:
    """A connection with a few reads under way, and what came back, in order."""

    def __init__(self, device, account):
        self.connection, self.account = device.connect(), account
        self.buffer, self.sent, self.answers = b"", [], []

    def send(self, count, context):
        query = dictionary(self.account, r_Data=True)
        request = json.dumps({
            "method": "io.touchstone.Keychain.CopyMatching",
            "parameters": {"query": query, "context": context if self.account == GUARDED else None}}).encode() + b"\0"
        # Before it is on its way: a time that is too early only takes a read out of those that have to fail.
        self.sent += [time.monotonic()] * count
        self.connection.sendall(request * count)

    def receive(self):
        chunk = self.connection.recv(1 << 16)
        check(chunk, "a reader's connection was closed")
        *whole, self.buffer = (self.buffer + chunk).split(b"\0")
        for frame in whole:
            reply = json.loads(frame)
            if "error" in reply:
                self.answers.append(None)
            else:
                self.answers.append(base64.b64decode(reply["parameters"]["items"][0]["data"]))

    @property
    def is_done(self): return len(self.answers) == len(self.sent)


def receive_until(readers, is_enough):
    with selectors.DefaultSelector() as selector:
        for reader in readers:
            selector.register(reader.connection, selectors.EVENT_READ, reader)
        limit = time.monotonic() + 2 * LONGEST_WAIT
        while not is_enough():
            check(time.monotonic() < limit, "the reads are not answered")
            for key, _ in selector.select(0.01):
                key.data.receive()


def touched_context(device, connection):
    """A context in which the owner was recognised; it is good for many reads, until the device locks."""
    context = call(connection, "Authentication.CreateContext")[1]["context"]
    control = {"protection": "ak", "flags": BIOMETRY_ANY}
    toucher = threading.Thread(
        target=device.run, args=("device", "match", FINGER, "--wait", str(LONGEST_WAIT)))
    toucher.start()
    options = {"reason": "the test", "reuseDuration": 0.0, "interactionNotAllowed": False}
    answer = call(
        connection, "Authentication.EvaluateAccessControl", context=context, accessControl=control, operation=1,
        options=options)
    toucher.join()
    equal(answer[0], None, f"the evaluation: {answer[1]}")
    return context


def connections():
    """So many that half of the reads are under way when the device locks; the other half follows."""
    return -(-READS // (2 * AT_ONCE))


def one_lock(device, chance, app, values):
    """Locks amid reads. Returns how many succeeded, and how many were refused, of those that were sent before."""
    context = touched_context(device, app)
    count = connections()
    readers = [Reader(device, PLAIN if number % 2 else GUARDED) for number in range(count)]
    # The twin: unlocked, both are read.
    for reader in readers[:2]:
        reader.send(1, context)
        receive_until([reader], lambda: reader.is_done)
        equal(reader.answers, [values[reader.account]], f"the {reader.account} item of an unlocked device")
        reader.sent, reader.answers = [], []
    for reader in readers:
        reader.send(AT_ONCE, context)
    moment = chance.randrange(count * AT_ONCE)
    receive_until(readers, lambda: sum(len(reader.answers) for reader in readers) >= moment)
    with device.connect() as owner:
        owner.sendall(json.dumps(
            {"method": "io.touchstone.Device.Lock", "parameters": {"requiresPasscode": False}}).encode() + b"\0")
        owner.setblocking(False)

        def is_locked():
            # Until it is, there is always something to read.
            for reader in readers:
                if reader.is_done:
                    reader.send(AT_ONCE, context)
            with contextlib.suppress(BlockingIOError):
                answer = owner.recv(4096)
                check(answer.endswith(b"\0") and b'"error"' not in answer, f"the lock: {answer}")
                return True

        receive_until(readers, is_locked)
    locked = time.monotonic()
    for reader in readers:
        reader.send(AT_ONCE, context)
    receive_until(readers, lambda: all(reader.is_done for reader in readers))
    succeeded = refused = 0
    for reader in readers:
        had_refusal = False
        for sent, answer in zip(reader.sent, reader.answers):
            check(answer in (None, values[reader.account]), "a value that is not the item's")
            check(answer is None or sent < locked, f"a read of the {reader.account} item succeeds after the lock's answer")
            # One connection's reads are carried out one after the other.
            check(answer is None or not had_refusal, f"a read of the {reader.account} item succeeds behind one that was refused")
            had_refusal |= answer is None
            if sent < locked:
                succeeded, refused = succeeded + (answer is not None), refused + (answer is None)
        reader.connection.close()
    return succeeded, refused


def no_read_succeeds_once_the_lock_was_answered():
    chance = random.Random(SEED)
    values = {PLAIN: b"the plain value", GUARDED: b"the guarded value"}
    with Device() as device:
        device.set_up("271828", FINGER)
        agent = subprocess.Popen(
            [str(device.programs / "touchstone"), "agent", "--reconnect", "--script", "-"], env=device.environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            agent.stdin.write("ignore\n")
            agent.stdin.close()
            check(agent.stdout.readline().startswith("ready"), "the agent's first line")
            # What it writes of each prompt fills a pipe that nobody reads, and an agent that waits for its reader is lost.
            threading.Thread(target=agent.stdout.read, daemon=True).start()
            with device.connect() as app:
                equal(add(app, PLAIN, values[PLAIN], pdmn="ak"), 0, "the plain item")
                attributes = dictionary(GUARDED, v_Data=values[GUARDED]) | {
                    "accc": {"accessControl": {"protection": "ak", "flags": BIOMETRY_ANY}}}
                equal(call(app, "Keychain.Add", attributes=attributes, context=None)[0], None, "the guarded item")
                succeeded, refused, amid = 0, 0, 0
                for _ in range(LOCKS):
                    before, after = one_lock(device, chance, app, values)
                    succeeded, refused = succeeded + before, refused + after
                    amid += before > 0 and after > 0
                    device.run("device", "unlock", "--finger", FINGER)
        finally:
            agent.kill()
            agent.wait(LONGEST_WAIT)
    each = 2 * AT_ONCE * connections()
    print(f"  {LOCKS} locks, at least {each} reads at each; of those sent before {succeeded} succeeded and {refused} were refused; "
          f"{amid} locks fell amid reads; SEED={SEED}")
    # The control: it was a race.
    check(amid > 0, "no lock fell amid reads")


main(no_read_succeeds_once_the_lock_was_answered)
