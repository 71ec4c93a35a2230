#!/usr/bin/env python3
"""The tests that the guide shows, in a package of their own beside this one, pass; and tests that forget the owner fail.

    first-tests          build the package, run its tests
    first-tests --build  only build it
"""
import pathlib
import re
import subprocess
import sys
import time

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent.parent
# Kept from one time to the next.
PACKAGE = REPOSITORY / ".build-first-tests/safe"
# Longest time that a forgotten prompt may hold up a run, in seconds; two are waited for.
LONGEST_RUN = 300

FORGETFUL = '''
import LocalAuthentication
import Security
import Testing
import TouchstoneTesting
import XCTest
@testable import Safe

struct ForgetfulTests {
    @Test func aCallThatAsks() throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        device.run { answer("a call that asks", try? Safe().openWhatWasPut()) }
    }

    @Test func aContextThatAsks() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        await device.run {
            let isOwner = try? await LAContext().evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "come in")
            answer("a context that asks", isOwner)
        }
    }

    @Test func aFingerThatNobodyHas() throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        device.present(.finger(0))
        device.run { answer("a finger that nobody has", try? Safe().openWhatWasPut()) }
    }

    @Test func nobodyIsAsked() throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try device.run { try Safe().put("42") }
    }
}

final class ForgetfulXCTests: XCTestCase {
    private let context = LAContext()

    func testACallThatAsks() throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        device.run { answer("a call of a class that asks", try? Safe().openWhatWasPut()) }
    }

    func testAContextThatAsks() throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        device.run {
            let replied = expectation(description: "replied")
            context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "come in") { isOwner, _ in
                answer("a context of a class that asks", isOwner ? true : nil)
                replied.fulfill()
            }
            wait(for: [replied], timeout: 60)
        }
    }
}

/// The test goes on: its prompt was cancelled.
private func answer(_ name: String, _ value: Any?) {
    print("went on:", name, value == nil ? "refused" : "granted")
}

extension Safe {
    fileprivate func openWhatWasPut() throws -> String {
        try put("42")
        return try open()
    }
}
'''


def lay_out():
    """The package as the guide has it, but for the path of Touchstone: by this one, what was built of it already is used."""
    for path in ("Package.swift", "Sources", "Tests"):
        found, place = REPOSITORY / "Examples/Testing" / path, PACKAGE / path
        # What did not change is not written, so that it is not built again.
        for file in [found] if found.is_file() else found.rglob("*.swift"):
            text = file.read_text().replace('(path: "../touchstone")', f'(name: "touchstone", path: "{REPOSITORY}")')
            put(place / file.relative_to(found) if found.is_dir() else place, text)
    put(PACKAGE / "Tests/SafeTests/ForgetfulTests.swift", FORGETFUL.lstrip())


def put(file, text):
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.exists() or file.read_text() != text:
        file.write_text(text)


def swift(*arguments):
    try:
        return subprocess.run(
            ["swift", *arguments[:1], "--package-path", PACKAGE, "--scratch-path", REPOSITORY / ".build", *arguments[1:]],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL)
    finally:
        # As script/build does: the plan of this package is not the next one's.
        for plan in (REPOSITORY / ".build").glob("*/debug/description.json"):
            plan.unlink()


def build():
    built = subprocess.run(
        [REPOSITORY / "script/build", "--package-path", PACKAGE, "--build-tests"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL)
    if built.returncode != 0:
        sys.exit(built.stdout)


def check(condition, what, output):
    if not condition:
        sys.exit(f"first-tests: {what}\n{output}")


def shownTestsPass():
    run = swift("test", "--skip-build", "--skip", "Forgetful")
    check(run.returncode == 0, "the tests that are shown fail", run.stdout)
    check("Executed 2 tests, with 0 failures" in run.stdout, "not both tests of the class ran", run.stdout)
    check("Test run with 4 tests" in run.stdout, "not all four tests ran", run.stdout)


def forgottenPromptsFailTheirTests():
    begin = time.monotonic()
    run = swift("test", "--skip-build", "--filter", "ForgetfulTests")
    took = time.monotonic() - begin
    check(run.returncode != 0, "tests that forget the owner pass", run.stdout)
    check(took < LONGEST_RUN, f"they take {took:.0f} s", run.stdout)
    for test, words in {
        "aCallThatAsks": 'asks for a finger, for "open the safe". It was cancelled after 2.0 s.',
        "aContextThatAsks": 'asks for a finger, for "come in". It was cancelled after 2.0 s.',
        "aFingerThatNobodyHas": "finger 0 is not enrolled. Enrolled: right-index (number 1).",
    }.items():
        said = re.search(rf"Test {test}\(\) recorded an issue at ForgetfulTests\.swift:\d+:\d+.*?\n(.*?\n)(?=\S* ?Test|✘|✔|◇)", run.stdout, re.S)
        check(said and words in said[1] and "device.present(.match)" in said[1], f"{test} does not say why it fails", run.stdout)
        check(f"Test {test}() failed" in run.stdout, f"{test} does not fail", run.stdout)
    check("Test nobodyIsAsked() passed" in run.stdout, "the test that forgets nothing fails", run.stdout)
    check("«unknown»" not in run.stdout, "a failure is nobody's", run.stdout)
    for name in ("a call that asks", "a context that asks", "a finger that nobody has"):
        check(f"went on: {name} refused" in run.stdout, f"{name}: the test did not go on", run.stdout)


def forgottenPromptsFailTestsOfAClass():
    begin = time.monotonic()
    run = swift("test", "--skip-build", "--filter", "ForgetfulXCTests")
    took = time.monotonic() - begin
    check(run.returncode != 0, "tests of a class that forget the owner pass", run.stdout)
    check(took < LONGEST_RUN, f"they take {took:.0f} s", run.stdout)
    for test, words in {"testACallThatAsks": "open the safe", "testAContextThatAsks": "come in"}.items():
        said = re.search(
            rf"ForgetfulTests\.swift:\d+: error: ForgetfulXCTests\.{test} : failed - (.*?)(?=^Test Case|^went on)", run.stdout, re.S | re.M)
        check(
            said and f'asks for a finger, for "{words}". It was cancelled after 2.0 s.' in said[1]
            and "device.present(.match)" in said[1], f"{test} does not say why it fails", run.stdout)
    check("Executed 2 tests, with 2 failures (0 unexpected)" in run.stdout, "other tests fail, or these fail otherwise", run.stdout)


lay_out()
build()
if sys.argv[1:] != ["--build"]:
    shownTestsPass()
    forgottenPromptsFailTheirTests()
    forgottenPromptsFailTestsOfAClass()
