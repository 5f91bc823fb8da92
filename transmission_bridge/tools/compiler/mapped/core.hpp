// SPDX-License-Identifier: Apache-2.0
//
// Maps, modes, limits, holds and ends of a component, without ROS. After its construction nothing
// allocates, locks, throws or logs, except resolve_turns().
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>

#include "mapped/setup.hpp"

namespace MAPPED_NAMESPACE {

template <typename T, int N>
struct Rows {
  T values[n_rows][N];

  T * operator[](int row) { return values[row]; }
  const T * operator[](int row) const { return values[row]; }
  void fill(T value) {
    for (auto & row : values) std::fill(row, row + N, value);
  }
};

using Actuators = Rows<double, n_actuators>;
using Joints = Rows<double, n_joints>;
using Flags = Rows<bool, n_joints>;
// Rows of transmissions.
using Runs = std::array<std::array<bool, n_rows>, n_transmissions>;

// Bits of the status of a transmission beside those of its C functions.
enum : uint32_t {
  HALF = 64,             // not all of its joints are claimed
  ACTUATOR_LIMIT = 128,  // beyond a limit of an actuator
  FOLLOWER = 256,        // beyond a limit of a joint that follows
  JOINT_LIMIT = 512,     // beyond a limit of a joint
  REACHED = 1024,        // a rate towards a limit that is reached
  STEP = 2048,           // a position too far from the last one
  REFUSED = 4096,        // the driver refused the mode
  HELD = 8192            // of reports only: no result, its actuators hold
};
constexpr int n_bits = 14;

std::string describe_bits(uint32_t bits);

class Core {
public:
  explicit Core(const Setup & setup);

  // Forget what was measured and claimed.
  void forget();

  // Map what is measured, in the units of the driver; NaN is unknown.
  void take_states(const Actuators & measured);

  // Find the turns of single-turn encoders. Returns a sentence if one is unknown.
  std::string resolve_turns();

  // Start at the measured positions.
  void begin();

  // A cycle of commands: choose the rows that are claimed, then give what they hold in SI; NaN is
  // no command. Returns whether there was no result for hold_timeout.
  void choose_runs();
  bool is_used(int row, int joint) const;
  bool is_new(int row, int joint) const;
  bool take_commands(const Joints & commands, double period);

  // The claims that result from a switch.
  Flags plan_switch(const Flags & start, const Flags & stop) const;
  // The transmission of which a switch starts only some joints in a row, else -1.
  int find_half(const Flags & next, const Flags & start, int & row) const;
  bool runs_actuator(const Flags & claims, int row, int actuator) const;
  Flags read_claims() const;
  void set_claims(const Flags & claims);
  void drop_claims() { set_claims({}); }
  // If the driver has refused a switch, its joints have no result until the next one.
  void set_refused(const Flags & concerned, bool is_refused);

  // What a command interface holds when it is claimed; also from another thread.
  double first_command(int row, int joint) const;

  // The position, velocity or effort of a joint, also of one that follows by <mimic>.
  double read_joint(int row, int index) const;
  uint32_t read_status(int transmission) const;

  // What to write in the units of the driver; NaN is nothing.
  const Actuators & sent() const { return sent_; }
  // Bits to report now, each at most once per second.
  uint32_t read_report(int transmission) const { return reports_[transmission]; }

private:
  struct Motion {
    Joints command;
    Actuators sent;
    Runs rows;  // that are commanded
    std::array<bool, n_transmissions> is_rejected;
  };

  static bool is_running(const Flags & claims, int t, int row);
  void start_positions();
  Motion collect(const Joints & commands, const Runs & rows) const;
  void apply_rules(Motion & motion, State & state);
  void map_motion(Motion & motion, State & state) const;
  void limit_joints(int t, Motion & motion);
  void limit_steps(int t, Motion & motion);
  void stop_outward(int t, Motion & motion);
  void limit_actuators(int t, Motion & motion);
  void stop_outward_actuators(int t, Motion & motion);
  void limit_followers(Motion & motion);
  bool finish(int t, const Motion & running, const Motion & released, double period);
  void send(int t, int row, const Motion * motion);
  void note_positions(int t, const Motion & running);
  void choose_reports(int t);
  double add_turns(int actuator, double reading);
  int list_turns(int transmission, int actuator, double & turn);

  const Setup setup_;
  State state_, scratch_;
  Actuators measured_, sent_;
  Joints joints_;
  std::array<double, n_actuators> turns_, readings_;
  std::array<uint32_t, n_transmissions> state_bits_{}, bits_{}, warnings_{}, reports_{};
  std::array<std::array<double, n_bits>, n_transmissions> reported_;
  std::array<double, n_transmissions> held_for_{};
  std::array<bool, n_transmissions> is_half_{}, is_held_{};
  Flags claimed_{}, claimed_before_{};
  Runs runs_{}, before_{};
  std::array<std::array<int, n_rows>, n_transmissions> ending_{};  // writes left of rows that end
  double now_ = 0.0;                                               // the sum of the periods
  // Of positions: the last accepted one and when it changed. A joint that waits keeps it.
  std::array<double, n_joints> origins_, accepted_;
  std::array<bool, n_joints> waits_{};

  // Of several threads: a switch of an asynchronous component.
  std::array<std::array<std::atomic<bool>, n_joints>, n_rows> claims_;
  std::array<std::atomic<bool>, n_transmissions> is_refused_;
  std::array<std::atomic<double>, n_joints> positions_;
};

}  // namespace MAPPED_NAMESPACE
