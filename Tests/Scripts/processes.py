#!/usr/bin/env python3
"""The two daemons and their supervisor: what happens when one ends, and what none of them starts with."""

import contextlib
import os
import signal
import subprocess
import sys
import time

from device import LONGEST_WAIT, PROGRAMS, Device, Evaluation, call, check, confirm, equal, is_alive, main, wait_for

# Of a device that does not answer, in seconds.
SILENCE = 6.0


def waiting_evaluation(device):
    """An agent that shows the prompt of an app that waits."""
    events = device.client("Agent").Subscribe(_more=True)
    equal(next(events)["event"], "ready", "the agent's first event")
    evaluation = Evaluation(device)
    equal(next(events)["event"], "show", "the prompt")
    return events, evaluation


def a_killed_daemon_is_noticed_and_replaced(program):
    with Device() as device:
        device.set_up("271828", "thumb")
        before = device.daemons
        equal(sorted(before), ["touchstone-enclave", "touchstoned"], "the daemons")
        events, evaluation = waiting_evaluation(device)
        killed = time.monotonic()
        os.kill(before[program], signal.SIGKILL)
        error, _ = evaluation.result()
        check(error is not None, "the caller that waits hears of it")
        check(evaluation.ended - killed < 30, f"{evaluation.ended - killed:.2f} s until the caller heard of it")
        status = wait_for(
            lambda: sorted(device.daemons) == sorted(before) and not set(device.daemons.values()) & set(before.values())
            and device.status, "both daemons to be there again")
        device.processes += device.daemons.values()
        check(not is_alive(before["touchstoned"]) and not is_alive(before["touchstone-enclave"]), "both old ones are gone")
        # To the device it is a reboot: what was set up is there, and it wants its passcode.
        equal((status["isPasscodeSet"], status["isEnrolled"], status["isLocked"]), (True, True, True), "the device")
        check(program in device.log, f"the log names {program}")


def a_killed_enclave_is_noticed_and_replaced():
    a_killed_daemon_is_noticed_and_replaced("touchstone-enclave")


def a_killed_touchstoned_is_noticed_and_replaced():
    a_killed_daemon_is_noticed_and_replaced("touchstoned")


def a_device_that_answered_is_never_given_up():
    """Killed as soon as it answers, more often than the failed starts after which a device is given up."""
    with Device() as device:
        device.set_up()
        for _ in range(6):
            before = device.daemons
            for pid in before.values():
                # The supervisor ends the second one itself if it is quicker.
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            wait_for(
                lambda: len(device.daemons) == 2 and not set(device.daemons.values()) & set(before.values()) and device.status,
                "the device to answer again")
            device.processes += device.daemons.values()


def daemons_that_hang_are_replaced():
    with Device(boot=False) as device:
        device.run("device", "boot", device.name, "--detach", "--silence", str(SILENCE))
        device.set_up("271828", "thumb")
        for program in ("touchstoned", "touchstone-enclave"):
            before = device.daemons
            device.processes += [device.supervisor, *before.values()]
            # For longer than the silence that is allowed: those that answer are left alone.
            time.sleep(SILENCE + 2)
            equal(device.daemons, before, "the daemons of a device that answers")
            stopped = time.monotonic()
            os.kill(before[program], signal.SIGSTOP)
            wait_for(
                lambda: len(device.daemons) == 2 and not set(device.daemons.values()) & set(before.values()),
                f"both daemons to be replaced when {program} hangs")
            took = time.monotonic() - stopped
            print(f"  {program}: {took:.1f} s")
            check(SILENCE / 2 < took < LONGEST_WAIT, f"{took:.1f} s until a daemon that hangs was replaced")
            status = wait_for(lambda: device.status, "the device to answer")
            equal((status["isPasscodeSet"], status["isLocked"]), (True, True), "the device")
            check(not any(is_alive(pid) for pid in before.values()), "both old ones are gone")
        check(device.log.count(f"has not answered for {SILENCE:g} s") == 2, device.log)
        device.processes += device.daemons.values()


def a_stopped_supervisor_finds_nobody_hung():
    with Device(boot=False) as device:
        device.run("device", "boot", device.name, "--detach", "--silence", str(SILENCE))
        before = device.daemons
        os.kill(device.supervisor, signal.SIGSTOP)
        # As a laptop that sleeps: nobody asked, so nobody was silent.
        time.sleep(SILENCE + 2)
        os.kill(device.supervisor, signal.SIGCONT)
        time.sleep(1)
        equal(device.daemons, before, "the daemons")


def an_unprotected_read_goes_on_beside_a_prompt():
    with Device() as device:
        device.set_up("271828", "thumb")
        named = {"class": {"string": "genp"}, "acct": {"string": "a"}}
        app = device.connect()
        equal(call(app, "Keychain.Add", attributes=named | {"v_Data": {"data": "YQ=="}})[0], None, "the addition")
        waiting_evaluation_of_another = waiting_evaluation(device)
        error, reply = call(app, "Keychain.CopyMatching", query=named | {"r_Data": {"boolean": True}})
        equal((error, reply["items"][0]["data"]), (None, "YQ=="), "the read")
        waiting_evaluation_of_another[1].connection.close()


def a_vanished_app_takes_its_prompt_down():
    with Device() as device:
        device.set_up("271828", "thumb")
        events, evaluation = waiting_evaluation(device)
        evaluation.connection.shutdown(2)
        equal(next(events)["event"], "dismissed", "the prompt")
        evaluation = Evaluation(device)
        equal(confirm(device, next(events))["event"], "show", "the next app's prompt")
        device.client("Device").PresentFinger(finger="thumb")
        equal(evaluation.result()[0], None, "the next app's evaluation")


def a_vanished_agent_ends_the_evaluation():
    with Device() as device:
        device.set_up("271828", "thumb")
        agent = subprocess.Popen(
            [sys.executable, "-c", f"import sys; sys.path[:0] = {sys.path[:2]!r}; import varlink\n"
             f"events = varlink.Client(address='unix:{device.socket}').open('io.touchstone.Agent').Subscribe(_more=True)\n"
             "for event in events: print(event['event'], flush=True)"], stdout=subprocess.PIPE, text=True)
        equal(agent.stdout.readline(), "ready\n", "the agent's first event")
        evaluation = Evaluation(device)
        equal(agent.stdout.readline(), "show\n", "the prompt")
        agent.kill()
        agent.wait()
        error, parameters = evaluation.result()
        equal((error, parameters["code"]), ("io.touchstone.Authentication.Failed", -4), "the evaluation")
        error, parameters = Evaluation(device).result()
        equal((error, parameters["code"]), ("io.touchstone.Authentication.Failed", -1004), "the next, without an agent")


def a_terminated_supervisor_stops_both_and_exits_with_0():
    with Device(boot=False) as device:
        supervisor = subprocess.Popen(
            [str(PROGRAMS / "touchstone"), "device", "boot", device.name], env=device.environment,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        device.processes.append(supervisor.pid)
        equal(supervisor.stdout.readline(), f"{device.name} is ready\n", "the one line when it answers")
        daemons = device.daemons
        device.processes += daemons.values()
        supervisor.send_signal(signal.SIGTERM)
        equal(supervisor.wait(LONGEST_WAIT), 0, "the supervisor's exit status")
        for program, pid in daemons.items():
            check(not is_alive(pid), f"{program} is gone")
        check(not device.socket.exists(), "the socket is gone")
        check(not (device.runtime / "supervisor.pid").exists(), "the lock is gone")
        equal(device.touchstone("device", "status", device.name).returncode, 69, "the status of a device that is off")


def a_killed_supervisor_takes_the_daemons_with_it():
    with Device() as device:
        daemons = device.daemons
        os.kill(device.supervisor, signal.SIGKILL)
        wait_for(lambda: not any(is_alive(pid) for pid in daemons.values()), "both daemons to end")
        # What is left behind is not an obstacle.
        device.boot()
        check(device.status, "the device answers again")


def a_second_boot_is_refused():
    with Device() as device:
        daemons = device.daemons
        result = device.run("device", "boot", device.name, "--detach", status=1)
        check("already booted" in result.stderr, result.stderr)
        equal(device.daemons, daemons, "the daemons of the first boot")
        check(device.status, "the device answers")


def refused(device, words):
    result = device.run("device", "boot", device.name, "--detach", status=78)
    for word in words:
        check(word in result.stderr, f"{word!r} in: {result.stderr}")
    check(not device.socket.exists(), "nobody serves")


def state_that_others_can_read_is_refused():
    with Device() as device:
        device.set_up()
        device.shutdown()
        for place, mode in (
            ("enclave", 0o755), ("enclave", 0o770), ("enclave/root.key", 0o644), ("enclave/state", 0o640),
            ("keychain", 0o755), ("keychain/keychain.db", 0o644), ("", 0o755),
        ):
            path = device.state / place
            right = path.stat().st_mode & 0o7777
            path.chmod(mode)
            refused(device, [str(path), "can be read by others"])
            equal(path.stat().st_mode & 0o7777, mode, "the mode is the person's to change")
            path.chmod(right)
        device.boot()
        check(device.status["isPasscodeSet"], "all is well with the modes as they were")


def a_state_file_that_was_changed_is_refused_and_left_alone():
    with Device() as device:
        device.set_up()
        device.shutdown()
        file = device.state / "enclave/state"
        original = file.read_bytes()
        middle = len(original) // 2
        for what, bytes in (
            ("one bit", original[:middle] + bytes_of(original[middle] ^ 1) + original[middle + 1:]),
            ("its end cut off", original[:-1]), ("nothing", b""), ("something else", b"nonsense" * 100),
            ("something behind it", original + b"\0"),
        ):
            file.write_bytes(bytes)
            refused(device, ["state"])
            equal(file.read_bytes(), bytes, f"the state file with {what} is left as it is")
        key = (device.state / "enclave/root.key").read_bytes()
        file.write_bytes(original)
        (device.state / "enclave/root.key").write_bytes(key[::-1])
        refused(device, ["state"])
        (device.state / "enclave/root.key").write_bytes(key)
        device.boot()
        check(device.status["isPasscodeSet"], "with the original all is as it was")


def bytes_of(number):
    return bytes([number])


main(
    a_killed_enclave_is_noticed_and_replaced, a_killed_touchstoned_is_noticed_and_replaced, a_device_that_answered_is_never_given_up,
    daemons_that_hang_are_replaced, a_stopped_supervisor_finds_nobody_hung,
    an_unprotected_read_goes_on_beside_a_prompt, a_vanished_app_takes_its_prompt_down,
    a_vanished_agent_ends_the_evaluation, a_terminated_supervisor_stops_both_and_exits_with_0,
    a_killed_supervisor_takes_the_daemons_with_it, a_second_boot_is_refused, state_that_others_can_read_is_refused,
    a_state_file_that_was_changed_is_refused_and_left_alone)
