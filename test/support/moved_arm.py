# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""An arm without torque that a hand moves: hidden numbers, jerks, missed stops, wraps, pauses."""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np
from zoo.elements import ankle, params, ratio, transmission, urdf

from transmission_bridge.description import load_description
from transmission_bridge.errors import TransmissionBridgeError
from transmission_bridge.tools.calibration.hand import HandCalibration
from transmission_bridge.tools.calibration.numbers import list_fitted_reductions
from transmission_bridge.transmissions import RobotTransmissions

#: Steps of an encoder per turn, and the largest distance by which a hand misses a stop.
TICKS, MISS = 4096, math.radians(2.0)
_STEP = 2.0 * math.pi / TICKS


def stops(lower=-1.5, upper=1.5):
    """Return type and limits of a joint of :func:`urdf`."""
    return f'revolute lower="{lower}" upper="{upper}" velocity="5" effort="5"'


def servo(name, reduction=1.0):
    """Return a servo at a joint."""
    return transmission(f'{name}_drive', 'Simple', {name: ratio(reduction)}, [f'{name}_motor'])


def pair(plugin, name, joints, reductions):
    """Return a transmission of two motors and two joints."""
    motors = {f'{name}_{n}': ratio(each) for n, each in enumerate(reductions, 1)}
    return transmission(name, plugin, joints, motors)


#: Six servos with encoders of one turn, as of SO-101, and its parts with geared motors.
SPANS = {
    'pan': (-1.92, 1.92), 'lift': (-1.75, 1.75), 'elbow': (-1.69, 1.69),
    'flex': (-1.66, 1.66), 'twist': (-2.74, 2.84), 'grip': (-0.17, 1.75),
}  # fmt: skip
SERVOS = urdf({name: stops(*each) for name, each in SPANS.items()}, ''.join(map(servo, SPANS)))
GEARED = urdf(
    dict.fromkeys(('pitch', 'roll', 'shoulder', 'elbow', 'arm'), stops()),
    pair('Differential', 'wrist', ('pitch', 'roll'), (50, 50))
    + pair('FourBarLinkage', 'bar', ('shoulder', 'elbow'), (30, 40))
    + servo('arm', -100.0),
)
#: A ratio that varies, with a range that does not contain zero.
KNEE = urdf(
    {'knee': stops(0.3, 1.4)},
    transmission(
        *('leg', 'CrankSlider', {'knee': params(lower=0.3, upper=1.4)}, {'cylinder': ratio(300)}),
        params(crank_radius=0.1, pivot_distance=0.4, crank_angle=1.0),
    ),
)
ANKLE = urdf({'pitch': stops(-0.9, 0.6), 'roll': stops(-0.4, 0.4)}, ankle())


@dataclass
class MovedArm:
    """
    A robot with hidden numbers, and a hand that moves it.

    :param text: The description.
    :param random: Source of chance.
    :param flips: Probability of each hidden sign.
    :param scale: Largest hidden change of a reduction, as a share.
    :param wraps: Whether encoders count one turn only.
    :param beyond: Largest distance of each stop from the limit [rad], at random.
    :param at_stops: Probability that a joint starts at one of its stops.
    :ivar update: Is called five times a second, as a page is.
    """

    text: str
    random: np.random.Generator
    flips: float = 0.3
    scale: float = 0.0
    wraps: bool = True
    rate: float = 60.0
    is_free: bool = False
    miss: float = MISS
    beyond: float = 0.0
    at_stops: float = 0.0
    time: float = 0.0

    def __post_init__(self):
        self.robot = RobotTransmissions(load_description(self.text))
        self.hidden = {}
        self.hand = HandCalibration(self.robot, {}, is_free=self.is_free)
        for each in self.hand.transmissions:
            binding, maps, values = each.binding, each.maps, {}
            for zero in each.zeros:
                way = 3.0 if zero.place is None else 0.3
                values[zero.path] = maps.numbers[zero.path] + self.random.uniform(-way, way)
            for path in list_fitted_reductions(binding):
                sign = -1.0 if self.random.random() < self.flips else 1.0
                ratio = 1.0 + self.scale * self.random.uniform(-1.0, 1.0)
                try:
                    maps.build({path: sign * maps.numbers[path]})
                except TransmissionBridgeError:  # the type keeps its sign
                    sign = 1.0
                values[path] = sign * ratio * maps.numbers[path]
            self.hidden[binding.spec.name] = (maps, values)
        periods = dict.fromkeys(self.robot.actuator_names, 2.0 * math.pi) if self.wraps else {}
        self.hand = HandCalibration(self.robot, periods, is_free=self.is_free)
        tracks = [each.tracks[place] for each, place in self.hand.joints]
        self.stops = {
            each.name: tuple(
                end + self.beyond * self.random.uniform(-1.0, 1.0)
                for end in (each.limits.lower, each.limits.upper)
            )
            for each in tracks
        }
        self.joints = {
            name: self.random.uniform(0.8 * lower, 0.8 * upper)
            for name, (lower, upper) in self.stops.items()
        }
        for name, ends in self.stops.items() if self.at_stops else ():
            if self.random.random() < self.at_stops:
                self.joints[name] = self.random.choice(ends)
        self.update, self._readings, self._sent = lambda: None, 0, {}
        self.send()

    def send(self):
        """Publish the readings of all motors."""
        positions = np.full(len(self.robot.actuator_names), np.nan)
        for binding in self.robot.bindings:
            maps, values = self.hidden[binding.spec.name]
            joints = np.array([[self.joints[member.name] for member in binding.spec.joints]])
            before = self._sent.get(binding.spec.name)
            if before is None or not np.array_equal(before[0], joints):
                before = joints, maps.build(values).joint_to_actuator('position', joints)[0]
                self._sent[binding.spec.name] = before
            positions[list(binding.actuators)] = before[1]
        positions = np.round(positions / _STEP) * _STEP
        if self.wraps:
            positions = np.mod(positions, 2.0 * math.pi)
        self.time += 1.0 / self.rate
        self.hand.add_reading(positions, self.time)
        self._readings += 1
        if self._readings % 12 == 0:
            self.update()

    def move(self, name, to, seconds=1.0):
        """Move a joint by hand: smooth on the whole, with jerks and pauses."""
        begin = self.joints[name]
        count = max(int(seconds * self.rate), 2)
        pause = self.random.integers(0, count)
        for step in range(1, count + 1):
            share = step / count
            smooth = share**3 * (10.0 - 15.0 * share + 6.0 * share**2)
            jerk = self.random.normal(0.0, 0.003) * (step < count)
            self.joints[name] = begin + smooth * (to - begin) + jerk * (abs(to - begin) > 0.1)
            lower, upper = self.stops[name]
            self.joints[name] = min(max(self.joints[name], lower), upper)
            self.send()
            for _ in range(10 if step == pause else 0):
                self.send()

    def rest(self):
        """Hold still."""
        for _ in range(int(0.5 * self.rate)):
            self.send()

    def show_directions(self):
        """Move each joint towards positive, as the prompts ask."""
        for each, place in self.hand.joints:
            track = each.tracks[place]
            name, way = track.name, 0.2 * track.span
            if self.joints[name] + way > track.limits.upper - 0.05:
                self.move(name, track.limits.lower + 0.1 * track.span)
            each.begin_move(place)
            self.move(name, self.joints[name] + way)
            each.end_move()

    def approach(self, name, side, miss=None):
        """Move a joint to a stop, or almost, and back."""
        lower, upper = self.stops[name]
        end = lower if side < 0 else upper
        miss = self.random.uniform(0.0, self.miss) if miss is None else miss
        self.move(name, end - side * miss)
        self.move(name, end - side * self.random.uniform(0.15, 0.5) * (upper - lower))

    def compute_errors(self, outcome):
        """Return the difference of each joint to the truth [rad], over its range."""
        maps, values = self.hidden[outcome.transmission]
        hand = next(e for e in self.hand.transmissions if e.name == outcome.transmission)
        low, high = ([getattr(t.limits, end) for t in hand.tracks] for end in ('lower', 'upper'))
        places = np.linspace(low, high, 11)[1:-1]
        motors = maps.build(values).joint_to_actuator('position', places)
        away = maps.map_positions(outcome.values, motors, places) - places
        if self.wraps:  # the bridge finds the turn
            away -= np.round(away / (2.0 * math.pi)) * 2.0 * math.pi
        return dict(zip([t.name for t in hand.tracks], np.abs(away).max(axis=0), strict=True))


class GuidedHand:
    """
    A hand that does what each step asks.

    :param arm: The arm.
    :param guide: The steps.
    :ivar presses: Number of buttons, or keys.
    """

    def __init__(self, arm, guide):
        self.arm, self.guide, self.presses = arm, guide, 0
        arm.update = guide.update

    def press(self, act=None):
        """Press the button of the step, or another one."""
        self.presses += 1
        self.guide.press(act)

    def do_step(self):
        """Do the present step."""
        arm, guide = self.arm, self.guide
        guide.update()
        step = guide.step
        if step.pose is not None:
            arm.joints.update({name: step.pose.get(name, 0.0) for name in arm.joints})
            arm.rest()
            self.press()
        elif step.primary is not None and not step.obstacle:
            self.press()
        elif step.primary is not None and step.side:
            lower, upper = arm.stops[step.joint]
            way = 0.2 * (upper - lower)
            arm.rest()
            if arm.joints[step.joint] + way > upper:  # it stops at once
                arm.move(step.joint, upper)
                arm.move(step.joint, upper - 1.5 * way)
                self.press(step.second)
            arm.move(step.joint, arm.joints[step.joint] + way)
        else:
            for side in (step.side,) if step.side else (1, -1):
                arm.approach(step.joint, side)

    def run(self):
        """Do steps until all joints are known, then write."""
        for _ in range(400):
            if self.guide.step.primary is None and not self.guide.step.joint:
                self.press(self.guide.write_act)
                break
            self.do_step()
