"""fprintd with a virtual reader in the container, for tests in this directory; no test itself."""

import inspect
import socket
import time

READER = "/run/fp/reader"
VIRTUAL = f"""[Service]
RuntimeDirectory=fp
Environment=FP_VIRTUAL_DEVICE={READER} FP_DRIVERS_WHITELIST=virtual_device
ProtectSystem=no
ExecStart=
ExecStart=/usr/libexec/fprintd -t
"""


def tell(command):
    """To the virtual reader; False while nobody has it open."""
    with socket.socket(socket.AF_UNIX) as reader:
        try:
            reader.connect(READER)
            reader.sendall(command.encode())
            reader.shutdown(socket.SHUT_WR)
            while reader.recv(100):
                pass
            return True
        except OSError:
            return False


def touch(finger, patience=10):
    """False if nobody opens the reader within so many seconds."""
    limit = time.time() + patience
    while time.time() < limit:
        if tell("SCAN " + finger):
            return True
        time.sleep(0.02)
    return False


# The two for a program inside.
TOUCH = f"READER = {READER!r}\n{inspect.getsource(tell)}\n{inspect.getsource(touch)}\n"
