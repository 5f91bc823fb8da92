# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The command line as a whole: help, mistakes, completion, streams that fail."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
import shutil
import subprocess
import sys

import pytest

from transmission_bridge import __version__
from transmission_bridge.resources import resource
from transmission_bridge.tools import main
from transmission_bridge.tools.commands import COMMANDS

PROGRAM = [sys.executable, '-m', 'transmission_bridge']


def _spawn(*arguments, **settings):
    settings = {'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE, **settings}
    return subprocess.run([*map(str, arguments)], timeout=60, check=False, **settings)


def _shell(redirection, *arguments):
    return _spawn('sh', '-c', f'exec "$@" {redirection}', 'sh', *PROGRAM, *arguments)


def _options(command):
    parser = argparse.ArgumentParser()
    COMMANDS[command].add_arguments(parser)
    return parser._actions


def test_general_help_lists_every_command(run):
    """Help names every command with its summary, in alphabetical order."""
    assert list(COMMANDS) == sorted(COMMANDS)
    for flag in ('--help', '-h'):
        result = run(flag)
        for name in COMMANDS:
            result.expect(out=f'  {name}').expect(out=COMMANDS[name].summary)
    assert run('--version').out == f'transmission_bridge {__version__}\n'


@pytest.mark.parametrize('name', COMMANDS)
def test_the_help_of_a_command_shows_an_example(run, name):
    """It fits 80 columns but for its example, tells the codes, and hides nothing."""
    text, _, example = run(name, '--help').expect().out.partition('example:\n')
    assert f'transmission_bridge {name}' in example
    assert 'exit code: 0' in text
    assert all(len(line) <= 88 for line in text.splitlines())
    assert all(each.help and each.help != argparse.SUPPRESS for each in _options(name))


OF_FILES = ['calibrate', 'card', 'check', 'convert', 'export', 'map', 'plot', 'tune']


@pytest.mark.parametrize('command', OF_FILES)
def test_the_same_thing_is_given_in_the_same_way(command):
    """The description comes first, the parameters of its bridge by the same option."""
    actions = {each.dest: each for each in _options(command)}
    assert next(each.dest for each in actions.values() if not each.option_strings) == 'file'
    assert actions['params_file'].option_strings == ['--params-file']
    assert ('force' in actions) == ('output' in actions)


def _run_without(modules, *arguments):
    """Run commands in a process in which modules cannot be imported."""
    code = f'import sys; sys.modules.update(dict.fromkeys({modules}))\n'
    code += 'from transmission_bridge.tools.main import main\n'
    code += "sys.exit(max(main(each.split(' ')) for each in sys.argv[1:]))"
    return _spawn(sys.executable, '-c', code, *arguments)


def test_help_does_not_wait_for_numpy_and_check_not_for_ros(reversed_robot):
    """They run where these cannot be imported."""
    done = _run_without(['numpy', 'scipy'], *(f'{name} --help' for name in COMMANDS))
    assert (done.returncode, done.stderr) == (0, b'')
    assert done.stdout.count(b'exit code: 0') == len(COMMANDS)
    done = _run_without(['rclpy'], f'check {reversed_robot}')
    assert (done.returncode, done.stderr) == (0, b'')


@pytest.mark.parametrize('command', ['demo', 'watch'])
def test_without_ros_one_sentence_says_how_to_get_it(command):
    """Exit code 2."""
    done = _run_without(['rclpy'], command)
    assert (done.returncode, done.stdout) == (2, b'')
    assert b"pip install '.[jazzy]'" in done.stderr
    assert done.stderr.count(b'\n') == 1


# -- mistakes ------------------------------------------------------------------------------------

MAP = '--to joint --interface'
SUPPORTED = 'supported: position, velocity, acceleration, effort, torque, force'
#: What is typed, and words of the one sentence.
WRONG = [
    ('', '--help'),
    ('chekc', "unknown command 'chekc' (closest: 'check'): calibrate, "),
    ('--json', '--help'),
    ('check a b', '--help'),
    ('check --stric a', "unknown option '--stric' (closest: '--strict') (see"),
    # Its misspelt name is the reason why a required option is missing.
    ('map arm.urdf --interfcae a', "unknown option '--interfcae' (closest: '--interface') (see"),
    ('check missing.urdf', 'transmission_bridge: cannot read '),
    ('check nul\0byte', 'transmission_bridge: cannot read '),
    ('map a --to motor --interface position b=1', '--help'),
    (f'map r.urdf {MAP} position m1', 'expected actuator=value'),
    (f'map r.urdf {MAP} position m1=nan', "found 'nan'"),
    (f'map r.urdf {MAP} position m1=1e999', 'double precision'),
    (f'map r.urdf {MAP} position m1=1 m1=2', 'given twice'),
    (f'map r.urdf {MAP} position m11=1',
     "unknown actuator 'm11' (closest: 'm1'), known: m1, m2"),
    (f'map r.urdf {MAP} position m1=1 --at other=2', "unknown actuator 'other', known: m1, m2"),
    (f'map r.urdf {MAP} position m1=1 --rate m1=x', "found 'x'"),
    (f'map r.urdf {MAP} absolute_position --to actuator zed=1', SUPPORTED),
    (f'map r.urdf {MAP} speed m1=1', f'{SUPPORTED}, absolute_position'),
    ('plot r.urdf --output drive.pdf', 'expected a name in .svg or .png'),
    ('plot r.urdf --output no/folder/x.svg', "there is no folder 'no/folder'"),
    ('plot r.urdf --transmission diferential', "(closest: 'differential'), known"),
    ('demo --seconds 0', '--seconds'),
]  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch, reversed_robot):
    """Return the working folder, with descriptions."""
    monkeypatch.chdir(tmp_path)
    shutil.move(reversed_robot, 'r.urdf')
    shutil.copy(resource('urdf', 'arm.urdf'), 'arm.urdf')
    (tmp_path / 'no').mkdir()
    return tmp_path


@pytest.mark.parametrize(('typed', 'words'), WRONG)
def test_a_mistake_is_one_sentence_and_exit_code_two(refuse, folder, typed, words):
    """No usage block, no traceback: what is wrong, and where help is; nothing is written."""
    for module in ('matplotlib', 'scipy'):
        pytest.importorskip(module)
    before = sorted(folder.rglob('*'))
    refuse(words, *typed.split(' '))
    assert sorted(folder.rglob('*')) == before


#: Commands that read a description, with what else they need.
DESCRIBED = [
    'calibrate bad.urdf', 'check bad.urdf', 'export bad.urdf --params-file tuned.yaml',
    'map bad.urdf --to joint --interface position m=1', 'plot bad.urdf',
]  # fmt: skip


@pytest.mark.parametrize('typed', DESCRIBED)
def test_errors_name_the_description_and_the_line(run, save, tmp_path, monkeypatch, typed):
    """Who checks several robots reads which one it is; one that is no robot is exit code 1."""
    for module in ('matplotlib', 'scipy', 'yaml'):
        pytest.importorskip(module)
    monkeypatch.chdir(tmp_path)
    save('<robot', 'bad.urdf')
    save('a: {ros__parameters: {}}', 'tuned.yaml')
    result = run(*typed.split())
    assert result.code == 1
    assert 'bad.urdf' in result.out + result.err
    assert ('bad.urdf:1: error' if 'check' in typed else 'line 1') in result.out + result.err


@pytest.mark.parametrize(('library', 'extra', 'typed'), [
    ('matplotlib', 'plot', 'plot r.urdf --output x.svg'), ('argcomplete', 'cli', 'check'),
])  # fmt: skip
def test_a_missing_library_is_one_sentence_with_the_extra_that_installs_it(
    refuse, folder, hide, monkeypatch, library, extra, typed
):
    """Exit code 2."""
    pytest.importorskip(library)
    hide(library)
    if library == 'argcomplete':
        monkeypatch.setenv('_ARGCOMPLETE', '1')
    for words in (f'this needs {library}, which cannot', f"pip install --editable '.[{extra}]'"):
        refuse(words, *typed.split())


# -- plugins -------------------------------------------------------------------------------------


def test_plugins_lists_the_built_in_types(run, built_in_types):
    """Each installed type and driver has its package, version and one line about it."""
    document, text = run('plugins', '--json').expect().json, run('plugins').out
    plugins = {plugin['type_name']: plugin for plugin in document['plugins']}
    drivers = {driver['type_name']: driver for driver in document['drivers']}
    own = {'transmission_bridge/SerialServos', 'transmission_bridge/SimulatedDriver'}
    assert drivers.keys() >= own
    for name in built_in_types | own:
        plugin = (plugins | drivers)[name]
        # Whether the name has a dash is up to the setuptools that installed it.
        assert plugin['package'].replace('-', '_') == 'transmission_bridge'
        assert plugin['version']
        assert plugin['error'] == ''
        assert f'{name} ' in text
        assert plugin['description'].replace('``', '') in text
    for name in own:
        assert drivers[name]['target'].endswith(f':{name.rpartition("/")[2]}')


def test_plugins_shows_why_one_does_not_load(run, monkeypatch):
    """A plugin that fails to import exits with 1, and is listed with its traceback."""
    from importlib.metadata import EntryPoint

    broken = EntryPoint('mine/Broken', 'no_such_module_of_mine:Broken', 'transmission_bridge.t')
    monkeypatch.setattr('importlib.metadata.entry_points', lambda *, group: [broken])
    result = run('plugins').expect(1, 'cannot be used: transmission type')
    assert "    | ModuleNotFoundError: No module named 'no_such_module_of_mine'" in result.out
    found = run('plugins', '--json').json
    (plugin,), (driver,) = found['plugins'], found['drivers']
    assert all('no_such_module_of_mine' in each['error'] for each in (plugin, driver))
    assert 'Traceback' in plugin['details']


# -- completion ----------------------------------------------------------------------------------


@pytest.fixture
def bash(tmp_path):
    """Return a function that completes words in bash, in a folder with a file."""
    pytest.importorskip('argcomplete')
    shell = shutil.which('bash')
    if shell is None:
        pytest.skip('needs bash')
    program, folder = tmp_path / 'bin' / 'transmission_bridge', tmp_path / 'folder'
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m transmission_bridge "$@"\n')
    program.chmod(0o755)
    folder.mkdir()
    (folder / 'my robot.urdf').touch()
    module = 'argcomplete.scripts.register_python_argcomplete'
    command = f"""
    export PATH={program.parent}:$PATH
    source <({sys.executable} -m {module} --shell bash transmission_bridge)
    COMP_WORDS=(transmission_bridge "$@") COMP_CWORD=$# COMP_TYPE=63
    COMP_LINE="${{COMP_WORDS[*]}}" COMP_POINT=${{#COMP_LINE}}
    complete -p transmission_bridge | grep --quiet 'default.*-F _python_argcomplete'
    _python_argcomplete transmission_bridge "${{@: -1}}"
    printf '%s\\n' "${{COMPREPLY[@]}}"
    """

    def complete(*words):
        done = _spawn(shell, '--norc', '--noprofile', '-ec', command, shell, *words, cwd=folder)
        assert (done.returncode, done.stderr) == (0, b'')
        return {line.strip() for line in done.stdout.decode().splitlines()} - {''}

    return complete


@pytest.mark.parametrize(('words', 'found'), [
    ([''], {*COMMANDS, '--help', '-h', '--version'}),
    (['map', 'x.urdf', '--to', ''], {'joint', 'actuator'}),
    (['check', 'my'], {'my\\ robot.urdf'}),
    (['convert', '-'], None),
])  # fmt: skip
def test_bash_completes_commands_options_values_and_files(bash, words, found):
    """Choices where there are some, files elsewhere, those with spaces as the shell reads them."""
    if found is None:
        shown = (each for each in _options(words[0]) if each.help != argparse.SUPPRESS)
        found = {spelling for each in shown for spelling in each.option_strings}
    assert bash(*words) == found


def test_the_global_completion_of_argcomplete_knows_the_program():
    """It looks for its mark in the first 1024 bytes of the module behind the script."""
    assert b'PYTHON_ARGCOMPLETE_OK' in Path(main.__file__).read_bytes()[:1024]


# -- streams -------------------------------------------------------------------------------------


def test_a_reader_that_goes_away_changes_no_verdict(mixed_robot):
    """With the pipe or standard error closed there is no traceback, and the exit code stands."""
    reader, writer = os.pipe()
    os.close(reader)
    process = _spawn(*PROGRAM, 'check', mixed_robot, stdout=writer)
    os.close(writer)
    assert (process.returncode, process.stderr) == (1, b'')
    assert _shell('2>&-', 'check', mixed_robot).returncode == 1
    assert _shell('2>&-', 'check', '/no/such/file').returncode == 2


@pytest.mark.skipif(not Path('/dev/full').exists(), reason='needs /dev/full')
def test_an_output_that_cannot_be_written_is_an_error(reversed_robot):
    """A disk that is full, or no output at all: exit code 2, and a sentence where that can be."""
    words = b'transmission_bridge: cannot write the output: '
    check, closed = ('check', reversed_robot), b'standard output is closed\n'
    cases = [('>/dev/full', check, b''), ('>&-', check, closed), ('>&-', ['--help'], closed)]
    for redirection, arguments, end in cases:
        process = _shell(redirection, *arguments)
        assert process.returncode == 2
        assert process.stderr.startswith(words + end)
        assert process.stderr.count(b'\n') == 1
    silent = _shell('>&- 2>&-', *check)
    assert (silent.returncode, silent.stderr) == (2, b'')


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
