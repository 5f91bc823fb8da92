# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""How far a command has come."""

from __future__ import annotations

import io
import sys

import pytest

from transmission_bridge.tools.cli import progress, Stream


class Terminal(io.StringIO):
    """A terminal that keeps what is written to it."""

    def isatty(self) -> bool:
        """Say that a person is watching."""
        return True


def test_a_file_is_told_nothing():
    """Where nobody is watching nothing is written."""
    text = io.StringIO()
    with progress(Stream(text), 'converting') as show:
        show(0.5)
    assert text.getvalue() == ''


def test_without_rich_nothing_is_shown(monkeypatch):
    """The command does its work without a bar."""
    monkeypatch.setitem(sys.modules, 'rich.console', None)
    terminal = Terminal()
    with progress(Stream(terminal), 'converting') as show:
        show(0.42)
    assert terminal.getvalue() == ''


def test_with_rich_a_person_sees_a_bar(monkeypatch):
    """The bar goes to standard error and is wiped at the end."""
    pytest.importorskip('rich', reason='rich is not installed')
    terminal = Terminal()
    monkeypatch.setattr(sys, 'stderr', terminal)
    monkeypatch.setenv('TERM', 'xterm')
    with progress(Stream(terminal), 'converting') as show:
        show(0.42)
        show(1.0)
    assert 'converting' in terminal.getvalue()


def test_an_error_inside_comes_out(monkeypatch):
    """Showing progress swallows nothing, whichever way it is shown."""
    for stream in (Stream(io.StringIO()), Stream(Terminal())):
        for blocked in (False, True):
            if blocked:
                monkeypatch.setitem(sys.modules, 'rich.console', None)
            with pytest.raises(KeyError, match='mine'), progress(stream, 'converting'):
                raise KeyError('mine')
