# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Source and use of the description, and handling of a malformed one."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = pytest.mark.ros

GEAR = """
    <transmission name="gear">
      <plugin>transmission_interface/SimpleTransmission</plugin>
      <actuator name="motor" role="actuator1"/>
      <joint name="hinge" role="joint1">
        <mechanical_reduction>{ratio}</mechanical_reduction>
      </joint>
    </transmission>
"""
ONE_JOINT = f"""<robot name="one">
  <link name="base"/><link name="tip"/>
  <joint name="hinge" type="continuous"><parent link="base"/><child link="tip"/></joint>
  <ros2_control name="h" type="system"><hardware><plugin>p/P</plugin></hardware>
    <joint name="hinge"><command_interface name="position"/></joint>{GEAR}  </ros2_control>
</robot>
"""
MENDED = ONE_JOINT.format(ratio='5.0')

#: Malformed texts, and the words of the log about them.
MALFORMED = {
    'not a number': (ONE_JOINT.format(ratio='fast'), ('line 10', 'transmission', "'fast'")),
    'zero ratio': (ONE_JOINT.format(ratio='0'), ('line 10', 'mechanical_reduction', 'zero')),
    'not well-formed': (MENDED.replace('</ros2_control>', ''), ('line 14', 'well-formed')),
    'another document': ('<html/>', ('line 1', '/html', 'robot')),
    'entities': ('<!DOCTYPE r [<!ENTITY a "b">]>' + MENDED, ('line 1', 'DOCTYPE')),
    'nothing to bridge': (
        '<robot name="bare"><link name="base"/></robot>',
        ('nothing to bridge',),
    ),
    'a path': ('/etc/hostname', ('not a robot description',)),
}


def hinge_of(peer, reference):
    """Return the position of the hinge in the bridge with the motor at 10."""
    driver, joints = peer.publisher('actuator_states'), peer.listen('joint_states')
    (state,) = peer.exchange(driver, reference.Message(('motor',), position=(10.0,)), joints)
    assert state.names == ('hinge',)
    return state.position[0]


class Output:
    """The log so far."""

    def __init__(self, capfd):
        self._capfd = capfd
        self._text = ''

    def count(self, text):
        """Return how often a text was logged."""
        self._text += self._capfd.readouterr().err
        return self._text.count(text)


@pytest.mark.parametrize(('text', 'words'), MALFORMED.values(), ids=MALFORMED)
def test_malformed(peer, reference, make_bridge, capfd, text, words):
    """Configure fails, the log names line and element; mended, the same node configures."""
    make_bridge({'robot_description': text})
    for _ in range(2):
        assert not peer.change_state('configure')
        assert peer.state() == 'unconfigured'
        output = capfd.readouterr().err
        assert 'configure failed' in output
        for word in words:
            assert word in output
        assert 'Traceback' not in output
    assert peer.set_parameters({'robot_description': MENDED}).successful
    peer.start()
    assert hinge_of(peer, reference) == 2.0


def test_malformed_part_costs_that_part(peer, reference, make_bridge, capfd):
    """One bad transmission is reported with its place and costs its own joints only."""
    text = reference.URDF.replace('>10.0<', '>ten<')
    line = 1 + text[: text.index('>ten<')].count('\n')
    make_bridge({'robot_description': text})
    peer.start()
    output = capfd.readouterr().err
    assert f'line {line}, ' in output
    driver, joints = peer.publisher('actuator_states'), peer.listen('joint_states')
    message = reference.Message(reference.ACTUATORS, position=(1.0,) * 6)
    (state,) = peer.exchange(driver, message, joints)
    assert set(state.names) == set(reference.JOINTS) - {'dial'}


def test_without_description(peer, reference, make_bridge, capfd):
    """Configure without a description fails with the reason; later it succeeds."""
    make_bridge()
    assert not peer.change_state('configure')
    output = capfd.readouterr().err
    assert 'configure failed' in output
    assert 'robot_description' in output
    peer.latch(MENDED)
    peer.spin_until(lambda: peer.change_state('configure'), 'configuring')
    assert peer.change_state('activate')
    assert hinge_of(peer, reference) == 2.0


def test_topic_published_before_the_node(peer, reference, make_bridge):
    """A latched description reaches a node that starts later, and autostart uses it."""
    peer.latch(MENDED)
    make_bridge({'autostart': True})
    peer.spin_until(lambda: peer.state() == 'active', 'the start')
    assert hinge_of(peer, reference) == 2.0


def test_late_topic(peer, reference, make_bridge, capfd):
    """With autostart a node reports that it waits, and starts when a description arrives."""
    make_bridge({'autostart': True})
    heard = Output(capfd)
    peer.spin_until(lambda: heard.count('waiting for a description'), 'the reminder')
    assert peer.state() == 'unconfigured'
    peer.latch(MENDED)
    peer.spin_until(lambda: peer.state() == 'active', 'the start')
    assert heard.count('waiting for a description') == 1, 'it waited for the next reminder'
    assert hinge_of(peer, reference) == 2.0


def test_mended_topic(peer, reference, make_bridge, capfd):
    """Under autostart a malformed description is reported, and a mended one starts the node."""
    make_bridge({'autostart': True})
    publisher = peer.latch(ONE_JOINT.format(ratio='0'))
    heard = Output(capfd)
    peer.spin_until(lambda: heard.count('configure failed'), 'the failure')
    assert heard.count('line 10')
    publisher.publish(publisher.msg_type(data=MENDED))
    peer.spin_until(lambda: peer.state() == 'active', 'the start')
    assert hinge_of(peer, reference) == 2.0


def test_parameter_set_late(peer, reference, make_bridge):
    """Under autostart a description that is set as a parameter starts the node."""
    make_bridge({'autostart': True})
    assert peer.set_parameters({'robot_description': MENDED}).successful
    peer.spin_until(lambda: peer.state() == 'active', 'the start')
    assert hinge_of(peer, reference) == 2.0


def test_parameter_wins_over_topic(peer, reference, make_bridge):
    """While the parameter is not empty the topic is not used."""
    peer.latch(ONE_JOINT.format(ratio='4.0'))
    node = make_bridge({'robot_description': MENDED})
    peer.spin_until(lambda: node._description._received, 'arrival of the description')
    peer.start()
    assert hinge_of(peer, reference) == 2.0
    assert peer.change_state('deactivate')
    assert peer.change_state('cleanup')
    assert peer.set_parameters({'robot_description': ''}).successful
    peer.start()
    assert hinge_of(peer, reference) == 2.5


def test_new_description_while_configured(peer, reference, make_bridge, capfd):
    """A description that arrives while configured is a warning, and used at the next configure."""
    publisher = peer.latch(MENDED)
    node = make_bridge({'autostart': True})
    peer.spin_until(lambda: peer.state() == 'active', 'the start')
    capfd.readouterr()
    for _ in range(2):  # the same text again is no news
        publisher.publish(publisher.msg_type(data=MENDED))
    publisher.publish(publisher.msg_type(data=ONE_JOINT.format(ratio='4.0')))
    peer.spin_until(lambda: '4.0' in node._description._received, 'arrival of the description')
    assert capfd.readouterr().err.count('another robot_description') == 1
    assert hinge_of(peer, reference) == 2.0
    for transition in ('deactivate', 'cleanup', 'configure', 'activate'):
        assert peer.change_state(transition)
    assert hinge_of(peer, reference) == 2.5


def test_tuned_value_that_a_new_description_cannot_have(peer, robots, make_bridge, capfd):
    """It is forgotten with a warning, the node configures, and what still fits is kept."""
    axis = 'transmissions.leg.offset'
    hinge = 'transmissions.gear.joints.hinge.offset'
    first, second = (
        robots.urdf(('hinge', 'knee'), GEAR.format(ratio='5.0') + robots.leg(distance=distance))
        for distance in (0.4, 0.2)
    )
    publisher = peer.latch(first)
    node = make_bridge({'autostart': True})
    peer.spin_until(lambda: peer.state() == 'active', 'the start')
    assert peer.set_parameters({axis: 0.3, hinge: 0.5}).successful
    publisher.publish(publisher.msg_type(data=second))
    peer.spin_until(lambda: '0.2' in node._description._received, 'arrival of the description')
    capfd.readouterr()
    for transition in ('deactivate', 'cleanup', 'configure', 'activate'):
        assert peer.change_state(transition)
    assert "no longer fit transmission 'leg' and are forgotten" in capfd.readouterr().err
    assert peer.parameters([axis, hinge]) == {axis: 0.0, hinge: 0.5}


@pytest.mark.parametrize('state', ['inactive', 'active'])
def test_parameter_refused_while_configured(peer, make_bridge, state):
    """The parameter can be set while unconfigured only; otherwise it is refused with a reason."""
    make_bridge({'robot_description': MENDED})
    assert peer.change_state('configure')
    if state == 'active':
        assert peer.change_state('activate')
    result = peer.set_parameters({'robot_description': ONE_JOINT.format(ratio='4.0')})
    assert not result.successful
    assert 'unconfigured' in result.reason
    assert peer.parameters(['robot_description'])['robot_description'] == MENDED


def test_a_path_on_the_topic_is_not_opened(peer, make_bridge, tmp_path, capfd):
    """A publisher of the topic cannot choose a file to read."""
    path = tmp_path / 'robot.urdf'
    path.write_text(MENDED, encoding='utf-8')
    node = make_bridge()
    peer.latch(str(path))
    peer.spin_until(lambda: node._description.urdf, 'arrival of the description')
    assert not peer.change_state('configure')
    assert 'not a robot description' in capfd.readouterr().err


def test_simulated_time_that_stands_still(peer, make_bridge):
    """Autostart does not wait for a clock without a publisher."""
    make_bridge({'autostart': True, 'use_sim_time': True, 'robot_description': MENDED})
    peer.spin_until(lambda: peer.state() == 'active', 'the start')
