#!/usr/bin/env python3
"""What `touchstone-login approve` takes from pages and what it refuses, byte by byte where no browser would send it; what registering says."""

import contextlib
import http.client
import http.server
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time

from device import LONGEST_WAIT, Device, check, equal, wait_for
from login import FINGER, Login
from signin import Client, Server, expect

PASSWORD = "correct horse battery staple"


class Site:
    """A server with an account, the device that is registered there, and its approver on a free port."""

    def __init__(self, *answers):
        self.answers = answers

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            self.server = stack.enter_context(Server())
            self.server.add_account("alice", PASSWORD)
            self.device = stack.enter_context(Device())
            self.device.set_up("271828", FINGER)
            self.login = Login(self.device)
            with Agent(self.device, "ignore"):
                self.login.register(self.server, "alice", PASSWORD)
            self.agent = stack.enter_context(Agent(self.device, *self.answers))
            self.approver = stack.enter_context(self.login.approve("--port", "0"))
            self.port = int(re.search(r"127\.0\.0\.1:(\d+)", self.approver.output).group(1))
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *error):
        return self.stack.__exit__(*error)

    def page(self):
        """A page's request, and the client that has its cookie."""
        client = Client(self.server)
        answer = expect(client.post("/v1/web/requests", {}, {"Origin": self.server.origin}), 201)
        return answer.json, {"Cookie": answer.header("Set-Cookie").split(";")[0]}, client

    def state(self, page):
        asked, cookie, client = page
        return client.get("/v1/web/requests/state", cookie).json["state"]

    def connect(self, method="POST", body=b"", path="/approve", **fields):
        """Sends a request; `Origin`, `Host` and `Content_Type` are the page's unless they are given, and left out where they are None."""
        fields = {"Host": f"127.0.0.1:{self.port}", "Origin": self.server.origin, "Content-Type": "application/json"} | {
            name.replace("_", "-"): value for name, value in fields.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LONGEST_WAIT)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in fields.items():
            if value is not None:
                connection.putheader(name, value)
        body = body if isinstance(body, bytes) else json.dumps({name: body[name] for name in ("request", "code")}).encode()
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        return connection

    def send(self, *arguments, **fields):
        answer = self.connect(*arguments, **fields).getresponse()
        body = answer.read()
        return answer.status, json.loads(body) if body else {}, answer

    def prompts(self):
        # The headline of a prompt has the same words.
        return len(re.findall("says: .*the page shows", self.agent.output))


class Agent:
    """`touchstone agent`, with its answers on paper and what it shows in a file."""

    def __init__(self, device, *answers):
        self.file = tempfile.NamedTemporaryFile("r", prefix="touchstone-agent.")
        with open(self.file.name, "ab") as output:
            self.process = subprocess.Popen(
                [str(device.programs / "touchstone"), "agent", "--script", "-"], env=device.environment,
                stdin=subprocess.PIPE, stdout=output, stderr=output, text=True)
        self.process.stdin.write("".join(f"{answer}\n" for answer in answers))
        self.process.stdin.close()
        wait_for(lambda: "ready" in self.output, "the agent")

    @property
    def output(self):
        return pathlib.Path(self.file.name).read_text()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait(LONGEST_WAIT)
        self.file.close()


def only_a_page_of_a_registered_server_may_ask():
    with Site("ignore") as site:
        status, _, answer = site.send("OPTIONS", Access_Control_Request_Method="POST", Access_Control_Request_Private_Network="true")
        equal((status, answer.getheader("Access-Control-Allow-Origin"), answer.getheader("Access-Control-Allow-Private-Network")),
              (204, site.server.origin, "true"), "the preflight of the page")
        asked = site.page()[0]
        for origin in ("https://evil.example", "null", site.server.origin + ".evil.example", site.server.origin.replace("http:", "https:"),
                       site.server.origin + "/", site.server.origin.upper(), ""):
            for method in ("OPTIONS", "POST"):
                status, said, answer = site.send(method, asked, Origin=origin)
                equal((status, said["error"], answer.getheader("Access-Control-Allow-Origin")), (403, "unknownOrigin", None), origin)
            check(not origin or origin in site.approver.output, f"{origin} is not named: {site.approver.output}")
        status, said, _ = site.send("POST", asked, Origin="https://evil.example/\x1b[2J".encode().decode("latin-1"))
        check("\x1b" not in site.approver.output, "an address reaches the terminal with its control characters")
        equal(site.send("POST", asked, Origin=None)[0], 403, "a program without an origin")
        for host in ("evil.example", f"evil.example:{site.port}", f"127.0.0.1.evil.example:{site.port}", "127.0.0.1", f"0.0.0.0:{site.port}"):
            equal(site.send("POST", asked, Host=host)[0], 421, f"by the name {host}")
        equal(site.prompts(), 0, "prompts")


def other_users_programs_are_refused():
    if os.getuid() != 0:
        sys.exit("approver: asking as another user wants root")
    with Site("cancel") as site:
        asked = json.dumps(site.page()[0])

        def as_user(user, *options):
            done = subprocess.run(
                ["setpriv", f"--reuid={user}", "--regid=65534", "--clear-groups", "curl", "-s", "-o", "/dev/null", "-w", "%{http_code}",
                 *options, "-H", f"Origin: {site.server.origin}", "-H", "Content-Type: application/json", "-d", asked,
                 f"http://127.0.0.1:{site.port}/approve"],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LONGEST_WAIT)
            return done.stdout

        for user in (65534, 12345):
            for _ in range(3):
                equal(as_user(user), "403", f"user {user} with the page's own origin")
            equal(site.approver.output.count(f"refused a program of user {user}"), 1, "lines about the user")
        equal(site.prompts(), 0, "prompts")
        # Who has closed the socket when it is looked at belongs to nobody, and is not the owner either.
        leaver = ("import socket,sys; s=socket.create_connection(('127.0.0.1', int(sys.argv[1]))); "
                  "s.sendall(sys.argv[2].encode()); s.shutdown(socket.SHUT_WR); s.close()")
        head = (f"POST /approve HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\nOrigin: {site.server.origin}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(asked)}\r\n\r\n{asked}")
        for _ in range(20):
            subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", sys.executable, "-c", leaver, str(site.port), head],
                           check=True, timeout=LONGEST_WAIT)
        equal(site.prompts(), 0, "prompts for who has gone")
        equal(as_user(0), "200", "the owner's own program")
        equal(site.prompts(), 1, "prompts for the owner's own")


def a_terminal_is_not_filled():
    with Site("ignore") as site:
        for _ in range(3):
            equal(site.send("POST", b"{}", Origin="https://evil.example")[0], 403, "another site")
        equal(site.approver.output.count("refused https://evil.example"), 1, "lines for one origin")
        for number in range(50):
            equal(site.send("POST", b"{}", Origin=f"https://{number}.example")[0], 403, "another site")
        check(site.approver.output.count("refused ") <= 20, f"{site.approver.output.count('refused ')} lines in a minute")


def who_drips_is_cut_off():
    with Site("ignore") as site:
        start = time.monotonic()
        with socket.create_connection(("127.0.0.1", site.port), LONGEST_WAIT) as slow:
            slow.sendall(b"POST /approve HTTP/1.1\r\nX: ")
            slow.settimeout(0.2)
            while time.monotonic() - start < LONGEST_WAIT:
                try:
                    slow.sendall(b"y")
                    if slow.recv(100) == b"":
                        break
                except TimeoutError:
                    continue
                except OSError:
                    break
            took = time.monotonic() - start
        check(9 <= took < LONGEST_WAIT, f"cut off after {took:.1f} s")


def what_is_no_request_is_refused():
    with Site("ignore") as site:
        asked = json.dumps(site.page()[0]).encode()
        for arguments, fields, status in [
            (("POST", asked), {"Content_Type": "text/plain"}, 415), (("POST", asked), {"Content_Type": None}, 415),
            (("POST", b"{}"), {}, 400), (("POST", b"[" * 500), {}, 400), (("POST", b" " * 1025), {}, 413),
            (("POST", b'{"request":"x","code":"4179361"}'), {}, 400), (("POST", b'{"request":"x\\ny","code":"417 936"}'), {}, 400),
            (("GET",), {}, 405), (("DELETE",), {}, 405), (("POST", asked, "/"), {}, 404),
        ]:
            equal(site.send(*arguments, **fields)[0], status, f"{arguments} {fields}")
        equal(site.prompts(), 0, "prompts")


def a_finger_approves_and_a_cancel_denies():
    with Site("ignore", "cancel") as site:
        first, second = site.page(), site.page()
        pending = site.connect("POST", first[0])
        site.login.touch()
        answer = pending.getresponse()
        equal((answer.status, json.loads(answer.read())), (200, {"state": "approved"}), "the approval")
        equal(site.state(first), "approved", "the page's request")
        check(f"the page shows {first[0]['code']}" in " ".join(site.agent.output.split()), f"the code in the prompt: {site.agent.output}")
        equal(site.send("POST", second[0])[:2], (200, {"state": "denied"}), "the cancel")
        equal(site.state(second), "denied", "the second page's request")


def one_at_a_time_and_a_page_that_goes_takes_its_prompt_with_it():
    with Site("ignore", "ignore") as site:
        first, second = site.page(), site.page()
        pending = site.connect("POST", first[0])
        wait_for(lambda: site.prompts() == 1, "the prompt")
        status, said, _ = site.send("POST", second[0])
        equal((status, said["error"]), (409, "busy"), "a second page")
        pending.close()
        wait_for(lambda: site.state(first) == "denied", "the abandoned request to be denied")
        wait_for(lambda: "Dismissed" in site.agent.output, "the prompt to go")
        pending = site.connect("POST", second[0])
        site.login.touch()
        equal(pending.getresponse().status, 200, "the second page, asked again")


def a_key_that_is_lost_is_told_of():
    with Site("ignore") as site:
        site.device.run("device", "enroll", "left-index")
        status, said, _ = site.send("POST", site.page()[0])
        equal((status, said["error"]), (409, "registrationNeeded"), "after another finger was enrolled")
        equal(site.prompts(), 0, "prompts")


def registering_says_what_it_replaces_and_where_the_password_goes():
    heard = []

    class Refusing(http.server.BaseHTTPRequestHandler):
        """Notes what a password is sent with, and refuses it."""

        def do_POST(self):
            heard.append((self.path, json.loads(self.rfile.read(int(self.headers["Content-Length"])))))
            self.send_response(401)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    def register(site, origin, typed, *options):
        return subprocess.run(
            [site.login.PROGRAM, "register", origin, "--name", "bob", "--device-name", "Laptop", *options], input=typed,
            env=site.login.device.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LONGEST_WAIT)

    with Site("ignore") as site, http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        origin = f"http://127.0.0.1:{other.server_port}"
        done = register(site, origin, "word\n417936\n", "--second-factor", "--audience", "other.test")
        equal(done.returncode, 5, done.stderr)
        check(f"the password goes to {origin}; prompts and signatures name other.test" in done.stderr, done.stderr)
        equal(heard, [("/v1/password-sessions", {"name": "bob", "password": "word", "secondFactor": "417936"})], "with a second factor")
        done = register(site, origin, "word\n417936\n")
        equal((done.returncode, heard[1:]), (5, [("/v1/password-sessions", {"name": "bob", "password": "word"})]), "without one")
        check("goes to" not in done.stderr and "replaces" not in done.stderr, done.stderr)
        done = register(site, origin, "word\n", "--second-factor")
        equal((done.returncode, len(heard)), (8, 2), "a second factor that does not come")
        check("no second factor was entered" in done.stderr, done.stderr)
        done = register(site, site.server.origin, "wrong\n")
        equal(done.returncode, 5, done.stderr)
        check("this replaces the key for" in done.stderr and "account alice" in done.stderr, done.stderr)
        check("that account keeps the earlier key" in done.stderr, done.stderr)
        other.shutdown()


for test in (only_a_page_of_a_registered_server_may_ask, other_users_programs_are_refused, a_terminal_is_not_filled,
             who_drips_is_cut_off, what_is_no_request_is_refused, a_finger_approves_and_a_cancel_denies,
             one_at_a_time_and_a_page_that_goes_takes_its_prompt_with_it, a_key_that_is_lost_is_told_of,
             registering_says_what_it_replaces_and_where_the_password_goes):
    test()
print("ok")
