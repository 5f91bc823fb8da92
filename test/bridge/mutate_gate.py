# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Change the rules of commands in one word at a time, and let the tests find it.

Comparisons are flipped, conditions negated, returns and errors removed. The package is not
touched: each change runs on a copy. Run by hand, for example after a change of the gate;
arguments ``FILE`` and ``FILE:LINE`` choose changes.
"""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
import io
import os
from pathlib import Path
import shutil
import subprocess
import sys
import tempfile
import tokenize

_PACKAGE = Path(__file__).parents[2] / 'transmission_bridge'
_FILES = (
    'gate.py',
    'arrays.py',
    'ledger.py',
    'states/knowledge.py',
    'motion.py',
    'rules/rule.py',
    'rules/joint_rules.py',
    'rules/actuator_rules.py',
    'inputs.py',
)

#: The state machine last: it takes longer.
_TESTS = ('gate', 'stalls', 'knowledge', 'commands', 'motor_limits', 'promises')

#: What becomes of a word; a change that is no Python is left out.
_CHANGES = {
    **{'<': '>=', '<=': '>', '>': '<=', '>=': '<', '==': '!=', '!=': '=='},
    **{'in': 'not in', 'is': 'is not', 'not': '', 'and': 'and not', 'or': 'or not'},
    **{'if': 'if not', 'elif': 'elif not', 'while': 'while not', 'continue': 'pass'},
    **{'raise': '_ =', 'return': '_ ='},
}


def mutants(name):
    """Yield line, its changed text and the whole source of every change of a file."""
    source = (_PACKAGE / 'bridge' / name).read_text('utf-8')
    lines = source.splitlines(keepends=True)
    for word in tokenize.generate_tokens(io.StringIO(source).readline):
        if word.string not in _CHANGES:
            continue
        (number, begin), (_, end) = word.start, word.end
        line = word.line[:begin] + _CHANGES[word.string] + word.line[end:]
        changed = ''.join([*lines[: number - 1], line, *lines[number:]])
        with suppress(SyntaxError):
            compile(changed, name, 'exec')
            yield number, line.strip(), changed


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
    only = {*sys.argv[1:]}
    chosen = [
        (name, *mutant)
        for name in _FILES
        for mutant in mutants(name)
        if not only or {name, f'{name}:{mutant[0]}'} & only
    ]
    with ThreadPoolExecutor(2) as pool:
        runs = pool.map(lambda each: find_failed_test(each[0], each[3]), chosen)
        for (name, line, text, _), said in zip(chosen, runs, strict=True):
            print(f'{name}:{line:<5} {text[:70]:<72} {said[:60]}', flush=True)


if __name__ == '__main__':
    main()
