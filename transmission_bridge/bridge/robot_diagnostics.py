# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What diagnostics say of the transmissions and of the actuators that feed them, as plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from transmission_bridge.bridge.diagnostics import ERROR, judged, Status, WARN, Window
from transmission_bridge.bridge.merged_states import MergedStates
from transmission_bridge.bridge.places import FIELDS
from transmission_bridge.description.specs import Finding
from transmission_bridge.transmissions import MapReport, RobotTransmissions
from transmission_bridge.transmissions.binding import Binding

__all__ = ['actuator_status', 'transmission_statuses']

#: Why a mechanism has no answer; always shown, so that a watcher sees them at zero too.
_REASONS = ('domain', 'singular', 'no_convergence', 'branch', 'exception')


def transmission_statuses(
    robot: RobotTransmissions,
    merged: MergedStates,
    reports: Iterable[MapReport],
    window: Window,
    *,
    stale: npt.NDArray[np.bool_],
) -> list[Status]:
    """
    Return one status per transmission, those that failed to load included.

    :param reports: What became NaN in the maps.
    :param stale: Actuators that timed out, shape ``(n_actuators,)``.
    """
    counts: Counter[tuple[str, str]] = Counter()
    errors: dict[str, str] = {}
    for report in reports:
        counts.update(report.counts)
        errors.update(report.errors)
    loaded = [
        _loaded(robot, binding, merged, counts, errors, window, stale)
        for binding in robot.bindings
    ]
    failed = [spec for spec in robot.robot.transmissions if spec.name not in robot.transmissions]
    return [
        *loaded,
        *(_failed(spec.name, spec.type, robot.findings) for spec in failed),
        *(_failed(each.name, each.type, robot.findings) for each in robot.robot.rejected),
    ]


def _loaded(
    robot: RobotTransmissions,
    binding: Binding,
    merged: MergedStates,
    counts: Counter[tuple[str, str]],
    errors: dict[str, str],
    window: Window,
    stale: npt.NDArray[np.bool_],
) -> Status:
    name = binding.spec.name
    actuators = list(binding.actuators)
    not_finite = merged.not_finite[:, actuators].sum(axis=1)
    reasons = {reason: counts[name, reason] for reason in _REASONS}
    troubles = []
    silent = [robot.actuator_names[place] for place in actuators if stale[place]]
    if silent:
        troubles.append((ERROR, f'no fresh state of {", ".join(silent)}'))
    # NaN as a position makes joints unknown; as a rate it is how drivers say that they have none.
    if window.grown(('NaN', name), int(not_finite[0])):
        troubles.append((WARN, 'positions of actuators were NaN or infinite'))
    grown = [r for r, count in reasons.items() if window.grown(('map', name, r), count)]
    if grown:
        troubles.append((WARN, f'could not be mapped: {", ".join(grown)}'))
    values: dict[str, object] = {
        'loaded': True,
        'type': binding.spec.type,
        'NaN': int(not_finite.sum()),
        **{f'NaN {field}': int(count) for field, count in zip(FIELDS, not_finite, strict=True)},
        **reasons,
    }
    if name in errors:
        values['last exception'] = errors[name].strip().splitlines()[-1]
        values['traceback'] = errors[name].strip()
    return judged(f'transmission {name}', troubles, values, 'loaded')


def _failed(name: str, type_name: str, findings: Iterable[Finding]) -> Status:
    reasons = [
        str(finding)
        for finding in findings
        if finding.severity == 'error' and finding.subject == name
    ]
    return judged(
        f'transmission {name}',
        [(ERROR, '; '.join(reasons) or 'failed to load')],
        {'loaded': False, 'type': type_name},
    )


def actuator_status(
    robot: RobotTransmissions, merged: MergedStates, *, stale: npt.NDArray[np.bool_], now: float
) -> Status:
    """
    Return which actuators are known, and what drivers sent besides.

    :param stale: Actuators that timed out, shape ``(n_actuators,)``.
    :param now: Time of the clock that gave the times of receipt [s].
    """
    names = robot.actuator_names
    known = np.isfinite(merged.values(now)[0])
    unknown = ', '.join(name for name, is_known in zip(names, known, strict=True) if not is_known)
    silent = ', '.join(name for name, is_stale in zip(names, stale, strict=True) if is_stale)
    values: dict[str, object] = {
        'known': int(known.sum()),
        'position unknown': unknown,
        'stale': silent,
        **{
            f'not finite {names[place]} {FIELDS[row]}': int(merged.not_finite[row, place])
            for row, place in np.argwhere(merged.not_finite)
        },
        **{f'unknown name {name}': count for name, count in sorted(merged.unknown_names.items())},
    }
    troubles = [(ERROR, f'no fresh state of {silent}')] if silent else []
    return judged('actuators', troubles, values, 'all known' if not unknown else 'not all known')
