#!/usr/bin/env python3
"""
What an administrator does with touchstone-signin: accounts, devices, the secret's file, starting it and ending it.
"""

import contextlib
import http.client
import json
import os
import pathlib
import pty
import re
import socket
import stat
import subprocess
import tempfile
import time

from device import LONGEST_WAIT, check, equal, main, wait_for
from signin import APPLICATION, Client, RunningServer, Server, User, b64, expect, free_port

PROGRAM = Server.PROGRAM


def run(*arguments, stdin=""):
    return subprocess.run([PROGRAM, *map(str, arguments)], input=stdin, capture_output=True, text=True, timeout=LONGEST_WAIT)


def fails(ran, *words):
    check(ran.returncode != 0 and ran.returncode > 0, f"{ran.args}: exit {ran.returncode}")
    for word in words:
        check(word in ran.stderr, f"{ran.args}: no {word!r} in {ran.stderr!r}")


def typed(arguments, *lines):
    """What the program shows on a terminal where these lines are typed, and its exit status."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(PROGRAM, [str(PROGRAM), *map(str, arguments)])
    shown = b""
    with contextlib.suppress(OSError):
        for line in lines:
            while not shown.endswith(b": "):
                shown += os.read(terminal, 1024)
            os.write(terminal, line.encode() + b"\n")
            shown += os.read(terminal, 1024)
        while block := os.read(terminal, 1024):
            shown += block
    os.close(terminal)
    return shown.decode(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def a_password_does_not_show():
    with tempfile.TemporaryDirectory() as folder:
        database = f"{folder}/signin.sqlite"
        shown, status = typed(("account", "add", "anna", "--database", database), "geheim-4711", "geheim-4711")
        check(status == 0 and "geheim" not in shown and "Password for anna" in shown, f"{status} {shown!r}")
        shown, status = typed(("account", "add", "otto", "--database", database), "geheim-4711", "geheim-4712")
        check(status != 0 and "geheim" not in shown, f"{status} {shown!r}")
        equal(run("account", "list", "--database", database).stdout.split("\t")[1:], ["anna\n"], "the accounts")


def accounts_are_added_once_and_removed():
    with tempfile.TemporaryDirectory() as folder:
        here = ("--database", f"{folder}/signin.sqlite")
        check(run("account", "add", "Anna", *here, stdin="x\n").returncode == 0, "account add")
        fails(run("account", "add", "ANNA", *here, stdin="x\n"), "already exists")
        fails(run("account", "add", "otto", *here), "no password")
        fails(run("account", "add", "a\u0007b", *here, stdin="x\n"), "1 to 128 characters")
        fails(run("account", "password", "otto", *here, stdin="x\n"), "no such account")
        check(run("account", "remove", "anna", *here).returncode == 0, "account remove")
        fails(run("account", "remove", "anna", *here), "no such account")
        # A password is never an argument.
        fails(run("account", "add", "otto", "geheim", *here))


def a_device_is_revoked_and_its_session_over():
    with Server() as server:
        user = User(server)
        session = user.sign_in()
        here = ("--database", server.database)
        check(session.is_alive(), "the session")
        listed = run("device", "list", user.name, *here).stdout
        check(b64(user.key.id) in listed and "active" in listed, listed)
        fails(run("device", "revoke", user.name, "nothing", *here), "no active device")
        # One key id in 64 begins with a dash.
        check(run("device", "revoke", *here, user.name, "--", b64(user.key.id)[:8]).returncode == 0, "device revoke")
        check(not session.is_alive(), "the session of a revoked device is alive")
        check("revoked" in run("device", "list", user.name, *here).stdout, "the list")


def serve(folder, *arguments):
    return [
        PROGRAM, "serve", "--audience", "localhost", "--application", APPLICATION, "--port", "0", "--database",
        f"{folder}/signin.sqlite", *map(str, arguments)]


def a_secret_that_others_read_or_that_is_another_is_refused():
    with tempfile.TemporaryDirectory() as folder:
        secret = pathlib.Path(folder, "signin.sqlite.secret")

        def started(*arguments):
            return subprocess.Popen(serve(folder, *arguments), stderr=subprocess.PIPE, text=True)

        def refuses(*words, arguments=()):
            process = started(*arguments)
            text = process.communicate(timeout=LONGEST_WAIT)[1]
            check(process.returncode > 0 and all(word in text for word in words), f"{process.returncode} {text!r}")

        with started() as process:
            wait_for(lambda: "serving" in process.stderr.readline(), "the server")
            process.terminate()
            equal(process.wait(LONGEST_WAIT), 0, "the exit status")
        equal(stat.S_IMODE(secret.stat().st_mode), 0o600, "the secret's mode")
        equal(secret.stat().st_size, 32, "the secret's size")
        kept = secret.read_bytes()
        secret.chmod(0o640)
        refuses("can be read by others", "chmod 600")
        secret.chmod(0o600)
        secret.write_bytes(kept[:31])
        refuses("does not have 32 bytes")
        secret.write_bytes(kept + b"x")
        refuses("does not have 32 bytes")
        secret.write_bytes(bytes(32))
        refuses("does not have the secret")
        secret.write_bytes(kept)
        other = pathlib.Path(folder, "link")
        other.symlink_to(secret)
        refuses("cannot be opened", arguments=("--secret-file", other))
        fails(run("serve", "--audience", "localhost", "--application", "a", "--database", "postgresql:host=/nowhere"))


def plain_http_stays_on_this_machine():
    with tempfile.TemporaryDirectory() as folder:
        for address in ("0.0.0.0", "::", "192.0.2.1"):
            fails(run(*serve(folder, "--address", address)[1:]), "--behind-tls-proxy")
        check(not os.listdir(folder), "something was made")


def a_page_over_http_is_this_machines_alone():
    with tempfile.TemporaryDirectory() as folder:
        for origin in ("http://signin.example.org", "http://192.0.2.1:8480", "http://127.0.0.1.example.org", "http://localhost.example.org"):
            fails(run(*serve(folder, "--origin", origin)[1:]), "https://")
        check(not os.listdir(folder), "something was made")
    for origin in ("http://127.0.0.1:8480", "http://localhost:8480", "http://[::1]:8480", "https://signin.example.org"):
        with tempfile.TemporaryDirectory() as folder:
            told(serve(folder, "--origin", origin))


def told(command):
    """What a server says until it serves, and at the end."""
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        lines = []
        while not lines or "serving" not in lines[-1]:
            lines.append(process.stderr.readline())
            check(lines[-1], f"the server ended: {lines}")
        process.terminate()
        return "".join(lines)


def a_proxy_that_is_not_named_is_told():
    warning = "shares one limit"
    with tempfile.TemporaryDirectory() as folder:
        public = ("--audience", "signin.example.org")
        check(warning in told(serve(folder, *public)), "no warning")
        check(warning not in told(serve(folder, *public, "--trusted-proxy", "127.0.0.1")), "a warning, the proxy is named")
        check(warning not in told(serve(folder)), "a warning, nobody is outside")


def counts_have_a_port_of_their_own():
    port = free_port()
    with Server(operations_port=port) as server:
        equal(Client(server).get("/metrics").status, 404, "/metrics for clients")
        equal(Client(server).get("/readyz").status, 404, "/readyz for clients")
        operations = RunningServer(port, server.origin, server.audience)

        def counts():
            with contextlib.suppress(OSError, http.client.HTTPException):
                return Client(operations).get("/metrics")

        check(b"signin_requests_total" in expect(wait_for(counts, "the operations' port"), 200).body, "the counts")
        expect(Client(operations).get("/readyz"), 200)
        equal(Client(operations).get("/v1/devices").status, 404, "a client's route on the operations' port")


def a_line_of_the_log_has_its_date():
    with Server() as server:
        expect(Client(server).post("/v1/password-sessions", {"name": "anna", "password": "x"}), 401)
        line = next(json.loads(line) for line in server.log.splitlines() if '"password"' in line or "accountUnknown" in line)
        check(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", line["time"]), f"the time {line['time']!r}")
        check(line["name"] and "anna" not in line["name"] and line["address"], f"who was refused: {line}")


def the_end_waits_for_what_runs_and_for_nothing_else():
    with Server() as server:
        body = json.dumps({"keyID": b64(bytes(32)), "purpose": "sign-in"}).encode()
        idle = socket.create_connection(("127.0.0.1", server.port))
        running = socket.create_connection(("127.0.0.1", server.port))
        running.sendall(
            b"POST /v1/challenges HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n" % len(body) + body[:10])
        # Until the server has it. Its event loops take connections in turn, so one of these is answered after it on its own loop.
        for _ in range(2 * os.cpu_count()):
            Client(server).get("/healthz")
        started = time.monotonic()
        server.process.terminate()
        equal(idle.recv(1), b"", "the idle connection")
        running.sendall(body[10:])
        answer = b""
        while block := running.recv(4096):
            answer += block
        check(answer.startswith(b"HTTP/1.1 200 "), f"{answer!r}")
        equal(server.process.wait(LONGEST_WAIT), 0, "the exit status")
        check(time.monotonic() - started < 8, "the end took the limit's time")
        idle.close()
        running.close()


def a_refusal_is_one_line_of_json():
    with tempfile.TemporaryDirectory() as folder:
        with subprocess.Popen(serve(folder, "--log-format", "json"), stderr=subprocess.PIPE, text=True) as process:
            line = wait_for(lambda: (found := process.stderr.readline()) and "port" in found and found, "the server")
            port = int(json.loads(line)["port"])
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LONGEST_WAIT)
            connection.request("GET", "/v1/devices")
            equal(connection.getresponse().status, 401, "the answer")
            entry = json.loads(wait_for(lambda: (found := process.stderr.readline()) and "refused" in found and found, "the entry"))
            equal((entry["reason"], entry["route"]), ("noToken", "GET /v1/devices"), "the entry")
            process.terminate()


main(
    a_password_does_not_show, accounts_are_added_once_and_removed, a_device_is_revoked_and_its_session_over,
    a_secret_that_others_read_or_that_is_another_is_refused, plain_http_stays_on_this_machine,
    a_page_over_http_is_this_machines_alone, a_proxy_that_is_not_named_is_told, counts_have_a_port_of_their_own,
    a_line_of_the_log_has_its_date, the_end_waits_for_what_runs_and_for_nothing_else, a_refusal_is_one_line_of_json)
