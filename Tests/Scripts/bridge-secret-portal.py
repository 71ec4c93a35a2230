#!/usr/bin/env python3
"""The Secret portal: a Flatpak of our own with libsecret in it, Debian's xdg-desktop-portal, and programs that ask without it."""

import concurrent.futures
import os
import pathlib
import random
import shutil
import subprocess
import time

from device import LONGEST_WAIT, check, confirm, equal, main, wait_for
from secretservice import with_bus

FRONTEND = "/usr/libexec/xdg-desktop-portal"
# As `touchstone bridge enable` says it; 1.16 ignores a file without UseIn.
PORTAL = "[portal]\nDBusName=org.freedesktop.secrets\nInterfaces=org.freedesktop.impl.portal.Secret\nUseIn=other\n"

# Asks the portal for the secret of its sandbox, or the backend itself for that of any program.
ASKER = r"""
import os, sys, time, gi
from gi.repository import Gio, GLib
BUS = Gio.bus_get_sync(Gio.BusType.SESSION)
how, *rest = sys.argv[1:]
reader, writer = os.pipe()
files = Gio.UnixFDList.new()
handle = files.append(writer)
os.close(writer)
def call(name, interface, body, kind):
    return BUS.call_with_unix_fd_list_sync(name, "/org/freedesktop/portal/desktop", interface, "RetrieveSecret", body, GLib.VariantType.new(kind),
                                           Gio.DBusCallFlags.NONE, 60000, files, None)[0].unpack()
if how == "backend":
    if "take" in rest:
        BUS.call_sync("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "RequestName",
                      GLib.Variant("(su)", ("org.freedesktop.portal.Desktop", 0)), None, Gio.DBusCallFlags.NONE, -1, None)
    try:
        print(call("org.freedesktop.secrets", "org.freedesktop.impl.portal.Secret",
                   GLib.Variant("(osha{sv})", ("/org/freedesktop/portal/desktop/request/1_1/t", rest[0], handle, {})), "(ua{sv})"))
    except GLib.Error as error:
        print(Gio.DBusError.get_remote_error(error))
        sys.exit(1)
else:
    if how == "leave": os.close(reader)
    loop, answer = GLib.MainLoop(), []
    token = "t%d" % os.getpid()
    path = "/org/freedesktop/portal/desktop/request/%s/%s" % (BUS.get_unique_name()[1:].replace(".", "_"), token)
    def responded(*signal):
        answer.append(signal[5].unpack()[0])
        loop.quit()
    BUS.signal_subscribe("org.freedesktop.portal.Desktop", "org.freedesktop.portal.Request", "Response", path, None, Gio.DBusSignalFlags.NONE, responded)
    call("org.freedesktop.portal.Desktop", "org.freedesktop.portal.Secret",
         GLib.Variant("(ha{sv})", (handle, {"handle_token": GLib.Variant("s", token)})), "(o)")
    if how == "close":
        time.sleep(1)
        BUS.call_sync("org.freedesktop.portal.Desktop", path, "org.freedesktop.portal.Request", "Close", None, None, Gio.DBusCallFlags.NONE, -1, None)
        sys.exit(0)
    loop.run()
    if answer[0]: sys.exit(10 + answer[0])
    if how != "leave": print(os.read(reader, 100).hex())
"""


class Frontend:
    """Debian's xdg-desktop-portal on the private bus."""

    def __init__(self, bus):
        self.bus = bus
        directory = bus.work / "portals"
        directory.mkdir(exist_ok=True)
        (directory / "touchstone.portal").write_text(PORTAL)
        (bus.work / "asker.py").write_text(ASKER)
        self.process = subprocess.Popen(
            [FRONTEND], env=bus.environment | {"XDG_DESKTOP_PORTAL_DIR": str(directory), "XDG_CURRENT_DESKTOP": "Other"},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        bus.apps.append(self.process)
        wait_for(lambda: "xdg-desktop-portal" in bus.run("busctl", f"--address={bus.address}", "status", "org.freedesktop.portal.Desktop", status=None),
                 "the portal's frontend")

    def ask(self, app, how="ask", status=0):
        """What a program gets whose root directory has Flatpak's file, with this name in it."""
        information, tell = os.pipe()
        os.write(tell, f"[Application]\nname={app}\n[Instance]\ninstance-id=1\n".encode())
        os.close(tell)
        try:
            return self.bus.run(
                "bwrap", "--ro-bind", "/usr", "/usr", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--symlink",
                "usr/bin", "/bin", "--proc", "/proc", "--dev", "/dev", "--bind", self.bus.work, self.bus.work, "--ro-bind-data", information,
                "/.flatpak-info", "/usr/bin/python3", self.bus.work / "asker.py", how, status=status, pass_fds=(information,)).strip()
        finally:
            os.close(information)


class Flatpak:
    """A runtime of libsecret's program and what it needs, and apps on it: built and installed for this test alone."""

    def __init__(self, bus):
        self.bus, self.home = bus, bus.work / "home"
        self.environment = {"HOME": str(self.home)} | {
            f"XDG_{name}_HOME": str(self.home / place) for name, place in
            (("DATA", ".local/share"), ("CONFIG", ".config"), ("CACHE", ".cache"), ("STATE", ".local/state"))}
        self.home.mkdir()
        bus.environment |= self.environment
        self.platform = bus.work / "platform"
        (self.platform / "files").mkdir(parents=True)
        for program in ("secret-tool", "gdbus", "bash"):
            path = pathlib.Path(shutil.which(program)).resolve()
            self.put(path)
            for word in self.bus.run("ldd", path).split():
                if word.startswith("/"):
                    self.put(pathlib.Path(word))
        self.metadata(self.platform, "Runtime", "")
        self.repository = bus.work / "repository"
        bus.run("flatpak", "build-export", "--runtime", self.repository, self.platform, "1")
        bus.run("flatpak", "--user", "remote-add", "--no-gpg-verify", "own", self.repository)

    def put(self, path):
        inside = str(path).removeprefix("/usr").lstrip("/")
        target = self.platform / "usr" / inside
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path.resolve(), target)

    def metadata(self, directory, kind, more, name="org.example.Platform"):
        platform = "org.example.Platform/x86_64/1"
        (directory / "metadata").write_text(f"[{kind}]\nname={name}\nruntime={platform}\nsdk={platform}\n{more}")

    def install(self, name):
        directory = self.bus.work / name
        for part in ("files/bin", "export"):
            (directory / part).mkdir(parents=True)
        self.metadata(directory, "Application", "command=secret-tool\n", name)
        self.bus.run("flatpak", "build-export", self.repository, directory, "1")
        self.bus.run("flatpak", "--user", "install", "-y", "--noninteractive", "own", name)

    def run(self, name, *words, options=(), **settings):
        return self.bus.run("flatpak", "run", *options, name, *words, **settings)


@with_bus
def a_flatpak_keeps_its_passwords(device, bus, person):
    """PO-1, PO-2, PO-4, PO-5, PO-7, BR-7: libsecret in the sandbox encrypts its file with the secret of the portal."""
    flatpak = Flatpak(bus)
    Frontend(bus)
    mail, other = "org.example.Mail", "org.example.Other"
    flatpak.install(mail)
    flatpak.install(other)
    flatpak.run(mail, "store", "--label=Mail", "user", "anna", input="correct horse")
    flatpak.run(other, "store", "--label=Mail", "user", "anna", input="staple")
    file = flatpak.home / ".var/app" / mail / "data/keyrings/default.keyring"
    check(file.exists() and b"correct horse" not in file.read_bytes(), "libsecret's file in the sandbox")
    bus.restart(kill=True)
    equal(flatpak.run(mail, "lookup", "user", "anna"), "correct horse", "after a new start of the service")
    # With the file of the other program it can do nothing.
    shutil.copy(flatpak.home / ".var/app" / other / "data/keyrings/default.keyring", file)
    check("staple" not in flatpak.run(mail, "lookup", "user", "anna", status=None), "one program reads another one's file")
    equal(person.asked(), 0, "prompts")
    # The service itself is not for sandboxes, also if their owner lets them call it.
    gdbus = ("call", "--session", "--dest=org.freedesktop.secrets", "--object-path=/org/freedesktop/secrets",
             "--method=org.freedesktop.Secret.Service.ReadAlias", "default")
    flatpak.run(mail, *gdbus, options=("--command=gdbus", "--talk-name=org.freedesktop.secrets"), status=1)
    check("AccessDenied" in bus.said, bus.said)


@with_bus
def only_the_frontend_is_answered(device, bus, person):
    """PO-3: other programs could name any app."""
    Frontend(bus)
    equal(bus.run("/usr/bin/python3", bus.work / "asker.py", "backend", "org.example.Mail", status=1).strip(),
          "org.freedesktop.DBus.Error.AccessDenied", "a program of the owner's")
    for process in bus.apps:
        process.kill()
        process.wait(LONGEST_WAIT)
    equal(bus.run("/usr/bin/python3", bus.work / "asker.py", "backend", "org.example.Mail", "take", status=1).strip(),
          "org.freedesktop.DBus.Error.AccessDenied", "a program that has taken the frontend's name")
    # What anybody may know.
    equal(bus.run("busctl", f"--address={bus.address}", "get-property", "org.freedesktop.secrets", "/org/freedesktop/portal/desktop",
                  "org.freedesktop.impl.portal.Secret", "version"), "u 1\n", "the version")
    equal(person.asked(), 0, "prompts")


@with_bus
def each_program_has_one_secret(device, bus, person):
    """PO-2, PO-4, PO-6, PO-8: ten at once; a reader that leaves; a program without a name."""
    frontend = Frontend(bus)
    names = [f"org.example.App{number}" for number in range(5)] * 2
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(frontend.ask, names))
    equal(answers[:5], answers[5:], "the secrets of the same programs")
    equal(len(set(answers)), 5, "the secrets of five programs")
    check(all(len(answer) == 128 for answer in answers), f"64 bytes each: {answers}")
    frontend.ask(names[0], "leave", status=12)
    equal(frontend.ask(names[0]), answers[0], "after a reader that left")
    # Outside a sandbox a program has no name that counts.
    bus.run("/usr/bin/python3", bus.work / "asker.py", "ask", status=12)
    # What another program stores under that attribute is not taken for the secret.
    bus.run("secret-tool", "store", "--label=planted", "app_id", "org.example.New", input="planted")
    check(bytes.fromhex(frontend.ask("org.example.New")) != b"planted", "a planted secret")
    thief = bus.app("thief")
    person.answer = "cancel"
    (path, locked, *_), = thief.ask("search({'app_id': 'org.example.App0'})")
    check(locked, "another program reads the secret")
    thief.fails(f"secret({path!r}, 'GetSecret', '(o)', (open_session(),))", "org.freedesktop.Secret.Error.IsLocked")
    check("“Secret of org.example.App0”" in person.prompts[0]["reason"], person.prompts[0]["reason"])


@with_bus
def the_portal_waits_for_a_locked_device(device, bus, person):
    """PO-5, PO-9: without an answer, until the device is unlocked or the request is closed; a cancel is 1."""
    frontend = Frontend(bus)
    before = frontend.ask("org.example.Mail")
    person.answer = lambda prompt: confirm(device, {"prompt": prompt})
    device.run("device", "lock")
    bus.restart(kill=True)
    frontend.ask("org.example.Mail", "close")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        waiting = pool.submit(frontend.ask, "org.example.Mail")
        time.sleep(2)
        check(not waiting.done(), "an answer while the device is locked")
        device.run("device", "unlock", input="271828\n")
        equal(waiting.result(LONGEST_WAIT), before, "after unlocking")
    device.run("device", "lock")
    person.answer = "cancel"
    frontend.ask("org.example.Mail", status=11)
    device.run("device", "unlock", input="271828\n")
    equal(frontend.ask("org.example.Mail"), before, "after a cancel")


@with_bus
def a_killed_service_makes_no_second_secret(device, bus, person):
    """PO-9, SS-20: whoever got a secret gets the same one again, wherever the service was killed."""
    frontend = Frontend(bus)
    known = {}
    chance = random.Random(20)
    for turn in range(int(os.environ.get("PORTAL_KILLS", "4"))):
        names = [f"org.example.App{turn}x{number}" for number in range(4)]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            asking = {name: pool.submit(frontend.ask, name, status=None) for name in names}
            time.sleep(chance.uniform(0.1, 0.9))
            bus.restart(kill=True)
            known |= {name: asked.result(LONGEST_WAIT) for name, asked in asking.items()}
    got = {name: secret for name, secret in known.items() if secret}
    check(got, "no program got a secret before the service was killed")
    equal({name: frontend.ask(name) for name in got}, got, "the secrets that were given before the service was killed")


@with_bus
def gnome_keyrings_portal_secrets_come_in_and_go_back(device, bus, person):
    """PO-2, PO-9, SS-52: gnome-keyring 42.1 has no objects of them, so that only the names of installed programs find them."""
    bus.stop()
    keyring = bus.keyring()
    (bus.work / "asker.py").write_text(ASKER)
    frontend = Frontend(bus)
    before = {name: frontend.ask(f"org.example.{name}") for name in ("Mail", "Gone")}
    home = bus.work / "home"
    (home / ".var/app/org.example.Mail").mkdir(parents=True)
    bus.environment["HOME"] = str(home)
    said = bus.move("import")
    check("brought in 1 of 1 items" in said and "1 secrets of Flatpak apps stay there" in said, said)
    bus.start("--replace")
    keyring.wait(LONGEST_WAIT)
    equal(frontend.ask("org.example.Mail"), before["Mail"], "the secret that came in")
    check("“Secret of org.example.Mail”" in person.prompts[0]["reason"], f"{person.prompts}")
    equal(person.asked(), 1, "prompts for it")
    equal(frontend.ask("org.example.Mail"), before["Mail"], "once more")
    new = frontend.ask("org.example.New")
    equal(person.asked(), 0, "prompts for what is granted")
    bus.stop()
    shutil.rmtree(bus.work / "data")
    bus.keyring()
    check("gave 2 of 2 items" in bus.move("export"), bus.said)
    equal([frontend.ask(f"org.example.{name}") for name in ("Mail", "New")], [before["Mail"], new], "what gnome-keyring's portal gives")


main(
    a_flatpak_keeps_its_passwords, only_the_frontend_is_answered, each_program_has_one_secret, the_portal_waits_for_a_locked_device,
    a_killed_service_makes_no_second_secret, gnome_keyrings_portal_secrets_come_in_and_go_back,
)
