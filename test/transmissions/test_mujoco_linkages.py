# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The worked linkages against MuJoCo, which closes the same loops by equality constraints."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from transmission_bridge import load_description, RobotDescription, RobotTransmissions
from transmission_bridge.transmissions.interfaces import ACTUATOR_TO_JOINT, JOINT_TO_ACTUATOR

mujoco = pytest.importorskip('mujoco', reason='the MuJoCo wheel is not installed')

Array = npt.NDArray[np.float64]

#: Positions, velocities and forces agree to this.
TOLERANCE = 1e-9

COUNT = 50


class ClosedModel:
    """
    A robot as a MuJoCo model.

    :param robot: Its joints and links.
    :param closures: Kind of constraint and the two links of each loop.
    """

    def __init__(self, robot: RobotDescription, closures: list[tuple[str, str, str]]) -> None:
        frames = {link for _, *links in closures for link in links}
        children: dict[str, list[str]] = {}
        joints = {joint.child: joint for joint in robot.joints}
        for child, joint in joints.items():
            children.setdefault(joint.parent, []).append(child)

        def body(link: str) -> str:
            inside = ''.join(map(body, children.get(link, [])))
            if link in frames:
                inside = f'<site name="{link}"/>' + inside
            if link not in joints:
                return inside
            joint = joints[link]
            assert joint.origin.rpy == (0.0, 0.0, 0.0)
            moved = ''
            if joint.type != 'fixed':
                moved = f'<joint name="{joint.name}" type="hinge" axis="{_text(joint.axis)}"/>'
            mass = '<geom type="sphere" size="0.001" mass="1" contype="0" conaffinity="0"/>'
            return f'<body pos="{_text(joint.origin.xyz)}">{moved}{mass}{inside}</body>'

        (root,) = (link.name for link in robot.links if link.name not in joints)
        equality = ''.join(
            f'<{kind} site1="{one}" site2="{other}"/>' for kind, one, other in closures
        )
        self.model = mujoco.MjModel.from_xml_string(
            '<mujoco><compiler angle="radian"/><option jacobian="dense"/>'
            f'<worldbody>{body(root)}</worldbody><equality>{equality}</equality></mujoco>'
        )
        self.data = mujoco.MjData(self.model)
        self.joints = [self.model.joint(k).name for k in range(self.model.njnt)]

    def constraints(self, position: Array) -> tuple[Array, Array]:
        """Return residual and Jacobian of the loops."""
        self.data.qpos[:] = position
        self.data.qvel[:] = 0.0
        mujoco.mj_forward(self.model, self.data)
        rows = self.data.ne
        jacobian = np.array(self.data.efc_J).reshape(-1, self.model.nv)[:rows]
        return np.array(self.data.efc_pos[:rows]), jacobian

    def bias(self, position: Array, velocity: Array, step: float = 1e-5) -> Array:
        """Return the rate of the Jacobian times the velocity, by differences."""
        ahead, behind = (self.constraints(position + way * velocity)[1] for way in (step, -step))
        return (ahead - behind) @ velocity / (2.0 * step)

    def closed(self, position: Array, free: Array) -> Array:
        """Return the position with some joints moved such that the loops close."""
        position = position.copy()
        for _ in range(50):
            residual, jacobian = self.constraints(position)
            step = np.linalg.lstsq(jacobian[:, free], residual, rcond=1e-9)[0]
            position[free] -= step
            if np.abs(step).max() < 1e-14:
                break
        return position


def _text(vector: tuple[float, ...]) -> str:
    return ' '.join(map(repr, vector))


def with_balls(text: str) -> str:
    """Return the ankle with balls of three joints at the foot, and welds behind them."""
    joints = ''
    for side in ('upper', 'lower'):
        parent = f'{side}_tip'
        for axis, numbers in (('x', '1 0 0'), ('y', '0 1 0'), ('z', '0 0 1')):
            child = f'{side}_end_{axis}'
            joints += (
                f'<link name="{child}"/><joint name="{child}_joint" type="revolute">'
                f'<parent link="{parent}"/><child link="{child}"/><axis xyz="{numbers}"/>'
                '<limit lower="-3" upper="3" velocity="1" effort="1"/></joint>'
            )
            parent = child
        text = text.replace(
            f'<loop type="point" frame1="{side}_tip"', f'<loop type="weld" frame1="{parent}"'
        )
    return text.replace('<ros2_control', joints + '<ros2_control')


@pytest.mark.parametrize(
    ('name', 'changed', 'constraint'),
    [
        ('five_bar', str, 'connect'),
        ('push_rod_ankle', with_balls, 'weld'),
    ],
)
def test_a_linkage_is_the_one_that_mujoco_closes(
    linkages: dict[str, str], name: str, changed: Callable[[str], str], constraint: str
) -> None:
    """All joints close its loops, move with them, and forces are balanced by theirs alone."""
    robot = load_description(changed(linkages[name]))
    transmissions = RobotTransmissions(robot)
    assert [each for each in transmissions.findings if each.severity == 'error'] == []
    (spec,) = robot.transmissions
    loops = [dict(each.attributes) for each in spec.parameters if each.name == 'loop']
    model = ClosedModel(robot, [(constraint, each['frame1'], each['frame2']) for each in loops])
    names = transmissions.joint_names
    assert set(names) == set(model.joints)
    order = [names.index(joint) for joint in model.joints]
    (binding,) = transmissions.bindings
    commanded = [model.joints.index(member.name) for member in binding.spec.joints]
    driven = {
        'five_bar': ['hip', 'knee_crank'],
        'push_rod_ankle': ['upper_motor', 'lower_motor'],
    }[name]
    motors = [model.joints.index(joint) for joint in driven]
    free = np.array([k for k in range(len(order)) if k not in motors])
    reduction = np.array(binding.transmission.actuator_reduction)

    random = np.random.default_rng(0)
    a = reduction * random.uniform(-0.4, 0.4, (COUNT, 2))
    speed, push, force = random.normal(size=(3, COUNT, 2))

    def mapped(interface: str, values: Array, **options: Array) -> Array:
        return transmissions.map(ACTUATOR_TO_JOINT, interface, values, **options)[:, order]

    q, rate = mapped('position', a), mapped('velocity', speed, at=a)
    acceleration = mapped('acceleration', push, at=a, rate=speed)
    effort = mapped('effort', force, at=a)
    assert np.isfinite(q).all()
    back = np.full((COUNT, len(names)), np.nan)
    back[:, order] = q
    assert np.abs(transmissions.joint_to_actuator('position', back) - a).max() <= TOLERANCE
    at = {'at': back}
    for interface, given, expected in (('velocity', rate, speed), ('effort', effort, force)):
        values = np.full((COUNT, len(names)), np.nan)
        values[:, order] = given
        found = transmissions.map(JOINT_TO_ACTUATOR, interface, values, **at)
        assert np.abs(found - expected).max() <= TOLERANCE * np.abs(values[0]).max()
    for k in range(COUNT):
        residual, jacobian = model.constraints(q[k])
        assert np.abs(residual).max() <= TOLERANCE
        assert np.abs(jacobian @ rate[k]).max() <= TOLERANCE
        bias = model.bias(q[k], rate[k])
        assert np.abs(jacobian @ acceleration[k] + bias).max() <= 1e-6
        # What MuJoCo finds from nearby, with the motors where they are.
        near = q[k].copy()
        near[free] += 0.02 * random.normal(size=len(free))
        assert np.abs(model.closed(near, free) - q[k]).max() <= TOLERANCE
        # The motors, against what the commanded joints carry: the rest are forces of the loops.
        torque = np.zeros(len(order))
        torque[motors] += force[k] * reduction
        torque[commanded] -= effort[k, commanded]
        loops_carry = np.linalg.lstsq(jacobian.T, torque, rcond=1e-9)[0]
        apart = jacobian.T @ loops_carry - torque
        assert np.abs(apart).max() <= TOLERANCE * np.abs(torque).max()
