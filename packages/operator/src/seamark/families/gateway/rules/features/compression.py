"""`compression`: responses are compressed for clients that accept it, requests decompressed for the backend."""

from __future__ import annotations

from seamark.api.trafficfilters import Compression, CompressionDirection
from seamark.families.gateway.rules.features.references import References
from seamark.families.gateway.rules.features.values import most
from seamark.families.gateway.values import limits
from seamark.families.gateway.values.limits import Unsupported
from seamark_edge.dataplane import filters

LIBRARIES = {"Gzip": "gzip", "Brotli": "brotli", "Zstd": "zstd"}


def read(field: str, given: Compression, _references: References) -> filters.Compression:
    if given.response_compression is None and given.request_decompression is None:
        raise Unsupported(f"{field}: responseCompression or requestDecompression is required")
    return filters.Compression(
        responses=_libraries(f"{field}.responseCompression", given.response_compression),
        requests=_libraries(f"{field}.requestDecompression", given.request_decompression),
    )


def _libraries(field: str, given: CompressionDirection | None) -> tuple[str, ...]:
    if given is None:
        return ()
    if given.disable is not None:
        if given.libraries is not None:
            raise Unsupported(f"{field}.disable: no other field can be beside it")
        return ()
    names = most(f"{field}.libraries", given.libraries, len(LIBRARIES)) or ("Gzip",)
    found = [
        LIBRARIES[limits.one_of(f"{field}.libraries[{number}]", name, LIBRARIES)] for number, name in enumerate(names)
    ]
    return tuple(dict.fromkeys(found))
