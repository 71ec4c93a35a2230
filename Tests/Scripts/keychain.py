"""Items, backups and an owner for the tests in this directory, which are executable; this file is not, and no test."""

import base64
import os
import subprocess

from device import LONGEST_WAIT, Device, call, equal

PASSCODE = "271828"
PASSPHRASE = "four words make a passphrase"


def add(device, *accounts, accessible="ak", value="of {}"):
    client = device.connect()
    for account in accounts:
        text = value.format(account)
        attributes = {
            "class": {"string": "genp"}, "acct": {"string": account}, "pdmn": {"string": accessible},
            "v_Data": {"data": base64.b64encode(text.encode()).decode()},
        }
        error, _ = call(client, "Keychain.Add", attributes=attributes)
        equal(error, None, f"add {account}")


def accounts(device):
    query = {"class": {"string": "genp"}, "m_Limit": {"string": "m_LimitAll"}, "r_Attributes": {"boolean": True}}
    error, reply = call(device.connect(), "Keychain.CopyMatching", query=query)
    return sorted(item["attributes"]["acct"]["string"] for item in reply.get("items", [])) if error is None else []


def backup(device, direction, file, *options, passphrase=PASSPHRASE, passcode=PASSCODE, status=0, limit=None):
    read, write = os.pipe()
    os.write(write, f"{passphrase}\n".encode())
    os.close(write)
    prefix = ["bash", "-c", f'ulimit -f {limit}; trap "" XFSZ; exec "$@"', "bash"] if limit is not None else []
    result = subprocess.run(
        [*prefix, str(device.programs / "touchstone"), "keychain", direction, str(file), "--passphrase-fd", str(read),
         *options], env=device.environment, input=f"{passcode}\n", text=True, capture_output=True, pass_fds=[read],
        timeout=10 * LONGEST_WAIT)
    os.close(read)
    equal(result.returncode, status, f"{direction}: {result.stdout}{result.stderr}")
    return result


def two_devices(test):
    def run():
        with Device("one") as one, Device("two") as two:
            one.set_up(PASSCODE)
            two.set_up(PASSCODE)
            test(one, two)

    run.__name__ = test.__name__
    return run
