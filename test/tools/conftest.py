# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Runs the command line in this process, and a few robots to run it on."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
import io
import json
from pathlib import Path
import sys
from typing import Any
from unittest import mock

from fake_terminal import FakeTerminal
import pytest
from zoo.elements import ratio, ros1, ros1_robot, transmission, urdf

import transmission_bridge as tb
from transmission_bridge.tools.main import main

# Roles reversed against the order of the text and of the alphabet.
ENDS = {'zed': ratio(2, 0.5), 'alpha': ratio(-2, -0.5)}, {'m1': ratio(50), 'm2': ratio(-50)}
HEAD, *MEMBERS, END = transmission('differential', 'Differential', *ENDS).splitlines()
REVERSED = urdf(
    dict.fromkeys(('alpha', 'zed'), 'continuous velocity="1" effort="1"'),
    '\n'.join([HEAD, *reversed(MEMBERS), END]),
)

MIXED = ros1_robot(
    ros1('good', reduction='100'),
    ros1('strange', 'elsewhere/StrangeTransmission', '7'),
    ros1('broken', reduction='50abc'),
    joints=('good', 'strange', 'broken', 'direct'),
)


@dataclass(frozen=True)
class Result:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The output as JSON in the strict sense."""

        def refuse(literal: str) -> None:
            raise AssertionError(f'{literal} is not JSON')

        return json.loads(self.out, parse_constant=refuse)

    def expect(self, code: int = 0, out: str = '', err: str = '') -> Result:
        """Check the exit code and words of both outputs, of errors none without words."""
        found = self.code, out in self.out, err in self.err if err else not self.err
        assert found == (code, True, True), self
        return self


Run = Callable[..., Result]


@pytest.fixture(scope='session')
def run() -> Run:
    """Run the command line in this process."""

    def call(
        *arguments: object, stdin: bytes = b'', answers: str | None = None, is_seen: bool = False
    ) -> Result:
        out, err = FakeTerminal() if is_seen else io.StringIO(), io.StringIO()
        standard_input: io.TextIOBase = io.TextIOWrapper(io.BytesIO(stdin), encoding='utf-8')
        if answers is not None:
            standard_input = FakeTerminal(answers)
        with redirect_stdout(out), redirect_stderr(err), mock.patch('sys.stdin', standard_input):
            code = main([str(argument) for argument in arguments])
        return Result(code, out.getvalue(), err.getvalue())

    return call


@pytest.fixture
def refuse(run: Run) -> Callable[..., None]:
    """Return a function that expects a command to end with 2 and one sentence with some words."""

    def call(words: str, *arguments: object, **options: bytes) -> None:
        result = run(*arguments, **options)
        assert (result.code, result.out) == (2, '')
        *notes, error = result.err.splitlines()
        assert all(note.startswith('note: ') for note in notes)
        assert error.startswith('transmission_bridge: ')
        assert words in error

    return call


@pytest.fixture(scope='session')
def numbers_of() -> Callable[[str | bytes], dict[str, float]]:
    """Return a function that gives every number of a robot's transmissions by its name."""

    def call(description: str | bytes) -> dict[str, float]:
        tunables = tb.RobotTransmissions(tb.load_description(description)).tunables
        return {
            '.'.join((name, *each.path)): each.value
            for name, group in tunables.items()
            for each in group
        }

    return call


@pytest.fixture
def save(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that saves a text in the folder of the test, and returns its path."""

    def call(text: str, name: str = 'robot.urdf') -> Path:
        (tmp_path / name).write_text(text, encoding='utf-8')
        return tmp_path / name

    return call


@pytest.fixture
def export(run: Run, save: Callable[..., Path], tmp_path: Path) -> Callable[..., Result]:
    """Return a function that exports a description, given as bytes, with a parameter file."""

    def call(description: bytes, parameters: str, *options: object) -> Result:
        (tmp_path / 'robot.urdf').write_bytes(description)
        files = (tmp_path / 'robot.urdf', '--params-file', save(parameters, 'tuned.yaml'))
        return run('export', *files, *options)

    return call


@pytest.fixture
def hide(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return a function that makes an optional library one that is not installed."""

    def call(library: str) -> None:
        for name in {library, *(each for each in sys.modules if each.startswith(f'{library}.'))}:
            monkeypatch.setitem(sys.modules, name, None)

    return call


@pytest.fixture
def reversed_robot(save: Callable[..., Path]) -> Path:
    """Return a file with a differential whose roles are reversed against every other order."""
    return save(REVERSED, 'reversed.urdf')


@pytest.fixture
def mixed_robot(save: Callable[..., Path]) -> Path:
    """Return a file with a good, an unknown, a broken and no transmission."""
    return save(MIXED, 'mixed.urdf')
