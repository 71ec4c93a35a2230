#!/usr/bin/env python3
"""Face ID and the apps that may use it: what an app says it is for, the question, the answer and the owner's settings."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile

from device import LONGEST_WAIT, Device, check, equal, main, wait_for

# Makes a context, evaluates a policy with it and prints the answer: what the app here does.
EVALUATE = """
import json, socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
def call(method, **parameters):
    connection.sendall(json.dumps({"method": "io.touchstone.Authentication." + method, "parameters": parameters}).encode() + b"\\0")
    reply = b""
    while not reply.endswith(b"\\0"): reply += connection.recv(65536)
    return json.loads(reply[:-1])
context = call("CreateContext")["parameters"]["context"]
options = {"reason": "test", "reuseDuration": 0.0, "interactionNotAllowed": False, "isStrict": len(sys.argv) > 3}
answer = call("EvaluatePolicy", context=context, policy=int(sys.argv[2]), options=options)
print(answer.get("parameters", {}).get("code", answer.get("error", "success")))
"""

INFO = """<?xml version="1.0" encoding="UTF-8"?>
<plist version="1.0"><dict>
  <key>CFBundleExecutable</key><string>app</string>
  <key>NSFaceIDUsageDescription</key><string>open the safe</string>
</dict></plist>
"""


class App:
    """A copy of the interpreter, alone in a directory."""

    def __init__(self, device, directory):
        self.device = device
        self.directory = pathlib.Path(directory).resolve()
        self.path = str(self.directory / "app")
        shutil.copy(os.path.realpath("/usr/bin/python3"), self.path)

    def begin(self, policy=1, *strict):
        return subprocess.Popen(
            [self.path, "-S", "-c", EVALUATE, self.device.socket, str(policy), *strict], stdout=subprocess.PIPE,
            text=True)

    def evaluate(self, policy=1, *strict):
        return end(self.begin(policy, *strict))


def end(process):
    return process.communicate(timeout=LONGEST_WAIT)[0].strip()


class Agent:
    """The terminal agent, with its answers on paper; gone after the first prompt."""

    def __init__(self, device, *answers):
        self.process = subprocess.Popen(
            [str(device.programs / "touchstone"), "agent", "--once", "--script", "-"], env=device.environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdin.write("".join(f"{answer}\n" for answer in answers))
        self.process.stdin.close()
        self.process.stdin = None
        check(self.process.stdout.readline().startswith("ready"), "the agent's first line")

    def shown(self):
        return self.process.communicate(timeout=LONGEST_WAIT)[0]


def permissions(device):
    return device.run("device", "face-id-permission", "list").stdout.split("\n")[:-1]


def without_a_description_there_is_no_face_id():
    """CE-11."""
    with Device(biometry="faceid") as device, tempfile.TemporaryDirectory() as directory:
        device.set_up("271828", "face")
        app = App(device, directory)
        check("NSFaceIDUsageDescription" not in device.log, "the log says nothing yet")
        equal(app.evaluate(), "-6", "policy 1")
        wait_for(lambda: f"{app.path} may not use Face ID" in device.log, "the log")
        equal(app.evaluate(1, "strict"), "io.touchstone.Authentication.MissingUsageDescription", "policy 1, strict")
        equal(app.evaluate(2, "strict"), "io.touchstone.Authentication.MissingUsageDescription", "policy 2, strict")
        agent = Agent(device, "passcode 271828")
        equal(app.evaluate(2), "success", "policy 2, with the passcode")
        check("Passcode for \u201capp\u201d" in agent.shown(), "the passcode's prompt")
        equal(permissions(device), [], "the answers")


def the_owner_is_asked_once_and_can_change_the_answer():
    """CE-09, CE-10, EV-11, EV-16."""
    with Device(biometry="faceid") as device, tempfile.TemporaryDirectory() as directory:
        device.set_up("271828", "face")
        app = App(device, directory)
        (app.directory / "Info.plist").write_text(INFO)
        agent = Agent(device, "allow", "retry")
        evaluation = app.begin()
        wait_for(lambda: permissions(device) == [f"allowed  {app.path}"], "the answer")
        device.run("device", "match", "nomatch", status=1)
        wait_for(lambda: device.touchstone("device", "match", "face").returncode == 0, "the second look")
        equal(end(evaluation), "success", "policy 1, allowed")
        shown = agent.shown()
        for text in (
            "says: \u201copen the safe\u201d", "to use Face ID?", "[a] Allow", "[d] Don\u2019t Allow",
            "Face ID for \u201capp\u201d: Looking…", "[t] Try Face ID Again", "Recognised: app may go on.",
        ):
            check(text in shown, f"{text!r} in\n{shown}")
        check("says: \u201ctest\u201d" not in shown, "the reason is not shown")

        device.run("device", "face-id-permission", "deny", app.path)
        equal(app.evaluate(), "-6", "policy 1, denied")
        device.run("device", "reboot", "--wait", str(LONGEST_WAIT))
        device.run("device", "unlock", input="271828\n")
        equal(permissions(device), [f"denied  {app.path}"], "the answers after a restart")
        equal(app.evaluate(), "-6", "policy 1, denied")

        device.run("device", "face-id-permission", "reset", app.path)
        equal(permissions(device), [], "the answers after a reset")
        agent = Agent(device, "deny")
        equal(app.evaluate(), "-6", "policy 1, denied when asked")
        check("to use Face ID?" in agent.shown(), "the question")
        listed = json.loads(device.run("device", "face-id-permission", "list", "--json").stdout)
        equal(listed, [{"app": app.path, "isAllowed": False}], "the answers as JSON")


def a_device_without_face_id_has_no_such_answers():
    """CE-12."""
    with Device() as device:
        result = device.run("device", "face-id-permission", "allow", "/usr/bin/app", status=5)
        check("has no Face ID" in result.stderr, result.stderr)
        equal(permissions(device), [], "the answers")
        device.run("device", "face-id-permission", "allow", "", status=64)


main(
    without_a_description_there_is_no_face_id, the_owner_is_asked_once_and_can_change_the_answer,
    a_device_without_face_id_has_no_such_answers)
