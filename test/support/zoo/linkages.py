# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Descriptions of linkages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

TYPE = 'transmission_bridge/LinkageTransmission'


def joint(
    name: str,
    parent: str,
    child: str,
    xyz: complex | Sequence[float] = (0.0, 0.0, 0.0),
    axis: Sequence[float] = (0.0, 1.0, 0.0),
    kind: str = 'revolute',
    limit: tuple[float, float] = (-1.5, 1.5),
    rpy: Sequence[float] = (0.0, 0.0, 0.0),
    more: str = '',
    rates: tuple[float, float] = (10.0, 100.0),
) -> str:
    """Return a joint with its child link; a number is the place x + iy, ``rates`` its limits."""
    if isinstance(xyz, (complex, float, int)):
        xyz = (complex(xyz).real, complex(xyz).imag, 0.0)
    place, turn = (' '.join(map(repr, map(float, each))) for each in (xyz, rpy))
    text = f'<link name="{child}"/><joint name="{name}" type="{kind}">'
    text += f'<parent link="{parent}"/><child link="{child}"/>'
    text += f'<origin xyz="{place}" rpy="{turn}"/>'
    if kind != 'fixed':
        text += f'<axis xyz="{" ".join(map(repr, map(float, axis)))}"/>'
        text += f'<limit lower="{limit[0]}" upper="{limit[1]}" '
        text += f'velocity="{rates[0]}" effort="{rates[1]}"/>'
    return text + more + '</joint>'


def starts(**positions: float) -> str:
    """Return where joints are at the start."""
    return ''.join(
        f'<start joint="{name}" position="{position!r}"/>' for name, position in positions.items()
    )


def robot(
    body: str,
    motors: Mapping[str, str],
    joints: Sequence[str],
    loops: str,
    more: str = '',
    actuator: str = '',
) -> str:
    """
    Return a URDF with one linkage.

    :param motors: The driven joint of each actuator.
    :param actuator: Elements inside each actuator.
    """
    named = ''.join(
        f'<actuator name="{name}" role="actuator{k}"><param name="joint">{driven}</param>'
        f'{actuator}</actuator>'
        for k, (name, driven) in enumerate(motors.items(), 1)
    )
    commanded = ''.join(
        f'<joint name="{name}" role="joint{k}"/>' for k, name in enumerate(joints, 1)
    )
    declared = ''.join(
        f'<joint name="{name}"><command_interface name="position"/></joint>' for name in joints
    )
    return (
        f'<robot name="own"><link name="base"/>{body}'
        f'<ros2_control name="s" type="system"><hardware><plugin>x/X</plugin></hardware>{declared}'
        f'<transmission name="linkage"><plugin>{TYPE}</plugin>{named}{commanded}{loops}{more}'
        '</transmission></ros2_control></robot>'
    )
