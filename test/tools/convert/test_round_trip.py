# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``convert``, ``calibrate`` and ``export``, one after the other, as a user tunes a robot."""

from __future__ import annotations

import numpy as np
import pytest

import transmission_bridge as tb
from transmission_bridge.messages.cdr import JointStateReader, JointStateWriter
from transmission_bridge.resources import resource

pytest.importorskip('scipy')
yaml = pytest.importorskip('yaml', reason='PyYAML is not installed')

#: Of the differential and the linkage the first actuators' reductions are as described: only
#: products can be told.
KEPT = (
    'elbow_transmission.actuators.shoulder_lift_motor.mechanical_reduction',
    'wrist_transmission.actuators.wrist_left_motor.mechanical_reduction',
)

NOISE = 1e-3  # standard deviation of the absolute encoders [rad]


def recording(bags, folder, joint_names):
    """Record a motion exactly and as absolute encoders see it; return bag and exact positions."""
    time = np.arange(400) * 0.02
    exact = np.sin(np.multiply.outer(time, 1.0 + 0.3 * np.arange(len(joint_names)))) * 1.2
    seen = exact + np.random.default_rng(11).normal(0.0, NOISE, exact.shape)
    writer, topics = JointStateWriter(joint_names), {}
    for topic, positions in (('/exact', exact), ('/joint_absolute_positions', seen)):
        messages = []
        for row, values in enumerate(positions):
            writer.position[:], writer.velocity[:], writer.effort[:] = values, 0.0, 0.0
            stamp = bags.START + row * 20_000_000
            messages.append((stamp, writer.write_message(*divmod(stamp, 10**9))))
        topics[topic] = (bags.JOINT_STATE, messages)
    return bags.write(folder, topics), exact


def test_a_tuned_description_is_the_true_one(run, bags, tmp_path, numbers_of):
    """Motors from the true robot, numbers from motors and encoders, back into the file."""

    def done(*arguments) -> None:
        result = run(*arguments)
        assert (result.code, result.err) == (0, '')

    # Of a simple transmission ROS 1 reads the actuator's reduction.
    described = resource('urdf', 'arm_ros1.urdf')
    before = numbers_of(described.read_bytes())
    read = [name for name in before if name not in KEPT and 'limit' not in name]
    true = {
        name: before[name] + 0.06 if name.endswith('offset') else 1.02 * before[name]
        for name in read
    }
    (tmp_path / 'true.yaml').write_text(
        '/**:\n  ros__parameters:\n'
        + ''.join(f'    transmissions.{key}: {value!r}\n' for key, value in true.items())
    )
    real, tuned = tmp_path / 'true.urdf', tmp_path / 'tuned.urdf'
    done('export', described, '--params-file', tmp_path / 'true.yaml', '--output', real)
    assert numbers_of(real.read_bytes()) == before | true

    joint_names = tb.RobotTransmissions(tb.load_description(described)).joint_names
    source, exact = recording(bags, tmp_path / 'joints', joint_names)
    driven = tmp_path / 'driven.mcap'
    to_actuators = ('--to', 'actuator', '--topic', '/exact:/actuator_states')
    done('convert', real, source, driven, *to_actuators)
    options = ('--json', '--output', tmp_path / 'tuned.yaml')
    result = run('calibrate', described, driven, *options)
    assert result.code == 0
    # A node takes floats only.
    lines = (tmp_path / 'tuned.yaml').read_text().splitlines()
    written = [
        yaml.safe_load(line.partition(': ')[2])
        for line in lines
        if ': ' in line and line[0] != '#'
    ]
    assert [type(value) for value in written if value is not None] == [float] * len(true)
    done('export', described, '--params-file', tmp_path / 'tuned.yaml', '--output', tuned)

    estimated = {
        f'{each["name"]}.{parameter["name"]}': parameter
        for each in result.json['transmissions']
        for parameter in each['parameters']
        if parameter['estimated']
    }
    assert set(estimated) == set(true)
    after = numbers_of(tuned.read_bytes())
    for key, parameter in estimated.items():
        assert after[key] == parameter['value']
        low, high = parameter['interval']
        # Twice the interval: one in twenty true numbers is outside it, by its meaning.
        assert abs(after[key] - true[key]) < high - low < 0.01 * max(abs(true[key]), 0.1)
    assert after == before | {key: after[key] for key in true}

    # The exported description gives the motion of the joints back.
    done('convert', tuned, driven, tmp_path / 'back.mcap')
    reader = JointStateReader()
    told = bags.told(tmp_path / 'back.mcap', '/joint_states')
    back = [list(reader.read_message(data).position) for _, data in told]
    np.testing.assert_allclose(back, exact, atol=NOISE)
