# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Runs the command line in this process, and a few robots to run it on."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
import importlib
import io
import json
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from zoo.elements import ros1, ros1_robot, urdf

import transmission_bridge as tb
from transmission_bridge.tools.main import main

# Roles reversed against the order of the text and of the alphabet.
REVERSED = urdf(
    dict.fromkeys(('alpha', 'zed'), 'continuous velocity="1" effort="1"'),
    """<transmission name="differential">
      <plugin>transmission_interface/DifferentialTransmission</plugin>
      <actuator name="m2" role="actuator2">
        <mechanical_reduction>-50</mechanical_reduction></actuator>
      <actuator name="m1" role="actuator1">
        <mechanical_reduction>50</mechanical_reduction></actuator>
      <joint name="alpha" role="joint2">
        <mechanical_reduction>-2</mechanical_reduction><offset>-0.5</offset></joint>
      <joint name="zed" role="joint1">
        <mechanical_reduction>2</mechanical_reduction><offset>0.5</offset></joint>
    </transmission>""",
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


class _Terminal(io.StringIO):
    """What a user types."""

    def isatty(self) -> bool:
        return True


Run = Callable[..., Result]


@pytest.fixture(scope='session')
def run() -> Run:
    """Run the command line in this process."""

    def call(*arguments: object, stdin: bytes = b'', answers: str | None = None) -> Result:
        out, err = io.StringIO(), io.StringIO()
        standard_input: io.TextIOBase = io.TextIOWrapper(io.BytesIO(stdin), encoding='utf-8')
        if answers is not None:
            standard_input = _Terminal(answers)
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
def export(run: Run, tmp_path: Path) -> Callable[..., Result]:
    """Return a function that exports a description, given as bytes, with a parameter file."""

    def call(description: bytes, parameters: str, *options: object) -> Result:
        (tmp_path / 'robot.urdf').write_bytes(description)
        (tmp_path / 'tuned.yaml').write_text(parameters)
        files = (tmp_path / 'robot.urdf', '--params-file', tmp_path / 'tuned.yaml')
        return run('export', *files, *options)

    return call


@pytest.fixture
def hide(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return a function that makes an optional library one that is not installed."""

    def call(library: str) -> None:
        real = importlib.import_module

        def without(name: str, *rest: object) -> Any:
            if name.startswith(library):
                raise ImportError(f'No module named {name!r}')
            return real(name, *rest)

        monkeypatch.setattr('importlib.import_module', without)

    return call


@pytest.fixture
def reversed_robot(tmp_path: Path) -> Path:
    """Return a file with a differential whose roles are reversed against every other order."""
    path = tmp_path / 'reversed.urdf'
    path.write_text(REVERSED)
    return path


@pytest.fixture
def mixed_robot(tmp_path: Path) -> Path:
    """Return a file with a good, an unknown, a broken and no transmission."""
    path = tmp_path / 'mixed.urdf'
    path.write_text(MIXED)
    return path
