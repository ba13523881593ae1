"""How the C library's allocator treats the buffers of a data path."""

from __future__ import annotations

import ctypes
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
KEPT = 64 * 1024 * 1024


def keep_buffers() -> bool:
    """Keep freed buffers for the next read, instead of giving each back to the kernel and faulting it in again.

    glibc maps every allocation over 128 KiB afresh; a read is up to 256 KiB, and clearing those pages cost a tunnel
    half of its CPU. Up to 64 MiB of freed memory stay with the process. False where there is no glibc.
    """
    if sys.platform != "linux":
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    return bool(mallopt(_MMAP_THRESHOLD, KEPT // 2)) and bool(mallopt(_TRIM_THRESHOLD, KEPT))
