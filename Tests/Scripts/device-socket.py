#!/usr/bin/env python3
"""A device of one's own that the user's systemd boots when it is first used.

With a real systemd of the user's, in mounts, processes and control groups of its own: as root.
"""

import contextlib
import os
import socket
import stat
import subprocess

import usersystemd
from device import LONGEST_WAIT, PROGRAMS, REPOSITORY, Device, check, equal, is_alive, main, wait_for

usersystemd.enter(__file__)

SOCKET, SERVICE = "touchstone@test.socket", "touchstone@test.service"


def systemctl(device, *words, status=0):
    done = subprocess.run(
        ["systemctl", "--user", *words], env=device.environment, capture_output=True, text=True, timeout=LONGEST_WAIT)
    check(done.returncode == status, f"systemctl {words}: exit {done.returncode}, expected {status}\n{done.stdout}{done.stderr}")


@contextlib.contextmanager
def installed():
    """A device that is off, and its units: those of the package, with the programs of this build."""
    with Device(boot=False) as device:
        units = device.work / "config/systemd/user"
        units.mkdir(parents=True)
        for kind in ("socket", "service"):
            text = (REPOSITORY / f"system/systemd-user/touchstone@.{kind}").read_text()
            (units / f"touchstone@.{kind}").write_text(text.replace("/usr/bin/touchstone", str(PROGRAMS / "touchstone")))
        with usersystemd.running(device.environment):
            yield device


def state_of_service(device):
    return subprocess.run(["systemctl", "--user", "--quiet", "is-active", SERVICE], env=device.environment).returncode


def use(device):
    device.run("item", "list")
    check(device.status is not None, "it is off after its use")


def processes(device):
    found = [device.supervisor, *device.daemons.values()]
    equal(len(found), 3, f"the supervisor and its daemons: {found}")
    device.processes += found
    return found


def has_ended(device, pids):
    for pid in pids:
        wait_for(lambda: not is_alive(pid), f"the end of process {pid}")
    wait_for(lambda: not device.runtime.joinpath("supervisor.pid").exists(), "the supervisor's lock to go")


def boots_when_it_is_first_used():
    with installed() as device:
        systemctl(device, "enable", "--now", SOCKET)
        systemctl(device, "is-active", SERVICE, status=3)
        # Whoever only asks how it is does not boot it.
        check(device.status is None, "it is booted before it is used")
        facts = device.socket.stat()
        equal(stat.S_IMODE(facts.st_mode), 0o600, "the mode of its socket")
        use(device)
        # Active, because the supervisor has said that it is ready.
        wait_for(lambda: state_of_service(device) == 0, "the service")
        first = processes(device)

        said = device.run("device", "boot", "test", status=1).stderr
        check("already booted" in said, f"by hand while it runs: {said}")

        # A reboot keeps the supervisor and the socket.
        os.kill(device.daemons["touchstoned"], 9)
        wait_for(lambda: device.status is not None and len(device.daemons) == 2, "the device after a reboot")
        equal(device.supervisor, first[0], "the supervisor after a reboot")
        equal(device.socket.stat().st_ino, facts.st_ino, "the socket after a reboot")

        running = processes(device)
        device.shutdown()
        has_ended(device, running)
        wait_for(lambda: state_of_service(device) == 3, "the service to stop")
        equal(device.socket.stat().st_ino, facts.st_ino, "the socket of a device that is off")
        said = device.run("device", "boot", "test", status=1).stderr
        check(f"systemctl --user stop {SOCKET}" in said, f"by hand while systemd listens: {said}")
        equal(device.socket.stat().st_ino, facts.st_ino, "the socket after that was refused")

        use(device)
        running = processes(device)
        systemctl(device, "disable", "--now", SOCKET)
        systemctl(device, "stop", SERVICE)
        has_ended(device, running)
        check(device.status is None and not device.socket.exists(), "it answers after its units stopped")
        device.boot()
        check(device.status is not None, "by hand, when systemd does not listen")


def setup_goes_on_with_it():
    with installed() as device:
        systemctl(device, "start", SOCKET)
        # It ends where the passcode is to be set: nobody answers.
        said = device.touchstone("setup")
        check("Sensor:" in said.stdout, said.stdout + said.stderr)
        check(device.status is not None, "it is off after the first step")
        wait_for(lambda: state_of_service(device) == 0, "the service")


def ends_with_the_session():
    with installed() as device:
        systemctl(device, "start", SOCKET)
        use(device)
        running = processes(device)
        systemctl(device, "exit")
        has_ended(device, running)


def boot_with_socket(device, path, status):
    """What systemd does, without it."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        program = 'exec 3<&"$1"; LISTEN_PID=$$ LISTEN_FDS=1 exec "$2" device boot --foreground test'
        done = subprocess.run(
            ["sh", "-c", program, "sh", str(listener.fileno()), str(PROGRAMS / "touchstone")], env=device.environment,
            pass_fds=[listener.fileno()], capture_output=True, text=True, timeout=LONGEST_WAIT)
    equal(done.returncode, status, f"the exit status, with {done.stderr}")
    return done.stderr


def takes_no_socket_that_apps_do_not_use():
    with Device(boot=False) as device:
        said = boot_with_socket(device, device.work / "run/other.sock", 78)
        check(f"has to be {device.socket}" in said, said)
        check(not device.runtime.joinpath("supervisor.pid").exists(), "it is booted")


def leaves_a_device_that_runs_to_its_supervisor():
    with Device() as device:
        running = processes(device)
        device.socket.unlink()
        said = boot_with_socket(device, device.socket, 1)
        check("already booted" in said, said)
        equal(processes(device), running, "the processes")


main(
    boots_when_it_is_first_used, setup_goes_on_with_it, ends_with_the_session, takes_no_socket_that_apps_do_not_use,
    leaves_a_device_that_runs_to_its_supervisor)
