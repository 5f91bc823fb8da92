# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A calibration by hand as a sequence of steps, each with one thing to do.

The step follows from what is known of the arm: nothing has to be stored, and a joint that starts
again is asked for again. The page and the terminal show the same step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
import math
from typing import NamedTuple

import numpy as np

from transmission_bridge.tools.calibration.hand import (
    ENDS,
    format_way,
    HandCalibration,
    HandTransmission,
    JointTrack,
    LEAST,
    Outcome,
)

#: For the end.
AFTERWARDS = 'Before the torque returns, command the driver from its measured position.'

#: Ends that a joint can be moved to, in the order in which a button changes them.
_ENDS = ((-1, 1), (1,), (-1,))

#: Approaches to a stop whose position becomes a limit.
_APPROACHES = 3


class Act(NamedTuple):
    """
    Something that the user can do.

    :param label: On a button.
    :param act: Does it.
    """

    label: str
    act: Callable[[], object]


class Step(NamedTuple):
    """
    What the user does now.

    :param title: What to do, in a few words.
    :param hint: How.
    :param primary: The one button; ``None`` if the step ends by itself.
    :param obstacle: Why the button cannot be pressed; empty if it can.
    :param second: Another answer.
    :param joint: The joint that is moved, empty for none.
    :param side: Along (1) or against (-1) the arrow of the joint, 0 without an arrow.
    :param pose: Positions that the arm is put into; joints that are missing are at zero.
    """

    title: str
    hint: str
    primary: Act | None = None
    obstacle: str = ''
    second: Act | None = None
    joint: str = ''
    side: int = 0
    pose: Mapping[str, float] | None = None


class JointProgress(NamedTuple):
    """
    What is known of a joint.

    :param done: Marks for its direction, its upper and its lower stop.
    :param result: Its uncertainty.
    """

    name: str
    is_here: bool
    is_known: bool
    done: tuple[str, ...]
    result: str


class Sweep(NamedTuple):
    """
    Where a joint is between its limits, as shares of the way between them.

    :param low: Begin of the part that it was moved through.
    :param high: Its end.
    :param now: The present position.
    :param texts: At the left end, in the middle and at the right end.
    """

    low: float
    high: float
    now: float
    texts: tuple[str, str, str]


class HandGuide:
    """
    The state of a user interface.

    :param hand: The arm.
    :param pose: Positions of a known pose [rad or m by joint]; others are at zero.
    :param describe_obstacle: Returns why the arm must not be calibrated now, empty if it may.
    :ivar chosen: The joint of the step, by its place in :attr:`HandCalibration.joints`.
    :ivar is_safe: Whether the user said that the torque is off.
    :ivar has_answered: Whether it is known what the arm is moved to: stops, or a pose.
    :ivar left_out: Names of transmissions that keep their numbers.
    :ivar wants_limits: Whether stops are measured after a pose, as limits of the joints.
    :ivar finished: Whether to write the numbers (True) or not (False) and end.
    :ivar written: What was known when the user wrote it.
    """

    def __init__(
        self,
        hand: HandCalibration,
        pose: Mapping[str, float],
        describe_obstacle: Callable[[], str] = lambda: '',
    ) -> None:
        self.hand, self.chosen, self.is_safe = hand, 0, False
        self.has_answered = hand.is_confirmed or bool(pose)
        self.left_out: frozenset[str] = frozenset()
        self.wants_limits = False
        self.finished: bool | None = None
        self.written: list[Outcome] = []
        self.pose, self._describe_obstacle = pose, describe_obstacle
        self._judged: dict[str, tuple[object, Outcome]] = {}
        self._message = ''

    # -- the step --------------------------------------------------------------------------------

    @property
    def step(self) -> Step:
        """What to do now."""
        if not self.is_safe:
            act = Act('The torque is off', partial(setattr, self, 'is_safe', True))
            hint = 'Hold the arm meanwhile: it falls. Nothing is sent to the motors.'
            obstacle = self._describe_obstacle()
            return Step('Switch the torque of all motors off', hint, act, obstacle)
        if not self.has_answered:
            act = Act('Yes, the limits are the stops', partial(self.answer, is_confirmed=True))
            hint = 'If the joints stop earlier or later than at their limits, use a pose.'
            title = 'Are the limits in the URDF the mechanical stops?'
            return Step(title, hint, act, second=self._to_pose('No: use a pose'))
        transmission, place = self.hand.joints[self._here]
        if transmission.name in self.left_out:
            return self._show_result(transmission, place)
        return (
            self._ask_for_direction(transmission, place)
            or self._ask_for_pose()
            or self._ask_for_stop(transmission, place)
            or self._show_result(transmission, place)
        )

    @property
    def _here(self) -> int:
        """The joint of the step: before a pose the first one without direction."""
        joints = self.hand.joints
        places = [n for n in self._list_open() if not joints[n][0].has_directions]
        return self.chosen if self.hand.is_confirmed else [*places, self.chosen][0]

    def _ask_for_direction(self, transmission: HandTransmission, place: int) -> Step | None:
        """Return the step for a direction; coupled joints need all of theirs first."""
        names, tracks = _join_names(transmission), transmission.tracks
        if not transmission.zeros:
            refusal, act = self.judge(transmission).refusal, Act('Leave it out', self.leave_out)
            return Step(f'{names} cannot be calibrated', refusal, act)
        missing = [n for n in range(len(tracks)) if n not in transmission.moves]
        if transmission.has_directions:
            return None
        if not missing:
            again = Act('Start again', self.start_again)
            return Step(f'The motion of {names} does not fit', transmission.problem, again)
        place = place if place in missing else missing[0]
        track, least = tracks[place], LEAST * tracks[place].span
        way, came_back = self.hand.measure_move(transmission, place)
        moved = f'moved {format_way(way, track)} of {format_way(least, track)}'
        if math.isnan(way):
            moved = 'hold it still first'
        if came_back:
            moved = 'it moved both ways: hold it still, then move it as the arrow shows'
        hint = (
            'Towards positive of the URDF. Look at the real arm: the drawn one may still turn the '
            'wrong way. Does it stop at once? Move it back, hold it still, and repeat.'
        )
        title = f'{_word(track)} {track.name} as the arrow shows'
        moves = Act('It moved that way', self.hand.end_move)
        obstacle = '' if way >= least and not came_back else moved
        return Step(title, hint, moves, obstacle, None, track.name, 1)

    def _ask_for_pose(self) -> Step | None:
        refused = [each for each in self._included if self.judge(each).refusal]
        if self.hand.is_confirmed or self.hand.is_guess or not refused:
            return None
        where = ', '.join(f'{name} at {value:g}' for name, value in self.pose.items())
        hint = f'{where or "All joints"}{", others" * bool(where)} at zero. Hold it still.'
        found = (self.judge(each).refusal for each in refused if each.poses)
        hint = ' '.join([*map(_start_sentence, found), hint])
        moving = ', '.join(_join_names(each) for each in self._included if not each.is_still)
        obstacle, act = f'moving: {moving}' if moving else '', Act('It is in the pose', self._mark)
        return Step('Put the arm into the pose', hint, act, obstacle, pose=self.pose)

    def _ask_for_stop(self, transmission: HandTransmission, place: int) -> Step | None:
        """Return the step for a stop, which ends by itself."""
        outcome, tracks = self.judge(transmission), transmission.tracks
        is_posed = bool(transmission.poses) and self.wants_limits
        if not is_posed and (not outcome.refusal or not self.hand.is_confirmed):
            return None
        for track in (each for each in (tracks[place], *tracks) if each.has_stops or is_posed):
            is_checked = len(track.ends) == 2 and not transmission.is_free
            wanted = _APPROACHES if is_posed else 1 if is_checked else 2
            for side in sorted(track.ends, reverse=True):
                count = track.count_approaches(side)
                if count < wanted:
                    times = f', {count + 1} of {wanted}' if wanted > 1 else ''
                    title = f'{_word(track)} {track.name} to its {ENDS[side]} stop{times}'
                    hint = 'Push gently until it stops, then move a little back. No button: this '
                    hint += 'step ends by itself.'
                    return Step(title, hint, joint=track.name, side=side)
        if is_posed:
            return None
        track = next((each for each in tracks if each.name == outcome.joint), tracks[place])
        title = f'{_word(track)} {track.name} to both stops again'
        if not all(each.has_stops for each in tracks):
            title = f'{_join_names(transmission)} needs a pose'
        second = self._to_pose('Its limits are not the stops')
        hint = _start_sentence(outcome.refusal)
        return Step(title, hint, second=second, joint=track.name)

    def _show_result(self, transmission: HandTransmission, place: int) -> Step:
        track, outcome = transmission.tracks[place], self.judge(transmission)
        others, names = self._list_open(), _join_names(transmission)
        if not others:
            return Step('All joints are known', f'Write them. {AFTERWARDS}')
        following = partial(self.choose, others[0])
        next_ = Act(f'Next: {self._name_joint(others[0])}', following)
        if outcome.refusal:
            return Step(f'{names} keeps its numbers', outcome.refusal, next_, joint=track.name)
        kind = 'a guess' if outcome.is_guess else 'known'
        away = format_way(outcome.uncertainty[track.name], track)
        hint = 'The orange arm has the new numbers: does it follow the real one?'
        hint = ' '.join([*map(_start_sentence, outcome.notes), hint])
        if pair := transmission.measure_stops(outcome).get(track.name):
            ours, theirs = (
                ' and '.join(format_way(each, track) for each in ends)
                for ends in (pair, (track.limits.lower, track.limits.upper))
            )
            hint = f'Stops at {ours}; the URDF has {theirs}.'
        is_ = 'are' if len(transmission.tracks) > 1 else 'is'
        return Step(f'{names} {is_} {kind}, ± {away}', hint, next_, joint=track.name)

    def _to_pose(self, label: str) -> Act:
        return Act(label, partial(self.answer, is_confirmed=False))

    @property
    def sweep(self) -> Sweep | None:
        """Where the joint of the step is; ``None`` if that is unknown or not asked for."""
        name = self.step.joint
        found = [each for each in self.hand.joints if each[0].tracks[each[1]].name == name]
        if not found:
            return None
        transmission, place = found[0]
        track, outcome = transmission.tracks[place], self.judge(transmission)
        low, high, last = track.seen
        if not (math.isfinite(low + high + last) and track.has_stops):
            return None
        lower, upper = track.limits.lower, track.limits.upper
        if not outcome.refusal:
            now = float(transmission.map_now(outcome.values)[place])
            middle = f'now {format_way(now, track)}'
        else:
            # Without an offset: from the stop that was reached, otherwise about the middle.
            turned = [track.count_approaches(side) > 0 for side in ENDS]
            now = track.middle + last - 0.5 * (low + high)
            if any(turned):
                now = lower + last - low if turned[0] else upper + last - high
            middle = f'{format_way(track.travel, track)} of {format_way(track.span, track)}'
        texts = format_way(lower, track), middle, format_way(upper, track)

        def as_share(position: float) -> float:
            return min(max((now + position - last - lower) / track.span, 0.0), 1.0)

        return Sweep(as_share(low), as_share(high), as_share(last), texts)

    def list_progress(self) -> list[JointProgress]:
        """Return a line for each joint."""
        found = []
        for n, (transmission, place) in enumerate(self.hand.joints):
            track, outcome = transmission.tracks[place], self.judge(transmission)
            is_known, is_out = not outcome.refusal, transmission.name in self.left_out
            is_shown = transmission.has_directions or place in transmission.moves
            # A stop is certain if the way between both is as wide as the limits.
            marks = [
                '✓' if is_known and self.hand.is_confirmed else f'{count}x' if count else '·'
                for count in map(track.count_approaches, (1, -1))
            ]
            result = f'± {format_way(outcome.uncertainty[track.name], track)}' if is_known else ''
            found.append(
                JointProgress(
                    track.name,
                    n == self._here,
                    is_known and not is_out,
                    ('✓' if is_shown else '·', *marks),
                    'as it is' if is_out else result + ' guess' * (is_known and outcome.is_guess),
                )
            )
        return found

    @property
    def write_act(self) -> Act:
        """The button that writes, which is always there."""
        count = sum(each.is_known for each in self.list_progress())
        return Act(f'Write {count} joint{"s" * (count != 1)}', self._write)

    @property
    def write_obstacle(self) -> str:
        """Why nothing can be written yet, empty if it can."""
        if obstacle := self._describe_obstacle():
            return obstacle
        if found := [_join_names(each) for each in self._included if self.judge(each).refusal]:
            return f'without a result: {", ".join(found)}'
        return '' if self._included else 'every joint is left out'

    @property
    def others(self) -> list[tuple[str, Act]]:
        """What is needed rarely, with its key."""
        track = self.hand.joints[self._here][0].tracks[self.hand.joints[self._here][1]]
        ends = _ENDS[(_ENDS.index(track.ends) + 1) % len(_ENDS)]
        label = 'Both stops' if len(ends) == 2 else f'Its {ENDS[ends[0]]} stop alone'
        pose = 'All are at zero' if not self.pose else 'All are in the pose'
        return [
            ('b', Act('Next joint', lambda: self.choose(self._here + 1))),
            ('s', Act('Start again', self.start_again)),
            ('l', Act('Leave out', self.leave_out)),
            ('e', Act(label, lambda: setattr(track, 'ends', ends))),
            ('p', Act(pose, self._take_pose)),
            ('g', Act('Guess: middle', self._guess)),
            ('m', Act('Measure stops', self._measure_limits)),
        ]

    @property
    def troubles(self) -> list[str]:
        """What went wrong with this joint, until the next press of a button."""
        joint = self.hand.joints[self._here][0]
        # What happened to another joint is in its line.
        is_own = self.hand.trouble.startswith(tuple(track.name for track in joint.tracks))
        return [each for each in (self.hand.trouble * is_own, self._message) if each]

    # -- what is known ---------------------------------------------------------------------------

    def judge(self, transmission: HandTransmission) -> Outcome:
        """Return what is known of a transmission; computed again only after a change."""
        hand = self.hand
        guess = np.round(transmission.now, 3).tolist() if hand.is_guess else None
        state = (hand.is_confirmed, guess, transmission.knowledge)
        if self._judged.get(transmission.name, (None,))[0] != state:
            self._judged[transmission.name] = state, hand.judge(transmission)
        return self._judged[transmission.name][1]

    @property
    def outcomes(self) -> list[Outcome]:
        """What is known of each transmission that is not left out."""
        return [self.judge(each) for each in self._included]

    @property
    def stops(self) -> dict[str, tuple[float, float]]:
        """Measured ranges of joints [rad or m], by name; see :meth:`measure_stops`."""
        found: dict[str, tuple[float, float]] = {}
        for each in self._included:
            found |= each.measure_stops(self.judge(each))
        return found

    @property
    def _included(self) -> list[HandTransmission]:
        return [each for each in self.hand.transmissions if each.name not in self.left_out]

    def _list_open(self) -> list[int]:
        """Return the joints without a result, the chosen one first."""
        joints = self.hand.joints
        order = [*range(self.chosen, len(joints)), *range(self.chosen)]
        return [
            n
            for n in order
            if joints[n][0].name not in self.left_out
            and (self.judge(joints[n][0]).refusal or self._ask_for_stop(*joints[n]))
        ]

    def _name_joint(self, joint: int) -> str:
        transmission, place = self.hand.joints[joint]
        return transmission.tracks[place].name

    # -- what the user does ----------------------------------------------------------------------

    def update(self) -> None:
        """Begin the motion that gives a direction, as soon as the arm is still."""
        step, transmission = self.step, self.hand.joints[self._here][0]
        if step.side and not transmission.has_directions and transmission.is_still:
            (place,) = (n for n, each in enumerate(transmission.tracks) if each.name == step.joint)
            if step.obstacle:  # what was moved before is not the motion that is asked for
                self.hand.begin_move(transmission, place)

    def press(self, act: Act | None = None) -> None:
        """Do what a button does, by default that of the step, if it can be pressed."""
        step = self.step
        if act is None and not step.obstacle:
            act = step.primary
        if act is not None:
            self._message = self.hand.trouble = ''
            act.act()

    def answer(self, *, is_confirmed: bool) -> None:
        """Take the answer whether limits are stops."""
        self.hand.is_confirmed, self.has_answered = is_confirmed, True
        self._choose_open()

    def choose(self, joint: int) -> None:
        """Go to a joint, by its place in the list."""
        self.chosen = joint % len(self.hand.joints)

    def start_again(self) -> None:
        """Forget what is known of the joint of the step, its direction included."""
        self.hand.start_again(self.hand.joints[self._here][0])

    def leave_out(self) -> None:
        """Let the transmission of the step keep its numbers, or include it again."""
        self.left_out = self.left_out ^ {self.hand.joints[self._here][0].name}
        self._choose_open()

    def resume(self, message: str) -> None:
        """Continue with a message, because the numbers could not be stored."""
        self.finished, self.written, self._message = None, [], message

    def finish(self) -> None:
        """End without writing."""
        self.finished = False

    def _choose_open(self) -> None:
        for n in self._list_open()[:1]:
            self.choose(n)

    def _take_pose(self) -> None:
        self.answer(is_confirmed=False)
        self.hand.mark_pose(self.pose)

    def _mark(self) -> None:
        """Take the arm as in the pose; poses that contradict each other are replaced."""
        for each in self._included:
            if self.judge(each).refusal:
                each.poses = []
        self.hand.mark_pose(self.pose)

    def _guess(self) -> None:
        self.hand.is_guess, self.has_answered = not self.hand.is_guess, True

    def _measure_limits(self) -> None:
        self.wants_limits = not self.wants_limits
        self._choose_open()

    def _write(self) -> None:
        if obstacle := self.write_obstacle:
            self._message = f'nothing is written: {obstacle}'
        else:
            self.written, self.finished = self.outcomes, True


def _start_sentence(text: str) -> str:
    return f'{text[:1].upper()}{text[1:]}.'


def _word(track: JointTrack) -> str:
    return 'Turn' if track.turns else 'Slide'


def _join_names(transmission: HandTransmission) -> str:
    return ' and '.join(track.name for track in transmission.tracks)
