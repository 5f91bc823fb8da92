# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge check``: what is in a description, and what is wrong with it."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from difflib import get_close_matches
import math
import re
from typing import Any

from transmission_bridge.bridge.command_plan import command_names
from transmission_bridge.bridge.homing import counted_twice
from transmission_bridge.bridge.implausible_numbers import implausible_numbers
from transmission_bridge.bridge.options import parameter_names, PREFIX, unused_aliases
from transmission_bridge.bridge.topic_based import commands_without_end, several_interfaces
from transmission_bridge.description import Finding, RejectedTransmission, TransmissionSpec
from transmission_bridge.description.effective_limits import effective_limits
from transmission_bridge.errors import DescriptionError, sentence
from transmission_bridge.tools.cli import (
    aligned,
    columns_of,
    Console,
    Exit,
    printable,
    Result,
    wrapped,
)
from transmission_bridge.tools.limit_report import (
    limit_findings,
    MemberLimits,
    Range,
    Region,
    shared_limits,
    transmission_limits,
    TransmissionLimits,
)
from transmission_bridge.tools.robot import bridge_setup, BridgeSetup, read_robot_file
from transmission_bridge.tools.units import units_of
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.interfaces import FIELDS
from transmission_bridge.transmissions.registry import Registry
from transmission_bridge.transmissions.units import ActuatorUnits

__all__ = ['CheckReport', 'Member', 'TransmissionReport', 'check', 'run', 'text_lines']


@dataclass(frozen=True, slots=True)
class Member:
    """A joint or an actuator of a transmission, ``None`` where a value could not be read."""

    name: str
    role: str | None = None
    mechanical_reduction: float | None = None
    offset: float | None = None


@dataclass(frozen=True, slots=True)
class TransmissionReport:
    """
    A transmission in the file, used or refused.

    :param limits: Limits of its joints and, from these, of its actuators; ``None`` if refused.
    :param facts: What its type has found out about the mechanism.
    """

    name: str
    type: str
    dialect: str
    line: int | None
    loaded: bool
    joints: tuple[Member, ...]
    actuators: tuple[Member, ...]
    limits: TransmissionLimits | None
    facts: tuple[str, ...]

    def as_json(self, *, with_limits: bool) -> dict[str, Any]:
        """
        Return the object of ``check --json``.

        :param with_limits: Whether to add ``joint_limits``, ``actuator_limits``, ``ratios``,
            ``own_actuator_limits``, ``allowed_joint_limits`` and ``regions``.
        """
        keys = ('name', 'type', 'dialect', 'line', 'loaded')
        document = {key: getattr(self, key) for key in keys}
        document['joints'] = [asdict(member) for member in self.joints]
        document['actuators'] = [asdict(member) for member in self.actuators]
        if self.facts:
            document['facts'] = list(self.facts)
        if with_limits:
            limits = self.limits or TransmissionLimits((), ())
            for key, values in (
                ('joint_limits', limits.joints),
                ('actuator_limits', limits.actuators),
                ('ratios', limits.ratios),
                ('own_actuator_limits', limits.own),
                ('allowed_joint_limits', limits.allowed),
                ('regions', limits.regions),
            ):
                document[key] = [each.as_json() for each in values]
        return document


@dataclass(frozen=True, slots=True)
class CheckReport:
    """
    A robot as this package reads it.

    :param robot: Its name, empty where the file cannot be parsed.
    :param transmissions: In the order of the file.
    :param pass_through: Joints without a transmission, which are bridged one to one.
    :param unlimited: Joints that can be sent a position and have no velocity limit, with which
        ``max_step`` could compare it.
    :param lost: Joints that are not bridged.
    :param units: Units of the drivers, by actuator; one that is missing is SI.
    :param findings: In the order of the file.
    """

    robot: str
    transmissions: tuple[TransmissionReport, ...] = ()
    pass_through: tuple[str, ...] = ()
    unlimited: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    units: tuple[tuple[str, ActuatorUnits], ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        """All names of transmissions, joints and actuators."""
        return frozenset(
            name
            for each in self.transmissions
            for name in (each.name, *(end.name for end in (*each.joints, *each.actuators)))
        )

    def as_json(self, *, with_limits: bool = False) -> dict[str, Any]:
        """
        Return the document of ``check --json``.

        :param with_limits: Whether transmissions have their limits.
        """
        return {
            'robot': self.robot,
            'transmissions': [
                each.as_json(with_limits=with_limits) for each in self.transmissions
            ],
            'pass_through': list(self.pass_through),
            'without_velocity_limit': list(self.unlimited),
            'units': {
                name: {
                    field: {'unit': unit.text or 'SI', 'scale': unit.scale}
                    for field, unit in zip(FIELDS, each.units, strict=True)
                }
                for name, each in self.units
            },
            'findings': [
                {
                    'severity': each.severity,
                    'line': each.line,
                    'path': each.path,
                    'message': sentence(each.message, expected=each.expected, found=each.found),
                }
                for each in self.findings
            ],
        }


def check(data: bytes, setup: BridgeSetup, *, strict: bool) -> CheckReport:
    """
    Read a description and load its transmissions, whatever is wrong with them.

    :param setup: The parameters of its bridge.
    :param strict: Report warnings as errors where
        :func:`~transmission_bridge.description.load_description` in strict mode refuses the
        description.
    :raises UsageError: If a parameter does not fit the robot.
    """
    try:
        transmissions, notes = setup.robot(data)
    except DescriptionError as error:
        place = {key: getattr(error, key) for key in ('line', 'path', 'expected', 'found')}
        found = Finding('error', error.message, fatal_if_strict=True, **place)
        return CheckReport(robot='', findings=(found,))
    robot, aliases = transmissions.robot, setup.aliases
    limits = {
        binding.spec.name: transmission_limits(transmissions, binding)
        for binding in transmissions.bindings
    }
    findings: Iterable[Finding] = (
        *(Finding('warning', note) for note in notes),
        *_with_closest_types(transmissions, aliases, Registry().type_names),
        *implausible_numbers(transmissions),
        *counted_twice(transmissions),
        *commands_without_end(robot),
        *several_interfaces(robot),
        *shared_limits(transmissions),
        *(
            finding
            for binding in transmissions.bindings
            for finding in limit_findings(transmissions, binding, limits[binding.spec.name])
        ),
        *unused_aliases(robot, aliases),
        *parameter_names(transmissions).findings,
    )
    if strict:
        findings = (
            replace(finding, severity='error') if finding.fatal_if_strict else finding
            for finding in findings
        )
    specs: list[TransmissionSpec | RejectedTransmission]
    specs = sorted([*robot.transmissions, *robot.rejected], key=_place)
    return CheckReport(
        robot=robot.name,
        transmissions=tuple(_report(transmissions, each, limits, setup.numbers) for each in specs),
        pass_through=transmissions.pass_through,
        unlimited=tuple(_unlimited(transmissions)),
        lost=tuple(transmissions.lost_joints),
        units=tuple(transmissions.units.items()),
        findings=tuple(sorted(findings, key=_place)),
    )


def _place(item: Finding | TransmissionSpec | RejectedTransmission) -> int:
    return item.line or 0


def _unlimited(robot: RobotTransmissions) -> Iterator[str]:
    """Yield the joints that can be sent a position and have no velocity limit."""
    for name in command_names(robot).commandable:
        declared = [each for block in robot.robot.blocks if (each := block.component(name))]
        commands = {command.name for each in declared for command in each.command_interfaces}
        if (not declared or FIELDS[0] in commands) and math.isinf(
            effective_limits(robot.robot, name).velocity
        ):
            yield name


def _with_closest_types(
    transmissions: RobotTransmissions, aliases: Mapping[str, str], installed: Sequence[str]
) -> Iterator[Finding]:
    """Yield the findings; those about unknown types with the closest installed type."""
    unknown = {
        each.name: aliases.get(each.type, each.type) for each in transmissions.robot.transmissions
    }
    for finding in transmissions.findings:
        type_name = unknown.get(finding.subject)
        # A transmission that was read without error has only the error that it cannot be built.
        is_error = finding.severity == 'error'
        if is_error and type_name is not None and type_name not in installed:
            closest = _closest(type_name, installed)
            advice = (
                f"the closest installed type is '{closest}'"
                if closest
                else "no installed type is similar, see 'transmission_bridge plugins'"
            )
            message = (
                f"transmission '{finding.subject}' of unknown type '{type_name}' cannot be used: "
            )
            finding = replace(finding, message=message + advice)
        yield finding


def _closest(type_name: str, installed: Sequence[str]) -> str:
    """Return the installed type with the most similar name, empty if none is similar."""
    # Packages may differ for the same class, and all classes have the same ending.
    for ending, cutoff in (('transmission', 0.6), ('', 0.85)):
        wanted, *known = (
            name.rpartition('/')[2].lower().removesuffix(ending)
            for name in (type_name, *installed)
        )
        for found in get_close_matches(wanted, known, 1, cutoff):
            return dict(zip(known, installed, strict=True))[found]
    return ''


def _report(
    robot: RobotTransmissions,
    spec: TransmissionSpec | RejectedTransmission,
    limits: Mapping[str, TransmissionLimits],
    tuned: Mapping[str, float],
) -> TransmissionReport:
    """Return a report, with the numbers in use where they are not those of the description."""

    def members(side: str) -> Iterator[Member]:
        for end in getattr(spec, side):
            if isinstance(end, str):
                yield Member(end)
                continue
            place = f'{PREFIX}{spec.name}.{side}.{end.name}.'
            reduction = tuned.get(f'{place}mechanical_reduction', end.mechanical_reduction)
            yield Member(end.name, end.role, reduction, tuned.get(f'{place}offset', end.offset))

    loaded = spec.name in robot.transmissions and isinstance(spec, TransmissionSpec)
    return TransmissionReport(
        *(spec.name, spec.type, spec.dialect, spec.line, loaded),
        tuple(members('joints')),
        tuple(members('actuators')),
        limits.get(spec.name) if loaded else None,
        robot.transmissions[spec.name].facts() if loaded else (),
    )


# -- text ----------------------------------------------------------------------------------------


_QUOTED = re.compile(r"'([^']*)'")
#: A sentence about one, as in ``joint '' cannot``, that can be changed to one about several.
_ABOUT_ONE = re.compile(r"(transmission|joint|actuator) '' (?=of unknown type|cannot\b)")

#: What is less beside other numbers is zero.
_ROUNDING = 1e-12


def text_lines(report: CheckReport, file: str, width: int | None) -> Iterator[str]:
    """
    Yield the lines.

    Findings have the form ``file:line: severity: message``, which editors and terminals recognise.
    Those that differ in names and lines only are combined.

    :param file: The file's name, as the user gave it.
    :param width: Columns to wrap at, ``None``: no wrapping.
    """
    if report.robot or report.transmissions:
        yield wrapped(f"robot '{printable(report.robot)}' in {printable(file)}", width)
        yield ''
    if report.transmissions:
        yield from _table(report.transmissions, width)
        yield ''
    known = [each.limits for each in report.transmissions if each.limits is not None]
    sections = [
        *((f"'{each.name}'", _wrap(each.facts, width)) for each in report.transmissions),
        (
            'units of the drivers, and what one of each is at the motor, in SI',
            _drivers(report.units),
        ),
        _limits(
            'limits of the joints, and of their actuators from these (indented)',
            [(each.joints, each.actuators) for each in known],
            width,
        ),
        _limits(
            'limits of the actuators, and what they allow their joints (indented)',
            [(each.own, each.allowed) for each in known],
            width,
        ),
        *(
            (
                f"what the actuators of '{each.name}' allow its joints together",
                _wrap([line for region in each.limits.regions for line in _region(region)], width),
            )
            for each in report.transmissions
            if each.limits is not None
        ),
        ('ratios that vary, over the allowed positions', _ratios(known)),
    ]
    for title, lines in sections:
        if lines:
            yield wrapped(printable(title), width)
            yield from (f'  {line}' for line in lines)
            yield ''
    for title, joints in (
        ('passed through (no transmission)', report.pass_through),
        ('without a velocity limit (max_step does not check them)', report.unlimited),
        ('not bridged (transmission refused)', report.lost),
    ):
        if joints:
            text = f'{_count(len(joints), "joint")} {title}: {", ".join(map(printable, joints))}'
            yield wrapped(text, width)
            yield ''
    names = report.names
    for group in _groups(report.findings, names):
        yield wrapped(_finding(group, file, names), width)
    if report.findings:
        yield ''
    yield _summary(report)


def _wrap(lines: Iterable[str], width: int | None) -> list[str]:
    """Return lines, printable and wrapped so that they can be indented."""
    return [wrapped(f'  {printable(line)}', width)[2:] for line in lines]


def _table(transmissions: Sequence[TransmissionReport], width: int | None) -> Iterator[str]:
    rows: list[tuple[str, ...]] = [('', '', 'ROLE', 'REDUCTION', 'OFFSET')]
    for each in transmissions:
        for kind, members in (('joint', each.joints), ('actuator', each.actuators)):
            for end in members:
                role = '?' if end.role is None else end.role or '-'
                numbers = map(_number, (end.mechanical_reduction, end.offset))
                rows.append((kind, end.name, role, *numbers))
    heading, *members_lines = aligned(rows, right=(3, 4))
    lines = iter(members_lines)
    yield '  ' + heading
    for each in transmissions:
        place = '' if each.line is None else f'line {each.line}: '
        name = f'{place}{"" if each.loaded else "REFUSED "}{printable(each.name)}'
        type_name = f'{printable(each.type) or "no type"} ({each.dialect})'
        if width is None or columns_of(name) + columns_of(type_name) + 2 <= width:
            yield f'{name}  {type_name}'
        else:
            yield from (name, f'    {type_name}')
        for _ in (*each.joints, *each.actuators):
            yield '  ' + next(lines)


def _number(value: float | None) -> str:
    """Return the shortest text that reads as the same number; ``?`` where it is unknown."""
    return '?' if value is None else repr(value).removesuffix('.0')


def _drivers(units: Sequence[tuple[str, ActuatorUnits]]) -> list[str]:
    """Return what each number of a driver is at the motor."""
    rows: list[tuple[str, ...]] = [('', 'POSITION', '', 'VELOCITY', '', 'EFFORT', '')]
    for name, each in units:
        cells = ((unit.text or 'SI', f'{unit.scale:.6g}') for unit in each.units)
        rows.append((name, *(cell for pair in cells for cell in pair)))
    return aligned(rows, right=(2, 4, 6)) if units else []


def _limits(
    title: str, limits: Sequence[tuple[Sequence[MemberLimits], ...]], width: int | None
) -> tuple[str, list[str]]:
    """Return title and table of each transmission's two sides, the second indented."""
    members = [
        (indent + each.name, each)
        for sides in limits
        for indent, side in zip(('', '  '), sides, strict=True)
        for each in side
        if each.says_something
    ]
    if not members:
        return title, []
    rows: list[tuple[str, ...]] = [('', 'LOWER', 'UPPER', 'VELOCITY', 'EFFORT')]
    for name, each in members:
        lower, upper = _rounded((each.lower, each.upper))
        spans = ((lower, lower), (upper, upper), each.velocity, each.effort)
        rows.append((name, *map(_range, spans)))
    units = [_units(each.unit) for _, each in members]
    if len(set(units)) == 1:
        return f'{title}, in {", ".join(units[0])}', aligned(rows, right=(1, 2, 3, 4))
    for shown in (units, [each[:1] for each in units]):  # of position only, if it is too wide
        column = ['UNITS', *map(', '.join, shown)]
        cells = [(*row, each) for row, each in zip(rows, column, strict=True)]
        lines = aligned(cells, right=(1, 2, 3, 4))
        if width is None or max(map(columns_of, lines)) + 2 <= width:
            break
    return title, lines


def _units(unit: str) -> tuple[str, ...]:
    position, velocity, effort = units_of(unit)
    return (position, velocity, effort) if ' or ' not in unit else (position, effort)


def _region(region: Region) -> Iterator[str]:
    """Yield the half-spaces of a region, and what is left of the joints' limits."""
    yield f'{region.interface}, each in {region.unit} of the actuator'
    rows = zip(region.actuators, region.matrix, region.lower, region.upper, strict=True)
    for actuator, row, lower, upper in rows:
        terms = ' '.join(
            f'{"-" if factor < 0.0 else "+"} {abs(factor):.6g} {name}'
            for factor, name in zip(_rounded(row.tolist()), region.joints, strict=True)
            if factor
        ).removeprefix('+ ')
        if lower == -upper:
            text = f'|{terms}| <= {upper:.6g}'
        else:
            least = '' if math.isinf(lower) else f'{lower:.6g} <= '
            greatest = '' if math.isinf(upper) else f' <= {upper:.6g}'
            text = f'{least}{terms}{greatest}'
        yield f'  {actuator}: {text}'
    if region.share is not None and region.share < 1.0:
        yield f'  all joints at their own limits at once: scaled to {region.share:.3g}'


def _ratios(limits: Sequence[TransmissionLimits]) -> list[str]:
    rows = [
        (each.actuator, 'per', each.joint, _range((each.least, each.greatest)), each.unit)
        for one in limits
        for each in one.ratios
    ]
    return aligned(rows, right=(3,)) if rows else []


def _rounded(values: Sequence[float]) -> list[float]:
    """Return numbers with zero in place of what rounding has left beside the largest of them."""
    size = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    return [0.0 if abs(value) <= _ROUNDING * size else value for value in values]


def _range(values: Range) -> str:
    """Return one number, or a range, with fewer digits because it is sampled."""
    least, greatest = _rounded(values)
    if math.isnan(least):
        return '?'
    if math.isinf(least):
        return '-'
    if least == greatest:
        return f'{least:.6g}'
    ends = (f'{least:.4g}', f'{greatest:.4g}')
    return ends[0] if ends[0] == ends[1] else ' .. '.join(ends)


# -- findings ------------------------------------------------------------------------------------


def _groups(findings: Iterable[Finding], names: Collection[str]) -> Iterable[list[Finding]]:
    """Group findings that differ in names and lines only."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        key = finding.severity, _anonymous(_sentence(finding), names)
        groups.setdefault(key, []).append(finding)
    return groups.values()


def _anonymous(text: str, names: Collection[str]) -> str:
    return _QUOTED.sub(lambda quoted: "''" if quoted[1] in names else quoted[0], text)


def _finding(group: Sequence[Finding], file: str, names: Collection[str]) -> str:
    first, count = group[0], len(group)
    place = file if first.line is None else f'{file}:{first.line}'
    text, where = _sentence(first), f' [{first.path}]' if first.path else ''
    if count > 1:
        general, is_general = _ABOUT_ONE.subn(
            lambda found: f'{count} {found[1]}s ', _anonymous(text, names), count=1
        )
        # A sentence with more names fits the first finding only.
        text = general if is_general and "''" not in general else f'{count} times: {text}'
        lines = dict.fromkeys(str(each.line) for each in group if each.line is not None)
        where = f' [lines {", ".join(lines)}]' if len(lines) > 1 else ''
    return printable(f'{place}: {first.severity}: {text}{where}')


def _sentence(finding: Finding) -> str:
    # The traceback of a plugin is in the JSON only.
    message = finding.message.partition('\n')[0]
    return sentence(message, expected=finding.expected, found=finding.found)


def _summary(report: CheckReport) -> str:
    severities = Counter(finding.severity for finding in report.findings)
    loaded = sum(transmission.loaded for transmission in report.transmissions)
    refused = len(report.transmissions) - loaded
    parts = [f'{_count(loaded, "transmission")} loaded', *[f'{refused} refused'] * bool(refused)]
    return ', '.join([*parts, *(_count(severities[each], each) for each in ('error', 'warning'))])


def _count(number: int, noun: str) -> str:
    return f'{number} {noun}' + ('' if number == 1 else 's')


def run(options: argparse.Namespace, console: Console) -> Result:
    """Run the command."""
    report = check(read_robot_file(options.file), bridge_setup(options), strict=options.strict)
    return Result(
        text_lines(report, options.file, console.out.width),
        report.as_json(with_limits=options.limits),
        Exit.ERRORS if any(each.severity == 'error' for each in report.findings) else Exit.OK,
    )
