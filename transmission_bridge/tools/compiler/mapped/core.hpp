// SPDX-License-Identifier: Apache-2.0
//
// Maps, modes, limits, holds and ends of a component, without ROS. After its construction nothing
// allocates, locks, throws or logs, except what returns a sentence.
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

// Bits of the status of a transmission beside those of its C functions, and what they mean.
enum : uint32_t {
  HALF = 64,
  ACTUATOR_LIMIT = 128,
  FOLLOWER = 256,
  JOINT_LIMIT = 512,
  REACHED = 1024,
  STEP = 2048,
  REFUSED = 4096,
  HELD = 8192  // of reports only: no result, its actuators hold
};
constexpr int n_bits = 14;
inline constexpr const char * meanings[] = {
  "not all of its joints are claimed",
  "a limit of an actuator",
  "a limit of a joint that follows",
  "a limit of a joint",
  "a velocity or effort towards a position limit that is reached",
  "a position too far from the last one for the velocity limit",
  "the driver refused the mode"};

// Of comparisons with limits, of the magnitude of the limit or of one.
constexpr double rounding = 1e-9;

// A reading of a single turn is searched for in so many turns of both directions.
constexpr int most_turns = 64;

// A step may take the time since the last command, of at most this length, and an extra time [s].
constexpr double longest_step = 0.1, extra_time = 0.05;

// How near a command is to a joint that waits, if the joint has no velocity limit [rad or m].
constexpr double near_distance = 0.05;

constexpr double report_period = 1.0;

inline double margin(double limit) { return rounding * std::max(1.0, std::abs(limit)); }

inline bool is_within(double value, double low, double high) {
  return value >= low - margin(low) && value <= high + margin(high);
}

// Whether a rate leads a position further out that has reached a limit, or is beyond it. NaN does
// not.
inline bool leads_outward(double rate, double at, const Limits & limits, bool is_beyond = false) {
  const double low = limits.values[lower], high = limits.values[upper];
  const double sign = is_beyond ? -1.0 : 1.0;
  return (rate > 0.0 && at > high - sign * margin(high)) ||
         (rate < 0.0 && at < low + sign * margin(low));
}

template <int N>
inline bool are_finite(const double * values, const std::vector<int> & indices) {
  return std::all_of(indices.begin(), indices.end(),
                     [&](int k) { return std::isfinite(values[k]); });
}

inline std::string describe_bits(uint32_t bits) {
  std::string text;
  for (uint32_t k = 0, bit = 1; bit < HELD; k++, bit *= 2)
    if (bits & bit)
      text +=
        (text.empty() ? "" : "; ") + std::string(bit < HALF ? status_text(bit) : meanings[k - 6]);
  if (text.empty()) text = "not all joints have a command";
  return (bits & HELD ? "no result, its actuators hold: " : "") + text;
}

class Core {
public:
  explicit Core(const Setup & setup) : setup_(setup), state_(setup.state), scratch_(setup.state) {
    forget();
  }

  // Forget what was measured and claimed.
  void forget() {
    measured_.fill(unknown);
    joints_.fill(unknown);
    for (auto & position : positions_) position = unknown;
    for (int a = 0; a < n_actuators; a++)
      turns_[a] = std::isfinite(setup_.periods[a]) ? unknown : 0.0;
    set_claims({});
    begin();
  }

  // Map what is measured, in the units of the driver; NaN is unknown.
  void take_states(const Actuators & measured) {
    for (int row = 0; row < n_rows; row++) {
      for (int a = 0; a < n_actuators; a++) {
        const double value = measured[row][a] * scales[a][row];
        measured_[row][a] = row == position ? add_turns(a, value) : value;
      }
    }
    to_joint(&state_, measured_.values, joints_.values);
    for (const int t : setup_.own) state_bits_[t] = state_.status[t];
    for (int j = 0; j < n_joints; j++) positions_[j] = joints_[position][j];
  }

  // Find the turns of single-turn encoders: each is the one that keeps its joint within the
  // limits. Returns a sentence if one is unknown.
  std::string resolve_turns() {
    for (int a = 0; a < n_actuators; a++) {
      if (std::isfinite(turns_[a])) continue;
      const int j = transmissions[setup_.owner[a]].joints[0];
      const auto & limits = setup_.joint_limits[j];
      Actuators actuators;
      Joints joints;
      actuators.fill(unknown);
      int count = 0;
      double turn = unknown;
      for (int k = -most_turns; k <= most_turns; k++) {
        actuators[position][a] = readings_[a] + k * setup_.periods[a];
        to_joint(&scratch_, actuators.values, joints.values);
        if (!is_within(joints[position][j], limits.values[lower], limits.values[upper])) continue;
        turn = k * setup_.periods[a];
        count++;
      }
      if (count != 1) {
        return "the turn of actuator '" + std::string(actuator_names[a]) +
               "' is unknown: expected one turn that keeps joint '" + joint_names[j] +
               "' within its limits, found " + std::to_string(count) + " at reading " +
               std::to_string(readings_[a]);
      }
      turns_[a] = turn;
      measured_[position][a] = readings_[a] + turn;
    }
    return "";
  }

  // Start at the measured positions.
  void begin() {
    runs_ = used_ = {};
    ending_ = {};
    claimed_ = read_claims();
    held_for_.fill(0.0);
    bits_.fill(0);
    waits_.fill(false);
    origins_.fill(unknown);
    accepted_.fill(-infinite);
    motor_origins_.fill(unknown);
    for (auto & is_refused : is_refused_) is_refused = false;
    for (auto & times : reported_) times.fill(-infinite);
    sent_.fill(unknown);
  }

  // A cycle of commands: choose the rows that are claimed, then give what they hold.
  void choose_runs() {
    const Flags before = claimed_;
    claimed_ = read_claims();
    is_new_ = {};
    is_half_ = {};
    for (const int t : setup_.own) {
      for (int row = 0; row < n_rows; row++) {
        const bool ran = runs_[t][row], runs = is_running(claimed_, t, row);
        int & left = ending_[t][row];
        left = runs ? 0 : ran ? setup_.options.ending_writes : std::max(left - 1, 0);
        runs_[t][row] = runs;
        used_[t][row] = runs || left > 0;
        is_new_[t][row] = runs && !ran;
        for (const int j : transmissions[t].joints)
          is_half_[t] = is_half_[t] || (claimed_[row][j] && !runs);
      }
      if (is_new_[t][position]) start_positions(t, before);
    }
  }

  // Whether a joint is commanded now: its row is claimed, or it ends.
  bool is_used(int row, int joint) const { return has_joint(used_, row, joint); }
  bool is_new(int row, int joint) const { return has_joint(is_new_, row, joint); }

  // In SI; NaN is no command. Returns whether there was no result for hold_timeout.
  bool take_commands(const Joints & commands, double period) {
    now_ += period;
    bits_.fill(0);
    warnings_.fill(0);
    is_rejected_.fill(false);
    for (int row = 0; row < n_rows; row++)
      for (int j = 0; j < n_joints; j++)
        command_[row][j] = std::isfinite(commands[row][j]) ? commands[row][j] : unknown;
    apply_rules();
    sent_.fill(unknown);
    bool is_over = false;
    for (const int t : setup_.own) {
      is_over = finish(t, period) || is_over;
      note_positions(t);
      choose_reports(t);
    }
    return is_over;
  }

  // The claims that result from a switch.
  Flags plan_switch(const Flags & start, const Flags & stop) const {
    Flags next = read_claims();
    for (int row = 0; row < n_rows; row++)
      for (int j = 0; j < n_joints; j++)
        next[row][j] = start[row][j] || (next[row][j] && !stop[row][j]);
    return next;
  }

  // A sentence if a switch starts only some joints of a transmission.
  std::string find_half(const Flags & next, const Flags & start) const {
    for (const int t : setup_.own) {
      const auto & joints = transmissions[t].joints;
      for (int row = 0; row < n_rows; row++) {
        const auto is_started = [&](int j) { return start[row][j]; };
        if (!is_running(next, t, row) && std::any_of(joints.begin(), joints.end(), is_started))
          return "transmission '" + transmissions[t].name + "': expected " + row_names[row] +
                 " commands of all its " + std::to_string(joints.size()) +
                 " joints at once, found some of them";
      }
    }
    return "";
  }

  bool runs_actuator(const Flags & claims, int row, int actuator) const {
    const int t = setup_.owner[actuator];
    return t >= 0 && is_running(claims, t, row);
  }

  Flags read_claims() const {
    Flags claims;
    for (int row = 0; row < n_rows; row++) std::copy_n(claims_[row], n_joints, claims[row]);
    return claims;
  }

  void set_claims(const Flags & claims) {
    for (int row = 0; row < n_rows; row++) std::copy_n(claims[row], n_joints, claims_[row]);
  }

  // If the driver has refused a switch, its joints have no result until the next one.
  void set_refused(const Flags & concerned, bool is_refused) {
    for (const int t : setup_.own)
      for (const int j : transmissions[t].joints)
        for (int row = 0; row < n_rows; row++)
          if (concerned[row][j]) is_refused_[t] = is_refused;
  }

  // What a command interface holds when it is claimed; also from another thread.
  double first_command(int row, int joint) const {
    return row == position ? positions_[joint].load() : unknown;
  }

  // The position, velocity or effort of a joint, also of one that follows by <mimic>; the row
  // behind them has the statuses of transmissions.
  double read_state(int row, int index) const {
    if (row == n_rows) return state_bits_[index] | bits_[index];
    if (index < n_joints) return joints_[row][index];
    const auto & mimic = setup_.mimics[index - n_joints];
    const double value = mimic.multiplier * joints_[row][mimic.joint];
    return row == effort ? unknown : value + (row == position ? mimic.offset : 0.0);
  }

  // What to write in the units of the driver; NaN is nothing.
  const Actuators & sent() const { return sent_; }
  // Bits to report now, each at most once per second.
  uint32_t read_report(int transmission) const { return reports_[transmission]; }

private:
  // A row of a transmission is mapped if all its joints are claimed.
  static bool is_running(const Flags & claims, int t, int row) {
    const auto & joints = transmissions[t].joints;
    return !joints.empty() &&
           std::all_of(joints.begin(), joints.end(), [&](int j) { return claims[row][j]; });
  }

  bool has_joint(const Runs & runs, int row, int joint) const {
    const int t = setup_.owner_of_joint[joint];
    return t >= 0 && runs[t][row];
  }

  // A joint that starts is at its measured position. One that was claimed before, while its
  // partner was not, waits until its command is near: its controller did not know that nothing
  // moves.
  void start_positions(int t, const Flags & claimed_before) {
    for (const int j : transmissions[t].joints) {
      origins_[j] = joints_[position][j];
      accepted_[j] = -infinite;
      waits_[j] = claimed_before[position][j];
    }
    for (const int a : transmissions[t].owned) motor_origins_[a] = measured_[position][a];
  }

  void apply_rules() {
    const bool has_limits = setup_.options.limits != Choice::off;
    for (const int t : setup_.own) {
      if (has_limits) limit_joints(t);
      limit_steps(t);
      if (has_limits) stop_outward(t);
    }
    map_commands();
    for (const int t : setup_.own) {
      bits_[t] |= state_.status[t];
      // A rate of zero is zero at any position.
      for (const int row : {velocity, effort}) {
        const auto & joints = transmissions[t].joints;
        if (std::all_of(joints.begin(), joints.end(),
                        [&](int j) { return command_[row][j] == 0.0; }))
          for (const int a : transmissions[t].owned) mapped_[row][a] = 0.0;
      }
      if (has_limits) limit_actuators(t);
      if (has_limits) stop_outward_actuators(t);
    }
    if (has_limits) limit_followers();
  }

  // Beyond a limit there is another number, or no result.
  void note_limit(int t, uint32_t bit, bool is_rejected = false) {
    bits_[t] |= bit;
    is_rejected_[t] = is_rejected_[t] || is_rejected || setup_.options.limits == Choice::reject;
  }

  // Rates without a position are mapped at the measured one. It is given as a command, because the
  // map keeps only commanded positions as the start of its next solution.
  void map_commands() {
    Joints command = command_;
    const auto has_place = [&](int t) {
      return !used_[t][position] && (used_[t][velocity] || used_[t][effort]) &&
             are_finite<n_joints>(joints_[position], transmissions[t].joints);
    };
    for (const int t : setup_.own)
      for (const int j : transmissions[t].joints)
        if (has_place(t)) command[position][j] = joints_[position][j];
    to_actuator(&state_, command.values, joints_[position], mapped_.values);
    for (const int t : setup_.own)
      for (const int a : transmissions[t].owned)
        if (has_place(t)) mapped_[position][a] = unknown;
  }

  // Clamp a number. What starts beyond a limit stays there, and moves inward only. Returns whether
  // the number was beyond.
  static bool clamp(double & value, const Limits & limits, int row, double origin) {
    const double low = std::fmin(limits.low(row), row == position ? origin : unknown);
    const double high = std::fmax(limits.high(row), row == position ? origin : unknown);
    if (std::isnan(value) || is_within(value, low, high)) return false;
    value = std::clamp(value, low, high);
    return true;
  }

  void limit_joints(int t) {
    for (const int j : transmissions[t].joints)
      for (int row = 0; row < n_rows; row++)
        if (clamp(command_[row][j], setup_.joint_limits[j], row, origins_[j]))
          note_limit(t, JOINT_LIMIT);
  }

  void limit_steps(int t) {
    const Choice choice = setup_.options.max_step;
    for (const int j : transmissions[t].joints) {
      double & target = command_[position][j];
      if (std::isnan(target)) continue;
      const double speed = setup_.joint_limits[j].values[of_velocity];
      const double distance = std::abs(target - origins_[j]);
      const double most = speed * (longest_step + extra_time);
      if (waits_[j] && !(distance <= (std::isfinite(speed) ? most : near_distance))) {
        bits_[t] |= STEP;
        target = origins_[j];
        continue;
      }
      waits_[j] = false;
      const double time = std::clamp(now_ - accepted_[j], 0.0, longest_step);
      const bool is_far = !(distance <= speed * (time + extra_time) * (1.0 + rounding));
      if (choice == Choice::off || !std::isfinite(speed) || !is_far) continue;
      is_rejected_[t] = is_rejected_[t] || choice == Choice::reject;
      if (choice == Choice::reject)
        bits_[t] |= STEP;
      else if (!std::isnan(distance))
        warnings_[t] |= STEP;
    }
  }

  // No rate leads a joint that has reached a position limit further out. An effort passes while
  // the joint does not move: it may hold a load. Joints that share too few motors stop together.
  void stop_outward(int t) {
    const auto & [name, joints, actuators, owned] = transmissions[t];
    bool stops_all = false;
    for (const int j : joints) {
      const auto & limits = setup_.joint_limits[j];
      const double at = joints_[position][j], speed = joints_[velocity][j];
      double & rate = command_[velocity][j];
      double & push = command_[effort][j];
      if (leads_outward(rate, at, limits)) {
        rate = 0.0;
        stops_all = owned.size() < joints.size();
        note_limit(t, REACHED);
      }
      const double outward = push > 0.0 ? speed : -speed;
      if (leads_outward(push, at, limits, true) && outward > setup_.options.zero_max_velocity) {
        push = 0.0;
        note_limit(t, REACHED);
      }
    }
    for (const int j : joints)
      if (stops_all && !std::isnan(command_[velocity][j])) command_[velocity][j] = 0.0;
  }

  // A position is clamped if one motor moves one joint, else it has no result. Velocities of the
  // motors of a transmission are scaled together, and so are efforts.
  void limit_actuators(int t) {
    const auto & [name, joints, actuators, owned] = transmissions[t];
    const bool is_single = joints.size() == 1 && actuators.size() == 1;
    for (int row = 0; row < n_rows; row++) {
      double share = 1.0;
      for (const int a : owned) {
        double clamped = mapped_[row][a];
        if (!clamp(clamped, setup_.actuator_limits[a], row, motor_origins_[a])) continue;
        note_limit(t, ACTUATOR_LIMIT, row == position && !is_single);
        if (row == position)
          mapped_[row][a] = clamped;
        else
          share = std::min(share, clamped / mapped_[row][a]);
      }
      for (const int a : owned) mapped_[row][a] *= share;
    }
  }

  void stop_outward_actuators(int t) {
    const auto & owned = transmissions[t].owned;
    if (std::none_of(owned.begin(), owned.end(), [&](int a) {
          return leads_outward(mapped_[velocity][a], measured_[position][a],
                               setup_.actuator_limits[a]);
        }))
      return;
    note_limit(t, REACHED);
    for (const int a : owned) mapped_[velocity][a] = 0.0;
  }

  // A position that leads a follower beyond its limits has no result; velocities are scaled.
  void limit_followers() {
    if (setup_.followers.empty()) return;
    Actuators actuators = mapped_;
    Joints joints;
    for (int a = 0; a < n_actuators; a++)
      if (std::isnan(actuators[position][a])) actuators[position][a] = measured_[position][a];
    to_joint(&scratch_, actuators.values, joints.values);
    for (const auto & [t, mimic, limits] : setup_.followers) {
      const auto & owned = transmissions[t].owned;
      double target = mimic.multiplier * joints[position][mimic.joint] + mimic.offset;
      double rate = mimic.multiplier * joints[velocity][mimic.joint];
      const double at = mimic.multiplier * joints_[position][mimic.joint] + mimic.offset;
      const bool is_out = are_finite<n_actuators>(mapped_[position], owned) &&
                          clamp(target, limits, position, unknown);
      const double wanted = rate;
      double share = clamp(rate, limits, velocity, unknown) ? rate / wanted : 1.0;
      if (leads_outward(wanted, at, limits)) share = 0.0;
      if (!is_out && share == 1.0) continue;
      note_limit(t, FOLLOWER, is_out);
      for (const int a : owned) mapped_[velocity][a] *= share;
    }
  }

  // Without a result positions hold, velocities are zero at once, and efforts as zero_effort says.
  // A row that ends sends once what its interfaces hold, but a velocity ends with zero at once,
  // and an effort with zero_effort, or one that cannot be mapped, also. Returns whether there was
  // no result for hold_timeout.
  bool finish(int t, double period) {
    const auto & [name, joints, actuators, owned] = transmissions[t];
    std::array<bool, n_rows> is_given{}, is_known{};
    bool is_held = is_rejected_[t] || is_refused_[t];
    for (int row = 0; row < n_rows; row++) {
      for (const int j : joints) is_given[row] = is_given[row] || std::isfinite(command_[row][j]);
      is_known[row] = are_finite<n_actuators>(mapped_[row], owned);
      is_held = is_held || (runs_[t][row] && is_given[row] && !is_known[row]);
    }
    for (int row = 0; row < n_rows; row++) {
      const bool is_sent = is_known[row] && !is_held;
      const bool ends_with_zero = row == velocity || (row == effort && setup_.options.zero_effort);
      const bool ends = !runs_[t][row];
      const bool is_zero =
        ends_with_zero ? ends || !is_sent : row == effort && ends && !is_sent && is_given[row];
      if (used_[t][row] && (is_sent || is_zero)) send(t, row, is_zero);
    }
    bits_[t] |= (is_half_[t] ? HALF : 0u) | (is_refused_[t] ? REFUSED : 0u);
    is_held_[t] = is_held;
    held_for_[t] = is_held ? held_for_[t] + period : 0.0;
    return setup_.options.hold_timeout > 0.0 && held_for_[t] > setup_.options.hold_timeout;
  }

  // Send a row, or zeros, in the units of the driver.
  void send(int t, int row, bool is_zero) {
    for (const int a : transmissions[t].owned) {
      const double value = is_zero ? 0.0 : mapped_[row][a];
      sent_[row][a] = (value - (row == position ? turns_[a] : 0.0)) / scales[a][row];
    }
  }

  void note_positions(int t) {
    if (!runs_[t][position]) return;
    for (const int a : transmissions[t].owned) {
      const double motor = (is_held_[t] ? measured_ : mapped_)[position][a];
      if (!std::isnan(motor)) motor_origins_[a] = motor;
    }
    for (const int j : transmissions[t].joints) {
      const double target = command_[position][j];
      if (waits_[j]) continue;
      if (is_held_[t]) {
        origins_[j] = joints_[position][j];
      } else if (!std::isnan(target) && target != origins_[j]) {
        origins_[j] = target;
        accepted_[j] = now_;
      }
    }
  }

  void choose_reports(int t) {
    const uint32_t reasons = bits_[t] | warnings_[t];
    const uint32_t bits = reasons || !is_held_[t] ? reasons : uint32_t{HELD};
    uint32_t due = 0;
    for (int k = 0; k < n_bits; k++) {
      const uint32_t bit = 1u << k;
      if (!(bits & bit) || now_ - reported_[t][k] < report_period) continue;
      due |= bit;
      reported_[t][k] = now_;
    }
    reports_[t] = due && is_held_[t] ? due | HELD : due;
  }

  // A position of a single turn is followed; it is unknown until its turn is.
  double add_turns(int actuator, double reading) {
    readings_[actuator] = reading;
    const double before = measured_[position][actuator], period = setup_.periods[actuator];
    if (std::isfinite(period) && std::isfinite(before) && std::isfinite(reading))
      turns_[actuator] = std::rint((before - reading) / period) * period;
    return reading + turns_[actuator];
  }

  const Setup setup_;
  State state_, scratch_;
  Actuators measured_, mapped_, sent_;  // sent: in the units of the driver
  Joints joints_, command_;
  std::array<double, n_actuators> turns_, readings_;
  std::array<uint32_t, n_transmissions> state_bits_{}, bits_{}, warnings_{}, reports_{};
  std::array<std::array<double, n_bits>, n_transmissions> reported_;
  std::array<double, n_transmissions> held_for_{};
  std::array<bool, n_transmissions> is_half_{}, is_held_{}, is_rejected_{};
  Flags claimed_{};
  Runs runs_{}, used_{}, is_new_{};
  std::array<std::array<int, n_rows>, n_transmissions> ending_{};  // writes left of rows that end
  double now_ = 0.0;                                               // the sum of the periods
  // Of positions: the last accepted one and when it changed. A joint that waits keeps it.
  std::array<double, n_joints> origins_, accepted_;
  std::array<double, n_actuators> motor_origins_;
  std::array<bool, n_joints> waits_{};

  // Of several threads: a switch of an asynchronous component.
  Rows<std::atomic<bool>, n_joints> claims_;
  std::array<std::atomic<bool>, n_transmissions> is_refused_;
  std::array<std::atomic<double>, n_joints> positions_;
};

}  // namespace MAPPED_NAMESPACE
