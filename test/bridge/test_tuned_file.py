# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The file in which numbers that services have set survive a restart."""

import json
import os
import random
import re

import pytest
from zoo.elements import load, maps, numbered, ratio, simple, transmission

from transmission_bridge.bridge.options.files import TunedFile
from transmission_bridge.bridge.options.options import list_parameter_names, strip_prefixes
from transmission_bridge.errors import MessageError, ParameterError

RATIO = 'transmissions.hoist.joints.lift.mechanical_reduction'
LIFT = 'transmissions.hoist.joints.lift.offset'
ROLL = 'transmissions.wrist.joints.roll.offset'
PITCH = 'transmissions.wrist.joints.pitch.offset'
UPPER = 'transmissions.t1.actuators.m1.limit.upper'
NODE = '/transmission_bridge'


@pytest.fixture
def path(tmp_path):
    """Return the path of a file that is not there yet."""
    return tmp_path / 'tuned.json'


def keep(path, robot, changes, node=NODE, given=None):
    """Set numbers and keep them; return the robot, and what is stored."""
    with TunedFile(str(path), node).keep_numbers(robot, changes, given or {}) as stored:
        return robot.with_parameters(strip_prefixes(changes)), stored


def read(path, robot, given=None, node=NODE):
    """Return the numbers, and the reasons of rejection by transmission."""
    values, findings = TunedFile(str(path), node).read_tuned_numbers(robot, given or {})
    assert {each.severity for each in findings} <= {'error'}
    return values, {each.subject: each.text for each in findings}


def edit(path, change):
    """Change the document of the file."""
    document = json.loads(path.read_text())
    change(document['transmissions'])
    path.write_text(json.dumps(document))


def check_refusal(path, robot, words):
    """Check that a file is rejected in one sentence, in reading and before it is overwritten."""
    for use in (read, lambda *args: keep(*args, {LIFT: 1.0})):
        with pytest.raises(ParameterError, match=words) as caught:
            use(path, robot)
        assert '\n' not in str(caught.value)


def test_numbers_come_back_to_the_last_bit(path, robot):
    """Stored numbers are read exactly, with all others on which the positions depend."""
    assert read(path, robot) == ({}, {})
    chance, tuned, kept = random.Random(1), robot, set()
    for _ in range(30):
        name = chance.choice([LIFT, RATIO, ROLL, PITCH])
        value = chance.gauss(0.0, 10.0 ** chance.randint(-4 if name == RATIO else -12, 4))
        tuned, _ = keep(path, tuned, {name: value})
        kept.add(name.split('.')[1])
        expected = {
            key: each.value
            for key, each in list_parameter_names(tuned).tunables.items()
            if each.transmission in kept and each.shapes_map
        }
        assert read(path, robot) == (expected, {})
    assert kept == {'hoist', 'wrist'}


def test_other_numbers_that_are_stored_are_named(path, robot):
    """The sentence names a ratio that was set without the service."""
    tuned = robot.with_parameters({'hoist.joints.lift.mechanical_reduction': -25.0})
    _, stored = keep(path, tuned, {LIFT: 1.0})
    assert f'{RATIO.removeprefix("transmissions.")} -25.0 (URDF ' in stored
    values, _ = read(path, robot)
    assert (values[LIFT], values[RATIO]) == (1.0, -25.0)
    _, stored = keep(path, robot, {LIFT: 1.0}, given={LIFT: 3.0})
    assert f'the parameter file overrides {LIFT!r}' in stored


# fmt: off
CHANGED = [
    # change of the numbers of the file, numbers of the parameter file, reason
    ({}, {}, ''),
    ({}, {RATIO: -25.0, LIFT: 3.0}, ''),
    ({LIFT: (1.5, 0.125)}, {}, f'replaced {LIFT} = 0.125, but the URDF now has 0.3'),
    ({RATIO: (-25.0, 25.0)}, {}, f'replaced {RATIO} = 25.0, but the URDF now has'),
    ({}, {RATIO: 25.0}, f'{RATIO} is -25.0, but 25.0 in the parameter file'),
    ({RATIO: (0.0, None)}, {}, 'other than zero'),
    ({RATIO: (float('nan'), None)}, {}, 'finite'),
    ({RATIO: None}, {}, f'replaced {RATIO} = None, but the URDF now has'),
    ({f'{LIFT}s': (0.0, 0.0)}, {}, f'replaced {LIFT}s = 0.0, but the URDF now has None'),
]
# fmt: on


@pytest.mark.parametrize(('changes', 'given', 'reason'), CHANGED)
def test_offset_without_the_numbers_it_depends_on(path, robot, changes, given, reason):
    """The numbers of a transmission are used together, or rejected together with one reason."""
    tuned, _ = keep(path, robot, {LIFT: 1.5, RATIO: -25.0})
    keep(path, tuned, {ROLL: 0.5})
    whole, _ = read(path, robot)

    def change(transmissions):
        numbers = transmissions['hoist']['numbers']
        for name, pair in changes.items():
            if pair is None:
                del numbers[name]
            else:
                numbers[name] = pair[0], numbers[name][1] if pair[1] is None else pair[1]
        transmissions['x'] = {'type': 'x', 'numbers': {'transmissions.x.y': [1.0, 1.0]}}

    edit(path, change)
    values, findings = read(path, robot, given)
    assert 'the URDF now has None' in findings.pop('x')
    assert [*findings] == (['hoist'] if reason else [])
    assert all(reason in text for text in findings.values())
    hoist = {name for name in whole if name.startswith('transmissions.hoist.')}
    assert values == {name: whole[name] for name in whole.keys() - (hoist if reason else set())}


@pytest.mark.parametrize(
    ('before', 'after'),
    [('Differential', 'FourBarLinkage'), ('FourBarLinkage', 'Differential')],
)
def test_another_type_with_the_same_numbers(path, before, after):
    """Numbers of a differential are not those of the four-bar linkage that has replaced it."""
    joints, motors = {'j1': ratio(2.0, 0.1), 'j2': ratio(1)}, {'a': ratio(50), 'b': ratio(-50)}
    robots = [
        maps(['j1', 'j2'], transmission('wrist', kind, joints, motors)) for kind in (before, after)
    ]
    assert robots[0].parameters.keys() == robots[1].parameters.keys()
    keep(path, robots[0], {'transmissions.wrist.joints.j1.offset': 0.5})
    stored, _ = read(path, robots[0])
    assert len(stored) == 6
    values, findings = read(path, robots[1])
    assert values == {}
    assert f"replaced type = 'transmission_interface/{before}Transmission'" in findings['wrist']
    # Numbers that are set with the new type replace all of the old one.
    keep(path, robots[1], {'transmissions.wrist.joints.j2.offset': 0.25})
    offsets = {f'transmissions.wrist.joints.j{n}.offset': x for n, x in ((1, 0.1), (2, 0.25))}
    assert read(path, robots[1]) == ({**stored, **offsets}, {})
    assert [*read(path, robots[0])[1]] == ['wrist']


def test_another_limit_in_the_parameter_file(path):
    """It overrides the stored limit; another reduction has the stored numbers rejected."""
    robot = load(numbered(simple(0) + simple(1, '<limit lower="-1" upper="1"/>')))
    tuned, _ = keep(path, robot, {UPPER: 0.5})
    # A limit that a service has stored stays, whatever it is now.
    tuned = tuned.with_parameters({UPPER.removeprefix('transmissions.'): 0.75})
    keep(path, tuned, {'transmissions.t1.joints.j1.offset': 0.25})
    assert read(path, robot)[0][UPPER] == 0.5
    ratio = 'transmissions.t1.joints.j1.mechanical_reduction'
    for name, rejected in ((UPPER, []), (ratio, ['t1'])):
        values, findings = read(path, robot, {name: 0.25})
        assert [*findings] == rejected
        assert values.get(UPPER) == (None if rejected else 0.5)


def test_a_ratio_that_the_parameter_file_would_override_is_not_kept(path, robot):
    """The offset would be wrong at the next start, so it is refused, and nothing is written."""
    keep(path, robot, {LIFT: 1.0})
    before = path.read_bytes()
    tuned = robot.with_parameters({'hoist.joints.lift.mechanical_reduction': -25.0})
    with pytest.raises(ParameterError, match=r'is -25\.0, but 4\.0 in the parameter'):
        keep(path, tuned, {LIFT: 2.0}, given={RATIO: 4.0})
    assert path.read_bytes() == before


def test_block_that_fails_leaves_the_file(path, robot):
    """Nothing is written if the numbers cannot be set."""
    keep(path, robot, {LIFT: 1.0})
    before = path.read_bytes()
    with (
        pytest.raises(MessageError, match='no'),
        TunedFile(str(path), NODE).keep_numbers(robot, {LIFT: 2.0}, {}),
    ):
        raise MessageError('refused', 'no')
    assert (path.read_bytes(), list(path.parent.iterdir())) == (before, [path])


def test_on_the_disk_before_it_counts(path, robot, monkeypatch):
    """Content is synchronised before the numbers are set, and the file is replaced after that."""
    keep(path, robot, {LIFT: 1.0})
    order, before = [], path.read_bytes()
    path.with_name('tuned.json.partial').write_bytes(b'rest of a process that was killed')
    for name in ('fsync', 'replace'):
        real = getattr(os, name)

        def noted(*args, real=real, name=name):
            order.append(name)
            return real(*args)

        monkeypatch.setattr(os, name, noted)
    with TunedFile(str(path), NODE).keep_numbers(robot, {LIFT: 2.0}, {}):
        assert order == ['fsync']
        assert path.read_bytes() == before
    assert order == ['fsync', 'replace']
    assert (read(path, robot)[0][LIFT], list(path.parent.iterdir())) == (2.0, [path])


def test_permissions_and_links_stay(path, robot):
    """The file keeps its permissions, and a link goes on pointing to it."""
    read(path, robot)
    path.chmod(0o640)
    link = path.with_name('link.json')
    link.symlink_to(path)
    keep(link, robot, {LIFT: 1.0})
    assert link.is_symlink()
    assert read(path, robot)[0][LIFT] == 1.0
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize('owner', ['/left/transmission_bridge', '/transmission_bridge2', '/**'])
@pytest.mark.parametrize('has_numbers', [False, True])
def test_file_of_another_node(path, robot, owner, has_numbers):
    """A file belongs to the first node that reads it; another one fails in reading and writing."""
    read(path, robot, node=owner)
    if has_numbers:
        keep(path, robot, {LIFT: 1.0}, owner)
    before = path.read_bytes()
    words = f'expected a file that {NODE!r} has written, found the file of {owner!r}'
    check_refusal(path, robot, re.escape(words))
    assert path.read_bytes() == before
    assert read(path, robot, node='')[0].get(LIFT) == (1.0 if has_numbers else None)


def test_folder_that_does_not_exist(path, robot):
    """It is an error in reading, when the node is configured, and not only in writing."""
    with pytest.raises(ParameterError, match='No such file or directory'):
        read(path.parent / 'none' / 'tuned.json', robot)


GOOD = '{"node": "/transmission_bridge", "transmissions": {%s}}'
BAD = [
    '', '{', '[]', '1', 'null', '{}', '{"node": "/transmission_bridge"}', '[' * 100_000, '\ud800',
    GOOD % '"a": 1', GOOD % '"a": {}', GOOD % '"a": {"type": "b"}', GOOD.replace('{%s}', '[]'),
    GOOD % '"a": {"type": "b", "numbers": {"c": 1}}',
    GOOD % '"a": {"type": "b", "numbers": {"c": [1, 2, 3]}}',
    GOOD % '"a": {"type": "b", "numbers": {"c": ["d", 2]}}',
    GOOD % '"a": {"type": "b", "numbers": {"c": [1, 2], "c": [1, 2]}}',
    GOOD % '"a": {"type": "b", "numbers": {}}, "a": {"type": "b", "numbers": {}}',
    GOOD.replace('{"n', '{"node": "/transmission_bridge", "n') % '',
]  # fmt: skip


@pytest.mark.parametrize('text', BAD)
def test_file_that_no_bridge_wrote(path, robot, text):
    """It is rejected in one sentence, in reading and before it would be overwritten."""
    data = text.encode('utf-8', 'surrogatepass')
    path.write_bytes(data)
    check_refusal(path, robot, 'cannot be used')
    assert path.read_bytes() == data


@pytest.mark.parametrize('make', [os.mkfifo, os.mkdir])
@pytest.mark.parametrize('is_link', [False, True])
def test_only_a_regular_file_is_read(path, robot, make, is_link):
    """Anything else is rejected at once: to open a pipe would wait for ever."""
    target = path.with_suffix('.other') if is_link else path
    make(target)
    if is_link:
        path.symlink_to(target)
    check_refusal(path, robot, 'found a folder, pipe, socket or device')
