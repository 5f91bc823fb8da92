# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Decompression of parts of recordings, with a limit of their size."""

from __future__ import annotations

from collections.abc import Iterator
import importlib
from typing import Any

from transmission_bridge.tools.bags.model import DamageError, UnusableFileError
from transmission_bridge.tools.cli import UsageError

__all__ = ['decompress', 'decompressed_file']

#: Most bytes after decompression; a small file can expand to a very large one.
_LARGEST = 256 * 1024 * 1024

#: Modules for each method; the first that is installed is used.
_MODULES = {'zstd': ('compression.zstd', 'backports.zstd'), 'lz4': ('lz4.frame',)}
_PIECE = 1024 * 1024
_DECOMPRESSORS = {'zstd': 'ZstdDecompressor', 'lz4': 'LZ4FrameDecompressor'}


def decompress(data: bytes, method: str, size: int | None = None) -> bytes:
    """
    Return decompressed data.

    :param method: ``zstd``, ``lz4``, or empty for none.
    :param size: Size after decompression, ``None`` if unknown.
    :raises DamageError: If it is damaged, or of another size.
    :raises UnusableFileError: If the method is not known.
    :raises UsageError: If no module for it is installed.
    """
    most = _LARGEST if size is None else size
    if most > _LARGEST:
        raise DamageError(f'a piece of {most} bytes, more than {_LARGEST}')
    raw = data
    if method:
        decompressor = getattr(_module(method), _DECOMPRESSORS[method])()
        try:
            raw = decompressor.decompress(data, max_length=most + 1)
        except Exception as error:  # each package has errors of its own
            raise DamageError(f'a piece cannot be decompressed ({method}): {error}') from None
        if len(raw) <= most and not decompressor.eof:
            raise DamageError(f'a compressed piece ({method}) is cut off')
    if len(raw) > most or (size is not None and len(raw) != size):
        raise DamageError(f'a piece has another size than it says ({size})')
    return raw


def decompressed_file(path: str, method: str) -> Iterator[bytes]:
    """
    Yield the contents of a compressed file in pieces.

    :raises DamageError: If it is damaged or cut off.
    :raises UnusableFileError: If the method is not known.
    :raises UsageError: If no module for it is installed.
    """
    module = _module(method)
    with open(path, 'rb') as file, module.open(file, 'rb') as raw:
        while True:
            try:
                piece: bytes = raw.read(_PIECE)
            except OSError:
                raise
            except Exception as error:  # each package has errors of its own
                raise DamageError(f"'{path}' cannot be decompressed: {error}") from None
            if not piece:
                return
            yield piece


def _module(method: str) -> Any:
    if method not in _MODULES:
        raise UnusableFileError(f"compression '{method}' is not supported (zstd, lz4 are)")
    for name in _MODULES[method]:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise UsageError(
        f"{method} compression needs the extra 'bags': pip install '.[bags]' in a checkout of "
        'transmission_bridge'
    )
