#!/usr/bin/env python3
"""Credentials for the commands of AWS and Kubernetes: their forms, who asks, and what is not given out."""

import hashlib
import hmac
import http.server
import json
import os
import re
import shutil
import ssl
import subprocess
import threading

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


class Cloud(http.server.ThreadingHTTPServer):
    """A server of this machine that keeps what its clients sent."""

    daemon_threads = True

    def __init__(self, answer, certificate=None):
        self.answer, self.requests, self.scheme = answer, [], "https" if certificate else "http"
        super().__init__(("127.0.0.1", 0), Request)
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.socket = context.wrap_socket(self.socket, server_side=True)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self):
        return f"{self.scheme}://127.0.0.1:{self.server_port}"


class Request(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        self.content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.requests.append(self)
        kind, text = self.server.answer
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    do_POST = do_GET


def signature(request, secret):
    """What AWS's version 4 of signatures makes of a request and a secret; the credential, the names of headers, and the client's own."""
    scope, names, found = re.fullmatch(
        r"AWS4-HMAC-SHA256 Credential=([^,]*), SignedHeaders=([^,]*), Signature=([0-9a-f]{64})", request.headers["Authorization"]).groups()
    key, date, region, service, _ = scope.split("/")
    headers = "".join(f"{name}:{request.headers[name].strip()}\n" for name in names.split(";"))
    whole = "\n".join([request.command, request.path, "", headers, names, hashlib.sha256(request.content).hexdigest()])
    text = "\n".join(["AWS4-HMAC-SHA256", request.headers["X-Amz-Date"], scope.partition("/")[2], hashlib.sha256(whole.encode()).hexdigest()])
    made = f"AWS4{secret}".encode()
    for part in (date, region, service, "aws4_request", text):
        made = hmac.digest(made, part.encode(), "sha256")
    return key, made.hex(), found


@with_device
def the_command_of_aws_signs_with_what_it_was_given(device, resident, person):
    """CP-1, CP-4: Debian's aws, with a profile that names this program; after a cancel it sends nothing."""
    keep(resident, "aws/work", KEYS | {"SessionToken": "session"})
    config = device.work / "aws-config"
    config.write_text(f"[profile work]\nregion = eu-north-1\ncredential_process = {RUN} credential-process aws aws/work\n")
    cloud = Cloud(("text/xml", "<GetCallerIdentityResponse><GetCallerIdentityResult><Account>42</Account></GetCallerIdentityResult>"
                   "</GetCallerIdentityResponse>"))
    resident.environment |= {
        "AWS_CONFIG_FILE": str(config), "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_EC2_METADATA_DISABLED": "true", "HOME": str(device.work)}
    command = ("/usr/bin/aws", "--profile", "work", "--endpoint-url", cloud.address, "sts", "get-caller-identity", "--query", "Account")
    equal(resident.run(*command), '"42"\n', "what aws prints")
    equal(person.asked(), 1, "prompts")
    request, = cloud.requests
    key, expected, found = signature(request, KEYS["SecretAccessKey"])
    equal((key, found), (KEYS["AccessKeyId"], expected), "the key's id, and the signature")
    check(signature(request, "another secret")[1] != found, "any secret makes this signature")
    equal(request.headers["X-Amz-Security-Token"], "session", "the session's token")
    person.answer = "cancel"
    resident.run(*command, status=None)
    equal((person.asked(), len(cloud.requests)), (1, 1), "prompts, and requests after a cancel")
    cloud.shutdown()


@with_device
def kubectl_sends_the_token_that_it_was_given(device, resident, person):
    """CP-2, CP-4: a kubeconfig file that names this program; after a cancel no token is sent."""
    keep(resident, "k8s/admin", "t0ken\n")
    # kubectl asks no program before it speaks to a server without TLS.
    certificate = device.work / "server.pem"
    resident.run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=here",
                 "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", certificate, "-out", device.work / "authority.pem")
    with open(certificate, "a") as file:
        file.write((device.work / "authority.pem").read_text())
    cloud = Cloud(("application/json", '{"gitVersion": "v1.2.3"}'), certificate)
    config = device.work / "kubeconfig"
    config.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "here",
        "clusters": [{"name": "here", "cluster": {"server": cloud.address, "certificate-authority": str(device.work / "authority.pem")}}],
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
        "users": [{"name": "me", "user": {"exec": {
            "apiVersion": "client.authentication.k8s.io/v1beta1", "command": str(RUN), "interactiveMode": "IfAvailable",
            "args": ["credential-process", "kubernetes", "k8s/admin"]}}}]}))
    resident.environment |= {"HOME": str(device.work)}
    command = (shutil.which("kubectl"), "--kubeconfig", config, "get", "--raw", "/version")
    check("v1.2.3" in resident.run(*command), "what kubectl prints")
    equal(person.asked(), 1, "prompts")
    equal({request.headers["Authorization"] for request in cloud.requests}, {"Bearer t0ken"}, "what it sends")
    before = len(cloud.requests)
    person.answer = "cancel"
    resident.run(*command, status=None)
    equal({request.headers["Authorization"] for request in cloud.requests[before:]} - {None}, set(), "tokens after a cancel")
    check(person.asked() > 0, "nobody was asked the second time")
    cloud.shutdown()


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


for program in ("/usr/bin/aws", shutil.which("kubectl")):
    if not program or not os.access(program, os.X_OK):
        raise SystemExit(f"{program or 'kubectl'} is not there: run script/install-packages test")
main(
    aws_gets_its_keys_after_one_prompt_that_names_the_command, the_command_of_aws_signs_with_what_it_was_given,
    kubectl_sends_the_token_that_it_was_given, a_cancel_gives_nothing, what_is_over_or_malformed_is_not_given_out,
    kubernetes_gets_a_token_or_a_certificate, a_terminal_gets_nothing)
