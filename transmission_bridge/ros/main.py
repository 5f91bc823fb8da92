# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The programs ``bridge_node`` and ``driver_node``: command line, then node.

Entry points in setup.py call ``run_bridge`` and ``run_driver``; tools and tests without installed
scripts run ``python3 -m transmission_bridge.ros.main PROGRAM ...``. ROS is imported only when a
program runs.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
import sys
from typing import Any

from transmission_bridge.errors import describe_unknown_option
from transmission_bridge.ros.process import run

#: By program, which is also its module: class of its node, which takes ``parameter_overrides`` and
#: has ``shut_down``; its purpose; and a command line with ROS arguments for the help text. The
#: order is that of the entry points at the end.
_PROGRAMS = {
    'bridge_node': (
        'TransmissionBridge',
        'Give an actuator-space robot driver a joint-space interface, from the transmissions in '
        'the robot description.',
        'Example with ROS arguments: bridge_node --urdf robot.urdf --ros-args -p limits:=reject',
    ),
    'driver_node': (
        'DriverNode',
        'Run a driver in Python on the topics actuator_states and actuator_commands.',
        'Example with ROS arguments: driver_node --urdf robot.urdf --ros-args -p block:=left_arm',
    ),
}


def run_program(program: str, args: Sequence[str] | None = None) -> int:
    """
    Run a node with a robot description until a signal stops it.

    The bridge can simulate its drivers, and starts by itself if it is given a description.

    :param program: ``bridge_node`` or ``driver_node``, which is also its module in ``ros``.
    :param args: Command line without the program's name, ``sys.argv[1:]`` by default.
    :returns: The exit code: 0, or 1 if the description or a parameter cannot be used. A mistake
        in the command line exits with 2, as in argparse.
    """
    is_bridge = program == 'bridge_node'
    given = list(sys.argv[1:] if args is None else args)
    parser = _make_parser(program, is_bridge=is_bridge)
    own = remove_ros_arguments(given)
    problem = describe_unknown_option(own, parser)
    if not problem and '--params-file' in given:
        # Imported here, because it is slow.
        from transmission_bridge.bridge.options import describe_damaged_files

        problem = describe_damaged_files(given)
    if problem:
        parser.error(problem)
    try:
        options = parser.parse_args(own)
    except KeyboardInterrupt:
        # A pipe may block. Nothing has started yet, so the process ends like a command.
        raise SystemExit(130) from None

    plugins = [plugin for file in options.driver for plugin in file]
    # A parameter file may have hardware_plugins.
    if plugins and options.urdf and '--params-file' not in given:
        texts = options.urdf, *given
        if not any(plugin in text for plugin in plugins for text in texts):
            names = ' or '.join(plugins)
            parser.error(
                f'--driver: no <plugin> of the description is {names}: write it in <hardware>, '
                'or set hardware_plugins'
            )

    def make_described_node() -> Any:
        # Imported here, because run() handles signals now, and these imports are slow.
        from rclpy.parameter import Parameter

        from transmission_bridge.bridge.options import warn_of_unused_parameter_files

        values = {'robot_description': options.urdf} if options.urdf else {}
        if is_bridge and options.simulate:
            values['hardware_plugins'] = ['*=transmission_bridge/SimulatedDriver']
        more = {'autostart': bool(options.urdf)} if is_bridge else {}
        overrides = [Parameter(name, value=value) for name, value in values.items()]
        module = import_module(f'transmission_bridge.ros.{program}')
        node = getattr(module, _PROGRAMS[program][0])(parameter_overrides=overrides, **more)
        for sentence in warn_of_unused_parameter_files(given, node.get_fully_qualified_name()):
            node.get_logger().warning(sentence)
        return node

    return run(
        make_described_node,
        given,
        executor=options.executor,
        on_stop=lambda node: node.shut_down(),
    )


def _make_parser(program: str, *, is_bridge: bool) -> argparse.ArgumentParser:
    _, purpose, example = _PROGRAMS[program]
    parser = argparse.ArgumentParser(
        prog=program, description=purpose, epilog=example, allow_abbrev=False
    )
    parser.add_argument(
        '--executor',
        default='auto',
        choices=('auto', 'events', 'single_threaded'),
        help='executor of the callbacks; auto: the first of the others that is available',
    )
    parser.add_argument(
        '--urdf',
        type=_read_urdf,
        metavar='FILE',
        help='robot description to use instead of the parameter or topic robot_description',
    )
    parser.add_argument(
        '--driver',
        action='append',
        default=[],
        type=_add_drivers,
        metavar='FILE.py',
        help='Python file with drivers: class Servos in arm.py becomes the plugin arm/Servos; may '
        'be repeated',
    )
    if is_bridge:
        parser.add_argument(
            '--simulate',
            action='store_true',
            help="simulate all motors: -p hardware_plugins:=['*=transmission_bridge/"
            "SimulatedDriver']",
        )
    return parser


def _add_drivers(path: str) -> list[str]:
    """
    Make the drivers of a Python file known by the names of file and class; return these names.

    As for a script, modules beside the file can be imported.
    """
    from importlib.util import module_from_spec, spec_from_file_location

    from transmission_bridge.drivers import Driver, register_driver

    name = Path(path).stem
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise argparse.ArgumentTypeError(f'{path} is not a Python file')
    module = sys.modules[name] = module_from_spec(spec)
    sys.path.append(str(Path(path).resolve().parent))
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise argparse.ArgumentTypeError(f'{path}: {error!r}') from None
    classes = [var for var in vars(module).values() if isinstance(var, type)]
    kinds = [cls for cls in classes if issubclass(cls, Driver) and cls.__module__ == name]
    plugins = {f'{name}/{kind.__name__}': kind for kind in kinds}
    for plugin, kind in plugins.items():
        register_driver(plugin, kind)
    if not plugins:
        raise argparse.ArgumentTypeError(f'{path} has no subclass of transmission_bridge.Driver')
    return [*plugins]


def _read_urdf(path: str) -> str:
    # Imported here, because it is slow, and a signal during it must be handled.
    from transmission_bridge.description.document import description_text, read_urdf_file

    try:
        return description_text(read_urdf_file(path), name=path)
    except (OSError, ValueError) as error:
        reason = getattr(error, 'strerror', None) or error
        raise argparse.ArgumentTypeError(f'{path}: {reason}') from None


def remove_ros_arguments(arguments: Sequence[str]) -> list[str]:
    """Return a command line without its ROS arguments (``--ros-args`` to ``--`` or the end)."""
    own, is_ros = [], False
    for argument in arguments:
        if argument == ('--' if is_ros else '--ros-args'):
            is_ros = not is_ros
        elif not is_ros:
            own.append(argument)
    return own


#: Entry points.
run_bridge, run_driver = (partial(run_program, program) for program in _PROGRAMS)

if __name__ == '__main__':
    raise SystemExit(run_program(sys.argv[1], sys.argv[2:]))
