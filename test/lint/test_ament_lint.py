# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The linters of ament, where ROS brings them; ``make lint`` holds the same rules everywhere.

What only newer versions of pydocstyle and of flake8's plugins find is left to ruff.
"""

from __future__ import annotations

import os
from pathlib import Path
import shutil

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = [
    str(ROOT / name)
    for name in ('transmission_bridge', 'test', 'launch', 'benchmarks', 'examples', 'setup.py')
    if (ROOT / name).exists()
]
COPYRIGHT = 'The transmission_bridge authors'
REASON = 'ament_{} is not installed (ROS has it); make lint holds its rules'


def python_files():
    """Return every Python file of the repository."""
    files = [Path(name) for name in FOLDERS if name.endswith('.py')]
    for folder in FOLDERS:
        files += [path for path in Path(folder).rglob('*.py') if 'build' not in path.parts]
    return [str(path) for path in files]


def test_flake8(monkeypatch):
    """The code passes flake8 with the rules of ament."""
    main = pytest.importorskip('ament_flake8.main', reason=REASON.format('flake8'))
    monkeypatch.chdir(ROOT)
    config = str(Path(__file__).with_name('flake8.ini'))
    code, errors = main.main_with_errors(argv=['--config', config, *FOLDERS])
    assert code == 0, '\n'.join(errors)


def test_pep257(capsys):
    """The docstrings pass pydocstyle with the rules of ament."""
    main = pytest.importorskip('ament_pep257.main', reason=REASON.format('pep257'))
    # Ruff holds D400 and D415, with an exception that is written where pydocstyle does not look.
    left = ['D400', 'D401', 'D402', 'D403', 'D413', 'D415']
    assert main.main(argv=['--add-ignore', *left, '--', *FOLDERS]) == 0, capsys.readouterr()


def test_copyright():
    """
    Every file has a copyright that ament reads, and LICENSE is that of Apache 2.0.

    ament_copyright knows no SPDX lines, so these are looked at by themselves.
    """
    parser = pytest.importorskip('ament_copyright.parser', reason=REASON.format('copyright'))
    files = python_files()
    assert len(files) > 100
    for file in files:
        parsed = parser.parse_file(file)
        assert [each.name for each in parsed.copyrights] == [COPYRIGHT], file
        assert 'SPDX-License-Identifier: Apache-2.0' in parsed.content[:300], file
    assert parser.parse_file(str(ROOT / 'LICENSE')).license_identifier == 'apache2'


def test_xmllint(capsys):
    """All XML passes ament_xmllint."""
    main = pytest.importorskip('ament_xmllint.main', reason=REASON.format('xmllint'))
    if shutil.which('xmllint') is None:
        pytest.skip('xmllint is not installed (package libxml2-utils)')
    files = [path for path in xml_files() if path.name != 'package.xml']
    code = main.main(argv=['--extensions', 'xml', 'urdf', '--', *(str(path) for path in files)])
    assert code == 0, capsys.readouterr()


def xml_files():
    """Return the XML that is for users, test data left out."""
    found = [ROOT / 'package.xml']
    for folder in ('launch', 'config', 'urdf', 'examples'):
        for kind in ('xml', 'urdf'):
            found += sorted((ROOT / folder).rglob(f'*.{kind}'))
    return sorted(set(found))


def test_xml_is_well_formed():
    """All XML for users is well formed, in UTF-8, without tabs, and says its licence."""
    from lxml import etree

    files = xml_files()
    assert len(files) > 8
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    for path in files:
        text = path.read_text(encoding='utf-8')
        etree.fromstring(text.encode(), parser)
        assert '\t' not in text, path
        assert path.name == 'package.xml' or 'SPDX-License-Identifier' in text, path


def test_the_ini_has_the_rules_of_ament():
    """Nothing that ament ignores is asked for, and nothing else but the list is let go."""
    text = Path(__file__).with_name('flake8.ini').read_text(encoding='utf-8')
    main = pytest.importorskip('ament_flake8.main', reason=REASON.format('flake8'))
    folder = os.path.join(os.path.dirname(main.__file__), 'configuration')
    theirs = Path(folder, 'ament_flake8.ini').read_text(encoding='utf-8')
    (ignored,) = [line for line in theirs.splitlines() if line.startswith('extend-ignore')]
    assert ignored in text.replace(',\n', '\n')
    for line in ('import-order-style = google', 'max-line-length = 99'):
        assert line in theirs
        assert line in text
