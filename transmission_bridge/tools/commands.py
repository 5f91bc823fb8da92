# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Arguments and help of all commands, separate from their code, so that help imports no numpy.

The docstring of a function is the help of its command: a summary, a description with the exit
codes, command lines to copy (indented), and a field for each argument: ``name VALUE``,
``--flag``, ``--option VALUE`` or ``--option VALUE ...``; ``[VALUE]`` may be missing. A field
without a text has the same text as in other commands. Users rely on all names here, and
``.ci/command_line.py`` makes ``docs/command_line.md`` from them. ``main`` runs the commands; texts
are free to change.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import nullcontext
import importlib
import inspect
import re
from typing import Any

from transmission_bridge.tools.cli import Console, Exit, parse_duration, show_busy, ToolResult

PROGRAM = 'transmission_bridge'

_REPEATED: dict[str, Any] = {'action': 'append', 'default': []}

#: What fields do not say: arguments of ``add_argument`` by the first word of a field, for every
#: command that has it, or by command and word for one of them.
_SETTINGS: dict[str, dict[str, Any]] = {
    'verb': {'choices': ('get', 'set', 'dump')},
    '--filter': {'default': ''},
    '--from': {'dest': 'source'},
    '--interface': {'required': True},
    '--node': {'default': 'transmission_bridge'},
    'watch --node': {'default': ''},
    '--package-path': _REPEATED,
    '--port': {'type': int, 'default': 8080},
    '--seconds': {'type': parse_duration},
    'demo --seconds': {'default': 8.0},
    '--to': {'choices': ('joint', 'actuator'), 'default': 'joint'},
    'map --to': {'required': True},
    '--transmission': _REPEATED,
}

#: Below the exit codes of each command.
EXIT_CODES = (
    'Every command ends with 1 if FILE is no robot description, and with 2 after wrong usage,\n'
    'without a library, or if a file cannot be read or written.'
)


class ToolCommand:
    """
    The help of a command; its module is imported when it runs.

    :param name: Its name.
    :param module: Module in this room with the function ``run``, which returns a result or an exit
        code. For errors of the user it raises
        :class:`~transmission_bridge.tools.cli.UsageError` or another error of this package.
    :param help_text: The docstring of its function.
    """

    def __init__(self, name: str, module: str, help_text: str) -> None:
        self._name, self._module, self._text = name, module, help_text

    @property
    def summary(self) -> str:
        """One line for the general help."""
        line = self._text.lstrip().partition('\n')[0]
        return line[:1].lower() + line[1:].removesuffix('.')

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add its help and its arguments to a parser."""
        text, arguments = _split_help(self._text)
        description, _, example = text.partition('\n\n')[2].partition('\n\n  ')
        parser.description = f'{description}\n{EXIT_CODES}'
        parser.epilog = f'example:\n  {example}'
        shared = _split_help(_shared.__doc__ or '')[1]
        for label, own_text in arguments.items():
            option, _, value = label.partition(' ')
            is_optional, value = value.startswith('['), value.strip('[]')
            is_several, value = value.endswith(' ...'), value.removesuffix(' ...')
            settings: dict[str, Any] = {'help': own_text or shared[option]}
            for key in (option, f'{self._name} {option}'):
                settings |= _SETTINGS.get(key, {})
            if value:
                settings['metavar'] = value
            elif option.startswith('--') and not {'choices', 'action'} & settings.keys():
                settings['action'] = 'store_true'
            if is_several and option.startswith('--'):
                settings |= {'action': 'extend', 'nargs': '+', 'default': []}
            elif is_several or is_optional:
                settings['nargs'] = '?' if not is_several else '*' if is_optional else '+'
            parser.add_argument(option, **settings)

    def run(self, options: argparse.Namespace, console: Console) -> ToolResult | Exit:
        """Run it."""
        module = importlib.import_module(f'transmission_bridge.tools.{self._module}')
        with show_busy(console.err) if self._module in COMPUTING else nullcontext():
            done: ToolResult | Exit = module.run(options, console)
        return done


#: Modules of commands that may compute for longer than a second before they print, as
#: :func:`_define_command` names them.
COMPUTING = ('check', 'card.command', 'compiler.command', 'plot')

#: By name, in alphabetical order; complete after the import of this module.
COMMANDS: dict[str, ToolCommand] = {}


def _define_command(module: str) -> Callable[[Callable[[], None]], None]:
    """Return a decorator that adds a command with the name and the help of a function."""

    def add(function: Callable[[], None]) -> None:
        name = function.__name__.removeprefix('_')
        COMMANDS[name] = ToolCommand(name, module, function.__doc__ or '')

    return add


def _split_help(text: str) -> tuple[str, dict[str, str]]:
    """Return a docstring without its fields, and the texts of the fields by label."""
    text, *fields = re.split(r'\n+:param (.+?):(?=[ \n]|$)', inspect.cleandoc(text))
    return text, dict(zip(fields[::2], map(str.strip, fields[1::2]), strict=True))


def _shared() -> None:
    """
    Arguments that several commands have.

    :param file: robot description: URDF, or SDF with <ros2_control> blocks; '-' reads standard
        input ('xacro robot.urdf.xacro | %(prog)s -')
    :param --params-file: parameter file of the bridge, written by hand, by 'param dump' or by
        'calibrate', for any node: its numbers of the transmissions and its options
        (actuator_units, wrap_period and so on) are used
    :param --actuator-names: names that a driver uses instead of the URDF's, each as
        TOPIC:DRIVER=URDF if several drivers use the same names; they override the names in the
        parameter file
    :param --node: name of the bridge with its namespace, for example left_arm/transmission_bridge
        (default: %(default)s)
    :param --transmission: only this transmission; may be repeated
    :param --force: replace an existing output
    :param --json: print JSON
    """


@_define_command('calibrate')
def _calibrate() -> None:
    """
    Find offsets and reductions by hand, or from a servo driver's file.

    The arm is calibrated by hand, with the torque off, beside the bridge or on the topic
    of a driver alone. The screen asks for one motion after the other: each joint towards
    positive once, then to its stops, or into a known pose. Nothing is commanded, and
    nothing is written when in doubt.

    exit code: 0 the numbers can be used, 1 they are in doubt, or something is missing, 130
    ended without writing. A transmission that the file of a servo driver leaves out is
    missing, unless --transmission selects others.

      transmission_bridge calibrate robot.urdf --stops --store
      transmission_bridge calibrate robot.urdf --pose elbow=1.57 --output new.urdf
      transmission_bridge calibrate robot.urdf --lerobot arm.json --output new.urdf

    :param file FILE:
    :param --params-file YAML:
    :param --stops: the limits in the description are the stops (often they are inside)
    :param --reductions: find the reductions also: both stops are needed then, twice
    :param --pose JOINT=VALUE ...: positions of the known pose [rad or m]; joints that are not
        named are at zero
    :param --srdf FILE: take the pose from this SRDF: --pose NAME is the name of a group_state
    :param --limits: also measure the stops after the pose, and write them as <limit> of the
        joints into --output, a description
    :param --lerobot JSON: take the ranges in a calibration file of LeRobot: as stops with
        --stops if they are as wide as the limits, else their middle as a guess
    :param --orca YAML: take reductions and zeros from the calibration.yaml of an ORCA hand,
        beside its config.yaml
    :param --node NAME:
    :param --store: store the numbers in the bridge (by hand)
    :param --transmission NAME:
    :param --actuators TOPIC: topic with the positions of actuators (default: those in
        --params-file, else actuator_states)
    :param --actuator-names DRIVER=URDF ...:
    :param --output NEW.urdf|yaml: write a parameter file (.yaml, .yml), or a copy of the
        description with the numbers
    :param --force:
    :param --json:
    """


@_define_command('card.command')
def _card() -> None:
    """
    Compute inertia, limits, friction and gains of joints from numbers of motors.

    Compute for each joint what a simulator needs: reflected inertia (armature), largest
    speed and effort, friction, gains in both directions, ratio, over the positions that
    the limits of the joints allow.

    exit code: 0 every transmission has a card, 1 some have none, 2 a number cannot be used.

      transmission_bridge card robot.urdf --motors motors.yaml
      transmission_bridge card robot.urdf --motors motors.yaml --mjcf > actuators.xml

    :param file FILE:
    :param --params-file YAML:
    :param --motors YAML: numbers of motors by actuator, and wanted gains by joint, see
        docs/compile.md; they replace those in the <param>s and <limit>s of FILE
    :param --mjcf: print MJCF to include: default classes, tendons, actuators, equalities
    :param --isaaclab: print Python with the actuators of Isaac Lab
    :param --json:
    """


@_define_command('check')
def _check() -> None:
    """
    Show the transmissions of a robot description and what is wrong with it.

    Show transmissions with roles, reductions and offsets, limits of joints and actuators,
    joints that pass through, and all findings as 'file:line: severity: sentence'.

    Limits of actuators follow from the limits of the joints; for coupled joints they are a
    box around all combinations. A number that depends on position is a range
    (0.2667 .. 0.3164) over the positions at which the bridge maps velocities; '-' is
    unlimited, '?' is unknown. Below an actuator are its own limits, and its limits in the
    units of its driver.

    exit code: 0 no errors (there may be warnings), 1 errors.

      transmission_bridge check robot.urdf
      xacro robot.urdf.xacro | transmission_bridge check --strict -

    :param file FILE:
    :param --params-file YAML:
    :param --json: print JSON; a limit or a ratio is a number, [least, greatest] if it depends
        on position, null if it is unlimited, 'varies' if it is unknown
    :param --strict: report warnings about unused data, and about data that ros2_control or
        URDF parsers reject, as errors
    """


@_define_command('compiler.command')
def _compile() -> None:
    r"""
    Write the maps of a robot as C, for control loops and microcontrollers.

    Write the maps of a robot as a folder of C99 that builds by itself: no allocation,
    only libm, bounded time, with a test. The printed operations are the numbers that one
    call computes, near the last solution and at most.

    exit code: 0 done, 1 FILE has errors, or differs from the folder of --check.

      transmission_bridge compile robot.urdf --output arm_map
      transmission_bridge compile robot.urdf --check arm_map
      transmission_bridge compile robot.urdf --output ankle_map --name ankle_map \
          --transmission left_ankle --transmission right_ankle

    :param file FILE:
    :param --params-file YAML:
    :param --output FOLDER: the folder to write
    :param --check FOLDER: compare this folder with the robot and print each difference; give
        the other options as for --output
    :param --name NAME: prefix of all names in C, and name of the package (default: the robot's
        name and '_map')
    :param --transmission NAME:
    :param --tuned-file YAML: numbers that the bridge keeps in its tuned_file; those in
        --params-file override them
    :param --ros2-control: add a hardware component that runs a driver of the actuators and
        gives joints to controllers, and a plugin for components that load transmissions
    :param --force:
    """


@_define_command('convert')
def _convert() -> None:
    r"""
    Convert recorded actuator states to joint states, or the reverse.

    Convert recorded actuator states to joint states as the bridge does, or the
    reverse. All other messages are copied, with their times of receipt.

    The result equals the output of a bridge with state_timeout 0 and publish_rate 0, and
    with the other parameters in --params-file. Unknown numbers and rejected messages are
    omitted, and counted. With '--to actuator' states are mapped, not commands: no limit
    applies.

    The turns of single-turn encoders (wrap_period) count from the first reading. OUT
    appears when it is complete, and is never replaced without --force. Needs rosbags
    (extra bags).

    exit code: 0 done, 1 nothing was converted, or rosbags cannot read IN.

      transmission_bridge convert robot.urdf drive.mcap drive_joints.mcap
      transmission_bridge convert bag/ bag_joints/ --topic /left/states:/joint_states \
          /right/states:/joint_states
      transmission_bridge convert robot.urdf drive.mcap out/ --params-file bridge.yaml
      transmission_bridge convert drive.mcap out.mcap --actuator-names M1=elbow_motor

    :param file [FILE]: robot description: URDF, or SDF with <ros2_control> blocks; '-' reads
        standard input ('xacro robot.urdf.xacro | %(prog)s -'); by default the first message on
        /robot_description in IN
    :param --params-file YAML:
    :param input IN: recording: a folder of rosbag2, or a file .mcap or .db3
    :param output OUT: recording to write: .mcap, .db3, or any other name for a folder of
        rosbag2
    :param --to: what to compute (joint)
    :param --topic SOURCE:TARGET ...: convert SOURCE to TARGET; may be repeated, and sources
        with the same target are merged as drivers of one bridge
        (/actuator_states:/joint_states, or the reverse)
    :param --keep: also keep the converted topics
    :param --force:
    :param --actuator-names DRIVER=URDF ...:
    """


@_define_command('demo')
def _demo() -> None:
    """
    Show the bridge with simulated motors at work.

    Start the bridge with simulated motors, move the example robot, show actuators and
    joints, and compare every published value with formulas written by hand. Needs rclpy.

    exit code: 0 all values agree, 1 a value differs, nothing arrived, or the bridge died.

      transmission_bridge demo --seconds 20

    :param --seconds N: how long the robot moves (default: %(default)g)
    :param --plain: show a few snapshots instead of a live table, as without a terminal
    """


@_define_command('export')
def _export() -> None:
    """
    Write tuned numbers back into a robot description, or its ranges for a driver.

    Write the numbers of a parameter file into a robot description. A number replaces
    its old value, or is inserted if it had its default; comments, order, line ends and
    encoding stay.
    By default the new description is printed. The result is read again, and every number
    is compared, before it is written.

    With --lerobot or --orca, write the calibration file of that driver instead: the
    positions of the motors with the joints at their limits. Every motor needs a
    transmission with one actuator and one joint.

    exit code: 0 done, 2 a number cannot be written.

      transmission_bridge param dump --output tuned.yaml
      transmission_bridge export robot.urdf --params-file tuned.yaml --output tuned.urdf
      transmission_bridge export robot.urdf --params-file tuned.yaml --output robot.urdf --force
      transmission_bridge export robot.urdf --lerobot my_arm.json

    :param file FILE:
    :param --params-file YAML:
    :param --output NEW: write the description to this file
    :param --lerobot FILE: write LeRobot's calibration file, JSON in ticks of 4096 per turn;
        the id is the <param name="id"> of the actuator or joint, homing_offset is 0; with
        --force one that exists keeps its motors, ids and homing offsets
    :param --orca FILE: write calibration.yaml of an ORCA hand, whose config.yaml is beside it;
        with --force one that exists keeps its other keys
    :param --transmission NAME: with --lerobot: write this transmission only; may be repeated
    :param --force:
    """


@_define_command('loops.command')
def _loops() -> None:
    r"""
    Find closed loops in a URDF or another file, and propose their transmissions.

    Find the loops of a mechanism in a file that states them: frames closing_NAME_1
    and closing_NAME_2 in the URDF (onshape-to-robot), <equality> and fixed tendons of an
    MJCF, loop_closures.yaml (sw2robot, scikit-robot), robot.yaml (example-parallel-robots).
    Show each loop with its rank and its gap, what can move it, and what is missing.
    With --output, write the URDF with <ros2_control> and <transmission>; comments,
    order, line ends and encoding stay.

    exit code: 0 everything is determined, 1 a choice is left (what to drive or command is
    listed), 2 a name has no match, or the loops do not close.

      transmission_bridge loops robot.urdf
      transmission_bridge loops robot.urdf --from robot.xml --output driven.urdf
      transmission_bridge loops leg.urdf --from loop_closures.yaml \
          --drive crank=knee_motor --command knee --output driven.urdf

    :param file FILE:
    :param --from FILE: the file that states the loops (default: FILE itself)
    :param --drive JOINT=MOTOR ...: joints that motors turn, in place of those that the file
        states
    :param --command JOINT ...: joints to command, as many as motors
    :param --output NEW.urdf: write the description to this file
    :param --force:
    :param --json:
    """


@_define_command('map')
def _map() -> None:
    r"""
    Compute joint values from actuator values, or the reverse.

    Values that depend on a missing input are not computed.

    exit code: 0 a value was computed, 1 no value was.

      transmission_bridge map robot.urdf --to joint --interface position m1=100 m2=-2.5
      transmission_bridge map ankle.urdf --to joint --interface effort m1=3 m2=4 \
          --at m1=0.2 m2=0.1

    :param file FILE:
    :param --params-file YAML:
    :param values NAME=VALUE ...: values of actuators (--to joint) in their driver's units, or
        of joints (--to actuator) in SI units; those not given are unknown
    :param --to: the side to compute
    :param --interface NAME: position, velocity, acceleration, effort, torque, force, or
        absolute_position (to joint only)
    :param --at NAME=VALUE ...: positions of the same actuators or joints, needed if a ratio
        depends on position
    :param --rate NAME=VALUE ...: their velocities, needed for accelerations if a ratio depends
        on position
    :param --json: print JSON: {name: value}
    """


@_define_command('param')
def _param() -> None:
    """
    Read, set or save parameters of a running bridge, without ros2cli.

    'get NAME...' prints parameters, 'set NAME VALUE [NAME VALUE ...]' sets all of them
    or none, 'dump [PREFIX]' prints those that begin with PREFIX (transmissions.) as a
    parameter file of this node. Values are YAML, as for 'ros2 param set'. Needs rclpy.

    exit code: 0 done, 1 the bridge is missing or rejects a value, 2 an unknown parameter.

      transmission_bridge param get transmissions.wrist.joints.roll.offset
      transmission_bridge param set transmissions.wrist.joints.roll.offset -0.1
      transmission_bridge param dump --output tuned.yaml
      transmission_bridge param dump '' --node left_arm/transmission_bridge

    :param verb: get, set or dump
    :param words [NAME ...]: names of parameters, for set each with a value behind it, for dump a
        prefix
    :param --node NAME:
    :param --output YAML: write what dump prints to this file
    :param --force:
    """


@_define_command('plot')
def _plot() -> None:
    """
    Draw the drive of a robot: actuators, transmissions, joints, curves.

    Draw the drive of a robot: actuators left, transmissions with their ratios in
    the middle, joints right. Curves below show position and ratio of each transmission
    with a varying ratio over its domain, with the limits of the joints. Needs matplotlib
    (extra plot).

    exit code: 0 all is drawn, 1 transmissions are rejected.

      transmission_bridge plot robot.urdf --output drive.svg
      transmission_bridge plot robot.urdf --transmission ankle --output ankle.png

    :param file FILE:
    :param --params-file YAML:
    :param --output FILE.svg|png: where to write (default: the robot's name with .svg, in this
        folder)
    :param --transmission NAME:
    :param --force:
    """


@_define_command('plugins')
def _plugins() -> None:
    """
    List the installed transmission types and drivers.

    List the installed transmission types, and drivers in Python: name, package, version,
    description, and the error of one that cannot be loaded.

    exit code: 0 all load, 1 some do not.

      transmission_bridge plugins

    :param --json:
    """


@_define_command('tune.command')
def _tune() -> None:
    """
    Open a page with the robot in 3D and every number of its transmissions beside it.

    Open a page in the browser with the robot in 3D, live, and every number of its
    transmissions beside it. Sends no commands, but a changed number can move a joint with
    its next command. The printed address contains a code that the page requires.
    Needs viser (extra tune), and rclpy unless there is a FILE.

    exit code: 0 ended, 2 the address cannot be listened on.

      transmission_bridge tune --output tuned.yaml
      transmission_bridge tune --node left_arm/transmission_bridge --output tuned.urdf
      transmission_bridge tune robot.urdf --package-path my_robot=src/my_robot

    :param file [FILE]: robot description: URDF, or SDF with <ros2_control> blocks; '-' reads
        standard input ('xacro robot.urdf.xacro | %(prog)s -'); by default the robot of a
        running bridge, with ROS
    :param --params-file YAML:
    :param --node NAME:
    :param --output NEW: what Save writes: .yaml for a parameter file, any other name for the
        description with the numbers in it; without this option nothing is written
    :param --force:
    :param --package-path NAME=FOLDER: where the meshes of a package are, beside the ament
        index; may be repeated
    :param --port N: port, or the next free one above (default: %(default)s)
    :param --host ADDRESS: listen on this address, read-only for other machines (default:
        127.0.0.1)
    :param --allow-changes: with --host: accept changes from other machines
    """


@_define_command('watch')
def _watch() -> None:
    """
    Show actuators, joints, commands, rates and clamps of the running system.

    Show the running system: states and commands of actuators and joints, ages, clamped
    commands, rates of topics, warnings of the diagnostics, and missing nodes. A live
    table on a terminal (rich, extra cli), snapshots elsewhere. Sends nothing. Needs
    rclpy. Keys: n and p turn the page, / filters by name, q ends.

    exit code: 0 driver and bridge work, 1 one is missing or the bridge is not active
    (the reason is on standard error).

      transmission_bridge watch
      transmission_bridge watch --node left_arm/transmission_bridge --seconds 10

    :param --once: print one snapshot after states have arrived, and end
    :param --seconds N: end after this time (default: Ctrl-C)
    :param --node NAME: name of the bridge with its namespace (default: those without a
        namespace)
    :param --filter TEXT: show only actuators and joints with TEXT in their names; '*' and '?'
        as in a shell
    :param --plain: print snapshots instead of a live table
    """


@_define_command('zero')
def _zero() -> None:
    """
    Set offsets of a running bridge from the present positions.

    Set the offsets of single joints so that their present positions are those given.
    Without joints, list the offsets that would change and ask: the present positions
    become the parameter zero_positions (zero) for the joints in zero_joints (all). The
    joints must be at rest, and not hold a position command. Needs rclpy.

    exit code: 0 done, 1 the bridge is missing or rejects the request.

      transmission_bridge zero elbow=1.57
      transmission_bridge zero --all --node left_arm/transmission_bridge

    :param joints [JOINT=POSITION ...]: positions where joints are now [rad or m]
    :param --all: do not ask, for scripts
    :param --absolute: take the positions of the joints from their absolute encoders
    :param --node NAME:
    """
