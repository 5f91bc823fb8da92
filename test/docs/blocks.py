# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The fenced blocks of the documents."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
import re

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(path for path in (ROOT / 'docs').glob('*.md'))


@dataclass(frozen=True)
class Block:
    """
    A fenced block.

    :ivar language: What it is written in.
    :ivar file: Name of the file that the text tells to save it as, empty for none.
    :ivar text: What is in it.
    """

    language: str
    file: str
    text: str


def blocks(document):
    """Return the fenced blocks of a document in order."""
    text = (ROOT / 'docs' / document).read_text(encoding='utf-8')
    found = re.findall(r'^```(\w*)(?: file=(\S+))?\n(.*?)^```$', text, re.DOTALL | re.MULTILINE)
    return [Block(*parts) for parts in found]


def files(document):
    """Return the files that a document tells to save, by name."""
    return {block.file: block.text for block in blocks(document) if block.file}
