// What pages show of an activity: the rows of Swift's `Activity`. `ModuleTests` prints it if they differ.

/** @typedef {{ title: string, figure?: string, cadence?: string, swims?: boolean }} Row */

/** @type {Record<string, Row>} */
export const activities = {
  running: {title: "Running", figure: "pace", cadence: "spm"},
  walking: {title: "Walking", figure: "pace", cadence: "spm"},
  hiking: {title: "Hiking", cadence: "spm"},
  cycling: {title: "Cycling", figure: "speed", cadence: "rpm"},
  rowing: {title: "Rowing"},
  swimming: {title: "Swimming", swims: true},
  traditionalStrength: {title: "Strength"},
  functionalStrength: {title: "Functional"},
  hiit: {title: "HIIT"},
  other: {title: "Other"},
};

/**
 * Words of a plan's focus and equipment that mean the activity.
 *
 * @type {Record<string, string>}
 */
export const planWords = {
  running: "jog jogger jogging run runner running runs treadmill",
  cycling: "bicycle bicycling bike bikeerg bikes biking cycle cycling cyclist spin spinning",
  rowing: "row rower rowing",
  swimming: "pool swim swimmer swimming",
};
