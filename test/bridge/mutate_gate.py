# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Change gate, ledger and stalls in one place at a time, and let the state machine find it.

Comparisons are flipped, conditions negated, early returns and errors removed. The package is not
touched: each change runs on a copy. Run by hand, for example after a change of the gate.
"""

from __future__ import annotations

import argparse
import ast
from concurrent.futures import ThreadPoolExecutor
import copy
from pathlib import Path
import subprocess
import sys
import tempfile

import campaign

_PACKAGE = Path(__file__).parents[2] / 'transmission_bridge'
_FILES = ('gate.py', 'ledger.py', 'stalls.py')

#: Steps of one seed, and seeds.
_STEPS, _SEEDS = 5000, (1, 2, 3, 4)

_FLIPPED = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}


def _conditions(node):
    """Return where conditions stand that are no comparison, as (owner, field, index)."""
    places = []
    if isinstance(node, ast.If | ast.IfExp | ast.While | ast.Assert):
        places.append((node, 'test', None))
    if isinstance(node, ast.comprehension):
        places += [(node, 'ifs', number) for number in range(len(node.ifs))]
    if isinstance(node, ast.BoolOp):
        places += [(node, 'values', number) for number in range(len(node.values))]
    return [p for p in places if not isinstance(_get(*p), ast.Compare)]


def _get(owner, field, index):
    value = getattr(owner, field)
    return value if index is None else value[index]


def _set(owner, field, index, value):
    if index is None:
        setattr(owner, field, value)
    else:
        getattr(owner, field)[index] = value


def _changes(tree):
    """Yield (line, what, function that changes the tree in place) in a fixed order."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            for number, operator in enumerate(node.ops):

                def flip(node=node, number=number, operator=operator):
                    node.ops[number] = _FLIPPED[type(operator)]()

                yield node.lineno, f'flip {ast.unparse(node)}', flip
        for place in _conditions(node):

            def negate(place=place):
                value = _get(*place)
                is_not = isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not)
                _set(*place, value.operand if is_not else ast.UnaryOp(ast.Not(), value))

            value = _get(*place)
            yield value.lineno, f'negate {ast.unparse(value)}', negate
        if isinstance(node, ast.If) and isinstance(node.body[-1], ast.Return | ast.Continue):

            def leave_out(node=node):
                node.body = [ast.Pass()]

            yield node.lineno, f'no return if {ast.unparse(node.test)}', leave_out
        for field in ('body', 'orelse'):
            statements = getattr(node, field, ())
            for number, statement in enumerate(statements if type(statements) is list else ()):
                if isinstance(statement, ast.Raise):

                    def swallow(node=node, field=field, number=number):
                        getattr(node, field)[number] = ast.Pass()

                    yield statement.lineno, 'no error', swallow


def mutants(name):
    """Return (line, what, source) of every change of a file."""
    tree = ast.parse((_PACKAGE / 'bridge' / name).read_text(encoding='utf-8'))
    found = []
    for number, (line, what, _) in enumerate(_changes(tree)):
        changed = copy.deepcopy(tree)
        [change for _, _, change in _changes(changed)][number]()
        found.append((line, what, ast.unparse(ast.fix_missing_locations(changed))))
    return found


def steps_until_found(name, source):
    """Run the machine on a changed copy; return steps and the failure, empty: it survived."""
    with tempfile.TemporaryDirectory() as folder:
        for room, replaced in ((_PACKAGE, 'bridge'), (_PACKAGE / 'bridge', name)):
            place = Path(folder) / room.relative_to(_PACKAGE.parent)
            place.mkdir()
            for each in room.iterdir():
                if each.name not in (replaced, '__pycache__'):
                    (place / each.name).symlink_to(each)
        (Path(folder) / 'transmission_bridge' / 'bridge' / name).write_text(source, 'utf-8')
        steps = 0
        for seed in _SEEDS:
            try:
                found = campaign.start(seed, _STEPS, [folder], timeout=300)
            except subprocess.TimeoutExpired:
                return steps, ['it does not end']
            steps += found['steps']
            if found['failure']:
                return steps, found['failure'].strip().splitlines()
    return steps, []


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--only', help='FILE:LINE,... of changes to run', default='')
    parser.add_argument('--jobs', type=int, default=2)
    arguments = parser.parse_args()
    chosen = [
        (name, *mutant)
        for name in _FILES
        for mutant in mutants(name)
        if not arguments.only or f'{name}:{mutant[0]}' in arguments.only.split(',')
    ]
    survivors = 0
    with ThreadPoolExecutor(arguments.jobs) as pool:
        runs = pool.map(lambda each: steps_until_found(each[0], each[3]), chosen)
        for (name, line, what, _), (steps, failure) in zip(chosen, runs, strict=True):
            is_crash = bool(failure) and failure[0].startswith('Traceback')
            said = failure[-is_crash][:60] if failure else 'SURVIVED'
            survivors += not failure
            print(f'{name}:{line:<5} {what[:70]:<72} {steps:>6}  {said}', flush=True)
    print(f'{len(chosen)} changes, {survivors} survived')
    return 0


if __name__ == '__main__':
    sys.exit(main())
