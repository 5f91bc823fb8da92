// SPDX-License-Identifier: Apache-2.0
//
// A hardware component of ros2_control that runs the driver of the actuators and gives joints to
// the controllers: life cycle, handles and names. The core decides every number.
#include <memory>
#include <thread>

#include "hardware_interface/system_interface.hpp"
#include "lifecycle_msgs/msg/state.hpp"
#include "mapped/core.hpp"
#include "pluginlib/class_list_macros.hpp"
#include "pluginlib/class_loader.hpp"
#include "rclcpp/rclcpp.hpp"

// What ros2_control itself keeps around a driver: life cycle, old and new exports.
#if __has_include("hardware_interface/hardware_component.hpp")
#include "hardware_interface/hardware_component.hpp"
#define MAPPED_HAS_PARAMS 1
#else
#include "hardware_interface/system.hpp"
#define MAPPED_HAS_PARAMS 0
#endif

namespace MAPPED_NAMESPACE {
using namespace hardware_interface;
using Ids = lifecycle_msgs::msg::State;
#if MAPPED_HAS_PARAMS
using Driver = HardwareComponent;
using Params = HardwareComponentInterfaceParams;
#else
using Driver = System;
using Params = HardwareInfo;
#endif

// A handle, its place in the rows of the map, and its last value. A handle of the driver that the
// map does not know has no index. If its actuator has the role of a joint with such an interface,
// it passes numbers from or to that interface.
template <typename Pointer, typename JointPointer = Pointer>
struct Wire {
  Pointer handle;
  int index, row;
  JointPointer of_joint = nullptr;
  double last = unknown;
  bool is_due = false;  // the last value could not be set yet
};

// Tries to set a value that another thread may be reading.
constexpr int most_tries = 1000;

class MappedSystem : public SystemInterface {
public:
  CallbackReturn on_init(const Params & params) override {
    if (SystemInterface::on_init(params) != CallbackReturn::SUCCESS) return CallbackReturn::ERROR;
    try {
      setup_ = Reader<HardwareInfo>(info_).read();
      for (const auto & text : of_parameter_files)
        RCLCPP_INFO(get_logger(), "of a parameter file, not of the description: %s", text.c_str());
      core_ = std::make_unique<Core>(setup_);
      // As in the manager: only the move unsets the times of the last cycles.
      Driver driver(
        std::unique_ptr<SystemInterface>(loader_.createUnmanagedInstance(setup_.driver_plugin)));
      driver_ = std::make_unique<Driver>(std::move(driver));
      const auto info = describe_driver(info_, setup_);
#if MAPPED_HAS_PARAMS
      HardwareComponentParams of_driver;
      of_driver.hardware_info = info;
      of_driver.logger = get_logger();
      of_driver.clock = get_clock();
      of_driver.executor = params.executor;
      const auto & state = driver_->initialize(of_driver);
#else
      const auto & state = driver_->initialize(info, get_logger(), get_clock());
#endif
      if (state.id() != Ids::PRIMARY_STATE_UNCONFIGURED)
        return fail("on_init", "no SUCCESS", "see its messages");
    } catch (const std::exception & error) {
      return fail(error.what());
    }
    if (info_.rw_rate > 0) period_ = rclcpp::Duration::from_seconds(1.0 / info_.rw_rate);
    return CallbackReturn::SUCCESS;
  }

  std::vector<StateInterface::ConstSharedPtr> on_export_state_interfaces() override {
    auto exported = connect(driver_->export_state_interfaces(), &ComponentInfo::state_interfaces,
                            joint_states_, driver_states_);
    for (const int t : setup_.own) {
      if (transmissions[t].name.empty()) continue;
      InterfaceInfo info;
      info.name = "status";
      info.size = 1;
      const auto handle =
        std::make_shared<StateInterface>(InterfaceDescription(transmissions[t].name, info));
      joint_states_.push_back({handle, t, n_rows});
      exported.push_back(handle);
    }
    return exported;
  }

  std::vector<CommandInterface::SharedPtr> on_export_command_interfaces() override {
    return connect(driver_->export_command_interfaces(), &ComponentInfo::command_interfaces,
                   joint_commands_, driver_commands_);
  }

  // -- life cycle --------------------------------------------------------------------------------

  CallbackReturn on_configure(const rclcpp_lifecycle::State &) override {
    core_->forget();
    is_known_ = false;
    return follow("on_configure", &Driver::configure, Ids::PRIMARY_STATE_INACTIVE);
  }

  CallbackReturn on_cleanup(const rclcpp_lifecycle::State &) override {
    return follow("on_cleanup", &Driver::cleanup, Ids::PRIMARY_STATE_UNCONFIGURED);
  }

  CallbackReturn on_shutdown(const rclcpp_lifecycle::State &) override {
    end_commands();
    return follow("on_shutdown", &Driver::shutdown, Ids::PRIMARY_STATE_FINALIZED);
  }

  // In a dry run the driver stays inactive: it measures, and its motors stay off.
  CallbackReturn on_activate(const rclcpp_lifecycle::State &) override {
    if (!is_known_ && read(get_clock()->now(), period_) != return_type::OK)
      return fail("read", "no OK", "remove the cause and configure the component again");
    if (const auto problem = core_->find_unknown_turn(); !problem.empty()) {
      fail(problem);
      return CallbackReturn::FAILURE;
    }
    map_states();
    core_->begin();
    for (const auto & wire : joint_commands_) (void)set_first(wire);
    for (auto & wire : driver_commands_) wire.is_due = false;
    if (setup_.options.is_dry) return CallbackReturn::SUCCESS;
    return follow("on_activate", &Driver::activate, Ids::PRIMARY_STATE_ACTIVE);
  }

  CallbackReturn on_deactivate(const rclcpp_lifecycle::State &) override {
    end_commands();
    if (setup_.options.is_dry) return CallbackReturn::SUCCESS;
    return follow("on_deactivate", &Driver::deactivate, Ids::PRIMARY_STATE_INACTIVE);
  }

  // A driver that failed has run its on_error already.
  CallbackReturn on_error(const rclcpp_lifecycle::State &) override {
    end_commands();
    auto id = driver_->get_lifecycle_state().id();
    if (id == Ids::PRIMARY_STATE_ACTIVE || id == Ids::PRIMARY_STATE_INACTIVE)
      id = driver_->error().id();
    const bool is_back = id == Ids::PRIMARY_STATE_UNCONFIGURED;
    return is_back ? CallbackReturn::SUCCESS : CallbackReturn::ERROR;
  }

  // -- modes -------------------------------------------------------------------------------------

  // A stop is always accepted: a refusal would skip the stop of the driver.
  return_type prepare_command_mode_switch(const Names & start, const Names & stop) override {
    const Flags starts = find_flags(start);
    const Flags next = core_->plan_switch(starts, find_flags(stop));
    if (const auto problem = core_->find_half(next, starts); !problem.empty()) {
      fail(problem);
      return return_type::ERROR;
    }
    return switch_driver(next, start, stop, &Driver::prepare_command_mode_switch,
                         "prepare_command_mode_switch", "a start is refused, a stop is not");
  }

  return_type perform_command_mode_switch(const Names & start, const Names & stop) override {
    const Flags starts = find_flags(start), stops = find_flags(stop);
    const Flags claims = core_->read_claims(), next = core_->plan_switch(starts, stops);
    // ros2_control keeps the numbers of released interfaces: they are no commands.
    for (const auto & wire : joint_commands_)
      if ((next & ~claims)[flag(wire.row, wire.index)] && !set_first(wire))
        return return_type::ERROR;
    const auto result =
      switch_driver(next, start, stop, &Driver::perform_command_mode_switch,
                    "perform_command_mode_switch", "switch these controllers again");
    core_->switch_claims(starts, stops, result != return_type::OK);
    return result;
  }

  // -- each cycle --------------------------------------------------------------------------------

  return_type read(const rclcpp::Time & time, const rclcpp::Duration & period) override {
    const auto result = driver_->read(time, period);
    is_known_ = result == return_type::OK;
    if (is_known_) map_states();
    return result;
  }

  return_type write(const rclcpp::Time & time, const rclcpp::Duration & period) override {
    if (period.nanoseconds() > 0) period_ = period;
    if (map_commands(period.seconds()))
      return setup_.options.ends_by_error ? return_type::ERROR : return_type::DEACTIVATE;
    send();
    if (!setup_.options.is_dry) return driver_->write(time, period);
    since_log_ += period.seconds();
    if (since_log_ <= report_period) return return_type::OK;
    since_log_ = 0.0;
    for (const auto & wire : driver_commands_)
      if (wire.is_due)
        RCLCPP_INFO(get_logger(), "dry run: %s would be %g", wire.handle->get_name().c_str(),
                    wire.last);
    return return_type::OK;
  }

private:
  // Export the interfaces of the joints, and those of the driver that belong to no joint.
  template <typename Pointer, typename JointPointer>
  std::vector<Pointer> connect(const std::vector<Pointer> & of_driver,
                               std::vector<InterfaceInfo> ComponentInfo::* interfaces,
                               std::vector<Wire<JointPointer>> & joints,
                               std::vector<Wire<Pointer, JointPointer>> & drivers) {
    std::vector<Pointer> exported;
    std::map<std::string, JointPointer> passed;
    for (const auto & joint : info_.joints) {
      for (const auto & interface : joint.*interfaces) {
        const auto handle = std::make_shared<typename JointPointer::element_type>(
          InterfaceDescription(joint.name, interface));
        if (const int row = find_row(interface.name); row >= 0)
          joints.push_back({handle, setup_.find_joint(joint.name), row});
        else
          passed[find_actuator(joint.name) + "/" + interface.name] = handle;
        exported.push_back(handle);
      }
    }
    for (const auto & handle : of_driver) {
      const int row = find_row(handle->get_interface_name());
      const int a = find_name(actuator_names, n_actuators, handle->get_prefix_name());
      drivers.push_back({handle, row < 0 ? -1 : a, row, passed[handle->get_name()]});
      if (drivers.back().index < 0 && !drivers.back().of_joint) exported.push_back(handle);
    }
    return exported;
  }

  void map_states() {
    Actuators measured;
    for (auto & wire : driver_states_) {
      if (wire.index < 0 && !wire.of_joint) continue;
      // Without a value, because another thread holds the handle, the last one stays.
      wire.last = wire.handle->template get_optional<double>().value_or(wire.last);
      if (wire.index < 0)
        (void)wire.of_joint->set_value(wire.last);
      else
        measured[wire.row][wire.index] = wire.last;
    }
    core_->take_states(measured);
    for (auto & wire : joint_states_)
      (void)wire.handle->set_value(core_->read_state(wire.row, wire.index));
  }

  // Returns whether there was no result for hold_timeout. Reports are throttled by the core.
  bool map_commands(double period) {
    core_->choose_runs();
    for (const auto & wire : joint_commands_)
      if (const auto value = wire.handle->get_optional<double>())
        core_->command(wire.row, wire.index) = *value;
    const bool is_over = core_->map_commands(period);
    for (const int t : setup_.own)
      if (const auto report = core_->describe_report(t); !report.empty())
        RCLCPP_WARN(get_logger(), "%s", report.c_str());
    return is_over;
  }

  // An actuator without a number is not written: its driver keeps the last one. A number that
  // could not be set is set in the next cycle. Returns whether all are.
  bool send() {
    bool is_done = true;
    for (auto & wire : driver_commands_) {
      double value = unknown;
      if (wire.index >= 0)
        value = core_->sent()[wire.row][wire.index];
      else if (wire.of_joint)
        value = wire.of_joint->get_optional<double>().value_or(unknown);
      wire.is_due = wire.is_due || std::isfinite(value);
      wire.last = std::isfinite(value) ? value : wire.last;
      if (setup_.options.is_dry || !wire.is_due) continue;
      wire.is_due = !wire.handle->set_value(wire.last);
      is_done = is_done && !wire.is_due;
    }
    return is_done;
  }

  // At the end nothing is claimed, and no motor goes on.
  void end_commands() {
    core_->set_claims({});
    if (driver_->get_lifecycle_state().id() == Ids::PRIMARY_STATE_ACTIVE) {
      (void)map_commands(0.0);
      for (int k = 0; k < most_tries && !send(); k++) std::this_thread::yield();
      (void)driver_->write(get_clock()->now(), period_);
    }
    core_->begin();
  }

  // Set what an interface holds when it is claimed.
  bool set_first(const Wire<CommandInterface::SharedPtr> & wire) const {
    const double value = core_->first_command(wire.row, wire.index);
    for (int k = 0; k < most_tries; k++)
      if (wire.handle->set_value(value)) return true;
    return false;
  }

  // Names of other components have no effect.
  Flags find_flags(const Names & names) const {
    Flags flags;
    for (const auto & wire : joint_commands_)
      if (contains(names, wire.handle->get_name())) flags.set(flag(wire.row, wire.index));
    return flags;
  }

  // Switch the driver. A refusal is none if nothing starts.
  return_type switch_driver(const Flags & next, const Names & start, const Names & stop,
                            return_type (Driver::*call)(const Names &, const Names &),
                            const char * name, const char * advice) {
    if (setup_.options.is_dry) return return_type::OK;
    const Flags claims = core_->read_claims();
    Names starts, stops;
    for (const auto & wire : driver_commands_) {
      const auto & of_driver = wire.handle->get_name();
      const auto & source = wire.of_joint ? wire.of_joint->get_name() : of_driver;
      const bool passes = wire.index < 0;
      const bool was = Core::runs_actuator(claims, wire.row, wire.index);
      const bool will = Core::runs_actuator(next, wire.row, wire.index);
      if (passes ? contains(start, source) : will && !was) starts.push_back(of_driver);
      if (passes ? contains(stop, source) : was && !will) stops.push_back(of_driver);
    }
    if (starts.empty() && stops.empty()) return return_type::OK;
    const auto result = ((*driver_).*call)(starts, stops);
    if (result != return_type::OK) fail(name, "no OK", advice);
    return start.empty() ? return_type::OK : result;
  }

  // -- messages ----------------------------------------------------------------------------------

  CallbackReturn fail(const std::string & problem) const {
    RCLCPP_ERROR(get_logger(), "%s", problem.c_str());
    return CallbackReturn::ERROR;
  }

  CallbackReturn fail(const std::string & call, const std::string & result,
                      const std::string & advice) const {
    return fail("driver '" + setup_.driver_plugin + "': " + call + " returned " + result + ": " +
                advice);
  }

  // The state of this component follows its driver: FAILURE if the driver is where it was, ERROR
  // if its on_error has run.
  CallbackReturn follow(const char * call, const rclcpp_lifecycle::State & (Driver::*change)(),
                        uint8_t wanted) {
    const auto before = driver_->get_lifecycle_state().id();
    const auto now = ((*driver_).*change)().id();
    if (now == wanted) return CallbackReturn::SUCCESS;
    if (now == Ids::PRIMARY_STATE_FINALIZED)
      return fail(call, "ERROR, and so did its on_error", "it is finalized, start it again");
    if (now != before)
      return fail(call, "ERROR", "remove the cause, then configure and activate the component");
    fail(call, "FAILURE", "remove the cause and repeat the transition");
    return CallbackReturn::FAILURE;
  }

  // -- members -----------------------------------------------------------------------------------

  // The loader outlives the driver.
  pluginlib::ClassLoader<SystemInterface> loader_{"hardware_interface",
                                                  "hardware_interface::SystemInterface"};
  std::unique_ptr<Driver> driver_;
  Setup setup_{};
  std::unique_ptr<Core> core_;

  double since_log_ = 0.0;  // of a dry run [s]
  bool is_known_ = false;   // whether the driver has been read since it was configured
  rclcpp::Duration period_ = rclcpp::Duration::from_seconds(0.01);  // of the last cycle

  std::vector<Wire<StateInterface::SharedPtr>> joint_states_;  // also of followers, and statuses
  std::vector<Wire<CommandInterface::SharedPtr>> joint_commands_;
  std::vector<Wire<StateInterface::ConstSharedPtr, StateInterface::SharedPtr>> driver_states_;
  std::vector<Wire<CommandInterface::SharedPtr>> driver_commands_;
};

}  // namespace MAPPED_NAMESPACE

PLUGINLIB_EXPORT_CLASS(MAPPED_NAMESPACE::MappedSystem, hardware_interface::SystemInterface)
