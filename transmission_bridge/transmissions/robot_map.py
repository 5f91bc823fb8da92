# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""One interface in one direction for a robot: an affine map, then the mechanisms that bend."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from transmission_bridge.errors import TransmissionError
from transmission_bridge.transmissions.affine_map import AffineMap, Array
from transmission_bridge.transmissions.binding import Binding, Layout
from transmission_bridge.transmissions.interfaces import (
    ACTUATOR_TO_JOINT,
    Direction,
    Quantity,
    quantity_of,
)
from transmission_bridge.transmissions.linear import LinearTransmission
from transmission_bridge.transmissions.one_sample import SampleMap
from transmission_bridge.transmissions.position_dependent import PositionDependentTransmission
from transmission_bridge.transmissions.position_maps import is_current
from transmission_bridge.transmissions.report import MapReport
from transmission_bridge.transmissions.step import Step
from transmission_bridge.transmissions.transmission import Transmission

__all__ = ['RobotMap', 'compile_map', 'is_linear']

Index = npt.NDArray[np.intp]


def is_linear(binding: Binding) -> bool:
    """Whether the robot may read the coefficients instead of calling the transmission."""
    cls = type(binding.transmission)
    return isinstance(binding.transmission, LinearTransmission) and all(
        getattr(cls, name) is getattr(LinearTransmission, name)
        for name in ('actuator_to_joint', 'joint_to_actuator', 'coefficients', 'supports')
    )


class RobotMap:
    """
    One interface in one direction, compiled.

    :param interface: The interface.
    :param direction: The direction.
    :param affine: Everything linear; rows of the steps are overwritten.
    :param steps: Transmissions that have to be called.
    """

    def __init__(
        self,
        interface: str,
        direction: Direction,
        affine: AffineMap,
        steps: tuple[Step, ...],
    ) -> None:
        self.interface = interface
        self.direction: Direction = direction
        self.affine = affine
        self.steps = steps

    @property
    def is_affine(self) -> bool:
        """Whether no transmission has to be called."""
        return not self.steps

    def __call__(
        self,
        values: Array,
        at: Array | None,
        rate: Array | None,
        guess: Array | None,
        report: MapReport | None,
    ) -> Array:
        """Map ``(..., n_in)``; ``at`` and ``rate`` as ``values``, ``guess`` as the output."""
        mapped = self.affine(values)
        self.bend(mapped, values, at, rate, guess, report)
        return mapped

    def bend(
        self,
        mapped: Array,
        values: Array,
        at: Array | None,
        rate: Array | None,
        guess: Array | None,
        report: MapReport | None,
    ) -> None:
        """Overwrite in ``mapped`` what the transmissions that have to be called give."""
        if self.steps:
            self._require(at, rate)
        for step in self.steps:
            mapped[..., step.outputs] = step.call(
                self.interface, self.direction, values, at, rate, guess, report
            )

    def _require(self, at: Array | None, rate: Array | None) -> None:
        """Refuse a caller's mistake here, so that whatever a plugin raises is the plugin's."""
        quantity = quantity_of(self.interface, self.direction)
        if quantity in (Quantity.POSITION, Quantity.ABSOLUTE_POSITION):
            return
        needed = {'at': at, 'rate': rate} if quantity is Quantity.ACCELERATION else {'at': at}
        for step in self.steps:
            for name, given in needed.items():
                if given is None and not step.transmission.is_constant:
                    raise TransmissionError(
                        f'{self.interface} cannot be mapped without {name}=, as the Jacobian '
                        'varies',
                        transmission=step.name,
                        parameter=name,
                        expected='positions' if name == 'at' else 'velocities',
                        found='None',
                    )


def compile_map(
    layout: Layout,
    interface: str,
    direction: Direction,
    ignore_absolute_encoder: frozenset[str],
) -> RobotMap:
    """
    Compile one interface in one direction.

    :param layout: Places of joints and actuators.
    :param ignore_absolute_encoder: Names of transmissions whose absolute positions pass by role.
    :raises UnsupportedInterfaceError: If the interface is not mapped in this direction.
    """
    quantity = quantity_of(interface, direction)
    forward = direction == ACTUATOR_TO_JOINT
    shape = (len(layout.joint_names), len(layout.actuator_names))
    matrix = np.zeros(shape if forward else shape[::-1])
    before = np.zeros(matrix.shape[1])
    after = np.zeros(matrix.shape[0])
    for joint, actuator in layout.pass_through:
        matrix[(joint, actuator) if forward else (actuator, joint)] = 1.0
    steps = []
    for binding in layout.bindings:
        inputs, outputs, selected = _places(binding, direction)
        if not binding.transmission.supports(interface, direction):
            after[outputs] = np.nan
        elif quantity is Quantity.ABSOLUTE_POSITION and (
            binding.spec.name in ignore_absolute_encoder
        ):
            matrix[outputs, inputs] = 1.0
        elif isinstance(binding.transmission, LinearTransmission) and is_linear(binding):
            coefficients, bias_in, bias_out = binding.transmission.coefficients(
                direction, quantity
            )
            matrix[np.ix_(outputs, inputs)] = coefficients[selected]
            if bias_in is not None:
                before[inputs] = bias_in
            if bias_out is not None:
                after[outputs] = bias_out[selected]
        else:
            guesses = np.array(binding.joints if forward else binding.actuators, dtype=np.intp)
            steps.append(
                Step(
                    binding.spec.name,
                    binding.transmission,
                    inputs,
                    outputs,
                    selected,
                    guesses,
                    _sample_map(binding.transmission, direction),
                )
            )
    return RobotMap(
        interface, direction, AffineMap(matrix, before=before, after=after), tuple(steps)
    )


def _sample_map(transmission: Transmission, direction: Direction) -> SampleMap | None:
    """Return the map of one instant in plain numbers, if no subclass maps in its own way."""
    if isinstance(transmission, PositionDependentTransmission) and is_current(
        type(transmission), 'sample_map', ['map_state', direction]
    ):
        return transmission.sample_map(direction)
    return None


def _places(binding: Binding, direction: Direction) -> tuple[Index, Index, Index]:
    """Return input places, output places, and which of the outputs the robot takes."""
    joints = np.array(binding.joints, dtype=np.intp)
    actuators = np.array(binding.actuators, dtype=np.intp)
    if direction == ACTUATOR_TO_JOINT:
        return actuators, joints, np.arange(len(joints))
    selected = np.flatnonzero(binding.owned)
    return joints, actuators[selected], selected
