# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Source and use of the description, and handling of a malformed one."""

import pytest
from zoo import elements

# rclpy's own report of an incompatible peer uses a method that rclpy has deprecated.
pytestmark = pytest.mark.filterwarnings('ignore:Deprecated in favor of:DeprecationWarning')


def gear(number):
    """Return the transmission of the hinge."""
    return elements.transmission('gear', 'Simple', {'hinge': elements.ratio(number)}, ['motor'])


MALFORMED, MENDED, FOUR = (elements.urdf(['hinge'], gear(each)) for each in ('fast', 5.0, 4.0))


def hinge_of(peer, reference):
    """Return the position of the hinge in the bridge with the motor at 10."""
    driver, joints = peer.publisher('actuator_states'), peer.listen('joint_states')
    (state,) = peer.exchange(driver, reference.Message(('motor',), position=(10.0,)), joints)
    assert state.names == ('hinge',)
    return state.position[0]


def test_malformed(peer, reference, make_bridge, diagnostics, log):
    """The log and diagnostics name the line; mended, the node starts itself."""
    make_bridge({'robot_description': MALFORMED, 'autostart': True})
    line = MALFORMED[: MALFORMED.index('fast')].count('\n') + 1
    words = (f'line {line}', 'transmission', "'fast'")
    diagnostics.said('life cycle', 'unconfigured', 'configure failed', *words, level=b'\x02')
    assert log('configure failed', *words) == 1
    assert log('Traceback') == 0
    assert not peer.change_state('configure')
    assert peer.set_parameters({'robot_description': MENDED}).successful
    diagnostics.said('life cycle', 'active', level=b'\x00')
    assert hinge_of(peer, reference) == 2.0


def test_no_description(peer, harness, reference, make_bridge, diagnostics, log):
    """A bridge without a description reports its topic, other publishers, and what to do."""
    rule = 'robot_description:=late_description'
    make_bridge({'autostart': True}, cli_args=['--ros-args', '-r', rule])
    elsewhere = peer.latch(reference.URDF, '/left/robot_description')
    words = ('other topics: /left/robot_description', '--urdf FILE', 'robot_description_file')
    for each in (('topic /late_description has 0 publishers',), words):
        diagnostics.said('life cycle', *each, level=b'\x01')
    # Not latched: it came before the bridge, or does not fit.
    volatile = peer.node.create_publisher(elsewhere.msg_type, 'late_description', harness.RELIABLE)
    words = ('1 publisher, incompatible: ', 'peer')
    diagnostics.said('life cycle', *words, level=b'\x01')
    peer.node.destroy_publisher(volatile)
    publisher = peer.latch('', 'late_description')
    words = 'the message on topic /late_description is empty'
    diagnostics.said('life cycle', words, level=b'\x01')
    publisher.publish(publisher.msg_type(data=reference.URDF))
    diagnostics.said('life cycle', 'active', level=b'\x00')
    assert log('WARN', 'no robot_description yet') == 1
    assert log('WARN', 'the received robot_description is empty') == 1


def test_parameter_and_topic(peer, reference, make_bridge, log, tmp_path):
    """The parameter wins, and is set while unconfigured only; a new text of the topic waits."""
    path = tmp_path / 'robot.urdf'
    path.write_text(MENDED, encoding='utf-8')
    publisher, node = peer.latch(str(path)), make_bridge()

    def publish(text):
        publisher.publish(publisher.msg_type(data=text))
        peer.spin_until(lambda: node._description._received == text, 'arrival')

    # A publisher of the topic cannot choose a file to read.
    peer.spin_until(lambda: node._description.urdf, 'arrival of the path')
    assert not peer.change_state('configure')
    assert log('not a robot description') > 0
    publish(FOUR)
    assert peer.set_parameters({'robot_description': MENDED}).successful
    for transition in ('configure', 'activate'):
        assert peer.change_state(transition)
        result = peer.set_parameters({'robot_description': FOUR})
        assert (result.successful, 'unconfigured' in result.reason) == (False, True)
    assert hinge_of(peer, reference) == 2.0
    peer.pass_through('deactivate', 'cleanup')
    assert peer.set_parameters({'robot_description': ''}).successful
    peer.start()
    assert hinge_of(peer, reference) == 2.5
    for text in (FOUR, FOUR, MENDED):  # the same text again is no news
        publish(text)
    peer.spin_until(lambda: log('another robot_description'), 'the log')
    assert log('another robot_description') == 1
    assert hinge_of(peer, reference) == 2.5
    peer.pass_through('deactivate', 'cleanup', 'configure', 'activate')
    assert hinge_of(peer, reference) == 2.0


def test_tuned_value_that_a_new_description_cannot_have(peer, make_bridge, capfd):
    """It is forgotten with a warning, the node configures, and what still fits is kept."""
    axis = 'transmissions.leg.offset'
    hinge = 'transmissions.gear.joints.hinge.offset'
    first, second = (
        elements.urdf(('hinge', 'knee'), gear(5.0) + elements.leg(distance=distance))
        for distance in (0.4, 0.2)
    )
    publisher = peer.latch(first)
    node = make_bridge({'autostart': True})
    peer.spin_until(lambda: peer.state() == 'active', 'the start')
    assert peer.set_parameters({axis: 0.3, hinge: 0.5}).successful
    publisher.publish(publisher.msg_type(data=second))
    peer.spin_until(lambda: '0.2' in node._description._received, 'arrival of the description')
    capfd.readouterr()
    peer.pass_through('deactivate', 'cleanup', 'configure', 'activate')
    assert "no longer fit transmission 'leg' and are forgotten" in capfd.readouterr().err
    assert peer.parameters([axis, hinge]) == {axis: 0.0, hinge: 0.5}
