#!/usr/bin/env python3
"""
schemathesis over the server's own description: whatever is sent, no answer is a 5xx, and each is as /openapi.json says. Without
a session first, then with one.
"""

import os
import subprocess

from device import PROGRAMS, REPOSITORY, check, main
from signin import PASSWORD, Server

SCHEMATHESIS = REPOSITORY / ".build-python/bin/schemathesis"
EXAMPLES = 12
# How long one of the two runs may take.
SECONDS = 800

# 413 is a refusal too, and which characters show is more than a schema can say.
SETTINGS = """
[checks]
negative_data_rejection.expected-statuses = [400, 401, 403, 404, 405, 409, 413, 415, 429]

[[operations]]
include-name = "POST /v1/transactions"
checks.positive_data_acceptance.expected-statuses = ["2xx", 400, 401, 413, 429]
"""


def run(server, account=None):
    (server.work / "schemathesis.toml").write_text(SETTINGS)
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(server.work), "PYTHONPATH": str(REPOSITORY / "Tests/Scripts"),
        "SCHEMATHESIS_HOOKS": "signin_hooks", "TOUCHSTONE_BIN": str(PROGRAMS), "NO_COLOR": "1"}
    if account:
        environment["SIGNIN_ACCOUNT"] = f"{account} {server.port} {server.origin} {server.audience}"
    ran = subprocess.run(
        [SCHEMATHESIS, "run", f"http://127.0.0.1:{server.port}/openapi.json", "--phases", "examples,coverage,fuzzing",
         "--max-examples", str(EXAMPLES), "--generation-deterministic", "--checks", "all", "--continue-on-failure",
         # Who is refused is told so by one answer, before or after the body was looked at: that is not this check's to say.
         "--exclude-checks", "ignored_auth", "--request-timeout", "10", "--no-shrink"],
        cwd=server.work, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, timeout=SECONDS)
    told = "\n".join(line[:400] for line in ran.stdout.splitlines())
    check(ran.returncode == 0, f"schemathesis: exit {ran.returncode}\n{told[-20000:]}")
    print("\n".join(line for line in ran.stdout.splitlines() if "Operations:" in line or "generated" in line))


def anybodys_requests_are_answered_as_described():
    with Server() as server:
        run(server)
        check(not server.failures(), f"the log:\n{server.failures()}")


def a_sessions_requests_are_answered_as_described():
    with Server() as server:
        server.add_account("alice", PASSWORD)
        run(server, "alice")
        check(not server.failures(), f"the log:\n{server.failures()}")


main(anybodys_requests_are_answered_as_described, a_sessions_requests_are_answered_as_described)
