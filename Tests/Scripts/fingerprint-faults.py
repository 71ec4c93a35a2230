#!/usr/bin/env python3
"""What goes wrong with a fingerprint reader, and who lies about it: forged signals, other programs, unplugging, restarts, a hostile service."""

import errno
import json
import os
import pathlib
import select
import signal
import socket
import subprocess
import time

from daemons import Daemons, Fault, compile_fault
from device import LONGEST_WAIT, Device, Evaluation, check, equal, expect_error, main, wait_for
from reader import USER, Prompts, Reader, can_evaluate, names_of, next_state, with_reader

PASSCODE = "271828"
INDEX = "right-index-finger"
STATUS = "net.reactivated.Fprint.Device.VerifyStatus"

# Owns fprintd's name, and answers as the first argument says.
HOSTILE = """
import os, sys, threading, time
import dbus, dbus.service
from dbus.mainloop.glib import DBusGMainLoop
from gi.repository import GLib
DBusGMainLoop(set_as_default=True)
bus = dbus.SystemBus()
how = sys.argv[1]
DEVICE = "net.reactivated.Fprint.Device"

class Manager(dbus.service.Object):
    @dbus.service.method("net.reactivated.Fprint.Manager", out_signature="o")
    def GetDefaultDevice(self): return "/reader"
    @dbus.service.method("net.reactivated.Fprint.Manager", out_signature="ao")
    def GetDevices(self): return ["/reader"]

class Device(dbus.service.Object):
    @dbus.service.method("org.freedesktop.DBus.Properties", in_signature="ss", out_signature="v")
    def Get(self, interface, name): return "x" * 200
    @dbus.service.method(DEVICE, in_signature="s", out_signature="as" if how != "numbers" else "ai")
    def ListEnrolledFingers(self, user):
        if how == "numbers": return [1, 2, 3]
        if how == "many": return ["right-index-finger"] * 5000
        if how == "unknown": return ["third-hand"]
        if how == "long": return ["x" * 1000000]
        return ["right-index-finger"]
    @dbus.service.method(DEVICE, in_signature="s")
    def Claim(self, user): pass
    @dbus.service.method(DEVICE)
    def Release(self): pass
    @dbus.service.method(DEVICE)
    def VerifyStop(self): pass
    @dbus.service.method(DEVICE, in_signature="s", async_callbacks=("done", "failed"))
    def VerifyStart(self, finger, done, failed):
        done()
        threading.Thread(target=self.flood, daemon=True).start()
    def flood(self):
        while how == "fast":
            self.VerifyStatus("verify-too-fast", False)
            time.sleep(0.05)
        for number in range(20000):
            told = [("verify-swipe-too-short", False), ("verify-remove-and-retry", False), ("nonsense", False), ("x" * 5000, True)]
            # Of hints that come too fast the first of a burst is shown: each of them is it some time.
            for text, flag in told[::1 if number % 2 else -1]:
                self.VerifyStatus(text, flag)
            time.sleep(0.001)
            self.Garbage([1, 2, 3])
            # Some of it from this connection, and of another reader.
            signal = dbus.lowlevel.SignalMessage("/another", DEVICE, "VerifyStatus")
            signal.append("verify-match", True)
            bus.send_message(signal)
    @dbus.service.signal(DEVICE, signature="sb")
    def VerifyStatus(self, result, done): pass
    @dbus.service.signal(DEVICE, signature="ai")
    def Garbage(self, numbers): pass

name = dbus.service.BusName("net.reactivated.Fprint", bus)
Manager(bus, "/net/reactivated/Fprint/Manager")
Device(bus, "/reader")
GLib.MainLoop().run()
"""

# Claims the reader, and enrols a finger once its standard input ends.
ENROLLING = """
import sys
import dbus
from dbus.mainloop.glib import DBusGMainLoop
from gi.repository import GLib
DBusGMainLoop(set_as_default=True)
loop = GLib.MainLoop()
reader = dbus.SystemBus().get_object("net.reactivated.Fprint", sys.argv[1])
device = dbus.Interface(reader, "net.reactivated.Fprint.Device")
device.connect_to_signal("EnrollStatus", lambda text, isDone: isDone and loop.quit())
device.Claim(sys.argv[2])
sys.stdin.read()
device.EnrollStart(sys.argv[3])
loop.run()
device.EnrollStop()
device.Release()
"""

# Sends the enclave what fprintd and logind would say, over and over, past every match rule: a signal may have one receiver.
FLOOD = """
import sys, time
import dbus, dbus.lowlevel
bus = dbus.SystemBus()
signals = []
for path, interface, member, arguments in (
    (sys.argv[1], "net.reactivated.Fprint.Device", "VerifyStatus", ("verify-swipe-too-short", False)),
    (sys.argv[1], "net.reactivated.Fprint.Device", "EnrollStatus", ("enroll-stage-passed", False)),
    ("/org/freedesktop/login1", "org.freedesktop.login1.Manager", "PrepareForSleep", (False,)),
    ("/org/freedesktop/DBus", "org.freedesktop.DBus", "NameOwnerChanged", ("net.reactivated.Fprint", ":1.0", "")),
):
    signal = dbus.lowlevel.SignalMessage(path, interface, member)
    signal.set_destination(sys.argv[2])
    signal.append(*arguments)
    signals.append(signal)
print("ready", flush=True)
while True:
    for signal in signals: bus.send_message(signal)
    bus.flush()
    time.sleep(0.001)
"""


def emit(reader, path, *arguments, to=None):
    result = subprocess.run(
        ["gdbus", "emit", "--system", "--object-path", path, "--signal", STATUS, *(["--dest", to] if to else []), *arguments],
        env=reader.environment, capture_output=True, text=True, timeout=LONGEST_WAIT)
    equal(result.returncode, 0, f"the forged signal: {result.stderr}")


def forged_signals_are_nothing():
    with Reader() as reader, with_reader(reader) as device:
        device.set_up(PASSCODE)
        reader.enroll(INDEX, "A", device)
        path = reader.path()
        (ours,) = names_of(reader, device.daemons["touchstone-enclave"])
        with Prompts(device) as prompts:
            evaluation = Evaluation(device)
            prompts.until("show", phase="biometry")
            wait_for(lambda: reader.is_open, "the reader to be claimed")
            for text, flag in (("verify-match", "true"), ("verify-no-match", "true"), ("verify-swipe-too-short", "false")):
                for to in (None, ours):
                    emit(reader, path, text, flag, to=to)
            # After all of them, from the one that counts.
            wait_for(lambda: reader.tell("RETRY 1"), "the reader to take a hint")
            prompt = prompts.until("show", hint="swipeTooShort")
            equal(prompt["failures"], 0, "the failures")
            check(evaluation.answer is None, "the evaluation goes on")
            reader.touch("A")
            equal(evaluation.result()[0], None, "the evaluation")


def a_flood_of_anybody_s_signals_takes_nobody_s_place():
    """What fprintd says comes through, and in time: AC-50's enrolment under the same name is told by nothing but its signal."""
    with Reader() as reader, with_unread_templates(reader) as device:
        device.set_up(PASSCODE)
        reader.enroll(INDEX, "A", device)
        state, enclave = can_evaluate(device)[1], device.daemons["touchstone-enclave"]
        (ours,) = names_of(reader, enclave)
        reader.start("flood", "/usr/bin/python3", "-c", FLOOD, reader.path(), ours)
        wait_for(lambda: "ready" in (reader.work / "flood.log").read_text(), "the flood")
        with Prompts(device) as prompts:
            for finger in ("B", "C"):
                reader.enroll(INDEX, finger)
                wait_for(lambda: can_evaluate(device)[1] not in (None, state), "the domain state to be another")
                state = can_evaluate(device)[1]
                evaluation = Evaluation(device)
                prompts.until("show", phase="biometry", failures=0)
                reader.touch("D")
                prompts.until("show", failures=1)
                equal(prompts.last.get("hint"), None, "the hint")
                reader.touch(finger)
                equal(evaluation.result()[0], None, "the evaluation")
                wait_for(lambda: not reader.is_open, "the reader to be left alone")
        equal(reader.children["flood"].poll(), None, "the flood goes on")
        equal(device.daemons["touchstone-enclave"], enclave, "the enclave is the one it was")


def a_dead_bus_costs_no_time():
    """While somebody waits for a finger, and somebody else asks who is enrolled: each asked the bus that is gone over and over."""
    with Reader() as reader, with_reader(reader) as device:
        device.set_up(PASSCODE)
        reader.enroll(INDEX, "A", device)
        enclave = device.daemons["touchstone-enclave"]
        with Prompts(device) as prompts:
            evaluation = Evaluation(device)
            reader.is_looking(prompts)
            before = processor_time(enclave)
            reader.stop("bus")
            prompts.until("show", hint="readerFailed")
            can_evaluate(device)
            equal(evaluation.result()[1].get("code"), -6, "the evaluation without a bus")
            spent = processor_time(enclave) - before
            check(spent < 0.5, f"{spent} s of processor time for a bus that is gone")


def another_program_that_holds_the_reader_is_waited_for():
    with Reader() as reader, with_reader(reader) as device:
        device.set_up(PASSCODE)
        reader.enroll(INDEX, "A", device)
        other = reader.tool("verify", USER)
        wait_for(lambda: reader.is_open, "the other program to claim the reader")
        with Prompts(device) as prompts:
            evaluation = Evaluation(device)
            prompts.until("show", hint="readerBusy", failures=0)
            wait_for(lambda: can_evaluate(device)[0] is None, "the policy: it is enrolled, and will be asked for again")
            # Its match is its own.
            reader.touch("A")
            check("verify-match" in other.communicate(timeout=LONGEST_WAIT)[0], "the other program's match")
            equal(prompts.until("show", phase="biometry", failures=0).get("hint"), None, "the hint once it is ours")
            check(evaluation.answer is None, "the evaluation goes on")
            reader.touch("A")
            equal(evaluation.result()[0], None, "the evaluation")


def who_does_not_wait_for_a_held_reader_has_the_passcode():
    """DEC-062: and is told why; biometrics alone have the app's own fallback, and a reader that nobody holds offers none."""
    with Reader() as reader, with_reader(reader) as device:
        device.set_up(PASSCODE)
        reader.enroll(INDEX, "A", device)
        with Prompts(device) as prompts:
            evaluation = Evaluation(device, policy=2)
            reader.is_looking(prompts)
            equal(prompts.last.get("fallbackTitle"), None, "the fallback while the reader looks")
            expect_error(
                "io.touchstone.Agent.NoSuchPrompt", lambda: device.client("Agent").ChooseFallback(prompt=prompts.last["identifier"]))
            reader.touch("A")
            equal(evaluation.result()[0], None, "the evaluation")
            wait_for(lambda: not reader.is_open, "the reader to be closed after it")
            other = reader.tool("verify", USER)
            wait_for(lambda: reader.is_open, "the other program to claim the reader")
            evaluation = Evaluation(device, policy=1)
            prompt = prompts.until("show", hint="readerBusy", fallbackTitle="Enter Password")
            device.client("Agent").ChooseFallback(prompt=prompt["identifier"])
            equal(evaluation.result()[1].get("code"), -3, "the evaluation of biometrics alone")
            evaluation = Evaluation(device, policy=2)
            prompt = prompts.until("show", hint="readerBusy", fallbackTitle="Enter Passcode", failures=0)
            device.client("Agent").ChooseFallback(prompt=prompt["identifier"])
            prompts.until("show", phase="passcode")
            equal(other.poll(), None, "the other program still holds the reader")
            evaluation.connection.shutdown(socket.SHUT_RDWR)
            other.kill()
            other.wait()
        in_terminal(device, reader)


def in_terminal(device, reader):
    """`touchstone agent` says why, and takes the passcode."""
    wait_for(lambda: not reader.is_open, "the reader to be closed after the other's end")
    other = reader.tool("verify", USER)
    wait_for(lambda: reader.is_open, "the other program to claim the reader")
    ours, theirs = os.openpty()
    agent = subprocess.Popen(
        [device.programs / "touchstone", "agent"], env=device.environment | {"TERM": "dumb"}, stdin=theirs, stdout=theirs,
        stderr=theirs)
    shown = b""

    def shows(text):
        nonlocal shown
        while text not in shown:
            check(select.select([ours], [], [], LONGEST_WAIT)[0], f"{text} in the agent's terminal: {shown.decode()}")
            shown += os.read(ours, 65536)

    try:
        shows(b"ready")
        evaluation = Evaluation(device, policy=2)
        shows(b"The fingerprint reader is in use by another program.")
        shows(b"Enter Passcode")
        evaluation.connection.shutdown(socket.SHUT_RDWR)
    finally:
        agent.kill()
        agent.wait()
        other.kill()
        other.wait()
        os.close(ours)
        os.close(theirs)


def a_late_verdict_is_nobodys():
    """A verification that is stopped ends with a non-match of its own."""
    with Reader() as reader, with_reader(reader) as device:
        device.set_up(PASSCODE)
        reader.enroll(INDEX, "A", device)
        with Prompts(device) as prompts:
            first = Evaluation(device, reason="first")
            wait_for(lambda: reader.is_open, "the reader to be claimed")
            second = Evaluation(device, reason="second")
            equal(first.result()[1].get("code"), -4, "the first evaluation")
            prompts.until("show", reason="second", failures=0)
            reader.is_looking(prompts)
            equal(prompts.last["failures"], 0, "the failures")
            reader.touch("B")
            prompts.until("show", failures=1)
            reader.touch("A")
            equal(second.result()[0], None, "the second evaluation")


def a_reader_that_fails_is_tried_again():
    with Reader() as reader, with_reader(reader) as device:
        device.set_up(PASSCODE)
        reader.enroll(INDEX, "A", device)
        with Prompts(device) as prompts:
            evaluation = Evaluation(device)
            wait_for(lambda: reader.tell("ERROR 0"), "the reader to be opened")
            prompts.until("show", hint="readerFailed", failures=0)
            reader.touch("A")
            equal(evaluation.result()[0], None, "the evaluation")


def an_unplugged_reader_leaves_the_passcode():
    with Reader() as reader, with_reader(reader) as device:
        device.set_up(PASSCODE)
        reader.enroll(INDEX, "A", device)
        state = can_evaluate(device)[1]
        with Prompts(device) as prompts:
            alone, either = Evaluation(device), None
            wait_for(lambda: reader.tell("UNPLUG"), "the reader to be opened")
            equal(alone.result()[1].get("code"), -6, "the evaluation that wanted a finger")
            equal(can_evaluate(device), (-6, None), "the policy without a reader")
            equal(device.status["sensor"]["problem"], "noReader", "the problem")
            check("fprintd has no reader" in device.run("doctor", status=1).stdout, "the problem in the doctor's report")
            either = Evaluation(device, policy=2)
            equal(prompts.until("show", phase="passcode")["failures"], 0, "the failures")
            either.connection.shutdown(socket.SHUT_RDWR)
            # Plugged in again: fprintd finds it when it restarts. The enrolled set is the one it was.
            reader.stop()
            reader.start_fprintd()
            wait_for(lambda: can_evaluate(device) == (None, state), "the policy with the reader")
            evaluation = Evaluation(device)
            reader.touch("A")
            equal(evaluation.result()[0], None, "the evaluation")


def a_restarted_service_is_found_again():
    with Reader() as reader, with_reader(reader) as device:
        device.set_up(PASSCODE)
        reader.enroll(INDEX, "A", device)
        with Prompts(device) as prompts:
            for _ in range(5):
                wait_for(lambda: can_evaluate(device)[0] is None, "the policy with the service")
                evaluation = Evaluation(device)
                wait_for(lambda: reader.is_open, "the reader to be claimed")
                reader.stop()
                prompts.until("show", hint="readerFailed", failures=0)
                reader.start_fprintd()
                wait_for(
                    lambda: prompts.comes("show", 0.3, phase="biometry", failures=0) or evaluation.answer,
                    "the service to be found again")
                if not evaluation.answer:
                    break
                # A busy machine may start the service after the three seconds that it is waited for.
                equal(evaluation.answer[1].get("code"), -6, "the evaluation that waited in vain")
            equal(prompts.last.get("hint"), None, "the hint once it works")
            reader.touch("A")
            equal(evaluation.result()[0], None, "the evaluation")
            # And where it does not come back.
            evaluation = Evaluation(device)
            wait_for(lambda: reader.is_open, "the reader to be claimed")
            reader.stop()
            equal(evaluation.result()[1].get("code"), -6, "the evaluation without a service")
            equal(device.status["sensor"]["problem"], "noService", "the problem")
            reader.stop("bus")
            wait_for(lambda: device.status["sensor"]["problem"] == "noBus", "the problem without a bus")
            equal(can_evaluate(device, policy=2)[0], None, "the passcode is as good as ever")


def a_service_that_never_answers_keeps_nobody_waiting():
    with Reader() as reader, with_reader(reader) as device:
        device.set_up(PASSCODE)
        reader.enroll(INDEX, "A", device)
        state = can_evaluate(device)[1]
        os.kill(reader.children["fprintd"].pid, signal.SIGSTOP)
        can_evaluate(device)

        def is_at_once():
            started = time.monotonic()
            can_evaluate(device)
            return time.monotonic() - started < 0.4

        # However busy the machine is, one of them is answered before anybody who waits half a second could be.
        wait_for(is_at_once, "an answer after the first that nobody waits for")
        wait_for(lambda: can_evaluate(device) == (-6, None), "the policy to be refused")
        equal(device.status["sensor"]["problem"], "notAnswering", "the problem")
        os.kill(reader.children["fprintd"].pid, signal.SIGCONT)
        wait_for(lambda: can_evaluate(device) == (None, state), "the policy to be there again")
        with Prompts(device):
            evaluation = Evaluation(device)
            reader.touch("A")
            equal(evaluation.result()[0], None, "the evaluation")


def a_hostile_service_is_survived():
    with Reader() as reader, with_reader(reader) as device:
        device.set_up(PASSCODE)
        reader.stop()
        enclave = device.daemons["touchstone-enclave"]
        program = reader.work / "hostile.py"
        program.write_text(HOSTILE)

        def start(how):
            reader.start("fprintd", "/usr/bin/python3", str(program), how)
            wait_for(reader.path, f"the service that answers {how}")

        for how in ("numbers", "many", "unknown", "long"):
            start(how)
            wait_for(
                lambda: device.status["sensor"].get("problem") == "notAnswering", f"the problem with a service that answers {how}")
            equal(can_evaluate(device), (-6, None), f"the policy with a service that answers {how}")
            reader.stop()
            wait_for(lambda: device.status["sensor"].get("problem") == "noService", "the problem without it")
        start("flood")
        wait_for(lambda: can_evaluate(device)[0] is None, "the policy with a service that answers as it should")
        check(len(device.status["sensor"]["name"]) <= 64, "its name is cut")
        with Prompts(device) as prompts:
            evaluation = Evaluation(device)
            prompts.until("show", hint="removeAndRetry", failures=0)
            before = memory(enclave)
            for _ in range(20):
                started = time.monotonic()
                check(device.status["isPasscodeSet"], "the device answers")
                check(time.monotonic() - started < 30, "the device answers in time")
            check(evaluation.answer is None, "no finger was seen")
            evaluation.connection.shutdown(socket.SHUT_RDWR)
            prompts.until("dismissed")
            check(memory(enclave) - before < 50 << 20, f"the enclave's memory grew from {before} to {memory(enclave)}")
        equal(device.daemons["touchstone-enclave"], enclave, "the enclave is the one it was")


def a_service_that_has_more_hints_than_ours_shows_them():
    """verify-too-fast, which the installed fprintd does not know yet."""
    with Reader() as reader, with_reader(reader) as device:
        device.set_up(PASSCODE)
        reader.stop()
        program = reader.work / "hostile.py"
        program.write_text(HOSTILE)
        reader.start("fprintd", "/usr/bin/python3", str(program), "fast")
        wait_for(reader.path, "the service")
        wait_for(lambda: can_evaluate(device)[0] is None, "the policy")
        with Prompts(device) as prompts:
            evaluation = Evaluation(device)
            prompts.until("show", hint="swipeTooFast", failures=0)
            check(evaluation.answer is None, "the evaluation goes on")


def processor_time(pid):
    """Seconds."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(pid):
    """Bytes."""
    return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def without_the_templates_an_enrolment_that_is_heard_of_counts():
    """Where fprintd's files are root's: the names are the same, and somebody enrolled."""
    with Reader() as reader:
        nowhere = reader.work / "nobody-reads-this"
        nowhere.write_text("")
        with Device(create=("--sensor", "fprintd", "--bus", str(reader.bus), "--templates", str(nowhere))) as device:
            device.set_up(PASSCODE)
            reader.enroll(INDEX, "A", device)
            states = [can_evaluate(device)[1]]
            equal(device.status["sensor"]["areTemplatesRead"], False, "whether the templates are read")
            check("known only by their names" in device.run("doctor").stdout, "the doctor's report")
            reader.enroll(INDEX, "B")
            states.append(next_state(device, *states))
            reader.enroll("left-thumb", "C")
            states.append(next_state(device, *states))
            reader.delete("left-thumb")
            states.append(next_state(device, *states))
            check(None not in states and len(set(states)) == 4, f"every domain state is another: {states}")


def with_unread_templates(reader, **device):
    """A device that knows fingers by their names."""
    nowhere = reader.work / "nobody-reads-this"
    nowhere.write_text("")
    return Device(create=("--sensor", "fprintd", "--bus", str(reader.bus), "--templates", str(nowhere)), **device)


def an_enrolment_while_there_was_no_reader_counts():
    """AC-50: another finger under the same name, of which only a signal tells that nobody asked for."""
    with Reader() as reader, with_unread_templates(reader) as device:
        device.set_up(PASSCODE)
        reader.enroll(INDEX, "A", device)
        state = can_evaluate(device)[1]
        with Prompts(device):
            evaluation = Evaluation(device)
            wait_for(lambda: reader.tell("UNPLUG"), "the reader to be opened")
            equal(evaluation.result()[1].get("code"), -6, "the evaluation without a reader")
        reader.stop()
        reader.start_fprintd()
        reader.delete(INDEX)
        reader.enroll(INDEX, "B")
        # By another fprintd than the one that is there when it is asked.
        reader.stop()
        reader.start_fprintd()
        next_state(device, state)


def an_enrolment_by_who_holds_the_reader_counts_before_the_next_touch():
    """AC-50: whoever waits for the reader hears what the program does that has it."""
    with Reader() as reader, with_unread_templates(reader) as device:
        device.set_up(PASSCODE)
        reader.enroll(INDEX, "A", device)
        enrolling = subprocess.Popen(
            ["/usr/bin/python3", "-c", ENROLLING, reader.path(), USER, INDEX], env=reader.environment, stdin=subprocess.PIPE)
        wait_for(lambda: reader.is_open, "the other program to claim the reader")
        with Prompts(device) as prompts:
            evaluation = Evaluation(device)
            prompts.until("show", hint="readerBusy")
            # Only now: while it goes on fprintd lists the finger no more, which is a change that anybody sees.
            enrolling.stdin.close()

            def is_enrolled():
                reader.tell("SCAN B")
                return enrolling.poll() is not None

            wait_for(is_enrolled, "the enrolment")
            equal(enrolling.returncode, 0, "the enrolment")
            reader.touch("B")
            equal(evaluation.result()[0], None, "the evaluation")
        events = [json.loads(line)["event"] for line in device.run("log", "show", "--json").stdout.splitlines()]
        events = [event for event in events if event in ("biometry-enrolled", "evaluation-ended")]
        # The first finger's, and the other's before anything was matched.
        equal(events, ["biometry-enrolled", "biometry-enrolled", "evaluation-ended"], "the log")


def an_enrolment_that_the_disk_does_not_take_is_told_again():
    """AC-50: the disk is full when somebody enrols."""
    with Reader() as reader, with_unread_templates(reader, boot=False) as device:
        library = compile_fault(device.work)
        disk = Fault(library, device.work, "enclave", device.state)
        with Daemons(device, enclave=disk):
            device.set_up(PASSCODE)
            reader.enroll(INDEX, "A", device)
            state = can_evaluate(device)[1]
            disk.arm(0, errno.ENOSPC)
            reader.enroll(INDEX, "B")
            wait_for(lambda: can_evaluate(device)[0] == -8, "biometry to be suspended")
            check(disk.disarm() > 0, "a write failed")
            device.run("device", "unlock", input=f"{PASSCODE}\n")
            wait_for(lambda: can_evaluate(device)[0] is None, "the policy after the passcode")
            wait_for(lambda: can_evaluate(device)[1] not in (None, state), "the domain state to be another")


class Names:
    """Preloaded: the name service is not asked, and /etc/passwd is this file."""

    def __init__(self, directory):
        library, self.file = directory / "names.so", directory / "passwd"
        self.file.write_text("")
        source = pathlib.Path(__file__).resolve().parent / "names.c"
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
        self.environment = {"LD_PRELOAD": str(library), "NAMES_PASSWD": str(self.file)}


def the_owner_s_name_is_read_from_one_file():
    """DEC-061: no module of the system's name service runs in the enclave."""
    with Reader() as reader, with_reader(reader, boot=False) as device:
        names = Names(device.work)
        sensor = lambda: device.client("Device").GetStatus()["status"]["sensor"]
        with Daemons(device, enclave=names) as daemons:
            device.set_up(PASSCODE)
            reader.enroll(INDEX, "A")
            wait_for(lambda: sensor().get("problem") == "unknownOwner", "the problem")
            equal(can_evaluate(device), (-6, None), "the policy without a name")
            # The passcode is as good as before, and the device goes on without a boot.
            equal(can_evaluate(device, policy=2)[0], None, "the passcode's policy")
            names.file.write_text(f"{USER}:x:{os.getuid()}:0:::\n")
            wait_for(lambda: can_evaluate(device)[0] is None, "the policy with a name")
            state = can_evaluate(device)[1]
            daemons.restart()
            device.run("device", "unlock", input=f"{PASSCODE}\n")
            wait_for(lambda: can_evaluate(device) == (None, state), "the policy after a boot")
            equal(sensor()["areTemplatesRead"], True, "whether the templates are found by the name")
            with Prompts(device):
                evaluation = Evaluation(device)
                reader.touch("A")
                equal(evaluation.result()[0], None, "the evaluation")
            equal(daemons.children["touchstone-enclave"].poll(), None, "the enclave asked no name service")


def a_service_that_ended_is_not_started_to_be_asked():
    """As fprintd ends when nobody needs it: nobody enrols without it, and whoever exchanges files is seen."""
    with Reader() as reader, with_reader(reader) as device:
        device.set_up(PASSCODE)
        reader.enroll(INDEX, "A", device)
        state = can_evaluate(device)[1]
        reader.stop()
        # Nothing on this bus starts it: whoever tried would be refused.
        for _ in range(5):
            equal(can_evaluate(device), (None, state), "the policy without the service")
        (template,) = (path for path in reader.templates.rglob("*") if path.is_file())
        kept = template.read_bytes()
        template.write_bytes(kept + b"another")
        wait_for(lambda: can_evaluate(device) == (-6, None), "the policy with other files")
        template.write_bytes(kept)
        reader.start_fprintd()
        wait_for(lambda: can_evaluate(device) == (None, state), "the policy with the earlier service and files")


def templates_that_cannot_be_read_are_not_another_set():
    """AC-53: a link is not followed, which could lead anywhere."""
    with Reader() as reader, with_reader(reader) as device:
        device.set_up(PASSCODE)
        reader.enroll(INDEX, "A", device)
        state = can_evaluate(device)[1]
        (template,) = (path for path in reader.templates.rglob("*") if path.is_file())
        elsewhere = reader.work / "elsewhere"
        template.rename(elsewhere)
        template.symlink_to(elsewhere)
        wait_for(lambda: can_evaluate(device) == (-6, None), "the policy")
        equal(device.status["sensor"]["problem"], "templatesUnreadable", "the problem")
        check("cannot be read any more" in device.run("device", "status").stdout, "the problem in the status")
        elsewhere.rename(template)
        wait_for(lambda: can_evaluate(device) == (None, state), "the policy once it can be read")


def templates_that_are_exchanged_in_a_prompt_are_matched_then():
    with Reader() as reader, with_reader(reader) as device:
        device.set_up(PASSCODE)
        reader.enroll(INDEX, "A", device)
        with Prompts(device) as prompts:
            evaluation = Evaluation(device)
            reader.is_looking(prompts)
            (template,) = (path for path in reader.templates.rglob("*") if path.is_file())
            # Of a reader that is not there: fprintd does not look at it, and nobody can tell which of them was touched.
            other = template.parents[2] / "another" / "0" / template.name
            other.parent.mkdir(parents=True)
            other.write_bytes(b"another")

            def is_seen():
                reader.tell("SCAN A")
                return prompts.comes("show", 0.3, hint="scanAgain")

            wait_for(is_seen, "the exchange to be seen")

            def is_done():
                reader.tell("SCAN A")
                evaluation.thread.join(0.3)
                return evaluation.answer

            wait_for(is_done, "the evaluation")
            equal(evaluation.result()[0], None, "the evaluation")


main(
    forged_signals_are_nothing, who_does_not_wait_for_a_held_reader_has_the_passcode, a_flood_of_anybody_s_signals_takes_nobody_s_place, a_dead_bus_costs_no_time,
    a_late_verdict_is_nobodys, another_program_that_holds_the_reader_is_waited_for, a_reader_that_fails_is_tried_again,
    an_unplugged_reader_leaves_the_passcode, a_restarted_service_is_found_again,
    a_service_that_never_answers_keeps_nobody_waiting, a_hostile_service_is_survived,
    a_service_that_has_more_hints_than_ours_shows_them,
    without_the_templates_an_enrolment_that_is_heard_of_counts, an_enrolment_while_there_was_no_reader_counts,
    an_enrolment_by_who_holds_the_reader_counts_before_the_next_touch,
    an_enrolment_that_the_disk_does_not_take_is_told_again, the_owner_s_name_is_read_from_one_file, a_service_that_ended_is_not_started_to_be_asked,
    templates_that_cannot_be_read_are_not_another_set, templates_that_are_exchanged_in_a_prompt_are_matched_then)
