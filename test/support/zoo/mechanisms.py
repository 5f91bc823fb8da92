# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: D102
"""Mechanisms by their equations, and by closures alone."""

from __future__ import annotations

import math
from types import SimpleNamespace

import casadi as ca
import numpy as np

from transmission_bridge.description.specs import (
    JointSpec,
    MemberSpec,
    RobotDescription,
    TransmissionSpec,
)
from transmission_bridge.transmissions import EquationTransmission
from transmission_bridge.transmissions.equation_types import (
    AnkleLeg,
    CrankSliderTransmission,
    GuidedSlider,
    HingedCylinder,
    ParallelAnkleTransmission,
)
from transmission_bridge.transmissions.robot.table import Binding, order_members, RobotTable
from transmission_bridge.transmissions.transmission import Transmission

LEFT = {'motor': (0.0, 0.05, 0.24), 'crank': 0.05, 'rod': 0.24, 'foot': (0.05, 0.05, 0.0)}
RIGHT = {'motor': (0.0, -0.05, 0.15), 'crank': 0.05, 'rod': 0.15, 'foot': (0.05, -0.05, 0.0)}
TILTED = {**RIGHT, 'axis': (0.3, 2.0, -0.1), 'crank_angle': 0.2, 'motor': (0.01, -0.06, 0.14)}


def robot_of(last_first: bool = False, **transmissions: Transmission) -> RobotTable:
    """
    Return a robot of transmissions, by name.

    :param last_first: Whether its joints stand in the reverse order of their transmissions.
    """
    bindings = []
    for name, each in transmissions.items():
        joints, actuators = (
            tuple(MemberSpec(f'{name}_{letter}{place}') for place in range(count))
            for letter, count in (('j', each.n_joints), ('a', each.n_actuators))
        )
        spec = TransmissionSpec(name, type(each).__name__, 'ros2_control', joints, actuators)
        bindings.append(Binding(spec, each))
    names = [member.name for binding in bindings for member in binding.spec.joints]
    joints = [JointSpec(name, 'revolute', 'a', 'b') for name in names]
    description = RobotDescription('robot', joints=tuple(joints[:: -1 if last_first else 1]))
    return RobotTable(*order_members(description, tuple(bindings)))


def single(transmission: Transmission) -> RobotTable:
    """Return a robot of this transmission, whose name is ``t``."""
    return robot_of(t=transmission)


def ankle(*legs: dict, **options) -> ParallelAnkleTransmission:
    """Return an ankle of two legs, by default well within its reach."""
    options = {'lower': (-0.4, -0.25), 'upper': (0.4, 0.25), **options}
    legs = tuple(AnkleLeg(**leg) for leg in legs or (LEFT, TILTED))
    return ParallelAnkleTransmission(legs, **options)


def guided(crank: float, rod: float, offset: float, angle: float) -> CrankSliderTransmission:
    """Return a slider on a guide."""
    return CrankSliderTransmission(GuidedSlider(crank, rod, offset), angle)


def hinged(crank: float, base: float, offset: float, angle: float) -> CrankSliderTransmission:
    """Return a hinged cylinder."""
    return CrankSliderTransmission(HingedCylinder(crank, base, offset), angle)


def evaluate(t: EquationTransmission, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ``y`` and ``G`` by the equation alone, for ``x`` inside and outside of the domain."""

    def as_matrices(value):
        if isinstance(value, tuple):
            is_deep = isinstance(value[0], tuple)
            return [as_matrices(each) for each in value] if is_deep else ca.DM(value)
        return value

    p = SimpleNamespace(**{name: as_matrices(each) for name, each in vars(t.p).items()})
    at = ca.SX.sym('x', x.shape[1])
    jr, offset, ar = map(ca.DM, (t.joint_reduction, t.joint_offset, t.actuator_reduction))
    if t.domain.space == 'joint':
        found = t.actuator_position(jr * (at - offset), p)
    else:
        found = t.joint_position(at / ar, p)
    found = ca.vertcat(*found) if isinstance(found, tuple | list) else found
    y = found * ar if t.domain.space == 'joint' else found / jr + offset
    function = ca.Function('equation', [at], [y, ca.densify(ca.jacobian(y, at))])
    values, slopes = zip(*(function(each) for each in x), strict=True)
    return np.array([each.full()[:, 0] for each in values]), np.array([s.full() for s in slopes])


# -- equations -----------------------------------------------------------------------------------


class Equation(EquationTransmission):
    """Base of the equations below, with a box of bare positions or a range of their own."""

    api_version = 1
    box = ()

    def range(self):
        return self.bare_range(*self.box)


class Sine(Equation):
    """``a = sin(q)``, which turns back at a quarter turn: the joint is solved."""

    def __init__(self, lower: float = -1.5, upper: float = 1.5) -> None:
        super().__init__({'lower': lower, 'upper': upper})

    def range(self):
        return self.bare_range('joint', [self.p.lower], [self.p.upper])

    @staticmethod
    def actuator_position(q, p):
        return ca.sin(q)


class SineWithInverse(Sine):
    """The same by both equations."""

    @staticmethod
    def joint_position(a, p):
        return ca.asin(a)


class Cam(Equation):
    """A cam of lift 0.02 m that begins and ends without acceleration, behind a gear."""

    def __init__(self, lower: float = 0.0, upper: float = 13.0, dwell: float = 0.0) -> None:
        super().__init__({'lower': lower, 'upper': upper, 'dwell': dwell})

    def range(self):
        return self.bare_range('actuator', [self.p.lower], [self.p.upper])

    @staticmethod
    def joint_position(a, p):
        u = 2.0 * math.pi * ca.fmax(a - p.dwell, 0.0) / 13.0
        return 0.01 / math.pi * (u - ca.sin(u))


class Cardan(Equation):
    """A universal joint: the actuator is solved."""

    def __init__(self, cosine: float = 0.8, most: float = 3.0, **options) -> None:
        super().__init__({'cosine': cosine, 'most': most}, **options)

    def range(self):
        return self.bare_range('actuator', [-self.p.most], [self.p.most])

    @staticmethod
    def joint_position(a, p):
        c, s = ca.cos(a), ca.sin(a)
        return a + ca.atan2((1.0 - p.cosine) * s * c, p.cosine * c * c + s * s)


class Swing(Equation):
    """``a = q + sin(q) / 2``: the joint is solved."""

    box = 'joint', (-2.0,), (2.0,)

    @staticmethod
    def actuator_position(q, p):
        return q + 0.5 * ca.sin(q)


class Shear(Equation):
    """``q = (a1 + a2^3 / 3, a2 + sin(a1) / 2)``, which a singular line splits."""

    members = (2, 2)
    box = 'actuator', (-2.0, -2.0), (2.0, 2.0)

    @staticmethod
    def joint_position(a, p):
        return a[0] + a[1] ** 3 / 3.0, a[1] + 0.5 * ca.sin(a[0])


class Bent(Equation):
    """Both ways by equations, with a corner on the singular line: ``q = (a1 + a2, a1 a2)``."""

    members = (2, 2)
    box = 'actuator', (0.5, -0.5), (1.5, 0.5)

    @staticmethod
    def joint_position(a, p):
        return a[0] + a[1], a[0] * a[1]

    @staticmethod
    def actuator_position(q, p):
        square = q[0] * q[0] - 4.0 * q[1]
        width = ca.sqrt(ca.if_else(ca.fabs(square) < 1e-15, 0.0, square))
        return 0.5 * (q[0] + width), 0.5 * (q[0] - width)


class Chain(Equation):
    """Three joints, of which each depends on the actuators before it only."""

    members = (3, 3)
    box = 'actuator', (-1.0,) * 3, (1.0,) * 3

    @staticmethod
    def joint_position(a, p):
        return [ca.sin(a[0]) + a[0], a[1] + 0.3 * a[0] ** 2, a[2] + 0.2 * a[1] ** 3]


class Parallel(Equation):
    """Three actuators and three joints that all depend on each other."""

    members = (3, 3)
    box = 'actuator', (-1.0,) * 3, (1.0,) * 3

    @staticmethod
    def joint_position(a, p):
        return (
            a[0] + p.bend[0] * a[1] * a[2],
            a[1] + p.bend[1] * ca.sin(a[0]) + 0.1 * a[2],
            a[2] - p.bend[2] * a[0] * a[1],
        )


class Tendons(Equation):
    """Two antagonistic tendons on one joint."""

    members = (2, 1)
    box = 'joint', (-1.0,), (1.0,)

    @staticmethod
    def actuator_position(q, p):
        return ca.sin(q) + 0.2 * q, -ca.sin(q) + 0.1 * q * q


class Finger(Equation):
    """One motor bends two joints."""

    members = (1, 2)
    box = 'actuator', (0.0,), (2.0,)

    @staticmethod
    def joint_position(a, p):
        return a, 0.5 * a + 0.1 * a * a


class Squared(Equation):
    """``q = a^2`` of complex numbers: of every ``q`` there are two solutions on one branch."""

    members = (2, 2)
    box = 'actuator', (-2.0, -2.0), (2.0, 2.0)

    @staticmethod
    def joint_position(a, p):
        return a[0] ** 2 - a[1] ** 2, 2.0 * a[0] * a[1]


class Cubed(Equation):
    """``q = a^3``, which is singular in the middle."""

    box = 'actuator', (-1.0,), (1.0,)

    @staticmethod
    def joint_position(a, p):
        return a**3


class Straight(Equation):
    """A constant ratio, of which nothing is known outside the range either."""

    box = 'actuator', (-1.0,), (1.0,)

    @staticmethod
    def joint_position(a, p):
        return 2.0 * a


class FourBar(Equation):
    """A planar four-bar linkage."""

    box = 'actuator', [0.6], [2.4]

    @staticmethod
    def joint_position(a, p):
        x, y = 0.1 - 0.04 * ca.cos(a), 0.04 * ca.sin(a)
        square = x * x + y * y
        corner = ca.acos((square + 0.06**2 - 0.1**2) / (2.0 * 0.06 * ca.sqrt(square)))
        return math.pi - ca.atan2(y, x) - p.side * corner


class Plate(Equation):
    """Two actuators on two joints."""

    members = (2, 2)
    box = 'joint', [-0.8, -0.6], [0.8, 0.6]

    @staticmethod
    def actuator_position(q, p):
        return ca.sin(q[0]) + 0.3 * q[1], q[1] + 0.2 * q[1] ** 3


# -- the same by closures alone ------------------------------------------------------------------


class Slider(Equation):
    """A slider, a rod and a crank, by the length of the rod."""

    box = 'joint', [-1.2], [1.2]

    def pose(self):
        return [0.1], [0.0]

    @staticmethod
    def closure(a, q, p):
        phi = 1.5 + q
        ahead, beside = a - 0.04 * ca.cos(phi), 0.01 - 0.04 * ca.sin(phi)
        return ahead * ahead + beside * beside - 0.12**2


class Pushed(Slider):
    """The same by positions of the slider."""

    box = 'actuator', [0.085], [0.145]


class Crossed(Cardan):
    """A universal joint: ``cos(bend) tan(q) = tan(a)``, without poles."""

    joint_position = None

    def pose(self):
        return [0.0], [0.1]

    @staticmethod
    def closure(a, q, p):
        return p.cosine * ca.sin(q) * ca.cos(a) - ca.cos(q) * ca.sin(a)


class FourBarLoop(FourBar):
    """A four-bar linkage by its rod; the pose says whether it is open or crossed."""

    joint_position = None

    def pose(self):
        return [1.5], [2.7 - 1.6 * self.p.side]

    @staticmethod
    def closure(a, q, p):
        x = 0.1 + 0.06 * ca.cos(q) - 0.04 * ca.cos(a)
        y = 0.06 * ca.sin(q) - 0.04 * ca.sin(a)
        return x * x + y * y - 0.1**2


class PlateLoop(Plate):
    """The second row does not depend on the first joint."""

    actuator_position = None

    def pose(self):
        return [0.1, 0.1], [0.0, 0.0]

    @staticmethod
    def closure(a, q, p):
        b = ca.sin(q[0]) + 0.3 * q[1]
        return a[0] ** 3 + a[0] - b**3 - b, ca.sinh(a[1] - q[1] - 0.2 * q[1] ** 3)


class FingerLoop(Finger):
    """A finger by two equations."""

    joint_position = None

    def pose(self):
        return [0.5], [0.5, 0.3]

    @staticmethod
    def closure(a, q, p):
        return ca.exp(q[0]) - ca.exp(a), q[1] - 0.5 * q[0] - 0.1 * q[0] * a
