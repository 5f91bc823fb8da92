# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""One behaviour for the whole suite, and what several of its rooms share."""

import importlib.metadata
import importlib.util
import json
import os
from pathlib import Path
import signal
import sys
import warnings

from documents import ROOT
from hypothesis import is_hypothesis_test, settings
from hypothesis.internal.conjecture import providers
import pytest
from zoo import elements
import zoo.reference

from transmission_bridge.transmissions.registry import ENTRY_POINT_GROUP

# Some tests run pytest on files of their own; colcon's options are for this run, not for those.
os.environ.pop('PYTEST_ADDOPTS', None)

#: How many times as long as in CI random tests run, all of them: ``make campaign`` sets it.
CAMPAIGN = int(os.environ.get('TRANSMISSION_BRIDGE_CAMPAIGN', '1'))

# The same examples every time: a failure elsewhere is a failure here. No deadline: a busy machine
# is slow without being wrong.
settings.register_profile('suite', deadline=None, derandomize=True, max_examples=50)
settings.load_profile('suite')
# Hypothesis also draws the constants of whichever modules are loaded by then: the examples of a
# test would depend on which tests ran before it in the same process.
if hasattr(providers, 'is_local_module_file'):
    providers.is_local_module_file = lambda path: False

# A runner in the background ignores these, and every process that a test starts would inherit it.
for _number, _handler in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGHUP, signal.SIG_DFL),
):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _handler)


def pytest_collection_modifyitems(config, items):
    """Give random tests their length, and leave to a campaign what is marked for it alone."""
    if CAMPAIGN == 1:
        left = [each for each in items if each.get_closest_marker('campaign')]
        config.hook.pytest_deselected(items=left)
        items[:] = [each for each in items if each not in left]
        return
    for test in {each.obj for each in items if is_hypothesis_test(each.obj)}:
        short = test._hypothesis_internal_use_settings
        longer = settings(short, max_examples=short.max_examples * CAMPAIGN)
        test._hypothesis_internal_use_settings = longer


@pytest.fixture(scope='session')
def campaign():
    """Return how many times as long as in CI a random test runs."""
    return CAMPAIGN


@pytest.fixture(scope='session')
def load():
    """Return a function that gives the module in a file, loaded once under a name."""

    def load_once(name, path):
        if name not in sys.modules:
            spec = importlib.util.spec_from_file_location(name, path)
            # Dataclasses look their module up.
            sys.modules[name] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(sys.modules[name])
        return sys.modules[name]

    return load_once


@pytest.fixture(scope='session')
def reference():
    """Return the reference robot with its formulas."""
    return zoo.reference


@pytest.fixture(scope='session')
def robot(reference):
    """Return the maps of the reference robot."""
    robot = elements.load(reference.URDF)
    assert (robot.joint_names, robot.actuator_names) == (reference.JOINTS, reference.ACTUATORS)
    assert robot.pass_through == ('finger',)
    return robot


@pytest.fixture(scope='session')
def linkages():
    """Return the worked linkages of the documents, URDFs by name."""
    texts = {path.stem: path.read_text('utf-8') for path in ROOT.glob('examples/linkages/*.urdf')}
    found = {
        name: text[text.index('<robot') :]
        for name, text in texts.items()
        if '<transmission' in text
    }
    assert set(found) == {'four_bar_knee', 'five_bar', 'push_rod_ankle'}
    return found


@pytest.fixture(scope='session')
def built_in_types():
    """Return the names under which this package itself brings transmissions."""
    return {
        entry_point.name
        for entry_point in importlib.metadata.distribution('transmission_bridge').entry_points
        if entry_point.group == ENTRY_POINT_GROUP
    }


@pytest.fixture(scope='session')
def vectors_folder():
    """Return the folder of the reference vectors, which TRANSMISSION_BRIDGE_VECTORS may name."""
    shipped = Path(__file__).parent / 'data' / 'vectors'
    return Path(os.environ.get('TRANSMISSION_BRIDGE_VECTORS', shipped))


@pytest.fixture(scope='session')
def load_vectors(vectors_folder):
    """Return a function that reads a file of reference vectors."""
    return lambda name: json.loads((vectors_folder / name).read_text(encoding='utf-8'))


# -- the harness of the node's tests, for the rooms that talk to nodes ---------------------------


@pytest.fixture(scope='session')
def harness(load, tmp_path_factory):
    """Return the harness of the node's tests."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
        patch.setenv('ROS_LOG_DIR', str(tmp_path_factory.mktemp('log')))
        patch.setenv('RCUTILS_COLORIZED_OUTPUT', '0')
        # rclpy's parser of message definitions imports modules that Python has deprecated.
        warnings.simplefilter('ignore', DeprecationWarning)
        pytest.importorskip('rclpy', reason='rclpy is not installed')
        yield load('ros_harness', Path(__file__).parent / 'ros' / 'harness.py')


@pytest.fixture
def peer(harness):
    """Return a :class:`Peer` in the domain of the processes."""
    peer = harness.Peer()
    yield peer
    peer.destroy()


@pytest.fixture
def start_process(harness):
    """Start a module or a script with arguments; what is left of it ends with the test."""
    processes = []

    def start(module, *args, **how):
        processes.append(harness.Process(module, args, **how))
        return processes[-1]

    yield start
    for process in processes:
        process.clean_up()
        print(process.output)  # pytest shows it where the test failed
