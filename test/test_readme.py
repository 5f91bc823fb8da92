# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""README and docs/interface.md describe the package as it is."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
import re

from transmission_bridge.bridge.options import (
    BridgeOptions,
    describe_option,
    find_option_range,
    list_choices,
)

ROOT = Path(__file__).parents[1]
README = (ROOT / 'README.md').read_text(encoding='utf-8')
INTERFACE = (ROOT / 'docs' / 'interface.md').read_text(encoding='utf-8')

#: A newcomer reads the README in five minutes; tables belong to docs/interface.md.
MOST_WORDS = 1200


def option_row(option) -> str:
    """Return the row of the parameter table that an option should have."""
    default = option.default
    if isinstance(default, tuple):
        text = f'[{", ".join(default)}]'
    else:
        text = str(default).lower() if isinstance(default, bool) else str(default) or "''"
    choices = ', '.join(f'`{choice}`' for choice in list_choices(option))
    span = find_option_range(option)
    hint = choices if choices else str(span) if span is not None else ''
    meaning = describe_option(option) + (f' ({hint})' if hint else '')
    return f'| `{option.name}` | `{text}` | {meaning} |'


def test_the_parameter_table_is_that_of_the_node() -> None:
    """Every structural parameter has its row, with the words that the node shows, in order."""
    marker = 'is checked against transmission_bridge/bridge/options.py'
    table = INTERFACE.split(marker)[1].split('\n\n')[1].splitlines()[2:]
    assert table == [option_row(option) for option in fields(BridgeOptions)]


def test_the_table_of_types_is_that_of_the_entry_points(built_in_types: set[str]) -> None:
    """Every built-in transmission type is in the table, and no other."""
    table = INTERFACE.split('## Transmission types')[1].split('##')[0]
    assert set(re.findall(r'^\| `(\w+/\w+)` \|', table, re.MULTILINE)) == built_in_types


def test_the_python_example_runs(monkeypatch) -> None:
    """The example can be pasted into Python at the root of the repository."""
    (example,) = re.findall(r'```python\n(.*?)```', README, re.DOTALL)
    monkeypatch.chdir(ROOT)
    names: dict = {}
    exec(compile(example, 'README.md', 'exec'), names)
    assert len(names['q']) == len(names['t'].joint_names)
    offset = names['tuned'].transmissions['wrist_transmission'].joint_offset
    assert 0.1 in offset


def test_it_is_short() -> None:
    """The README has at most 1,200 words, code included."""
    assert len(README.split()) <= MOST_WORDS
