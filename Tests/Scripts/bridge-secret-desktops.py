#!/usr/bin/env python3
"""Programs of GNOME and their libraries at the Secret Service: secretstorage's own suite, evolution-data-server, Seahorse."""

import os
import shutil
import signal
import subprocess
import tarfile

from device import LONGEST_WAIT, REPOSITORY, check, equal, main, wait_for
from secretservice import with_bus

SECRETSTORAGE = REPOSITORY / ".build-python/secretstorage/SecretStorage-3.3.3.tar.gz"

# Keeps the password of a mail account, as GNOME's online accounts and Evolution do it.
SOURCE = """
import sys, gi
gi.require_version("EDataServer", "1.2")
from gi.repository import EDataServer
registry = EDataServer.SourceRegistry.new_sync(None)
verb = sys.argv[1]
source = registry.ref_source("mail-of-anna")
if not source:
    source = EDataServer.Source.new_with_uid("mail-of-anna", None)
    source.set_display_name("Mail of Anna")
    source.get_extension(EDataServer.SOURCE_EXTENSION_AUTHENTICATION).set_user("anna")
    registry.commit_source_sync(source, None)
    source = registry.ref_source("mail-of-anna")
if verb == "store": print(source.store_password_sync(sys.argv[2], True, None))
elif verb == "lookup": print(source.lookup_password_sync(None)[1])
else: print(source.delete_password_sync(None))
"""


@with_bus
def the_suite_of_secretstorage(device, bus, person):
    """SS-2, SS-5, SS-14, SS-22, SS-30, SS-42: the 3.3.3 of Debian, with the tests of its source."""
    check(SECRETSTORAGE.exists(), f"{SECRETSTORAGE} is not there: run script/python-environment")
    with tarfile.open(SECRETSTORAGE) as archive:
        archive.extractall(bus.work / "source", filter="data")
    source, = (bus.work / "source").iterdir()
    # Debian's secretstorage, and the tests beside it.
    shutil.rmtree(source / "secretstorage")
    version = bus.run("/usr/bin/python3", "-c", "import importlib.metadata as m; print(m.version('SecretStorage'))").strip()
    equal(version, "3.3.3", "the version of Debian's secretstorage")
    bus.run("/usr/bin/python3", "-m", "unittest", "discover", "-s", "tests", "-t", ".", cwd=source, timeout=5 * LONGEST_WAIT)
    ran = int(bus.said.split("Ran ")[1].split()[0])
    check(ran >= 20 and "FAILED" not in bus.said, bus.said)
    equal(person.asked(), 0, "prompts")


@with_bus
def evolution_data_server_keeps_the_password_of_a_source(device, bus, person):
    """SS-5, SS-30: 3.46; its own process and another program are two."""
    home = bus.work / "home"
    home.mkdir()
    bus.environment |= {"HOME": str(home)} | {f"XDG_{name}_HOME": str(home / name) for name in ("DATA", "CONFIG", "CACHE")}
    registry = subprocess.Popen(["/usr/libexec/evolution-source-registry"], env=bus.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    bus.apps.append(registry)
    wait_for(lambda: "evolution" in bus.run("busctl", f"--address={bus.address}", "status", "org.gnome.evolution.dataserver.Sources5", status=None),
             "evolution's registry")

    def source(program, *words, **settings):
        return bus.run(bus.copy("python3", program), "-c", SOURCE, *words, **settings).strip()

    equal(source("evolution", "store", "correct horse"), "True", "stored")
    equal(source("evolution", "lookup"), "correct horse", "looked up")
    bus.restart(kill=True)
    equal(source("evolution", "lookup"), "correct horse", "after a new start of the service")
    equal(person.asked(), 0, "prompts of the program that stored it")
    person.answer = "cancel"
    check("correct horse" not in source("another", "lookup", status=None), "another program reads it")
    equal(person.asked(), 1, "prompts of another program")
    equal(source("evolution", "delete"), "True", "deleted")
    equal(source("evolution", "lookup"), "None", "after it was deleted")

# Waits until a window shows these texts, as a screen reader sees it, and selects the row of the first one.
WINDOW = """
import sys, time, gi
gi.require_version("Atspi", "2.0")
from gi.repository import Atspi
# Milliseconds for an answer, also of a program that has just started on a busy machine.
Atspi.set_timeout(15000, 60000)
def walk(node, depth=0):
    if node is None or depth > 25: return
    try:
        yield node.get_name(), node
        children = [node.get_child_at_index(index) for index in range(min(node.get_child_count(), 200))]
    except Exception: return
    for child in children: yield from walk(child, depth + 1)
wanted, end = sys.argv[2:], time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    desktop = Atspi.get_desktop(0)
    # Nobody here listens to events, so that what is remembered of the last look stays as it was then.
    desktop.clear_cache()
    found = [(name, node) for name, node in walk(desktop) if name]
    if all(any(word in name for name, _ in found) for word in wanted):
        row = next(node for name, node in found if wanted[0] in name)
        while row and not (row.get_parent() and row.get_parent().get_selection_iface()): row = row.get_parent()
        if row: print(row.get_parent().get_selection_iface().select_child(row.get_index_in_parent()))
        sys.exit(0)
    time.sleep(0.3)
print(sorted(name for name, _ in found))
sys.exit(1)
"""


@with_bus
def seahorse_lists_after_one_prompt(device, bus, person):
    """SS-36, SS-33: 43.0; before it, and after a cancel, it sees nothing of others."""
    mailer = bus.app("mailer")
    mailer.ask("store('anna', 'correct horse', label='Mail of Anna'), store('bert', 'staple', label='Mail of Bert')")
    home = bus.work / "home"
    home.mkdir()
    # It says its number once programs can connect; its socket is there sooner, and refuses them.
    number, told = os.pipe()
    bus.apps.append(subprocess.Popen(["Xvfb", "-displayfd", str(told), "-screen", "0", "1024x768x24", "-nolisten", "tcp"], pass_fds=(told,),
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    os.close(told)
    with os.fdopen(number) as line:
        display = f":{line.readline().strip()}"
    environment = bus.environment | {
        "HOME": str(home), "DISPLAY": display, "GDK_BACKEND": "x11", "NO_AT_BRIDGE": "0", "GTK_MODULES": "gail:atk-bridge",
        "GSETTINGS_BACKEND": "memory", "XDG_CURRENT_DESKTOP": "GNOME"}
    launcher = subprocess.Popen(["/usr/libexec/at-spi-bus-launcher", "--launch-immediately", "--a11y=1"], env=environment,
                                start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    bus.environment = environment

    def sees(seconds, *texts, **settings):
        return not bus.run("/usr/bin/python3", "-c", WINDOW, seconds, *texts, **settings).startswith("[")

    def seahorse(answer, status):
        person.answer = answer
        # GTK looks once, at its start, for those who read its windows, and waits 25 seconds for them. So a busy machine gets more tries.
        for status_of_try in (None, None, 0):
            program = subprocess.Popen(["/usr/bin/seahorse"], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            bus.apps.append(program)
            if sees(LONGEST_WAIT - 50, "Login", status=status_of_try):
                break
            program.kill()
            program.wait(LONGEST_WAIT)
            person.asked()
        check(program.poll() is None, "Seahorse ended")
        wait_for(lambda: person.prompts, "the prompt")
        sees(3 if status else LONGEST_WAIT - 10, "Mail of Anna", "Mail of Bert", status=status)
        program.kill()
        program.wait(LONGEST_WAIT)
        equal([(os.path.basename(prompt["client"]["identifier"]), prompt["reason"]) for prompt in person.prompts],
              [("seahorse", "manage all your stored passwords")], "the prompts")
        person.asked()

    try:
        wait_for(lambda: "at-spi-bus" in bus.run("busctl", f"--address={bus.address}", "status", "org.a11y.Bus", status=None), "its bus")
        # The name of the registry's root.
        check(sees(LONGEST_WAIT - 10, "main"), "the registry")
        seahorse("finger", 0)
        seahorse("cancel", 1)
    finally:
        # Its bus and its registry outlive it.
        os.killpg(launcher.pid, signal.SIGKILL)
        launcher.wait(LONGEST_WAIT)


main(
    the_suite_of_secretstorage, evolution_data_server_keeps_the_password_of_a_source, seahorse_lists_after_one_prompt,
)
