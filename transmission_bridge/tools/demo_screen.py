# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What the demo shows while it runs: a table that stays in place, or snapshots one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import shutil

from transmission_bridge.tools.console import Stream
from transmission_bridge.tools.demo_comparison import Sample
from transmission_bridge.tools.table import aligned

__all__ = ['LiveScreen', 'table_lines']

#: Wide enough for what motors turn, so that columns stay where they are while numbers change.
_WIDTH = 11

_HEADINGS = ('POS [rad]', 'VEL [rad/s]', 'EFF [N m]', 'CMD [rad]')

_INTERFACES = ('position', 'velocity', 'effort')


def table_lines(
    latest: Mapping[str, Sample],
    rate: Callable[[str], float],
    names: Mapping[str, Sequence[str]],
) -> list[str]:
    """
    Return the table: per space a heading, a row per name, and the topics with their rates.

    :param latest: The newest message by topic.
    :param rate: Messages per second of a topic.
    :param names: Actuators and joints by ``actuator`` and ``joint``.
    """
    headings = [f'{heading:>{_WIDTH}}' for heading in _HEADINGS]
    rows = []
    for kind, known in names.items():
        states, commands = latest.get(f'{kind}_states'), latest.get(f'{kind}_commands')
        rows.append((kind.upper(), *headings))
        rows += [(name, *_numbers(name, states, commands)) for name in known]
    lines = iter(aligned(rows))
    texts = []
    for kind, known in names.items():
        texts += [next(lines) for _ in (kind, *known)]
        texts.append(
            ', '.join(f'{topic} {rate(topic):.0f} Hz' for topic in _topics(kind)),
        )
    return texts


def _topics(kind: str) -> tuple[str, str]:
    return f'{kind}_states', f'{kind}_commands'


def _numbers(name: str, states: Sample | None, commands: Sample | None) -> list[str]:
    cells = [_number(states, interface, name) for interface in _INTERFACES]
    return [*cells, _number(commands, 'position', name)]


def _number(sample: Sample | None, interface: str, name: str) -> str:
    value = None if sample is None else sample.values.get(interface, {}).get(name)
    return f'{"-":>{_WIDTH}}' if value is None else f'{value:{_WIDTH}.4f}'


class LiveScreen:
    """
    Writes lines over the lines it wrote before, on a terminal that is high enough.

    :param stream: A terminal.
    """

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._n_lines = 0

    def show(self, lines: Sequence[str]) -> None:
        """Replace what is shown."""
        size = shutil.get_terminal_size()
        # What is scrolled away or wrapped could not be overwritten.
        shown = [line[: size.columns - 1] for line in lines[: size.lines - 1]]
        up = f'\x1b[{self._n_lines}F' if self._n_lines else ''
        # Each line is cleared to its end, and what is below them.
        self._stream.write(up + ''.join(f'{line}\x1b[K\n' for line in shown) + '\x1b[J')
        self._stream.flush()
        self._n_lines = len(shown)
