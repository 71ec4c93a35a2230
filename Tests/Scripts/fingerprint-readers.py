#!/usr/bin/env python3
"""Two fingerprint readers: the one that the enrolled fingers are of is the device's, whichever fprintd calls its default (DEC-062)."""

import socket

from device import LONGEST_WAIT, Device, Evaluation, call, check, equal, main, wait_for
from enclave import BIOMETRY_CURRENT_SET, PRIVATE_KEY_USAGE, create_key, encode, new_context
from reader import Prompts, Reader, can_evaluate, with_reader

PASSCODE = "271828"
INDEX, THUMB = "right-index-finger", "left-thumb"
OTHER = "Virtual device with storage and identification for debugging"


def current_set_key(device):
    """Whether the key that is made by this is still there, as a function."""
    app = device.connect()
    key, _ = create_key(app, flags=PRIVATE_KEY_USAGE | BIOMETRY_CURRENT_SET)

    def is_there():
        app = device.connect()
        error, reply = call(app, "Key.Sign", key=key, data=encode(bytes(32)), context=new_context(app))
        wants_proof = error == "io.touchstone.Key.Failed" and reply["reason"] == "interactionForbidden"
        check(wants_proof or error == "io.touchstone.Key.Invalidated", f"the answer {error}")
        return wants_proof

    check(is_there(), "the key that was made")
    return is_there


def replug(reader, *readers):
    reader.stop()
    reader.start_fprintd(*readers)


def another_reader_in_its_place_ends_nothing():
    with Reader() as reader, with_reader(reader) as device:
        device.set_up(PASSCODE)
        reader.enroll(INDEX, "A", device)
        state, is_there = can_evaluate(device)[1], current_set_key(device)
        for is_booted in (False, True):
            replug(reader, "other")
            if is_booted:
                device.shutdown()
                device.boot()
                device.run("device", "unlock", input=f"{PASSCODE}\n")
            wait_for(lambda: can_evaluate(device) == (-6, None), "the policy with another reader")
            wait_for(lambda: device.status["sensor"].get("problem") == "otherReader", "the problem")
            check("plug that one in" in device.run("device", "status").stdout, "what to do in the status")
            check("enrolled on another reader" in device.run("doctor", status=1).stdout, "the doctor's report")
            check(is_there(), "the key of the current set with another reader")
            # The passcode is as good as before.
            with Prompts(device) as prompts:
                evaluation = Evaluation(device, policy=2)
                prompts.until("show", phase="passcode")
                evaluation.connection.shutdown(socket.SHUT_RDWR)
                prompts.until("dismissed")
                equal(Evaluation(device).result()[1].get("code"), -6, "the evaluation that wants a finger")
            replug(reader, "reader")
            wait_for(lambda: can_evaluate(device) == (None, state), "the policy with the earlier reader")
            check(is_there(), "the key once it is back")


def of_two_readers_the_known_one_is_used():
    with Reader() as reader, with_reader(reader) as device:
        device.set_up(PASSCODE)
        reader.enroll(INDEX, "A", device)
        state, is_there = can_evaluate(device)[1], current_set_key(device)
        replug(reader, "reader", "other")
        devices = reader.gdbus(
            "net.reactivated.Fprint", "/net/reactivated/Fprint/Manager", "net.reactivated.Fprint.Manager.GetDevices")
        equal(devices.count("/net/reactivated/Fprint/Device/"), 2, f"the readers: {devices}")
        default = reader.gdbus(
            "net.reactivated.Fprint", reader.path(), "org.freedesktop.DBus.Properties.Get", "net.reactivated.Fprint.Device",
            "name")
        # Else this test would show nothing.
        check(OTHER in default, f"the other one is fprintd's default: {default}")
        wait_for(lambda: can_evaluate(device) == (None, state), "the policy with both")
        equal(device.status["sensor"]["name"], "Virtual device for debugging", "the reader")
        check(is_there(), "the key with both")
        with Prompts(device):
            evaluation = Evaluation(device)
            reader.touch("A")
            equal(evaluation.result()[0], None, "the evaluation")


def the_passcode_moves_to_another_reader():
    with Reader() as reader, with_reader(reader) as device:
        device.set_up(PASSCODE)
        reader.enroll(INDEX, "A", device)
        state, is_there = can_evaluate(device)[1], current_set_key(device)
        replug(reader, "other")
        wait_for(lambda: device.status["sensor"].get("problem") == "otherReader", "the problem")
        refused = device.touchstone("device", "sensor", "forget", input="314159\n")
        check(refused.returncode != 0 and "passcode" in refused.stderr, refused.stderr)
        equal(device.status["sensor"].get("problem"), "otherReader", "the problem after a wrong passcode")
        check(is_there(), "the key after a wrong passcode")
        device.run("device", "sensor", "forget", input=f"{PASSCODE}\n")
        check(not is_there(), "the key of the set that is forgotten")
        wait_for(lambda: can_evaluate(device) == (-7, None), "the policy with nothing enrolled")
        wait_for(lambda: device.status["sensor"]["name"] == OTHER[:64], "the other reader's name")
        enroll_there(reader)
        wait_for(lambda: can_evaluate(device)[0] is None, "the policy with the other reader")
        check(can_evaluate(device)[1] != state, "the domain state is another")
        # And now the first one is the stranger.
        replug(reader, "reader")
        wait_for(lambda: device.status["sensor"].get("problem") == "otherReader", "the problem with the first reader")


def a_device_takes_a_reader_later():
    with Reader() as reader, Device(biometry="none") as device:
        device.set_up(PASSCODE)
        add = "device", "sensor", "add", "fprintd", "--bus", reader.bus, "--templates", reader.templates
        refused = device.touchstone(*map(str, add), input="314159\n")
        check(refused.returncode != 0 and "passcode" in refused.stderr, refused.stderr)
        check("sensor" not in device.status, "a sensor after a wrong passcode")
        device.run(*map(str, add), input=f"{PASSCODE}\n")
        wait_for(lambda: can_evaluate(device) == (-7, None), "the policy with nothing enrolled")
        refused = device.touchstone(*map(str, add), input=f"{PASSCODE}\n")
        check(refused.returncode != 0 and "already has a sensor" in refused.stderr, refused.stderr)
        reader.enroll(INDEX, "A", device)
        with Prompts(device):
            evaluation = Evaluation(device)
            reader.touch("A")
            equal(evaluation.result()[0], None, "the evaluation")
        # And after a restart.
        device.run("device", "reboot", "--wait", str(LONGEST_WAIT))
        device.run("device", "unlock", input=f"{PASSCODE}\n")
        wait_for(lambda: can_evaluate(device)[0] is None, "the policy after a restart")


def enroll_there(reader):
    """Enrols a finger with the other reader, which is the only one."""
    reader.device = reader.other
    try:
        reader.enroll(THUMB, "B")
    finally:
        reader.device = reader.work / "reader"


main(
    another_reader_in_its_place_ends_nothing, of_two_readers_the_known_one_is_used, the_passcode_moves_to_another_reader,
    a_device_takes_a_reader_later)
