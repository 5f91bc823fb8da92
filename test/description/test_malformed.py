# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Malformed, mutilated and arbitrary input: each cause is one error, and the rest loads."""

from pathlib import Path
import re

from hypothesis import given, settings, strategies as st
import pytest
from zoo import four_joints

from transmission_bridge.errors import DescriptionError

DATA = Path(__file__).parents[1] / 'data'
MALFORMED = sorted(DATA.glob('description/*.urdf'))


@pytest.mark.parametrize('file', MALFORMED, ids=lambda file: file.stem)
def test_one_cause_is_one_error_and_costs_one_transmission(file):
    """A comment on the line of the cause has the path and the words of its error."""
    text = file.read_text(encoding='utf-8')
    before, path, words = re.split(r'<!-- here: (\S+) \| (.*?) -->', text)[:3]
    loaded = four_joints.load(text)
    finding, *later = loaded.errors
    assert (finding.line, finding.path) == (before.count('\n') + 1, path)
    assert words in finding.message
    # A joint that is lost costs its transmission too.
    assert len(later) == file.stem.startswith('urdf_')
    for error in later:
        assert (finding.subject, error.subject) == ('j1', 'bad')
        assert "joint 'j1' of line" in error.message
    assert [each.name for each in loaded.transmissions] == ['good']
    expected = {'no_name': '', 'name_taken': 'good'}.get(file.stem.partition('_')[2], 'bad')
    assert [each.name for each in loaded.rejected] == [expected]


# fmt: off
FRAGMENTS = st.sampled_from([
    '<', '>', '/>', '</', '"', '&', ';', '<!--', '-->', ']]>', '<![CDATA[', '<?', 'nan', '1e999',
    '\0', '\ufeff', '<!DOCTYPE', '<transmission>', 'role="joint1"', 'name=""', '</robot>',
    '<joint name="j1"/>', '<ros2_control name="a" type="actuator">', '<mimic joint="j1"/>',
    ' type="x"',
])
# fmt: on


EDGES = ('r1_places', 'r1_default_ns', 'r2_mimic_ok', 'r2_actuator_type')
FILES = [*(DATA / 'edge' / f'{name}.urdf' for name in EDGES), *MALFORMED]
SAMPLES = [path.read_text(encoding='utf-8') for path in FILES]


@settings(max_examples=100)
@given(st.data())
def test_mutilated_robots_end_well(data):
    """
    Robots with pieces cut out, doubled, moved or replaced are refused or read.

    A description that is read holds every promise of one.
    """
    text = data.draw(st.sampled_from(SAMPLES))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 60)))
        pieces = FRAGMENTS | st.just('') | st.text(max_size=3) | st.just(text[start:end] * 2)
        text = text[:start] + data.draw(pieces) + text[end:]
    source = text.encode('utf-8', 'surrogatepass') if data.draw(st.booleans()) else text or '<'
    try:
        robot = four_joints.load(source)
    except DescriptionError as error:
        if not str(error):
            raise
        return
    members = [each for spec in robot.transmissions for each in (*spec.joints, *spec.actuators)]
    ratios = [each.mechanical_reduction for each in members]
    assert all(ratio != 0.0 and abs(ratio) < float('inf') for ratio in ratios)
    assert all(spec.joints and spec.actuators and spec.type for spec in robot.transmissions)
    assert len({spec.name for spec in robot.transmissions}) == len(robot.transmissions)
    joints = [member.name for spec in robot.transmissions for member in spec.joints]
    assert len(set(joints)) == len(joints)
    if robot.joints:
        assert {joint.name for joint in robot.joints if joint.is_scalar}.issuperset(joints)
    assert bool(robot.rejected) <= bool(robot.errors)
    lines = [finding.line for finding in robot.findings]
    assert None not in lines
    assert lines == sorted(lines)
    for finding in robot.findings:
        assert finding.path.startswith('/')
        assert finding.severity == 'info' or (finding.expected and finding.found)
