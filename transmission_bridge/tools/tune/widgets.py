# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Widgets of a container that are described for each update; only differences are sent."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

#: Decimals of a slider, the most that viser gives one.
_DIGITS = 7


class Widgets:
    """
    The widgets of a container.

    :meth:`add_text` and :meth:`add_widget` describe them in order, then :meth:`show_changes`
    sends the differences from the last description.

    :param gui: viser's ``client.gui``.
    :param container: Context manager of the container.
    :param post: Queues a task for the thread that describes the widgets.
    """

    def __init__(
        self, gui: Any, container: Any, post: Callable[[Callable[[], None]], None]
    ) -> None:
        self._gui, self._container, self._post = gui, container, post
        self._next: dict[tuple[str, str], dict[str, Any]] = {}
        self._acts: dict[tuple[str, str], Callable[[Any], None] | None] = {}
        self._handles: dict[tuple[str, str], Any] = {}
        #: What the browser shows or will show. Input is included when :meth:`_accept_input`
        #: handles it, so that later input is not overwritten.
        self._sent: dict[tuple[str, str], dict[str, Any]] = {}

    def add_text(self, content: str) -> None:
        """Describe a text."""
        self._next['html', str(len(self._next))] = {'content': content}

    def add_widget(
        self, kind: str, key: str, act: Callable[[Any], None] | None = None, **props: Any
    ) -> None:
        """
        Describe a widget.

        :param kind: ``text``, ``slider``, ``button``, ...: viser's ``gui.add_<kind>``.
        :param key: Its name in this panel, and its label unless ``props`` has one.
        :param act: Is called with the value when the user changes it.
        :param props: viser's arguments, including ``value``.
        """
        self._next[kind, key] = {'label': key, **props}
        self._acts[kind, key] = act

    def show_changes(self) -> None:
        """Replace the shown widgets by those described since the last call."""
        widgets, self._next = self._next, {}
        if [*widgets] != [*self._handles]:
            for handle in self._handles.values():
                handle.remove()
            with self._container:
                self._handles = {item[0]: self._make_widget(*item) for item in widgets.items()}
            self._sent = widgets
        for key, props in widgets.items():
            sent = self._sent[key]
            for name, value in props.items():
                # A slider has steps.
                step = props.get('step', 0.0) if name == 'value' else 0.0
                if sent[name] != value and (not step or abs(sent[name] - value) > 0.5 * step):
                    setattr(self._handles[key], name, value)
                    sent[name] = value

    def _make_widget(self, key: tuple[str, str], props: dict[str, Any]) -> Any:
        given = {'initial_value' if name == 'value' else name: props[name] for name in props}
        if key[0] == 'slider':
            given['marks'] = ()
        handle = getattr(self._gui, f'add_{key[0]}')(**given)
        if key[0] == 'slider':
            handle.precision = _DIGITS
        if self._acts.get(key) is not None:
            # A coroutine, because viser runs functions in a pool of threads, in which Enter could
            # overtake the text typed before it.
            async def changed(event: Any) -> None:
                if event.client_id is not None:  # else the program changed it
                    self._post(partial(self._accept_input, key, handle, event.target.value))

            (handle.on_click if 'button' in key[0] else handle.on_update)(changed)
        return handle

    def _accept_input(self, key: tuple[str, str], handle: Any, value: Any) -> None:
        act = self._acts[key]
        if act is not None and self._handles.get(key) is handle:
            if 'value' in self._sent[key]:
                self._sent[key]['value'] = value
            act(value)
