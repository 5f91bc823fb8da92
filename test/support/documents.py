# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The documents: README.md and docs/*.md, their blocks, sections and tables; how to run them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
import os
from pathlib import Path
import re
import subprocess
import sys

ROOT = Path(__file__).parents[2]


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


class Document:
    """A document; see :data:`DOCUMENTS`."""

    def __init__(self, path):
        self.path = path
        self.text = path.read_text(encoding='utf-8')

    @cached_property
    def blocks(self):
        """The fenced blocks in order."""
        fence = r'^```(\w*)(?: file=(\S+))?\n(.*?)^```$'
        return [Block(*parts) for parts in re.findall(fence, self.text, re.DOTALL | re.MULTILINE)]

    @property
    def files(self):
        """The files that the document tells to save, texts by name."""
        return {block.file: block.text for block in self.blocks if block.file}

    def snippets(self, language):
        """Return the texts of a language that are not saved to a file."""
        return [each.text for each in self.blocks if each.language == language and not each.file]

    def section(self, heading):
        """Return what stands under a heading of the second or third level."""
        marks, text = re.search(
            rf'^(###?) {re.escape(heading)}\n(.*)', self.text, re.DOTALL | re.MULTILINE
        ).groups()
        return re.split(rf'^#{{2,{len(marks)}}} ', text, flags=re.MULTILINE)[0]

    def rows(self, heading):
        """Return the rows of the tables under a heading that begin with code, whole lines."""
        return re.findall(r'^\| \**`.*\|$', self.section(heading), re.MULTILINE)


#: By name, for example ``README.md`` or ``tune.md``.
DOCUMENTS = {
    path.name: Document(path) for path in (ROOT / 'README.md', *sorted(ROOT.glob('docs/*.md')))
}


def python(*words, cwd, **environment):
    """Return what a Python with these arguments ended with."""
    return subprocess.run(
        [sys.executable, *words], cwd=cwd, env={**os.environ, **environment}, check=False,
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
