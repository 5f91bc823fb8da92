# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Plain arrays to the drivers: a projection of the ledger."""

from __future__ import annotations

from collections import Counter

import numpy as np

from transmission_bridge.bridge.ledger import Ledger
from transmission_bridge.bridge.motion import EFFORT, Motion, POSITION, VELOCITY
from transmission_bridge.bridge.outlets import Outgoing
from transmission_bridge.bridge.plan import Plan
from transmission_bridge.bridge.states.states import KnownState
from transmission_bridge.interfaces import FIELDS
from transmission_bridge.types import Array


class Arrays:
    """
    The plain arrays of the drivers; each has a number for every actuator of its order.

    After a command an array is sent if each member has an active command of its mode within its
    present limits, executes no trajectory and has a driver that is not silent, and, for positions,
    a known turn. Rates that lead a joint further beyond a limit are zero. An array that ends rates
    is always sent: other members keep their rate within their limits, or are zero.

    :ivar unsent: Number of arrays that were not sent, by topic.
    :ivar missing: Actuators that prevented the last unsent array, by topic.
    """

    def __init__(self) -> None:
        self.unsent: Counter[str] = Counter()
        self.reset()

    def reset(self) -> None:
        """Forget every array; the counts stay."""
        self.missing: dict[str, tuple[str, ...]] = {}
        self._last_velocities: dict[str, Array] = {}

    def make_arrays(
        self, plan: Plan, motion: Motion, ledger: Ledger, known: KnownState
    ) -> list[Outgoing]:
        """Return the arrays for the modes and drivers of a command, or of an end."""
        made = []
        moving = ledger.mask_moving_actuators(known.now)
        going_on = ledger.actuators.copy()
        if motion.pattern.is_end:
            going_on[VELOCITY] = np.where(moving, 0.0, np.nan_to_num(going_on[VELOCITY]))
            going_on[EFFORT] = ledger.last_effort
        outward, _ = plan.outward.mask_outward(ledger.joints[VELOCITY:], known)
        rates = going_on[VELOCITY:]
        rates[plan.robot.actuators_of(outward) & ~np.isnan(rates)] = 0.0
        for namespace, order in plan.orders.items():
            for row in np.flatnonzero(~np.isnan(motion.sent[:, order]).all(axis=1)).tolist():
                topic = f'actuator_{FIELDS[row]}_commands'
                values, bounds = going_on[row, order], plan.motor_bounds[:, row, order]
                if motion.pattern.is_end:
                    sent = motion.sent[row, order]
                    values = np.clip(np.where(np.isnan(sent), values, sent), *bounds)
                else:
                    lacking = np.isnan(values) | (values < bounds[0]) | (values > bounds[1])
                    lacking |= moving[order]
                    if known.silent is not None:
                        lacking |= known.silent[order]
                    if row == POSITION and known.open_turns is not None:
                        lacking |= known.open_turns[order]
                    if lacking.any():
                        names = plan.robot.actuator_names
                        places = np.flatnonzero(lacking)
                        self.unsent[namespace + topic] += 1
                        self.missing[namespace + topic] = tuple(names[order[p]] for p in places)
                        continue
                    self.missing.pop(namespace + topic, None)
                if row == POSITION and known.shift is not None:
                    values = values - known.shift[order]
                values = plan.units.of_drivers(values, row, order)
                made.append(Outgoing(topic, namespace, values))
        return made

    def record_sent(self, plan: Plan, ledger: Ledger, arrays: list[Outgoing]) -> None:
        """Record arrays after they were sent."""
        for topic, namespace, values in arrays:
            assert isinstance(values, np.ndarray)
            is_velocity = topic == f'actuator_{FIELDS[VELOCITY]}_commands'
            self._last_velocities[namespace] = np.multiply(values, is_velocity)
            ledger.on_trajectory[plan.orders[namespace]] = False

    def list_replaced(self, plan: Plan, ledger: Ledger) -> list[int]:
        """
        Return actuators with a velocity in the last array that other modes replaced.

        A driver that receives only arrays would keep them. A trajectory that started since then
        reached the driver, which holds its end.
        """
        found = []
        for namespace, values in self._last_velocities.items():
            order = plan.orders[namespace]
            kept = (values != 0.0) & np.isnan(ledger.actuators[VELOCITY, order])
            kept &= ~ledger.on_trajectory[order]
            found += np.array(order)[kept].tolist()
        return found
