# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Change gate, rules, ledger and stalls in one place at a time, and let the state machine find it.

Comparisons are flipped, conditions negated, early returns and errors removed. The package is not
touched: each change runs on a copy. Run by hand, for example after a change of the gate.
"""

from __future__ import annotations

import argparse
import ast
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
import subprocess
import sys
import tempfile

import campaign

_PACKAGE = Path(__file__).parents[2] / 'transmission_bridge'
_FILES = (
    'gate.py',
    'joint_rules.py',
    'actuator_rules.py',
    'arrays.py',
    'ledger.py',
    'stalls.py',
)

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


class _Change(ast.NodeTransformer):
    """Changes the place of a number, and counts all places."""

    def __init__(self, place=-1):
        self.place, self.count, self.what = place, 0, ()

    def _is_here(self, node, what):
        self.count += 1
        if self.count == self.place + 1:
            self.what = node.lineno, f'{what} {ast.unparse(node)}'
            return True
        return False

    def _negated(self, node):
        is_plain = not isinstance(node, ast.Compare)
        return ast.UnaryOp(ast.Not(), node) if is_plain and self._is_here(node, 'not') else node

    def visit_Compare(self, node):
        for number, operator in enumerate(node.ops):
            if self._is_here(node, 'flip'):
                node.ops[number] = _FLIPPED[type(operator)]()
        return self.generic_visit(node)

    def visit_Raise(self, node):
        return ast.Pass() if self._is_here(node, 'no error') else node

    def generic_visit(self, node):
        super().generic_visit(node)
        if isinstance(node, ast.If) and isinstance(node.body[-1], ast.Return | ast.Continue):
            node.body = [ast.Pass()] if self._is_here(node.test, 'no return if') else node.body
        if isinstance(node, ast.If | ast.IfExp | ast.While | ast.Assert):
            node.test = self._negated(node.test)
        if isinstance(node, ast.comprehension):
            node.ifs = [self._negated(each) for each in node.ifs]
        if isinstance(node, ast.BoolOp):
            node.values = [self._negated(each) for each in node.values]
        return node


def mutants(name):
    """Return (line, what, source) of every change of a file."""
    text, counted, found = (_PACKAGE / 'bridge' / name).read_text('utf-8'), _Change(), []
    counted.visit(ast.parse(text))
    for place in range(counted.count):
        change = _Change(place)
        tree = ast.fix_missing_locations(change.visit(ast.parse(text)))
        found.append((*change.what, ast.unparse(tree)))
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
