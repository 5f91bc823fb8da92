# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Arguments and help of all commands, apart from their code: help does not wait for numpy."""

from __future__ import annotations

import argparse
from collections.abc import Callable
import importlib
from typing import NoReturn

from transmission_bridge.tools.cli import Command, Console, duration, Exit, optional

__all__ = ['PROGRAM', 'SUMMARIES', 'load_command']

PROGRAM = 'transmission_bridge'

#: By name: one line for the general help.
SUMMARIES = {
    'calibrate': 'find reductions, offsets and dimensions from a recording of both sides',
    'check': 'show the transmissions of a robot description and what is wrong with it',
    'completion': 'print a completion script for bash, fish or zsh',
    'convert': 'convert recorded actuator states to joint states, or the reverse',
    'demo': 'show a simulated driver and the bridge at work',
    'export': 'write tuned numbers back into a robot description',
    'jacobian': 'compute the Jacobian of a link, in joint or in actuator coordinates',
    'map': 'compute joint values from actuator values, or the reverse',
    'plot': 'draw the drive of a robot: actuators, transmissions, joints, curves',
    'plugins': 'list the installed transmission types',
    'tune': 'open a page with the robot in 3D and every number of its transmissions beside it',
    'watch': 'show actuators, joints, commands, rates and clamps of the running system',
}


class _Removed(argparse.Action):
    """An argument of former versions, which names its successor."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        parser.error(f'{self.option_strings[0]} was removed: {self.const}')


def _removed(parser: argparse.ArgumentParser, option: str, successor: str) -> None:
    parser.add_argument(
        option, action=_Removed, nargs='?', const=successor, help=argparse.SUPPRESS
    )


def _add_robot(
    parser: argparse.ArgumentParser, *, instead: str = '', needs_parameters: bool = False
) -> None:
    """
    Add FILE, ``--alias`` and ``--params-file``, which every command with a description has.

    :param instead: What is used where FILE is left out; empty where it cannot be.
    :param needs_parameters: Whether there has to be a parameter file.
    """
    parser.add_argument(
        'file',
        metavar='FILE',
        nargs='?' if instead else None,
        help="robot description: URDF, or SDF with <ros2_control> blocks; '-' reads standard "
        "input ('xacro robot.urdf.xacro | %(prog)s -')"
        + (f'; by default {instead}' * bool(instead)),
    )
    parser.add_argument(
        '--alias',
        action='append',
        default=[],
        metavar='TYPE=TYPE',
        help='read a type in FILE as an installed type; may be repeated',
    )
    parser.add_argument(
        '--params-file',
        required=needs_parameters,
        metavar='YAML',
        help="parameter file of the bridge, as people, 'ros2 param dump' or 'calibrate' write it, "
        'of any node: its numbers of the transmissions and its options (actuator_units, '
        'plugin_aliases, wrap_period and so on) are used',
    )


def _add_names(parser: argparse.ArgumentParser) -> None:
    """Add ``--actuator-names`` to a command that reads what drivers have sent."""
    parser.add_argument(
        '--actuator-names',
        action='extend',
        nargs='+',
        default=[],
        metavar='DRIVER=URDF',
        help="names that a driver uses instead of the URDF's, each as TOPIC:DRIVER=URDF where "
        'several drivers use the same; they override those in the parameter file',
    )


def _add_node(parser: argparse.ArgumentParser, default: str, without: str) -> None:
    """Add ``--node`` to a command that looks at a running bridge."""
    parser.add_argument(
        '--node',
        default=default,
        metavar='NAME',
        help=f'name of the bridge with its namespace (default: {without})',
    )
    _removed(parser, '--namespace', 'give it with --node NAMESPACE/transmission_bridge')


def _calibrate(parser: argparse.ArgumentParser) -> None:
    _add_robot(parser)
    parser.add_argument(
        'data',
        metavar='DATA',
        help='recording: a rosbag2 folder, .mcap, .db3, or a table .csv whose columns are time, '
        'actuators and joints by name (one row per pose will do)',
    )
    _removed(parser, '--description', 'FILE is the first argument, calibrate FILE DATA')
    parser.add_argument(
        '--transmission',
        action='append',
        default=[],
        metavar='NAME',
        help='calibrate this one only; may be repeated',
    )
    for side, topic in (('actuators', 'actuator_states'), ('joints', 'joint_absolute_positions')):
        parser.add_argument(
            f'--{side}',
            default=topic,
            metavar='TOPIC',
            help=f'topic with the measured positions of {side}, in a bag (default: {topic})',
        )
    parser.add_argument(
        '--fix',
        action='append',
        default=[],
        metavar='PATTERN',
        help="keep numbers, for example 'wrist.joints.*.offset'; may be repeated",
    )
    parser.add_argument(
        '--noise',
        choices=('joint', 'actuator'),
        default='joint',
        help='the side whose measurements have the noise (default: joint)',
    )
    _add_names(parser)
    parser.add_argument('--output', metavar='NEW.yaml', help='write a parameter file')
    parser.add_argument('--report', metavar='NEW.svg|png', help='draw the residuals')
    parser.add_argument(
        '--doubtful', action='store_true', help='write numbers that are in doubt as well'
    )
    _add_force(parser)
    parser.add_argument('--json', action='store_true', help='print JSON')


def _add_force(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('--force', action='store_true', help='replace what is there')


def _check(parser: argparse.ArgumentParser) -> None:
    _add_robot(parser)
    parser.add_argument('--json', action='store_true', help='print JSON')
    parser.add_argument(
        '--limits',
        action='store_true',
        help='with --json: add limits of joints and actuators, their units, and ratios that vary',
    )
    parser.add_argument(
        '--strict',
        action='store_true',
        help='count warnings about data that nothing uses, or that ros2_control or URDF parsers '
        'refuse, as errors',
    )


def _completion(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('shell', choices=('bash', 'fish', 'zsh'), help='the shell')


def _convert(parser: argparse.ArgumentParser) -> None:
    _add_robot(parser, instead='the first message on /robot_description in IN')
    parser.add_argument(
        'input', metavar='IN', help='recording: a folder of rosbag2, or a file .mcap, .db3 or .csv'
    )
    parser.add_argument(
        'output',
        metavar='OUT',
        help='recording to write: .mcap, .db3, .csv, or any other name for a folder of rosbag2',
    )
    _removed(parser, '--description', 'FILE is the first argument, convert FILE IN OUT')
    parser.add_argument(
        '--to', choices=('joint', 'actuator'), default='joint', help='what to compute (joint)'
    )
    parser.add_argument(
        '--topic',
        action='extend',
        nargs='+',
        default=[],
        metavar='SOURCE:TARGET',
        help='convert SOURCE to TARGET; may be repeated, and sources with the same target are '
        'merged as drivers of one bridge (/actuator_states:/joint_states, or the reverse)',
    )
    parser.add_argument(
        '--keep', action='store_true', help='keep the topics that are converted as well'
    )
    parser.add_argument(
        '--storage',
        choices=('mcap', 'sqlite3'),
        help='storage of a folder (that of IN, mcap if it has none)',
    )
    _add_force(parser)
    parser.add_argument(
        '--keep-readable',
        action='store_true',
        help='of a recording that is cut off or damaged, write what can be read; without this '
        'nothing is written',
    )
    _add_names(parser)


def _demo(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--seconds',
        type=duration,
        default=8.0,
        metavar='N',
        help='how long the robot moves (default: %(default)g)',
    )
    parser.add_argument(
        '--plain',
        action='store_true',
        help='show a few snapshots instead of a live table, as where output is no terminal',
    )


def _export(parser: argparse.ArgumentParser) -> None:
    _add_robot(parser, needs_parameters=True)
    parser.add_argument('--output', metavar='NEW', help='write the description to this file')
    _add_force(parser)
    _removed(parser, '--params', '--params-file YAML')
    _removed(parser, '--in-place', '--output FILE --force')


def _jacobian(parser: argparse.ArgumentParser) -> None:
    _add_robot(parser)
    parser.add_argument(
        'positions',
        nargs='*',
        metavar='q',
        help='positions [rad or m] of joints or at the motors, in the order of the coordinates, '
        'or NAME=VALUE with the others at zero; all zero by default',
    )
    parser.add_argument('--base', required=True, metavar='LINK', help='link that is the reference')
    parser.add_argument('--end', required=True, metavar='LINK', help='link that is moved')
    parser.add_argument(
        '--space',
        choices=('joint', 'actuator'),
        default='joint',
        help='whose positions and motions (default: joint)',
    )
    parser.add_argument('--json', action='store_true', help='print JSON')


def _map(parser: argparse.ArgumentParser) -> None:
    _add_robot(parser)
    parser.add_argument(
        'values',
        nargs='+',
        metavar='NAME=VALUE',
        help="values of actuators (--to joint) in their driver's units, or of joints (--to "
        'actuator) in SI units; those not given are unknown',
    )
    parser.add_argument(
        '--to', required=True, choices=('joint', 'actuator'), help='what to compute'
    )
    parser.add_argument(
        '--interface',
        required=True,
        metavar='NAME',
        help='position, velocity, acceleration, effort, torque, force, or absolute_position '
        '(to joint only)',
    )
    for option, what in (('--at', 'positions'), ('--rate', 'velocities')):
        parser.add_argument(
            option,
            action='extend',
            nargs='+',
            default=[],
            metavar='NAME=VALUE',
            help=f'{what} of the same actuators or joints, needed where the ratio of a '
            'transmission depends on position',
        )
    parser.add_argument('--json', action='store_true', help='print JSON: {name: value}')


def _plot(parser: argparse.ArgumentParser) -> None:
    _add_robot(parser)
    parser.add_argument(
        '--output',
        metavar='FILE.svg|png',
        help="where to write (default: the robot's name with .svg, in this folder)",
    )
    parser.add_argument(
        '--transmission',
        action='append',
        default=[],
        metavar='NAME',
        help='draw this one only; may be repeated',
    )
    _add_force(parser)


def _plugins(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('--json', action='store_true', help='print JSON')


def _tune(parser: argparse.ArgumentParser) -> None:
    _add_robot(parser, instead='the robot of a running bridge, with ROS')
    _add_node(parser, 'transmission_bridge', 'transmission_bridge')
    parser.add_argument(
        '--output',
        metavar='NEW',
        help='what Save writes: .yaml for a parameter file, any other name for the description '
        'with the numbers in it; without this nothing is written',
    )
    _add_force(parser)
    parser.add_argument(
        '--package-path',
        action='append',
        default=[],
        metavar='NAME=FOLDER',
        help='where the meshes of a package are, beside the ament index; may be repeated',
    )
    parser.add_argument(
        '--port',
        type=int,
        default=8080,
        metavar='N',
        help='port, or the next free one above (default: %(default)s)',
    )
    parser.add_argument(
        '--host',
        metavar='ADDRESS',
        help='listen on this address for other machines, for looking only (default: 127.0.0.1)',
    )
    parser.add_argument(
        '--allow-changes', action='store_true', help='with --host: let other machines change too'
    )


def _watch(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--once', action='store_true', help='print one snapshot when states have arrived, and end'
    )
    parser.add_argument(
        '--seconds', type=duration, metavar='N', help='end after this time (default: Ctrl-C)'
    )
    _add_node(parser, '', 'those without a namespace')
    parser.add_argument(
        '--filter',
        default='',
        metavar='TEXT',
        help="show actuators and joints with TEXT in their names only; '*' and '?' as in a shell",
    )
    parser.add_argument(
        '--plain', action='store_true', help='print snapshots instead of a live table'
    )


def _print_completion(options: argparse.Namespace, console: Console) -> Exit:
    argcomplete = optional('argcomplete', 'cli')
    console.out.line(argcomplete.shellcode([PROGRAM], shell=options.shell))
    return Exit.OK


def _runner(module: str) -> Callable[[argparse.Namespace, Console], Exit]:
    def run(options: argparse.Namespace, console: Console) -> Exit:
        done: Exit = importlib.import_module(f'transmission_bridge.tools.{module}').run(
            options, console
        )
        return done

    return run


_COMMANDS: dict[str, Command] = {}

_COMMANDS['calibrate'] = Command(
    description='Find the numbers of the transmissions (reductions, offsets, dimensions) from a\n'
    'recording of actuator positions and of joint positions that were measured by other\n'
    'means: absolute encoders, or known poses. Backlash, a time offset between the sides,\n'
    'and errors once per turn are found and taken into account; what the model does not\n'
    'explain is said, and no file is written then. What the recording cannot tell keeps\n'
    'its value, with the reason. Intervals are of 95 %.\n\n'
    'exit code: 0 the numbers can be used, 1 they are in doubt, nothing is identifiable,\n'
    'or the description is none, 2 wrong usage or a file cannot be read or written.',
    example='  transmission_bridge calibrate robot.urdf poses.csv --output tuned.yaml\n'
    '  transmission_bridge calibrate robot.urdf recording.mcap --joints /joint_encoders \\\n'
    '      --transmission wrist --report residuals.svg',
    add_arguments=_calibrate,
    run=_runner('calibration.command'),
)
_COMMANDS['check'] = Command(
    description='Show the transmissions of a robot description with joints, actuators, roles,\n'
    'reductions and offsets, the limits of joints and actuators, the joints that pass\n'
    'through, and everything that is odd.\n\n'
    'exit code: 0 no errors (there may be warnings), 1 errors, also if FILE is not a robot\n'
    'description at all, 2 wrong usage or FILE cannot be read.',
    example='  transmission_bridge check robot.urdf\n'
    '  xacro robot.urdf.xacro | transmission_bridge check --strict -',
    add_arguments=_check,
    run=_runner('check'),
)
_COMMANDS['completion'] = Command(
    description='Print a script that makes a shell complete commands, options and values.\n'
    'Needs argcomplete, which ROS has.\n\n'
    'exit code: 0 printed, 2 wrong usage, or argcomplete is missing.',
    example='  source <(transmission_bridge completion bash)\n'
    '  transmission_bridge completion fish \\\n'
    '      > ~/.config/fish/completions/transmission_bridge.fish',
    add_arguments=_completion,
    run=_print_completion,
)
_COMMANDS['convert'] = Command(
    description='Convert recorded actuator states to joint states as the bridge would have,\n'
    'or the reverse. All other messages in the recording are copied.\n\n'
    'OUT appears when it is complete, and is never replaced without --force.\n\n'
    'A line of a CSV file is a message, with the columns time and stamp [s], topic, and\n'
    'NAME.position, NAME.velocity, NAME.effort, of actuators in the units of their\n'
    'drivers, of joints in SI units; stamp and topic may be absent.\n'
    'Only what is converted is written to a CSV file.\n\n'
    'With the parameter file of a bridge the result is what that one would have published.\n\n'
    'exit code: 0 done, 1 nothing was converted, IN is no recording, cut off or damaged, or\n'
    'the description is none, 2 wrong usage, or a file cannot be read or written.',
    example='  transmission_bridge convert robot.urdf drive.mcap drive_joints.mcap\n'
    '  transmission_bridge convert bag/ bag_joints/ --topic /left/states:/joint_states \\\n'
    '      /right/states:/joint_states\n'
    '  transmission_bridge convert robot.urdf drive.mcap drive.csv --params-file bridge.yaml\n'
    '  transmission_bridge convert drive.mcap out.mcap --actuator-names M1=elbow_motor',
    add_arguments=_convert,
    run=_runner('convert.command'),
)
_COMMANDS['demo'] = Command(
    description='Start a simulated driver and the bridge as two processes, move the joints of\n'
    'the example robot, show actuators and joints, and compare every published value\n'
    'with formulas written out by hand. Needs rclpy.\n\n'
    'exit code: 0 all values agree, 1 one does not, nothing arrived, or a process died,\n'
    '2 wrong usage or rclpy is missing.',
    example='  transmission_bridge demo --seconds 20',
    add_arguments=_demo,
    run=_runner('demo.command'),
)
_COMMANDS['export'] = Command(
    description='Write the numbers of a parameter file into a robot description, each where it\n'
    'stands or would stand; every other byte stays as it is. By default the new\n'
    'description is printed.\n\n'
    'exit code: 0 done, 1 FILE is not a robot description, 2 wrong usage, a number cannot\n'
    'be written, or a file cannot be read or written.',
    example='  ros2 param dump /transmission_bridge > tuned.yaml\n'
    '  transmission_bridge export robot.urdf --params-file tuned.yaml --output tuned.urdf\n'
    '  transmission_bridge export robot.urdf --params-file tuned.yaml --output robot.urdf --force',
    add_arguments=_export,
    run=_runner('export'),
)
_COMMANDS['jacobian'] = Command(
    description='Compute the Jacobian of a link and its pose. Rows vx vy vz are the velocity of\n'
    "the end's origin, wx wy wz its angular velocity, in the axes of the base, per unit of\n"
    'each joint or actuator.\n\n'
    'exit code: 0 done, 1 FILE is not a robot description, or no joints lead from base to\n'
    'end, 2 wrong usage, FILE cannot be read, or the position cannot be reached.',
    example='  transmission_bridge jacobian robot.urdf --base base_link --end tool 0.1 -0.2 0.3\n'
    '  transmission_bridge jacobian robot.urdf --base base_link --end tool \\\n'
    '      --space actuator shoulder_motor=12.5',
    add_arguments=_jacobian,
    run=_runner('jacobian'),
)
_COMMANDS['map'] = Command(
    description='Compute joint values from actuator values, or the reverse. What depends on a\n'
    'value that is not given is not computed.\n\n'
    'exit code: 0 something was computed, 1 nothing was, or FILE is not a robot\n'
    'description, 2 wrong usage or FILE cannot be read.',
    example='  transmission_bridge map robot.urdf --to joint --interface position m1=100 m2=-2.5\n'
    '  transmission_bridge map ankle.urdf --to joint --interface effort m1=3 m2=4 \\\n'
    '      --at m1=0.2 m2=0.1',
    add_arguments=_map,
    run=_runner('map'),
)
_COMMANDS['plot'] = Command(
    description='Draw the drive of a robot: actuators left, transmissions with their ratios in\n'
    'the middle, joints right. Below that, for each transmission whose ratio depends on\n'
    'position, position and ratio over its domain with the limits of the joints marked.\n'
    'The same description gives the same file.\n\n'
    'exit code: 0 all is drawn, 1 transmissions are refused, or FILE is not a\n'
    'robot description, 2 wrong usage or a file cannot be read or written.',
    example='  transmission_bridge plot robot.urdf --output drive.svg\n'
    '  transmission_bridge plot robot.urdf --transmission ankle --output ankle.png',
    add_arguments=_plot,
    run=_runner('plot.command'),
)
_COMMANDS['plugins'] = Command(
    description='List the installed transmission types: type string, package, version, what it\n'
    'is, and why it cannot be loaded if so.\n\n'
    'exit code: 0 all load, 1 some do not.',
    example='  transmission_bridge plugins',
    add_arguments=_plugins,
    run=_runner('plugins'),
)
_COMMANDS['tune'] = Command(
    description='Open a page in the browser with the robot in 3D, live, and every number of its\n'
    'transmissions beside it: move a slider, see the arm come into place, press Save.\n'
    'Commands nothing, but a changed number can move a joint with its next command.\n'
    'The printed address has a code, without which nobody sees or changes anything.\n'
    'Needs viser (extra tune), and rclpy unless there is a FILE.\n\n'
    'exit code: 0 ended, 1 FILE is not a robot description, 2 wrong usage, a library is\n'
    'missing, or the address cannot be listened on.',
    example='  transmission_bridge tune --output tuned.yaml\n'
    '  transmission_bridge tune --node left_arm/transmission_bridge --output tuned.urdf\n'
    '  transmission_bridge tune robot.urdf --package-path my_robot=src/my_robot',
    add_arguments=_tune,
    run=_runner('tune.command'),
)
_COMMANDS['watch'] = Command(
    description='Show the running system: positions, velocities and efforts of actuators and\n'
    'joints, the newest commands, ages, commands that were clamped, rates of topics, what\n'
    'diagnostics warn of, and which side is missing. A live table on a terminal (rich,\n'
    'extra cli), snapshots elsewhere. Sends nothing. Needs rclpy.\n\n'
    'exit code: 0 driver and bridge are there and work, 1 one is missing or the bridge is\n'
    'not active, in words on standard error, 2 wrong usage or rclpy is missing.',
    example='  transmission_bridge watch\n'
    '  transmission_bridge watch --node left_arm/transmission_bridge --seconds 10',
    add_arguments=_watch,
    run=_runner('watch'),
)


def load_command(name: str) -> Command:
    """Return a command; its code is imported when it runs."""
    return _COMMANDS[name]
