# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The transmissions of docs/transmissions.md, which are one of each type."""

from __future__ import annotations

from pathlib import Path
import re

DOCUMENT = Path(__file__).parents[3] / 'docs' / 'transmissions.md'

#: Their elements by name; linkages, which need a whole robot, are not among them.
DOCUMENTED = {
    name: text
    for text, name in re.findall(
        r'^```xml[^\n]*\n(<transmission name="([^"]+)".*?)```',
        DOCUMENT.read_text(encoding='utf-8'),
        re.DOTALL | re.MULTILINE,
    )
    if 'transmission_bridge/LinkageTransmission' not in text
}
