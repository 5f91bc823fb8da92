# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Small robots to put one thing into."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

LINKS = ''.join(f'<link name="l{number}"/>\n' for number in range(5))


def _joint(number: int) -> str:
    return (
        f'<joint name="j{number}" type="revolute">'
        f'<parent link="l{number - 1}"/><child link="l{number}"/><axis xyz="0 0 1"/>'
        '<limit lower="-1" upper="1" effort="10" velocity="2"/></joint>\n'
    )


JOINTS = ''.join(_joint(number) for number in range(1, 5))
COMPONENTS = ''.join(
    f'<joint name="j{number}"><command_interface name="position"/>'
    '<state_interface name="position"/><state_interface name="velocity"/></joint>\n'
    for number in range(1, 5)
)


@pytest.fixture
def data() -> Path:
    """The folder of the test data."""
    return Path(__file__).parents[1] / 'data'


@pytest.fixture
def robot() -> Callable[..., str]:
    """Return a function that puts elements into a robot of four revolute joints, j1 to j4."""

    def build(*elements: str, joints: str = JOINTS, links: str = LINKS) -> str:
        return '<robot name="small">\n' + links + joints + '\n'.join(elements) + '\n</robot>\n'

    return build


@pytest.fixture
def block(robot: Callable[..., str]) -> Callable[..., str]:
    """Return a function that puts elements into a ros2_control block of that robot."""

    def build(
        *elements: str,
        attributes: str = 'name="hw" type="system"',
        components: str = COMPONENTS,
        **kinematics: str,
    ) -> str:
        return robot(
            f'<ros2_control {attributes}>\n{components}' + '\n'.join(elements) + '</ros2_control>',
            **kinematics,
        )

    return build
