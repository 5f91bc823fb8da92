# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Loops from every format: the same leg in each, and what has no match."""

from __future__ import annotations

import re

import numpy as np
import pytest
from zoo.linkages import joint

import transmission_bridge as tb
from transmission_bridge.errors import DescriptionError
from transmission_bridge.tools.loops.mjcf import Mjcf, read_mjcf

#: The five-bar leg of docs/transmissions.md. Its body does not stand in the origin of the world.
LEG = """<mujoco>
  <default><default class="turned"><joint axis="0 1 0"/></default></default>
  <worldbody>
    <body name="body" pos="0.1 0.2 0.8" euler="0 0 30">
      <body name="thigh" childclass="turned"><joint name="hip"/>
        <body name="shin" pos="0 0 -0.3"><joint name="knee"/>
          <site name="pin" pos="0.06 0 0"/></body></body>
      <body name="crank" pos="0 0 0.08"><joint name="knee_crank" axis="0 1 0"/>
        <body name="rod" pos="0.06 0 0"><joint name="knee_rod" axis="0 1 0"/>
          <site name="tip" pos="0 0 -0.38"/></body></body>
    </body>
  </worldbody>
  <actuator><motor name="hip_motor" joint="hip" gear="9"/>
    <position name="knee_motor" joint="knee_crank" gear="9"/></actuator>
  <equality>{}</equality>
</mujoco>
"""
SOURCES = {
    'connect by bodies': LEG.format('<connect body1="rod" body2="shin" anchor="0 0 -0.38"/>'),
    'connect by sites': LEG.format('<connect site1="tip" site2="pin"/>'),
    'loop_closures.yaml': """closures:
- {link_a: rod, link_b: shin, point: [0.06, 0, -0.3], axis: [0, 1, 0]}
independent: [hip, knee_crank]
dependent: [knee, knee_rod]
""",
    'robot.yaml': """closed_loop: [['rod_tip', 'shin_lever']]
type: ['3d']
name_mot: ['hip', 'knee_crank']
""",
}  # fmt: skip


def without_blocks(text):
    """Return a URDF without its transmissions."""
    return re.sub(r' *<ros2_control.*</ros2_control>\n', '', text, flags=re.DOTALL)


@pytest.fixture
def leg(save, linkages):
    """Return the file of the five-bar leg without transmissions."""
    return save(without_blocks(linkages['five_bar']), 'leg.urdf')


@pytest.fixture
def from_source(run, save, leg):
    """Return a function that runs the command on a source text."""

    def call(text, *options, robot=leg):
        return run('loops', robot, '--from', save(text, 'source'), *options)

    return call


@pytest.mark.parametrize('source', SOURCES)
def test_every_format_gives_the_leg_that_was_written_by_hand(
    from_source, run, tmp_path, linkages, source
):
    """Maps agree to 1e-9, and check works without a further step."""
    out = tmp_path / 'new.urdf'
    result = from_source(SOURCES[source], '--command', 'hip', 'knee', '--output', out)
    result.expect(out='REPLACE_ME')
    made, by_hand = (
        tb.RobotTransmissions(tb.load_description(text, strict=False))
        for text in (out.read_bytes(), linkages['five_bar'])
    )
    ratio = 9.0 if source.startswith('connect') else 1.0
    a = np.random.default_rng(0).uniform(-0.4, 0.4, (50, 2))
    q = made.actuator_to_joint('position', a * ratio)
    expected = by_hand.actuator_to_joint('position', a * 9.0)
    for name in ('hip', 'knee'):
        column = q[:, made.joint_names.index(name)]
        assert np.isfinite(column).all()
        assert column == pytest.approx(expected[:, by_hand.joint_names.index(name)], abs=1e-9)
    assert run('check', out).code == 0


def test_closing_frames_are_a_ball_or_with_axes_a_hinge(run, save, linkages):
    """A pair of frames is a loop; a second pair with _z is on the axis of a revolute mate."""
    text = without_blocks(linkages['five_bar'])
    text = text.replace('rod_tip', 'closing_knee_1').replace('shin_pin', 'closing_knee_2')
    path = save(text)
    (mechanism,) = run('loops', path, '--json').json['mechanisms']
    (loop,) = mechanism['loops']
    assert (loop['type'], loop['frames']) == ('point', ['closing_knee_1', 'closing_knee_2'])
    assert (loop['rank'], mechanism['mobility']) == (2, 2)
    ends = 'closing_knee_1', 'closing_knee_2'
    axes = ''.join(joint(f'{end}_joint', end, f'{end}_z', kind='fixed') for end in ends)
    path.write_text(text.replace('</robot>', axes + '</robot>'))
    assert run('loops', path, '--json').json['mechanisms'][0]['loops'][0]['type'] == 'hinge'


def test_a_weld_keeps_the_pose_at_qpos0_or_its_relpose(leg, tmp_path):
    """It is a frame in the first body that coincides with the second body."""
    robot, file = tb.load_description(leg), str(tmp_path / 'm.xml')
    moved = ' relpose="1 2 3 0 0 0 2"'
    for relpose, expected in (('', [-0.06, 0.0, -0.38]), (moved, [1.0, 2.0, 3.0])):
        text = LEG.format(f'<weld body1="rod" body2="shin"{relpose}/>')
        (loop,) = read_mjcf(robot, text.encode(), file).loops
        first, second = loop.frames
        assert (loop.type, first.link, second.link) == ('weld', 'rod', 'shin')
        assert second.is_link
        assert first.pose[:3, 3] == pytest.approx(expected)
        assert first.pose[0, 0] == pytest.approx(-1.0 if relpose else 1.0)


def test_linear_couplings_and_tendons_are_rows_of_a_coupled_transmission(
    from_source, run, save, tmp_path
):
    """The motor of a tendon moves its sum; couplings with ref determine the others."""
    joints = ''.join(joint(f'j{k}', f'l{k - 1}', f'l{k}', limit=(-2.0, 2.0)) for k in (1, 2))
    robot = save(f'<robot name="finger"><link name="l0"/>{joints}\n</robot>\n')
    text = """<mujoco><worldbody><body name="l1"><joint name="j1" ref="10"/>
      <body name="l2"><joint name="j2"/></body></body></worldbody>
      <tendon><fixed name="flexor"><joint joint="j1" coef="0.02"/>
      <joint joint="j2" coef="0.01"/></fixed></tendon>
      <actuator><motor name="spool" tendon="flexor" gear="50"/></actuator>{}</mujoco>"""
    words = 'choose at most 1 with --drive JOINT=MOTOR ...: j1, j2'
    from_source(text.format(''), robot=robot).expect(1, words)
    out = tmp_path / 'out.urdf'
    coupled = '<equality><joint joint1="j2" joint2="j1" polycoef="0.1 0.5 0 0 0"/></equality>'
    from_source(text.format(coupled), '--output', out, robot=robot).expect()
    maps = tb.RobotTransmissions(tb.load_description(out, strict=True))
    (q,) = maps.actuator_to_joint('position', [[0.6]])
    assert maps.actuator_names == ('spool',)
    assert 50.0 * (0.02 * q[0] + 0.01 * q[1]) == pytest.approx(0.6)
    assert q[1] == pytest.approx(0.1 + 0.5 * (q[0] - np.radians(10)))
    assert run('check', out).code == 0


def test_poses_of_bodies_and_sites_equal_those_of_mujoco(save):
    """With every form of orientation, frames, default classes and included files."""
    mujoco = pytest.importorskip('mujoco')
    included = """<mujocoinclude>
      <body name="b" pos="1 2 3" axisangle="1 2 3 40" childclass="c"><geom size="1"/>
      <frame pos="0 1 0" xyaxes="0 1 0 -1 0 0.2"><site name="s" zaxis="1 2 -3"/>
      <body name="d" euler="10 20 30"><geom size="1"/><site name="t" class="main"/></body></frame>
      <site name="u"/></body></mujocoinclude>"""
    save(included, 'arm.xml')
    text = """<mujoco><compiler eulerseq="XyZ"/><default><site pos="0 0 1"/>
      <default class="c"><site quat="1 2 0 0"/></default></default>
      <worldbody><include file="arm.xml"/></worldbody></mujoco>"""
    path = save(text, 'model.xml')
    ours = Mjcf(path.read_bytes(), str(path))
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    for name in 'bd':
        pose = ours.bodies[name].pose
        assert pose[:3, 3] == pytest.approx(data.body(name).xpos, abs=1e-12)
        assert pose[:3, :3].ravel() == pytest.approx(data.body(name).xmat, abs=1e-12)
    for name in 'stu':
        body, inner = ours.sites[name]
        pose = body.pose @ inner
        assert pose[:3, 3] == pytest.approx(data.site(name).xpos, abs=1e-12)
        assert pose[:3, :3].ravel() == pytest.approx(data.site(name).xmat, abs=1e-12)


CONNECT = SOURCES['connect by bodies']


@pytest.mark.parametrize(('text', 'words'), [
    (CONNECT.replace('"rod"', '"rods"'), "found 'rods' (closest: 'rod')"),
    (CONNECT.replace('pos="0.06 0 0"', 'pos="0.07 0 0"'), "body 'crank' in the frame"),
    (CONNECT.replace('anchor="0 0', 'anchor="0 x'), "anchor: expected numbers as '0 0 0'"),
    (CONNECT.replace('class="turned"', 'class="other"', 1), "found 'turned'"),
    *((CONNECT.replace('<equality>', f'<include file="{name}"/><equality>'), 'the same folder')
      for name in ('/etc/passwd', '../../../../../../etc/passwd', '/dev/zero', 'absent.xml')),
    (SOURCES['robot.yaml'].replace('rod_tip', 'rot_tip'), "closest: 'rod_tip'"),
    (SOURCES['robot.yaml'].replace("'3d'", "'4d'"), "type 3d or 6d, found '4d'"),
    (SOURCES['robot.yaml'].replace("'hip'", "'hop'"), 'name_mot: expected a joint'),
    (SOURCES['loop_closures.yaml'].replace('link_a: rod', 'link_a: rode'), "closest: 'rod'"),
    (SOURCES['loop_closures.yaml'].replace('[0, 1, 0]', '[0, 0, 0]'), 'axis: expected three'),
    ('closures: &a [*a]', 'alias'),
    ('transmissions: 1', 'expected an MJCF, or YAML with closures or closed_loop'),
    ('<mujoco/>', 'expected loops or couplings, found none'),
])  # fmt: skip
def test_what_has_no_match_is_an_error_with_the_nearest_names(from_source, text, words):
    """One sentence gives the place, the expectation and the finding; nothing is printed."""
    result = from_source(text).expect(2, err=words)
    assert (result.out, result.err.count('\n')) == ('', 1)


def test_entities_are_refused(tmp_path):
    """A DOCTYPE with declarations is an error before anything expands."""
    data = b'<!DOCTYPE mujoco [<!ENTITY a "b">]><mujoco>&a;</mujoco>'
    with pytest.raises(DescriptionError, match='DOCTYPE'):
        Mjcf(data, str(tmp_path / 'm.xml'))
