# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge check``: the content of a description, and its findings."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
import math
import re
from typing import Any

from transmission_bridge.bridge import (
    list_command_names,
    warn_of_endless_commands,
    warn_of_implausible_numbers,
    warn_of_several_interfaces,
)
from transmission_bridge.bridge.options import list_parameter_names, PREFIX
from transmission_bridge.description import (
    effective_limits,
    Finding,
    RejectedTransmission,
    TransmissionSpec,
)
from transmission_bridge.description.document import (
    description_text,
    MECHANICAL_REDUCTION,
    OFFSET,
    parse_xml,
)
from transmission_bridge.errors import counted, DescriptionError, sentence
from transmission_bridge.interfaces import FIELDS
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
    as_json,
    clear_zeros,
    format_range,
    limit_findings,
    shared_limits,
    transmission_limits,
    TransmissionLimits,
)
from transmission_bridge.tools.linkage_mistakes import warn_of_linkage_mistakes
from transmission_bridge.tools.robot import bridge_setup, BridgeSetup, read_robot_file
from transmission_bridge.transmissions import Registry, RobotTransmissions

#: Keys of a transmission that ``--limits`` adds, with fields of :class:`TransmissionLimits`.
_LIMITS = {
    'joint_limits': 'joints',
    'actuator_limits': 'actuators',
    'ratios': 'ratios',
    'own_actuator_limits': 'own',
    'allowed_joint_limits': 'allowed',
    'regions': 'regions',
}


#: The document of a file that cannot be parsed.
_EMPTY: dict[str, Any] = {
    'robot': '',
    'transmissions': [],
    'pass_through': [],
    'without_velocity_limit': [],
    'units': {},
}


@dataclass(frozen=True, slots=True)
class CheckReport:
    """
    Description, findings and limits of a robot.

    :param document: The output of ``--json --limits``, from which the text is made. Positions of
        joints in ``without_velocity_limit`` are not checked by ``max_step``.
    :param findings: In the order of the file.
    :param lost: Joints that are not bridged.
    """

    document: dict[str, Any]
    findings: Sequence[Finding]
    lost: Sequence[str] = ()

    def as_json(self, *, with_limits: bool) -> dict[str, Any]:
        """
        Return the document of ``check --json``.

        :param with_limits: Whether transmissions have their limits.
        """
        transmissions = [
            {key: value for key, value in each.items() if with_limits or key not in _LIMITS}
            for each in self.document['transmissions']
        ]
        return {**self.document, 'transmissions': transmissions}


def check(data: bytes, setup: BridgeSetup, *, strict: bool) -> CheckReport:
    """
    Read a description, load its transmissions, and collect all findings.

    :param setup: The parameters of its bridge.
    :param strict: Report warnings as errors if
        :func:`~transmission_bridge.description.load_description` in strict mode rejects the
        description.
    :raises UsageError: If a parameter does not fit the robot.
    """
    try:
        transmissions, notes = setup.robot(data)
    except DescriptionError as error:
        place = {key: getattr(error, key) for key in ('line', 'path', 'expected', 'found')}
        found = Finding('error', error.message, fatal_if_strict=True, **place)
        return _build_report((found,))
    robot = transmissions.description
    limits = {
        binding.spec.name: transmission_limits(transmissions, binding)
        for binding in transmissions.bindings
    }
    findings: list[Finding] = [
        *(Finding('warning', note) for note in notes),
        *_add_closest_types(transmissions, Registry()),
        *_note_attributes(description_text(data)),
        *warn_of_implausible_numbers(transmissions),
        *warn_of_linkage_mistakes(transmissions),
        *warn_of_endless_commands(robot),
        *warn_of_several_interfaces(robot),
        *shared_limits(transmissions),
    ]
    for binding in transmissions.bindings:
        findings += limit_findings(transmissions, binding, limits[binding.spec.name])
    findings += list_parameter_names(transmissions).findings
    if strict:
        findings = [
            replace(each, severity='error') if each.fatal_if_strict else each for each in findings
        ]
    specs: list[TransmissionSpec | RejectedTransmission]
    specs = sorted([*robot.transmissions, *robot.rejected], key=_get_line)
    return _build_report(
        sorted(findings, key=_get_line),
        robot=robot.name,
        transmissions=[
            _describe_transmission(transmissions, each, limits, setup.numbers) for each in specs
        ],
        pass_through=list(transmissions.pass_through),
        without_velocity_limit=list(_list_unlimited_joints(transmissions)),
        units={
            name: {
                field: {'unit': unit.text or 'SI', 'scale': unit.scale}
                for field, unit in zip(FIELDS, each.all_units, strict=True)
            }
            for name, each in transmissions.units.items()
        },
        lost=tuple(transmissions.lost_joints),
    )


def _build_report(
    findings: Sequence[Finding], lost: Sequence[str] = (), **document: Any
) -> CheckReport:
    rows = [
        {
            **{key: getattr(each, key) for key in ('severity', 'line', 'path')},
            'message': sentence(each.message, expected=each.expected, found=each.found),
        }
        for each in findings
    ]
    return CheckReport({**_EMPTY, **document, 'findings': rows}, findings, lost)


def _get_line(item: Finding | TransmissionSpec | RejectedTransmission) -> int:
    return item.line or 0


def _list_unlimited_joints(robot: RobotTransmissions) -> Iterator[str]:
    """Yield the joints with a position command and without a velocity limit."""
    for name in list_command_names(robot).commandable:
        declared = [each for block in robot.description.blocks if (each := block.component(name))]
        commands = {command.name for each in declared for command in each.command_interfaces}
        if (not declared or FIELDS[0] in commands) and math.isinf(
            effective_limits(robot.description, name).velocity
        ):
            yield name


def _add_closest_types(transmissions: RobotTransmissions, registry: Registry) -> Iterator[Finding]:
    """Yield the findings, with the closest installed type for each unknown type."""
    unknown = {each.name: each.type for each in transmissions.description.transmissions}
    for finding in transmissions.findings:
        type_name = unknown.get(finding.subject)
        # A transmission that was read without error has only the error that it cannot be built.
        is_error = finding.severity == 'error'
        if is_error and type_name is not None and type_name not in registry.type_names:
            what = f"transmission '{finding.subject}' of unknown type '{type_name}'"
            advice = "no installed type is similar, see 'transmission_bridge plugins'"
            if found := registry.find_closest_type(type_name):
                advice = f"the closest installed type is '{found}'"
            finding = replace(finding, message=f'{what} cannot be used: {advice}')
        yield finding


def _note_attributes(text: str) -> Iterator[Finding]:
    """Yield the transmissions of which ros2_control would use 1 and 0 instead of the numbers."""
    for element in parse_xml(text).iterate_below():
        members = element.find_all('joint', 'actuator')
        if element.is_in('ros2_control') and any(
            {MECHANICAL_REDUCTION, OFFSET} & member.attributes.keys() for member in members
        ):
            name = element.get('name') or ''
            message = (
                f"transmission '{name}': ros2_control reads mechanical_reduction and offset as "
                'elements only, and ignores the attributes'
            )
            yield Finding('info', message, element.line, element.path, subject=name)


def _describe_transmission(
    robot: RobotTransmissions,
    spec: TransmissionSpec | RejectedTransmission,
    limits: Mapping[str, TransmissionLimits],
    tuned: Mapping[str, float],
) -> dict[str, Any]:
    """Return a transmission, with tuned numbers in place of described ones."""

    def members(side: str) -> list[dict[str, Any]]:
        keys = ('role', 'mechanical_reduction', 'offset')
        found = []
        for end in getattr(spec, side):
            name = end if isinstance(end, str) else end.name
            place = f'{PREFIX}{spec.name}.{side}.{name}.'
            numbers = {key: tuned.get(place + key, getattr(end, key, None)) for key in keys}
            found.append({'name': name, **numbers})
        return found

    document = {key: getattr(spec, key) for key in ('name', 'type', 'dialect', 'line')}
    loaded = spec.name in robot.transmissions and isinstance(spec, TransmissionSpec)
    document['loaded'] = loaded
    document |= {side: members(side) for side in ('joints', 'actuators')}
    if loaded and (facts := robot.transmissions[spec.name].facts()):
        document['facts'] = list(facts)
    found = limits[spec.name] if loaded else TransmissionLimits((), ())
    for key, name in _LIMITS.items():
        document[key] = [as_json(each) for each in getattr(found, name)]
    return document


# -- text ----------------------------------------------------------------------------------------


_QUOTED = re.compile(r"'([^']*)'")
#: A sentence about one name, as in ``joint '' cannot``, that has a form for several names.
_ABOUT_ONE = re.compile(r"(transmission|joint|actuator) '' (?=of unknown type|cannot\b)")

#: Tables of limits: title, key of the members, and key of the indented members.
_TABLES = (
    (
        'limits of the joints, and of their actuators from these (indented)',
        *('joint_limits', 'actuator_limits'),
    ),
    (
        'limits of the actuators, and of their joints from these (indented)',
        *('own_actuator_limits', 'allowed_joint_limits'),
    ),
)


def text_lines(report: CheckReport, file: str, width: int | None) -> Iterator[str]:
    """
    Yield the lines.

    Findings have the form ``file:line: severity: message``, which editors and terminals recognise.
    Findings that differ only in names and lines are combined.

    :param file: The file's name, as the user gave it.
    :param width: Columns to wrap at, ``None``: no wrapping.
    """
    robot, transmissions = report.document['robot'], report.document['transmissions']
    if robot or transmissions:
        yield wrapped(f"robot '{printable(robot)}' in {printable(file)}", width)
        yield ''
    if transmissions:
        yield from _list_table_lines(transmissions, width)
        yield ''
    ratios = [
        (ratio['actuator'], 'per', ratio['joint'], format_range(ratio['ratio']), ratio['unit'])
        for each in transmissions
        for ratio in each['ratios']
    ]
    sections = [
        *((f"'{each['name']}'", _fold(each.get('facts', ()), width)) for each in transmissions),
        (
            'units of the drivers, and their size at the motor in SI',
            _build_driver_table(report.document['units']),
        ),
        *(
            _limit_table(title, [(each[first], each[second]) for each in transmissions], width)
            for title, first, second in _TABLES
        ),
        *(
            (
                f"limits of the coupled joints of '{each['name']}' from its actuators",
                _fold(_list_half_space_lines(each['regions']), width),
            )
            for each in transmissions
        ),
        ('ratios that vary, over the allowed positions', aligned(ratios, right=(3,))),
    ]
    for title, lines in sections:
        if lines:
            yield wrapped(printable(title), width)
            yield from (f'  {line}' for line in lines)
            yield ''
    for title, joints in (
        ('passed through (no transmission)', report.document['pass_through']),
        (
            'without a velocity limit (max_step does not check them)',
            report.document['without_velocity_limit'],
        ),
        ('not bridged (transmission rejected)', report.lost),
    ):
        if joints:
            count = counted(len(joints), 'joint')
            text = f'{count} {title}: {", ".join(map(printable, joints))}'
            yield wrapped(text, width)
            yield ''
    names = {
        each['name']
        for transmission in transmissions
        for each in (transmission, *transmission['joints'], *transmission['actuators'])
    }
    for group in _group_findings(report.findings, names):
        yield wrapped(_format_finding_group(group, file, names), width)
    if report.findings:
        yield ''
    yield _format_summary(transmissions, report.findings)


def _fold(lines: Iterable[str], width: int | None) -> list[str]:
    """Return lines, printable and wrapped so that they can be indented."""
    return [wrapped(f'  {printable(line)}', width)[2:] for line in lines]


def _list_table_lines(transmissions: Sequence[dict[str, Any]], width: int | None) -> Iterator[str]:
    sizes = [len(each['joints']) + len(each['actuators']) for each in transmissions]
    rows = [('', '', 'ROLE', 'REDUCTION', 'OFFSET')]
    for each in transmissions:
        for kind, side in (('joint', 'joints'), ('actuator', 'actuators')):
            for end in each[side]:
                role = '?' if end['role'] is None else end['role'] or '-'
                numbers = [_show_exact(end[key]) for key in ('mechanical_reduction', 'offset')]
                rows.append((kind, end['name'], role, *numbers))
    heading, *lines = (f'  {line}' for line in aligned(rows, right=(3, 4)))
    yield heading
    for each, size in zip(transmissions, sizes, strict=True):
        place = '' if each['line'] is None else f'line {each["line"]}: '
        name = f'{place}{"" if each["loaded"] else "REJECTED "}{printable(each["name"])}'
        type_name = f'{printable(each["type"]) or "no type"} ({each["dialect"]})'
        if width is None or columns_of(name) + columns_of(type_name) + 2 <= width:
            yield f'{name}  {type_name}'
        else:
            yield from (name, f'    {type_name}')
        yield from lines[:size]
        del lines[:size]


def _show_exact(value: float | None) -> str:
    """Return the shortest text of exactly this number; ``?`` if it is unknown."""
    return '?' if value is None else repr(value).removesuffix('.0')


def _build_driver_table(units: Mapping[str, Any]) -> list[str]:
    """Return a table of the units of drivers with their scales."""
    rows: list[tuple[str, ...]] = [('', 'POSITION', '', 'VELOCITY', '', 'EFFORT', '')]
    for name, fields in units.items():
        cells = ((each['unit'], f'{each["scale"]:.6g}') for each in fields.values())
        rows.append((name, *(cell for pair in cells for cell in pair)))
    return aligned(rows, right=(2, 4, 6)) if units else []


def _limit_table(
    title: str, limits: Sequence[Sequence[Sequence[dict[str, Any]]]], width: int | None
) -> tuple[str, list[str]]:
    """Return title and table of each transmission's two sides, the second indented."""
    columns = ('lower', 'upper', 'velocity', 'effort')
    members = [
        (indent + each['name'], each)
        for sides in limits
        for indent, side in zip(('', '  '), sides, strict=True)
        for each in side
        if any(each[column] is not None for column in columns)
    ]
    rows: list[tuple[str, ...]] = [('', *map(str.upper, columns))]
    for name, each in members:
        ends = clear_zeros([each['lower'], each['upper']])
        rows.append((name, *map(format_range, (*ends, each['velocity'], each['effort']))))
    units = [_select_units(each['units']) for _, each in members]
    if len(set(units)) <= 1:
        title = ', in '.join([title, *map(', '.join, units[:1])])
        return title, aligned(rows, right=(1, 2, 3, 4)) if members else []
    # The units of position only, if the table is too wide.
    for shown in (units, [each[:1] for each in units]):
        column = ['UNITS', *map(', '.join, shown)]
        cells = [(*row, each) for row, each in zip(rows, column, strict=True)]
        lines = aligned(cells, right=(1, 2, 3, 4))
        if width is None or max(map(columns_of, lines)) + 2 <= width:
            break
    return title, lines


def _select_units(units: Mapping[str, str]) -> tuple[str, ...]:
    position, velocity, effort = (units[field] for field in FIELDS)
    return (position, velocity, effort) if ' or ' not in position else (position, effort)


def _list_half_space_lines(regions: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the half-spaces of regions, and the scale of the joints' limits."""
    for region in regions:
        yield f'{region["interface"]}, each in {region["unit"]} of the actuator'
        keys = ('actuators', 'matrix', 'lower', 'upper')
        for actuator, row, lower, upper in zip(*(region[key] for key in keys), strict=True):
            terms = ' '.join(
                f'{"-" if factor < 0.0 else "+"} {abs(factor):.6g} {name}'
                for factor, name in zip(clear_zeros(row), region['joints'], strict=True)
                if factor
            ).removeprefix('+ ')
            if upper is not None and lower == -upper:
                yield f'  {actuator}: |{terms}| <= {upper:.6g}'
                continue
            least = '' if lower is None else f'{lower:.6g} <= '
            greatest = '' if upper is None else f' <= {upper:.6g}'
            yield f'  {actuator}: {least}{terms}{greatest}'
        if (share := region['share']) is not None and share < 1.0:
            yield f'  all joints at their own limits at once: scaled to {share:.3g}'


def _group_findings(
    findings: Iterable[Finding], names: Collection[str]
) -> Iterable[list[Finding]]:
    """Group findings that differ only in names and lines."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        key = finding.severity, _remove_names(_format_finding(finding), names)
        groups.setdefault(key, []).append(finding)
    return groups.values()


def _remove_names(text: str, names: Collection[str]) -> str:
    return _QUOTED.sub(lambda quoted: "''" if quoted[1] in names else quoted[0], text)


def _format_finding_group(group: Sequence[Finding], file: str, names: Collection[str]) -> str:
    first, count = group[0], len(group)
    place = file if first.line is None else f'{file}:{first.line}'
    text, where = _format_finding(first), f' [{first.path}]' if first.path else ''
    if count > 1:
        general, is_general = _ABOUT_ONE.subn(
            lambda found: f'{count} {found[1]}s ', _remove_names(text, names), count=1
        )
        # A sentence with more names fits the first finding only.
        text = general if is_general and "''" not in general else f'{count} times: {text}'
        lines = dict.fromkeys(str(each.line) for each in group if each.line is not None)
        where = f' [lines {", ".join(lines)}]' if len(lines) > 1 else ''
    return printable(f'{place}: {first.severity}: {text}{where}')


def _format_finding(finding: Finding) -> str:
    # Only the JSON has the traceback of a plugin.
    message = finding.message.partition('\n')[0]
    return sentence(message, expected=finding.expected, found=finding.found)


def _format_summary(transmissions: Sequence[dict[str, Any]], findings: Sequence[Finding]) -> str:
    severities = Counter(finding.severity for finding in findings)
    loaded = sum(each['loaded'] for each in transmissions)
    rejected = len(transmissions) - loaded
    parts = [f'{counted(loaded, "transmission")} loaded']
    parts += [f'{rejected} rejected'] * bool(rejected)
    parts += [counted(severities[each], each) for each in ('error', 'warning')]
    return ', '.join(parts)


def run(options: argparse.Namespace, console: Console) -> Result:
    """Run the command."""
    report = check(read_robot_file(options.file), bridge_setup(options), strict=options.strict)
    return Result(
        text_lines(report, options.file, console.out.width),
        report.as_json(with_limits=options.limits),
        Exit.ERRORS if any(each.severity == 'error' for each in report.findings) else Exit.OK,
    )
