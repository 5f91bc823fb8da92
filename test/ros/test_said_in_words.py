# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A mistake of a user is reported soon: in the log once, in diagnostics as long as it lasts."""

from __future__ import annotations

import re
import time

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytestmark = pytest.mark.ros

OK, WARN, ERROR = b'\x00', b'\x01', b'\x02'

#: Seconds until a mistake is reported.
SOON = 3.0

MAIN = 'transmission_bridge.ros.bridge_main'
LIFT = 'transmissions.hoist.joints.lift'


class Witness:
    """
    A bridge as a process, and what it says of itself.

    :param peer: Receives its diagnostics.
    :param process: The bridge.
    :param name: Its fully qualified name.
    """

    def __init__(self, peer, process, name):
        from diagnostic_msgs.msg import DiagnosticArray

        self.peer, self.process, self.name = peer, process, name
        self.statuses = []
        peer.node.create_subscription(DiagnosticArray, '/diagnostics', self._take, 100)
        peer.spin_until(self._is_there, f'{name} in the graph')
        self.known = time.monotonic()

    def _is_there(self):
        return self.name in (
            f'{namespace.rstrip("/")}/{name}'
            for name, namespace in self.peer.node.get_node_names_and_namespaces()
        )

    def _take(self, message):
        self.statuses += [
            each for each in message.status if each.name == f'{self.name[1:]}: life cycle'
        ]

    def life(self, *words, level, since=None):
        """Return the seconds until the life cycle is of this level, with these words in it."""
        since = self.known if since is None else since
        del self.statuses[:]

        def said():
            return any(
                each.level == level and all(word in each.message for word in words)
                for each in self.statuses
            )

        try:
            self.peer.spin_until(said, f'{words} in the life cycle')
        finally:
            print([(each.level, each.message) for each in self.statuses])
        elapsed = time.monotonic() - since
        print(f'said after {elapsed:.2f} s: {words}')
        return elapsed

    def becomes_active(self):
        """Return when it is active."""
        self.peer.spin_until(lambda: self.peer.state(self.name) == 'active', 'the start')

    def logged(self, *words, severity):
        """Return how many lines of the log are of this severity and hold these words."""
        return sum(
            line.startswith(f'[{severity}]') and all(word in line for word in words)
            for line in self.process.output.splitlines()
        )


@pytest.fixture
def witness(harness, start_process):
    """Start a bridge with these arguments; return a :class:`Witness`."""
    peers = []

    def start(*args, name='/transmission_bridge'):
        peers.append(harness.Peer())
        return Witness(peers[-1], start_process(MAIN, *args), name)

    yield start
    for peer in peers:
        peer.destroy()


@pytest.fixture
def urdf(tmp_path, reference):
    """Return a function that writes a description to a file, by default of the reference robot."""

    def write(text=reference.URDF, name='robot.urdf'):
        path = tmp_path / name
        path.write_text(text, encoding='utf-8')
        return path

    return write


# -- starting ------------------------------------------------------------------------------------


def test_autostart_forgotten(witness, urdf):
    """A bridge that was never started explains how; a bridge stopped on purpose does not."""
    name = '/left/arm'
    bridge = witness(
        '--urdf', urdf(), '--ros-args', '-r', '__ns:=/left', '-r', '__node:=arm', name=name
    )
    configure, activate = (
        f'ros2 lifecycle set {name} {step}' for step in ('configure', 'activate')
    )
    assert bridge.life(configure, activate, 'autostart:=true', level=WARN) <= SOON
    bridge.process.wait_for('nothing has started the bridge')
    assert time.monotonic() - bridge.known <= SOON
    assert bridge.peer.change_state('configure', name)
    since = time.monotonic()
    assert bridge.life('inactive', activate, 'autostart:=true', level=WARN, since=since) <= SOON
    bridge.life('inactive', level=WARN)
    bridge.life('inactive', level=WARN)
    assert bridge.logged(configure, activate, severity='WARN') == 1
    assert bridge.peer.change_state('activate', name)
    bridge.life('active', level=OK)
    for transition, state in (('deactivate', 'inactive'), ('cleanup', 'unconfigured')):
        assert bridge.peer.change_state(transition, name)
        bridge.life(state, level=OK)
    assert bridge.process.stop() == 0
    # The whole trouble is one.
    assert bridge.logged('nothing has started', severity='WARN') == 1


def test_the_start_line(witness, urdf):
    """The log has the active state and the names of the topics after remapping."""
    bridge = witness(
        *('--urdf', urdf(), '--ros-args', '-p', 'autostart:=true', '-r', '__ns:=/left'),
        *('-r', 'actuator_states:=/motors/states', '-p', 'command_joints:=[lift]'),
        name='/left/transmission_bridge',
    )
    bridge.process.wait_for('active: subscribes to ')
    (line,) = (each for each in bridge.process.output.splitlines() if 'active: ' in each)
    listens, publishes = line.partition('subscribes to ')[2].split('; publishes ')
    assert set(listens.split(', ')) >= {
        '/motors/states',
        '/left/joint_commands',
        '/left/position_commands',
        '/left/joint_trajectory',
    }
    assert set(publishes.split(', ')) >= {'/left/joint_states', '/left/actuator_commands'}


#: rclpy's own report of an incompatible peer uses a method that rclpy has deprecated.
@pytest.mark.filterwarnings('ignore:Deprecated in favor of:DeprecationWarning')
def test_no_description(witness, harness, reference):
    """A bridge without a description reports its topic, other publishers, and what to do."""
    bridge = witness('--ros-args', '-p', 'autostart:=true')
    elsewhere = bridge.peer.latch(reference.URDF, '/left/robot_description')
    assert bridge.life('topic /robot_description has 0 publishers', level=WARN) <= SOON
    bridge.process.wait_for('no robot_description yet')
    assert time.monotonic() - bridge.known <= SOON
    words = ('other topics: /left/robot_description', '--urdf FILE', 'robot_description_file')
    bridge.life(*words, 'parameter robot_description', level=WARN)
    # Not latched: it came before the bridge, or does not fit.
    volatile = bridge.peer.node.create_publisher(
        elsewhere.msg_type, 'robot_description', harness.RELIABLE
    )
    bridge.life('1 publisher with incompatible quality of service: ', 'peer', level=WARN)
    bridge.peer.node.destroy_publisher(volatile)
    publisher = bridge.peer.latch('')
    bridge.life('the message on topic /robot_description is empty', level=WARN)
    publisher.publish(publisher.msg_type(data=reference.URDF))
    bridge.life('active', level=OK)
    assert bridge.process.stop() == 0
    assert bridge.logged('no robot_description yet', severity='WARN') == 1
    assert bridge.logged('the received robot_description is empty', severity='WARN') == 1


def test_failed_configure(witness, harness, reference, tmp_path):
    """Why configuring failed is an error in diagnostics until it succeeds."""
    broken = reference.URDF.replace('</ros2_control>', '')
    path = harness.parameter_file(
        tmp_path / 'bridge.yaml', {'robot_description': harness.quoted(broken)}
    )
    bridge = witness('--ros-args', '--params-file', path, '-p', 'autostart:=true')
    words = ('unconfigured', 'configure failed', 'not well-formed')
    assert bridge.life(*words, level=ERROR) <= SOON
    assert bridge.life(*words, level=ERROR) > 0.0
    assert bridge.peer.set_parameters({'robot_description': reference.URDF}).successful
    bridge.life('active', level=OK)
    assert bridge.logged('configure failed', severity='ERROR') == 1


def test_failed_activation(peer, make_bridge, reference, monkeypatch):
    """The reason of a failed activation is reported until it succeeds, for mistakes and bugs."""
    from transmission_bridge.bridge.diagnostics import judge_part
    from transmission_bridge.errors import ParameterError
    from transmission_bridge.ros.peers import Graph
    from transmission_bridge.ros.session import BridgeSession

    node = make_bridge({'robot_description': reference.URDF})

    def life():
        status = judge_part(node._diagnostics._collect_life_cycle(node._session, Graph(node)))
        return bytes([status.level]), status.message

    assert peer.change_state('configure')
    for error in (ParameterError('a mistake'), ZeroDivisionError('a bug')):

        def fail(session, error=error):
            raise error

        with monkeypatch.context() as patch:
            patch.setattr(BridgeSession, 'open_session', fail)
            assert not peer.change_state('activate')
        level, words = life()
        assert level == ERROR
        assert 'activate' in words
        assert str(error) in words
    peer.start()
    assert life() == (OK, 'active')


# -- descriptions --------------------------------------------------------------------------------


@pytest.mark.parametrize('text', ['/tmp/robot.urdf', 'my robots/robot.urdf.xacro', '~/robot'])
def test_a_path_for_a_text(witness, text):
    """A path instead of a description is recognised, and the options for paths are named."""
    bridge = witness('--ros-args', '-p', f'robot_description:={text!r}', '-p', 'autostart:=true')
    words = ('this is a path', '--urdf FILE', 'robot_description_file:=FILE', text)
    assert bridge.life('configure failed', *words, level=ERROR) <= SOON
    assert bridge.process.stop() == 0
    assert bridge.logged('configure failed', *words, severity='ERROR') == 1


def test_nothing_but_blanks(witness):
    """A description of blanks is empty, not a file's name."""
    bridge = witness('--ros-args', '-p', "robot_description:=' '", '-p', 'autostart:=true')
    assert bridge.life('the robot description is empty', level=ERROR) <= SOON


XACRO = """<robot name="quad" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:include filename="legs.xacro"/>
  <link name="base"/><link name="leg"/>
  <joint name="hip" type="continuous"><parent link="base"/><child link="leg"/></joint>
  <ros2_control name="hardware" type="system">
    <hardware><plugin>quad/Hardware</plugin></hardware>
    <joint name="hip"><command_interface name="position"/></joint>
    <xacro:quad_transmissions/>
  </ros2_control>
</robot>
"""


def test_unexpanded_xacro(witness, urdf):
    """If every transmission is a macro, no joint runs at 1:1, and the reason is reported."""
    bridge = witness('--urdf', urdf(XACRO), '--ros-args', '-p', 'autostart:=true')
    words = ('unexpanded xacro', 'the output of "xacro FILE"', '<xacro:include> and 1 ')
    assert bridge.life('configure failed', *words, level=ERROR) <= SOON
    assert bridge.process.stop() == 0
    assert 'unknown element' not in bridge.process.output
    assert 'actuator_names' not in bridge.process.output


def test_a_number_left_to_xacro(witness, urdf):
    """If a number is an expression, the error is about xacro, not about its format."""
    drive = """<transmission name="t">
      <plugin>transmission_interface/SimpleTransmission</plugin>
      <joint name="hip" role="joint1"><mechanical_reduction>${gear}</mechanical_reduction></joint>
      <actuator name="motor" role="actuator1"/>
    </transmission>"""
    text = XACRO.replace('<xacro:include filename="legs.xacro"/>', '')
    text = text.replace('<xacro:quad_transmissions/>', drive)
    bridge = witness('--urdf', urdf(text), '--ros-args', '-p', 'autostart:=true')
    words = ('xacro was not run, give the output of "xacro FILE"', "found '${gear}'")
    assert bridge.life('configure failed', *words, level=ERROR) <= SOON
    assert bridge.process.stop() == 0
    assert 'decimal number' not in bridge.process.output


# -- names and numbers ---------------------------------------------------------------------------


SLIDE = """
    <joint name="slide"><command_interface name="position"/></joint>
    <transmission name="rail">
      <plugin>transmission_interface/SimpleTransmission</plugin>
      <joint name="slide" role="joint1"><mechanical_reduction>0</mechanical_reduction></joint>
      <actuator name="slide_motor" role="actuator1"/>
    </transmission>
  </ros2_control>
  <link name="l_slide"/>
  <joint name="slide" type="continuous"><parent link="base"/><child link="l_slide"/></joint>
"""
REFUSED = "its transmission 'rail' was rejected"


@pytest.fixture
def with_slide(reference):
    """Return the reference robot with one more transmission, which is refused."""
    return reference.URDF.replace('</ros2_control>', SLIDE)


def test_a_motor_of_a_refused_transmission(witness, urdf, with_slide, reference):
    """A driver's name for it, and its wrap period, are warned of, and cost no other motor."""
    bridge = witness(
        *('--urdf', urdf(with_slide), '--ros-args', '-p', 'autostart:=true'),
        *('-p', 'actuator_names:=[M1=left, M2=right, M3=slide_motor, M4=slide_motor]'),
        *('-p', 'wrap_period:=["slide_motor=6.28", "left=6.28"]'),
        *('-p', 'unknown_turn:=first'),
    )
    bridge.becomes_active()
    driver, joints = bridge.peer.publisher('actuator_states'), bridge.peer.listen('joint_states')
    message = reference.Message(('M1', 'M2', 'M3', 'finger'), position=(0.1, 0.2, 0.3, 0.4))
    (state,) = bridge.peer.exchange(driver, message, joints)
    assert set(state.names) == {'finger', 'roll', 'pitch'}
    assert bridge.process.stop() == 0
    for option in ('actuator_names', 'wrap_period'):
        words = f"{option}: 'slide_motor' is left out, {REFUSED}"
        assert bridge.logged(words, severity='WARN') == 1


def test_a_driver_of_refused_motors_only(witness, urdf, with_slide, reference):
    """A driver of only these actuators is told the reason, without the advice to rename them."""
    bridge = witness('--urdf', urdf(with_slide), '--ros-args', '-p', 'autostart:=true')
    bridge.becomes_active()
    driver = bridge.peer.publisher('actuator_states')

    def is_said():
        bridge.peer.send(driver, reference.Message(('slide_motor',), position=(0.3,)))
        said = f"no name is bridged: 'slide_motor' ({REFUSED})"
        return said in bridge.process.output

    bridge.peer.spin_until(is_said, 'the refusal')
    assert bridge.process.stop() == 0
    assert 'the parameter actuator_names' not in bridge.process.output


@pytest.mark.parametrize(
    ('parameter', 'words'),
    [
        (
            'actuator_names:=[M1=slide_moter]',
            "actuator_names: unknown actuator 'slide_moter' (closest: 'slide_motor'), known",
        ),
        ('actuator_names:=[M1=wnich]', "unknown actuator 'wnich' (closest: 'winch'), known: "),
        ('wrap_period:=["lefft=6.28"]', "wrap_period: unknown actuator 'lefft' (closest: 'left')"),
        (
            'command_joints:=[lift, slide]',
            f"'slide' is not a joint that may be commanded, {REFUSED}",
        ),
        ('command_joints:=[lft]', "'lft' is not a joint that may be commanded (closest: 'lift')"),
        ('command_actuators:=[slide_motor]', f'is not an actuator of the robot, {REFUSED}'),
    ],
)
def test_names_that_cannot_be(witness, urdf, with_slide, parameter, words):
    """
    A name that is nowhere is an error with the closest known; so is one missing in an array.

    The array is in a fixed order, in which nobody could be left out.
    """
    bridge = witness(
        *('--urdf', urdf(with_slide), '--ros-args', '-p', 'autostart:=true', '-p', parameter)
    )
    assert bridge.life('configure failed', words, level=ERROR) <= SOON


def test_parameter_file_of_another_urdf(witness, harness, urdf, with_slide, tmp_path):
    """Numbers of the file that differ from the URDF are reported, and unmatched names."""
    path = harness.parameter_file(
        tmp_path / 'bridge.yaml',
        {
            f'{LIFT}.mechanical_reduction': '-60.0',
            f'{LIFT}.offset': '0.3',
            'transmissions.wrist.joints.roll.offset': '0.25',
            'transmissions.wrist.joints.rol.offset': '0.2',
            'transmissions.rail.joints.slide.offset': '0.1',
            'state_timeot': '1.0',
            'xyz': '1.0',
        },
    )
    bridge = witness(
        *('--urdf', urdf(with_slide), '--ros-args', '--params-file', path),
        *('-p', 'autostart:=true'),
    )
    bridge.becomes_active()
    assert bridge.process.stop() == 0
    told = (
        '2 numbers of the parameter file differ from the URDF: '
        'hoist.joints.lift.mechanical_reduction -60 (URDF -4), '
        'wrist.joints.roll.offset 0.25 (URDF 0.1)'
    )
    assert bridge.logged(told, severity='INFO') == 1
    roll = "'transmissions.wrist.joints.roll.offset'"
    for name, hint in (
        ('transmissions.wrist.joints.rol.offset', f' (closest: {roll})'),
        ('transmissions.rail.joints.slide.offset', ", because transmission 'rail' is rejected"),
        ('state_timeot', " (closest: 'state_timeout')"),
        ('xyz', ''),
    ):
        words = f"parameter file: '{name}' matches no parameter{hint}"
        assert any(
            line.startswith('[WARN]') and line.endswith(words)
            for line in bridge.process.output.splitlines()
        ), name
    assert bridge.logged('matches no parameter', severity='WARN') == 4


def test_a_misspelt_autostart(witness, harness, urdf, tmp_path):
    """A misspelt parameter that prevents the start is reported at once."""
    path = harness.parameter_file(tmp_path / 'bridge.yaml', {'autostrt': 'true', f'{LIFT}.x': '1'})
    bridge = witness('--urdf', urdf(), '--ros-args', '--params-file', path)
    bridge.process.wait_for("'autostrt' matches no parameter (closest: 'autostart')")
    assert time.monotonic() - bridge.known <= SOON
    assert 'lift.x' not in bridge.process.output
    assert bridge.peer.change_state('configure')
    bridge.process.wait_for(f"'{LIFT}.x' matches no parameter")
    assert bridge.process.stop() == 0
    assert bridge.logged('matches no parameter', severity='WARN') == 2


def test_many_numbers_of_another_urdf(peer, make_bridge, reference, capfd):
    """Of many numbers the first are reported; without numbers nothing is."""
    names = [
        f'transmissions.{name}.offset'
        for name in ('hoist.joints.lift', 'gauge.joints.dial', 'wrist.joints.roll')
    ] + [
        f'transmissions.{name}'
        for name in (
            *('wrist.joints.pitch.offset', 'arm.joints.elbow.offset'),
            *('arm.joints.shoulder.offset', 'arm.actuators.hip.mechanical_reduction'),
        )
    ]
    make_bridge({'robot_description': reference.URDF, **dict.fromkeys(names, 0.75)})
    assert peer.change_state('configure')
    (line,) = (each for each in capfd.readouterr().err.splitlines() if 'differ' in each)
    assert '7 numbers of the parameter file' in line
    assert line.count('(URDF ') == 5
    assert line.endswith(' and 2 more')
    assert peer.change_state('cleanup')
    # Values set since the start and values equal to the URDF are not reported.
    make_bridge({'robot_description': reference.URDF, names[0]: 0.3}, namespace='equal')
    assert peer.change_state('configure', '/equal/transmission_bridge')
    assert 'differ' not in capfd.readouterr().err


# -- messages ------------------------------------------------------------------------------------


def test_unknown_joints(witness, urdf, reference):
    """Each unknown joint is named with the closest known, whoever else is unknown."""
    bridge = witness('--urdf', urdf(), '--ros-args', '-p', 'autostart:=true')
    bridge.becomes_active()
    controller = bridge.peer.publisher('joint_commands')
    since = time.monotonic()
    for name, hint in (
        ('rolll', " (closest: 'roll')"),
        ('Elbow', " (closest: 'elbow')"),
        ('zzz', ''),
    ):
        for _ in range(3):
            bridge.peer.send(controller, reference.Message((name,), position=(0.1,)))
        words = f"joint_commands: the robot has no joint '{name}'{hint}; nothing was moved"
        bridge.process.wait_for(words)
    assert time.monotonic() - since <= SOON
    wrong = reference.Message(('liftt', 'x1', 'x2', 'x3', 'x4'), position=(0.1,) * 5)
    bridge.peer.send(controller, wrong)
    bridge.process.wait_for("no joint 'liftt' (closest: 'lift'), 'x1', 'x2' and 2 more; nothing")
    assert bridge.process.stop() == 0
    assert bridge.logged("'rolll'", severity='WARN') == 1


def test_ever_other_unknown_joints(witness, urdf, reference):
    """A sender of ever other names does not flood the log."""
    bridge = witness('--urdf', urdf(), '--ros-args', '-p', 'autostart:=true')
    bridge.becomes_active()
    controller = bridge.peer.publisher('joint_commands')
    begin = time.monotonic()
    for number in range(300):
        name = f'joint_{number}'
        bridge.peer.send(controller, reference.Message((name,), position=(0.1,)))
        bridge.peer.spin_until(lambda: True)
    told = 'the robot has no joint'
    bridge.peer.spin_until(lambda: bridge.logged(told, severity='WARN') >= 8, 'the refusals')
    # The last of all comes through, so that nothing is still on its way.
    actuators = bridge.peer.listen('actuator_commands')
    command = reference.Message(('lift',), velocity=(0.1,))
    bridge.peer.exchange(controller, command, actuators)
    periods = 1 + (time.monotonic() - begin) // 5.0
    assert bridge.process.stop() == 0
    assert bridge.logged(told, severity='WARN') <= 9 * periods


@pytest.mark.parametrize(
    ('names', 'values', 'words'),
    [
        (
            ('elbow', 'roll'),
            {'position': (0.1,)},
            "1 position value for 2 names ('elbow', 'roll'): give one per name, or none; message",
        ),
        (
            ('lift', 'finger'),
            {'velocity': (0.1, 0.2, 0.3)},
            "3 velocity values for 2 names ('lift', 'finger'): give one per name, or none",
        ),
        (
            ('lift', 'roll', 'finger'),
            {'position': (0.1,)},
            'give one per name, or none; or one for each joint that declares the position command '
            "interface ('lift', 'roll'); message dropped",
        ),
    ],
)
def test_ragged_commands(peer, active_bridge, reference, capfd, names, values, words):
    """For a command of the wrong length, the expected length and its joints are reported."""
    active_bridge()
    controller = peer.publisher('joint_commands')
    peer.send(controller, reference.Message(names, **values))
    output = ''

    def said():
        nonlocal output
        output += capfd.readouterr().err
        return 'joint_commands: ' in output

    peer.spin_until(said, 'the refusal', SOON)
    assert words in output


def test_zero_while_a_position_is_held(witness, urdf, reference):
    """The refusal names the commands that end the hold, and after these the service succeeds."""
    from std_srvs.srv import Trigger

    bridge = witness(
        *('--urdf', urdf(), '--ros-args', '-p', 'autostart:=true', '-p', 'zero_joints:=[lift]'),
    )
    bridge.becomes_active()
    peer, name = bridge.peer, bridge.name
    driver, joints = peer.publisher('actuator_states'), peer.listen('joint_states')
    state = reference.Message(('winch',), position=(1.0,))
    peer.exchange(driver, state, joints)
    command = reference.Message(('lift',), position=(0.1,))
    peer.exchange(peer.publisher('joint_commands'), command, peer.listen('actuator_commands'))
    answer = peer.call(Trigger, f'{name}/zero', Trigger.Request())
    assert not answer.success
    assert 'lift is holding a position command' in answer.message
    commands = re.findall(r'"ros2 (lifecycle set|service call) (\S+) ([^"]+)"', answer.message)
    assert commands == [
        ('lifecycle set', name, 'deactivate'),
        ('lifecycle set', name, 'activate'),
        ('service call', f'{name}/zero', 'std_srvs/srv/Trigger'),
    ]
    assert f'{name}/change_state' in answer.message
    assert 'transitions 4 and 3' in answer.message
    for transition in ('deactivate', 'activate'):
        assert peer.change_state(transition, name)
    peer.exchange(driver, state, joints)
    assert peer.call(Trigger, f'{name}/zero', Trigger.Request()).success
