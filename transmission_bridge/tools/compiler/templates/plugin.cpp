// SPDX-License-Identifier: Apache-2.0
//
// Transmissions of ROBOT for the plugin loader of ros2_control.
// Written by transmission_bridge compile. See README.md.
#include "NAME.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "hardware_interface/hardware_info.hpp"
#include "pluginlib/class_list_macros.hpp"
#include "transmission_interface/accessor.hpp"
#include "transmission_interface/exception.hpp"
#include "transmission_interface/transmission_loader.hpp"

namespace NAME_plugin
{
using hardware_interface::TransmissionInfo;
using transmission_interface::Transmission;
using Names = std::vector<std::string>;

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

// The interfaces of each row of the map. Torque and force are other names of effort.
static const std::array<Names, 3> rows_of_map = {
  Names{"position"}, Names{"velocity"}, Names{"effort", "torque", "force"}};

// A joint or an actuator. Its index is that in the rows of the map.
struct Member
{
  std::string name;
  int index;
  bool is_output;  // an actuator of several transmissions is the output of one
};

struct Description
{
  TransmissionInfo info;
  bool needs_positions;
  std::vector<Member> joints, actuators;  // passive joints follow those of the info
};

static const std::vector<Description> descriptions = {
@TRANSMISSIONS@
};

template <typename Expected, typename Found>
void require(
  bool is_met, const std::string & place, const Expected & expected, const Found & found)
{
  if (!is_met) {
    std::ostringstream text;
    text.precision(17);
    text << place << ": expected " << expected << ", found " << found;
    throw transmission_interface::Exception(text.str());
  }
}

// A handle of a member for a row.
struct Wire
{
  transmission_interface::Handle handle;
  const Member * member;
  std::size_t row;
};

static std::string list_handles(const std::vector<Wire> & wires)
{
  Names names;
  for (const auto & wire : wires) {
    names.push_back(wire.handle.get_name());
  }
  return transmission_interface::to_string(names);
}

// Without `override`: some of these functions are new in ros2_control. The class stays abstract,
// and cannot be built, without one that has to be there.
class MappedTransmission : public Transmission
{
public:
  explicit MappedTransmission(const Description & description) : description_(description)
  {
    NAME_init(&state_);
    std::fill(measured_, measured_ + NAME_JOINTS, unknown);
  }

  void configure(
    const std::vector<transmission_interface::JointHandle> & joints,
    const std::vector<transmission_interface::ActuatorHandle> & actuators)
  {
    is_mapped_ = {true, true, true};
    joints_ = wire(joints, description_.joints, num_joints());
    actuators_ = wire(actuators, description_.actuators, num_actuators());
    const bool maps_other = !description_.needs_positions && (is_mapped_[1] || is_mapped_[2]);
    const std::string expected = description_.needs_positions ? "position" : "one interface";
    require(
      is_mapped_[0] || maps_other, place_, expected + " of all joints and all actuators",
      get_handles_info());
  }

  void actuator_to_joint()
  {
    double actuator[3][NAME_ACTUATORS], joint[3][NAME_JOINTS];
    read(actuators_, actuator);
    NAME_to_joint(&state_, actuator, joint);
    std::copy(joint[0], joint[0] + NAME_JOINTS, measured_);
    write(joint, joints_);
  }

  void joint_to_actuator()
  {
    double actuator[3][NAME_ACTUATORS], joint[3][NAME_JOINTS];
    read(joints_, joint);
    NAME_to_actuator(&state_, joint, measured_, actuator);
    write(actuator, actuators_);
  }

  std::size_t num_actuators() const { return description_.info.actuators.size(); }

  std::size_t num_joints() const { return description_.info.joints.size(); }

  Names get_supported_joint_interfaces() const
  {
    return {"position", "velocity", "effort", "torque", "force"};
  }

  Names get_supported_actuator_interfaces() const { return get_supported_joint_interfaces(); }

  std::string get_handles_info() const
  {
    return "joints " + list_handles(joints_) + ", actuators " + list_handles(actuators_);
  }

private:
  template <typename Handle>
  std::vector<Wire> wire(
    const std::vector<Handle> & handles, const std::vector<Member> & members, std::size_t n_own)
  {
    std::vector<Wire> wires;
    for (std::size_t row = 0; row < 3; row++) {
      std::size_t n_wired = 0;
      for (std::size_t k = 0; k < members.size(); k++) {
        const auto before = wires.size();
        for (const auto & interface : rows_of_map[row]) {
          for (const auto & handle :
               transmission_interface::get_ordered_handles(handles, {members[k].name}, interface)) {
            wires.push_back({handle, &members[k], row});
          }
        }
        n_wired += k < n_own && wires.size() > before;
      }
      require(
        n_wired == 0 || n_wired == n_own, place_,
        rows_of_map[row][0] + " of all joints or none, and of all actuators or none",
        list_handles(wires));
      is_mapped_[row] = is_mapped_[row] && n_wired > 0;
    }
    return wires;
  }

  // The first known value counts.
  template <std::size_t N>
  static void read(const std::vector<Wire> & wires, double (&rows)[3][N])
  {
    std::fill(rows[0], rows[0] + 3 * N, unknown);
    for (const auto & wire : wires) {
      double & value = rows[wire.row][wire.member->index];
      value = std::isnan(value) ? wire.handle.get_value() : value;
    }
  }

  // As in ros2_control, an interface that lacks handles on one side keeps its values.
  template <std::size_t N>
  void write(const double (&rows)[3][N], std::vector<Wire> & wires) const
  {
    for (auto & wire : wires) {
      if (wire.member->is_output && is_mapped_[wire.row]) {
        wire.handle.set_value(rows[wire.row][wire.member->index]);
      }
    }
  }

  const Description & description_;
  const std::string place_ = "transmission '" + description_.info.name + "'";
  NAME_state state_;
  double measured_[NAME_JOINTS];  // by the last actuator_to_joint()
  std::vector<Wire> joints_, actuators_;
  std::array<bool, 3> is_mapped_ = {};
};

template <typename Infos>
void compare_members(const std::string & place, const Infos & compiled, const Infos & infos)
{
  require(compiled.size() == infos.size(), place + "s", compiled.size(), infos.size());
  for (const auto & expected : compiled) {
    const std::string start = place + " '" + expected.name + "'";
    const auto found = std::find_if(
      infos.begin(), infos.end(), [&](const auto & each) { return each.name == expected.name; });
    require(found != infos.end(), start, "in the transmission", "none");
    require(expected.role == found->role, start + ", role", expected.role, found->role);
    const auto before = expected.mechanical_reduction, now = found->mechanical_reduction;
    require(before == now, start + ", mechanical_reduction", before, now);
    require(expected.offset == found->offset, start + ", offset", expected.offset, found->offset);
  }
}

static void compare(const TransmissionInfo & compiled, const TransmissionInfo & info)
{
  const std::string place = "transmission '" + info.name + "' (compiled in package NAME), ";
  require(compiled.type == info.type, place + "plugin", compiled.type, info.type);
  compare_members(place + "joint", compiled.joints, info.joints);
  compare_members(place + "actuator", compiled.actuators, info.actuators);
  auto found = info.parameters;
  for (const auto & [name, value] : compiled.parameters) {
    const auto now = found.count(name) ? found[name] : "none";
    require(value == now, place + "parameter '" + name + "'", value, now);
    found.erase(name);
  }
  for (const auto & [name, value] : found) {
    // Some hardware components add parameters of their own, with two underscores.
    require(name.rfind("__", 0) == 0, place + "parameter '" + name + "'", "none", value);
  }
}

class Loader : public transmission_interface::TransmissionLoader
{
public:
  std::shared_ptr<Transmission> load(const TransmissionInfo & info)
  {
    const auto found = std::find_if(
      descriptions.begin(), descriptions.end(),
      [&](const Description & each) { return each.info.name == info.name; });
    require(
      found != descriptions.end(), "transmission (compiled in package NAME)", @EXPECTED@, info.name);
    compare(found->info, info);
    return std::make_shared<MappedTransmission>(*found);
  }
};

}  // namespace NAME_plugin

PLUGINLIB_EXPORT_CLASS(NAME_plugin::Loader, transmission_interface::TransmissionLoader)
