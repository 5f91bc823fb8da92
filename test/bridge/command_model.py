# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
What the reference model of ``reference.py`` leaves out: time, limits, and who commanded what.

As slow and as obvious: one dictionary per thing to remember, one loop over the joints per rule.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
import math

# Loaded from its file, under this name, by whoever loads this one.
from bridge_reference import (
    ACTUATORS,
    COMMANDABLE,
    COUPLED,
    DECLARED,
    FIELDS,
    JOINTS,
    Message,
    ReferenceCommands,
    ReferenceStates,
    Refused,
    URDF,
)

#: What the description below says of each joint, by field; a joint that is not there is free.
LIMITS = {
    'lift': {'position': (-2.0, 3.0), 'velocity': (-4.0, 4.0), 'effort': (-50.0, 50.0)},
    'pitch': {'position': (-1.0, 1.5), 'velocity': (-2.0, 2.0), 'effort': (-30.0, 30.0)},
    'shoulder': {'velocity': (-6.0, 6.0), 'effort': (-7.0, 7.0)},
    # The block is narrower than the joint.
    'elbow': {'position': (-1.25, 0.75), 'velocity': (-9.0, 9.0), 'effort': (-8.0, 8.0)},
}

#: Reasons that are found before the limits are looked at.
_EARLY = {'unknown_joint', 'duplicate_name', 'ragged', 'infinite', 'not_commandable'}


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


class TimedStates(ReferenceStates):
    """
    States that grow old.

    :param timeout: Seconds; 0: never.
    """

    def __init__(self, numbers, timeout=0.0, unknown_joints='omit'):
        super().__init__(numbers, unknown_joints)
        self.timeout = timeout
        self.forget()

    def forget(self):
        """Forget everything."""
        self.values = {(each, name): (None, None) for each in FIELDS for name in ACTUATORS}
        self.stamps = {}
        self.published = None
        self.older_since = None
        self.heard = {}
        self.spoke = {}
        self.latest = -math.inf
        self.now = -math.inf

    def take(self, source, message, now):
        """Take a message at a time; return a :class:`Refused`, or ``None``."""
        # One that is refused must leave everything as it is, the time included.
        refused = ReferenceStates(self.numbers).update(source, message)
        if refused:
            return refused
        if now < self.latest:
            self.forget()
        self.latest = self.now = now
        for each, values in message.arrays.items():
            for name in message.names if values else ():
                self.heard[each, name] = now
        self.spoke[source] = now
        return self.update(source, message)

    def stamp(self):
        """Return the stamp of what is published now; there is none before now's first message."""
        return None if self.now < self.latest else super().stamp()

    def known_stamps(self):
        """Return the newest stamps of the drivers that did not fall silent."""
        return [
            stamp
            for source, stamp in self.stamps.items()
            if not self.timeout or self.now - self.spoke[source] <= self.timeout
        ]

    def actuators(self, each):
        """Return the known values of a field by actuator, at the time ``now``."""
        known = super().actuators(each)
        return {name: known[name] if self._is_fresh(each, name) else None for name in known}

    def _is_fresh(self, each, name):
        if not self.timeout:
            return True
        if (each, name) not in self.heard or self.now < self.latest:
            return False
        return self.now - self.heard[each, name] <= self.timeout


class TimedCommands(ReferenceCommands):
    """
    Commands with limits, several sources, and an end.

    :param limits: ``clamp``, ``reject`` or ``off``.
    :param timeout: Seconds; 0: never.
    """

    def __init__(self, numbers, *, limits='clamp', timeout=0.0, **options):
        super().__init__(numbers, **options)
        self.limits = limits
        self.timeout = timeout
        self.clamped, self.limited, self.contested = Counter(), Counter(), Counter()

    def reset(self):
        """Forget every command."""
        super().reset()
        self.received = {}
        self.commanded_by = {}
        self.latest = -math.inf

    def array(self, interface, names, values, stamp, measured, source, now):
        """Return what a plain array of one interface leads to."""
        self._notice(now)
        if len(values) != len(names):
            return Refused({'size'})
        if not all(map(math.isfinite, values)):
            return Refused({'not_finite'})
        message = _message(names, stamp, {interface: tuple(values)})
        return self.take(message, measured, source, now)

    def take(self, message, measured, source, now):
        """
        Return what a message leads to.

        :param measured: Joint positions, ``None`` where unknown.
        :returns: The messages to be sent, or a :class:`Refused`.
        """
        self._notice(now)
        before = dict(self.held), dict(self.sent)
        bounded, outside = self._bounded(message)
        result = self.command(bounded, measured)
        refused = isinstance(result, Refused)
        if not (refused and result.reasons & _EARLY):
            if self.mixed_commands == 'reject' and len(set(_modes(message).values())) > 1:
                result = Refused({'mixed'})
            elif self.limits == 'reject' and outside:
                result = Refused({'limit'})
                self._count(self.limited, source, outside)
        if isinstance(result, Refused):
            self.held, self.sent = before
            return result
        self._count(self.clamped, source, outside)
        for name in _modes(message):
            if self.commanded_by.get(name, source) != source:
                self._count(self.contested, source, [name])
            self.commanded_by[name] = source
            self.received[name] = now
        return result

    def _notice(self, now):
        """What was commanded before time went back is over."""
        if now < self.latest:
            for name, modes in self.held.items():
                self.held[name] = {
                    each: value
                    for each, value in modes.items()
                    if each != 'position' and self.timeout
                }
            self.received = dict.fromkeys(self.received, -math.inf)
        self.latest = now

    def _bounded(self, message):
        """Return a message inside the limits, and the joints whose numbers were not."""
        arrays, outside = {}, []
        for each, values in message.arrays.items():
            names = message.names
            if len(values) != len(names):
                names = [name for name in names if name in DECLARED[each]]
            inside = list(values)
            for place, (name, value) in enumerate(zip(names, values, strict=False)):
                least, most = LIMITS.get(name, {}).get(each, (-math.inf, math.inf))
                if self.limits == 'off' or not math.isfinite(value) or least <= value <= most:
                    continue
                inside[place] = min(max(value, least), most)
                if name not in outside:
                    outside.append(name)
            arrays[each] = tuple(inside)
        return replace(message, **arrays), outside

    def _count(self, counter, source, names):
        counter.update((source, name) for name in names)

    def expire(self, stamp, now):
        """Return what ends the commands that are too old."""
        self._notice(now)
        if not self.timeout:
            return []
        over = [name for name in JOINTS if now - self.received.get(name, now) > self.timeout]
        wanted = {}
        for name in over:
            del self.received[name]
            rates = {each: 0.0 for each in self.held[name] if each != 'position'}
            if rates:
                wanted[name] = rates
        for _, joints in COUPLED:
            ending = [name for name in joints if name in wanted]
            for name in joints if ending else ():
                if name not in wanted:
                    held = {} if name in over else self.held[name]
                    wanted[name] = {each: held.get(each, 0.0) for each in wanted[ending[0]]}
        result = self._send(wanted, stamp)
        for name in over:
            self.held[name] = {}
        for _, joints in COUPLED:
            # With nobody's command alive, what a partner was made to hold is over as well.
            if any(name in over for name in joints) and not any(
                name in self.received for name in joints
            ):
                self.held.update({name: {} for name in joints})
        return result

    def _send(self, wanted, stamp):
        """Map commands that are complete."""
        arrays = {
            each: tuple(modes.get(each, math.nan) for modes in wanted.values()) for each in FIELDS
        }
        if not wanted:
            return []
        return self.command(_message(tuple(wanted), stamp, arrays), dict.fromkeys(JOINTS))


def _message(names, stamp, arrays):
    return Message(tuple(names), stamp=stamp, **arrays)


def _modes(message):
    """Return the modes that each joint is commanded in, by those that are."""
    modes = {}
    for each, values in message.arrays.items():
        names = message.names
        if len(values) != len(names):
            names = [name for name in names if name in DECLARED[each]]
        for name, value in zip(names, values, strict=False):
            if math.isfinite(value) and name in COMMANDABLE:
                modes.setdefault(name, []).append(each)
    return {name: tuple(each) for name, each in modes.items()}
