# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The page as viser has its widgets, and input as viser hands it on, without a browser."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from html import unescape
import math
from pathlib import Path
import re
from types import SimpleNamespace

from moved_arm import GuidedHand, MovedArm, SERVOS as HAND_MOVED
import numpy as np
import pytest
from zoo.elements import load, transmission, urdf

from transmission_bridge.description import load_description
from transmission_bridge.resources import resource

pytest.importorskip('viser', reason='viser is not installed (extra tune)')

from transmission_bridge.tools.calibration.guide import HandGuide
from transmission_bridge.tools.tune.command import PageView
from transmission_bridge.tools.tune.model import TuneModel
from transmission_bridge.tools.tune.robots import TuneBridgeRobot, TuneFileRobot, TuneRobotState
from transmission_bridge.tools.tune.server import open_server, PageRequestGuard
from transmission_bridge.tools.tune.session import PageSettings, TuneSession
from transmission_bridge.tools.tune.shapes import MeshPackages

ARM = Path(resource('urdf', 'arm.urdf')).read_bytes()
SERVOS = Path(__file__).parents[3] / 'examples' / 'servo_arm' / 'servo_arm.urdf'
PAN = 'transmissions.shoulder_pan_transmission.joints.shoulder_pan'
REDUCTION, OFFSET = f'{PAN}.mechanical_reduction', f'{PAN}.offset'


class Page:
    """A page of a session: what it shows, and what its user does."""

    def __init__(self, session: TuneSession, server) -> None:
        self.session, self.robot = session, session.robot
        self._server, self._id = server, server.get_port()
        client = SimpleNamespace(gui=server.gui, client_id=self._id)
        server._connected_clients[self._id] = client
        session._views[self._id] = PageView(client, session)
        self.refresh()

    def refresh(self) -> None:
        """Do what was asked for, and show what has become of it."""
        for _ in range(2):
            self.session._numbers_due = 0.0
            self.session.update_pages()

    @property
    def _visible(self) -> list:
        containers = self._server.gui._container_handle_from_uuid.values()
        widgets = (widget for each in containers for widget in each._children.values())
        return [widget for widget in widgets if widget.visible]

    @property
    def text(self) -> str:
        """What is to be read, without its markup."""
        texts = '\n'.join(getattr(widget, 'content', '') for widget in self._visible)
        return unescape(re.sub('<[^>]*>', '', texts))

    @property
    def widgets(self) -> dict:
        """By label, and each button by its own; a slider without a label follows its field."""
        found, label = {}, ''
        for widget in self._visible:
            kind, own = type(widget).__name__, getattr(widget, 'label', '')
            label = own or label
            if own or kind == 'GuiSliderHandle':
                found[own or f'slider of {label}'] = widget
            if kind == 'GuiButtonGroupHandle':
                found |= dict.fromkeys(widget.options, widget)
        return found

    def send(self, name: str, **updates: object) -> None:
        """Send what a browser sends of a widget."""
        from viser._messages import GuiUpdateMessage

        message = GuiUpdateMessage(self.widgets[name]._impl.uuid, updates)
        handled = self._server.gui._handle_gui_updates(self._id, message)
        asyncio.run_coroutine_threadsafe(handled, self._server.get_event_loop()).result(10.0)
        self.refresh()

    def do(self, name: str, value: object = None) -> None:
        """Type a text, move a slider, choose an entry or press a button."""
        self.send(name, value=name if value is None else value)

    def find(self, *names: str) -> list[float]:
        """Return numbers of the robot."""
        return [self.robot.model.find_value(name) for name in names]


@pytest.fixture
def open_page(request):
    """Return a function that opens a page of a robot from a file, or another one of a session."""

    def open_one(data=ARM, output='', may_change=True, session=None, robot=None) -> Page:
        server = open_server(PageRequestGuard('127.0.0.1'), '127.0.0.1', 9400, 'test')
        request.addfinalizer(server.stop)
        if session is None:
            robot = robot or TuneFileRobot(data, load(data), {})
            settings = PageSettings(may_change, output, False, MeshPackages())
            session = TuneSession(server, robot, settings, PageView)
        return Page(session, server)

    return open_one


def command(page: Page, *joints: str) -> None:
    """Let joints be commanded, as those of a bridge can be."""
    robot, read = page.robot, type(page.robot).read_state
    held = np.array([name in joints for name in robot.model.robot.joint_names])
    robot.read_state = lambda: replace(read(robot), commanded=held)
    page.refresh()


def test_typed_numbers_are_previewed_and_set_together(open_page):
    """The page shows what would move and how far, before it does, and why it cannot."""
    page = open_page()
    page.do('offset [rad]', '0.55')
    assert 'would read 0.3000 rad more: 0.0000 rad → 0.3000 rad' in page.text
    page.do('reduction', '-101')
    assert 'shoulder_pan by shoulder_pan_motor turns the other way' in page.text
    assert page.find(OFFSET, REDUCTION) == [0.25, 101.0]
    for button, numbers in (('Apply', [0.55, -101.0]), ('Undo', [0.25, 101.0])):
        page.do(button)
        assert page.find(OFFSET, REDUCTION) == numbers
        assert page.widgets['offset [rad]'].value == repr(numbers[0])
    page.do('Undo')
    assert 'nothing to undo' in page.text
    # What is no number is not even sent; of one that cannot be, the reason is the robot's.
    page.do('reduction', 'ten')
    assert 'joints.shoulder_pan.mechanical_reduction: expected a decimal number' in page.text
    page.do('reduction', '0')
    assert 'expected a number other than zero, found 0.0' in page.text
    page.do('Apply')
    assert page.widgets['reduction'].value == '101'
    page.do('offset [rad]', '7')
    assert 'Apply' in page.widgets
    page.do('offset [rad]', '0.25')  # as it is
    assert 'Apply' not in page.widgets
    page.do('Discard')
    assert page.widgets['offset [rad]'].value == '0.25'


def test_a_slider_sets_its_number_at_once_unless_a_joint_is_commanded(open_page):
    """Then the page shows what would change, and Apply does it."""
    page = open_page()
    page.do('slider of offset [rad]', 1.57)
    assert page.find(OFFSET) == [1.57]
    command(page, 'shoulder_pan')
    page.do('slider of offset [rad]', 0.75)
    assert 'commanded now: shoulder_pan' in page.text
    assert 'Enter or Apply sets it.' in page.text
    assert page.find(OFFSET) == [1.57]
    page.do('Apply')
    assert page.find(OFFSET) == [0.75]


def test_actuators_are_shown_in_the_units_of_their_drivers(open_page):
    """As watch shows them; without units in SI."""
    page = open_page(SERVOS.read_bytes())
    assert 'tick, tick/s, SI' in page.text
    page.do('motor shoulder_pan_servo', 1024.0)
    assert '1024.0' in page.text
    assert page.robot.read_state().actuators[0][0] == pytest.approx(np.pi / 2.0)
    assert 'tick/s' not in open_page().text


@pytest.mark.parametrize(('button', 'asked', 'name', 'value'), [
    ('Zero here', 'Set the position of shoulder_pan?', OFFSET, -0.1),
    ('Is at', 'Set the position of shoulder_pan?', OFFSET, 0.4),
    ('Turns wrong', 'Reverse the direction of shoulder_pan?', REDUCTION, -101.0),
    ('As in the URDF', 'Set the numbers of shoulder_pan_transmission as in', OFFSET, 0.25),
])  # fmt: skip
def test_a_button_asks_and_does_it_when_it_is_confirmed(open_page, button, asked, name, value):
    """The question follows the robot and what others change; without an answer nothing does."""
    page = open_page()
    page.do('is at [rad]', '0.5')
    page.do('offset [rad]', '0.3')
    page.do('Apply')
    before = page.find(name)
    page.do(button)
    assert asked in page.text
    assert 'A changed number can move a joint with its next command.' in page.text
    page.do('Cancel')
    assert asked not in page.text
    page.do(button)
    assert page.find(name) == before
    page.robot.move_actuator(0, 10.1)  # after the question was shown
    page.do('Do it')
    assert page.find(name) == [pytest.approx(value)]
    assert 'done' in page.text
    assert asked not in page.text


def test_a_joint_is_set_only_by_a_number_and_while_it_is_free(open_page):
    """Else the page says why."""
    page = open_page()
    page.do('is at [rad]', 'ten')
    page.do('Is at')
    assert 'is at: expected a decimal number' in page.text
    command(page, 'shoulder_pan')
    page.do('Zero here')
    assert 'is holding a position command' in page.text
    assert 'Do it' not in page.widgets


def test_sliders_move_a_robot_of_a_file_and_degrees_change_them(open_page):
    """A number that was typed and not applied is converted."""
    page = open_page()
    assert 'From a file, without a robot: the sliders move it.' in page.text
    page.do('joint shoulder_pan', 1.5)
    assert page.robot.read_state().joints[0][0] == pytest.approx(1.5, abs=2e-3)
    radians = page.widgets['joint shoulder_pan'].max
    page.do('offset [rad]', '1')
    page.do('degrees', value=True)
    assert page.widgets['offset [°]'].value == f'{math.degrees(1.0):.10g}'
    page.do('Apply')
    assert page.find(OFFSET) == [pytest.approx(1.0)]
    assert page.widgets['joint shoulder_pan'].max == pytest.approx(math.degrees(radians))
    page.do('joint shoulder_pan', math.degrees(radians))
    assert '166.1' in page.text  # 2.9 rad, the limit of the joint
    assert page.robot.read_state().joints[0][0] == pytest.approx(radians)


def test_pages_show_what_others_change_and_keep_what_is_typed(open_page):
    """An error on one of them is printed, and neither ends it nor the other."""
    one = open_page()
    two = open_page(session=one.session)
    two.do('is at [rad]', '0.5')
    one.do('offset [rad]', '0.55')
    one.do('Apply')
    assert two.widgets['offset [rad]'].value == '0.55'
    # By another node, beyond the ends of its slider.
    one.robot.model.accept_values({REDUCTION: -500.0})
    one.refresh()
    for page in (one, two):
        assert page.widgets['reduction'].value == '-500'
    assert two.widgets['is at [rad]'].value == '0.5'
    (broken, _) = one.session._views.values()
    refresh, broken.refresh_widgets = broken.refresh_widgets, lambda: 1 / 0
    one.robot.model.accept_values({REDUCTION: 50.0})
    one.refresh()
    assert two.widgets['reduction'].value == '50'
    broken.refresh_widgets = refresh
    one.refresh()
    assert one.widgets['reduction'].value == '50'


def test_a_browser_sets_the_value_of_a_widget_and_nothing_else(open_page):
    """A field that it marks as removed would end whoever writes to it next."""
    page = open_page()
    for updates in ({'removed': True}, {'value': '2', 'removed': True}, {'props': None}, {}):
        page.send('offset [rad]', **updates)
        assert page.widgets['offset [rad]'].value == '0.25'
    page.send('offset [rad]', value='4')
    assert page.widgets['offset [rad]'].value == '4'


def test_numbers_that_a_bridge_lost_are_set_again_by_undo(open_page):
    """The page says that it has started again, until something else is done."""
    page = open_page()
    page.robot.model.accept_values({OFFSET: 0.55})
    page.robot.model.accept_restarted_bridge({OFFSET: 0.25}, 0.0)
    page.refresh()
    assert 'The bridge has started again' in page.text
    page.do('Undo')
    assert page.find(OFFSET) == [0.55]
    assert 'The bridge has started again' not in page.text


def test_what_is_written_was_shown_and_replaces_nothing(open_page, tmp_path):
    """Without later changes; a file that is there stays."""
    output = tmp_path / 'tuned.urdf'
    page = open_page(output=str(output))
    write = f'Write {output.name}'
    assert page.widgets[write].disabled
    assert 'nothing differs from the URDF' in page.text
    page.do('reduction', '-101')
    page.do('Apply')
    assert re.search(r'shoulder_pan\s*reduction\s*101\.0000\s*-101\.0000', page.text)
    assert '+        <mechanical_reduction>-101.0</mechanical_reduction>' in page.text
    page.robot.model.accept_values({OFFSET: 1.0})  # by another node, and not shown yet
    page.do(write)
    tuned = load(output.read_bytes()).tunables
    assert [each.value for each in tuned['shoulder_pan_transmission']][:2] == [-101.0, 0.25]
    page.do(write)
    assert 'already exists; --force replaces it' in page.text


def test_measured_stops_are_written_as_limits_if_the_user_asks(open_page, tmp_path):
    """They are rows of the table of changes, and not written into a parameter file."""
    output, button = tmp_path / 'tuned.urdf', 'Write the stops as <limit> too'
    page, yaml = (open_page(output=str(output.with_suffix(each))) for each in ('.urdf', '.yaml'))
    for each in (page, yaml):
        assert button not in each.widgets
        each.robot.stops = {'shoulder_pan': (-1.5, 1.25)}
        each.refresh()
    assert button not in yaml.widgets
    page.do(button, value=True)
    assert re.search(r'lower limit\s*rad\s*-2\.9000\s*-1\.5000', page.text)
    page.do(f'Write {output.name}')
    assert f'written: {output}' in page.text
    limits = load_description(output.read_bytes()).joint('shoulder_pan').limits
    assert (limits.lower, limits.upper) == (-1.5, 1.25)


class HandMoved(TuneBridgeRobot):
    """The robot of a bridge that answers at once, with an arm that a hand moves."""

    def __init__(self) -> None:
        self.arm = MovedArm(HAND_MOVED, np.random.default_rng(2), miss=0.0, flips=0.0)
        self.model = TuneModel(HAND_MOVED.encode(), self.arm.robot)
        self.visuals, self.bridge, self.n_starts = HAND_MOVED.encode(), '/bridge', 1
        self.calibration, self.stored, self.stops, self._receivers = None, '', {}, {}

    def spin_for(self, seconds: float) -> None:
        """End what was written."""
        if self.calibration is not None and self.calibration.written is not None:
            self._end_calibration(self.calibration)

    def begin_calibration(self) -> None:
        """Begin without topics."""
        self.calibration = HandGuide(self.arm.hand, {})

    def set_parameters(self, values, done, **_) -> None:
        """Answer at once."""
        self.model.accept_values(values)
        done('12 numbers in tuned.json', '')

    def follow_topics(self, receivers, **_) -> None:
        """Follow none."""

    def read_state(self) -> TuneRobotState:
        """Return a state at rest."""
        zeros = np.zeros((3, len(self.model.robot.joint_names)))
        return TuneRobotState(zeros, zeros, zeros[0], zeros[0], zeros[0] > 0.0, zeros[0] * np.nan)

    def describe_state(self) -> tuple[str, str]:
        """Return a sentence that is wider than the page."""
        return 'joints: ' + 'far beyond its limits ' * 20, 'care'


def test_a_calibration_keeps_its_widgets_and_says_what_was_done(open_page):
    """No step moves a button; after *Write* the page is done, or begins again."""
    page = open_page(robot=HandMoved())
    robot, begin = page.robot, page.widgets['Begin']
    page.do('Begin')
    assert page.widgets['The torque is off'] is begin
    page.do('The torque is off')
    hand = GuidedHand(robot.arm, robot.calibration)
    hand.press()
    page.refresh()
    write = page.widgets['Write 0 joints to the bridge']
    assert (begin.label, begin.disabled, write.disabled) == ('It moved that way', True, True)
    assert page.widgets['Start from here'].visible
    hand.run()
    page.refresh()
    assert page.widgets['Done'] is begin
    assert (begin.color, page.widgets['Calibrate again'].color) == ('green', 'gray')
    assert 'The bridge uses the new numbers' in page.text
    assert '12 numbers in tuned.json' in page.text
    assert 'The URDF still has the old numbers: tab Save' in page.text
    page.do('Done')
    assert begin.label == 'Begin'
    assert 'Calibrate again' not in page.widgets


def test_a_read_only_page_has_nothing_to_change(open_page):
    """Not even for who goes past its widgets."""
    page = open_page(may_change=False)
    assert 'Read-only page.' in page.text
    assert 'shoulder_pan_motor' in page.text
    shown = {'', 'Tune', 'Joints', 'Robot', 'Save', 'show', 'view', 'Reset view', 'degrees'}
    assert {*page.widgets} <= {*shown, 'Write the file'}
    answers = []
    page.session.apply_values({OFFSET: 1.0}, answers.append, lambda: answers.append('recorded'))
    assert answers == ['this page is read-only']
    assert page.find(OFFSET) == [0.25]


def test_of_very_many_joints_all_can_be_chosen_and_some_are_listed(open_page):
    """A name that cannot be one of parameters has no numbers to tune."""
    names = ['<b>', *(f'joint_{number}' for number in range(399))]
    escaped = ['j&lt;b&gt;', *names[1:]]
    text = ''.join(transmission(name, 'Simple', [name], [name]) for name in escaped)
    page = open_page(urdf(escaped, text).encode())
    assert 'Its numbers cannot be parameters' in page.text
    assert 'and 100 more' in page.text
    assert '400 joints, 400 transmissions' in page.text
    page.do('show', 'joint_394')
    page.do('offset [rad]', '0.5')
    page.do('Apply')
    assert page.find('transmissions.joint_394.joints.joint_394.offset') == [0.5]


@pytest.mark.parametrize(('options', 'may_change', 'words'), [
    ([], True, 'open http://127.0.0.1:'),
    (['--host', '127.0.0.1'], False, 'open http://127.0.0.1:'),
    (['--host', 'localhost'], False, 'everyone with this address can view the robot'),
    (['--host', 'localhost', '--allow-changes'], True, 'with this address can change the robot'),
])  # fmt: skip
def test_other_machines_may_look_only_unless_they_are_allowed_more(
    run, monkeypatch, options, may_change, words
):
    """The command says who can do what, and serves until Ctrl-C."""
    served = []

    def interrupt(session):
        served.append(session.settings.may_change)
        raise KeyboardInterrupt

    monkeypatch.setattr(TuneSession, 'run', interrupt)
    result = run('tune', resource('urdf', 'arm.urdf'), '--port', '9400', *options)
    assert (result.code, result.err, served) == (0, '', [may_change])
    assert words in result.out
    assert ('nothing is encrypted' in result.out) == ('localhost' in options)
    assert '\nCtrl-C ends\n' in result.out
