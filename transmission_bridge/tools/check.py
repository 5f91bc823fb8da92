# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge check``: the content of a description, and its findings."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
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
    Finding,
    RejectedTransmission,
    TransmissionSpec,
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
    'own_actuator_limits': 'own',
    'ratios': 'ratios',
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
    for name, place in list_command_names(robot).commandable.items():
        declared = [each for block in robot.description.blocks if (each := block.component(name))]
        commands = {command.name for each in declared for command in each.command_interfaces}
        is_limited = math.isfinite(robot.joint_limits[1, FIELDS.index('velocity'), place])
        if (not declared or FIELDS[0] in commands) and not is_limited:
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
    for key, name in _LIMITS.items():
        found = getattr(limits[spec.name], name) if loaded else ()
        document[key] = [as_json(each) for each in found]
    return document


# -- text ----------------------------------------------------------------------------------------


_QUOTED = re.compile(r"'([^']*)'")


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
        yield from _list_table_lines(transmissions, report.document['units'], width)
        yield ''
    ratios = [
        (ratio['actuator'], 'per', ratio['joint'], format_range(ratio['ratio']), ratio['unit'])
        for each in transmissions
        for ratio in each['ratios']
    ]
    sections = [
        *((f"'{each['name']}'", _fold(each.get('facts', ()), width)) for each in transmissions),
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
        yield wrapped(_format_finding_group(group, file), width)
    if report.findings:
        yield ''
    yield _format_summary(transmissions, report.findings)


def _fold(lines: Iterable[str], width: int | None) -> list[str]:
    """Return lines, printable and wrapped so that they can be indented."""
    return [wrapped(f'  {printable(line)}', width)[2:] for line in lines]


def _list_table_lines(
    transmissions: Sequence[dict[str, Any]], units: Mapping[str, Any], width: int | None
) -> Iterator[str]:
    """Yield a line for each transmission, and the rows of its members below it."""
    tables = [list(_list_rows(each, units)) for each in transmissions]
    rows = [('', '', 'REDUCTION', 'OFFSET', *map(str.upper, _COLUMNS), 'UNIT')]
    heading, *lines = aligned([*rows, *chain(*tables)], right=range(2, 8))
    yield f'  {heading}'
    for each, table in zip(transmissions, tables, strict=True):
        place = '' if each['line'] is None else f'line {each["line"]}: '
        name = f'{place}{"" if each["loaded"] else "REJECTED "}{printable(each["name"])}'
        type_name = f'{printable(each["type"]) or "no type"} ({each["dialect"]})'
        if width is None or columns_of(name) + columns_of(type_name) + 2 <= width:
            yield f'{name}  {type_name}'
        else:
            yield from (name, f'    {type_name}')
        yield from (f'  {line}' for line in lines[: len(table)])
        del lines[: len(table)]


#: Columns of limits.
_COLUMNS = ('lower', 'upper', 'velocity', 'effort')


def _list_rows(each: Mapping[str, Any], units: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each member, and below actuators their own limits and the driver's units."""
    for kind, side in (('joint', 'joints'), ('actuator', 'actuators')):
        for place, end in enumerate(each[side]):
            role = end['role'] or kind
            role = role if role.startswith(kind) else f'{kind} {role}'
            numbers = [_show_exact(end[key]) for key in ('mechanical_reduction', 'offset')]
            limits = each[f'{kind}_limits'][place] if each['loaded'] else None
            yield (role, end['name'], *numbers, *_list_cells(limits))
            if kind == 'joint' or limits is None:
                continue
            own, of_driver = each['own_actuator_limits'][place], units.get(end['name'])
            if any(own[column] is not None for column in _COLUMNS):
                yield ('', '  own limits', '', '', *_list_cells(own))
            if of_driver:
                yield ('', '  in its driver', '', '', *_list_cells(limits, of_driver))


def _list_cells(
    limits: Mapping[str, Any] | None, units: Mapping[str, Any] | None = None
) -> tuple[str, ...]:
    """Return the limits of a member in SI, or in the units of its driver, and their unit."""
    if limits is None:
        return ('',) * (len(_COLUMNS) + 1)
    values = [
        *clear_zeros([limits['lower'], limits['upper']]),
        limits['velocity'],
        limits['effort'],
    ]
    if units is None:
        return (*map(format_range, values), limits['units'][FIELDS[0]])
    fields = (FIELDS[0], *FIELDS)
    scaled = [_scale(x, units[field]['scale']) for x, field in zip(values, fields, strict=True)]
    if units[FIELDS[0]]['unit'] == 'tick':
        scaled[:2] = [float(round(x)) if isinstance(x, float) else x for x in scaled[:2]]
    return (*map(format_range, scaled), ', '.join(units[field]['unit'] for field in FIELDS))


def _scale(value: Any, scale: float) -> Any:
    """Return a number or a range in the unit of a driver."""
    if isinstance(value, list):
        return [_scale(each, scale) for each in value]
    return value / scale if isinstance(value, float) else value


def _show_exact(value: float | None) -> str:
    """Return the shortest text of exactly this number; ``?`` if it is unknown."""
    return '?' if value is None else repr(value).removesuffix('.0')


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


def _format_finding_group(group: Sequence[Finding], file: str) -> str:
    first, count = group[0], len(group)
    place = file if first.line is None else f'{file}:{first.line}'
    text, where = _format_finding(first), f' [{first.path}]' if first.path else ''
    if count > 1:
        text = f'{count} times: {text}'
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
