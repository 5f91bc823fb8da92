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


@pytest.fixture
def bash(tmp_path):
    """Return a function that completes words in bash, in a folder with two files."""
    shell = shutil.which('bash')
    if shell is None:
        pytest.skip('needs bash')
    program, folder = tmp_path / 'bin' / 'transmission_bridge', tmp_path / 'folder'
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m transmission_bridge "$@"\n')
    program.chmod(0o755)
    folder.mkdir()
    (folder / 'my robot.urdf').touch()
    (folder / 'other.csv').touch()
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
        result = subprocess.run(
            [shell, '--norc', '--noprofile', '-ec', command, shell, *words],
            capture_output=True, text=True, timeout=60, check=True, cwd=folder,
        )  # fmt: skip
        assert result.stderr == ''
        return {line.strip() for line in result.stdout.splitlines()} - {''}

    return complete


@pytest.mark.parametrize('name', COMMANDS)
def test_bash_completes_the_options_of_every_command(bash, name):
    """What argparse knows is what is offered, no more and no less."""
    parser = argparse.ArgumentParser()
    COMMANDS[name].add_arguments(parser)
    shown = (action for action in parser._actions if action.help != argparse.SUPPRESS)
    assert bash(name, '-') == {spelling for action in shown for spelling in action.option_strings}


@pytest.mark.parametrize(
    ('words', 'found'),
    [
        ([''], {*COMMANDS, '--help', '-h', '--version'}),
        (['ca'], {'calibrate'}),
        (['--v'], {'--version'}),
        (['map', 'x.urdf', '--to', ''], {'joint', 'actuator'}),
        (['map', 'x.urdf', '--to', 'a'], {'actuator'}),
        (['convert', '--storage', 'm'], {'mcap'}),
        (['check', 'my'], {'my\\ robot.urdf'}),
        (['calibrate', 'o'], {'other.csv'}),
        (['calibrate', 'x', '--params-file', 'o'], {'other.csv'}),
    ],
)
def test_bash_completes_commands_values_and_files(bash, words, found):
    """Choices where there are some, files elsewhere, those with spaces as the shell reads them."""
    assert bash(*words) == found


def test_the_global_completion_of_argcomplete_knows_the_program():
    """It looks for its mark in the first 1024 bytes of the module behind the script."""
    assert b'PYTHON_ARGCOMPLETE_OK' in Path(main.__file__).read_bytes()[:1024]


def test_without_argcomplete_one_sentence_says_what_to_install(refuse, hide, monkeypatch):
    """Exit code 2."""
    hide('argcomplete')
    monkeypatch.setenv('_ARGCOMPLETE', '1')
    refuse('this needs argcomplete, which cannot be imported', 'check')
    refuse("pip install '.[cli]'", 'check')
