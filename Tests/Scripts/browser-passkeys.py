#!/usr/bin/env python3
"""
Passkeys on the sign-in page in a real Chromium, with its own virtual authenticator; py_webauthn judges what the page sends, too. An
authenticator of the kernel's, which is Touchstone's, is in Tests/System/fido.py.
"""

import contextlib
import functools
import json

from browser import Browser
from device import check, equal, main
from passkeys import Page, keep
from signin import Server, User, b64, expect, free_port, unb64

from selenium.webdriver.common.keys import Keys
from selenium.webdriver.common.virtual_authenticator import VirtualAuthenticatorOptions
from webauthn import verify_authentication_response, verify_registration_response

SITE = "localhost"
# What a page sends stays in it for the test.
RECORDED = """
    globalThis.sent = [];
    const real = globalThis.fetch;
    globalThis.fetch = (address, options) => {
      if (String(address).includes("passkeys") && options.body !== "{}") sent.push([address, options.body]);
      return real(address, options);
    };
"""


@contextlib.contextmanager
def site(browser):
    """A server, an account with a device, and its page in a tab with an authenticator that verifies its owner."""
    port = free_port()
    with Server(origin=f"http://{SITE}:{port}", port=port) as server, browser.open("about:blank") as page:
        user = User(server)
        # Chromium would have RS256 offered too.
        page.expected = ("pubKeyCredParams is missing",)
        options = VirtualAuthenticatorOptions(
            protocol=VirtualAuthenticatorOptions.Protocol.CTAP2, transport=VirtualAuthenticatorOptions.Transport.USB,
            has_resident_key=True, has_user_verification=True, is_user_verified=True)
        page.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": RECORDED})
        page.driver.add_virtual_authenticator(options)
        try:
            page.driver.get(server.origin + "/")
            page.wait_test("start")
            yield server, user, page
        finally:
            page.driver.remove_virtual_authenticator()


def signed_in(server, user, page):
    """The page gets the session of a device that approved: browser-signin shows how one comes about."""
    session = Page(server).sign_in(user).cookies["touchstone-session"]
    page.driver.add_cookie({"name": "touchstone-session", "value": session, "httpOnly": True, "sameSite": "Strict", "path": "/"})
    page.driver.refresh()
    page.wait_test("signed-in", user.name)


def sent(page):
    return [(path, json.loads(body)) for path, body in page.driver.execute_script("return sent")]


def a_passkey_is_added_and_signs_in(browser):
    with site(browser) as (server, user, page):
        page.pictures("passkey-start")
        signed_in(server, user, page)
        page.tab_to("Add a passkey").send_keys(Keys.ENTER)
        page.wait_test("passkey-note", "The passkey was added.")
        page.pictures("passkey-added")
        [(_, registration)] = sent(page)
        page.click("sign-out")
        page.wait_test("start")
        page.tab_to("Sign in with a passkey").send_keys(Keys.ENTER)
        page.wait_test("signed-in", f"Signed in as {user.name}")
        [_, (_, assertion)] = sent(page)
        page.driver.refresh()
        page.wait_test("signed-in", f"Signed in as {user.name}")
        # The same bytes at another verifier.
        said = [unb64(each["response"]["clientDataJSON"]) for each in (registration, assertion)]
        settled = {"expected_rp_id": SITE, "expected_origin": server.origin, "require_user_verification": True}
        made = verify_registration_response(
            credential=registration, expected_challenge=unb64(json.loads(said[0])["challenge"]), **settled)
        equal(made.fmt, "none", "Chromium takes the attestation away, as the page asks for none")
        got = verify_authentication_response(
            credential=assertion, expected_challenge=unb64(json.loads(said[1])["challenge"]), credential_public_key=made.credential_public_key,
            credential_current_sign_count=made.sign_count, **settled)
        check(got.user_verified, "verified")
        response = assertion["response"]
        keep("chromium", SITE, server.origin, said, unb64(registration["response"]["attestationObject"]),
             unb64(response["authenticatorData"]), unb64(response["signature"]))


def what_does_not_work_is_said(browser):
    with site(browser) as (server, user, page):
        # No passkey yet.
        page.click("use-passkey")
        page.wait_test("no-passkey", "Nobody was signed in")
        page.pictures("passkey-none")
        page.press("Back")
        page.wait_test("start")
        signed_in(server, user, page)
        page.click("add-passkey")
        page.wait_test("passkey-note", "was added")
        page.click("add-passkey")
        page.wait_test("passkey-note", "has a passkey for your account already")
        # The authenticator does not verify its owner.
        page.driver.set_user_verified(False)
        page.click("sign-out")
        page.click("use-passkey")
        page.wait_test("no-passkey")
        page.press("Back")
        # Revoked by the device: the site does not take it any more.
        page.driver.set_user_verified(True)
        [key] = [key for key in user.devices() if key != user.key.id]
        expect(user.post("/v1/keys/revoke", user.signed("revoke", {"keyID": b64(key)}, user.challenge("revoke"))), 204)
        page.expected += ("401",)
        page.click("use-passkey")
        page.wait_test("passkey-refused", "Nobody was signed in")
        page.pictures("passkey-refused")
        # A session that somebody else ended adds nothing.
        signed_in(server, user, page)
        server.set_password(user.name, "another password for it")
        page.click("add-passkey")
        page.wait_test("passkey-note", "Sign out and in again")


def an_address_of_numbers_has_no_passkeys(browser):
    with Server() as server, browser.open(server.origin + "/") as page:
        page.wait_test("start")
        check(page.test("begin") and not page.test("use-passkey"), "a button that no browser carries out")


with Browser(700, 700) as opened:
    main(*(functools.partial(test, opened) for test in (
        a_passkey_is_added_and_signs_in, what_does_not_work_is_said, an_address_of_numbers_has_no_passkeys)))
