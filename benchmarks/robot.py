# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The robot of the benchmarks: simple, differential and four-bar transmissions, mixed."""

from __future__ import annotations

TYPES = {1: 'Simple', 2: 'Differential', 3: 'FourBarLinkage'}


def robot_urdf(n_joints: int) -> str:
    """
    Return a URDF with this many joints, driven by as many actuators.

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
    return (
        f'<robot name="benchmark_{n_joints}">{"".join(links)}{"".join(joints)}'
        '<ros2_control name="drives" type="system"><hardware><plugin>none/None</plugin></hardware>'
        f'{"".join(blocks)}{"".join(transmissions)}</ros2_control></robot>'
    )


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
