# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What ``check`` found out about a robot, as values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

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
from transmission_bridge.tools.limit_report import actuator_limits, ActuatorLimits
from transmission_bridge.transmissions import RobotTransmissions

__all__ = ['CheckReport', 'Member', 'TransmissionReport', 'check', 'lost_names']


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

    :param limits: What the limits of its joints allow its actuators; none where it is not loaded.
    """

    name: str
    type: str
    dialect: Dialect
    line: int | None
    loaded: bool
    joints: tuple[Member, ...]
    actuators: tuple[Member, ...]
    limits: tuple[ActuatorLimits, ...] = ()

    def as_json(self, *, with_limits: bool) -> dict[str, Any]:
        """
        Return the object of ``check --json``.

        :param with_limits: Whether it has ``actuator_limits``, which not every reader expects.
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
            document['actuator_limits'] = [limits.as_json() for limits in self.limits]
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

        :param with_limits: Whether transmissions have ``actuator_limits``.
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
    transmissions = RobotTransmissions(robot, aliases=aliases)
    findings: Iterable[Finding] = (
        *transmissions.findings,
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
        transmissions=_reports(robot, transmissions),
        pass_through=transmissions.pass_through,
        lost=tuple(lost_names(robot, transmissions)['joint'].items()),
        findings=tuple(sorted(findings, key=_place)),
    )


def lost_names(
    robot: RobotDescription, transmissions: RobotTransmissions
) -> dict[str, dict[str, str]]:
    """
    Return the joints and the actuators that refused transmissions cost, with the reason.

    :returns: By ``joint`` and ``actuator``, the reason by name.
    """
    lost: dict[str, dict[str, str]] = {'joint': {}, 'actuator': {}}
    for report in _reports(robot, transmissions):
        if report.loaded:
            continue
        reason = f"its transmission '{report.name}' is refused"
        for member in report.joints:
            if member.name not in transmissions.joint_names:
                lost['joint'].setdefault(member.name, reason)
        for member in report.actuators:
            if member.name not in transmissions.actuator_names:
                lost['actuator'].setdefault(member.name, reason)
    for name, transmission in transmissions.withheld.items():
        lost['joint'].setdefault(name, f"transmission '{transmission}' may be meant for it")
    return lost


def _reports(
    robot: RobotDescription, transmissions: RobotTransmissions
) -> tuple[TransmissionReport, ...]:
    bindings = {binding.spec.name: binding for binding in transmissions.bindings}
    limits = {name: actuator_limits(transmissions, each) for name, each in bindings.items()}
    reports = [
        *(_accepted(spec, limits.get(spec.name)) for spec in robot.transmissions),
        *(_rejected(spec) for spec in robot.rejected),
    ]
    return tuple(sorted(reports, key=_place))


def _accepted(
    spec: TransmissionSpec, limits: tuple[ActuatorLimits, ...] | None
) -> TransmissionReport:
    return TransmissionReport(
        name=spec.name,
        type=spec.type,
        dialect=spec.dialect,
        line=spec.line,
        loaded=limits is not None,
        joints=tuple(map(_member, spec.joints)),
        actuators=tuple(map(_member, spec.actuators)),
        limits=limits or (),
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
