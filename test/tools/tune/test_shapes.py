# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Meshes and primitives: of installed packages only, and bounded."""

from __future__ import annotations

from pathlib import Path
import struct

import numpy as np
import pytest

from transmission_bridge.description.specs import Pose
from transmission_bridge.description.visuals import load_visuals, VisualSpec
from transmission_bridge.tools.cli import UsageError
from transmission_bridge.tools.tune import shapes
from transmission_bridge.tools.tune.shapes import load_shapes, Packages, ShapeError

pytest.importorskip('trimesh', reason='viser is not installed (extra tune)')

CORNERS = (0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0)
TRIANGLE = b'\0' * 80 + struct.pack('<I', 1) + struct.pack('<12fH', *CORNERS, 0)


@pytest.fixture
def packages(tmp_path: Path) -> Packages:
    """Return where one package is, with one mesh of one triangle."""
    folder = tmp_path / 'arm'
    folder.mkdir()
    for path in (folder / 'a.stl', tmp_path / 'secret.stl'):
        path.write_bytes(TRIANGLE)
    return Packages([f'arm={folder}'])


def mesh(uri: str, **more) -> VisualSpec:
    """Return a mesh of a link."""
    return VisualSpec('link', 'mesh', Pose(), more.pop('size', (1.0, 1.0, 1.0)), uri, **more)


@pytest.mark.parametrize(
    ('uri', 'words'),
    [
        ('file:///etc/passwd', 'not in a package'),
        ('/etc/passwd', 'not in a package'),
        ('http://elsewhere.example/a.stl', 'not in a package'),
        ('a.stl', 'not in a package'),
        ('package://arm/../secret.stl', 'not a file in a package'),
        ('package://arm/x/../../secret.stl', 'not a file in a package'),
        ('package://arm', 'not a file in a package'),
        ('package://../secret.stl', 'not installed'),
        ('package://elsewhere/a.stl', "package 'elsewhere' is not installed"),
        ('package://arm/missing.stl', 'No such file'),
        ('package://arm/a.exe', 'is not one of'),
        ('package://arm/a\0.stl', 'not a file in a package'),
    ],
)
def test_nothing_but_files_of_packages_is_opened(packages, uri, words):
    """A description may come from the network, and must not choose files of this machine."""
    found, reasons = load_shapes([mesh(uri)], packages)
    assert found == []
    assert words in reasons['link']


def test_a_package_is_found_by_its_name_and_by_the_ament_index(packages, tmp_path, monkeypatch):
    """Named on the command line, or where ROS looks for it; the third slash of some is read."""
    assert len(load_shapes([mesh('package://arm/a.stl')], packages)[0]) == 1
    assert len(load_shapes([mesh('package:///arm/a.stl')], packages)[0]) == 1
    index = tmp_path / 'share' / 'ament_index' / 'resource_index' / 'packages'
    index.mkdir(parents=True)
    (index / 'other').touch()
    (tmp_path / 'share' / 'other').mkdir()
    monkeypatch.setenv('AMENT_PREFIX_PATH', f'/nowhere:{tmp_path}')
    assert Packages().find_file('package://other/a.stl') == tmp_path / 'share' / 'other' / 'a.stl'
    with pytest.raises(ShapeError, match='not installed'):
        Packages().find_file('package://another/a.stl')


@pytest.mark.parametrize('entry', ['=x', 'arm=/nowhere/at/all'])
def test_a_package_path_has_to_be_one(entry):
    """Wrong usage is said before anything is served."""
    with pytest.raises(UsageError, match='--package-path: expected NAME=FOLDER'):
        Packages([entry])


def test_sizes_are_bounded(packages, monkeypatch):
    """Of a file, of a mesh and of a robot; what is too large is a frame with its reason."""
    for name, most, count, words in (
        ('MOST_TRIANGLES', 1, 1, 'more than 1 triangles'),
        ('MOST_EACH', 0, 0, 'more than 0 triangles'),
        ('MOST_BYTES', 100, 0, 'has more than'),
    ):
        monkeypatch.setattr(shapes, name, most)
        found, reasons = load_shapes([mesh('package://arm/a.stl')] * 2, packages)
        assert len(found) == count
        assert words in reasons['link']


@pytest.mark.parametrize('suffix', shapes._SUFFIXES)
def test_a_damaged_file_is_a_reason(packages, tmp_path, suffix):
    """Of every format, and costs only its own shape."""
    (tmp_path / 'arm' / f'bad{suffix}').write_bytes(b'\xff\0nonsense' * 50)
    found, reasons = load_shapes(
        [mesh(f'package://arm/bad{suffix}'), mesh('package://arm/a.stl')], packages
    )
    assert len(found) == 1
    assert f'bad{suffix}' in reasons['link']


def test_meshes_are_scaled_and_placed(packages):
    """As URDF has it; a mirrored one keeps its outside."""
    origin = Pose((1.0, 2.0, 3.0), (0.0, 0.0, np.pi / 2))
    visual = VisualSpec('link', 'mesh', origin, (2.0, 1.0, -1.0), 'package://arm/a.stl')
    (shape,), _ = load_shapes([visual], packages)
    np.testing.assert_allclose(
        sorted(shape.vertices.tolist()), sorted([[1, 2, 3], [1, 4, 3], [0, 2, 3]]), atol=1e-6
    )
    corners = shape.vertices[shape.faces[0]]
    normal = np.cross(corners[1] - corners[0], corners[2] - corners[0])
    assert normal[2] < 0.0


def test_primitives_have_their_sizes():
    """Boxes, cylinders, spheres and capsules, centred as URDF has them."""
    text = """<robot name="r"><material name="red"><color rgba="1 0 0 1"/></material>
      <link name="a">
        <visual><geometry><box size="1 2 3"/></geometry><material name="red"/></visual>
        <visual><geometry><cylinder radius="0.5" length="2"/></geometry></visual>
        <visual><geometry><sphere radius="0.7"/></geometry></visual>
        <visual><geometry><capsule radius="0.5" length="2"/></geometry></visual>
        <visual><geometry><box size="1 0 3"/></geometry></visual>
      </link></robot>"""
    found, reasons = load_shapes(load_visuals(text), Packages())
    sizes = [shape.vertices.max(axis=0) - shape.vertices.min(axis=0) for shape in found]
    for size, wanted in zip(
        sizes, [(1, 2, 3), (1, 1, 2), (1.4, 1.4, 1.4), (1, 1, 3)], strict=True
    ):
        np.testing.assert_allclose(size, wanted, atol=0.02)
    for shape in found:
        np.testing.assert_allclose(
            shape.vertices.max(axis=0), -shape.vertices.min(axis=0), atol=1e-5
        )
    assert found[0].color == (1.0, 0.0, 0.0, 1.0)
    assert 'a box of size' in reasons['a']
