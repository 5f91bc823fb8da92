# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What ``check`` found out about a robot, as values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from transmission_bridge.bridge.implausible_numbers import implausible_numbers
from transmission_bridge.bridge.parameter_names import parameter_names
from transmission_bridge.bridge.unused_aliases import unused_aliases
from transmission_bridge.description import (
    Dialect,
    Finding,
    load_description,
    MemberSpec,
    RejectedTransmission,
    RobotDescription,
    TransmissionSpec,
)
from transmission_bridge.errors import DescriptionError, sentence
from transmission_bridge.tools.limit_report import transmission_limits, TransmissionLimits
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.registry import Registry

__all__ = ['CheckReport', 'Member', 'TransmissionReport', 'check']


@dataclass(frozen=True, slots=True)
class Member:
    """A joint or an actuator of a transmission; ``None`` is what could not be read."""

    name: str
    role: str | None = None
    mechanical_reduction: float | None = None
    offset: float | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the object of ``check --json``."""
        return {
            'name': self.name,
            'role': self.role,
            'mechanical_reduction': self.mechanical_reduction,
            'offset': self.offset,
        }


@dataclass(frozen=True, slots=True)
class TransmissionReport:
    """
    A transmission in the file, whether it can be used or not.

    :param limits: Of its joints and what they allow its actuators; none where it is not loaded.
    """

    name: str
    type: str
    dialect: Dialect
    line: int | None
    loaded: bool
    joints: tuple[Member, ...]
    actuators: tuple[Member, ...]
    limits: TransmissionLimits | None = None

    def as_json(self, *, with_limits: bool) -> dict[str, Any]:
        """
        Return the object of ``check --json``.

        :param with_limits: Whether it has ``joint_limits``, ``actuator_limits`` and ``ratios``,
            which not every reader expects.
        """
        document: dict[str, Any] = {
            'name': self.name,
            'type': self.type,
            'dialect': self.dialect,
            'line': self.line,
            'loaded': self.loaded,
            'joints': [member.as_json() for member in self.joints],
            'actuators': [member.as_json() for member in self.actuators],
        }
        if with_limits:
            limits = self.limits or TransmissionLimits((), ())
            document['joint_limits'] = [each.as_json() for each in limits.joints]
            document['actuator_limits'] = [each.as_json() for each in limits.actuators]
            document['ratios'] = [each.as_json() for each in limits.ratios]
        return document


@dataclass(frozen=True, slots=True)
class CheckReport:
    """
    A robot as this package understands it.

    :param robot: Its name, empty where the file cannot be parsed.
    :param transmissions: In the order of the file.
    :param pass_through: Joints without a transmission, which are bridged one to one.
    :param lost: Joints that are not bridged, with the reason.
    :param findings: In the order of the file.
    """

    robot: str
    transmissions: tuple[TransmissionReport, ...] = ()
    pass_through: tuple[str, ...] = ()
    lost: tuple[tuple[str, str], ...] = ()
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
            'findings': [_finding_as_json(finding) for finding in self.findings],
        }


def check(data: bytes, *, strict: bool, aliases: Mapping[str, str]) -> CheckReport:
    """
    Read a description and load its transmissions, whatever is wrong with them.

    :param strict: Make errors of the warnings for which
        :func:`~transmission_bridge.description.load_description` refuses a description in strict
        mode. It stops at the first; here all are wanted.
    """
    try:
        robot = load_description(data)
    except DescriptionError as error:
        return CheckReport(robot='', findings=(_as_finding(error),))
    registry = Registry()
    transmissions = RobotTransmissions(robot, aliases=aliases, registry=registry)
    findings: Iterable[Finding] = (
        *_with_closest_types(transmissions, aliases, registry.type_names),
        *implausible_numbers(transmissions),
        *unused_aliases(robot, aliases),
        *parameter_names(transmissions).findings,
    )
    if strict:
        findings = (
            replace(finding, severity='error') if finding.fatal_if_strict else finding
            for finding in findings
        )
    limits = {
        binding.spec.name: transmission_limits(transmissions, binding)
        for binding in transmissions.bindings
    }
    return CheckReport(
        robot=robot.name,
        transmissions=_reports(robot, transmissions, limits),
        pass_through=transmissions.pass_through,
        lost=tuple(transmissions.lost_joints.items()),
        findings=tuple(sorted(findings, key=_place)),
    )


def _with_closest_types(
    transmissions: RobotTransmissions, aliases: Mapping[str, str], installed: Sequence[str]
) -> Iterator[Finding]:
    """Yield the findings; those about types that are not installed name the most similar one."""
    unknown = {}
    for spec in transmissions.robot.transmissions:
        type_name = aliases.get(spec.type, spec.type)
        if type_name not in installed:
            unknown[spec.name] = type_name
    for finding in transmissions.findings:
        # A transmission that was read without an error has none but that it cannot be built.
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
                else "no installed type is like it, see 'transmission_bridge plugins'"
            ),
        )


def _closest(type_name: str, installed: Sequence[str]) -> str:
    """Return the installed type with the most similar name, empty if none is similar."""
    # Packages differ where classes are the same, and all classes end alike.
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
    robot: RobotDescription,
    transmissions: RobotTransmissions,
    limits: Mapping[str, TransmissionLimits],
) -> tuple[TransmissionReport, ...]:
    loaded = transmissions.transmissions
    reports = [
        *(
            _accepted(spec, spec.name in loaded, limits.get(spec.name))
            for spec in robot.transmissions
        ),
        *(_rejected(spec) for spec in robot.rejected),
    ]
    return tuple(sorted(reports, key=_place))


def _accepted(
    spec: TransmissionSpec, loaded: bool, limits: TransmissionLimits | None
) -> TransmissionReport:
    return TransmissionReport(
        name=spec.name,
        type=spec.type,
        dialect=spec.dialect,
        line=spec.line,
        loaded=loaded,
        joints=tuple(map(_member, spec.joints)),
        actuators=tuple(map(_member, spec.actuators)),
        limits=limits,
    )


def _rejected(spec: RejectedTransmission) -> TransmissionReport:
    return TransmissionReport(
        name=spec.name,
        type=spec.type,
        dialect=spec.dialect,
        line=spec.line,
        loaded=False,
        joints=tuple(map(Member, spec.joints)),
        actuators=tuple(map(Member, spec.actuators)),
    )


def _member(spec: MemberSpec) -> Member:
    return Member(spec.name, spec.role, spec.mechanical_reduction, spec.offset)


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
