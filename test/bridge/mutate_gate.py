# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Change gate, rules, ledger and stalls in one place at a time, and let the tests find it.

Comparisons are flipped, conditions negated, early returns and errors removed. The state machine
runs first; the named tests show the changes that it does not find. The package is not touched:
each change runs on a copy. Run by hand, for example after a change of the gate.
"""

from __future__ import annotations

import argparse
import ast
from concurrent.futures import ThreadPoolExecutor
import os
from pathlib import Path
import subprocess
import sys
import tempfile

import campaign

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

#: The named tests, and those of files that the state machine does not use.
_TESTS = ('gate', 'stalls', 'commands', 'motor_limits', 'driver_units', 'driver_names')
_OWN_TESTS = {'acceleration_rule.py': ('acceleration',)}

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


def find_change(name, source, seeds, steps):
    """Test a changed copy; return steps of the machine and the failure, empty: it survived."""
    with tempfile.TemporaryDirectory() as folder:
        for room, replaced in ((_PACKAGE, 'bridge'), (_PACKAGE / 'bridge', name)):
            place = Path(folder) / room.relative_to(_PACKAGE.parent)
            place.mkdir()
            for each in room.iterdir():
                if each.name not in (replaced, '__pycache__'):
                    (place / each.name).symlink_to(each)
        (Path(folder) / 'transmission_bridge' / 'bridge' / name).write_text(source, 'utf-8')
        done = 0
        for seed in () if name in _OWN_TESTS else range(1, seeds + 1):
            try:
                found = campaign.start(seed, steps, [folder], timeout=300)
            except subprocess.TimeoutExpired:
                return done, ['it does not end']
            done += found['steps']
            if found['failure']:
                return done, found['failure'].strip().splitlines()
        return done, find_failed_test(folder, _OWN_TESTS.get(name, _TESTS))


def find_failed_test(folder, names):
    """Run named tests on a changed copy; return the first failure, empty: all passed."""
    tests = [str(_PACKAGE.parent / 'test' / 'bridge' / f'test_{name}.py') for name in names]
    # -P: the package in the current folder must not come before the copy.
    command = [sys.executable, '-P', '-m', 'pytest', '-x', '-q', '--tb=no', *tests]
    done = subprocess.run(
        [*command, '-p', 'no:cacheprovider'],
        capture_output=True,
        text=True,
        cwd=_PACKAGE.parent,
        env={**os.environ, 'PYTHONPATH': folder},
    )
    failed = [each for each in done.stdout.splitlines() if each.startswith(('FAILED', 'ERROR'))]
    assert bool(failed) == bool(done.returncode), done.stdout + done.stderr
    return [each.split('::')[-1] for each in failed[:1]]


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--only', help='FILE or FILE:LINE,... of changes to run', default='')
    parser.add_argument('--jobs', type=int, default=2)
    parser.add_argument('--seeds', type=int, default=4)
    parser.add_argument('--steps', type=int, default=5000, help='of one seed')
    arguments = parser.parse_args()
    chosen = [
        (name, *mutant)
        for name in _FILES
        for mutant in mutants(name)
        if not arguments.only or {name, f'{name}:{mutant[0]}'} & set(arguments.only.split(','))
    ]
    survivors = 0
    with ThreadPoolExecutor(arguments.jobs) as pool:
        much = arguments.seeds, arguments.steps
        runs = pool.map(lambda each: find_change(each[0], each[3], *much), chosen)
        for (name, line, what, _), (steps, failure) in zip(chosen, runs, strict=True):
            is_crash = bool(failure) and failure[0].startswith('Traceback')
            said = failure[-is_crash][:60] if failure else 'SURVIVED'
            survivors += not failure
            print(f'{name}:{line:<5} {what[:70]:<72} {steps:>6}  {said}', flush=True)
    print(f'{len(chosen)} changes, {survivors} survived')
    return 0


if __name__ == '__main__':
    sys.exit(main())
