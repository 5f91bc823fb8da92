# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A slow and obvious model of the states of the reference robot: dictionaries and loops."""

from __future__ import annotations

from dataclasses import dataclass
import math

from hypothesis import strategies as st
from zoo.reference import ACTUATORS, FIELDS, joint_value, JOINTS, Message, Number, Numbers, UNKNOWN


@dataclass(frozen=True)
class Expected:
    """A message that is to be published: numbers by field."""

    names: tuple[str, ...]
    fields: dict[str, list[Number]]
    stamp: tuple[int, int]

    def check(self, found) -> None:
        """Compare with what was published (a record or a typed message as a record)."""
        assert (found.stamp, tuple(found.names)) == (self.stamp, self.names)
        for name, numbers in self.fields.items():
            values = list(getattr(found, name))
            assert len(values) == len(numbers), name
            for joint, number, value in zip(self.names, numbers, values, strict=False):
                assert number.equals(value), (joint, name, number, value)


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
        self.heard = dict.fromkeys(self.values, -math.inf)
        self.spoke = {}
        self.now = self.latest = -math.inf
        self.set_clock()

    def update(self, source, message, now=0.0, names=None):
        """
        Take a message at a time.

        :param names: Driver's name to URDF name of what the robot has.
        :returns: Every reason that may be given, if it must be refused.
        """
        names = {name: name for name in ACTUATORS} if names is None else names
        known = [names[name] for name in message.names if name in names]
        reasons = {'ragged'} if message.is_ragged else set()
        if len(known) != len(set(known)):
            reasons.add('duplicate_name')
        if not known and not reasons:
            reasons.add('foreign')
        if reasons:
            return reasons
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
        return reasons

    def actuators(self, each):
        """Return the known values of a field by actuator."""
        return {
            name: self.values[each, name][1] if self._is_fresh(self.heard[each, name]) else None
            for name in ACTUATORS
        }

    def _is_fresh(self, heard):
        if not self.timeout:
            return True
        return self.now >= self.latest and self.now - heard <= self.timeout

    def joint_state(self):
        """Return what is to be published, or ``None``."""
        numbers, names, fields = {}, JOINTS, {}
        for each in FIELDS:
            known = self.actuators(each)
            numbers[each] = {name: joint_value(self.numbers, each, name, known) for name in JOINTS}
        if self.unknown_joints == 'omit':
            names = tuple(name for name in JOINTS if numbers['position'][name] is not UNKNOWN)
        for each in FIELDS:
            values = [numbers[each][name] for name in names]
            fields[each] = [] if all(value is UNKNOWN for value in values) else values
        stamp = self.stamp()
        return Expected(names, fields, stamp) if stamp and any(fields.values()) else None

    def set_clock(self):
        """Forget stamps: the node's clock was set back, or has a time at last."""
        self.stamps = {}
        self.published = self.older_since = None

    def stamp(self):
        """
        Return the stamp of what is published now: the newest, back only where time went.

        Drivers that fell silent have none, and there is none before now's first message.
        """
        known = [stamp for key, stamp in self.stamps.items() if self._is_fresh(self.spoke[key])]
        if not known or self.now < self.latest:
            return None
        newest = max(known)
        is_older = self.published is not None and newest < self.published
        if is_older and self.older_since is None:
            self.older_since = self.now
        if not is_older or self.now - self.older_since >= STAMP_HOLD:
            self.published, self.older_since = newest, None
        return self.published


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


def draw_steps(*names):
    """
    Return a strategy for what happens to a state path: a list of (what, ...) tuples.

    :param names: Names that mean something, and those that do not, if they are not the usual ones.
    """
    states = messages(*names or (ACTUATORS,))
    return st.lists(
        st.one_of(
            st.tuples(st.just('state'), st.sampled_from(['one', 'two', 'three']), states),
            st.tuples(st.just('tune'), changes()),
            # Multiples of a quarter, so that sums of them are exact; time may also go back.
            st.tuples(st.just('wait'), st.sampled_from([0.25, 1.0, 1.25, 3.0, -0.25, -50.0])),
            st.tuples(st.just('reset')),
        ),
        max_size=12,
    )
