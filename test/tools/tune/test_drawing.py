# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What is drawn of a robot: where its links are, their shapes, and how they look."""

from __future__ import annotations

import math
from pathlib import Path
import struct
from types import SimpleNamespace
from unittest.mock import MagicMock, Mock

from hypothesis import given, strategies as st
import numpy as np
import pytest
from zoo.elements import urdf
from zoo.linkages import joint

from transmission_bridge.description import load_description
from transmission_bridge.description.document.visuals import load_urdf_visuals, VisualSpec
from transmission_bridge.description.specs import OriginSpec
from transmission_bridge.kinematics import JointDevice
from transmission_bridge.resources import resource
from transmission_bridge.tools.cli import UsageError
from transmission_bridge.tools.units import list_position_limits

pytest.importorskip('viser', reason='viser is not installed (extra tune)')
pytest.importorskip('scipy', reason='scipy is not installed (extra calibrate)')

from scipy.spatial.transform import Rotation

from transmission_bridge.tools.tune import scene, shapes
from transmission_bridge.tools.tune.scene import RobotScene, SceneLinkPoses
from transmission_bridge.tools.tune.shapes import load_shapes, MeshError, MeshPackages
from transmission_bridge.transmissions import RobotTransmissions


def test_limits_are_those_of_the_gate():
    """Command interfaces narrow them, and a continuous joint has none."""
    joints = {'a': 'revolute lower="-1" upper="1" velocity="1" effort="1"', 'b': 'continuous'}
    most = '<command_interface name="position"><param name="max">0.5</param></command_interface>'
    text = urdf(joints).replace('<joint name="a"/>', f'<joint name="a">{most}</joint>')
    robot = RobotTransmissions(load_description(text))
    expected = {'a': (-1.0, 0.5, 'rad'), 'b': (-math.inf, math.inf, 'rad')}
    assert list_position_limits(robot.description, robot.joint_names) == expected
    assert robot.joint_limits[:, 0].T.tolist() == [[*each[:2]] for each in expected.values()]


# -- poses ---------------------------------------------------------------------------------------

MIMIC = '<mimic joint="slides" multiplier="-2.5" offset="0.3"/>'
JOINTS = (
    joint('turns', 'root', 'a', (0.1, 0, 0.2), (1, 2, -1), rpy=(0.3, -0.2, 0.5)),
    joint('slides', 'a', 'b', (0, 0.3, 0), (0, 0, -1), 'prismatic', rpy=(0, 1.2, 0)),
    joint('follows', 'a', 'c', (0, 0, 0.4), (0, 1, 0), 'continuous', more=MIMIC),
    joint('fixed', 'c', 'd', (1, 0, 0), kind='fixed'),
)
TREE = '<robot name="tree"><link name="root"/>' + ''.join(JOINTS) + '</robot>'
LOOP = '<joint name="x" type="fixed"><parent link="d"/><child link="root"/></joint></robot>'
ANGLES = st.floats(-7.0, 7.0)


@given(ANGLES, ANGLES)
def test_links_are_where_the_joint_device_has_them(turn, slide):
    """All types of joints, mimics included, as the kinematics of the package."""
    robot = load_description(TREE)
    poses = SceneLinkPoses(robot)
    assert poses.joints == ('turns', 'slides')
    found, unknown = poses({'turns': turn, 'slides': slide})
    device = JointDevice.from_description(robot, base='root', end='d', joints=['turns', 'slides'])
    assert not unknown.any()
    for link, place in zip(poses.links, found, strict=True):
        np.testing.assert_allclose(place, device.base_t_frame(link, [turn, slide]), atol=1e-12)


@pytest.mark.parametrize('slides', [{}, {'slides': np.nan}])
def test_what_is_behind_a_joint_of_unknown_position_is_unknown(slides):
    """Drawn as if it were at zero, and said to be unknown; what is beside it is not."""
    poses = SceneLinkPoses(load_description(TREE))
    found, unknown = poses({'turns': 0.5, **slides})
    np.testing.assert_array_equal(found, poses({'turns': 0.5, 'slides': 0.0})[0])
    # The joint that follows has no position either.
    links = [link for link, is_unknown in zip(poses.links, unknown, strict=True) if is_unknown]
    assert sorted(links) == ['b', 'c', 'd']


def test_a_robot_of_very_many_joints_is_drawn_in_part(monkeypatch):
    """And says how much is left out."""
    monkeypatch.setattr(scene, 'MOST_LINKS', 5)
    poses = SceneLinkPoses(load_description(urdf('abcdefgh')))
    assert (len(poses.links), poses.n_left_out) == (5, 4)
    assert poses(dict.fromkeys(poses.joints, 0.0))[0].shape == (5, 4, 4)


@pytest.mark.parametrize('text', [
    TREE.replace('</robot>', LOOP),
    '<robot name="empty"/>',
    TREE.replace('joint="slides"', 'joint="follows"'),
    TREE.replace('<child link="d"/>', '<child link="b"/>'),
    TREE.replace('type="continuous"', 'type="floating"'),
], ids=['loop', 'empty', 'mimics itself', 'two parents', 'floating'])  # fmt: skip
def test_what_is_no_tree_is_drawn_as_far_as_it_is_one(text):
    """Nothing raises, and all numbers are finite."""
    poses = SceneLinkPoses(load_description(text))
    found, _ = poses({})
    assert found.shape == (len(poses.links), 4, 4)
    assert np.isfinite(found).all()


# -- shapes --------------------------------------------------------------------------------------

TRIANGLE = b'\0' * 80 + struct.pack('<I12fH', 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0)
MESH = 'package://arm/a.stl'


@pytest.fixture
def packages(tmp_path: Path) -> MeshPackages:
    """Return where one package is, with one mesh of one triangle."""
    folder = tmp_path / 'arm'
    folder.mkdir()
    for path in (folder / 'a.stl', tmp_path / 'secret.stl'):
        path.write_bytes(TRIANGLE)
    return MeshPackages([f'arm={folder}'])


def mesh(uri: str = MESH, origin: OriginSpec = OriginSpec(), size=(1.0, 1.0, 1.0)) -> VisualSpec:  # noqa: B008
    """Return a mesh of a link."""
    return VisualSpec('link', 'mesh', origin, size, uri)


@pytest.mark.parametrize(('uri', 'words'), [
    ('file:///etc/passwd', 'not in a package'),
    ('http://elsewhere.example/a.stl', 'not in a package'),
    ('a.stl', 'not in a package'),
    ('package://arm/../secret.stl', 'not a file in a package'),
    ('package://arm', 'not a file in a package'),
    ('package://../secret.stl', 'not installed'),
    ('package://elsewhere/a.stl', "package 'elsewhere' is not installed"),
    ('package://arm/missing.stl', 'No such file'),
    ('package://arm/a.exe', 'is not one of'),
    ('package://arm/a\0.stl', 'not a file in a package'),
])  # fmt: skip
def test_nothing_but_files_of_packages_is_opened(packages, uri, words):
    """A description may come from the network, and must not choose files of this machine."""
    found, reasons = load_shapes([mesh(uri)], packages)
    assert found == []
    assert words in reasons['link']


def test_a_package_is_found_by_its_name_and_by_the_ament_index(packages, tmp_path, monkeypatch):
    """Named on the command line, or where ROS looks for it; the third slash of some is read."""
    assert len(load_shapes([mesh(), mesh('package:///arm/a.stl')], packages)[0]) == 2
    index = tmp_path / 'share' / 'ament_index' / 'resource_index' / 'packages'
    index.mkdir(parents=True)
    (index / 'other').touch()
    (tmp_path / 'share' / 'other').mkdir()
    monkeypatch.setenv('AMENT_PREFIX_PATH', f'/nowhere:{tmp_path}')
    assert (
        MeshPackages().find_file('package://other/a.stl') == tmp_path / 'share' / 'other' / 'a.stl'
    )
    with pytest.raises(MeshError, match='not installed'):
        MeshPackages().find_file('package://another/a.stl')


@pytest.mark.parametrize('entry', ['=x', 'arm=/nowhere/at/all'])
def test_a_package_path_has_to_be_one(entry):
    """Wrong usage is said before anything is served."""
    with pytest.raises(UsageError, match='--package-path: expected NAME=FOLDER'):
        MeshPackages([entry])


@pytest.mark.parametrize(('name', 'most', 'count', 'words'), [
    ('MOST_TRIANGLES', 1, 1, 'more than 1 triangles'),
    ('MOST_EACH', 0, 0, 'more than 0 triangles'),
    ('MOST_BYTES', 100, 0, 'has more than'),
])  # fmt: skip
def test_sizes_are_bounded(packages, monkeypatch, name, most, count, words):
    """Of a file, of a mesh and of a robot; what is too large is a frame with its reason."""
    monkeypatch.setattr(shapes, name, most)
    found, reasons = load_shapes([mesh()] * 2, packages)
    assert len(found) == count
    assert words in reasons['link']


@pytest.mark.parametrize('suffix', shapes._SUFFIXES)
def test_a_damaged_file_is_a_reason(packages, tmp_path, suffix):
    """Of every format, and costs only its own shape."""
    (tmp_path / 'arm' / f'bad{suffix}').write_bytes(b'\xff\0nonsense' * 50)
    found, reasons = load_shapes([mesh(f'package://arm/bad{suffix}'), mesh()], packages)
    assert len(found) == 1
    assert f'bad{suffix}' in reasons['link']


def test_meshes_are_scaled_and_placed(packages):
    """As URDF has it; a mirrored one keeps its outside."""
    origin = OriginSpec((1.0, 2.0, 3.0), (0.0, 0.0, np.pi / 2))
    (shape,), _ = load_shapes([mesh(MESH, origin, (2.0, 1.0, -1.0))], packages)
    corners = sorted([[1, 2, 3], [1, 4, 3], [0, 2, 3]])
    np.testing.assert_allclose(sorted(shape.vertices.tolist()), corners, atol=1e-6)
    corners = shape.vertices[shape.faces[0]]
    assert np.cross(corners[1] - corners[0], corners[2] - corners[0])[2] < 0.0


def test_primitives_have_their_sizes():
    """Boxes, cylinders, spheres and capsules, centred as URDF has them."""
    solids = {
        'box size="1 2 3"': (1, 2, 3),
        'cylinder radius="0.5" length="2"': (1, 1, 2),
        'sphere radius="0.7"': (1.4, 1.4, 1.4),
        'capsule radius="0.5" length="2"': (1, 1, 3),
        'box size="1 0 3"': None,
    }
    red = '<material name="red"><color rgba="1 0 0 1"/></material>'
    visuals = [f'<visual><geometry><{solid}/></geometry>{red}</visual>' for solid in solids]
    text = f'<robot name="r"><link name="a">{"".join(visuals)}</link></robot>'
    found, reasons = load_shapes(load_urdf_visuals(text), MeshPackages())
    for shape, size in zip(found, [*solids.values()][:-1], strict=True):
        low, high = shape.vertices.min(axis=0), shape.vertices.max(axis=0)
        np.testing.assert_allclose(high - low, size, atol=0.02)
        np.testing.assert_allclose(high, -low, atol=1e-5)
    assert found[0].color == (1.0, 0.0, 0.0, 1.0)
    assert 'a box of size' in reasons['a']


# -- the scene -----------------------------------------------------------------------------------

TEXT = Path(resource('urdf', 'arm.urdf')).read_bytes()
ARM = load_description(TEXT)

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
    scene = RobotScene(server, ARM, TEXT, MeshPackages(), clicked)
    return SimpleNamespace(scene=scene, server=server, meshes=meshes, clicked=clicked)


def test_the_arm_stays_in_the_picture_wherever_it_moves(drawn):
    """Also for the camera of a page that was turned away; of a narrow page from farther away."""
    client, camera = MagicMock(), drawn.server.initial_camera
    distances = []
    for client.camera.aspect in (0.45, 1.5):
        drawn.scene.reset_view(client)
        distances.append(np.linalg.norm(client.camera.position - camera.look_at))
    assert distances[0] == pytest.approx(2.0 * distances[1])
    eye, centre, poses = camera.position, camera.look_at, drawn.scene.poses
    np.testing.assert_array_equal(client.camera.position, eye)
    np.testing.assert_array_equal(client.camera.look_at, centre)
    limits, rng = list_position_limits(ARM, poses.joints), np.random.default_rng(1)
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


@pytest.mark.parametrize('side', [1, -1])
@pytest.mark.parametrize('angle', [0.0, 1.1, -2.0])
def test_the_arrow_is_beside_the_link_as_drawn_and_turns_the_way_of_the_joint(drawn, side, angle):
    """Also where the arm is drawn in a wrong pose; the link is painted meanwhile."""
    poses, scene = drawn.scene.poses, drawn.server.scene
    place = poses.joint_of.index('elbow')
    own = drawn.meshes[f'/robot/{place}/0'].color
    drawn.scene.show_arrow('elbow', side)
    (name, segments, _), frame = scene.add_line_segments.call_args
    assert name == f'/robot/{place}/arrow'  # in the frame of the link
    w, *xyz = frame['wxyz']
    at_link = segments @ Rotation.from_quat([*xyz, w]).as_matrix().T + frame['position']
    before, after = (poses({'elbow': angle + step})[0] for step in (0.0, 1e-4))
    arrow, moved = (each[place, :3, :3] @ at_link[..., np.newaxis] for each in (before, after))
    ways = (moved + after[place, :3, 3:] - arrow - before[place, :3, 3:])[..., 0]
    along = (arrow[:, 1] - arrow[:, 0])[..., 0]
    # Every point of the arrow moves along it with the joint, and the arm is on its side.
    assert (np.sum(ways[:, 0] * along, axis=1) * side > 0.0).all()
    hand = before[poses.links.index('tool_link'), :3, 3] - before[place, :3, 3]
    assert arrow[..., 0].mean(axis=(0, 1)) @ hand > 0.0
    assert drawn.meshes[f'/robot/{place}/0'].color != own
    drawn.scene.show_arrow('', 0)
    assert drawn.meshes[f'/robot/{place}/0'].color == own
    assert scene.add_label.return_value.remove.called


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
