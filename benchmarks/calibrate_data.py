# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Recordings to calibrate with, from formulas and simulators that share nothing with the tool.

Nothing of transmission_bridge is imported here. Gears are divisions, the gap of a backlash is
pushed row by row, delays are evaluated in continuous time, encoders round and start again, and
mechanisms with dynamics are MuJoCo models. Each function makes one recording of one seed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

ROWS, STEP = 600, 0.02


@dataclass(frozen=True)
class Sample:
    """
    One recording and what is true of it.

    :param urdf: The description, with numbers that are not quite true.
    :param time: Times [s], ``None`` for poses.
    :param actuators: Positions by name.
    :param joints: Measured positions by name.
    :param truth: True numbers by their names below the robot.
    :param fixed: Patterns of numbers that are known (``--fix``).
    """

    urdf: str
    time: np.ndarray | None
    actuators: dict[str, np.ndarray]
    joints: dict[str, np.ndarray]
    truth: dict[str, float]
    fixed: tuple[str, ...] = field(default=())


def robot(transmissions: str, *joints: str) -> str:
    """Return a URDF of continuous joints."""
    links = ''.join(
        f'<link name="{name}_link"/><joint name="{name}" type="continuous"><parent link="base"/>'
        f'<child link="{name}_link"/></joint>'
        for name in joints
    )
    interfaces = ''.join(
        f'<joint name="{name}"><command_interface name="position"/></joint>' for name in joints
    )
    return (
        f'<robot name="study"><link name="base"/>{links}<ros2_control name="block" type="system">'
        f'<hardware><plugin>any/Driver</plugin></hardware>{interfaces}{transmissions}'
        '</ros2_control></robot>'
    )


def gear(name: str, motor: str, joint: str, reduction: float) -> str:
    """Return the tag of a simple transmission."""
    return (
        f'<transmission name="{name}"><plugin>transmission_interface/SimpleTransmission</plugin>'
        f'<actuator name="{motor}" role="actuator1"/><joint name="{joint}" role="joint1">'
        f'<mechanical_reduction>{reduction}</mechanical_reduction></joint></transmission>'
    )


PAN = robot(gear('gear', 'pan_motor', 'pan', 100.0), 'pan')


@dataclass(frozen=True)
class _Axis:
    """The seed's draws for one geared axis: a motion as a function of time, and its numbers."""

    random: np.random.Generator
    reduction: float
    offset: float
    noise: float
    motion: Callable[[np.ndarray], np.ndarray]

    @property
    def truth(self) -> dict[str, float]:
        return {
            'gear.joints.pan.mechanical_reduction': self.reduction,
            'gear.joints.pan.offset': self.offset,
        }

    def sample(self, shaft: np.ndarray, encoder: np.ndarray, *, noise: bool = True) -> Sample:
        """Return the recording of a shaft angle before the offset, at the motor and the joint."""
        time = np.arange(len(shaft)) * STEP
        measured = encoder + self.offset
        if noise:
            measured = measured + self.random.normal(0.0, self.noise, len(shaft))
        motor = {'pan_motor': shaft * self.reduction}
        return Sample(PAN, time, motor, {'pan': measured}, self.truth)


def _axis(seed: int) -> _Axis:
    random = np.random.default_rng([seed, 77])
    speed, phase = random.uniform(0.5, 3.0, 3), random.uniform(0.0, 2.0 * np.pi, 3)

    def motion(time: np.ndarray) -> np.ndarray:
        return 0.5 * np.sin(np.multiply.outer(time, speed) + phase).sum(axis=-1)

    return _Axis(
        random,
        100.0 * (1.0 + random.normal(0.0, 0.03)),
        random.normal(0.0, 0.1),
        10.0 ** random.uniform(-3.5, -2.7),
        motion,
    )


def _time(rows: int = ROWS) -> np.ndarray:
    return np.arange(rows) * STEP


def white_noise(seed: int) -> Sample:
    """Return a good gear and white noise."""
    axis = _axis(seed)
    shaft = axis.motion(_time())
    return axis.sample(shaft, shaft)


def backlash(seed: int) -> Sample:
    """Return a gap of 10 mrad that the shaft pushes the joint through, held by friction."""
    axis = _axis(seed)
    shaft = axis.motion(_time())
    gap, joint, pushed = 0.01, shaft[0] + axis.random.uniform(-0.005, 0.005), []
    for angle in shaft:
        if joint < angle - 0.5 * gap:
            joint = angle - 0.5 * gap
        elif joint > angle + 0.5 * gap:
            joint = angle + 0.5 * gap
        pushed.append(joint)
    return axis.sample(shaft, np.array(pushed))


def wind_up(seed: int) -> Sample:
    """Return 10 mrad of wind-up under a weight that hangs on the joint."""
    axis = _axis(seed)
    shaft = axis.motion(_time())
    joint = shaft.copy()
    for _ in range(20):
        joint = shaft + 0.01 * np.sin(joint + axis.offset)
    return axis.sample(shaft, joint)


def wind_up_hardening(seed: int) -> Sample:
    """Return wind-up of a stiffening part under a spring: 10 mrad at the end of the motion."""
    axis = _axis(seed)
    shaft = axis.motion(_time())
    share = shaft / np.abs(shaft).max()
    return axis.sample(shaft, shaft - 0.01 * np.sign(share) * np.sqrt(np.abs(share)))


def eccentricity(seed: int) -> Sample:
    """Return a joint encoder mounted out of centre: 10 mrad, once per turn of the joint."""
    axis = _axis(seed)
    shaft = axis.motion(_time())
    phase = axis.random.uniform(0.0, 2.0 * np.pi)
    return axis.sample(shaft, shaft + 0.01 * np.sin(shaft + phase))


def motor_eccentricity(seed: int) -> Sample:
    """Return a motor encoder out of centre: 0.3 rad of the motor, once per its turn."""
    axis = _axis(seed)
    shaft = axis.motion(_time())
    sample = axis.sample(shaft, shaft)
    motor = sample.actuators['pan_motor']
    motor += 0.3 * np.sin(motor + axis.random.uniform(0.0, 2.0 * np.pi))
    return sample


def oval_encoder(seed: int) -> Sample:
    """Return a joint encoder that is wrong by 4 mrad twice per turn of the joint."""
    axis = _axis(seed)
    shaft = axis.motion(_time())
    phase = axis.random.uniform(0.0, 2.0 * np.pi)
    return axis.sample(shaft, shaft + 0.004 * np.sin(2.0 * shaft + phase))


def strain_wave(seed: int) -> Sample:
    """Return a strain-wave gear: 0.4 mrad at the joint, twice per turn of its motor."""
    axis = _axis(seed)
    shaft = axis.motion(_time())
    phase = axis.random.uniform(0.0, 2.0 * np.pi)
    return axis.sample(shaft, shaft + 0.0004 * np.sin(2.0 * axis.reduction * shaft + phase))


def pink_noise(seed: int) -> Sample:
    """Return noise with as much power in each octave: the longer ago, the less it is forgotten."""
    axis = _axis(seed)
    shaft = axis.motion(_time())
    power = np.fft.rfft(axis.random.normal(0.0, 1.0, ROWS))
    power[1:] /= np.sqrt(np.arange(1, len(power)))
    power[0] = 0.0
    noise = np.fft.irfft(power, ROWS)
    return axis.sample(shaft, shaft + axis.noise * noise / noise.std(), noise=False)


def drift(seed: int) -> Sample:
    """Return a reference that walks at random: 10 mrad from the first to the last row (rms)."""
    axis = _axis(seed)
    shaft = axis.motion(_time())
    walk = np.cumsum(axis.random.normal(0.0, 0.01 / np.sqrt(ROWS), ROWS))
    return axis.sample(shaft, shaft + walk)


def slip(seed: int) -> Sample:
    """Return a coupling that slips once, by 10 to 50 standard deviations of the noise."""
    axis = _axis(seed)
    shaft = axis.motion(_time())
    size = axis.noise * axis.random.uniform(10.0, 50.0) * axis.random.choice([-1.0, 1.0])
    return axis.sample(shaft, shaft + size * (_time() > axis.random.uniform(1.0, 11.0)))


def shifted_outliers(seed: int) -> Sample:
    """Return 40 % of the rows shifted by one amount, of 3 to 30 standard deviations."""
    axis = _axis(seed)
    shaft = axis.motion(_time())
    size = axis.noise * 10.0 ** axis.random.uniform(np.log10(3.0), np.log10(30.0))
    return axis.sample(shaft, shaft + size * (axis.random.random(ROWS) < 0.4))


def delay(seed: int) -> Sample:
    """Return joints that are measured 5 to 50 ms later or earlier than the motors."""
    axis = _axis(seed)
    late = axis.random.uniform(0.005, 0.05) * axis.random.choice([-1.0, 1.0])
    return axis.sample(axis.motion(_time()), axis.motion(_time() - late))


def coarse_encoder(seed: int) -> Sample:
    """Return a joint encoder of 8 to 16 bits a turn, and no noise but its rounding."""
    axis = _axis(seed)
    shaft = axis.motion(_time())
    bit = 2.0 * np.pi / 2.0 ** axis.random.integers(8, 17)
    sample = axis.sample(shaft, shaft, noise=False)
    sample.joints['pan'][:] = np.round(sample.joints['pan'] / bit) * bit
    return sample


def wrapped_motor(seed: int) -> Sample:
    """Return a motor encoder that starts again after each of its turns."""
    axis = _axis(seed)
    shaft = axis.motion(_time())
    sample = axis.sample(shaft, shaft)
    motor = sample.actuators['pan_motor']
    motor[:] = np.mod(motor, 2.0 * np.pi)
    # With whole turns unknown the offset is known but for a part of a turn of the joint.
    del sample.truth['gear.joints.pan.offset']
    return sample


def wrapped_joint(seed: int) -> Sample:
    """Return a joint encoder that starts again in the middle of the motion."""
    axis = _axis(seed)
    shaft = 3.0 * axis.motion(_time())
    sample = axis.sample(shaft, shaft)
    joint = sample.joints['pan']
    joint[:] = np.mod(joint, 2.0 * np.pi)
    return sample


def wrong_sign(seed: int) -> Sample:
    """Return a motor that counts backwards."""
    axis = _axis(seed)
    shaft = axis.motion(_time())
    sample = axis.sample(shaft, shaft)
    sample.actuators['pan_motor'] *= -1.0
    sample.truth['gear.joints.pan.mechanical_reduction'] *= -1.0
    return sample


def rest(seed: int) -> Sample:
    """Return a joint that rests for 80 % of the time, behind an encoder of 14 bits."""
    axis = _axis(seed)
    # Time stands still in four rests.
    moving = np.zeros(ROWS, dtype=bool)
    for start in (60, 220, 380, 540):
        moving[start : start + ROWS // 20] = True
    shaft = axis.motion(np.cumsum(moving) * 4.0 * STEP)
    sample = axis.sample(shaft, shaft)
    bit = 2.0 * np.pi / 2.0**14
    sample.joints['pan'][:] = np.round(sample.joints['pan'] / bit) * bit
    return sample


def poses(seed: int) -> Sample:
    """Return three to eight poses without times."""
    axis = _axis(seed)
    count = int(axis.random.integers(3, 9))
    shaft = np.linspace(-1.0, 1.0, count) + axis.random.uniform(-0.1, 0.1, count)
    sample = axis.sample(shaft, shaft)
    return Sample(PAN, None, sample.actuators, sample.joints, sample.truth)


def exchanged_motors(seed: int) -> Sample:
    """Return two gears whose motors are plugged the wrong way round."""
    one, two = _axis(seed), _axis(seed + 10_000)
    a, b = (
        one.sample(one.motion(_time()), one.motion(_time())),
        two.sample(two.motion(_time()), two.motion(_time())),
    )
    urdf = robot(
        gear('gear', 'pan_motor', 'pan', 100.0) + gear('other', 'tilt_motor', 'tilt', 100.0),
        'pan', 'tilt',
    )  # fmt: skip
    truth = {**a.truth}
    truth |= {k.replace('gear', 'other').replace('pan', 'tilt'): v for k, v in b.truth.items()}
    return Sample(
        urdf,
        a.time,
        {'pan_motor': b.actuators['pan_motor'], 'tilt_motor': a.actuators['pan_motor']},
        {'pan': a.joints['pan'], 'tilt': b.joints['pan']},
        truth,
    )


# -- models with dynamics -----------------------------------------------------------------------

_CRANK = """<mujoco><option timestep="0.002" gravity="0 0 0" integrator="implicitfast"/>
<default><geom contype="0" conaffinity="0"/></default><worldbody>
<body><joint name="crank" type="hinge" axis="0 0 1" ref="0"/>
  <geom type="capsule" fromto="0 0 0 {tip_x} {tip_y} 0" size="0.005" mass="0.2"/>
  <body pos="{tip_x} {tip_y} 0"><joint name="pin" type="hinge" axis="0 0 1" damping="0.001"/>
    <geom type="capsule" fromto="0 0 0 {rod_x} {rod_y} 0" size="0.005" mass="0.2"/>
    <site name="rod_end" pos="{rod_x} {rod_y} 0"/></body></body>
<body pos="{stroke} {guide} 0"><joint name="slider" type="slide" axis="1 0 0"/>
  <geom type="box" size="0.01 0.01 0.01" mass="0.3"/><site name="block"/></body></worldbody>
<equality><connect site1="rod_end" site2="block" solref="0.004 1" solimp="0.999 0.9999 0.0001"/>
</equality>
<actuator><position joint="slider" kp="2000" kv="60"/></actuator></mujoco>"""

CRANK = (
    '<transmission name="crank"><plugin>transmission_bridge/CrankSliderTransmission</plugin>'
    '<param name="crank_radius">0.06</param><param name="rod_length">0.2</param>'
    '<param name="offset">0.01</param><param name="crank_angle">1.2</param>'
    '<param name="stroke_at_zero">0.215</param>'
    '<actuator name="cylinder" role="actuator1"/><joint name="knee" role="joint1"/></transmission>'
)


def mujoco_crank_slider(seed: int) -> Sample:
    """Return a crank that a slider on a guide turns by a rod; its radius, rod and zero differ."""
    import mujoco

    random = np.random.default_rng([seed, 78])
    crank = 0.06 * (1.0 + random.normal(0.0, 0.01))
    rod = 0.2 * (1.0 + random.normal(0.0, 0.01))
    guide, angle = 0.01, 1.2
    tip = crank * np.array([np.cos(angle), np.sin(angle)])
    stroke = tip[0] + np.sqrt(rod**2 - (tip[1] - guide) ** 2)
    model = mujoco.MjModel.from_xml_string(
        _CRANK.format(
            tip_x=tip[0], tip_y=tip[1], rod_x=stroke - tip[0], rod_y=guide - tip[1],
            stroke=stroke, guide=guide,
        )
    )  # fmt: skip
    data = mujoco.MjData(model)
    speed, phase = random.uniform(0.5, 2.5, 3), random.uniform(0.0, 2.0 * np.pi, 3)
    start = 0.011 * np.sin(phase).sum()
    zero = 0.215 + random.normal(0.0, 0.002)
    offset = random.normal(0.0, 0.05)
    slider, knee = np.empty(ROWS), np.empty(ROWS)
    for row in range(ROWS):
        for tick in range(10):
            now = row * STEP + tick * 0.002
            data.ctrl[0] = 0.011 * np.sin(now * speed + phase).sum() - start
            mujoco.mj_step(model, data)
        slider[row], knee[row] = data.joint('slider').qpos[0], data.joint('crank').qpos[0]
    noise = 10.0 ** random.uniform(-3.5, -2.7)
    return Sample(
        robot(CRANK, 'knee'),
        np.arange(ROWS) * STEP,
        {'cylinder': stroke + slider - zero},
        {'knee': knee + offset + random.normal(0.0, noise, ROWS)},
        {
            'crank.crank_radius': crank,
            'crank.rod_length': rod,
            'crank.stroke_at_zero': zero,
            'crank.joints.knee.offset': offset,
        },
        ('crank.actuators.*', 'crank.joints.*.mechanical_reduction', 'crank.crank_angle',
         'crank.offset'),
    )  # fmt: skip


_TENDON = """<mujoco><option timestep="0.002" integrator="implicitfast"/>
<default><geom contype="0" conaffinity="0"/></default><worldbody>
<body><joint name="motor" type="hinge" axis="0 1 0" damping="0.002" armature="0.00002"/>
  <geom type="cylinder" size="0.01 0.01" mass="0.05"/></body>
<body><joint name="elbow" type="hinge" axis="0 1 0" damping="0.02" frictionloss="{friction}"/>
  <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.02" mass="0.5"/></body></worldbody>
<tendon><fixed name="cable" stiffness="{stiffness}" damping="40" springlength="0">
  <joint joint="motor" coef="{small}"/><joint joint="elbow" coef="-{large}"/></fixed></tendon>
<actuator><position joint="motor" kp="20" kv="0.2"/></actuator></mujoco>"""


def mujoco_tendon(seed: int) -> Sample:
    """Return an arm that hangs on an elastic cable, with dry friction in its bearing."""
    import mujoco

    random = np.random.default_rng([seed, 79])
    axis = _axis(seed)
    large = 0.04
    reduction = 8.0 * (1.0 + random.normal(0.0, 0.03))
    model = mujoco.MjModel.from_xml_string(
        _TENDON.format(
            friction=random.uniform(0.05, 0.3), stiffness=10.0 ** random.uniform(4.0, 5.0),
            small=large / reduction, large=large,
        )
    )  # fmt: skip
    data = mujoco.MjData(model)
    motor, elbow = np.empty(ROWS), np.empty(ROWS)
    begin = axis.motion(np.zeros(1))[0]
    for row in range(ROWS):
        for tick in range(10):
            now = np.array([row * STEP + tick * 0.002])
            data.ctrl[0] = reduction * (axis.motion(now)[0] - begin * np.exp(-3.0 * now[0]))
            mujoco.mj_step(model, data)
        motor[row], elbow[row] = data.joint('motor').qpos[0], data.joint('elbow').qpos[0]
    return Sample(
        robot(gear('gear', 'pan_motor', 'pan', 8.0), 'pan'),
        np.arange(ROWS) * STEP,
        {'pan_motor': motor},
        {'pan': elbow + axis.offset + random.normal(0.0, axis.noise, ROWS)},
        {
            'gear.joints.pan.mechanical_reduction': reduction,
            'gear.joints.pan.offset': axis.offset,
        },
    )
