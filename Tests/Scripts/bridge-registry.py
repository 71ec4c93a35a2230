#!/usr/bin/env python3
"""podman and skopeo sign in to a registry on this machine, and push and pull with the password that Touchstone keeps.

The registry is Debian's docker-registry. As root: podman works in mounts of its own.
"""

import contextlib
import hashlib
import io
import json
import os
import shutil
import socket
import subprocess
import sys
import tarfile
import urllib.error
import urllib.request

from bridges import BRIDGES, with_device
from device import LONGEST_WAIT, check, equal, main, wait_for

for program in ("docker-registry", "podman", "skopeo"):
    if not shutil.which(program):
        sys.exit(f"{program} is not installed: run script/install-packages test")

PASSWORD = "correct horse"
# bcrypt of that password, which is all that docker-registry reads.
USERS = "octocat:$2b$05$abcdefghijklmnopqrstuuHNbAKRhpaujgo33bRWs.NLUTJO3lOy2\n"


class Registry:
    """docker-registry, which wants a password for everything."""

    def __init__(self, work):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.place = f"127.0.0.1:{free.getsockname()[1]}"
        (work / "users").write_text(USERS)
        (work / "registry.yml").write_text(
            f"version: 0.1\nstorage:\n  filesystem:\n    rootdirectory: {work}/registry\nhttp:\n  addr: {self.place}\n"
            f"auth:\n  htpasswd:\n    realm: registry\n    path: {work}/users\n")
        self.log = open(work / "registry.log", "w+")
        self.process = subprocess.Popen(["docker-registry", "serve", work / "registry.yml"], stdout=self.log, stderr=self.log)

    def is_ready(self):
        try:
            urllib.request.urlopen(f"http://{self.place}/v2/", timeout=LONGEST_WAIT)
        except urllib.error.HTTPError as error:
            return error.code == 401
        except OSError:
            check(self.process.poll() is None, open(self.log.name).read())
        return False

    def __enter__(self):
        wait_for(self.is_ready, "the registry")
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(LONGEST_WAIT)


def image(directory):
    """A small image, as skopeo's transport `dir` has it."""
    directory.mkdir()
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("file"))
    layer = layer.getvalue()

    def blob(data):
        digest = hashlib.sha256(data).hexdigest()
        (directory / digest).write_bytes(data)
        return {"digest": f"sha256:{digest}", "size": len(data)}

    rootfs = {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]}
    config = blob(json.dumps({"architecture": "amd64", "os": "linux", "config": {}, "rootfs": rootfs, "history": []}).encode())
    layers = [blob(layer) | {"mediaType": "application/vnd.oci.image.layer.v1.tar"}]
    (directory / "manifest.json").write_text(json.dumps({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config | {"mediaType": "application/vnd.oci.image.config.v1+json"}, "layers": layers}))
    (directory / "version").write_text("Directory Transport Version: 1.1\n")
    return directory


class Containers:
    """Settings of podman and skopeo that name the helper, and storage, all of them of one test."""

    def __init__(self, device, resident, registry):
        self.resident, self.registry, self.work = resident, registry, device.work
        # Where both look in a home.
        self.settings = device.work / ".config/containers"
        self.settings.mkdir(parents=True)
        (self.settings / "auth.json").write_text("{}")
        (self.settings / "registries.conf").write_text(
            f'credential-helpers = ["touchstone"]\n[[registry]]\nlocation = "{registry.place}"\ninsecure = true\n')
        (self.settings / "policy.json").write_text('{"default": [{"type": "insecureAcceptAnything"}]}')
        (self.settings / "storage.conf").write_text(
            f'[storage]\ndriver = "vfs"\nrunroot = "{self.settings}/run"\ngraphroot = "{self.settings}/storage"\n')
        resident.environment |= {
            "CONTAINERS_STORAGE_CONF": str(self.settings / "storage.conf"), "REGISTRY_AUTH_FILE": str(self.settings / "auth.json")}

    def skopeo(self, action, *words, input="", status=0, **settings):
        insecure = ["--tls-verify=false"] if action == "login" else []
        return self.resident.run(
            "skopeo", "--policy", self.settings / "policy.json", action, *insecure, *words, input=input, status=status, **settings)

    def podman(self, *words, input="", status=0, **settings):
        return self.resident.run(
            "podman", "--cgroup-manager=cgroupfs", "--events-backend=file", *words, input=input, status=status, **settings)

    def helper(self, action, input="", status=0):
        return self.resident.run(BRIDGES / "docker-credential-touchstone", action, input=input, status=status)

    @property
    def kept(self):
        return json.loads(self.helper("list"))


@contextlib.contextmanager
def containers(device, resident):
    with Registry(device.work) as registry:
        yield Containers(device, resident, registry)


def nothing_is_in_plain_text(place):
    for folder, _, names in os.walk(place.settings):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                text = file.read()
            check(PASSWORD.encode() not in text and b"b2N0b2NhdDpjb3JyZWN0IGhvcnNl" not in text, f"{folder}/{name} has the password")


@with_device
def skopeo_signs_in_copies_and_signs_out(device, resident, person):
    """GC-22: a wrong password and the right one; a push and a pull, each after a finger; nothing without one."""
    with containers(device, resident) as place:
        registry = place.registry.place
        there, here = f"docker://{registry}/small:1", f"dir:{image(device.work / 'image')}"
        place.skopeo("login", "-u", "octocat", "--password-stdin", registry, input="wrong", status=None)
        equal(place.kept, {}, "a password that the registry refused")
        place.skopeo("copy", "--dest-tls-verify=false", here, there, status=1)
        place.skopeo("login", "-u", "octocat", "--password-stdin", registry, input=PASSWORD)
        equal(place.kept, {registry: "octocat"}, "what is kept")
        person.asked()
        place.skopeo("copy", "--dest-tls-verify=false", here, there, start_new_session=True)
        equal([prompt["reason"] for prompt in person.prompts], [f"read the password of octocat at {registry}"], "the prompt of a push")
        equal(os.path.basename(person.prompts[0]["client"]["identifier"]), "skopeo", "who asks")
        person.asked()
        place.skopeo("copy", "--src-tls-verify=false", there, f"dir:{device.work}/pulled", start_new_session=True)
        equal(person.asked(), 1, "prompts of a pull")
        check((device.work / "pulled/manifest.json").exists(), "nothing was pulled")
        person.answer = "cancel"
        place.skopeo("copy", "--src-tls-verify=false", there, f"dir:{device.work}/refused", status=1, start_new_session=True)
        check("cancelled" in resident.said, resident.said)
        check(not (device.work / "refused/manifest.json").exists(), "pulled after a cancel")
        person.answer = "finger"
        person.asked()
        nothing_is_in_plain_text(place)
        place.skopeo("logout", registry)
        equal(place.kept, {}, "what is kept after signing out")
        place.skopeo("copy", "--src-tls-verify=false", there, f"dir:{device.work}/after", status=1, start_new_session=True)


@with_device
def podman_signs_in_pulls_and_signs_out(device, resident, person):
    """GC-22."""
    with containers(device, resident) as place:
        registry = place.registry.place
        here = f"dir:{image(device.work / 'image')}"
        place.podman("login", "-u", "octocat", "--password-stdin", registry, input="wrong", status=None)
        equal(place.kept, {}, "a password that the registry refused")
        said = place.podman("login", "-u", "octocat", "--password-stdin", registry, input=PASSWORD)
        check("Login Succeeded" in said, said)
        equal(place.kept, {registry: "octocat"}, "what is kept")
        equal(place.podman("login", "--get-login", registry).strip(), "octocat", "who is signed in")
        person.asked()
        place.podman("pull", here, start_new_session=True)
        name = place.podman("images", "--quiet").split()[0]
        place.podman("push", name, f"{registry}/small:2", start_new_session=True)
        equal(person.asked(), 1, "prompts of a push")
        place.podman("rmi", "--all", "--force")
        place.podman("pull", f"{registry}/small:2", start_new_session=True)
        equal(person.asked(), 1, "prompts of a pull")
        person.answer = "cancel"
        place.podman("rmi", "--all", "--force")
        place.podman("pull", f"{registry}/small:2", status=125, start_new_session=True)
        check("cancelled" in resident.said, resident.said)
        person.answer = "finger"
        nothing_is_in_plain_text(place)
        place.podman("logout", registry)
        equal(place.kept, {}, "what is kept after signing out")


@with_device
def one_registry_may_have_the_helper_alone(device, resident, person):
    """GC-22: `credHelpers` of one registry, as `docker`'s settings have it."""
    with containers(device, resident) as place:
        registry = place.registry.place
        conf = place.settings / "registries.conf"
        conf.write_text(conf.read_text().replace('credential-helpers = ["touchstone"]\n', ""))
        auth = place.settings / "auth.json"
        auth.write_text(json.dumps({"credHelpers": {registry: "touchstone"}}))
        place.skopeo("login", "-u", "octocat", "--password-stdin", registry, input=PASSWORD)
        equal(place.kept, {registry: "octocat"}, "what is kept")
        place.skopeo("copy", "--dest-tls-verify=false", f"dir:{image(device.work / 'image')}", f"docker://{registry}/small:3", start_new_session=True)
        nothing_is_in_plain_text(place)


if "TOUCHSTONE_MOUNTS" not in os.environ:
    # podman remounts, and leaves a process that looks after its mounts: with this process both end.
    os.environ["TOUCHSTONE_MOUNTS"] = "1"
    os.execvp("unshare", ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, *sys.argv])
main(skopeo_signs_in_copies_and_signs_out, podman_signs_in_pulls_and_signs_out, one_registry_may_have_the_helper_alone)
