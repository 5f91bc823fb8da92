# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What diagnostics say of the transmissions and of the actuators that feed them, as plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from transmission_bridge.bridge.diagnostics import (
    ERROR,
    judged,
    Status,
    Trouble,
    WARN,
    Window,
)
from transmission_bridge.bridge.driver_watch import GRACE
from transmission_bridge.bridge.merged_states import MergedStates
from transmission_bridge.description.specs import Finding
from transmission_bridge.errors import shortened
from transmission_bridge.transmissions import MapReport, RobotTransmissions
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.transmissions.interfaces import FIELDS

__all__ = ['ActuatorWatch', 'actuator_status', 'transmission_statuses']

#: Why a mechanism has no answer; always shown, so that a watcher sees them at zero too.
_REASONS = {
    'domain': 'outside the positions that the mechanism can have',
    'singular': 'at a dead centre, where the ratio has no value',
    'no_convergence': 'no position of the mechanism was found',
    'branch': 'the mechanism is assembled the other way round',
    'exception': 'the transmission raised an error, see the log',
}


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
    reasons: dict[str, dict[str, int]] = {}
    for (name, reason), count in counts.items():
        reasons.setdefault(name, {})[reason] = count
    loaded = [
        _loaded(
            robot,
            binding,
            merged,
            reasons.get(binding.spec.name, {}),
            errors.get(binding.spec.name, ''),
            window,
            stale,
        )
        for binding in robot.bindings
    ]
    refused = (_failed(*each, robot.findings) for each in _refused(robot))
    return [*loaded, *refused]


def _refused(robot: RobotTransmissions) -> list[tuple[str, str]]:
    """Return name and type of the transmissions that are not in use."""
    described = robot.robot
    loaded = robot.transmissions
    failed = [
        (spec.name, spec.type) for spec in described.transmissions if spec.name not in loaded
    ]
    return [*failed, *((each.name, each.type) for each in described.rejected)]


def _loaded(
    robot: RobotTransmissions,
    binding: Binding,
    merged: MergedStates,
    counts: Mapping[str, int],
    error: str,
    window: Window,
    stale: npt.NDArray[np.bool_],
) -> Status:
    name = binding.spec.name
    actuators = list(binding.actuators)
    not_finite = tuple(merged.not_finite[:, actuators].sum(axis=1).tolist())
    reasons = tuple(counts.get(reason, 0) for reason in _REASONS)
    silent = tuple(robot.actuator_names[place] for place in actuators if stale[place])
    # NaN as a position makes joints unknown; as a rate it is how drivers say that they have none.
    is_nan = window.lately(('NaN', name), not_finite[0])
    grown = tuple(r for r, count in counts.items() if window.lately(('map', name, r), count))

    def make() -> Status:
        troubles = []
        if silent:
            # The log has it from the drivers.
            troubles.append(Trouble(ERROR, f'no fresh state of {", ".join(silent)}'))
        if is_nan:
            troubles.append(Trouble(WARN, 'positions of actuators were NaN or infinite', 'NaN'))
        if grown:
            # The log has what was raised.
            kind = '' if grown == ('exception',) else 'map'
            words = ', '.join(f'{reason} ({_REASONS[reason]})' for reason in sorted(grown))
            troubles.append(Trouble(WARN, f'could not be mapped: {words}', kind))
        values: dict[str, object] = {
            'loaded': True,
            'type': binding.spec.type,
            'NaN': sum(not_finite),
            **{f'NaN {field}': count for field, count in zip(FIELDS, not_finite, strict=True)},
            **dict(zip(_REASONS, reasons, strict=True)),
        }
        if error:
            values['last exception'] = error.strip().splitlines()[-1]
            values['traceback'] = error.strip()
        return judged(f'transmission {name}', troubles, values, 'loaded')

    facts = (binding.spec.type, not_finite, reasons, silent, is_nan, grown, error)
    return window.unchanged(('transmission', name), facts, make)


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
    robot: RobotTransmissions,
    merged: MergedStates,
    *,
    stale: npt.NDArray[np.bool_],
    now: float,
    troubles: Sequence[Trouble] = (),
    is_told: bool = False,
) -> Status:
    """
    Return which actuators are known, and what drivers sent besides.

    :param stale: Actuators that timed out, shape ``(n_actuators,)``.
    :param now: Time of the clock that gave the times of receipt [s].
    :param troubles: What an :class:`ActuatorWatch` found.
    :param is_told: Whether the log has it already that a driver is silent.
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
    found = list(troubles)
    if silent:
        found.append(Trouble(ERROR, f'no fresh state of {silent}', '' if is_told else 'stale'))
    fine = 'not all known' if unknown else 'all known'
    refused = [name for name, _ in _refused(robot)]
    if refused:
        fine += f' of the transmissions in use; refused: {shortened(refused, show=str)}'
    return judged('actuators', found, values, fine)


class ActuatorWatch:
    """
    What is wrong with single actuators while their topics are heard; looked at once a second.

    :param robot: Only the actuators of transmissions must be given: a joint that passes through
        may have no motor.
    """

    def __init__(self, robot: RobotTransmissions) -> None:
        self._names = robot.actuator_names
        self._needed = np.zeros(len(self._names), dtype=bool)
        for binding in robot.bindings:
            self._needed[list(binding.actuators)] = True
        self._newest = np.full(len(self._names), -np.inf)
        self._quiet = np.zeros(len(self._names), dtype=int)
        self._counts = self._publishers = np.zeros(len(self._names), dtype=int)

    def look(
        self,
        merged: MergedStates,
        window: Window,
        *,
        open_for: float,
        publishers: Mapping[str, Sequence[str]],
    ) -> list[Trouble]:
        """
        Return the troubles.

        :param open_for: Seconds since the node was activated.
        :param publishers: Who publishes each topic, in words.
        """
        troubles = []
        newest = merged.newest()
        never = np.isneginf(newest)
        missing = self._shown(never & self._needed)
        if missing and not never.all() and open_for > GRACE:
            words = f'never heard of {missing}: look whether a driver is missing'
            if merged.unknown_names:
                found = shortened(tuple(merged.unknown_names), show=str)
                words += f', or names them otherwise: unknown are {found}, see actuator_names'
            troubles.append(Trouble(WARN, words, 'never heard'))
        gone = self._shown(self._gone(merged, newest, publishers))
        if gone:
            words = (
                f'no longer heard of {gone}, whose topic has lost a publisher: '
                'start that driver again'
            )
            troubles.append(Trouble(WARN, words, 'gone'))
        if window.lately('contests', merged.contests):
            words = '; '.join(
                f'{shortened(actuators)} on '
                + ' and '.join(
                    f"'{topic}' ({shortened(publishers.get(topic, ()), show=str)})"
                    for topic in topics
                )
                for topics, actuators in merged.rivals().items()
            )
            troubles.append(
                Trouble(
                    WARN,
                    f'given on two topics, so that the newer number counts: {words}; '
                    'let one driver give each actuator',
                    'contested',
                )
            )
        return troubles

    def _gone(
        self,
        merged: MergedStates,
        newest: npt.NDArray[np.float64],
        publishers: Mapping[str, Sequence[str]],
    ) -> npt.NDArray[np.bool_]:
        """Return which were not renewed in two looks, while others of their topic were."""
        is_new = newest != self._newest
        self._newest = newest
        self._quiet = np.where(is_new, 0, self._quiet + 1)
        givers = merged.givers()
        counts = np.array([len(publishers.get(giver, ())) for giver in givers])
        # A publisher that went may have given what came since the last look.
        most = np.maximum(counts, self._counts)
        self._publishers = np.where(is_new, most, self._publishers)
        self._counts = counts
        heard = {giver for giver, quiet in zip(givers, self._quiet, strict=True) if quiet < 2}
        goes_on = np.array([giver in heard for giver in givers])
        gone: npt.NDArray[np.bool_] = (
            (self._quiet >= 2) & np.isfinite(newest) & goes_on & (counts < self._publishers)
        )
        return gone

    def _shown(self, are: npt.NDArray[np.bool_]) -> str:
        return ', '.join(name for name, is_one in zip(self._names, are, strict=True) if is_one)
