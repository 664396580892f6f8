"""Be an ordinary user, also where the tests run as the superuser, who may read every file."""

import contextlib
import ctypes
import os
from collections.abc import Iterator

_VERSION = 0x20080522  # of capget(2), for which there are two words of capabilities
_OVERRIDES = 1 << 1 | 1 << 2  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH: to read what nobody may read


@contextlib.contextmanager
def ordinary_user() -> Iterator[None]:
    """Give up what lets this thread read files whose permissions do not."""
    libc = ctypes.CDLL(None, use_errno=True)
    header, own = (ctypes.c_uint32 * 2)(_VERSION, 0), (ctypes.c_uint32 * 6)()

    def call(name: str) -> None:
        if getattr(libc, name)(header, own):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    call("capget")
    before = own[0]  # those in effect
    own[0] = before & ~_OVERRIDES
    call("capset")
    try:
        yield
    finally:
        own[0] = before
        call("capset")


def without_privileges() -> None:
    """Before a program is executed: leave it none of the superuser's privileges but the ownership of files."""
    no_root, set_bits = 1 | 1 << 1, 28  # SECBIT_NOROOT, locked; PR_SET_SECUREBITS
    ctypes.CDLL(None).prctl(set_bits, no_root)  # fails for who has none
