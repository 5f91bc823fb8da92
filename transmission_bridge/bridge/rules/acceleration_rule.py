# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The rule on accelerations between commands, and between waypoints."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from transmission_bridge.bridge.ledger import Ledger
from transmission_bridge.bridge.motion import ACCELERATION, Motion, Pattern, POSITION, VELOCITY
from transmission_bridge.bridge.robot_plan import RobotPlan
from transmission_bridge.bridge.rules.rule import list_names, ROUNDING, Rule, Verdict
from transmission_bridge.bridge.states.states import KnownState
from transmission_bridge.description import effective_limits
from transmission_bridge.errors import shortened
from transmission_bridge.types import Array, Mask

#: Time that a change of speed may take in addition to the available time [s]: messages are late.
_EXTRA_TIME = 0.15

#: Time over which the speed of a stream of positions is averaged [s].
_AVERAGE_TIME = 0.05

#: Resolution of times since 1970 as numbers, rounded up [s].
_RESOLUTION = 1e-6

#: Longest time since the last command that counts for the speed of positions [s].
_LONGEST_STEP = 0.1


class Acceleration(Rule):
    """
    With ``max_acceleration`` no command speeds a joint up faster than its acceleration limit.

    In any time T the speed rises by at most ``a (T + 0.15 s)``. Commands that brake are never
    rejected, because the motor would continue. Positions count by their speed, averaged over
    0.05 s.
    """

    @classmethod
    def make(cls, plan: RobotPlan, pattern: Pattern) -> Iterator[Rule]:
        """Yield one rule for all joints with a limit."""
        if plan.options.max_acceleration == 'off' or pattern.is_end:
            return
        names = plan.robot.joint_names
        found = [effective_limits(plan.robot.description, name) for name in names]
        limits: Array = np.array([[each.acceleration, each.deceleration] for each in found]).T
        if np.isfinite(limits).any():
            yield (_WaypointAcceleration if pattern.is_trajectory else cls)(names, limits)

    def __init__(self, names: tuple[str, ...], limits: Array) -> None:
        self._names, (self._most, self._most_braking) = names, limits

    def apply(self, motion: Motion, known: KnownState, ledger: Ledger) -> Verdict | None:
        """Reject a command that speeds a joint up too fast."""
        now, (_, settled, last) = known.now, ledger.speeds
        age = np.minimum(np.abs(now - last), _LONGEST_STEP)
        origin, speed = self._read_present(known, ledger)
        steps = motion.values[POSITION] - origin
        averaged = speed + (steps - speed * age) / (age + _AVERAGE_TIME)
        speeds = np.array([averaged, motion.values[VELOCITY]])
        gains = np.abs(speeds) - np.maximum(np.sign(speeds) * speed, 0.0)
        # Late messages let the averaged speed vary, so a loss makes up for a gain there.
        gain = np.fmax(gains[0], np.maximum(gains[1], 0.0))
        # Time that went backwards ended every command.
        credit = np.where(settled > now, _EXTRA_TIME, np.minimum(now - settled, _EXTRA_TIME))
        needed = gain / np.maximum(self._most, ROUNDING)
        far = needed > credit + _RESOLUTION
        if far.any():
            sentences = [
                f'{self._names[place]} would be {gain[place]:g} faster after '
                f'{credit[place]:.3g} s, with at most {self._most[place]:g} per second'
                for place in np.flatnonzero(far)
            ]
            return _reject(sentences, list_names(self._names, far))
        later = np.minimum(now - credit + needed, now)
        after = np.where(np.isnan(speeds[1]), averaged, speeds[1])
        motion.speeds = np.where(
            np.isnan(gain), ledger.speeds, [after, later, np.full(len(later), now)]
        )
        return None

    def _read_present(self, known: KnownState, ledger: Ledger) -> tuple[Array, Array]:
        """Return position and speed before a motion: as commanded, else as measured."""
        position, speed, _ = ledger.read_held_commands(known.now)
        former, _, last = ledger.speeds
        # A stream of positions that has ended holds the last one.
        stream = np.where(np.abs(known.now - last) <= _LONGEST_STEP, former, 0.0)
        stream = np.where(np.isnan(position), known.velocity, stream)
        speed = np.nan_to_num(np.where(np.isnan(speed), stream, speed))
        return np.where(np.isnan(position), known.position, position), speed


class _WaypointAcceleration(Acceleration):
    """The limit along a trajectory."""

    def apply(self, motion: Motion, known: KnownState, ledger: Ledger) -> Verdict | None:
        """
        Reject waypoints that no motion within the limits can pass.

        By the mean value theorem a motion exceeds its limit if one of these differences does:
        between velocities, between mean speeds, and between a mean speed and a velocity.
        """
        assert motion.trajectory is not None
        record, given, start = motion.trajectory
        # Subtract integers, because floats of seconds would lose nanoseconds.
        instants = [s * 10**9 + ns for s, ns in (point.time for point in record.points)]
        origin, speed = self._read_present(known, ledger)
        begin = max(start - known.now + 1e-9 * instants[0], 0.0) + _EXTRA_TIME
        times = begin + 1e-9 * np.array([each - instants[0] for each in instants])[:, np.newaxis]
        positions, rates, accelerations = motion.values[[POSITION, VELOCITY, ACCELERATION]]
        moving, placed = given[VELOCITY], given[POSITION]
        # The present motion is the first velocity; each row is: from, to, seconds.
        known_rates = np.vstack([speed, rates[moving]])
        rate_times = np.vstack([[0.0], times[moving]])
        pairs = [(known_rates[:-1], known_rates[1:], np.diff(rate_times, axis=0))]
        if placed.any():
            rates, positions, times = rates[placed], positions[placed], times[placed]
            periods, middles = np.diff(times, axis=0), 0.5 * (times[1:] + times[:-1])
            means = np.diff(positions, axis=0) / periods
            delay = times[:1] - _EXTRA_TIME
            first = speed + (positions[:1] - origin - speed * delay) / (delay + _AVERAGE_TIME)
            pairs += [
                (speed, first, times[:1]),
                (speed, means[:1], middles[:1]),
                (means[:-1], means[1:], np.diff(middles, axis=0)),
                (rates[:-1], means, 0.5 * periods),
                (means, rates[1:], 0.5 * periods),
            ]
        former = np.nan_to_num(motion.values[VELOCITY])
        pairs.append((former, former + accelerations, np.ones((1, 1))))
        for before, after, seconds in pairs:
            changes = (after - before) / seconds
            most = np.where(changes * before < 0.0, self._most_braking, self._most)
            spare = ROUNDING * (1.0 + np.abs(before) + np.abs(after)) / seconds
            far = np.abs(changes) > most + spare
            if far.any():
                return self._describe(far, changes, most)
        return None

    def _describe(self, far: Mask, changes: Array, most: Array) -> Verdict:
        most = np.broadcast_to(most, far.shape)
        sentences = [
            f'{self._names[place]} would change its speed by {abs(changes[number, place]):g} per '
            f'second, with at most {most[number, place]:g}'
            for number, place in np.argwhere(far)[:1]
        ]
        return _reject(sentences, list_names(self._names, far))


def _reject(sentences: list[str], names: tuple[str, ...]) -> Verdict:
    return Verdict(
        'limit',
        f'outside the acceleration limits: {shortened(sentences, show=str)} (max_acceleration is '
        'reject)',
        changes=[('limited', names)],
    )
