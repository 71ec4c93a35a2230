#!/usr/bin/env python3
"""git with its passwords in Touchstone: what git expects of a helper, and a server that wants a password."""

import base64
import http.server
import os
import subprocess
import threading
import time

from bridges import BRIDGES, with_device
from device import LONGEST_WAIT, REPOSITORY, check, equal, main

ASKPASS = """#!/bin/sh
case $1 in Username*) echo typed-user ;; *) echo typed-password ;; esac
"""
TYPED = ("typed-user", "typed-password")


class Git:
    """git with Touchstone's helper alone, and somebody who types what no helper knows."""

    def __init__(self, device, resident):
        self.resident = resident
        askpass = device.work / "askpass"
        askpass.write_text(ASKPASS)
        askpass.chmod(0o700)
        resident.environment["GIT_ASKPASS"] = str(askpass)

    def __call__(self, *arguments, **settings):
        return self.resident.run("git", "-c", "credential.helper=", "-c", "credential.helper=touchstone", *arguments, **settings)

    @staticmethod
    def lines(fields):
        return "".join(f"{key}={value}\n" for key, value in fields.items())

    def approve(self, *options, **fields):
        self(*options, "credential", "approve", input=self.lines(fields))

    def reject(self, *options, **fields):
        self(*options, "credential", "reject", input=self.lines(fields))

    def fill(self, *options, **fields):
        """User and password."""
        said = self(*options, "credential", "fill", input=self.lines(fields))
        found = dict(line.split("=", 1) for line in said.splitlines())
        return found.get("username"), found.get("password")


def with_git(body):
    @with_device
    def run(device, resident, person):
        body(Git(device, resident), person)

    run.__name__ = body.__name__
    return run


@with_git
def what_was_kept_comes_back_and_nothing_else_does(git, person):
    """GC-17, GC-12, GC-14: for this protocol, host, user and path, else git asks the person."""
    equal(git.fill(protocol="https", host="example.com"), TYPED, "before anything is kept")
    git.approve(protocol="https", host="example.com", username="kept-user", password="kept-password")
    kept = ("kept-user", "kept-password")
    equal(git.fill(protocol="https", host="example.com"), kept, "what was kept")
    equal(git.fill(protocol="https", host="example.com", username="kept-user"), kept, "what was kept for this user")
    equal(git.fill(protocol="http", host="example.com"), TYPED, "for another protocol")
    equal(git.fill(protocol="https", host="other.com"), TYPED, "for another host")
    equal(git.fill(protocol="https", host="example.com", username="other"), ("other", "typed-password"), "for another user")
    # Without it git leaves paths out.
    paths = ("-c", "credential.useHttpPath=true")
    git.approve(*paths, protocol="http", host="path.example", path="one.git", username="u", password="p")
    equal(git.fill(*paths, protocol="http", host="path.example", path="one.git"), ("u", "p"), "for the path")
    equal(git.fill(*paths, protocol="http", host="path.example", path="two.git"), TYPED, "for another path")


@with_git
def a_new_password_takes_the_place_of_the_old_one(git, person):
    """GC-17, GC-13: after a finger."""
    place = {"protocol": "https", "host": "example.com", "username": "u"}
    git.approve(**place, password="first")
    git.approve(**place, password="second")
    equal([prompt["reason"] for prompt in person.prompts], ["store over the password of u at example.com"], "the prompts")
    equal(git.fill(**place), ("u", "second"), "the password")


@with_git
def what_is_forgotten_is_forgotten_alone(git, person):
    """GC-17, GC-13: of several users, of another password, of several users at once."""
    place = {"protocol": "https", "host": "example.com"}
    for user in ("one", "two"):
        git.approve(**place, username=user, password=f"password of {user}")
    for user in ("one", "two"):
        equal(git.fill(**place, username=user), (user, f"password of {user}"), "one of two users")
    git.reject(**place, username="one", password="something else")
    equal(git.fill(**place, username="one"), ("one", "password of one"), "after another password was rejected")
    git.reject(**place, username="one")
    equal(git.fill(**place, username="one"), ("one", "typed-password"), "a user who is forgotten")
    equal(git.fill(**place, username="two"), ("two", "password of two"), "the other user")
    git.approve(**place, username="three", password="password of three")
    git.reject(**place)
    for user in ("two", "three"):
        equal(git.fill(**place, username=user), (user, "typed-password"), "a user of a host that is forgotten")


@with_git
def a_user_or_a_password_may_be_empty(git, person):
    """GC-17, GC-13: servers exist that sign in by other means."""
    git.approve(protocol="https", host="sso.example", username="", password="")
    equal(git.fill(protocol="https", host="sso.example"), ("", ""), "both are empty")
    equal([prompt["reason"] for prompt in person.prompts], ["read the password at sso.example"], "the prompt")
    git.approve(protocol="https", host="token.example", username="", password="token")
    equal(git.fill(protocol="https", host="token.example"), ("", "token"), "an empty user")
    git.approve(protocol="https", host="blank.example", username="u", password="")
    equal(git.fill(protocol="https", host="blank.example"), ("u", ""), "an empty password")
    git.reject(protocol="https", host="token.example", username="")
    equal(git.fill(protocol="https", host="token.example"), TYPED, "an empty user who is forgotten")


@with_device
def gits_own_tests_of_helpers_pass(device, resident, person):
    """GC-17: t0303 of the installed git's source, unchanged. Its test of a timeout is for helpers that have such an option."""
    tests = REPOSITORY / ".build-git-tests/t"
    check((tests / "t0303-credential-external.sh").exists(), "git's own tests are not there: run script/git-tests")
    resident.environment |= {
        "GIT_TEST_INSTALLED": "/usr/bin", "GIT_TEST_CREDENTIAL_HELPER": "touchstone", "TEST_OUTPUT_DIRECTORY": str(device.work / "git")}
    said = resident.run("sh", "t0303-credential-external.sh", "--verbose", cwd=tests, timeout=5 * LONGEST_WAIT)
    equal(sum(line.startswith("ok ") for line in said.splitlines()), 12, f"tests that passed, of\n{said}")
    check("# passed all 12 test(s)\n" in said, said)
    check(any(prompt["reason"] == "read the password of store-user at example.com" for prompt in person.prompts), "nobody was asked")


class Server(http.server.ThreadingHTTPServer):
    """git's own http-backend behind basic authentication."""

    daemon_threads = True

    def __init__(self, root, user, password):
        self.root, self.refused = root, 0
        self.expected = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
        super().__init__(("127.0.0.1", 0), Request)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def place(self):
        return f"127.0.0.1:{self.server_port}"


class Request(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        if self.headers.get("Authorization") != self.server.expected:
            self.server.refused += 1
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        path, _, query = self.path.partition("?")
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        done = subprocess.run(
            ["git", "-c", "safe.directory=*", "http-backend"], input=body, stdout=subprocess.PIPE, timeout=LONGEST_WAIT,
            env=os.environ | {
                "GIT_PROJECT_ROOT": str(self.server.root), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path, "QUERY_STRING": query,
                "REQUEST_METHOD": self.command, "CONTENT_TYPE": self.headers.get("Content-Type", ""), "REMOTE_USER": "octocat",
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""), "REMOTE_ADDR": "127.0.0.1"})
        head, _, rest = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self.send_response(int(fields.pop("Status", "200 OK").split()[0]))
        for field in fields.items():
            self.send_header(*field)
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest)

    do_POST = do_GET


def repository(device, resident, name):
    """A directory to commit in, and the bare repository that is served."""
    bare, work = device.work / "served" / f"{name}.git", device.work / name
    for command in (["init", "--bare", bare], ["init", work]):
        resident.run("git", *command)
    resident.run("git", "-C", bare, "symbolic-ref", "HEAD", "refs/heads/main")
    return bare, work


def commit(resident, work, bare, text):
    resident.run("git", "-C", work, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "--allow-empty", "-m", text)
    resident.run("git", "-C", work, "push", bare, "HEAD:refs/heads/main")


@with_device
def git_clones_and_fetches_over_http(device, resident, person):
    """GC-17: a wrong password, then the right one; a clone and a fetch, with one prompt."""
    source, first = repository(device, resident, "project")
    commit(resident, first, source, "one")
    git, helper = Git(device, resident), BRIDGES / "git-credential-touchstone"
    resident.environment["GIT_ASKPASS"] = "/bin/false"
    server = Server(source.parent, "octocat", "right one")
    place = f"protocol=http\nhost={server.place}\nusername=octocat\n"
    git("credential", "approve", input=place + "password=wrong one\n")
    target, address = device.work / "clone", f"http://{server.place}/project.git"
    git("clone", address, target, status=128)
    equal(person.asked(), 1, "prompts for the wrong password")
    equal(resident.run(helper, "get", input=place), "", "git has the wrong password forgotten")
    git("credential", "approve", input=place + "password=right one\n")
    began = time.monotonic()
    git("clone", address, target)
    equal(person.asked(), 1, "prompts of a clone")
    commit(resident, first, source, "two")
    git("-C", target, "fetch", "--all")
    equal(resident.run("git", "-C", target, "log", "-1", "--format=%s", "origin/main"), "two\n", "what was fetched")
    if time.monotonic() - began < 60:
        equal([prompt["reason"] for prompt in person.prompts], [], "prompts of a fetch within the minute")
    check(server.refused > 0, "the server asked for no password")
    server.shutdown()


@with_device
def eight_submodules_are_cloned_at_once_with_one_prompt(device, resident, person):
    """GC-17, BR-26: those that ask at the same time share the prompt, and none fails."""
    project, work = repository(device, resident, "project")
    server = Server(project.parent, "octocat", "right one")
    git = Git(device, resident)
    resident.environment["GIT_ASKPASS"] = "/bin/false"
    git("credential", "approve", input=f"protocol=http\nhost={server.place}\nusername=octocat\npassword=right one\n")
    for number in range(8):
        part, there = repository(device, resident, f"part{number}")
        commit(resident, there, part, "one")
        git("-C", work, "submodule", "add", f"http://{server.place}/part{number}.git", f"part{number}")
    commit(resident, work, project, "parts")
    person.asked()
    # Another session, so that nothing of the steps above is reused.
    began = time.monotonic()
    git("clone", "--recurse-submodules", "--jobs", "8", f"http://{server.place}/project.git", device.work / "clone", start_new_session=True)
    if time.monotonic() - began < 60:
        equal(person.asked(), 1, "prompts of a clone with eight submodules")
    for number in range(8):
        check((device.work / f"clone/part{number}/.git").exists(), f"part{number} is missing")
    server.shutdown()


main(
    what_was_kept_comes_back_and_nothing_else_does, a_new_password_takes_the_place_of_the_old_one, what_is_forgotten_is_forgotten_alone,
    a_user_or_a_password_may_be_empty, gits_own_tests_of_helpers_pass, git_clones_and_fetches_over_http, eight_submodules_are_cloned_at_once_with_one_prompt)
