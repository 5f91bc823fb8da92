# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The door: what load_description accepts, refuses and returns."""

from __future__ import annotations

from collections.abc import Callable
import os
from pathlib import Path
import pickle
import threading

import pytest

from transmission_bridge.description import load_description
from transmission_bridge.errors import DescriptionError, TransmissionBridgeError


def test_text_bytes_and_paths_give_the_same_robot(
    robot: Callable[..., str], tmp_path: Path
) -> None:
    """A str with markup is text, any other str is a path."""
    text = robot()
    path = tmp_path / 'robot.urdf'
    path.write_text(text, encoding='utf-8')
    expected = load_description(text)
    assert load_description(text.encode()) == expected
    assert load_description(bytearray(text.encode())) == expected
    assert load_description(path) == expected
    assert load_description(str(path)) == expected


@pytest.mark.parametrize('path', ['no/such/file.urdf', 'a\0b', 'x' * 5000, 'robot\ud800'])
def test_a_file_that_cannot_be_read_says_why(path: str) -> None:
    """The reason of the operating system is in the error."""
    with pytest.raises(DescriptionError, match='cannot read'):
        load_description(path)


def test_the_reason_is_the_operating_systems(tmp_path: Path) -> None:
    """A missing file and a directory have different errors."""
    with pytest.raises(DescriptionError, match='No such file'):
        load_description(tmp_path / 'missing')
    with pytest.raises(DescriptionError, match='directory'):
        load_description(tmp_path)


def test_an_endless_file_is_read_as_far_as_a_description_may_be_long() -> None:
    """A file without end is too long, and its end is not awaited."""
    with pytest.raises(DescriptionError, match='too long'):
        load_description('/dev/zero')


def test_a_pipe_is_read_to_its_end(robot: Callable[..., str], tmp_path: Path) -> None:
    """Late and partial data, as from ``<(xacro robot.xacro)``, become the complete text."""
    text = robot(*[f'<link name="l{number}"/>' for number in range(5000)])
    data = text.encode()
    pipe = tmp_path / 'pipe'
    os.mkfifo(pipe)

    def write() -> None:
        with open(pipe, 'wb', buffering=0) as file:  # waits for the reader
            for start in range(0, len(data), 10_000):
                file.write(data[start : start + 10_000])

    writer = threading.Thread(target=write)
    writer.start()
    found = load_description(pipe)
    writer.join()
    assert found == load_description(text)


@pytest.mark.parametrize(
    ('data', 'reason'),
    [(b'', 'no data came from this pipe'), (b'<robot', 'this pipe is still open')],
)
def test_a_pipe_that_does_not_end_is_given_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, data: bytes, reason: str
) -> None:
    """Nobody waits longer than ``PIPE_TIMEOUT``, whether the pipe has a writer or not."""
    monkeypatch.setattr('transmission_bridge.description.source.PIPE_TIMEOUT', 0.1)
    pipe = tmp_path / 'pipe'
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)  # lets the writer in
    writer = os.open(pipe, os.O_WRONLY) if data else None
    try:
        if writer is not None:
            os.write(writer, data)
        with pytest.raises(DescriptionError, match=f'{reason} after 0.1 s'):
            load_description(pipe)
    finally:
        for handle in filter(None, (reader, writer)):
            os.close(handle)


@pytest.mark.parametrize('source', ['', ' \n\t', b'', b'\n', '\ufeff', b'\xef\xbb\xbf  '])
def test_empty_descriptions_are_told(source: str | bytes) -> None:
    """Nothing is not a robot."""
    with pytest.raises(DescriptionError, match='empty'):
        load_description(source)


@pytest.mark.parametrize('source', [3, None, 1.5])
def test_other_types_are_a_programming_error(source: object) -> None:
    """A number is not taken for an open file."""
    with pytest.raises(TypeError):
        load_description(source)  # type: ignore[arg-type]


def test_another_root_is_refused() -> None:
    """Only robot and sdf are descriptions; the error has the found element."""
    with pytest.raises(DescriptionError) as caught:
        load_description('\n<launch/>')
    error = caught.value
    assert (error.line, error.path) == (2, '/launch')
    assert (error.expected, error.found) == ('<robot> or <sdf> as the root element', '<launch>')
    assert isinstance(error, TransmissionBridgeError)
    assert isinstance(error, ValueError)


SDF = (
    '<sdf version="1.9"><model name="first"><joint name="any" type="revolute"/>'
    '<ros2_control name="hw" type="system"><joint name="j"><command_interface name="position">'
    '<param name="min">-10</param></command_interface></joint><transmission name="t">'
    '<plugin>T</plugin><joint name="j" role="joint1"/><actuator name="a" role="actuator1"/>'
    '</transmission></ros2_control></model><model name="second"><ros2_control name="x" type="y"/>'
    '</model></sdf>'
)


def test_the_first_model_of_an_sdf_is_read() -> None:
    """Its blocks and their transmissions are; its joints are not URDF and stay unread."""
    robot = load_description(SDF, strict=True)
    assert robot.name == 'first'
    assert [block.name for block in robot.blocks] == ['hw']
    assert robot.transmission('t').path == '/sdf/model[1]/ros2_control/transmission'
    assert robot.joints == ()
    (finding,) = robot.findings
    assert finding.severity == 'info'


def test_an_sdf_without_a_model_is_an_error_finding() -> None:
    """An empty text is an error."""
    robot = load_description('<sdf version="1.9"><world/></sdf>')
    assert [error.expected for error in robot.errors] == ['<model>']
    with pytest.raises(DescriptionError, match='<model>'):
        load_description('<sdf/>', strict=True)


def test_findings_read_as_sentences(robot: Callable[..., str]) -> None:
    """Severity, line, path, message, expected and found are all in one line."""
    (finding,) = load_description(robot('<ros2_control name="hw"/>')).errors
    assert str(finding) == (
        'error: line 11, /robot/ros2_control: <ros2_control> without a type '
        '(expected attribute type, found none)'
    )
    assert finding.text == '<ros2_control> without a type (expected attribute type, found none)'


def test_descriptions_are_values(robot: Callable[..., str]) -> None:
    """They compare, hash and survive pickling."""
    text = robot('<transmission name="t"/>')
    loaded = load_description(text)
    assert pickle.loads(pickle.dumps(loaded)) == loaded
    assert hash(loaded) == hash(load_description(text))
    assert loaded != load_description(robot())


@pytest.mark.parametrize(
    'declared',
    [
        'xmlns:xacro="http://www.ros.org/wiki/xacro"',
        'xmlns:xacro="http://wiki.ros.org/xacro"',
        'xmlns:xacro="http://ros.org/wiki/xacro/#macro"',
    ],
)
@pytest.mark.parametrize(
    ('beside', 'severity'),
    [
        ('', 'error'),
        ('<xacro:if value="1"><transmission name="t"/></xacro:if>', 'error'),
        ('<ros2_control><xacro:transmission name="t"/></ros2_control>', 'error'),
        ('<transmission name="t"/>', 'warning'),
        ('<ros2_control><transmission name="t"/></ros2_control>', 'warning'),
    ],
)
def test_xacro_that_nobody_ran_is_told(declared: str, beside: str, severity: str) -> None:
    """
    What it would expand to is missing, and the user learns it at its first instruction.

    It is an error where nothing but xacro would have made the transmissions.
    """
    text = (
        f'<robot name="r" {declared}>\n<link name="l"/>\n'
        '<xacro:macro name="drive">\n<xacro:insert_block name="x"/>'
        f'<transmission/></xacro:macro>\n{beside}</robot>'
    )
    loaded = load_description(text)
    (found,) = (each for each in loaded.findings if 'xacro' in each.message)
    assert (found.severity, found.line) == (severity, 3)
    assert loaded.is_unexpanded == (severity == 'error')
    assert found.found.startswith('<xacro:macro> and ')
    text = text.replace('<transmission/>', '').replace(beside, '', bool(beside))
    (found,) = (each for each in load_description(text).findings if 'xacro' in each.message)
    assert found.found == '<xacro:macro> and 1 more'
    with pytest.raises(DescriptionError, match='xacro'):
        load_description(text, strict=True)


def test_what_xacro_printed_is_no_xacro() -> None:
    """It leaves its namespace declared, and comments about it."""
    text = (
        '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
        '<!-- <xacro:include filename="x"/> --><link name="xacro:l"/></robot>'
    )
    findings = load_description(text).findings
    assert not [each for each in findings if 'xacro' in each.message]
