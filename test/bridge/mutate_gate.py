# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Change the rules of commands in one place at a time, and let the tests find it.

Comparisons are flipped, conditions negated, early returns and errors removed. The package is not
touched: each change runs on a copy. Run by hand, for example after a change of the gate.
"""

from __future__ import annotations

import argparse
import ast
from concurrent.futures import ThreadPoolExecutor
import os
from pathlib import Path
import shutil
import subprocess
import sys
import tempfile

_PACKAGE = Path(__file__).parents[2] / 'transmission_bridge'
_FILES = (
    'gate.py',
    'arrays.py',
    'ledger.py',
    'motion.py',
    'rule.py',
    'joint_rules.py',
    'actuator_rules.py',
    'interface_history.py',
    'stalls.py',
    'acceleration_rule.py',
)

#: The state machine last: it takes longer.
_TESTS = ('gate', 'stalls', 'commands', 'acceleration', 'motor_limits', 'promises')

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
        if isinstance(node.exc, ast.Name):  # of a method without a body
            return node
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


def find_failed_test(name, source):
    """Test a copy with a changed file; return the first failure, ``SURVIVED`` without one."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / 'transmission_bridge'
        shutil.copytree(_PACKAGE, copy, ignore=shutil.ignore_patterns('__pycache__'))
        (copy / 'bridge' / name).write_text(source, 'utf-8')
        tests = [str(Path(__file__).with_name(f'test_{each}.py')) for each in _TESTS]
        # -P: the package in the current folder must not come before the copy.
        options = ['-x', '-q', '--tb=no', '-p', 'no:cacheprovider']
        try:
            done = subprocess.run(
                [sys.executable, '-P', '-m', 'pytest', *options, *tests],
                capture_output=True,
                text=True,
                cwd=_PACKAGE.parent,
                env={**os.environ, 'PYTHONPATH': folder},
                timeout=600,
            )
        except subprocess.TimeoutExpired:
            return 'it does not end'
    failed = [each for each in done.stdout.splitlines() if each.startswith(('FAILED', 'ERROR'))]
    assert bool(failed) == bool(done.returncode), done.stdout + done.stderr
    return failed[0].split('::')[-1] if failed else 'SURVIVED'


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--only', help='FILE or FILE:LINE,... of changes to run', default='')
    parser.add_argument('--jobs', type=int, default=2)
    arguments = parser.parse_args()
    chosen = [
        (name, *mutant)
        for name in _FILES
        for mutant in mutants(name)
        if not arguments.only or {name, f'{name}:{mutant[0]}'} & set(arguments.only.split(','))
    ]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        runs = pool.map(lambda each: find_failed_test(each[0], each[3]), chosen)
        for (name, line, what, _), said in zip(chosen, runs, strict=True):
            print(f'{name}:{line:<5} {what[:70]:<72} {said[:60]}', flush=True)


if __name__ == '__main__':
    main()
