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

import pytest

from transmission_bridge import __version__
from transmission_bridge.tools.commands import COMMANDS

PROGRAM = [sys.executable, '-m', 'transmission_bridge']
_POSITION = ['--to', 'joint', '--interface', 'position', 'm1=100', 'm2=20']
_CODE = 'import sys; {}; from transmission_bridge.tools.main import main; '


def _spawn(*arguments: object, **settings: object) -> subprocess.CompletedProcess[bytes]:
    settings = {'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE, **settings}
    return subprocess.run([*map(str, arguments)], timeout=60, check=False, **settings)


def _shell(redirection: str, *arguments: object) -> subprocess.CompletedProcess[bytes]:
    return _spawn('sh', '-c', f'exec "$@" {redirection}', 'sh', *PROGRAM, *arguments)


def _parser(command: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser()
    COMMANDS[command].add_arguments(parser)
    return parser


def test_general_help_lists_every_command(run):
    """Help names every command with its summary, in alphabetical order."""
    assert list(COMMANDS) == sorted(COMMANDS)
    for flag in ('--help', '-h'):
        result = run(flag)
        assert (result.code, result.err) == (0, '')
        for name in COMMANDS:
            assert f'  {name}' in result.out
            assert COMMANDS[name].summary in result.out
    assert run('--version').out == f'transmission_bridge {__version__}\n'


@pytest.mark.parametrize('name', COMMANDS)
def test_the_help_of_a_command_shows_an_example(run, name):
    """It fits 80 columns but for its example, tells the codes, and hides what was removed only."""
    result = run(name, '--help')
    assert (result.code, result.err) == (0, '')
    text, _, example = result.out.partition('example:\n')
    assert f'transmission_bridge {name}' in example
    assert 'exit code: 0' in text
    assert all(len(line) <= 88 for line in text.splitlines())
    hidden = {each.dest for each in _parser(name)._actions if each.help == argparse.SUPPRESS}
    assert hidden <= {'description', 'namespace', 'params', 'in_place'}


def test_help_does_not_wait_for_numpy():
    """The help of every command is there where numpy and scipy cannot be imported."""
    code = _CODE.format('sys.modules.update(numpy=None, scipy=None)')
    code += "sys.exit(any([main([name, '--help']) for name in sys.argv[1:]]))"
    done = _spawn(sys.executable, '-c', code, *COMMANDS)
    assert (done.returncode, done.stderr) == (0, b'')
    assert done.stdout.count(b'exit code: 0') == len(COMMANDS)


def test_the_core_commands_import_no_ros(reversed_robot):
    """``check`` and the general help run where rclpy cannot be imported."""
    code = _CODE.format('sys.modules["rclpy"] = None')
    code += 'sys.exit(main(["--help"]) or main(["check", sys.argv[1]]))'
    process = _spawn(sys.executable, '-c', code, reversed_robot)
    assert (process.returncode, process.stderr) == (0, b'')


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        ([], '--help'),
        ([''], '--help'),
        (['chekc'], "unknown command 'chekc' (closest: 'check'): calibrate, "),
        (['--json'], '--help'),
        (['check'], '--help'),
        (['check', 'a', 'b'], '--help'),
        (['check', '--stric', 'a'], '--help'),
        (['map', 'a'], '--help'),
        (['map', 'a', '--to', 'motor', '--interface', 'position', 'b=1'], '--help'),
        (['plugins', 'all'], '--help'),
        (['completion', 'bash'], "'completion' was removed: "),
        (['completion', 'bash'], 'register-python-argcomplete transmission_bridge'),
    ],
)
def test_wrong_usage_is_one_sentence_and_exit_code_two(refuse, arguments, words):
    """No usage block, no traceback: what is wrong, and where help is."""
    refuse(words, *arguments)


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
    """Who checks several robots reads which one it is; one that is no robot is exit code 1."""
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
    assert result.code == (1 if rest[0] == 'bad.urdf' else 2)
    assert rest[0] in result.out + result.err
    assert words in result.out + result.err


@pytest.mark.parametrize(
    'command', ['calibrate', 'check', 'convert', 'export', 'jacobian', 'map', 'plot', 'tune']
)
def test_the_same_thing_is_given_in_the_same_way(command):
    """The description comes first, aliases and parameters of its bridge by the same options."""
    actions = {each.dest: each for each in _parser(command)._actions}
    assert next(each.dest for each in actions.values() if not each.option_strings) == 'file'
    assert actions['alias'].option_strings == ['--alias']
    assert actions['params_file'].option_strings == ['--params-file']
    assert ('force' in actions) == ('output' in actions)


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


def test_a_reader_that_goes_away_changes_no_verdict(mixed_robot, reversed_robot):
    """With the pipe or standard error closed there is no traceback, and the exit code stands."""
    for path, code in ((reversed_robot, 0), (mixed_robot, 1)):
        reader, writer = os.pipe()
        os.close(reader)
        process = _spawn(*PROGRAM, 'check', path, stdout=writer)
        os.close(writer)
        assert (process.returncode, process.stderr) == (code, b'')
        assert _shell('2>&-', 'check', path).returncode == code
    assert _shell('2>&-', 'check', '/no/such/file').returncode == 2


@pytest.mark.skipif(not Path('/dev/full').exists(), reason='needs /dev/full')
def test_a_full_disk_is_one_sentence(reversed_robot):
    """Output that cannot be written exits with 2."""
    with open('/dev/full', 'wb') as full:
        process = _spawn(*PROGRAM, 'check', reversed_robot, stdout=full)
    assert process.returncode == 2
    assert process.stderr.startswith(b'transmission_bridge: cannot write the output: ')
    assert process.stderr.count(b'\n') == 1


def test_names_beyond_the_encoding_of_the_terminal_are_escaped(reversed_robot):
    """With an ASCII terminal a name of other letters is shown, escaped."""
    text = reversed_robot.read_text(encoding='utf-8').replace('"m1"', '"мотор"')
    reversed_robot.write_text(text, encoding='utf-8')
    environment = {**os.environ, 'PYTHONIOENCODING': 'ascii:strict'}
    process = _spawn(*PROGRAM, 'check', reversed_robot, env=environment)
    assert (process.returncode, process.stderr) == (0, b'')
    assert b'\\u043c\\u043e' in process.stdout
    process = _spawn(*PROGRAM, 'check', '--json', reversed_robot, env=environment)
    names = [each['name'] for each in json.loads(process.stdout)['transmissions'][0]['actuators']]
    assert names == ['мотор', 'm2']


@pytest.mark.parametrize('words', [['check'], ['map', *_POSITION], ['--version'], ['--help']])
def test_a_closed_output_is_an_error(words, reversed_robot):
    """A result that nobody can get exits with 2, and a sentence where there is standard error."""
    arguments = [words[0], reversed_robot, *words[1:]] if words[0][0] != '-' else words
    shown, silent = (_shell(closed, *arguments) for closed in ('>&-', '>&- 2>&-'))
    sentence = b'transmission_bridge: cannot write the output: standard output is closed\n'
    assert (shown.returncode, shown.stderr) == (2, sentence)
    assert (silent.returncode, silent.stderr) == (2, b'')


def test_ctrl_c_exits_with_130(run, monkeypatch, reversed_robot):
    """An interrupt ends a command without traceback, with the code that shells expect."""

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr('transmission_bridge.tools.check.check', interrupt)
    result = run('check', reversed_robot)
    assert (result.code, result.out, result.err) == (130, '', '')
