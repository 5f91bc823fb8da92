/* SPDX-License-Identifier: Apache-2.0
 *
 * Maps between the actuators and the joints of a robot: ROBOT.
 * Written by transmission_bridge compile. See README.md.
 */
#ifndef NAME_H
#define NAME_H

#include <stdint.h>

#ifdef __FAST_MATH__
#error "NAME marks unknown values by NaN: compile without -ffast-math"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Version of these functions and structures. */
#define NAME_ABI 1

/* Hash of fingerprint.json: transmission_bridge compile --check compares it with a robot. */
#define NAME_FINGERPRINT "@FINGERPRINT@"

/* Indices of the actuators and joints in each row, with their units. */
@ENUMERATIONS@

/* Live numbers, with their units. Fixed numbers need a new compilation: @FIXED@. */
@NUMBERS@

/* Reasons why a transmission has no result, or not all of it. */
enum {
  NAME_DOMAIN = 1,         /* outside of the range, or the mechanism does not reach it */
  NAME_NO_CONVERGENCE = 2, /* no certain solution */
  NAME_BRANCH = 4,         /* the solution is on another assembly */
  NAME_SINGULAR = 8,       /* velocity or effort at a dead centre */
  NAME_PARTIAL = 16,       /* coupled members, of which only some are known */
  NAME_NO_POSITION = 32    /* velocity or effort of a mechanism at an unknown position */
};

/* Reasons why NAME_set rejects a value. */
enum {
  NAME_UNKNOWN_NUMBER = 1,
  NAME_NOT_FINITE = 2,
  NAME_ZERO = 3,
  NAME_OUT_OF_RANGE = 4,
  NAME_OTHER_SIGN = 5      /* of a reduction of a mechanism: compile the robot again */
};

extern const char *const NAME_actuator_names[@N_ACTUATORS@];
extern const char *const NAME_joint_names[@N_JOINTS@];
extern const char *const NAME_transmission_names[@N_TRANSMISSIONS@];
extern const char *const NAME_number_names[@N_NAMES@];

/* Everything that changes: numbers, last solutions, work arrays. One thread at a time. */
typedef struct {
  uint32_t status[@N_TRANSMISSIONS@]; /* of each transmission, by the last map */
  double values[@N_NAMES@];           /* the live numbers */
  double numbers[@N_VALUES@];
  double start[@N_START@];
  double given[@N_GIVEN@];
  double places[@N_PLACES@];
  double found[@N_FOUND@];
  double next[@N_NEXT@];
  double work[@N_WORK@];
  int index[@N_INDEX@];
} NAME_state;

/* Set all live numbers to those of the description, and forget the last solutions. */
void NAME_init(NAME_state *state);

/* Change a live number and forget the last solutions. Returns 0, or the reason of the rejection. */
int NAME_set(NAME_state *state, NAME_number which, double value);

/* Map position, velocity and effort [SI]; NaN is unknown. Returns the bits of all transmissions. */
uint32_t NAME_to_joint(NAME_state *state, const double actuator[3][NAME_ACTUATORS],
                       double joint[3][NAME_JOINTS]);

/*
 * Map a command; NaN is no command. Velocities without a position command, and efforts, are mapped
 * at the measured positions.
 */
uint32_t NAME_to_actuator(NAME_state *state, const double joint[3][NAME_JOINTS],
                          const double measured[NAME_JOINTS],
                          double actuator[3][NAME_ACTUATORS]);

/* Describe one bit. */
const char *NAME_status_text(uint32_t bit);

/* Describe a result of NAME_set. */
const char *NAME_reason_text(int reason);

#ifdef __cplusplus
}
#endif

#endif
