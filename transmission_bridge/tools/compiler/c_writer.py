# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Write the maps of a robot as a folder of C that builds by itself.

The templates have everything that does not depend on the robot; ``@KEY@`` in them is a key of the
values that are made here. ``command`` calls the writer. Programs of users rely on the
header and on the bits of the status; the order of arrays is that of ``templates/source.c``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape  # xml.sax.saxutils imports urllib, which is slow
from importlib.resources import files
import math
from pathlib import Path
import re
import sys

from transmission_bridge.description import RobotDescription
from transmission_bridge.description.document import MECHANICAL_REDUCTION
from transmission_bridge.interfaces import ACTUATOR_TO_JOINT, Direction, DIRECTIONS
from transmission_bridge.tools.compiler.compiled_robot import (
    can_number_reverse,
    CompiledRobot,
    iterate_check_steps,
)
from transmission_bridge.tools.units import report_actuator_unit, report_joint_unit
from transmission_bridge.transmissions.robot import RATIOS, ROWS

#: Samples of the walk of the test, in each direction.
_SAMPLES = 150

#: Width of lines of C.
_WIDTH = 99

#: Templates, their files, and the value without which the file is not written.
_FILES = (
    ('plugins.xml', '{name}_plugins.xml', 'CLASSES'),
    ('robot.hpp', 'src/{name}_robot.hpp', 'FACTS'),
    ('hardware.xml', '{name}_hardware.xml', 'FACTS'),
    ('header.h', 'include/{name}.h', ''),
    ('source.c', 'src/{name}.c', ''),
    ('test.c', 'test/{name}_test.c', ''),
    ('vectors.h', 'test/{name}_vectors.h', ''),
    ('CMakeLists.txt', 'CMakeLists.txt', ''),
    ('package.xml', 'package.xml', ''),
    ('README.md', 'README.md', ''),
)

#: CasADi's work arrays keep pointers to local variables, which are read only within a call, its
#: functions return at once if a called one fails, and it copies no null pointer to the work array
#: of a function that has none: these are false alarms of GCC.
_HEAD = """\
/* SPDX-License-Identifier: Apache-2.0 AND MIT-0 */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Warray-bounds"
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#if __GNUC__ >= 12
#pragma GCC diagnostic ignored "-Wdangling-pointer"
#endif
#endif
"""


def write_folder(
    compiled: CompiledRobot,
    folder: Path,
    description: RobotDescription,
    more: Mapping[str, str],
) -> None:
    """
    Write the folder, which is empty; the caller makes and keeps it, or removes it after an error.

    :param description: The whole robot.
    :param more: The hash of the fingerprint, and values of the files for ros2_control.
    """
    name = compiled.name
    values = {
        **_list_sizes(compiled),
        **_list_tables(compiled),
        **_list_texts(compiled, description),
        'ROBOT': _plain(description.name),
        'DEPENDS': '',
        **more,
    }
    # Sections of other templates.
    for kind, needed in (('plugin', 'CLASSES'), ('component', 'FACTS')):
        for key, ending in ((kind.upper(), 'cmake'), (f'{kind.upper()}_SECTION', 'md')):
            text = _fill_template(f'{kind}.{ending}', name, values) if needed in more else ''
            values[key] = text
    for template, target, needed in _FILES:
        if not needed or needed in more:
            path = folder / target.format(name=name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_fill_template(template, name, values), encoding='utf-8')
    if 'FACTS' in more:
        (folder / 'src' / 'mapped').mkdir()
        for source in (files(__package__) / 'mapped').iterdir():
            if source.name.endswith(('.cpp', '.hpp')):
                (folder / 'src' / 'mapped' / source.name).write_bytes(source.read_bytes())
    functions = _HEAD + compiled.functions
    (folder / 'src' / f'{name}_map.c').write_text(functions, encoding='utf-8')


def _fill_template(template: str, name: str, values: Mapping[str, str]) -> str:
    """Return a template with the name and the values in their places, which are not searched."""
    text = (files(__package__) / 'templates' / template).read_text(encoding='utf-8')
    title = values['ROBOT']
    title = escape(title, quote=False) if template.endswith('.xml') else title
    texts = {'NAME': name, 'ROBOT': title, **{f'@{key}@': value for key, value in values.items()}}
    places = r'\bNAME(?=\b|_|Targets|Config)|\bROBOT\b|@[A-Z_]+@'
    return re.sub(places, lambda word: texts[word[0]], text)


# -- numbers -------------------------------------------------------------------------------------


def _list_sizes(compiled: CompiledRobot) -> dict[str, str]:
    """Return the sizes of all arrays; an array of C has at least one element."""
    programs, live = compiled.programs.values(), compiled.live
    robot, work = compiled.robot, {'arg': 5, 'res': 0, 'iw': 0, 'w': 0}  # arg: of call()
    # The functions in C read inputs in place, so they need less than the functions in Python.
    for array, size in re.findall(r'\*sz_(\w+) = (\d+);', compiled.functions):
        work[array] = max(work[array], int(size))
    sizes = {
        'N_ACTUATORS': len(robot.actuator_names),
        'N_JOINTS': len(robot.joint_names),
        'N_TRANSMISSIONS': len(robot.bindings),
        'N_NAMES': len(live.tunables),
        'N_VALUES': max(place.stop for place in live.places.values()),
        'N_START': sum(program.near.numel_in(2) for program in programs),
        'N_GIVEN': max(program.near.numel_in(0) for program in programs),
        'N_PLACES': max(program.near.numel_in(1) for program in programs),
        'N_FOUND': max(len(program.bindings) for program in programs),
        'N_NEXT': max(program.near.numel_in(2) for program in programs),
        'N_WORK': work['w'],
        'N_INDEX': work['iw'],
        'N_ARG': work['arg'],
        'N_RES': work['res'],
    }
    return {name: str(max(size, 1)) for name, size in sizes.items()}


def _list_tables(compiled: CompiledRobot) -> dict[str, str]:
    """Return the rows of the constant arrays."""
    live, robot = compiled.live, compiled.robot
    index = {'': -1, **{tunable.name: which for which, tunable in enumerate(live.tunables)}}
    factors: list[tuple[int, int]] = []
    rules = []
    for place, rule in live.rules.items():
        rules.append((place, index[rule.itself], len(factors), len(rule.factors)))
        factors += [(index[name], exponent) for name, exponent in rule.factors]
    reshaping = live.reshaping.items()
    unknown = [(which, *bound) for which, bounds in reshaping for bound in bounds.items()]
    ratios = {name for rule in live.rules.values() for name, _ in rule.factors}
    limits = []
    for x in live.tunables:
        lower = -math.inf if x.minimum is None else x.minimum
        upper = math.inf if x.maximum is None else x.maximum
        smallest = sys.float_info.min if x.nonzero or x.name in ratios else 0.0
        sizes = RATIOS if x.path[-1] == MECHANICAL_REDUCTION else (smallest, math.inf)
        limits.append((x.value, lower, upper, *sizes, int(can_number_reverse(robot, x))))
    steps = list(iterate_check_steps(compiled, _SAMPLES))
    arrays = (rows for step in steps for rows in (step.rows, step.mapped))
    return {
        'LIVE': _rows(limits),
        'BASE': _numbers(live.values.tolist()),
        'RULES': _rows(rules),
        'N_RULES': str(len(rules)),
        'FACTORS': _rows(factors),
        'UNKNOWN': _rows(unknown),
        'N_UNKNOWN': str(len(unknown)),
        'DIRECTIONS': '\n\n'.join(_direction(compiled, direction) for direction in DIRECTIONS),
        'N_STEPS': str(len(steps)),
        'STEPS': _rows(
            (step.which, int(step.direction != ACTUATOR_TO_JOINT), step.status) for step in steps
        ),
        'VECTORS': _numbers([x for rows in arrays for x in rows.ravel().tolist()]),
    }


def _direction(compiled: CompiledRobot, direction: Direction) -> str:
    """Return the definition of a direction."""
    near, live = compiled.programs[direction].near, compiled.live
    # Numbers of the other direction stand before its own.
    name, letter, before = 'to_joint', 'j', (0, 0)
    if direction != ACTUATOR_TO_JOINT:
        first = compiled.programs[ACTUATOR_TO_JOINT].near
        before = first.numel_in(2), live.places[ACTUATOR_TO_JOINT].stop
        name, letter = 'to_actuator', 'a'
    owners = compiled.owners[direction]
    sides = (side for member in compiled.members[direction] for side in member)
    arrays = {
        'tables': [table.start if len(table) else -1 for table in live.tables[direction]],
        'owners': owners,
        'members': [number for side in sides for number in (len(side), *side)],
    }
    lines = [
        f'static const int {name}_{array}[] = {{\n{_wrap(map(str, entries or (0,)))}\n}};'
        for array, entries in arrays.items()
    ]
    ends = (near.numel_in(0) // ROWS, near.numel_out(0) // ROWS)
    sizes = map(str, (*ends, len(owners), near.numel_in(2), *before))
    functions = (f'{compiled.name}_{letter}_{kind}' for kind in ('near', 'full'))
    entries = ', '.join([*functions, *sizes, *(f'{name}_{array}' for array in arrays)])
    definition = f'static const struct direction {name} = {{\n  {entries}\n}};'
    return '\n'.join([*lines, definition])


def _rows(rows: Iterable[Sequence[float]]) -> str:
    """Return rows of an array of structures, at least one."""
    return _wrap('{' + ', '.join(map(literal, row)) + '}' for row in [*rows] or [(0,)])


def _numbers(numbers: Sequence[float]) -> str:
    """Return numbers of an array, as :func:`literal` and in lines; there are many of them."""
    text = repr(numbers)[1:-1].replace('nan', 'NAN').replace('inf', 'INFINITY')
    lines = re.findall(f'(.{{1,{_WIDTH - 4}}}), ', f'{text or "0.0"}, ')
    return ',\n'.join(f'  {line}' for line in lines)


#: Numbers without digits, by their text in Python.
_NO_DIGITS = {'nan': 'NAN', 'inf': 'INFINITY', '-inf': '-INFINITY'}


def literal(number: float) -> str:
    """Return a number in C, to the last bit."""
    text = str(number)
    return _NO_DIGITS.get(text, text)


def _wrap(words: Iterable[str]) -> str:
    """Return words in lines, with commas."""
    lines: list[list[str]] = []
    width = _WIDTH
    for word in words:
        width += len(word) + 2
        if width > _WIDTH:
            lines.append([])
            width = len(word) + 4
        lines[-1].append(word)
    return ',\n'.join(f'  {", ".join(line)}' for line in lines)


# -- texts ---------------------------------------------------------------------------------------


def _list_texts(compiled: CompiledRobot, description: RobotDescription) -> dict[str, str]:
    """Return the texts with names and units."""
    name, robot, live = compiled.name, compiled.robot, compiled.live
    of_actuators = {
        actuator.name: report_actuator_unit(description, binding)
        for binding in robot.bindings
        for actuator in binding.spec.actuators
    }
    # Names with units of positions and of numbers.
    units: dict[str, dict[str, str]] = {
        'actuator': {x: of_actuators[x] for x in robot.actuator_names},
        'joint': {x: report_joint_unit(description, x) for x in robot.joint_names},
        'number': {tunable.name: tunable.unit or '-' for tunable in live.tunables},
    }
    names = {**units, 'transmission': [binding.spec.name for binding in robot.bindings]}
    enumerations = {}
    for kind in units:
        taken, lines = {'names'}, ['typedef enum {']  # 'names' is the array of texts
        for member, unit in units[kind].items():
            identifier = re.sub('[^A-Za-z0-9_]', '_', member)
            while identifier in taken:
                identifier += '_'
            taken.add(identifier)
            lines.append(f'  {name}_{kind}_{identifier}, /* {_plain(member)} [{_plain(unit)}] */')
        lines += [f'  {name}_{kind.upper()}S', f'}} {name}_{kind};']
        enumerations[kind] = '\n'.join(lines)
    sides = '\n\n'.join(enumerations[kind] for kind in ('actuator', 'joint'))
    arrays = [
        f'const char *const {name}_{kind}_names[] = {{\n{_wrap(map(quote_c, texts)) or "  0"}\n}};'
        for kind, texts in names.items()
    ]
    rows = {
        f'{kind.upper()}_ROWS': '\n'.join(
            f'| {index} | {_plain(member)} | {unit} |'
            for index, (member, unit) in enumerate(units[kind].items())
        )
        for kind in ('actuator', 'joint')
    }
    return {
        'ENUMERATIONS': f'{sides}\n\nenum {{ {name}_TRANSMISSIONS = {len(robot.bindings)} }};',
        'NUMBERS': enumerations['number'],
        'FIXED': _plain(', '.join(live.fixed) or 'none'),
        'NAMES': '\n\n'.join(arrays),
        'KEYWORD': 'NAME',
        'STATE_BYTES': str(count_c_state_bytes(compiled)),
        **rows,
    }


def count_c_state_bytes(compiled: CompiledRobot) -> int:
    """Return the size of the state on a 64-bit machine."""
    sizes = {name: int(value) for name, value in _list_sizes(compiled).items()}
    doubles = ('NAMES', 'VALUES', 'START', 'GIVEN', 'PLACES', 'FOUND', 'NEXT', 'WORK')
    words = sizes['N_TRANSMISSIONS'] + sizes['N_TRANSMISSIONS'] % 2
    tail = sizes['N_INDEX'] + sizes['N_INDEX'] % 2
    return 4 * (words + tail) + 8 * sum(sizes[f'N_{double}'] for double in doubles)


def _plain(text: str) -> str:
    """Return a text that begins or ends no comment, table or line."""
    plain = ''.join(letter if letter.isprintable() else '?' for letter in text)
    return re.sub(r'\*/|/\*|\||\\', '?', plain)


def quote_c(text: str) -> str:
    """Return a string of C: bytes outside of ASCII in octal, so that no digit can follow."""
    plain = {ord(x): x for x in map(chr, range(32, 127)) if x not in '"\\?'}
    return '"' + ''.join(plain.get(byte, f'\\{byte:03o}') for byte in text.encode()) + '"'
