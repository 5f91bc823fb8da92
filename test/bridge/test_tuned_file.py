# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The file in which numbers that services have set survive a restart."""

from __future__ import annotations

import contextlib
import os
import random
import socket
import subprocess
import sys

import pytest
from zoo.elements import numbered, simple

from transmission_bridge.bridge.options.options import list_parameter_names
from transmission_bridge.bridge.options.parameter_file import warn_of_unused_parameter_files
from transmission_bridge.bridge.options.tuned_file import (
    list_position_numbers,
    replace_file,
    TunedFile,
)
from transmission_bridge.description import load_description
from transmission_bridge.errors import MessageError, ParameterError
from transmission_bridge.tools.parameter_files import read_parameter_file
from transmission_bridge.transmissions import RobotTransmissions

RATIO = 'transmissions.hoist.joints.lift.mechanical_reduction'
LIFT = 'transmissions.hoist.joints.lift.offset'
ROLL = 'transmissions.wrist.joints.roll.offset'
PITCH = 'transmissions.wrist.joints.pitch.offset'
UPPER = 'actuators.m1.limit.upper'
NODE = '/transmission_bridge'


@pytest.fixture
def path(tmp_path):
    """Return the path of a file that is not there yet."""
    return tmp_path / 'tuned.yaml'


def write(path, changes):
    """Keep numbers."""
    with TunedFile(str(path), NODE).keep_numbers(changes):
        pass


def test_numbers_come_back_to_the_last_bit(path):
    """Stored numbers are read exactly; later numbers replace earlier ones, others stay."""
    kept = {}
    assert TunedFile(str(path), NODE).read_tuned_numbers() == {}
    chance = random.Random(1)
    for _ in range(30):
        name = chance.choice([LIFT, ROLL, PITCH, 'transmissions.1.joints.yes.offset'])
        kept[name] = (chance.gauss(0.0, 10.0 ** chance.randint(-12, 5)), chance.uniform(-3, 3))
        write(path, {name: kept[name]})
        assert TunedFile(str(path), NODE).read_tuned_numbers() == kept
    # The tools that take a parameter file take it, with the numbers that count.
    counts = {name: number for name, (number, _) in kept.items()}
    assert read_parameter_file(path.read_bytes(), 'tuned') == counts


# fmt: off
CHANGED = [
    # numbers of the file and what they replaced, numbers of the parameter file, reason
    ({LIFT: (1.5, None)}, {}, ''),
    ({LIFT: (1.5, None), RATIO: (-25.0, None)}, {}, ''),
    ({LIFT: (1.5, None), RATIO: (-25.0, None)}, {RATIO: -25.0, LIFT: 3.0}, ''),
    ({LIFT: (1.5, 0.125)}, {}, 'replaced 0.125, but the URDF now has 0.3'),
    ({LIFT: (1.5, None), RATIO: (-25.0, 25.0)}, {}, 'replaced 25.0, but the URDF now has'),
    ({LIFT: (1.5, None), RATIO: (-25.0, None)}, {RATIO: 25.0}, 'but 25.0 in the parameter file'),
    ({LIFT: (1.5, None), RATIO: (0.0, None)}, {}, 'other than zero'),
    ({RATIO: None}, {}, 'on which its positions depend, is missing'),
]
# fmt: on


@pytest.mark.parametrize(('changes', 'given', 'reason'), CHANGED)
def test_offset_without_the_numbers_it_depends_on(path, robot, changes, given, reason):
    """The numbers of a transmission are used together, or rejected together with one reason."""
    tunables = list_parameter_names(robot).tunables
    hoist, wrist = (
        {name: (value, value) for name, value in list_position_numbers(tunables, [each]).items()}
        for each in ('hoist', 'wrist')
    )
    for name, pair in changes.items():
        if pair is None:
            del hoist[name]
        else:
            hoist[name] = pair[0], hoist[name][1] if pair[1] is None else pair[1]
    write(path, {**hoist, **wrist, 'transmissions.x.y': (1.0, 1.0)})
    values, findings = TunedFile(str(path), NODE).check_numbers(robot, given)
    *rejected, unknown = sorted(findings, key=lambda each: each.subject)
    assert 'no such parameter' in unknown.text
    assert {each.severity for each in findings} == {'error'}
    assert [each.subject for each in rejected] == (['hoist'] if reason else [])
    assert all(reason in each.text for each in rejected)
    kept = {name: number for name, (number, _) in (wrist if reason else hoist | wrist).items()}
    assert values == kept


def test_another_limit_in_the_parameter_file(path):
    """It overrides the stored limit; another reduction has the stored numbers rejected."""
    motor = '<limit lower="-1" upper="1"/>'
    robot = RobotTransmissions(load_description(numbered(simple(0) + simple(1, motor))))
    tunables = list_parameter_names(robot).tunables
    stored = {name: (each.value, each.value) for name, each in tunables.items()}
    stored = {name: pair for name, pair in stored.items() if not tunables[name].is_flag}
    upper, ratio = (
        f'transmissions.t1.{each}' for each in (UPPER, 'joints.j1.mechanical_reduction')
    )
    write(path, {**stored, upper: (0.5, 1.0)})
    for name, rejected in ((upper, []), (ratio, ['t1'])):
        values, findings = TunedFile(str(path), NODE).check_numbers(robot, {name: 0.25})
        assert [each.subject for each in findings] == rejected
        assert values.get(upper) == (None if rejected else 0.5)


def test_block_that_fails_leaves_the_file(path):
    """Nothing is written if the offsets cannot be set, or if another process is writing."""
    write(path, {LIFT: (1.0, 0.5)})
    before = path.read_bytes()
    with (
        pytest.raises(MessageError, match='no'),
        TunedFile(str(path), NODE).keep_numbers({LIFT: (2.0, 0.5)}),
    ):
        raise MessageError('refused', 'no')
    with (
        replace_file(str(path), lambda: before),
        pytest.raises(MessageError, match='another process is writing it'),
    ):
        write(path, {LIFT: (2.0, 0.5)})
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize('old', [None, b'old' * 30])
def test_on_the_disk_before_it_counts(path, monkeypatch, old):
    """
    Content is synchronised before the new file takes the place, and its folder after that.

    So a process that is killed at any byte leaves the old file, and the next one uses its rest.
    """
    order = []
    path.with_name('.tuned.yaml.partial').write_bytes(b'rest')
    if old:
        path.write_bytes(old)
    for name in ('fsync', 'replace'):
        real = getattr(os, name)

        def noted(*args, real=real, name=name):
            order.append(name)
            return real(*args)

        monkeypatch.setattr(os, name, noted)
    with replace_file(str(path), lambda: b'x'):
        assert order == ['fsync']
        assert (path.read_bytes() if path.exists() else None) == old
    assert order == ['fsync', 'replace', 'fsync']
    assert path.read_bytes() == b'x'
    assert list(path.parent.iterdir()) == [path]


def test_permissions_and_links_stay(path):
    """The file keeps its permissions, and a link goes on pointing to it."""
    path.write_bytes(b'old')
    path.chmod(0o640)
    link = path.with_name('link.yaml')
    link.symlink_to(path)
    with replace_file(str(link), lambda: b'new'):
        pass
    assert link.is_symlink()
    assert path.read_bytes() == b'new'
    assert path.stat().st_mode & 0o777 == 0o640


STORER = """
import sys
from transmission_bridge.bridge.options.tuned_file import TunedFile
from transmission_bridge.errors import MessageError
_, path, mine = sys.argv
for number in range(60):
    while True:
        numbers = {f'transmissions.{mine}.n{number}': (1.0, 0.0)}
        try:
            with TunedFile(path, '/b').keep_numbers(numbers):
                pass
            break
        except MessageError as error:
            assert 'another process is writing it' in str(error)
"""


def test_two_processes_lose_no_number(path):
    """Of two processes that write at the same time, one fails with the reason; none loses."""
    processes = [subprocess.Popen([sys.executable, '-c', STORER, path, each]) for each in 'ab']
    assert [process.wait(timeout=60) for process in processes] == [0, 0]
    assert len(TunedFile(str(path), '/b').read_tuned_numbers()) == 120
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize('owner', ['/left/transmission_bridge', '/transmission_bridge2', '/**'])
def test_file_of_another_node(path, owner):
    """The file of another bridge is an error with both names, in reading and writing."""
    with TunedFile(str(path), owner).keep_numbers({LIFT: (1.0, 0.5)}):
        pass
    before = path.read_bytes()
    words = f"expected numbers of '{NODE}', because a file belongs to one node, found numbers of "
    with pytest.raises(ParameterError) as caught:
        TunedFile(str(path), NODE).read_tuned_numbers()
    assert words + repr(owner) in str(caught.value)
    with pytest.raises(MessageError, match='cannot be used'):
        write(path, {LIFT: (1.0, 0.5)})
    assert path.read_bytes() == before
    assert TunedFile(str(path)).read_tuned_numbers() == {LIFT: (1.0, 0.5)}


def test_folder_that_does_not_exist(path):
    """It is an error in reading, when the node is configured, and not only in writing."""
    with pytest.raises(ParameterError, match=r'folder that exists, found no folder .*none'):
        TunedFile(str(path.parent / 'none' / 'tuned.yaml')).read_tuned_numbers()


def repeat_aliases(first, level, each):
    """Return twelve levels of a text; each has nine aliases of the level before."""
    lines = [f'a0: &a0 {first}']
    for n in range(1, 13):
        aliases = ', '.join(each.format(k, n - 1) for k in range(9))
        lines.append(f'a{n}: &a{n} {level.format(aliases)}')
    return '\n'.join(lines).encode()


LAUGHS = repeat_aliases('[lol, lol]', '[{}]', '*a{1}')
MERGES = repeat_aliases('{lol: 1}', '{{<<: [{}]}}', '*a{1}')
NESTED = repeat_aliases('{lol: 1}', '{{{}}}', 'k{0}: *a{1}')


@pytest.mark.parametrize('text', [
    LAUGHS + b'\n/replaced: {ros__parameters: {urdf.a: *a12}}\n/b: {ros__parameters: {}}',
    LAUGHS + b'\n/replaced: {ros__parameters: {? *a12 : 1.0}}\n/b: {ros__parameters: {}}',
    MERGES + b'\n/b: {ros__parameters: *a12}\n/replaced: {ros__parameters: {}}',
    NESTED + b'\n/b: {ros__parameters: *a12}\n/replaced: {ros__parameters: {}}',
    NESTED, b'a: &a {b: *a}',
])  # fmt: skip
def test_aliases_cost_nothing(path, text):
    """Aliases that would expand to terabytes are rejected at once, in one short sentence."""
    path.write_bytes(text)
    with pytest.raises(ParameterError, match='cannot be used') as caught:
        TunedFile(str(path)).read_tuned_numbers()
    assert len(str(caught.value)) < 500
    assert list(warn_of_unused_parameter_files(['--params-file', str(path)], '/**')) == []


BAD = [
    b'', b'\xff\xfe', b'a: [', b'- 1', b'1', b'&a [*a]', b'? [1]: 2', b'!!python/name:os.system',
    b'/**: 1\n/replaced: 2', b'/**: {ros__parameters: {}}', b'[' * 20000, b'a: 0b', b'2001-99-99',
    b'a: !!int', b'a: !!bool x', b'a: !!timestamp x',
    b'/**: {ros__parameters: {transmissions.a: .nan}}\n/replaced: {ros__parameters: {urdf.a: 1}}',
    b'/**: {ros__parameters: {transmissions.a: true}}\n/replaced: {ros__parameters: {urdf.a: 1}}',
    b'/**: {ros__parameters: {transmissions.a: 1.0}}\n/replaced: {ros__parameters: {}}',
    b'/**: {ros__parameters: {a: 1.0}}\n/replaced: {ros__parameters: {}}',
    b'/**: {ros__parameters: {1: 1.0}}\n/replaced: {ros__parameters: {}}',
    b'a: &a [1]\nb: &b [*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b]', b' ' * (1 << 20) + b'a',
]  # fmt: skip


@pytest.mark.parametrize('data', BAD)
def test_file_that_no_bridge_wrote(path, data):
    """It is refused in one sentence, in reading and before it would be overwritten."""
    path.write_bytes(data)
    with pytest.raises(ParameterError, match='cannot be used') as caught:
        TunedFile(str(path), NODE).read_tuned_numbers()
    assert '\n' not in str(caught.value)
    with pytest.raises(MessageError, match='cannot be used'):
        write(path, {LIFT: (1.0, 0.5)})
    assert path.read_bytes() == data


@pytest.mark.parametrize('kind', ['pipe', 'socket', 'folder', 'device', 'link to a pipe'])
def test_only_a_regular_file_is_read(path, kind):
    """Anything else is refused at once: to open a pipe would wait for ever."""
    target = path.with_suffix('.other') if kind.startswith('link') else path
    if kind.endswith('pipe'):
        os.mkfifo(target)
    elif kind == 'folder':
        path.mkdir()
    elif kind == 'socket':
        with contextlib.chdir(path.parent), socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)
    if kind.startswith('link'):
        path.symlink_to(target)
    if kind == 'device':
        path.symlink_to('/dev/zero')
    file = TunedFile(str(path), NODE)
    with pytest.raises(ParameterError, match='expected a regular file, found a folder, pipe'):
        file.read_tuned_numbers()
    with pytest.raises(MessageError, match='expected a regular file'), file.keep_numbers({}):
        pass
