// Copyright 2026 The transmission_bridge authors
//
// SPDX-License-Identifier: Apache-2.0
//
// Classes of one program by their name, with / for ::, and by its last word.
#pragma once
#include <functional>
#include <map>
#include <stdexcept>
#include <string>

namespace pluginlib {

template <typename Base>
std::map<std::string, std::function<Base *()>> & classes() {
  static std::map<std::string, std::function<Base *()>> known;
  return known;
}

inline std::string last_word(const std::string & name) {
  return name.substr(name.find_last_of("/:") + 1);
}

template <typename Class, typename Base>
struct Registration {
  explicit Registration(const std::string & name) {
    const auto make = []() -> Base * { return new Class(); };
    const auto middle = name.find("::");
    if (middle != std::string::npos)
      classes<Base>()[name.substr(0, middle) + "/" + last_word(name)] = make;
    classes<Base>()[middle == std::string::npos ? name : last_word(name)] = make;
  }
};

}  // namespace pluginlib

#define PLUGINLIB_JOIN(one, other) one##other
#define PLUGINLIB_REGISTER(type, base, count) \
  static const pluginlib::Registration<type, base> PLUGINLIB_JOIN(registered_, count)(#type);
#define PLUGINLIB_COUNTED(type, base, count) PLUGINLIB_REGISTER(type, base, count)
#define PLUGINLIB_EXPORT_CLASS(type, base) PLUGINLIB_COUNTED(type, base, __COUNTER__)
