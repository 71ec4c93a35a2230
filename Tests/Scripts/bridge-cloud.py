#!/usr/bin/env python3
"""Credentials for the commands of AWS and Kubernetes: their forms, who asks, and what is not given out."""

import json
import os
import subprocess

from bridges import BRIDGES, with_device
from device import LONGEST_WAIT, check, equal, main

RUN = BRIDGES / "touchstone-run"
KEYS = {"AccessKeyId": "AKIDEXAMPLE", "SecretAccessKey": "wJalr/+EXAMPLE"}
REQUEST = json.dumps({"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1", "spec": {"interactive": False}})


def keep(resident, reference, secret):
    resident.run(RUN, "secret", "set", reference, input=secret if isinstance(secret, str) else json.dumps(secret))


@with_device
def aws_gets_its_keys_after_one_prompt_that_names_the_command(device, resident, person):
    """CP-1, CP-4."""
    keep(resident, "aws/work", KEYS)
    # As AWS's command does it: the words of credential_process, without a shell or with one.
    line = f"{RUN} credential-process aws aws/work"
    command = device.work / "aws"
    command.write_text("import subprocess, sys\nsys.exit(subprocess.call(sys.argv[2], shell=sys.argv[1] == 'shell')"
                       " if sys.argv[1] == 'shell' else subprocess.call(sys.argv[2].split()))\n")
    for way in ("words", "shell"):
        said = resident.run("/usr/bin/python3", command, way, line)
        equal(json.loads(said), {"Version": 1} | KEYS, "what AWS's command reads")
        prompt = person.prompts[0]
        equal(person.asked(), 1, "prompts")
        reason, facts = prompt["reason"], [fact["text"] for fact in prompt["facts"]]
        check(reason.startswith("give 1 secret (aws/work) to “/usr/bin/python3 "), reason)
        check("aws/work as “AWS credentials”" in facts, facts)
        check(any(text.startswith(f"/usr/bin/python3 {command} {way}") for text in facts), facts)
        check("wJalr" not in json.dumps(prompt) + resident.log, "the secret was told")
    keep(resident, "aws/other", "wJalr/+EXAMPLE\n")
    said = resident.run(RUN, "credential-process", "aws", "--access-key-id", "AKIDEXAMPLE", "aws/other")
    equal(json.loads(said), {"Version": 1} | KEYS, "with the key's id beside the secret")


@with_device
def a_cancel_gives_nothing(device, resident, person):
    """CP-4."""
    keep(resident, "aws/work", KEYS)
    person.answer = "cancel"
    equal(resident.run(RUN, "credential-process", "aws", "aws/work", status=130), "", "what is given after a cancel")
    equal(person.asked(), 1, "prompts")
    resident.run(RUN, "credential-process", "aws", "aws/nothing", status=2)
    equal(person.asked(), 0, "prompts for what is not there")


@with_device
def what_is_over_or_malformed_is_not_given_out(device, resident, person):
    """CP-1, CP-3."""
    keep(resident, "aws/old", KEYS | {"Expiration": "2020-01-01T00:00:00Z"})
    equal(resident.run(RUN, "credential-process", "aws", "aws/old", status=2), "", "keys that have expired")
    check("have expired" in resident.said, resident.said)
    keep(resident, "aws/new", KEYS | {"SessionToken": "token", "Expiration": "2999-01-01T00:00:00Z"})
    said = json.loads(resident.run(RUN, "credential-process", "aws", "aws/new"))
    equal((said["SessionToken"], said["Expiration"]), ("token", "2999-01-01T00:00:00Z"), "keys of a session")
    keep(resident, "aws/text", "only a text")
    resident.run(RUN, "credential-process", "aws", "aws/text", status=2)
    check("only a text" not in resident.said and "AccessKeyId" in resident.said, resident.said)


@with_device
def kubernetes_gets_a_token_or_a_certificate(device, resident, person):
    """CP-2."""
    keep(resident, "k8s/admin", "t0ken\n")
    keep(resident, "k8s/certificate", {"clientCertificateData": "C", "clientKeyData": "K"})
    resident.run(RUN, "credential-process", "kubernetes", "k8s/admin", status=2)
    check("KUBERNETES_EXEC_INFO" in resident.said, resident.said)
    equal(person.asked(), 0, "prompts without a request")
    resident.environment["KUBERNETES_EXEC_INFO"] = REQUEST
    said = json.loads(resident.run(RUN, "credential-process", "kubernetes", "k8s/admin"))
    equal(said, {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "t0ken"}}, "a token")
    said = json.loads(resident.run(RUN, "credential-process", "kubernetes", "k8s/certificate"))
    equal(said["status"], {"clientCertificateData": "C", "clientKeyData": "K"}, "a certificate")
    equal(person.asked(), 2, "prompts")


@with_device
def a_terminal_gets_nothing(device, resident, person):
    """EX-7."""
    keep(resident, "aws/work", KEYS)
    first, second = os.openpty()
    for more, status in (([], 2), (["--reveal"], 0)):
        done = subprocess.run([RUN, "credential-process", "aws", *more, "aws/work"], env=resident.environment,
                              stdin=subprocess.DEVNULL, stdout=second, stderr=subprocess.PIPE, timeout=LONGEST_WAIT)
        equal(done.returncode, status, f"the status with {more}")
        equal(person.asked(), 1 if more else 0, "prompts")
    check(b"wJalr" in os.read(first, 1000), "what --reveal shows")


main(
    aws_gets_its_keys_after_one_prompt_that_names_the_command, a_cancel_gives_nothing, what_is_over_or_malformed_is_not_given_out,
    kubernetes_gets_a_token_or_a_certificate, a_terminal_gets_nothing)
