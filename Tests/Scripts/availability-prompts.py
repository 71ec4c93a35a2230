#!/usr/bin/env python3
"""Programs that want the owner's finger, eyes or patience for themselves: others' prompts stay up, and an unlock lasts."""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading

from device import Device, Evaluation, check, confirm, equal, main, wait_for

import varlink

PASSCODE = "271828"
# Evaluates once a second, each time on another connection, and tells each answer. The argument is the socket.
GREEDY = """
import json, socket, sys, threading, time

def call(connection, method, **parameters):
    connection.sendall(json.dumps({"method": "io.touchstone.Authentication." + method, "parameters": parameters}).encode() + b"\\0")
    reply = b""
    while not reply.endswith(b"\\0"):
        chunk = connection.recv(65536)
        if not chunk:
            sys.exit()
        reply += chunk
    return json.loads(reply[:-1]).get("parameters", {})

def ask():
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(sys.argv[1])
    context = call(connection, "CreateContext")["context"]
    options = {"reason": "give me the finger", "reuseDuration": 0.0, "interactionNotAllowed": False}
    answer = call(connection, "EvaluatePolicy", context=context, policy=1, options=options)
    print(json.dumps({"code": answer.get("code"), "reason": answer.get("reason")}), flush=True)

while True:
    threading.Thread(target=ask, daemon=True).start()
    time.sleep(1)
"""


class Greedy:
    """Another app: a program of its own, which asks without end."""

    def __init__(self, device):
        self.program = device.work / "greedy"
        if not self.program.exists():
            shutil.copy(os.path.realpath("/usr/bin/python3"), self.program)
        self.process = subprocess.Popen(
            [self.program, "-I", "-c", GREEDY, str(device.socket)], stdout=subprocess.PIPE, text=True)
        self.answers = []
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.answers.append(json.loads(line))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


class Prompts:
    """An agent whose owner sees every prompt, and keeps what came of each."""

    def __init__(self, device):
        self.device, self.events = device, []
        stream = device.client("Agent").Subscribe(_more=True)
        equal(next(stream)["event"], "ready", "the agent's first event")
        threading.Thread(target=self.read, args=(stream,), daemon=True).start()

    def read(self, stream):
        # Until the device is gone.
        with contextlib.suppress(Exception):
            for event in stream:
                self.events.append(event)
                if event["event"] == "show":
                    confirm(self.device, event)

    @property
    def shown(self):
        """The prompt that is up."""
        last = self.events[-1] if self.events else {"event": None}
        return last["prompt"] if last["event"] == "show" else None

    def of(self, app):
        """Waits for a prompt of the app of this executable."""
        return wait_for(
            lambda: self.shown if self.shown and self.shown["app"]["identifier"] == str(app) else None, f"a prompt of {app}")


def another_app_takes_neither_the_prompt_nor_the_finger():
    with Device() as device:
        device.set_up(PASSCODE, "thumb")
        me = os.readlink("/proc/self/exe")
        prompts = Prompts(device)
        owner = device.client("Device")
        taken = 0
        for _ in range(6):
            evaluation = Evaluation(device)
            mine = prompts.of(me)
            with Greedy(device) as greedy:
                # It has asked several times, and each time ended its own before (EV-53).
                wait_for(lambda: len(greedy.answers) >= 3, "the other app's evaluations")
                equal(prompts.shown["identifier"], mine["identifier"], "the prompt that is up")
                equal(owner.PresentFinger(finger="thumb")["touch"], "matched", "the finger")
                equal(evaluation.result()[0], None, "my evaluation")
                taken += sum(answer["code"] is None for answer in greedy.answers)
            wait_for(lambda: prompts.shown is None, "the other app's prompt to go with it")
        equal(taken, 0, "fingers that the other app had")


def who_is_cancelled_again_and_again_waits():
    with Device() as device:
        device.set_up(PASSCODE, "thumb")
        prompts = Prompts(device)
        agent = device.client("Agent")
        with Greedy(device) as greedy:
            cancelled = 0
            while cancelled < 3:
                prompt = prompts.of(greedy.program)
                with contextlib.suppress(varlink.VarlinkError):
                    agent.Cancel(prompt=prompt["identifier"])
                    cancelled += 1
            wait_for(
                lambda: sum(answer["reason"] == "cancelledTooOften" for answer in greedy.answers) >= 6,
                "refusals of the app that asks on")
            refused = [answer["code"] for answer in greedy.answers if answer["reason"] == "cancelledTooOften"]
            equal(set(refused), {-1004}, "their codes")
            wait_for(lambda: prompts.shown is None, "no prompt")
            shown = [event for event in prompts.events if event["event"] == "show"]
            # Others are asked as before.
            evaluation = Evaluation(device)
            prompts.of(os.readlink("/proc/self/exe"))
            equal(device.client("Device").PresentFinger(finger="thumb")["touch"], "matched", "the finger")
            equal(evaluation.result()[0], None, "another app's evaluation")
            later = [event["prompt"]["app"]["identifier"] for event in prompts.events[prompts.events.index(shown[-1]) + 1:]]
            check(str(greedy.program) not in later[1:], f"a prompt of the app that waits: {later}")
        wait_for(
            lambda: "cancelledTooOften" in device.touchstone("log", "--refused", "--json").stdout, "the refusal in the log")


def an_unlock_lasts_beside_a_program_that_locks():
    services = pathlib.Path(tempfile.mkdtemp(prefix="touchstone-pam."))
    (services / "camera").write_text("auth required pam_deny.so\n")
    try:
        with Device(create=("--sensor", "pam:camera", "--services", str(services))) as device:
            device.set_up(PASSCODE)
            program = [sys.executable, "-c", f"""
import sys, time
sys.path[:0] = {sys.path!r}
import varlink
owner = varlink.Client(address='unix:{device.socket}').open('io.touchstone.Device')
while True:
    try:
        owner.Lock(requiresPasscode=True)
    except varlink.VarlinkError as error:
        print(error.parameters()['reason'], flush=True)
        break
    time.sleep(0.01)
"""]
            with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as locker:
                try:
                    unlocks = 0
                    while locker.poll() is None:
                        check(unlocks < 10, "no unlock of ten lasted")
                        wait_for(lambda: locker.poll() is not None or device.status["isLocked"], "the lock")
                        if device.status["isLocked"]:
                            device.run("device", "unlock", input=f"{PASSCODE}\n")
                            unlocks += 1
                    equal(locker.stdout.read(), "lockedTooOften\n", "what ended the loop")
                finally:
                    locker.kill()
            check(not device.status["isLocked"], "the unlock does not last")
            # It is every program's limit: who could start one of the owner's would have it lock in its place.
            result = device.touchstone("device", "lock")
            check(result.returncode != 0 and "three times within two minutes" in result.stderr, result.stderr)
            check("lockedTooOften" in device.touchstone("log", "--refused", "--json").stdout, "the refusal in the log")
    finally:
        shutil.rmtree(services, ignore_errors=True)


main(
    another_app_takes_neither_the_prompt_nor_the_finger, who_is_cancelled_again_and_again_waits,
    an_unlock_lasts_beside_a_program_that_locks)
