# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A driver in turns, rpm and ampere, and one of a bare joint in degrees, over real DDS."""

from __future__ import annotations

import math

import numpy as np
import pytest

from transmission_bridge.messages.joint_state import JointStateRecord
from transmission_bridge.types import EMPTY

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = pytest.mark.ros

UNITS = """<param name="position_unit">turn</param><param name="velocity_unit">rpm</param>
<param name="effort_unit">A</param><param name="torque_constant">0.5</param>"""


@pytest.fixture
def urdf(robots, tmp_path):
    """Return a file with a joint behind a gear of 10, and one without a transmission."""
    file = tmp_path / 'robot.urdf'
    file.write_text(
        robots.urdf(
            ('arm', 'wheel'),
            f"""<transmission name="gear">
            <plugin>transmission_interface/SimpleTransmission</plugin>
            <actuator name="motor" role="actuator1">{UNITS}</actuator>
            <joint name="arm" role="joint1"><mechanical_reduction>10</mechanical_reduction></joint>
            </transmission>""",
        )
    )
    return file


@pytest.fixture
def system(harness, peer, urdf, tmp_path):
    """Start a bridge and a simulated driver, and wait for both."""
    parameters = {
        'autostart': 'true',
        'actuator_units': '["wheel=position_unit:deg"]',
        'tuning_guard': 'false',
    }
    file = harness.parameter_file(tmp_path / 'bridge.yaml', parameters)
    processes = [
        harness.Process(
            'transmission_bridge.ros.bridge_main',
            ['--urdf', urdf, '--ros-args', '--params-file', file],
        )
    ]
    try:
        peer.spin_until(lambda: peer.state() == 'active', 'an active bridge')
        processes.append(
            harness.Process('transmission_bridge.ros.simulated_driver_main', ['--urdf', urdf])
        )
        yield processes
    finally:
        for process in processes:
            process.clean_up()


def command(position=EMPTY, effort=EMPTY, second=7):
    """Return a command to the arm with a stamp."""
    return JointStateRecord((second, 0), '', ('arm',), np.array(position), EMPTY, np.array(effort))


def of(record, field, name):
    """Return a number of a message, NaN if it is missing."""
    values = dict(zip(record.names, getattr(record, field), strict=False))
    return float(values.get(name, math.nan))


def test_a_motion_in_the_units_of_the_drivers(system, peer):
    """The joint arrives in rad, its motor in turns; a torque constant that is set holds next."""
    from diagnostic_msgs.msg import DiagnosticArray

    said = {}
    peer.node.create_subscription(
        DiagnosticArray,
        '/diagnostics',
        lambda message: said.update((each.name, each) for each in message.status),
        10,
    )
    motors, joints = peer.listen('actuator_states'), peer.listen('joint_states')
    sent = peer.listen('actuator_commands')
    controller = peer.publisher('joint_commands')
    (answer,) = peer.exchange(controller, command(position=[0.6]), sent)
    assert of(answer, 'position', 'motor') == pytest.approx(6.0 / math.tau)

    def has_arrived():
        peer.send(controller, command(position=[0.6]))
        return (
            motors
            and joints
            and abs(of(joints[-1], 'position', 'arm') - 0.6) < 1e-3
            and abs(of(motors[-1], 'position', 'motor') - 6.0 / math.tau) < 2e-3
        )

    peer.spin_until(has_arrived, 'the arm at 0.6 rad')
    # The driver of the wheel does not use degrees: it stands at zero.
    assert of(joints[-1], 'position', 'wheel') == 0.0
    constant = 'transmissions.gear.actuators.motor.torque_constant'
    for second, value in enumerate((0.5, 2.0), start=8):
        assert peer.set_parameters({constant: value}).successful
        (answer,) = peer.exchange(controller, command(effort=[3.0], second=second), sent)
        assert of(answer, 'effort', 'motor') == pytest.approx(3.0 / 10.0 / value)
    refused = peer.set_parameters({constant: 0.0})
    assert not refused.successful
    assert 'torque_constant' in refused.reason
    name = 'transmission_bridge: actuators'
    status = peer.spin_until(lambda: said.get(name), 'diagnostics')
    units = {each.key: each.value for each in status.values if each.key.startswith('units')}
    assert units == {'units motor': 'turn, rpm, A', 'units wheel': 'deg, deg/s, SI'}


def test_units_that_do_not_fit_fail_the_transition_with_a_sentence(harness, peer, urdf):
    """Configure fails; the error has the actuator and the allowed values."""
    process = harness.Process(
        'transmission_bridge.ros.bridge_main',
        ['--urdf', urdf, '--ros-args', '-p', 'actuator_units:=["wheel=position_unit:turns"]'],
    )
    try:
        assert not peer.change_state('configure')
        process.wait_for("actuator_units of 'wheel'")
        assert "closest: 'turn'" in process.output
        assert 'Traceback' not in process.output
    finally:
        process.clean_up()
