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

// Whether a rate leads a position that has reached a limit further out. NaN does not.
inline bool leads_outward(double rate, double at, const Limits & limits) {
  const double low = limits.values[lower], high = limits.values[upper];
  return (rate > 0.0 && at >= high - margin(high)) || (rate < 0.0 && at <= low + margin(low));
}

// The same for a position that is beyond the limit.
inline bool leads_further(double rate, double at, const Limits & limits) {
  const double low = limits.values[lower], high = limits.values[upper];
  return (rate > 0.0 && at > high + margin(high)) || (rate < 0.0 && at < low - margin(low));
}

template <int N>
inline bool are_finite(const double * values, const std::vector<int> & indices) {
  return std::all_of(indices.begin(), indices.end(),
                     [&](int k) { return std::isfinite(values[k]); });
}

inline std::string describe_bits(uint32_t bits) {
  static const std::pair<uint32_t, const char *> own[] = {
    {HALF, "not all of its joints are claimed"},
    {ACTUATOR_LIMIT, "a limit of an actuator"},
    {FOLLOWER, "a limit of a joint that follows"},
    {JOINT_LIMIT, "a limit of a joint"},
    {REACHED, "a velocity or effort towards a position limit that is reached"},
    {STEP, "a position too far from the last one for the velocity limit"},
    {REFUSED, "the driver refused the mode"}};
  std::string text;
  const auto add = [&](const char * meaning) {
    text += (text.empty() ? "" : "; ") + std::string(meaning);
  };
  for (uint32_t bit = 1; bit < HALF; bit *= 2)
    if (bits & bit) add(status_text(bit));
  for (const auto & [bit, meaning] : own)
    if (bits & bit) add(meaning);
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
    for (auto & each : positions_) each = unknown;
    for (int a = 0; a < n_actuators; a++)
      turns_[a] = std::isfinite(setup_.periods[a]) ? unknown : 0.0;
    drop_claims();
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

  // Find the turns of single-turn encoders. Returns a sentence if one is unknown.
  // The turn of one motor of one joint is the one that keeps the joint within its limits.
  std::string resolve_turns() {
    for (const int t : setup_.own) {
      const auto & each = transmissions[t];
      for (const int a : each.owned) {
        if (std::isfinite(turns_[a])) continue;
        double turn = unknown;
        const int count = list_turns(t, a, turn);
        if (count != 1) {
          return "the turn of actuator '" + std::string(actuator_names[a]) +
                 "' is unknown: expected one turn that keeps joint '" +
                 joint_names[each.joints[0]] + "' within its limits, found " +
                 std::to_string(count) + " at reading " + std::to_string(readings_[a]);
        }
        turns_[a] = turn;
        measured_[position][a] = readings_[a] + turn;
      }
    }
    return "";
  }

  // Start at the measured positions.
  void begin() {
    runs_ = before_ = {};
    ending_ = {};
    claimed_ = claimed_before_ = read_claims();
    held_for_.fill(0.0);
    bits_.fill(0);
    waits_.fill(false);
    origins_.fill(unknown);
    accepted_.fill(-infinite);
    motor_origins_.fill(unknown);
    for (auto & each : is_refused_) each = false;
    for (auto & each : reported_) each.fill(-infinite);
    sent_.fill(unknown);
  }

  // A cycle of commands: choose the rows that are claimed, then give what they hold in SI; NaN is
  // no command. Returns whether there was no result for hold_timeout.
  void choose_runs() {
    claimed_before_ = claimed_;
    claimed_ = read_claims();
    before_ = runs_;
    runs_ = {};
    is_half_ = {};
    for (const int t : setup_.own) {
      for (int row = 0; row < n_rows; row++) {
        runs_[t][row] = is_running(claimed_, t, row);
        int & left = ending_[t][row];
        left = runs_[t][row]     ? 0
               : before_[t][row] ? setup_.options.ending_writes
                                 : std::max(left - 1, 0);
        for (const int j : transmissions[t].joints)
          is_half_[t] = is_half_[t] || (claimed_[row][j] && !runs_[t][row]);
      }
    }
    start_positions();
  }

  bool is_used(int row, int joint) const {
    const int t = setup_.owner_of_joint[joint];
    return t >= 0 && (runs_[t][row] || ending_[t][row] > 0);
  }

  bool is_new(int row, int joint) const {
    const int t = setup_.owner_of_joint[joint];
    return t >= 0 && runs_[t][row] && !before_[t][row];
  }

  bool take_commands(const Joints & commands, double period) {
    now_ += period;
    Runs ended{};
    bool is_any = false;
    for (const int t : setup_.own) {
      for (int row = 0; row < n_rows; row++) {
        ended[t][row] = ending_[t][row] > 0;
        is_any = is_any || ended[t][row];
      }
    }
    bits_.fill(0);
    warnings_.fill(0);
    Motion running = collect(commands, runs_), released = collect(commands, ended);
    apply_rules(running, state_);
    if (is_any) apply_rules(released, scratch_);
    sent_.fill(unknown);
    bool is_over = false;
    for (const int t : setup_.own) {
      is_over = finish(t, running, released, period) || is_over;
      note_positions(t, running);
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

  // The transmission of which a switch starts only some joints in a row, else -1.
  int find_half(const Flags & next, const Flags & start, int & row) const {
    for (const int t : setup_.own) {
      const auto & joints = transmissions[t].joints;
      for (row = 0; row < n_rows; row++) {
        const auto is_started = [&](int j) { return start[row][j]; };
        if (!is_running(next, t, row) && std::any_of(joints.begin(), joints.end(), is_started))
          return t;
      }
    }
    return -1;
  }

  bool runs_actuator(const Flags & claims, int row, int actuator) const {
    const int t = setup_.owner[actuator];
    return t >= 0 && is_running(claims, t, row);
  }

  Flags read_claims() const {
    Flags claims;
    for (int row = 0; row < n_rows; row++)
      for (int j = 0; j < n_joints; j++) claims[row][j] = claims_[row][j];
    return claims;
  }

  void set_claims(const Flags & claims) {
    for (int row = 0; row < n_rows; row++)
      for (int j = 0; j < n_joints; j++) claims_[row][j] = claims[row][j];
  }

  void drop_claims() { set_claims({}); }
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
  struct Motion {
    Joints command;
    Actuators sent;
    Runs rows;  // that are commanded
    std::array<bool, n_transmissions> is_rejected;
  };

  // A row of a transmission is mapped if all its joints are claimed.
  static bool is_running(const Flags & claims, int t, int row) {
    const auto & joints = transmissions[t].joints;
    return !joints.empty() &&
           std::all_of(joints.begin(), joints.end(), [&](int j) { return claims[row][j]; });
  }

  // A joint that starts is at its measured position. One that was claimed before, while its
  // partner was not, waits until its command is near: its controller did not know that nothing
  // moves.
  void start_positions() {
    for (const int t : setup_.own) {
      if (!runs_[t][position] || before_[t][position]) continue;
      for (const int j : transmissions[t].joints) {
        origins_[j] = joints_[position][j];
        accepted_[j] = -infinite;
        waits_[j] = claimed_before_[position][j];
      }
      for (const int a : transmissions[t].owned) motor_origins_[a] = measured_[position][a];
    }
  }

  Motion collect(const Joints & commands, const Runs & rows) const {
    Motion motion;
    motion.rows = rows;
    motion.is_rejected = {};
    motion.command.fill(unknown);
    motion.sent.fill(unknown);
    for (const int t : setup_.own)
      for (const int j : transmissions[t].joints)
        for (int row = 0; row < n_rows; row++)
          if (rows[t][row] && std::isfinite(commands[row][j]))
            motion.command[row][j] = commands[row][j];
    return motion;
  }

  void apply_rules(Motion & motion, State & state) {
    const bool has_limits = setup_.options.limits != Choice::off;
    for (const int t : setup_.own) {
      if (has_limits) limit_joints(t, motion);
      limit_steps(t, motion);
      if (has_limits) stop_outward(t, motion);
    }
    map_motion(motion, state);
    for (const int t : setup_.own) {
      bits_[t] |= state.status[t];
      // A rate of zero is zero at any position.
      for (const int row : {velocity, effort}) {
        const auto & joints = transmissions[t].joints;
        if (std::all_of(joints.begin(), joints.end(),
                        [&](int j) { return motion.command[row][j] == 0.0; }))
          for (const int a : transmissions[t].owned) motion.sent[row][a] = 0.0;
      }
      if (has_limits) limit_actuators(t, motion);
      if (has_limits) stop_outward_actuators(t, motion);
    }
    if (has_limits) limit_followers(motion);
  }

  // Rates without a position are mapped at the measured one. It is given as a command, because the
  // map keeps only commanded positions as the start of its next solution.
  void map_motion(Motion & motion, State & state) const {
    Joints command = motion.command;
    const auto has_place = [&](int t) {
      return !motion.rows[t][position] && (motion.rows[t][velocity] || motion.rows[t][effort]) &&
             are_finite<n_joints>(joints_[position], transmissions[t].joints);
    };
    for (const int t : setup_.own)
      for (const int j : transmissions[t].joints)
        if (has_place(t)) command[position][j] = joints_[position][j];
    to_actuator(&state, command.values, joints_[position], motion.sent.values);
    for (const int t : setup_.own)
      for (const int a : transmissions[t].owned)
        if (has_place(t)) motion.sent[position][a] = unknown;
  }

  void limit_joints(int t, Motion & motion) {
    for (const int j : transmissions[t].joints) {
      for (int row = 0; row < n_rows; row++) {
        double & value = motion.command[row][j];
        if (std::isnan(value)) continue;
        // A joint that starts beyond a limit stays there, and moves inward only.
        const double origin = row == position ? origins_[j] : unknown;
        const double low = std::fmin(setup_.joint_limits[j].low(row), origin);
        const double high = std::fmax(setup_.joint_limits[j].high(row), origin);
        if (!is_within(value, low, high)) {
          bits_[t] |= JOINT_LIMIT;
          motion.is_rejected[t] |= setup_.options.limits == Choice::reject;
        }
        value = std::clamp(value, low, high);
      }
    }
  }

  void limit_steps(int t, Motion & motion) {
    const Choice choice = setup_.options.max_step;
    for (const int j : transmissions[t].joints) {
      double & target = motion.command[position][j];
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
      motion.is_rejected[t] |= choice == Choice::reject;
      if (choice == Choice::reject)
        bits_[t] |= STEP;
      else if (!std::isnan(distance))
        warnings_[t] |= STEP;
    }
  }

  // No rate leads a joint that has reached a position limit further out. An effort passes while
  // the joint does not move: it may hold a load. Joints that share too few motors stop together.
  void stop_outward(int t, Motion & motion) {
    const auto & each = transmissions[t];
    const bool is_together = each.owned.size() < each.joints.size();
    bool is_reached = false, stops_all = false;
    for (const int j : each.joints) {
      const auto & limits = setup_.joint_limits[j];
      const double at = joints_[position][j], speed = joints_[velocity][j];
      double & rate = motion.command[velocity][j];
      double & push = motion.command[effort][j];
      if (leads_outward(rate, at, limits)) {
        rate = 0.0;
        is_reached = true;
        stops_all = is_together;
      }
      const double outward = push > 0.0 ? speed : -speed;
      if (leads_further(push, at, limits) && outward > setup_.options.zero_max_velocity) {
        push = 0.0;
        is_reached = true;
      }
    }
    for (const int j : each.joints)
      if (stops_all && !std::isnan(motion.command[velocity][j])) motion.command[velocity][j] = 0.0;
    if (!is_reached) return;
    bits_[t] |= REACHED;
    motion.is_rejected[t] |= setup_.options.limits == Choice::reject;
  }

  // A position is clamped if one motor moves one joint, else it has no result. Velocities of the
  // motors of a transmission are scaled together, and so are efforts.
  void limit_actuators(int t, Motion & motion) {
    const auto & each = transmissions[t];
    const bool is_single = each.joints.size() == 1 && each.actuators.size() == 1;
    for (int row = 0; row < n_rows; row++) {
      double share = 1.0;
      for (const int a : each.owned) {
        const auto & limits = setup_.actuator_limits[a];
        const double origin = row == position ? motor_origins_[a] : unknown;
        const double low = std::fmin(limits.low(row), origin);
        const double high = std::fmax(limits.high(row), origin);
        double & value = motion.sent[row][a];
        if (std::isnan(value) || is_within(value, low, high)) continue;
        bits_[t] |= ACTUATOR_LIMIT;
        motion.is_rejected[t] |=
          setup_.options.limits == Choice::reject || (row == position && !is_single);
        if (row == position)
          value = std::clamp(value, low, high);
        else
          share = std::min(share, high / std::abs(value));
      }
      for (const int a : each.owned) motion.sent[row][a] *= share;
    }
  }

  void stop_outward_actuators(int t, Motion & motion) {
    const auto & each = transmissions[t];
    if (std::none_of(each.owned.begin(), each.owned.end(), [&](int a) {
          return leads_outward(motion.sent[velocity][a], measured_[position][a],
                               setup_.actuator_limits[a]);
        }))
      return;
    bits_[t] |= REACHED;
    motion.is_rejected[t] |= setup_.options.limits == Choice::reject;
    for (const int a : each.owned) motion.sent[velocity][a] = 0.0;
  }

  // A position that leads a follower beyond its limits has no result; velocities are scaled.
  void limit_followers(Motion & motion) {
    if (setup_.followed.empty()) return;
    Actuators actuators = motion.sent;
    Joints joints;
    for (int a = 0; a < n_actuators; a++)
      if (std::isnan(actuators[position][a])) actuators[position][a] = measured_[position][a];
    to_joint(&scratch_, actuators.values, joints.values);
    for (std::size_t k = 0; k < setup_.followed.size(); k++) {
      const auto & [t, mimic] = setup_.followed[k];
      const auto & limits = setup_.limits_of_followed[k];
      const auto & each = transmissions[t];
      const auto follow = [&](const Joints & from) {
        return mimic.multiplier * from[position][mimic.joint] + mimic.offset;
      };
      const double rate = mimic.multiplier * joints[velocity][mimic.joint];
      const double target = follow(joints);
      const bool moves = are_finite<n_actuators>(motion.sent[position], each.owned);
      const bool is_out = moves && std::isfinite(target) &&
                          !is_within(target, limits.values[lower], limits.values[upper]);
      double share = 1.0;
      if (std::abs(rate) > limits.values[of_velocity] + margin(limits.values[of_velocity]))
        share = limits.values[of_velocity] / std::abs(rate);
      if (leads_outward(rate, follow(joints_), limits)) share = 0.0;
      if (!is_out && share == 1.0) continue;
      bits_[t] |= FOLLOWER;
      motion.is_rejected[t] |= is_out || setup_.options.limits == Choice::reject;
      for (const int a : each.owned) motion.sent[velocity][a] *= share;
    }
  }

  // Without a result positions hold, velocities are zero at once, and efforts as zero_effort says.
  // A row that ends sends once what its interfaces hold, but a velocity ends with zero at once,
  // and an effort with zero_effort, or one that cannot be mapped, also. Returns whether there was
  // no result for hold_timeout.
  bool finish(int t, const Motion & running, const Motion & released, double period) {
    const auto & each = transmissions[t];
    const bool is_refused = is_refused_[t];
    bool is_held = running.is_rejected[t] || is_refused;
    std::array<bool, n_rows> is_known{};
    for (int row = 0; row < n_rows; row++) {
      is_known[row] = are_finite<n_actuators>(running.sent[row], each.owned);
      const bool is_given = std::any_of(each.joints.begin(), each.joints.end(), [&](int j) {
        return std::isfinite(running.command[row][j]);
      });
      is_held = is_held || (runs_[t][row] && is_given && !is_known[row]);
    }
    for (int row = 0; row < n_rows; row++) {
      const bool ends_with_zero = row == velocity || (row == effort && setup_.options.zero_effort);
      if (runs_[t][row]) {
        if (is_known[row] && !is_held)
          send(t, row, &running);
        else if (ends_with_zero)
          send(t, row, nullptr);
      } else if (released.rows[t][row]) {
        const bool is_given = are_finite<n_joints>(released.command[row], each.joints);
        const bool is_mapped = is_given && !released.is_rejected[t] &&
                               are_finite<n_actuators>(released.sent[row], each.owned);
        if (is_mapped && !ends_with_zero)
          send(t, row, &released);
        else if (ends_with_zero || (is_given && row == effort))
          send(t, row, nullptr);
      }
    }
    bits_[t] |= (is_half_[t] ? HALF : 0u) | (is_refused ? REFUSED : 0u);
    is_held_[t] = is_held;
    held_for_[t] = is_held ? held_for_[t] + period : 0.0;
    return setup_.options.hold_timeout > 0.0 && held_for_[t] > setup_.options.hold_timeout;
  }

  // Send a row of a motion, or zeros, in the units of the driver.
  void send(int t, int row, const Motion * motion) {
    for (const int a : transmissions[t].owned) {
      const double value = motion ? motion->sent[row][a] : 0.0;
      sent_[row][a] = (value - (row == position ? turns_[a] : 0.0)) / scales[a][row];
    }
  }

  void note_positions(int t, const Motion & running) {
    if (!runs_[t][position]) return;
    for (const int a : transmissions[t].owned) {
      const double place = is_held_[t] ? measured_[position][a] : running.sent[position][a];
      if (!std::isnan(place)) motor_origins_[a] = place;
    }
    for (const int j : transmissions[t].joints) {
      const double target = running.command[position][j];
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
    const uint32_t found = bits_[t] | warnings_[t];
    const uint32_t bits = found ? found : is_held_[t] ? uint32_t{HELD} : 0u;
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

  int list_turns(int transmission, int actuator, double & turn) {
    const int j = transmissions[transmission].joints[0];
    const auto & limits = setup_.joint_limits[j].values;
    if (!std::isfinite(limits[lower]) || !std::isfinite(limits[upper])) return 0;
    Actuators actuators;
    Joints joints;
    actuators.fill(unknown);
    int count = 0;
    for (int k = -most_turns; k <= most_turns; k++) {
      actuators[position][actuator] = readings_[actuator] + k * setup_.periods[actuator];
      to_joint(&scratch_, actuators.values, joints.values);
      if (!is_within(joints[position][j], limits[lower], limits[upper])) continue;
      turn = k * setup_.periods[actuator];
      count++;
    }
    return count;
  }

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
  std::array<double, n_actuators> motor_origins_;
  std::array<bool, n_joints> waits_{};

  // Of several threads: a switch of an asynchronous component.
  std::array<std::array<std::atomic<bool>, n_joints>, n_rows> claims_;
  std::array<std::atomic<bool>, n_transmissions> is_refused_;
  std::array<std::atomic<double>, n_joints> positions_;
};

}  // namespace MAPPED_NAMESPACE
