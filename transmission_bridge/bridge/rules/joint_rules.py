# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Rules on the numbers of joints, and the map to the actuators.

A plan makes them for each pattern, and the gate applies them in the order of ``JOINT_RULES``. A
rule writes the motion only; the map writes also the warm starts of its plan and the report of the
ledger.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from transmission_bridge.bridge.ledger import Ledger
from transmission_bridge.bridge.motion import (
    ACCELERATION,
    ARRAYS,
    EFFORT,
    Motion,
    Pattern,
    POSITION,
    VELOCITY,
)
from transmission_bridge.bridge.robot_facts import CoupledJoints, RobotFacts
from transmission_bridge.bridge.rules.rule import (
    describe_limit_violations,
    list_masked,
    mask_beyond_limits,
    ROUNDING,
    Rule,
    RuleVerdict,
)
from transmission_bridge.bridge.states.states import KnownState
from transmission_bridge.errors import shortened
from transmission_bridge.interfaces import ACTUATOR_TO_JOINT, FIELDS
from transmission_bridge.transmissions import Binding
from transmission_bridge.types import Array, Mask

#: Time at the velocity limit that a step may take in addition to the available time [s].
_STEP_TIME = 0.05

#: Longest time since the last command that counts for a step [s].
_LONGEST_STEP = 0.1


class Rejected(Rule):
    """A rejection that follows from the pattern, whatever the numbers."""

    def __init__(self, reason: str, sentence: str, joints: Mask | None = None) -> None:
        self._verdict = RuleVerdict(reason, sentence, joints)

    def apply(self, motion: Motion, state: KnownState, ledger: Ledger) -> RuleVerdict:
        """Reject every motion."""
        return self._verdict


class JointLimitRule(Rule):
    """With ``limits`` a number outside the limits of its joint is clamped or rejected."""

    @classmethod
    def make(cls, facts: RobotFacts, pattern: Pattern) -> Iterator[Rule]:
        """Yield one rule for all joints."""
        if not pattern.is_end and facts.options.limits != 'off':
            yield cls(facts, pattern)

    def __init__(self, facts: RobotFacts, pattern: Pattern) -> None:
        self._names = facts.robot.joint_names
        self._lower, self._upper = pattern.cut_rows(facts.joint_bounds)
        self._rejects = facts.options.limits == 'reject'

    def apply(self, motion: Motion, state: KnownState, ledger: Ledger) -> RuleVerdict | None:
        """Clamp, or reject; a lower limit above the upper one always rejects."""
        values = motion.values
        limited = np.minimum(np.maximum(values, self._lower), self._upper)
        if limited.tobytes() == values.tobytes():
            return None
        outside = (values < self._lower) | (values > self._upper)
        refused = outside if self._rejects else outside & (self._lower > self._upper)
        if refused.any():
            numbers = describe_limit_violations(
                self._names, values, refused, self._lower, self._upper
            )
            changes = [('limited', list_masked(self._names, refused))]
            return RuleVerdict('limit', f'outside the limits: {numbers}', changes=changes)
        values[...] = limited
        return RuleVerdict(changes=[('clamped', list_masked(self._names, outside))])


class PartnerRule(Rule):
    """
    A joint that shares actuators with commanded joints holds (``partial_commands``).

    It holds its last command of their mode, without one its measured position; its velocities and
    accelerations in trajectories are zero. At an end it keeps its active command. If there are too
    few actuators for it to hold, it ends also, and it follows a command if the ratio is constant
    or each joint has a curve of its own (:class:`FollowerRule`).
    """

    @classmethod
    def make(cls, facts: RobotFacts, pattern: Pattern) -> Iterator[Rule]:
        """Yield a rule, or a rejection, for each group with commands to some of its joints."""
        rejects = facts.options.partial_commands == 'reject'
        for group in facts.groups:
            mask, everyone = pattern.mask[:, group.joints], facts.make_mask(group.joints)
            commanded = mask.any(axis=0)
            if mask[mask.any(axis=1)].all():
                continue
            missing = ', '.join(list_masked(group.names, ~commanded))
            coupled = f'coupled by {group.binding.spec.name}'
            about = f'for {missing}, {coupled} to a joint that was commanded'
            # Commands to some of its joints may determine all others.
            leads = not group.can_hold and (group.constants is not None or bool(group.alone))
            if pattern.is_end:
                yield _KeptPartnerRule(pattern, group)
            elif not (mask[:, commanded] == mask[:, commanded][:, :1]).all():
                names = f'{", ".join(group.names)} are {coupled}'
                why = 'and were commanded in different modes; command them in the same'
                yield Rejected('mixed_coupled', f'{names} {why}', everyone)
            elif group.can_hold and not rejects:
                yield cls(facts, pattern, group, about)
            elif not leads or not pattern.is_command:
                why = ', and it has too few actuators to hold them'
                why = ' (partial_commands is reject)' if rejects else why
                yield Rejected('partial', f'no {pattern.kind} {about}{why}', everyone)

    def __init__(
        self, facts: RobotFacts, pattern: Pattern, group: CoupledJoints, about: str
    ) -> None:
        mask = pattern.mask[:, group.joints]
        commanded = mask.any(axis=0)
        self._lead, self._missing = group.joints[commanded][0], group.joints[~commanded]
        self._everyone, self._about = facts.make_mask(group.joints), about
        # Commanded rows, words for the rows, and rows in which the missing joints are zero.
        self._rows = np.flatnonzero(mask.any(axis=1)).tolist()
        self._names: Sequence[str] = [f'{field} command' for field in FIELDS]
        self._still: tuple[int, ...] = ()
        if not pattern.is_command:
            self._names, self._still = ARRAYS, (VELOCITY, ACCELERATION)

    def apply(self, motion: Motion, state: KnownState, ledger: Ledger) -> RuleVerdict | None:
        """Fill in the missing joints."""
        held = ledger.joints[:, self._missing]
        for row in self._rows:
            values = motion.values[row]
            filler = np.zeros(len(self._missing)) if row in self._still else held[row]
            if row == POSITION:
                filler = np.where(np.isnan(filler), state.position[self._missing], filler)
            if np.isnan(filler).any():
                sentence = f'no {self._names[row]} {self._about}, and nothing to hold'
                return RuleVerdict('partial', sentence, self._everyone)
            is_given = ~np.isnan(values[..., self._lead, np.newaxis])
            values[..., self._missing] = np.where(is_given, filler, np.nan)
        return None


class _KeptPartnerRule(Rule):
    """Partners keep their active commands."""

    def __init__(self, pattern: Pattern, group: CoupledJoints) -> None:
        self._joints, self._can_hold = group.joints, group.can_hold
        self._rows = np.flatnonzero(pattern.mask[:, group.joints].any(axis=1)).tolist()

    def apply(self, motion: Motion, state: KnownState, ledger: Ledger) -> None:
        """Fill in the active commands of the missing joints, zero without one."""
        for row in self._rows:
            values = motion.values[row, self._joints]
            kept = np.nan_to_num(ledger.joints[row, self._joints]) * self._can_hold
            motion.values[row, self._joints] = np.where(np.isnan(values), kept, values)


class NeededArrayRule(Rule):
    """A waypoint has the arrays that a mechanism with a position-dependent ratio needs."""

    @classmethod
    def make(cls, facts: RobotFacts, pattern: Pattern) -> Iterator[Rule]:
        """Yield a rule for each such mechanism in a trajectory."""
        for binding in facts.robot.bindings if pattern.is_trajectory else ():
            if not binding.transmission.is_constant and pattern.commands(binding):
                yield cls(binding)

    def __init__(self, binding: Binding) -> None:
        self._name = binding.spec.name

    def apply(self, motion: Motion, state: KnownState, ledger: Ledger) -> RuleVerdict | None:
        """Reject a waypoint without positions, or with accelerations without velocities."""
        assert motion.trajectory is not None
        filled = motion.trajectory.filled
        needs_velocities = filled[ACCELERATION] & ~filled[VELOCITY]
        for reason, lacks, what in (
            ('no_position', ~filled[POSITION], 'no positions'),
            ('no_velocity', needs_velocities, 'accelerations without velocities'),
        ):
            if lacks.any():
                why = f'{self._name} depends on position'
                return RuleVerdict(reason, f'waypoint {int(np.argmax(lacks))} has {what}: {why}')
        return None


class FollowerRule(Rule):
    """
    Joints that fewer actuators move together are commanded what these can do.

    A command is replaced by the motion ``q = f(a)``, ``q̇ = J ȧ`` of the actuators; ``a`` and
    ``ȧ`` are the least-squares solution for the commanded joints. With ``limits: clamp`` one
    actuator with a constant ratio or a table moves to the nearest position at which all joints are
    within their limits. Other positions beyond a limit are rejected. Velocities are scaled by one
    factor. An effort is not changed; a joint without a command has effort zero.
    """

    @classmethod
    def make(cls, facts: RobotFacts, pattern: Pattern) -> Iterator[Rule]:
        """Yield a rule for each such group with a command."""
        for group in facts.groups:
            if not group.can_hold and pattern.mask[:, group.joints].any():
                yield cls(facts, pattern, group)

    def __init__(self, facts: RobotFacts, pattern: Pattern, group: CoupledJoints) -> None:
        self._group, self._joints = group, group.joints
        mask = pattern.mask[:, group.joints]
        self._has_rates, self._has_efforts = mask[VELOCITY].any(), mask[EFFORT].any()
        # Indices in the group.
        self._commanded = np.flatnonzero(mask.any(axis=0))
        self._may_reject = not pattern.is_end
        self._clamps = facts.options.limits == 'clamp'
        self._bounds: Array = facts.joint_bounds[:, :EFFORT, group.joints].swapaxes(0, 1)
        ends: Array = np.array([[-np.inf], [np.inf]])
        if group.constants is not None:  # products are faster than the maps
            jacobian, offset = group.constants
            self._inverse = np.linalg.pinv(jacobian[self._commanded])
            if jacobian.shape[1] == 1:
                with np.errstate(divide='ignore', invalid='ignore'):  # a joint may stand still
                    ends = (self._bounds[POSITION] - offset) / jacobian[:, 0]
        elif group.alone:
            columns = []
            # At the limits of each joint, or where its curve ends.
            for table, limits in zip(group.alone, self._bounds[POSITION].T, strict=True):
                assert table.domain is not None
                domain = [table.domain.lower, table.domain.upper]
                curve_ends = np.sort(table.actuator_to_joint('position', domain), axis=0)
                reached = np.clip(limits[:, np.newaxis], *curve_ends)
                columns.append(table.joint_to_actuator('position', reached))
            ends = np.hstack(columns)
        # Lower and upper position of one actuator between which all joints are within limits.
        self._span = np.fmax.reduce(np.fmin(*ends)), np.fmin.reduce(np.fmax(*ends))
        # The map from commanded joints to the actuators, and the indices of the joints that it
        # has.
        self._leaders, self._leading = group.binding.transmission, np.arange(len(group.joints))
        # Otherwise the joints without a command make the actuators unknown.
        if selected := self._leaders.select_joints(self._commanded.tolist()):
            self._leaders, self._leading = selected, self._commanded

    def apply(self, motion: Motion, state: KnownState, ledger: Ledger) -> RuleVerdict | None:
        """Replace positions and velocities by those of the actuators, within limits."""
        names, changes, constants = self._group.names, [], self._group.constants
        at, motors = state.position[self._joints], None
        for row, (lower, upper) in enumerate(self._bounds):
            values = motion.values[row][..., self._joints]
            is_given = ~np.isnan(values[..., self._commanded[:1]])
            # The ratio depends on the commanded position, else on the measured one.
            numbers = values if row else np.where(is_given, values, at)
            if constants is None:
                numbers, measured = numbers[..., self._leading], at[..., self._leading]
                sent = self._leaders.joint_to_actuator(FIELDS[row], numbers, at=measured)
            else:
                numbers = numbers - constants[1] * (row == POSITION)
                sent = numbers[..., self._commanded] @ self._inverse.T
            moved = self._to_joints(row, sent, motors)
            beyond = mask_beyond_limits(moved, lower, upper) & is_given
            if beyond.any() and self._clamps:
                changes.append(('clamped', list_masked(names, beyond)))
                if row == POSITION:
                    sent = np.clip(sent, *self._span)
                else:
                    share = np.ones(moved.shape)
                    np.divide(upper, np.abs(moved), out=share, where=beyond)
                    sent = sent * share.min(axis=-1, keepdims=True)
                moved = self._to_joints(row, sent, motors)
                beyond = mask_beyond_limits(moved, lower, upper) & is_given
            if beyond.any() and self._may_reject:
                numbers = describe_limit_violations(names, moved, beyond, lower, upper)
                sentence = f'outside the {FIELDS[row]} limits of joints that follow: {numbers}'
                return RuleVerdict(
                    'limit', sentence, changes=[('limited', list_masked(names, beyond))]
                )
            # What cannot be mapped becomes NaN, also if the stream could map it from its last
            # solution, except velocity zero.
            is_still = (values == 0.0) & (row == VELOCITY)
            done = np.where(np.isfinite(moved), moved, np.where(is_still, 0.0, np.nan))
            motion.values[row][..., self._joints] = np.where(is_given, done, np.nan)
            if not self._has_rates:
                break
            at, motors = moved, sent
        if self._has_efforts:
            values = motion.values[EFFORT][..., self._joints]
            is_left_out = np.isnan(values) & ~np.isnan(values[..., self._commanded[:1]])
            motion.values[EFFORT][..., self._joints] = np.where(is_left_out, 0.0, values)
        return RuleVerdict(changes=changes) if changes else None

    def _to_joints(self, row: int, values: Array, at: Array | None) -> Array:
        if self._group.constants is None:
            joints = self._group.binding.map(ACTUATOR_TO_JOINT, FIELDS[row], values, at=at)
            return joints[..., : len(self._joints)]  # without passive joints
        jacobian, offset = self._group.constants
        return values @ jacobian.T + offset * (row == POSITION)


class StepRule(Rule):
    """With ``max_step`` a position too far from the last one is counted, or rejected."""

    @classmethod
    def make(cls, facts: RobotFacts, pattern: Pattern) -> Iterator[Rule]:
        """Yield one rule for all joints."""
        has_positions = pattern.mask[POSITION].any() and not pattern.is_end
        if has_positions and facts.options.max_step != 'off':
            yield cls(facts, pattern)

    def __init__(self, facts: RobotFacts, pattern: Pattern) -> None:
        self._names, self._speeds = facts.robot.joint_names, facts.joint_speeds
        self._least: Array = facts.joint_speeds * _STEP_TIME
        self._positions = pattern.complete[POSITION].tobytes()
        self._warns = facts.options.max_step == 'warn'

    def apply(self, motion: Motion, state: KnownState, ledger: Ledger) -> RuleVerdict | None:
        """Compare the distance to positions with velocity limits."""
        targets = motion.values[POSITION]
        if motion.trajectory is None and not ledger.has_rejected:
            step = np.abs(targets - ledger.joints[POSITION])
            if (step <= self._least).tobytes() == self._positions:
                return None  # near enough for any time
        origin = ledger.compute_step_origins(state)
        time: Array | float = np.minimum(ledger.compute_command_ages(state.now), _LONGEST_STEP)
        if motion.trajectory is not None:
            record, filled, start = motion.trajectory
            first = int(np.argmax(filled[POSITION]))
            seconds, nanoseconds = record.points[first].time
            time = max(start - state.now + seconds + 1e-9 * nanoseconds, 0.0)
            targets = targets[first]
        most = self._speeds * (time + _STEP_TIME) * (1.0 + ROUNDING)
        far = ~(np.abs(targets - origin) <= most)  # NaN is not within
        far &= motion.pattern.moved & np.isfinite(self._speeds)
        # Without a target the map rejects; without an origin the step is too large.
        far &= ~np.isnan(targets) | (np.isnan(origin) & motion.pattern.complete[POSITION])
        if not far.any():
            return None
        if self._warns:
            return RuleVerdict(
                changes=[('jumped', list_masked(self._names, far & ~np.isnan(origin)))]
            )
        sentences = [
            f'{self._names[joint]} from {origin[joint]:g} to {targets[joint]:g}'
            if origin[joint] == origin[joint]
            else f'{self._names[joint]} from an unknown position'
            for joint in np.flatnonzero(far)
        ]
        steps = f'{shortened(sentences, show=str)} (max_step is reject)'
        return RuleVerdict('jumped', f'too far for the velocity limit: {steps}', far)


class OutwardRule(Rule):
    """
    No rate leads a joint that is measured beyond a position limit further out.

    Outward velocity becomes zero, also of joints that cannot move without this joint. Outward
    effort becomes zero while the joint moves outward faster than ``zero_max_velocity``, or its
    velocity is unknown; otherwise it passes, because it may hold a load. With ``limits: reject``
    the message is rejected, except for ends. A joint in an unknown position is not concerned.
    """

    @classmethod
    def make(cls, facts: RobotFacts, pattern: Pattern) -> Iterator[Rule]:
        """Yield one rule for all joints."""
        if pattern.mask[VELOCITY : EFFORT + 1].any() and facts.options.limits != 'off':
            yield cls(facts, may_reject=not pattern.is_end)

    def __init__(self, facts: RobotFacts, *, may_reject: bool) -> None:
        self._names = facts.robot.joint_names
        self._lower, self._upper = facts.joint_bounds[:, POSITION]
        self._rejects = facts.options.limits == 'reject' and may_reject
        self._moving, self._together = facts.options.zero_max_velocity, facts.together

    def apply(self, motion: Motion, state: KnownState, ledger: Ledger) -> RuleVerdict | None:
        """Set outward rates to zero, or reject."""
        outside = (state.position > self._upper) | (state.position < self._lower)
        if 1 not in outside.tobytes():  # NaN is not outside
            return None
        rates = motion.values[VELOCITY : EFFORT + 1]
        outward, passes = self.mask_outward(rates, state)
        stopped = list_masked(self._names, outward)
        if stopped and self._rejects:
            sentence = 'measured beyond a position limit and commanded further out: '
            return RuleVerdict(
                'limit', sentence + shortened(stopped), changes=[('limited', stopped)]
            )
        rates[outward] = 0.0
        changes = [('stopped', stopped), ('outward', list_masked(self._names, passes))]
        return RuleVerdict(changes=changes)

    def mask_outward(self, rates: Array, state: KnownState) -> tuple[Mask, Mask]:
        """
        Return the masks of the rates to stop, and of outward efforts that pass.

        :param rates: Rows velocity and effort, shape ``(2, ..., n_joints)``.
        """
        sense = (state.position > self._upper).astype(float) - (state.position < self._lower)
        outward: Mask = rates * sense > 0.0
        # An unknown velocity may be an outward one.
        passes = outward[1] & (state.velocity * sense <= self._moving)
        outward[1] &= ~passes
        for joints in self._together:
            some = outward[0][..., joints].any(axis=-1, keepdims=True)
            outward[0][..., joints] = some & ~np.isnan(rates[0][..., joints])
        return outward, passes


class MapRule(Rule):
    """
    The numbers of the actuators; a motion that cannot be mapped is rejected.

    Velocity is mapped at the commanded position, or at the measured one if no position is
    commanded; effort is mapped at the measured position. Rates of zero are zero at any position.
    A number that is too large for the unit of its driver cannot be mapped. An end that cannot be
    mapped is zero at its actuators, and also ends the partners.
    """

    @classmethod
    def make(cls, facts: RobotFacts, pattern: Pattern) -> Iterator[Rule]:
        """Yield the map of single samples, or of waypoints."""
        if pattern.named.any():
            yield (_WaypointMapRule if pattern.is_trajectory else cls)(facts)

    def __init__(self, facts: RobotFacts) -> None:
        self._robot, self._map = facts.robot, facts.stream.map_command
        self._scales = facts.units.scales

    def apply(self, motion: Motion, state: KnownState, ledger: Ledger) -> RuleVerdict | None:
        """Map all joints; if it is rejected, the rates that it should replace end."""
        sent = motion.sent = self._map(motion.values, state.position, ledger.report)
        is_finite = np.isfinite(sent if self._scales is None else sent / self._scales)
        if is_finite.tobytes() == motion.pattern.result:
            return None
        expected = np.frombuffer(motion.pattern.result, dtype=bool).reshape(sent.shape)
        lost, expiring = [], np.zeros(motion.values.shape[1], dtype=bool)
        for binding in self._robot.bindings:
            joints, motors = list(binding.joints), list_owned_actuators(binding)
            still = (motion.values[:, joints] == 0.0).all(axis=1)
            still[POSITION] = False
            sent[np.ix_(still, motors)] = 0.0
            is_finite[np.ix_(still, motors)] = True
            if is_finite[:, motors][expected[:, motors]].all():
                continue
            lost.append(binding.spec.name)
            expiring[joints] = expected[VELOCITY:, motors].any()
            if motion.due is not None:
                rows = np.flatnonzero(~np.isnan(motion.values[:, joints]).all(axis=1))
                active = ledger.mask_active_actuators()[np.ix_(rows, motors)]
                sent[np.ix_(rows, motors)] = np.where(active, 0.0, np.nan)
                motion.values[np.ix_(rows, joints)] = 0.0
                motion.due[joints] = True
        if not lost or motion.due is not None:
            return None
        why = 'outside its domain, singular, too large, or its position is unknown'
        sentence = f'a command cannot be mapped by {shortened(lost)}: {why}'
        return RuleVerdict('unmapped', sentence, expiring=expiring)


class _WaypointMapRule(MapRule):
    """The map of each waypoint of a trajectory."""

    def apply(self, motion: Motion, state: KnownState, ledger: Ledger) -> RuleVerdict | None:
        """Map all joints; reject a waypoint that cannot be mapped."""
        assert motion.trajectory is not None
        robot, values, filled = self._robot, motion.values, motion.trajectory.filled
        sent = motion.sent = np.full((*filled.shape, len(robot.actuator_names)), np.nan)
        for row, interface in enumerate((*FIELDS, 'acceleration')):
            if (points := filled[row]).any():
                at, rate = values[POSITION, points], values[VELOCITY, points]
                sent[row, points] = robot.joint_to_actuator(
                    interface, values[row, points], at=at, rate=rate, report=ledger.report
                )
        rows = [POSITION, VELOCITY, EFFORT, VELOCITY]
        scales = 1.0 if self._scales is None else self._scales[rows, np.newaxis]
        is_finite = np.isfinite(sent / scales)
        for binding in filter(motion.pattern.commands, robot.bindings):
            is_mapped = is_finite[..., list_owned_actuators(binding)].all(axis=-1)
            for row, point in np.argwhere(filled & ~is_mapped):
                return RuleVerdict(
                    'unmapped',
                    f'{ARRAYS[row]} of waypoint {point} cannot be mapped by {binding.spec.name}: '
                    'outside its domain, singular, or not supported',
                )
        return None


def list_owned_actuators(binding: Binding) -> list[int]:
    """Return the indices of the actuators that are commanded through a transmission."""
    return [motor for motor, owned in zip(binding.actuators, binding.owned, strict=True) if owned]


#: In the order of application. Limits come before partners, because a partner that holds keeps
#: its position beyond a limit; steps and outward rates after them, because these also move.
#: NeededArrayRule comes before FollowerRule, which removes numbers that cannot be mapped.
JOINT_RULES = (
    JointLimitRule,
    PartnerRule,
    NeededArrayRule,
    FollowerRule,
    StepRule,
    OutwardRule,
    MapRule,
)
