# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
What a calibration fits: one transmission as a function of its tunable numbers.

With ``theta`` the numbers, ``a`` the actuator positions and ``q`` the joint positions that were
measured, the noise is taken to be in the joints or in the actuators::

    joint:     q = f(a; theta) + e         actuator:     a = f^-1(q; theta) + e

``e`` is noise with a few outliers, beside the physical terms of
:mod:`~transmission_bridge.tools.calibration.fit`. The side without the noise is taken to be exact,
which is a good model where its noise, seen from the other side, is much smaller: behind a
reduction of 100 an actuator's encoder is.
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

__all__ = ['PLAUSIBLE', 'NoisySide', 'TransmissionModel', 'is_joint_offset']

NoisySide = Literal['joint', 'actuator']

#: What a described number is plausibly wrong by, as a share of its size.
PLAUSIBLE = 0.1

#: A prediction beyond this [rad or m] is none: squares of its slopes would overflow.
LARGEST = 1e30


def is_joint_offset(tunable: Tunable) -> bool:
    """Whether a number is where a joint is zero: it may be anything."""
    return tunable.path[0] == 'joints' and tunable.path[-1] == 'offset'


class TransmissionModel:
    """
    Predicted measurements as a function of the tunable numbers.

    :param binding: The transmission.
    :param actuators: Actuator positions, shape ``(rows, n_actuators)``.
    :param joints: Joint positions, shape ``(rows, n_joints)``, NaN where not measured.
    :param noisy: The side whose measurements have the noise; they are what is predicted.
    :param numbers: Values that replace those of the description.
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

    def at_rows(self, rows: Index) -> TransmissionModel:
        """Return the model of some of the rows."""
        other = copy.copy(self)
        other.given, other.measured = self.given[rows], self.measured[rows]
        return other

    def sizes(self, values: Array) -> Array:
        """
        Return what counts as a large change of each number.

        Its own size, here or in the description; 1 for an offset; for another number that is zero
        the typical size of those with the same unit, as far as there are any.
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

    def plausible(self, values: Array) -> Array:
        """
        Return what the described numbers are plausibly wrong by, as standard deviations.

        :data:`PLAUSIBLE` of their size, 1 for an offset, and no less than what a fit found.
        """
        sizes = self.sizes(self.nominal)
        for place, tunable in enumerate(self.tunables):
            if not is_joint_offset(tunable):
                sizes[place] *= PLAUSIBLE
        return np.asarray(np.maximum(sizes, np.abs(values - self.nominal)))

    def predicted(self, values: Array, given: Array | None = None) -> Array:
        """
        Return what would be measured.

        :param values: One per tunable.
        :param given: Positions of the other side instead of :attr:`given`.
        :returns: Shape of :attr:`measured`, NaN where the mechanism cannot be, these values make
            none, or make one that no machine is like (:data:`LARGEST`).
        """
        given = self.given if given is None else given
        try:
            transmission = self._built(values)
            mapped = (
                transmission.actuator_to_joint if self._forward else transmission.joint_to_actuator
            )
            with np.errstate(all='ignore'):
                found = mapped('position', given, guess=self.measured)
                return np.where(np.abs(found) <= LARGEST, found, np.nan)
        except (TransmissionBridgeError, ArithmeticError, ValueError):
            return np.full(self.measured.shape, np.nan)

    def _built(self, values: Array) -> Transmission:
        # Terms are changed without the numbers many times, and building is what takes time.
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
