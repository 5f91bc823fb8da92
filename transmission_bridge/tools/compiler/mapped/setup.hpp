// SPDX-License-Identifier: Apache-2.0
//
// What a component is built from: its description is compared with what was compiled, and its
// parameters are read. Errors are exceptions that give place, expectation and finding.
#pragma once

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include MAPPED_ROBOT

namespace MAPPED_NAMESPACE {

using Texts = std::map<std::string, std::string>;

struct Limits {
  double values[n_sides] = {-infinite, infinite, infinite, infinite};

  double low(int row) const { return row == position ? values[lower] : -values[row + 1]; }
  double high(int row) const { return values[row == position ? upper : row + 1]; }
};

// A joint of <ros2_control>, and its interfaces; those of another type than double are odd.
struct Joint {
  std::string name;
  Names commands, states, odd;
};

// A joint that follows another one by <mimic>, through no transmission.
struct Mimic {
  std::string name, followed;
  double multiplier, offset;
  int joint = -1;  // that it follows
};

// A block of <ros2_control>, as ros2_control has read it.
struct Component {
  std::string name;
  bool is_async;
  std::vector<Joint> joints;
  std::vector<Mimic> mimics;
  std::map<std::string, Limits> limits;
  Texts parameters;
  std::string xml;  // the whole description
};

enum class Choice { clamp, reject, off, warn };

struct Options {
  std::string driver_plugin;
  bool is_dry, zero_effort, ends_by_error;
  Choice limits, max_step;
  double hold_timeout, zero_max_velocity;
  // A controller may write its last value after the first write of an asynchronous component.
  int ending_writes;
};

struct Setup {
  Options options;
  Names own_parameters;  // all others are the driver's
  Names notes;           // what the description does not have
  std::vector<int> own;  // transmissions of this component
  std::array<int, n_actuators> owner;
  std::array<int, n_joints> owner_of_joint;
  std::array<Limits, n_actuators> actuator_limits;
  std::array<Limits, n_joints> joint_limits;
  std::array<double, n_actuators> periods;    // of single-turn encoders, else NaN
  std::array<Texts, n_actuators> parameters;  // of the <actuator>, for the driver
  std::vector<Mimic> mimics;
  std::vector<std::pair<int, Mimic>> followed;  // with the transmission that moves it
  std::vector<Limits> limits_of_followed;
  State state;

  // Index of a joint; after those of the map, joints that follow by <mimic>; else -1.
  int find_joint(const std::string & name) const;
  // The actuator with the role of a joint, empty without one.
  std::string find_actuator(const std::string & joint) const;
  // The own transmission that has a joint and an actuator, else -1.
  int find_transmission(const std::string & joint, int actuator) const;
};

template <std::size_t N>
int find_name(const char * const (&names)[N], int count, const std::string & name) {
  for (int k = 0; k < count; k++)
    if (name == names[k]) return k;
  return -1;
}

// :raises std::runtime_error: if the component does not fit the compiled robot.
Setup read_setup(const Component & component);

}  // namespace MAPPED_NAMESPACE
