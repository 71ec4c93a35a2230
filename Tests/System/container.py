"""A container in which systemd runs the system service as it is installed, for tests in this directory; no test itself.

Its root is an overlay of this machine's whose changes are in memory; mounts, processes, network and control groups are its own."""

import contextlib
import ctypes
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "Scripts"))
from device import check, wait_for

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(os.environ.get("TOUCHSTONE_BIN", REPOSITORY / ".build/debug")).resolve()
SYSTEM = REPOSITORY / "system"
# As system/README.md says.
PLACES = {
    "systemd": "/usr/lib/systemd/system", "sysusers.d": "/usr/lib/sysusers.d", "tmpfiles.d": "/usr/lib/tmpfiles.d",
    "dbus-1": "/usr/share/dbus-1/system.d", "polkit-1": "/usr/share/polkit-1/rules.d",
    "owner-programs.d": "/usr/lib/touchstone/owner-programs.d",
}
DAEMONS = "/usr/libexec/touchstone"
OWNER, STRANGER = "ts-owner", "ts-stranger"
OWNER_ID, STRANGER_ID = 30001, 30002
LONGEST_START = 60
# Root inside has no right to what is not the container's own: the machine's modules, clock, log and devices.
FORBIDDEN = "--bounding-set=-sys_module,-mac_admin,-sys_time,-sys_rawio,-sys_boot,-syslog"

if os.geteuid() != 0:
    sys.exit("this test makes a container: run it as root")
for program in ("/lib/systemd/systemd", "/usr/bin/systemd-analyze", "/usr/bin/dbus-daemon"):
    if not os.access(program, os.X_OK):
        sys.exit(f"{program} is not there: run script/install-packages test system")
for program in ("touchstone", "touchstoned", "touchstone-enclave", "touchstone-peers"):
    if not os.access(PROGRAMS / program, os.X_OK):
        sys.exit(f"{PROGRAMS / program} is not there: run make test-system")

# What runs as pid 1 of the container until systemd does. $1: where the new root is made.
START = r"""
set -e
mount --make-rprivate /
W=$1; R=$W/root
mount -t tmpfs -o size=1g tmpfs "$W"
mkdir "$W/upper" "$W/work" "$R"
mount -t overlay overlay -o "lowerdir=/,upperdir=$W/upper,workdir=$W/work" "$R"
mkdir -p "$R$DAEMONS"
show() { touch "$2"; mount --bind "$1" "$2"; mount -o remount,bind,ro "$2"; }
for program in touchstoned touchstone-enclave touchstone-peers; do show "$PROGRAMS/$program" "$R$DAEMONS/$program"; done
# Root's own, as a package's is: others are on no list of owner's programs.
install -o root -m 755 "$PROGRAMS/touchstone" "$R/usr/bin/touchstone"
# Nothing of the machine's own is in reach of what systemd cleans at its start.
for directory in tmp var/tmp run home var/lib/systemd var/log; do
    mkdir -p "$R/$directory"; mount -t tmpfs -o mode=755 tmpfs "$R/$directory"
done
chmod 1777 "$R/tmp" "$R/var/tmp"
mount -t proc proc "$R/proc"
mount --bind "$R/proc/sys" "$R/proc/sys"; mount -o remount,bind,ro "$R/proc/sys"
mount -t sysfs -o ro sysfs "$R/sys"
mount -t tmpfs -o mode=755 tmpfs "$R/dev"
mkdir "$R/dev/pts" "$R/dev/shm"; mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$R/dev/pts"; ln -s pts/ptmx "$R/dev/ptmx"
for node in null zero full random urandom tty; do touch "$R/dev/$node"; mount --bind "/dev/$node" "$R/dev/$node"; done
ln -s /proc/self/fd "$R/dev/fd"
mount -t cgroup2 cgroup2 "$R/sys/fs/cgroup"
# What this machine does by the clock, it does itself.
ln -s /dev/null "$R/etc/systemd/system/timers.target"
rm -f "$R/etc/machine-id"; echo 0123456789abcdef0123456789abcdef > "$R/etc/machine-id"
cd "$R"; mkdir -p old; pivot_root . old; cd /; umount -l /old
exec env -i container=touchstone-test PATH=/usr/sbin:/usr/bin:/sbin:/bin setpriv "$FORBIDDEN" /lib/systemd/systemd --system --log-target=journal --unit=basic.target
"""


def unified_groups():
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        fields = line.split()
        if fields[fields.index("-") + 1] == "cgroup2":
            return pathlib.Path(fields[4])
    sys.exit("no cgroup2 is mounted: systemd cannot run in a container here")


class Container:
    """systemd, D-Bus and the login service run; the users and Touchstone's files are installed. All gone at the end of `with`."""

    # Longest time of a command, in seconds.
    patience = 60

    def __init__(self, change=None):
        """`change` may alter a unit's text, by its name, before it is installed: to see an attack succeed."""
        self.change = change or (lambda name, text: text)

    def __enter__(self):
        self.group = unified_groups() / f"touchstone-test-{os.getpid()}"
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="touchstone-container."))
        self.log = pathlib.Path(f"{self.work}.log")
        self.init = None
        try:
            self.log.touch()
            self.group.mkdir()
            self.start()
            self.boot()
        except BaseException:
            with contextlib.suppress(OSError):
                print(self.log.read_text()[-2000:], flush=True)
            self.__exit__()
            raise
        return self

    def start(self):
        libc = ctypes.CDLL(None)

        def prepare():
            # A test that is killed takes its container along: PR_SET_PDEATHSIG here, and --kill-child below.
            libc.prctl(1, signal.SIGKILL)
            # The namespace of control groups begins where its first process is.
            (self.group / "cgroup.procs").write_text(str(os.getpid()))

        with self.log.open("wb") as log:
            self.init = subprocess.Popen(
                ["unshare", "--mount", "--pid", "--net", "--uts", "--ipc", "--cgroup", "--fork", "--kill-child", "bash", "-c", START,
                 "start", str(self.work)],
                env=os.environ | {"PROGRAMS": str(PROGRAMS), "DAEMONS": DAEMONS, "FORBIDDEN": FORBIDDEN}, stdin=subprocess.DEVNULL,
                stdout=log, stderr=subprocess.STDOUT, preexec_fn=prepare, start_new_session=True)

    def boot(self):
        self.pid = wait_for(self.child, "the container's first process", LONGEST_START)
        wait_for(
            lambda: self.run("systemctl", "is-system-running", status=None).stdout.strip() in ("running", "degraded"),
            "systemd to have started", LONGEST_START)
        self.run("systemd-sysusers", "--inline", f'u {OWNER} {OWNER_ID} "" /home/{OWNER} /bin/bash')
        self.run("systemd-sysusers", "--inline", f'u {STRANGER} {STRANGER_ID} "" /home/{STRANGER} /bin/bash')
        for user in (OWNER, STRANGER):
            self.run("install", "-d", "-m", "700", "-o", user, "-g", user, f"/home/{user}")
        for folder, place in PLACES.items():
            for file in (SYSTEM / folder).iterdir():
                self.write(f"{place}/{file.name}", self.change(file.name, file.read_text()))
        self.run("systemd-sysusers")
        self.run("systemd-tmpfiles", "--create", "touchstone.conf")
        self.run("systemctl", "daemon-reload")
        self.run("systemctl", "start", "dbus.service", "systemd-logind.service")

    def child(self):
        with contextlib.suppress(OSError, IndexError):
            pid = int(pathlib.Path(f"/proc/{self.init.pid}/task/{self.init.pid}/children").read_text().split()[0])
            if pathlib.Path(f"/proc/{pid}/comm").read_text() == "systemd\n":
                return pid
        check(self.init.poll() is None, "the container ended")
        return None

    def __exit__(self, *_):
        def is_empty():
            with contextlib.suppress(OSError):
                for path in sorted(self.group.rglob("*/"), key=lambda path: -len(path.parts)):
                    path.rmdir()
                self.group.rmdir()
            return not self.group.exists()

        try:
            with contextlib.suppress(OSError):
                (self.group / "cgroup.kill").write_text("1")
            if self.init is not None:
                self.init.kill()
                self.init.wait()
            wait_for(is_empty, "the container's processes to be gone")
        finally:
            self.log.unlink(missing_ok=True)
            self.work.rmdir()

    def command(self, *arguments, user=None):
        enter = ["nsenter", "-t", str(self.pid), "-m", "-p", "-n", "-u", "-i", "-C"]
        become = ["setpriv", FORBIDDEN]
        if user:
            become += [f"--reuid={user}", f"--regid={user}", "--init-groups", "--inh-caps=-all"]
        environment = ["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", f"HOME=/home/{user or 'root'}"]
        return [*enter, *become, *environment, *map(str, arguments)]

    def run(self, *arguments, user=None, input="", status=0):
        result = subprocess.run(
            self.command(*arguments, user=user), input=input, text=True, capture_output=True, timeout=self.patience, cwd="/")
        check(
            status is None or result.returncode == status,
            f"{' '.join(map(str, arguments))}: exit {result.returncode}, expected {status}\n{result.stdout}{result.stderr}")
        return result

    def python(self, source, user=None, status=0):
        """Runs a program inside, which prints one JSON value; returns that."""
        result = self.run("python3", "-I", "-", user=user, input=PRELUDE + source, status=status)
        return json.loads(result.stdout.splitlines()[-1])

    def touchstone(self, *arguments, user=OWNER, input="", status=0):
        return self.run("touchstone", *arguments, user=user, input=input, status=status)

    def write(self, path, text):
        self.run("sh", "-c", 'mkdir -p "$(dirname "$1")" && cat > "$1"', "write", path, input=text)

    def create(self, *options):
        self.run("touchstone", "system", "create", OWNER, *options)

    def main_pid(self, unit):
        """The number of a unit's process, in the container's own numbers; 0 where it does not run."""
        return int(self.run("systemctl", "show", "-P", "MainPID", unit).stdout)

    def journal(self, unit=None):
        return self.run("journalctl", "--no-pager", "-o", "cat", *(("-u", unit) if unit else ())).stdout


# What programs inside begin with.
PRELUDE = rf"""
import base64, ctypes, errno, json, os, signal, socket, struct, subprocess, sys, time
SOCKET = "/run/touchstone/{OWNER_ID}/touchstoned.sock"
libc = ctypes.CDLL(None, use_errno=True)

def connect(path=SOCKET):
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(15)
    connection.connect(path)
    return connection

def send(connection, method, **parameters):
    connection.sendall(json.dumps({{"method": "io.touchstone." + method, "parameters": parameters}}).encode() + b"\0")

def receive(connection):
    reply = b""
    while not reply.endswith(b"\0"):
        chunk = connection.recv(65536)
        if not chunk:
            return "closed", {{}}
        reply += chunk
    reply = json.loads(reply[:-1])
    return reply.get("error"), reply.get("parameters", {{}})

def call(connection, method, **parameters):
    send(connection, method, **parameters)
    answer = receive(connection)
    # Sent before the service had looked at who connects.
    if answer[0] == "io.touchstone.SendAgain":
        send(connection, method, **parameters)
        answer = receive(connection)
    return answer

def number(body):
    try:
        body()
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))
    return None

def say(value):
    print(json.dumps(value))
"""


# Every way into another process, `pid` with memory at `address`: what each says. REFUSED is what it should.
MEMORY = """
class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]

def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")

def first(path):
    with open(path, "rb", buffering=0) as file:
        file.seek(address if path.endswith("mem") else 0)
        if not file.read(8):
            raise OSError(errno.EIO, "nothing")

def readv():
    target = ctypes.create_string_buffer(8)
    here, there = Vector(ctypes.cast(target, ctypes.c_void_p), 8), Vector(address, 8)
    checked(libc.process_vm_readv(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0))

def trace():
    checked(libc.ptrace(16, pid, None, None))
    os.waitpid(pid, 0x40000000)
    libc.ptrace(17, pid, None, None)

def borrow():
    target = libc.syscall(434, pid, 0)
    checked(target)
    checked(libc.syscall(438, target, 2, 0))

say({
    "ptrace": number(trace), "process_vm_readv": number(readv), "mem": number(lambda: first(f"/proc/{pid}/mem")),
    "environ": number(lambda: first(f"/proc/{pid}/environ")), "maps": number(lambda: first(f"/proc/{pid}/maps")),
    "fd": number(lambda: os.listdir(f"/proc/{pid}/fd")), "root": number(lambda: os.listdir(f"/proc/{pid}/root/")),
    "exe": number(lambda: os.readlink(f"/proc/{pid}/exe")), "pidfd_getfd": number(borrow),
    "kill": number(lambda: os.kill(pid, 18)), "prlimit": number(lambda: checked(libc.prlimit(pid, 4, bytes(16), None))),
    "cgroup": number(lambda: open("/sys/fs/cgroup" + open(f"/proc/{pid}/cgroup").read().split("::")[1].strip() + "/cgroup.procs", "w").write("0")),
})
"""
REFUSED = ("EACCES", "EPERM")


# Told to end, a test ends its container.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
