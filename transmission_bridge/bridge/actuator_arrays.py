# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Actuator commands as plain arrays in a fixed order, for drivers that want those."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from transmission_bridge.bridge.commands import Arrivals
from transmission_bridge.errors import closest, ParameterError
from transmission_bridge.messages.joint_state import JointStateRecord
from transmission_bridge.transmissions.interfaces import FIELDS
from transmission_bridge.types import Array

__all__ = ['ActuatorArrays', 'check_order']


class ActuatorArrays:
    """
    Fills arrays from the messages that are sent.

    A plain array cannot leave out an actuator. So it is there only when each has a command of its
    mode: in these messages, or as its newest before them. A command of another mode, and a
    trajectory, takes an actuator's old command away. Where a trajectory ends counts as a command
    once it is over: before that it would have the actuator jump there. Time going backwards ends
    positions; rates are ended by messages.

    Messages that end rates, being zero, end those of the last array as well, though others of its
    actuators have another mode by now: in it their velocity is zero, and their effort as it was,
    because without it a load might fall.

    :param actuators: The order, each actuator once.
    """

    def __init__(self, actuators: Sequence[str]) -> None:
        self._index = {name: place for place, name in enumerate(actuators)}
        self.reset()

    def reset(self) -> None:
        """Forget every command."""
        self._values: Array = np.full((len(FIELDS), len(self._index)), np.nan)
        self._arrivals = Arrivals(len(self._index))
        self._latest = -np.inf
        self._last: Array = np.full(self._values.shape, np.nan)

    def update(
        self, messages: Sequence[JointStateRecord], now: float = 0.0
    ) -> list[tuple[str, Array]]:
        """
        Take note of what is sent for one command.

        :param messages: The messages of one command, each actuator by interface at most once.
        :param now: Time of receipt [s].
        :returns: Interface and values of every array that is to be sent with them.
        """
        self._notice(now)
        names = {name for each in messages for name in each.names}
        self._forget([self._index[name] for name in names & self._index.keys()])
        sent: set[int] = set()
        moving: set[int] = set()
        for message in messages:
            picks = [pick for pick, name in enumerate(message.names) if name in self._index]
            places = [self._index[message.names[pick]] for pick in picks]
            rows = (message.position, message.velocity, message.effort)
            for row, values in enumerate(rows):
                if len(values) and not np.isnan(values[picks]).all():
                    self._values[row, places] = values[picks]
                    sent.add(row)
                    if np.nan_to_num(values[picks]).any():
                        moving.add(row)
        if self._arrivals.under_way(now).any():
            sent.discard(0)
        arrays = []
        for row in sorted(sent):
            values = self._values[row].copy()
            if row not in moving:
                self._complete_end(row, values)
            if not np.isnan(values).any():
                self._last[row] = values
                arrays.append((FIELDS[row], values))
        return arrays

    def _complete_end(self, row: int, values: Array) -> None:
        """Fill in, in place, the actuators that are not in the messages that end rates."""
        interface, last = FIELDS[row], self._last[row]
        if interface == 'position' or np.isnan(last).any():
            return
        missing = np.isnan(values)
        values[missing] = 0.0 if interface == 'velocity' else last[missing]

    def end_at(
        self, names: Sequence[str], position: Array, *, now: float = 0.0, until: float = 0.0
    ) -> None:
        """
        Take note of where a trajectory ends.

        :param names: Its actuators.
        :param position: Their last positions, empty where it does not tell.
        :param now: Time of receipt [s].
        :param until: When it ends [s].
        """
        self._notice(now)
        picks = [pick for pick, name in enumerate(names) if name in self._index]
        places = [self._index[names[pick]] for pick in picks]
        self._forget(places)
        if len(position):
            self._values[0, places] = position[picks]
            self._arrivals.expect(places, until)

    def _forget(self, places: Sequence[int]) -> None:
        """Forget the commands of these actuators."""
        self._values[:, places] = np.nan
        self._arrivals.cancel(places)

    def _notice(self, now: float) -> None:
        """Look whether time went backwards."""
        if now < self._latest:
            self._values[0] = np.nan
            self._arrivals.cancel_all()
        self._latest = now


def check_order(
    option: str,
    names: Sequence[str],
    known: Sequence[str],
    kind: str,
    lost: Mapping[str, str] | None = None,
) -> None:
    """
    Check the names that give an array its order.

    :param option: Name of the option that they come from.
    :param known: The names allowed.
    :param kind: What they are, for the sentence.
    :param lost: Names that would be allowed if a transmission were not refused, with the reason:
        an array cannot leave them out.
    :raises ParameterError: If one is not among them or stands there twice.
    """
    for number, name in enumerate(names):
        if name not in known:
            raise ParameterError(
                f"{option} cannot be accepted: '{name}' is no {kind}"
                + (f', {lost[name]}' if lost and name in lost else closest(name, known)),
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
