# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Actuator commands as plain arrays in a fixed order, for drivers that want those."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from transmission_bridge.bridge.places import FIELDS
from transmission_bridge.errors import ParameterError
from transmission_bridge.messages.joint_state import JointStateRecord
from transmission_bridge.transmissions.affine_map import Array

__all__ = ['ActuatorArrays', 'check_order']


class ActuatorArrays:
    """
    Fills arrays from the messages that are sent.

    A plain array cannot leave out an actuator. So it is there only when each has a command of its
    mode: in these messages, or as its newest before them. A command of another mode, and a
    trajectory that does not end in a position, takes an actuator's old command away.

    :param actuators: The order, each actuator once.
    """

    def __init__(self, actuators: Sequence[str]) -> None:
        self._index = {name: place for place, name in enumerate(actuators)}
        self.reset()

    def reset(self) -> None:
        """Forget every command."""
        self._values: Array = np.full((len(FIELDS), len(self._index)), np.nan)

    def update(self, messages: Sequence[JointStateRecord]) -> list[tuple[str, Array]]:
        """
        Take note of what is sent for one command.

        :param messages: The messages of one command, each actuator by interface at most once.
        :returns: Interface and values of every array that is to be sent with them.
        """
        commanded = [name for each in messages for name in each.names if name in self._index]
        self._values[:, [self._index[name] for name in commanded]] = np.nan
        sent = set()
        for message in messages:
            picks = [pick for pick, name in enumerate(message.names) if name in self._index]
            places = [self._index[message.names[pick]] for pick in picks]
            rows = (message.position, message.velocity, message.effort)
            for row, values in enumerate(rows):
                if len(values) and not np.isnan(values[picks]).all():
                    self._values[row, places] = values[picks]
                    sent.add(row)
        return [
            (FIELDS[row], self._values[row].copy())
            for row in sorted(sent)
            if not np.isnan(self._values[row]).any()
        ]

    def end_at(self, names: Sequence[str], position: Array) -> None:
        """
        Take note of where a trajectory ends.

        :param names: Its actuators.
        :param position: Their last positions, empty where it does not tell.
        """
        for number, name in enumerate(names):
            if name in self._index:
                self._values[:, self._index[name]] = np.nan
                if len(position):
                    self._values[0, self._index[name]] = position[number]


def check_order(option: str, names: Sequence[str], known: Sequence[str], kind: str) -> None:
    """
    Check the names that give an array its order.

    :param option: Name of the option that they come from.
    :param known: The names allowed.
    :param kind: What they are, for the sentence.
    :raises ParameterError: If one is not among them or stands there twice.
    """
    for number, name in enumerate(names):
        if name not in known:
            raise ParameterError(
                f"{option} cannot be accepted: '{name}' is no {kind}",
                parameter=option,
                expected=f'names out of {", ".join(known)}',
                found=repr(name),
            )
        if name in names[:number]:
            raise ParameterError(
                f"{option} cannot be accepted: '{name}' stands there twice",
                parameter=option,
                expected='each name once',
                found=repr(list(names)),
            )
