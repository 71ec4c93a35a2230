#!/usr/bin/env python3
"""Access groups of real programs: what their manifests say, as touchstoned and the enclave keep it."""

import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

from device import LONGEST_WAIT, Device, check, equal, main, wait_for

# Calls a method and prints the answer: what each program here does.
CALL = """
import json, socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
connection.sendall(sys.argv[2].encode() + b"\\0")
reply = b""
while not reply.endswith(b"\\0"): reply += connection.recv(65536)
print(reply[:-1].decode())
"""


class Program:
    """An app: a copy of the interpreter at a path of its own."""

    def __init__(self, directory, name):
        self.path = str(pathlib.Path(directory).resolve() / name)
        shutil.copy(os.path.realpath("/usr/bin/python3"), self.path)

    def call(self, device, method, interface="Keychain", **parameters):
        request = json.dumps({"method": f"io.touchstone.{interface}.{method}", "parameters": parameters})
        answer = json.loads(subprocess.run(
            [self.path, "-S", "-c", CALL, device.socket, request], check=True, capture_output=True, text=True,
            timeout=LONGEST_WAIT).stdout)
        if answer.get("error") == "io.touchstone.Keychain.Failed":
            return answer["parameters"]["status"]
        check("error" not in answer, f"an answer, and not {answer}")
        return answer["parameters"]

    def add(self, device, account, **more):
        return self.call(device, "Add", attributes=item(account, **more) | {"v_Data": {"data": "YQ=="}})

    def group(self, device, account, **more):
        """The group of the item as this app finds it, or the status."""
        found = self.call(device, "CopyMatching", query=item(account, **more) | {"r_Attributes": {"boolean": True}})
        return found if isinstance(found, int) else found["items"][0]["attributes"]["agrp"]["string"]


def item(account, group=None):
    named = {"class": {"string": "genp"}, "acct": {"string": account}}
    return named | ({"agrp": {"string": group}} if group is not None else {})


def manifest(device, name, text):
    directory = device.state / "apps.d"
    directory.mkdir(mode=0o755, exist_ok=True)
    (directory / name).write_text("[Application]\n" + text)


def apps_share_what_their_manifests_say():
    """KC-40 to KC-44 between processes, and a change without a restart."""
    with Device() as device, tempfile.TemporaryDirectory() as directory:
        one, two, other = (Program(directory, name) for name in ("one", "two", "other"))
        # Without a manifest each has a group of its own.
        equal(one.add(device, "private"), {"item": {}}, "the addition")
        equal(one.group(device, "private"), one.path, "its group")
        equal(two.group(device, "private"), -25300, "another app's search")
        equal(one.add(device, "a", group="F.shared"), -34018, "a group that it does not have")
        for program, family in ((one, "F"), (two, "F"), (other, "G")):
            name = os.path.basename(program.path)
            manifest(device, f"{name}.conf",
                     f"Identity={program.path}\nName={name}\nFamily={family}\nkeychain-access-groups={family}.shared\n")
        equal(one.add(device, "a"), {"item": {}}, "the addition")
        equal(one.group(device, "a"), "F.shared", "its group")
        equal(two.group(device, "a"), "F.shared", "what the other app of the family finds")
        equal(other.group(device, "a"), -25300, "what an app of another family finds")
        equal(other.group(device, "a", group="F.shared"), -34018, "what it finds in a group that is not its own")
        equal(one.group(device, "private"), one.path, "what was there before")
        # A manifest that is taken away, and what is refused.
        manifest(device, "two.conf", f"Identity={two.path}\nName=two\nkeychain-access-groups=F.shared\n")
        equal(two.group(device, "a"), -25300, "what it finds without the group")
        wait_for(lambda: "two.conf is not used: keychain-access-groups: F.shared is not of the app's family"
                 in device.log, "the log to say so")
        os.chmod(device.state / "apps.d/one.conf", 0o666)
        equal(one.group(device, "a"), -25300, "what it finds when others can write to its manifest")
        wait_for(lambda: "one.conf is not used: others can write to it" in device.log, "the log to say so")


def apps_are_told_what_their_manifests_say():
    """KC-40: what SecTask and SecCode ask for, of a real program with a manifest that pins it."""
    with Device() as device, tempfile.TemporaryDirectory() as directory:
        app = Program(directory, "app")

        def identity():
            return app.call(device, "GetIdentity", interface="Authentication")

        known = {"app": app.path, "evidence": "executable", "keychainAccessGroups": [], "applicationGroups": []}
        equal(identity(), known, "an app without a manifest")
        text = f"Identity={app.path}\nName=App\nFamily=F\nkeychain-access-groups=F.b;F.a\napplication-groups=group.x\n"
        manifest(device, "app.conf", text)
        known |= {"keychainAccessGroups": ["F.b", "F.a"], "applicationGroups": ["group.x"]}
        equal(identity(), known, "one with groups")
        digest = hashlib.sha256(pathlib.Path(app.path).read_bytes()).hexdigest()
        manifest(device, "app.conf", f"{text}SHA256={digest}\n")
        equal(identity(), known | {"hasPinnedDigest": True}, "one that is pinned")
        manifest(device, "app.conf", f"{text}SHA256={'0' * 64}\n")
        equal(identity(), {"app": f"{app.path} (other digest)", "evidence": "executable", "hasPinnedDigest": False,
                           "keychainAccessGroups": [], "applicationGroups": []}, "another executable than the pinned one")


main(apps_share_what_their_manifests_say, apps_are_told_what_their_manifests_say)
