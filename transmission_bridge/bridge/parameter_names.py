# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The names that the numbers of transmissions have as parameters, and those that none can have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import re
from typing import Any

from transmission_bridge.description.specs import Finding
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.tunable import ParameterPath
from transmission_bridge.transmissions.tuning import IGNORE_ABSOLUTE_ENCODER

__all__ = ['PREFIX', 'ParameterNames', 'by_number', 'parameter_name', 'parameter_names']

PREFIX = 'transmissions.'

#: What a parameter file and the command line can carry as a name.
_NAME = re.compile(r'[\w./-]+')


@dataclass(frozen=True, slots=True)
class ParameterNames:
    """
    The parameters of a robot.

    :param places: Transmission and path of each, by name.
    :param findings: A warning for each name that is none of these.
    """

    places: Mapping[str, tuple[str, ParameterPath]]
    findings: tuple[Finding, ...]


def parameter_name(transmission: str, path: ParameterPath) -> str:
    """Return the name of a number, for example ``transmissions.wrist.joints.roll.offset``."""
    return PREFIX + '.'.join((transmission, *path))


def by_number(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values of parameters as :meth:`RobotTransmissions.with_parameters` takes them."""
    return {name.removeprefix(PREFIX): value for name, value in values.items()}


def parameter_names(robot: RobotTransmissions) -> ParameterNames:
    """
    Return the parameters that a robot has.

    A name with characters that a parameter file cannot carry is none, and one that two numbers
    would have is neither's: a value for it could be meant for either.
    """
    places: dict[str, tuple[str, ParameterPath]] = {}
    reasons: dict[str, str] = {}
    for transmission, tunables in robot.tunables.items():
        paths = [tunable.path for tunable in tunables]
        built = robot.transmissions[transmission]
        if built.n_joints == built.n_actuators:
            paths.append((IGNORE_ABSOLUTE_ENCODER,))
        for path in paths:
            name = parameter_name(transmission, path)
            if name in places:
                reasons[name] = 'names in the description with dots in them make two of this name'
            elif _NAME.fullmatch(name) is None:
                reasons[name] = 'its name cannot stand in a parameter file'
            places[name] = transmission, path
    specs = {spec.name: spec for spec in robot.robot.transmissions}
    findings = []
    for name, reason in sorted(reasons.items()):
        spec = specs[places[name][0]]
        findings.append(
            Finding(
                'warning',
                f"'{name}' cannot be a parameter: {reason}",
                line=spec.line,
                path=spec.path,
                subject=spec.name,
            )
        )
    return ParameterNames(
        {name: place for name, place in places.items() if name not in reasons}, tuple(findings)
    )
