/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers, states and calls of the maps in NAME_map.c.
 */
#include "NAME.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

typedef int function(const double **, double **, int *, double *, int);
function NAME_j_near, NAME_j_full, NAME_a_near, NAME_a_full;

@NAMES@

/* How a live number may change. */
static const struct {
  double value, lowest, highest, smallest, largest;
  int may_change_sign;
} live[] = {
@LIVE@
};

/* The numbers of both maps and their tables, with the live numbers of the description. */
static const double base[] = {
@BASE@
};

/* A number that is a live number, or a product of a constant and factors. */
static const struct {
  int place, itself, factors, n_factors;
} rules[] = {
@RULES@
};

static const struct {
  int which, exponent;
} factors[] = {
@FACTORS@
};

/* Bounds that are unknown once a live number has changed. */
static const struct {
  int which, place;
  double value;
} unknown[] = {
@UNKNOWN@
};

/* A direction. Members are, for each transmission, counts and indices of inputs and outputs. */
struct direction {
  function *near, *full;
  int n_in, n_out, n_mechanisms, n_start, start, numbers;
  const int *tables, *owners, *members;
};

@DIRECTIONS@

static void load(NAME_state *state)
{
  int k, f;

  memcpy(state->numbers, base, sizeof state->numbers);
  for (k = 0; k < @N_RULES@; k++) {
    double *number = state->numbers + rules[k].place;

    if (rules[k].itself >= 0) {
      *number = state->values[rules[k].itself];
    }
    for (f = rules[k].factors; f < rules[k].factors + rules[k].n_factors; f++) {
      const double ratio = state->values[factors[f].which] / live[factors[f].which].value;

      *number = factors[f].exponent > 0 ? *number * ratio : *number / ratio;
    }
  }
  for (k = 0; k < @N_UNKNOWN@; k++) {
    if (state->values[unknown[k].which] != live[unknown[k].which].value) {
      state->numbers[unknown[k].place] = unknown[k].value;
    }
  }
  for (k = 0; k < @N_START@; k++) {
    state->start[k] = NAN;
  }
}

void NAME_init(NAME_state *state)
{
  int k;

  memset(state, 0, sizeof *state);
  for (k = 0; k < NAME_NUMBERS; k++) {
    state->values[k] = live[k].value;
  }
  load(state);
}

int NAME_set(NAME_state *state, NAME_number which, double value)
{
  const int k = (int)which;

  if (k < 0 || k >= NAME_NUMBERS) {
    return NAME_UNKNOWN_NUMBER;
  }
  if (!isfinite(value)) {
    return NAME_NOT_FINITE;
  }
  if (value == 0.0 && live[k].smallest > 0.0) {
    return NAME_ZERO;
  }
  if (value < live[k].lowest || value > live[k].highest || fabs(value) < live[k].smallest ||
      fabs(value) > live[k].largest) {
    return NAME_OUT_OF_RANGE;
  }
  if (!live[k].may_change_sign && (value < 0.0) != (live[k].value < 0.0)) {
    return NAME_OTHER_SIGN;
  }
  state->values[k] = value;
  load(state);
  return 0;
}

static double call(function *map, const struct direction *way, NAME_state *state, double *out)
{
  const double *arg[@N_ARG@];
  double *res[@N_RES@];
  double doubt = 0.0;
  int k;

  arg[0] = state->given;
  arg[1] = state->places;
  arg[2] = state->start + way->start;
  arg[3] = state->numbers + way->numbers;
  for (k = 0; k < way->n_mechanisms; k++) {
    /* Tables that no live number changes are not part of the state. */
    const double *numbers = way->tables[k] < @N_VALUES@ ? state->numbers : base;

    arg[4 + k] = way->tables[k] < 0 ? NULL : numbers + way->tables[k];
  }
  res[0] = out;
  res[1] = state->found;
  res[2] = state->next;
  res[3] = &doubt;
  map(arg, res, state->index, state->work, 0);
  return doubt;
}

static uint32_t run(NAME_state *state, const struct direction *way, const double *rows,
                    const double *measured, double *out)
{
  const int *member = way->members;
  uint32_t all = 0;
  int k, row, t, is_known = 1;

  for (k = 0; k < 3 * way->n_in; k++) {
    const int is_finite = isfinite(rows[k]);

    state->given[k] = is_finite ? rows[k] : NAN;
    is_known &= is_finite;
  }
  if (way->n_mechanisms == 0 && is_known) {
    /* Constant ratios, and nothing is missing. */
    call(way->near, way, state, out);
    memset(state->status, 0, sizeof state->status);
    return 0;
  }
  for (k = 0; k < way->n_in; k++) {
    const double place = measured && isfinite(measured[k]) ? measured[k] : NAN;

    state->places[k] = isnan(state->given[k]) ? place : state->given[k];
    state->places[way->n_in + k] = place;
  }
  if (call(way->near, way, state, out) < 0.0) {
    call(way->full, way, state, out);
  }
  memcpy(state->start + way->start, state->next, (size_t)way->n_start * sizeof *state->next);
  memset(state->status, 0, sizeof state->status);
  for (k = 0; k < way->n_mechanisms; k++) {
    state->status[way->owners[k]] |= (uint32_t)state->found[k];
  }
  for (t = 0; t < NAME_TRANSMISSIONS; t++) {
    const int *outputs = member + 1 + member[0];
    int is_mechanism = 0;

    for (k = 0; k < way->n_mechanisms; k++) {
      is_mechanism |= way->owners[k] == t;
    }
    for (row = 0; row < 3; row++) {
      int known = 0, is_lost = 0;

      for (k = 1; k <= member[0]; k++) {
        known += !isnan(state->given[row * way->n_in + member[k]]);
        is_lost |= row && isnan(state->places[(row - 1) * way->n_in + member[k]]);
      }
      if (is_mechanism && is_lost && known == member[0]) {
        state->status[t] |= NAME_NO_POSITION;
      }
      for (k = 1; known && known < member[0] && k <= outputs[0]; k++) {
        out[row * way->n_out + outputs[k]] = NAN;
      }
      if (known && known < member[0]) {
        state->status[t] |= NAME_PARTIAL;
      }
    }
    all |= state->status[t];
    member = outputs + 1 + outputs[0];
  }
  return all;
}

uint32_t NAME_to_joint(NAME_state *state, const double actuator[3][NAME_ACTUATORS],
                       double joint[3][NAME_JOINTS])
{
  return run(state, &to_joint, actuator[0], actuator[0], joint[0]);
}

uint32_t NAME_to_actuator(NAME_state *state, const double joint[3][NAME_JOINTS],
                          const double measured[NAME_JOINTS],
                          double actuator[3][NAME_ACTUATORS])
{
  return run(state, &to_actuator, joint[0], measured, actuator[0]);
}

const char *NAME_status_text(uint32_t bit)
{
  switch (bit) {
    case 0: return "success";
    case NAME_DOMAIN: return "outside of the range, or the mechanism does not reach it";
    case NAME_NO_CONVERGENCE: return "no certain solution";
    case NAME_BRANCH: return "the solution is on another assembly";
    case NAME_SINGULAR: return "velocity or effort at a dead centre";
    case NAME_PARTIAL: return "only some members of a coupled transmission are known";
    case NAME_NO_POSITION: return "velocity or effort of a mechanism at an unknown position";
    default: return "not one status bit";
  }
}

const char *NAME_reason_text(int reason)
{
  switch (reason) {
    case 0: return "accepted";
    case NAME_UNKNOWN_NUMBER: return "there is no such number";
    case NAME_NOT_FINITE: return "expected a finite number";
    case NAME_ZERO: return "expected a number other than zero";
    case NAME_OUT_OF_RANGE: return "the number is out of its range";
    case NAME_OTHER_SIGN: return "the sign of this reduction cannot change: compile the robot again";
    default: return "not a result of NAME_set";
  }
}
