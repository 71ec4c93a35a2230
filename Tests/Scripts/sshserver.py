"""sshd for the tests in this directory, which are executable; this file is not, and no test."""

import os
import pathlib
import shutil
import socket
import subprocess

from device import wait_for

SSHD = os.environ.get("TOUCHSTONE_SSHD") or shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:" + os.environ["PATH"])


class Server:
    """sshd on loopback, for root, with the keys of a file."""

    def __init__(self, bench, name, settings=""):
        self.directory = bench.device.work / name
        self.directory.mkdir()
        self.bench, self.name = bench, name
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        key = self.directory / "host"
        bench.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
        self.host_key = key.with_suffix(".pub").read_text().split()[:2]
        self.authorized = self.directory / "authorized"
        self.authorized.touch()
        (self.directory / "passwd").write_text(
            pathlib.Path("/etc/passwd").read_text() + "sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin\n")
        (self.directory / "config").write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {key}\nAuthorizedKeysFile {self.authorized}\nStrictModes no\n"
            "PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\nUsePAM no\n"
            f"PidFile {self.directory}/pid\nAllowAgentForwarding yes\nSubsystem sftp internal-sftp\n{settings}")
        script = (
            f"mount --make-rprivate / && mount -t tmpfs tmpfs /run && mkdir -m 755 /run/sshd && "
            f"mount --bind {self.directory}/passwd /etc/passwd && exec {SSHD} -D -e -f {self.directory}/config")
        self.process = subprocess.Popen(
            ["unshare", "-m", "bash", "-c", script], env=os.environ | {"PATH": os.environ["PATH"]},
            stderr=open(self.directory / "log", "wb"), stdout=subprocess.DEVNULL)
        wait_for(lambda: "listening" in (self.directory / "log").read_text(), f"sshd: {(self.directory / 'log').read_text()}")

    @property
    def known(self):
        return f"{self.address} {' '.join(self.host_key)}\n"

    @property
    def address(self):
        return f"[127.0.0.1]:{self.port}"

    @property
    def options(self):
        """Those that ssh and scp have in common."""
        (self.directory / "known").write_text(self.known)
        return (
            "-F", "/dev/null", "-o", f"UserKnownHostsFile={self.directory}/known", "-o", "BatchMode=yes",
            "-o", "StrictHostKeyChecking=yes")

    def command(self, *arguments, options=()):
        return ("ssh", *self.options, "-p", self.port, *options, "root@127.0.0.1", *arguments)

    def login(self, *arguments, status=0, options=()):
        return self.bench.run(*self.command(*(arguments or ("echo", "in")), options=options), status=status)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
