# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Files that appear whole or not at all, and how far a command has come."""

from __future__ import annotations

import io
from pathlib import Path
import stat
import sys

from fake_terminal import FakeTerminal
import pytest
from waiting import wait

from transmission_bridge.tools.cli import progress, show_busy, TextStream, UsageError
from transmission_bridge.tools.files import safe_output, write_output


@pytest.fixture
def folder(tmp_path) -> Path:
    """Return a folder with a file, and a link to a file in another folder."""
    (tmp_path / 'elsewhere').mkdir()
    for path in (tmp_path / 'a_file', tmp_path / 'elsewhere' / 'linked'):
        path.write_text('old')
        path.chmod(0o640)
    (tmp_path / 'a_link').symlink_to('elsewhere/linked')
    return tmp_path


@pytest.mark.parametrize('name', ['a_file', 'a_link', 'new'])
def test_a_file_is_replaced_where_it_is(folder, name):
    """By force only: a link stays a link, permissions stay, and nothing is left beside it."""
    target = folder / name
    before = {path.name for path in folder.rglob('*')}
    if name != 'new':
        with pytest.raises(UsageError, match='already exists; --force replaces it'):
            write_output(str(target), b'new', force=False)
        assert target.read_text() == 'old'
    write_output(str(target), b'new', force=True)
    assert target.read_bytes() == b'new'
    assert target.is_symlink() == (name == 'a_link')
    assert name == 'new' or stat.S_IMODE(target.stat().st_mode) == 0o640
    assert {path.name for path in folder.rglob('*')} == before | {name}


@pytest.mark.parametrize('name', ['a_file', 'a_link', 'new'])
@pytest.mark.parametrize('error', [KeyboardInterrupt, OSError, ValueError])
def test_whatever_ends_the_block_leaves_what_was_there(folder, name, error):
    """The old file stays, a new one does not appear, nothing is left beside them."""
    before = {path: path.read_text() for path in folder.rglob('*') if path.is_file()}

    def write_half() -> None:
        with safe_output(str(folder / name), force=True) as made:
            Path(made).write_text('half')
            raise error

    with pytest.raises(error):
        write_half()
    assert {path: path.read_text() for path in folder.rglob('*') if path.is_file()} == before
    assert not list(folder.rglob('.*'))


@pytest.mark.parametrize('name', ['', 'no/such/folder', 'elsewhere', 'a\0b', '.'])
def test_a_place_that_cannot_be_written_is_one_sentence(folder, name, monkeypatch):
    """Even with force: a folder, a folder that is not there, no name."""
    monkeypatch.chdir(folder)
    with pytest.raises(UsageError):
        write_output(name, b'new', force=True)


@pytest.mark.parametrize(
    ('stream', 'rich', 'shown'),
    [(io.StringIO, True, False), (FakeTerminal, False, False), (FakeTerminal, True, True)],
)
def test_only_a_person_sees_a_bar_and_only_with_rich(monkeypatch, stream, rich, shown):
    """The bar goes to standard error; an error inside comes out, whichever way it is shown."""
    if not rich:
        monkeypatch.setitem(sys.modules, 'rich.console', None)
    elif shown:
        pytest.importorskip('rich', reason='rich is not installed')
    text = stream()
    monkeypatch.setattr(sys, 'stderr', text)
    monkeypatch.setenv('TERM', 'xterm')
    with progress(TextStream(text), 'converting') as show:
        show(0.42)
        show(1.0)
    assert ('converting' in text.getvalue()) == shown
    assert shown or text.getvalue() == ''
    with pytest.raises(KeyError, match='mine'), progress(TextStream(text), 'converting'):
        raise KeyError('mine')


def test_a_bar_moves_on_a_terminal_while_a_command_computes(monkeypatch):
    """It appears after a second, and a short command shows none."""
    pytest.importorskip('rich', reason='rich is not installed')
    monkeypatch.setenv('TERM', 'xterm')
    text = FakeTerminal()
    monkeypatch.setattr(sys, 'stderr', text)
    with show_busy(TextStream(text)):
        pass
    assert text.getvalue() == ''
    with show_busy(TextStream(text)):
        wait(lambda: 'computing' in text.getvalue(), 'a bar')
