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

// A text of the description that decides the map of a transmission, as it was compiled, and its
// words: @k is the number k, and * is any word. The one word * is any text, also a missing one.
struct Fact {
  int transmission;
  std::string path, compiled, words;  // path: of a joint, or in the block of the component
};

// A number of the description: a live number, or a limit of an actuator.
struct Number {
  int live;  // -1 without one
  int actuator;
  Side side;
  double value;
};

// A transmission that ros2_control's loader loads.
struct Loadable {
  int transmission;
  bool needs_positions;
  Names joints, actuators;   // their names there
  std::vector<int> passive;  // joints
  Texts texts;               // what the loader compares
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

// Read a number with a point in any locale.
inline bool read_number(const std::string & word, double & value) {
  const auto end = word.data() + word.size();
  const auto result = std::from_chars(word.data() + (word[0] == '+'), end, value);
  return result.ec == std::errc() && result.ptr == end && std::isfinite(value);
}

// Whether two words are equal, also as numbers.
inline bool is_same(const std::string & one, const std::string & other) {
  double number, another;
  return one == other ||
         (read_number(one, number) && read_number(other, another) && number == another);
}

inline std::string write(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

template <typename List, typename Item>
bool contains(const List & list, const Item & item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

template <typename Error = std::runtime_error>
void require(bool is_met, const std::string & place, const std::string & expected,
             const std::string & text) {
  if (!is_met) throw Error(place + ": expected " + expected + ", found " + text);
}

}  // namespace MAPPED_NAMESPACE
