// SPDX-License-Identifier: Apache-2.0
//
// The structures of the data of a robot. The generated header of a robot defines
// MAPPED_NAMESPACE, includes this file, and defines the data.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace MAPPED_NAMESPACE {

using Names = std::vector<std::string>;
using Texts = std::map<std::string, std::string>;

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
constexpr double infinite = std::numeric_limits<double>::infinity();

enum Row { position, velocity, effort, n_rows };
inline constexpr const char * row_names[n_rows] = {"position", "velocity", "effort"};
enum Side { lower, upper, of_velocity, of_effort, n_sides };

struct Transmission {
  std::string name;         // empty for a joint without a transmission
  std::vector<int> joints;  // those that are commanded
  std::vector<int> actuators;
  std::vector<int> owned;  // actuators that it commands
};

// A text of the description that decides the map of a transmission. A word @k is the number k,
// followed by '?' if it may be missing and '!' if the value counts that was compiled. '*' is any
// word. A subject is joint[NAME] or transmission[NAME].
struct Fact {
  int transmission;
  std::string subject, path, text;
};

// A number of the description: a live number, or a limit of an actuator.
struct Number {
  int live;  // -1 without one
  int actuator;
  Side side;
  double value;
};

// A joint or an actuator of a transmission that ros2_control's loader loads.
struct End {
  std::string name;
  int index;       // in the rows of the map
  bool is_output;  // an actuator of several transmissions is the output of one
  std::string role;
  double mechanical_reduction, offset;
};

struct Loadable {
  std::string name, type;
  bool needs_positions;
  std::vector<End> joints, actuators, passive;
  std::map<std::string, std::string> parameters;
};

// The row of an interface, -1 for one that the map does not know.
inline int find_row(const std::string & interface) {
  if (interface == "position") return position;
  if (interface == "velocity") return velocity;
  return interface == "effort" || interface == "torque" || interface == "force" ? effort : -1;
}

inline std::string quote(const std::string & text) {
  return text.empty() ? "none" : "'" + text + "'";
}

inline std::string write(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

template <typename Error = std::runtime_error>
void require(bool is_met, const std::string & place, const std::string & expected,
             const std::string & text) {
  if (!is_met) throw Error(place + ": expected " + expected + ", found " + text);
}

}  // namespace MAPPED_NAMESPACE
