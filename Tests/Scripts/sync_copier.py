"""Two directories that Syncthing keeps the same, for the tests of the package Sync; no test itself.

    python3 Tests/Scripts/sync_copier.py

Prints one line of JSON with both paths when the two programs are connected, and ends with its input. "pause" and "resume"
part them and bring them together. Both listen on this machine's loopback alone, and announce themselves nowhere.
"""
import contextlib
import json
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import xml.etree.ElementTree as xml

# Seconds; only a failing test takes so long.
LONGEST_WAIT = 90


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Syncthing:
    def __init__(self, work, name):
        self.home, self.folder = work / f"{name}-home", work / name
        self.folder.mkdir()
        if not shutil.which("syncthing"):
            sys.exit("Syncthing is not there: run script/install-packages test")
        self.environment = {"HOME": str(work), "PATH": "/usr/bin:/bin", "STNOUPGRADE": "1", "STNORESTART": "1"}
        self.run("generate", "--home", self.home)
        self.port, self.api = free_port(), free_port()
        self.id = self.run("--device-id", "--home", self.home).strip()

    def run(self, *arguments):
        return subprocess.run(
            ["syncthing", *map(str, arguments)], env=self.environment, check=True, capture_output=True, text=True).stdout

    def start(self, other):
        file = self.home / "config.xml"
        config = xml.parse(file).getroot()
        for kind in ("folder", "device"):
            for element in config.findall(kind):
                config.remove(element)
        for one in (self, other):
            device = xml.SubElement(config, "device", id=one.id, compression="never", introducer="false")
            xml.SubElement(device, "address").text = f"tcp://127.0.0.1:{one.port}"
        folder = xml.SubElement(
            config, "folder", id="keychains", path=str(self.folder), type="sendreceive", rescanIntervalS="2",
            fsWatcherEnabled="true", fsWatcherDelayS="1")
        for one in (self, other):
            xml.SubElement(folder, "device", id=one.id)
        options = config.find("options")
        options.clear()
        for name, value in {
                "listenAddress": f"tcp://127.0.0.1:{self.port}", "globalAnnounceEnabled": "false",
                "localAnnounceEnabled": "false", "relaysEnabled": "false", "natEnabled": "false", "urAccepted": "-1",
                "autoUpgradeIntervalH": "0", "crashReportingEnabled": "false", "reconnectionIntervalS": "1",
                "startBrowser": "false"}.items():
            xml.SubElement(options, name).text = value
        gui = config.find("gui")
        gui.find("address").text = f"127.0.0.1:{self.api}"
        self.key = gui.find("apikey").text
        xml.ElementTree(config).write(file)
        (self.folder / ".stfolder").mkdir()
        self.process = subprocess.Popen(
            ["syncthing", "serve", "--no-browser", "--home", str(self.home)], env=self.environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def ask(self, path, method="GET"):
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.api}/rest/{path}", method=method, headers={"X-API-Key": self.key})
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.loads(answer.read() or b"{}")

    def is_connected(self, other):
        with contextlib.suppress(OSError):
            return self.ask("system/connections")["connections"][other.id]["connected"]
        return False


def wait(condition, what):
    end = time.monotonic() + LONGEST_WAIT
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"Syncthing: {what}")
        time.sleep(0.1)


def main():
    with tempfile.TemporaryDirectory(prefix="touchstone-syncthing.") as work:
        here, there = (Syncthing(pathlib.Path(work), name) for name in ("here", "there"))
        try:
            here.start(there)
            there.start(here)
            wait(lambda: here.is_connected(there) and there.is_connected(here), "the two do not find each other")
            print(json.dumps([str(here.folder), str(there.folder)]), flush=True)
            for line in sys.stdin:
                here.ask(f"system/{line.strip()}?device={there.id}", "POST")
                is_apart = line.strip() == "pause"
                wait(lambda: here.is_connected(there) != is_apart, line.strip())
                print(json.dumps(line.strip()), flush=True)
        finally:
            for one in (here, there):
                if hasattr(one, "process"):
                    one.process.kill()
                    one.process.wait()


main()
