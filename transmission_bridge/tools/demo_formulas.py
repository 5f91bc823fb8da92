# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Formulas of the example robot ``urdf/arm.urdf``, written out by hand.

They do not use the package, so that the demo compares two independent derivations. A value is the
sum of a tuple of terms; errors are relative to the sum of the magnitudes of the terms. ``demo``
uses them; names and numbers change only with that description.

Numbers: shoulder_pan 101 and offset 0.25; forearm_roll -72.5; four-bar actuators 64 and -80,
joints 1.75 and 1.2, offsets -0.35 and 1.1; differential actuators 48 and -50, joints 1.25 and
-0.8, offsets 0.1 and -0.2.
"""

from __future__ import annotations

from collections.abc import Mapping

#: Summands of a value; rounding errors scale with the sum of their magnitudes.
Terms = tuple[float, ...]

#: By output the factor of each input.
_Table = dict[str, dict[str, float]]

_PAN, _LIFT, _ELBOW = 'shoulder_pan_motor', 'shoulder_lift_motor', 'elbow_motor'
_FOREARM, _LEFT, _RIGHT = 'forearm_roll_motor', 'wrist_left_motor', 'wrist_right_motor'

#: By joint its offset, and the factors of the positions and velocities of actuators.
_JOINT_ROWS: dict[str, tuple[float, dict[str, float]]] = {
    'shoulder_pan': (0.25, {_PAN: 1 / 101.0}),
    'shoulder_lift': (-0.35, {_LIFT: 1 / 64.0 / 1.75}),
    'elbow': (1.1, {_ELBOW: 1 / -80.0 / 1.2, _LIFT: -1 / 64.0 / 1.75 / 1.2}),
    'forearm_roll': (0.0, {_FOREARM: 1 / -72.5}),
    'wrist_pitch': (0.1, {_LEFT: 1 / 48.0 / 1.25 / 2.0, _RIGHT: 1 / -50.0 / 1.25 / 2.0}),
    'wrist_roll': (-0.2, {_LEFT: 1 / 48.0 / -0.8 / 2.0, _RIGHT: -1 / -50.0 / -0.8 / 2.0}),
}
_OFFSETS = {name: offset for name, (offset, _) in _JOINT_ROWS.items()}
_MOTION: dict[str, _Table] = {
    'joint': {name: row for name, (_, row) in _JOINT_ROWS.items()},
    'actuator': {
        _PAN: {'shoulder_pan': 101.0},
        _LIFT: {'shoulder_lift': 64.0 * 1.75},
        _ELBOW: {'shoulder_lift': -80.0, 'elbow': -80.0 * 1.2},
        _FOREARM: {'forearm_roll': -72.5},
        _LEFT: {'wrist_pitch': 48.0 * 1.25, 'wrist_roll': 48.0 * -0.8},
        _RIGHT: {'wrist_pitch': -50.0 * 1.25, 'wrist_roll': 50.0 * -0.8},
    },
}


def _transpose(table: _Table) -> _Table:
    """Return the table of efforts in the other direction, by conservation of power."""
    inputs = {name: None for row in table.values() for name in row}
    return {name: {k: row[name] for k, row in table.items() if name in row} for name in inputs}


_EFFORT = {'joint': _transpose(_MOTION['actuator']), 'actuator': _transpose(_MOTION['joint'])}

JOINTS = tuple(_JOINT_ROWS)


def compute_terms(side: str, interface: str, inputs: Mapping[str, float]) -> dict[str, Terms]:
    """
    Return the terms of every value of one side.

    :param side: ``joint`` or ``actuator``.
    :param interface: ``position``, ``velocity`` or ``effort``.
    :param inputs: Values of all members of the other side.
    """
    terms = _list_terms((_EFFORT if interface == 'effort' else _MOTION)[side], inputs)
    if interface != 'position':
        return terms
    if side == 'joint':
        return {name: (*terms[name], offset) for name, offset in _OFFSETS.items()}
    negative = {name: -offset for name, offset in _OFFSETS.items()}
    at_zero = _list_terms(_MOTION[side], negative)
    return {name: terms[name] + at_zero[name] for name in terms}


def _list_terms(table: _Table, inputs: Mapping[str, float]) -> dict[str, Terms]:
    return {
        output: tuple(factor * inputs[name] for name, factor in row.items())
        for output, row in table.items()
    }
