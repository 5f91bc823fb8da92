// SPDX-License-Identifier: Apache-2.0
//
// A hardware component of ros2_control that maps: it runs the driver of the actuators of ROBOT and
// gives joints to the controllers. Written by transmission_bridge compile. See README.md.
#include "NAME.h"

#include <tinyxml2.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <iterator>
#include <limits>
#include <locale>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "hardware_interface/system_interface.hpp"
#include "lifecycle_msgs/msg/state.hpp"
#include "pluginlib/class_list_macros.hpp"
#include "pluginlib/class_loader.hpp"
#include "rclcpp/rclcpp.hpp"

// What ros2_control itself keeps around a driver: life cycle, old and new exports.
#if __has_include("hardware_interface/hardware_component.hpp")
#include "hardware_interface/hardware_component.hpp"
#define NAME_HAS_PARAMS 1
#else
#include "hardware_interface/system.hpp"
#define NAME_HAS_PARAMS 0
#endif

namespace NAME_component {
using hardware_interface::CallbackReturn;
using hardware_interface::CommandInterface;
using hardware_interface::ComponentInfo;
using hardware_interface::HardwareInfo;
using hardware_interface::InterfaceInfo;
using hardware_interface::return_type;
using hardware_interface::StateInterface;
using lifecycle_msgs::msg::State;
#if NAME_HAS_PARAMS
using Driver = hardware_interface::HardwareComponent;
#else
using Driver = hardware_interface::System;
#endif
using Names = std::vector<std::string>;
using Texts = std::map<std::string, std::string>;

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
constexpr double infinite = std::numeric_limits<double>::infinity();

// Of comparisons with limits, of the magnitude of the limit or of one.
constexpr double rounding = 1e-9;

// A reading of a single turn is searched for in so many turns of both directions.
constexpr int most_turns = 64;

enum Row { position, velocity, effort, n_rows };
enum Side { lower, upper, of_velocity, of_effort, n_sides };

static const char * const row_names[n_rows] = {"position", "velocity", "effort"};

// Bits of the status interface beside those of NAME.h.
enum : uint32_t { HALF = 64, LIMITED = 128, FOLLOWER = 256 };

// -- What was compiled ---------------------------------------------------------------------------

struct Transmission {
  std::string name;         // empty for a joint without a transmission
  std::vector<int> joints;  // those that are commanded
  std::vector<int> actuators;
  std::vector<int> owned;  // actuators that it commands
};

static const std::vector<Transmission> transmissions = {
@COMPONENT_TRANSMISSIONS@
};

// The number at the motor in SI is the number of the driver times its scale.
static const double scales[NAME_ACTUATORS][n_rows] = {
@SCALES@
};

// A text of the description that decides the maps. A word @k is the number k below, followed by
// '?' if it may be missing and '!' if the value counts that was compiled. '*' is any word.
struct Fact {
  std::string subject, path, text;
};

static const std::vector<Fact> facts = {
@FACTS@
};

// A number of the description: a live number, or a limit of an actuator.
struct Number {
  int live;  // -1 without one
  int actuator;
  Side side;
  double value;
};

static const std::vector<Number> numbers = {
@DESCRIPTION_NUMBERS@
};

static const Names of_parameter_files = {
@OF_PARAMETER_FILES@
};

// -- The description -----------------------------------------------------------------------------

static void require(bool is_met, const std::string & place, const std::string & expected,
                    const std::string & found) {
  if (!is_met) throw std::runtime_error(place + ": expected " + expected + ", found " + found);
}

static Names split(const std::string & text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), std::istream_iterator<std::string>()};
}

static bool read_number(const std::string & word, double & value) {
  std::istringstream stream(word);
  stream.imbue(std::locale::classic());
  return (stream >> value) && stream.peek() == std::istringstream::traits_type::eof();
}

static double to_number(const std::string & place, const std::string & word) {
  double value = unknown;
  require(read_number(word, value), place, "a number", "'" + word + "'");
  return value;
}

// Collect the texts of elements and attributes by path. A name is part of the path.
static void collect(const tinyxml2::XMLElement & element, const std::string & path,
                    Texts & texts) {
  std::string text;
  for (auto node = element.FirstChild(); node; node = node->NextSibling())
    text += node->ToText() ? node->Value() + std::string(" ") : "";
  if (!split(text).empty()) texts[path] = text;
  for (auto each = element.FirstAttribute(); each; each = each->Next())
    if (each->Name() != std::string("name")) texts[path + "/" + each->Name()] = each->Value();
  std::map<std::string, int> counts;
  for (auto child = element.FirstChildElement(); child; child = child->NextSiblingElement()) {
    const char * name = child->Attribute("name");
    const std::string key = child->Name() + (name ? "[" + std::string(name) + "]" : "");
    const int count = counts[key]++;
    collect(*child, path + "/" + key + (count ? "#" + std::to_string(count) : ""), texts);
  }
}

static const tinyxml2::XMLElement * find_child(const tinyxml2::XMLElement * parent,
                                               const std::string & tag, const std::string & name) {
  auto child = parent ? parent->FirstChildElement(tag.c_str()) : nullptr;
  while (child && (!child->Attribute("name") || child->Attribute("name") != name))
    child = child->NextSiblingElement(tag.c_str());
  return child;
}

// Compare the words of a text, and call set(k, word) for each number among them.
template <typename Set>
static bool compare_words(const Names & compiled, const Names & found, Set set) {
  if (compiled.size() != found.size()) {
    return found.empty() && std::all_of(compiled.begin(), compiled.end(), [](const auto & word) {
             return word[0] == '@' && (word.back() == '?' || word.back() == '!');
           });
  }
  for (std::size_t k = 0; k < found.size(); k++) {
    const auto & word = compiled[k];
    double one, other;
    if (word[0] == '@' && word.back() != '!') {
      set(std::stoul(word.substr(1)), found[k]);
    } else if (word != "*" && word[0] != '@' && word != found[k] &&
               !(read_number(word, one) && read_number(found[k], other) && one == other)) {
      return false;
    }
  }
  return true;
}

static int row_of(const std::string & interface) {
  static const std::map<std::string, int> rows = {{"position", position},
                                                  {"velocity", velocity},
                                                  {"effort", effort},
                                                  {"torque", effort},
                                                  {"force", effort}};
  const auto found = rows.find(interface);
  return found == rows.end() ? -1 : found->second;
}

template <std::size_t N>
static int find_name(const char * const (&names)[N], int count, const std::string & name) {
  const auto end = names + count;
  const auto found = std::find(names, end, name);
  return found == end ? -1 : static_cast<int>(found - names);
}

// -- The component -------------------------------------------------------------------------------

// A handle of a joint or an actuator, its place in the rows of the map, and its last value.
template <typename Pointer>
struct Wire {
  Pointer handle;
  int index;
  int row;
  double last = unknown;
};

// An interface that the map does not know: that of a joint is that of the actuator of its role.
template <typename Pointer, typename JointPointer>
struct Pass {
  Pointer of_driver;
  JointPointer of_joint;
};

// Without a value in this cycle, because another thread holds the handle, the last one stays.
template <typename Handle>
static void take(const Handle & handle, double & value) {
  const auto found = handle.template get_optional<double>();
  value = found.has_value() ? found.value() : value;
}

template <std::size_t N>
static void forget(double (&rows)[n_rows][N]) {
  std::fill(rows[0], rows[0] + n_rows * N, unknown);
}

template <typename Handle>
static std::shared_ptr<Handle> make_handle(const std::string & owner, const InterfaceInfo & info) {
  return std::make_shared<Handle>(hardware_interface::InterfaceDescription(owner, info));
}

class MappedSystem : public hardware_interface::SystemInterface {
public:
  ~MappedSystem() override {
    {
      std::lock_guard<std::mutex> lock(ends_mutex_);
      ends_ = true;
    }
    ends_condition_.notify_all();
    if (reporter_.joinable()) reporter_.join();
  }

#if NAME_HAS_PARAMS
  CallbackReturn on_init(
    const hardware_interface::HardwareComponentInterfaceParams & params) override {
    if (SystemInterface::on_init(params) != CallbackReturn::SUCCESS) return CallbackReturn::ERROR;
    return build([&](const HardwareInfo & info) {
      hardware_interface::HardwareComponentParams of_driver;
      of_driver.hardware_info = info;
      of_driver.logger = get_logger();
      of_driver.clock = get_clock();
      of_driver.executor = params.executor;
      return driver_->initialize(of_driver).id();
    });
  }
#else
  CallbackReturn on_init(const HardwareInfo & info) override {
    if (SystemInterface::on_init(info) != CallbackReturn::SUCCESS) return CallbackReturn::ERROR;
    return build([&](const HardwareInfo & of_driver) {
      return driver_->initialize(of_driver, get_logger(), get_clock()).id();
    });
  }
#endif

  std::vector<StateInterface::ConstSharedPtr> on_export_state_interfaces() override {
    auto exported = wire(driver_->export_state_interfaces(), &ComponentInfo::state_interfaces,
                         joint_states_, actuator_states_, passed_states_);
    for (const int t : own_) {
      if (!transmissions[t].name.empty()) {
        InterfaceInfo info;
        info.name = "status";
        info.size = 1;
        statuses_.emplace_back(t, make_handle<StateInterface>(transmissions[t].name, info));
        exported.push_back(statuses_.back().second);
      }
    }
    return exported;
  }

  std::vector<CommandInterface::SharedPtr> on_export_command_interfaces() override {
    const auto of_driver = driver_->export_command_interfaces();
    auto exported = wire(of_driver, &ComponentInfo::command_interfaces, joint_commands_,
                         actuator_commands_, passed_commands_);
    for (const auto & handle : of_driver) {
      sources_.push_back({-1, -1, handle->get_name()});
      for (const auto & each : actuator_commands_) {
        sources_.back() =
          each.handle == handle ? Source{each.index, each.row, ""} : sources_.back();
      }
      for (const auto & each : passed_commands_) {
        sources_.back().name =
          each.of_driver == handle ? each.of_joint->get_name() : sources_.back().name;
      }
      driver_names_.push_back(handle->get_name());
    }
    start_.reserve(driver_names_.size());
    stop_.reserve(driver_names_.size());
    sent_values_ = std::vector<std::atomic<double>>(actuator_commands_.size());
    return exported;
  }

  // -- life cycle --------------------------------------------------------------------------------

  CallbackReturn on_configure(const rclcpp_lifecycle::State &) override {
    forget(actuator_);
    forget(joint_);
    for (auto & each : measured_) each = unknown;
    for (int a = 0; a < NAME_ACTUATORS; a++)
      turns_[a] = std::isfinite(periods_[a]) ? unknown : 0.0;
    drop_claims();
    return reached(driver_->configure().id(), State::PRIMARY_STATE_INACTIVE);
  }

  CallbackReturn on_cleanup(const rclcpp_lifecycle::State &) override {
    return reached(driver_->cleanup().id(), State::PRIMARY_STATE_UNCONFIGURED);
  }

  CallbackReturn on_shutdown(const rclcpp_lifecycle::State &) override {
    end_rates();
    return reached(driver_->shutdown().id(), State::PRIMARY_STATE_FINALIZED);
  }

  // In a dry run the driver stays inactive: it measures, and its motors stay off.
  CallbackReturn on_activate(const rclcpp_lifecycle::State &) override {
    if (driver_->read(get_clock()->now(), rclcpp::Duration(0, 0)) != return_type::OK)
      return CallbackReturn::ERROR;
    map_states();
    if (!resolve_turns()) return CallbackReturn::FAILURE;
    map_states();
    for (auto & wire : joint_commands_) (void)wire.handle->set_value(first_command(wire));
    runs_ = {};
    held_for_.fill(0.0);
    write_bits_.fill(0);
    return is_dry_ ? CallbackReturn::SUCCESS
                   : reached(driver_->activate().id(), State::PRIMARY_STATE_ACTIVE);
  }

  CallbackReturn on_deactivate(const rclcpp_lifecycle::State &) override {
    end_rates();
    return is_dry_ ? CallbackReturn::SUCCESS
                   : reached(driver_->deactivate().id(), State::PRIMARY_STATE_INACTIVE);
  }

  // A driver that failed has run its on_error already.
  CallbackReturn on_error(const rclcpp_lifecycle::State &) override {
    end_rates();
    auto id = driver_->get_lifecycle_state().id();
    if (id == State::PRIMARY_STATE_ACTIVE || id == State::PRIMARY_STATE_INACTIVE)
      id = driver_->error().id();
    return reached(id, State::PRIMARY_STATE_UNCONFIGURED);
  }

  // -- modes -------------------------------------------------------------------------------------

  return_type prepare_command_mode_switch(const Names & start, const Names & stop) override {
    const auto next = plan_switch(start, stop);
    for (const int t : own_) {
      for (int row = 0; row < n_rows; row++) {
        const auto & each = transmissions[t];
        const int n = count_claims(next, t, row);
        const int n_joints = static_cast<int>(each.joints.size());
        // A stop is always accepted: a refusal would skip the stop of the driver.
        if (n > 0 && n < n_joints && is_named(start, t, row)) {
          RCLCPP_ERROR(
            get_logger(),
            "transmission '%s': expected %s commands of all its %d joints at once, found %d",
            each.name.c_str(), row_names[row], n_joints, n);
          return return_type::ERROR;
        }
      }
    }
    const auto result = call_switch(next, start, stop, &Driver::prepare_command_mode_switch);
    return start.empty() ? return_type::OK : result;
  }

  return_type perform_command_mode_switch(const Names & start, const Names & stop) override {
    auto next = plan_switch(start, stop);
    const auto result = call_switch(next, start, stop, &Driver::perform_command_mode_switch);
    if (result != return_type::OK) next = plan_switch({}, stop);
    for (auto & wire : joint_commands_) {
      auto & claim = claims_[wire.index][wire.row];
      const bool will = next[wire.index][wire.row];
      if (will && !claim) {
        // ros2_control keeps the numbers of released interfaces: they are no commands.
        (void)wire.handle->set_value(first_command(wire));
      }
      claim = will;
    }
    return start.empty() ? return_type::OK : result;
  }

  // -- each cycle --------------------------------------------------------------------------------

  return_type read(const rclcpp::Time & time, const rclcpp::Duration & period) override {
    const auto result = driver_->read(time, period);
    if (result == return_type::OK) map_states();
    return result;
  }

  return_type write(const rclcpp::Time & time, const rclcpp::Duration & period) override {
    const auto before = runs_;
    runs_ = find_runs(read_claims());
    take_commands(before);
    NAME_to_actuator(&state_, command_, joint_[position], sent_);
    for (const int t : own_) {
      write_bits_[t] = state_.status[t];
      keep_limits(t);
    }
    keep_followers();
    bool is_over = false;
    for (const int t : own_) is_over |= hold(t, before[t], period.seconds());
    if (is_over) return after_hold_;
    send();
    return is_dry_ ? return_type::OK : driver_->write(time, period);
  }

private:
  using Flags = std::array<std::array<bool, n_rows>, NAME_JOINTS>;
  using Runs = std::array<std::array<bool, n_rows>, NAME_TRANSMISSIONS>;

  // Where a command interface of the driver gets its numbers from.
  struct Source {
    int index, row;
    std::string name;  // of the interface that passes
  };

  // A joint that follows another one by <mimic>, through no transmission.
  struct Mimic {
    std::string name;
    int joint;  // that it follows
    double multiplier, offset;
  };

  // Export the interfaces of the joints, and those of the driver that belong to no joint.
  template <typename Pointer, typename Joints, typename Actuators, typename Passes>
  std::vector<Pointer> wire(const std::vector<Pointer> & of_driver,
                            std::vector<InterfaceInfo> ComponentInfo::* interfaces,
                            Joints & joints, Actuators & actuators, Passes & passes) {
    using JointPointer = decltype(joints[0].handle);
    std::vector<Pointer> exported;
    std::map<std::string, JointPointer> passed;
    for (const auto & joint : info_.joints) {
      for (const auto & each : joint.*interfaces) {
        auto handle = make_handle<typename JointPointer::element_type>(joint.name, each);
        if (const int row = row_of(each.name); row >= 0)
          joints.push_back({handle, find_joint(joint.name), row});
        else
          passed[find_actuator(joint.name) + "/" + each.name] = handle;
        exported.push_back(handle);
      }
    }
    for (const auto & handle : of_driver) {
      const int a = find_name(NAME_actuator_names, NAME_ACTUATORS, handle->get_prefix_name());
      const int row = row_of(handle->get_interface_name());
      if (a >= 0 && row >= 0)
        actuators.push_back({handle, a, row});
      else if (passed.count(handle->get_name()))
        passes.push_back({handle, passed[handle->get_name()]});
      else
        exported.push_back(handle);
    }
    return exported;
  }

  // Index of a joint; after those of the map, joints that follow by <mimic>.
  int find_joint(const std::string & name) const {
    const int j = find_name(NAME_joint_names, NAME_JOINTS, name);
    const auto mimic = std::find_if(mimics_.begin(), mimics_.end(),
                                    [&](const Mimic & each) { return each.name == name; });
    return j >= 0                   ? j
           : mimic == mimics_.end() ? -1
                                    : NAME_JOINTS + static_cast<int>(mimic - mimics_.begin());
  }

  // The actuator with the role of a joint.
  std::string find_actuator(const std::string & joint) const {
    for (const int t : own_) {
      const auto & each = transmissions[t];
      for (std::size_t k = 0; k < std::min(each.joints.size(), each.actuators.size()); k++)
        if (NAME_joint_names[each.joints[k]] == joint)
          return NAME_actuator_names[each.actuators[k]];
    }
    return "";
  }

  // -- states ------------------------------------------------------------------------------------

  void map_states() {
    for (auto & wire : actuator_states_) {
      take(*wire.handle, wire.last);
      const double value = wire.last * scales[wire.index][wire.row];
      actuator_[wire.row][wire.index] =
        wire.row == position ? add_turns(wire.index, value) : value;
    }
    NAME_to_joint(&state_, actuator_, joint_);
    std::copy(joint_[position], joint_[position] + NAME_JOINTS, measured_.begin());
    for (auto & wire : joint_states_) {
      const bool is_mapped = wire.index < NAME_JOINTS;
      (void)wire.handle->set_value(is_mapped ? joint_[wire.row][wire.index] : follow(wire));
    }
    for (auto & pass : passed_states_) {
      double value = unknown;
      take(*pass.of_driver, value);
      (void)pass.of_joint->set_value(value);
    }
    for (auto & [t, handle] : statuses_)
      (void)handle->set_value(static_cast<double>(state_.status[t] | write_bits_[t]));
  }

  double follow(const Wire<StateInterface::SharedPtr> & wire) const {
    const auto & mimic = mimics_[wire.index - NAME_JOINTS];
    const double value = mimic.multiplier * joint_[wire.row][mimic.joint];
    return wire.row == effort ? unknown : value + (wire.row == position ? mimic.offset : 0.0);
  }

  // A position of a single turn is followed; it is unknown until its turn is.
  double add_turns(int a, double reading) {
    readings_[a] = reading;
    const double before = actuator_[position][a], period = periods_[a];
    if (std::isfinite(period) && std::isfinite(before) && std::isfinite(reading))
      turns_[a] = std::rint((before - reading) / period) * period;
    return reading + turns_[a];
  }

  // The turn of one motor of one joint is the one that keeps the joint within its limits.
  bool resolve_turns() {
    for (const int t : own_) {
      const auto & each = transmissions[t];
      for (const int a : each.owned) {
        if (std::isfinite(turns_[a])) continue;
        const auto found = list_turns(t, a);
        if (found.size() != 1) {
          RCLCPP_ERROR(
            get_logger(),
            "the turn of actuator '%s' is unknown: expected one turn that keeps joint '%s' within "
            "its limits, found %zu at reading %g",
            NAME_actuator_names[a], NAME_joint_names[each.joints[0]], found.size(), readings_[a]);
          return false;
        }
        turns_[a] = found[0];
      }
    }
    return true;
  }

  std::vector<double> list_turns(int t, int a) {
    std::vector<double> found;
    const int j = transmissions[t].joints[0];
    const auto limits = info_.limits.find(NAME_joint_names[j]);
    if (limits == info_.limits.end() || !limits->second.has_position_limits) return found;
    double actuator[n_rows][NAME_ACTUATORS], joint[n_rows][NAME_JOINTS];
    forget(actuator);
    for (int k = -most_turns; k <= most_turns; k++) {
      actuator[position][a] = readings_[a] + k * periods_[a];
      NAME_to_joint(&scratch_, actuator, joint);
      if (is_within(joint[position][j], limits->second.min_position, limits->second.max_position))
        found.push_back(k * periods_[a]);
    }
    return found;
  }

  static bool is_within(double value, double low, double high) {
    return value >= low - rounding * std::max(1.0, std::abs(low)) &&
           value <= high + rounding * std::max(1.0, std::abs(high));
  }

  // -- commands ----------------------------------------------------------------------------------

  void take_commands(const Runs & before) {
    forget(command_);
    for (auto & wire : joint_commands_) {
      const int t = owner_of_joint_[wire.index];
      if (t < 0 || !runs_[t][wire.row]) continue;
      wire.last = before[t][wire.row] ? wire.last : unknown;
      take(*wire.handle, wire.last);
      command_[wire.row][wire.index] = std::isfinite(wire.last) ? wire.last : unknown;
    }
  }

  // A position is clamped if one motor moves one joint, else it has no result. Velocities of the
  // motors of a transmission are scaled together, and so are efforts.
  void keep_limits(int t) {
    const auto & each = transmissions[t];
    const bool is_single = each.joints.size() == 1 && each.actuators.size() == 1;
    for (int row = 0; row < n_rows; row++) {
      double share = 1.0;
      bool is_kept = true;
      for (const int a : each.owned) {
        const double low = row == position ? limits_[a][lower] : -limits_[a][row + 1];
        const double high = row == position ? limits_[a][upper] : limits_[a][row + 1];
        double & value = sent_[row][a];
        if (std::isnan(value) || is_within(value, low, high)) continue;
        write_bits_[t] |= LIMITED;
        is_kept = is_kept && !rejects_ && low <= high && (row != position || is_single);
        if (row == position)
          value = value < low ? low : high;
        else
          share = std::min(share, high / std::abs(value));
      }
      for (const int a : each.owned) sent_[row][a] *= is_kept ? share : unknown;
    }
  }

  // Joints that only follow keep their limits: those of <mimic>, and all of a transmission with
  // fewer motors than joints.
  void keep_followers() {
    if (followed_.empty()) return;
    double actuator[n_rows][NAME_ACTUATORS], joint[n_rows][NAME_JOINTS];
    std::copy(sent_[0], sent_[0] + n_rows * NAME_ACTUATORS, actuator[0]);
    for (int a = 0; a < NAME_ACTUATORS; a++) {
      const double to = actuator[position][a];
      actuator[position][a] = std::isnan(to) ? actuator_[position][a] : to;
    }
    NAME_to_joint(&scratch_, actuator, joint);
    for (const auto & [t, mimic] : followed_) {
      const auto limits = info_.limits.find(mimic.name);
      if (limits == info_.limits.end()) continue;
      const auto & its = limits->second;
      const double at = mimic.multiplier * joint[position][mimic.joint] + mimic.offset;
      const double rate = mimic.multiplier * joint[velocity][mimic.joint];
      const bool is_out = runs_[t][position] && its.has_position_limits && std::isfinite(at) &&
                          !is_within(at, its.min_position, its.max_position);
      const bool is_fast = its.has_velocity_limits && std::isfinite(rate) &&
                           !is_within(rate, -its.max_velocity, its.max_velocity);
      if (is_out || is_fast) {
        write_bits_[t] |= FOLLOWER;
        drop(t, is_out ? position : velocity);
      }
    }
  }

  void drop(int t, int row) {
    for (const int a : transmissions[t].owned) sent_[row][a] = unknown;
  }

  // Without a result positions hold, velocities are zero at once, and efforts as zero_effort says.
  // Returns whether that has lasted for hold_timeout.
  bool hold(int t, const std::array<bool, n_rows> & before, double period) {
    const auto & each = transmissions[t];
    bool is_held = false;
    std::array<bool, n_rows> is_known{};
    for (int row = 0; row < n_rows; row++) {
      is_known[row] = std::all_of(each.owned.begin(), each.owned.end(),
                                  [&](int a) { return std::isfinite(sent_[row][a]); });
      const bool is_given = std::any_of(each.joints.begin(), each.joints.end(),
                                        [&](int j) { return std::isfinite(command_[row][j]); });
      is_held |= runs_[t][row] && is_given && !is_known[row];
    }
    for (int row = 0; row < n_rows; row++) {
      const bool ends = before[row] && !runs_[t][row];
      if (runs_[t][row] && is_known[row] && !is_held) continue;
      drop(t, row);
      const bool is_rate = row == velocity || (row == effort && zero_effort_);
      for (const int a : each.owned)
        if (is_rate && (ends || runs_[t][row])) sent_[row][a] = 0.0;
    }
    const bool is_half = is_half_[t];
    write_bits_[t] |= is_half * HALF;
    held_for_[t] = is_held ? held_for_[t] + period : 0.0;
    if (is_held || is_half) reports_[t].fetch_or(write_bits_[t], std::memory_order_relaxed);
    return hold_timeout_ > 0.0 && held_for_[t] > hold_timeout_;
  }

  // An actuator without a number is not written: its driver keeps the last one.
  void send() {
    for (std::size_t k = 0; k < actuator_commands_.size(); k++) {
      auto & wire = actuator_commands_[k];
      const double value = sent_[wire.row][wire.index];
      if (std::isnan(value)) continue;
      const double turns = wire.row == position ? turns_[wire.index] : 0.0;
      wire.last = (value - turns) / scales[wire.index][wire.row];
      sent_values_[k].store(wire.last, std::memory_order_relaxed);
      if (!is_dry_) (void)wire.handle->set_value(wire.last);
    }
    for (auto & pass : passed_commands_) {
      double value = unknown;
      take(*pass.of_joint, value);
      if (!is_dry_ && std::isfinite(value)) (void)pass.of_driver->set_value(value);
    }
  }

  // At the end nothing is claimed, and no motor goes on.
  void end_rates() {
    bool is_any = false;
    for (auto & wire : actuator_commands_) {
      const int t = owner_[wire.index];
      const bool ends = wire.row == velocity || (wire.row == effort && zero_effort_);
      if (t >= 0 && runs_[t][wire.row] && ends && !is_dry_) {
        (void)wire.handle->set_value(0.0);
        is_any = true;
      }
    }
    if (is_any && driver_->get_lifecycle_state().id() == State::PRIMARY_STATE_ACTIVE)
      (void)driver_->write(get_clock()->now(), rclcpp::Duration(0, 0));
    drop_claims();
  }

  double first_command(const Wire<CommandInterface::SharedPtr> & wire) const {
    return wire.row == position ? measured_[wire.index].load() : unknown;
  }

  void drop_claims() {
    for (auto & row : claims_)
      for (auto & each : row) each = false;
    runs_ = {};
  }

  // -- modes -------------------------------------------------------------------------------------

  Flags read_claims() const {
    Flags claims;
    for (int j = 0; j < NAME_JOINTS; j++)
      for (int row = 0; row < n_rows; row++) claims[j][row] = claims_[j][row];
    return claims;
  }

  // The claims that result. Names of other components have no effect.
  Flags plan_switch(const Names & start, const Names & stop) const {
    auto next = read_claims();
    for (const auto * names : {&stop, &start}) {
      for (const auto & name : *names) {
        for (const auto & wire : joint_commands_)
          if (wire.handle->get_name() == name) next[wire.index][wire.row] = names == &start;
      }
    }
    return next;
  }

  // A row of a transmission is mapped if all its joints are claimed.
  Runs find_runs(const Flags & claims) {
    Runs runs{};
    is_half_ = {};
    for (const int t : own_) {
      for (int row = 0; row < n_rows; row++) {
        const int n = count_claims(claims, t, row);
        runs[t][row] = n > 0 && n == static_cast<int>(transmissions[t].joints.size());
        is_half_[t] |= n > 0 && !runs[t][row];
      }
    }
    return runs;
  }

  static int count_claims(const Flags & claims, int t, int row) {
    const auto & joints = transmissions[t].joints;
    return static_cast<int>(
      std::count_if(joints.begin(), joints.end(), [&](int j) { return claims[j][row]; }));
  }

  bool is_named(const Names & names, int t, int row) const {
    return std::any_of(joint_commands_.begin(), joint_commands_.end(), [&](const auto & wire) {
      return wire.row == row && owner_of_joint_[wire.index] == t &&
             contains(names, wire.handle->get_name());
    });
  }

  static bool contains(const Names & names, const std::string & name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  // Switch the driver. Names move to its lists and back, because a copy could allocate.
  return_type call_switch(const Flags & next, const Names & start, const Names & stop,
                          return_type (Driver::*call)(const Names &, const Names &)) {
    if (is_dry_) return return_type::OK;
    const auto claims = read_claims();
    const auto move_names = [&](bool is_back) {
      std::size_t n_start = 0, n_stop = 0;
      for (std::size_t k = 0; k < sources_.size(); k++) {
        const auto & from = sources_[k];
        const int t = from.index < 0 ? -1 : owner_[from.index];
        const int n = t < 0 ? 1 : static_cast<int>(transmissions[t].joints.size());
        const bool was = t >= 0 && count_claims(claims, t, from.row) == n;
        const bool will = t >= 0 && count_claims(next, t, from.row) == n;
        const bool passes = from.index < 0;
        const bool starts = passes ? contains(start, from.name) : will && !was;
        const bool stops = passes ? contains(stop, from.name) : was && !will;
        if ((stops || starts) && is_back)
          driver_names_[k] = std::move(stops ? stop_[n_stop++] : start_[n_start++]);
        else if (stops || starts)
          (stops ? stop_ : start_).push_back(std::move(driver_names_[k]));
      }
    };
    move_names(false);
    const bool is_empty = start_.empty() && stop_.empty();
    const auto result = is_empty ? return_type::OK : ((*driver_).*call)(start_, stop_);
    move_names(true);
    start_.clear();
    stop_.clear();
    return result;
  }

  // -- start -------------------------------------------------------------------------------------

  template <typename Initialize>
  CallbackReturn build(Initialize initialize) {
    owner_.fill(-1);
    owner_of_joint_.fill(-1);
    periods_.fill(unknown);
    NAME_init(&state_);
    try {
      choose_transmissions();
      choose_mimics();
      compare_description();
      read_parameters();
      scratch_ = state_;
      // As in the manager: only the move unsets the times of the last cycles.
      Driver driver(std::unique_ptr<hardware_interface::SystemInterface>(
        loader_.createUnmanagedInstance(driver_plugin_)));
      driver_ = std::make_unique<Driver>(std::move(driver));
      if (initialize(describe_driver()) != State::PRIMARY_STATE_UNCONFIGURED)
        throw std::runtime_error("the driver '" + driver_plugin_ + "' could not be initialized");
    } catch (const std::exception & error) {
      RCLCPP_ERROR(get_logger(), "%s", error.what());
      return CallbackReturn::ERROR;
    }
    reporter_ = std::thread([this]() { report(); });
    return CallbackReturn::SUCCESS;
  }

  // The transmissions of this component are those of its joints.
  void choose_transmissions() {
    std::set<std::string> joints, known;
    for (const auto & joint : info_.joints) joints.insert(joint.name);
    for (int t = 0; t < NAME_TRANSMISSIONS; t++) {
      const auto & each = transmissions[t];
      const auto n = std::count_if(each.joints.begin(), each.joints.end(),
                                   [&](int j) { return joints.count(NAME_joint_names[j]) > 0; });
      if (n == 0) continue;
      require(n == static_cast<int>(each.joints.size()), "transmission '" + each.name + "'",
              "all its joints in component '" + info_.name + "'", std::to_string(n) + " of them");
      own_.push_back(t);
      known.insert(each.name);
      for (const int j : each.joints) owner_of_joint_[j] = t;
      for (const int a : each.owned) owner_[a] = t;
    }
    for (const auto & each : info_.transmissions) {
      require(known.count(each.name), "transmission '" + each.name + "'",
              "one that was compiled in package NAME", "another one; " + advice());
    }
  }

  void choose_mimics() {
    for (const auto & each : info_.mimic_joints) {
      const auto & name = info_.joints[each.joint_index].name;
      const auto & followed = info_.joints[each.mimicked_joint_index].name;
      const int j = find_name(NAME_joint_names, NAME_JOINTS, followed);
      if (find_name(NAME_joint_names, NAME_JOINTS, name) < 0 && j >= 0)
        mimics_.push_back({name, j, each.multiplier, each.offset});
    }
    for (const auto & joint : info_.joints) {
      const auto place = "joint '" + joint.name + "'";
      require(find_joint(joint.name) >= 0, place, "one that was compiled in package NAME",
              "another one; " + advice());
      std::array<int, n_rows> counts{};
      for (const auto & each : joint.command_interfaces) {
        const int row = row_of(each.name);
        require(row < 0 || ++counts[row] == 1, place, "one of the commands effort, torque, force",
                "more");
      }
      for (const auto * interfaces : {&joint.command_interfaces, &joint.state_interfaces}) {
        for (const auto & each : *interfaces) {
          const bool is_number = each.data_type.empty() || each.data_type == "double";
          require(row_of(each.name) >= 0 || (!contains({"acceleration", "jerk"}, each.name) &&
                                             is_number && !find_actuator(joint.name).empty()),
                  place, "position, velocity, effort, or numbers of the actuator of its role",
                  "'" + each.name + "'");
        }
      }
    }
    for (const auto & mimic : mimics_)
      if (const int t = owner_of_joint_[mimic.joint]; t >= 0) followed_.emplace_back(t, mimic);
    for (const int t : own_) {
      if (transmissions[t].owned.size() < transmissions[t].joints.size())
        for (const int j : transmissions[t].joints)
          followed_.emplace_back(t, Mimic{NAME_joint_names[j], j, 1.0, 0.0});
    }
  }

  static std::string advice() {
    return "run 'transmission_bridge compile ROBOT.urdf --output FOLDER --ros2-control --force' "
           "with its description and build package NAME again";
  }

  // Numbers that decide the maps are read, all others have to be those that were compiled.
  void compare_description() {
    for (auto & row : limits_) row = {-infinite, infinite, infinite, infinite};
    for (const auto & each : numbers)
      if (each.actuator >= 0) limits_[each.actuator][each.side] = each.value;
    tinyxml2::XMLDocument document;
    require(document.Parse(info_.original_xml.c_str()) == tinyxml2::XML_SUCCESS,
            "robot_description", "XML",
            document.ErrorStr() ? document.ErrorStr() : "another text");
    const auto robot = document.RootElement();
    const auto block = find_child(robot, "ros2_control", info_.name);
    const auto set = [&](std::size_t k, const std::string & word) {
      const auto & number = numbers[k];
      const double value = to_number("a number of the description", word);
      if (number.actuator >= 0) {
        limits_[number.actuator][number.side] = value;
      } else if (number.live >= 0) {
        const int reason = NAME_set(&state_, static_cast<NAME_number>(number.live), value);
        require(!reason, NAME_number_names[number.live], "another value",
                word + ", " + NAME_reason_text(reason));
      }
    };
    Names differences;
    const auto note = [&](const Fact & fact, const std::string & found) {
      differences.push_back(fact.subject + fact.path + ": compiled '" + fact.text + "', found '" +
                            found + "'");
    };
    std::map<std::string, Texts> left;
    for (const auto & each : facts) {
      const auto middle = each.subject.find('[');
      const auto tag = each.subject.substr(0, middle);
      const auto name = each.subject.substr(middle + 1, each.subject.size() - middle - 2);
      if (tag == "joint" ? !is_of_own(name) : !is_own(name)) continue;
      const auto [place, is_new] = left.try_emplace(each.subject);
      auto & found = place->second;
      if (is_new) {
        const auto element = find_child(tag == "joint" ? robot : block, tag, name);
        require(element, each.subject, "that of package NAME", "none; " + advice());
        collect(*element, "", found);
      }
      const auto text = found.count(each.path) ? found[each.path] : "";
      if (!compare_words(split(each.text), split(text), set)) note(each, text);
      found.erase(each.path);
    }
    for (const auto & [subject, texts] : left) {
      for (const auto & [path, text] : texts)
        if (subject[0] == 't') note({subject, path, ""}, text);
    }
    for (const auto & each : differences) RCLCPP_ERROR(get_logger(), "%s", each.c_str());
    require(differences.empty(), "the description", "that of package NAME",
            std::to_string(differences.size()) + " differences; " + advice());
    for (const auto & each : of_parameter_files)
      RCLCPP_INFO(get_logger(), "of a parameter file, not of the description: %s", each.c_str());
  }

  bool is_own(const std::string & transmission) const {
    return std::any_of(own_.begin(), own_.end(),
                       [&](int t) { return transmissions[t].name == transmission; });
  }

  // Whether a joint of the tree belongs to a transmission, or to no joint of the map: to a loop.
  bool is_of_own(const std::string & joint) const {
    const int j = find_name(NAME_joint_names, NAME_JOINTS, joint);
    return j < 0 || owner_of_joint_[j] >= 0;
  }

  void read_parameters() {
    auto & given = info_.hardware_parameters;
    const auto read = [&](const std::string & name, const std::string & otherwise) {
      const auto found = given.find(name);
      const auto text = found == given.end() ? otherwise : found->second;
      of_component_.push_back(name);
      return text;
    };
    const auto choose = [&](const std::string & name, const std::string & first,
                            const std::string & second) {
      const auto text = read(name, first);
      require(text == first || text == second, "parameter '" + name + "'", first + " or " + second,
              "'" + text + "'");
      return text == second;
    };
    driver_plugin_ = read("driver_plugin", "");
    require(!driver_plugin_.empty(), "parameter 'driver_plugin'", "the plugin of the driver",
            "none");
    is_dry_ = choose("dry_run", "false", "true");
    rejects_ = choose("limits", "clamp", "reject");
    zero_effort_ = choose("zero_effort", "false", "true");
    after_hold_ =
      choose("after_hold", "deactivate", "error") ? return_type::ERROR : return_type::DEACTIVATE;
    hold_timeout_ = to_number("parameter 'hold_timeout'", read("hold_timeout", "0.5"));
    for (const auto & word : split(read("wrap_period", ""))) {
      const auto middle = word.find('=');
      const std::string name = word.substr(0, middle);
      const std::string place = "parameter 'wrap_period', actuator '" + name + "'";
      const int a = find_name(NAME_actuator_names, NAME_ACTUATORS, name);
      const int t = a < 0 ? -1 : owner_[a];
      require(t >= 0 && transmissions[t].joints.size() == 1 && transmissions[t].owned.size() == 1,
              place, "the one actuator of one joint", "another name");
      const double period =
        to_number(place, middle == std::string::npos ? "" : word.substr(middle + 1));
      require(period > 0.0, place, "a number above zero", word);
      periods_[a] = period * std::abs(scales[a][position]);
    }
  }

  // What the driver is given: its actuators as joints, and its own parameters.
  HardwareInfo describe_driver() const {
    auto info = info_;
    info.name += "_driver";
    info.hardware_plugin_name = driver_plugin_;
    info.is_async = false;
    info.joints.clear();
    info.transmissions.clear();
    info.mimic_joints.clear();
    info.limits.clear();
    info.soft_limits.clear();
    for (const auto & name : of_component_) info.hardware_parameters.erase(name);
    tinyxml2::XMLDocument document;
    document.Parse(info_.original_xml.c_str());
    for (const int t : own_) {
      const auto & each = transmissions[t];
      for (const int a : each.actuators) describe_actuator(info, document, each, a);
    }
    return info;
  }

  void describe_actuator(HardwareInfo & info, const tinyxml2::XMLDocument & document,
                         const Transmission & each, int a) const {
    const std::string name = NAME_actuator_names[a];
    auto actuator = std::find_if(info.joints.begin(), info.joints.end(),
                                 [&](const auto & joint) { return joint.name == name; });
    if (actuator == info.joints.end()) {
      actuator = info.joints.insert(actuator, ComponentInfo());
      actuator->name = name;
      actuator->type = "joint";
    }
    for (const auto & joint : info_.joints) {
      const int j = find_name(NAME_joint_names, NAME_JOINTS, joint.name);
      if (std::find(each.joints.begin(), each.joints.end(), j) == each.joints.end()) continue;
      add_interfaces(joint.state_interfaces, actuator->state_interfaces);
      if (owner_[a] >= 0 && &transmissions[owner_[a]] == &each)
        add_interfaces(joint.command_interfaces, actuator->command_interfaces);
      if (each.joints.size() == 1)
        actuator->parameters.insert(joint.parameters.begin(), joint.parameters.end());
    }
    const auto block = find_child(document.RootElement(), "ros2_control", info_.name);
    const auto element =
      find_child(find_child(block, "transmission", each.name), "actuator", name);
    for (auto param = element ? element->FirstChildElement("param") : nullptr; param;
         param = param->NextSiblingElement("param")) {
      if (param->Attribute("name") && param->GetText())
        actuator->parameters[param->Attribute("name")] = param->GetText();
    }
  }

  // Bounds and first values are numbers of joints: the driver gets none.
  static void add_interfaces(const std::vector<InterfaceInfo> & of_joint,
                             std::vector<InterfaceInfo> & of_actuator) {
    for (auto each : of_joint) {
      if (std::none_of(of_actuator.begin(), of_actuator.end(),
                       [&](const auto & known) { return known.name == each.name; })) {
        each.min = each.max = each.initial_value = "";
        of_actuator.push_back(each);
      }
    }
  }

  static CallbackReturn reached(uint8_t id, uint8_t wanted) {
    return id == wanted                           ? CallbackReturn::SUCCESS
           : id == State::PRIMARY_STATE_FINALIZED ? CallbackReturn::ERROR
                                                  : CallbackReturn::FAILURE;
  }

  // A thread of its own logs: a log in the cycle could block it.
  void report() {
    std::unique_lock<std::mutex> lock(ends_mutex_);
    while (!ends_condition_.wait_for(lock, std::chrono::seconds(1), [this]() { return ends_; })) {
      for (const int t : own_) {
        const uint32_t bits = reports_[t].exchange(0, std::memory_order_relaxed);
        if (bits) {
          const auto & each = transmissions[t];
          RCLCPP_WARN(get_logger(),
                      "transmission '%s' of joint '%s': no result, its actuators hold: %s",
                      each.name.c_str(), NAME_joint_names[each.joints[0]], describe(bits).c_str());
        }
      }
      for (std::size_t k = 0; is_dry_ && k < actuator_commands_.size(); k++) {
        RCLCPP_INFO(get_logger(), "dry run: %s would be %g",
                    actuator_commands_[k].handle->get_name().c_str(),
                    sent_values_[k].load(std::memory_order_relaxed));
      }
    }
  }

  static std::string describe(uint32_t bits) {
    std::string text;
    for (uint32_t bit = 1; bit < HALF; bit *= 2)
      text += bits & bit ? (text.empty() ? "" : "; ") + std::string(NAME_status_text(bit)) : "";
    const std::pair<uint32_t, const char *> own[] = {
      {HALF, "not all of its joints are claimed"},
      {LIMITED, "a limit of an actuator"},
      {FOLLOWER, "a limit of a joint that follows"}};
    for (const auto & [bit, meaning] : own)
      text += bits & bit ? (text.empty() ? "" : "; ") + std::string(meaning) : "";
    return text.empty() ? "not all joints have a command" : text;
  }

  // -- members -----------------------------------------------------------------------------------

  // The loader outlives the driver.
  pluginlib::ClassLoader<hardware_interface::SystemInterface> loader_{
    "hardware_interface", "hardware_interface::SystemInterface"};
  std::unique_ptr<Driver> driver_;

  std::string driver_plugin_;
  Names of_component_;
  bool is_dry_ = false, rejects_ = false, zero_effort_ = false;
  double hold_timeout_ = 0.5;
  return_type after_hold_ = return_type::DEACTIVATE;

  std::vector<int> own_;  // transmissions of this component
  std::array<int, NAME_ACTUATORS> owner_;
  std::array<int, NAME_JOINTS> owner_of_joint_;
  std::vector<Mimic> mimics_;
  std::vector<std::pair<int, Mimic>> followed_;  // with the transmission that moves it
  std::array<std::array<double, n_sides>, NAME_ACTUATORS> limits_;

  NAME_state state_, scratch_;
  double actuator_[n_rows][NAME_ACTUATORS], joint_[n_rows][NAME_JOINTS];
  double command_[n_rows][NAME_JOINTS], sent_[n_rows][NAME_ACTUATORS];
  std::array<double, NAME_ACTUATORS> periods_, turns_{}, readings_{};
  std::array<double, NAME_TRANSMISSIONS> held_for_{};
  std::array<uint32_t, NAME_TRANSMISSIONS> write_bits_{};
  std::array<bool, NAME_TRANSMISSIONS> is_half_{};
  Runs runs_{};

  std::vector<Wire<StateInterface::SharedPtr>> joint_states_;  // also of joints that follow
  std::vector<Wire<CommandInterface::SharedPtr>> joint_commands_, actuator_commands_;
  std::vector<Wire<StateInterface::ConstSharedPtr>> actuator_states_;
  std::vector<Pass<StateInterface::ConstSharedPtr, StateInterface::SharedPtr>> passed_states_;
  std::vector<Pass<CommandInterface::SharedPtr, CommandInterface::SharedPtr>> passed_commands_;
  std::vector<std::pair<int, StateInterface::SharedPtr>> statuses_;
  Names driver_names_, start_, stop_;
  std::vector<Source> sources_;

  // Of several threads: a switch of an asynchronous component, and the log.
  std::array<std::array<std::atomic<bool>, n_rows>, NAME_JOINTS> claims_{};
  std::array<std::atomic<double>, NAME_JOINTS> measured_;
  std::array<std::atomic<uint32_t>, NAME_TRANSMISSIONS> reports_{};
  std::vector<std::atomic<double>> sent_values_;
  std::thread reporter_;
  std::mutex ends_mutex_;
  std::condition_variable ends_condition_;
  bool ends_ = false;
};

}  // namespace NAME_component

PLUGINLIB_EXPORT_CLASS(NAME_component::MappedSystem, hardware_interface::SystemInterface)
