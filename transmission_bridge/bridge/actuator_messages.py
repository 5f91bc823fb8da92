# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Actuator commands as messages that hold nothing but commands."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from transmission_bridge.bridge.stamps import Stamp
from transmission_bridge.messages.joint_state import JointStateRecord
from transmission_bridge.transmissions.affine_map import Array
from transmission_bridge.transmissions.interfaces import FIELDS

__all__ = ['MessageForm', 'actuator_messages', 'is_mixed', 'message_forms']

Mask = npt.NDArray[np.bool_]

_EMPTY: Array = np.empty(0)
_EMPTY.setflags(write=False)


@dataclass(frozen=True, eq=False, slots=True)
class MessageForm:
    """
    A message apart from its numbers.

    :param names: The actuators it names.
    :param places: Their places.
    :param rows: Whether it holds positions, velocities, efforts; an interface that it does not
        command is an empty array.
    :param is_full: Whether it holds everything, of every actuator.
    """

    names: tuple[str, ...]
    places: npt.NDArray[np.intp] | slice
    rows: tuple[bool, bool, bool]
    is_full: bool

    def record(self, sent: Array, stamp: Stamp) -> JointStateRecord:
        """Return the message with numbers of ``sent``, shape ``(3, n_actuators)``; a copy."""
        if self.is_full:
            rows = sent.copy()
            return JointStateRecord(stamp, '', self.names, rows[0], rows[1], rows[2], rows)
        position, velocity, effort = (
            sent[row, self.places].copy() if held else _EMPTY for row, held in enumerate(self.rows)
        )
        return JointStateRecord(stamp, '', self.names, position, velocity, effort)


def actuator_messages(
    names: tuple[str, ...], sent: Array, stamp: Stamp, *, merged: bool
) -> list[JointStateRecord]:
    """
    Return messages that name only actuators with a command.

    :param names: The actuators.
    :param sent: Rows position, velocity, effort, shape ``(3, n_actuators)``, NaN: no command.
    :param merged: As in :func:`message_forms`.
    """
    forms = message_forms(names, ~np.isnan(sent), merged=merged)
    return [form.record(sent, stamp) for form in forms]


def message_forms(names: tuple[str, ...], given: Mask, *, merged: bool) -> tuple[MessageForm, ...]:
    """
    Return the forms of the messages that hold what is given.

    :param names: The actuators.
    :param given: Which have a command, rows position, velocity, effort.
    :param merged: Whether actuators commanded in different modes share one message, with NaN
        where one has no command, instead of one message per interface.
    """
    rows: Mask = np.any(given, axis=1)
    if not rows.any():
        return ()
    if merged or not is_mixed(given):
        return (_form(names, np.any(given, axis=0), rows),)
    return tuple(
        _form(names, given[row], np.arange(len(FIELDS)) == row) for row in np.flatnonzero(rows)
    )


def is_mixed(given: Mask) -> bool:
    """Whether what is commanded at all is commanded in different modes, shape ``(3, n)``."""
    modes = given[:, given.any(axis=0)]
    return not bool((modes == modes[:, :1]).all())


def _form(names: tuple[str, ...], actuators: Mask, rows: Mask) -> MessageForm:
    places = np.flatnonzero(actuators)
    position, velocity, effort = (bool(held) for held in rows)
    everyone = len(places) == len(names)
    return MessageForm(
        tuple(names[place] for place in places),
        slice(None) if everyone else places,
        (position, velocity, effort),
        everyone and bool(rows.all()),
    )
