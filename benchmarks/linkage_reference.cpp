// Copyright 2026 The transmission_bridge authors
//
// SPDX-License-Identifier: Apache-2.0
//
// The algorithm of joint_state_transformer (HIT-Robotics, with its robot_model), written anew:
// Levenberg and Marquardt on all rows of all loops, for all passive joints, from the last solution;
// positions only. It damps by 0.01, which falls or grows by ten, and goes from the end of each step
// back by tenths of it as long as that is better; residual and step have to be below a tolerance.
// Kinematics are those of the loops alone and nothing is allocated, so that it is quicker than the
// original, which moves the whole model. What follows where ten iterations are not enough is left
// out: the samples here never need it. Compiled by linkages.py.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace
{
struct Joint { int variable, slides; double axis[3], before[12]; };

struct Loop
{
  int type;  // 0 point, 1 hinge, 2 weld, 3 rod
  double length, axis[3], after[2][12];
  std::vector<Joint> chain[2];
};

// Iterations of a sample, and parts of a step that are gone back; the original's default.
const int INNER = 10, LINE_SEARCH = 10;

struct Linkage
{
  int n;
  std::vector<int> passive;
  std::vector<Loop> loops;
};

void times(const double * a, const double * b, double * out)
{
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 4; ++j) {
      double sum = j == 3 ? a[4 * i + 3] : 0.0;
      for (int k = 0; k < 3; ++k) {sum += a[4 * i + k] * b[4 * k + j];}
      out[4 * i + j] = sum;
    }
  }
}

void cross(const double * a, const double * b, double * out)
{
  out[0] = a[1] * b[2] - a[2] * b[1];
  out[1] = a[2] * b[0] - a[0] * b[2];
  out[2] = a[0] * b[1] - a[1] * b[0];
}

// The pose of a frame, and of each joint on the way its axis and a point on it.
void pose(
  const std::vector<Joint> & chain, const double * after, const double * z, double * here,
  double (*axes)[3], double (*points)[3])
{
  const double unit[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
  double next[12], moved[12];
  std::memcpy(here, unit, sizeof unit);
  for (size_t k = 0; k < chain.size(); ++k) {
    const Joint & j = chain[k];
    times(here, j.before, next);
    const double x = j.axis[0], y = j.axis[1], w = j.axis[2], q = z[j.variable];
    for (int i = 0; i < 3; ++i) {
      axes[k][i] = next[4 * i] * x + next[4 * i + 1] * y + next[4 * i + 2] * w;
      points[k][i] = next[4 * i + 3];
    }
    std::memcpy(moved, unit, sizeof unit);
    if (j.slides) {
      for (int i = 0; i < 3; ++i) {moved[4 * i + 3] = q * j.axis[i];}
    } else {
      const double c = std::cos(q), s = std::sin(q), d = 1 - c;
      const double turn[12] = {
        c + d * x * x, d * x * y - s * w, d * x * w + s * y, 0,
        d * x * y + s * w, c + d * y * y, d * y * w - s * x, 0,
        d * x * w - s * y, d * y * w + s * x, c + d * w * w, 0};
      std::memcpy(moved, turn, sizeof turn);
    }
    times(next, moved, here);
  }
  std::memcpy(next, here, sizeof next);
  times(next, after, here);
}

// Rows and, where asked for, their Jacobian by all joints; the geometric one, exact where it closes.
int rows_of(const Linkage & linkage, const double * z, double * miss, double * slope)
{
  int row = 0;
  for (const Loop & loop : linkage.loops) {
    double at[2][12], axes[2][32][3], points[2][32][3];
    for (int side = 0; side < 2; ++side) {
      pose(loop.chain[side], loop.after[side], z, at[side], axes[side], points[side]);
    }
    double way[3], turn[3] = {0, 0, 0}, across[2][3];
    for (int i = 0; i < 3; ++i) {way[i] = at[1][4 * i + 3] - at[0][4 * i + 3];}
    if (loop.type == 1) {  // two directions across the axis of one frame, and the other's axis
      const double along = std::fabs(loop.axis[0]) > 0.9 ? 1.0 : 0.0;
      const double helper[3] = {1 - along, along, 0};
      double sides[2][3], there[3], here[3];
      cross(loop.axis, helper, sides[0]);
      const double size = std::hypot(sides[0][0], sides[0][1], sides[0][2]);
      for (int i = 0; i < 3; ++i) {sides[0][i] /= size;}
      cross(loop.axis, sides[0], sides[1]);
      const auto turned = [&](int frame, const double * vector, double * out) {
          for (int i = 0; i < 3; ++i) {
            out[i] = 0;
            for (int k = 0; k < 3; ++k) {out[i] += at[frame][4 * i + k] * vector[k];}
          }
        };
      turned(1, loop.axis, there);
      for (int k = 0; k < 2; ++k) {
        turned(0, sides[k], here);
        cross(there, here, across[k]);
        for (int i = 0; i < 3; ++i) {turn[k] += here[i] * there[i];}
      }
    }
    for (int c = 0; c < 3 && loop.type == 2; ++c) {
      double one[3], other[3], sum[3];
      for (int i = 0; i < 3; ++i) {one[i] = at[0][4 * i + c]; other[i] = at[1][4 * i + c];}
      cross(one, other, sum);
      for (int i = 0; i < 3; ++i) {turn[i] += 0.5 * sum[i];}
    }
    const int count = loop.type == 3 ? 1 : loop.type == 0 ? 3 : loop.type == 1 ? 5 : 6;
    const double size = loop.length;
    for (int i = 0; i < count; ++i) {
      if (slope) {std::fill_n(slope + (row + i) * linkage.n, linkage.n, 0.0);}
      miss[row + i] = i < 3 ? way[i] : turn[i - 3];
    }
    if (loop.type == 3) {
      const double square = way[0] * way[0] + way[1] * way[1] + way[2] * way[2];
      miss[row] = (square - size * size) / (2 * size);
    }
    for (int side = 0; slope && side < 2; ++side) {
      const double sign = side ? 1.0 : -1.0;
      for (size_t k = 0; k < loop.chain[side].size(); ++k) {
        const Joint & j = loop.chain[side][k];
        double arm[3], line[3], * axis = axes[side][k];
        for (int i = 0; i < 3; ++i) {arm[i] = at[side][4 * i + 3] - points[side][k][i];}
        if (j.slides) {std::copy_n(axis, 3, line);} else {cross(axis, arm, line);}
        double * entry = slope + row * linkage.n + j.variable;
        if (loop.type == 3) {
          for (int i = 0; i < 3; ++i) {*entry += sign * way[i] * line[i] / size;}
          continue;
        }
        for (int i = 0; i < 3; ++i) {entry[i * linkage.n] += sign * line[i];}
        double bent[3] = {axis[0], axis[1], axis[2]};
        for (int k = 0; loop.type == 1 && k < 2; ++k) {
          bent[k] = axis[0] * across[k][0] + axis[1] * across[k][1] + axis[2] * across[k][2];
        }
        for (int i = 3; i < count && !j.slides; ++i) {entry[i * linkage.n] += sign * bent[i - 3];}
      }
    }
    row += count;
  }
  return row;
}
}  // namespace

extern "C" {
void * linkage_new(int n, int n_passive, const int * passive)
{
  return new Linkage{n, std::vector<int>(passive, passive + n_passive), {}};
}

void linkage_loop(
  void * linkage, int type, double length, const double * axis, const double * after1,
  const double * after2)
{
  Loop loop;
  loop.type = type;
  loop.length = length;
  std::copy_n(axis, 3, loop.axis);
  std::copy_n(after1, 12, loop.after[0]);
  std::copy_n(after2, 12, loop.after[1]);
  static_cast<Linkage *>(linkage)->loops.push_back(loop);
}

void linkage_joint(
  void * linkage, int side, int variable, int slides, const double * axis, const double * before)
{
  Joint joint;
  joint.variable = variable;
  joint.slides = slides;
  std::copy_n(axis, 3, joint.axis);
  std::copy_n(before, 12, joint.before);
  static_cast<Linkage *>(linkage)->loops.back().chain[side].push_back(joint);
}

// Close all samples one after the other; return how many are closed, and add up the iterations.
int linkage_run(void * pointer, int samples, double tolerance, double * z, long * iterations)
{
  const Linkage & linkage = *static_cast<Linkage *>(pointer);
  const int n = linkage.n, m = static_cast<int>(linkage.passive.size());
  std::vector<double> miss(256), slope(256 * n), factor(256 * 256), right(256), step(m), back(m);
  int closed = 0;
  for (int sample = 0; sample < samples; ++sample) {
    double * here = z + sample * n;
    const auto moved = [&](const std::vector<double> & way, double share) {
        for (int k = 0; k < m; ++k) {here[linkage.passive[k]] += share * way[k];}
      };
    int rows = 0;
    const auto measured = [&]() {
        rows = rows_of(linkage, here, miss.data(), nullptr);
        double square = 0;
        for (int i = 0; i < rows; ++i) {square += miss[i] * miss[i];}
        return square;
      };
    for (int k = 0; sample && k < m; ++k) {
      here[linkage.passive[k]] = here[linkage.passive[k] - n];
    }
    double damping = 1e-2, error = measured(), length = 4 * tolerance * tolerance;
    const double first = error, small = tolerance * tolerance;
    for (int number = 0; number < INNER && !(error < small && length < small); ++number) {
      ++*iterations;
      rows_of(linkage, here, miss.data(), slope.data());
      for (int i = 0; i < rows; ++i) {
        for (int j = 0; j <= i; ++j) {
          double sum = i == j ? damping : 0.0;
          for (const int k : linkage.passive) {sum += slope[i * n + k] * slope[j * n + k];}
          factor[i * rows + j] = sum;
        }
      }
      for (int i = 0; i < rows; ++i) {  // L D L'
        for (int j = 0; j < i; ++j) {
          for (int k = 0; k < j; ++k) {
            factor[i * rows + j] -= factor[i * rows + k] * factor[j * rows + k] *
              factor[k * rows + k];
          }
          factor[i * rows + j] /= factor[j * rows + j];
        }
        for (int k = 0; k < i; ++k) {
          factor[i * rows + i] -= factor[i * rows + k] * factor[i * rows + k] *
            factor[k * rows + k];
        }
      }
      for (int i = 0; i < rows; ++i) {
        right[i] = miss[i];
        for (int k = 0; k < i; ++k) {right[i] -= factor[i * rows + k] * right[k];}
      }
      for (int i = rows - 1; i >= 0; --i) {
        right[i] /= factor[i * rows + i];
        for (int k = i + 1; k < rows; ++k) {right[i] -= factor[k * rows + i] * right[k];}
      }
      length = 0;
      for (int k = 0; k < m; ++k) {
        step[k] = 0;
        for (int i = 0; i < rows; ++i) {step[k] -= slope[i * n + linkage.passive[k]] * right[i];}
        length += step[k] * step[k];
      }
      // The whole step, and from there back as long as that is better.
      moved(step, 1.0);
      double best = measured();
      for (int k = 0; k < m; ++k) {back[k] = -step[k] / LINE_SEARCH;}
      error = best;
      for (int search = 0; search < LINE_SEARCH; ++search) {
        moved(back, 1.0);
        error = measured();
        if (error > best) {
          moved(back, -1.0);
          error = measured();
          break;
        }
        best = error;
      }
      damping = error < first ? std::max(damping / 10, 1e-9) : std::min(damping * 10, 1e3);
    }
    if (!(error < small && length < small)) {return closed;}
    ++closed;
  }
  return closed;
}
}
