# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A calibration by hand as a sequence of steps, each with one thing to do.

The step follows from the answers of the user and what is known of the arm: its number is not
stored, and a joint that starts again is asked for again. The page of ``tune`` and the screen of
``calibrate`` show the same step. They call :meth:`HandGuide.update` before they show it, and
change the state by its methods, and ``wants_limits``, in one thread; all texts are free to change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
import math
from typing import NamedTuple

from transmission_bridge.tools.calibration.hand import (
    BACK,
    HandCalibration,
    HandJointTrack,
    HandMovedTransmission,
    LEAST,
    SIDES,
    StopRange,
)
from transmission_bridge.tools.calibration.outcome import (
    APPROACHES,
    FitOutcome,
    judge_calibration,
    measure_stops,
)

#: For the end.
AFTERWARDS = 'Before the torque returns, command the driver from its measured position.'

_FROM_HERE = 'Start from here'

#: Stops that a joint can be moved to, in the order in which a button changes them.
_CHOICES = ((-1, 1), (1,), (-1,))


class GuideAct(NamedTuple):
    """
    Something that the user can do.

    :param label: On a button.
    :param act: Does it, and returns what is wrong, if it can be.
    """

    label: str
    act: Callable[[], str | None]


class GuideStep(NamedTuple):
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
    primary: GuideAct | None = None
    obstacle: str = ''
    second: GuideAct | None = None
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
    :param texts: At the lower limit, in the middle and at the upper limit; empty at both before a
        stop is known.
    """

    low: float
    high: float
    now: float
    texts: tuple[str, str, str]


class HandGuide:
    """
    What the user chose and said, and the step that follows from it and from the arm.

    In the arm it writes ``is_confirmed`` (``None``: not answered; false: a pose is used), and of
    its joints ``asked`` (``None``: both stops, 0: none), ``sides``, ``poses`` and ``trouble``;
    readings write the rest.

    :param hand: The arm.
    :param pose: Positions of a known pose [rad or m by joint]; others are at zero.
    :param describe_obstacle: Returns why the arm must not be calibrated now, empty if it may.
    :ivar chosen: The joint of the step, by its place in :attr:`HandCalibration.joints`.
    :ivar is_safe: Whether the user said that the torque is off.
    :ivar left_out: Names of transmissions that keep their numbers.
    :ivar wants_limits: Whether stops are measured after a pose, as limits of the joints;
        ``calibrate --limits`` writes it before the first step, an act switches it later.
    :ivar written: What was known when the user wrote it, empty if the user ended without
        writing; ``None`` before, and after :meth:`resume`.
    """

    def __init__(
        self,
        hand: HandCalibration,
        pose: Mapping[str, float],
        describe_obstacle: Callable[[], str] = lambda: '',
    ) -> None:
        self.hand, self.pose, self.chosen, self.is_safe = hand, pose, 0, False
        if pose and hand.is_confirmed is None:
            hand.is_confirmed = False
        self.left_out: frozenset[str] = frozenset()
        self.wants_limits = False
        self.written: list[FitOutcome] | None = None
        self._describe_obstacle = describe_obstacle
        #: By transmission what was known of it, and what followed.
        self._judged: dict[str, tuple[object, FitOutcome]] = {}
        self._message = ''

    # -- the step --------------------------------------------------------------------------------

    @property
    def step(self) -> GuideStep:
        """What to do now."""
        if not self.is_safe:
            act = GuideAct('The torque is off', partial(setattr, self, 'is_safe', True))
            hint = 'Hold the arm meanwhile: it falls. Nothing is sent to the motors.'
            obstacle = self._describe_obstacle()
            return GuideStep('Switch the torque of all motors off', hint, act, obstacle)
        if self.hand.is_confirmed is None:
            act = GuideAct(
                'Yes, the limits are the stops', partial(self.answer, is_confirmed=True)
            )
            hint = 'If the joints stop earlier or later than at their limits, use a pose.'
            title = 'Are the limits in the URDF the mechanical stops?'
            return GuideStep(title, hint, act, second=self._offer_pose('No: use a pose'))
        moved, joint = self._here
        if moved.name in self.left_out:
            return self._show_result(moved, joint)
        return (
            self._ask_for_direction(moved, joint)
            or self._ask_for_pose()
            or self._ask_for_stop(moved, joint)
            or self._show_result(moved, joint)
        )

    @property
    def _here(self) -> tuple[HandMovedTransmission, int]:
        """The joint of the step: before a pose the first one without direction."""
        joints, here = self.hand.joints, [self.chosen]
        if not self.hand.is_confirmed:
            here = [n for n in self._list_open() if not joints[n][0].has_directions] + here
        return joints[here[0]]

    def _ask_for_direction(self, moved: HandMovedTransmission, joint: int) -> GuideStep | None:
        """Return the step for a direction; coupled joints need all of theirs first."""
        names, tracks = moved.joined_names, moved.tracks
        if not moved.zeros:
            act = GuideAct('Leave it out', self.leave_out)
            return GuideStep(f'{names} cannot be calibrated', self.judge(moved).refusal, act)
        if moved.has_directions:
            return None
        missing = [n for n in range(len(tracks)) if n not in moved.moves]
        if not missing:
            again = GuideAct('Start again', moved.start_again)
            return GuideStep(f'The motion of {names} does not fit', moved.problem, again)
        joint = joint if joint in missing else missing[0]
        track, least = tracks[joint], LEAST * tracks[joint].span
        way, came_back = moved.measure_move(joint)
        obstacle = f'moved {track.format_way(way)} of {track.format_way(least)}'
        if math.isnan(way):
            obstacle = 'hold it still first'
        elif came_back:
            obstacle = f'it moved both ways: press "{_FROM_HERE}", then move it as the arrow shows'
        elif way >= least:
            obstacle = ''
        hint = (
            'Towards positive of the URDF, whatever the drawn arm does. If it stops at once, move '
            f'it back, press "{_FROM_HERE}", and move it again.'
        )
        return GuideStep(
            _name_motion(track, 'as the arrow shows'),
            hint,
            GuideAct('It moved that way', moved.end_move),
            obstacle,
            GuideAct(_FROM_HERE, partial(moved.begin_move, joint)),
            track.name,
            1,
        )

    def _ask_for_pose(self) -> GuideStep | None:
        refusals = [self.judge(moved).refusal for moved in self._included if moved.poses]
        is_known = len(refusals) == len(self._included) and not any(refusals)
        if self.hand.is_confirmed or is_known:
            return None
        where = ', '.join(f'{name} at {value:g}' for name, value in self.pose.items())
        hint = f'{where or "All joints"}{", others" * bool(where)} at zero. Hold it still.'
        hint = ' '.join([*map(_start_sentence, filter(None, refusals)), hint])
        moving = ', '.join(moved.joined_names for moved in self._included if not moved.is_still)
        obstacle = f'moving: {moving}' if moving else ''
        act = GuideAct('It is in the pose', self._mark_pose)
        return GuideStep('Put the arm into the pose', hint, act, obstacle, pose=self.pose)

    def _ask_for_stop(self, moved: HandMovedTransmission, joint: int) -> GuideStep | None:
        """Return the step for a stop, which ends by itself."""
        outcome, tracks, wanted = self.judge(moved), moved.tracks, APPROACHES
        if self.hand.is_confirmed:
            if not outcome.refusal:
                return None
            wanted = 1 if len(tracks[joint].sides) == 2 and not moved.is_free else 2
        elif not self.wants_limits:
            return None
        for track in (tracks[joint], *tracks):
            for side in sorted(track.sides, reverse=True):
                count = track.count_approaches(side)
                if count < wanted and (track.has_limits or not self.hand.is_confirmed):
                    times = f', {count + 1} of {wanted}' if wanted > 1 else ''
                    title = _name_motion(track, f'to its {SIDES[side]} stop{times}')
                    back = track.format_way(BACK * track.span)
                    hint = (
                        f'Push gently until it stops, then move it back by {back}: the step ends '
                        'by itself. Does the bar move the other way? Start again.'
                    )
                    way = track.measure_back(side)
                    state = f'moved back by {track.format_way(way)} of {back}'
                    if math.isnan(way):
                        state = 'Is it at this stop already? Move it away, and to the stop again.'
                    return GuideStep(title, hint, obstacle=state, joint=track.name, side=side)
        if not self.hand.is_confirmed:
            return None
        track = next((track for track in tracks if track.name == outcome.joint), tracks[joint])
        title = _name_motion(track, 'to both stops again')
        if not all(track.has_limits for track in tracks):
            title = f'{moved.joined_names} needs a pose'
        second = self._offer_pose('Its limits are not the stops')
        return GuideStep(title, _start_sentence(outcome.refusal), second=second, joint=track.name)

    def _show_result(self, moved: HandMovedTransmission, joint: int) -> GuideStep:
        track, outcome = moved.tracks[joint], self.judge(moved)
        others, names = self._list_open(), moved.joined_names
        again = GuideAct(f'No: start {names} again', moved.start_again)
        if not others:
            hint = f'Does the orange arm follow the real one? Then write them. {AFTERWARDS}'
            return GuideStep(
                'All joints are known', hint, second=None if outcome.refusal else again
            )
        following, n = self.hand.joints[others[0]]
        act = GuideAct(f'Next: {following.tracks[n].name}', partial(self.choose, others[0]))
        if outcome.refusal:
            return GuideStep(f'{names} keeps its numbers', outcome.refusal, act, joint=track.name)
        hint = 'The orange arm has the new numbers: does it follow the real one?'
        hint = ' '.join([*map(_start_sentence, outcome.notes), hint])
        if measured := measure_stops(moved, outcome).get(track.name):
            ours, theirs = (
                ' and '.join(map(track.format_way, ends)) for ends in (measured, track.limits)
            )
            hint = f'Stops at {ours}; the URDF has {theirs}.'
        is_ = 'are' if len(moved.tracks) > 1 else 'is'
        away = track.format_way(outcome.uncertainty[track.name])
        title = f'{names} {is_} known, ± {away}'
        return GuideStep(title, hint, act, joint=track.name, second=again)

    def _offer_pose(self, label: str) -> GuideAct:
        return GuideAct(label, partial(self.answer, is_confirmed=False))

    @property
    def sweep(self) -> Sweep | None:
        """Where the joint of the step is; ``None`` if that is unknown or not asked for."""
        name = self.step.joint
        for moved, joint in self.hand.joints:
            track, (low, high) = moved.tracks[joint], moved.tracks[joint].seen
            if track.name == name and track.has_limits and math.isfinite(low + high):
                break
        else:
            return None
        lower, upper, outcome = track.limits.lower, track.limits.upper, self.judge(moved)
        way = f'{track.format_way(high - low)} of {track.format_way(track.span)}'
        texts = track.format_way(lower), way, track.format_way(upper)
        now = lower + track.last - low
        if not outcome.refusal:
            now = float(moved.map_positions(outcome.values, moved.now)[joint])
            texts = texts[0], f'now {track.format_way(now)}', texts[2]
        elif track.count_approaches(1) and not track.count_approaches(-1):
            now = upper + track.last - high
        elif not track.count_approaches(-1):
            texts = '', way, ''  # from the left, because no place is known
        low, high, now = (
            min(max((now + position - track.last - lower) / track.span, 0.0), 1.0)
            for position in (low, high, track.last)
        )
        return Sweep(low, high, now, texts)

    def list_progress(self) -> list[JointProgress]:
        """Return a line for each joint."""
        here, lines = self._here, []
        for moved, joint in self.hand.joints:
            track, outcome = moved.tracks[joint], self.judge(moved)
            is_known, is_out = not outcome.refusal, moved.name in self.left_out
            is_shown = moved.has_directions or joint in moved.moves
            # A stop is certain if the way between both is as wide as the limits.
            marks = [
                '✓' if is_known and self.hand.is_confirmed else f'{count}x' if count else '·'
                for count in map(track.count_approaches, (1, -1))
            ]
            result = f'± {track.format_way(outcome.uncertainty[track.name])}' if is_known else ''
            lines.append(
                JointProgress(
                    track.name,
                    (moved, joint) == here,
                    is_known and not is_out,
                    ('✓' if is_shown else '·', *marks),
                    'as it is' if is_out else result,
                )
            )
        return lines

    def count_known(self) -> int:
        """Return the number of joints that are known."""
        return sum(progress.is_known for progress in self.list_progress())

    @property
    def write_act(self) -> GuideAct:
        """The button that writes, which is always there."""
        count = self.count_known()
        return GuideAct(f'Write {count} joint{"s" * (count != 1)}', self._write)

    @property
    def write_obstacle(self) -> str:
        """Why nothing can be written yet, empty if it can."""
        if obstacle := self._describe_obstacle():
            return obstacle
        open_ = [moved.joined_names for moved in self._included if self.judge(moved).refusal]
        if open_:
            return f'without a result: {", ".join(open_)}'
        return '' if self._included else 'every joint is left out'

    @property
    def others(self) -> dict[str, GuideAct]:
        """
        What is needed rarely, by its key on a terminal, which has n, o, w and ? for others.

        The first four acts are for the joint of the step, which the page separates from the rest.
        """
        track = self._here[0].tracks[self._here[1]]
        sides = _CHOICES[(_CHOICES.index(track.sides) + 1) % len(_CHOICES)]
        label = 'Both stops' if len(sides) == 2 else f'Its {SIDES[sides[0]]} stop alone'
        pose = 'All are at zero' if not self.pose else 'All are in the pose'
        return {
            'b': GuideAct('Next joint', lambda: self.choose(self.chosen + 1)),
            's': GuideAct('Start again', self._here[0].start_again),
            'l': GuideAct('Leave out', self.leave_out),
            'e': GuideAct(label, partial(setattr, track, 'sides', sides)),
            'p': GuideAct(pose, self._mark_pose),
            'm': GuideAct('Measure stops', self._measure_limits),
            'q': GuideAct('End without writing', partial(setattr, self, 'written', [])),
        }

    @property
    def troubles(self) -> list[str]:
        """What went wrong with this joint, until the next press of a button."""
        return [text for text in (self._here[0].trouble, self._message) if text]

    # -- what is known ---------------------------------------------------------------------------

    def judge(self, moved: HandMovedTransmission) -> FitOutcome:
        """Return what is known of a transmission; computed again only after a change."""
        state = self.hand.is_confirmed, moved.knowledge
        if self._judged.get(moved.name, (None,))[0] != state:
            self._judged[moved.name] = state, judge_calibration(moved, is_confirmed=state[0])
        return self._judged[moved.name][1]

    @property
    def outcomes(self) -> list[FitOutcome]:
        """What is known of each transmission that is not left out."""
        return [self.judge(moved) for moved in self._included]

    @property
    def stops(self) -> dict[str, StopRange]:
        """Measured ranges of joints [rad or m], by name; see :func:`measure_stops`."""
        ranges = [measure_stops(moved, self.judge(moved)) for moved in self._included]
        return {name: limits for measured in ranges for name, limits in measured.items()}

    @property
    def _included(self) -> list[HandMovedTransmission]:
        return [moved for moved in self.hand.transmissions if moved.name not in self.left_out]

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

    # -- what the user does ----------------------------------------------------------------------

    def update(self) -> None:
        """Begin the motion that gives a direction if the arm is still, and count what is asked."""
        step, moved = self.step, self._here[0]
        # Motion that is not asked for is no approach; without a side, both stops are asked for.
        asked = 0 if step.primary else step.side or None
        begins = step.side and step.obstacle and not moved.has_directions and moved.is_still
        for track in (track for each in self.hand.transmissions for track in each.tracks):
            track.asked = None if self.hand.is_confirmed else 0
            if track.name == step.joint:
                track.asked = asked
                if begins:
                    moved.begin_move(moved.tracks.index(track))
        for other in self.hand.transmissions:
            if other is not moved:
                other.cancel_move()

    def press(self, act: GuideAct | None = None) -> None:
        """Do what a button does, by default the button of the step, if it can be pressed."""
        step = self.step
        if act is None and not step.obstacle:
            act = step.primary
        if act is not None:
            self._here[0].trouble = ''
            self._message = act.act() or ''

    def answer(self, *, is_confirmed: bool) -> None:
        """Take the answer whether limits are stops."""
        self.hand.is_confirmed = is_confirmed
        self._choose_open()

    def choose(self, joint: int) -> None:
        """Go to a joint, by its place in the list."""
        self.chosen = joint % len(self.hand.joints)

    def leave_out(self) -> None:
        """Let the transmission of the step keep its numbers, or include it again."""
        self.left_out = self.left_out ^ {self._here[0].name}
        self._choose_open()

    def resume(self, message: str) -> None:
        """Continue with a message, because the numbers could not be stored."""
        self.written, self._message = None, message

    def _choose_open(self) -> None:
        for n in self._list_open()[:1]:
            self.choose(n)

    def _mark_pose(self) -> str:
        """Take the arm as in the pose; poses that contradict each other are replaced."""
        self.answer(is_confirmed=False)
        for moved in self._included:
            if self.judge(moved).refusal:
                moved.poses = []
        return self.hand.mark_pose(self.pose)

    def _measure_limits(self) -> None:
        self.wants_limits = not self.wants_limits
        self._choose_open()

    def _write(self) -> str:
        if obstacle := self.write_obstacle:
            return f'nothing is written: {obstacle}'
        self.written = self.outcomes
        return ''


def _start_sentence(text: str) -> str:
    return f'{text[:1].upper()}{text[1:]}.'


def _name_motion(track: HandJointTrack, where: str) -> str:
    return f'{"Turn" if track.turns else "Slide"} {track.name} {where}'
