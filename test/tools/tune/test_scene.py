# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What the browser is sent of the robot, and what a browser may send."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock, Mock

import numpy as np
import pytest

from transmission_bridge.description import load_description
from transmission_bridge.resources import resource

pytest.importorskip('viser', reason='viser is not installed (extra tune)')

from transmission_bridge.tools.tune.gate import Gate
from transmission_bridge.tools.tune.robots import list_limits
from transmission_bridge.tools.tune.scene import RobotScene
from transmission_bridge.tools.tune.server import open_server
from transmission_bridge.tools.tune.session import PageSettings, TuneSession
from transmission_bridge.tools.tune.shapes import Packages

ARM = load_description(Path(resource('urdf', 'arm.urdf')))
TEXT = Path(resource('urdf', 'arm.urdf')).read_bytes()

#: Half of the angle that viser's camera sees from below to above.
HALF = math.radians(37.5)


@pytest.fixture
def drawn():
    """Return the scene of the arm, the server that draws it, and its meshes by name."""
    server, meshes = MagicMock(), {}
    server.scene.add_mesh_simple.side_effect = lambda name, *_, **given: meshes.setdefault(
        name, Mock(color=given['color'])
    )
    clicked = Mock()
    scene = RobotScene(server, ARM, TEXT, Packages(), clicked)
    return SimpleNamespace(scene=scene, server=server, meshes=meshes, clicked=clicked)


def test_the_arm_stays_in_the_picture_wherever_it_moves(drawn):
    """Also for the camera of a page that was turned away, by Reset view."""
    client, camera = MagicMock(), drawn.server.initial_camera
    drawn.scene.reset_view(client)
    eye, centre, poses = camera.position, camera.look_at, drawn.scene.poses
    np.testing.assert_array_equal(client.camera.position, eye)
    np.testing.assert_array_equal(client.camera.look_at, centre)
    limits, rng = list_limits(ARM), np.random.default_rng(1)
    for _ in range(200):
        ends = [np.clip(limits[name][:2], -math.pi, math.pi) for name in poses.joints]
        q = [rng.uniform(*each) for each in ends]
        rays = poses(dict(zip(poses.joints, q, strict=True)))[0][:, :3, 3] - eye
        cosines = rays @ (centre - eye) / np.linalg.norm(rays, axis=1)
        assert cosines.min() > math.cos(HALF) * np.linalg.norm(centre - eye)


def test_joints_of_unknown_position_are_grey_and_nothing_else_is(drawn):
    """With what hangs on them; no labels, which would cover each other."""
    own, poses = {name: mesh.color for name, mesh in drawn.meshes.items()}, drawn.scene.poses
    known = dict.fromkeys(poses.joints, 0.1)
    for unknown in ((), ('elbow',), poses.joints, ('wrist_roll', 'elbow'), ()):
        drawn.scene.show_poses({**known, **dict.fromkeys(unknown, np.nan)}, known, (0, 0, 0))
        first = min((poses.joint_of.index(name) for name in unknown), default=99)
        for name, mesh in drawn.meshes.items():
            _, body, place, _ = name.split('/')
            is_grey = body == 'robot' and int(place) >= first
            assert body == 'ghost' or (mesh.color == (205, 205, 205)) == is_grey, name
            assert is_grey or body == 'ghost' or mesh.color == own[name]
    assert not drawn.server.scene.add_label.called


def test_a_click_on_a_link_selects_the_joint_that_moves_it(drawn):
    """Of the page that was clicked; a link on a fixed joint has the joint above, the base none."""
    poses, meshes = drawn.scene.poses, drawn.meshes
    place = poses.joint_of.index('elbow')
    (listener,) = meshes[f'/robot/{place}/0'].on_click.call_args.args
    coroutine = listener(Mock(client_id=7))
    with pytest.raises(StopIteration):  # it awaits nothing
        coroutine.send(None)
    drawn.clicked.assert_called_once_with(7, 'elbow')
    assert not meshes['/robot/0/0'].on_click.called
    assert not meshes[f'/ghost/{place}/0'].on_click.called
    assert poses.find_mover(poses.links.index('tool_link')) == 'wrist_roll'


def test_a_browser_sets_the_value_of_a_widget_and_nothing_else():
    """A field that it marks as removed would end whoever writes to it next."""
    server = open_server(Gate('127.0.0.1'), '127.0.0.1', 9400, 'test')
    try:
        from viser._messages import GuiUpdateMessage

        text = server.gui.add_text('number', '1')

        def send(**updates):
            message = GuiUpdateMessage(text._impl.uuid, updates)
            handle = server.gui._handle_gui_updates(0, message)
            asyncio.run_coroutine_threadsafe(handle, server.get_event_loop()).result(10.0)

        for updates in ({'removed': True}, {'value': '2', 'removed': True}, {'props': None}, {}):
            send(**updates)
            assert text.value == '1'
        text.value = '3'
        send(value='4')
        assert text.value == '4'
    finally:
        server.stop()


def test_an_error_on_one_page_ends_this_page_only():
    """The others are shown what is new, and the command goes on."""
    robot = Mock(model=None)
    session = TuneSession(MagicMock(), robot, PageSettings(True, '', False, Packages()), Mock())
    good, bad = Mock(), Mock(refresh_widgets=Mock(side_effect=RuntimeError('removed')))
    session._views = {1: bad, 2: good}
    for _ in range(2):
        session._numbers_due = 0.0
        session.update_pages()
    assert bad.refresh_widgets.call_count == 1
    assert good.refresh_widgets.call_count == 2
