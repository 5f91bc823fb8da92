# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The robot of the benchmarks: simple, differential and four-bar transmissions, mixed."""

from __future__ import annotations

import re

TYPES = {1: 'Simple', 2: 'Differential', 3: 'FourBarLinkage'}


#: Position-dependent transmissions in place of the first simple one and the first differential.
BENT = (
    """<transmission name="crank"><plugin>transmission_bridge/CrankSliderTransmission</plugin>
    <param name="crank_radius">0.04</param><param name="rod_length">0.12</param>
    <param name="crank_angle">1.6</param><param name="stroke_at_zero">0.12</param>
    <joint name="joint_0" role="joint1"/><actuator name="motor_0" role="actuator1"/>
    </transmission>""",
    """<transmission name="ankle"><plugin>transmission_bridge/ParallelAnkleTransmission</plugin>
    <joint name="joint_1" role="joint1" lower="-0.9" upper="0.6"/>
    <joint name="joint_2" role="joint2" lower="-0.4" upper="0.4"/>
    <actuator name="motor_1" role="actuator1"><param name="motor_position">0 0.05 0.24</param>
    <param name="crank_radius">0.05</param><param name="rod_length">0.24</param>
    <param name="foot_attachment">0.05 0.05 0</param></actuator>
    <actuator name="motor_2" role="actuator2"><param name="motor_position">0 -0.05 0.15</param>
    <param name="crank_radius">0.05</param><param name="rod_length">0.15</param>
    <param name="foot_attachment">0.05 -0.05 0</param></actuator></transmission>""",
)


#: Of every actuator, each with another scale.
UNITS = (
    '<param name="position_unit">turn</param><param name="velocity_unit">rpm</param>'
    '<param name="effort_unit">A</param><param name="torque_constant">0.08</param>'
)


def robot_urdf(n_joints: int, *, nonlinear: bool = False, units: bool = False) -> str:
    """
    Return a URDF with this many joints, driven by as many actuators.

    :param nonlinear: Whether two of the transmissions are position-dependent.
    :param units: Whether the drivers have units of their own.

    Of each five joints one has a simple transmission, two share a differential, two a four-bar
    linkage; what is left over is simple.
    """
    links, joints, blocks, transmissions = ['<link name="link_0"/>'], [], [], []
    for k in range(n_joints):
        links.append(f'<link name="link_{k + 1}"/>')
        joints.append(
            f'<joint name="joint_{k}" type="revolute"><parent link="link_{k}"/>'
            f'<child link="link_{k + 1}"/><axis xyz="0 0 1"/>'
            '<limit lower="-100" upper="100" velocity="1000" effort="100000"/></joint>'
        )
        interfaces = ''.join(
            f'<command_interface name="{name}"/><state_interface name="{name}"/>'
            for name in ('position', 'velocity', 'effort')
        )
        blocks.append(f'<joint name="joint_{k}">{interfaces}</joint>')
    first = 0
    for kind in _kinds(n_joints):
        members = range(first, first + (1 if kind == 1 else 2))
        transmissions.append(_transmission(kind, members))
        first = members[-1] + 1
    if nonlinear:
        transmissions[:2] = [' '.join(text.split()) for text in BENT]
    text = ''.join(transmissions)
    if units:
        text = re.sub('(<actuator [^>]*?)(/?)>', _with_units, text)
    return (
        f'<robot name="benchmark_{n_joints}">{"".join(links)}{"".join(joints)}'
        '<ros2_control name="drives" type="system"><hardware><plugin>none/None</plugin></hardware>'
        f'{"".join(blocks)}{text}</ros2_control></robot>'
    )


def _with_units(found: re.Match[str]) -> str:
    return f'{found[1]}>{UNITS}' + '</actuator>' * bool(found[2])


def _kinds(n_joints: int) -> list[int]:
    kinds = []
    left = n_joints
    for kind in (kind for _ in range(n_joints) for kind in (1, 2, 3)):
        size = 1 if kind == 1 else 2
        if size <= left:
            kinds.append(kind)
            left -= size
    return kinds


def _transmission(kind: int, members: range) -> str:
    name = f'transmission_{members[0]}'
    parts = [f'<plugin>transmission_interface/{TYPES[kind]}Transmission</plugin>']
    for role, k in enumerate(members, 1):
        ratio = (-1) ** k * (30 + k)
        parts.append(
            f'<actuator name="motor_{k}" role="actuator{role}">'
            + (f'<mechanical_reduction>{ratio}</mechanical_reduction>' if kind > 1 else '')
            + '</actuator>'
        )
    for role, k in enumerate(members, 1):
        ratio = 2 if kind > 1 else 50 + k
        parts.append(
            f'<joint name="joint_{k}" role="joint{role}">'
            f'<mechanical_reduction>{ratio}</mechanical_reduction><offset>0.1</offset></joint>'
        )
    return f'<transmission name="{name}">{"".join(parts)}</transmission>'
