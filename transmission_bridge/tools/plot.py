# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
``transmission_bridge plot``: a picture of the drive of a robot. Needs matplotlib.

The same robot gives the same bytes with one version of matplotlib. Users rely on the options and
the name of the file; sizes, colours and texts in the picture are free to change. No other command
uses this module.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
import io
import math
from pathlib import Path
import re
import textwrap
from typing import Any
import warnings

import numpy as np

from transmission_bridge.errors import counted, UnknownNameError
from transmission_bridge.kinematics import compute_gain_ratios
from transmission_bridge.tools.cli import (
    Console,
    Exit,
    import_optional,
    printable,
    shorten_middle,
    UsageError,
)
from transmission_bridge.tools.files import check_output_path, write_output
from transmission_bridge.tools.robot import robot_of_command
from transmission_bridge.transmissions import Binding, Domain, ParameterPath, RobotTransmissions
from transmission_bridge.types import Array

# -- Curves --------------------------------------------------------------------------------------


#: Points of a curve.
POINTS = 401

#: Maximum number of curves on one pair of axes: commanded joints, then passive joints.
MOST_CURVES = 6

#: Number of random positions that are tested for a position that a mechanism can reach.
TRIES = 200


@dataclass(frozen=True, eq=False)
class PlotCurves:
    """
    Curves over one coordinate, in SI; the other coordinates of its side are in the middle.

    :param moved: Name of the joint or actuator that moves.
    :param x: Its positions, shape ``(points,)``.
    :param names: The joints or actuators of the other side.
    :param positions: Their positions, shape ``(points, names)``.
    :param ratios: Their velocity per velocity of ``moved``, shape ``(points, names)``.
    :param limits: Position limits of ``moved`` if it is a joint, infinite if absent.
    """

    moved: str
    x: Array
    names: tuple[str, ...]
    positions: Array
    ratios: Array
    limits: tuple[float, ...]


def make_plot_curves(robot: RobotTransmissions, binding: Binding) -> tuple[PlotCurves, ...]:
    """
    Return the curves of a transmission if its ratio depends on position.

    Joints are moved if the domain is in joint space, or if there is one joint and one actuator.
    Otherwise actuators are moved, for example of linkages; passive joints then also have curves.

    :returns: One per moved joint or actuator, empty for a constant ratio or without a domain.
    """
    transmission = binding.transmission
    domain = getattr(transmission, 'domain', None)
    if not isinstance(domain, Domain):
        return ()
    limits = robot.joint_limits[:, 0, binding.joints].T
    joints = (*(joint.name for joint in binding.spec.joints), *transmission.passive_joints)
    actuators = tuple(actuator.name for actuator in binding.spec.actuators)
    ends, by_joint = np.array([domain.lower, domain.upper]), domain.space == 'joint'
    if not by_joint and len(joints) == len(actuators) == 1:
        ends, by_joint = np.sort(transmission.actuator_to_joint('position', ends), axis=0), True
    if not np.isfinite(ends).all():
        return ()
    middle = ends.mean(axis=0)
    if not by_joint:  # the reachable position closest to it, or itself if all are unreachable
        tries = np.random.default_rng(0).uniform(ends[0], ends[1], (TRIES, len(middle)))
        order = np.abs((tries - middle) / np.ptp(ends, axis=0)).max(axis=-1).argsort()
        tries = np.stack([middle, *tries[order]])
        can_be = np.isfinite(transmission.actuator_to_joint('position', tries)).all(axis=-1)
        middle = tries[can_be.argmax()]
    moved, others = (joints, actuators) if by_joint else (actuators, joints)
    curves = []
    for column in range(len(middle)):
        at = np.tile(middle, (POINTS, 1))
        at[:, column] = np.linspace(ends[0, column], ends[1, column], POINTS)
        if by_joint:
            other = transmission.joint_to_actuator('position', at)
            ratios = compute_gain_ratios(transmission, other).inverse[:, :MOST_CURVES, column]
        else:
            other = transmission.actuator_to_joint('position', at)
            ratios = transmission.jacobian(at)[:, :MOST_CURVES, column]
        x, positions, names = at[:, column], other[:, :MOST_CURVES], others[:MOST_CURVES]
        bounds = tuple(limits[column].tolist()) if by_joint else ()
        curves.append(PlotCurves(moved[column], x, names, positions, ratios, bounds))
    return tuple(curves)


# -- Blocks: the joints, actuators and numbers of each transmission ------------------------------


#: Heights in inches of a box without lines, of a line, and of the gap between boxes.
BOX_HEIGHT, TEXT_LINE, GAP = 0.3, 0.145, 0.1

#: Maximum number of numbers in a box, and characters of a name and of a line of numbers.
MOST_NUMBERS, LONGEST_NAME, LONGEST_LINE = 16, 30, 40

#: Values without effect, which are not shown.
_NEUTRAL = {'mechanical_reduction': 1.0, 'offset': 0.0}


@dataclass(frozen=True, eq=False)
class PlotBox:
    """A transmission, a joint or an actuator: its name, and lines with its numbers or units."""

    name: str
    lines: tuple[str, ...] = ()

    @property
    def height(self) -> float:
        """Height in inches, with the gap to the next box."""
        return BOX_HEIGHT + TEXT_LINE * len(self.lines) + GAP


@dataclass(frozen=True, eq=False)
class PlotBlock:
    """
    A transmission with its actuators and joints.

    :param curves: Curves of a ratio that depends on position.
    :param is_rejected: Whether it cannot be used; its numbers are then unknown.
    """

    box: PlotBox
    actuators: tuple[PlotBox, ...]
    joints: tuple[PlotBox, ...]
    curves: tuple[PlotCurves, ...] = ()
    is_rejected: bool = False

    @property
    def height(self) -> float:
        """Height in inches, with the gap to the next block."""
        sides = (sum(box.height for box in side) for side in (self.actuators, self.joints))
        return max(self.box.height, *sides) + GAP


def make_plot_blocks(robot: RobotTransmissions, names: Sequence[str]) -> tuple[PlotBlock, ...]:
    """Return the blocks of transmissions in the order of the robot, then of rejected ones."""
    blocks = [_make_block(robot, each) for each in robot.bindings if each.spec.name in names]
    for spec in robot.refused:
        if spec.name in names:
            line = '' if spec.line is None else f', line {spec.line}'
            box = PlotBox(spec.name, (spec.type.rpartition('/')[2], f'REJECTED{line}'))
            actuators, joints = (
                tuple(PlotBox(str(getattr(member, 'name', member))) for member in side)
                for side in (spec.actuators, spec.joints)
            )
            blocks.append(PlotBlock(box, actuators, joints, is_rejected=True))
    return tuple(blocks)


def _make_block(robot: RobotTransmissions, binding: Binding) -> PlotBlock:
    spec, texts = binding.spec, dict[ParameterPath, list[str]]()
    for tunable in robot.tunables[spec.name]:
        owner = tunable.path[:2] if tunable.path[0] in ('joints', 'actuators') else ()
        name = '.'.join(tunable.path[len(owner) :])
        is_neutral = owner and tunable.value == _NEUTRAL.get(name)
        if not is_neutral and not tunable.is_actuator_limit and (owner or tunable.shapes_map):
            text = f'{name.removeprefix("mechanical_")} {tunable.value:.6g}'
            texts.setdefault(owner, []).append(text)
    for name, units in binding.units.items():
        text = f'driver in {", ".join(unit.text for unit in units.all_units if unit.text)}'
        texts.setdefault(('actuators', name), []).append(text)

    def make_boxes(side: str) -> tuple[PlotBox, ...]:
        names = (member.name for member in getattr(spec, side))
        return tuple(PlotBox(name, _wrap_numbers(texts.get((side, name), ()))) for name in names)

    lines = (spec.type.rpartition('/')[2], *_wrap_numbers(texts.get((), ())))
    curves = make_plot_curves(robot, binding)
    return PlotBlock(
        PlotBox(spec.name, lines), make_boxes('actuators'), make_boxes('joints'), curves
    )


def _wrap_numbers(texts: Sequence[str]) -> tuple[str, ...]:
    """Return lines of numbers that fit in a box, and a line with the number of others."""
    shown = ', '.join(text.replace(' ', '\xa0') for text in texts[:MOST_NUMBERS])
    lines = textwrap.wrap(shown, LONGEST_LINE, break_on_hyphens=False)
    more = [f'and {len(texts) - MOST_NUMBERS} more'] * (len(texts) > MOST_NUMBERS)
    return tuple(line.replace('\xa0', ' ') for line in [*lines, *more])


# -- Drawing -------------------------------------------------------------------------------------


#: In inches: width of the picture and of a box, left edges of the three kinds of boxes.
WIDTH, BOX = 8.7, 2.3
ACTUATOR, MIDDLE, JOINT = 0.1, 2.95, 5.8
TITLE, MARGIN = 0.55, 0.3

#: Height of a row of curves, left edges and size of its panels.
PANEL, LEFT, PANEL_SIZE = 2.5, (0.75, 4.3), (2.7, 1.5)

#: Ratios above this multiple of the typical ratio (near singular positions) are not drawn.
_CUT = 20.0

#: Colours of curves, as many as :data:`MOST_CURVES`; of limits and rejected boxes, and of edges;
#: and of boxes, by their left edge.
_LINES = ('#33638d', '#c06c2f', '#4a8c5c', '#8a5a9e', '#8c6d4a', '#5a8c8c')
_LIMIT, _EDGE = '#b03a3a', '#5a6270'
_COLORS = {ACTUATOR: '#e8eef7', MIDDLE: '#fdf3e1', JOINT: '#eaf4e6'}


def draw_curves(position: Any, ratio: Any, title: str, curves: PlotCurves) -> None:
    """
    Draw the positions on one pair of axes and the ratios on another, with the limits of ``moved``.

    :param title: The transmission.
    """
    moved = shorten_middle(curves.moved, LONGEST_NAME)
    size = np.abs(curves.ratios)
    finite = size[np.isfinite(size)]
    ratios = np.where(size > _CUT * np.median(finite), np.nan, curves.ratios)
    for axes, columns, label in (
        (position, curves.positions, 'position [rad or m]'),
        (ratio, ratios, f'ratio, per {moved}'),
    ):
        for name, column, color in zip(curves.names, columns.T, _LINES, strict=False):
            label_of_name = shorten_middle(name, LONGEST_NAME)
            axes.plot(curves.x, column, color=color, lw=1.2, label=label_of_name)
        for limit in filter(math.isfinite, curves.limits):
            axes.axvline(limit, color=_LIMIT, lw=1.0, ls=':', label='limit')
        axes.set_xlabel(f'{moved} [rad or m]', fontsize=7)
        axes.set_ylabel(label, fontsize=7)
        axes.tick_params(labelsize=6.5)
        axes.ticklabel_format(useOffset=False)
        axes.grid(True, color='#e2e2e2', lw=0.5)
    # Rounding is no slope.
    low, high = ratio.get_ylim()
    ratio.set_ylim(low - 0.02 * abs(low), high + 0.02 * abs(high))
    position.set_title(title, fontsize=7.5, loc='left')
    shown = dict(zip(*ratio.get_legend_handles_labels()[::-1], strict=True))  # each label once
    style = {'fontsize': 6.5, 'loc': 'center left', 'bbox_to_anchor': (1.0, 0.5)}
    ratio.legend(shown.values(), shown, **style)


def render_diagram(
    title: str, blocks: Sequence[PlotBlock], pass_through: Sequence[str], file_format: str
) -> bytes:
    """
    Return a picture of the drive, and below it the curves of ratios that depend on position.

    The same robot gives the same bytes.

    :param title: The robot's name.
    :param pass_through: Joints without a transmission.
    :param file_format: ``svg`` or ``png``.
    """
    passed = ', '.join(shorten_middle(name, LONGEST_NAME) for name in pass_through)
    text = f'passed through, without a transmission: {passed}' if pass_through else ''
    lines = textwrap.wrap(text, 110)
    panels = [(block, curves) for block in blocks for curves in block.curves]
    body = TITLE + sum(block.height for block in blocks) + TEXT_LINE * len(lines) + MARGIN
    height = body + PANEL * len(panels)
    matplotlib = import_optional('matplotlib', 'plot')
    # Without date and random identifiers; a name may contain $.
    settings = {'svg.hashsalt': 'transmission_bridge', 'text.parse_math': False}
    settings, output = {**matplotlib.rcParamsDefault, **settings}, io.BytesIO()
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        # Missing characters of the font are drawn as boxes.
        warnings.filterwarnings('ignore', message='Glyph')
        figure = import_optional('matplotlib.figure', 'plot').Figure(
            figsize=(WIDTH, height), dpi=110.0
        )
        axes = figure.add_axes((0.0, 1.0 - body / height, 1.0, body / height))
        axes.set(xlim=(0.0, WIDTH), ylim=(0.0, body))
        axes.set_axis_off()
        axes.text(0.1, body - 0.3, printable(title), size=13, weight='bold')
        axes.text(0.1, 0.1, '\n'.join(lines), size=8, va='bottom')
        level = body - TITLE
        for block in blocks:
            _draw_block(axes, block, level)
            level -= block.height
        for row, (block, curves) in enumerate(panels, 1):
            base, wide = (height - body - row * PANEL + 0.5) / height, PANEL_SIZE[0] / WIDTH
            size = wide, PANEL_SIZE[1] / height
            position, ratio = (figure.add_axes((left / WIDTH, base, *size)) for left in LEFT)
            draw_curves(position, ratio, shorten_middle(block.box.name, LONGEST_NAME), curves)
        metadata = {'Date': None} if file_format == 'svg' else {}
        figure.savefig(output, format=file_format, metadata=metadata)
    return output.getvalue()


def _draw_block(axes: Any, block: PlotBlock, top: float) -> None:
    patches = import_optional('matplotlib.patches', 'plot')
    edge = {'ec': _LIMIT, 'ls': '--'} if block.is_rejected else {'ec': _EDGE}
    middle = top - 0.5 * block.height
    for boxes, left, ends in (
        ((block.box,), MIDDLE, ()),
        (block.actuators, ACTUATOR, (ACTUATOR + BOX, MIDDLE)),
        (block.joints, JOINT, (JOINT, MIDDLE + BOX)),
    ):
        level = middle + 0.5 * sum(box.height for box in boxes)
        for box in boxes:
            centre, height = level - 0.5 * box.height, box.height - GAP
            level -= box.height
            if ends:
                axes.plot(ends, (centre, middle), color=_EDGE, lw=1.0, zorder=1)
            corner, fill = (left, centre - 0.5 * height), _COLORS[left]
            axes.add_patch(patches.Rectangle(corner, BOX, height, fc=fill, zorder=2, **edge))
            style = {'ha': 'center', 'va': 'center', 'zorder': 4}
            y = centre + 0.5 * TEXT_LINE * len(box.lines)
            name, weight = shorten_middle(box.name, LONGEST_NAME), 'normal' if ends else 'bold'
            axes.text(left + 0.5 * BOX, y, name, size=8, weight=weight, **style)
            for number, line in enumerate(box.lines, 1):
                at = left + 0.5 * BOX, y - number * TEXT_LINE
                axes.text(*at, printable(line), size=6.5, color=_EDGE, **style)


# -- Command -------------------------------------------------------------------------------------


def run(options: argparse.Namespace, console: Console) -> Exit:
    """
    Run the command.

    :raises UsageError: If the picture cannot be written.
    """
    ending = Path(options.output or 'robot.svg').suffix.lower()
    if ending not in ('.svg', '.png'):
        raise UsageError(f"--output: expected a name in .svg or .png, found '{options.output}'")
    robot = robot_of_command(options, console)
    names = (*robot.transmissions, *(spec.name for spec in robot.refused))
    for name in options.transmission:
        if name not in names:
            raise UnknownNameError('transmission', name, names)
    # Without characters that a file name cannot contain.
    stem = re.sub(r'[^\w.-]+', '_', robot.description.name).strip('._')[:100] or 'robot'
    output = options.output or f'{stem}.svg'
    check_output_path(output, force=options.force)
    blocks = make_plot_blocks(robot, options.transmission or names)
    passed = () if options.transmission else robot.pass_through
    image = render_diagram(robot.description.name, blocks, passed, ending[1:])
    write_output(output, image, force=options.force)
    console.out.line(f'written to {printable(output)}')
    if rejected := sum(block.is_rejected for block in blocks):
        console.err.line(
            f'drawn as rejected: {counted(rejected, "transmission")}, see '
            f"'transmission_bridge check {printable(options.file)}'"
        )
    return Exit.ERRORS if rejected else Exit.OK
