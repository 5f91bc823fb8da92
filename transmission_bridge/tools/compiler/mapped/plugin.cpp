// SPDX-License-Identifier: Apache-2.0
//
// Transmissions of a robot for hardware components that load them.
#include <algorithm>
#include <array>
#include <memory>
#include <sstream>

#include "hardware_interface/hardware_info.hpp"
#include "pluginlib/class_list_macros.hpp"
#include "transmission_interface/accessor.hpp"
#include "transmission_interface/exception.hpp"
#include "transmission_interface/transmission_loader.hpp"
#include MAPPED_ROBOT

namespace MAPPED_NAMESPACE {
using hardware_interface::TransmissionInfo;
using Base = transmission_interface::Transmission;

// The interfaces of each row of the map. Torque and force are other names of effort.
static const std::array<Names, n_rows> rows_of_map = {Names{"position"}, Names{"velocity"},
                                                      Names{"effort", "torque", "force"}};

template <typename Expected, typename Found>
void require(bool is_met, const std::string & place, const Expected & expected,
             const Found & found) {
  if (is_met) return;
  std::ostringstream text;
  text.precision(17);
  text << place << ": expected " << expected << ", found " << found;
  throw transmission_interface::Exception(text.str());
}

// A handle of a member for a row.
struct Wire {
  transmission_interface::Handle handle;
  const End * end;
  int row;
};

static std::string list_handles(const std::vector<Wire> & wires) {
  Names names;
  for (const auto & wire : wires) names.push_back(wire.handle.get_name());
  return transmission_interface::to_string(names);
}

// Without `override`: some of these functions are new in ros2_control. The class stays abstract,
// and cannot be built, without one that has to be there.
class MappedTransmission : public Base {
public:
  explicit MappedTransmission(const Loadable & description) : description_(description) {
    init_state(&state_);
    std::fill(measured_, measured_ + n_joints, unknown);
  }

  void configure(const std::vector<transmission_interface::JointHandle> & joints,
                 const std::vector<transmission_interface::ActuatorHandle> & actuators) {
    is_mapped_ = {true, true, true};
    joints_ = wire(joints, description_.joints, true);
    for (const auto & each : wire(joints, description_.passive, false)) joints_.push_back(each);
    actuators_ = wire(actuators, description_.actuators, true);
    const bool maps_other = !description_.needs_positions && (is_mapped_[1] || is_mapped_[2]);
    const std::string expected = description_.needs_positions ? "position" : "one interface";
    require(is_mapped_[0] || maps_other, place_, expected + " of all joints and all actuators",
            get_handles_info());
  }

  void actuator_to_joint() {
    double actuator[n_rows][n_actuators], joint[n_rows][n_joints];
    read(actuators_, actuator);
    to_joint(&state_, actuator, joint);
    std::copy(joint[position], joint[position] + n_joints, measured_);
    write(joint, joints_);
  }

  void joint_to_actuator() {
    double actuator[n_rows][n_actuators], joint[n_rows][n_joints];
    read(joints_, joint);
    to_actuator(&state_, joint, measured_, actuator);
    write(actuator, actuators_);
  }

  std::size_t num_actuators() const { return description_.actuators.size(); }

  std::size_t num_joints() const { return description_.joints.size(); }

  Names get_supported_joint_interfaces() const {
    return {"position", "velocity", "effort", "torque", "force"};
  }

  Names get_supported_actuator_interfaces() const { return get_supported_joint_interfaces(); }

  std::string get_handles_info() const {
    return "joints " + list_handles(joints_) + ", actuators " + list_handles(actuators_);
  }

private:
  // An interface has handles of all ends or of none; passive joints may have some.
  template <typename Handle>
  std::vector<Wire> wire(const std::vector<Handle> & handles, const std::vector<End> & ends,
                         bool is_own) {
    std::vector<Wire> wires;
    for (int row = 0; row < n_rows; row++) {
      std::size_t n_wired = 0;
      for (const auto & end : ends) {
        const auto before = wires.size();
        for (const auto & interface : rows_of_map[row])
          for (const auto & handle :
               transmission_interface::get_ordered_handles(handles, {end.name}, interface))
            wires.push_back({handle, &end, row});
        n_wired += wires.size() > before;
      }
      if (!is_own) continue;
      require(n_wired == 0 || n_wired == ends.size(), place_,
              rows_of_map[row][0] + " of all joints or none, and of all actuators or none",
              list_handles(wires));
      is_mapped_[row] = is_mapped_[row] && n_wired > 0;
    }
    return wires;
  }

  // The first known value counts.
  template <int N>
  static void read(const std::vector<Wire> & wires, double (&rows)[n_rows][N]) {
    for (auto & row : rows) std::fill(row, row + N, unknown);
    for (const auto & wire : wires) {
      double & value = rows[wire.row][wire.end->index];
      value = std::isnan(value) ? wire.handle.get_value() : value;
    }
  }

  // As in ros2_control, an interface that lacks handles on one side keeps its values.
  template <int N>
  void write(const double (&rows)[n_rows][N], std::vector<Wire> & wires) const {
    for (auto & wire : wires)
      if (wire.end->is_output && is_mapped_[wire.row])
        wire.handle.set_value(rows[wire.row][wire.end->index]);
  }

  const Loadable & description_;
  const std::string place_ = "transmission '" + description_.name + "'";
  State state_;
  double measured_[n_joints];  // by the last actuator_to_joint()
  std::vector<Wire> joints_, actuators_;
  std::array<bool, n_rows> is_mapped_ = {};
};

template <typename Infos>
void compare_ends(const std::string & place, const std::vector<End> & compiled,
                  const Infos & infos) {
  require(compiled.size() == infos.size(), place + "s", compiled.size(), infos.size());
  for (const auto & expected : compiled) {
    const std::string start = place + " '" + expected.name + "'";
    const auto found = std::find_if(infos.begin(), infos.end(),
                                    [&](const auto & each) { return each.name == expected.name; });
    require(found != infos.end(), start, "in the transmission", "none");
    require(expected.role == found->role, start + ", role", expected.role, found->role);
    const double before = expected.reduction, now = found->mechanical_reduction;
    require(before == now, start + ", mechanical_reduction", before, now);
    require(expected.offset == found->offset, start + ", offset", expected.offset, found->offset);
  }
}

static void compare(const Loadable & compiled, const TransmissionInfo & info) {
  const std::string place =
    "transmission '" + info.name + "' (compiled in package " + package + "), ";
  require(compiled.type == info.type, place + "plugin", compiled.type, info.type);
  compare_ends(place + "joint", compiled.joints, info.joints);
  compare_ends(place + "actuator", compiled.actuators, info.actuators);
  auto found = info.parameters;
  for (const auto & [name, value] : compiled.parameters) {
    const auto now = found.count(name) ? found[name] : "none";
    require(value == now, place + "parameter '" + name + "'", value, now);
    found.erase(name);
  }
  // Some hardware components add parameters of their own, with two underscores.
  for (const auto & [name, value] : found)
    require(name.rfind("__", 0) == 0, place + "parameter '" + name + "'", "none", value);
}

class Loader : public transmission_interface::TransmissionLoader {
public:
  std::shared_ptr<Base> load(const TransmissionInfo & info) {
    std::string names;
    for (const auto & each : loadables) {
      names += (names.empty() ? "one of " : ", ") + each.name;
      if (each.name != info.name) continue;
      compare(each, info);
      return std::make_shared<MappedTransmission>(each);
    }
    require(false, std::string("transmission (compiled in package ") + package + ")", names,
            info.name);
    return nullptr;
  }
};

}  // namespace MAPPED_NAMESPACE

PLUGINLIB_EXPORT_CLASS(MAPPED_NAMESPACE::Loader, transmission_interface::TransmissionLoader)
