# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Which interfaces of which joints a consumer of joint states may be given."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from transmission_bridge.bridge.places import FIELDS
from transmission_bridge.description.specs import RobotDescription

__all__ = ['undeclared_interfaces']

#: Hardware components that read joint states from a topic and fail on an undeclared interface.
_TOPIC_BASED = ('JointStateTopicSystem', 'TopicBasedSystem')


def undeclared_interfaces(
    robot: RobotDescription, names: tuple[str, ...], choice: str
) -> npt.NDArray[np.bool_] | None:
    """
    Return which values are not to be published, or ``None`` if all are.

    ros2_control's topic-based hardware fails when it is given a finite value for a state
    interface that the joint does not declare.

    :param names: The joints published.
    :param choice: ``publish``: all are published; ``hide``: of a joint in a ``<ros2_control>``
        block only the state interfaces that it declares there, or in another block; ``auto``: as
        ``hide`` for joints of blocks whose hardware plugin is topic-based, else as ``publish``.
    :returns: Shape ``(3, n)``, true where the value must stay unknown.
    """
    if choice == 'publish':
        return None
    declared: dict[str, set[str]] = {}
    for block in robot.blocks:
        if choice == 'auto' and not block.plugin.endswith(_TOPIC_BASED):
            continue
        for component in block.components:
            if component.kind == 'joint':
                interfaces = declared.setdefault(component.name, set())
                interfaces.update(interface.name for interface in component.state_interfaces)
    hidden = np.array(
        [[field not in declared.get(name, FIELDS) for name in names] for field in FIELDS]
    ).reshape(len(FIELDS), len(names))
    return hidden if hidden.any() else None
