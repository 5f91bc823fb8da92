// Copyright 2026 The transmission_bridge authors
//
// SPDX-License-Identifier: Apache-2.0
//
// What a plugin for transmissions uses of ros2_control.
#pragma once
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "hardware_interface/hardware_info.hpp"

namespace transmission_interface {

class Exception : public std::exception {
public:
  explicit Exception(const std::string & text) : text_(text) {}
  const char * what() const noexcept override { return text_.c_str(); }

private:
  std::string text_;
};

class Handle {
public:
  Handle(const std::string & prefix, const std::string & interface, double * value)
  : prefix_(prefix), interface_(interface), value_(value) {}
  explicit operator bool() const { return value_ != nullptr; }
  std::string get_name() const { return prefix_ + "/" + interface_; }
  const std::string & get_prefix_name() const { return prefix_; }
  const std::string & get_interface_name() const { return interface_; }
  double get_value() const { return *value_; }
  void set_value(double value) { *value_ = value; }

private:
  std::string prefix_, interface_;
  double * value_;
};

class JointHandle : public Handle {
public:
  using Handle::Handle;
};

class ActuatorHandle : public Handle {
public:
  using Handle::Handle;
};

class Transmission {
public:
  virtual ~Transmission() = default;
  virtual void configure(const std::vector<JointHandle> &,
                         const std::vector<ActuatorHandle> &) = 0;
  virtual void actuator_to_joint() = 0;
  virtual void joint_to_actuator() = 0;
  virtual std::size_t num_actuators() const = 0;
  virtual std::size_t num_joints() const = 0;
};

class TransmissionLoader {
public:
  virtual ~TransmissionLoader() = default;
  virtual std::shared_ptr<Transmission> load(const hardware_interface::TransmissionInfo &) = 0;
};

inline std::string to_string(const std::vector<std::string> & names) {
  std::string text = "[";
  for (const auto & name : names) text += (text.size() > 1 ? ", " : "") + name;
  return text + "]";
}

template <typename T>
std::vector<T> get_ordered_handles(const std::vector<T> & handles,
                                   const std::vector<std::string> & names,
                                   const std::string & interface) {
  std::vector<T> found;
  for (const auto & name : names)
    for (const auto & each : handles)
      if (each && each.get_prefix_name() == name && each.get_interface_name() == interface)
        found.push_back(each);
  return found;
}

}  // namespace transmission_interface
