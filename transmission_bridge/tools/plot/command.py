# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge plot``: the drive of a robot as a picture."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
import math
from operator import itemgetter
import re
import textwrap
from typing import Any

import numpy as np

from transmission_bridge.description import RobotDescription
from transmission_bridge.description.effective_limits import effective_limits
from transmission_bridge.description.specs import RejectedTransmission, TransmissionSpec
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

__all__ = ['Block', 'Curves', 'Member', 'blocks_of', 'curves_of', 'diagram', 'draw_curves', 'run']


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
    :param unit: Unit of ``x``.
    :param other_unit: Unit of ``positions``.
    :param left_out: Further joints, of which there is no curve.
    """

    moved: str
    x: Array
    names: tuple[str, ...]
    positions: Array
    ratios: Array
    limits: tuple[float, float]
    other_limits: tuple[tuple[float, float], ...]
    held: dict[str, float]
    unit: str
    other_unit: str
    left_out: tuple[str, ...]


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
    limits = {each.name: effective_limits(robot, each.name) for each in binding.spec.joints}
    joints = (*limits, *transmission.passive_joints)
    actuators = tuple(member.name for member in binding.spec.actuators)
    ends, by_joint = np.array([domain.lower, domain.upper]), domain.space == 'joint'
    if not by_joint and len(joints) == len(actuators) == 1:
        ends, by_joint = np.sort(transmission.actuator_to_joint('position', ends), axis=0), True
    if not np.isfinite(ends).all():
        return ()
    middle = ends.mean(axis=0) if by_joint else _reached(transmission, *ends)
    mapped = transmission.joint_to_actuator if by_joint else transmission.actuator_to_joint
    ours, others = (joints, actuators) if by_joint else (actuators, joints)
    names = others[:MOST_CURVES]

    def bounds(name: str) -> tuple[float, float]:
        return (
            (limits[name].lower, limits[name].upper) if name in limits else (-math.inf, math.inf)
        )

    def unit(names: Sequence[str]) -> str:
        if names[0] in actuators:
            return actuator_unit(robot, binding)
        units = {joint_unit(robot, name) for name in names}
        return units.pop() if len(units) == 1 else UNKNOWN_UNIT

    found = []
    for place, moved in enumerate(ours[: len(middle)]):
        positions = np.tile(middle, (POINTS, 1))
        positions[:, place] = np.linspace(ends[0, place], ends[1, place], POINTS)
        rates = np.zeros_like(positions)
        rates[:, place] = 1.0
        found.append(
            Curves(
                moved=moved,
                x=positions[:, place],
                names=names,
                positions=mapped('position', positions)[:, : len(names)],
                ratios=mapped('velocity', rates, at=positions)[:, : len(names)],
                limits=bounds(moved),
                other_limits=tuple(map(bounds, names)),
                held={n: float(x) for n, x in zip(ours, middle, strict=False) if n != moved},
                unit=unit([moved]),
                other_unit=unit(names),
                left_out=others[MOST_CURVES:],
            )
        )
    return tuple(found)


def _reached(transmission: Transmission, lower: Array, upper: Array) -> Array:
    """Return the middle, or a position near it that the mechanism can have."""
    middle = 0.5 * (lower + upper)
    tries = np.random.default_rng(0).uniform(lower, upper, (TRIES, len(middle)))
    order = np.abs((tries - middle) / (upper - lower)).max(axis=-1).argsort()
    for position in (middle, *tries[order]):
        if np.isfinite(transmission.actuator_to_joint('position', position)).all():
            return np.asarray(position)
    return middle


#: Inches.
MEMBER, TEXT_LINE, INSET, MARGIN = 0.44, 0.145, 0.85, 0.14

#: Most numbers of a type that are shown.
MOST_NUMBERS = 6

#: Characters of a name, and of a line of numbers, that fit in a box.
LONGEST_NAME, LONGEST_LINE = 30, 40

#: Where numbers of members stand.
_SIDES = ('joints', 'actuators')

#: Values that change nothing and are not shown.
_NEUTRAL = {'reduction': 1.0, 'offset': 0.0}


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
    curves: tuple[Curves, ...] = ()
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
    spec, tunables = binding.spec, robot.tunables[binding.spec.name]

    def member(side: str, name: str) -> Member:
        """Return a member with the numbers that it holds in the description."""
        texts = []
        for each in tunables:
            short = '.'.join(each.path[2:]).removeprefix('mechanical_')
            is_own = each.path[:2] == (side, name) and not each.is_actuator_limit
            if is_own and each.value != _NEUTRAL.get(short):
                is_offset = side == 'joints' and short == 'offset'
                unit = joint_unit(robot.robot, name) if is_offset else each.unit
                text = _number(f'{short} {each.value:.6g}', unit)
                texts.append((short not in _NEUTRAL, text))
        return Member(name, _fitted([text for _, text in sorted(texts, key=itemgetter(0))]))

    return Block(
        name=spec.name,
        lines=(spec.type.rpartition('/')[2], *_own_numbers(tunables)),
        actuators=tuple(member('actuators', each.name) for each in spec.actuators),
        joints=tuple(member('joints', each.name) for each in spec.joints),
        curves=curves_of(robot.robot, binding),
    )


def _refused(spec: TransmissionSpec | RejectedTransmission) -> Block:
    where = '' if spec.line is None else f', line {spec.line}'
    actuators, joints = (
        tuple(Member(end if isinstance(end, str) else end.name, '') for end in side)
        for side in (spec.actuators, spec.joints)
    )
    lines = (spec.type.rpartition('/')[2], f'REFUSED{where}')
    return Block(spec.name, lines, actuators, joints, is_refused=True)


def _own_numbers(tunables: Sequence[Tunable]) -> list[str]:
    """Return lines with the numbers of this type."""
    own = [each for each in tunables if each.shapes_map and each.path[0] not in _SIDES]
    texts = []
    for each in own[:MOST_NUMBERS]:
        name = '.'.join(each.path).removeprefix('matrix.')
        texts.append(_number(f'{name} {each.value:.4g}', each.unit).replace(' ', '\xa0'))
    lines = [
        line.rstrip(',').replace('\xa0', ' ')
        for line in textwrap.wrap(', '.join(texts), LONGEST_LINE, break_on_hyphens=False)
    ]
    return lines + [f'and {len(own) - MOST_NUMBERS} more'] * (len(own) > MOST_NUMBERS)


def _fitted(texts: Sequence[str]) -> str:
    """Return a line with as many texts as fit in a box."""
    for count in range(len(texts), 0, -1):
        more = f' and {len(texts) - count} more' if count < len(texts) else ''
        if len(line := ', '.join(texts[:count]) + more) <= LONGEST_LINE:
            return line
    return f'{len(texts)} numbers' if texts else ''


def _number(text: str, unit: str) -> str:
    return f'{text} {unit}' if unit and unit != UNKNOWN_UNIT else text


# -- Drawing -------------------------------------------------------------------------------------


_LINES = ('#33638d', '#c06c2f', '#4a8c5c', '#8a5a9e', '#8c6d4a', '#5a8c8c')

#: Limits are drawn up to this share of the domain outside of it.
_NEAR = 0.25

_LIMIT = '#b03a3a'

#: Points between a panel and its title, for the names of limits.
_ABOVE = 10.0

#: Share of a panel that the names of two limits need between them.
_ROOM = 0.45

#: Ratios are cut off at this multiple of the typical one, next to singular positions.
_CUT = 20.0


def _curves(axes: Any, x: Array, columns: Array, names: Sequence[str] = ()) -> None:
    """Draw a line per column, the second and the others dashed."""
    for number, column in enumerate(columns.T):
        label = names[number] if names else None
        style = '-' if number == 0 else '--'
        axes.plot(x, column, color=_LINES[number], ls=style, lw=1.2, label=label)


def _range(values: Array) -> tuple[float, float]:
    """Return the ends of an axis with a margin, and wider than rounding errors."""
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    margin = max(0.05 * (high - low), 0.02 * max(abs(low), abs(high)), 1e-9)
    return low - margin, high + margin


def draw_curves(position: Any, ratio: Any, title: str, curves: Curves) -> None:
    """
    Draw the positions on one pair of axes and the ratios on another.

    Limits of the moved coordinate are upright lines with names above the axes; those of the others
    are level lines in the colours of their curves. The legend is right of the ratios.

    :param title: The transmission.
    """
    labels, moved = [shortened(name) for name in curves.names], shortened(curves.moved)
    low, high = float(curves.x.min()), float(curves.x.max())
    reach = _NEAR * (high - low)
    limits = {
        side: bound
        for side, bound in zip(('lower', 'upper'), curves.limits, strict=True)
        if np.isfinite(bound)
    }
    shown = {s: bound for s, bound in limits.items() if low - reach <= bound <= high + reach}
    seen = np.array([*curves.x, *shown.values()])
    # Their names are between them if both have room.
    has_room = len(shown) < 2 or np.ptp([*shown.values()]) > _ROOM * np.ptp(seen)
    with np.errstate(all='ignore'):
        typical = float(np.nanmedian(np.abs(curves.ratios))) if curves.ratios.size else 0.0
    ratios = np.where(np.abs(curves.ratios) > _CUT * typical, np.nan, curves.ratios)
    what = labels[0] if len(labels) == 1 else 'position'
    for axes, columns, label in (
        (position, curves.positions, f'{what} [{curves.other_unit}]'),
        (ratio, ratios, f'ratio, per {moved}'),
    ):
        _curves(axes, curves.x, columns, labels)
        for side, bound in shown.items():
            axes.axvline(bound, color=_LIMIT, lw=1.0, ls=':')
            # Above the axes, where no curve is.
            axes.annotate(
                f'{side} limit', (bound, 1.0), xycoords=axes.get_xaxis_transform(),
                xytext=(0.0, 2.0), textcoords='offset points', fontsize=6, color=_LIMIT,
                ha='left' if (side == 'lower') == has_room else 'right',
            )  # fmt: skip
        axes.set_xlabel(f'{moved} [{curves.unit}]', fontsize=7, parse_math=False)
        axes.set_ylabel(label, fontsize=7, parse_math=False)
        axes.tick_params(labelsize=6.5)
        axes.ticklabel_format(useOffset=False)
        axes.set_xlim(*_range(seen))
        axes.grid(True, color='#e2e2e2', lw=0.5)
    ratio.set_ylim(*_range(ratios))
    for number, bounds in enumerate(curves.other_limits):
        for bound in filter(math.isfinite, bounds):
            position.axhline(bound, color=_LINES[number], lw=1.0, ls=':')
    if len(labels) > 1:
        if np.isfinite(curves.other_limits).any():
            ratio.plot([], [], color=_EDGE, lw=1.0, ls=':', label='limits of positions')
        legend = ratio.legend(fontsize=6.5, loc='center left', bbox_to_anchor=(1.0, 0.5))
        for text in legend.get_texts():
            text.set_parse_math(False)
    over = ''.join(f', {shortened(name)} at {value:.3g}' for name, value in curves.held.items())
    if curves.left_out:
        over += f'; without {len(curves.left_out)} more joints'
    beyond = [f'{side} limit {limits[side]:.4g}' for side in limits if side not in shown]
    if beyond:
        over += f'\nnot in the picture: {", ".join(beyond)}'
    for axes, text, size in ((position, title, 8), (ratio, f'over {moved}{over}', 7)):
        axes.set_title(text, fontsize=size, loc='left', pad=_ABOVE, parse_math=False)


#: Inches: a column of blocks, the width of a box, and left edges of the three kinds of boxes.
COLUMN, BOX = 8.7, 2.3
ACTUATOR, MIDDLE, JOINT = 0.1, 2.95, 5.8
TITLE = 0.55

#: Height of a row of curves, left edges and size of its panels.
PANEL, LEFT, PANEL_SIZE = 2.5, (0.75, 4.3), (2.7, 1.5)

_EDGE = '#5a6270'
_SHAPE = {'boxstyle': 'round,pad=0,rounding_size=0.06', 'linewidth': 0.8, 'zorder': 2}
_KINDS = {
    'actuator': {'facecolor': '#e8eef7', 'edgecolor': _EDGE},
    'joint': {'facecolor': '#eaf4e6', 'edgecolor': _EDGE},
    'constant': {'facecolor': '#f6f6f6', 'edgecolor': _EDGE},
    'nonlinear': {'facecolor': '#fdf3e1', 'edgecolor': _EDGE},
    'refused': {'facecolor': '#fbe9e9', 'edgecolor': _LIMIT, 'linestyle': '--'},
}


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
    passed = 'passed through, without a transmission: ' + ', '.join(map(shortened, pass_through))
    lines = textwrap.wrap(passed, 110 * len(columns)) if pass_through else []
    panels = [(block, curves) for block in blocks for curves in block.curves]
    tall = max(sum(block.height for block in column) for column in columns)
    body = TITLE + tall + 0.16 * len(lines) + MARGIN
    width = COLUMN * len(columns)
    height = body + PANEL * math.ceil(len(panels) / len(columns))

    def draw(figure: Any) -> None:
        top = height - body
        axes = figure.add_axes((0.0, top / height, 1.0, body / height))
        axes.set(xlim=(0.0, width), ylim=(0.0, body))
        axes.set_axis_off()
        _text(axes, 0.1, body - 0.3, title, size=13, weight='bold')
        for number, column in enumerate(columns):
            level = body - TITLE
            for block in column:
                _draw_block(axes, block, number * COLUMN, level)
                level -= block.height
        for number, line in enumerate(reversed(lines)):
            _text(axes, 0.1, 0.1 + 0.16 * number, line, size=8, va='bottom')
        for number, (block, curves) in enumerate(panels):
            row, place = divmod(number, len(columns))
            base = (top - (row + 1) * PANEL + 0.5) / height
            wide, high = PANEL_SIZE[0] / width, PANEL_SIZE[1] / height
            pair = [
                figure.add_axes(((place * COLUMN + left) / width, base, wide, high))
                for left in LEFT
            ]
            draw_curves(pair[0], pair[1], shortened(block.name), curves)

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


def _draw_block(axes: Any, block: Block, left: float, top: float) -> None:
    height = block.height - MARGIN
    inset = INSET if block.curves else 0.0
    refused = 'refused' if block.is_refused else ''
    box = (left + MIDDLE, top - height, height)
    kind = refused or ('nonlinear' if block.curves else 'constant')
    _box(axes, kind, box, block.name, block.lines, inset)
    if block.curves:
        inner = (box[0] + 0.1, box[1] + 0.06, BOX - 0.2, INSET - 0.1)
        panel = axes.inset_axes(inner, transform=axes.transData, zorder=3)
        panel.set(xticks=[], yticks=[])
        curves = block.curves[0]
        with np.errstate(all='ignore'):  # scaled to their range: this shows shapes only
            low, high = (end(curves.positions, axis=0) for end in (np.fmin.reduce, np.fmax.reduce))
            _curves(panel, curves.x, (curves.positions - low) / (high - low))
    for members, kind, edge, ends in (
        (block.actuators, 'actuator', ACTUATOR, (ACTUATOR + BOX, MIDDLE)),
        (block.joints, 'joint', JOINT, (JOINT, MIDDLE + BOX)),
    ):
        for number, member in enumerate(members):
            level = top - (number + 0.5) * height / len(members)
            place = (left + edge, level - 0.19, 0.38)
            _box(
                axes, refused or kind, place, member.name, [member.numbers] * bool(member.numbers)
            )
            levels = [level, top - 0.5 * height + 0.6 * (level - top + 0.5 * height)]
            line = '--' if block.is_refused else '-'
            axes.plot([left + x for x in ends], levels, color=_EDGE, lw=1.0, ls=line, zorder=1)


def _box(
    axes: Any,
    kind: str,
    place: tuple[float, float, float],
    name: str,
    lines: Sequence[str],
    above: float = 0.0,
) -> None:
    """
    Draw a box with a name and lines of text.

    :param place: Left edge, base and height.
    :param above: Height below the text.
    """
    left, base, height = place
    patches = optional('matplotlib.patches', 'plot')
    axes.add_patch(patches.FancyBboxPatch((left, base), BOX, height, **_SHAPE, **_KINDS[kind]))
    level = base + 0.5 * (height + above) + 0.5 * TEXT_LINE * len(lines)
    weight = 'normal' if kind in ('actuator', 'joint') else 'bold'
    _text(axes, left + 0.5 * BOX, level, shortened(name), size=8, weight=weight, ha='center')
    for line in lines:
        level -= TEXT_LINE
        _text(axes, left + 0.5 * BOX, level, line, size=6.5, ha='center', color=_EDGE)


def _text(axes: Any, x: float, y: float, text: str, **style: Any) -> None:
    # Names may contain any character, also those of formulas.
    axes.text(x, y, printable(text), parse_math=False, zorder=4, **{'va': 'center', **style})


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
