# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What the maps are measured against: a loop over Python objects, and one over C++ objects."""

from __future__ import annotations

from collections.abc import Sequence
import ctypes
from pathlib import Path
import subprocess
import tempfile

import numpy as np

from transmission_bridge import RobotTransmissions
from transmission_bridge.transmissions import DifferentialTransmission, SimpleTransmission

__all__ = ['CppLoop', 'PythonLoop']

SOURCE = Path(__file__).with_name('reference.cpp')


class PythonLoop:
    """The three interfaces by formulas in a loop over transmissions, as one writes it first."""

    def __init__(self, robot: RobotTransmissions) -> None:
        self.members = [
            (_kind(b.transmission), b.actuators, b.joints, _numbers(b.transmission))
            for b in robot.bindings
        ]
        self.n_joints = len(robot.joint_names)

    def __call__(self, inputs: Sequence[Sequence[float]]) -> list[list[float]]:
        """Map one sample of position, velocity and effort, lists of floats."""
        outputs = [[0.0] * self.n_joints for _ in range(3)]
        for kind, a, j, (ar1, ar2, jr1, jr2, off1, off2) in self.members:
            for number, (x, y) in enumerate(zip(inputs, outputs, strict=True)):
                first, second = (off1, off2) if number == 0 else (0.0, 0.0)
                if kind == 0:
                    y[j[0]] = x[a[0]] * ar1 if number == 2 else x[a[0]] / ar1 + first
                elif number == 2 and kind == 1:
                    y[j[0]] = jr1 * (x[a[0]] * ar1 + x[a[1]] * ar2)
                    y[j[1]] = jr2 * (x[a[0]] * ar1 - x[a[1]] * ar2)
                elif number == 2:
                    y[j[0]] = jr1 * x[a[0]] * ar1 + x[a[1]] * ar2
                    y[j[1]] = jr2 * x[a[1]] * ar2
                elif kind == 1:
                    y[j[0]] = (x[a[0]] / ar1 + x[a[1]] / ar2) / (2 * jr1) + first
                    y[j[1]] = (x[a[0]] / ar1 - x[a[1]] / ar2) / (2 * jr2) + second
                else:
                    y[j[0]] = x[a[0]] / (jr1 * ar1) + first
                    y[j[1]] = (x[a[1]] / ar2 - x[a[0]] / (jr1 * ar1)) / jr2 + second
        return outputs


class CppLoop:
    """
    The three interfaces by ``reference.cpp``, compiled on the spot.

    :raises OSError: If there is no compiler.
    """

    def __init__(self, robot: RobotTransmissions) -> None:
        library = _library()
        places = ctypes.c_size_t * 2
        self._run = library.component_run
        library.component_new.restype = ctypes.c_void_p
        self._component = ctypes.c_void_p(
            library.component_new(
                ctypes.c_size_t(len(robot.actuator_names)), ctypes.c_size_t(len(robot.joint_names))
            )
        )
        for binding in robot.bindings:
            library.component_add(
                self._component,
                _kind(binding.transmission),
                places(*binding.actuators),
                places(*binding.joints),
                (ctypes.c_double * 6)(*_numbers(binding.transmission)),
            )

    def __call__(
        self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray], repeat: int = 0
    ) -> None:
        """
        Map C-contiguous samples of position, velocity and effort.

        :param repeat: If not zero, map the first sample so often.
        """
        pointers = ctypes.POINTER(ctypes.c_double) * 3
        self._run(
            self._component,
            pointers(*(_pointer(array) for array in inputs)),
            pointers(*(_pointer(array) for array in outputs)),
            ctypes.c_size_t(repeat or len(inputs[0])),
            ctypes.c_size_t(0 if repeat else 1),
        )


def _pointer(array: np.ndarray) -> object:
    return array.ctypes.data_as(ctypes.POINTER(ctypes.c_double))


def _library() -> ctypes.CDLL:
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / 'reference.so'
        command = ['g++', '-O2', '-std=c++17', '-shared', '-fPIC', str(SOURCE), '-o', str(target)]
        subprocess.run(command, check=True)
        return ctypes.CDLL(str(target))


def _kind(transmission: object) -> int:
    if isinstance(transmission, SimpleTransmission):
        return 0
    return 1 if isinstance(transmission, DifferentialTransmission) else 2


def _numbers(transmission: object) -> tuple[float, ...]:
    """Return ``ar1, ar2, jr1, jr2, off1, off2``, the second of each unused by a simple one."""
    sides = (
        transmission.actuator_reduction,
        transmission.joint_reduction,
        transmission.joint_offset,
    )
    return tuple(float(number) for side in sides for number in (*side, 1.0)[:2])
