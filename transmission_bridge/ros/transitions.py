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


def transition(step: Step) -> Step:
    """
    Decorate a life-cycle callback: a user's mistake is FAILURE, a bug of ours is ERROR.

    Both are logged with their reason; rclpy itself discards exceptions of these callbacks.
    """

    @functools.wraps(step)
    def guarded(self: Any, state: LifecycleState) -> TransitionCallbackReturn:
        name = step.__name__.removeprefix('on_')
        try:
            return step(self, state)
        except TransmissionBridgeError as error:
            self.get_logger().error(f'{name} failed: {error}')
            return TransitionCallbackReturn.FAILURE
        except Exception:  # nothing may disappear in rclpy's own handler
            self.get_logger().error(f'{name} met a bug:\n{traceback.format_exc()}')
            return TransitionCallbackReturn.ERROR

    return guarded
