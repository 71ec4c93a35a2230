#!/usr/bin/env python3
"""What the command says of a device that is not there or off, of fingers that nobody has, and to an agent's script that comes late."""

import json
import re
import socket
import subprocess

from device import LONGEST_WAIT, PROGRAMS, Device, Evaluation, check, equal, main, wait_for

PASSCODE = "271828"


def every_command():
    """The words of each command about a device, as a person would type it, without the device's name."""
    found = json.loads(subprocess.run(
        [PROGRAMS / "touchstone", "--experimental-dump-help"], check=True, capture_output=True, text=True).stdout)["command"]

    def commands(command, path):
        children = [child for child in command.get("subcommands", []) if child["commandName"] != "help"]
        for child in children:
            yield from commands(child, [*path, child["commandName"]])
        if not children:
            yield path, command

    values = {
        "finger": "thumb", "kind": "fprintd", "app": "/bin/true", "seconds": "1", "setting": "on", "file": "file",
        "bridge": "ssh", "part": "window", "service": "npm", "account": "token",
        "store": "/tmp", "name": "lap"}
    for path, command in commands(found, []):
        names = [name["name"] for argument in command["arguments"] for name in argument.get("names", [])]
        if "device" not in names:
            continue
        needed = [
            values[argument["valueName"]] for argument in command["arguments"]
            if argument["kind"] == "positional" and not argument["isOptional"]]
        yield [*path, *needed]


def no_such_device_is_one_status_and_lists_the_others():
    # Those that make the device, begin by asking something else, or take away what a device that is gone has left.
    makes = ("device create", "setup", "simulator", "session disable")
    with Device("phone", boot=False) as device:
        tried = 0
        for words in every_command():
            if " ".join(words).startswith(makes):
                continue
            result = device.touchstone(*words, "--device", "phnoe", *({"agent": ["--script", "-"]}.get(words[0], [])))
            equal(result.returncode, 69, f"{' '.join(words)}\n{result.stdout}{result.stderr}")
            check("there is no device 'phnoe' (yours: phone)" in result.stdout + result.stderr, f"{words}: {result.stderr}")
            tried += 1
        check(tried > 30, f"only {tried} commands")
        # One that is off is booted by what is said, not made again.
        result = device.run("device", "fingers", status=69)
        command = re.search("'touchstone (device boot --detach phone)'", result.stderr)
        check(command, result.stderr)
        device.run(*command[1].split())
        device.processes += [device.supervisor, *device.daemons.values()]
        device.run("device", "fingers", "phone")
        device.run("device", "fingers", "--device", "phone")
        device.run("device", "status", "--device", "phone")


def a_finger_that_nobody_has_is_not_laid_on_the_sensor():
    with Device() as device:
        device.set_up(PASSCODE)
        result = device.run("device", "match", "thumb", status=5)
        check("'thumb' is not enrolled; no finger is enrolled yet: use 'touchstone device enroll'" in result.stderr, result.stderr)
        device.run("device", "enroll", "right-index", "left-thumb")
        device.run("device", "lock")
        for words in (["device", "match", "rigth-index"], ["device", "match", "rigth-index", "--wait", "30"],
                      ["device", "unlock", "--finger", "rigth-index"]):
            result = device.run(*words, status=5)
            check("'rigth-index' is not enrolled; these are: left-thumb, right-index" in result.stderr.replace(
                "right-index, left-thumb", "left-thumb, right-index"), result.stderr)
        # No miss was counted; one that is meant is.
        for _ in range(5):
            device.run("device", "match", "nomatch", status=1)
        device.run("device", "match", "right-index", status=4)
        check(device.status["isBiometryLockedOut"], "five misses lock biometry")
        device.run("device", "unlock", input=f"{PASSCODE}\n")
        device.run("device", "lock")
        device.run("device", "unlock", "--finger", "right-index")


def a_script_answers_from_its_first_line_on():
    with Device() as device:
        device.set_up(PASSCODE)
        empty = device.work / "empty"
        empty.write_text("")
        for source, waits in ((str(empty), True), ("-", False)):
            agent = subprocess.Popen(
                [device.programs / "touchstone", "agent", "--script", source], env=device.environment, text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            try:
                check(agent.stdout.readline().startswith("ready: "), "the agent is there")
                evaluation = Evaluation(device, policy=2)
                wait_for(lambda: device.status["hasPrompt"], "the prompt")
                if waits:
                    # It shows the prompt, and leaves it alone.
                    evaluation.connection.shutdown(socket.SHUT_RDWR)
                    continue
                # Standard input stays open.
                agent.stdin.write(f"passcode {PASSCODE}\n")
                agent.stdin.flush()
                equal(evaluation.result()[0], None, "the evaluation")
                evaluation = Evaluation(device, policy=2)
                wait_for(lambda: device.status["hasPrompt"], "the second prompt")
                agent.stdin.write("cancel\n")
                agent.stdin.flush()
                equal(evaluation.result()[1]["code"], -2, "the second evaluation")
                agent.stdin.write("nonsense 1234\n")
                agent.stdin.flush()
                equal(agent.wait(LONGEST_WAIT), 64, "the agent's end")
                rest = agent.stdout.read()
                check("line 3 of the script has to be one of" in rest and "nonsense" not in rest, rest)
            finally:
                agent.kill()
                agent.wait()
                agent.stdin.close()
                agent.stdout.close()


main(
    no_such_device_is_one_status_and_lists_the_others, a_finger_that_nobody_has_is_not_laid_on_the_sensor,
    a_script_answers_from_its_first_line_on)
