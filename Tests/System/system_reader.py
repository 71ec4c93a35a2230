"""fprintd with a virtual reader in the container, for tests in this directory; no test itself."""

READER = "/run/fp/reader"
VIRTUAL = f"""[Service]
RuntimeDirectory=fp
Environment=FP_VIRTUAL_DEVICE={READER} FP_DRIVERS_WHITELIST=virtual_device
ProtectSystem=no
ExecStart=
ExecStart=/usr/libexec/fprintd -t
"""
TOUCH = f"""
def tell(command):
    with socket.socket(socket.AF_UNIX) as reader:
        try:
            reader.connect("{READER}")
            reader.sendall(command.encode())
            reader.shutdown(socket.SHUT_WR)
            while reader.recv(100):
                pass
            return True
        except OSError:
            return False

def touch(finger):
    limit = time.time() + 10
    while time.time() < limit:
        if tell("SCAN " + finger):
            return True
        time.sleep(0.02)
    return False
"""
