# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The linters of ament, where ROS brings them; ``make lint`` holds the same rules everywhere.

What only newer versions of pydocstyle and of flake8's plugins find is left to ruff.
"""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = [
    str(ROOT / name)
    for name in ('transmission_bridge', 'test', 'launch', 'benchmarks', 'examples', 'setup.py')
    if (ROOT / name).exists()
]
INI = Path(__file__).with_name('flake8.ini')


def ament(name, module='main'):
    """Return a module of one of ament's linters; without it the test is skipped."""
    reason = f'ament_{name} is not installed (ROS has it); make lint holds its rules'
    return pytest.importorskip(f'ament_{name}.{module}', reason=reason)


def test_flake8(monkeypatch):
    """The code passes flake8 with the rules of ament."""
    main = ament('flake8')
    monkeypatch.chdir(ROOT)
    code, errors = main.main_with_errors(argv=['--config', str(INI), *FOLDERS])
    assert code == 0, '\n'.join(errors)


def test_the_ini_has_the_rules_of_ament():
    """Nothing that ament ignores is asked for, and nothing else but the list is let go."""
    text = INI.read_text(encoding='utf-8')
    folder = Path(ament('flake8').__file__).parent / 'configuration'
    theirs = (folder / 'ament_flake8.ini').read_text(encoding='utf-8')
    (ignored,) = [line for line in theirs.splitlines() if line.startswith('extend-ignore')]
    assert ignored in text.replace(',\n', '\n')
    for line in ('import-order-style = google', 'max-line-length = 99'):
        assert line in theirs
        assert line in text


def test_pep257(capsys):
    """The docstrings pass pydocstyle with the rules of ament."""
    # Ruff holds D400 and D415, with an exception that is written where pydocstyle does not look.
    left = ['D400', 'D401', 'D402', 'D403', 'D413', 'D415']
    code = ament('pep257').main(argv=['--add-ignore', *left, '--', *FOLDERS])
    assert code == 0, capsys.readouterr()


def test_copyright():
    """Every file has a copyright that ament reads, and LICENSE is that of Apache 2.0."""
    parser = ament('copyright', 'parser')
    files = [name for name in FOLDERS if name.endswith('.py')]
    for folder in FOLDERS:
        files += [str(path) for path in Path(folder).rglob('*.py') if 'build' not in path.parts]
    assert len(files) > 100
    for file in files:
        (found,) = parser.parse_file(file).copyrights
        assert found.name == 'The transmission_bridge authors', file
    assert parser.parse_file(str(ROOT / 'LICENSE')).license_identifier == 'apache2'
