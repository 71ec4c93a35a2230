#!/usr/bin/env python3
"""The Secret Service when something ends: killed at any moment, without room on the disk, without its device, and asked for 1,000 prompts.

SECRET_KILLS=100 is a long run.
"""

import os
import sys

if os.geteuid() != 0:
    # It mounts a small disk: as nobody's root, in a name space of its own.
    os.execvp("unshare", ["unshare", "--user", "--map-root-user", "--mount", sys.executable, *sys.argv])

import contextlib
import random
import signal
import subprocess
import threading
import time

from bridges import Person
from device import LONGEST_WAIT, Device, check, equal, main, wait_for
from secretservice import Bus, with_bus

KILLS = int(os.environ.get("SECRET_KILLS", "8"))
LOCKED = {"error": "org.freedesktop.Secret.Error.IsLocked"}


class Mailer:
    """A program that stores, changes and deletes, and what it was told that is done."""

    def __init__(self, bus, chance):
        self.app, self.chance = bus.app("mailer"), chance
        # What each user's password is; None where it was deleted. More than one where nobody said how it ended.
        self.may, self.number = {}, 0

    def work(self, until):
        """Until the service is gone."""
        while not until.is_set():
            user = f"user{self.chance.randrange(12)}"
            self.number += 1
            secret = None if self.chance.random() < 0.2 else f"secret {self.number}"
            before = self.may.get(user, {None})
            self.may[user] = before | {secret}
            self.app.say(f"clear({user!r})" if secret is None else f"store({user!r}, {secret!r})")
            if "value" in self.app.answer():
                self.may[user] = {secret}

    def look(self):
        for user, allowed in self.may.items():
            found = self.app.ask(f"lookup({user!r})")
            check(found in allowed, f"{user} has {found!r}, and not one of {allowed}")
            self.may[user] = {found}
        whole = self.app.ask("search({})")
        equal(len(whole), sum(None not in allowed for allowed in self.may.values()), "items that the program has")


def killed(kill):
    """Lets a program work, and has something ended in the middle, time and again."""

    def run(device, bus, person):
        chance = random.Random(f"{kill.__name__} 20")
        mailer = Mailer(bus, chance)
        for _ in range(KILLS):
            until = threading.Event()
            working = threading.Thread(target=mailer.work, args=(until,))
            working.start()
            time.sleep(chance.uniform(0.05, 0.5))
            kill(device, bus, until)
            until.set()
            working.join(LONGEST_WAIT)
            check(not working.is_alive(), "the program still waits")
            mailer.app.quit()
            mailer.app = bus.app("mailer")
            mailer.look()
        equal(person.asked(), 0, "prompts of the program that stored them")

    run.__name__ = kill.__name__
    return run


@with_bus
@killed
def the_service_is_killed_at_any_moment(device, bus, until):
    """SS-20, SS-24: what was acknowledged is there, and nothing is there in part."""
    until.set()
    bus.restart(kill=True)


@with_bus
@killed
def the_daemon_is_killed_at_any_moment(device, bus, until):
    """SS-24: nothing is lost, and no search answers "nothing" while the device is away."""
    until.set()
    for pid in device.daemons.values():
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    wait_for(lambda: (device.status or {}).get("isLocked"), "the device to be back")
    device.run("device", "unlock", input="271828\n")


@with_bus
def a_device_that_is_away_is_not_an_empty_one(device, bus, person):
    """SS-24: while nobody answers, and after the service was started anew meanwhile."""
    mailer = bus.app("mailer")
    mailer.ask("store('anna', 'correct horse')")
    device.shutdown()

    def is_locked():
        found, locked = mailer.ask("secret(ROOT, 'SearchItems', '(a{ss})', ({'user': 'anna'},))")
        equal(len(found) + len(locked), 1, "what is known to be there")
        return locked

    wait_for(is_locked, "it to be locked")
    bus.restart(kill=True)
    mailer = bus.app("mailer")
    mailer.say("secret(ROOT, 'SearchItems', '(a{ss})', ({'user': 'anna'},))")
    equal(mailer.answer(), LOCKED, "a search while there is no device")
    device.boot()
    mailer.say("secret(ROOT, 'SearchItems', '(a{ss})', ({'user': 'anna'},))")
    device.run("device", "unlock", input="271828\n")
    found, locked = mailer.answer()["value"]
    equal((len(found), locked), (1, []), "the search after the device is there")


@with_bus
def the_first_call_after_a_minute_is_carried_out(device, bus, person):
    """SS-24: the service has nothing to do after its start, and touchstoned closes connections on which nothing is asked."""
    time.sleep(65)
    equal(bus.app("mailer").ask("store('anna', 'correct horse')"), True, "stored")


@with_bus
def a_thousand_prompts_are_few(device, bus, person):
    """BR-26, BR-29, SS-42, SS-65: of a program that never stops asking, on many connections."""
    mailer, greedy = bus.app("mailer"), bus.app("greedy")
    mailer.ask("store('anna', 'correct horse')")
    (path, *_), = greedy.ask("search({'user': 'anna'})")
    person.answer = "cancel"
    greedy.ask("globals().update(S=open_session())")
    for _ in range(10):
        greedy.ask(f"[send({path!r}, 'GetSecret', '(o)', (S,)) for _ in range(100)] and None")
        equal(set(greedy.ask("answers(100)")), {"org.freedesktop.Secret.Error.IsLocked"}, "the answers")
    check(1 <= person.asked() <= 4, f"prompts: {len(person.prompts)}")
    # The same by objects: a program has 16, and they ask nobody by themselves.
    made = greedy.ask(f"[secret(ROOT, 'Unlock', '(ao)', ([{path!r}],))[1] for _ in range(16)]")
    equal(len(set(made)), 16, "prompt objects")
    greedy.fails(f"secret(ROOT, 'Unlock', '(ao)', ([{path!r}],))", "org.freedesktop.DBus.Error.LimitsExceeded")
    equal(mailer.ask("lookup('anna')"), "correct horse", "another program meanwhile")
    equal(person.asked(), 0, "prompts for objects that nobody started")
    # Programs that come, ask and leave.
    threads = len(os.listdir(f"/proc/{bus.service.pid}/task"))
    check(threads < 64, f"{threads} threads")


def a_full_disk_loses_nothing():
    """SS-20, SS-24, PO-9: an item is stored whole or not at all, and what was there stays."""
    device = Device()
    disk = device.work / "state"
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m,mode=700", "touchstone-test", disk], check=True)
    try:
        with device:
            device.set_up("271828", "thumb")
            with Bus(device) as bus:
                person = Person(device)
                mailer = bus.app("mailer")
                mailer.ask("store('anna', 'correct horse')")
                for size in (1 << 20, 4096, 1):
                    with open(disk / "filler", "ab", buffering=0) as file, contextlib.suppress(OSError):
                        while True:
                            file.write(bytes(size))
                stored, refused = [], 0
                for number in range(40):
                    mailer.say(f"store('user{number}', 'x' * 60000)")
                    if mailer.answer().get("value"):
                        stored.append(number)
                    else:
                        refused += 1
                check(refused, "the disk was not full")
                equal(mailer.ask("lookup('anna')"), "correct horse", "what was there")
                bus.restart(kill=True)
                mailer = bus.app("mailer")
                equal(mailer.ask("lookup('anna')"), "correct horse", "what was there, after a new start")
                equal([number for number in range(40) if mailer.ask(f"lookup('user{number}')") is not None], stored, "what was stored")
                (disk / "filler").unlink()
                equal(mailer.ask("store('new', 'staple')"), True, "with room again")
                bus.restart(kill=True)
                mailer = bus.app("mailer")
                equal([mailer.ask("lookup('new')"), len(mailer.ask("search({})"))], ["staple", len(stored) + 2], "after a new start")
                equal(person.asked(), 0, "prompts")
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


main(
    the_service_is_killed_at_any_moment, the_daemon_is_killed_at_any_moment, a_device_that_is_away_is_not_an_empty_one,
    a_thousand_prompts_are_few, a_full_disk_loses_nothing, the_first_call_after_a_minute_is_carried_out,
)
