#!/usr/bin/env python3
"""What OpenSSL's and GnuTLS's own verifiers say of the chains of the Swift tests, made again around today.

`ChainTests` holds our answers against the same cases. Here the others are held against what chains.py says of them. Where
they differ from ours, docs/rules/trust.md has a row that says why (TR-3…TR-6).
"""
import base64
import contextlib
import datetime
import functools
import ipaddress
import json
import pathlib
import re
import subprocess
import tempfile

from chains import make
from device import LONGEST_WAIT, REPOSITORY, check, equal, main

PURPOSES = {"ssl": "sslserver", "client": "sslclient", "email": "smimesign"}
OBJECTS = {
    "ssl": "1.3.6.1.5.5.7.3.1", "client": "1.3.6.1.5.5.7.3.2", "email": "1.3.6.1.5.5.7.3.4", "code": "1.3.6.1.5.5.7.3.3",
}


@functools.cache
def cases():
    today = datetime.datetime.combine(datetime.datetime.now(datetime.timezone.utc).date(), datetime.time())
    return make(today)[0]


def pem(*certificates):
    return "".join(
        "-----BEGIN CERTIFICATE-----\n{}-----END CERTIFICATE-----\n".format(
            base64.encodebytes(base64.b64decode(one)).decode())
        for one in certificates)


def run(*command, text=None):
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=LONGEST_WAIT)


def is_address(name):
    with contextlib.suppress(ValueError):
        return bool(ipaddress.ip_address(name))
    return False


def openssl(case, directory):
    (directory / "leaf.pem").write_text(pem(case["certificates"][0]))
    (directory / "anchors.pem").write_text(pem(*case["anchors"]))
    command = ["openssl", "verify", "-no-CAfile", "-no-CApath", "-partial_chain", "-trusted", directory / "anchors.pem"]
    if len(case["certificates"]) > 1:
        (directory / "rest.pem").write_text(pem(*case["certificates"][1:]))
        command += ["-untrusted", directory / "rest.pem"]
    if case["policy"] in PURPOSES:
        command += ["-purpose", PURPOSES[case["policy"]]]
    if case["policy"] == "ssl":
        command += ["-verify_ip" if is_address(case["name"]) else "-verify_hostname", case["name"]]
    elif case["policy"] == "email" and case["name"]:
        command += ["-verify_email", case["name"]]
    return run(*command, directory / "leaf.pem")


def gnutls(case, directory):
    (directory / "anchors.pem").write_text(pem(*case["anchors"]))
    command = ["certtool", "--verify", "--load-ca-certificate", directory / "anchors.pem"]
    if case["policy"] in OBJECTS:
        command.append(f"--verify-purpose={OBJECTS[case['policy']]}")
    if case["policy"] == "ssl":
        command.append(f"--verify-hostname={case['name']}")
    elif case["policy"] == "email" and case["name"]:
        command.append(f"--verify-email={case['name']}")
    return run(*command, text=pem(*case["certificates"]))


def held_against(verifier, key):
    check(len(cases()) > 60, "there are no chains")
    with tempfile.TemporaryDirectory() as directory:
        wrong = []
        for case in cases():
            result = verifier(case, pathlib.Path(directory))
            if (result.returncode == 0) != case[key]:
                wrong.append(f"{case['title']}: {key} says {result.returncode}, {result.stdout.strip()} {result.stderr.strip()}")
        equal(wrong, [], f"{key} says something else than chains.py has of it")


def openssl_says_what_is_written():
    held_against(openssl, "openssl")


def gnutls_says_what_is_written():
    held_against(gnutls, "gnutls")


def every_difference_is_in_the_table():
    """TR-3…TR-6: the rows of the document are the differences, and no others."""
    word = {True: "trusted", False: "not trusted"}
    differences = {
        case["title"]: (word[not case["failures"]], word[case["openssl"]], word[case["gnutls"]])
        for case in cases() if not (case["openssl"] == case["gnutls"] == (not case["failures"]))
    }
    text = (REPOSITORY / "docs/rules/trust.md").read_text()
    rows = {
        row[0]: tuple(row[1:4]) for line in text.splitlines()
        if line.count("|") == 6 and (row := [cell.strip() for cell in line.strip("|").split("|")])[1] in word.values()
    }
    equal(rows, differences, "the table of docs/rules/trust.md")


def both_and_we_trust_each_root_of_debian():
    bundle = pathlib.Path("/etc/ssl/certs/ca-certificates.crt").read_text()
    roots = re.findall(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----\n", bundle, re.S)
    check(len(roots) > 100, "Debian has no roots")
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "root.pem"
        # The day of MachineAnchorTests, when some had not begun yet.
        for root in roots:
            path.write_text(root)
            result = run("openssl", "verify", "-partial_chain", "-attime", "1700000000", path)
            check(result.returncode == 0 or "certificate is not yet valid" in result.stderr
                  or "certificate has expired" in result.stderr, result.stderr)
    # p11-kit knows as many anchors as the bundle, where it is there at all.
    listed = run("trust", "list", "--filter=ca-anchors")
    if listed.returncode == 0:
        equal(listed.stdout.count("type: certificate"), len(set(roots)), "anchors of p11-kit")


def chains_are_those_of_the_fixtures():
    """The committed file was made by this chains.py."""
    committed = json.loads((REPOSITORY / "Tests/TouchstoneTrustTests/Fixtures/chains.json").read_text())
    fields = ["title", "policy", "name", "failures", "openssl", "gnutls"]
    made = make(datetime.datetime(2026, 6, 1))
    equal(
        [[case[field] for field in fields] for case in committed],
        [[case[field] for field in fields] for case in made[0] + made[1]], "chains.json")


if __name__ == "__main__":
    main(
        openssl_says_what_is_written, gnutls_says_what_is_written, every_difference_is_in_the_table,
        both_and_we_trust_each_root_of_debian, chains_are_those_of_the_fixtures)
