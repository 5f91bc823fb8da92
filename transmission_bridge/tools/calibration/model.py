# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
One transmission as a function of its tunable numbers.

With the numbers ``theta``, the measured actuator positions ``a`` and the measured joint positions
``q``, the noise ``e`` is in the joints or in the actuators::

    joint:     q = f(a; theta) + e         actuator:     a = f^-1(q; theta) + e

``e`` has a few outliers. :mod:`~transmission_bridge.tools.calibration.fit` adds physical terms.
The side without noise is exact in this model. That is accurate if its noise, mapped to the other
side, is much smaller, as for the encoder of an actuator behind a reduction of 100.
"""

from __future__ import annotations

from collections.abc import Mapping
import copy
from typing import Literal

import numpy as np

from transmission_bridge.errors import TransmissionBridgeError
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.transmissions.builder import build_transmission
from transmission_bridge.transmissions.transmission import Transmission
from transmission_bridge.transmissions.tunable import ParameterPath, Tunable
from transmission_bridge.types import Array, Index

NoisySide = Literal['joint', 'actuator']

#: Plausible error of a described number, as a share of its size.
PLAUSIBLE = 0.1

#: Largest prediction [rad or m]; squares of larger slopes would overflow.
LARGEST = 1e30


def is_joint_offset(tunable: Tunable) -> bool:
    """Whether a number is the offset of a joint, which has no typical size."""
    return tunable.path[0] == 'joints' and tunable.path[-1] == 'offset'


class TransmissionModel:
    """
    Predicted measurements as a function of the tunable numbers.

    :param binding: The transmission.
    :param actuators: Actuator positions, shape ``(rows, n_actuators)``.
    :param joints: Joint positions, shape ``(rows, n_joints)``, NaN if not measured.
    :param noisy: The side with the noise, whose measurements are predicted.
    :param numbers: Values that replace described ones.
    """

    def __init__(
        self,
        binding: Binding,
        actuators: Array,
        joints: Array,
        *,
        noisy: NoisySide = 'joint',
        numbers: Mapping[ParameterPath, float] | None = None,
    ) -> None:
        self._type = type(binding.transmission)
        self._spec = binding.spec
        self._forward = noisy == 'joint'
        self.given, self.measured = (actuators, joints) if self._forward else (joints, actuators)
        members = binding.spec.joints if self._forward else binding.spec.actuators
        self.channels = tuple(member.name for member in members)
        built, _ = build_transmission(self._type, self._spec, numbers)
        self.tunables = tuple(each for each in built.tunables if each.shapes_map)
        self._others = {each.path: each.value for each in built.tunables if not each.shapes_map}
        self.nominal = np.array([tunable.value for tunable in self.tunables])
        self._newest = self.nominal, built.transmission

    def take_rows(self, rows: Index) -> TransmissionModel:
        """Return the model of selected rows."""
        other = copy.copy(self)
        other.given, other.measured = self.given[rows], self.measured[rows]
        return other

    def compute_sizes(self, values: Array) -> Array:
        """
        Return a large change of each number.

        The size of the number, here or in the description; 1 for an offset; for another number
        that is zero, the median size of the numbers with the same unit, or 1.
        """
        described = np.abs(self.nominal)
        sizes: Array = np.maximum(np.abs(values), described)
        units = [tunable.unit for tunable in self.tunables]
        for place, tunable in enumerate(self.tunables):
            if is_joint_offset(tunable):
                sizes[place] = 1.0
            elif described[place] == 0.0:
                alike = [
                    size
                    for size, unit in zip(described, units, strict=True)
                    if size and unit and unit == units[place]
                ]
                sizes[place] = np.median(alike) if alike else 1.0
        return sizes

    def compute_plausible_errors(self, values: Array) -> Array:
        """
        Return the plausible errors of the described numbers, as standard deviations.

        :data:`PLAUSIBLE` of their size, 1 for an offset, and at least the change by a fit.
        """
        sizes = self.compute_sizes(self.nominal)
        for place, tunable in enumerate(self.tunables):
            if not is_joint_offset(tunable):
                sizes[place] *= PLAUSIBLE
        return np.asarray(np.maximum(sizes, np.abs(values - self.nominal)))

    def predict_positions(self, values: Array, given: Array | None = None) -> Array:
        """
        Predict the measurements.

        :param values: One per tunable.
        :param given: Positions of the other side instead of :attr:`given`.
        :returns: Shape of :attr:`measured`, NaN outside the domain, for invalid numbers, and above
            :data:`LARGEST`.
        """
        given = self.given if given is None else given
        try:
            transmission = self._build_at(values)
            mapped = (
                transmission.actuator_to_joint if self._forward else transmission.joint_to_actuator
            )
            with np.errstate(all='ignore'):
                found = mapped('position', given, guess=self.measured)
                return np.where(np.abs(found) <= LARGEST, found, np.nan)
        except (TransmissionBridgeError, ArithmeticError, ValueError):
            return np.full(self.measured.shape, np.nan)

    def _build_at(self, values: Array) -> Transmission:
        # Terms often change without the numbers, and building is slow.
        if not np.array_equal(values, self._newest[0]):
            overrides = self._others | {
                tunable.path: float(value)
                for tunable, value in zip(self.tunables, values, strict=True)
            }
            self._newest = (
                values.copy(),
                build_transmission(self._type, self._spec, overrides)[0].transmission,
            )
        return self._newest[1]
