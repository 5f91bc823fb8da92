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
from typing import Any, TypeAlias

from transmission_bridge.bridge.command_plan import command_names
from transmission_bridge.bridge.homing import counted_twice
from transmission_bridge.bridge.implausible_numbers import implausible_numbers
from transmission_bridge.bridge.options import parameter_names, PREFIX, unused_aliases
from transmission_bridge.bridge.topic_based import commands_without_end, several_interfaces
from transmission_bridge.description import (
    Dialect,
    Finding,
    RejectedTransmission,
    TransmissionSpec,
)
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
    Ratio,
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

__all__ = [
    'CheckReport',
    'Member',
    'TransmissionReport',
    'check',
    'number_text',
    'run',
    'text_lines',
]


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
    dialect: Dialect
    line: int | None
    loaded: bool
    joints: tuple[Member, ...]
    actuators: tuple[Member, ...]
    limits: TransmissionLimits | None = None
    facts: tuple[str, ...] = ()

    def as_json(self, *, with_limits: bool) -> dict[str, Any]:
        """
        Return the object of ``check --json``.

        :param with_limits: Whether to add ``joint_limits``, ``actuator_limits``, ``ratios``,
            ``own_actuator_limits``, ``allowed_joint_limits`` and ``regions``.
        """
        document: dict[str, Any] = {
            'name': self.name,
            'type': self.type,
            'dialect': self.dialect,
            'line': self.line,
            'loaded': self.loaded,
            'joints': [asdict(member) for member in self.joints],
            'actuators': [asdict(member) for member in self.actuators],
        }
        if self.facts:
            document['facts'] = list(self.facts)
        if with_limits:
            limits = self.limits or TransmissionLimits((), ())
            document['joint_limits'] = [each.as_json() for each in limits.joints]
            document['actuator_limits'] = [each.as_json() for each in limits.actuators]
            document['ratios'] = [each.as_json() for each in limits.ratios]
            document['own_actuator_limits'] = [each.as_json() for each in limits.own]
            document['allowed_joint_limits'] = [each.as_json() for each in limits.allowed]
            document['regions'] = [each.as_json() for each in limits.regions]
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
    :param lost: Joints that are not bridged, with the reason.
    :param units: Units of the drivers, by actuator; one that is missing is SI.
    :param findings: In the order of the file.
    """

    robot: str
    transmissions: tuple[TransmissionReport, ...] = ()
    pass_through: tuple[str, ...] = ()
    unlimited: tuple[str, ...] = ()
    lost: tuple[tuple[str, str], ...] = ()
    units: tuple[tuple[str, ActuatorUnits], ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def has_errors(self) -> bool:
        """Whether any finding is an error."""
        return any(finding.severity == 'error' for finding in self.findings)

    def as_json(self, *, with_limits: bool = False) -> dict[str, Any]:
        """
        Return the document of ``check --json``.

        :param with_limits: Whether transmissions have their limits.
        """
        return {
            'robot': self.robot,
            'transmissions': [
                transmission.as_json(with_limits=with_limits)
                for transmission in self.transmissions
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
            'findings': [_finding_as_json(finding) for finding in self.findings],
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
        return CheckReport(robot='', findings=(_as_finding(error),))
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
    return CheckReport(
        robot=robot.name,
        transmissions=_reports(transmissions, limits, setup.numbers),
        pass_through=transmissions.pass_through,
        unlimited=tuple(_unlimited(transmissions)),
        lost=tuple(transmissions.lost_joints.items()),
        units=tuple(transmissions.units.items()),
        findings=tuple(sorted(findings, key=_place)),
    )


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
    unknown = {}
    for spec in transmissions.robot.transmissions:
        type_name = aliases.get(spec.type, spec.type)
        if type_name not in installed:
            unknown[spec.name] = type_name
    for finding in transmissions.findings:
        # A transmission that was read without error has only the error that it cannot be built.
        if finding.severity != 'error' or finding.subject not in unknown:
            yield finding
            continue
        type_name = unknown[finding.subject]
        closest = _closest(type_name, installed)
        yield replace(
            finding,
            message=f"transmission '{finding.subject}' of unknown type '{type_name}' cannot be "
            'used: '
            + (
                f"the closest installed type is '{closest}'"
                if closest
                else "no installed type is similar, see 'transmission_bridge plugins'"
            ),
        )


def _closest(type_name: str, installed: Sequence[str]) -> str:
    """Return the installed type with the most similar name, empty if none is similar."""
    # Packages may differ for the same class, and all classes have the same ending.
    for shortened, cutoff in ((_kind, 0.6), (_class, 0.85)):
        names = {shortened(name): name for name in installed}
        for found in get_close_matches(shortened(type_name), names, 1, cutoff):
            return names[found]
    return ''


def _class(type_name: str) -> str:
    return type_name.rpartition('/')[2].lower()


def _kind(type_name: str) -> str:
    return _class(type_name).removesuffix('transmission')


def _reports(
    transmissions: RobotTransmissions,
    limits: Mapping[str, TransmissionLimits],
    tuned: Mapping[str, float],
) -> tuple[TransmissionReport, ...]:
    """Return the reports, with the numbers in use where they are not those of the description."""
    robot = transmissions.robot

    def members(spec: TransmissionSpec, side: str) -> Iterator[Member]:
        for end in getattr(spec, side):
            place = f'{PREFIX}{spec.name}.{side}.{end.name}.'
            reduction = tuned.get(f'{place}mechanical_reduction', end.mechanical_reduction)
            yield Member(end.name, end.role, reduction, tuned.get(f'{place}offset', end.offset))

    def report(
        spec: TransmissionSpec | RejectedTransmission, *sides: Iterable[Member]
    ) -> TransmissionReport:
        loaded = spec.name in transmissions.transmissions and isinstance(spec, TransmissionSpec)
        joints, actuators = map(tuple, sides)
        return TransmissionReport(
            spec.name,
            spec.type,
            spec.dialect,
            spec.line,
            loaded,
            joints,
            actuators,
            limits.get(spec.name) if loaded else None,
            transmissions.transmissions[spec.name].facts() if loaded else (),
        )

    reports = [
        *(
            report(spec, members(spec, 'joints'), members(spec, 'actuators'))
            for spec in robot.transmissions
        ),
        *(
            report(spec, map(Member, spec.joints), map(Member, spec.actuators))
            for spec in robot.rejected
        ),
    ]
    return tuple(sorted(reports, key=_place))


def _as_finding(error: DescriptionError) -> Finding:
    return Finding(
        'error',
        error.message,
        line=error.line,
        path=error.path,
        expected=error.expected,
        found=error.found,
        fatal_if_strict=True,
    )


def _place(item: Finding | TransmissionReport) -> int:
    return item.line or 0


def _finding_as_json(finding: Finding) -> dict[str, Any]:
    return {
        'severity': finding.severity,
        'line': finding.line,
        'path': finding.path,
        'message': sentence(finding.message, expected=finding.expected, found=finding.found),
    }


_HEADING = ('', '', 'ROLE', 'REDUCTION', 'OFFSET')

_QUOTED = re.compile(r"'([^']*)'")
#: A sentence about one, as in ``joint '' cannot``, that can be changed to one about several.
_ABOUT_ONE = re.compile(r"(transmission|joint|actuator) '' (?=of unknown type|cannot\b)")


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
    for each in report.transmissions:
        if each.facts:
            yield wrapped(f"'{printable(each.name)}'", width)
            yield from (wrapped(f'  {printable(fact)}', width) for fact in each.facts)
            yield ''
    yield from _driver_units(report.units, width)
    known = [each.limits for each in report.transmissions if each.limits is not None]
    title = 'limits of the joints, and of their actuators from these (indented)'
    yield from _limits(title, [(each.joints, each.actuators) for each in known], width)
    title = 'limits of the actuators, and what they allow their joints (indented)'
    yield from _limits(title, [(each.own, each.allowed) for each in known], width)
    for each in report.transmissions:
        if each.limits is not None and each.limits.regions:
            yield wrapped(
                f"what the actuators of '{printable(each.name)}' allow its joints together", width
            )
            for region in each.limits.regions:
                yield from (wrapped(f'  {line}', width) for line in _region(region))
            yield ''
    ratios = [ratio for each in known for ratio in each.ratios]
    if ratios:
        yield 'ratios that vary, over the allowed positions'
        yield from (f'  {line}' for line in _ratios(ratios))
        yield ''
    for title, names in (
        ('passed through (no transmission)', report.pass_through),
        ('without a velocity limit (max_step does not check them)', report.unlimited),
        ('not bridged (transmission refused)', tuple(name for name, _ in report.lost)),
    ):
        if names:
            text = f'{_count(len(names), "joint")} {title}: {", ".join(map(printable, names))}'
            yield wrapped(text, width)
            yield ''
    for group in _groups(report):
        yield wrapped(_finding(group, file, _names(report)), width)
    if report.findings:
        yield ''
    yield _summary(report)


def number_text(value: float | None) -> str:
    """Return the shortest text that reads as the same number; ``?`` where it is unknown."""
    return '?' if value is None else repr(value).removesuffix('.0')


def _table(transmissions: tuple[TransmissionReport, ...], width: int | None) -> Iterator[str]:
    rows: list[tuple[str, ...]] = [_HEADING]
    for transmission in transmissions:
        rows += [_row('joint', member) for member in transmission.joints]
        rows += [_row('actuator', member) for member in transmission.actuators]
    heading, *members = aligned(rows, right=(3, 4))
    lines = iter(members)
    yield '  ' + heading
    for transmission in transmissions:
        place = '' if transmission.line is None else f'line {transmission.line}: '
        state = '' if transmission.loaded else 'REFUSED '
        name = f'{place}{state}{printable(transmission.name)}'
        type_name = f'{printable(transmission.type) or "no type"} ({transmission.dialect})'
        if width is None or columns_of(name) + columns_of(type_name) + 2 <= width:
            yield f'{name}  {type_name}'
        else:
            yield name
            yield f'    {type_name}'
        for _ in (*transmission.joints, *transmission.actuators):
            yield '  ' + next(lines)


def _row(kind: str, member: Member) -> tuple[str, ...]:
    return (
        kind,
        member.name,
        '?' if member.role is None else member.role or '-',
        number_text(member.mechanical_reduction),
        number_text(member.offset),
    )


def _driver_units(units: Sequence[tuple[str, ActuatorUnits]], width: int | None) -> Iterator[str]:
    """Yield what each number of a driver is at the motor."""
    if not units:
        return
    yield wrapped('units of the drivers, and what one of each is at the motor, in SI', width)
    rows: list[tuple[str, ...]] = [('', 'POSITION', '', 'VELOCITY', '', 'EFFORT', '')]
    for name, each in units:
        cells = ((unit.text or 'SI', f'{unit.scale:.6g}') for unit in each.units)
        rows.append((printable(name), *(cell for pair in cells for cell in pair)))
    yield from (f'  {line}' for line in aligned(rows, right=(2, 4, 6)))
    yield ''


# -- limits --------------------------------------------------------------------------------------


_Side: TypeAlias = tuple[MemberLimits, ...]

#: What is less beside other numbers is zero.
_ROUNDING = 1e-12


def _limits(title: str, limits: Sequence[tuple[_Side, _Side]], width: int | None) -> Iterator[str]:
    """Yield the table of each transmission's two sides, the second indented."""
    members = [
        (indent, member)
        for sides in limits
        for indent, side in zip(('', '  '), sides, strict=True)
        for member in side
        if member.says_something
    ]
    if not members:
        return
    rows: list[tuple[str, ...]] = [('', 'LOWER', 'UPPER', 'VELOCITY', 'EFFORT')]
    rows += [_numbers(indent, each) for indent, each in members]
    lines = aligned(rows, right=(1, 2, 3, 4))
    units = [_units(each.unit) for _, each in members]
    if len(set(units)) == 1:
        title += f', in {", ".join(units[0])}'
    else:
        widest = max(map(columns_of, lines)) + max(len(', '.join(each)) for each in units)
        if width is not None and widest + 4 > width:
            units = [each[:1] for each in units]  # of position only
        column = ['UNITS', *(', '.join(each) for each in units)]
        lines = aligned(
            [(*row, each) for row, each in zip(rows, column, strict=True)], right=(1, 2, 3, 4)
        )
    yield wrapped(title, width)
    yield from (f'  {line}' for line in lines)
    yield ''


def _units(unit: str) -> tuple[str, ...]:
    position, velocity, effort = units_of(unit)
    return (position, velocity, effort) if ' or ' not in unit else (position, effort)


def _numbers(indent: str, each: MemberLimits) -> tuple[str, ...]:
    lower, upper = _rounded((each.lower, each.upper))
    return (
        indent + each.name,
        _range((lower, lower)),
        _range((upper, upper)),
        _range(each.velocity),
        _range(each.effort),
    )


def _region(region: Region) -> Iterator[str]:
    """Yield the half-spaces of a region, its corners, and what is left of the joints' limits."""
    joints = [printable(name) for name in region.joints]
    yield f'{region.interface}, each in {region.unit} of the actuator'
    rows = zip(region.actuators, region.matrix, region.lower, region.upper, strict=True)
    for actuator, row, lower, upper in rows:
        terms = ' '.join(
            f'{"-" if factor < 0.0 else "+"} {abs(factor):.6g} {name}'
            for factor, name in zip(_rounded(row.tolist()), joints, strict=True)
            if factor
        ).removeprefix('+ ')
        if lower == -upper:
            text = f'|{terms}| <= {upper:.6g}'
        else:
            least = '' if math.isinf(lower) else f'{lower:.6g} <= '
            greatest = '' if math.isinf(upper) else f' <= {upper:.6g}'
            text = f'{least}{terms}{greatest}'
        yield f'  {printable(actuator)}: {text}'
    if len(region.corners):
        corners = ', '.join(f'({x:.6g}, {y:.6g})' for x, y in region.corners.tolist())
        yield f'  corners ({", ".join(joints)}): {corners}'
    if region.share is not None and region.share < 1.0:
        yield f'  all joints at their own limits at once: scaled to {region.share:.3g}'


def _ratios(ratios: Sequence[Ratio]) -> list[str]:
    rows = [
        (each.actuator, 'per', each.joint, _range((each.least, each.greatest)), each.unit)
        for each in ratios
    ]
    return aligned(rows, right=(3,))


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


def _groups(report: CheckReport) -> list[list[Finding]]:
    """Group findings that differ in names and lines only."""
    names = _names(report)
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in report.findings:
        key = finding.severity, _anonymous(_sentence(finding), names)
        groups.setdefault(key, []).append(finding)
    return list(groups.values())


def _names(report: CheckReport) -> frozenset[str]:
    """Return all names of transmissions, joints and actuators."""
    return frozenset(
        name
        for each in report.transmissions
        for name in (each.name, *(member.name for member in (*each.joints, *each.actuators)))
    )


def _anonymous(text: str, names: Collection[str]) -> str:
    return _QUOTED.sub(lambda quoted: "''" if quoted[1] in names else quoted[0], text)


def _finding(group: Sequence[Finding], file: str, names: Collection[str]) -> str:
    first = group[0]
    place = file if first.line is None else f'{file}:{first.line}'
    text = _sentence(first)
    if len(group) == 1:
        where = f' [{first.path}]' if first.path else ''
    else:
        count = len(group)
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
    return ', '.join(
        [
            f'{_count(loaded, "transmission")} loaded',
            *([f'{refused} refused'] if refused else []),
            _count(severities['error'], 'error'),
            _count(severities['warning'], 'warning'),
        ]
    )


def _count(number: int, noun: str) -> str:
    return f'{number} {noun}' + ('' if number == 1 else 's')


def run(options: argparse.Namespace, console: Console) -> Result:
    """Run the command."""
    report = check(read_robot_file(options.file), bridge_setup(options), strict=options.strict)
    return Result(
        text_lines(report, options.file, console.out.width),
        report.as_json(with_limits=options.limits),
        Exit.ERRORS if report.has_errors else Exit.OK,
    )
