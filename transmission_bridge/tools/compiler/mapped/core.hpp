// SPDX-License-Identifier: Apache-2.0
//
// Maps, modes, limits, holds and ends of a component, without ROS. After its construction nothing
// allocates, locks, throws or logs, except what returns a sentence.
#pragma once

#include <atomic>
#include <bitset>
#include <cstdint>

#include "mapped/setup.hpp"

namespace MAPPED_NAMESPACE {

// Rows are unknown at first.
template <int N>
struct Rows {
  double values[n_rows][N];

  Rows() {
    for (auto & row : values) std::fill(row, row + N, unknown);
  }
  double * operator[](int row) { return values[row]; }
  const double * operator[](int row) const { return values[row]; }
};

using Actuators = Rows<n_actuators>;
using Joints = Rows<n_joints>;

// Of interfaces of joints.
using Flags = std::bitset<n_rows * n_joints>;
constexpr std::size_t flag(int row, int joint) { return row * std::size_t{n_joints} + joint; }

// Bits of the status of a transmission beside those of its C functions, and what they mean.
enum : uint32_t {
  HALF = 64,
  ACTUATOR_LIMIT = 128,
  FOLLOWER = 256,
  JOINT_LIMIT = 512,
  REACHED = 1024,
  STEP = 2048,
  REFUSED = 4096,
  WARNING = 8192,  // of reports only: a step that is sent
  HELD = 16384     // of reports only: no result, its actuators hold
};
constexpr int n_bits = 15;
inline constexpr const char * meanings[] = {
  "not all of its joints are claimed",
  "a limit of an actuator",
  "a limit of a joint that follows",
  "a limit of a joint",
  "a velocity or effort towards a position limit that is reached",
  "a position too far from the last one for the velocity limit",
  "the driver refused the mode",
  "a position too far from the last one for the velocity limit, which is sent"};

// Of comparisons with limits, of the magnitude of the limit or of one.
constexpr double rounding = 1e-9;

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
  const double low = limits.low(position), high = limits.high(position);
  const double sign = is_beyond ? -1.0 : 1.0;
  return (rate > 0.0 && at > high - sign * margin(high)) ||
         (rate < 0.0 && at < low + sign * margin(low));
}

inline bool are_finite(const double * values, const std::vector<int> & indices) {
  return std::all_of(indices.begin(), indices.end(),
                     [&](int k) { return std::isfinite(values[k]); });
}

class Core {
public:
  explicit Core(const Setup & setup)
  : setup_(setup), running_(setup.is_async ? 3 : 2), state_(setup.state), scratch_(setup.state) {
    forget();
  }

  // Forget what was measured and claimed.
  void forget() {
    measured_ = {};
    joints_ = {};
    for (auto & position : positions_) position = unknown;
    for (int a = 0; a < n_actuators; a++)
      turns_[a] = std::isnan(setup_.turns[a].period) ? 0.0 : unknown;
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

  // Returns a sentence if the turn of an actuator with a single-turn encoder is unknown.
  std::string find_unknown_turn() const {
    for (int a = 0; a < n_actuators; a++) {
      const auto & [period, low, high] = setup_.turns[a];
      if (std::isnan(turns_[a]))
        return "the turn of actuator '" + std::string(actuator_names[a]) +
               "' is unknown: expected it within the limits of its joint, " + write(low) + " to " +
               write(high) + ", found reading " + write(readings_[a]);
    }
    return "";
  }

  // Start at the measured positions.
  void begin() {
    parts_ = {};
    targets_ = {};
    motor_origins_.fill(unknown);
    for (auto & is_refused : is_refused_) is_refused = false;
    claimed_ = read_claims();
    sent_ = {};
  }

  // A cycle of commands: choose the rows that are claimed, then give what their interfaces hold.
  void choose_runs() {
    const Flags before = claimed_;
    claimed_ = read_claims();
    for (const int t : setup_.own) {
      auto & [writes, bits, report, held_for, next_reports] = parts_[t];
      bits = is_refused_[t] ? REFUSED | HELD : 0u;
      for (int row = 0; row < n_rows; row++) {
        const bool ran = writes[row] == running_, runs = is_running(claimed_, t, row);
        writes[row] = runs ? running_ : std::max(writes[row] - 1, 0);
        if (runs && !ran) start_row(t, row, before);
        for (const int j : transmissions[t].joints)
          if (claimed_[flag(row, j)] && !runs) bits |= HALF;
      }
    }
  }

  // What an interface holds, in SI; NaN is no command. It stays until the row starts again.
  double & command(int row, int joint) { return given_[row][joint]; }

  // Returns whether there was no result for hold_timeout.
  bool map_commands(double period) {
    now_ += period;
    command_ = {};
    for (const int t : setup_.own)
      for (int row = 0; row < n_rows; row++)
        for (const int j : transmissions[t].joints)
          if (parts_[t].writes[row] > 0 && std::isfinite(given_[row][j]))
            command_[row][j] = given_[row][j];
    apply_rules();
    sent_ = {};
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
    return start | (read_claims() & ~stop);
  }

  // A sentence if a switch starts only some joints of a transmission.
  std::string find_half(const Flags & next, const Flags & start) const {
    for (const int t : setup_.own) {
      const auto & joints = transmissions[t].joints;
      for (int row = 0; row < n_rows; row++) {
        const auto is_started = [&](int j) { return start[flag(row, j)]; };
        if (!is_running(next, t, row) && std::any_of(joints.begin(), joints.end(), is_started))
          return "transmission '" + transmissions[t].name + "': expected " + row_names[row] +
                 " commands of all its " + std::to_string(joints.size()) +
                 " joints at once, found some of them";
      }
    }
    return "";
  }

  // Switch. If the driver has refused it, only the stop acts, and the joints that it concerns have
  // no result until the next switch.
  void switch_claims(const Flags & start, const Flags & stop, bool is_refused) {
    for (const int t : setup_.own)
      for (const int j : transmissions[t].joints)
        for (int row = 0; row < n_rows; row++)
          if ((start | stop)[flag(row, j)]) is_refused_[t] = is_refused;
    set_claims(plan_switch(is_refused ? Flags{} : start, stop));
  }

  static bool runs_actuator(const Flags & claims, int row, int actuator) {
    const int t = actuator < 0 ? -1 : actuator_owners[actuator];
    return t >= 0 && is_running(claims, t, row);
  }

  Flags read_claims() const {
    Flags claims;
    for (std::size_t k = 0; k < claims.size(); k++) claims[k] = claims_[k];
    return claims;
  }

  void set_claims(const Flags & claims) {
    for (std::size_t k = 0; k < claims.size(); k++) claims_[k] = claims[k];
  }

  // What a command interface holds when it is claimed; also from another thread.
  double first_command(int row, int joint) const {
    return row == position ? positions_[joint].load() : unknown;
  }

  // The position, velocity or effort of a joint, also of one that follows by <mimic>; the row
  // behind them has the statuses of transmissions.
  double read_state(int row, int index) const {
    if (row == n_rows) return state_bits_[index] | (parts_[index].bits & (WARNING - 1));
    if (index < n_joints) return joints_[row][index];
    const auto & follower = setup_.followers[index - n_joints];
    const double value = follower.multiplier * joints_[row][follower.joint];
    return row == effort ? unknown : value + (row == position ? follower.offset : 0.0);
  }

  // What to write in the units of the driver; NaN is nothing.
  const Actuators & sent() const { return sent_; }
  // A sentence to report now, each reason at most once per second; else it is empty.
  std::string describe_report(int t) const {
    const uint32_t bits = parts_[t].report;
    if (bits == 0) return "";
    std::string reasons;
    for (uint32_t k = 0, bit = 1; bit < HELD; k++, bit *= 2)
      if (bits & bit)
        reasons += (reasons.empty() ? "" : "; ") +
                   std::string(bit < HALF ? status_text(bit) : meanings[k - 6]);
    return "transmission '" + transmissions[t].name + "' of joint '" +
           joint_names[transmissions[t].joints[0]] +
           "': " + (bits & HELD ? "no result, its actuators hold: " : "") +
           (reasons.empty() ? "not all joints have a command" : reasons);
  }

private:
  // What a transmission does.
  struct Part {
    // Of each row, how many writes are left: the full number while it runs.
    std::array<int, n_rows> writes{};
    uint32_t bits = 0, report = 0;
    double held_for = 0.0;
    std::array<double, n_bits> next_reports{};
  };

  // The last position that was accepted, and when it changed. A joint that waits keeps it.
  struct Target {
    double origin = unknown, accepted = -infinite;
    bool waits = false;
  };

  // A row of a transmission is mapped if all its joints are claimed.
  static bool is_running(const Flags & claims, int t, int row) {
    const auto & joints = transmissions[t].joints;
    return !joints.empty() &&
           std::all_of(joints.begin(), joints.end(), [&](int j) { return claims[flag(row, j)]; });
  }

  // A joint that starts is at its measured position. One that was claimed before, while its
  // partner was not, waits until its command is near: its controller did not know that nothing
  // moves.
  void start_row(int t, int row, const Flags & claimed_before) {
    for (const int j : transmissions[t].joints) {
      given_[row][j] = unknown;
      if (row == position)
        targets_[j] = {joints_[row][j], -infinite, claimed_before[flag(row, j)]};
    }
    for (const int a : transmissions[t].owned)
      if (row == position) motor_origins_[a] = measured_[row][a];
  }

  void apply_rules() {
    const bool has_limits = setup_.options.limits != off;
    for (const int t : setup_.own) {
      if (has_limits) limit_joints(t);
      limit_steps(t);
    }
    map_command();
    for (const int t : setup_.own) {
      const auto & joints = transmissions[t].joints;
      parts_[t].bits |= state_.status[t];
      // A rate of zero is zero at any position.
      for (const int row : {velocity, effort})
        if (std::all_of(joints.begin(), joints.end(),
                        [&](int j) { return command_[row][j] == 0.0; }))
          for (const int a : transmissions[t].owned) mapped_[row][a] = 0.0;
      if (has_limits) limit_actuators(t);
    }
    if (has_limits) limit_followers();
  }

  // Rates without a position are mapped at the measured one. It is given as a command, because the
  // map keeps only commanded positions as the start of its next solution.
  void map_command() {
    Joints command = command_;
    std::array<bool, n_transmissions> has_place{};
    for (const int t : setup_.own) {
      const auto & joints = transmissions[t].joints;
      const auto & writes = parts_[t].writes;
      has_place[t] = writes[position] == 0 && writes[velocity] + writes[effort] > 0 &&
                     are_finite(joints_[position], joints);
      for (const int j : joints)
        if (has_place[t]) command[position][j] = joints_[position][j];
    }
    to_actuator(&state_, command.values, joints_[position], mapped_.values);
    for (const int t : setup_.own)
      for (const int a : transmissions[t].owned)
        if (has_place[t]) mapped_[position][a] = unknown;
  }

  // Beyond a limit there is another number, or no result.
  void note_limit(int t, uint32_t bit) {
    parts_[t].bits |= setup_.options.limits == reject ? bit | HELD : bit;
  }

  // Limit a number. What starts beyond a position limit stays there, and moves inward only. No
  // velocity leads further out at a limit.
  double limit(int t, uint32_t bit, int row, double value, const Limits & limits, double at,
               double origin) {
    const double low = std::fmin(limits.low(row), row == position ? origin : unknown);
    const double high = std::fmax(limits.high(row), row == position ? origin : unknown);
    const bool stops = row == velocity && leads_outward(value, at, limits);
    if (!stops && (std::isnan(value) || is_within(value, low, high))) return value;
    note_limit(t, stops ? REACHED : bit);
    return stops ? 0.0 : std::clamp(value, low, high);
  }

  // An effort passes beyond a limit while the joint does not move: it may hold a load. Joints that
  // share too few motors stop together.
  void limit_joints(int t) {
    const auto & [name, joints, actuators, owned] = transmissions[t];
    bool stops_all = false;
    for (const int j : joints) {
      const auto & limits = setup_.joint_limits[j];
      const double at = joints_[position][j], rate = command_[velocity][j];
      for (int row = 0; row < n_rows; row++)
        command_[row][j] =
          limit(t, JOINT_LIMIT, row, command_[row][j], limits, at, targets_[j].origin);
      if (rate != 0.0 && command_[velocity][j] == 0.0) stops_all = owned.size() < joints.size();
      double & push = command_[effort][j];
      const double outward = push > 0.0 ? joints_[velocity][j] : -joints_[velocity][j];
      if (leads_outward(push, at, limits, true) && outward > setup_.options.zero_max_velocity) {
        push = 0.0;
        note_limit(t, REACHED);
      }
    }
    for (const int j : joints)
      if (stops_all && !std::isnan(command_[velocity][j])) command_[velocity][j] = 0.0;
  }

  void limit_steps(int t) {
    const auto & options = setup_.options;
    for (const int j : transmissions[t].joints) {
      auto & [origin, accepted, waits] = targets_[j];
      double & target = command_[position][j];
      const double speed = setup_.joint_limits[j].high(velocity);
      const double time = std::clamp(now_ - accepted, 0.0, longest_step) + extra_time;
      const double most = std::isfinite(speed) ? speed * time * (1.0 + rounding) : near_distance;
      const bool is_far = !(std::abs(target - origin) <= most);
      if (std::isnan(target)) continue;
      waits = waits && is_far;
      if (waits) {
        parts_[t].bits |= STEP;
        target = origin;
      } else if (is_far && std::isfinite(speed) && options.max_step != off) {
        const bool is_rejected = options.max_step == reject;
        if (is_rejected || !std::isnan(origin))
          parts_[t].bits |= is_rejected ? STEP | HELD : WARNING;
      }
    }
  }

  // A position is clamped if one motor moves one joint. Else it has no result, and the rates of
  // the motors are scaled together.
  void limit_actuators(int t) {
    const auto & [name, joints, actuators, owned] = transmissions[t];
    for (const int a : owned) {
      for (int row = 0; row < n_rows; row++) {
        const double wanted = mapped_[row][a];
        const double limited = limit(t, ACTUATOR_LIMIT, row, wanted, setup_.actuator_limits[a],
                                     measured_[position][a], motor_origins_[a]);
        if (row == position && joints.size() == 1 && actuators.size() == 1)
          mapped_[row][a] = limited;
        else
          scale(t, row, wanted, limited);
      }
    }
  }

  void scale(int t, int row, double wanted, double limited) {
    if (std::isnan(wanted) || limited == wanted) return;
    if (row == position) parts_[t].bits |= HELD;
    for (const int a : transmissions[t].owned)
      if (row != position) mapped_[row][a] *= limited / wanted;
  }

  // A position that leads a follower beyond its limits has no result; velocities are scaled.
  void limit_followers() {
    if (setup_.followers.empty()) return;
    Actuators actuators = mapped_;
    Joints joints;
    for (int a = 0; a < n_actuators; a++)
      if (std::isnan(actuators[position][a])) actuators[position][a] = measured_[position][a];
    to_joint(&scratch_, actuators.values, joints.values);
    for (const auto & [t, name, joint, multiplier, offset, limits] : setup_.followers) {
      if (t < 0) continue;
      const double at = multiplier * joints_[position][joint] + offset;
      const bool is_given = are_finite(mapped_[position], transmissions[t].owned);
      const double target = is_given ? multiplier * joints[position][joint] + offset : unknown;
      const double rate = multiplier * joints[velocity][joint];
      scale(t, position, target, limit(t, FOLLOWER, position, target, limits, at, unknown));
      scale(t, velocity, rate, limit(t, FOLLOWER, velocity, rate, limits, at, unknown));
    }
  }

  // Without a result positions hold, velocities are zero at once, and efforts as zero_effort says.
  // A row that ends sends once what its interfaces hold, but a velocity ends with zero at once,
  // and an effort with zero_effort, or one that cannot be mapped, also. Returns whether there was
  // no result for hold_timeout.
  bool finish(int t, double period) {
    const auto & [name, joints, actuators, owned] = transmissions[t];
    auto & [writes, bits, report, held_for, next_reports] = parts_[t];
    std::array<bool, n_rows> is_given{}, is_known{};
    for (int row = 0; row < n_rows; row++) {
      for (const int j : joints) is_given[row] = is_given[row] || std::isfinite(command_[row][j]);
      is_known[row] = are_finite(mapped_[row], owned);
      if (writes[row] == running_ && is_given[row] && !is_known[row]) bits |= HELD;
    }
    for (int row = 0; row < n_rows; row++) {
      const bool is_sent = is_known[row] && !(bits & HELD), ends = writes[row] < running_;
      const bool ends_with_zero = row == velocity || (row == effort && setup_.options.zero_effort);
      const bool is_zero =
        ends_with_zero ? ends || !is_sent : row == effort && ends && !is_sent && is_given[row];
      if (writes[row] == 0 || !(is_sent || is_zero)) continue;
      for (const int a : owned) {
        const double value = is_zero ? 0.0 : mapped_[row][a];
        sent_[row][a] = (value - (row == position ? turns_[a] : 0.0)) / scales[a][row];
      }
    }
    held_for = bits & HELD ? held_for + period : 0.0;
    return setup_.options.hold_timeout > 0.0 && held_for > setup_.options.hold_timeout;
  }

  void note_positions(int t) {
    const bool is_held = parts_[t].bits & HELD;
    if (parts_[t].writes[position] < running_) return;
    for (const int a : transmissions[t].owned) {
      const double motor = (is_held ? measured_ : mapped_)[position][a];
      if (!std::isnan(motor)) motor_origins_[a] = motor;
    }
    for (const int j : transmissions[t].joints) {
      auto & [origin, accepted, waits] = targets_[j];
      const double target = command_[position][j];
      if (waits) continue;
      if (!is_held && !std::isnan(target) && target != origin) accepted = now_;
      if (is_held || !std::isnan(target)) origin = is_held ? joints_[position][j] : target;
    }
  }

  // A hold is reported with its reasons.
  void choose_reports(int t) {
    auto & [writes, bits, report, held_for, next_reports] = parts_[t];
    report = 0;
    for (int k = 0; k < n_bits; k++) {
      const uint32_t bit = 1u << k;
      if (!(bits & bit) || now_ < next_reports[k] || (bit == HELD && bits != HELD)) continue;
      report |= bit | (bits & HELD);
      next_reports[k] = now_ + report_period;
    }
  }

  // A position of a single turn is followed from the first reading that has a turn within the
  // limits of the joint; it is unknown before.
  double add_turns(int actuator, double reading) {
    const auto & [period, low, high] = setup_.turns[actuator];
    double & turns = turns_[actuator];
    const bool is_first = std::isnan(turns);
    const double before = is_first ? 0.5 * (low + high) : measured_[position][actuator];
    const double nearest = std::rint((before - reading) / period) * period;
    readings_[actuator] = reading;
    if (std::isfinite(nearest) && (!is_first || is_within(reading + nearest, low, high)))
      turns = nearest;
    return reading + turns;
  }

  const Setup setup_;
  const int running_;  // what writes has of a row that runs: one, and those of its end
  State state_, scratch_;
  Actuators measured_, mapped_, sent_;  // sent: in the units of the driver
  Joints joints_, given_, command_;
  std::array<double, n_actuators> turns_, readings_, motor_origins_;
  std::array<uint32_t, n_transmissions> state_bits_{};
  std::array<Part, n_transmissions> parts_;
  std::array<Target, n_joints> targets_;
  Flags claimed_;
  double now_ = 0.0;  // the sum of the periods

  // Of several threads: a switch of an asynchronous component.
  std::array<std::atomic<bool>, n_rows * n_joints> claims_;
  std::array<std::atomic<bool>, n_transmissions> is_refused_;
  std::array<std::atomic<double>, n_joints> positions_;
};

}  // namespace MAPPED_NAMESPACE
