#!/usr/bin/env python3
"""pam_touchstone.so, the C in other people's programs, with a helper that is told what to do: whatever happens, nobody is let in by a fault."""

import os
import pathlib
import re
import subprocess
import sys
import time

from device import check, equal, main
from pam import AUTH_ERR, SANITIZED, SUCCESS, SYSTEM_ERR, UNAVAIL, UNKNOWN, Stack

SET_ITEMS = next(pathlib.Path("/usr/lib").glob("*/pam_wrapper/pam_set_items.so"), None)
if not SET_ITEMS:
    sys.exit("pam_set_items.so is not there: run script/install-packages test")
VALGRIND = ("valgrind", "--quiet", "--error-exitcode=99", "--leak-check=full", "--show-leak-kinds=definite", "--errors-for-leak-kinds=definite")
YES = r"printf 'hello\ntext Touch the reader\nresult 0\n' >&3"


def expect(stack, result, *words, lines=None, **more):
    said = stack.run(*words, **more)
    equal(said.result, result, f"the result of {words}: {said}")
    if lines is not None:
        equal(said.lines, lines, "what the person sees")
    equal((said.descriptors, said.has_children), (0, False), f"what is left behind: {said}")
    return said


def the_helpers_result_counts():
    """PM-2, PM-7, PM-20"""
    with Stack() as stack:
        stack.tell(YES)
        expect(stack, SUCCESS, lines=["info Touch the reader"])
        expect(stack, SUCCESS, "silent", lines=[])
        # A host that cannot show anything: the prompt is elsewhere.
        expect(stack, SUCCESS, "conversation-fails", lines=["info Touch the reader"])
        for number, result in ((AUTH_ERR, AUTH_ERR), (UNAVAIL, UNAVAIL), (UNKNOWN, UNKNOWN), (SYSTEM_ERR, SYSTEM_ERR)):
            stack.tell(rf"printf 'hello\nerror No\nresult {number}\n' >&3")
            expect(stack, result, lines=["error No"])
            expect(stack, result, "silent", lines=["error No"])
        # Nothing else is passed on: not PAM_IGNORE (25), which a stack may take for a yes (PM-11), nor what asks for more.
        for number in (1, 3, 5, 6, 8, 11, 12, 13, 25, 31, 99):
            stack.tell(rf"printf 'hello\nresult {number}\n' >&3")
            expect(stack, UNAVAIL)


def what_is_no_answer_is_no_success():
    """PM-21, PM-2: each beside the one that is an answer."""
    endless = "x" * 4000
    with Stack() as stack:
        for script in (
            "exit 0", "exit 1", "kill -9 $$", "kill -11 $$", r"printf 'result 0\n' >&3", r"printf 'hello\nresult 0' >&3",
            r"printf 'hello\nresult 0\nresult 0\n' >&3", r"printf 'hello\nresult 0\ntext more\n' >&3", r"printf 'hello\nresult 0\nx' >&3",
            r"printf 'hello\nresult 00\0\n' >&3", r"printf 'hello\nresult 000\n' >&3", r"printf 'hello\nresult -0\n' >&3",
            r"printf 'hello\nresult  0\n' >&3", r"printf 'hello\nresult 0 \n' >&3", r"printf 'hello\nresult\n' >&3",
            r"printf 'hello\nresult \n' >&3", r"printf 'hello\nhello\nresult 0\n' >&3", r"printf 'Hello\nresult 0\n' >&3",
            r"printf 'hello\n\nresult 0\n' >&3", r"printf 'hello\ntext\nresult 0\n' >&3", r"printf 'hello\ntext \nresult 0\n' >&3",
            r"printf 'hello\nask Password:\nresult 0\n' >&3", r"printf 'hello\ntext \033[2J\nresult 0\n' >&3",
            rf"printf 'hello\ntext {endless}\nresult 0\n' >&3", r"printf 'hello\r\nresult 0\r\n' >&3",
            r"printf 'hello\n' >&3; for i in $(seq 40); do printf 'text a\n' >&3; done; printf 'result 0\n' >&3",
            r"cat /dev/zero >&3", r"printf 'hello\n' >&3; yes 'text a' >&3", r"printf 'hello\ntext ' >&3; cat /dev/zero | tr '\0' a >&3",
            # It said yes, and then something went wrong.
            r"printf 'hello\nresult 0\n' >&3; exit 1", r"printf 'hello\nresult 0\n' >&3; kill -9 $$",
            r"printf 'hello\nresult 0\n' >&3; exec 3>&-; exec sleep 600",
        ):
            stack.tell(script)
            said = expect(stack, UNAVAIL)
            check(said.milliseconds < 20_000, f"{script}: {said}")
        stack.tell(YES)
        expect(stack, SUCCESS)


def there_is_always_an_end():
    """PM-21: a helper that hangs, is stopped, says all but the end, or goes on and on."""
    with Stack() as stack:
        stack.use("timeout=5")
        # Not `sleep` in a shell that waits for it: a grandchild would outlive the test.
        for script in (
            "exec sleep 600", "kill -STOP $$", r"printf 'hello\nresult 0\n' >&3; exec sleep 600", "trap '' TERM HUP; exec sleep 600",
            r"printf 'hello\n' >&3; for i in $(seq 25); do printf 'text a\n' >&3; sleep 1; done",
        ):
            stack.tell(script)
            started = time.monotonic()
            expect(stack, UNAVAIL)
            took = time.monotonic() - started
            check(4.9 < took < 24, f"{script}: {took} s")


def it_is_started_in_a_clean_way():
    """PM-3, PM-30"""
    with Stack() as stack:
        facts = stack.work / "facts"
        stack.tell(f"(env; ls -l /proc/self/fd; grep ^Sig /proc/self/status; echo \"$@\") > {facts}\n{YES}")
        expect(stack, SUCCESS, "signals-blocked", "rhost=somewhere", "tty=/dev/pts/7", environment=os.environ | {
            "LANG": "de_DE.UTF-8", "LD_PRELOAD": "", "PATH": os.environ["PATH"], "SECRET": "x", "SSH_CONNECTION": "192.0.2.1 1 192.0.2.2 22"})
        said = facts.read_text()
        names = {line.split("=")[0] for line in said.splitlines() if re.match(r"[A-Za-z_]+=", line)}
        # The shell itself adds PWD and the like.
        equal(names - {"PWD", "_", "SHLVL", "OLDPWD"}, {"LANG"}, "the environment")
        check("LANG=de_DE.UTF-8" in said, said)
        # 0 to 2, the socket, what the redirection of the shell adds and ls has open itself.
        check(len(re.findall(r" (\d+) -> ", said)) <= 5 and said.count("/dev/null") >= 2 and " 3 -> socket:" in said, said)
        for line in re.findall(r"^Sig(?:Blk|Ign):\s*(\w+)", said, re.M):
            # 32 and 33 are the C library's own.
            equal(int(line, 16) & ~(3 << 31), 0, f"signals\n{said}")
        check("confirm root sudo /dev/pts/7 somewhere remote skip yes" in said, said)
        expect(stack, SUCCESS, environment={"LANG": "a\nLD_PRELOAD=x", "PATH": os.environ["PATH"]})
        check("confirm root sudo   local skip yes" in facts.read_text() and "LANG=C.UTF-8" in facts.read_text(), facts.read_text())


def hosts_of_every_kind():
    """PM-30, PM-31: hosts that ignore or reap children, have 50 threads, no standard descriptors, or fork after loading."""
    with Stack() as stack:
        stack.tell(YES)
        for words in (["ignore-children"], ["reap-children"], ["standard-closed"], ["threads=50"], ["fork"], ["ignore-children", "threads=50"]):
            expect(stack, SUCCESS, *words)
        stack.tell(r"printf 'hello\nresult 0' >&3")
        for words in (["ignore-children"], ["reap-children"], ["standard-closed"], ["threads=50"], ["fork"]):
            expect(stack, UNAVAIL, *words)


def nothing_can_be_started():
    """PM-21: no helper, no descriptors, no processes."""
    with Stack() as stack:
        expect(stack, UNAVAIL, lines=[])
        stack.helper.write_text("no program")
        expect(stack, UNAVAIL, lines=[])
        stack.tell(YES)
        expect(stack, UNAVAIL, "descriptors-full", lines=[])
        if os.geteuid() == 0:
            expect(stack, UNAVAIL, "processes-full", lines=[])
        expect(stack, SUCCESS)


def options_are_exact():
    """PM-32, PM-23: what is not known is refused, and the helper is not even started."""
    with Stack() as stack:
        ran = stack.work / "ran"
        stack.tell(f": > {ran}\n{YES}")
        for options in (
            "timeout=4", "timeout=121", "timeout=", "timeout=5s", "timeout=-5", "timeout=05000000000", "lid=", "lid=no", "passcode=maybe", "Unlock",
            "unlock unlock_device", "unlock unlock", "nullok", "use_first_pass", "debug", "keyring", "timeout=30 x",
        ):
            stack.use(options)
            expect(stack, UNAVAIL, lines=[])
            check(not ran.exists(), f"{options}: the helper was started")
        for options in ("", "timeout=5", "timeout=120", "lid=use passcode=no", "lid=skip passcode=yes timeout=30", "unlock"):
            stack.use(options)
            expect(stack, SUCCESS)
            check(ran.exists(), f"{options}: the helper was not started")
            ran.unlink()


def the_password_goes_to_the_helper_alone():
    """PM-24, PM-25: the password is no argument and in no environment, and to unlock the device lets nobody in."""
    with Stack() as stack:
        got = stack.work / "got"
        stack.tell(f"(head -c 15 <&3 | od -An -c; tr '\\0' ' ' < /proc/$$/cmdline; env) > {got}\nprintf 'hello\\nresult 0\\n' >&3")
        stack.service("sudo", f"auth required {SET_ITEMS}", f"auth required {stack.module} unlock_device")
        expect(stack, UNAVAIL, environment=os.environ | {"PAM_AUTHTOK": "correct horse"})
        said = got.read_text()
        check("\\0  \\r   c   o   r   r   e   c   t" in said, f"length and password: {said}")
        equal(said.count("unlock-device root sudo"), 1, said)
        check("correct horse" not in said, said)
        # The twins: without a password, or with one that no passcode can be, the helper hears nothing.
        got.unlink()
        for password in (None, "x" * 300):
            environment = {key: value for key, value in os.environ.items() if key != "PAM_AUTHTOK"}
            expect(stack, UNAVAIL, environment=environment | ({"PAM_AUTHTOK": password} if password else {}))
        # In a stack, it changes nothing of what the other modules decided.
        for other, result in (("pam_permit.so", SUCCESS), ("pam_deny.so", AUTH_ERR)):
            stack.service("sudo", f"auth required {SET_ITEMS}", f"auth required {other}", f"auth optional {stack.module} unlock_device")
            expect(stack, result, environment=os.environ | {"PAM_AUTHTOK": "correct horse"})


def a_locker_with_this_module_alone_stays_locked():
    """PM-11, PM-40: the only module of a stack is skipped by nothing, and a failure of it is no success."""
    with Stack() as stack:
        for control in ("sufficient", "required", "requisite"):
            stack.service("sudo", f"auth {control} {stack.module}")
            for script, result in (("kill -9 $$", UNAVAIL), (YES, SUCCESS)):
                stack.tell(script)
                found = stack.run().result
                check(found == result or (result != SUCCESS and found != SUCCESS), f"{control}, {script}: {found}")
                equal(found == SUCCESS, result == SUCCESS, f"{control}, {script}")
        # Before the password's module: the password still counts, and a wrong one does not.
        for other, result in (("pam_permit.so", SUCCESS), ("pam_deny.so", AUTH_ERR)):
            stack.service("sudo", f"auth sufficient {stack.module}", f"auth required {other}")
            for script in ("kill -9 $$", r"printf 'hello\nresult 7\n' >&3", r"printf 'hello\nresult 4\n' >&3", r"printf 'hello\nresult 10\n' >&3"):
                stack.tell(script)
                equal(stack.run().result, result, f"{other} behind {script}")


def it_exports_two_functions_and_needs_two_libraries():
    """PM-31, PM-2"""
    with Stack() as stack:
        names = subprocess.run(["nm", "-D", "--defined-only", stack.module], capture_output=True, text=True, check=True).stdout
        equal([line.split()[-1] for line in names.splitlines()], ["pam_sm_authenticate", "pam_sm_setcred"], "what it exports")
        dynamic = subprocess.run(["readelf", "-d", "-S", "-W", stack.module], capture_output=True, text=True, check=True).stdout
        equal(re.findall(r"NEEDED\).*\[(.*?)\.so", dynamic), ["libpam", "libc"], "what it needs")
        check(re.search(r"FLAGS_1\).*NOW.*NODELETE", dynamic) and "BIND_NOW" in dynamic, dynamic)
        wanted = subprocess.run(["nm", "-D", "--undefined-only", stack.module], capture_output=True, text=True, check=True).stdout
        for name in ("pthread_create", "signal", "sigaction", "atexit", "__cxa_thread_atexit", "pthread_atfork", "fork", "dlopen", "malloc", "system"):
            check(not re.search(rf"\b{name}\b", wanted.replace("__cxa_finalize", "")), f"{name} in\n{wanted}")
        lines = sum(len(file.read_text().splitlines()) for file in (REPOSITORY_MODULE.glob("*.[ch]")))
        check(lines <= 500, f"{lines} lines of C")


def a_thousand_runs_leave_nothing():
    """PM-21, PM-31: each run loads the module, starts a helper, and ends both."""
    with Stack() as stack:
        stack.tell(r"printf 'hello\nresult 9\n' >&3")
        expect(stack, UNAVAIL, "runs=1000")


def memory_is_used_rightly():
    """IM-11, PM-31: under AddressSanitizer and UndefinedBehaviorSanitizer, and under valgrind, each of success, nonsense and a stop."""
    environment = os.environ | {"ASAN_OPTIONS": "detect_leaks=1:exitcode=99", "UBSAN_OPTIONS": "halt_on_error=1"}
    scripts = ((YES, SUCCESS), (r"cat /dev/zero >&3", UNAVAIL), (r"printf 'hello\ntext x' >&3; kill -9 $$", UNAVAIL))
    with Stack(*SANITIZED) as stack:
        for script, result in scripts:
            stack.tell(script)
            expect(stack, result, "runs=20", environment=environment)
            check("ERROR" not in stack.errors and "runtime error" not in stack.errors, stack.errors)
        stack.use("timeout=30", "unlock")
        stack.tell(YES)
        expect(stack, SUCCESS, "runs=200", environment=environment)
    # valgrind 3.19 has no pidfd_open, so that each run ends where no descriptor is left for the helper.
    with Stack() as stack:
        for script, _ in scripts:
            stack.tell(script)
            said = stack.run("runs=3", before=VALGRIND)
            equal((said.result, said.has_children), (UNAVAIL, False), f"under valgrind: {said}")
            check("ERROR SUMMARY" not in stack.errors and "definitely lost" not in stack.errors, stack.errors)


REPOSITORY_MODULE = pathlib.Path(__file__).resolve().parents[2] / "Bridges/PAMModule"
main(
    the_helpers_result_counts, what_is_no_answer_is_no_success, there_is_always_an_end, it_is_started_in_a_clean_way, hosts_of_every_kind,
    nothing_can_be_started, options_are_exact, the_password_goes_to_the_helper_alone, a_locker_with_this_module_alone_stays_locked,
    it_exports_two_functions_and_needs_two_libraries, a_thousand_runs_leave_nothing, memory_is_used_rightly)
