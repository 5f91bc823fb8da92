# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The page in a real browser, beside a real bridge."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
import http.server
import math
import os
from pathlib import Path
import re
import signal
import threading
import time
from xml.sax.saxutils import quoteattr

import pytest

from transmission_bridge.description import load_description
from transmission_bridge.transmissions import RobotTransmissions

pytestmark = [pytest.mark.ros, pytest.mark.pages]

PAN = 'shoulder_pan_transmission.joints.shoulder_pan'
ARM = Path(__file__).parents[3] / 'urdf' / 'arm.urdf'


def field(page, label: str):
    """Return the field beside a label."""
    return page.locator(f'xpath=//label[text()="{label}"]/ancestor::div[2]//input').first


def opened(serve, live_arm):
    """Return the page when it has heard of the bridge and of the driver."""
    page = serve().open()
    shows(page, f'{live_arm.positions["shoulder_pan_motor"]:.4f}')
    return page


def pause(page) -> None:
    """
    Wait as long as nobody is quicker, by the clock of the page.

    viser's page sends one message in 50 ms for each panel, and keeps the last one alone.
    """
    page.evaluate('() => new Promise(done => setTimeout(done, 150))')


def fill(page, label: str, text: str) -> None:
    """Type into a field."""
    field(page, label).fill(text)
    pause(page)


def shows(page, text: str) -> None:
    """Return when the page shows a text."""
    page.get_by_text(text).first.wait_for()


def has_value(page, label: str, wanted: str) -> None:
    """Return when a field has a value."""
    element = field(page, label).element_handle()
    page.wait_for_function('([e, v]) => e.isConnected && e.value === v', arg=[element, wanted])


def choose(page, text: str) -> None:
    """Choose the transmission that is found by a text."""
    field(page, 'show').fill(text)
    page.locator('[role=option]:visible', has_text=text).first.click()
    pause(page)


def press(page, name: str) -> None:
    """Press a button."""
    page.get_by_role('button', name=name, exact=True).click()
    pause(page)


def answer(page, wanted: str) -> None:
    """Answer a question with *Do it* when it says what was asked, and return when it is done."""
    shows(page, wanted)
    press(page, 'Do it')
    page.get_by_text('done', exact=True).wait_for()
    page.get_by_role('button', name='Do it', exact=True).wait_for(state='detached')


def enter(page, label: str, text: str) -> None:
    """Type a number, and press Enter."""
    fill(page, label, text)
    field(page, label).press('Enter')


def drag_offset(page, share: float) -> None:
    """Drag the slider of the offset to a share of its length."""
    # Where the robot is comes last, above the sliders.
    shows(page, '0.2500')
    track = page.locator('form .mantine-Slider-track').nth(1)
    # Waits until the panel has stopped growing.
    track.hover(trial=True)
    box = track.bounding_box()
    y = box['y'] + box['height'] / 2
    page.mouse.move(box['x'] + 0.54 * box['width'], y)
    page.mouse.down()
    page.mouse.move(box['x'] + share * box['width'], y, steps=4)
    page.mouse.up()


@pytest.mark.drawn
def test_the_page_of_a_file_loads_and_its_sliders_move_the_robot(serve):
    """Without ROS: actuators are sliders, and joints follow."""
    page = serve(ARM).open()
    shows(page, 'From a file, without a robot: the sliders move it.')
    track = page.locator('form .mantine-Slider-track').first.bounding_box()
    page.mouse.click(track['x'] + 0.9 * track['width'], track['y'] + track['height'] / 2)
    # From -2.9 to 2.9 rad.
    shows(page, re.compile(r'^2\.3'))
    # The slider of the joint, back to its middle, by the inverse.
    track = page.locator('form .mantine-Slider-track').nth(1).bounding_box()
    page.mouse.click(track['x'] + 0.5 * track['width'], track['y'] + track['height'] / 2)
    shows(page, re.compile(r'^-?0\.0'))
    # A click on the upper arm, once it is drawn, selects its joint.
    names = page.locator('form b')
    deadline = time.monotonic() + 60.0
    while names.all_inner_texts().count('shoulder_lift') == 0:
        assert time.monotonic() < deadline
        page.mouse.click(288, 346)
        pause(page)
    assert field(page, 'joint').input_value() == 'shoulder_lift'


def test_degrees_change_sliders_and_take_nothing_unseen_with_them(serve):
    """Numbers that were typed and not applied are gone where the fields are made anew."""
    page = serve(ARM).open()
    fill(page, 'offset [rad]', '1')
    thumb = page.locator('form .mantine-Slider-thumb').first
    radians = float(thumb.get_attribute('aria-valuemax'))
    page.get_by_role('tab', name='Robot').click()
    page.get_by_label('degrees').check()
    page.get_by_role('tab', name='Tune').click()
    has_value(page, 'offset [°]', f'{math.degrees(0.25):.10g}')
    degrees = float(thumb.get_attribute('aria-valuemax'))
    assert degrees == pytest.approx(math.degrees(radians), rel=1e-3)
    thumb.press('End')
    # 2.9 rad, the limit of the joint.
    shows(page, re.compile(r'^166\.1'))


def test_apply_and_the_whole_difference_are_seen_on_a_small_screen(serve, context, tmp_path):
    """Of 800 by 600 pixels; every line of the difference has its place on the page."""
    page = serve(ARM, '--output', tmp_path / 'tuned.urdf').open()
    page.set_viewport_size({'width': 800, 'height': 600})
    choose(page, 'wrist_roll')
    for place in range(page.get_by_text('offset [rad]', exact=True).count()):
        page.locator('//label[text()="offset [rad]"]/ancestor::div[2]//input').nth(place).fill('1')
        pause(page)
    page.locator('form').hover()
    page.mouse.wheel(0, -5000)
    shows(page, 'would read')
    box = page.get_by_role('button', name='Apply', exact=True).bounding_box()
    assert box['y'] + box['height'] <= 600.0
    press(page, 'Apply')
    page.get_by_text('done', exact=True).wait_for()
    for name in ('shoulder_pan', 'forearm', 'elbow'):
        choose(page, name)
        enter(page, 'offset [rad]', '0.9')
        page.get_by_text('done', exact=True).wait_for()
    page.get_by_role('tab', name='Save').click()
    press(page, 'Show difference')
    lines = page.locator('pre')
    lines.wait_for()
    assert lines.inner_text().count('\n') > 20
    assert lines.evaluate('e => e.scrollHeight <= e.clientHeight')


def test_numbers_are_dragged_or_typed_and_wait_for_enter_and_go_together(serve, live_arm):
    """The page shows what would move and how far, before it does, and why it does not."""
    page = opened(serve, live_arm)
    fill(page, 'offset [rad]', '0.55')
    fill(page, 'reduction', '-101')
    shows(page, 'would read 0.3000 rad more: 0.2500 rad → 0.5500 rad')
    shows(page, 'turns the other way')
    assert live_arm.value(f'{PAN}.offset') == 0.25
    field(page, 'reduction').press('Enter')
    live_arm.wait_for(f'{PAN}.offset', 0.55)
    assert live_arm.value(f'{PAN}.mechanical_reduction') == -101.0
    shows(page, '0.5500')
    press(page, 'Undo')
    live_arm.wait_for(f'{PAN}.offset', 0.25)
    assert live_arm.value(f'{PAN}.mechanical_reduction') == 101.0
    press(page, 'Redo')
    live_arm.wait_for(f'{PAN}.offset', 0.55)
    press(page, 'Undo')
    live_arm.wait_for(f'{PAN}.offset', 0.25)
    # What the bridge says is on the page; what is no number is not even sent.
    has_value(page, 'reduction', '101')
    fill(page, 'reduction', 'ten')
    shows(page, 'joints.shoulder_pan.mechanical_reduction: expected a decimal number')
    enter(page, 'reduction', '0')
    shows(page, 'expected a number other than zero, found 0.0')
    has_value(page, 'reduction', '101')
    assert live_arm.value(f'{PAN}.mechanical_reduction') == 101.0
    # While nothing is commanded, as it is dragged.
    drag_offset(page, 0.75)
    text = field(page, 'offset [rad]')
    page.wait_for_function('e => Number(e.value) > 1', arg=text.element_handle())
    page.wait_for_timeout(500)
    offset = float(text.input_value())
    assert math.isclose(offset, 0.5 * math.pi, abs_tol=0.05)
    live_arm.wait_for(f'{PAN}.offset', offset)


def test_zero_asks_and_is_where_the_robot_is_when_it_is_done(serve, live_arm, peer):
    """The question follows the robot and what others change; without an answer nothing does."""
    live_arm.positions['shoulder_pan_motor'] = 10.1
    page = opened(serve, live_arm)
    shows(page, '0.3500')
    press(page, 'Zero here')
    shows(page, 'would read 0.3500 rad less: 0.3500 rad → 0.0000 rad')
    shows(page, 'A changed number can move a joint with its next command.')
    press(page, 'Cancel')
    press(page, 'Zero here')
    shows(page, 'Set the position of shoulder_pan?')
    assert live_arm.value(f'{PAN}.offset') == 0.25
    live_arm.positions['shoulder_pan_motor'] = 60.6
    shows(page, 'would read 0.8500 rad less: 0.8500 rad → 0.0000 rad')
    assert peer.set_parameters({f'transmissions.{PAN}.offset': 0.5}).successful
    shows(page, 'joints.shoulder_pan.offset: 0.5000 rad → -0.6000 rad')
    answer(page, 'would read 1.1000 rad less: 1.1000 rad → 0.0000 rad')
    live_arm.wait_for(f'{PAN}.offset', -0.6)
    press(page, 'Turns wrong')
    answer(page, 'turns the other way')
    live_arm.wait_for(f'{PAN}.mechanical_reduction', -101.0)
    fill(page, 'is at [rad]', '0.5')
    press(page, 'Is at')
    answer(page, 'Set the position of shoulder_pan?')
    live_arm.wait_for(f'{PAN}.offset', 1.1)


def test_from_a_wrong_sign_and_a_wrong_offset_to_the_corrected_description(
    serve, live_arm, tmp_path
):
    """
    Seven clicks, as docs/tune.md counts them; the joint stands at a known zero.

    What is written was shown before, and a file that is there is not replaced.
    """
    output = tmp_path / 'tuned.urdf'
    live_arm.positions['shoulder_pan_motor'] = 10.1
    page = serve('--output', output).open()
    shows(page, '0.3500')
    press(page, 'Turns wrong')
    answer(page, 'turns the other way')
    shows(page, '0.1500')
    press(page, 'Zero here')
    answer(page, 'Set the position of shoulder_pan?')
    live_arm.wait_for(f'{PAN}.offset', 0.1)
    page.get_by_role('tab', name='Save').click()
    press(page, 'Show difference')
    shows(page, '+        <mechanical_reduction>-101.0</mechanical_reduction>')
    assert not output.exists()
    press(page, 'Write the file')
    shows(page, 'written: ')
    tuned = RobotTransmissions(load_description(output.read_bytes()))
    numbers = {each.path[-1]: each for each in tuned.tunables['shoulder_pan_transmission']}
    assert numbers['mechanical_reduction'].value == -101.0
    assert numbers['offset'].value == pytest.approx(0.1, abs=1e-12)
    assert tuned.actuator_to_joint('position', [10.1] * 6)[0] == pytest.approx(0.0, abs=1e-12)
    press(page, 'Show difference')
    press(page, 'Write the file')
    shows(page, 'is there already; --force replaces it')


def test_two_browsers_see_what_the_other_one_changes(serve, live_arm, peer):
    """And what anybody else does; what they are typing meanwhile stays."""
    served = serve()
    one, two = served.open(), served.open()
    fill(two, 'is at [rad]', '0.5')
    enter(one, 'offset [rad]', '0.55')
    has_value(two, 'offset [rad]', '0.55')
    # A reduction beyond the ends of its slider.
    numbers = {f'{PAN}.offset': -0.4, f'{PAN}.mechanical_reduction': -500.0}
    numbers = {f'transmissions.{name}': value for name, value in numbers.items()}
    assert peer.set_parameters(numbers).successful
    for page in (one, two):
        has_value(page, 'offset [rad]', '-0.4')
        has_value(page, 'reduction', '-500')
    has_value(two, 'is at [rad]', '0.5')
    press(two, 'Is at')
    answer(two, 'Set the position of shoulder_pan?')
    live_arm.wait_for(f'{PAN}.offset', 0.5)


def test_the_page_recovers_when_the_bridge_does(serve, live_arm):
    """It says that the bridge has gone, and offers the one that comes what it does not know."""
    page = opened(serve, live_arm)
    enter(page, 'offset [rad]', '0.55')
    live_arm.wait_for(f'{PAN}.offset', 0.55)
    os.kill(live_arm.bridge.pid, signal.SIGKILL)
    gone = page.get_by_text('the bridge /transmission_bridge is not there; waiting for it')
    gone.first.wait_for(timeout=12_000.0)
    cloud = page.locator('.tabler-icon-cloud-check').first
    assert cloud.evaluate('e => getComputedStyle(e).stroke') == 'rgb(224, 49, 49)'
    enter(page, 'offset [rad]', '0.6')
    shows(page, 'the bridge has gone')
    live_arm.start()
    for text in ('waiting for it', 'for its parameters', 'has gone', 'does not answer'):
        page.get_by_text(text).first.wait_for(state='detached')
    has_value(page, 'offset [rad]', '0.25')
    shows(page, 'Restore the numbers that were tuned before the restart of the bridge?')
    answer(page, 'joints.shoulder_pan.offset: 0.2500 rad → 0.5500 rad')
    live_arm.wait_for(f'{PAN}.offset', 0.55)


def test_with_a_live_command_nothing_changes_while_a_slider_is_dragged(serve, live_arm):
    """The page shows what would, and Apply does it if the guard of the bridge agrees."""
    page = opened(serve, live_arm)
    live_arm.commanded = 'shoulder_pan'
    shows(page, 'commanded now: shoulder_pan')
    drag_offset(page, 0.75)
    shows(page, 'Enter or Apply sets it.')
    assert live_arm.value(f'{PAN}.offset') == 0.25
    press(page, 'Apply')
    shows(page, 'is commanded now: shoulder_pan would shift')
    has_value(page, 'offset [rad]', '0.25')
    fill(page, 'offset [rad]', '0.3')
    shows(page, 'commanded now')
    press(page, 'Apply')
    live_arm.wait_for(f'{PAN}.offset', 0.3)


class _Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        """Say nothing."""


@contextmanager
def foreign_site(folder):
    """Serve a folder; give the port."""
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), partial(_Handler, directory=folder))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


#: Tries to open a socket to an address, and to read the page; gives what became of both.
ATTACK = """address => Promise.all([
  new Promise(done => {
    const socket = new WebSocket(address.replace('http', 'ws'), 'viser-v1.1.1');
    socket.onopen = () => done('open');
    socket.onerror = () => done('refused');
  }),
  fetch(address, {credentials: 'include'}).then(reply => reply.text(), () => 'refused'),
])"""


def test_nobody_gets_in_without_the_code_or_from_another_origin(serve, context, tmp_path):
    """
    The code may be typed; the address does not keep it.

    A page of another port of this machine has the cookie, for cookies know no ports, and one of a
    foreign name that was pointed to this machine the right address. Neither gets in.
    """
    (tmp_path / 'index.html').write_text('<!doctype html><title>foreign</title>')
    served = serve(ARM)
    address, code = f'http://127.0.0.1:{served.port}/', served.address.partition('code=')[2]
    page = context.new_page()
    page.goto(address)
    for typed, found in (('0123456789abcdef', 'This is not the code.'), (code, 'offset [rad]')):
        page.get_by_label('Code from the terminal').fill(typed)
        page.get_by_role('button', name='Open').click()
        shows(page, found)
    assert code not in page.url
    assert page.evaluate(ATTACK, address)[0] == 'open'
    with foreign_site(tmp_path) as port:
        for name in ('127.0.0.1', 'localhost', 'elsewhere.example'):
            foreign = context.new_page()
            foreign.goto(f'http://{name}:{port}/')
            assert foreign.evaluate(ATTACK, address) == ['refused', 'refused']
            frame = foreign.evaluate_handle(
                'a => { const f = document.createElement("iframe"); f.src = a;'
                ' document.body.append(f); return new Promise(d => f.onload = () => d(f)); }',
                address,
            )
            assert 'transmission' not in (frame.as_element().content_frame().content())
    rebound = context.new_page()
    rebound.goto(served.address.replace('127.0.0.1', 'elsewhere.example'))
    assert 'This server has another name.' in rebound.content()
    rebound.goto(f'http://elsewhere.example:{served.port}/')
    assert rebound.evaluate(ATTACK, f'http://elsewhere.example:{served.port}/')[0] == 'refused'


def test_other_machines_may_look_only_unless_they_are_allowed_more(serve):
    """With --host there is no field, no button and no slider; with --allow-changes there is."""
    looking = serve(ARM, '--host', '127.0.0.1')
    page = looking.open(wait_for='Read-only page.')
    shows(page, 'shoulder_pan_motor')
    assert page.locator('form input, form button:visible, form .mantine-Slider-root').count() == 0
    page.get_by_role('tab', name='Save').click()
    press(page, 'Show difference')
    shows(page, 'no difference')
    serve(ARM, '--host', '127.0.0.1', '--allow-changes').open()


def hostile_robot(names: list[str]) -> str:
    """Return a robot whose joints, links, motors and transmissions have these names."""
    parts = ['<robot name="hostile"><link name="root"/>']
    parts += [
        '<link name={0}/><joint name={0} type="continuous"><parent link="root"/><child link={0}/>'
        '</joint><transmission name={0}><type>transmission_interface/SimpleTransmission</type>'
        '<joint name={0}><hardwareInterface>x</hardwareInterface></joint>'
        '<actuator name={0}><mechanicalReduction>2</mechanicalReduction></actuator>'
        '</transmission>'.format(quoteattr(name))
        for name in names
    ]
    return ''.join([*parts, '</robot>'])


def test_hostile_names_are_shown_and_do_nothing_and_very_many_are_searched(serve, tmp_path):
    """Markup, expressions of the page's own markdown, escape sequences, directions."""
    names = [
        '<img src=x onerror="window.hit=1">',
        '{(() => {window.hit = 1})()}',
        '</style><script>window.hit=1</script>',
        'a/b/../c',
        '\u202ereversed',
        *(f'joint_{number}' for number in range(395)),
    ]
    robot = tmp_path / 'hostile.urdf'
    robot.write_text(hostile_robot(names), encoding='utf-8')
    page = serve(robot).open(wait_for='show')
    for name in names[:4]:
        choose(page, name)
        page.locator('form b', has_text=name).first.wait_for()
        if name == 'a/b/../c':
            press(page, 'Zero here')
            shows(page, 'Set the position of a/b/../c?')
            press(page, 'Cancel')
        else:
            shows(page, 'Its numbers cannot be parameters')
    choose(page, 'joint_394')
    page.locator('form b', has_text='joint_394').first.wait_for()
    enter(page, 'offset [rad]', '0.5')
    shows(page, '0.5000')
    page.get_by_role('tab', name='Joints').click()
    shows(page, 'and 100 more')
    page.get_by_role('tab', name='Robot').click()
    shows(page, '400 joints, 400 transmissions')
    assert page.evaluate('window.hit') is None
    assert page.locator('img[src=x]').count() == 0
