# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Commands that cannot be mapped, being infinite or out of a mechanism's domain."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from transmission_bridge.errors import MessageError, shortened
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.affine_map import Array
from transmission_bridge.transmissions.binding import Binding

__all__ = ['mend_or_refuse', 'refuse_infinite', 'unmapped_by']

Mask = npt.NDArray[np.bool_]


def refuse_infinite(robot: RobotTransmissions, command: Array) -> None:
    """
    Refuse a command that is infinite for some joints.

    :param command: Shape ``(3, n_joints)``, NaN: no command.
    :raises MessageError: In any case (``infinite``).
    """
    places = np.flatnonzero(np.isinf(command).any(axis=0))
    names = [robot.joint_names[place] for place in places]
    raise MessageError('infinite', f'infinite command for {shortened(names)}')


def mend_or_refuse(
    robot: RobotTransmissions, command: Array, sent: Array, mapped: Mask, expected: bytes
) -> None:
    """
    Map rates of zero, which are zero at every position, and refuse what is still not mapped.

    :param command: Shape ``(3, n_joints)``, NaN: no command.
    :param sent: What the map gave for it, shape ``(3, n_actuators)``; changed in place.
    :param mapped: Which of that is finite, likewise.
    :param expected: Which has to be, as :attr:`CommandShape.result`.
    :raises MessageError: If a transmission has no answer (``unmapped``): the command must not be
        half applied.
    """
    _stand_still(robot, command, sent)
    if np.isfinite(sent, mapped).tobytes() != expected:
        lost = [binding.spec.name for binding in unmapped_by(robot, command, mapped)]
        raise MessageError(
            'unmapped',
            f'a command cannot be mapped by {shortened(lost)}: out of its domain, singular, too '
            'large, or its position is unknown',
        )


def _stand_still(robot: RobotTransmissions, command: Array, sent: Array) -> None:
    for binding in robot.bindings:
        still = (command[:, list(binding.joints)] == 0.0).all(axis=1)
        still[0] = False
        owned = np.array(binding.actuators)[np.array(binding.owned)]
        sent[np.ix_(still, owned)] = 0.0


def unmapped_by(robot: RobotTransmissions, command: Array, mapped: Mask) -> list[Binding]:
    """
    Return the transmissions that could not map their part of a command.

    :param command: Shape ``(3, n_joints)``, NaN: no command.
    :param mapped: For which actuators the map gave numbers, shape ``(3, n_actuators)``.
    """
    lost = []
    for binding in robot.bindings:
        asked = ~np.isnan(command[:, list(binding.joints)]).all(axis=1)
        answered = mapped[:, list(binding.actuators)].all(axis=1)
        if (asked & ~answered).any():
            lost.append(binding)
    return lost
