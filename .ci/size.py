#!/usr/bin/env python3
# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Count the lines of each room of the package, and fail if a room is above its limit.

A line of a Python file is code, docstring, comment or blank. All lines of other files are code.
The limits are in size.toml beside this file.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
import io
from pathlib import Path
import re
import sys
import tokenize

PACKAGE = Path(__file__).resolve().parent.parent / 'transmission_bridge'
LIMITS = Path(__file__).with_name('size.toml')
COLUMNS = ('files', 'lines', 'code', 'docstring', 'comment', 'blank')
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def count_python(source: str) -> Counter[str]:
    """Return how many lines of a Python source are code, docstring, comment and blank."""
    lines = source.splitlines()
    kinds = ['code' if line.strip() else 'blank' for line in lines]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            text = node.body[0]
            end = text.end_lineno or text.lineno
            kinds[text.lineno - 1 : end] = ['docstring'] * (end - text.lineno + 1)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        row = token.start[0] - 1
        if token.type == tokenize.COMMENT and lines[row].lstrip().startswith('#'):
            kinds[row] = 'comment'
    return Counter(kinds)


def count_rooms(package: Path) -> dict[str, Counter[str]]:
    """Return the counts of each folder of a package; files beside the folders are room ``top``."""
    rooms: dict[str, Counter[str]] = defaultdict(Counter)
    for path in sorted(package.rglob('*')):
        if not path.is_file() or '__pycache__' in path.parts:
            continue
        text = path.read_text(encoding='utf-8')
        parts = path.relative_to(package).parts
        room = rooms[parts[0] if len(parts) > 1 else 'top']
        if path.suffix == '.py':
            room.update(count_python(text))
        else:
            room['code'] += len(text.splitlines())
        room['files'] += 1
        room['lines'] += len(text.splitlines())
    return rooms


def main() -> int:
    """Print the table and return the exit code."""
    rooms = count_rooms(PACKAGE)
    rooms['all'] = sum(rooms.values(), Counter())
    # Python 3.10 has no tomllib.
    entries = re.findall(r'^(\w+) = (\d+)$', LIMITS.read_text(encoding='utf-8'), re.MULTILINE)
    limits = {name: int(count) for name, count in entries}
    print(f'{"room":15}' + ''.join(f'{column:>10}' for column in (*COLUMNS, 'limit')))
    for name, room in rooms.items():
        counts = ''.join(f'{room[column]:10}' for column in COLUMNS)
        print(f'{name:15}{counts}{limits.get(name, 0):10}')
    above = [name for name, room in rooms.items() if room['code'] > limits.get(name, 0)]
    for name in above:
        print(
            f'{name}: {rooms[name]["code"]} lines of code, at most {limits.get(name, 0)} by '
            f'{LIMITS.name}: remove code, or raise the limit in a commit that gives the reason',
            file=sys.stderr,
        )
    return int(bool(above))


if __name__ == '__main__':
    sys.exit(main())
