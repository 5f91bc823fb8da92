# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
REP 107 diagnostics as plain data: possible troubles of each part of a bridge.

:mod:`~transmission_bridge.bridge.snapshot` defines the parts. The table ``CHECKS`` contains all
troubles and their sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
import math
from operator import attrgetter as fact
import time
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from transmission_bridge.bridge import snapshot
from transmission_bridge.errors import clipped, shortened, shown
from transmission_bridge.transmissions.interfaces import FIELDS

# Counts are totals since the node was configured. Levels describe the present: an event, such as a
# rejected message, is shown for a few seconds.

OK, WARN, ERROR = 0, 1, 2

#: Largest length of the name of a status and of a key; received names may be of any length.
NAME_LENGTH = 256

#: Seconds between two log lines of the same trouble.
_LOG_PERIOD = 5.0

#: Reasons of rejection in words.
REASONS = {
    'too_large': 'too large for a message of this robot',
    'undecodable': 'the bytes are not a message of this type',
    'ragged': 'not as many values as names',
    'duplicate_name': 'a name is repeated',
    'other_interface': 'interface_name does not match the topic',
    'size': 'the wrong number of values',
    'not_finite': 'a value is NaN or infinite',
    'infinite': 'a value is infinite',
    'no_names': 'no joint names',
    'no_points': 'the trajectory is empty',
    'empty_point': 'a waypoint has no values',
    'times': 'the times of the waypoints do not increase',
    'bad_stamp': 'the stamp is not a time',
    'future_stamp': 'the stamp is ahead of the clock',
    'foreign': 'they name no actuator of this robot, see actuator_names',
    'unknown_joint': 'a name is not a joint of this robot',
    'not_commandable': 'a joint follows another joint or has no usable transmission',
    'mixed': 'joints in different modes, see mixed_commands',
    'mixed_coupled': 'coupled joints in different modes',
    'partial': 'a coupled joint is missing and cannot hold, see partial_commands',
    'limit': 'outside the joint limits, see limits',
    'actuator_limit': 'outside the limits of an actuator, see its <limit>',
    'jumped': 'a position is too far away, see max_step',
    'several_interfaces': 'a joint is commanded by several interfaces, see several_interfaces',
    'stalled': 'sent before this node was stalled',
    'too_old': 'the stamp is older than max_command_age',
    'too_many_points': 'more waypoints than max_waypoints',
    'unmapped': 'the transmission has no solution for it',
    'unknown_turn': 'an actuator is in an unknown turn, see actuators',
    'no_position': 'a rate without the position that its ratio depends on',
    'no_velocity': 'an acceleration without the velocity that it depends on',
    'bug': 'an error in the bridge, see its log',
}

#: Reasons why a mechanism has no solution; also shown if the count is zero.
_UNMAPPED = {
    'domain': 'outside the positions that the mechanism can reach',
    'singular': 'near a dead centre, beyond max_gain',
    'no_convergence': 'no solution was found',
    'branch': 'the solution is on another assembly branch',
    'exception': 'the transmission raised an error, see the log',
}

#: Reasons that concern the form of a message, not its content.
_MALFORMED = (
    *('too_large', 'undecodable', 'ragged', 'duplicate_name', 'size', 'not_finite', 'infinite'),
    *('no_names', 'no_points', 'empty_point', 'times', 'bad_stamp', 'other_interface'),
)


class Trouble(NamedTuple):
    """
    A trouble of a part.

    :param level: ``WARN`` or ``ERROR``.
    :param words: The trouble, the finding and the remedy.
    :param kind: Identifies it in the log while its words change; empty: not logged here.
    """

    level: int
    words: str
    kind: str = ''


@dataclass(frozen=True, slots=True)
class Status:
    """
    One diagnostic_msgs/DiagnosticStatus.

    :param name: Name of the part, without the name of the node.
    :param level: ``OK``, ``WARN`` or ``ERROR``.
    :param values: Pairs of key and value.
    :param troubles: The causes of level and message.
    """

    name: str
    level: int
    message: str
    values: tuple[tuple[str, str], ...]
    troubles: tuple[Trouble, ...] = ()

    def __getitem__(self, key: str) -> str:
        """Return the value of a key."""
        return dict(self.values)[key]

    def with_troubles(self, troubles: Sequence[Trouble]) -> Status:
        """Return a copy with troubles added."""
        return replace(
            self,
            level=max(self.level, *(each.level for each in troubles), OK),
            message=clipped('; '.join([self.message, *(each.words for each in troubles)])),
            troubles=(*self.troubles, *troubles),
        )


class TroubleLog:
    """
    Log lines for statuses: each trouble at its start and at its end.

    A trouble is logged at most once per 5 s. Equal words about several parts become one line.

    :param time: Returns the time [s] of a steady clock.
    """

    def __init__(self, time: Callable[[], float] = time.monotonic) -> None:
        self._time = time
        self._said: dict[tuple[str, str], float] = {}
        # Logged troubles, with the times of their start and of their last presence.
        self._lasting: dict[tuple[str, str], tuple[Trouble, float, float]] = {}

    def find_log_lines(self, statuses: Iterable[Status]) -> list[tuple[int, str]]:
        """Return level and text of the lines to log; ``OK`` is information."""
        now = self._time()
        present = {
            (status.name, trouble.kind): trouble
            for status in statuses
            # Keep the worst trouble of a kind.
            for trouble in sorted(status.troubles, key=lambda each: each.level)
            if trouble.kind
        }
        lines: dict[tuple[int, str], list[str]] = {}
        for key, trouble in present.items():
            lasting, since, _ = self._lasting.get(key, (None, now, now))
            if lasting is None and not self._may_log(key, now):
                continue
            if lasting is None or trouble.level > lasting.level:
                lasting = trouble
                self._said[key] = now
                lines.setdefault((trouble.level, trouble.words), []).append(key[0])
            self._lasting[key] = lasting, since, now
        for key in [key for key in self._lasting if key not in present]:
            if self._may_log(key, now):
                trouble, since, until = self._lasting.pop(key)
                self._said[key] = now
                words = f'over after {until - since:.0f} s: {trouble.words}'
                lines.setdefault((OK, words), []).append(key[0])
        return [
            (level, f'{shortened(names, show=str)}: {words}')
            for (level, words), names in lines.items()
        ]

    def _may_log(self, key: tuple[str, str], now: float) -> bool:
        return now - self._said.get(key, -math.inf) >= _LOG_PERIOD


def make_status(
    name: str,
    troubles: Iterable[tuple[int, str] | Trouble],
    values: Mapping[str, object],
    fine: str = 'OK',
) -> Status:
    """
    Return a status with the level of the worst trouble and texts of limited length.

    :param troubles: Level and words of each trouble, and its kind if it is logged.
    :param fine: The message without troubles.
    """
    found = sorted((Trouble(*each) for each in troubles), key=lambda trouble: -trouble.level)
    return Status(
        clipped(name, NAME_LENGTH),
        max((trouble.level for trouble in found), default=OK),
        clipped('; '.join(trouble.words for trouble in found) or fine),
        tuple((clipped(key, NAME_LENGTH), clipped(str(value))) for key, value in values.items()),
        tuple(found),
    )


# -- The table -----------------------------------------------------------------------------------

#: A format string for facts of a part, or a function of the part.
Text: TypeAlias = str | Callable[[Any], str]


class Check(NamedTuple):
    """
    The definition of a trouble.

    :param name: Identifies it in the log while its words change; empty: not logged here.
    :param level: ``WARN`` or ``ERROR``, or a function of the part.
    :param when: Function of the part; a true result is a trouble.
    :param sentence: The trouble, the finding and the remedy.
    :param each: Function of the part that returns the items to check; by default the part.
    """

    name: Text
    level: int | Callable[[Any], int]
    when: Callable[[Any], object]
    sentence: Text
    each: Callable[[Any], Iterable[Any]] = lambda part: (part,)


class Kind(NamedTuple):
    """
    The status of a kind of parts.

    :param fine: The message without troubles.
    :param values: Function of the part that returns keys and values.
    :param around: Troubles around the part; their sentences follow the message.
    """

    name: Text
    fine: Text
    values: Callable[[Any], Mapping[str, object]]
    around: Sequence[Check] = ()


def judge_part(part: Any) -> Status:
    """Return the status of a part."""
    kind = KINDS[type(part)]
    troubles = find_troubles(part, CHECKS[type(part)])
    name, fine = (_as_text(each, part) for each in (kind.name, kind.fine))
    status = make_status(name, troubles, kind.values(part), fine)
    return status.with_troubles(list(find_troubles(part, kind.around)))


def find_troubles(part: Any, checks: Iterable[Check]) -> Iterator[Trouble]:
    """Yield the troubles of a part."""
    for check in checks:
        for each in check.each(part):
            if check.when(each):
                level = check.level(each) if callable(check.level) else check.level
                yield Trouble(level, _as_text(check.sentence, each), _as_text(check.name, each))


def _as_text(text: Text, part: Any) -> str:
    return text(part) if callable(text) else text.format(part)


def _check_each(name: str, checks: Iterable[Check]) -> list[Check]:
    """Return the checks, applied to each item of a fact of the part."""
    return [check._replace(each=fact(name)) for check in checks]


# -- Sentences that combine several facts ---------------------------------------------------------


def _make_driver_check(name: str, state: snapshot.DriverState, sentence: Text) -> Check:
    def make_sentence(driver: snapshot.DriverFacts) -> str:
        is_stale = driver.is_late and state not in ('useless', 'unheard')
        stale = f'stale: no usable message within {driver.timeout:.3g} s; ' if is_stale else ''
        return stale + _as_text(sentence, driver)

    def level(driver: snapshot.DriverFacts) -> int:
        return ERROR if driver.is_late else WARN

    return Check(name, level, lambda driver: driver.state == state, make_sentence)


def _describe_publishers(driver: snapshot.DriverFacts) -> str:
    count, place = len(driver.peers.publishers), driver.peers.place
    if not count:
        return f'{place} has 0 publishers'
    return f'{place} has {count} publisher{"s" * (count > 1)} ({driver.peers.senders})'


def _advise_start(driver: snapshot.DriverFacts) -> str:
    """
    Return the remedy for a driver that has sent no message.

    The parameter changes the state topic only; the node's namespace changes the command topic too.
    """
    if driver.peers.publishers:
        return (
            ', but no message was received: check whether the driver publishes; with use_sim_time '
            'it waits for /clock'
        )
    place, elsewhere = driver.peers.place, driver.peers.elsewhere
    last = place.rpartition('/')[2]
    found = [each.rpartition('/')[0] for each in elsewhere if each.rpartition('/')[2] == last]
    words = f'; other JointState topics: {shortened(elsewhere)}' if elsewhere else ''
    words += '; start the driver with the ROS_DOMAIN_ID of the bridge'
    if len(found) == 1 and place != f'{found[0]}/{driver.statistics.topic}':
        words += f", or the bridge in the driver's namespace (-r __ns:={shown(found[0] or '/')})"
    return (
        f'{words}, or name its topic, with its namespace, in the parameter actuator_state_topics'
    )


def _describe_contested(part: snapshot.Coverage) -> str:
    return '; '.join(
        f'{shortened(names)} on '
        + ' and '.join(f'{topic.place} ({topic.senders})' for topic in topics)
        for names, topics in part.contested
    )


def _list_reasons(reasons: Iterable[str], words: Mapping[str, str] = REASONS) -> str:
    return ', '.join(f'{each} ({words[each]})' if each in words else each for each in reasons)


def _make_count_check(kind: str, words: str) -> Check:
    def list_joints(part: snapshot.CommandTopic) -> str:
        shares = part.counts.shares if kind == 'scaled' else {}
        joints = (
            f'{joint} (effort {shares[joint]:.0%})' if joint in shares else joint
            for joint in part.lately[kind]
        )
        return f'{words}: {", ".join(joints)}'

    return Check(kind, WARN, lambda part: part.lately[kind], list_joints)


# -- All troubles --------------------------------------------------------------------------------

_INCOMPATIBLE = Check(
    'incompatible',
    WARN,
    fact('peers.incompatible'),
    'incompatible nodes on {0.peers.place}: {0.peers.incompatible}',
)
_REJECTED = Check(
    '', WARN, fact('rejected'), lambda part: f'messages rejected: {_list_reasons(part.rejected)}'
)

# fmt: off
#: Counts of commands by joint: key in diagnostics, and words if the count is a trouble.
_COUNTS = {
    'clamped': ('clamped', 'clamped to the limits'),
    'limited': ('outside limits', ''),
    'contested': ('contested', 'also commanded by another source'),
    'stopped': ('stopped beyond limits', 'beyond a position limit and commanded further out, '
                'velocity or effort set to zero'),
    'outward': ('outward effort passed', 'beyond a position limit, an outward effort passes, '
                'because it may hold a load'),
    'scaled': ('scaled', 'scaled down to the limits of actuators'),
    'jumped': ('jumped', 'positions too far away for the velocity limit, see max_step'),
    'rejected': ('rejected joints', 'rejected while the others were sent, see rejects'),
}
#: The checks of each kind of part, in the order of their sentences in the status.
CHECKS: dict[type, Sequence[Check]] = {}
CHECKS[snapshot.LifeCycle] = (
    Check('', ERROR, fact('failure'), '{0.state}: {0.failure}'),
    Check('start', WARN, fact('absence'), '{0.state}: {0.absence}'),
    Check('', WARN, lambda part: part.finding_counts['error'],
          '{0.state}; the description has errors'),
    # Logged at configure.
    Check('', ERROR, fact('refused'), '{0.state}; {0.refused}'),
    Check('missing', ERROR, fact('missing'), '{0.state}; {0.missing}'),
)
#: Troubles around the node; their sentences follow the message.
AROUND = (
    Check('clock', WARN, fact('clock'), lambda part:
          f'use_sim_time is set and {part.clock} has 0 publishers: start the simulator, or set '
          'use_sim_time to false' + (' (publish is rate, by that clock: nothing is published)'
                                     if part.is_clocked else '')),
    Check('name', WARN, fact('namesake'),
          'another node has the same name {0.namesake}; both publish the same topics and answer '
          'the same services: stop one of them, or give it another namespace'),
)
CHECKS[snapshot.DriverFacts] = (
    _make_driver_check('silent', 'gone', lambda driver:
               f'the driver is gone, {driver.peers.place} has 0 publishers: start it again '
               f'(last message {max(driver.age, 0.0):.0f} s ago)'),
    _make_driver_check('silent', 'hanging',
               'silent for {0.rhythm.silence:.0f} s, after a message every '
               '{0.rhythm.period:.2g} s (from {0.peers.senders}): check the driver'),
    _make_driver_check('refused', 'refused',
               'every message (from {0.peers.senders}) has been rejected for {0.age:.0f} s: '
               '{0.statistics.refusal}'),
    _make_driver_check('silent', 'late',
               lambda driver:
               f'{_describe_publishers(driver)}: check whether the driver publishes'),
    # The rejection is logged.
    _make_driver_check('', 'useless', 'no usable actuator state yet: every message is rejected: '
               '{0.statistics.refusal}'),
    _make_driver_check('silent', 'unheard',
               lambda driver:
               f'no actuator state yet: {_describe_publishers(driver)}{_advise_start(driver)}'),
    Check('shared', WARN, fact('peers.shared'),
          'several publishers of {0.peers.place} ({0.peers.senders}) publish {0.peers.shared} in '
          'turn: stop one of them, or let one driver publish each actuator'),
    Check('other bridges', WARN, fact('bridges'),
          'another bridge ({0.bridges}) also uses the states on {0.peers.place}: if its robot is '
          'another one, name the topic of the driver of each robot in actuator_state_topics'),
)
CHECKS[snapshot.InputTopic] = (
    _INCOMPATIBLE,
    *_check_each('drivers', CHECKS[snapshot.DriverFacts]),
    _REJECTED,
    Check('', WARN, fact('replaced'),
          lambda part: f'stamps replaced by the time of receipt: {_list_reasons(part.replaced)}'),
)
CHECKS[snapshot.OutputTopic] = (
    _INCOMPATIBLE,
    Check('published by others', WARN, fact('rivals'),
          '{0.peers.place} has other publishers: {0.rivals}; subscribers receive both in turn: '
          'remap one of them'),
)
CHECKS[snapshot.Coverage] = (
    Check('never heard', WARN, fact('missing'),
          lambda part: f'no state of {part.missing} yet: check whether a driver is missing'
          + (f' or uses other names (unknown: {part.unknown_names}), see actuator_names'
             if part.unknown_names else '')),
    Check('gone', WARN, fact('lost'),
          'no more states of {0.lost}; the topic has lost a publisher: start that driver again'),
    Check('contested', WARN, fact('contested'), lambda part:
          f'published on two topics, the latest number is used: {_describe_contested(part)}; let '
          'one driver publish each actuator'),
)
CHECKS[snapshot.Actuators] = (
    *_check_each('coverage', CHECKS[snapshot.Coverage]),
    Check(lambda part: '' if part.is_told else 'stale', ERROR, fact('stale'),
          'no fresh state of {0.stale}'),
    Check('turn of {0.actuators}',
          lambda turn: ERROR if turn.reason in ('none', 'wrong', 'fast') else WARN,
          bool, str, fact('turns')),
    Check('beyond {0[0]}', ERROR, bool, '{0[1]}', lambda part: part.beyond.items()),
    Check('{0[0]}', WARN, bool, '{0[1]}', lambda part: part.contradictions.items()),
)
CHECKS[snapshot.TransmissionFacts] = (
    # Logged at configure.
    Check('', ERROR, fact('refusal'), '{0.refusal}'),
    # Logged with the drivers.
    Check('', ERROR, fact('stale'), 'no fresh state of {0.stale}'),
    Check('NaN', WARN, fact('is_nan'), 'positions of actuators were NaN or infinite'),
    # Exceptions are logged with their traceback.
    Check(lambda part: '' if part.lately == ['exception'] else 'map', WARN, fact('lately'),
          lambda part: f'could not be mapped: {_list_reasons(sorted(part.lately), _UNMAPPED)}'),
    Check('encoder', WARN, fact('misplaced'), '{0.misplaced}'),
)
CHECKS[snapshot.CommandTopic] = (
    Check('other bridges', ERROR, fact('bridges'),
          'another bridge ({0.bridges}) also subscribes to {0.peers.place}; each command moves '
          'both robots: give each bridge its own topic by a namespace and relative names, or '
          'remap {0.statistics.topic}'),
    _REJECTED,
    Check('unheard', WARN, fact('unheard'),
          '{0.unheard} has 0 subscribers: start the driver, or remap this topic to the topic of '
          'the driver'),
    *(_make_count_check(kind, words) for kind, (_, words) in _COUNTS.items() if words),
)
CHECKS[snapshot.ActiveCommands] = (
    Check('kept effort', ERROR, fact('kept'), lambda part:
          f'the last effort of {shortened(part.kept)} stays active without a command: command '
          'these joints, or set zero_effort if no load can fall'),
    Check('unsent {0[0]}', WARN, bool, lambda found:
          f'the last array was not sent on {found[0]}: {shortened(found[1])} had no active '
          'command of that mode, was silent, beyond a limit or in an unknown turn',
          lambda part: part.lacking.items()),
)
# fmt: on


# -- Keys and values -----------------------------------------------------------------------------

#: Key of the units of an actuator, before the name that its driver uses.
UNITS_OF = 'units '


def _list_counts(kind: str, counts: Mapping[str, int]) -> dict[str, int]:
    """Return the total, then each count under its own key."""
    return {kind: sum(counts.values())} | {f'{kind} {key}': counts[key] for key in sorted(counts)}


def _list_life_values(part: snapshot.LifeCycle) -> dict[str, object]:
    values: dict[str, object] = {'state': part.state, 'description': part.description}
    robot, found = part.robot, part.finding_counts
    if robot is None:
        return values
    return values | {
        'robot': robot.robot.name,
        'joints': len(robot.joint_names),
        'actuators': len(robot.actuator_names),
        'transmissions': len(robot.transmissions),
        'passed through': ', '.join(robot.pass_through),
        **{f'findings {kind}': found[kind] for kind in ('error', 'warning', 'info')},
    }


def _describe_input(part: snapshot.InputTopic) -> str:
    if part.rate:
        return 'receiving'
    if math.isfinite(part.age):
        return 'no new message'
    if not part.is_open:
        return 'no subscription while the node is inactive'
    return 'not used' if part.timeout is None else 'waiting for the driver'


def _list_input_values(part: snapshot.InputTopic) -> dict[str, object]:
    statistics, timeout = part.statistics, part.timeout
    limit = {}
    if timeout is not None:
        limit['timeout [s]'] = f'{timeout:.3g}' if math.isfinite(timeout) else 'never'
    return {
        'topic': part.peers.place,
        'publishers': part.peers.senders,
        'rate [Hz]': f'{part.rate:.1f}',
        'age [s]': f'{part.age:.3f}' if math.isfinite(part.age) else 'never heard',
        **limit,
        'received': statistics.received,
        'accepted': statistics.accepted,
        'malformed': sum(statistics.rejected[reason] for reason in _MALFORMED),
        **_list_counts('rejected', statistics.rejected),
        **_list_counts('replaced stamps', statistics.replaced_stamps),
        'incompatible': part.peers.incompatible,
    }


def _describe_actuators(part: snapshot.Actuators) -> str:
    refused = [spec.name for spec in snapshot.list_unused_transmissions(part.robot)]
    words = 'all known' if part.known.all() else 'not all known'
    if refused:
        words += f' of the transmissions in use; rejected: {shortened(refused, show=str)}'
    return words


def _list_actuator_values(part: snapshot.Actuators) -> dict[str, object]:
    robot, names, states = part.robot, part.robot.actuator_names, part.states
    return {
        'known': int(part.known.sum()),
        'position unknown': ', '.join(names[place] for place in np.flatnonzero(~part.known)),
        'stale': part.stale,
        **{
            UNITS_OF + part.driver_names.get(name, name): ', '.join(
                unit.text or 'SI' for unit in units.all_units
            )
            for name, units in robot.units.items()
        },
        **{
            f'not finite {names[place]} {FIELDS[row]}': int(states.not_finite[row, place])
            for row, place in np.argwhere(states.not_finite)
        },
        **{f'unknown name {name}': count for name, count in sorted(states.unknown_names.items())},
        **{
            f'turn unknown {shortened(turn.actuators, show=str)}': turn.reason
            for turn in part.turns
        },
    }


def _list_transmission_values(part: snapshot.TransmissionFacts) -> dict[str, object]:
    if part.refusal:
        return {'loaded': False, 'type': part.type}
    values: dict[str, object] = {
        'loaded': True,
        'type': part.type,
        'NaN': sum(part.not_finite),
        **{f'NaN {field}': count for field, count in zip(FIELDS, part.not_finite, strict=True)},
        **{reason: part.unmapped.get(reason, 0) for reason in _UNMAPPED},
    }
    if part.error:
        values['last exception'] = part.error.strip().splitlines()[-1]
        values['traceback'] = part.error.strip()
    return values


def _list_command_values(part: snapshot.CommandTopic) -> dict[str, int]:
    statistics = part.statistics
    values = {'accepted': statistics.accepted, **_list_counts('rejected', statistics.rejected)}
    for kind, (key, _) in _COUNTS.items():
        values |= _list_counts(key, getattr(part.counts, kind))
    return values


def _list_active_values(part: snapshot.ActiveCommands) -> dict[str, object]:
    return {
        'kept efforts': len(part.kept),
        **_list_counts('arrays not sent', part.unsent),
        'joints without a timeout': shortened(part.endless) if part.endless else 'none',
    }


# fmt: off
#: The status of each part, in their order in a message.
KINDS: dict[type, Kind] = {
    snapshot.LifeCycle: Kind('life cycle', '{0.state}', _list_life_values, AROUND),
    snapshot.InputTopic: Kind('{0.statistics.topic}', _describe_input, _list_input_values),
    snapshot.OutputTopic: Kind('{0.topic}', 'OK', lambda part:
                          {'topic': part.peers.place, 'incompatible': part.peers.incompatible}),
    snapshot.Actuators: Kind('actuators', _describe_actuators, _list_actuator_values),
    snapshot.TransmissionFacts: Kind('transmission {0.name}', 'loaded', _list_transmission_values),
    snapshot.CommandTopic: Kind('commands of {0.statistics.topic}', 'OK', _list_command_values),
    snapshot.ActiveCommands: Kind('commands in force', 'OK', _list_active_values),
}
# fmt: on
