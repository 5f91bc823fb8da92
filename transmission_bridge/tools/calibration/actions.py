# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What the user of a calibration by hand sees and does: by keys, and by buttons of a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
import math
from typing import NamedTuple

import numpy as np

from transmission_bridge.tools.calibration.hand import (
    ENDS,
    format_way,
    HandCalibration,
    HandTransmission,
    JointTrack,
    Outcome,
)

_SAFETY = 'Switch the torque of all motors off, and hold the arm: it falls.'

#: For the end.
AFTERWARDS = 'command the driver from its measured position before the torque returns'

#: What a joint can be moved to, in the order of a key.
_ENDS = ((-1, 1), (1,), (-1,))

#: Headings of the columns of a :class:`JointLine`.
HEADING = ('JOINT', 'NOW', 'TOWARDS +', 'LOWER STOP', 'UPPER STOP', 'RESULT')

_YES = {True: 'yes', False: 'no'}


class JointLine(NamedTuple):
    """
    What is known of a joint.

    :param cells: Texts below :data:`HEADING`.
    :param is_done: Whether its numbers are known.
    """

    cells: tuple[str, ...]
    is_done: bool


@dataclass(frozen=True)
class Action:
    """
    Something that the user can do.

    :param key: Of the keyboard.
    :param label: On a button.
    :param act: Does it.
    """

    key: str
    label: str
    act: Callable[[], None]


class HandActions:
    """
    The state of a user interface.

    :param hand: The arm.
    :param pose: Positions of a known pose [rad or m by joint]; others are at zero.
    :param describe_obstacle: Returns why the arm must not be calibrated now, empty if it may.
    :ivar chosen: The selected joint, by its place in :attr:`HandCalibration.joints`.
    :ivar is_safe: Whether the user said that the torque is off.
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
        self.finished: bool | None = None
        self.written: list[Outcome] = []
        self._pose, self._describe_obstacle = pose, describe_obstacle
        self._judged: dict[str, tuple[object, Outcome]] = {}
        self._message = ''

    @property
    def actions(self) -> list[Action]:
        """What the user can do now."""
        quit_ = Action('q', 'quit', lambda: self._finish(False))
        if not self.is_safe:
            return [Action('y', 'the torque is off', self._confirm_torque), quit_]
        hand = self.hand
        track = self._joint[0].tracks[self._joint[1]]
        stops = f'limits are the stops: {_YES[hand.is_confirmed]}'
        guess = f'guess the middle: {_YES[hand.is_guess]}'
        ends = f'stops of the joint: {" and ".join(ENDS[side] for side in track.ends)}'
        begun = 'towards +: ' + ('end' if hand.moving else 'begin')
        return [
            Action('n', 'next', lambda: self._choose(1)),
            Action('b', 'back', lambda: self._choose(-1)),
            Action('d', begun, lambda: hand.mark_direction(*self._joint)),
            Action('s', stops, lambda: setattr(hand, 'is_confirmed', not hand.is_confirmed)),
            Action('e', ends, self._change_ends),
            Action('p', 'arm is in the pose', lambda: hand.mark_pose(self._pose)),
            Action('g', guess, lambda: setattr(hand, 'is_guess', not hand.is_guess)),
            Action('f', 'forget', lambda: self._joint[0].forget()),
            Action('w', 'write', self._write),
            quit_,
        ]

    def handle_keys(self, keys: str) -> None:
        """Do what keys mean; unknown keys are ignored."""
        for key in keys:
            for action in self.actions:
                if action.key == key:
                    self._message = ''
                    action.act()
                    break

    @property
    def sentences(self) -> list[tuple[str, bool]]:
        """What the user has to know now, and whether it is a trouble."""
        obstacle = self._describe_obstacle()
        found = [(obstacle, True)] if obstacle else []
        if not self.is_safe:
            return [*found, (_SAFETY, False)]
        found += [(text, True) for text in (self.hand.trouble, self._message) if text]
        transmission, place = self._joint
        outcome, name = self.judge(transmission), transmission.tracks[place].name
        if self.hand.moving is not None:
            moving = self.hand.moving[0].tracks[self.hand.moving[1]].name
            return [
                *found,
                (f"move {moving} towards positive of the URDF, then 'towards +: end'", False),
            ]
        if outcome.refusal:
            return [*found, (f'{name}: {outcome.refusal}', False)]
        kind = 'a guess' if outcome.is_guess else 'known'
        return [*found, ('; '.join([f'{name}: {kind}', *outcome.notes]), False)]

    def list_lines(self) -> list[JointLine]:
        """Return a line for each joint."""
        lines = []
        for transmission, place in self.hand.joints:
            track, outcome = transmission.tracks[place], self.judge(transmission)
            now = transmission.map_now(outcome.values)[place]
            direction = 'seen' if place in transmission.moves else '-'
            if outcome.refusal:
                result = f'poses: {len(transmission.poses)}' if transmission.poses else '...'
            else:
                result = f'± {format_way(outcome.uncertainty[track.name], track)}'
                result += ' guess' if outcome.is_guess else ''
            cells = (
                track.name,
                format_way(float(now), track) if math.isfinite(now) else '-',
                direction,
                *(_format_stop(track, side) for side in ENDS),
                result,
            )
            lines.append(JointLine(cells, not outcome.refusal))
        return lines

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
        """What is known of each transmission."""
        return [self.judge(each) for each in self.hand.transmissions]

    @property
    def _joint(self) -> tuple[HandTransmission, int]:
        return self.hand.joints[self.chosen]

    def _choose(self, step: int) -> None:
        self.chosen = (self.chosen + step) % len(self.hand.joints)

    def _change_ends(self) -> None:
        track = self._joint[0].tracks[self._joint[1]]
        track.ends = _ENDS[(_ENDS.index(track.ends) + 1) % len(_ENDS)]

    def _confirm_torque(self) -> None:
        self.is_safe = not self._describe_obstacle()

    def _write(self) -> None:
        if missing := self.list_missing():
            self._message = f'nothing is written: {missing[0]}'
        else:
            self.written = self.outcomes
            self._finish(True)

    def list_missing(self) -> list[str]:
        """Return why numbers cannot be written, a sentence for each transmission."""
        obstacle = self._describe_obstacle()
        refused = [f'{e.transmission}: {e.refusal}' for e in self.outcomes if e.refusal]
        return [obstacle, *refused] if obstacle else refused

    def _finish(self, is_good: bool) -> None:
        self.finished = is_good

    def resume(self, message: str) -> None:
        """Go on with a message, because the numbers could not be stored."""
        self.finished, self.written, self._message = None, [], message


def _format_stop(track: JointTrack, side: int) -> str:
    if side not in track.ends:
        return 'not used'
    stop = track.find_stop(side)
    if stop is None:
        return '-'
    spread = f' {format_way(stop.spread, track)}' if stop.count > 1 else ''
    return f'{stop.count}x{spread}'


def make_lines(actions: HandActions, width: int) -> Sequence[tuple[str, str]]:
    """Return the lines of a terminal, and their styles as rich names them."""
    import textwrap

    widths = (max(8, width - 68), 10, 9, 13, 13, 13)

    def format_row(cells: Sequence[str]) -> str:
        first, *others = (cell[:size] for cell, size in zip(cells, widths, strict=True))
        own = [f'{first:{widths[0]}}']
        own += [f'{cell:>{size}}' for cell, size in zip(others, widths[1:], strict=True)]
        return ' '.join(own)

    lines: list[tuple[str, str]] = []
    for text, is_trouble in actions.sentences:
        style = 'bold red' if is_trouble else 'bold'
        lines += [(part, style) for part in textwrap.wrap(text, width)]
    lines.append(('  ' + format_row(HEADING), 'dim'))
    for place, line in enumerate(actions.list_lines()):
        mark = '> ' if place == actions.chosen else '  '
        lines.append((mark + format_row(line.cells), 'green' if line.is_done else ''))
    keys = '   '.join(f'{each.key}: {each.label}' for each in actions.actions)
    return [*lines, ('', ''), *((part, 'dim') for part in textwrap.wrap(keys, width))]
