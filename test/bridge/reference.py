# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A slow and obvious model of the bridge: dictionaries, loops, and formulas written out by hand.

It shares no code with the package but the shape of its results. Numbers come with the sum of the
absolute terms that they were made of, because that is what a rounding error is relative to.
"""

from __future__ import annotations

from dataclasses import dataclass, field
import math
from types import SimpleNamespace

from hypothesis import strategies as st
import numpy as np
from zoo.elements import ratio

from transmission_bridge.messages.cdr import JointStateEncoder, JointStateReader
from transmission_bridge.messages.joint_state import JointStateRecord

FIELDS = ('position', 'velocity', 'effort')

#: Joints in the order of the URDF, actuators in the order of the transmissions and their roles.
JOINTS = ('finger', 'elbow', 'dial', 'roll', 'lift', 'pitch', 'shoulder')
ACTUATORS = ('winch', 'left', 'right', 'hip', 'crank', 'finger')
COMMANDABLE = tuple(name for name in JOINTS if name != 'dial')


def _declared(name):
    """Return a joint of the block, which only reads the dial."""
    side = 'state' if name == 'dial' else 'command'
    return f'<joint name="{name}"><{side}_interface name="position"/></joint>'


def _link(name):
    """Return a joint that turns, with its link."""
    return (
        f'<link name="l_{name}"/><joint name="{name}" type="continuous"><parent link="base"/>'
        f'<child link="l_{name}"/></joint>'
    )


#: A lift, a differential wrist and a four-bar arm whose roles stand against the order of the text,
#: a dial that only reads the lift's motor, and a finger without transmission.
URDF = f"""<?xml version="1.0"?>
<robot name="reference">
  <link name="base"/>
  {''.join(map(_link, JOINTS))}
  <ros2_control name="hardware" type="system">
    <hardware><plugin>reference/Hardware</plugin></hardware>
    {''.join(map(_declared, ('lift', 'dial', 'roll', 'pitch', 'shoulder', 'elbow')))}
    <transmission name="hoist">
      <plugin>transmission_interface/SimpleTransmission</plugin>
      <actuator name="winch" role="actuator1"/>
      <joint name="lift" role="joint1">{ratio(-4.0, 0.3)}</joint>
    </transmission>
    <transmission name="gauge">
      <plugin>transmission_interface/SimpleTransmission</plugin>
      <actuator name="winch" role="actuator1"/>
      <joint name="dial" role="joint1">{ratio(10.0, -0.05)}</joint>
    </transmission>
    <transmission name="wrist">
      <plugin>transmission_interface/DifferentialTransmission</plugin>
      <actuator name="right" role="actuator2">{ratio(-3.0)}</actuator>
      <actuator name="left" role="actuator1">{ratio(2.0)}</actuator>
      <joint name="pitch" role="joint2">{ratio(0.7, -0.2)}</joint>
      <joint name="roll" role="joint1">{ratio(1.5, 0.1)}</joint>
    </transmission>
    <transmission name="arm">
      <plugin>transmission_interface/FourBarLinkageTransmission</plugin>
      <actuator name="crank" role="actuator2">{ratio(-25.0)}</actuator>
      <actuator name="hip" role="actuator1">{ratio(40.0)}</actuator>
      <joint name="elbow" role="joint2">{ratio(1.1, -0.4)}</joint>
      <joint name="shoulder" role="joint1">{ratio(-0.9, 0.25)}</joint>
    </transmission>
  </ros2_control>
</robot>
"""

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
_LEAF = {'offset': 'offset', 'reduction': 'mechanical_reduction'}


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


def parameter_name(key):
    """Return the ROS parameter of a change."""
    kind, name = key
    transmission, side, *_ = _MEMBERS[name]
    return f'transmissions.{transmission}.{side}.{name}.{_LEAF[kind]}'


def nested(changes):
    """Return changes as :meth:`RobotTransmissions.with_parameters` takes them."""
    return {
        parameter_name(key).removeprefix('transmissions.'): value for key, value in changes.items()
    }


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


def _states(n):
    """
    Return ``{joint: {actuator: factor}}``: what the rate of a joint is the sum of.

    The simple transmission ``j = a/n + off``, the differential
    ``j1 = (a1/ar1 + a2/ar2)/(2 jr1) + off1``, ``j2 = (a1/ar1 - a2/ar2)/(2 jr2) + off2``, the
    four-bar linkage ``j1 = a1/(jr1 ar1) + off1``, ``j2 = (a2/ar2 - a1/(jr1 ar1))/jr2 + off2``.
    """
    return {
        'finger': {'finger': 1.0},
        'lift': {'winch': 1 / n['lift']},
        'dial': {'winch': 1 / n['dial']},
        'roll': {'left': 0.5 / (n['roll'] * n['left']), 'right': 0.5 / (n['roll'] * n['right'])},
        'pitch': {
            'left': 0.5 / (n['pitch'] * n['left']),
            'right': -0.5 / (n['pitch'] * n['right']),
        },
        'shoulder': {'hip': 1 / (n['shoulder'] * n['hip'])},
        'elbow': {
            'crank': 1 / (n['elbow'] * n['crank']),
            'hip': -1 / (n['elbow'] * n['shoulder'] * n['hip']),
        },
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


def joint_value(numbers, interface, joint, actuators):
    """Return a :class:`Number`, unknown if an actuator that it depends on is (``None``)."""
    n, offset = numbers.reduction, numbers.offset.get(joint, 0.0)
    terms = _states(n)[joint]
    if interface == 'effort':
        terms = {'winch': n['dial']} if joint == 'dial' else _powers(_commands(n), joint)
    if any(actuators.get(name) is None for name in terms):
        return UNKNOWN
    parts = [factor * actuators[name] for name, factor in terms.items()]
    parts.append(offset * (interface == 'position'))
    return Number(sum(parts), sum(map(abs, parts)))


def actuator_value(numbers, interface, actuator, joints):
    """Return a :class:`Number`, unknown if a joint that it depends on has none (``None``)."""
    n, off = numbers.reduction, numbers.offset if interface == 'position' else {}
    terms = _commands(n)[actuator]
    if interface == 'effort':
        states = _states(n)
        terms = _powers({name: states[name] for name in COMMANDABLE}, actuator)
    if any(joints.get(name) is None for name in terms):
        return UNKNOWN
    offsets = {name: off.get(name, 0.0) for name in terms}
    return Number(
        sum(factor * (joints[name] - offsets[name]) for name, factor in terms.items()),
        sum(abs(f) * (abs(joints[name]) + abs(offsets[name])) for name, f in terms.items()),
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
    """Maps commands to all joints in all modes; the oracle of other ones is ``promises.py``."""

    def __init__(self, numbers):
        self.numbers = numbers

    def command(self, message, measured):
        """Return the messages that it leads to."""
        fields = {}
        for each, values in message.arrays.items():
            joints = dict(zip(message.names, values, strict=True))
            assert joints.keys() == {*COMMANDABLE}
            fields[each] = [actuator_value(self.numbers, each, name, joints) for name in ACTUATORS]
        return [Expected(ACTUATORS, fields, message.stamp)]


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
