# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Completion scripts for shells, from what the commands say of their arguments."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
import re

from transmission_bridge.tools.command import Command

__all__ = ['SHELLS', 'Flag', 'Grammar', 'grammar_of']


@dataclass(frozen=True)
class Flag:
    """
    An option of a command.

    :param names: Its spellings.
    :param takes_value: Whether a value follows.
    :param choices: The values that there are, empty where any may follow.
    :param text: What it does, in one line.
    """

    names: tuple[str, ...]
    takes_value: bool
    choices: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class Grammar:
    """
    What may follow a command's name.

    :param choices: Values of positional arguments that there are; files where empty.
    """

    summary: str
    flags: tuple[Flag, ...]
    choices: tuple[str, ...]


def grammar_of(command: Command) -> Grammar:
    """Return what may follow a command's name."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    command.add_arguments(parser)
    flags: list[Flag] = []
    choices: list[str] = []
    # The list of actions is private by name; argparse has had it since there is argparse.
    for action in parser._actions:
        values = tuple(str(choice) for choice in action.choices or ())
        if action.option_strings:
            text = (action.help or '').partition('\n')[0].replace('%(default)s', 'default')
            flags.append(Flag(tuple(action.option_strings), action.nargs != 0, values, text))
        else:
            choices += values
    return Grammar(command.summary, tuple(flags), tuple(choices))


def _bash(program: str, grammars: Mapping[str, Grammar]) -> str:
    cases = []
    for name, grammar in grammars.items():
        options = ' '.join(spelling for flag in grammar.flags for spelling in flag.names)
        values = []
        for flag in grammar.flags:
            if flag.takes_value:
                answer = f"words='{' '.join(flag.choices)}'" if flag.choices else 'files=1'
                values.append(f'            {"|".join(flag.names)}) {answer} ;;')
        plain = f"words='{' '.join(grammar.choices)}'" if grammar.choices else 'files=1'
        # An option that takes a value is asked about first, as the value may look like anything.
        cases.append(
            f'        {name})\n            case "$previous" in\n'
            + '\n'.join(values)
            + ('\n' if values else '')
            + f'            *) if [[ "$current" == -* ]]; then words=\'{options}\'; '
            f'else {plain}; fi ;;\n            esac ;;'
        )
    function = _function(program)
    return f"""\
# Completion of {program} for bash: source it, or put it into
# ~/.local/share/bash-completion/completions/{program}
{function}() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}"
    local words='' files=0
    COMPREPLY=()
    if (( COMP_CWORD == 1 )); then
        words='{' '.join(grammars)} --help --version'
    else
        case "${{COMP_WORDS[1]}}" in
{chr(10).join(cases)}
        esac
    fi
    local IFS=$'\\n'
    if (( files )); then
        COMPREPLY=( $(compgen -f -- "$current") )
    else
        COMPREPLY=( $(compgen -W "${{words// /$IFS}}" -- "$current") )
    fi
}}
complete -o filenames -F {function} {program}
"""


def _zsh(program: str, grammars: Mapping[str, Grammar]) -> str:
    return (
        f'#compdef {program}\n'
        '# Completion for zsh, by its own emulation of that of bash: source it in ~/.zshrc.\n'
        'autoload -U +X compinit && compinit\n'
        'autoload -U +X bashcompinit && bashcompinit\n' + _bash(program, grammars)
    )


def _fish(program: str, grammars: Mapping[str, Grammar]) -> str:
    lines = [
        f'# Completion of {program} for fish: put it into',
        f'# ~/.config/fish/completions/{program}.fish',
        f'complete -c {program} -n __fish_use_subcommand -f -l help -d "Show help"',
        f'complete -c {program} -n __fish_use_subcommand -f -l version -d "Show the version"',
    ]
    for name, grammar in grammars.items():
        lines.append(
            f'complete -c {program} -n __fish_use_subcommand -f -a {name} '
            f'-d {_quoted(grammar.summary)}'
        )
        within = f'complete -c {program} -n "__fish_seen_subcommand_from {name}"'
        if grammar.choices:
            lines.append(f'{within} -f -a {_quoted(" ".join(grammar.choices))}')
        for flag in grammar.flags:
            names = ' '.join(_fish_name(spelling) for spelling in flag.names)
            value = ''
            if flag.choices:
                value = f' -x -a {_quoted(" ".join(flag.choices))}'
            elif flag.takes_value:
                value = ' -r'
            lines.append(f'{within} {names}{value} -d {_quoted(flag.text)}')
    return '\n'.join(lines) + '\n'


def _fish_name(spelling: str) -> str:
    kind = '-l' if spelling.startswith('--') else '-s'
    return f'{kind} {spelling.lstrip("-")}'


def _quoted(text: str) -> str:
    escaped = text.replace('\\', '\\\\').replace("'", "\\'")
    return f"'{escaped}'"


def _function(program: str) -> str:
    return '_' + re.sub(r'\W', '_', program)


#: Shell to a function of the program's name and the grammars by command.
SHELLS: dict[str, Callable[[str, Mapping[str, Grammar]], str]] = {
    'bash': _bash,
    'fish': _fish,
    'zsh': _zsh,
}
