#!/usr/bin/env python3
"""A PAM service as a sensor: what it recognises, what it opens, and what a module can do to anybody by hanging, crashing or leaving."""

import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from device import LONGEST_WAIT, PROGRAMS, Device, Evaluation, call, check, equal, is_alive, main, wait_for
from enclave import BIOMETRY_ANY, BIOMETRY_CURRENT_SET, PRIVATE_KEY_USAGE, create_key, encode, new_context
from reader import Prompts, can_evaluate

PASSCODE = "271828"
USER_PRESENCE = 1 << 0
HERE = pathlib.Path(__file__).resolve().parent
MATRIX = next(pathlib.Path("/usr/lib").glob("*/pam_wrapper/pam_matrix.so"), None)
if not MATRIX:
    sys.exit("pam_matrix.so is not there: run script/install-packages test")


class Service:
    """A PAM service whose one module does what it is told."""

    def __init__(self):
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="touchstone-pam."))
        self.told, self.directory = self.work / "told", self.work / "pam.d"
        self.directory.mkdir()
        module = self.work / "pam_told.so"
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", module, HERE / "pam_told.c", "-lpam"], check=True)
        (self.directory / "camera").write_text(f"auth required {module} {self.told}\n")
        (self.directory / "other").write_text(f"auth required {module} {self.work / 'nothing'}\n")
        self.tell("no match")

    def tell(self, what):
        new = self.told.with_suffix(".new")
        new.write_text(what + "\n")
        new.rename(self.told)

    @property
    def runs(self):
        """How often the module was asked."""
        with contextlib.suppress(FileNotFoundError):
            return self.told.with_name("told.runs").stat().st_size
        return 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.work, ignore_errors=True)

    def device(self, *options, **device):
        return Device(create=("--sensor", "pam:camera", "--services", str(self.directory), *options), **device)


def helpers(service):
    """The process ids of the helpers that ask this service, and of what they left."""
    found = []
    for directory in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            line = (directory / "cmdline").read_bytes().split(b"\0")
            is_helper = line[0].endswith(b"touchstone-pam-verify") and bytes(service.directory) in line
            if (is_helper or line[:2] == [bytes(service.told), b"987"]) and is_alive(int(directory.name)):
                found.append(int(directory.name))
    return found


def it_is_as_good_as_the_passcode_where_either_will_do():
    with Service() as service, service.device() as device:
        device.set_up(PASSCODE)
        equal(can_evaluate(device, policy=1), (-6, None), "biometry, which it is not taken for")
        equal(can_evaluate(device, policy=2)[0], None, "biometry or the passcode")
        sensor = device.status["sensor"]
        equal((sensor["kind"], sensor["name"], sensor["isWeak"]), ("pam", "camera", True), "the sensor")
        check("[!!] sensor: weak" in device.run("doctor").stdout, "the sensor in the doctor's report")
        app = device.connect()
        for flags in (BIOMETRY_ANY, BIOMETRY_CURRENT_SET):
            error, reply = call(
                app, "Key.Create", kind="p256", accessControl={"protection": "aku", "flags": PRIVATE_KEY_USAGE | flags})
            equal((error, reply.get("status")), ("io.touchstone.Key.Failed", -25293), f"a key with the flags {flags}")
        either, _ = create_key(app, flags=PRIVATE_KEY_USAGE | USER_PRESENCE)
        with Prompts(device) as prompts:
            evaluation = Evaluation(device, policy=1)
            equal(evaluation.result()[1].get("code"), -6, "an evaluation of biometry alone")
            service.tell("no match once")
            evaluation = Evaluation(device, policy=2)
            prompts.until("show", phase="biometry", failures=1)
            service.tell("match")
            equal(evaluation.result()[0], None, "an evaluation of either")
            context = new_context(app)
            options = {"reason": "the test", "reuseDuration": 0.0, "interactionNotAllowed": False}
            signed = call(app, "Key.Sign", key=either, data=encode(bytes(32)), context=context, options=options)
            equal(signed[0], None, "the signature with a key of either")
            # Nobody is watched for at the lock screen: what is asked next is asked for the evaluation after it.
            runs = service.runs
            device.run("device", "lock")
            check(device.status["isLocked"], "the lock screen stays")
            device.run("device", "unlock", input=f"{PASSCODE}\n")
            equal(Evaluation(device, policy=2).result()[0], None, "an evaluation after it")
            equal(service.runs, runs + 1, "how often the module was asked")


def with_the_owners_leave_it_is_taken_for_biometry_and_never_for_the_set():
    with Service() as service, service.device("--allow", "biometry-any") as device:
        device.set_up(PASSCODE)
        service.tell("match")
        equal(can_evaluate(device, policy=1)[0], None, "biometry")
        app = device.connect()
        create_key(app, flags=PRIVATE_KEY_USAGE | BIOMETRY_ANY)
        control = {"protection": "aku", "flags": PRIVATE_KEY_USAGE | BIOMETRY_CURRENT_SET}
        equal(call(app, "Key.Create", kind="p256", accessControl=control)[1].get("status"), -25293, "a key of the current set")
        with Prompts(device):
            equal(Evaluation(device, policy=1).result()[0], None, "an evaluation of biometry")
            # And what does not match is counted as with any other.
            service.tell("no match")
            equal(Evaluation(device, policy=1).result()[1].get("code"), -1, "an evaluation after three")
            equal(Evaluation(device, policy=1).result()[1].get("code"), -8, "an evaluation after five")
            equal(can_evaluate(device, policy=1)[0], -8, "the policy that is locked out")


def a_module_that_misbehaves_recognises_nobody_and_hurts_nobody():
    with Service() as service, service.device() as device:
        device.set_up(PASSCODE)
        for what in ("exit", "crash", "print", "ask", "unavailable", "nothing that it knows"):
            service.tell(what)
            enclave = device.daemons["touchstone-enclave"]
            with Prompts(device) as prompts:
                evaluation = Evaluation(device, policy=2)
                prompt = prompts.until("show", phase="passcode")
                equal(prompt["failures"], 0, f"the failures of a module told {what}")
                check(evaluation.answer is None, f"a module told {what} recognises nobody")
                evaluation.connection.shutdown(socket.SHUT_RDWR)
                prompts.until("dismissed")
                wait_for(lambda: not helpers(service), f"the helper to be gone after {what}")
                # Not at the next look alone.
                for _ in range(2):
                    equal(device.status["sensor"].get("problem"), "notAnswering", f"the problem of a module told {what}")
            equal(device.daemons["touchstone-enclave"], enclave, "the enclave is the one it was")
            # It is asked again after a minute, or a boot.
            device.shutdown()
            device.boot()
            device.run("device", "unlock", input=f"{PASSCODE}\n")
        service.tell("match")
        with Prompts(device):
            equal(Evaluation(device, policy=2).result()[0], None, "the evaluation once it behaves")


def a_module_that_hangs_is_ended_when_nobody_waits_for_it():
    with Service() as service, service.device() as device:
        device.set_up(PASSCODE)
        service.tell("hang")
        with Prompts(device) as prompts:
            evaluation = Evaluation(device, policy=2)
            prompts.until("show", phase="biometry")
            wait_for(lambda: len(helpers(service)) == 2, "the helper and its child to hang")
            started = time.monotonic()
            check(device.status["hasPrompt"], "the device answers meanwhile")
            check(time.monotonic() - started < 20, "and at once")
            evaluation.connection.shutdown(socket.SHUT_RDWR)
            prompts.until("dismissed")
            wait_for(lambda: not helpers(service), "the helper and its child to be gone")
            # Nor does it outlive the enclave.
            evaluation = Evaluation(device, policy=2)
            wait_for(lambda: helpers(service), "the helper to hang")
            helper = helpers(service)
            os.kill(device.daemons["touchstone-enclave"], signal.SIGKILL)
            wait_for(lambda: helper[0] not in helpers(service) or helper[-1] not in helpers(service), "the helper to be gone")
        for pid in helpers(service):
            os.kill(pid, signal.SIGKILL)


def a_helper_whose_enclave_is_gone_asks_no_module():
    """The enclave can end before its helper has asked the kernel for a signal of that."""
    with Service() as service:
        ours, theirs = socket.socketpair()
        ours.close()
        with theirs:
            helper = subprocess.run(
                ["bash", "-c", f'exec "$@" 3<&{theirs.fileno()}', "bash", PROGRAMS / "touchstone-pam-verify", "camera", "root", service.directory],
                pass_fds=[theirs.fileno()], timeout=LONGEST_WAIT)
        equal((helper.returncode, service.runs), (1, 0), "its status, and how often the module was asked")


def messages_are_hints():
    with Service() as service, service.device() as device:
        device.set_up(PASSCODE)
        service.tell("message")
        with Prompts(device) as prompts:
            evaluation = Evaluation(device, policy=2)
            equal(prompts.until("show", hint="scanAgain")["failures"], 0, "the failures")
            service.told.unlink()
            prompts.until("show", failures=1)
            service.tell("match")
            equal(evaluation.result()[0], None, "the evaluation")


def a_service_that_wants_a_password_gets_none():
    """The real module pam_matrix, which asks for one, and which matches whoever has it."""
    with Service() as service:
        passwords = service.work / "passwords"
        passwords.write_text(f"{os.environ.get('USER') or 'root'}:{PASSCODE}:camera\n")
        (service.directory / "camera").write_text(f"auth required {MATRIX} passdb={passwords} verbose\n")
        with service.device() as device:
            device.set_up(PASSCODE)
            with Prompts(device) as prompts:
                evaluation = Evaluation(device, policy=2)
                equal(prompts.until("show", phase="passcode")["failures"], 0, "the failures")
                check(evaluation.answer is None, "nobody is recognised")


def a_program_as_a_module_recognises_or_does_not():
    """The real module pam_exec, by which a program that looks through a camera says what it saw."""
    with Service() as service:
        program = service.work / "look"
        # The first time it is no match. Then it waits until the test says what to see.
        program.write_text(
            f"#!/bin/sh\nmkdir {service.work}/asked 2>/dev/null && exit 1\n"
            f"for pause in $(seq 100); do grep -q ^match {service.told} && exit; sleep 0.1; done\nexit 1\n")
        program.chmod(0o755)
        (service.directory / "camera").write_text(
            f"auth sufficient pam_exec.so quiet {program}\nauth required pam_deny.so\n")
        with service.device() as device:
            device.set_up(PASSCODE)
            with Prompts(device) as prompts:
                evaluation = Evaluation(device, policy=2)
                prompts.until("show", phase="biometry", failures=1)
                service.tell("match")
                equal(evaluation.result()[0], None, "the evaluation")


def a_service_that_is_not_there_is_none():
    with Service() as service, service.device() as device:
        device.set_up(PASSCODE)
        (service.directory / "camera").unlink()
        equal(device.status["sensor"]["problem"], "noService", "the problem")
        with Prompts(device) as prompts:
            _asks = Evaluation(device, policy=2)
            prompts.until("show", phase="passcode")
            check(not helpers(service), "nothing is started")


def names_that_are_paths_are_refused():
    for name in ("../passwd", "/etc/passwd", "", "a b", ".hidden"):
        device = Device(boot=False)
        try:
            result = device.touchstone("device", "create", "test", "--sensor", f"pam:{name}")
            check(result.returncode != 0 and not device.state.exists(), f"a device with the service {name!r}")
        finally:
            device.clean_up()


main(
    it_is_as_good_as_the_passcode_where_either_will_do,
    with_the_owners_leave_it_is_taken_for_biometry_and_never_for_the_set,
    a_module_that_misbehaves_recognises_nobody_and_hurts_nobody, a_module_that_hangs_is_ended_when_nobody_waits_for_it,
    a_helper_whose_enclave_is_gone_asks_no_module, messages_are_hints, a_service_that_wants_a_password_gets_none,
    a_program_as_a_module_recognises_or_does_not, a_service_that_is_not_there_is_none,
    names_that_are_paths_are_refused)
