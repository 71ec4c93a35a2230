"""A PKCS#11 client that signs, for `bridges`: pkcs11.py MODULE PIN SUBJECT PLACEMENT SAMPLES; it prints what `bridges` prints.

It loads the module, which for both subjects is p11-kit's client, and signs with the first private key that it finds.
"""

import ctypes
import os
import sys
import time

ULONG = ctypes.c_ulong
# Places in CK_FUNCTION_LIST, behind its version.
INITIALIZE, GET_SLOT_LIST, OPEN_SESSION, LOGIN, FIND_INIT, FIND, FIND_FINAL, SIGN_INIT, SIGN = 0, 4, 12, 18, 26, 27, 28, 42, 43


class Attribute(ctypes.Structure):
    _fields_ = [("type", ULONG), ("value", ctypes.c_void_p), ("length", ULONG)]


class Mechanism(ctypes.Structure):
    _fields_ = [("mechanism", ULONG), ("parameter", ctypes.c_void_p), ("length", ULONG)]


def main(module, pin, subject, placement, samples):
    functions = ctypes.POINTER(ctypes.c_void_p)()
    if ctypes.CDLL(module).C_GetFunctionList(ctypes.byref(functions)):
        sys.exit("no list of functions")

    def function(place, *types):
        call = ctypes.CFUNCTYPE(ULONG, *types)(functions[1 + place])

        def run(*arguments):
            status = call(*arguments)
            if status:
                sys.exit(f"{subject}: function {place} returned {status:#x}")

        return run

    pointer, out = ctypes.c_void_p, ctypes.POINTER(ULONG)
    function(INITIALIZE, pointer)(None)
    slots, count, session, key = (ULONG * 8)(), ULONG(8), ULONG(), ULONG()
    function(GET_SLOT_LIST, ctypes.c_ubyte, out, out)(1, slots, ctypes.byref(count))
    function(OPEN_SESSION, ULONG, ULONG, pointer, pointer, out)(slots[0], 4, None, None, ctypes.byref(session))
    if pin:
        function(LOGIN, ULONG, ULONG, ctypes.c_char_p, ULONG)(session, 1, pin.encode(), len(pin))
    kind = ULONG(3)
    wanted = Attribute(0, ctypes.cast(ctypes.byref(kind), pointer), ctypes.sizeof(kind))
    function(FIND_INIT, ULONG, ctypes.POINTER(Attribute), ULONG)(session, ctypes.byref(wanted), 1)
    function(FIND, ULONG, out, ULONG, out)(session, ctypes.byref(key), 1, ctypes.byref(count))
    function(FIND_FINAL, ULONG)(session)
    begin = function(SIGN_INIT, ULONG, ctypes.POINTER(Mechanism), ULONG)
    sign = function(SIGN, ULONG, ctypes.c_char_p, ULONG, ctypes.c_char_p, out)
    mechanism, signature, length = Mechanism(0x1041, None, 0), ctypes.create_string_buffer(64), ULONG()
    microseconds = []
    for index in range(samples + samples // 10):
        digest, length.value = os.urandom(32), 64
        start = time.perf_counter_ns()
        begin(session, ctypes.byref(mechanism), key)
        sign(session, digest, 32, signature, ctypes.byref(length))
        if index >= samples // 10:
            microseconds.append((time.perf_counter_ns() - start) / 1000)
    microseconds.sort()
    print(subject, "pkcs11 sign", 0, placement, samples, microseconds[samples // 2], microseconds[min(samples - 1, samples * 99 // 100)],
          samples / (sum(microseconds) / 1e6), sep="\t")


main(*sys.argv[1:5], int(sys.argv[5]))
