# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Completion by argcomplete, as it is documented."""

from __future__ import annotations

import argparse
from pathlib import Path
import shutil
import subprocess
import sys

import pytest

from transmission_bridge.tools import main
from transmission_bridge.tools.commands import COMMANDS

pytest.importorskip('argcomplete')


def options_of(name):
    """Return the options of a command, in all their spellings."""
    parser = argparse.ArgumentParser()
    COMMANDS[name].add_arguments(parser)
    shown = (action for action in parser._actions if action.help != argparse.SUPPRESS)
    return {spelling for action in shown for spelling in action.option_strings}


def script_for(shell):
    """Return what ``register-python-argcomplete`` prints."""
    module = 'argcomplete.scripts.register_python_argcomplete'
    command = [sys.executable, '-m', module, '--shell', shell, 'transmission_bridge']
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


@pytest.fixture
def bash(tmp_path):
    """Return a function that completes words in bash, in a folder with two files."""
    shell = shutil.which('bash')
    if shell is None:
        pytest.skip('needs bash')
    program = tmp_path / 'bin' / 'transmission_bridge'
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m transmission_bridge "$@"\n')
    program.chmod(0o755)
    script = tmp_path / 'bin' / 'script'
    script.write_text(script_for('bash'))
    folder = tmp_path / 'folder'
    folder.mkdir()
    (folder / 'my robot.urdf').touch()
    (folder / 'other.csv').touch()
    command = f"""
    export PATH={program.parent}:$PATH
    source {script}
    COMP_WORDS=(transmission_bridge "$@") COMP_CWORD=$# COMP_TYPE=63
    COMP_LINE="${{COMP_WORDS[*]}}" COMP_POINT=${{#COMP_LINE}}
    complete -p transmission_bridge | grep --quiet 'default.*-F _python_argcomplete'
    _python_argcomplete transmission_bridge "${{@: -1}}"
    printf '%s\\n' "${{COMPREPLY[@]}}"
    """

    def complete(*words):
        result = subprocess.run(
            [shell, '--norc', '--noprofile', '-ec', command, shell, *words],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
            cwd=folder,
        )
        assert result.stderr == ''
        return {line.strip() for line in result.stdout.splitlines()} - {''}

    return complete


def test_bash_completes_commands(bash):
    """All of them for nothing, those that begin so for a beginning."""
    assert bash('') == {*COMMANDS, '--help', '-h', '--version'}
    assert bash('ca') == {'calibrate'}
    assert bash('--v') == {'--version'}


@pytest.mark.parametrize('name', COMMANDS)
def test_bash_completes_the_options_of_every_command(bash, name):
    """What argparse knows is what is offered, no more and no less."""
    assert bash(name, '-') == options_of(name)


def test_bash_completes_values_and_files(bash):
    """Choices where there are some, files elsewhere, those with spaces as the shell reads them."""
    assert bash('map', 'x.urdf', '--to', '') == {'joint', 'actuator'}
    assert bash('map', 'x.urdf', '--to', 'a') == {'actuator'}
    assert bash('convert', '--storage', 'm') == {'mcap'}
    assert bash('check', 'my') == {'my\\ robot.urdf'}
    assert bash('calibrate', 'o') == {'other.csv'}
    assert bash('calibrate', 'x', '--params-file', 'o') == {'other.csv'}


def test_the_global_completion_of_argcomplete_knows_the_program():
    """It looks for its mark in the first 1024 bytes of the module behind the script."""
    assert b'PYTHON_ARGCOMPLETE_OK' in Path(main.__file__).read_bytes()[:1024]


def test_without_argcomplete_one_sentence_says_what_to_install(run, hide, monkeypatch):
    """Exit code 2."""
    hide('argcomplete')
    monkeypatch.setenv('_ARGCOMPLETE', '1')
    result = run('check')
    assert (result.code, result.out) == (2, '')
    assert 'this needs argcomplete, which cannot be imported' in result.err
    assert "pip install '.[cli]'" in result.err
