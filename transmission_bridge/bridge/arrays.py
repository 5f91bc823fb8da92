# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Plain arrays to the drivers: a projection of the ledger.

The gate owns the one object. It calls it for every command after the ledger has recorded it, and
for every end before the ledger closes it. The ledger keeps the numbers of the arrays that were
sent.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from transmission_bridge.bridge.actuator_drivers import DriverUnits
from transmission_bridge.bridge.ledger import Ledger
from transmission_bridge.bridge.motion import EFFORT, Motion, POSITION, VELOCITY
from transmission_bridge.bridge.outlets import Outgoing
from transmission_bridge.bridge.plan import Plan
from transmission_bridge.bridge.rules.rule import mask_beyond_limits
from transmission_bridge.bridge.states.states import KnownState
from transmission_bridge.interfaces import FIELDS
from transmission_bridge.types import Array


class DriverArray(NamedTuple):
    """
    A plain array of one mode to one driver.

    :param topic: Its topic with the namespace of the driver.
    :param row: Row of a motion.
    :param order: Indices of the actuators.
    :param numbers: In SI.
    """

    topic: str
    row: int
    order: list[int]
    numbers: Array

    def make_message(self, units: DriverUnits, shift: Array | None) -> Outgoing:
        """
        Return the message, with numbers in the units of the driver.

        :param shift: To subtract from positions for the turns of the drivers; ``None``: zero.
        """
        numbers = self.numbers
        if self.row == POSITION and shift is not None:
            numbers = numbers - shift[self.order]
        return self.topic, units.of_drivers(numbers, self.row, self.order)


class DriverArrays:
    """
    The plain arrays of the drivers; each has a number for every actuator of its order.

    After a command an array is sent if a number of its mode exists for each member, within its
    present limits. Rates that lead a joint further beyond a limit are zero. An array that ends
    rates is always sent: other members keep their number of the last array, or are zero.

    :ivar unsent: Number of arrays that were not sent, by topic.
    :ivar missing: Actuators that prevented the last unsent array, by topic.
    """

    def __init__(self) -> None:
        self.unsent: Counter[str] = Counter()
        self.reset()

    def reset(self) -> None:
        """Forget which arrays were not sent; the counts stay."""
        self.missing: dict[str, tuple[str, ...]] = {}

    def make_arrays(
        self, plan: Plan, motion: Motion, ledger: Ledger, state: KnownState
    ) -> list[DriverArray]:
        """Return the arrays for the modes and drivers of a command, or of an end."""
        is_end, made = motion.pattern.is_end, list[DriverArray]()
        active = ledger.actuators.copy()
        if is_end:
            last = ledger.array_numbers
            # The array may have been clipped to a limit, or rounded by its unit.
            is_same = np.isclose(active[VELOCITY], last[VELOCITY], rtol=1e-9, atol=0.0)
            active[VELOCITY] = np.where(is_same, last[VELOCITY], 0.0)
            active[EFFORT] = last[EFFORT]
        outward, _ = plan.outward.mask_outward(ledger.joints[VELOCITY:], state)
        rates = active[VELOCITY:]
        rates[plan.robot.actuators_of(outward) & ~np.isnan(rates)] = 0.0
        for namespace, order in plan.orders.items():
            for row in np.flatnonzero(~np.isnan(motion.sent[:, order]).all(axis=1)).tolist():
                values, bounds = active[row, order], plan.motor_bounds[:, row, order]
                topic, lacking = f'{namespace}actuator_{FIELDS[row]}_commands', tuple[int, ...]()
                if is_end:
                    sent = motion.sent[row, order]
                    values = np.where(np.isnan(sent), values, sent)
                else:
                    is_lacking = np.isnan(values) | mask_beyond_limits(values, *bounds)
                    lacking = tuple(order[number] for number in np.flatnonzero(is_lacking))
                    self.missing.pop(topic, None)
                if lacking:
                    self.unsent[topic] += 1
                    self.missing[topic] = tuple(plan.robot.actuator_names[k] for k in lacking)
                else:
                    made.append(DriverArray(topic, row, order, np.clip(values, *bounds)))
        return made
