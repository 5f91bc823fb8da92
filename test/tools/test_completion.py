# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge completion``."""

from __future__ import annotations

from pathlib import Path
import shutil
import subprocess

import pytest

from transmission_bridge.tools.completion_scripts import grammar_of
from transmission_bridge.tools.main import command_names, load_command


def complete(shell: str, script: Path, folder: Path, *words: str) -> list[str]:
    """Return what a shell offers for the last of the words."""
    command = """
    source "$1"; shift
    COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 ))
    _transmission_bridge
    printf '%s\\n' "${COMPREPLY[@]}"
    """
    result = subprocess.run(
        [shell, '--norc', '--noprofile', '-c', command, shell, script, *words],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
        cwd=folder,
    )
    assert result.stderr == ''
    return result.stdout.splitlines()


@pytest.fixture
def bash(run, tmp_path):
    """Return a function that completes words in bash, in a folder with two files."""
    shell = shutil.which('bash')
    if shell is None:
        pytest.skip('needs bash')
    script = tmp_path / 'script'
    script.write_text(run('completion', 'bash').out)
    folder = tmp_path / 'folder'
    folder.mkdir()
    (folder / 'my robot.urdf').touch()
    (folder / 'other.csv').touch()
    return lambda *words: complete(shell, script, folder, 'transmission_bridge', *words)


def test_bash_completes_commands(bash):
    """All of them for nothing, those that begin so for a beginning."""
    assert bash('') == [*command_names(), '--help', '--version']
    assert bash('comp') == ['completion']
    assert bash('--v') == ['--version']


@pytest.mark.parametrize('name', command_names())
def test_bash_completes_the_options_of_every_command(bash, name):
    """What argparse knows is what is offered, no more and no less."""
    grammar = grammar_of(load_command(name))
    offered = bash(name, '-')
    assert offered == [spelling for flag in grammar.flags for spelling in flag.names]
    assert '--help' in offered


def test_bash_completes_values_and_files(bash):
    """Choices where there are some, files with spaces in one piece elsewhere."""
    assert bash('map', 'x.urdf', '--to', '') == ['joint', 'actuator']
    assert bash('map', 'x.urdf', '--to', 'a') == ['actuator']
    assert bash('completion', 'z') == ['zsh']
    assert bash('check', 'my') == ['my robot.urdf']
    assert sorted(bash('calibrate', '')) == ['my robot.urdf', 'other.csv']
    assert bash('nonsense', '') == ['']


def test_fish_and_zsh_know_every_option(run):
    """Each script names each command, each option and each choice."""
    fish, zsh = run('completion', 'fish').out, run('completion', 'zsh').out
    assert zsh.startswith('#compdef transmission_bridge\n')
    for name in command_names():
        assert f'-a {name} ' in fish
        for flag in grammar_of(load_command(name)).flags:
            for spelling in flag.names:
                assert spelling in zsh
                option = ('-l ' if spelling.startswith('--') else '-s ') + spelling.lstrip('-')
                assert any(
                    f'from {name}"' in line and f' {option} ' in line for line in fish.splitlines()
                )


@pytest.mark.parametrize('shell', ['fish', 'zsh'])
def test_other_shells_accept_their_script(run, tmp_path, shell):
    """Where the shell is installed, it finds nothing wrong with the script."""
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f'needs {shell}')
    script = tmp_path / 'script'
    script.write_text(run('completion', shell).out)
    result = subprocess.run([path, '-n', script], capture_output=True, timeout=30, check=False)
    assert (result.returncode, result.stderr) == (0, b'')
