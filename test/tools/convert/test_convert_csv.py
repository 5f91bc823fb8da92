# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""CSV files of joint states."""

from __future__ import annotations

from time import process_time

from hypothesis import given
from hypothesis import strategies as st
import pytest

from transmission_bridge.messages.cdr import JointStateReader
from transmission_bridge.tools.bags.csv_file import nanoseconds, seconds

LEFT_AND_RIGHT = ('--topic', '/left:/joint_states', '/right:/joint_states')


@pytest.fixture
def convert(run, tmp_path, robot_file):
    """Return a function that converts a text, and returns the result and the output's path."""

    def call(text, *options, target='out.csv'):
        (tmp_path / 'in.csv').write_bytes(text if isinstance(text, bytes) else text.encode())
        path = tmp_path / target
        result = run('convert', robot_file, tmp_path / 'in.csv', path, '--force', *options)
        return result, path

    return call


def test_a_line_is_a_message(convert):
    """Cells in any order of columns come out as the joints' values, times as they were."""
    text = 'm3.position,time,m1.position,m2.position,m1.velocity\n-50,1.25,101,48,202\n'
    result, path = convert(text)
    assert (result.code, result.err) == (0, '')
    joints = ('pan', 'pitch', 'roll')
    columns = (f'{name}.{kind}' for kind in ('position', 'velocity', 'effort') for name in joints)
    assert path.read_text().splitlines() == [
        ','.join(['time', 'stamp', *columns]),
        '1.250000000,1.250000000,1.25,1.1,-0.2,2.0,nan,nan,,,',
    ]


def test_an_empty_cell_is_not_in_the_message_and_nan_is_unknown(convert, bags):
    """Merging sees the difference: what is not said stays, what is unknown becomes unknown."""
    text = (
        'time,stamp,topic,m1.position,m2.position,m3.position\n'
        '1,0.5,/left,101,48,50\n2,1.5,right,,96,\n2,1.5,/else,7,,\n3,2.5,/left,nan,48,50\n'
    )
    result, path = convert(text, *LEFT_AND_RIGHT, target='out')
    assert (result.code, result.err) == (0, '')
    messages = bags.told(path, '/joint_states')
    views = [JointStateReader().read_message(data) for _, data in messages]
    assert [time for time, _ in messages] == [10**9, 2 * 10**9, 3 * 10**9]
    assert [view.stamp for view in views] == [(0, 5 * 10**8), (1, 5 * 10**8), (2, 5 * 10**8)]
    assert [view.names for view in views] == [('pan', 'pitch', 'roll')] * 2 + [('pitch', 'roll')]
    assert [view.position[0] for view in views] == [1.25, 1.25, 0.1]
    assert [view.position[-1] for view in views] == pytest.approx([0.8, 1.3, 0.8])
    # A table has no lines of other topics.
    lines = [line.split(',') for line in convert(text, *LEFT_AND_RIGHT)[1].read_text().split()]
    assert [line[:3] for line in lines[1:]] == [
        ['1.000000000', '0.500000000', '1.25'],
        ['2.000000000', '1.500000000', '1.25'],
        ['3.000000000', '2.500000000', ''],
    ]


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        ('', "no column 'time'"),
        ('m1.position\n1\n', "no column 'time'"),
        ('time,time\n', "column 'time' is given twice"),
        ('time,m1\n', "column 'm1': expected time, stamp, topic, or a name and .position"),
        ('time,m1.speed\n', "column 'm1.speed'"),
        ('time,.position\n', "column '.position'"),
        ('time,m1.position\n1,2\n1.5\n', 'line 3: expected 2 cells, found 1'),
        ('time,m1.position\n1,2\n2,x\n', "line 3: expected a number, found 'x'"),
        ('time,m1.position\n1,2\n2,1_0\n', "line 3: expected a number, found '1_0'"),
        ('time,m1.position\n1,2\nsoon,2\n', "found 'soon'"),
        ('time,m1.position\n1,2\n1.0000000001,2\n', 'at most nine decimals'),
        ('time,m1.position\n1,2\n-1,2\n', 'after 1970'),
        ('time,m1.position\n1,2\n9999999999,2\n', 'does not fit'),
        ('time,m1.position\n1,2\n2,"2\n', 'line 3'),
        (b'time,m1.position\n1,2\n2,\xff\n', "line 3: expected a number, found '\ufffd'"),
        (b'time,m1.position\n1,2\n2,\0\n', 'line 3'),
    ],
)
def test_a_file_that_cannot_be_read_is_one_sentence(convert, text, words):
    """Exit code 1; where lines came before, how many, and with the option they are kept."""
    result, path = convert(text)
    assert (result.code, result.out) == (1, '')
    assert words in result.err
    assert not path.exists()
    if len(text.splitlines()) > 2:
        assert 'after 1 messages' in result.err
        result, path = convert(text, '--keep-readable')
        assert result.code == 1
        assert len(path.read_text().splitlines()) == 2


def test_a_bad_cell_costs_its_own_line(convert):
    """With --keep-readable the lines behind are converted; the first is named, all are counted."""
    lines = [f'{n},{n}\n' for n in range(1, 100)]
    lines[2], lines[5], lines[6], lines[50] = 'x,1\n', '6\n', '7,1,"a"b\n', '51,\xff\n'
    text = ('time,m1.position\n' + ''.join(lines)).encode('latin-1')
    result, path = convert(text)
    assert (result.code, path.exists()) == (1, False)
    result, path = convert(text, '--keep-readable')
    assert result.code == 1
    assert 'after 2 messages, 1.000 s into the recording: line 4: expected a time' in result.err
    assert '; 3 more places are damaged; 93 messages after it could be read' in result.err
    times = [float(line.split(',')[0]) for line in path.read_text().splitlines()[1:]]
    assert times == [n for n in range(1, 100) if n not in (3, 6, 7, 51)]


def test_many_columns_take_no_longer_than_their_bytes(convert):
    """A table of 20,000 columns is converted within seconds."""
    names = ['m1', *(f'n{number}' for number in range(20_000))]
    text = ','.join(['time', *(f'{name}.position' for name in names)]) + '\n'
    text += ''.join(f'{row},101{",1" * 20_000}\n' for row in range(5))
    begin = process_time()
    result, path = convert(text)
    assert process_time() - begin < 5.0
    assert result.code == 0
    assert len(path.read_text().splitlines()) == 6


@given(st.integers(-(2**40) * 10**9, 2**40 * 10**9))
def test_times_are_exact_to_the_nanosecond(value):
    """Text and back is the same number."""
    assert nanoseconds(seconds(value)) == value
