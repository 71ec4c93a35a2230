#!/usr/bin/env python3
"""Agents against the real daemons: what a prompt says of the asker, agents that misbehave, and the example in Python."""

import json
import os
import shutil
import subprocess
import sys
import time

from device import (
    LONGEST_WAIT,
    REPOSITORY,
    Device,
    Evaluation,
    call,
    check,
    confirm,
    equal,
    expect_error,
    main,
    wait_for,
)

# An app that asks for the owner, and says how that ended.
APP = """
import json, socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
def call(method, **parameters):
    connection.sendall(json.dumps({"method": "io.touchstone." + method, "parameters": parameters}).encode() + b"\\0")
    reply = b""
    while not reply.endswith(b"\\0"):
        chunk = connection.recv(65536)
        if not chunk: sys.exit("closed")
        reply += chunk
    reply = json.loads(reply[:-1])
    if "error" in reply: sys.exit(f"{reply['error']} {reply['parameters'].get('code', '')}")
    return reply["parameters"]
context = call("Authentication.CreateContext")["context"]
options = {"reason": "test", "reuseDuration": 0.0, "interactionNotAllowed": False}
call("Authentication.EvaluatePolicy", context=context, policy=1, options=options)
"""


def app(device, *starter, user=None, **settings):
    """Starts it under `starter`, as another user where one is given."""
    def become():
        if user:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)

    return subprocess.Popen(
        [*starter, "/usr/bin/python3", "-I", "-c", APP, str(device.socket)], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, cwd="/", preexec_fn=become, **settings)


def shown(device, events, *starter, **settings):
    """The prompt of an app that was started so, after the finger has answered it."""
    process = app(device, *starter, **settings)
    event = confirm(device, next(events))
    equal(event["event"], "show", "the event")
    device.client("Device").PresentFinger(finger="thumb")
    equal(next(events)["event"], "succeeded", "the event after the finger")
    _, error = process.communicate(timeout=LONGEST_WAIT)
    equal(process.returncode, 0, f"the app: {error}")
    return event["prompt"], process.pid


def subscribed(device):
    events = device.client("Agent").Subscribe(version=1, _more=True)
    equal(next(events)["event"], "ready", "the first event")
    return events


def a_prompt_says_who_started_the_app():
    with Device() as device:
        device.set_up("271828", "thumb")
        events = subscribed(device)
        # With something behind it bash stays, as the app's parent.
        prompt, bash = shown(device, events, "/bin/bash", "-c", '"$@"; exit $?', "bash")
        origin = prompt["origin"]
        first, second = origin["ancestors"][:2]
        equal(first["processID"], bash, "the parent")
        equal(os.path.basename(first["executable"]), "bash", "the parent's executable")
        equal(second["processID"], os.getpid(), "its parent is this test")
        equal(second["executable"], os.readlink("/proc/self/exe"), "this test's executable")
        check(prompt["app"]["processID"] != bash, "the app is not its parent")
        check(prompt["app"]["identifier"].startswith("/"), prompt["app"])
        # Whose parent has ended hangs from the first process, or from a reaper: the starter is not named.
        prompt, _ = shown(device, events, "/bin/bash", "-c", '(setsid "$@" & ) ; sleep 1', "bash")
        check(
            bash not in [ancestor["processID"] for ancestor in prompt["origin"]["ancestors"]]
            and all("bash" not in (ancestor["executable"] or "") for ancestor in prompt["origin"]["ancestors"][:1]),
            prompt["origin"])
        equal(prompt["origin"].get("terminal"), None, "the terminal of a session of its own")


def a_remote_session_is_told():
    with Device() as device:
        device.set_up("271828", "thumb")
        events = subscribed(device)
        server = device.work / "sshd"
        shutil.copy("/bin/bash", server)
        prompt, _ = shown(device, events, str(server), "-c", '"$@"; exit $?', "sshd")
        equal((prompt["origin"]["place"], prompt["origin"]["remote"]), ("remote", "sshd"), "the session")
        hostile = device.work / "a\u202e\nb"
        shutil.copy("/bin/bash", hostile)
        prompt, _ = shown(device, events, str(hostile), "-c", '"$@"; exit $?', "x")
        equal(prompt["origin"]["ancestors"][0]["executable"], f"{device.work}/a b", "a path that would leave its line")


def another_users_app_gets_no_prompt():
    for owner in (None, 4243):
        with Device(user=owner) as device:
            device.set_up("271828", "thumb")
            events = subscribed(device)
            foreigner = app(device, user=4242)
            _, error = foreigner.communicate(timeout=LONGEST_WAIT)
            check("Permission denied" in error or "FileNotFoundError" in error, f"the socket is out of reach: {error}")
            # And where somebody opened every door.
            for path in (*device.socket.parents,)[:5]:
                if str(path).startswith(str(device.work)):
                    path.chmod(0o755)
            device.socket.chmod(0o666)
            for _ in range(3):
                _, error = app(device, user=4242).communicate(timeout=LONGEST_WAIT)
                check("org.varlink.service.PermissionDenied" in error, f"the app of another user: {error}")
            wire = json.dumps({"method": "io.touchstone.Agent.Subscribe", "parameters": {}, "more": True})
            agent = subprocess.run(
                ["/usr/bin/python3", "-I", "-c",
                 f"import os, socket\nos.setgroups([]); os.setresgid(4242, 4242, 4242); os.setresuid(4242, 4242, 4242)\n"
                 f"c = socket.socket(socket.AF_UNIX); c.connect({str(device.socket)!r})\n"
                 f"c.sendall({wire!r}.encode() + b'\\0'); print(c.recv(9999).decode())"],
                capture_output=True, text=True, timeout=LONGEST_WAIT)
            check("notOwner" in agent.stdout or "PermissionDenied" in agent.stdout, f"the agent of another user: {agent}")
            # Nothing of all that came before the owner: the next event is of the owner's own app.
            if owner is None:
                prompt, _ = shown(device, events)
                equal(prompt["app"]["userID"], 0, "the user")
            check("refused" in device.log, "the log says so")


def a_stuck_agent_gives_way():
    with Device() as device:
        device.set_up("271828", "thumb")
        named = {"class": {"string": "genp"}, "acct": {"string": "a"}}
        reader = device.connect()
        equal(call(reader, "Keychain.Add", attributes=named | {"v_Data": {"data": "YQ=="}})[0], None, "the addition")
        stuck = subscribed(device)
        begun = time.monotonic()
        evaluation = Evaluation(device)
        equal(next(stuck)["event"], "show", "the prompt")
        slowest = 0
        while evaluation.thread.is_alive():
            started = time.monotonic()
            error, reply = call(reader, "Keychain.CopyMatching", query=named | {"r_Data": {"boolean": True}})
            slowest = max(slowest, time.monotonic() - started)
            equal((error, reply["items"][0]["data"]), (None, "YQ=="), "a read beside the stuck agent")
            check(time.monotonic() - begun < LONGEST_WAIT, "the prompt of a stuck agent does not end")
            time.sleep(0.02)
        error, parameters = evaluation.result()
        equal((error, parameters["code"]), ("io.touchstone.Authentication.Failed", -4), "the evaluation")
        check(evaluation.ended - begun > 9, "not before its time")
        # One that waits for the prompt takes as long as it is up.
        check(slowest < evaluation.ended - begun - 3, f"a read took {slowest:.2f} s")
        equal(device.status["hasAgent"], False, "the stuck agent does not count as an agent any more")


def an_agent_that_never_reads_costs_little():
    with Device() as device:
        device.set_up("271828", "thumb")
        agent = device.connect()
        agent.sendall(json.dumps({"method": "io.touchstone.Agent.Subscribe", "parameters": {}, "more": True}).encode() + b"\0")
        wait_for(lambda: device.status["hasAgent"], "the agent")

        def memory():
            with open(f"/proc/{device.daemons['touchstoned']}/status") as file:
                return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))

        before, prompts = memory(), 0
        while device.status["hasAgent"]:
            for _ in range(50):
                evaluation = Evaluation(device, reason="x" * 256)
                wait_for(lambda: evaluation.connection.fileno() >= 0, "the evaluation")
                evaluation.connection.shutdown(2)
                prompts += 1
            check(prompts < 5000, "it is disconnected before that")
        check(memory() - before < 32 << 10, f"touchstoned grew by {memory() - before} KiB over {prompts} prompts")
        events = subscribed(device)
        shown(device, events)


def agent(device, *lines):
    """The example of the documentation, with somebody who types these lines."""
    process = subprocess.Popen(
        [sys.executable, str(REPOSITORY / "docs/agent.py"), str(device.socket), str(device.state / "enclave/passcode.pub")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path[:1])})
    process.stdin.write("".join(f"{line}\n" for line in lines))
    process.stdin.flush()
    equal(process.stdout.readline(), "ready\n", "the example's first line")
    return process


def the_example_types_the_passcode():
    with Device() as device:
        device.set_up("271828")
        example = agent(device, "314159", "271828")
        error, parameters = Evaluation(device, policy=2, reason="open the \u202esafe").result()
        equal(error, None, f"the evaluation: {parameters}")
        said = ""
        while "succeeded\n" not in said:
            line = example.stdout.readline()
            check(line, f"the example ended: {said}")
            said += line
        example.terminate()
        example.wait()
        for words in ("passcode for \u201c", "(verified: executable)", "  says: “open the safe”", "  that was wrong"):
            check(words in said, f"{words!r} in: {said}")
        # Without anybody who types it cancels.
        example = agent(device, "")
        equal(Evaluation(device, policy=2).result()[1].get("code"), -2, "an empty line")
        example.terminate()
        example.wait()


def the_example_unlocks_the_device():
    with Device() as device:
        device.set_up("271828")
        equal(call(device.connect(), "Device.Lock"), (None, {}), "the lock")
        example = agent(device, "314159", "271828")
        # ND-6
        equal(call(device.connect(), "Authentication.RequestUnlock"), (None, {}), "the wish to have it unlocked")
        equal(call(device.connect(), "Device.GetStatus")[1]["status"]["isLocked"], False, "the lock")
        example.terminate()
        said = example.communicate()[0]
        for words in ("unlock for \u201c", "  that was wrong"):
            check(words in said, f"{words!r} in: {said}")


def the_example_types_a_password_of_an_apps():
    with Device() as device:
        device.set_up("271828")
        example = agent(device, "open sesame")
        connection, keys = device.connect(), device.connect()
        control = {"protection": "ak", "flags": 1 << 31}
        context = call(connection, "Authentication.CreateContext")[1]["context"]
        named = {"class": {"string": "genp"}, "acct": {"string": "a"}}
        item = named | {"accc": {"accessControl": control}, "v_Data": {"data": "YQ=="}}
        error, refusal = call(keys, "Keychain.Add", attributes=item, context=context)
        equal((error, refusal["reason"]), ("io.touchstone.Keychain.Failed", "interactionForbidden"), "the addition without a password")
        options = {"reason": "keep it", "reuseDuration": 0.0, "interactionNotAllowed": False}
        error, reply = call(keys, "Keychain.Add", attributes=item, context=context, options=options)
        equal(error, None, f"the addition: {reply}")
        error, reply = call(
            keys, "Keychain.CopyMatching", query=named | {"r_Data": {"boolean": True}}, context=context)
        equal((error, reply["items"][0]["data"]), (None, "YQ=="), "the read")
        example.terminate()
        check("applicationPassword for " in example.communicate()[0], "the phase")


def a_version_that_is_none_is_refused():
    with Device() as device:
        device.set_up("271828", "thumb")
        for version in (0, 2, 1 << 40):
            expect_error(
                "io.touchstone.Agent.UnsupportedVersion",
                lambda: next(device.client("Agent").Subscribe(version=version, _more=True)), supported=1)
        equal(device.status["hasAgent"], False, "nobody became an agent")


main(
    a_prompt_says_who_started_the_app, a_remote_session_is_told, another_users_app_gets_no_prompt, a_stuck_agent_gives_way,
    an_agent_that_never_reads_costs_little, the_example_types_the_passcode, the_example_unlocks_the_device,
    the_example_types_a_password_of_an_apps, a_version_that_is_none_is_refused)
