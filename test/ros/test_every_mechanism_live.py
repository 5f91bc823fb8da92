# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A robot with every mechanism of the document, its drivers in units of their own, by hand."""

from __future__ import annotations

from functools import partial
import math
from pathlib import Path
import re

import numpy as np
import pytest

from transmission_bridge.messages.joint_state import JointStateRecord

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = pytest.mark.ros

DOCUMENT = Path(__file__).parents[2] / 'docs' / 'transmissions.md'
TURN = math.tau
FIELDS = ('position', 'velocity', 'effort')

#: Units of what turns and of what slides, in turn, and what their numbers are in SI.
TURNING = [
    ('turn', 'rpm', 'A', '<param name="torque_constant">0.5</param>', (TURN, TURN / 60.0, 0.5)),
    ('deg', 'deg/s', 'mN m', '', (TURN / 360.0, TURN / 360.0, 1e-3)),
    (
        'tick',
        '2 rpm',
        'percent',
        '<param name="ticks_per_turn">4096</param><param name="rated_effort">3</param>',
        (TURN / 4096.0, TURN / 30.0, 0.03),
    ),
]
SLIDING = [
    ('mm', 'mm/s', 'N', '', (1e-3, 1e-3, 1.0)),
    ('m', 'mm/s', 'A', '<param name="torque_constant">40</param>', (1.0, 1e-3, 40.0)),
]
SLIDERS = ('knee_slider', 'boom_cylinder')
SLIDING_JOINTS = ('lift_joint', 'gripper_joint')


def inverses() -> dict[tuple[str, ...], tuple[tuple[str, ...], object, tuple[float, ...]]]:
    """Return, by the joints' names, actuators, their positions by hand, and where to look."""

    def differential(q):
        one, two = q[0] - 0.2, q[1]
        return 50.0 * (one + two), -50.0 * (one - two)

    def four_bar(q):
        return 80.0 * q[0], 80.0 * (q[0] + q[1] + 1.5)

    def coupled(q):
        return np.linalg.solve([[1.5, 3.2], [3.1, 1.4]], [q[0] - 0.1, q[1]]) * [50.0, -50.0]

    def screw(q):
        return (3.0 * TURN / 0.005 * (q[0] - 0.2),)

    def guided(q):
        phi = 1.6 + q[0]
        slid = 0.04 * math.cos(phi) + math.sqrt(0.12**2 - (0.04 * math.sin(phi) - 0.015) ** 2)
        return (slid - 0.08,)

    def hinged(q):
        return (math.sqrt(0.25**2 + 0.9**2 - 2.0 * 0.25 * 0.9 * math.cos(1.2 + q[0])) - 0.7,)

    def ankle(q):
        (cp, sp), (cr, sr) = ((math.cos(each), math.sin(each)) for each in q)
        foot = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
        foot = foot @ np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
        legs = (
            (np.array([0.0, 0.05, 0.24]), 0.24, foot @ [0.05, 0.05, 0.0]),
            (np.array([0.0, -0.05, 0.15]), 0.15, foot @ [0.05, -0.05, 0.0]),
        )

        def missing(leg, angle):
            motor, rod, end = leg
            crank = 0.05 * np.array([math.cos(angle), 0.0, -math.sin(angle)])
            return np.linalg.norm(end - motor - crank) - rod

        return [15.0 * root(partial(missing, leg)) for leg in legs]

    def four_bar_knee(q):
        lever = np.array([0.05 * math.cos(q[0]), -0.35 - 0.05 * math.sin(q[0])])

        def missing(angle):
            horn = np.array([0.03 + 0.04 * math.cos(angle), -0.05 - 0.04 * math.sin(angle)])
            return np.linalg.norm(horn - lever) - math.hypot(0.07 - 0.05, 0.3)

        return (16.0 * root(missing),)

    def table(q):
        # At a measured point every curve through the points is that point; its slope is not.
        return (4.0 * np.interp(q[0], [0.062, 0.090], [1.5, 2.0]),)

    return {
        ('hinge',): (('hinge_motor',), lambda q: (-50.0 * (q[0] - 0.1),), (0.4,)),
        ('neck_pitch', 'neck_roll'): (
            ('neck_left_motor', 'neck_right_motor'),
            differential,
            (0.3, -0.2),
        ),
        ('upper_arm', 'forearm'): (('upper_arm_motor', 'forearm_motor'), four_bar, (0.2, -1.1)),
        ('finger_proximal', 'finger_middle', 'finger_distal'): (
            ('finger_motor',),
            lambda q: (20.0 * q[0],),
            (0.5, 0.4, 0.25),
        ),
        ('wrist_pitch', 'wrist_roll'): (('wrist_motor_1', 'wrist_motor_2'), coupled, (0.3, 0.5)),
        ('lift_joint',): (('lift_motor',), screw, (0.25,)),
        ('knee_joint',): (('knee_slider',), guided, (0.4,)),
        ('boom_joint',): (('boom_cylinder',), hinged, (-0.3,)),
        ('left_ankle_pitch', 'left_ankle_roll'): (
            ('left_ankle_upper', 'left_ankle_lower'),
            ankle,
            (0.2, -0.1),
        ),
        ('knee',): (('knee_motor',), four_bar_knee, (0.3,)),
        ('gripper_joint',): (('gripper_motor',), table, (0.062,)),
        ('wheel',): (('wheel',), lambda q: (q[0],), (1.25,)),
    }


def root(missing, low=-0.9, high=0.9):
    """Return the root of a function of one angle, to the last digits."""
    assert missing(low) * missing(high) < 0.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if missing(low) * missing(middle) > 0.0 else (low, middle)
    return 0.5 * (low + high)


def derivative(inverse, q, step=1e-5):
    """Return ``da/dq`` by differences of the fourth order."""
    columns = []
    for unit in np.eye(len(q)):
        near, far = (
            (np.asarray(inverse(q + k * step * unit)) - np.asarray(inverse(q - k * step * unit)))
            / (2.0 * k * step)
            for k in (1, 2)
        )
        columns.append((4.0 * near - far) / 3.0)
    return np.array(columns).T


def units_of(actuators):
    """Return the parameters of each actuator's units, and what its numbers are in SI."""
    texts, scales, counts = {}, {}, {True: 0, False: 0}
    for name in actuators:
        slides = name in SLIDERS
        kinds = SLIDING if slides else TURNING
        position, velocity, effort, constants, scale = kinds[counts[slides] % len(kinds)]
        counts[slides] += 1
        texts[name] = (
            f'<param name="position_unit">{position}</param>'
            f'<param name="velocity_unit">{velocity}</param>'
            f'<param name="effort_unit">{effort}</param>{constants}'
        )
        scales[name] = np.array(scale)
    return texts, scales


@pytest.fixture
def robot():
    """Return the text of the robot, and the scales of each actuator."""
    text = DOCUMENT.read_text(encoding='utf-8')
    blocks = re.findall(r'^<transmission .*?^</transmission>$', text, re.DOTALL | re.MULTILINE)
    leg = re.search(r'<robot name="leg">.*?</robot>', text, re.DOTALL)[0]
    known = {name for actuators, _, _ in inverses().values() for name in actuators}
    chosen = ''.join(
        block for block in blocks if set(re.findall(r'actuator name="(\w+)"', block)) <= known
    )
    texts, scales = units_of(sorted(known - {'wheel'}))
    slides = '<limit lower="-1" upper="1" velocity="9" effort="9000"/>'
    joints = ''.join(
        f'<link name="l_{name}"/>'
        f'<joint name="{name}" type="{"prismatic" if name in SLIDING_JOINTS else "continuous"}">'
        f'<parent link="thigh"/><child link="l_{name}"/><axis xyz="0 1 0"/>'
        f'{slides if name in SLIDING_JOINTS else ""}</joint>'
        for names in inverses()
        for name in names
        if name != 'knee'
    )
    urdf = leg.replace('<ros2_control ', f'{joints}<ros2_control ')
    commanded = ''.join(
        f'<joint name="{name}">'
        + ''.join(f'<command_interface name="{each}"/>' for each in FIELDS)
        + '</joint>'
        for names in inverses()
        for name in names
        if name not in ('knee', 'wheel')
    )
    urdf = urdf.replace('</ros2_control>', f'{commanded}{chosen}</ros2_control>')
    for name, parameters in texts.items():
        urdf, closed = re.subn(
            rf'<actuator name="{name}" role="(\w+)"/>',
            rf'<actuator name="{name}" role="\1">{parameters}</actuator>',
            urdf,
        )
        if not closed:
            urdf = re.sub(rf'(<actuator name="{name}" [^>]*>)', rf'\1{parameters}', urdf)
    scales['wheel'] = np.array([TURN / 360.0, TURN / 360.0, 1.0])
    return urdf, scales


def by_name(record, field):
    """Return a row of a message by name."""
    return dict(zip(record.names, np.asarray(getattr(record, field)).tolist(), strict=True))


def test_every_mechanism_with_the_units_of_its_driver(live, robot):
    """Positions, velocities and efforts in both directions follow the formulas, in SI outside."""
    urdf, scales = robot
    units = '["wheel=position_unit:deg"]'
    process, peer = live(urdf=urdf, actuator_units=units, state_timeout=0.0)
    random = np.random.default_rng(5)
    expected = {}  # position, velocity and effort of joints, and of actuators as drivers have them
    for joints, (actuators, inverse, q) in inverses().items():
        q = np.array(q)
        slope = derivative(inverse, q)
        rate = random.normal(size=len(q)) * 0.1
        if len(joints) > len(actuators):
            rate = rate[0] * q / q[0]
        push = random.normal(size=len(actuators))
        # Power is conserved: the effort of joints is what the motors' rates say.
        effort = slope.T @ push
        if len(joints) > len(actuators):
            # Of three joints, what one motor gives is that which it feels.
            effort = np.linalg.pinv(np.array([[1.0, 0.8, 0.5]]) / 20.0) @ push
        motor = np.array([inverse(q), slope @ rate, push])
        for name, numbers in zip(joints, np.array([q, rate, effort]).T, strict=True):
            expected[name, 'joint'] = numbers
        for name, numbers in zip(actuators, motor.T, strict=True):
            expected[name, 'actuator'] = numbers / scales[name]
    joint_names, motor_names = (
        [name for name, kind in expected if kind == space] for space in ('joint', 'actuator')
    )
    motors = np.array([expected[name, 'actuator'] for name in motor_names]).T
    driver, states = peer.publisher('actuator_states'), peer.listen('joint_states')
    message = JointStateRecord((7, 0), '', tuple(motor_names), *motors)
    (found,) = peer.exchange(driver, message, states)
    # A curve's slope at a measured point is its own; only its position is by hand.
    curve = 'gripper_joint'
    for row, field in enumerate(FIELDS):
        values = by_name(found, field)
        assert set(joint_names) <= values.keys()
        for name in joint_names:
            if row == 0 or name != curve:
                wanted = expected[name, 'joint'][row]
                assert values[name] == pytest.approx(wanted, rel=1e-7, abs=1e-9), (name, field)
    controller, sent = peer.publisher('joint_commands'), peer.listen('actuator_commands')
    for row, field in enumerate(FIELDS):
        rows = [np.empty(0)] * 3
        rows[row] = np.array([expected[name, 'joint'][row] for name in joint_names])
        message = JointStateRecord((8 + row, 0), '', tuple(joint_names), *rows)
        (found,) = peer.exchange(controller, message, sent)
        values = by_name(found, field)
        assert values.keys() == set(motor_names)
        for name in motor_names:
            if row == 0 or name != 'gripper_motor':
                wanted = expected[name, 'actuator'][row]
                assert values[name] == pytest.approx(wanted, rel=1e-7, abs=1e-6), (name, field)
    process.ends_well()
