#!/usr/bin/env python3
# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Count turns of phrase that make technical English hard to read, per 10,000 words.

It reads docstrings, comments and strings of four words and more in .py files, and the prose of .md
and .rst files. A count is a pointer for the eye, not a grade: a clear sentence may stay. Typical
rates of well-written packages are 0 to 1 for each pattern. The exit code is 1 above a limit.
"""

from __future__ import annotations

import argparse
import ast
from collections import Counter
from collections.abc import Iterator
import io
from pathlib import Path
import re
import sys
import tokenize

#: Hits per 10,000 words that are allowed, of all patterns together and of each.
LIMIT, LIMIT_OF_EACH = 20.0, 6.0

_SUBJECTS = r'it|they|there|that|this|those|these|one|none|no|nobody|its|all|such|a|an|the'
_CLAUSES = r'of|so|that|what|which|who|why|how|where|whether|nothing'
PATTERNS = {
    'clause-as-subject': (
        r'(?:^|[.;:!] )(?:What|Who|Whom|Whoever|Where|Which)\b(?![^.?]{0,200}\?)'
    ),
    'where-for-if': rf'(?<![.\w])where (?:{_SUBJECTS})\b',
    'things-that-say': (
        rf'\b(?:is|are|was|were|be) (?:said|told)\b|\b(?:says?|tells?|told) (?:{_CLAUSES})\b'
    ),
    'is-none': r'\b(?:is|are|was|were) none\b|\bnone (?:that|of)\b|\bthere is none\b',
    'that-there-is': r'\bthat there (?:is|are)\b',
    'somebody': r'\b(?:some|no|every|any)body\b',
    'of-which': r'\bof (?:which|whom|whose)\b|\bwhose\b',
    'likewise': r'\blikewise\b|\bthe same of\b|\bthose of\b|\bthat of\b',
    'but-that': r'\bbut (?:that|for|what)\b|\bsuch that\b',
    'meanwhile': (
        r'\bmeanwhile\b|\bthereby\b|\btherein\b|\banew\b|\bby itself\b|\bby themselves\b'
    ),
}

_SUFFIXES = ('.py', '.md', '.rst')
_FEWEST_WORDS = 4


def texts_of_python(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of each docstring, longer string and block of comments."""
    for node in ast.walk(ast.parse(source)):
        text = ''
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        elif isinstance(node, ast.JoinedStr):
            text = ''.join(
                str(v.value) if isinstance(v, ast.Constant) else '{}' for v in node.values
            )
        if len(text.split()) >= _FEWEST_WORDS:
            yield node.lineno, text
    block: list[str] = []
    start = last = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        if block and token.start[0] != last + 1:
            yield start, ' '.join(block)
            block = []
        start, last = start if block else token.start[0], token.start[0]
        block.append(token.string.lstrip('#: '))
    if block:
        yield start, ' '.join(block)


def texts_of_document(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of each paragraph, list item and longer cell of a table."""
    block: list[str] = []
    start, is_fenced = 0, False
    for number, line in enumerate(source.splitlines(), 1):
        if line.lstrip().startswith('```'):
            is_fenced = not is_fenced
            continue
        is_heading = line.startswith(('#', '===', '---', '^^^'))
        plain = '' if is_fenced or is_heading else line.strip()
        if plain.startswith('|'):
            for cell in plain.split('|'):
                if len(cell.split()) >= _FEWEST_WORDS:
                    yield number, cell.strip()
            plain = ''
        if block and (not plain or plain.startswith(('- ', '* '))):
            yield start, ' '.join(block)
            block = []
        if plain:
            start = start if block else number
            block.append(plain.lstrip('-* '))
    if block:
        yield start, ' '.join(block)


def main() -> int:
    """Print the rates and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or '').split('\n\n')[0].strip())
    parser.add_argument('paths', nargs='+', type=Path)
    parser.add_argument(
        '--list', choices=PATTERNS, metavar='PATTERN', help='show each place of one pattern'
    )
    parser.add_argument('--worst', type=int, default=12, metavar='N', help='files to show')
    options = parser.parse_args()
    files = [
        file
        for path in options.paths
        for file in (sorted(path.rglob('*')) if path.is_dir() else [path])
        if file.suffix in _SUFFIXES
    ]
    words, counts, by_file = 0, Counter[str](), Counter[Path]()
    for path in files:
        source = path.read_text(encoding='utf-8')
        texts = texts_of_python(source) if path.suffix == '.py' else texts_of_document(source)
        for line, text in texts:
            one_line = ' '.join(text.split())
            words += len(one_line.split())
            for name, pattern in PATTERNS.items():
                hits = len(re.findall(pattern, one_line))
                counts[name] += hits
                by_file[path] += hits
                if hits and options.list == name:
                    print(f'{path}:{line}: {one_line[:160]}')
    rates = {name: 1e4 * counts[name] / max(words, 1) for name in PATTERNS}
    print(f'{words} words in {len(files)} files; per 10,000 words:')
    for name, rate in rates.items():
        print(f'  {name:20}{rate:8.1f}   ({counts[name]})')
    total = sum(rates.values())
    print(f'  {"all":20}{total:8.1f}   (at most {LIMIT:g}, each at most {LIMIT_OF_EACH:g})')
    for path, count in by_file.most_common(options.worst):
        print(f'  {count:5} {path}')
    return int(total > LIMIT or max(rates.values()) > LIMIT_OF_EACH)


if __name__ == '__main__':
    sys.exit(main())
