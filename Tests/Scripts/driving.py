#!/usr/bin/env python3
"""Only a device created as simulated can be driven, and nothing makes one of a real one later."""

import os
import subprocess
import tempfile

from device import LONGEST_WAIT, PROGRAMS, REPOSITORY, Device, call, check, equal, main

ENCLAVE = str(PROGRAMS / "touchstone-enclave")


def enclave(*arguments):
    return subprocess.run([ENCLAVE, *arguments], capture_output=True, text=True, timeout=LONGEST_WAIT, stdin=subprocess.DEVNULL)


def usage(*arguments):
    result = enclave(*arguments)
    equal(result.returncode, 64, f"touchstone-enclave {' '.join(arguments)}: exit status")
    check("Usage: touchstone-enclave" in result.stderr, result.stderr)


def a_device_is_created_as_simulated_or_not_at_all():
    with tempfile.TemporaryDirectory() as directory:
        usage("create", "--state", directory, "--biometry", "touchid")
        usage("create", "--state", directory, "--simulated")
        usage("create", "--state", directory, "--simulated", "--biometry", "retina")
        usage("create", "--simulated", "--biometry", "touchid")
        usage("create", "--state", directory, "--simulated=true", "--biometry", "touchid")
        usage("create", "--state", directory, "--real", "--biometry", "touchid")
        usage("create")
        usage()
        equal(os.listdir(directory), [], "what was written")


def no_option_of_run_is_about_it():
    with Device(boot=False) as device:
        state = str(device.state / "enclave")
        before = (device.state / "enclave/state").read_bytes()
        for options in (
            ["--simulated"], ["--simulated", "true"], ["--simulated=false"], ["--no-simulated"], ["--biometry", "touchid"],
            ["--real"],
        ):
            usage("run", "--state", state, *options)
        for options in (["--simulated", "yes"], ["--simulated", ""]):
            result = subprocess.run(
                [str(PROGRAMS / "touchstoned"), "--device", "test", "--state", str(device.state), "--socket",
                 str(device.work / "s"), "--enclave-calls-fd", "3", "--enclave-events-fd", "4", *options],
                capture_output=True, text=True, timeout=LONGEST_WAIT)
            equal(result.returncode, 64, "touchstoned with --simulated: exit status")
        equal((device.state / "enclave/state").read_bytes(), before, "the state")


def an_existing_device_is_not_created_again():
    with Device(boot=False) as device:
        files = {file: file.read_bytes() for file in (device.state / "enclave").iterdir()}
        result = enclave("create", "--state", str(device.state / "enclave"), "--simulated", "--biometry", "none")
        equal(result.returncode, 78, "exit status")
        check("already exists" in result.stderr, result.stderr)
        equal({file: file.read_bytes() for file in (device.state / "enclave").iterdir()}, files, "its files")


def no_message_makes_a_device_simulated():
    with Device() as device:
        equal(device.status["isSimulated"], True, "it says what it is")
        # No method takes it, and a parameter that is not the method's changes nothing.
        connection = device.connect()
        for name in ("Keychain", "Device", "Authentication", "Agent"):
            file = next(REPOSITORY.glob(f"Sources/*/io.touchstone.{name}.varlink"))
            for line in file.read_text().splitlines():
                if line.startswith("method"):
                    check("imulated" not in line, f"{name}: {line}")
        error, reply = call(connection, "Device.GetStatus", isSimulated=False)
        equal((error, reply["status"]["isSimulated"]), (None, True), "GetStatus")


main(
    a_device_is_created_as_simulated_or_not_at_all, no_option_of_run_is_about_it,
    an_existing_device_is_not_created_again, no_message_makes_a_device_simulated)
