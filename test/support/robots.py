# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Descriptions of robots."""

from __future__ import annotations

import re


def chain(transmissions: dict[str, str], **joints: str) -> str:
    """
    Return a description of joints in a row with a block of ros2_control.

    :param transmissions: What is in the element of each, by name.
    :param joints: Type, lower, upper, velocity and effort limit of each, by name; empty for joints
        that only the block has.
    """
    parts, parent = ['<link name="base"/>' * any(joints.values())], 'base'
    for name, text in joints.items():
        if not text:
            continue
        kind, lower, upper, velocity, effort = text.split()
        parts.append(
            f'<link name="{name}_link"/><joint name="{name}" type="{kind}"><parent '
            f'link="{parent}"/><child link="{name}_link"/><limit lower="{lower}" upper="{upper}" '
            f'velocity="{velocity}" effort="{effort}"/></joint>'
        )
        parent = f'{name}_link'
    parts.append('<ros2_control name="b" type="system"><hardware><plugin>p</plugin></hardware>')
    parts += [f'<joint name="{name}"/>' for name in joints]
    parts += [
        f'<transmission name="{n}">{text}</transmission>' for n, text in transmissions.items()
    ]
    return '<robot name="r">' + '\n'.join(parts) + '</ros2_control></robot>'


def of_snippet(snippet: str) -> str:
    """Return a robot of the joints of a transmission's text, which all turn, and of the text."""
    joints = re.findall(r'<joint name="([^"]+)"', snippet)
    links = ''.join(f'<link name="{name}_link"/>' for name in ('base', *joints))
    tree = ''.join(
        f'<joint name="{name}" type="continuous"><parent link="base_link"/>'
        f'<child link="{name}_link"/></joint>'
        for name in joints
    )
    declared = ''.join(f'<joint name="{name}"/>' for name in joints)
    return (
        f'<robot name="r">{links}{tree}<ros2_control name="block" type="system"><hardware>'
        f'<plugin>p</plugin></hardware>{declared}{snippet}</ros2_control></robot>'
    )
