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
    :param choice: ``publish``: all are published; ``hide``: of a joint that declares state
        interfaces in a ``<ros2_control>`` block only these; ``auto``: as ``hide`` for joints of
        blocks whose hardware plugin is topic-based, else as ``publish``.
    :returns: Shape ``(3, n)``, true where the value must stay unknown.
    """
    if choice == 'publish':
        return None
    hidden = np.zeros((len(FIELDS), len(names)), dtype=bool)
    index = {name: place for place, name in enumerate(names)}
    for block in robot.blocks:
        if choice == 'auto' and not block.plugin.endswith(_TOPIC_BASED):
            continue
        for component in block.components:
            declared = {interface.name for interface in component.state_interfaces}
            if component.kind == 'joint' and component.name in index and declared:
                hidden[:, index[component.name]] = [field not in declared for field in FIELDS]
    return hidden if hidden.any() else None
