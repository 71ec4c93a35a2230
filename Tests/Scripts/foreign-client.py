#!/usr/bin/env python3
"""The Python package varlink, which nobody here wrote, speaks to the daemon."""

import base64
import functools
import os

from device import REPOSITORY, Device, Evaluation, call, check, confirm, equal, expect_error, main

import varlink

INTERFACES = ["org.varlink.service"] + [f"io.touchstone.{name}" for name in ("Keychain", "Key", "Backup", "Device", "Authentication", "Agent", "Inspector", "Sync")]


def the_service_describes_itself(device):
    client = varlink.Client(address=f"unix:{device.socket}")
    service = client.open("org.varlink.service")
    info = service.GetInfo()
    equal(info["product"], "touchstoned", "product")
    equal(sorted(info["interfaces"]), sorted(INTERFACES), "interfaces")
    for name in INTERFACES:
        text = service.GetInterfaceDescription(name)["description"]
        check(f"interface {name}\n" in text, f"the description of {name}")
        # What its parser makes of the file is what its calls are checked against.
        check(client.get_interface(name).name == name, f"{name} is read by the foreign parser")
    expect_error(
        "org.varlink.service.InterfaceNotFound", lambda: service.GetInterfaceDescription("io.touchstone.Enclave"),
        interface="io.touchstone.Enclave")


def the_interface_files_are_those_in_the_sources(device):
    service = varlink.Client(address=f"unix:{device.socket}").open("org.varlink.service")
    for file in REPOSITORY.glob("Sources/*/io.touchstone.*.varlink"):
        if file.stem != "io.touchstone.Enclave":
            equal(service.GetInterfaceDescription(file.stem)["description"], file.read_text(), file.name)


def passwords_come_and_go(device):
    keychain = device.client("Keychain")

    def text(value):
        return {"string": value}

    def data(value):
        return {"data": base64.b64encode(value).decode()}

    named = {"class": text("genp"), "acct": text("ann"), "svce": text("post")}
    asked = named | {"r_Data": {"boolean": True}, "r_Attributes": {"boolean": True}}

    expect_error("io.touchstone.Keychain.Failed", lambda: keychain.CopyMatching(query=asked), status=-25300)
    keychain.Add(attributes=named | {"v_Data": data(b"correct horse")})
    expect_error(
        "io.touchstone.Keychain.Failed", lambda: keychain.Add(attributes=named | {"v_Data": data(b"other")}),
        status=-25299)
    (item,) = keychain.CopyMatching(query=asked)["items"]
    equal(base64.b64decode(item["data"]), b"correct horse", "the data")
    equal(item["attributes"]["acct"]["string"], "ann", "the account")
    equal(item["attributes"]["svce"]["string"], "post", "the service")
    keychain.Update(query=named, attributes={"v_Data": data(b"battery staple"), "labl": text("a label")})
    (item,) = keychain.CopyMatching(query=asked)["items"]
    equal(base64.b64decode(item["data"]), b"battery staple", "the data after the update")
    equal(item["attributes"]["labl"]["string"], "a label", "the label")
    keychain.Delete(query=named)
    expect_error("io.touchstone.Keychain.Failed", lambda: keychain.CopyMatching(query=asked), status=-25300)
    expect_error("io.touchstone.Keychain.Failed", lambda: keychain.Delete(query=named), status=-25300)


def errors_are_varlink_errors(device):
    connection = device.connect()
    invalid = "org.varlink.service.InvalidParameter"
    equal(call(connection, "Keychain.Add"), (invalid, {"parameter": "attributes"}), "a missing parameter")
    equal(call(connection, "Keychain.Add", attributes=[]), (invalid, {"parameter": "attributes"}), "a wrong type")
    equal(
        call(connection, "Keychain.Add", attributes={"v_Data": {"data": "?"}}),
        (invalid, {"parameter": "attributes.v_Data.data"}), "what is not base64")
    equal(
        call(connection, "Authentication.CanEvaluatePolicy", policy=99), (invalid, {"parameter": "policy"}),
        "an unknown policy")
    error, parameters = call(
        connection, "Keychain.Add",
        attributes={"accc": {"accessControl": {"protection": "ak", "flags": (1 << 14) | (1 << 15)}}})
    equal(error, invalid, "an access control that AC-02 forbids")
    check(parameters["parameter"].startswith("attributes.accc") or parameters["parameter"] == "accessControl", parameters)
    equal(
        call(connection, "Keychain.Nothing"),
        ("org.varlink.service.MethodNotFound", {"method": "io.touchstone.Keychain.Nothing"}), "an unknown method")
    equal(
        call(connection, "Enclave.GetLookupKey"),
        ("org.varlink.service.InterfaceNotFound", {"interface": "io.touchstone.Enclave"}), "the enclave's interface")
    equal(call(connection, "Agent.Subscribe"), ("org.varlink.service.ExpectedMore", {}), "Subscribe without more")


def the_device_says_how_it_stands(device):
    status = device.client("Device").GetStatus()["status"]
    equal(status["name"], "test", "name")
    equal((status["isSimulated"], status["rootOfTrust"]), (True, "software"), "what it is")
    equal((status["isPasscodeSet"], status["isLocked"], status["hasAgent"]), (False, False, False), "how it is")
    expect_error(
        "io.touchstone.Device.Refused", lambda: device.client("Device").Enroll(finger="thumb"), reason="passcodeNotSet")


def an_agent_sees_and_cancels_a_prompt(device):
    device.set_up("271828", "thumb")
    events = device.client("Agent").Subscribe(_more=True)
    equal(next(events)["event"], "ready", "the first event")
    equal(device.client("Device").GetStatus()["status"]["hasAgent"], True, "hasAgent")

    evaluation = Evaluation(device, reason="open the \u202esafe\n")
    shown = next(events)
    prompt = shown["prompt"]
    equal(shown["event"], "show", "the event")
    equal(prompt["phase"], "biometry", "the phase")
    equal(prompt["app"]["processID"], os.getpid(), "the app's process, as the kernel says")
    equal(prompt["app"]["executableDigest"] is not None, True, "the digest of the app's executable")
    check("\u202e" not in prompt["reason"] and "\n" not in prompt["reason"], "the reason is cleaned")
    expect_error(
        "io.touchstone.Agent.NoSuchPrompt", lambda: device.client("Agent").Cancel(prompt="0" * len(prompt["identifier"])))
    device.client("Agent").Cancel(prompt=prompt["identifier"])
    equal(next(events)["event"], "dismissed", "the event after Cancel")
    error, parameters = evaluation.result()
    equal((error, parameters["code"]), ("io.touchstone.Authentication.Failed", -2), "the cancelled evaluation")

    evaluation = Evaluation(device)
    equal(confirm(device, next(events))["event"], "show", "the event")
    equal(device.client("Device").PresentFinger(finger="thumb")["touch"], "matched", "the touch")
    equal(next(events)["event"], "succeeded", "the event after the finger")
    error, parameters = evaluation.result()
    equal(error, None, "the evaluation")
    check(parameters["domainState"], "the domain state after a biometric policy")


with Device() as device:
    main(*(
        functools.partial(test, device)
        for test in (
            the_service_describes_itself, the_interface_files_are_those_in_the_sources, passwords_come_and_go,
            errors_are_varlink_errors, the_device_says_how_it_stands, an_agent_sees_and_cancels_a_prompt)))
