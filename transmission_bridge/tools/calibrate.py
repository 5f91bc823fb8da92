# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
``transmission_bridge calibrate`` by hand, or from the file of a servo driver.

Programs rely on the document of ``--json`` and on the exit code. Sentences, keys and the layout of
the screen are free to change. One thread handles callbacks, keys and the screen; the steps are the
guide's.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
import sys
import textwrap

from transmission_bridge.bridge.options import PREFIX, strip_prefixes
from transmission_bridge.description.document import description_text, parse_xml
from transmission_bridge.errors import closest
from transmission_bridge.tools.bridge_client import BridgeClient
from transmission_bridge.tools.calibration import servo_files
from transmission_bridge.tools.calibration.guide import AFTERWARDS, GuideAct, HandGuide
from transmission_bridge.tools.calibration.hand import (
    HandCalibration,
    HandDriverFeed,
    SIDES,
    StopRange,
)
from transmission_bridge.tools.calibration.numbers import KnownRows
from transmission_bridge.tools.calibration.outcome import (
    FitOutcome,
    judge_calibration,
    name_values,
)
from transmission_bridge.tools.cli import (
    align_rows,
    Console,
    Exit,
    import_optional,
    Line,
    measure_text,
    open_keys,
    open_live_table,
    parse_values,
    printable,
    ToolResult,
    UsageError,
    wrap_text,
)
from transmission_bridge.tools.export import render_tuned_numbers
from transmission_bridge.tools.files import check_output_path, is_parameter_file, write_output
from transmission_bridge.tools.robot import BridgeSetup, read_bridge_setup, read_robot_file
from transmission_bridge.transmissions import RobotTransmissions

#: Seconds between updates of the screen.
_PERIOD = 0.1


def run(options: argparse.Namespace, console: Console) -> Exit:
    """
    Run the command.

    :raises UsageError: If a file or a name cannot be used.
    """
    if options.output:
        check_output_path(options.output, force=options.force)
    if options.limits and (not options.output or is_parameter_file(options.output)):
        raise UsageError('--limits writes a description: give --output NEW.urdf')
    import_optional('scipy.optimize', 'calibrate')
    setup = read_bridge_setup(options, [options.actuators] if options.actuators else ())
    description = read_robot_file(options.file)
    robot, remarks = setup.robot(description)
    periods = setup.periods(robot)
    hand = HandCalibration(robot, periods, is_free=options.reductions, only=options.transmission)
    hand.is_confirmed = options.stops or None
    if not hand.transmissions:
        raise UsageError(f"'{options.file}' has no transmission to calibrate")
    files = [path for path in (options.lerobot, options.orca) if path]
    notes = [*remarks, *(_read_files(options, robot, hand) if files else ())]
    for note in notes:
        console.err.line(wrap_text(printable(note), console.err.width))
    stops, node = dict[str, StopRange](), ''
    if files:
        outcomes = [judge_calibration(moved) for moved in hand.transmissions]
    else:
        outcomes, stops, node = _calibrate_live(options, console, setup, robot, hand)
    if not outcomes:
        console.err.line('ended without writing')
        return Exit.INTERRUPTED
    lines = list_result_lines(robot, hand, outcomes, stops)
    ToolResult(
        (wrap_text(printable(line), console.out.width) for line in lines),
        {'transmissions': [outcome.as_json() for outcome in outcomes], 'limits': stops},
    ).show(console, as_json=options.json)
    if not files:
        console.err.line(AFTERWARDS)
    good = [outcome for outcome in outcomes if not outcome.refusal]
    if options.output and good:
        before = {PREFIX + name: tunable.value for name, tunable in robot.parameters.items()}
        entries = [
            (name, value, f'was {before[name]:.9g}' + ', a guess' * outcome.is_guess)
            for outcome in good
            for name, value in name_values([outcome]).items()
        ]
        heading = (
            'Found by "transmission_bridge calibrate"\n'
            'ros2 run transmission_bridge bridge_node --ros-args --params-file THIS_FILE'
        )
        document = options.output, description
        data = render_tuned_numbers(*document, entries, heading, setup.numbers, node, stops)
        write_output(options.output, data, force=options.force)
        console.err.line(f'written to {printable(options.output)}')
    elif good and not options.store:
        console.err.line('nothing was kept: --output NEW writes a file, --store tells the bridge')
    return Exit.OK if len(good) == len(outcomes) else Exit.ERRORS


def _read_files(
    options: argparse.Namespace, robot: RobotTransmissions, hand: HandCalibration
) -> list[str]:
    """Take the positions in files of servo drivers, and return notes about them."""
    rows, notes = dict[str, KnownRows](), list[str]()
    if options.lerobot:
        ranges = servo_files.read_lerobot(read_robot_file(options.lerobot), options.lerobot)
        rows, notes = servo_files.list_lerobot_rows(
            robot, ranges, is_confirmed=options.stops, is_free=options.reductions
        )
    if options.orca:
        config = str(Path(options.orca).with_name(servo_files.CONFIG))
        files = (config, options.orca)
        data = read_robot_file(config), read_robot_file(options.orca)
        hands = servo_files.read_orca(*data, files)
        given, remarks = servo_files.list_orca_rows(robot, hands)
        rows, notes = rows | given, notes + remarks
        for moved in hand.transmissions:
            moved.is_free |= moved.name in given and moved.binding.transmission.is_constant
    for transmission in hand.transmissions:
        # Directions are as in the file or the description.
        transmission.has_directions = transmission.is_from_file = True
        if (table := rows.get(transmission.name)) is None:
            transmission.problem = 'the file has no position of it'
        else:
            transmission.is_guess = len(table.actuators) == 1
            transmission.poses = [*zip(table.actuators, table.joints, table.slack, strict=True)]
    return notes


def _calibrate_live(
    options: argparse.Namespace,
    console: Console,
    setup: BridgeSetup,
    robot: RobotTransmissions,
    hand: HandCalibration,
) -> tuple[list[FitOutcome], dict[str, StopRange], str]:
    """
    Return what the user wrote, measured stops, and the bridge if there is one.

    All are empty if the user ended without writing.

    :raises UsageError: If the output is not a terminal.
    """
    pose = _read_pose(options, robot)
    topics = [options.actuators] if options.actuators else setup.options.actuator_state_topics
    names = {topic: setup.names_of_driver(robot, topic) for topic in topics}
    stored = ''
    with closing(BridgeClient('calibrate', options.node)) as client:
        feed = HandDriverFeed(client, hand, names)
        client.follow_topics(feed.receivers)
        guide = HandGuide(hand, pose, feed.describe_obstacle)
        guide.wants_limits, screen = options.limits, HandScreen(guide)
        with open_live_table(console) as draw, open_keys(draw and sys.stdin) as read_keys:
            if draw is None:
                raise UsageError('calibration by hand needs a terminal, and rich')
            while (written := guide.written) is None:
                client.spin_for(_PERIOD)
                guide.update()
                screen.handle_keys(read_keys())
                if options.store and guide.written:
                    stored, reason = client.wait_for_answer(
                        client.set_parameters, name_values(guide.written), is_stored=True
                    )
                    if reason:
                        guide.resume(f'{client.bridge} does not store the numbers: {reason}')
                draw(screen.make_lines)
        if stored:
            console.err.line(printable(f'{client.bridge}: {stored}'))
        stops = guide.stops if written and options.limits else {}
        return written, stops, '' if client.report is None else client.bridge


def _read_pose(options: argparse.Namespace, robot: RobotTransmissions) -> dict[str, float]:
    """Return positions by joint, from values or from a ``group_state`` of an SRDF."""
    if not options.srdf:
        return parse_values(options.pose, robot.joint_names, 'joint', robot.lost_joints)
    tree = parse_xml(description_text(read_robot_file(options.srdf), name=options.srdf))
    states = {state.attributes.get('name', ''): state for state in tree.find_all('group_state')}
    if len(options.pose) != 1 or options.pose[0] not in states:
        named = options.pose[0] if options.pose else ''
        raise UsageError(
            f"'{options.srdf}': expected --pose with one of {', '.join(states) or 'no pose'}, "
            f"found '{named}'{closest(named, states)}"
        )
    values = [joint.attributes for joint in states[options.pose[0]].find_all('joint')]
    pairs = [f'{joint.get("name")}={joint.get("value")}' for joint in values]
    present = [pair for pair in pairs if pair.rpartition('=')[0] in robot.joint_names]
    return parse_values(present, robot.joint_names, 'joint', robot.lost_joints)


# -- Results --------------------------------------------------------------------------------------


def list_result_lines(
    robot: RobotTransmissions,
    hand: HandCalibration,
    outcomes: Sequence[FitOutcome],
    stops: Mapping[str, StopRange],
) -> Iterator[str]:
    """Yield the numbers before and after, their uncertainty, and what is missing."""
    rows = [('NUMBER', 'BEFORE', 'AFTER')]
    rows += [
        (name, f'{robot.parameters[name].value:.6g}', f'{value:.6g}')
        for name, value in strip_prefixes(name_values(outcomes)).items()
    ]
    tracks = {track.name: track for moved in hand.transmissions for track in moved.tracks}
    for joint, measured in stops.items():
        for side, old, new in zip(SIDES.values(), tracks[joint].limits, measured, strict=True):
            rows.append((f'{joint} <limit {side}>', f'{old:.6g}', f'{new:.6g}'))
    yield from align_rows(rows, right=(1, 2)) if len(rows) > 1 else ()
    for outcome in outcomes:
        if outcome.refusal:
            yield f'{outcome.transmission} keeps its numbers: {outcome.refusal}'
            continue
        sizes = outcome.uncertainty.items()
        about = ', '.join(f'{name} ± {tracks[name].format_way(away)}' for name, away in sizes)
        kind = 'a guess, ' if outcome.is_guess else ''
        notes = ''.join(f'; {note}' for note in outcome.notes)
        yield f'{outcome.transmission}: {kind}{about}{notes}'
    good = [outcome for outcome in outcomes if not outcome.refusal]
    if good and (worst := max(good, key=lambda outcome: outcome.contradiction)).contradiction:
        yield f'largest contradiction: {worst.contradiction:.2g} in {worst.transmission}'


# -- The terminal ---------------------------------------------------------------------------------


class HandScreen:
    """
    The step of a guide on a terminal; keys press its acts.

    :param guide: The steps; the caller updates it before keys are handled.
    """

    def __init__(self, guide: HandGuide) -> None:
        self._guide, self._shows_others = guide, False

    def handle_keys(self, keys: str) -> None:
        """Do what keys mean; unknown keys are ignored."""
        for key in keys:
            if key == '?':
                self._shows_others = not self._shows_others
            elif key == 'n':  # only if there is no obstacle
                self._guide.press()
            elif act := self._list_acts().get(key):
                self._guide.press(act)

    def _list_acts(self) -> dict[str, GuideAct | None]:
        guide = self._guide
        acts = {'n': guide.step.primary, 'o': guide.step.second, 'q': guide.others['q']}
        return acts | {'w': guide.write_act, **guide.others} if guide.is_safe else acts

    def make_lines(self, width: int, height: int) -> list[Line]:
        """Return the lines that fit a terminal; what matters least is left out first."""
        guide, step = self._guide, self._guide.step
        # Of the step and of writing the keys are n, o and w.
        shown = guide.others.keys() - {'q'} if self._shows_others and guide.is_safe else 'now'
        acts = [(key, act) for key, act in self._list_acts().items() if act and key in shown]
        keys = [*(f'{key}: {act.label}' for key, act in acts), 'q: end']
        keys += ['?: back' if self._shows_others else '?: other ways'] * guide.is_safe
        # In the order of the screen, each with its rank.
        parts = [
            (4, f'{guide.count_known()} of {len(guide.hand.joints)} joints known', 'dim'),
            (0, step.title, 'bold'),
            (1, ' '.join(guide.troubles), 'bold red'),
            (3, step.hint, ''),
            (2, self._draw_sweep(width), 'cyan'),
            (1, step.obstacle, 'yellow'),
            (0, '   '.join(_keep_whole(text, width) for text in keys), 'green'),
            (5, guide.write_obstacle if guide.is_safe else '', 'dim'),
        ]
        # Names and keys stay whole.
        wrapper = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False)
        blocks = [
            [(line.replace('\xa0', ' '), style) for line in wrapper.wrap(text)]
            for _, text, style in parts
        ]
        for n in sorted(range(len(parts)), key=lambda n: parts[n][0]):
            if len(blocks[n]) > height:
                blocks[n] = []
            height -= len(blocks[n])
        # Between the obstacle and the keys.
        blocks.insert(6, self._draw_table(width, height) if guide.is_safe else [])
        return [line for block in blocks for line in block]

    def _draw_sweep(self, width: int) -> str:
        """Return the bar between the limits of the joint, and the way below it."""
        sweep = self._guide.sweep
        if sweep is None:
            return ''
        count = min(width, 60) - 2
        low, high, now = (round(share * (count - 1)) for share in sweep[:3])
        cells = ['=' if low <= cell <= high else '-' for cell in range(count)]
        cells[now] = '|'
        lower, middle, upper = (_keep_whole(text, width) for text in sweep.texts)
        return f'[{"".join(cells)}] {middle} {_keep_whole(f"({lower} .. {upper})", width)}'

    def _draw_table(self, width: int, height: int) -> list[Line]:
        """Return a heading and rows, those around the present joint, if they fit."""
        progress = self._guide.list_progress()
        rows: list[tuple[str, ...]] = [('', 'JOINT', 'ARROW', 'UPPER', 'LOWER', 'RESULT')]
        rows += [
            ('>' * joint.is_here, joint.name, *joint.done, joint.result) for joint in progress
        ]
        heading, *texts = align_rows(rows)
        if height < 2 or max(map(measure_text, (heading, *texts))) > width:
            return []
        styles = ('green' if joint.is_known else '' for joint in progress)
        here = next(n for n, joint in enumerate(progress) if joint.is_here)
        begin = max(min(here - height // 2, len(texts) - height + 1), 0)
        lines = [*zip(texts, styles, strict=True)][begin : begin + height - 1]
        return [(heading, 'dim'), *lines]


def _keep_whole(text: str, width: int) -> str:
    return text.replace(' ', '\xa0') if len(text) <= width else text
