// Copyright 2026 The transmission_bridge authors
//
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>

// As generated: the message is an alias of a template, which takes its name in a namespace.
namespace lifecycle_msgs::msg {
template <typename Allocator>
struct State_ {
  static constexpr uint8_t PRIMARY_STATE_UNKNOWN = 0, PRIMARY_STATE_UNCONFIGURED = 1,
                           PRIMARY_STATE_INACTIVE = 2, PRIMARY_STATE_ACTIVE = 3,
                           PRIMARY_STATE_FINALIZED = 4;
};
using State = State_<std::allocator<void>>;
}  // namespace lifecycle_msgs::msg
