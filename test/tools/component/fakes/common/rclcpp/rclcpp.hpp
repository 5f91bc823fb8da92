// Copyright 2026 The transmission_bridge authors
//
// SPDX-License-Identifier: Apache-2.0
//
// Declarations of the few classes of ROS that the component uses, for tests without ROS.
#pragma once
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

namespace rclcpp {

class Duration {
public:
  Duration(int32_t seconds, uint32_t nanoseconds) : value_(seconds + 1e-9 * nanoseconds) {}
  static Duration from_seconds(double seconds) {
    Duration found(0, 0);
    found.value_ = seconds;
    return found;
  }
  double seconds() const { return value_; }
  int64_t nanoseconds() const { return static_cast<int64_t>(1e9 * value_); }

private:
  double value_;
};

class Time {};

class Clock {
public:
  using SharedPtr = std::shared_ptr<Clock>;
  Time now() const { return {}; }
};

class Logger {};

class Executor {
public:
  using WeakPtr = std::weak_ptr<Executor>;
};

}  // namespace rclcpp

#define RCLCPP_LOG(level, logger, ...) \
  ((void)(logger), std::fprintf(stderr, "[" level "] "), std::fprintf(stderr, __VA_ARGS__), \
   std::fprintf(stderr, "\n"), std::fflush(stderr))
#define RCLCPP_INFO(logger, ...) RCLCPP_LOG("INFO", logger, __VA_ARGS__)
#define RCLCPP_WARN(logger, ...) RCLCPP_LOG("WARN", logger, __VA_ARGS__)
#define RCLCPP_ERROR(logger, ...) RCLCPP_LOG("ERROR", logger, __VA_ARGS__)
