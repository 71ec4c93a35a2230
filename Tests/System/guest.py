"""A guest in which systemd runs with a kernel of its own, for what this machine's kernel lacks; no test itself.

qemu emulates the processor, so it needs no right and no hardware. The kernel is Debian's, from script/guest-kernel. The guest's root is
this machine's, which it can only read. Its changes are in memory. It has no network."""

import gzip
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
QEMU, BUSYBOX = "/usr/bin/qemu-system-x86_64", "/usr/bin/busybox"
# What mounts the root. The others come from there.
MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay")
DONE = "guest: all of them passed"

# The guest's first process, until systemd is. The host's mount tag is "host".
INIT = r"""#!/bin/busybox sh
set -e
export PATH=/bin
/bin/busybox --install -s /bin
mount -t proc proc /proc
for module in $(cat /modules/order); do insmod "/modules/$module"; done
mount -t 9p -o trans=virtio,version=9p2000.L,msize=1048576,cache=loose,ro host /host
mount -t tmpfs -o size=80% tmpfs /changes
mkdir /changes/upper /changes/work
mount -t overlay -o lowerdir=/host,upperdir=/changes/upper,workdir=/changes/work overlay /root
R=/root
for directory in tmp var/tmp run home root var/lib/systemd var/log; do mkdir -p "$R/$directory"; mount -t tmpfs -o mode=755 tmpfs "$R/$directory"; done
chmod 1777 "$R/tmp" "$R/var/tmp"
mount -t proc proc "$R/proc"
mount -t sysfs sysfs "$R/sys"
mount -t devtmpfs devtmpfs "$R/dev"
release=$(uname -r)
mkdir -p "$R/lib/modules/$release"
mount --bind "$R/@KERNEL@/lib/modules/$release" "$R/lib/modules/$release"
# What this machine mounts, and does by the clock, the guest does not.
: > "$R/etc/fstab"
ln -sf /dev/null "$R/etc/systemd/system/timers.target"
# Nor is it in the container that this machine may be.
rm -f "$R/.dockerenv"
rm -f "$R/etc/machine-id"; echo 0123456789abcdef0123456789abcdef > "$R/etc/machine-id"
cat /test.service > "$R/etc/systemd/system/touchstone-test.service"
mkdir -p "$R/etc/systemd/system/getty@tty1.service.d"
cat /screen.conf > "$R/etc/systemd/system/getty@tty1.service.d/screen.conf"
umount /proc
exec switch_root "$R" /lib/systemd/systemd
"""

TEST = """[Unit]
Description=The test
After=basic.target dbus.service systemd-logind.service
Wants=dbus.service systemd-logind.service

[Service]
Type=exec
WorkingDirectory={repository}
Environment=PYTHONUNBUFFERED=1 LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin {environment}
# A scope, because what runs in a unit of its own is that unit to Touchstone, and no program that root listed.
ExecStart=/usr/bin/systemd-run --scope --quiet /usr/bin/python3 {program}
StandardOutput=file:/dev/ttyS0
StandardError=inherit
# Whatever happened, the guest ends.
ExecStopPost=/usr/bin/systemctl poweroff --force --force
"""
# Somebody is logged in at the screen, without a password: that is whose the devices of the seat are.
SCREEN = """[Service]
ExecStart=
ExecStart=-/sbin/agetty --autologin {user} --noclear %I linux
"""


def archive(files):
    """A cpio archive (SVR4 without a checksum), as the kernel unpacks it: paths with their mode and bytes."""
    def entry(number, path, mode, data):
        name = path.encode() + b"\0"
        fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name), 0)
        head = b"070701" + b"".join(b"%08X" % field for field in fields) + name
        return head.ljust(-(-len(head) // 4) * 4, b"\0") + data.ljust(-(-len(data) // 4) * 4, b"\0")

    parts = [entry(number, path, mode, data) for number, (path, mode, data) in enumerate(files, 1)]
    return b"".join(parts) + entry(0, "TRAILER!!!", 0, b"")


def kernel():
    """Where script/guest-kernel unpacked it."""
    found = sorted((REPOSITORY / ".build-guest").glob("*/done"))
    if not found:
        sys.exit("there is no kernel for the guest: run script/guest-kernel")
    return found[-1].parent


def modules(tree):
    """The files of MODULES and of what they need, in the order in which they are loaded."""
    base = next((tree / "lib/modules").iterdir())
    needs = {}
    for line in (base / "modules.dep").read_text().splitlines():
        name, _, rest = line.partition(":")
        needs[name] = rest.split()
    found = []
    for module in MODULES:
        names = [name for name in needs if pathlib.PurePath(name).name == f"{module}.ko"]
        if not names:
            sys.exit(f"{base} has no module {module}")
        for name in [*reversed(needs[names[0]]), names[0]]:
            if name not in found:
                found.append(name)
    return [base / name for name in found]


def first_files(tree, program, user, environment):
    directory, file = stat.S_IFDIR | 0o755, stat.S_IFREG | 0o755
    for path in ("bin", "proc", "dev", "host", "changes", "root", "modules"):
        yield path, directory, b""
    yield "bin/busybox", file, pathlib.Path(BUSYBOX).read_bytes()
    loaded = modules(tree)
    for path in loaded:
        yield f"modules/{path.name}", file, path.read_bytes()
    yield "modules/order", file, " ".join(path.name for path in loaded).encode()
    yield "init", file, INIT.replace("@KERNEL@", str(tree)).encode()
    words = " ".join(f'"{name}={value}"' for name, value in environment.items())
    yield "test.service", file, TEST.format(repository=REPOSITORY, program=program, environment=words).encode()
    yield "screen.conf", file, SCREEN.format(user=user).encode()


def run(program, user, seconds, environment=None):
    """Runs a Python program in the guest, as root. `user` is logged in at its screen once there is such a user.

    What it writes is printed as it comes. It has to end with the line DONE, within these seconds."""
    if os.geteuid() != 0:
        sys.exit("the guest reads all of this machine's files: run it as root")
    for path, package in ((QEMU, "qemu-system-x86"), (BUSYBOX, "busybox-static"), ("/lib/systemd/systemd-udevd", "udev"), ("/sbin/modprobe", "kmod")):
        if not os.access(path, os.X_OK):
            sys.exit(f"{path} is not there: install {package}, or run script/install-packages system")
    tree = kernel()
    work = pathlib.Path(tempfile.mkdtemp(prefix="touchstone-guest."))
    began = time.monotonic()
    try:
        initial = work / "initrd"
        initial.write_bytes(gzip.compress(archive(first_files(tree, program, user, environment or {})), 1))
        command = [
            QEMU, "-machine", "q35", "-accel", "tcg,thread=single", "-cpu", "max", "-smp", "1", "-m", "2048", "-nodefaults", "-no-reboot",
            "-display", "none", "-vga", "std", "-serial", "stdio", "-nic", "none",
            "-kernel", next((tree / "boot").glob("vmlinuz-*")), "-initrd", initial,
            "-append", "console=tty0 console=ttyS0 quiet loglevel=3 panic=-1 systemd.log_level=warning systemd.unit=touchstone-test.service systemd.show_status=no systemd.log_target=journal"
            " systemd.mask=systemd-timesyncd.service systemd.mask=systemd-networkd.service",
            "-fsdev", "local,id=host,path=/,security_model=none,readonly=on,multidevs=remap", "-device", "virtio-9p-pci,fsdev=host,mount_tag=host",
        ]
        guest = subprocess.Popen(
            ["timeout", "--kill-after=5", str(seconds), *map(str, command)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace")
        passed, first = False, None
        for line in guest.stdout:
            first = first or time.monotonic() - began
            print(line.rstrip(), flush=True)
            passed = passed or line.strip() == DONE
        code = guest.wait()
        print(f"guest: {first or 0:.0f} s until it wrote something, {time.monotonic() - began:.0f} s in all", flush=True)
        if code == 124:
            sys.exit(f"the guest took longer than {seconds} s")
        if not passed:
            sys.exit(f"the guest ended without the line {DONE!r} (qemu's exit {code})")
    finally:
        shutil.rmtree(work)
