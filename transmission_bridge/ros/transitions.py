# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Life-cycle transitions that never lose an error."""

from __future__ import annotations

from collections.abc import Callable
import functools
import traceback
from typing import Any, TypeVar

from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn

from transmission_bridge.errors import TransmissionBridgeError

__all__ = ['transition']

Step = Callable[[Any, LifecycleState], TransitionCallbackReturn]
T = TypeVar('T', bound=Step)

#: Steps whose success ends what went wrong before.
_ENDING_FAILURE = ('configure', 'activate', 'shutdown')


def transition(step: Step) -> Step:
    """
    Decorate a life-cycle callback: a user's mistake is FAILURE, a bug of ours is ERROR.

    Both are logged with their reason; rclpy itself discards exceptions of these callbacks. The
    reason is the node's ``failure`` until it is configured or activated.
    """

    @functools.wraps(step)
    def guarded(self: Any, state: LifecycleState) -> TransitionCallbackReturn:
        name = step.__name__.removeprefix('on_')
        try:
            result = step(self, state)
        except TransmissionBridgeError as error:
            self.failure = f'{name} failed: {error}'
            self.get_logger().error(self.failure)
            return TransitionCallbackReturn.FAILURE
        except Exception as error:  # nothing may disappear in rclpy's own handler
            self.failure = f'{name} met a bug, see the log: {error!r}'
            self.get_logger().error(f'{name} met a bug:\n{traceback.format_exc()}')
            return TransitionCallbackReturn.ERROR
        if name in _ENDING_FAILURE and result == TransitionCallbackReturn.SUCCESS:
            self.failure = ''
        return result

    return guarded
