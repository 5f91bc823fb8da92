# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The files that come with the package are found, however it was installed."""

from __future__ import annotations

import pickle

import pytest

from transmission_bridge.errors import UnknownNameError
from transmission_bridge.resources import resource

ROBOTS = ('urdf/arm.urdf', 'urdf/arm_ros1.urdf', 'urdf/one_joint.urdf')


@pytest.mark.parametrize('name', ROBOTS)
def test_example_robots_are_found(name):
    """In this very installation each example robot is there, by parts or by its path."""
    assert resource(name).read_text(encoding='utf-8').startswith('<?xml')
    assert resource(*name.split('/')) == resource(name)


def test_file_that_is_not_there_is_named_with_those_that_are():
    """An unknown name is an error that lists the names there are and survives pickling."""
    with pytest.raises(UnknownNameError, match='unknown resource') as caught:
        resource('urdf', 'leg.urdf')
    assert caught.value.name == 'urdf/leg.urdf'
    assert set(ROBOTS) <= set(caught.value.known)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
