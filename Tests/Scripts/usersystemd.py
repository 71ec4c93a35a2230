"""A real systemd of the user's for the tests in this directory, which are executable; this file is not, and no test.

It runs in mounts, processes and control groups of its own: as root.
"""

import contextlib
import os
import subprocess
import sys

from device import LONGEST_WAIT, check, wait_for

SYSTEMD = "/lib/systemd/systemd"
# $1: the test. The control group is left, and removed, when the test has ended.
START = """
mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/systemd/system
umount -l /sys/fs/cgroup 2>/dev/null || true
mount -t cgroup2 cgroup2 /sys/fs/cgroup
group=/sys/fs/cgroup/touchstone-test.$2
mkdir "$group"
echo $$ >"$group/cgroup.procs"
status=0
TOUCHSTONE_TEST_MANAGER=yes "$1" || status=$?
echo $$ >/sys/fs/cgroup/cgroup.procs
find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || true
exit $status
"""


def enter(test):
    """Runs the test once more where a systemd of its own can run; returns there."""
    if os.environ.get("TOUCHSTONE_TEST_MANAGER") != "yes":
        if os.geteuid() != 0:
            sys.exit("this test runs a systemd of its own: run it as root")
        os.execvp("unshare", [
            "unshare", "--mount", "--cgroup", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-euc", START, "sh",
            os.path.abspath(test), str(os.getpid())])
    if not os.access(SYSTEMD, os.X_OK):
        sys.exit(f"{SYSTEMD} is not there: run script/install-packages test system")


@contextlib.contextmanager
def running(environment):
    """For as long as the `with` lasts."""
    process = subprocess.Popen(
        [SYSTEMD, "--user", "--unit=basic.target"], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)
    try:
        wait_for(
            lambda: process.poll() is not None or subprocess.run(
                ["systemctl", "--user", "--quiet", "is-active", "basic.target"], env=environment,
                stderr=subprocess.DEVNULL).returncode == 0, "the user's systemd")
        check(process.poll() is None, "the user's systemd ended")
        yield
    finally:
        process.terminate()
        try:
            process.wait(LONGEST_WAIT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
