# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge plot``: a picture of the drive of a robot."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
import math
import re
import textwrap
from typing import Any

import numpy as np

from transmission_bridge.description import (
    effective_limits,
    RejectedTransmission,
    TransmissionSpec,
)
from transmission_bridge.errors import counted, UnknownNameError
from transmission_bridge.kinematics import compute_ratios
from transmission_bridge.tools.cli import Console, Exit, optional, printable
from transmission_bridge.tools.files import check_output, write_output
from transmission_bridge.tools.plot.figure import format_of, picture
from transmission_bridge.tools.robot import robot_of_command
from transmission_bridge.tools.units import actuator_unit, joint_unit, UNKNOWN_UNIT
from transmission_bridge.transmissions import (
    Binding,
    Domain,
    ParameterPath,
    RobotTransmissions,
    Transmission,
)
from transmission_bridge.transmissions.robot import ActuatorUnits
from transmission_bridge.types import Array

# -- Blocks: the joints, actuators, numbers and curves of each transmission ----------------------


#: Points of a curve.
POINTS = 401

#: Maximum number of curves in one picture: commanded joints, then passive joints.
MOST_CURVES = 6

#: Number of random positions that are tested for a position that a mechanism can reach.
TRIES = 200


@dataclass(frozen=True, eq=False)
class Curves:
    """
    Curves over one coordinate; the other coordinates of its side are in the middle.

    :param moved: Name of the joint or actuator that moves.
    :param x: Its positions, shape ``(points,)``.
    :param names: The joints or actuators of the other side.
    :param positions: Their positions, shape ``(points, names)``.
    :param ratios: Their velocity per velocity of ``moved``, in SI, shape ``(points, names)``.
    :param limits: Position limits of ``moved``, infinite if absent.
    :param other_limits: Position limits of ``names``.
    :param held: Positions of the other coordinates of the moved side, by name.
    :param unit: Unit of ``x``.
    :param other_unit: Unit of ``positions``.
    :param left_out: Joints without a curve.
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


def make_curves(robot: RobotTransmissions, binding: Binding) -> tuple[Curves, ...]:
    """
    Return the curves of a transmission if its ratio depends on position.

    Joints are moved if the domain is in joint space, or if there is one joint and one actuator.
    Otherwise actuators are moved, for example of linkages; passive joints then also have curves.
    Positions of actuators are in the unit of their drivers if all have the same unit, else in SI.

    :returns: One per moved joint or actuator, empty for a constant ratio or without a domain.
    """
    transmission = binding.transmission
    domain = getattr(transmission, 'domain', None)
    if not isinstance(domain, Domain):
        return ()
    limits = {
        each.name: effective_limits(robot.description, each.name) for each in binding.spec.joints
    }
    joints = (*limits, *transmission.passive_joints)
    actuators = tuple(member.name for member in binding.spec.actuators)
    ends, by_joint = np.array([domain.lower, domain.upper]), domain.space == 'joint'
    if not by_joint and len(joints) == len(actuators) == 1:
        ends, by_joint = np.sort(transmission.actuator_to_joint('position', ends), axis=0), True
    if not np.isfinite(ends).all():
        return ()
    middle = ends.mean(axis=0) if by_joint else _compute_reachable_middle(transmission, *ends)
    mapped = transmission.joint_to_actuator if by_joint else transmission.actuator_to_joint
    joint_units = {joint_unit(robot.description, name) for name in joints}
    unit = joint_units.pop() if len(joint_units) == 1 else UNKNOWN_UNIT
    driver, scale = _find_driver_unit(robot, binding)
    ours, others = (joints, actuators) if by_joint else (actuators, joints)
    own, other = (1.0, scale) if by_joint else (scale, 1.0)
    bounds = dict.fromkeys((*joints, *actuators), (-math.inf, math.inf))
    bounds |= {name: (each.lower, each.upper) for name, each in limits.items()}
    found = []
    for place, moved in enumerate(ours[: len(middle)]):
        at = np.tile(middle, (POINTS, 1))
        at[:, place] = np.linspace(ends[0, place], ends[1, place], POINTS)
        other_positions = mapped('position', at)
        if by_joint:
            ratios = compute_ratios(transmission, other_positions).inverse
        else:
            ratios = transmission.jacobian(at)
        held = dict(zip(ours, (middle / own).tolist(), strict=False))
        del held[moved]
        found.append(
            Curves(
                moved=moved,
                x=at[:, place] / own,
                names=others[:MOST_CURVES],
                positions=other_positions[:, :MOST_CURVES] / other,
                ratios=ratios[:, :MOST_CURVES, place],
                limits=bounds[moved],
                other_limits=tuple(bounds[name] for name in others[:MOST_CURVES]),
                held=held,
                unit=joint_unit(robot.description, moved) if by_joint else driver,
                other_unit=driver if by_joint else unit,
                left_out=others[MOST_CURVES:],
            )
        )
    return tuple(found)


def _find_driver_unit(robot: RobotTransmissions, binding: Binding) -> tuple[str, float]:
    """Return the unit of the actuators' positions, and its size in SI."""
    units = [binding.units.get(each.name, ActuatorUnits()) for each in binding.spec.actuators]
    first = units[0].position
    if first.text and all(each.position == first for each in units):
        return first.text, first.scale
    return actuator_unit(robot.description, binding), 1.0


def _compute_reachable_middle(transmission: Transmission, lower: Array, upper: Array) -> Array:
    """Return the reachable position closest to the middle."""
    middle = 0.5 * (lower + upper)
    tries = np.random.default_rng(0).uniform(lower, upper, (TRIES, len(middle)))
    order = np.abs((tries - middle) / (upper - lower)).max(axis=-1).argsort()
    tries = np.stack([middle, *tries[order]])
    can_be = np.isfinite(transmission.actuator_to_joint('position', tries)).all(axis=-1)
    return np.asarray(tries[can_be.argmax()])  # the middle if all are unreachable


#: Heights in inches of a box without lines, a line, and the small curves in a box; gaps between
#: boxes and between blocks.
BOX_HEIGHT, TEXT_LINE, INSET, GAP, MARGIN = 0.3, 0.145, 0.85, 0.06, 0.14

#: Maximum number of numbers in a box.
MOST_NUMBERS = 16

#: Characters of a name, and of a line of numbers, that fit in a box.
LONGEST_NAME, LONGEST_LINE = 30, 40

#: Values without effect, which are not shown.
_NEUTRAL = {'reduction': 1.0, 'offset': 0.0}


@dataclass(frozen=True)
class Member:
    """A joint or an actuator: its name, its numbers and the units of its driver."""

    name: str
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Block:
    """
    A transmission with its actuators and joints.

    :param lines: Text below the name.
    :param curves: Curves of a ratio that depends on position.
    :param is_rejected: Whether it cannot be used; its numbers are then unknown.
    """

    name: str
    lines: tuple[str, ...]
    actuators: tuple[Member, ...]
    joints: tuple[Member, ...]
    curves: tuple[Curves, ...] = ()
    is_rejected: bool = False

    @property
    def height(self) -> float:
        """Height in inches, with the gap to the next block."""
        most = max(len(each.lines) for each in (*self.actuators, *self.joints, Member('')))
        count = max(len(self.actuators), len(self.joints), 1)
        middle = BOX_HEIGHT + TEXT_LINE * len(self.lines) + (INSET if self.curves else 0.0)
        return max(count * (BOX_HEIGHT + GAP + TEXT_LINE * most), middle) + MARGIN


def make_blocks(robot: RobotTransmissions, names: Sequence[str]) -> tuple[Block, ...]:
    """Return the blocks of transmissions in the order of the robot, then of rejected ones."""
    return (
        *(_make_block(robot, binding) for binding in robot.bindings if binding.spec.name in names),
        *(_make_rejected_block(spec) for spec in robot.refused if spec.name in names),
    )


def shorten_name(name: str) -> str:
    """Return a name that fits in a box, shorten_name in the middle."""
    text = printable(name)
    if len(text) <= LONGEST_NAME:
        return text
    return f'{text[: LONGEST_NAME // 2 - 1]}…{text[-(LONGEST_NAME // 2) :]}'


def _make_block(robot: RobotTransmissions, binding: Binding) -> Block:
    spec, texts = binding.spec, dict[ParameterPath, list[str]]()
    for each in robot.tunables[spec.name]:
        owner = each.path[:2] if each.path[0] in ('joints', 'actuators') else ()
        name = '.'.join(each.path[len(owner) :])
        name = name.removeprefix('mechanical_').removeprefix('matrix.')
        is_neutral = owner and each.value == _NEUTRAL.get(name)
        if is_neutral or each.is_actuator_limit or not (owner or each.shapes_map):
            continue
        unit = each.unit
        if owner[:1] == ('joints',) and name == 'offset':
            unit = joint_unit(robot.description, owner[1])
        text = f'{name} {each.value:.6g} {unit}'.removesuffix(UNKNOWN_UNIT).rstrip()
        texts.setdefault(owner, []).append(text)
    for path in texts:  # reductions and offsets first
        texts[path].sort(key=lambda text: bool(path) and text.split()[0] not in _NEUTRAL)
    units = {
        name: [f'driver in {", ".join(unit.text for unit in each.all_units if unit.text)}']
        for name, each in binding.units.items()
    }

    def make_members(side: str) -> tuple[Member, ...]:
        return tuple(
            Member(
                each.name,
                (*_wrap_numbers(texts.get((side, each.name), ())), *units.get(each.name, ())),
            )
            for each in getattr(spec, side)
        )

    lines = (spec.type.rpartition('/')[2], *_wrap_numbers(texts.get((), ())))
    curves = make_curves(robot, binding)
    return Block(spec.name, lines, make_members('actuators'), make_members('joints'), curves)


def _wrap_numbers(texts: Sequence[str]) -> tuple[str, ...]:
    """Return lines of numbers that fit in a box, and a line with the number of others."""
    shown = ', '.join(text.replace(' ', '\xa0') for text in texts[:MOST_NUMBERS])
    lines = textwrap.wrap(shown, LONGEST_LINE, break_on_hyphens=False)
    more = [f'and {len(texts) - MOST_NUMBERS} more'] * (len(texts) > MOST_NUMBERS)
    return tuple(line.rstrip(',').replace('\xa0', ' ') for line in [*lines, *more])


def _make_rejected_block(spec: TransmissionSpec | RejectedTransmission) -> Block:
    place = '' if spec.line is None else f', line {spec.line}'
    actuators, joints = (
        tuple(Member(end if isinstance(end, str) else end.name) for end in side)
        for side in (spec.actuators, spec.joints)
    )
    lines = (spec.type.rpartition('/')[2], f'REJECTED{place}')
    return Block(spec.name, lines, actuators, joints, is_rejected=True)


# -- Drawing -------------------------------------------------------------------------------------


_LINES = ('#33638d', '#c06c2f', '#4a8c5c', '#8a5a9e', '#8c6d4a', '#5a8c8c')

#: Limits are drawn if they are at most this share of the domain outside it.
_NEAR = 0.25

_LIMIT = '#b03a3a'

#: Share of a panel's width that the labels of two limits need between them.
_ROOM = 0.45

#: Ratios above this multiple of the typical ratio (near singular positions) are not drawn.
_CUT = 20.0


def _plot_columns(axes: Any, x: Array, columns: Array, names: Sequence[str] = ()) -> None:
    """Draw a line per column, dashed except for the first one."""
    for number, column in enumerate(columns.T):
        label = names[number] if names else None
        style = '-' if number == 0 else '--'
        axes.plot(x, column, color=_LINES[number], ls=style, lw=1.2, label=label)


def _compute_axis_range(values: Array) -> tuple[float, float]:
    """Return the ends of an axis, with a margin that exceeds rounding errors."""
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    margin = max(0.05 * (high - low), 0.02 * max(abs(low), abs(high)), 1e-9)
    return low - margin, high + margin


def draw_curves(position: Any, ratio: Any, title: str, curves: Curves) -> None:
    """
    Draw the positions on one pair of axes and the ratios on another.

    Limits of the moved coordinate are vertical lines with labels above the axes. Limits of the
    other coordinates are horizontal lines in the colours of their curves. The legend is to the
    right of the ratios.

    :param title: The transmission.
    """
    labels, moved = [shorten_name(name) for name in curves.names], shorten_name(curves.moved)
    low, high = float(curves.x.min()), float(curves.x.max())
    reach = _NEAR * (high - low)
    limits = [
        (s, x) for s, x in zip(('lower', 'upper'), curves.limits, strict=True) if np.isfinite(x)
    ]
    shown = {side: x for side, x in limits if low - reach <= x <= high + reach}
    seen = np.array([low, high, *shown.values()])
    # Their labels are between them if there is room for both.
    has_room = len(shown) < 2 or np.ptp([*shown.values()]) > _ROOM * np.ptp(seen)
    with np.errstate(all='ignore'):
        typical = float(np.nanmedian(np.abs(curves.ratios))) if curves.ratios.size else 0.0
    ratios = np.where(np.abs(curves.ratios) > _CUT * typical, np.nan, curves.ratios)
    over = ''.join(f', {shorten_name(name)} at {value:.3g}' for name, value in curves.held.items())
    if curves.left_out:
        over += f'; without {counted(len(curves.left_out), "more joint")}'
    if beyond := [f'{side} limit {x:.4g}' for side, x in limits if side not in shown]:
        over += f'\nnot in the picture: {", ".join(beyond)}'
    what = labels[0] if len(labels) == 1 else 'position'
    for axes, columns, label, text in (
        (position, curves.positions, f'{what} [{curves.other_unit}]', title),
        (ratio, ratios, f'ratio, per {moved}', f'over {moved}{over}'),
    ):
        _plot_columns(axes, curves.x, columns, labels)
        for side, x in shown.items():
            axes.axvline(x, color=_LIMIT, lw=1.0, ls=':')
            align = 'left' if (side == 'lower') == has_room else 'right'
            style = {'fontsize': 6, 'color': _LIMIT, 'ha': align, 'va': 'bottom'}
            # Above the axes, because curves do not reach it.
            axes.text(x, 1.02, f'{side} limit', transform=axes.get_xaxis_transform(), **style)
        axes.set_xlabel(f'{moved} [{curves.unit}]', fontsize=7)
        axes.set_ylabel(label, fontsize=7)
        axes.set_title(text, fontsize=7.5, loc='left', pad=11.0)  # room for labels of limits
        axes.tick_params(labelsize=6.5)
        axes.ticklabel_format(useOffset=False)
        axes.grid(True, color='#e2e2e2', lw=0.5)
    ratio.set_ylim(*_compute_axis_range(ratios))
    for number, bounds in enumerate(curves.other_limits):
        for bound in filter(math.isfinite, bounds):
            position.axhline(bound, color=_LINES[number], lw=1.0, ls=':')
    if np.isfinite(curves.other_limits).any():
        ratio.plot([], [], color=_EDGE, lw=1.0, ls=':', label='limits of positions')
    if len(ratio.lines) > 1 + len(shown):
        ratio.legend(fontsize=6.5, loc='center left', bbox_to_anchor=(1.0, 0.5))


#: In inches: widths of a column of blocks and of a box, left edges of the three kinds of boxes.
COLUMN, BOX = 8.7, 2.3
ACTUATOR, MIDDLE, JOINT = 0.1, 2.95, 5.8
TITLE = 0.55

#: Height of a row of curves, left edges and size of its panels.
PANEL, LEFT, PANEL_SIZE = 2.5, (0.75, 4.3), (2.7, 1.5)

_EDGE = '#5a6270'
_SHAPE = {'boxstyle': 'round,pad=0,rounding_size=0.06', 'linewidth': 0.8, 'zorder': 2}
_ACTUATOR, _JOINT, _CONSTANT, _VARIES = '#e8eef7', '#eaf4e6', '#f6f6f6', '#fdf3e1'
_REFUSED = {'facecolor': '#fbe9e9', 'edgecolor': _LIMIT, 'linestyle': '--'}


def render_diagram(
    title: str, blocks: Sequence[Block], pass_through: Sequence[str], file_format: str
) -> bytes:
    """
    Draw the drive, and below it the curves of ratios that depend on position.

    :param title: The robot's name.
    :param pass_through: Joints without a transmission.
    :param file_format: ``svg`` or ``png``.
    """
    columns = distribute_columns(blocks)
    passed = 'passed through, without a transmission: ' * bool(pass_through)
    lines = textwrap.wrap(passed + ', '.join(map(shorten_name, pass_through)), 110 * len(columns))
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
        _draw_text(axes, 0.1, body - 0.3, title, size=13, weight='bold')
        for number, column in enumerate(columns):
            level = body - TITLE
            for block in column:
                _draw_block(axes, block, number * COLUMN, level)
                level -= block.height
        _draw_text(axes, 0.1, 0.1, '\n'.join(lines), size=8, va='bottom')
        for number, (block, curves) in enumerate(panels):
            row, place = divmod(number, len(columns))
            base = (top - (row + 1) * PANEL + 0.5) / height
            wide, high = PANEL_SIZE[0] / width, PANEL_SIZE[1] / height
            pair = [
                figure.add_axes(((place * COLUMN + left) / width, base, wide, high))
                for left in LEFT
            ]
            draw_curves(pair[0], pair[1], shorten_name(block.name), curves)

    return picture(draw, (width, height), file_format, layout=None)


def distribute_columns(blocks: Sequence[Block]) -> list[list[Block]]:
    """Distribute the blocks to columns for a picture that is about as wide as high."""
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
    base, middle = top - height, top - 0.5 * height
    color = _VARIES if block.curves else _CONSTANT
    _draw_box(axes, block, color, left + MIDDLE, middle, height, block)
    if block.curves:
        inner = (left + MIDDLE + 0.1, base + 0.06, BOX - 0.2, INSET - 0.1)
        panel = axes.inset_axes(inner, transform=axes.transData, zorder=3, xticks=[], yticks=[])
        curves = block.curves[0]
        with np.errstate(all='ignore'):  # scaled to their range, as a sketch
            low, high = (end(curves.positions, axis=0) for end in (np.fmin.reduce, np.fmax.reduce))
            _plot_columns(panel, curves.x, (curves.positions - low) / (high - low))
    for members, color, edge, ends in (
        (block.actuators, _ACTUATOR, ACTUATOR, (ACTUATOR + BOX, MIDDLE)),
        (block.joints, _JOINT, JOINT, (JOINT, MIDDLE + BOX)),
    ):
        for number, member in enumerate(members):
            away = (0.5 - (number + 0.5) / len(members)) * height
            tall = BOX_HEIGHT + TEXT_LINE * len(member.lines)
            _draw_box(axes, block, color, left + edge, middle + away, tall, member)
            ls = '--' if block.is_rejected else '-'
            levels = [middle + away, middle + 0.6 * away]
            axes.plot([left + x for x in ends], levels, color=_EDGE, lw=1.0, ls=ls, zorder=1)


def _draw_box(
    axes: Any, block: Block, color: str, left: float, middle: float, height: float, content: Any
) -> None:
    """
    Draw a box with the name and the lines of a block or one of its members.

    :param left: Its left edge.
    :param middle: The level of its centre.
    """
    patches = optional('matplotlib.patches', 'plot')
    style = _REFUSED if block.is_rejected else {'facecolor': color, 'edgecolor': _EDGE}
    place = (left, middle - 0.5 * height)
    axes.add_patch(patches.FancyBboxPatch(place, BOX, height, **_SHAPE, **style))
    curves = INSET if content is block and block.curves else 0.0
    level = middle + 0.5 * (curves + TEXT_LINE * len(content.lines))
    weight = 'bold' if content is block else 'normal'
    centre: dict[str, Any] = {'x': left + 0.5 * BOX, 'ha': 'center'}
    _draw_text(axes, y=level, text=shorten_name(content.name), size=8, weight=weight, **centre)
    for number, line in enumerate(content.lines, 1):
        _draw_text(axes, y=level - number * TEXT_LINE, text=line, size=6.5, color=_EDGE, **centre)


def _draw_text(axes: Any, x: float, y: float, text: str, **style: Any) -> None:
    axes.text(x, y, printable(text), zorder=4, **{'va': 'center', **style})


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
    # Without characters that a file name cannot contain.
    stem = re.sub(r'[^\w.-]+', '_', robot.description.name).strip('._')[:100] or 'robot'
    output = options.output or f'{stem}.svg'
    check_output(output, force=options.force)
    blocks = make_blocks(robot, options.transmission or names)
    passed = () if options.transmission else robot.pass_through
    image = render_diagram(robot.description.name, blocks, passed, format_of(output))
    write_output(output, image, force=options.force)
    console.out.line(f'written to {printable(output)}')
    rejected = sum(block.is_rejected for block in blocks)
    if rejected:
        console.err.line(
            f'drawn as rejected: {counted(rejected, "transmission")}, see '
            f"'transmission_bridge check {printable(options.file)}'"
        )
    return Exit.ERRORS if rejected else Exit.OK
