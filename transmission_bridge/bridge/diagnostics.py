# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
REP 107 diagnostics as plain data: everything that may be wrong with a part of a bridge.

Parts are those of :mod:`~transmission_bridge.bridge.snapshot`. ``CHECKS`` is the table of what may
be wrong, with all sentences.
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
# refused message, is shown for a few seconds.

OK, WARN, ERROR = 0, 1, 2

#: Characters of the name of a status, and of a key: names from outside may be of any length.
NAME_LENGTH = 256

#: Seconds between two log lines of the same trouble.
_LOG_PERIOD = 5.0

#: Reasons of refusal in words.
REASONS = {
    'too_large': 'much larger than a message of this robot can be',
    'undecodable': 'the bytes are not a message of this type',
    'ragged': 'not as many values as names',
    'duplicate_name': 'a name is given twice',
    'other_interface': 'interface_name is not that of the topic',
    'size': 'the wrong number of values',
    'not_finite': 'a value is NaN or infinite',
    'infinite': 'a value is infinite',
    'no_names': 'no joint is named',
    'no_points': 'the trajectory is empty',
    'empty_point': 'a waypoint has no values',
    'times': 'the times of the waypoints do not increase',
    'bad_stamp': 'the stamp is not a time',
    'future_stamp': 'the stamp is ahead of the clock',
    'foreign': 'they name no actuator of this robot, see actuator_names',
    'unknown_joint': 'a name is not a joint of this robot',
    'not_commandable': 'a joint follows another one or has no usable transmission',
    'mixed': 'joints in different modes, see mixed_commands',
    'mixed_coupled': 'coupled joints in different modes',
    'partial': 'a coupled joint is missing and cannot hold, see partial_commands',
    'limit': 'outside the joint limits, see limits',
    'actuator_limit': 'outside the limits of an actuator, see its <limit>',
    'jumped': 'a position is too far away, see max_step',
    'several_interfaces': 'a joint is commanded by several interfaces, see several_interfaces',
    'stalled': 'sent before the node itself stood still',
    'too_old': 'the stamp is older than max_command_age',
    'too_many_points': 'more waypoints than max_waypoints',
    'unmapped': 'the transmission has no solution there',
    'unknown_turn': 'in which turn an actuator is is not known, see actuators',
    'no_position': 'a rate without the position that its ratio depends on',
    'no_velocity': 'an acceleration without the velocity that it depends on',
    'bug': 'an error in the bridge, see its log',
}

#: Why a mechanism has no solution; always shown, also at zero.
_UNMAPPED = {
    'domain': 'outside the positions that the mechanism can reach',
    'singular': 'near a dead centre, beyond max_gain',
    'no_convergence': 'no position of the mechanism was found',
    'branch': 'the mechanism is assembled the other way round',
    'exception': 'the transmission raised an error, see the log',
}

#: Those that concern the form of a message, not its content.
_MALFORMED = (
    *('too_large', 'undecodable', 'ragged', 'duplicate_name', 'size', 'not_finite', 'infinite'),
    *('no_names', 'no_points', 'empty_point', 'times', 'bad_stamp', 'other_interface'),
)


class Trouble(NamedTuple):
    """
    Something wrong with a part.

    :param level: ``WARN`` or ``ERROR``.
    :param words: What is wrong, what was found, what to do.
    :param kind: Identifies it in the log while its words change; empty where it is logged
        elsewhere.
    """

    level: int
    words: str
    kind: str = ''


@dataclass(frozen=True, slots=True)
class Status:
    """
    One diagnostic_msgs/DiagnosticStatus.

    :param name: Name of the part, without the node's.
    :param level: ``OK``, ``WARN`` or ``ERROR``.
    :param message: The level in words.
    :param values: Key and value.
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

    def troubled(self, troubles: Sequence[Trouble]) -> Status:
        """Return a copy with troubles added."""
        return replace(
            self,
            level=max(self.level, *(each.level for each in troubles), OK),
            message=clipped('; '.join([self.message, *(each.words for each in troubles)])),
            troubles=(*self.troubles, *troubles),
        )


class TroubleLog:
    """
    Log lines for statuses: each trouble when it begins, and when it is over.

    A trouble that comes and goes is logged once per 5 s at most. The same words about several
    parts are one line.

    :param time: Returns the time [s] of a steady clock.
    """

    def __init__(self, time: Callable[[], float] = time.monotonic) -> None:
        self._time = time
        self._said: dict[tuple[str, str], float] = {}
        # Troubles that were logged, when they began, and when they were last present.
        self._lasting: dict[tuple[str, str], tuple[Trouble, float, float]] = {}

    def look(self, statuses: Iterable[Status]) -> list[tuple[int, str]]:
        """Return level and text of the lines to log; ``OK`` is information."""
        now = self._time()
        present = {
            (status.name, trouble.kind): trouble
            for status in statuses
            # The worst of a kind is kept.
            for trouble in sorted(status.troubles, key=lambda each: each.level)
            if trouble.kind
        }
        lines: dict[tuple[int, str], list[str]] = {}
        for key, trouble in present.items():
            lasting, since, _ = self._lasting.get(key, (None, now, now))
            if lasting is None and not self._is_due(key, now):
                continue
            if lasting is None or trouble.level > lasting.level:
                lasting = trouble
                self._said[key] = now
                lines.setdefault((trouble.level, trouble.words), []).append(key[0])
            self._lasting[key] = lasting, since, now
        for key in [key for key in self._lasting if key not in present]:
            if self._is_due(key, now):
                trouble, since, until = self._lasting.pop(key)
                self._said[key] = now
                words = f'over after {until - since:.0f} s: {trouble.words}'
                lines.setdefault((OK, words), []).append(key[0])
        return [
            (level, f'{shortened(names, show=str)}: {words}')
            for (level, words), names in lines.items()
        ]

    def _is_due(self, key: tuple[str, str], now: float) -> bool:
        return now - self._said.get(key, -math.inf) >= _LOG_PERIOD


def judged(
    name: str,
    troubles: Iterable[tuple[int, str] | Trouble],
    values: Mapping[str, object],
    fine: str = 'OK',
) -> Status:
    """
    Return a status with the level of the worst trouble and texts of limited length.

    :param troubles: Level and words of each, and its kind where it is to be logged.
    :param fine: The message if there is none.
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

#: A text with places for facts of a part, or a function of the part.
Text: TypeAlias = str | Callable[[Any], str]


class Check(NamedTuple):
    """
    Something that may be wrong with a part.

    :param name: Identifies it in the log while its words change; empty where it is logged
        elsewhere.
    :param level: ``WARN`` or ``ERROR``, or a function of the part.
    :param when: Of the part: falsy if nothing is wrong.
    :param sentence: What is wrong, what was found, what to do.
    :param each: Of the part: what is checked one by one instead of it.
    """

    name: Text
    level: int | Callable[[Any], int]
    when: Callable[[Any], object]
    sentence: Text
    each: Callable[[Any], Iterable[Any]] = lambda part: (part,)


class Kind(NamedTuple):
    """
    The status of a kind of parts.

    :param name: Its name.
    :param fine: Its message if nothing is wrong.
    :param values: Its keys and values.
    :param around: What may be wrong around the part; these sentences follow the message.
    """

    name: Text
    fine: Text
    values: Callable[[Any], Mapping[str, object]]
    around: Sequence[Check] = ()


def judge(part: Any) -> Status:
    """Return the status of a part."""
    kind = KINDS[type(part)]
    troubles = find_troubles(part, CHECKS[type(part)])
    status = judged(_text(kind.name, part), troubles, kind.values(part), _text(kind.fine, part))
    return status.troubled(list(find_troubles(part, kind.around)))


def find_troubles(part: Any, checks: Iterable[Check]) -> Iterator[Trouble]:
    """Yield what is wrong with a part."""
    for check in checks:
        for each in check.each(part):
            if check.when(each):
                level = check.level(each) if callable(check.level) else check.level
                yield Trouble(level, _text(check.sentence, each), _text(check.name, each))


def _text(text: Text, part: Any) -> str:
    return text(part) if callable(text) else text.format(part)


def _inside(name: str, checks: Iterable[Check]) -> list[Check]:
    """Return checks for what a fact of a part holds."""
    return [check._replace(each=fact(name)) for check in checks]


# -- Sentences that are made of several facts -----------------------------------------------------


def _of_driver(name: str, state: snapshot.DriverState, sentence: Text) -> Check:
    def complete(driver: snapshot.Driver) -> str:
        is_stale = driver.is_late and state not in ('useless', 'unheard')
        stale = f'stale: no usable message within {driver.timeout:.3g} s; ' if is_stale else ''
        return stale + _text(sentence, driver)

    def level(driver: snapshot.Driver) -> int:
        return ERROR if driver.is_late else WARN

    return Check(name, level, lambda driver: driver.state == state, complete)


def _publishers(driver: snapshot.Driver) -> str:
    count, place = len(driver.peers.publishers), driver.peers.place
    if not count:
        return f'{place} has 0 publishers'
    return f'{place} has {count} publisher{"s" * (count > 1)} ({driver.peers.senders})'


def _start(driver: snapshot.Driver) -> str:
    """
    Return what to do about a driver that was never heard.

    The parameter moves the state topic only, the node's namespace the command topic as well.
    """
    if driver.peers.publishers:
        return ', but no message was received: check whether the driver publishes'
    place, elsewhere = driver.peers.place, driver.peers.elsewhere
    last = place.rpartition('/')[2]
    found = [each.rpartition('/')[0] for each in elsewhere if each.rpartition('/')[2] == last]
    words = f'; other JointState topics: {shortened(elsewhere)}' if elsewhere else ''
    words += '; start the driver'
    if len(found) == 1:
        words += f", or the bridge in the driver's namespace (-r __ns:={shown(found[0] or '/')})"
    return (
        f'{words}, or name its topic, with its namespace, in the parameter actuator_state_topics'
    )


def _contested(part: snapshot.Coverage) -> str:
    return '; '.join(
        f'{shortened(names)} on '
        + ' and '.join(f'{topic.place} ({topic.senders})' for topic in topics)
        for names, topics in part.contested
    )


def _explained(reasons: Iterable[str], words: Mapping[str, str] = REASONS) -> str:
    return ', '.join(f'{each} ({words[each]})' if each in words else each for each in reasons)


def _of_count(kind: str, words: str) -> Check:
    def sentence(part: snapshot.Commands) -> str:
        shares = part.counts.shares if kind == 'scaled' else {}
        joints = (
            f'{joint} (effort {shares[joint]:.0%})' if joint in shares else joint
            for joint in part.lately[kind]
        )
        return f'{words}: {", ".join(joints)}'

    return Check(kind, WARN, lambda part: part.lately[kind], sentence)


# -- What may be wrong ---------------------------------------------------------------------------

_INCOMPATIBLE = Check(
    'quality of service',
    WARN,
    fact('peers.incompatible'),
    'incompatible quality of service on {0.peers.place}: {0.peers.incompatible}',
)
_REJECTED = Check(
    '', WARN, fact('rejected'), lambda part: f'messages rejected: {_explained(part.rejected)}'
)

# fmt: off
#: Counts of commands by joint: their key in diagnostics, and words if they are a trouble.
_COUNTS = {
    'clamped': ('clamped', 'clamped to the limits'),
    'limited': ('outside limits', ''),
    'contested': ('contested', 'commanded by another source too'),
    'stopped': ('stopped beyond limits', 'beyond a position limit and commanded further out, '
                'velocity or effort set to zero'),
    'outward': ('outward effort passed', 'beyond a position limit, an effort that leads further '
                'out passes as it may hold a load'),
    'scaled': ('scaled', 'scaled down to the limits of actuators'),
    'jumped': ('jumped', 'positions too far away for the velocity limit, see max_step'),
    'rejected': ('rejected joints', 'rejected while the others were sent, see rejects'),
}
#: The checks of each part, in the order of their sentences in the status.
CHECKS: dict[type, Sequence[Check]] = {}
CHECKS[snapshot.LifeCycle] = (
    Check('', ERROR, fact('failure'), '{0.state}: {0.failure}'),
    Check('start', WARN, fact('absence'), '{0.state}: {0.absence}'),
    Check('', WARN, lambda part: part.findings['error'], '{0.state}; the description has errors'),
    # Logged at configure.
    Check('', ERROR, fact('refused'), '{0.state}; {0.refused}'),
    Check('missing', ERROR, fact('missing'), '{0.state}; {0.missing}'),
)
#: What may be wrong around the node; these sentences follow the message.
AROUND = (
    Check('clock', WARN, fact('clock'), lambda part:
          f'use_sim_time is set and {part.clock} has 0 publishers: start the simulator, or set '
          'use_sim_time to false' + (' (publish is rate, by that clock: nothing is published)'
                                     if part.is_clocked else '')),
    Check('name', WARN, fact('namesake'),
          'another node has the name {0.namesake} too, so that both publish the same topics and '
          'answer the same services: end one of them, or give it another namespace'),
)
CHECKS[snapshot.Driver] = (
    _of_driver('silent', 'gone', lambda driver:
               f'the driver is gone, {driver.peers.place} has 0 publishers: start it again '
               f'(last message {max(driver.age, 0.0):.0f} s ago)'),
    _of_driver('silent', 'hanging',
               'silent for {0.rhythm.silence:.0f} s, after a message every '
               '{0.rhythm.period:.2g} s (from {0.peers.senders}): check whether the driver hangs'),
    _of_driver('refused', 'refused',
               'every message (from {0.peers.senders}) has been refused for {0.age:.0f} s: '
               '{0.statistics.refusal}'),
    _of_driver('silent', 'late',
               lambda driver: f'{_publishers(driver)}: check whether the driver publishes'),
    # Logged where the messages were refused.
    _of_driver('', 'useless', 'no usable actuator state yet: every message is refused: '
               '{0.statistics.refusal}'),
    _of_driver('silent', 'unheard',
               lambda driver: f'no actuator state yet: {_publishers(driver)}{_start(driver)}'),
    Check('shared', WARN, fact('peers.shared'),
          'several publishers of {0.peers.place} ({0.peers.senders}) give {0.peers.shared} in '
          'turn: end one of them, or let one driver give each actuator'),
)
CHECKS[snapshot.Input] = (
    _INCOMPATIBLE,
    *_inside('drivers', CHECKS[snapshot.Driver]),
    _REJECTED,
    Check('', WARN, fact('replaced'),
          lambda part: f'stamps replaced by the time of receipt: {_explained(part.replaced)}'),
)
CHECKS[snapshot.Output] = (
    _INCOMPATIBLE,
    Check('published by others', WARN, fact('rivals'),
          '{0.peers.place} is published by others too: {0.rivals}; listeners get both in turn: '
          'remap one of them'),
)
CHECKS[snapshot.Coverage] = (
    Check('never heard', WARN, fact('missing'),
          lambda part: f'never heard of {part.missing}: check whether a driver is missing'
          + (f' or uses other names (unknown: {part.unknown_names}), see actuator_names'
             if part.unknown_names else '')),
    Check('gone', WARN, fact('lost'),
          'no longer heard of {0.lost}, whose topic has lost a publisher: start that driver '
          'again'),
    Check('contested', WARN, fact('contested'), lambda part:
          f'given on two topics, the newer number is used: {_contested(part)}; let one driver '
          'give each actuator'),
)
CHECKS[snapshot.Actuators] = (
    *_inside('coverage', CHECKS[snapshot.Coverage]),
    Check(lambda part: '' if part.is_told else 'stale', ERROR, fact('stale'),
          'no fresh state of {0.stale}'),
    Check('turn of {0.actuators}',
          lambda turn: ERROR if turn.reason in ('none', 'wrong', 'fast') else WARN,
          bool, str, fact('turns')),
    Check('beyond {0[0]}', ERROR, bool, '{0[1]}', lambda part: part.beyond.items()),
)
CHECKS[snapshot.Transmission] = (
    # Logged at configure.
    Check('', ERROR, fact('refusal'), '{0.refusal}'),
    # Logged with the drivers.
    Check('', ERROR, fact('stale'), 'no fresh state of {0.stale}'),
    Check('NaN', WARN, fact('is_nan'), 'positions of actuators were NaN or infinite'),
    # Exceptions are logged with their traceback.
    Check(lambda part: '' if part.lately == ['exception'] else 'map', WARN, fact('lately'),
          lambda part: f'could not be mapped: {_explained(sorted(part.lately), _UNMAPPED)}'),
    Check('encoder', WARN, fact('misplaced'), '{0.misplaced}'),
)
CHECKS[snapshot.Commands] = (
    Check('other bridges', ERROR, fact('bridges'),
          '{0.peers.place} is also received by another bridge ({0.bridges}), so that each command '
          'moves both robots: give each bridge a topic of its own, by a namespace and relative '
          'names, or remap {0.statistics.topic}'),
    _REJECTED,
    Check('unheard', WARN, fact('unheard'),
          'nobody listens to {0.unheard}: start the driver, or remap this topic to the one that '
          'it listens to'),
    *(_of_count(kind, words) for kind, (_, words) in _COUNTS.items() if words),
)
CHECKS[snapshot.Active] = (
    Check('kept effort', ERROR, fact('kept'), lambda part:
          f'the last effort of {shortened(part.kept)} stays active, though nobody commands it: '
          'command it, or set zero_effort if no load can fall'),
    Check('unsent {0[0]}', WARN, bool, lambda found:
          f'the last array was not sent on {found[0]}: {shortened(found[1])} had no active '
          'command of that mode, or is silent, beyond a limit, or in an unknown turn',
          lambda part: part.lacking.items()),
)
# fmt: on


# -- Keys and values -----------------------------------------------------------------------------

#: Of the status of actuators: key of the units of one, by the name that its driver uses.
UNITS_OF = 'units '


def _by(kind: str, counts: Mapping[str, int]) -> dict[str, int]:
    """Return the total, then each count under its own key."""
    return {kind: sum(counts.values())} | {f'{kind} {key}': counts[key] for key in sorted(counts)}


def _life_values(part: snapshot.LifeCycle) -> dict[str, object]:
    values: dict[str, object] = {'state': part.state, 'description': part.description}
    robot, found = part.robot, part.findings
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


def _input_fine(part: snapshot.Input) -> str:
    if part.rate:
        return 'receiving'
    if math.isfinite(part.age):
        return 'no new message'
    if not part.is_open:
        return 'not listened to while the node is inactive'
    return 'not used' if part.timeout is None else 'waiting for the driver'


def _input_values(part: snapshot.Input) -> dict[str, object]:
    statistics, timeout = part.statistics, part.timeout
    limit = {}
    if timeout is not None:
        limit['timeout [s]'] = f'{timeout:.3g}' if math.isfinite(timeout) else 'never'
    return {
        'topic': part.peers.place,
        'rate [Hz]': f'{part.rate:.1f}',
        'age [s]': f'{part.age:.3f}' if math.isfinite(part.age) else 'never heard',
        **limit,
        'received': statistics.received,
        'accepted': statistics.accepted,
        'malformed': sum(statistics.rejected[reason] for reason in _MALFORMED),
        **_by('rejected', statistics.rejected),
        **_by('replaced stamps', statistics.replaced_stamps),
        'incompatible': part.peers.incompatible,
    }


def _actuators_fine(part: snapshot.Actuators) -> str:
    refused = [spec.name for spec in snapshot.refused_transmissions(part.robot)]
    words = 'all known' if part.known.all() else 'not all known'
    if refused:
        words += f' of the transmissions in use; refused: {shortened(refused, show=str)}'
    return words


def _actuator_values(part: snapshot.Actuators) -> dict[str, object]:
    robot, names, merged = part.robot, part.robot.actuator_names, part.merged
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
            f'not finite {names[place]} {FIELDS[row]}': int(merged.not_finite[row, place])
            for row, place in np.argwhere(merged.not_finite)
        },
        **{f'unknown name {name}': count for name, count in sorted(merged.unknown_names.items())},
        **{
            f'turn unknown {shortened(turn.actuators, show=str)}': turn.reason
            for turn in part.turns
        },
    }


def _transmission_values(part: snapshot.Transmission) -> dict[str, object]:
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


def _command_values(part: snapshot.Commands) -> dict[str, int]:
    statistics = part.statistics
    values = {'accepted': statistics.accepted, **_by('rejected', statistics.rejected)}
    for kind, (key, _) in _COUNTS.items():
        values |= _by(key, getattr(part.counts, kind))
    return values


def _active_values(part: snapshot.Active) -> dict[str, object]:
    return {
        'kept efforts': len(part.kept),
        **_by('arrays not sent', part.unsent),
        'joints without a timeout': shortened(part.endless) if part.endless else 'none',
    }


# fmt: off
#: The status of each part, in their order in a message.
KINDS: dict[type, Kind] = {
    snapshot.LifeCycle: Kind('life cycle', '{0.state}', _life_values, AROUND),
    snapshot.Input: Kind('{0.statistics.topic}', _input_fine, _input_values),
    snapshot.Output: Kind('{0.topic}', 'OK', lambda part:
                          {'topic': part.peers.place, 'incompatible': part.peers.incompatible}),
    snapshot.Actuators: Kind('actuators', _actuators_fine, _actuator_values),
    snapshot.Transmission: Kind('transmission {0.name}', 'loaded', _transmission_values),
    snapshot.Commands: Kind('commands of {0.statistics.topic}', 'OK', _command_values),
    snapshot.Active: Kind('commands in force', 'OK', _active_values),
}
# fmt: on
