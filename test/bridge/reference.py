# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A slow and obvious model of the bridge: dictionaries, loops, and formulas written out by hand.

It shares no code with the package but the shape of its results. Numbers come with the sum of the
absolute terms that they were made of, because that is what a rounding error is relative to.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
import math
from types import SimpleNamespace

from hypothesis import strategies as st
import numpy as np

from transmission_bridge.messages.cdr import JointStateEncoder, JointStateReader
from transmission_bridge.messages.joint_state import JointStateRecord

FIELDS = ('position', 'velocity', 'effort')

#: A lift, a differential wrist and a four-bar arm whose roles stand against the order of the text,
#: a dial that only reads the lift's motor, and a finger without transmission.
URDF = """<?xml version="1.0"?>
<robot name="reference">
  <link name="base"/>
  <link name="l_finger"/><link name="l_elbow"/><link name="l_dial"/><link name="l_roll"/>
  <link name="l_lift"/><link name="l_pitch"/><link name="l_shoulder"/>
  <joint name="finger" type="continuous"><parent link="base"/><child link="l_finger"/></joint>
  <joint name="elbow" type="continuous"><parent link="base"/><child link="l_elbow"/></joint>
  <joint name="dial" type="continuous"><parent link="base"/><child link="l_dial"/></joint>
  <joint name="roll" type="continuous"><parent link="base"/><child link="l_roll"/></joint>
  <joint name="lift" type="continuous"><parent link="base"/><child link="l_lift"/></joint>
  <joint name="pitch" type="continuous"><parent link="base"/><child link="l_pitch"/></joint>
  <joint name="shoulder" type="continuous"><parent link="base"/><child link="l_shoulder"/></joint>
  <ros2_control name="hardware" type="system">
    <hardware><plugin>reference/Hardware</plugin></hardware>
    <joint name="lift"><command_interface name="position"/></joint>
    <joint name="dial"><state_interface name="position"/></joint>
    <joint name="roll"><command_interface name="position"/></joint>
    <joint name="pitch"><command_interface name="position"/></joint>
    <joint name="shoulder"><command_interface name="position"/></joint>
    <joint name="elbow"><command_interface name="position"/></joint>
    <transmission name="hoist">
      <plugin>transmission_interface/SimpleTransmission</plugin>
      <actuator name="winch" role="actuator1"/>
      <joint name="lift" role="joint1">
        <mechanical_reduction>-4.0</mechanical_reduction><offset>0.3</offset>
      </joint>
    </transmission>
    <transmission name="gauge">
      <plugin>transmission_interface/SimpleTransmission</plugin>
      <actuator name="winch" role="actuator1"/>
      <joint name="dial" role="joint1">
        <mechanical_reduction>10.0</mechanical_reduction><offset>-0.05</offset>
      </joint>
    </transmission>
    <transmission name="wrist">
      <plugin>transmission_interface/DifferentialTransmission</plugin>
      <actuator name="right" role="actuator2">
        <mechanical_reduction>-3.0</mechanical_reduction>
      </actuator>
      <actuator name="left" role="actuator1">
        <mechanical_reduction>2.0</mechanical_reduction>
      </actuator>
      <joint name="pitch" role="joint2">
        <mechanical_reduction>0.7</mechanical_reduction><offset>-0.2</offset>
      </joint>
      <joint name="roll" role="joint1">
        <mechanical_reduction>1.5</mechanical_reduction><offset>0.1</offset>
      </joint>
    </transmission>
    <transmission name="arm">
      <plugin>transmission_interface/FourBarLinkageTransmission</plugin>
      <actuator name="crank" role="actuator2">
        <mechanical_reduction>-25.0</mechanical_reduction>
      </actuator>
      <actuator name="hip" role="actuator1">
        <mechanical_reduction>40.0</mechanical_reduction>
      </actuator>
      <joint name="elbow" role="joint2">
        <mechanical_reduction>1.1</mechanical_reduction><offset>-0.4</offset>
      </joint>
      <joint name="shoulder" role="joint1">
        <mechanical_reduction>-0.9</mechanical_reduction><offset>0.25</offset>
      </joint>
    </transmission>
  </ros2_control>
</robot>
"""

#: Joints in the order of the URDF, actuators in the order of the transmissions and their roles.
JOINTS = ('finger', 'elbow', 'dial', 'roll', 'lift', 'pitch', 'shoulder')
ACTUATORS = ('winch', 'left', 'right', 'hip', 'crank', 'finger')
COUPLED = (('wrist', ('roll', 'pitch')), ('arm', ('shoulder', 'elbow')))
COMMANDABLE = tuple(name for name in JOINTS if name != 'dial')

#: Joints of the ``<ros2_control>`` block that declare a command interface, by interface.
DECLARED = {
    'position': ('lift', 'roll', 'pitch', 'shoulder', 'elbow'),
    'velocity': (),
    'effort': (),
}

#: Limits of each joint in :func:`limited_urdf`, by field; other joints are free.
LIMITS = {
    'lift': {'position': (-2.0, 3.0), 'velocity': (-4.0, 4.0), 'effort': (-50.0, 50.0)},
    'pitch': {'position': (-1.0, 1.5), 'velocity': (-2.0, 2.0), 'effort': (-30.0, 30.0)},
    'shoulder': {'velocity': (-6.0, 6.0), 'effort': (-7.0, 7.0)},
    # The block is narrower than the joint.
    'elbow': {'position': (-1.25, 0.75), 'velocity': (-9.0, 9.0), 'effort': (-8.0, 8.0)},
}


def limited_urdf():
    """Return the reference robot with limits."""
    text = URDF
    for name, kind, limit in (
        ('lift', 'prismatic', 'lower="-2" upper="3" velocity="4" effort="50"'),
        ('pitch', 'revolute', 'lower="-1" upper="1.5" velocity="2" effort="30"'),
        ('shoulder', 'continuous', 'velocity="6" effort="7"'),
        ('elbow', 'revolute', 'lower="-2" upper="0.75" velocity="9" effort="8"'),
    ):
        end = f'<child link="l_{name}"/>'
        text = text.replace(end, f'{end}<limit {limit}/>').replace(
            f'<joint name="{name}" type="continuous">', f'<joint name="{name}" type="{kind}">'
        )
    return text.replace(
        '<joint name="elbow"><command_interface name="position"/>',
        '<joint name="elbow"><command_interface name="position">'
        '<param name="min">-1.25</param></command_interface>',
    )


@dataclass
class Numbers:
    """The numbers of the URDF, or the tuned numbers."""

    reduction: dict[str, float] = field(
        default_factory=lambda: {
            'lift': -4.0,
            'dial': 10.0,
            'left': 2.0,
            'right': -3.0,
            'roll': 1.5,
            'pitch': 0.7,
            'hip': 40.0,
            'crank': -25.0,
            'shoulder': -0.9,
            'elbow': 1.1,
        }
    )
    offset: dict[str, float] = field(
        default_factory=lambda: {
            'lift': 0.3,
            'dial': -0.05,
            'roll': 0.1,
            'pitch': -0.2,
            'shoulder': 0.25,
            'elbow': -0.4,
        }
    )

    def tuned(self, changes):
        """Return other numbers; changes are keyed by (kind, name)."""
        other = Numbers(dict(self.reduction), dict(self.offset))
        for (kind, name), value in changes.items():
            (other.offset if kind == 'offset' else other.reduction)[name] = value
        return other


#: Transmission and side of every member, for the nested form of ``with_parameters``.
_MEMBERS = {
    'lift': ('hoist', 'joints'),
    'dial': ('gauge', 'joints'),
    'roll': ('wrist', 'joints'),
    'pitch': ('wrist', 'joints'),
    'left': ('wrist', 'actuators'),
    'right': ('wrist', 'actuators'),
    'shoulder': ('arm', 'joints'),
    'elbow': ('arm', 'joints'),
    'hip': ('arm', 'actuators'),
    'crank': ('arm', 'actuators'),
}


def parameter_name(key):
    """Return the ROS parameter of a change."""
    kind, name = key
    transmission, side = _MEMBERS[name]
    return f'transmissions.{transmission}.{side}.{name}.{_LEAF[kind]}'


_LEAF = {'offset': 'offset', 'reduction': 'mechanical_reduction'}


def nested(changes):
    """Return changes as :meth:`RobotTransmissions.with_parameters` takes them."""
    result = {}
    for (kind, name), value in changes.items():
        transmission, side = _MEMBERS[name]
        level = result.setdefault(transmission, {}).setdefault(side, {}).setdefault(name, {})
        level[_LEAF[kind]] = value
    return result


def tuning_of(number):
    """Return changes that every joint and every actuator but the finger's sees."""
    return {
        ('reduction', 'lift'): -4.0 - number,
        ('offset', 'lift'): 0.01 * number,
        ('reduction', 'dial'): 10.0 + number,
        ('offset', 'roll'): 0.1 + 0.01 * number,
        ('offset', 'pitch'): -0.2 - 0.01 * number,
        ('reduction', 'left'): 2.0 + 0.1 * number,
        ('reduction', 'right'): -3.0 - 0.1 * number,
        ('reduction', 'shoulder'): -0.9 - 0.1 * number,
        ('reduction', 'crank'): -25.0 - number,
    }


# -- formulas ------------------------------------------------------------------------------------


def joint_terms(numbers, interface):
    """
    Return ``{joint: ([(actuator, factor), ...], constant)}``: what a joint is the sum of.

    The simple transmission ``j = a/n + off``, the differential
    ``j1 = (a1/ar1 + a2/ar2)/(2 jr1) + off1``, ``j2 = (a1/ar1 - a2/ar2)/(2 jr2) + off2``, the
    four-bar linkage ``j1 = a1/(jr1 ar1) + off1``, ``j2 = (a2/ar2 - a1/(jr1 ar1))/jr2 + off2``;
    velocities without offset; efforts by conservation of power.
    """
    n, off = numbers.reduction, numbers.offset
    if interface == 'effort':
        return {
            'finger': ([('finger', 1.0)], 0.0),
            'lift': ([('winch', n['lift'])], 0.0),
            'dial': ([('winch', n['dial'])], 0.0),
            'roll': (
                [('left', n['roll'] * n['left']), ('right', n['roll'] * n['right'])],
                0.0,
            ),
            'pitch': (
                [('left', n['pitch'] * n['left']), ('right', -n['pitch'] * n['right'])],
                0.0,
            ),
            'shoulder': ([('hip', n['shoulder'] * n['hip']), ('crank', n['crank'])], 0.0),
            'elbow': ([('crank', n['elbow'] * n['crank'])], 0.0),
        }
    at = off if interface == 'position' else dict.fromkeys(off, 0.0)
    return {
        'finger': ([('finger', 1.0)], 0.0),
        'lift': ([('winch', 1 / n['lift'])], at['lift']),
        'dial': ([('winch', 1 / n['dial'])], at['dial']),
        'roll': (
            [
                ('left', 1 / (2 * n['roll'] * n['left'])),
                ('right', 1 / (2 * n['roll'] * n['right'])),
            ],
            at['roll'],
        ),
        'pitch': (
            [
                ('left', 1 / (2 * n['pitch'] * n['left'])),
                ('right', -1 / (2 * n['pitch'] * n['right'])),
            ],
            at['pitch'],
        ),
        'shoulder': ([('hip', 1 / (n['shoulder'] * n['hip']))], at['shoulder']),
        'elbow': (
            [
                ('crank', 1 / (n['elbow'] * n['crank'])),
                ('hip', -1 / (n['elbow'] * n['shoulder'] * n['hip'])),
            ],
            at['elbow'],
        ),
    }


def actuator_terms(numbers, interface):
    """
    Return ``{actuator: [(joint, factor, offset), ...]}``: the sum of ``factor (j - offset)``.

    ``a = n (j - off)``; ``a1 = (jr1 q1 + jr2 q2) ar1``, ``a2 = (jr1 q1 - jr2 q2) ar2``;
    ``a1 = jr1 ar1 q1``, ``a2 = (q1 + jr2 q2) ar2``, each with ``q = j - off``.
    """
    n, off = numbers.reduction, numbers.offset
    if interface == 'effort':
        return {
            'finger': [('finger', 1.0, 0.0)],
            'winch': [('lift', 1 / n['lift'], 0.0)],
            'left': [
                ('roll', 1 / (2 * n['roll'] * n['left']), 0.0),
                ('pitch', 1 / (2 * n['pitch'] * n['left']), 0.0),
            ],
            'right': [
                ('roll', 1 / (2 * n['roll'] * n['right']), 0.0),
                ('pitch', -1 / (2 * n['pitch'] * n['right']), 0.0),
            ],
            'hip': [
                ('shoulder', 1 / (n['shoulder'] * n['hip']), 0.0),
                ('elbow', -1 / (n['elbow'] * n['shoulder'] * n['hip']), 0.0),
            ],
            'crank': [('elbow', 1 / (n['elbow'] * n['crank']), 0.0)],
        }
    at = off if interface == 'position' else dict.fromkeys(off, 0.0)
    return {
        'finger': [('finger', 1.0, 0.0)],
        'winch': [('lift', n['lift'], at['lift'])],
        'left': [
            ('roll', n['roll'] * n['left'], at['roll']),
            ('pitch', n['pitch'] * n['left'], at['pitch']),
        ],
        'right': [
            ('roll', n['roll'] * n['right'], at['roll']),
            ('pitch', -n['pitch'] * n['right'], at['pitch']),
        ],
        'hip': [('shoulder', n['shoulder'] * n['hip'], at['shoulder'])],
        'crank': [
            ('shoulder', n['crank'], at['shoulder']),
            ('elbow', n['elbow'] * n['crank'], at['elbow']),
        ],
    }


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


def joint_value(numbers, interface, joint, actuators):
    """Return a :class:`Number`, unknown if an actuator that it depends on is (``None``)."""
    terms, constant = joint_terms(numbers, interface)[joint]
    if any(actuators.get(name) is None for name, _ in terms):
        return UNKNOWN
    parts = [factor * actuators[name] for name, factor in terms] + [constant]
    return Number(sum(parts), sum(abs(part) for part in parts))


def actuator_value(numbers, interface, actuator, joints, sizes=None):
    """
    Return a :class:`Number`, unknown if a joint that it depends on has no value (``None``).

    :param sizes: Of the terms that joints were computed from.
    """
    sizes = sizes or {}
    terms = actuator_terms(numbers, interface)[actuator]
    if any(joints.get(name) is None for name, _, _ in terms):
        return UNKNOWN
    return Number(
        sum(factor * (joints[name] - offset) for name, factor, offset in terms),
        sum(
            abs(factor) * (sizes.get(name, abs(joints[name])) + abs(offset))
            for name, factor, offset in terms
        ),
    )


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
        return {'position': self.position, 'velocity': self.velocity, 'effort': self.effort}

    @property
    def record(self) -> JointStateRecord:
        """The same as the package takes it."""
        return JointStateRecord(
            self.stamp,
            '',
            self.names,
            *(np.array(values, dtype=float) for values in self.arrays.values()),
        )

    @property
    def received(self) -> JointStateRecord:
        """The received record: a view of bytes; ragged messages take the typed path."""
        record = self.record
        if self.is_ragged:
            return record
        return JointStateReader().read_message(JointStateEncoder().encode_record(record))

    @property
    def lengths(self):
        """Lengths of the arrays."""
        return tuple(len(values) for values in self.arrays.values())

    @property
    def is_ragged(self):
        """Whether an array is neither empty nor as long as the names."""
        return any(length not in (0, len(self.names)) for length in self.lengths)


@dataclass(frozen=True)
class Expected:
    """A message that is to be published: numbers by field, ``None`` for an empty array."""

    names: tuple[str, ...]
    fields: dict[str, list[Number] | None]
    stamp: tuple[int, int]

    def check(self, found) -> None:
        """Compare with what was published (a record or a typed message as a record)."""
        assert found.stamp == self.stamp
        assert tuple(found.names) == self.names
        for name, numbers in self.fields.items():
            values = list(getattr(found, name))
            if numbers is None:
                assert values == [], name
                continue
            assert len(values) == len(numbers), name
            for joint, number, value in zip(self.names, numbers, values, strict=True):
                assert number.equals(value), (joint, name, number, value)


@dataclass(frozen=True)
class Refused:
    """A message that must be refused, and every reason that may be given for it."""

    reasons: set[str]


#: Seconds for which nothing but older stamps has to come before one is published.
STAMP_HOLD = 1.0


def stamp_that_counts(stamp, clock):
    """
    Return the stamp used for a message, and the reason for a replacement, or ``None``.

    :param clock: Time of the node's clock [ns]; zero: it has no time yet.
    """
    seconds, nanoseconds = stamp
    receipt = divmod(clock, 10**9)
    if stamp == (0, 0):
        return receipt, None
    if seconds < 0 or nanoseconds > 999_999_999:
        return receipt, 'bad_stamp'
    if clock and seconds * 10**9 + nanoseconds > clock + 5 * 10**8:
        return receipt, 'future_stamp'
    return stamp, None


class ReferenceStates:
    """
    Merges states: per number, who gave it last, what it was, and when.

    :param timeout: Seconds after which a number is unknown and a driver silent; 0: never.
    :ivar now: The time at which it is asked [s].
    """

    def __init__(self, numbers, unknown_joints='omit', timeout=0.0):
        self.numbers = numbers
        self.unknown_joints = unknown_joints
        self.timeout = timeout
        self.forget()

    def forget(self):
        """Forget everything."""
        self.values = {(each, name): (None, None) for each in FIELDS for name in ACTUATORS}
        self.heard = {}
        self.spoke = {}
        self.now = self.latest = -math.inf
        self.set_clock()

    def update(self, source, message, now=0.0, names=None):
        """
        Take a message at a time.

        :param names: Driver's name to URDF name of what the robot has.
        :returns: A :class:`Refused`, or ``None``.
        """
        names = {name: name for name in ACTUATORS} if names is None else names
        known = [names[name] for name in message.names if name in names]
        reasons = {'ragged'} if message.is_ragged else set()
        if len(known) != len(set(known)):
            reasons.add('duplicate_name')
        if not known and not reasons:
            reasons.add('foreign')
        if reasons:
            return Refused(reasons)
        if now < self.latest:
            self.forget()
        self.latest = self.now = now
        for each, array in message.arrays.items():
            for place, driver_name in enumerate(message.names):
                if driver_name not in names:
                    continue
                key = each, names[driver_name]
                if array:
                    value = array[place] if math.isfinite(array[place]) else None
                    self.values[key] = (source, value)
                    self.heard[key] = now
                elif self.values[key][0] == source:
                    self.values[key] = (source, None)
        self.stamps[source] = message.stamp
        self.spoke[source] = now
        return None

    def actuators(self, each):
        """Return the known values of a field by actuator."""
        return {
            name: self.values[each, name][1] if self._is_fresh(each, name) else None
            for name in ACTUATORS
        }

    def _is_fresh(self, each, name):
        if not self.timeout:
            return True
        if (each, name) not in self.heard or self.now < self.latest:
            return False
        return self.now - self.heard[each, name] <= self.timeout

    def joint_state(self):
        """Return what is to be published, or ``None``."""
        numbers = {
            each: {
                name: joint_value(self.numbers, each, name, self.actuators(each))
                for name in JOINTS
            }
            for each in FIELDS
        }
        names = JOINTS
        if self.unknown_joints == 'omit':
            names = tuple(
                name for name in JOINTS if not math.isnan(numbers['position'][name].value)
            )
        fields = {
            each: [numbers[each][name] for name in names]
            if any(not math.isnan(numbers[each][name].value) for name in names)
            else None
            for each in FIELDS
        }
        stamp = self.stamp()
        if stamp is None or all(values is None for values in fields.values()):
            return None
        return Expected(names, fields, stamp)

    def set_clock(self):
        """Forget stamps: the node's clock was set back, or has a time at last."""
        self.stamps = {}
        self.published = self.older_since = None

    def stamp(self):
        """
        Return the stamp of what is published now: the newest, back only where time went.

        Drivers that fell silent have none, and there is none before now's first message.
        """
        known = [
            stamp
            for source, stamp in self.stamps.items()
            if not self.timeout or self.now - self.spoke[source] <= self.timeout
        ]
        if not known or self.now < self.latest:
            return None
        newest = max(known)
        if self.published is None or newest >= self.published:
            self.published, self.older_since = newest, None
            return newest
        if self.older_since is None:
            self.older_since = self.now
        if self.now - self.older_since >= STAMP_HOLD:
            self.published, self.older_since = newest, None
        return self.published


class ReferenceCommands:
    """
    Checks, limits, completes and maps commands, as live tests expect them from a node.

    The oracle of commands in time is ``promises.py``.

    :param limits: How to handle numbers beyond :data:`LIMITS`: ``clamp`` or ``off``.
    """

    def __init__(self, numbers, *, limits='off', mixed_commands='split'):
        self.numbers, self.limits, self.mixed_commands = numbers, limits, mixed_commands
        self.clamped = Counter()
        self.held = {name: {} for name in COMMANDABLE}
        self.sent = {name: {} for name in ACTUATORS}
        #: Sizes of the positions that are held since a tuning.
        self.sizes = {}

    def command(self, message, measured):
        """
        Return what a message leads to.

        :param measured: Joint positions, ``None`` where unknown.
        :returns: The messages to be sent, or a :class:`Refused`.
        """
        reasons, wanted = set(), {}
        if any(name not in JOINTS for name in message.names):
            reasons.add('unknown_joint')
        if len(set(message.names)) != len(message.names):
            reasons.add('duplicate_name')
        for each, array in message.arrays.items():
            named = message.names
            if len(array) not in (0, len(named)):
                # As ros2_control's topic-based hardware sends it.
                named = tuple(name for name in named if name in DECLARED[each])
                if len(array) != len(named):
                    reasons.add('ragged')
                    continue
            for name, value in zip(named, array, strict=False):
                if math.isinf(value):
                    reasons.add('infinite')
                if not math.isnan(value):
                    wanted.setdefault(name, {})[each] = value
        if any(name not in COMMANDABLE for name in wanted):
            reasons.add('not_commandable')
        if reasons:
            return Refused(reasons)
        outside = self._bound(wanted)
        for _, joints in COUPLED:
            refusal = self._complete(wanted, joints, measured)
            if refusal:
                reasons.add(refusal)
        if reasons:
            return Refused(reasons)
        self._end_outward(wanted, measured)
        self.clamped.update(('joint_commands', name) for name in outside)
        return self._send(wanted, message.stamp)

    def _bound(self, wanted):
        """Clamp numbers to the limits; return the joints with clamped numbers."""
        outside = []
        for name, modes in wanted.items() if self.limits != 'off' else ():
            for each, value in modes.items():
                least, most = LIMITS.get(name, {}).get(each, (-math.inf, math.inf))
                modes[each] = min(max(value, least), most)
                if modes[each] != value and name not in outside:
                    outside.append(name)
        return outside

    def _end_outward(self, wanted, measured):
        """Have no velocity lead further beyond a position limit."""
        for name, modes in wanted.items() if self.limits != 'off' else ():
            least, most = LIMITS.get(name, {}).get('position', (-math.inf, math.inf))
            rate, position = modes.get('velocity', 0.0), measured[name]
            if position is not None and (
                (position > most and rate > 0.0) or (position < least and rate < 0.0)
            ):
                modes['velocity'] = 0.0

    def _complete(self, wanted, joints, measured):
        commanded = [name for name in joints if name in wanted]
        if not commanded:
            return None
        modes = set(wanted[commanded[0]])
        if any(set(wanted[name]) != modes for name in commanded):
            return 'mixed_coupled'
        missing = [name for name in joints if name not in wanted]
        for name in missing:
            fill = {}
            for each in modes:
                value = self.held[name].get(each)
                if value is None and each == 'position':
                    value = measured[name]
                if value is None:
                    return 'partial'
                fill[each] = value
            wanted[name] = fill
        return None

    def tune(self, changes):
        """Use other numbers; a joint that holds a position keeps the position of its actuators."""
        self.numbers = self.numbers.tuned(changes)
        changed = {_MEMBERS[name][0] for _, name in changes}
        actuators = {
            name: modes['position'].value if 'position' in modes else None
            for name, modes in self.sent.items()
        }
        for name, modes in self.held.items():
            if 'position' in modes and name in _MEMBERS and _MEMBERS[name][0] in changed:
                number = joint_value(self.numbers, 'position', name, actuators)
                if number is not UNKNOWN:
                    modes['position'] = number.value
                    self.sizes[name] = number.size

    def _send(self, wanted, stamp):
        """Map commands that are complete, and hold them."""
        sent = {}
        for name, modes in wanted.items():
            if 'position' in modes and modes['position'] != self.held[name].get('position'):
                self.sizes.pop(name, None)
        for each in FIELDS:
            joints = {name: modes[each] for name, modes in wanted.items() if each in modes}
            for actuator in ACTUATORS:
                sizes = self.sizes if each == 'position' else {}
                number = actuator_value(self.numbers, each, actuator, joints, sizes)
                if number is not UNKNOWN:
                    sent.setdefault(actuator, {})[each] = number
        self.held.update(wanted)
        self.sent.update(sent)
        return self._messages(sent, stamp)

    def _messages(self, sent, stamp):
        names = tuple(name for name in ACTUATORS if name in sent)
        if not names:
            return []
        modes = {frozenset(sent[name]) for name in names}
        if self.mixed_commands == 'nan' or len(modes) == 1:
            return [
                Expected(
                    names,
                    {
                        each: [sent[name].get(each, UNKNOWN) for name in names]
                        if any(each in sent[name] for name in names)
                        else None
                        for each in FIELDS
                    },
                    stamp,
                )
            ]
        messages = []
        for each in FIELDS:
            having = tuple(name for name in names if each in sent[name])
            if having:
                fields = dict.fromkeys(FIELDS)
                fields[each] = [sent[name][each] for name in having]
                messages.append(Expected(having, fields, stamp))
        return messages


# -- what hypothesis draws -----------------------------------------------------------------------

_PLAIN = st.floats(-100.0, 100.0, allow_subnormal=False)
_VALUES = st.one_of(_PLAIN, _PLAIN, _PLAIN, st.sampled_from([math.nan, math.inf, -math.inf, 0.0]))
_STAMPS = st.tuples(st.integers(1, 5), st.integers(0, 3))


@st.composite
def messages(draw, names, strangers=('stranger', '')):
    """
    Draw a message that is mostly right.

    :param names: Names that mean something.
    :param strangers: Names that do not.
    """
    chosen = draw(st.lists(st.sampled_from(names), unique=True, max_size=len(names)))
    kind = draw(st.sampled_from(['plain'] * 6 + ['strangers', 'twice', 'ragged', 'none']))
    if kind == 'strangers':
        chosen = draw(st.permutations(chosen + list(strangers)))
    elif kind == 'twice' and chosen:
        chosen = draw(st.permutations([*chosen, draw(st.sampled_from(chosen))]))
    elif kind == 'none':
        chosen = []
    size = len(chosen)
    wrong = draw(st.sampled_from(FIELDS)) if kind == 'ragged' else None
    arrays = {}
    for each in FIELDS:
        length = size if draw(st.booleans()) else 0
        if each == wrong:
            length = draw(st.sampled_from([size + 1, max(size - 1, 1)]))
        arrays[each] = tuple(draw(st.lists(_VALUES, min_size=length, max_size=length)))
    return Message(tuple(chosen), stamp=draw(_STAMPS), **arrays)


@st.composite
def changes(draw):
    """Draw parameter changes: one to four reductions and offsets."""
    numbers = Numbers()
    keys = [('reduction', name) for name in numbers.reduction]
    keys += [('offset', name) for name in numbers.offset]
    ratio = st.floats(0.1, 50.0).flatmap(lambda size: st.sampled_from([size, -size]))
    return {
        key: draw(st.floats(-3.0, 3.0) if key[0] == 'offset' else ratio)
        for key in draw(st.lists(st.sampled_from(keys), min_size=1, max_size=4, unique=True))
    }


def draw_steps():
    """Return a strategy for what happens to a state path: a list of (what, ...) tuples."""
    return st.lists(
        st.one_of(
            st.tuples(
                st.just('state'), st.sampled_from(['one', 'two', 'three']), messages(ACTUATORS)
            ),
            st.tuples(st.just('tune'), changes()),
            # Multiples of a quarter, so that sums of them are exact; time may also go back.
            st.tuples(st.just('wait'), st.sampled_from([0.25, 1.0, 1.25, 3.0, -0.25, -50.0])),
            st.tuples(st.just('reset')),
        ),
        max_size=12,
    )


strategies = SimpleNamespace(messages=messages, changes=changes, steps=draw_steps)
