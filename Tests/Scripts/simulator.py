#!/usr/bin/env python3
"""The simulator's page, as its server gives it out: who is let in, what may be called, and what every tab is told."""

import contextlib
import functools
import json
import os
import pathlib
import signal
import socket as sockets
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

from device import LONGEST_WAIT, PROGRAMS, REPOSITORY, Device, Evaluation, check, equal, main, wait_for

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

SIMULATOR = pathlib.Path(
    os.environ.get("TOUCHSTONE_SIMULATOR", REPOSITORY / ".build/debug/touchstone-simulator")).resolve()
if not os.access(SIMULATOR, os.X_OK):
    sys.exit(f"{SIMULATOR} is not there: run make pages")
JSON = "application/json"
BYTES = "application/octet-stream"
# Seconds after which a page that nobody shows any more is not an agent.
PATIENCE = 3


class Page:
    """`touchstone simulator`, for a device that is there already or that it makes."""

    def __init__(self, device, *arguments, name=None, environment=None):
        self.device = device
        self.process = subprocess.Popen(
            [device.programs / "touchstone", "simulator", name or device.name, *arguments],
            env=device.environment | {"TOUCHSTONE_SIMULATOR": str(SIMULATOR)} | (environment or {}), stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)

    def __enter__(self):
        self.line = self.process.stdout.readline()
        check("http://" in self.line, f"no address: {self.line}{self.process.poll()}")
        self.url = urllib.parse.urlsplit(self.line.split()[-1])
        self.port, self.token = self.url.port, self.url.path.strip("/")
        self.host = f"127.0.0.1:{self.port}"
        self.origin = f"http://{self.host}"
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(LONGEST_WAIT)

    def send(self, method, path, body=b"", **headers):
        """One request on a connection of its own; a header that is None is left out. Returns (status, headers, body)."""
        fields = {"Host": self.host} | {name.replace("_", "-"): value for name, value in headers.items()}
        if body or method == "POST":
            fields["Content-Length"] = str(len(body))
        fields["Connection"] = "close"
        lines = [f"{method} {path} HTTP/1.1"] + [f"{name}: {value}" for name, value in fields.items() if value is not None]
        with sockets.create_connection(("127.0.0.1", self.port), LONGEST_WAIT) as connection:
            connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
            reply = b""
            while chunk := connection.recv(65536):
                reply += chunk
        head, _, rest = reply.partition(b"\r\n\r\n")
        status, *found = head.decode().split("\r\n")
        return int(status.split()[1]), {
            name.lower(): value for name, value in (line.split(": ", 1) for line in found)}, rest

    def get(self, path="", **headers):
        return self.send("GET", f"/{self.token}/{path}", **headers)

    def post(self, path, body, type=JSON, **headers):
        return self.send("POST", f"/{self.token}/{path}", body, **({"Origin": self.origin, "Content_Type": type} | headers))

    def call(self, method, **parameters):
        status, _, body = self.post(f"call/io.touchstone.{method}", json.dumps(parameters).encode())
        equal(status, 200, f"{method}: the status of {body!r}")
        answer = json.loads(body)
        return answer.get("error"), answer["parameters"]

    def seal(self, path, typed, key=None):
        """As docs say that the page does: with the server's key, for this path."""
        nonce = os.urandom(12)
        return nonce + AESGCM(key or self.get("key")[2]).encrypt(nonce, typed, path.encode())

    def post_sealed(self, use, typed, sealed_for=None, key=None):
        path = f"passcode/{use}"
        return self.post(path, self.seal(sealed_for or path, typed, key), BYTES)

    def enter(self, use, *typed):
        status, _, body = self.post_sealed(use, b"\0".join(text.encode() for text in typed))
        equal(status, 200, f"{use}: the status of {body!r}")
        return json.loads(body).get("error")


class Tab:
    """One tab's stream of events, read by a thread of its own."""

    def __init__(self, page):
        self.events, self.ended = [], False
        self.connection = sockets.create_connection(("127.0.0.1", page.port), LONGEST_WAIT)
        self.connection.settimeout(None)
        self.connection.sendall(f"GET /{page.token}/events HTTP/1.1\r\nHost: {page.host}\r\n\r\n".encode())
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        with self.connection.makefile("rb") as file:
            name = None
            with contextlib.suppress(OSError, ValueError):
                for line in file:
                    if line.startswith(b"event: "):
                        name = line[7:].decode().strip()
                    elif line.startswith(b"data: "):
                        self.events.append((name, json.loads(line[6:])))
        self.ended = True

    def newest(self, name):
        return next((value for other, value in reversed(self.events) if other == name), None)

    def wait(self, name, condition=lambda value: True, what=None):
        """The newest event of this name, once it is as it should be."""
        def look():
            value = self.newest(name)
            return value if value is not None and condition(value) else None

        return wait_for(look, what or f"the event {name}")

    def status(self, **expected):
        return self.wait(
            "status", lambda reply: expected.items() <= reply["status"].items(), f"the status {expected}")["status"]

    def prompt(self):
        return self.wait("prompt", lambda reply: reply["event"] == "show", "a prompt")["prompt"]

    def close(self):
        with contextlib.suppress(OSError):
            self.connection.shutdown(sockets.SHUT_RDWR)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def refused(answer, status, what):
    found, headers, body = answer
    equal((found, body), (status, b""), what)
    check("content-security-policy" in headers and "access-control-allow-origin" not in headers, f"{what}: {headers}")


def the_command_makes_boots_and_shows_a_device():
    with Device(boot=False) as device:
        with Page(device, "--biometry", "faceid", name="shown") as page:
            device.processes.append(int((device.work / "run/touchstone/shown/supervisor.pid").read_text()))
            error, reply = page.call("Device.GetStatus")
            equal((error, reply["status"]["name"], reply["status"]["biometryType"]), (None, "shown", 2), "the device")
            # Nobody but this machine reaches it: 0100007F is 127.0.0.1.
            listening = [
                line.split()[1] for file in ("tcp", "tcp6") for line in open(f"/proc/net/{file}") if line.split()[3] == "0A"]
            equal([place for place in listening if place.endswith(f":{page.port:04X}")], [f"0100007F:{page.port:04X}"], "it listens")
        # The device goes on when the page ends, and is shown again.
        with Page(device, name="shown") as again:
            check(again.token != page.token and len(again.token) == 32, "each start has a token of its own")
        device.environment = device.environment | {"TOUCHSTONE_SIMULATOR": str(SIMULATOR)}
        result = device.run("simulator", "shown", "--biometry", "touchid", status=1)
        check("with Face ID" in result.stderr, result.stderr)
        device.run("device", "shutdown", "shown")
        result = device.run("simulator", "shown", "--no-boot", status=69)
        check("shown is off: start it with" in result.stderr, result.stderr)
        device.environment = device.environment | {"TOUCHSTONE_SIMULATOR": "/nowhere"}
        result = device.run("simulator", "other", status=64)
        check("TOUCHSTONE_SIMULATOR" in result.stderr, result.stderr)
        check(not (device.state.parent / "other").exists(), "nothing is made where it cannot be shown")


def only_who_has_the_address_is_let_in(page):
    equal(page.get()[0], 200, "the page")
    equal(page.get("main.js")[1]["content-type"], "text/javascript; charset=utf-8", "a module")
    wrong = ("0" if page.token[-1] != "0" else "1")
    for path in (
        "/", "/main.js", "/favicon.ico", f"/{page.token}", f"/{page.token[:-1]}{wrong}/", f"/{page.token[:-1]}/", f"/{page.token}0/",
        f"/{page.token.upper()}X/", f"//{page.token}/", f"/./{page.token}/", f"/{page.token}/nothing", f"/{page.token}/../main.js",
        f"/{page.token}/%2e%2e/main.js", f"/{page.token}//main.js", f"/?{page.token}/",
    ):
        refused(page.send("GET", path), 404, f"GET {path}")


def half_open_requests_keep_nobody_out(page):
    """As many of them as the server has places: the oldest give way, and not because their time is over."""
    def half():
        connection = sockets.create_connection(("127.0.0.1", page.port), LONGEST_WAIT)
        connection.sendall(b"GET / HTTP/1.1\r\nHost: 127.0")
        return connection

    def is_open(connection):
        connection.setblocking(False)
        try:
            return connection.recv(1) != b""
        except BlockingIOError:
            return True
        except ConnectionError:
            return False

    # The server ends what asks nothing for ten seconds: where the machine stalls for so long, the try shows nothing.
    for _ in range(10):
        with Tab(page) as tab, contextlib.ExitStack() as stack:
            wait_for(lambda tab=tab: tab.events, "the tab's first event")
            started = time.monotonic()
            held = [stack.enter_context(contextlib.closing(half())) for _ in range(64)]
            wait_for(lambda held=held: sum(map(is_open, held)) <= 24, "the oldest to give way")
            for _ in range(3):
                equal(page.get()[0], 200, "the page")
            open_ones = sum(map(is_open, held))
            if time.monotonic() - started < 8:
                check(open_ones >= 16, "the page was served because the others' time was over")
                check(not tab.ended, "the tab that was open has lost its place")
                return
    raise AssertionError("the machine stalled each time")


def only_by_this_name(page):
    equal(page.get(Host=f"127.0.0.1:{page.port}")[0], 200, "its own name")
    # localhost is also [::1], which another user's program may listen on.
    for host in (
        "127.0.0.1", "localhost", f"localhost:{page.port}", f"127.0.0.1:{page.port + 1}", f"evil.example:{page.port}", f"127.0.0.1.evil.example:{page.port}",
        f"[::1]:{page.port}", f"LOCALHOST.:{page.port}", "",
    ):
        refused(page.get(Host=host), 421, f"Host: {host}")


def only_from_itself(page):
    method = "call/io.touchstone.Device.GetStatus"
    equal(page.post(method, b"{}", Origin=page.origin)[0], 200, "from itself")
    for origin in (
        None, "null", "", "http://evil.example", f"https://{page.host}", "http://127.0.0.1", f"http://localhost:{page.port}",
        f"{page.origin}.evil.example", f"{page.origin}/",
    ):
        refused(page.post(method, b"{}", Origin=origin), 403, f"POST, Origin: {origin}")
        refused(page.post("passcode/unlock", b"1", BYTES, Origin=origin), 403, f"passcode, Origin: {origin}")
    refused(page.get("events", Origin="http://evil.example"), 403, "the stream for another origin")
    for site in ("same-origin", "none"):
        equal(page.post(method, b"{}", Sec_Fetch_Site=site)[0], 200, f"Sec-Fetch-Site: {site}")
    for site in ("cross-site", "same-site", "", "none, same-origin"):
        refused(page.post(method, b"{}", Sec_Fetch_Site=site), 403, f"POST, Sec-Fetch-Site: {site}")
        refused(page.get(Sec_Fetch_Site=site), 403, f"GET, Sec-Fetch-Site: {site}")
    for verb in ("PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE"):
        refused(page.send(verb, f"/{page.token}/", Origin=page.origin), 405, verb)


def only_what_a_form_cannot_send(page):
    method = "call/io.touchstone.Device.GetStatus"
    for type in (None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", BYTES, ""):
        refused(page.post(method, b"{}", type), 415, f"a call of type {type}")
    for type in (None, "text/plain", JSON):
        refused(page.post("passcode/unlock", b"1", type), 415, f"a passcode of type {type}")
    for body in (b"", b"[]", b"1", b"{", b'{"a":1,"a":2}', b'{},"more":true,"x":{}', b"\xff"):
        refused(page.post(method, body), 400, f"the parameters {body}")
    refused(page.post(method, b'{"a":"' + b"x" * (16 << 10) + b'"}'), 413, "more than is read")
    refused(page.post_sealed("unlock", b"1" * (4 << 10) + b"1"), 413, "more than a passcode")


def only_what_the_page_needs(page):
    for method in (
        "Device.Unlock", "Device.ChangePasscode", "Device.SetEraseData", "Device.AuthorizeBackup", "Device.GetNonce",
        "Device.ReadLog", "Agent.Subscribe", "Agent.EnterPasscode", "Keychain.CopyMatching", "Key.Sign", "Backup.Next",
        "Authentication.EvaluatePolicy", "Enclave.PresentFinger", "Device.Lock/", "device.lock", "",
    ):
        refused(page.post(f"call/io.touchstone.{method}", b"{}"), 404, f"call/io.touchstone.{method}")
    refused(page.post("call/org.varlink.service.GetInfo", b"{}"), 404, "another interface")
    for use in ("change", "change?kind=secret", "erase-data", "erase-data?isOn=yes", "prompt", "prompt?prompt=1"):
        refused(page.post_sealed(use, b"1"), 400, f"passcode/{use}")
    for use in ("backup", "unlock/", ""):
        refused(page.post_sealed(use, b"1"), 404, f"passcode/{use}")
    refused(page.post_sealed("unlock", b"1\x002"), 400, "two passcodes for one")
    refused(page.post_sealed("change?kind=numeric", b"1"), 400, "one passcode for two")


def a_passcode_is_sealed_for_this_server_and_this_use(page):
    key = page.get("key")[2]
    equal(len(key), 32, "the key's bytes")
    equal(page.get("key")[2], key, "the key, asked for again")
    refused(page.send("GET", "/key"), 404, "the key without the token")
    refused(page.send("GET", f"/{page.token[::-1]}/key"), 404, "the key with another token")
    for body in (b"", b"123456", os.urandom(27), os.urandom(28), os.urandom(64)):
        refused(page.post("passcode/unlock", body, BYTES), 400, f"what was not sealed: {body}")
    refused(page.post_sealed("unlock", b"1", key=os.urandom(32)), 400, "another key's")
    refused(page.post_sealed("unlock", b"1", sealed_for="passcode/erase-data?isOn=true"), 400, "another use's")
    sealed = bytearray(page.seal("passcode/unlock", b"123456"))
    sealed[14] ^= 1
    refused(page.post("passcode/unlock", bytes(sealed), BYTES), 400, "what was changed")
    with Page(page.device) as other:
        check(other.get("key")[2] != key, "another page has another key")


def every_answer_is_for_this_page_alone(page):
    for answer in (page.get(), page.get("style.css"), page.post("call/io.touchstone.Device.GetStatus", b"{}"), page.send("GET", "/")):
        headers = answer[1]
        policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
        equal(policy, {
            "default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "img-src": "'self'", "connect-src": "'self'",
            "frame-ancestors": "'none'", "form-action": "'none'", "base-uri": "'none'", "frame-src": "'none'"}, "the policy")
        equal(
            [headers[name] for name in ("cache-control", "x-content-type-options", "referrer-policy", "cross-origin-resource-policy")],
            ["no-store", "nosniff", "no-referrer", "same-origin"], "the other headers")
        check(not any(name.startswith("access-control") for name in headers), "no other site reads it")
    # What the policy forbids is not there, and nothing is fetched from elsewhere.
    for name in ("", "main.js", "style.css", "icon.svg"):
        text = page.get(name)[2].decode()
        for part in ("https:", "<style", " onclick=", "@import", "javascript:"):
            check(part not in text, f"{part} in {name or 'the page'}")


def two_devices_have_one_address():
    """Each below its own part of it; a page of one device has no such parts, and may stand in no frame."""
    with Device() as device, Page(device, "--beside", "second") as page:
        device.processes.append(int((device.work / "run/touchstone/second/supervisor.pid").read_text()))
        try:
            check(page.line.startswith("test and second are at http://"), page.line)
            policy = page.get()[1]["content-security-policy"]
            check("frame-ancestors 'self';" in policy and policy.endswith("frame-src 'self'"), policy)
            for place, name in (("left", device.name), ("right", "second")):
                check("<title>Touchstone simulator</title>" in page.get(f"{place}/")[2].decode(), place)
                status, _, body = page.post(f"{place}/call/io.touchstone.Device.GetStatus", b"{}")
                equal((status, json.loads(body)["parameters"]["status"]["name"]), (200, name), place)
            check(page.get("left/key")[2] != page.get("right/key")[2], "each has a key of its own")
            for path in ("left", "middle/", "left/right/", "left/nothing", "key", "events", "app"):
                refused(page.get(path), 404, path)
            refused(page.post("call/io.touchstone.Device.GetStatus", b"{}"), 404, "a call of no device")
        finally:
            device.run("device", "shutdown", "second")
        result = device.run("simulator", device.name, "--beside", device.name, status=64)
        check("the same device twice" in result.stderr, result.stderr)
    with Device() as device, Page(device) as page:
        for path in ("left/", "right/main.js"):
            refused(page.get(path), 404, path)


def passcodes_are_sealed_and_looked_at(page):
    device = page.device
    equal(page.enter("change?kind=sixDigit", "", "123456"), None, "setting it")
    equal(page.enter("unlock", "654321"), "io.touchstone.Device.PasscodeRejected", "a wrong one")
    equal(page.call("Device.Lock"), (None, {}), "locking")
    equal(device.status["isLocked"], True, "it is locked")
    equal(page.enter("unlock", "123456"), None, "unlocking")
    equal(device.status["isLocked"], False, "it is unlocked")
    equal(page.enter("erase-data?isOn=true", "123456"), None, "erasing after ten")
    equal(device.status["erasesData"], True, "it erases")
    equal(page.enter("erase-data?isOn=false", "123456"), None, "not erasing")
    equal(page.enter("change?kind=alphanumeric", "123456", "pass wörd"), None, "changing it")
    device.run("device", "unlock", input="pass wörd\n")
    equal(page.enter("unlock", "x" * 257), "io.touchstone.Device.Refused", "one that is too long")
    equal(page.enter("change?kind=alphanumeric", "pass wörd", ""), None, "removing it")
    equal(device.status["isPasscodeSet"], False, "it is removed")
    equal(page.enter("change?kind=fourDigit", "", "2718"), None, "setting it again")


def every_tab_shows_the_prompt_and_one_answer_counts(page):
    device = page.device
    device.run("device", "enroll", "thumb")
    with Tab(page) as one, Tab(page) as other:
        for tab in (one, other):
            tab.status(hasAgent=True, isEnrolled=True)
            tab.wait("connection", lambda value: value["isConnected"])
        evaluation = Evaluation(device)
        prompt = one.prompt()
        equal(other.prompt(), prompt, "the prompt of the other tab")
        with Tab(page) as late:
            equal(late.prompt(), prompt, "the prompt of a tab that came later")
        equal(page.call("Agent.ConfirmShown", prompt=prompt["identifier"]), (None, {}), "it is shown")
        equal(page.call("Agent.Cancel", prompt=prompt["identifier"]), (None, {}), "the first answer")
        equal(page.call("Agent.Cancel", prompt=prompt["identifier"])[0], "io.touchstone.Agent.NoSuchPrompt", "the second answer")
        equal(evaluation.result()[1]["code"], -2, "the evaluation")
        for tab in (one, other):
            tab.wait("prompt", lambda reply: reply["event"] == "dismissed", "its end")
        # With the passcode, which only what the device itself named is sealed for.
        evaluation = Evaluation(device, policy=2)
        prompt = one.wait("prompt", lambda reply: reply["event"] == "show")["prompt"]
        equal(page.call("Agent.ConfirmShown", prompt=prompt["identifier"]), (None, {}), "it is shown")
        equal(page.call("Device.PresentFinger")[1]["touch"], "notMatched", "another finger")
        one.wait("prompt", lambda reply: reply["prompt"].get("fallbackTitle"), "the fallback")
        equal(page.enter("prompt?prompt=another&phase=passcode", "2718"), "io.touchstone.Agent.NoSuchPrompt", "no prompt of the device's")
        equal(page.call("Agent.ChooseFallback", prompt=prompt["identifier"]), (None, {}), "the fallback")
        one.wait("prompt", lambda reply: reply["prompt"]["phase"] == "passcode", "the passcode's turn")
        equal(
            page.enter(f"prompt?prompt={prompt['identifier']}&phase=applicationPassword", "2718"),
            "io.touchstone.Agent.NoSuchPrompt", "a passcode is not sealed as an app's password")
        equal(page.enter(f"prompt?prompt={prompt['identifier']}&phase=passcode", "1111"), None, "a wrong one is carried")
        one.wait("prompt", lambda reply: reply["prompt"]["wrongPasscode"], "the device's word")
        equal(page.enter(f"prompt?prompt={prompt['identifier']}&phase=passcode", "2718"), None, "the right one is carried")
        equal(evaluation.result()[0], None, "the evaluation")


def a_page_that_nobody_sees_is_no_agent(page):
    with Tab(page) as tab:
        tab.status(hasAgent=True)
        tab.close()
        # A page that is reloaded comes back.
        with Tab(page) as again:
            again.status(hasAgent=True)
    wait_for(lambda: not page.device.status["hasAgent"], "the agent to go", PATIENCE + LONGEST_WAIT)


def killed_daemons_are_waited_for(page):
    device = page.device
    with Tab(page) as tab:
        tab.status(hasAgent=True)
        for program in ("touchstoned", "touchstone-enclave"):
            evaluation = Evaluation(device)
            # The page looks at the status now and then. So what it says here may still be of the boot before.
            tab.status(hasPrompt=True, isLocked=False)
            before = len(tab.events)
            device.processes += device.daemons.values()
            os.kill(device.daemons[program], signal.SIGKILL)
            seen = lambda: tab.events[before:]
            wait_for(lambda: ("feed", {"name": "prompt", "isRunning": False}) in seen(), "the prompt to go")
            wait_for(lambda: ("feed", {"name": "prompt", "isRunning": True}) in seen(), "the agent to be one again")
            tab.status(hasAgent=True, hasPrompt=False, isLocked=True, wasUnlockedSinceBoot=False)
            equal(tab.newest("connection"), {"isConnected": True}, "it is connected")
            check(evaluation.result()[0] is not None, "the evaluation did not succeed")
            device.processes += device.daemons.values()
            equal(page.enter("unlock", "2718"), None, "unlocking")
        device.shutdown()
        tab.wait("connection", lambda value: not value["isConnected"], "the device to be away")
        equal(page.post("call/io.touchstone.Device.Lock", b"{}")[0], 503, "a call to a device that is off")
        device.boot()
        tab.wait("connection", lambda value: value["isConnected"], "the device to be back")


class Relay:
    """Stands where touchstoned's socket is expected, and carries everything to it, but for one word that it changes when it is told to."""

    def __init__(self, device, directory):
        self.isSimulated = True
        (directory / "touchstone" / device.name).mkdir(parents=True, mode=0o700)
        path = directory / "touchstone" / device.name / "touchstoned.sock"
        self.listener = sockets.socket(sockets.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()
        self.device = device
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            near, _ = self.listener.accept()
            far = self.device.connect()
            far.settimeout(None)
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self.carry, args=(source, sink), daemon=True).start()

    def carry(self, source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 20):
                sink.sendall(data if self.isSimulated else data.replace(b'"isSimulated":true', b'"isSimulated":false'))
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(sockets.SHUT_RDWR)


def only_a_simulated_device_is_shown():
    with Device() as device:
        run = device.work / "r"
        run.mkdir(mode=0o700)
        relay = Relay(device, run)
        environment = device.environment | {"XDG_RUNTIME_DIR": str(run)}

        def start():
            return subprocess.Popen(
                [SIMULATOR, "--device", device.name], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

        relay.isSimulated = False
        process = start()
        equal(process.wait(LONGEST_WAIT), 7, "the exit status")
        check("not a simulated device" in process.stderr.read(), "it says why")
        result = subprocess.run(
            [device.programs / "touchstone", "simulator", "--no-boot", device.name],
            env=environment | {"TOUCHSTONE_SIMULATOR": str(SIMULATOR)}, capture_output=True, text=True, timeout=LONGEST_WAIT)
        equal(result.returncode, 7, f"the command's exit status\n{result.stderr}")
        # One that takes the name of a simulated device later is not driven either.
        relay.isSimulated = True
        process = start()
        page = Page.__new__(Page)
        page.device, page.process = device, process
        with page, Tab(page) as tab:
            tab.status(isSimulated=True)
            relay.isSimulated = False
            # Has it look at once; it may be gone before it has answered.
            with contextlib.suppress(OSError, IndexError):
                page.post("call/io.touchstone.Device.GetStatus", b"{}")
            equal(process.wait(LONGEST_WAIT), 7, "the exit status")


def processes_below(directory):
    """Process ids whose working state lies there, by their environment."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if f"XDG_STATE_HOME={directory}/".encode() in path.read_bytes():
                found.append(int(path.parent.name))
    return found


def one_command_shows_a_device_and_an_app(ending):
    """`make simulator`: a throw-away device, its page and Chores; Ctrl-C, or a terminal that goes, leaves nothing of them."""
    with contextlib.ExitStack() as stack:
        work = stack.enter_context(tempfile.TemporaryDirectory(prefix="touchstone-test."))
        process = subprocess.Popen(
            [REPOSITORY / "script/simulator"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=os.environ | {"TMPDIR": work, "SIMULATOR_BIN": str(SIMULATOR.parent), "TOUCHSTONE_BIN": str(PROGRAMS)},
            start_new_session=True)
        stack.callback(process.kill)
        said = []
        while len(said) < 12 and not any("Ctrl-C" in line for line in said):
            said.append(process.stdout.readline())
            check(said[-1], f"the command ended: {said}{process.stderr.read() if process.poll() is not None else ''}")
        (address,) = [line.split()[-1] for line in said if "http://127.0.0.1:" in line]
        with urllib.request.urlopen(f"{address}app", timeout=LONGEST_WAIT) as answer:
            app = json.loads(answer.read())
        equal(app["name"], "Chores", "the app beside the device")
        for shown, title in ((address, "Touchstone simulator"), (app["url"], "Chores")):
            with urllib.request.urlopen(shown, timeout=LONGEST_WAIT) as page:
                check(f"<title>{title}</title>" in page.read().decode(), f"{shown} is not {title}'s page")
        directory, = pathlib.Path(work).iterdir()
        manifest = (directory / "state/touchstone/devices/simulator/apps.d/io.touchstone.Chores.conf").read_text()
        check(f"Identity={SIMULATOR.parent}/chores" in manifest, manifest)
        check(len(processes_below(directory)) >= 3, "the programs are running")
        os.killpg(process.pid, ending)
        process.wait(LONGEST_WAIT)
        wait_for(lambda: not processes_below(directory), "its programs to end")
        equal(list(pathlib.Path(work).iterdir()), [], "what is left behind")


with Device() as shared, Page(shared) as shown:
    tests = [
        only_who_has_the_address_is_let_in, half_open_requests_keep_nobody_out, only_by_this_name, only_from_itself, only_what_a_form_cannot_send, only_what_the_page_needs,
        a_passcode_is_sealed_for_this_server_and_this_use, every_answer_is_for_this_page_alone, passcodes_are_sealed_and_looked_at, every_tab_shows_the_prompt_and_one_answer_counts,
        a_page_that_nobody_sees_is_no_agent, killed_daemons_are_waited_for,
    ]
    main(
        the_command_makes_boots_and_shows_a_device,
        functools.partial(one_command_shows_a_device_and_an_app, signal.SIGINT),
        functools.partial(one_command_shows_a_device_and_an_app, signal.SIGHUP), *(functools.partial(test, shown) for test in tests),
        two_devices_have_one_address, only_a_simulated_device_is_shown)
