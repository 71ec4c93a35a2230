#!/usr/bin/env python3
"""A machine that sleeps while a finger is awaited, by logind's word, and those who only say so."""

import socket
import subprocess
import time

from device import LONGEST_WAIT, Evaluation, check, equal, main, wait_for
from reader import Prompts, Reader, can_evaluate, names_of, with_reader

PASSCODE = "271828"
INDEX = "right-index-finger"
LOGIND, MANAGER = "org.freedesktop.login1", "/org/freedesktop/login1"


class Machine(Reader):
    """A reader on a machine with a logind, which fprintd hears too."""

    def start_fprintd(self):
        if "logind" not in self.children:
            self.start("logind", "/usr/bin/python3", "-m", "dbusmock", "--system", "--template", "logind")
            wait_for(lambda: self.inhibitors is not None, "the logind")
        super().start_fprintd()
        wait_for(lambda: "net.reactivated.Fprint" in self.inhibitors, "fprintd to ask to be told of sleep")

    @property
    def inhibitors(self):
        return self.gdbus(LOGIND, MANAGER, f"{LOGIND}.Manager.ListInhibitors")

    def prepare_for_sleep(self, is_asleep):
        check(
            self.gdbus(
                LOGIND, MANAGER, "org.freedesktop.DBus.Mock.EmitSignal", f"{LOGIND}.Manager", "PrepareForSleep", "b",
                f"[<{str(is_asleep).lower()}>]"), "the signal")

    def fall_asleep(self):
        """Gives fprintd the time to stop the reader, which it says only if the device has not stopped it first."""
        self.prepare_for_sleep(True)
        limit = time.monotonic() + 5
        while not self.stopped and time.monotonic() < limit:
            time.sleep(0.05)

    @property
    def stopped(self):
        """How many verifications sleep has ended, as fprintd says it."""
        return (self.work / "fprintd.log").read_text().count("Cannot run while suspended")


def a_prompt_outlives_sleep():
    with Machine() as reader, with_reader(reader) as device:
        device.set_up(PASSCODE)
        reader.enroll(INDEX, "A", device)
        state = can_evaluate(device)[1]
        with Prompts(device) as prompts:
            evaluation = Evaluation(device)
            reader.is_looking(prompts)
            reader.fall_asleep()
            # Longer than a reader that fails is waited for.
            time.sleep(4)
            equal(evaluation.answer, None, "the evaluation while the machine falls asleep")
            equal(can_evaluate(device), (None, state), "the policy meanwhile")
            reader.prepare_for_sleep(False)
            reader.touch("B")
            prompts.until("show", phase="biometry", failures=1)
            reader.touch("A")
            equal(evaluation.result()[0], None, "the evaluation after the machine woke")
            wait_for(lambda: not reader.is_open, "the reader to be left alone")


def who_asks_meanwhile_waits_and_who_leaves_leaves():
    with Machine() as reader, with_reader(reader) as device:
        device.set_up(PASSCODE)
        reader.enroll(INDEX, "A", device)
        with Prompts(device) as prompts:
            first = Evaluation(device)
            reader.is_looking(prompts)
            reader.fall_asleep()
            first.connection.shutdown(socket.SHUT_RDWR)
            prompts.until("dismissed")
            second = Evaluation(device)
            prompts.until("show", phase="biometry")
            reader.prepare_for_sleep(False)
            reader.is_looking(prompts)
            reader.touch("A")
            equal(second.result()[0], None, "the evaluation that began meanwhile")
            wait_for(lambda: not reader.is_open, "the reader to be left alone")
            check(reader.stopped <= 1, "nothing was tried while fprintd slept")


def a_reader_that_is_gone_over_sleep_is_found_again():
    with Machine() as reader, with_reader(reader) as device:
        device.set_up(PASSCODE)
        reader.enroll(INDEX, "A", device)
        device.run("device", "lock")
        wait_for(lambda: reader.is_open, "the reader to be claimed for the lock screen")
        reader.prepare_for_sleep(True)
        reader.stop()
        time.sleep(0.5)
        reader.start_fprintd()
        reader.prepare_for_sleep(False)
        reader.touch("A")
        wait_for(lambda: not device.status["isLocked"], "the lock screen to open")
        check("problem" not in device.status["sensor"], "the sensor works")


def only_logind_says_that_the_machine_sleeps():
    """Believed, each of these would keep the owner waiting."""
    with Machine() as reader, with_reader(reader) as device:
        device.set_up(PASSCODE)
        reader.enroll(INDEX, "A", device)
        ours = names_of(reader, device.daemons["touchstone-enclave"])
        for hasLogind in (True, False):
            if not hasLogind:
                reader.stop("logind")
            with Prompts(device):
                evaluation = Evaluation(device)
                wait_for(lambda: reader.is_open, "the reader to be claimed")
                for to in (None, *ours):
                    emitted = subprocess.run(
                        ["gdbus", "emit", "--system", "--object-path", MANAGER, "--signal", f"{LOGIND}.Manager.PrepareForSleep",
                         *(["--dest", to] if to else []), "true"],
                        env=reader.environment, capture_output=True, text=True, timeout=LONGEST_WAIT)
                    equal(emitted.returncode, 0, f"the forged signal: {emitted.stderr}")
                started = time.monotonic()
                reader.touch("A")
                equal(evaluation.result()[0], None, "the evaluation")
                check(time.monotonic() - started < 25, "and at once")


main(
    a_prompt_outlives_sleep, who_asks_meanwhile_waits_and_who_leaves_leaves,
    a_reader_that_is_gone_over_sleep_is_found_again, only_logind_says_that_the_machine_sleeps)
