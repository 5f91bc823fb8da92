# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A robot with every simple kind of transmission, and its formulas written out by hand.

They share no code with the package but the shape of its results. Numbers come with the sum of the
absolute terms that they were made of, because that is what a rounding error is relative to.
"""

from __future__ import annotations

from dataclasses import dataclass, field
import itertools
import math

import numpy as np
from state_paths import record

from transmission_bridge.messages.cdr import JointStateEncoder, JointStateReader
from transmission_bridge.messages.records import JointStateRecord
from zoo.elements import ratio, transmission, urdf

FIELDS = ('position', 'velocity', 'effort')

#: Joints in the order of the URDF, actuators in the order of the transmissions and their roles.
JOINTS = ('finger', 'elbow', 'dial', 'roll', 'lift', 'pitch', 'shoulder')
ACTUATORS = ('winch', 'left', 'right', 'hip', 'crank', 'finger')
COMMANDABLE = tuple(name for name in JOINTS if name != 'dial')


#: By member: transmission, side, reduction, offset of a joint.
_MEMBERS = {
    'lift': ('hoist', 'joints', -4.0, 0.3),
    'dial': ('gauge', 'joints', 10.0, -0.05),
    'left': ('wrist', 'actuators', 2.0, None),
    'right': ('wrist', 'actuators', -3.0, None),
    'roll': ('wrist', 'joints', 1.5, 0.1),
    'pitch': ('wrist', 'joints', 0.7, -0.2),
    'hip': ('arm', 'actuators', 40.0, None),
    'crank': ('arm', 'actuators', -25.0, None),
    'shoulder': ('arm', 'joints', -0.9, 0.25),
    'elbow': ('arm', 'joints', 1.1, -0.4),
}


def _transmission(name, kind):
    """Return the transmission of its members; the winch has no reduction."""
    joints, actuators = (
        {each: ratio(row[2], row[3]) for each, row in _MEMBERS.items() if row[:2] == (name, side)}
        for side in ('joints', 'actuators')
    )
    return transmission(name, kind, joints, actuators or ['winch'])


_KINDS = {'hoist': 'Simple', 'gauge': 'Simple', 'wrist': 'Differential', 'arm': 'FourBarLinkage'}

#: A lift, a differential wrist and a four-bar arm, a dial that only reads the lift's motor, and a
#: finger without transmission.
URDF = urdf(
    JOINTS, ''.join(itertools.starmap(_transmission, _KINDS.items())), plugin='reference/Hardware'
)
for _name in JOINTS:
    _side = 'state' if _name == 'dial' else 'command'  # the block only reads the dial
    _declared = f'<joint name="{_name}"><{_side}_interface name="position"/></joint>'
    URDF = URDF.replace(f'<joint name="{_name}"/>', _declared)


@dataclass
class Numbers:
    """The numbers of the URDF, or the tuned numbers."""

    reduction: dict[str, float] = field(
        default_factory=lambda: {name: member[2] for name, member in _MEMBERS.items()}
    )
    offset: dict[str, float] = field(
        default_factory=lambda: {n: member[3] for n, member in _MEMBERS.items() if member[3]}
    )

    def tuned(self, changes):
        """Return other numbers; changes are keyed by (kind, name)."""
        other = Numbers(dict(self.reduction), dict(self.offset))
        for (kind, name), value in changes.items():
            getattr(other, kind)[name] = value
        return other


def nested(changes):
    """Return changes as :meth:`RobotTransmissions.with_parameters` takes them."""
    leaf = {'offset': 'offset', 'reduction': 'mechanical_reduction'}
    return {
        '.'.join((*_MEMBERS[name][:2], name, leaf[kind])): value
        for (kind, name), value in changes.items()
    }


# -- formulas ------------------------------------------------------------------------------------


def _states(n):
    """
    Return ``{joint: {actuator: factor}}``: what the rate of a joint is the sum of.

    The simple transmission ``j = a/n + off``, the differential
    ``j1 = (a1/ar1 + a2/ar2)/(2 jr1) + off1``, ``j2 = (a1/ar1 - a2/ar2)/(2 jr2) + off2``, the
    four-bar linkage ``j1 = a1/(jr1 ar1) + off1``, ``j2 = (a2/ar2 - a1/(jr1 ar1))/jr2 + off2``.
    """
    roll, pitch, hip = 0.5 / n['roll'], 0.5 / n['pitch'], 1 / (n['shoulder'] * n['hip'])
    return {
        'finger': {'finger': 1.0},
        'lift': {'winch': 1 / n['lift']},
        'dial': {'winch': 1 / n['dial']},
        'roll': {'left': roll / n['left'], 'right': roll / n['right']},
        'pitch': {'left': pitch / n['left'], 'right': -pitch / n['right']},
        'shoulder': {'hip': hip},
        'elbow': {'crank': 1 / (n['elbow'] * n['crank']), 'hip': -hip / n['elbow']},
    }


def _commands(n):
    """
    Return ``{actuator: {joint: factor}}``, with ``q = j - off``.

    ``a = n q``; ``a1 = (jr1 q1 + jr2 q2) ar1``, ``a2 = (jr1 q1 - jr2 q2) ar2``;
    ``a1 = jr1 ar1 q1``, ``a2 = (q1 + jr2 q2) ar2``.
    """
    return {
        'finger': {'finger': 1.0},
        'winch': {'lift': n['lift']},
        'left': {'roll': n['roll'] * n['left'], 'pitch': n['pitch'] * n['left']},
        'right': {'roll': n['roll'] * n['right'], 'pitch': -n['pitch'] * n['right']},
        'hip': {'shoulder': n['shoulder'] * n['hip']},
        'crank': {'shoulder': n['crank'], 'elbow': n['elbow'] * n['crank']},
    }


def _powers(factors, name):
    """Return what an effort is the sum of, by conservation of power."""
    return {other: terms[name] for other, terms in factors.items() if name in terms}


@dataclass(frozen=True)
class Number:
    """A value, and the sum of the absolute terms that it was made of."""

    value: float
    size: float

    def equals(self, found) -> bool:
        """Return whether a computed value equals this one up to rounding."""
        if math.isnan(self.value):
            return math.isnan(found)
        return abs(found - self.value) <= 16 * np.finfo(float).eps * self.size


UNKNOWN = Number(math.nan, 0.0)


def _add(terms, values, shifts):
    """Return a :class:`Number`, unknown if a value is (``None``)."""
    if any(values.get(name) is None for name in terms):
        return UNKNOWN
    parts = [factor * values[name] for name, factor in terms.items()] + shifts
    return Number(sum(parts), sum(map(abs, parts)))


def joint_value(numbers, interface, joint, actuators):
    """Return a :class:`Number`, unknown if an actuator that it depends on is (``None``)."""
    n, terms = numbers.reduction, _states(numbers.reduction)[joint]
    if interface == 'effort':
        terms = {'winch': n['dial']} if joint == 'dial' else _powers(_commands(n), joint)
    return _add(terms, actuators, [numbers.offset.get(joint, 0.0) * (interface == 'position')])


def actuator_value(numbers, interface, actuator, joints):
    """Return a :class:`Number`, unknown if a joint that it depends on has none (``None``)."""
    n, off = numbers.reduction, numbers.offset if interface == 'position' else {}
    terms = _commands(n)[actuator]
    if interface == 'effort':
        states = _states(n)
        terms = _powers({name: states[name] for name in COMMANDABLE}, actuator)
    return _add(terms, joints, [-factor * off.get(name, 0.0) for name, factor in terms.items()])


# -- messages ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Message:
    """A JointState in the plainest of terms."""

    names: tuple[str, ...]
    position: tuple[float, ...] = ()
    velocity: tuple[float, ...] = ()
    effort: tuple[float, ...] = ()
    stamp: tuple[int, int] = (1, 0)

    @property
    def arrays(self):
        """The three arrays by field."""
        return {name: getattr(self, name) for name in FIELDS}

    @property
    def record(self) -> JointStateRecord:
        """The same as the package takes it."""
        return record(self.names, **self.arrays, stamp=self.stamp)

    @property
    def received(self) -> JointStateRecord:
        """The received record: a view of bytes; ragged messages take the typed path."""
        if self.is_ragged:
            return self.record
        return JointStateReader().read_message(JointStateEncoder().encode_record(self.record))

    @property
    def lengths(self):
        """Lengths of the arrays."""
        return tuple(len(values) for values in self.arrays.values())

    @property
    def is_ragged(self):
        """Whether an array is neither empty nor as long as the names."""
        return any(length not in (0, len(self.names)) for length in self.lengths)
