# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge completion``."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys

import pytest

from transmission_bridge.tools.commands import load_command, SUMMARIES

pytest.importorskip('argcomplete')


def options_of(name):
    """Return the options of a command, in all their spellings."""
    parser = argparse.ArgumentParser()
    load_command(name).add_arguments(parser)
    shown = (action for action in parser._actions if action.help != argparse.SUPPRESS)
    return {spelling for action in shown for spelling in action.option_strings}


@pytest.fixture
def bash(run, tmp_path):
    """Return a function that completes words in bash, in a folder with two files."""
    shell = shutil.which('bash')
    if shell is None:
        pytest.skip('needs bash')
    program = tmp_path / 'bin' / 'transmission_bridge'
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m transmission_bridge "$@"\n')
    program.chmod(0o755)
    script = tmp_path / 'bin' / 'script'
    script.write_text(run('completion', 'bash').out)
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
    assert bash('') == {*SUMMARIES, '--help', '-h', '--version'}
    assert bash('comp') == {'completion'}
    assert bash('--v') == {'--version'}


@pytest.mark.parametrize('name', SUMMARIES)
def test_bash_completes_the_options_of_every_command(bash, name):
    """What argparse knows is what is offered, no more and no less."""
    assert bash(name, '-') == options_of(name)


def test_bash_completes_values_and_files(bash):
    """Choices where there are some, files elsewhere, those with spaces as the shell reads them."""
    assert bash('map', 'x.urdf', '--to', '') == {'joint', 'actuator'}
    assert bash('map', 'x.urdf', '--to', 'a') == {'actuator'}
    assert bash('completion', 'z') == {'zsh'}
    assert bash('check', 'my') == {'my\\ robot.urdf'}
    assert bash('calibrate', 'o') == {'other.csv'}
    assert bash('calibrate', 'x', '--params-file', 'o') == {'other.csv'}


@pytest.mark.parametrize('shell', ['bash', 'fish', 'zsh'])
def test_shells_accept_their_script(run, tmp_path, shell):
    """It names the program, and where the shell is installed it finds nothing wrong."""
    result = run('completion', shell)
    assert (result.code, result.err) == (0, '')
    assert 'transmission_bridge' in result.out
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f'needs {shell}')
    script = tmp_path / 'script'
    script.write_text(result.out)
    checked = subprocess.run([path, '-n', script], capture_output=True, timeout=30, check=False)
    assert (checked.returncode, checked.stderr) == (0, b'')


def test_without_argcomplete_one_sentence_says_what_to_install(run, hide):
    """Exit code 2."""
    hide('argcomplete')
    result = run('completion', 'bash')
    assert (result.code, result.out) == (2, '')
    assert 'this needs argcomplete, which cannot be imported' in result.err
    assert "pip install '.[cli]'" in result.err
