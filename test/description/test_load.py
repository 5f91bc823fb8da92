# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The door: what load_description accepts, refuses and returns."""

import os
import threading

import pytest
from zoo.four_joints import find_only, hardware, load, robot, ros2

from transmission_bridge.description import load_description
from transmission_bridge.errors import DescriptionError, TransmissionBridgeError


def test_every_source_gives_the_same_robot(tmp_path):
    """A str with markup is text, any other str is a path; a late pipe is read to its end."""
    text = robot(*[f'<link name="l{number}"/>' for number in range(5000)])
    data = text.encode()
    path, pipe = tmp_path / 'robot.urdf', tmp_path / 'pipe'
    path.write_text(text, encoding='utf-8')
    os.mkfifo(pipe)

    def write():
        with open(pipe, 'wb', buffering=0) as file:  # waits for the reader
            for start in range(0, len(data), 10_000):
                file.write(data[start : start + 10_000])

    writer = threading.Thread(target=write)
    writer.start()
    expected = load_description(text)
    for source in (pipe, data, bytearray(data), path, str(path)):
        assert load_description(source) == expected
    writer.join()


@pytest.mark.parametrize(('source', 'reason'), [
    *((name, 'cannot read') for name in ('a\0b', 'x' * 5000, 'robot\ud800')),
    ('no/such/file.urdf', 'cannot read.*No such file'),
    ('.', 'cannot read.*directory'),
    ('/dev/zero', 'too long'),
    *((each, 'empty') for each in ('', ' \n\t', b'', b'\n', '\ufeff', b'\xef\xbb\xbf  ')),
])  # fmt: skip
def test_what_cannot_be_read_says_why(source, reason):
    """The reason of the operating system is in the error; nothing is not a robot."""
    with pytest.raises(DescriptionError, match=reason):
        load_description(source)


@pytest.mark.parametrize('source', [3, None, 1.5])
def test_other_types_are_a_programming_error(source):
    """A number is not taken for an open file."""
    with pytest.raises(TypeError):
        load_description(source)


def test_another_root_is_refused():
    """Only robot and sdf are descriptions; the error has the found element."""
    with pytest.raises(DescriptionError) as caught:
        load_description('\n<launch/>')
    error = caught.value
    assert (error.line, error.path) == (2, '/launch')
    assert (error.expected, error.found) == ('<robot> or <sdf> as the root element', '<launch>')
    assert isinstance(error, TransmissionBridgeError)
    assert isinstance(error, ValueError)


def test_the_first_model_of_an_sdf_is_read():
    """Its blocks and their transmissions are; its joints are not URDF and stay unread."""
    first = '<joint name="any" type="revolute"/>' + hardware(ros2('t', 'j1', 'a'))
    second = '<ros2_control name="x" type="y"/>'
    text = f'<sdf><model name="first">{first}</model><model name="second">{second}</model></sdf>'
    loaded, finding = find_only(text)
    assert (loaded.name, [block.name for block in loaded.blocks]) == ('first', ['hw'])
    assert loaded.transmission('t').path == '/sdf/model[1]/ros2_control/transmission'
    assert (loaded.joints, finding.severity) == ((), 'info')
    _, error = find_only('<sdf version="1.9"><world/></sdf>')
    assert (error.severity, error.expected) == ('error', '<model>')


def test_findings_read_as_sentences():
    """Severity, line, path, message, expected and found are all in one line."""
    _, finding = find_only(robot('<ros2_control name="hw"/>'))
    assert finding.text == '<ros2_control> without a type (expected attribute type, found none)'
    assert str(finding) == f'error: line 11, /robot/ros2_control: {finding.text}'


XACRO = ['www.ros.org/wiki/xacro', 'wiki.ros.org/xacro', 'ros.org/wiki/xacro/#macro']


@pytest.mark.parametrize('namespace', XACRO)
@pytest.mark.parametrize(('beside', 'level'), [
    ('', 'error'),
    ('<xacro:if value="1"><transmission name="t"/></xacro:if>', 'error'),
    ('<ros2_control><xacro:transmission name="t"/></ros2_control>', 'error'),
    ('<transmission name="t"/>', 'warning'),
    ('<ros2_control><transmission name="t"/></ros2_control>', 'warning'),
])  # fmt: skip
def test_xacro_that_nobody_ran_is_told(namespace, beside, level):
    """At its first instruction; an error where only xacro would have made the transmissions."""
    macro = '<xacro:macro name="drive">\n<xacro:insert_block name="x"/>{}</xacro:macro>\n'
    text = f'<robot name="r" xmlns:xacro="http://{namespace}">\n<link name="l"/>\n{{}}</robot>'
    loaded = load(text.format(macro.format('<transmission/>') + beside))
    (found,) = (each for each in loaded.findings if 'xacro' in each.message)
    assert (found.severity, found.fatal_if_strict, found.line) == (level, True, 3)
    assert loaded.is_unexpanded == (level == 'error')
    assert found.found.startswith('<xacro:macro> and ')
    # What xacro printed has its namespace, and comments about it.
    printed = '<!-- <xacro:include filename="x"/> --><link name="xacro:l"/>'
    assert not [each for each in load(text.format(printed)).findings if 'xacro' in each.message]
    loaded = load(text.format(macro.format('')))
    (found,) = (each for each in loaded.findings if 'xacro' in each.message)
    assert found.found == '<xacro:macro> and 1 more'
