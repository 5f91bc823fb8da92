# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
What is injected: messages with something wrong, each with the one reason to refuse it, if any.

Everything is drawn from a seeded generator. Numbers are never zero and never equal, so that each
tells one set of parameters from another.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
import math
import time

# Loaded from its file, under this name, by whoever loads this one.
from bridge_reference import (
    ACTUATORS,
    COMMANDABLE,
    COUPLED,
    FIELDS,
    JOINTS,
    LIMITS,
    Message,
    Numbers,
    ReferenceCommands,
)

#: Names in the longest messages.
MANY = 10_000


@dataclass(frozen=True)
class Injected:
    """
    One message.

    :param message: Its contents.
    :param reason: Why it has to be refused, or ``None``.
    :param cut: Whether only the first half of its bytes is sent.
    """

    message: Message
    reason: str | None = None
    cut: bool = False


class StateFaults:
    """
    States of one driver in which everything goes wrong that can.

    :param random: Generator.
    """

    KINDS = (
        *('good', 'frozen', 'not_a_number', 'infinite', 'subset', 'shuffled', 'strangers'),
        *('twice', 'short', 'long', 'none', 'others', 'unstamped', 'cut'),
        *('late', 'impossible', 'future'),
    )

    def __init__(self, random) -> None:
        self._random = random
        self._newest = 0
        self._last = self._good().message

    def sequence(self, count: int) -> Iterator[Injected]:
        """Return so many messages: a good one, each kind and the long ones, then at random."""
        yield Injected(self._last)
        for kind in (*self.KINDS, 'many', 'many_twice'):
            yield getattr(self, f'_{kind}')()
        kind = ''
        for number in range(count - len(self.KINDS) - 3):
            # Were the next one late as well, it would depend on how late it is.
            is_after_late = kind == 'late'
            kind = 'many' if number % 200 == 100 else self._random.choice(self.KINDS)
            kind = 'good' if is_after_late else kind
            yield getattr(self, f'_{kind}')()

    def _stamp(self) -> tuple[int, int]:
        """Return the present time, later than the stamp of any earlier message."""
        self._newest = max(time.time_ns(), self._newest + 1)
        return divmod(self._newest, 10**9)

    def _values(self, count: int) -> tuple[float, ...]:
        return tuple(self._random.uniform(0.5, 2.0, count).tolist())

    def _of(self, names) -> Message:
        """Return a message with numbers for names; positions always, the others mostly."""
        arrays = {
            each: self._values(
                len(names) if each == 'position' or self._random.random() < 0.8 else 0
            )
            for each in FIELDS
        }
        return Message(tuple(names), stamp=self._stamp(), **arrays)

    def _good(self) -> Injected:
        values = {each: self._values(len(ACTUATORS)) for each in FIELDS}
        self._last = Message(ACTUATORS, stamp=self._stamp(), **values)
        return Injected(self._last)

    def _frozen(self) -> Injected:
        return Injected(replace(self._last, stamp=self._stamp()))

    def _not_a_number(self) -> Injected:
        return self._with(math.nan)

    def _infinite(self) -> Injected:
        return self._with(math.inf, -math.inf)

    def _with(self, *bad) -> Injected:
        message = self._of(self._some())
        arrays = {
            each: tuple(
                float(self._random.choice(bad)) if self._random.random() < 0.3 else value
                for value in values
            )
            for each, values in message.arrays.items()
        }
        return Injected(replace(message, **arrays))

    def _some(self) -> list[str]:
        count = int(self._random.integers(1, len(ACTUATORS) + 1))
        return [str(name) for name in self._random.permutation(ACTUATORS)[:count]]

    def _subset(self) -> Injected:
        return Injected(self._of(self._some()))

    def _shuffled(self) -> Injected:
        return Injected(self._of([str(name) for name in self._random.permutation(ACTUATORS)]))

    def _strangers(self) -> Injected:
        return Injected(self._of(['ghost', *self._some(), 'phantom']))

    def _twice(self) -> Injected:
        some = self._some()
        return Injected(self._of([*some, some[0]]), 'duplicate_name')

    def _short(self) -> Injected:
        message = self._of(ACTUATORS)
        return Injected(replace(message, position=message.position[1:]), 'ragged')

    def _long(self) -> Injected:
        message = self._of(ACTUATORS)
        return Injected(replace(message, effort=self._values(len(ACTUATORS) + 1)), 'ragged')

    def _none(self) -> Injected:
        return Injected(Message((), stamp=self._stamp()), 'foreign')

    def _others(self) -> Injected:
        return Injected(self._of(['ghost', 'phantom']), 'foreign')

    def _unstamped(self) -> Injected:
        return Injected(replace(self._of(ACTUATORS), stamp=(0, 0)))

    def _within(self, least: int, most: int) -> int:
        """Draw a second; how many draws that takes must not depend on what time it is."""
        return least + int(self._random.random() * (most - least))

    def _late(self) -> Injected:
        seconds = self._within(1, time.time_ns() // 10**9)
        return Injected(replace(self._of(ACTUATORS), stamp=(seconds, 7)))

    def _impossible(self) -> Injected:
        seconds = int(self._random.integers(-(2**31), 2**31))
        nanoseconds = int(self._random.integers(10**9 if seconds >= 0 else 0, 2**32))
        return Injected(replace(self._of(ACTUATORS), stamp=(seconds, nanoseconds)))

    def _future(self) -> Injected:
        seconds = self._within(time.time_ns() // 10**9 + 3600, 2**31)
        return Injected(replace(self._of(ACTUATORS), stamp=(seconds, 7)))

    def _cut(self) -> Injected:
        return Injected(self._of(ACTUATORS), 'undecodable', cut=True)

    def _many(self) -> Injected:
        strangers = [f'stranger_{number}' for number in range(MANY - len(ACTUATORS))]
        names = [*strangers[::2], *ACTUATORS, *strangers[1::2]]
        return Injected(Message(tuple(names), self._values(MANY), stamp=self._stamp()))

    def _many_twice(self) -> Injected:
        names = tuple(ACTUATORS[number % 2] for number in range(MANY))
        return Injected(Message(names, self._values(MANY), stamp=self._stamp()), 'duplicate_name')


class CommandFaults:
    """
    Commands of one controller in which everything goes wrong that can.

    :param random: Generator.
    """

    KINDS = (
        *('whole', 'part', 'part', 'part', 'rates', 'mixed', 'nothing', 'beyond'),
        *('unknown', 'read_only', 'infinite', 'twice', 'short', 'coupled_modes', 'none', 'cut'),
    )

    def __init__(self, random) -> None:
        self._random = random
        self._number = 0
        # Tells only whether a command is refused, which no parameter of a transmission changes.
        self._model = ReferenceCommands(Numbers(), limits='clamp')

    def sequence(self, count: int) -> Iterator[Injected]:
        """Return so many messages: each kind, then at random."""
        for number in range(count):
            kind = self.KINDS[number] if number < len(self.KINDS) else None
            injected = getattr(self, f'_{kind or self._random.choice(self.KINDS)}')()
            if injected.reason is None:
                refused = self._model.command(injected.message, dict.fromkeys(JOINTS, 1.0))
                (reason,) = getattr(refused, 'reasons', (None,))
                injected = replace(injected, reason=reason)
            yield injected

    def _of(self, names, fields=('position',), least=0.3, most=0.7) -> Message:
        self._number += 1
        arrays = {
            each: tuple(self._random.uniform(least, most, len(names)).tolist()) for each in fields
        }
        return Message(tuple(names), stamp=(200, self._number), **arrays)

    def _some(self) -> list[str]:
        count = int(self._random.integers(1, 4))
        return [str(name) for name in self._random.permutation(COMMANDABLE)[:count]]

    def _whole(self) -> Injected:
        return Injected(self._of(COMMANDABLE, FIELDS))

    def _part(self) -> Injected:
        return Injected(self._of(self._some()))

    def _rates(self) -> Injected:
        field = str(self._random.choice(['velocity', 'effort']))
        return Injected(self._of(self._some(), [field]))

    def _mixed(self) -> Injected:
        message = self._of(['lift', 'finger'], ['position', 'velocity'])
        return Injected(
            replace(
                message,
                position=(message.position[0], math.nan),
                velocity=(math.nan, message.velocity[1]),
            )
        )

    def _nothing(self) -> Injected:
        message = self._of(self._some())
        return Injected(replace(message, position=(math.nan,) * len(message.names)))

    def _beyond(self) -> Injected:
        names = [name for name in LIMITS if name not in ('shoulder',)]
        return Injected(self._of([*names, 'roll', 'shoulder'], FIELDS, 60.0, 90.0))

    def _unknown(self) -> Injected:
        return Injected(self._of(['lift', 'ghost']), 'unknown_joint')

    def _read_only(self) -> Injected:
        return Injected(self._of(['dial', 'lift']), 'not_commandable')

    def _infinite(self) -> Injected:
        message = self._of(['lift', 'finger'])
        return Injected(replace(message, position=(1.0, -math.inf)), 'infinite')

    def _twice(self) -> Injected:
        return Injected(self._of(['lift', 'finger', 'lift']), 'duplicate_name')

    def _short(self) -> Injected:
        message = self._of(COMMANDABLE)
        return Injected(replace(message, position=message.position[:2]), 'ragged')

    def _coupled_modes(self) -> Injected:
        first, second = COUPLED[int(self._random.integers(len(COUPLED)))][1]
        message = self._of([first, second, 'lift'], ['position', 'velocity'])
        position, velocity = list(message.position), list(message.velocity)
        position[1] = velocity[0] = math.nan
        return Injected(
            replace(message, position=tuple(position), velocity=tuple(velocity)), 'mixed_coupled'
        )

    def _none(self) -> Injected:
        return Injected(self._of([]))

    def _cut(self) -> Injected:
        return Injected(self._of(COMMANDABLE), 'undecodable', cut=True)
