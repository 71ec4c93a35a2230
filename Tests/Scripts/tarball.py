#!/usr/bin/env python3
"""The tarball installs, upgrades and is removed again without a trace, refuses what it should, and says what is in it."""

import contextlib
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile

from device import LONGEST_WAIT, PROGRAMS, REPOSITORY, Device, call, check, equal, wait_for

BRIDGES = pathlib.Path(os.environ.get("TOUCHSTONE_BRIDGES_BIN", REPOSITORY / ".build/debug"))
RECORD = "share/touchstone/installed"


# Swift's library that only a debug build loads; all others have to come with the tarball.
DEBUG_LIBRARY = "libswiftSwiftOnoneSupport.so"
TOOLCHAIN = pathlib.Path(shutil.which("swift")).resolve().parent.parent / "lib/swift/linux"
ENVIRONMENT = os.environ | {"XZ_OPT": "-0 -T2"}


def snapshot(folder):
    """Every path below a folder, with what tells a file from another one."""
    return {
        str(path.relative_to(folder)): (path.lstat().st_mode, path.read_bytes() if path.is_file() else None)
        for path in folder.rglob("*")}


class Unpacked:
    """A tarball that was just unpacked."""

    def __init__(self, tarball, work):
        with tarfile.open(tarball) as archive:
            archive.extractall(work, filter="data")
        (self.folder,) = work.iterdir()

    def install(self, *arguments, status=0, **environment):
        found = subprocess.run(
            [self.folder / "install.sh", *map(str, arguments)], env=ENVIRONMENT | environment, capture_output=True, text=True,
            timeout=LONGEST_WAIT, stdin=subprocess.DEVNULL)
        equal(found.returncode, status, f"install.sh {arguments}: {found.stdout}{found.stderr}")
        return found.stdout + found.stderr

    def wanted(self, prefix="/usr"):
        """What a prefix should have, by its path below the prefix."""
        paths = [str(path.relative_to(self.folder / "usr")) for path in (self.folder / "usr").rglob("*") if path.is_file()]
        if prefix != "/usr":
            machine = ("lib/", "libexec/touchstone/system/", "share/dbus-1/", "share/polkit-1/", "share/touchstone/apps/")
            paths = [path for path in paths if path.startswith("lib/touchstone/swift/") or not path.startswith(machine)]
        return {path.replace("vendor-completions", "site-functions") if prefix != "/usr" else path for path in paths}


def make(work):
    """The tarball of the debug builds that are there; its checksum is right."""
    found = subprocess.run(
        [REPOSITORY / "script/dist", work, f"touchstone={PROGRAMS}", f"bridges={BRIDGES}", f"sync={PROGRAMS}"], env=ENVIRONMENT, capture_output=True,
        text=True, stdin=subprocess.DEVNULL)
    equal(found.returncode, 0, f"script/dist: {found.stdout}{found.stderr}")
    (tarball,) = work.glob("*.tar.xz")
    equal(pathlib.Path(f"{tarball}.sha256").read_text(), f"{hashlib.sha256(tarball.read_bytes()).hexdigest()}  {tarball.name}\n", "its sum")
    equal({path.name for path in work.iterdir()}, {tarball.name, f"{tarball.name}.sha256"}, "what script/dist leaves")
    return tarball


def what_is_installed_works_and_goes_again(unpacked, work):
    # A prefix with a space, which has files of somebody else.
    prefix = work / "pre fix"
    (prefix / "bin").mkdir(parents=True)
    (prefix / "bin/other").write_text("another program\n")
    before = snapshot(prefix)
    said = unpacked.install("--prefix", prefix)
    check("touchstone setup" in said and f"Put {prefix}/bin into PATH" in said, said)
    found = {path for path, (_, content) in snapshot(prefix).items() if content is not None} - set(before)
    equal(found, unpacked.wanted("another") | {RECORD}, "what is installed")
    check((prefix / "share/man/man1/touchstone-device-create.1").is_file() and (prefix / "share/zsh/site-functions/_touchstone").is_file(), "pages")

    homes = {f"XDG_{name}": str(work / name) for name in ("STATE_HOME", "RUNTIME_DIR", "CONFIG_HOME")}
    for folder in homes.values():
        os.mkdir(folder, 0o700)
    environment = ENVIRONMENT | homes | {"HOME": str(work), "TOUCHSTONE_DEVICE": "installed"}

    def touchstone(*arguments):
        return subprocess.run([prefix / "bin/touchstone", *arguments], env=environment, capture_output=True, text=True, timeout=LONGEST_WAIT, stdin=subprocess.DEVNULL)

    equal(touchstone("device", "create", "installed").returncode, 0, "touchstone device create")
    try:
        booted = touchstone("device", "boot", "--detach")
        equal(booted.returncode, 0, booted.stderr)
        running = {}
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                running[os.readlink(process / "exe")] = (process / "maps").read_text()
        for program in ("touchstoned", "touchstone-enclave"):
            mapped = running.get(f"{prefix}/libexec/touchstone/{program}")
            check(mapped is not None, f"the {program} that was installed does not run")
            of_swift = set(re.findall(r" (/.*/lib(?:swift|_?Foundation)[^/]*\.so)$", mapped, re.M))
            elsewhere = {path for path in of_swift if not path.startswith(f"{prefix}/lib/touchstone/swift/")}
            equal(elsewhere, {str(TOOLCHAIN / DEBUG_LIBRARY)}, f"what {program} loads of Swift from elsewhere")
            check(f"{prefix}/lib/touchstone/swift/lib_FoundationICU.so" in of_swift, of_swift)
        # What is printed in local time and in English, whatever the language.
        environment |= {"TZ": "Europe/Berlin", "LC_ALL": "de_DE.UTF-8"}
        log = touchstone("log")
        check(log.returncode == 0 and re.search(r"20[0-9]{2}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}", log.stdout), log.stdout + log.stderr)
    finally:
        touchstone("device", "shutdown")
    unpacked.install("--uninstall", "--prefix", prefix)
    equal(snapshot(prefix), before, "what is left")
    check("nothing of this installer's" in unpacked.install("--uninstall", "--prefix", prefix, status=1), "what a second --uninstall says")


class Member(Device):
    """A device of the programs that were installed, which synchronizes."""

    def __init__(self, name, programs):
        super().__init__(name)
        self.programs = programs
        self.environment["LD_LIBRARY_PATH"] = ENVIRONMENT["LD_LIBRARY_PATH"]

    def start(self, program, *arguments, **streams):
        return subprocess.Popen([self.programs / program, *arguments], env=self.environment, stdout=subprocess.PIPE, text=True, **streams)


def until(process, words):
    for line in process.stdout:
        if words in line:
            return
    raise AssertionError(f"it ended before '{words}'")


def two_devices_synchronize_by_what_is_installed(unpacked, work):
    prefix = work / "synchronized"
    unpacked.install("--prefix", prefix)
    with contextlib.ExitStack() as stack:
        one, two = (stack.enter_context(Member(name, prefix / "bin")) for name in ("one", "two"))
        for member in (one, two):
            member.set_up("271828")
        store = stack.enter_context(tempfile.TemporaryDirectory())
        one.run("sync", "create", store, "--name", "one", input="271828\n")
        joining = two.start("touchstone", "sync", "join", store, "--name", "two", stdin=subprocess.PIPE)
        stack.callback(joining.kill)
        until(joining, "touchstone sync approve")
        approving = one.start("touchstone", "sync", "approve", stdin=subprocess.PIPE)
        stack.callback(approving.kill)
        until(joining, "Type these digits there:")
        approving.communicate(f"{joining.stdout.readline().strip()}\n271828\n", timeout=LONGEST_WAIT)
        said, _ = joining.communicate("271828\n", timeout=LONGEST_WAIT)
        equal((approving.returncode, joining.returncode), (0, 0), f"approve and join: {said}")
        for member in (one, two):
            carrying = member.start("touchstone-sync", stdin=subprocess.DEVNULL)
            stack.callback(carrying.wait, LONGEST_WAIT)
            stack.callback(carrying.terminate)
            until(carrying, "ready: ")
        place = {"class": {"string": "genp"}, "svce": {"string": "tarball"}, "acct": {"string": "ada"}, "sync": {"boolean": True}}
        equal(call(one.connect(), "Keychain.Add", attributes=place | {"v_Data": {"data": "YQ=="}})[0], None, "an item")
        # This program has the same path for both, and with it the same group.
        query = place | {"r_Data": {"boolean": True}}
        wait_for(lambda: call(two.connect(), "Keychain.CopyMatching", query=query)[1].get("items", [{}])[0].get("data") == "YQ==", "the item")


def an_upgrade_takes_away_what_is_no_longer_there(unpacked, work):
    prefix = work / "upgraded"
    unpacked.install("--prefix", prefix)
    (prefix / "bin/touchstone-once").write_text("of an earlier version\n")
    with open(prefix / RECORD, "a") as record:
        record.write("f bin/touchstone-once\n")
    unpacked.install("--prefix", prefix)
    check(not (prefix / "bin/touchstone-once").exists(), "a file of the earlier version stayed")
    # A record that leads out of the prefix removes nothing there.
    (work / "precious").write_text("not ours\n")
    with open(prefix / RECORD, "a") as record:
        record.write(f"f ../precious\nf {work}/precious\nf bin/../../precious\n")
    unpacked.install("--uninstall", "--prefix", prefix)
    equal((work / "precious").read_text(), "not ours\n", "a file outside the prefix")
    check(not prefix.exists(), "the prefix that was made stayed")


def it_refuses_what_it_should(unpacked, work):
    prefix = work / "refused"
    (prefix / "bin").mkdir(parents=True)
    (prefix / "bin/touchstone").write_text("somebody else's\n")
    before = snapshot(prefix)
    check("is there already" in unpacked.install("--prefix", prefix, status=1), "what a foreign file gets")
    equal(snapshot(prefix), before, "after a foreign file")
    check("usage:" in unpacked.install("--prefx", status=64) and "usage:" in unpacked.install("--prefix", status=64), "wrong arguments")
    check("begins with /" in unpacked.install("--prefix", "here", status=1), "a relative prefix")

    script = unpacked.folder / "install.sh"
    whole = script.read_text()
    for change, words in (
            ((f" machine={os.uname().machine} ", " machine=vax "), "for Linux on vax"), ((" glibc=", " glibc=99."), "GNU C library 99."),
            (("usr/bin/touchstone ", "usr/bin/touchstone-ssh "), "are not what was packed")):
        check(change[0] in whole, change[0])
        script.write_text(whole.replace(*change))
        check(words in unpacked.install("--prefix", work / "none", status=1), words)
    script.write_text(whole)
    without = unpacked.install("--prefix", work / "none", status=1, LD_LIBRARY_PATH="")
    check("needs shared libraries that are not installed" in without and DEBUG_LIBRARY in without, without)
    check(not (work / "none").exists(), "something was installed")


def the_service_of_the_system_comes_with_usr_alone(unpacked, work):
    unpacked.install("--prefix", "/usr", DESTDIR=str(work / "image"))
    usr = work / "image/usr"
    found = {path for path, (_, content) in snapshot(usr).items() if content is not None}
    equal(found, unpacked.wanted() | {RECORD}, "what is in /usr")
    check("lib/systemd/system/touchstoned@.service" in found and "share/touchstone/apps/touchstone.conf" in found, "the service")
    for program in (usr / "libexec/touchstone/system").iterdir():
        equal(program.stat().st_mode & 0o777, 0o711, f"the mode of {program}")
    # Every program that a unit starts is there.
    for unit in [*usr.glob("lib/systemd/*/*.service")]:
        for line in unit.read_text().splitlines():
            if line.startswith("ExecStart="):
                program = line.removeprefix("ExecStart=").split()[0]
                check((work / "image" / program.lstrip("/")).exists(), f"{unit.name} starts {program}")
    unpacked.install("--uninstall", "--prefix", "/usr", DESTDIR=str(work / "image"))
    equal(snapshot(work / "image"), {}, "what is left")


def the_bill_names_what_is_inside(unpacked, _):
    bill = json.loads((unpacked.folder / "bom.json").read_text())
    equal((bill["bomFormat"], bill["specVersion"]), ("CycloneDX", "1.5"), "its form")
    components = {component["name"]: component for component in bill["components"]}
    equal(len(components), len(bill["components"]), "components, each once")
    equal(len({component["bom-ref"] for component in bill["components"]}), len(components), "references, each once")
    state = json.loads((REPOSITORY / ".build/workspace-state.json").read_text())
    pinned = {
        package["packageRef"]["identity"]: package["state"]["checkoutState"] for package in state["object"]["dependencies"]
        if "checkoutState" in package["state"] and "docc" not in package["packageRef"]["identity"]}
    check(len(pinned) >= 5, f"{pinned}")
    for identity, checkout in pinned.items():
        equal(components[identity]["version"], checkout["version"], identity)
        check(checkout["revision"] in components[identity]["externalReferences"][0]["comment"], f"the commit of {identity}")
    check("swift" in components and all("version" in components[name] for name in ("libsqlite3.so.0", "libpq.so.5")), "Swift, shared libraries")
    folders = ("usr/bin", "usr/libexec", "usr/lib/touchstone/swift")
    check("icu" in components and components["icu"]["version"].isdigit(), "ICU")
    programs = {str(path.relative_to(unpacked.folder)): path for folder in folders for path in (unpacked.folder / folder).rglob("*") if path.is_file()}
    equal({name for name, one in components.items() if one["type"] == "file"}, set(programs), "the programs")
    for name, path in programs.items():
        equal(components[name]["hashes"][0]["content"], hashlib.sha256(path.read_bytes()).hexdigest(), f"the sum of {name}")


def main():
    with tempfile.TemporaryDirectory() as work, tempfile.TemporaryDirectory() as library, contextlib.ExitStack() as folders:
        tarball = make(pathlib.Path(work))
        (pathlib.Path(library) / DEBUG_LIBRARY).symlink_to(TOOLCHAIN / DEBUG_LIBRARY)
        ENVIRONMENT["LD_LIBRARY_PATH"] = library
        for test in (
                what_is_installed_works_and_goes_again, two_devices_synchronize_by_what_is_installed, an_upgrade_takes_away_what_is_no_longer_there, it_refuses_what_it_should,
                the_service_of_the_system_comes_with_usr_alone, the_bill_names_what_is_inside):
            place = pathlib.Path(folders.enter_context(tempfile.TemporaryDirectory()))
            unpacked = Unpacked(tarball, pathlib.Path(folders.enter_context(tempfile.TemporaryDirectory())))
            test(unpacked, place)
            print(f"ok: {test.__name__.replace('_', ' ')}")


main()
