// Copyright 2026 The transmission_bridge authors
//
// SPDX-License-Identifier: Apache-2.0
//
// Handles, the base class of a component, and what is kept around it: the life cycle and the old
// and new exports of ros2_control. With FAKE_HAS_PARAMS the names are those since 4.46 and 5.16,
// else those of 4.30 and 5.0.
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fake_version.hpp"
#include "hardware_interface/hardware_info.hpp"
#include "lifecycle_msgs/msg/state.hpp"
#include "rclcpp/rclcpp.hpp"

namespace rclcpp_lifecycle {

class State {
public:
  explicit State(uint8_t id = 0) : id_(id) {}
  uint8_t id() const { return id_; }
  std::string label() const {
    static const char * const labels[] = {"unknown", "unconfigured", "inactive", "active",
                                          "finalized"};
    return labels[id_];
  }

private:
  uint8_t id_;
};

}  // namespace rclcpp_lifecycle

namespace hardware_interface {

enum class CallbackReturn { SUCCESS, FAILURE, ERROR };
enum class return_type : std::uint8_t { OK = 0, ERROR = 1, DEACTIVATE = 2 };

// How often the next values of a handle cannot be set, by its name.
inline std::map<std::string, int> & locked() {
  static std::map<std::string, int> names;
  return names;
}

class Handle {
public:
  explicit Handle(const InterfaceDescription & description)
  : prefix_(description.prefix_name),
    interface_(description.interface_info.name),
    name_(prefix_ + "/" + interface_) {}
  Handle(const std::string & prefix, const std::string & interface, double * value)
  : prefix_(prefix), interface_(interface), name_(prefix + "/" + interface), pointer_(value) {}
  Handle(const Handle & other)
  : prefix_(other.prefix_),
    interface_(other.interface_),
    name_(other.name_),
    value_(other.value_.load()),
    pointer_(other.pointer_) {}

  const std::string & get_name() const { return name_; }
  const std::string & get_prefix_name() const { return prefix_; }
  const std::string & get_interface_name() const { return interface_; }

  template <typename T = double>
  [[nodiscard]] std::optional<T> get_optional() const {
    return pointer_ ? *pointer_ : value_.load();
  }
  template <typename T>
  [[nodiscard]] bool set_value(const T & value) {
    if (const auto found = locked().find(name_); found != locked().end() && found->second > 0) {
      found->second--;
      return false;
    }
    if (pointer_) *pointer_ = value;
    value_ = value;
    return true;
  }

private:
  std::string prefix_, interface_, name_;
  std::atomic<double> value_{std::numeric_limits<double>::quiet_NaN()};
  double * pointer_ = nullptr;
};

class StateInterface : public Handle {
public:
  using Handle::Handle;
  using SharedPtr = std::shared_ptr<StateInterface>;
  using ConstSharedPtr = std::shared_ptr<const StateInterface>;
};

class CommandInterface : public Handle {
public:
  using Handle::Handle;
  using SharedPtr = std::shared_ptr<CommandInterface>;
};

struct HardwareComponentParams {
  HardwareInfo hardware_info;
  rclcpp::Logger logger;
  rclcpp::Clock::SharedPtr clock;
  rclcpp::Executor::WeakPtr executor;
};

struct HardwareComponentInterfaceParams {
  HardwareInfo hardware_info;
  rclcpp::Executor::WeakPtr executor;
};

class SystemInterface {
public:
  using Names = std::vector<std::string>;
  using LifecycleState = rclcpp_lifecycle::State;

  virtual ~SystemInterface() = default;
#if FAKE_HAS_PARAMS
  virtual CallbackReturn on_init(const HardwareComponentInterfaceParams & params) {
    info_ = params.hardware_info;
    return CallbackReturn::SUCCESS;
  }
#else
  virtual CallbackReturn on_init(const HardwareInfo & info) {
    info_ = info;
    return CallbackReturn::SUCCESS;
  }
#endif
  virtual CallbackReturn on_configure(const LifecycleState &) { return CallbackReturn::SUCCESS; }
  virtual CallbackReturn on_cleanup(const LifecycleState &) { return CallbackReturn::SUCCESS; }
  virtual CallbackReturn on_shutdown(const LifecycleState &) { return CallbackReturn::SUCCESS; }
  virtual CallbackReturn on_activate(const LifecycleState &) { return CallbackReturn::SUCCESS; }
  virtual CallbackReturn on_deactivate(const LifecycleState &) { return CallbackReturn::SUCCESS; }
  virtual CallbackReturn on_error(const LifecycleState &) { return CallbackReturn::SUCCESS; }

  virtual std::vector<StateInterface> export_state_interfaces() { return {}; }
  virtual std::vector<CommandInterface> export_command_interfaces() { return {}; }
  virtual std::vector<StateInterface::ConstSharedPtr> on_export_state_interfaces() {
    return make<StateInterface, StateInterface::ConstSharedPtr>(&ComponentInfo::state_interfaces,
                                                                states_);
  }
  virtual std::vector<CommandInterface::SharedPtr> on_export_command_interfaces() {
    return make<CommandInterface, CommandInterface::SharedPtr>(
      &ComponentInfo::command_interfaces, commands_);
  }
  virtual return_type prepare_command_mode_switch(const Names &, const Names &) {
    return return_type::OK;
  }
  virtual return_type perform_command_mode_switch(const Names &, const Names &) {
    return return_type::OK;
  }
  virtual return_type read(const rclcpp::Time &, const rclcpp::Duration &) = 0;
  virtual return_type write(const rclcpp::Time &, const rclcpp::Duration &) = 0;

  bool has_state(const std::string & name) const { return states_.count(name) > 0; }
  void set_state(const std::string & name, double value) {
    (void)states_.at(name)->set_value(value);
  }
  double get_state(const std::string & name) const { return *states_.at(name)->get_optional(); }
  void set_command(const std::string & name, double value) {
    (void)commands_.at(name)->set_value(value);
  }
  template <typename T = double>
  T get_command(const std::string & name) const {
    return *commands_.at(name)->template get_optional<T>();
  }
  rclcpp::Logger get_logger() const { return {}; }
  rclcpp::Clock::SharedPtr get_clock() const { return std::make_shared<rclcpp::Clock>(); }

protected:
  HardwareInfo info_;

private:
  template <typename Handle, typename Pointer>
  std::vector<Pointer> make(std::vector<InterfaceInfo> ComponentInfo::* interfaces,
                            std::map<std::string, std::shared_ptr<Handle>> & handles) {
    std::vector<Pointer> all;
    for (const auto * owners : {&info_.joints, &info_.sensors, &info_.gpios})
      for (const auto & owner : *owners)
        for (const auto & each : owner.*interfaces) {
          auto handle = std::make_shared<Handle>(InterfaceDescription(owner.name, each));
          handles[handle->get_name()] = handle;
          all.push_back(handle);
        }
    return all;
  }

  std::map<std::string, StateInterface::SharedPtr> states_;
  std::map<std::string, CommandInterface::SharedPtr> commands_;
};

// The life cycle around a component.
class FakeComponent {
public:
  using Ids = lifecycle_msgs::msg::State;
  using LifecycleState = rclcpp_lifecycle::State;
  using Names = std::vector<std::string>;

  explicit FakeComponent(std::unique_ptr<SystemInterface> impl) : impl_(std::move(impl)) {}
  FakeComponent(FakeComponent && other) noexcept = default;

#if FAKE_HAS_PARAMS
  const LifecycleState & initialize(const HardwareComponentParams & params) {
    const auto result = impl_->on_init({params.hardware_info, params.executor});
#else
  const LifecycleState & initialize(const HardwareInfo & info, rclcpp::Logger, rclcpp::Clock::SharedPtr) {
    const auto result = impl_->on_init(info);
#endif
    const bool is_done = result == CallbackReturn::SUCCESS;
    return set(is_done ? Ids::PRIMARY_STATE_UNCONFIGURED : Ids::PRIMARY_STATE_FINALIZED);
  }
  const LifecycleState & configure() {
    return change(&SystemInterface::on_configure, {Ids::PRIMARY_STATE_UNCONFIGURED},
                  Ids::PRIMARY_STATE_INACTIVE, true);
  }
  const LifecycleState & cleanup() {
    return change(&SystemInterface::on_cleanup, {Ids::PRIMARY_STATE_INACTIVE},
                  Ids::PRIMARY_STATE_UNCONFIGURED, false);
  }
  const LifecycleState & shutdown() {
    return change(&SystemInterface::on_shutdown,
                  {Ids::PRIMARY_STATE_UNCONFIGURED, Ids::PRIMARY_STATE_INACTIVE,
                   Ids::PRIMARY_STATE_ACTIVE},
                  Ids::PRIMARY_STATE_FINALIZED, false);
  }
  const LifecycleState & activate() {
    return change(&SystemInterface::on_activate, {Ids::PRIMARY_STATE_INACTIVE},
                  Ids::PRIMARY_STATE_ACTIVE, true);
  }
  const LifecycleState & deactivate() {
    return change(&SystemInterface::on_deactivate, {Ids::PRIMARY_STATE_ACTIVE},
                  Ids::PRIMARY_STATE_INACTIVE, true);
  }
  const LifecycleState & error() {
    if (state_.id() == Ids::PRIMARY_STATE_UNKNOWN ||
        state_.id() == Ids::PRIMARY_STATE_UNCONFIGURED)
      return state_;
    const bool is_done = impl_->on_error(state_) == CallbackReturn::SUCCESS;
    return set(is_done ? Ids::PRIMARY_STATE_UNCONFIGURED : Ids::PRIMARY_STATE_FINALIZED);
  }
  const LifecycleState & get_lifecycle_state() const { return state_; }

  std::vector<StateInterface::ConstSharedPtr> export_state_interfaces() {
    std::vector<StateInterface::ConstSharedPtr> all;
    for (const auto & each : impl_->export_state_interfaces())
      all.push_back(std::make_shared<StateInterface>(each));
    return all.empty() ? impl_->on_export_state_interfaces() : all;
  }
  std::vector<CommandInterface::SharedPtr> export_command_interfaces() {
    std::vector<CommandInterface::SharedPtr> all;
    for (const auto & each : impl_->export_command_interfaces())
      all.push_back(std::make_shared<CommandInterface>(each));
    return all.empty() ? impl_->on_export_command_interfaces() : all;
  }
  return_type prepare_command_mode_switch(const Names & start, const Names & stop) {
    return impl_->prepare_command_mode_switch(start, stop);
  }
  return_type perform_command_mode_switch(const Names & start, const Names & stop) {
    return impl_->perform_command_mode_switch(start, stop);
  }
  return_type read(const rclcpp::Time & time, const rclcpp::Duration & period) {
    const bool acts = state_.id() == Ids::PRIMARY_STATE_INACTIVE ||
                      state_.id() == Ids::PRIMARY_STATE_ACTIVE;
    return acts ? check(impl_->read(time, period)) : return_type::OK;
  }
  return_type write(const rclcpp::Time & time, const rclcpp::Duration & period) {
    const bool acts = state_.id() == Ids::PRIMARY_STATE_ACTIVE;
    return acts ? check(impl_->write(time, period)) : return_type::OK;
  }

private:
  const LifecycleState & set(uint8_t id) {
    state_ = LifecycleState(id);
    return state_;
  }
  return_type check(return_type result) {
    if (result == return_type::ERROR) error();
    return result;
  }
  // A cleanup or a shutdown that fails in any way is an error.
  const LifecycleState & change(CallbackReturn (SystemInterface::*call)(const LifecycleState &),
                       const std::vector<uint8_t> & from, uint8_t to, bool may_fail) {
    for (const uint8_t each : from) {
      if (each != state_.id()) continue;
      const auto result = ((*impl_).*call)(state_);
      if (result == CallbackReturn::SUCCESS) return set(to);
      return result == CallbackReturn::FAILURE && may_fail ? state_ : error();
    }
    return state_;
  }

  std::unique_ptr<SystemInterface> impl_;
  LifecycleState state_;
};

}  // namespace hardware_interface
