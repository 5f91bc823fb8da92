// Copyright 2026 The transmission_bridge authors
//
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "pluginlib/class_list_macros.hpp"

namespace pluginlib {
template <typename Base>
class ClassLoader {
public:
  ClassLoader(const std::string &, const std::string &) {}
  Base * createUnmanagedInstance(const std::string & name) {
    // A plugin for transmissions is known by the types that it maps.
    auto found = classes<Base>().find(name);
    if (found == classes<Base>().end()) found = classes<Base>().find(last_word(name));
    if (found == classes<Base>().end()) found = classes<Base>().find("Loader");
    if (found == classes<Base>().end())
      throw std::runtime_error("according to the loaded plugin descriptions the class " + name +
                               " does not exist");
    return found->second();
  }
  std::shared_ptr<Base> createSharedInstance(const std::string & name) {
    return std::shared_ptr<Base>(createUnmanagedInstance(name));
  }
};
}  // namespace pluginlib
