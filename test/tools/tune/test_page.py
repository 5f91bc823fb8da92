# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What only a browser shows of the page: pictures, places, keys, origins, and names as markup."""

from __future__ import annotations

import re
import shutil
import time

import pytest
from zoo.elements import transmission, urdf

from transmission_bridge.description import load_description
from transmission_bridge.resources import resource
from transmission_bridge.transmissions import RobotTransmissions

pytestmark = [pytest.mark.ros, pytest.mark.pages]

PAN = 'transmissions.shoulder_pan_transmission.joints.shoulder_pan'
ARM = resource('urdf', 'arm.urdf')

#: Names that Debian and others give to the browser.
BROWSERS = ('chromium', 'chromium-browser', 'google-chrome')


@pytest.fixture(scope='session')
def chromium():
    """Return a browser; tests are skipped where there is none."""
    pytest.importorskip('viser', reason='viser is not installed (extra tune)')
    api = pytest.importorskip('playwright.sync_api', reason='playwright is not installed')
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip('no chromium on this machine: apt-get install chromium')
    arguments = [
        *('--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'),
        # A foreign name for this machine, as DNS rebinding makes it.
        '--host-resolver-rules=MAP elsewhere.example 127.0.0.1',
    ]
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        yield browser
        browser.close()


@pytest.fixture
def context(chromium, request):
    """Return a browser without cookies."""
    context = chromium.new_context(viewport={'width': 1000, 'height': 700})
    # A software renderer shares two processors with nodes.
    context.set_default_timeout(60_000.0)
    # Ten pictures a second are enough to test by: without a graphics card they are what costs.
    context.add_init_script(
        'const now = window.requestAnimationFrame.bind(window);'
        'window.requestAnimationFrame = draw => setTimeout(() => now(draw), 100);'
    )
    if request.node.get_closest_marker('drawn') is None:
        # All of the page runs but the last step of a picture: the panel is what is looked at, and
        # the first picture of a robot keeps a software renderer busy for many seconds.
        context.add_init_script(
            "for (const shape of ['Arrays', 'Elements'])"
            " for (const many of ['', 'Instanced'])"
            ' WebGL2RenderingContext.prototype[`draw${shape}${many}`] = () => {};'
        )
    yield context
    context.close()


@pytest.fixture
def serve(start_process):
    """Return a function that starts the command, and returns the page's address with its code."""

    def start(*arguments) -> str:
        words = ['tune', '--port', '9000', *map(str, arguments)]
        process = start_process('transmission_bridge', *words)
        process.wait_for('Ctrl-C ends')
        return re.search(r'open (\S+)', process.output)[1]

    return start


@pytest.fixture
def open_page(serve, context):
    """Return a function that serves a page, and opens it."""

    def open_one(*arguments, wait_for='offset [rad]'):
        page = context.new_page()
        page.goto(serve(*arguments))
        page.get_by_text(wait_for, exact=True).first.wait_for()
        return page

    return open_one


def field(page, label: str, place: int = 0):
    """Return a field beside a label, the first one if several have it."""
    return page.locator(f'xpath=//label[text()="{label}"]/ancestor::div[2]//input').nth(place)


def shows(page, text) -> None:
    """Return when the page shows a text."""
    page.get_by_text(text).first.wait_for()


def pause(page) -> None:
    """
    Wait as long as nobody is quicker, by the clock of the page.

    viser's page sends one message in 50 ms for each panel, and keeps the last one alone.
    """
    page.evaluate('() => new Promise(done => setTimeout(done, 150))')


def choose(page, text: str) -> None:
    """Choose the transmission that is found by a text."""
    field(page, 'show').fill(text)
    page.locator('[role=option]:visible', has_text=text).first.click()
    pause(page)


def press(page, name: str) -> None:
    """Press a button."""
    page.get_by_role('button', name=name, exact=True).click()
    pause(page)


def confirm(page, wanted: str) -> None:
    """Answer a question with *Do it* when it says what was asked, and return when it is done."""
    shows(page, wanted)
    press(page, 'Do it')
    page.get_by_text('done', exact=True).wait_for()
    page.get_by_role('button', name='Do it', exact=True).wait_for(state='detached')


@pytest.mark.drawn
def test_the_page_of_a_file_loads_and_its_sliders_move_the_robot(open_page):
    """Actuators are sliders, joints follow, and a click on a link selects its joint."""
    page = open_page(ARM)
    track = page.locator('form .mantine-Slider-track').first.bounding_box()
    page.mouse.click(track['x'] + 0.9 * track['width'], track['y'] + track['height'] / 2)
    shows(page, re.compile(r'^2\.3'))  # from -2.9 to 2.9 rad
    # The slider of the offset is dragged.
    track = page.locator('form .mantine-Slider-track').nth(3)
    track.hover(trial=True)  # waits until the panel has stopped growing
    box = track.bounding_box()
    y = box['y'] + box['height'] / 2
    page.mouse.move(box['x'] + 0.54 * box['width'], y)
    page.mouse.down()
    page.mouse.move(box['x'] + 0.75 * box['width'], y, steps=4)
    page.mouse.up()
    page.wait_for_function(
        'e => Math.abs(Number(e.value) - Math.PI / 2) < 0.05',
        arg=field(page, 'offset [rad]').element_handle(),
    )
    page.get_by_text('done', exact=True).wait_for()
    # The upper arm is drawn.
    names = page.locator('form b')
    deadline = time.monotonic() + 60.0
    while names.all_inner_texts().count('shoulder_lift') == 0:
        assert time.monotonic() < deadline
        page.mouse.click(288, 346)
        pause(page)
    assert field(page, 'joint').input_value() == 'shoulder_lift'


def test_a_live_robot_is_corrected_in_seven_clicks_on_a_small_screen(
    open_page, live_arm, tmp_path
):
    """
    As docs/tune.md lists them; the joint stands at a known zero.

    The button that applies a change is seen at 800 by 600 pixels, and so is every
    line of the difference.
    """
    output = tmp_path / 'tuned.urdf'
    live_arm.positions = dict.fromkeys(live_arm.positions, 10.1)
    page = open_page('--output', output)
    page.set_viewport_size({'width': 800, 'height': 600})
    shows(page, '0.3500')
    press(page, 'Turns wrong')
    confirm(page, 'turns the other way')
    shows(page, '0.1500')
    press(page, 'Zero here')
    box = page.get_by_role('button', name='Do it', exact=True).bounding_box()
    assert box['y'] + box['height'] <= 600.0
    confirm(page, 'Set the position of shoulder_pan?')
    live_arm.wait_for(f'{PAN}.offset', 0.1)
    page.get_by_role('tab', name='Save').click()
    page.get_by_text('lines of difference').click()
    shows(page, '+        <mechanical_reduction>-101.0</mechanical_reduction>')
    assert page.locator('pre').evaluate('e => e.scrollWidth <= e.clientWidth')
    assert not output.exists()
    press(page, 'Write tuned.urdf')
    shows(page, 'written: ')
    tuned = RobotTransmissions(load_description(output.read_bytes()))
    assert tuned.actuator_to_joint('position', [10.1] * 6)[0] == pytest.approx(0.0, abs=1e-12)


#: Tries to open a socket to an address, and to read the page; gives what became of both.
ATTACK = """address => Promise.all([
  new Promise(done => {
    const socket = new WebSocket(address.replace('http', 'ws'), 'viser-v1.1.1');
    socket.onopen = () => done('open');
    socket.onerror = () => done('refused');
  }),
  fetch(address, {credentials: 'include'}).then(reply => reply.text(), () => 'refused'),
])"""

FRAME = """address => new Promise(done => {
  const frame = document.createElement('iframe');
  frame.src = address;
  frame.onload = () => done(frame);
  document.body.append(frame);
})"""


def test_nobody_gets_in_without_the_code_or_from_another_origin(serve, context):
    """
    The code may be typed; the address does not keep it.

    A page of another port of this machine has the cookie, for cookies know no ports, and one of a
    foreign name that was pointed to this machine the right address. Neither gets in.
    """
    address, _, code = serve(ARM).partition('#')[0].partition('?code=')
    page = context.new_page()
    page.goto(address)
    for typed, found in (('0123456789abcdef', 'This is not the code.'), (code, 'offset [rad]')):
        page.get_by_label('Code from the terminal').fill(typed)
        page.get_by_role('button', name='Open').click()
        shows(page, found)
    assert code not in page.url
    assert page.evaluate(ATTACK, address)[0] == 'open'
    for name in ('127.0.0.1', 'localhost', 'elsewhere.example'):
        foreign, site = context.new_page(), f'http://{name}:9/'
        foreign.route(site, lambda route: route.fulfill(body='<!doctype html>foreign'))
        foreign.goto(site)
        assert foreign.evaluate(ATTACK, address) == ['refused', 'refused']
        frame = foreign.evaluate_handle(FRAME, address).as_element().content_frame()
        assert 'transmission' not in frame.content()
    rebound, there = context.new_page(), address.replace('127.0.0.1', 'elsewhere.example')
    rebound.goto(f'{there}?code={code}')
    assert 'This server has another name.' in rebound.content()
    rebound.goto(there)
    assert rebound.evaluate(ATTACK, there)[0] == 'refused'


def test_hostile_names_are_shown_and_do_nothing(open_page, tmp_path):
    """Markup, expressions of the page's own markdown, escape sequences, directions."""
    names = [
        '&lt;img src=x onerror=&quot;window.hit=1&quot;&gt;',
        '{(() =&gt; {window.hit = 1})()}',
        '&lt;/style&gt;&lt;script&gt;window.hit=1&lt;/script&gt;',
        'a/b/../c',
        '\u202ereversed',
    ]
    elements = [transmission(name, 'Simple', [name], [name]) for name in names]
    (tmp_path / 'hostile.urdf').write_text(urdf(names, ''.join(elements)), encoding='utf-8')
    page = open_page(tmp_path / 'hostile.urdf', wait_for='show')
    for name in ('<img src=x onerror="window.hit=1">', '{(() => {window.hit = 1})()}', '</style>'):
        choose(page, name)
        page.locator('form b', has_text=name).first.wait_for()
        shows(page, 'Its numbers cannot be parameters')
    choose(page, 'a/b/../c')
    press(page, 'Zero here')
    shows(page, 'Set the position of a/b/../c?')
    assert page.evaluate('window.hit') is None
    assert page.locator('img[src=x]').count() == 0
