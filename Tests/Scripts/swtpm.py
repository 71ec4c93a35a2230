"""A TPM 2.0 that is a program, and somebody between it and who uses it, for the tests in this directory."""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from device import LONGEST_WAIT, check, wait_for

for program in ("swtpm", "swtpm_setup", "tpm2_getcap"):
    if not shutil.which(program):
        sys.exit(f"{program} is not there: run script/install-packages test")


class TPM:
    """Made with `with`, switched on; gone at the end."""

    def __init__(self, tries=32):
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="touchstone-tpm."))
        self.socket, self.tries, self.process = self.work / "tpm", tries, None

    def __enter__(self):
        subprocess.run(
            ["swtpm_setup", "--tpm2", "--tpmstate", self.work, "--overwrite", "--pcr-banks", "sha256"], check=True,
            capture_output=True, timeout=LONGEST_WAIT)
        self.on()
        self.tool("tpm2_dictionarylockout", "-s", "-n", str(self.tries), "-t", "600", "-l", "600")
        self.tool("tpm2_shutdown", "-c")
        return self

    def __exit__(self, *_):
        if self.process:
            self.off()
        shutil.rmtree(self.work, ignore_errors=True)

    @property
    def address(self):
        return f"swtpm:path={self.socket}"

    def on(self):
        self.process = subprocess.Popen(
            ["swtpm", "socket", "--tpm2", "--tpmstate", f"dir={self.work}", "--server", f"type=unixio,path={self.socket}",
             "--ctrl", f"type=unixio,path={self.socket}.ctrl", "--flags", "not-need-init,startup-clear"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(self.listens, "swtpm to listen")

    def listens(self):
        """The socket's file is there before; swtpm serves one client at a time, and this one is gone at once."""
        with socket.socket(socket.AF_UNIX) as client:
            return client.connect_ex(str(self.socket)) == 0

    def off(self):
        """As when the power fails."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process = None
        for name in (self.socket, f"{self.socket}.ctrl"):
            pathlib.Path(name).unlink(missing_ok=True)

    def tool(self, *command):
        """One of tpm2-tools; swtpm serves one program at a time, so nobody else may have it."""
        result = subprocess.run(
            command, env={**os.environ, "TPM2TOOLS_TCTI": self.address}, capture_output=True, text=True,
            timeout=LONGEST_WAIT)
        check(result.returncode == 0, f"{command}: {result.stderr}")
        return result.stdout

    def variable(self, name):
        for line in self.tool("tpm2_getcap", "properties-variable").splitlines():
            if line.strip().startswith(f"{name}:"):
                return int(line.split(":")[1].strip(), 0)
        raise AssertionError(f"no {name}")

    @property
    def counters(self):
        """Our NV indices: of the owner's part."""
        return [line for line in self.tool("tpm2_getcap", "handles-nv-index").split() if line.upper().startswith("0X18")
                or line.upper().startswith("0X19") or line.upper().startswith("0X1A") or line.upper().startswith("0X1B")]


class Relay:
    """Between a TPM and who uses it: keeps every byte, and cuts the line where it is told to."""

    def __init__(self, tpm):
        self.tpm, self.bytes, self.commands, self.cut_at, self.answers_last = tpm, bytearray(), 0, None, False
        self.stays_away = False
        # Of the commands that came.
        self.codes = []
        # Seconds before a command with this code is given to the TPM.
        self.delays = {}
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="touchstone-relay."))
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.work / "tpm"))
        self.listener.listen(8)
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()
        shutil.rmtree(self.work, ignore_errors=True)

    @property
    def address(self):
        return f"swtpm:path={self.work / 'tpm'}"

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        """Command by command: cut before the one of number `cut_at`, or, with `answers_last`, after the TPM did it."""
        tpm = socket.socket(socket.AF_UNIX)
        try:
            tpm.connect(str(self.tpm.socket))
            while command := self.message(client):
                self.bytes += command
                self.commands += 1
                self.codes.append(int.from_bytes(command[6:10], "big"))
                if self.cut_at == self.commands and not self.answers_last:
                    return
                if self.stays_away and self.commands > self.cut_at:
                    return
                time.sleep(self.delays.get(self.codes[-1], 0))
                tpm.sendall(command)
                answer = self.message(tpm)
                self.bytes += answer
                if self.cut_at == self.commands or not answer:
                    return
                client.sendall(answer)
        except OSError:
            pass
        finally:
            client.close()
            tpm.close()

    @staticmethod
    def message(connection):
        data = b""
        while len(data) < 10 or len(data) < int.from_bytes(data[2:6], "big"):
            chunk = connection.recv(4096)
            if not chunk:
                return b""
            data += chunk
        return data
