#!/usr/bin/env python3
"""The system service as it is installed, under systemd in a container: users, units, sockets, the login service, the journal."""

import functools
import json
import os
import re
import signal
import subprocess
import time

from container import OWNER, OWNER_ID, PLACES, PRELUDE, STRANGER, SYSTEM, Container
from device import REPOSITORY, check, equal, main, wait_for
from system_reader import TOUCH, VIRTUAL

PASSCODE = "271828"
INTERFACES = REPOSITORY / "Sources/TouchstoneInterfaces"
# Worse than these is a change of a unit that nobody meant; 0 is the best there is.
EXPOSURE = {
    "touchstone-enclave@.service": 0.6, "touchstoned@.service": 0.5, "touchstone-peers.service": 1.4, "touchstone-ssh-agent@.service": 0.9,
    "touchstone-credentials@.service": 0.8, "touchstone-pkcs11@.service": 0.8,
    "touchstone-fido@.service": 0.9,
}
ENCLAVE, DAEMON = f"touchstone-enclave@{OWNER_ID}.service", f"touchstoned@{OWNER_ID}.service"

ITEM = """
item = {"class": {"string": "genp"}, "acct": {"string": "a"}, "pdmn": {"string": "ak"}}
def read(connection):
    error, reply = call(connection, "Keychain.CopyMatching", query=item | {"r_Data": {"boolean": True}})
    return reply["items"][0]["data"] if error is None else reply.get("status", error)
"""
LOCKED = -25308


def status(container):
    return json.loads(container.touchstone("device", "status", "--json").stdout)


def unlock(container):
    container.touchstone("device", "unlock", input=f"{PASSCODE}\n")


def units_are_well_formed_and_closed():
    """systemd-analyze verify and security, from the files alone."""
    for name, bound in EXPOSURE.items():
        result = subprocess.run(
            ["systemd-analyze", "security", "--offline=true", SYSTEM / "systemd" / name], capture_output=True, text=True)
        score = float(re.search(r"Overall exposure level for \S+: ([0-9.]+)", result.stdout)[1])
        print(f"  {name}: {score}")
        check(score <= bound, f"{name}: exposure {score}, at most {bound}\n{result.stdout}")
        for limit in ("MemoryMax", "TasksMax"):
            check(re.search(rf"^{limit}=\d", (SYSTEM / "systemd" / name).read_text(), re.M), f"{name} has no {limit}")


def installed_units_verify(container):
    units = [ENCLAVE, DAEMON, "touchstone-peers.service", f"touchstoned@{OWNER_ID}.socket", f"touchstone-enclave@{OWNER_ID}.socket",
             "touchstone-peers.socket"]

    def said():
        result = container.run("systemd-analyze", "verify", "--man=no", *units, status=None)
        return [line for line in (result.stdout + result.stderr).splitlines() if "touchstone" in line]

    equal(said(), [], "what systemd-analyze verify says")
    container.write(f"/run/systemd/system/{DAEMON}.d/wrong.conf", "[Service]\nNoSuchSetting=touchstone\n")
    check(said(), "a unit with a mistake in it")
    container.run("rm", "-r", f"/run/systemd/system/{DAEMON}.d")


def nothing_is_there_before_root_makes_it(container):
    result = container.touchstone("doctor", "system", status=69)
    check("the system keeps no device for you" in result.stdout and "sudo touchstone setup" in result.stdout, result.stdout)
    result = container.run("touchstone", "system", "create", OWNER, user=OWNER, status=5)
    check("only root" in result.stderr, result.stderr)
    # A root whose umask lets nobody look.
    container.run("sh", "-c", f"rmdir /var/lib/touchstone; umask 077; exec touchstone system create {OWNER}")
    equal(container.run("stat", "-c", "%a", "/var/lib/touchstone").stdout.strip(), "711", "the mode of the devices' directory")
    container.run("touchstone", "system", "create", OWNER, status=1)


def it_starts_when_the_owner_asks(container):
    equal([container.main_pid(unit) for unit in (ENCLAVE, DAEMON)], [0, 0], "the daemons before anybody asks")
    found = status(container)
    equal((found["name"], found["isSimulated"], found["rootOfTrust"], found["isPasscodeSet"]), ("system", False, "software", False),
          "the device")
    for unit, user in ((ENCLAVE, "touchstone-enclave"), (DAEMON, "touchstone"), ("touchstone-peers.service", "touchstone-peers")):
        pid = container.main_pid(unit)
        equal(container.run("ps", "-o", "user:32=", "-p", pid).stdout.strip(), user, f"the user of {unit}")
        limits = container.run("cat", f"/proc/{pid}/status").stdout
        check("Seccomp:\t2" in limits and "NoNewPrivs:\t1" in limits, limits)
        capabilities = re.search(r"CapEff:\t(\w+)", limits)[1]
        # CAP_DAC_READ_SEARCH and CAP_SYS_PTRACE
        equal(int(capabilities, 16), (1 << 2 | 1 << 19) if user == "touchstone-peers" else 0, f"the capabilities of {unit}")


def the_owner_uses_it(container):
    container.touchstone("device", "passcode", "set", input=f"{PASSCODE}\n")
    found = container.python(ITEM + """
connection = connect()
added = call(connection, "Keychain.Add", attributes=item | {"v_Data": {"data": "YQ=="}})
say([added, read(connection)])""", user=OWNER)
    equal(found, [[None, found[0][1]], "YQ=="], "an item of the owner's")
    container.touchstone("device", "lock")
    equal(container.python(ITEM + "say(read(connect()))", user=OWNER), LOCKED, "the item behind the lock")
    unlock(container)
    equal(container.python(ITEM + "say(read(connect()))", user=OWNER), "YQ==", "the item after the passcode")
    # Without the lists of packages that are not there.
    for part in ("desktop", "pam", "sync"):
        container.run("rm", f"{PLACES['owner-programs.d']}/touchstone-{part}.conf")
    report = container.touchstone("doctor").stdout
    check("[!!] owner's programs" not in report, report)
    check("[ok] daemons: run as separate users" in report and "What such a device cannot promise" in report, report)


def an_app_is_known_by_what_it_runs(container):
    """touchstoned may not look at the owner's processes, and touchstone-peers tells it; another program of the owner is another app."""
    container.run("cp", os.path.realpath("/usr/bin/python3"), f"/home/{OWNER}/other")
    source = PRELUDE + ITEM + "say(read(connect()))"
    equal(json.loads(container.run(f"/home/{OWNER}/other", "-I", "-", user=OWNER, input=source).stdout), -25300,
          "the item for another program")
    journal = container.journal()
    check(" is refused: " not in journal, journal[-2000:])


def the_owners_interface_is_for_programs_that_root_lists(container):
    asks = ITEM + """
connection = connect()
call(connection, "Authentication.GetIdentity")
calls = ["Device.ListFingers", "Device.Lock", "Device.GetNonce", "Device.GetLogHead", "Backup.Check"]
say([[call(connection, name, **({"repairs": False} if "Check" in name else {})) for name in calls], read(connection)])"""
    interpreter = os.path.realpath("/usr/bin/python3")
    answers, item = container.python(asks, user=OWNER)
    refused = ["io.touchstone.Device.Refused",
               {"reason": "notListed", "program": interpreter, "directory": "/etc/touchstone/owner-programs.d"}]
    equal(answers, [refused] * len(answers), "what a program of the owner's is told")
    equal(item, "YQ==", "an app's own item")
    # Every method of the owner's: without its parameters none does more than say so.
    methods = [
        f"{interface}.{name}" for interface in ("Agent", "Backup", "Device", "Sync")
        for name in re.findall(r"^method (\w+)", (INTERFACES / f"io.touchstone.{interface}.varlink").read_text(), re.M)]
    check(len(methods) > 50, f"{len(methods)} methods")
    answers = container.python(f"say([call(connect(), name) for name in {methods}])", user=OWNER)
    unanswered = [f"org.varlink.service.{name}" for name in ("InvalidParameter", "ExpectedMore")]
    answered = [name for name, answer in zip(methods, answers) if answer != refused and answer[0] not in unanswered]
    equal(answered, [], "methods of the owner's interface that a program which is not listed may call")
    # And with them.
    sealed = {"encapsulatedKey": "", "ciphertext": ""}
    whole = {
        "Agent.Subscribe": {}, "Device.WatchStatus": {}, "Device.ReadLog": {"follow": False}, "Sync.Monitor": {},
        "Device.Unlock": {"passcode": sealed}, "Device.RemoveFinger": {"finger": "a"}, "Device.SetEraseData": {"isOn": True, "passcode": sealed},
        "Device.SetFaceIDPermission": {"app": "/usr/bin/a"}, "Device.CheckLog": {"lines": []}, "Backup.Export": {"session": "a"},
        "Backup.SetQuota": {"app": "/usr/bin/a"}, "Sync.Remove": {"member": "", "name": "a", "passcode": sealed}}
    asks = f"""
def ask(method, parameters):
    connection = connect()
    call(connection, "Authentication.GetIdentity")
    frame = {{"method": "io.touchstone." + method, "parameters": parameters, "more": True}}
    connection.sendall(json.dumps(frame).encode() + bytes(1))
    return receive(connection)
say([ask(*one) for one in {list(whole.items())}])"""
    equal(dict(zip(whole, container.python(asks, user=OWNER))), dict.fromkeys(whole, refused), "what it is told")
    check(not status(container)["isLocked"], "the device was locked all the same")
    # The twin: a program that is listed, for as long as it is.
    container.write("/etc/touchstone/owner-programs.d/test.conf", f"# for a test\n{interpreter}\n")
    one = "say(call(connect(), 'Device.ListFingers'))"
    equal(container.python(one, user=OWNER), [None, {"fingers": []}], "a listed program")
    report = container.touchstone("doctor").stdout
    check(f"[ok] owner's programs: root gave the owner's interface to {interpreter}, /usr/bin/touchstone" in report, report)
    container.run("chmod", "o+w", "/etc/touchstone/owner-programs.d/test.conf")
    equal(container.python(one, user=OWNER)[1]["reason"], "notListed", "a list that others can write to")
    report = container.touchstone("doctor").stdout
    check("[!!] owner's programs: /etc/touchstone/owner-programs.d/test.conf is not used: others can write to it" in report, report)
    # A copy that its owner can replace does not count, whoever lists it.
    container.write("/etc/touchstone/owner-programs.d/test.conf", f"/home/{OWNER}/other\n")
    container.run("chmod", "644", "/etc/touchstone/owner-programs.d/test.conf")
    result = container.run(f"/home/{OWNER}/other", "-I", "-", user=OWNER, input=PRELUDE + one)
    equal(json.loads(result.stdout)[1]["reason"], "notListed", "a listed program of the owner's own making")
    container.run("rm", "/etc/touchstone/owner-programs.d/test.conf")
    equal(container.python(one, user=OWNER)[1]["reason"], "notListed", "a program that is listed no more")
    equal(container.python("say(call(connect(), 'Device.ListFingers'))")[0], None, "root's program")


def an_unlock_lasts(container):
    """Programs lock it three times within two minutes, and no fourth time; the session does."""
    for _ in range(3):
        unlock(container)
        container.touchstone("device", "lock")
    unlock(container)
    result = container.touchstone("device", "lock", status=None)
    check(result.returncode != 0 and "three times within two minutes" in result.stderr, result.stderr)
    check(not status(container)["isLocked"], "the device was locked all the same")


def sessions_lock_it(container):
    container.run("systemd-run", "--quiet", "--unit=owner-session", f"--uid={OWNER}", "-p", "PAMName=login", "sleep", "600")
    container.run("systemd-run", "--quiet", "--unit=stranger-session", f"--uid={STRANGER}", "-p", "PAMName=login", "sleep", "600")

    def session(user):
        for line in container.run("loginctl", "--no-legend", "list-sessions").stdout.splitlines():
            fields = line.split()
            if user in fields:
                return fields[0]
        return None

    own, other = (wait_for(lambda: session(user), f"the session of {user}") for user in (OWNER, STRANGER))
    unlock(container)
    container.run("loginctl", "lock-session", other)
    # What comes after it is heard after it.
    container.run("loginctl", "lock-session", own)
    wait_for(lambda: status(container)["isLocked"], "the device to lock with the owner's session")
    equal(container.python(ITEM + "say(read(connect()))", user=OWNER), LOCKED, "the item when the session is locked")
    container.run("loginctl", "unlock-session", own)
    unlock(container)
    # A refused lock is seen as the next one being heard: the stranger's, with nothing of the owner's behind it.
    container.run("loginctl", "lock-session", other)
    container.run("loginctl", "unlock-session", own)
    time.sleep(0.5)
    check(not status(container)["isLocked"], "the stranger's session locks the owner's device")
    container.touchstone("device", "lock")
    container.run("loginctl", "unlock-session", own)
    time.sleep(0.5)
    check(status(container)["isLocked"], "unlocking the session opens the device")
    unlock(container)
    # As desktops say it that lock by themselves.
    container.run("sh", "-c", f"busctl call org.freedesktop.login1 $(busctl call org.freedesktop.login1 /org/freedesktop/login1 "
                  f"org.freedesktop.login1.Manager GetSession s {own} | cut -d'\"' -f2) org.freedesktop.login1.Session SetLockedHint b true")
    wait_for(lambda: status(container)["isLocked"], "the device to lock when the desktop says that it is locked")


FORGED = """
bus = ["dbus-send", "--system", "--type=signal"]
names = [line.split()[0] for line in subprocess.run(["busctl", "list", "--no-legend"], capture_output=True, text=True).stdout.splitlines()
         if "touchstone-encl" in line]
results = [subprocess.run([*bus, *destination, "/org/freedesktop/login1", "org.freedesktop.login1.Manager.PrepareForSleep",
                           "boolean:true"], capture_output=True, text=True).returncode for destination in [[]] + [["--dest=" + name] for name in names]]
say([names, results])
"""


def only_the_login_service_is_believed(container):
    unlock(container)
    names, results = container.python(FORGED, user=OWNER)
    equal((len(names), set(results)), (1, {0}), "the enclave's name on the bus, and what was sent to everybody and to it")
    time.sleep(0.5)
    check(not status(container)["isLocked"], "a forged PrepareForSleep locks the device")
    # What others may say to it, and what it and touchstoned may say, the bus decides: they call the bus and two services, and nobody else.
    for user, calls in (
        ("touchstone", {"org.freedesktop.DBus": False, "org.freedesktop.login1": False}),
        ("touchstone-enclave", {"org.freedesktop.DBus": True, "org.freedesktop.login1": True, "org.freedesktop.systemd1": False}),
    ):
        for name, isAllowed in calls.items():
            path = "/" + name.replace(".", "/")
            method = ("org.freedesktop.DBus.Properties.GetAll" if name == "org.freedesktop.systemd1" else "org.freedesktop.DBus.GetId"
                      if name == "org.freedesktop.DBus" else "org.freedesktop.login1.Manager.ListSessions")
            argument = ["string:org.freedesktop.systemd1.Manager"] if "systemd1" in name else []
            result = container.run("dbus-send", "--system", "--print-reply", f"--dest={name}", path, method, *argument, user=user, status=None)
            equal(result.returncode == 0, isAllowed, f"{user} calls {name}: {result.stderr}")


def delays(container):
    """What of ours the login service waits for before the machine sleeps."""
    lines = container.run("systemd-inhibit", "--list", "--no-legend", "--no-pager", status=None).stdout.splitlines()
    return [line for line in lines if line.startswith("Touchstone") and " sleep " in line and line.rstrip().endswith("delay")]


def it_delays_sleep(container):
    """The real login service waits for it before the machine sleeps; without the bus's leave it does not, and the journal says so."""
    equal(len(delays(container)), 1, "what delays a sleep")
    check(str(container.main_pid(ENCLAVE)) in delays(container)[0] and OWNER in delays(container)[0], delays(container)[0])
    policy = f"{PLACES['dbus-1']}/touchstone.conf"
    text = container.run("cat", policy).stdout
    try:
        container.write(policy, text.replace('send_member="Inhibit"', 'send_member="Nothing"'))
        container.run("systemctl", "reload", "dbus.service")
        container.run("systemctl", "restart", "systemd-logind.service")
        wait_for(lambda: "does not let this program delay a sleep" in container.journal(ENCLAVE), "the enclave to say so")
        equal(delays(container), [], "what delays a sleep without the bus's leave")
    finally:
        container.write(policy, text)
        container.run("systemctl", "reload", "dbus.service")
    container.run("systemctl", "restart", "systemd-logind.service")
    equal(len(wait_for(lambda: delays(container), "the delay that the new login service knows of")), 1, "what delays a sleep after that")
    unlock(container)


def sleep_locks_it(container):
    """The login service's own signal, from a login service that says what it is told."""
    container.run("systemctl", "stop", "systemd-logind.service")
    wait_for(lambda: status(container)["isLocked"], "the device to lock when the login service is gone")
    container.run("systemctl", "mask", "--runtime", "--now", "systemd-logind.service")
    heard = f"locks with the sessions of {OWNER}"
    before = container.journal(ENCLAVE).count(heard)
    container.run("systemd-run", "--quiet", "--unit=mock", "python3", "-m", "dbusmock", "--system", "--template", "logind")
    wait_for(lambda: container.journal(ENCLAVE).count(heard) > before, "the enclave to hear the new one")
    unlock(container)
    emit = ["busctl", "call", "org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.DBus.Mock", "EmitSignal", "sssav",
            "org.freedesktop.login1.Manager", "PrepareForSleep", "b", "1", "b"]
    container.run(*emit, "false")
    time.sleep(0.5)
    check(not status(container)["isLocked"], "waking up locks it")
    equal(len(wait_for(lambda: delays(container), "the delay")), 1, "what delays a sleep")
    container.run(*emit, "true")
    wait_for(lambda: not delays(container), "the machine to be let sleep")
    # No sooner than that: class A's keys are gone by then.
    check(status(container)["isLocked"], "the machine sleeps with an open device")
    unlock(container)
    equal(delays(container), [], "what delays a sleep that has begun")
    container.run(*emit, "false")
    wait_for(lambda: len(delays(container)) == 1, "the delay of the next sleep")
    check(not status(container)["isLocked"], "waking up locks it")


def a_daemon_that_dies_takes_the_other_with_it(container):
    for victim in (DAEMON, ENCLAVE):
        before = [container.main_pid(unit) for unit in (ENCLAVE, DAEMON)]
        container.run("systemctl", "kill", "-s", "KILL", victim)
        wait_for(lambda: not set(before) & {container.main_pid(unit) for unit in (ENCLAVE, DAEMON)}, "both to be replaced")
        found = wait_for(lambda: container.touchstone("device", "status", "--json", status=None).stdout, "the device to answer")
        equal((json.loads(found)["isLocked"], json.loads(found)["wasUnlockedSinceBoot"]), (True, False), "the device after a reboot")
        unlock(container)


def who_connects_once_holds_nobody_up(container):
    """The enclave answers the touchstoned that connects twice, whoever came before it."""
    container.run("systemctl", "stop", DAEMON, ENCLAVE)
    program = f"import socket, time; s = socket.socket(socket.AF_UNIX); s.connect('/run/touchstone/{OWNER_ID}/enclave.sock'); time.sleep(60)"
    container.run("systemd-run", "--quiet", "--unit=once", "--uid=touchstone", "python3", "-c", program)
    wait_for(lambda: container.main_pid(ENCLAVE), "the enclave")
    check(container.main_pid("once.service"), "the one that connected")
    unlock(container)
    container.run("systemctl", "stop", "once.service")


def a_crowd_ends_nothing(container):
    """touchstone-peers goes on where more connect than it has descriptors for."""
    unit, few = "touchstone-peers.service", "/run/systemd/system/touchstone-peers.service.d/few.conf"
    container.write(few, "[Service]\nLimitNOFILE=24\n")
    container.run("systemctl", "daemon-reload")
    container.run("systemctl", "restart", unit)
    pid = container.main_pid(unit)
    full = container.python("""
crowd = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(48)]
for one in crowd:
    one.connect("/run/touchstone/peers.sock")
time.sleep(0.3)
say(len(crowd))""", user="touchstone")
    equal((full, container.main_pid(unit)), (48, pid), "the crowd, and the process after it")
    equal(container.python(ITEM + "say(read(connect()))", user=OWNER), "YQ==", "the item after the crowd")
    container.run("rm", few)
    container.run("systemctl", "daemon-reload")
    container.run("systemctl", "restart", unit)


def an_old_state_is_not_taken_back(container):
    """PC-34: what is remembered of the newest state outlives the daemons, where no program of the owner's reaches it."""
    state = f"/var/lib/touchstone/{OWNER_ID}/enclave/state"
    container.run("systemctl", "stop", DAEMON, ENCLAVE)
    container.run("cp", "-p", state, "/tmp/old")
    check(container.touchstone("device", "unlock", input="999999\n", status=None).returncode != 0, "a wrong passcode")
    container.run("systemctl", "stop", DAEMON, ENCLAVE)
    container.run("cp", "-p", state, "/tmp/newest")
    container.run("cp", "-p", "/tmp/old", state)
    container.touchstone("device", "status", status=69)
    wait_for(lambda: "older than one that was here" in container.journal(ENCLAVE), "the enclave to say why")
    container.run("systemctl", "stop", DAEMON, ENCLAVE, f"touchstoned@{OWNER_ID}.socket", f"touchstone-enclave@{OWNER_ID}.socket")
    container.run("cp", "-p", "/tmp/newest", state)

    def again():
        # systemd counts starts that failed over some seconds, and leaves the sockets alone until those are over.
        container.run("systemctl", "reset-failed")
        container.run("systemctl", "start", f"touchstone-enclave@{OWNER_ID}.socket", f"touchstoned@{OWNER_ID}.socket")
        return container.touchstone("device", "status", "--json", status=None).stdout

    equal(json.loads(wait_for(again, "the device to start with the newest state"))["passcodeFailures"], 1, "wrong passcodes")
    unlock(container)


def the_journal_tells(container):
    fields = container.run("journalctl", "--no-pager", "-o", "json", "TOUCHSTONE_EVENT=locked", "-n", "1").stdout
    entry = json.loads(fields)
    equal((entry["TOUCHSTONE_DEVICE"], entry["_SYSTEMD_UNIT"]), ("system", DAEMON), "an entry of the journal")
    check("MESSAGE_ID" in entry and PASSCODE not in container.journal(), "the journal")


def nobody_takes_another_device_for_it(container):
    """While nothing listens, a program that names no device is told so; it does not get the user's own."""
    sockets = [f"touchstoned@{OWNER_ID}.socket", f"touchstone-enclave@{OWNER_ID}.socket"]
    container.run("systemctl", "stop", DAEMON, ENCLAVE, *sockets)
    result = container.touchstone("doctor", status=None)
    check("the system's device does not answer" in result.stdout, result.stdout + result.stderr)
    check("system  off" in container.touchstone("device", "list").stdout, "the list of devices")
    container.run("systemctl", "start", *sockets)
    equal(status(container)["name"], "system", "the device that is meant when it is back")


def root_takes_it_away(container):
    container.run("touchstone", "system", "remove", OWNER, "--yes")
    equal([container.main_pid(unit) for unit in (ENCLAVE, DAEMON)], [0, 0], "the daemons")
    check(container.run("ls", f"/var/lib/touchstone/{OWNER_ID}", status=None).returncode != 0, "the directory is gone")
    container.touchstone("device", "status", "system", status=69)


# A TPM that is a program, for the enclave's user too.
TPM = "/run/swtpm/tpm"
ADDRESS = f"swtpm:path={TPM}"


def start_tpm(container):
    container.run("install", "-d", "-m", "755", "/run/swtpm", "/run/swtpm/state")
    container.run("swtpm_setup", "--tpm2", "--tpmstate", "/run/swtpm/state", "--overwrite", "--pcr-banks", "sha256")
    container.run("systemd-run", "--quiet", "--unit=swtpm", "swtpm", "socket", "--tpm2", "--tpmstate", "dir=/run/swtpm/state", "--server",
                  f"type=unixio,path={TPM},mode=0666", "--ctrl", f"type=unixio,path={TPM}.ctrl", "--flags", "not-need-init,startup-clear")
    wait_for(lambda: container.run("test", "-S", TPM, status=None).returncode == 0, "the TPM")


def nv_indices(container):
    """What is kept in the TPM, which serves one program at a time: the daemons are stopped for it."""
    container.run("systemctl", "stop", DAEMON, ENCLAVE, status=None)
    found = container.run("env", f"TPM2TOOLS_TCTI={ADDRESS}", "tpm2_getcap", "handles-nv-index").stdout.split()
    return [word for word in found if word.startswith("0x")]


def a_tpm_holds_it(container):
    """Made, used, restarted, recovered and removed: nothing of it is left in the TPM."""
    start_tpm(container)
    before = nv_indices(container)
    key = container.run("touchstone", "system", "create", OWNER, "--", "--tpm", ADDRESS).stdout.strip()
    equal(len(key), 39, f"the recovery key, which is all that is on standard output: {len(key)} characters")
    check(status(container)["rootOfTrust"] not in ("software", ""), f"the root of trust: {status(container)['rootOfTrust']}")
    container.touchstone("device", "passcode", "set", input=f"{PASSCODE}\n")
    add = ITEM + 'say(call(connect(), "Keychain.Add", attributes=item | {"v_Data": {"data": "YQ=="}})[0])'
    equal(container.python(add, user=OWNER), None, "an item")
    equal(len(nv_indices(container)), len(before) + 2, "the counter and the passcode's gate in the TPM")
    unlock(container)
    equal(container.python(ITEM + "say(read(connect()))", user=OWNER), "YQ==", "the item after a restart")
    # Another TPM, as it were: the one that was cleared.
    nv_indices(container)
    container.run("env", f"TPM2TOOLS_TCTI={ADDRESS}", "tpm2_clear")
    container.touchstone("device", "status", status=69)
    result = container.touchstone("device", "recover", "system", status=None)
    check(result.returncode != 0 and "touchstone system recover" in result.stderr, result.stderr)
    result = container.run("touchstone", "system", "recover", OWNER, user=OWNER, status=5)
    check("only root" in result.stderr, result.stderr)
    wrong = "AAAA" + key[4:] if not key.startswith("AAAA") else "BBBB" + key[4:]
    result = container.run("touchstone", "system", "recover", OWNER, input=f"{wrong}\n{PASSCODE}\n", status=None)
    check(result.returncode != 0 and "was not recovered" in result.stderr, result.stderr)
    container.run("systemctl", "reset-failed")
    # systemd forgets after 2 s how often a socket was asked for a daemon that cannot start: sooner than anybody types a key.
    time.sleep(2.1)
    container.run("touchstone", "system", "recover", OWNER, input=f"{key}\n{PASSCODE}\n")
    unlock(container)
    equal(container.python(ITEM + "say(read(connect()))", user=OWNER), "YQ==", "the item after the recovery")
    equal(len(nv_indices(container)), len(before) + 2, "the counter and the gate in the new TPM")
    container.run("touchstone", "system", "remove", OWNER, "--yes")
    equal(nv_indices(container), before, "what is left in the TPM")
    # A device with a key file has nothing to recover.
    container.create()
    result = container.run("touchstone", "system", "recover", OWNER, status=1)
    check("key file" in result.stderr, result.stderr)
    container.run("touchstone", "system", "remove", OWNER, "--yes")


def a_deleted_users_device_opens_for_nobody(container):
    """Neither for nobody nor for whoever gets the number; root removes it by that, and the new user gets one."""
    gone, heir, number = "ts-gone", "ts-heir", 30003
    daemon = f"touchstoned@{number}.service"
    container.run("useradd", "--uid", number, "--no-create-home", gone)
    container.run("touchstone", "system", "create", gone)
    equal(json.loads(container.touchstone("device", "status", "--json", user=gone).stdout)["name"], "system", "the user's device")
    container.run("systemctl", "stop", daemon, f"touchstone-enclave@{number}.service")
    container.run("userdel", gone)
    container.run("useradd", "--uid", number, "--no-create-home", heir)
    container.touchstone("device", "status", user=heir, status=69)
    said = f"this device was made for '{gone}', and user {number} is '{heir}' now"
    wait_for(lambda: said in container.journal(daemon), "the journal to say why")
    report = container.touchstone("doctor", user=heir, status=None).stdout
    check(f"made for '{gone}', who no longer exists" in report and f"touchstone system remove {number}" in report, report)
    result = container.run("touchstone", "system", "create", heir, status=1)
    check(f"made for {gone}" in result.stderr, result.stderr)
    container.run("userdel", heir)
    container.run("touchstone", "system", "remove", number, "--yes")
    container.run("useradd", "--uid", number, "--no-create-home", heir)
    container.run("systemctl", "reset-failed")
    container.run("touchstone", "system", "create", heir)
    equal(json.loads(container.touchstone("device", "status", "--json", user=heir).stdout)["isPasscodeSet"], False, "the new user's device")
    container.run("touchstone", "system", "remove", heir, "--yes")
    container.run("userdel", heir)


def a_real_finger_opens_it():
    """The real fprintd, with a virtual reader, and the real polkit, with our rule: the enclave asks them about the owner."""
    with Container() as container:
        container.write("/run/systemd/system/fprintd.service.d/virtual.conf", VIRTUAL)
        container.run("systemctl", "daemon-reload")
        container.run("systemctl", "start", "polkit.service")
        container.create("--biometry", "touchid", "--", "--sensor", "fprintd", "--bus", "/run/dbus/system_bus_socket", "--templates",
                         "/var/lib/fprint")
        container.touchstone("device", "passcode", "set", input=f"{PASSCODE}\n")
        output = container.python(TOUCH + f"""
enrolling = subprocess.Popen(["fprintd-enroll", "-f", "right-index-finger", "{OWNER}"], stdout=subprocess.PIPE, text=True)
while enrolling.poll() is None:
    tell("SCAN A")
    time.sleep(0.02)
say(enrolling.stdout.read())""")
        check("enroll-completed" in output, output)
        wait_for(lambda: status(container)["isEnrolled"], "the enclave to know of the finger")
        container.touchstone("device", "lock")
        check(container.python(TOUCH + 'say(touch("B"))'), "the reader is open")
        wait_for(lambda: "not-matched" in container.touchstone("log", "show", "--json").stdout, "the wrong finger to be counted")
        check(status(container)["isLocked"], "a wrong finger opens it")
        check(container.python(TOUCH + 'say(touch("A"))'), "the reader is open")
        wait_for(lambda: not status(container)["isLocked"], "the owner's finger to open it")
        # Without the rule polkit does not let the enclave ask about somebody else.
        container.run("rm", f"{PLACES['polkit-1']}/touchstone.rules")
        container.run("systemctl", "restart", "polkit.service", "fprintd.service")
        container.run("systemctl", "stop", DAEMON, ENCLAVE)
        wait_for(lambda: status(container)["sensor"].get("problem") == "notAllowed", "the enclave to be refused")


# At a terminal: waits until something is shown, then types, or touches the reader until the next is shown. $1: the steps.
PERSON = TOUCH + """
import pty, select
os.environ["SUDO_UID"] = UID
os.environ["SUDO_USER"] = USER
child, terminal = pty.fork()
if child == 0:
    os.execvp("touchstone", ["touchstone", "setup", *ARGUMENTS])
shown, all_of_it, status = "", "", None
def reads(text, finger=None):
    global shown, all_of_it
    limit = time.monotonic() + 40
    while text not in shown:
        if finger:
            tell("SCAN " + finger)
        if not select.select([terminal], [], [], 0.05)[0]:
            assert time.monotonic() < limit, f"{text!r} was awaited, and this is shown:\\n{all_of_it}"
            continue
        try:
            chunk = os.read(terminal, 65536).decode(errors="replace").replace("\\r\\n", "\\n")
        except OSError:
            chunk = ""
        assert chunk, f"{text!r} was awaited, and the end came:\\n{all_of_it}"
        shown += chunk
        all_of_it += chunk
    shown = shown.partition(text)[2]
for text, *answer in STEPS:
    if answer and answer[0].startswith("touch "):
        reads(text, answer[0][-1])
    else:
        reads(text)
        if answer:
            os.write(terminal, answer[0].encode())
try:
    while chunk := os.read(terminal, 65536):
        all_of_it += chunk.decode(errors="replace")
except OSError:
    pass
say([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), all_of_it])
"""


def sets_up(container, steps, *arguments):
    names = dict(UID=str(OWNER_ID), USER=OWNER, STEPS=steps, ARGUMENTS=arguments)
    return container.python("".join(f"{name} = {value!r}\n" for name, value in names.items()) + PERSON)


def root_sets_it_up_through_sudo():
    """A device for who calls sudo: TPM, reader, passcode, finger and the test of it all; stopped, and gone on with."""
    with Container() as container:
        container.write("/run/systemd/system/fprintd.service.d/virtual.conf", VIRTUAL)
        container.run("systemctl", "daemon-reload")
        container.run("systemctl", "start", "polkit.service")
        start_tpm(container)
        again = "'sudo touchstone setup' continues from there"
        question = ["Use it? [Y/n]", "\n"]
        # Before anything is made.
        result, shown = sets_up(container, [["bound to?", "\n"], ["Use it? [Y/n]", "\x03"], ["stopped"], [again]], "--tcti", ADDRESS)
        equal(result, -signal.SIGINT, shown)
        check(container.run("ls", f"/var/lib/touchstone/{OWNER_ID}", status=None).returncode != 0, "a device is there")
        # In the passcode.
        steps = [["Setting up the system's device of " + OWNER], ["bound to? [the TPM]", "\n"], question, ["Write down the recovery key above."],
                 ["on paper? [y/N]", "y\n"], ["Sensor: fprintd"], ["Root of trust: "], ["New passcode:", "\x03"], [again]]
        result, shown = sets_up(container, steps, "--tcti", ADDRESS)
        equal(result, -signal.SIGINT, shown)
        found = status(container)
        equal((found["name"], found["isPasscodeSet"], found["sensor"]["kind"]), ("system", False, "fprintd"), "the device")
        check(found["rootOfTrust"] != "software", found["rootOfTrust"])
        # The rest.
        steps = [["already exists"], ["New passcode:", PASSCODE + "\n"], ["Repeat the new passcode:", PASSCODE + "\n"], ["Enrol a finger? [Y/n]", "\n"],
                 ["Which one?", "\n"], ["Enrolled.", "touch A"], ["Enrol another? [y/N]", "\n"],
                 [f"'sudo touchstone system recover {OWNER}'"], ["[ok] unlocks with the passcode"], ["[ok] removes the item again"],
                 ["Now touch the reader"], ["[ok] unlocks with the finger", "touch A"], [f"of {OWNER} is set up"]]
        result, shown = sets_up(container, steps)
        equal(result, 0, shown)
        check(PASSCODE not in shown, "the passcode is shown")
        equal([status(container)[fact] for fact in ("isPasscodeSet", "isEnrolled", "isLocked")], [True, True, False], "the device")
        check("right-index-finger" in container.run("fprintd-list", OWNER).stdout, "the owner's finger")
        unlock(container)
        # It is the system's or one's own, never root's own.
        result = container.run("env", f"SUDO_UID={OWNER_ID}", "touchstone", "setup", "--device", "mine", status=64)
        check("run it without sudo" in result.stderr, result.stderr)
        result = container.run("touchstone", "setup", "--device", "system", user=OWNER, status=None)
        check(result.returncode != 0 and "sudo touchstone setup" in result.stderr, result.stderr)


main(units_are_well_formed_and_closed, a_real_finger_opens_it, root_sets_it_up_through_sudo)
with Container() as container:
    main(*(
        functools.partial(test, container)
        for test in (
            nothing_is_there_before_root_makes_it, installed_units_verify, it_starts_when_the_owner_asks, the_owner_uses_it,
            an_app_is_known_by_what_it_runs, the_owners_interface_is_for_programs_that_root_lists, sessions_lock_it,
            only_the_login_service_is_believed, it_delays_sleep, sleep_locks_it,
            a_daemon_that_dies_takes_the_other_with_it, an_unlock_lasts, who_connects_once_holds_nobody_up, a_crowd_ends_nothing,
            an_old_state_is_not_taken_back, the_journal_tells, nobody_takes_another_device_for_it, root_takes_it_away,
            a_tpm_holds_it, a_deleted_users_device_opens_for_nobody)))
