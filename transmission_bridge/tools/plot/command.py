# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge plot``: the drive of a robot as a picture."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
import math
import re
from typing import Any

import numpy as np

from transmission_bridge.description import RobotDescription
from transmission_bridge.description.effective_limits import effective_limits
from transmission_bridge.description.specs import (
    RejectedTransmission,
    TransmissionEnd,
    TransmissionSpec,
)
from transmission_bridge.errors import UnknownNameError
from transmission_bridge.tools.cli import Console, Exit, optional, printable
from transmission_bridge.tools.files import check_output, write_output
from transmission_bridge.tools.plot.figure import format_of, picture
from transmission_bridge.tools.robot import robot_of_command
from transmission_bridge.tools.units import actuator_unit, joint_unit, UNKNOWN_UNIT
from transmission_bridge.transmissions import RobotTransmissions, Transmission
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.transmissions.domain import Domain
from transmission_bridge.transmissions.tunable import Tunable
from transmission_bridge.types import Array

__all__ = [
    'Block',
    'Curves',
    'Member',
    'blocks_of',
    'columns_of',
    'curve_lines',
    'curves_of',
    'diagram',
    'draw_curves',
    'run',
    'shortened',
]


# -- Blocks: the joints, actuators, numbers and curves of each transmission ----------------------


#: Points of a curve.
POINTS = 401

#: Curves in one picture: the joints that are commanded, then passive ones.
MOST_CURVES = 6

#: Positions among which one is looked for that a mechanism can have.
TRIES = 200


@dataclass(frozen=True, eq=False)
class Curves:
    """
    Curves over one coordinate; the other coordinates of its side are in the middle.

    :param moved: Name of the joint or actuator that moves.
    :param x: Its positions, shape ``(points,)``.
    :param names: The joints or actuators of the other side.
    :param positions: Their positions, shape ``(points, names)``.
    :param ratios: Their motion per motion of ``moved``, shape ``(points, names)``.
    :param limits: Bounds of ``moved``, infinite where there are none.
    :param other_limits: Bounds of those of ``names`` that are commanded.
    :param held: Positions of the other coordinates of the moved side, by name.
    :param left_out: Further joints, of which there is no curve.
    :param unit: Unit of ``x``.
    :param other_unit: Unit of ``positions``.
    """

    moved: str
    x: Array
    names: tuple[str, ...]
    positions: Array
    ratios: Array
    limits: tuple[float, float]
    other_limits: tuple[tuple[float, float], ...]
    held: tuple[tuple[str, float], ...]
    unit: str
    other_unit: str
    left_out: tuple[str, ...] = ()


def curves_of(robot: RobotDescription, binding: Binding) -> tuple[Curves, ...]:
    """
    Return the curves of a transmission whose ratio depends on position.

    Joints are moved where the domain is in joint space, or there is one joint and one actuator;
    else actuators, as those of linkages, whose passive joints have curves as well.

    :returns: One per moved joint or actuator; none for a constant ratio or a type without domain.
    """
    transmission = binding.transmission
    domain = getattr(transmission, 'domain', None)
    if not isinstance(domain, Domain):
        return ()
    joints = [member.name for member in binding.spec.joints]
    actuators = [member.name for member in binding.spec.actuators]
    lower, upper = np.array(domain.lower), np.array(domain.upper)
    is_single = len(joints) == len(actuators) == 1 and not transmission.passive_joints
    if domain.space == 'actuator' and is_single:
        ends = transmission.actuator_to_joint('position', np.array([lower, upper]))
        lower, upper = ends.min(axis=0), ends.max(axis=0)
        by_joint = True
    else:
        by_joint = domain.space == 'joint'
    if not np.isfinite([lower, upper]).all():
        return ()
    middle = 0.5 * (lower + upper)
    if not by_joint:
        middle = _reached(transmission, lower, upper, middle)
    return tuple(
        _moved(robot, binding, by_joint, place, lower[place], upper[place], middle)
        for place in range(len(middle))
    )


def _reached(transmission: Transmission, lower: Array, upper: Array, middle: Array) -> Array:
    """Return the middle, or a position near it that the mechanism can have."""
    tries = np.random.default_rng(0).uniform(lower, upper, (TRIES, len(middle)))
    tries = tries[np.abs((tries - middle) / (upper - lower)).max(axis=-1).argsort()]
    for position in (middle, *tries):
        if np.isfinite(transmission.actuator_to_joint('position', position)).all():
            return np.asarray(position)
    return middle


def _moved(
    robot: RobotDescription,
    binding: Binding,
    by_joint: bool,
    place: int,
    lower: float,
    upper: float,
    middle: Array,
) -> Curves:
    transmission = binding.transmission
    commanded = [member.name for member in binding.spec.joints]
    joints = [*commanded, *transmission.passive_joints]
    actuators = [member.name for member in binding.spec.actuators]
    ours, others = (joints, actuators) if by_joint else (actuators, joints)
    positions = np.tile(middle, (POINTS, 1))
    positions[:, place] = np.linspace(lower, upper, POINTS)
    rates = np.zeros_like(positions)
    rates[:, place] = 1.0
    mapped = transmission.joint_to_actuator if by_joint else transmission.actuator_to_joint

    def bounds(names: Sequence[str]) -> tuple[tuple[float, float], ...]:
        limits = [effective_limits(robot, name) for name in names]
        return tuple((each.lower, each.upper) for each in limits)

    def unit(names: Sequence[str]) -> str:
        units = {joint_unit(robot, name) for name in names}
        return units.pop() if len(units) == 1 else UNKNOWN_UNIT

    open_ends = ((-np.inf, np.inf),)
    shown = others[:MOST_CURVES]
    actuators_unit = actuator_unit(robot, binding)
    return Curves(
        moved=ours[place],
        x=positions[:, place],
        names=tuple(shown),
        positions=mapped('position', positions)[:, : len(shown)],
        ratios=mapped('velocity', rates, at=positions)[:, : len(shown)],
        limits=bounds(commanded)[place] if by_joint else open_ends[0],
        other_limits=open_ends * len(others) if by_joint else bounds(commanded),
        held=tuple(
            (name, float(middle[other])) for other, name in enumerate(ours) if other != place
        ),
        unit=unit([joints[place]]) if by_joint else actuators_unit,
        other_unit=actuators_unit if by_joint else unit(shown),
        left_out=tuple(others[MOST_CURVES:]),
    )


#: Inches.
MEMBER, TEXT_LINE, INSET, MARGIN = 0.44, 0.145, 0.85, 0.14

#: Most numbers of a type that are shown.
MOST_NUMBERS = 6

#: Characters of a name that fit in a box.
LONGEST_NAME = 30

#: Values that change nothing and are not shown.
_NEUTRAL = {'reduction': 1.0, 'offset': 0.0}

#: Characters of a line of numbers that fit in a box.
LONGEST_LINE = 40


@dataclass(frozen=True)
class Member:
    """A joint or an actuator: its name and its numbers."""

    name: str
    numbers: str


@dataclass(frozen=True, eq=False)
class Block:
    """
    A transmission with its actuators and joints.

    :param lines: Text below the name.
    :param curves: Curves of a ratio that depends on position.
    :param is_refused: Whether it cannot be used; its numbers are not known then.
    """

    name: str
    lines: tuple[str, ...]
    actuators: tuple[Member, ...]
    joints: tuple[Member, ...]
    curves: tuple[Curves, ...]
    is_refused: bool = False

    @property
    def height(self) -> float:
        """Height in inches, with the distance to the next one."""
        members = MEMBER * max(len(self.actuators), len(self.joints), 1)
        middle = TEXT_LINE * (1 + len(self.lines)) + 0.12
        return max(members, middle + (INSET if self.curves else 0.0)) + MARGIN


def blocks_of(robot: RobotTransmissions, names: Sequence[str]) -> tuple[Block, ...]:
    """Return the blocks of transmissions, in the order of the robot, then those refused."""
    return (
        *(_block(robot, binding) for binding in robot.bindings if binding.spec.name in names),
        *(_refused(spec) for spec in robot.refused if spec.name in names),
    )


def shortened(name: str) -> str:
    """Return a name that fits in a box, shortened in the middle."""
    text = printable(name)
    if len(text) <= LONGEST_NAME:
        return text
    return f'{text[: LONGEST_NAME // 2 - 1]}…{text[-(LONGEST_NAME // 2) :]}'


def _block(robot: RobotTransmissions, binding: Binding) -> Block:
    tunables = robot.tunables[binding.spec.name]
    return Block(
        name=binding.spec.name,
        lines=(binding.spec.type.rpartition('/')[2], *_own_numbers(tunables)),
        actuators=_members(binding.spec.actuators, 'actuators', tunables, lambda name: ''),
        joints=_members(
            binding.spec.joints,
            'joints',
            tunables,
            lambda name: joint_unit(robot.robot, name),
        ),
        curves=curves_of(robot.robot, binding),
    )


def _refused(spec: TransmissionSpec | RejectedTransmission) -> Block:
    def members(ends: Sequence[TransmissionEnd | str]) -> tuple[Member, ...]:
        names = (end if isinstance(end, str) else end.name for end in ends)
        return tuple(Member(name, '') for name in names)

    where = '' if spec.line is None else f', line {spec.line}'
    return Block(
        name=spec.name,
        lines=(spec.type.rpartition('/')[2], f'REFUSED{where}'),
        actuators=members(spec.actuators),
        joints=members(spec.joints),
        curves=(),
        is_refused=True,
    )


def _members(
    ends: Sequence[TransmissionEnd],
    side: str,
    tunables: Sequence[Tunable],
    unit_of: Callable[[str], str],
) -> tuple[Member, ...]:
    """Return the members of a side with the numbers that they hold in the description."""
    members = []
    for end in ends:
        texts = []
        for tunable in tunables:
            if tunable.path[:2] != (side, end.name) or tunable.is_actuator_limit:
                continue
            name = tunable.path[-1].removeprefix('mechanical_')
            if tunable.value != _NEUTRAL.get(name):
                unit = unit_of(end.name) if name == 'offset' else tunable.unit
                texts.append(_with_unit(f'{name} {tunable.value:.6g}', unit))
        members.append(Member(end.name, ', '.join(texts)))
    return tuple(members)


def _own_numbers(tunables: Sequence[Tunable]) -> tuple[str, ...]:
    """Return lines with the numbers of this type."""
    texts = []
    for tunable in tunables:
        if tunable.path[0] in ('joints', 'actuators') or not tunable.shapes_map:
            continue
        name = '.'.join(tunable.path).removeprefix('matrix.')
        texts.append(_with_unit(f'{name} {tunable.value:.4g}', tunable.unit))
    lines: list[str] = []
    for text in texts[:MOST_NUMBERS]:
        if lines and len(lines[-1]) + len(text) + 2 <= LONGEST_LINE:
            lines[-1] += f', {text}'
        else:
            lines.append(text)
    if len(texts) > MOST_NUMBERS:
        lines.append(f'and {len(texts) - MOST_NUMBERS} more')
    return tuple(lines)


def _with_unit(text: str, unit: str) -> str:
    return f'{text} {unit}' if unit and unit != UNKNOWN_UNIT else text


# -- Drawing -------------------------------------------------------------------------------------


_LINES = ('#33638d', '#c06c2f', '#4a8c5c', '#8a5a9e', '#8c6d4a', '#5a8c8c')

_SIDES = ('lower', 'upper')

#: Limits are drawn up to this share of the domain outside of it.
_NEAR = 0.25

_LIMIT = '#b03a3a'

#: Points between a panel and its title, for the names of limits.
_ABOVE = 10.0

#: Share of a panel that the names of two limits need between them.
_ROOM = 0.45

#: Ratios are cut off at this multiple of the typical one, next to singular positions.
_CUT = 20.0


def curve_lines(axes: Any, x: Array, columns: Array, labels: tuple[str, ...] = ()) -> None:
    """Draw a line per column, the second and the others dashed."""
    for number, column in enumerate(columns.T):
        axes.plot(
            x,
            column,
            color=_LINES[number % len(_LINES)],
            ls='-' if number == 0 else '--',
            lw=1.2,
            label=labels[number] if labels else None,
        )


def _shown(curves: Curves) -> dict[str, float]:
    """Return the limits that are in the domain or near it."""
    low, high = float(curves.x.min()), float(curves.x.max())
    reach = _NEAR * (high - low)
    return {
        side: bound
        for side, bound in zip(_SIDES, curves.limits, strict=True)
        if low - reach <= bound <= high + reach
    }


def _aligned(curves: Curves, side: str) -> str:
    """Return the side of its text on which a limit is: between the limits if both have room."""
    shown = _shown(curves)
    span = abs(shown.get('upper', math.inf) - shown.get('lower', -math.inf))
    has_room = span > _ROOM * float(np.ptp([*curves.x, *shown.values()]))
    return 'left' if (side == 'lower') == has_room else 'right'


def _range(values: Array) -> tuple[float, float]:
    """Return the ends of an axis with a margin, and wider than rounding errors."""
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    margin = max(0.05 * (high - low), 0.02 * max(abs(low), abs(high)), 1e-9)
    return low - margin, high + margin


def draw_curves(position: Any, ratio: Any, title: str, curves: Curves) -> None:
    """
    Draw the positions on one pair of axes and the ratios on another.

    :param title: The transmission.
    """
    labels = tuple(shortened(name) for name in curves.names)
    moved = shortened(curves.moved)
    curve_lines(position, curves.x, curves.positions, labels)
    with np.errstate(all='ignore'):
        typical = float(np.nanmedian(np.abs(curves.ratios))) if curves.ratios.size else 0.0
    cut = np.where(np.abs(curves.ratios) > _CUT * typical, np.nan, curves.ratios)
    curve_lines(ratio, curves.x, cut, labels)
    what = labels[0] if len(labels) == 1 else 'position'
    rows = ((position, f'{what} [{curves.other_unit}]'), (ratio, f'ratio, per {moved}'))
    for axes, label in rows:
        for side, bound in _shown(curves).items():
            if np.isfinite(bound):
                axes.axvline(bound, color=_LIMIT, lw=1.0, ls=':')
                # Above the axes, where no curve is.
                axes.annotate(
                    f'{side} limit', (bound, 1.0), xycoords=axes.get_xaxis_transform(),
                    xytext=(0.0, 2.0), textcoords='offset points', ha=_aligned(curves, side),
                    fontsize=6, color=_LIMIT,
                )  # fmt: skip
        axes.set_xlabel(f'{moved} [{curves.unit}]', fontsize=7, parse_math=False)
        axes.set_ylabel(label, fontsize=7, parse_math=False)
        axes.tick_params(labelsize=6.5)
        axes.ticklabel_format(useOffset=False)
        axes.set_xlim(*_range(np.array([*curves.x, *_shown(curves).values()])))
        axes.grid(True, color='#e2e2e2', lw=0.5)
    for bounds in curves.other_limits:
        for bound in bounds:
            if np.isfinite(bound):
                position.axhline(bound, color=_LIMIT, lw=1.0, ls=':')
    if len(labels) > 1:
        for text in position.legend(fontsize=6.5).get_texts():
            text.set_parse_math(False)
    ratio.set_ylim(*_range(cut))
    held = ''.join(f', {shortened(name)} at {value:.3g}' for name, value in curves.held)
    if curves.left_out:
        held += f'; without {len(curves.left_out)} more joints'
    position.set_title(title, fontsize=8, loc='left', pad=_ABOVE, parse_math=False)
    beyond = [
        f'{side} limit {bound:.4g}'
        for side, bound in zip(_SIDES, curves.limits, strict=True)
        if np.isfinite(bound) and side not in _shown(curves)
    ]
    where = f'\nnot in the picture: {", ".join(beyond)}' if beyond else ''
    over = f'over {moved}{held}{where}'
    ratio.set_title(over, fontsize=7, loc='left', pad=_ABOVE, parse_math=False)


#: Inches: a column of blocks, and in it the left edges and widths of the three kinds of boxes.
COLUMN = 8.7
ACTUATOR, MIDDLE, JOINT = (0.1, 2.3), (2.95, 2.3), (5.8, 2.3)
TITLE = 0.55

#: Width and height of the picture of a curve.
PANEL = (4.1, 2.5)

_COLOURS = {
    'actuator': '#e8eef7',
    'joint': '#eaf4e6',
    'constant': '#f6f6f6',
    'nonlinear': '#fdf3e1',
    'refused': '#fbe9e9',
}
_EDGE = '#5a6270'


def diagram(
    title: str, blocks: Sequence[Block], pass_through: Sequence[str], file_format: str
) -> bytes:
    """
    Draw the drive, and below it the curves of each ratio that depends on position.

    :param title: The robot's name.
    :param pass_through: Joints without a transmission.
    :param file_format: ``svg`` or ``png``.
    """
    columns = columns_of(blocks)
    passed = _passed(pass_through, len(columns))
    panels = [(block, curves) for block in blocks for curves in block.curves]
    tall = max((sum(b.height for b in column) for column in columns), default=0.0)
    body = TITLE + tall + 0.16 * len(passed) + MARGIN
    width = COLUMN * max(len(columns), 1)
    per_row = max(1, int(width // (2.0 * PANEL[0])))
    height = body + PANEL[1] * math.ceil(len(panels) / per_row)

    def draw(figure: Any) -> None:
        top = height - body
        axes = figure.add_axes((0.0, top / height, 1.0, body / height))
        axes.set_xlim(0.0, width)
        axes.set_ylim(0.0, body)
        axes.set_axis_off()
        _text(axes, 0.1, body - 0.3, title, size=13, weight='bold')
        for number, column in enumerate(columns):
            level = body - TITLE
            for block in column:
                _draw_block(axes, block, number * COLUMN, level)
                level -= block.height
        for number, line in enumerate(reversed(passed)):
            _text(axes, 0.1, 0.1 + 0.16 * number, line, size=8, va='bottom')
        for number, (block, curves) in enumerate(panels):
            row, place = divmod(number, per_row)
            left, base = place * 2.0 * PANEL[0], top - (row + 1) * PANEL[1]
            _draw_panel(figure, block.name, curves, (left, base), (width, height))

    return picture(draw, (width, height), file_format, layout=None)


def columns_of(blocks: Sequence[Block]) -> list[list[Block]]:
    """Distribute the blocks so that the picture is about as wide as high."""
    total = sum(block.height for block in blocks)
    count = max(1, round(math.sqrt(total / COLUMN) + 0.3))
    columns: list[list[Block]] = [[]]
    filled = 0.0
    for block in blocks:
        if columns[-1] and len(columns) < count and filled + 0.5 * block.height > total / count:
            columns.append([])
            filled = 0.0
        columns[-1].append(block)
        filled += block.height
    return columns


def _passed(names: Sequence[str], columns: int) -> list[str]:
    if not names:
        return []
    lines = ['passed through, without a transmission:']
    for name in map(shortened, names):
        if len(lines[-1]) + len(name) > 110 * columns:
            lines.append('')
        lines[-1] += ' ' + name + (',' if name != shortened(names[-1]) else '')
    return lines


def _draw_block(axes: Any, block: Block, left: float, top: float) -> None:
    height = block.height - MARGIN
    centre = top - 0.5 * height
    kind = 'refused' if block.is_refused else 'nonlinear' if block.curves else 'constant'
    _box(axes, left + MIDDLE[0], top - height, MIDDLE[1], height, kind)
    middle = left + MIDDLE[0] + 0.5 * MIDDLE[1]
    inset = INSET if block.curves else 0.0
    lines = [shortened(block.name), *block.lines]
    level = top - 0.5 * (height - inset) + 0.0725 * (len(lines) - 1)
    for number, text in enumerate(lines):
        weight, size = ('bold', 8) if number == 0 else ('normal', 7)
        _text(axes, middle, level - 0.145 * number, text, size=size, weight=weight, ha='center')
    if block.curves:
        place = (left + MIDDLE[0] + 0.1, top - height + 0.06, MIDDLE[1] - 0.2, INSET - 0.1)
        _draw_inset(axes, block.curves[0], place)
    for members, column, kind, joins in (
        (block.actuators, ACTUATOR, 'actuator', (ACTUATOR[0] + ACTUATOR[1], MIDDLE[0])),
        (block.joints, JOINT, 'joint', (JOINT[0], MIDDLE[0] + MIDDLE[1])),
    ):
        pitch = height / max(len(members), 1)
        for number, member in enumerate(members):
            level = top - (number + 0.5) * pitch
            shown = 'refused' if block.is_refused else kind
            _draw_member(axes, member, left + column[0], level, column[1], shown)
            box_level = centre + 0.6 * (level - centre)
            ends = [left + joins[0], left + joins[1]]
            line = '--' if block.is_refused else '-'
            axes.plot(ends, [level, box_level], color=_EDGE, lw=1.0, ls=line, zorder=1)


def _draw_member(
    axes: Any, member: Member, left: float, level: float, width: float, kind: str
) -> None:
    _box(axes, left, level - 0.19, width, 0.38, kind)
    middle = left + 0.5 * width
    if member.numbers:
        _text(axes, middle, level + 0.075, shortened(member.name), size=8, ha='center')
        _text(axes, middle, level - 0.085, member.numbers, size=6.5, ha='center', color=_EDGE)
    else:
        _text(axes, middle, level, shortened(member.name), size=8, ha='center')


def _box(axes: Any, left: float, base: float, width: float, height: float, kind: str) -> None:
    patches = optional('matplotlib.patches', 'plot')
    shape = patches.FancyBboxPatch(
        (left, base),
        width,
        height,
        boxstyle='round,pad=0,rounding_size=0.06',
        facecolor=_COLOURS[kind],
        edgecolor=_LIMIT if kind == 'refused' else _EDGE,
        linestyle='--' if kind == 'refused' else '-',
        linewidth=0.8,
        zorder=2,
    )
    axes.add_patch(shape)


def _draw_inset(axes: Any, curves: Curves, place: tuple[float, float, float, float]) -> None:
    inset = axes.inset_axes(place, transform=axes.transData, zorder=3)
    inset.set_xticks([])
    inset.set_yticks([])
    curve_lines(inset, curves.x, _scaled(curves.positions))


def _scaled(positions: np.ndarray) -> np.ndarray:
    """Return the columns scaled to their range, because an inset shows shapes only."""
    with np.errstate(all='ignore'):
        low = np.nanmin(positions, axis=0, initial=np.inf)
        high = np.nanmax(positions, axis=0, initial=-np.inf)
        return np.asarray((positions - low) / (high - low))


def _draw_panel(
    figure: Any, name: str, curves: Curves, corner: tuple[float, float], size: tuple[float, float]
) -> None:
    pair = []
    for number in range(2):
        left = corner[0] + number * PANEL[0] + 0.75
        place = (
            left / size[0],
            (corner[1] + 0.5) / size[1],
            (PANEL[0] - 1.0) / size[0],
            (PANEL[1] - 1.0) / size[1],
        )
        pair.append(figure.add_axes(place))
    draw_curves(pair[0], pair[1], shortened(name), curves)


def _text(axes: Any, x: float, y: float, text: str, **style: Any) -> None:
    style = {'va': 'center', **style}
    # Names may contain any character, also those of formulas.
    axes.text(x, y, printable(text), parse_math=False, zorder=4, **style)


def run(options: argparse.Namespace, console: Console) -> Exit:
    """Run the command."""
    if options.output:
        format_of(options.output)
        check_output(options.output, force=options.force)
    optional('matplotlib.figure', 'plot')
    robot = robot_of_command(options, console)
    names = (*robot.transmissions, *(spec.name for spec in robot.refused))
    for name in options.transmission:
        if name not in names:
            raise UnknownNameError('transmission', name, names)
    output = options.output or _file_name(robot.robot.name)
    check_output(output, force=options.force)
    blocks = blocks_of(robot, options.transmission or names)
    passed = () if options.transmission else robot.pass_through
    picture = diagram(robot.robot.name, blocks, passed, format_of(output))
    write_output(output, picture, force=options.force)
    console.out.line(f'written to {printable(output)}')
    refused = sum(block.is_refused for block in blocks)
    if refused:
        console.err.line(
            f'{refused} of the transmissions cannot be used and are drawn as refused: see '
            f"'transmission_bridge check {printable(options.file)}'"
        )
    return Exit.ERRORS if refused else Exit.OK


def _file_name(robot: str) -> str:
    """Return a file name for a robot's name, whatever characters that has."""
    return (re.sub(r'[^\w.-]+', '_', robot).strip('._')[:100] or 'robot') + '.svg'
