#!/usr/bin/env python3
"""What the doctor says of a device that is not there, off, booted and broken: each finding has its state, and its command mends it."""

import json
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import time

from device import LONGEST_WAIT, Device, check, equal, main, wait_for

PASSCODE = "271828"


def report(device, *arguments, status=0):
    return json.loads(device.run("doctor", "--json", *arguments, status=status).stdout)


def finding(device, topic, status=0):
    (found,) = [each for each in report(device, status=status)["findings"] if each["topic"] == topic]
    return found


def mend(device, found):
    """Runs the one command, as a person would."""
    words = found["fix"].split()
    equal(words[0], "touchstone", f"the command that mends {found}")
    return words[1:]


def topics_are_stable_and_documented():
    with Device() as device:
        help = device.run("doctor", "--help").stdout
        words = " ".join(help.split())
        for topic in (
            "device, files, daemons, root of trust, passcode, biometry, sensor, agent, log, keychain, owner's programs, core dumps, swap, locked memory, other programs, start, window, ssh bridge, credentials bridge, git bridge, docker bridge, secret-service bridge, pkcs11 bridge, fido bridge",
            "device (its name), state (absent, off, waiting or booted; a waiting device boots when it is first used), isReady", "0 ready, also with warnings; 1 it answers", "69 there is no such device"):
            check(topic in words, f"{topic!r} in the help:\n{help}")
        found = report(device)
        equal(sorted(found), ["device", "findings", "isReady", "notPromised", "state"], "the keys")
        equal((found["device"], found["state"], found["isReady"]), ("test", "booted", True), "the device")
        for each in found["findings"]:
            check(set(each) in ({"topic", "state", "text"}, {"topic", "state", "text", "fix"}), f"the keys of {each}")
            check(each["state"] in ("good", "warning", "bad"), f"the state of {each}")
            check(each["topic"] in help.replace("\n", " ").split("Topics are")[1], f"{each['topic']} in the help")
            check(each["state"] != "good" or "fix" not in each, f"what is good wants no mending: {each}")
        equal(
            sorted({each["topic"] for each in found["findings"]}), sorted([
                "device", "files", "daemons", "root of trust", "passcode", "biometry", "sensor", "agent", "log", "keychain", "core dumps", "swap",
                "locked memory", "other programs", "start", "window", "ssh bridge", "credentials bridge", "git bridge", "docker bridge",
                "secret-service bridge", "pkcs11 bridge", "fido bridge", "sudo and login", "synchronizing"]), "every topic")
        text = device.run("doctor").stdout
        for each in found["findings"]:
            mark = {"good": "[ok]", "warning": "[!!]", "bad": "[no]"}[each["state"]]
            check(f"{mark} {each['topic']}: {each['text']}\n" in text, f"{each} in\n{text}")
            check("fix" not in each or f"     repair it: {each['fix']}\n" in text, f"{each} in\n{text}")
        check("\x1b" not in text, "no colours in a pipe")


def a_device_that_is_not_there_or_off_is_said_to_be():
    device = Device(boot=False)
    try:
        found = report(device, status=69)
        equal((found["state"], found["isReady"], found["notPromised"]), ("absent", False, []), "no device")
        equal(found["findings"][0]["fix"], "touchstone setup", "the command")
        check({each["topic"] for each in found["findings"]} >= {"swap", "other programs"}, "the machine is looked at all the same")
        equal(report(device, "another", status=69)["findings"][0]["fix"], "touchstone setup --device another", "of another name")
        check("is not ready" in device.run("doctor", status=69).stderr, "what is told as well")
    finally:
        device.clean_up()
    with Device(boot=False) as device:
        found = finding(device, "device", status=69)
        equal((report(device, status=69)["state"], found["state"]), ("off", "bad"), "a device that is off")
        device.run(*mend(device, found))
        device.processes += [device.supervisor, *device.daemons.values()]
        equal(finding(device, "device")["state"], "good", "the device after that command")


def each_command_mends_what_it_is_for():
    with Device() as device:
        def mended(topic, before, after, status=0, input=""):
            found = finding(device, topic, status=status)
            equal(found["state"], before, f"the state before: {found}")
            device.run(*mend(device, found), input=input)
            equal(finding(device, topic)["state"], after, f"{topic} after that")

        equal("fix" in finding(device, "biometry"), False, "nothing can be enrolled without a passcode")
        mended("passcode", "warning", "good", input=f"{PASSCODE}\n")
        mended("biometry", "warning", "good")
        device.run("device", "sensor", "disconnect")
        check("unplugged" in finding(device, "sensor", status=1)["text"], "the sensor in words")
        mended("sensor", "bad", "good", status=1)
        device.run("device", "lock", "--require-passcode")
        mended("biometry", "warning", "good", input=f"{PASSCODE}\n")
        found = finding(device, "agent")
        equal((found["state"], found["fix"]), ("warning", "touchstone agent"), "the agent")
        ours, theirs = os.openpty()
        agent = subprocess.Popen(
            [device.programs / "touchstone", *mend(device, found)], env=device.environment, stdin=theirs, stdout=theirs, stderr=theirs)
        try:
            wait_for(lambda: finding(device, "agent")["state"] == "good", "the agent to be there")
        finally:
            agent.kill()
            agent.wait()
            os.close(ours)
            os.close(theirs)
        # Others may look in.
        device.state.chmod(0o755)
        found = finding(device, "files", status=1)
        equal(found["state"], "bad", "the files")
        subprocess.run(found["fix"], shell=True, check=True)
        equal(stat.S_IMODE(device.state.stat().st_mode), 0o700, "the mode after that command")
        equal(finding(device, "files")["state"], "good", "the files after that")
        # Wrong passcodes: after a delay the next is looked at, however many there were (PC-01, DEC-107).
        for number in range(11):
            device.run("device", "unlock", input=f"wrong {number}\n", status=6)
            if number == 7:
                found = finding(device, "passcode")
                equal(found["state"], "warning", f"the passcode after wrong ones: {found}")
            device.run("device", "advance-clock", "1000000")
        device.run("device", "unlock", input=f"{PASSCODE}\n")
        equal(finding(device, "passcode")["state"], "good", "the passcode after the right one")


def what_is_not_promised_is_of_the_device():
    with Device() as device:
        device.set_up(PASSCODE)
        sentences = " ".join(report(device)["notPromised"])
        for words in ("run as you", "present simulated fingers", "path of a program", "copies its directory", "simulated finger is only a name", "root"):
            check(words in sentences, f"{words!r} in {sentences}")
        check("What such a device cannot promise:\n  - its daemons run as you" in device.run("doctor").stdout, "and in words")
    with Device(biometry="none") as device:
        sentences = " ".join(report(device)["notPromised"])
        check("simulated finger" not in sentences, sentences)
        found = finding(device, "biometry")
        equal((found["state"], found["text"]), ("good", "no sensor; prompts ask for the passcode"), "the biometry")


def a_device_that_hangs_is_said_to():
    with Device() as device:
        for pid in device.daemons.values():
            os.kill(pid, signal.SIGSTOP)
        started = time.monotonic()
        found = finding(device, "device", status=69)
        check(time.monotonic() - started < LONGEST_WAIT, "the doctor does not give up")
        check("no answer within 5 seconds" in found["text"], f"what it says: {found}")
        equal(found["fix"], "touchstone device shutdown && touchstone device boot --detach", "the commands")
        subprocess.run(
            found["fix"], shell=True, check=True, env=device.environment | {"PATH": f"{device.programs}:{os.environ['PATH']}"},
            stdout=subprocess.DEVNULL)
        device.processes += [device.supervisor, *device.daemons.values()]
        equal(finding(device, "device")["state"], "good", "the device after them")


APP = """
import json, socket, sys
app = socket.socket(socket.AF_UNIX)
app.connect(sys.argv[1])
app.sendall(json.dumps({"method": "io.touchstone.Authentication.GetIdentity", "parameters": {}}).encode() + b"\\0")
print(app.recv(65536).decode()[:-1])
"""


def a_program_is_told_who_it_is():
    with Device() as device:
        interpreter = pathlib.Path("/usr/bin/python3").resolve()
        program = device.work / "chores"
        shutil.copy(interpreter, program)

        def identity(*command):
            """What touchstoned says to a process of it."""
            told = subprocess.run(
                [*command, str(device.socket)], check=True, env=device.environment, capture_output=True, text=True,
                timeout=LONGEST_WAIT).stdout
            return json.loads(told)["parameters"]["app"]

        def described(path, status=0):
            return json.loads(device.run("doctor", "--app", str(path), "--json", status=status).stdout)

        def same(path, *command):
            found = described(path)
            equal(found["identifier"], identity(*command), f"who {path} is")
            return found

        found = same(program, program, "-I", "-c", APP)
        equal(found["accessGroups"], [{"value": str(program), "origin": "identifier"}], "the groups without a manifest")
        check("faceIDUsageDescription" not in found and found["name"]["origin"] == "executable", found)
        manifests = device.state / "apps.d"
        manifests.mkdir(mode=0o700)
        manifest = manifests / "org.example.Chores.conf"
        manifest.write_text(
            f"[Application]\nIdentity={program}\nName=Chores\nFamily=F\nkeychain-access-groups=F.shared\n")
        (manifests / "broken.conf").write_text("[Application]\nIdentity=/nowhere\n")
        plist = device.work / "Info.plist"
        plist.write_text(
            "<plist version='1.0'><dict><key>NSFaceIDUsageDescription</key><string>To add a chore</string></dict></plist>")
        found = same(program, program, "-I", "-c", APP)
        equal(found["name"], {"value": "Chores", "origin": "manifest", "file": str(manifest)}, "the name")
        equal([group["value"] for group in found["accessGroups"]], ["F.shared", str(program)], "the groups")
        equal(
            found["faceIDUsageDescription"],
            {"value": "To add a chore", "origin": "infoPropertyList", "file": str(plist)}, "what it wants Face ID for")
        check(len(found["unusedManifests"]) == 1 and "broken.conf is not used: Name is missing" in found["unusedManifests"][0], found)
        text = device.run("doctor", "--app", str(program)).stdout
        for words in (str(manifest), str(plist), "F.shared", "To add a chore", "broken.conf is not used"):
            check(words in text, f"{words!r} in\n{text}")
        # With another digest it is another app.
        manifest.write_text(manifest.read_text() + f"SHA256={'0a' * 32}\n")
        found = same(program, program, "-I", "-c", APP)
        equal((found["identifier"], found["otherManifest"]), (f"{program} (other digest)", str(manifest)), "another file")
        # A script is its interpreter, also by a link.
        script = device.work / "script"
        script.write_text(f"#!/usr/bin/env python3\n{APP}")
        script.chmod(0o755)
        (device.work / "link").symlink_to(script)
        # Not that of a version manager, which starts the one that counts by itself.
        device.environment["PATH"] = "/usr/bin:/bin"
        found = same(device.work / "link", device.work / "link")
        equal((found["identifier"], found["script"]), (str(interpreter), str(script)), "a script")
        check("is a script" in device.run("doctor", "--app", str(script)).stdout, "what is said of a script")
        # What cannot be started.
        for path, words in (
            (device.work / "missing", "there is no file"), (plist, "is not executable"), (device.work, "is a directory")):
            check(words in device.run("doctor", "--app", str(path), status=1).stderr, f"{path}: {words}")
        check("there is no device 'other'" in device.run(
            "doctor", "--app", str(program), "--device", "other", status=69).stderr, "of no device")
        # A device that is off says the same.
        device.shutdown()
        equal(described(program)["otherManifest"], str(manifest), "while it is off")


main(
    a_program_is_told_who_it_is, topics_are_stable_and_documented, a_device_that_is_not_there_or_off_is_said_to_be, each_command_mends_what_it_is_for,
    what_is_not_promised_is_of_the_device, a_device_that_hangs_is_said_to)
