// Copyright 2026 The transmission_bridge authors
//
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace lifecycle_msgs::msg {
struct State {
  static constexpr uint8_t PRIMARY_STATE_UNKNOWN = 0, PRIMARY_STATE_UNCONFIGURED = 1,
                           PRIMARY_STATE_INACTIVE = 2, PRIMARY_STATE_ACTIVE = 3,
                           PRIMARY_STATE_FINALIZED = 4;
};
}  // namespace lifecycle_msgs::msg
