#!/usr/bin/env python3
"""Fingers on a real fprintd: what is enrolled, what matches, and what becomes of items when somebody enrols another finger."""

import os
import select
import socket
import subprocess
import threading
import time

from device import LONGEST_WAIT, Evaluation, call, check, equal, expect_error, main, wait_for
from enclave import BIOMETRY_ANY, BIOMETRY_CURRENT_SET, PRIVATE_KEY_USAGE, create_key, encode, new_context
from reader import Prompts, Reader, can_evaluate, next_state, with_reader

PASSCODE = "271828"
INDEX, THUMB = "right-index-finger", "left-thumb"


def a_finger_matches_and_another_does_not():
    with Reader() as reader, with_reader(reader) as device:
        device.set_up(PASSCODE)
        wait_for(lambda: can_evaluate(device) == (-7, None), "a policy with nothing enrolled")
        reader.enroll(INDEX, "A", device)
        code, state = can_evaluate(device)
        check(code is None and state, f"a policy with a finger: {code}, {state}")
        sensor = device.status["sensor"]
        equal(
            (sensor["kind"], sensor["name"], sensor["areTemplatesRead"], sensor.get("problem")),
            ("fprintd", "Virtual device for debugging", True, None), "the sensor")
        equal(device.client("Device").ListFingers()["fingers"], [INDEX], "the fingers")
        check("fprintd (Virtual device for debugging)" in device.run("device", "status").stdout, "the sensor in the status")
        check("[ok] sensor: Virtual device" in device.run("doctor").stdout, "the sensor in the doctor's report")
        with Prompts(device) as prompts:
            check(not reader.is_open, "nobody waits for a finger, so the reader is left alone")
            evaluation = Evaluation(device)
            prompts.until("show", phase="biometry", failures=0)
            reader.touch("B")
            prompts.until("show", phase="biometry", failures=1)
            reader.touch("A")
            equal(evaluation.result()[0], None, "the evaluation")
            prompts.until("succeeded")
            wait_for(lambda: not reader.is_open, "the reader to be left alone")
            evaluation = Evaluation(device)
            prompts.until("show", phase="biometry")
            wait_for(lambda: reader.is_open, "the reader to be claimed")
            evaluation.connection.shutdown(socket.SHUT_RDWR)
            prompts.until("dismissed")
            wait_for(lambda: not reader.is_open, "the reader to be left alone when the app is gone")


def nobody_presents_a_finger_by_message():
    with Reader() as reader, with_reader(reader) as device:
        device.set_up(PASSCODE)
        reader.enroll(INDEX, "A", device)
        client = device.client("Device")
        with Prompts(device) as prompts:
            evaluation = Evaluation(device)
            prompts.until("show", phase="biometry")
            for body in (
                lambda: client.PresentFinger(finger=INDEX), lambda: client.PresentFinger(finger=None),
                lambda: client.Enroll(finger="thumb"), lambda: client.RemoveFinger(finger=INDEX),
            ):
                expect_error("io.touchstone.Device.NotSimulated", body)
            check(evaluation.answer is None, "the evaluation goes on")
            reader.touch("A")
            equal(evaluation.result()[0], None, "the evaluation")
        result = device.touchstone("device", "enroll", "thumb")
        check(result.returncode != 0 and "or its sensor, is not simulated" in result.stderr, result.stderr)


def five_wrong_fingers_lock_the_reader_out():
    with Reader() as reader, with_reader(reader) as device:
        device.set_up(PASSCODE)
        reader.enroll(INDEX, "A", device)
        with Prompts(device) as prompts:
            for touches, code in ((3, -1), (2, -8)):
                wait_for(lambda: not reader.is_open, "the reader to be left alone")
                evaluation = Evaluation(device)
                for number in range(touches):
                    prompts.until("show", phase="biometry", failures=number)
                    reader.touch("B")
                equal(evaluation.result()[1].get("code"), code, f"after {touches} wrong fingers")
            equal(can_evaluate(device), (-8, None), "a policy that is locked out")
            wait_for(lambda: not reader.is_open, "the reader to be left alone")
            equal(Evaluation(device).result()[1].get("code"), -8, "another evaluation")
            check(not reader.is_open, "a finger would not help, so the reader is left alone")
            device.run("device", "unlock", input=f"{PASSCODE}\n")
            evaluation = Evaluation(device)
            prompts.until("show", phase="biometry", failures=0)
            reader.touch("A")
            equal(evaluation.result()[0], None, "the evaluation after the passcode")


def another_finger_ends_what_is_of_the_current_set():
    with Reader() as reader, with_reader(reader) as device:
        device.set_up(PASSCODE)
        reader.enroll(INDEX, "A", device)
        app = device.connect()
        anyone, _ = create_key(app, flags=PRIVATE_KEY_USAGE | BIOMETRY_ANY)
        current, _ = create_key(app, flags=PRIVATE_KEY_USAGE | BIOMETRY_CURRENT_SET)
        with Prompts(device) as prompts:

            def sign(key, finger, context=None):
                context = context or new_context(app)
                answers = []
                options = {"reason": "the test", "reuseDuration": 0.0, "interactionNotAllowed": False}
                asking = threading.Thread(target=lambda: answers.append(call(
                    app, "Key.Sign", key=key, data=encode(bytes(32)), context=context, options=options)))
                asking.start()
                if finger:
                    prompts.until("show", phase="biometry")
                    reader.is_looking(prompts)
                    reader.touch(finger)
                    prompts.until("succeeded")
                    wait_for(lambda: not reader.is_open, "the reader to be left alone")
                asking.join(LONGEST_WAIT)
                return answers[0][0]

            proven, states = new_context(app), [can_evaluate(device)[1]]
            for key in (anyone, current):
                equal(sign(key, "A"), None, "a signature before")
            equal(sign(current, "A", proven), None, "a signature before, in a context that is kept")
            equal(call(app, "Key.Sign", key=current, data=encode(bytes(32)), context=proven)[0], None, "another of it")

            reader.enroll(THUMB, "B")

            def is_invalidated():
                return call(app, "Key.Sign", key=current, data=encode(bytes(32)), context=proven)[0] == "io.touchstone.Key.Invalidated"

            # At once, and in a context that has proven the earlier finger. Who asks waits half a second for the look.
            started = time.monotonic()
            check(is_invalidated() or time.monotonic() - started >= 0.5, "a signature of the current set")
            wait_for(is_invalidated, "the key of the current set to be gone")
            states.append(next_state(device, *states))
            equal(sign(anyone, "B"), None, "a signature of any finger, with the new one")

            changed, _ = create_key(app, flags=PRIVATE_KEY_USAGE | BIOMETRY_CURRENT_SET)
            equal(sign(changed, "B"), None, "a signature of the set as it is now")
            reader.delete(THUMB)
            states.append(next_state(device, *states))
            equal(sign(changed, None), "io.touchstone.Key.Invalidated", "a signature after a finger was deleted")
            equal(sign(current, None), "io.touchstone.Key.Invalidated", "the old set does not come back")
            equal(sign(anyone, "A"), None, "a signature of any finger")

            last, _ = create_key(app, flags=PRIVATE_KEY_USAGE | BIOMETRY_CURRENT_SET)
            reader.enroll(INDEX, "C")
            states.append(next_state(device, *states))
            equal(sign(last, None), "io.touchstone.Key.Invalidated", "another finger under the same name")
            kept, _ = create_key(app, flags=PRIVATE_KEY_USAGE | BIOMETRY_CURRENT_SET)
        device.shutdown()
        device.boot()
        equal(can_evaluate(device)[1], None, "a domain state before the first unlock")
        device.run("device", "unlock", input=f"{PASSCODE}\n")
        state = wait_for(lambda: can_evaluate(device)[1], "the domain state after a boot")
        equal(state, states[-1], "the domain state after a boot without a change")
        device.shutdown()
        reader.enroll(THUMB, "D")
        device.boot()
        device.run("device", "unlock", input=f"{PASSCODE}\n")
        # Until the sensor has looked there is no biometry.
        wait_for(lambda: can_evaluate(device)[0] is None, "the policy after a boot")
        states.append(can_evaluate(device)[1])
        app = device.connect()
        equal(
            call(app, "Key.Sign", key=kept, data=encode(bytes(32)), context=new_context(app))[0],
            "io.touchstone.Key.Invalidated", "a change while the device was off")
        reader.delete()
        wait_for(lambda: can_evaluate(device) == (-7, None), "a policy with nothing enrolled")
        check(None not in states and len(set(states)) == len(states), f"every domain state is another: {states}")


def the_lock_screen_opens():
    with Reader() as reader, with_reader(reader) as device:
        device.set_up(PASSCODE)
        reader.enroll(INDEX, "A", device)
        item = {"class": {"string": "genp"}, "acct": {"string": "a"}, "pdmn": {"string": "ak"}}
        app = device.connect()
        equal(call(app, "Keychain.Add", attributes=item | {"v_Data": {"data": "YQ=="}})[0], None, "the item")

        def read():
            return call(app, "Keychain.CopyMatching", query=item | {"r_Data": {"boolean": True}})[0]

        device.run("device", "lock")
        equal(read(), "io.touchstone.Keychain.Failed", "the item behind the lock screen")
        reader.touch("B")
        wait_for(lambda: device.run("log", "show", "--json").stdout.count("not-matched") == 1, "the wrong finger to be counted")
        check(device.status["isLocked"], "the wrong finger opens nothing")
        reader.touch("A")
        wait_for(lambda: not device.status["isLocked"], "the lock screen to open")
        wait_for(lambda: read() is None, "the item to be there again")
        wait_for(lambda: not reader.is_open, "the reader to be left alone")
        # Only the passcode helps, so the reader is left alone: it is claimed next for the evaluation after that.
        reader.start("monitor", "dbus-monitor", "--system", "type='method_call',member='Claim'")
        claims = lambda: (reader.work / "monitor.log").read_text().count("member=Claim")
        wait_for(lambda: (reader.work / "monitor.log").read_text(), "the bus's monitor")
        device.run("device", "lock", "--require-passcode")
        device.run("device", "unlock", input=f"{PASSCODE}\n")
        with Prompts(device):
            evaluation = Evaluation(device)
            reader.touch("A")
            equal(evaluation.result()[0], None, "the evaluation")
        wait_for(claims, "the claim to be seen")
        equal(claims(), 1, "the claims")


def hints_are_shown_and_count_for_nothing():
    with Reader() as reader, with_reader(reader) as device:
        device.set_up(PASSCODE)
        reader.enroll(INDEX, "A", device)
        hints = ["scanAgain", "swipeTooShort", "fingerNotCentered", "removeAndRetry"]
        with Prompts(device) as prompts:
            evaluation = Evaluation(device)
            for number, hint in enumerate(hints):
                wait_for(lambda: reader.tell(f"RETRY {number}"), "the reader to be opened")
                prompts.until("show", hint=hint, failures=0)
                time.sleep(0.15)
            reader.touch("B")
            equal(prompts.until("show", failures=1).get("hint"), None, "the hint after a touch that was judged")
            reader.touch("A")
            equal(evaluation.result()[0], None, "the evaluation")
        ours, theirs = os.openpty()
        agent = subprocess.Popen(
            [device.programs / "touchstone", "agent"], env=device.environment | {"TERM": "dumb"}, stdin=theirs,
            stdout=theirs, stderr=theirs)
        shown = b""

        def shows(text):
            nonlocal shown
            while text not in shown:
                check(select.select([ours], [], [], LONGEST_WAIT)[0], f"{text} in the agent's terminal: {shown.decode()}")
                shown += os.read(ours, 65536)

        try:
            shows(b"ready")
            evaluation = Evaluation(device)
            shows(b"Touch the fingerprint sensor.")
            wait_for(lambda: reader.tell("RETRY 1"), "the reader to be opened")
            shows(b"Too short. Swipe the whole finger.")
            reader.touch("A")
            equal(evaluation.result()[0], None, "the evaluation")
        finally:
            agent.kill()
            agent.wait()
            os.close(ours)
            os.close(theirs)


main(
    a_finger_matches_and_another_does_not, nobody_presents_a_finger_by_message, five_wrong_fingers_lock_the_reader_out,
    another_finger_ends_what_is_of_the_current_set, the_lock_screen_opens, hints_are_shown_and_count_for_nothing)
