"""Compressed responses, and requests that are decompressed. Of each library there is a filter of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from envoy.config.core.v3 import extension_pb2
from envoy.config.route.v3 import route_components_pb2
from envoy.extensions.compression.brotli.compressor.v3 import brotli_pb2
from envoy.extensions.compression.brotli.decompressor.v3 import brotli_pb2 as unbrotli_pb2
from envoy.extensions.compression.gzip.compressor.v3 import gzip_pb2
from envoy.extensions.compression.gzip.decompressor.v3 import gzip_pb2 as gunzip_pb2
from envoy.extensions.compression.zstd.compressor.v3 import zstd_pb2
from envoy.extensions.compression.zstd.decompressor.v3 import zstd_pb2 as unzstd_pb2
from envoy.extensions.filters.http.compressor.v3 import compressor_pb2
from envoy.extensions.filters.http.decompressor.v3 import decompressor_pb2

from seamark_edge.dataplane.envoyfilters.messages import packed
from seamark_edge.dataplane.filters import Compression

COMPRESSOR, DECOMPRESSOR = "envoy.filters.http.compressor", "envoy.filters.http.decompressor"
LIBRARIES: dict[str, tuple[Any, Any]] = {  # what compresses, and what decompresses
    "gzip": (gzip_pb2.Gzip, gunzip_pb2.Gzip),
    "brotli": (brotli_pb2.Brotli, unbrotli_pb2.Brotli),
    "zstd": (zstd_pb2.Zstd, unzstd_pb2.Zstd),
}


def all_idle() -> Iterator[tuple[str, Any]]:
    for name, (compress, decompress) in LIBRARIES.items():
        compressor = compressor_pb2.Compressor(compressor_library=library(name, compress()))
        compressor.response_direction_config.SetInParent()
        yield f"{COMPRESSOR}/{name}", compressor
        decompressor = decompressor_pb2.Decompressor(decompressor_library=library(name, decompress()))
        decompressor.request_direction_config.SetInParent()
        decompressor.response_direction_config.common_config.enabled.default_value.value = False
        decompressor.response_direction_config.common_config.enabled.runtime_key = "seamark.never"
        yield f"{DECOMPRESSOR}/{name}", decompressor


def all_on_route(setting: Compression) -> Iterator[tuple[str, Any]]:
    for name in setting.responses:
        enabled = compressor_pb2.CompressorPerRoute()
        enabled.overrides.response_direction_config.SetInParent()
        yield f"{COMPRESSOR}/{name}", enabled
    for name in setting.requests:
        plain = route_components_pb2.FilterConfig()
        plain.config.SetInParent()  # enabled as it is in the chain
        yield f"{DECOMPRESSOR}/{name}", plain


def library(name: str, config: Any) -> extension_pb2.TypedExtensionConfig:
    return extension_pb2.TypedExtensionConfig(name=name, typed_config=packed(config))
