# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""docs/command_line.md is the help of the commands."""

from __future__ import annotations

import runpy

from documents import DOCUMENTS, ROOT


def test_the_page_is_the_help_of_the_commands():
    """It is printed by a script, and a change of the help changes it."""
    script = runpy.run_path(str(ROOT / '.ci' / 'command_line.py'))
    renew = 'PYTHONPATH=. python3 .ci/command_line.py > docs/command_line.md'
    assert DOCUMENTS['command_line.md'].text == script['render_page'](), f'renew the page: {renew}'
