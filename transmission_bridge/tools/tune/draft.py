# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Input for numbers that the robot does not have yet."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from transmission_bridge.description.document import INFINITE, parse_number
from transmission_bridge.tools.tune.texts import PageUnits


def read_input(text: str, unit: str, units: PageUnits) -> float:
    """
    Convert input to a number in SI.

    :raises ValueError: If it is not a number; the message is the expectation.
    """
    text = text.strip()
    return units.from_page(float(text) if text in INFINITE else parse_number(text), unit)


class Draft:
    """
    Texts by parameter, as they are in the fields.

    :ivar texts: All of them.
    """

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self._sent: dict[str, str] = {}
        self._dragged: set[str] = set()

    @property
    def edited(self) -> dict[str, str]:
        """Input that was not sent to the robot yet."""
        return {name: text for name, text in self.texts.items() if self._sent.get(name) != text}

    def store_text(self, name: str, text: str, *, is_dragged: bool = False) -> None:
        """Store input of a field or a slider."""
        self.texts[name] = text.strip()
        if is_dragged:
            self._dragged.add(name)

    def take_dragged(self) -> bool:
        """Return once whether the input is from sliders alone, if nothing is sent now."""
        if self._sent:
            return False
        is_dragged = bool(self._dragged) and self.texts.keys() == self._dragged
        self._dragged = set()
        return is_dragged

    def send(self) -> None:
        """Mark the present input as sent."""
        self._sent = dict(self.texts)

    def finish(self) -> None:
        """Forget what was sent, and keep input that is newer."""
        self.texts, self._sent = self.edited, {}

    def convert(self, find_unit: Callable[[str], str], old: PageUnits, new: PageUnits) -> None:
        """Convert the input to other displayed units."""
        for name, text in self.texts.items():
            unit = find_unit(name)
            with suppress(ValueError):
                self.texts[name] = new.format_field(read_input(text, unit, old), unit)
