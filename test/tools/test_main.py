# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The command line as a whole: help, mistakes, streams that fail."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
import subprocess
import sys

from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import pytest

from transmission_bridge.tools.commands import COMMANDS

PROGRAM = [sys.executable, '-m', 'transmission_bridge']

_POSITION = ['--to', 'joint', '--interface', 'position', 'm1=100', 'm2=20']


def _spawn(*arguments: object, **settings: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*PROGRAM, *map(str, arguments)],
        capture_output='stdout' not in settings,
        timeout=60,
        check=False,
        **settings,
    )


def test_the_commands_are_those_that_have_a_module():
    """The commands of the first release are there, in alphabetical order."""
    assert {'check', 'map', 'plugins'} <= set(COMMANDS)
    assert list(COMMANDS) == sorted(COMMANDS)


def test_general_help_lists_every_command(run):
    """Help names every command with its summary."""
    for flag in ('--help', '-h'):
        result = run(flag)
        assert (result.code, result.err) == (0, '')
        for name in COMMANDS:
            assert f'  {name}' in result.out
            assert COMMANDS[name].summary in result.out


@pytest.mark.parametrize('name', COMMANDS)
def test_the_help_of_a_command_shows_an_example(run, name):
    """Every command's help fits 80 columns but for its example, shows one, and tells the codes."""
    result = run(name, '--help')
    assert (result.code, result.err) == (0, '')
    text, _, example = result.out.partition('example:\n')
    assert f'transmission_bridge {name}' in example
    assert 'exit code: 0' in text
    assert all(len(line) <= 88 for line in text.splitlines())


def test_help_does_not_wait_for_numpy():
    """The help of every command is there where numpy and scipy cannot be imported."""
    code = """
import sys
sys.modules.update(numpy=None, scipy=None)
from transmission_bridge.tools.main import main
sys.exit(any([main([name, '--help']) for name in sys.argv[1:]]))
"""
    arguments = [sys.executable, '-c', code, *COMMANDS]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, '')
    assert done.stdout.count('exit code: 0') == len(COMMANDS)


def test_the_version_is_that_of_the_package(run):
    """``--version`` names program and version."""
    from transmission_bridge import __version__

    assert run('--version').out == f'transmission_bridge {__version__}\n'


def test_the_closest_command_is_named(run):
    """Who mistyped a command reads which one is meant."""
    assert "unknown command 'chekc' (closest: 'check'): calibrate, " in run('chekc').err


@pytest.mark.parametrize(
    'arguments',
    [
        [],
        [''],
        ['chekc'],
        ['--json'],
        ['check'],
        ['check', 'a', 'b'],
        ['check', '--stric', 'a'],
        ['map', 'a'],
        ['map', 'a', '--to', 'motor', '--interface', 'position', 'b=1'],
        ['plugins', 'all'],
    ],
)
def test_wrong_usage_is_one_sentence_and_exit_code_two(run, arguments):
    """No usage block, no traceback: what is wrong, and where help is."""
    result = run(*arguments)
    assert (result.code, result.out) == (2, '')
    assert result.err.startswith('transmission_bridge: ')
    assert '--help' in result.err
    assert result.err.count('\n') == 1


def test_plugins_lists_the_built_in_types(run):
    """Each installed type has its package, version and one line about it."""
    result = run('plugins', '--json')
    assert result.code == 0
    plugins = {plugin['type_name']: plugin for plugin in result.json['plugins']}
    for name in ('Simple', 'Differential', 'FourBarLinkage'):
        plugin = plugins[f'transmission_interface/{name}Transmission']
        # Whether the name has a dash is up to the setuptools that installed it.
        assert plugin['package'].replace('-', '_') == 'transmission_bridge'
        assert plugin['version']
        assert plugin['description'].endswith('.')
        assert plugin['error'] == ''
    text = run('plugins').out
    for type_name, plugin in plugins.items():
        assert type_name in text
        assert plugin['description'].replace('``', '') in text


def test_plugins_shows_why_one_does_not_load(run, monkeypatch):
    """A plugin that fails to import exits with 1, and is listed with its traceback."""
    from importlib.metadata import EntryPoint

    broken = EntryPoint('mine/Broken', 'no_such_module_of_mine:Broken', 'transmission_bridge.t')
    monkeypatch.setattr('importlib.metadata.entry_points', lambda *, group: [broken])
    result = run('plugins')
    assert result.code == 1
    assert 'cannot be used: transmission type' in result.out
    assert "    | ModuleNotFoundError: No module named 'no_such_module_of_mine'" in result.out
    (plugin,) = run('plugins', '--json').json['plugins']
    assert 'no_such_module_of_mine' in plugin['error']
    assert 'Traceback' in plugin['details']


# -- streams -------------------------------------------------------------------------------------


def check_into(stdout, path):
    """Check a file in a process that writes there."""
    return subprocess.run(
        [*PROGRAM, 'check', str(path)],
        stdout=stdout,
        stderr=subprocess.PIPE,
        timeout=60,
        check=False,
    )


def test_a_reader_that_goes_away_changes_no_verdict(mixed_robot, reversed_robot):
    """With the other end of the pipe closed there is no traceback, and the exit code stands."""
    for path, code in ((reversed_robot, 0), (mixed_robot, 1)):
        reader, writer = os.pipe()
        os.close(reader)
        process = check_into(writer, path)
        os.close(writer)
        assert (process.returncode, process.stderr) == (code, b'')


@pytest.mark.skipif(not Path('/dev/full').exists(), reason='needs /dev/full')
def test_a_full_disk_is_one_sentence(reversed_robot):
    """Output that cannot be written exits with 2."""
    with open('/dev/full', 'wb') as full:
        process = check_into(full, reversed_robot)
    assert process.returncode == 2
    assert process.stderr.startswith(b'transmission_bridge: cannot write the output: ')
    assert process.stderr.count(b'\n') == 1


def test_names_beyond_the_encoding_of_the_terminal_are_escaped(reversed_robot):
    """With an ASCII terminal a name of other letters is shown, escaped."""
    text = reversed_robot.read_text(encoding='utf-8').replace('"m1"', '"мотор"')
    reversed_robot.write_text(text, encoding='utf-8')
    environment = {**os.environ, 'PYTHONIOENCODING': 'ascii:strict'}
    process = _spawn('check', reversed_robot, env=environment)
    assert (process.returncode, process.stderr) == (0, b'')
    assert b'\\u043c\\u043e' in process.stdout
    process = _spawn('check', '--json', reversed_robot, env=environment)
    names = [each['name'] for each in json.loads(process.stdout)['transmissions'][0]['actuators']]
    assert names == ['мотор', 'm2']


@pytest.mark.parametrize('words', [['check'], ['map', *_POSITION], ['--version'], ['--help']])
def test_a_closed_output_is_an_error(words, reversed_robot):
    """A result that nobody can get exits with 2, and a sentence where there is standard error."""
    arguments = [*words[:1], str(reversed_robot), *words[1:]] if words[0][0] != '-' else words
    shown, silent = (
        subprocess.run(
            ['sh', '-c', f'exec "$@" {closed}', 'sh', *PROGRAM, *arguments],
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
        for closed in ('>&-', '>&- 2>&-')
    )
    sentence = b'transmission_bridge: cannot write the output: standard output is closed\n'
    assert (shown.returncode, shown.stderr) == (2, sentence)
    assert (silent.returncode, silent.stderr) == (2, b'')


def test_a_closed_standard_error_changes_no_verdict(mixed_robot, reversed_robot):
    """Without standard error the exit code is still right."""
    for path, code in ((reversed_robot, 0), (mixed_robot, 1), ('/no/such/file', 2)):
        process = subprocess.run(
            ['sh', '-c', 'exec "$@" 2>&-', 'sh', *PROGRAM, 'check', str(path)],
            stdout=subprocess.DEVNULL,
            timeout=60,
            check=False,
        )
        assert process.returncode == code


def test_the_core_commands_import_no_ros(reversed_robot):
    """``check`` and the general help run where rclpy cannot be imported."""
    program = (
        'import sys; sys.modules["rclpy"] = None; '
        'from transmission_bridge.tools.main import main; '
        'sys.exit(main(["--help"]) or main(["check", sys.argv[1]]))'
    )
    process = subprocess.run(
        [sys.executable, '-c', program, str(reversed_robot)],
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (process.returncode, process.stderr) == (0, b'')


def test_ctrl_c_exits_with_130(run, monkeypatch, reversed_robot):
    """An interrupt ends a command without traceback, with the code that shells expect."""

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr('transmission_bridge.tools.check.check', interrupt)
    result = run('check', reversed_robot)
    assert (result.code, result.out, result.err) == (130, '', '')


# -- fuzzing -------------------------------------------------------------------------------------

_WORDS = [
    '--json', '--strict', '--alias', 'a=b', '--to', 'joint', 'actuator', '--interface',
    'position', 'effort', 'acceleration', 'absolute_position', '--at', '--rate', 'j1=1', 'a1=-2.5',
    'a1=nan', '=', '==', 'j=1e999', '--', '-', '--help', '-h', '--version', '\udcff', 'é=1', '-1',
]  # fmt: skip
_PIECES = [
    b'<', b'>', b'"', b'&', b'&amp;', b'&#0;', b'&#x9b;', b'\x00', b'\xff\xfe', b'\xef\xbb\xbf',
    b'1e400', b'nan', b'0', b'-', b'<!DOCTYPE r [<!ENTITY a "b">]>', b'<!--', b'-->', b'</robot>',
    b'<transmission>', b'</transmission>', b'<joint name="j1">', b'role="joint1"', b'', b'\n',
]  # fmt: skip


@st.composite
def _mangled(draw: st.DrawFn, originals: list[bytes]) -> bytes:
    """Draw a description with pieces taken out, doubled, moved and put in."""
    data = draw(st.sampled_from(originals))
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(data)))
        stop = min(len(data), start + draw(st.integers(0, 200)))
        put = draw(st.one_of(st.sampled_from(_PIECES), st.just(data[start:stop]), st.binary()))
        at = draw(st.sampled_from([start, stop]))
        data = data[:at] + put + data[draw(st.sampled_from([at, stop])) :]
    return data


@settings(max_examples=75, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_whatever_is_given_ends_in_a_sentence(run, edge_files, tmp_path_factory, data):
    """Mangled files and arguments exit with 0, 1 or 2, and JSON output is JSON."""
    path = tmp_path_factory.getbasetemp() / 'mangled.urdf'
    path.write_bytes(data.draw(_mangled([each.read_bytes() for each in edge_files])))
    command = data.draw(st.sampled_from(['check', 'map', 'plugins', '', 'x', '--help']))
    words = data.draw(st.lists(st.sampled_from([*_WORDS, str(path)]) | st.text(), max_size=8))
    if data.draw(st.booleans()):
        words.insert(0, str(path))
    if command == 'map' and data.draw(st.booleans()):
        words += ['--to', 'joint', '--interface', 'position', 'a1=1']
    result = run(command, *words, stdin=path.read_bytes())
    assert result.code in (0, 1, 2)
    assert 'Traceback' not in result.err
    if result.code == 2:
        assert result.err.startswith('transmission_bridge: ')
        assert result.err.count('\n') == 1
    if '--json' in words and result.code == 0 and not {'-h', '--help', '--version'} & set(words):
        assert result.out.lstrip().startswith('{') or command not in ('check', 'map', 'plugins')


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_whatever_the_file_check_has_a_verdict_in_json(run, edge_files, data):
    """For any file ``check --json`` prints one strict document that fits its exit code."""
    mangled = data.draw(_mangled([each.read_bytes() for each in edge_files]))
    strict = data.draw(st.sampled_from([[], ['--strict']]))
    result = run('check', '--json', *strict, '-', stdin=mangled)
    has_errors = any(each['severity'] == 'error' for each in result.json['findings'])
    assert result.code == int(has_errors)
    for transmission in result.json['transmissions']:
        assert transmission['loaded'] in (True, False)


def test_a_removed_command_names_its_successor(run):
    """What argcomplete has itself is not offered a second time."""
    result = run('completion', 'bash')
    assert (result.code, result.out) == (2, '')
    assert "'completion' was removed: " in result.err
    assert 'register-python-argcomplete transmission_bridge' in result.err
    assert '  completion' not in run('--help').out


@pytest.mark.parametrize(
    ('arguments', 'successor'),
    [
        ('calibrate poses.csv --description r.urdf', 'calibrate FILE DATA'),
        ('convert in.mcap out.mcap --description r.urdf', 'convert FILE IN OUT'),
        ('export r.urdf --params tuned.yaml', '--params-file YAML'),
        ('export r.urdf --params-file tuned.yaml --in-place', '--output FILE --force'),
        ('tune --namespace left', '--node NAMESPACE/transmission_bridge'),
        ('watch --namespace left', '--node NAMESPACE/transmission_bridge'),
    ],
)
def test_a_removed_argument_names_its_successor(run, arguments, successor):
    """Nothing is done, and help does not show it."""
    command, *rest = arguments.split()
    result = run(command, *rest)
    assert result.code == 2
    assert 'was removed: ' in result.err
    assert successor in result.err
    removed = next(each for each in reversed(rest) if each.startswith('--'))
    assert f'{removed} ' not in run(command, '--help').out


WITH_FILE = ('calibrate', 'check', 'convert', 'export', 'jacobian', 'map', 'plot', 'tune')


@pytest.mark.parametrize('command', WITH_FILE)
def test_the_same_thing_is_given_in_the_same_way(command):
    """The description comes first, aliases and parameters of its bridge by the same options."""
    parser = argparse.ArgumentParser()
    COMMANDS[command].add_arguments(parser)
    actions = {each.dest: each for each in parser._actions}
    positionals = [each.dest for each in parser._actions if not each.option_strings]
    assert positionals[0] == 'file'
    assert actions['alias'].option_strings == ['--alias']
    assert actions['params_file'].option_strings == ['--params-file']
    assert ('force' in actions) == ('output' in actions)


@pytest.mark.parametrize('command', COMMANDS)
def test_every_argument_has_help(command):
    """None of them is hidden but those that were removed."""
    parser = argparse.ArgumentParser()
    COMMANDS[command].add_arguments(parser)
    hidden = {each.dest for each in parser._actions if each.help == argparse.SUPPRESS}
    removed = {'description', 'namespace', 'params', 'in_place'}
    assert hidden <= removed


@pytest.mark.parametrize(
    ('command', 'words'),
    [
        ('calibrate bad.urdf poses.csv', 'line 1'),
        ('check bad.urdf', 'bad.urdf:1: error'),
        ('convert bad.urdf in.csv out.csv', 'line 1'),
        ('export bad.urdf --params-file tuned.yaml', 'line 1'),
        ('jacobian bad.urdf --base a --end b', 'line 1'),
        ('jacobian good.urdf --base a --end b', "unknown link 'a'"),
        ('map bad.urdf --to joint --interface position m=1', 'line 1'),
        ('map good.urdf --to joint --interface position m=1', "unknown actuator 'm'"),
        ('plot bad.urdf', 'line 1'),
        ('plot good.urdf --transmission t', "unknown transmission 't'"),
    ],
)
def test_errors_name_the_description(run, tmp_path, monkeypatch, command, words):
    """Who checks several robots reads which one it is."""
    for module in ('matplotlib', 'scipy', 'yaml'):
        pytest.importorskip(module)
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'bad.urdf').write_text('<robot')
    (tmp_path / 'good.urdf').write_text('<robot name="r"><link name="l"/></robot>')
    (tmp_path / 'tuned.yaml').write_text('a: {ros__parameters: {}}')
    for name in ('in.csv', 'poses.csv'):
        (tmp_path / name).write_text('time,m.position\n1.0,2.0\n')
    name, *rest = command.split()
    result = run(name, *rest)
    assert result.code in (1, 2)
    assert rest[0] in result.out + result.err
    assert words in result.out + result.err
