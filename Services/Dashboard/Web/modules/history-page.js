// The page of someone's history: workouts by month with filters, weeks, load, calendar and records, from the browser's copy.

import {calendarYear, dayAt, dayText, shortDayText, weekdays, weeksOf, yearOf, months as monthNames} from "./calendar.js";
import {titleOf} from "./cards.js";
import {all, announce, byID, make, setText, show} from "./dom.js";
import {format, joined, ownZone, rowOf, when} from "./format.js";
import {drawChart, roundMarks, vector} from "./history-chart.js";
import {openHistory} from "./history-copy.js";
import {began} from "./history-merge.js";
import {byMonth, choices, figures, filtered, records, sketchPath, sumText, sums} from "./history-view.js";
import {formText, loadDays, loadSeries} from "./load.js";
import {bus, busOf, isOperator, isSettled, login, ownsWorkouts, serverNow, settle, units, whenUnitsChange} from "./page.js";
import {userTopic} from "./topics.js";

/** @typedef {import("./history-merge.js").Workout} Workout */

if (isOperator) {
  location.replace("/operator");
  await new Promise(() => {});
}

/** Rows of one page of the list. */
const pageSize = 50;
const weekCount = 12;
/** Milliseconds: the record follows the end. */
const delay = 500;
/** Milliseconds between drawings while pages of changes come. */
const drawInterval = 700;
/** Milliseconds after which a page that has been hidden asks for changes. */
const freshFor = 60_000;
/**
 * Days of the load's periods.
 *
 * @type {Record<string, number>}
 */
const spans = {
  "3 months": 91,
  "1 year": 365,
  All: Infinity
};

const query = new URLSearchParams(location.search);
/** Whose history it is; nothing until the broker says whom a viewer sees. */
let user = query.get("user") ?? (ownsWorkouts ? login : "");
/** @type {import("./history-copy.js").History | undefined} */
let history;
/** @type {string | undefined} of the last attempt to bring the copy up to date */
let failure;
let isUpdating = false;
let updatedAt = -Infinity;

/** @type {import("./history-view.js").Filter} */
let filter = {activity: "", year: "", text: ""};
let shown = pageSize;
/** @type {"count" | "time" | "distance" | "ascent"} */
let measure = "time";
let span = "3 months";
/** @type {number | undefined} the calendar's year, if one was chosen */
let chosenYear;

const today = () => dayAt(serverNow(), ownZone());
const select = (/** @type {string} */ id) => /** @type {HTMLSelectElement} */ (byID(id));
const textField = /** @type {HTMLInputElement} */ (byID("filters").querySelector("input"));

// MARK: The copy

/** @param {string} name whose history is shown from now on */
async function open(name) {
  history?.close();
  history = undefined;
  user = name;
  [filter, shown, chosenYear, failure] = [{activity: "", year: "", text: ""}, pageSize, undefined, undefined];
  textField.value = "";
  setText(byID("title"), user === login ? "History" : `History of ${user}`);
  document.title = user === login ? "History" : `History of ${user}`;
  const opened = await openHistory(user);
  if (user !== name) return opened.close();
  history = opened;
  history.onChange = drawSoon;
  draw();
  update();
}

/** @returns {Promise<void>} */
async function update() {
  const mine = history;
  if (!mine || isUpdating) return;
  isUpdating = true;
  drawAge();
  try {
    await mine.update();
    if (mine === history) failure = undefined;
    updatedAt = performance.now();
  } catch {
    if (mine === history) failure = "failed";
  }
  isUpdating = false;
  if (mine !== history) return update();
  draw();
}

/**
 * A workout that ends changes the person's `current`.
 *
 * @type {(() => void) | undefined}
 */
let endCurrent;
/** @param {string} name */
function follow(name) {
  endCurrent?.();
  let isFirst = true;
  endCurrent = busOf(name).subscribe(userTopic(name, "current"), {
    onMessage() {
      if (!isFirst) setTimeout(update, delay);
      isFirst = false;
    },
    // Also after a connection was lost.
    onReady: () => {
      isFirst = false;
      update();
    }
  });
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden && performance.now() - updatedAt > freshFor) update();
});

bus.subscribe(`$SYS/pacebus/accounts/${login}`,
  {onMessage: (_, account) => see(account?.users ?? []), onReady: () => user || see([])});

/** @param {string[]} users whom the account may see */
function see(users) {
  const people = [...(ownsWorkouts ? [login] : []), ...users.filter((name) => name !== login).sort()];
  const field = select("person");
  show(byID("person-field"), people.length > 1 || (people.length === 1 && people[0] !== login));
  field.replaceChildren(
    ...people.map((name) => make("option", {value: name}, name === login ? `${name} (you)` : name)));
  if (!user && people.length > 0) {
    open(people[0]);
    follow(people[0]);
  }
  if (!user) {
    setText(byID("empty"), "Nothing to see yet.");
    settle();
  }
  // One whom the account does not see has no history here.
  if (user && !people.includes(user)) {
    failure = "refused";
    draw();
  }
  field.value = user;
}
select("person").addEventListener("change", () => {
  const name = select("person").value;
  globalThis.history.replaceState(
    undefined, "", name === login ? "/history" : `/history?user=${encodeURIComponent(name)}`);
  open(name);
  follow(name);
});

// MARK: Drawing

const of = () => {
  const workouts = history?.all() ?? [];
  return filter.activity ? workouts.filter(({activity}) => activity === filter.activity) : workouts;
};

function draw() {
  if (!history) return;
  const workouts = history.all();
  const isEmpty = workouts.length === 0;
  const isKnown = history.at > 0 || !isEmpty;
  show(byID("all"), !isEmpty);
  show(byID("empty"), isEmpty);
  show(byID("import-link"), user === login);
  setText(byID("empty"), emptyText(isKnown));
  drawAge();
  if (!isEmpty) {
    drawChoices();
    drawLens();
    drawList();
    drawLoad();
  }
  if (isKnown || failure) settle();
}

let isDrawing = false;
/** The first load brings 100 workouts at a time. */
function drawSoon() {
  if (isDrawing) return;
  isDrawing = true;
  setTimeout(() => {
    isDrawing = false;
    draw();
  }, isUpdating && isSettled() ? drawInterval : 0);
}

/** @param {boolean} isKnown */
function emptyText(isKnown) {
  if (failure === "refused") return `You may not see the workouts of ${user}.`;
  if (failure) return "The history is not available now.";
  if (!isKnown) return "Loading…";
  return user === login
    ? "No workout yet. The first one will be here when it is finished. Those of other apps can be imported."
    : `${user} has no workout yet.`;
}

/** Says how old the copy is, while it cannot be brought up to date. */
function drawAge() {
  const isStale = history !== undefined && history.at > 0 && (bus.state !== "open" || failure !== undefined);
  setText(byID("as-of"), isStale ? `As of ${when(/** @type {any} */ (history).at, ownZone())}, from this browser` : "");
}
setInterval(drawAge, 1000);

/** What changes with the activity. */
function drawLens() {
  for (const id of ["weeks-part", "calendar-part"]) byID(id).dataset.activity = filter.activity;
  drawWeeks();
  drawCalendar();
  drawRecords();
}

/**
 * Radio buttons that look like one.
 *
 * @param {HTMLElement} box @param {string} name @param {[string, string][]} options value and label @param {string} value
 * @param {(value: any) => void} choose
 */
function setChoice(box, name, options, value, choose) {
  const key = JSON.stringify(options);
  if (box.dataset.shown !== key) {
    box.dataset.shown = key;
    const held = box.contains(document.activeElement);
    for (const label of all("label", box)) label.remove();
    for (const [option, text] of options) {
      const input = make("input", {type: "radio", name, value: option});
      input.addEventListener("change", () => choose(option));
      box.append(make("label", {data: name === "activity" ? {activity: option} : {}}, input, make("span", {}, text)));
    }
    if (held) /** @type {HTMLElement | null} */
      (box.querySelector(`input[value="${value}"]`))?.focus();
  }
  for (const input of all("input", box)) /** @type {HTMLInputElement} */
    (input).checked =
      /** @type {HTMLInputElement} */ (input).value === value;
}

function drawChoices() {
  const {activities, years} = choices(/** @type {any} */ (history).all());
  if (filter.activity && !activities.includes(filter.activity)) filter = {...filter, activity: ""};
  show(byID("activities"), activities.length > 1);
  setChoice(byID("activities"), "activity",
    [
      ["", "All"],
      ...activities.map((each) => /** @type {[string, string]} */ ([each, rowOf({activity: each}).title ?? each]))
    ],
    filter.activity, (activity) => {
      filter = {...filter, activity, day: undefined};
      shown = pageSize;
      drawLens();
      drawList();
    });
  const field = select("year");
  if (field.dataset.shown !== years.join()) {
    field.dataset.shown = years.join();
    field.replaceChildren(
      make("option", {value: ""}, "All years"), ...years.map((year) => make("option", {value: year}, year)));
  }
  field.value = filter.year;
}

// MARK: Weeks

/** @type {Record<string, [string, string]>} label, quantity */
const measures = {
  time: ["Time", "duration"],
  distance: ["Distance", "distance"],
  ascent: ["Ascent", "height"],
  count: ["Workouts", "count"]
};

/** @param {string} key @param {number} value */
const measureText = (key, value) => format(measures[key][1], value, {units: units(), activity: filter.activity});

/**
 * Hours and minutes: seconds matter to nobody in a week.
 *
 * @param {number} seconds
 */
const hoursText = (seconds) => {
  const minutes = Math.round(seconds / 60);
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}`;
};

function drawWeeks() {
  const weeks = weeksOf(of(), today(), weekCount);
  const current = weeks[weeks.length - 1];
  const keys = /** @type {(keyof typeof current & string)[]} */ (Object.keys(measures).filter(
    (key) => key === "time" || key === "count" || weeks.some((week) => week[/** @type {"distance"} */ (key)] > 0)));
  if (!keys.includes(measure)) measure = "time";
  byID("week").replaceChildren(...keys.map((key) => {
    const {number, unit} =
      key === "time" ? {number: hoursText(current.time), unit: "h"} : measureText(key, current[key]);
    return make("div", {className: "week-figure"}, make("dt", {}, measures[key][0]),
      make("dd", {}, make("span", {className: "number"}, number), " ", make("span", {className: "unit"}, unit)));
  }));
  setChoice(byID("measures"), "measure", keys.map((key) => [key, measures[key][0]]), measure, (value) => {
    measure = value;
    drawWeeks();
  });
  const most = Math.max(...weeks.map((week) => week[measure]), 1e-9);
  const highest = weeks.findIndex((week) => week[measure] === most);
  byID("weeks").replaceChildren(...weeks.map((week, index) => {
    const value = week[measure];
    const bar = make("span", {className: "week-bar"});
    bar.style.height = `${value / most * 100}%`;
    const isLast = index === weekCount - 1;
    const label = measure === "time" ? hoursText(value) : measureText(measure, value).number;
    const text = `Week of ${shortDayText(week.monday)}: ${sumText(week, units())}` +
      (week.ascent > 0 ? ` · ${joined(measureText("ascent", week.ascent))} up` : "");
    const item =
      make("li", {title: text, className: isLast ? "current" : ""}, make("span", {className: "hidden-text"}, text),
        make("span", {className: "week-room", ariaHidden: "true"},
          ...(value > 0 && (isLast || index === highest) ? [make("span", {className: "week-value"}, label)] : []), bar),
        make("span", {className: "week-label", ariaHidden: "true"},
          isLast                             ? "now"
            : index % 4 === 3 || index === 0 ? shortDayText(week.monday)
                                             : ""));
    return item;
  }));
}

// MARK: The list

function drawList() {
  const found = filtered(of(), filter);
  setText(byID("sum"),
    found.length === 0
      ? "No workout is like this."
      : sumText(sums(found), units()) + (filter.day === undefined ? "" : ` on ${dayText(filter.day)}`));
  show(byID("clear"), filter.day !== undefined || filter.text.trim() !== "" || filter.year !== "");
  const months = byMonth(found.slice(0, shown));
  const totals = new Map();
  // The whole month counts, also what is on the next page.
  for (const {key, count, time} of byMonth(found)) totals.set(key, {count, time});
  const list = byID("list");
  const held =
    list.contains(document.activeElement) ? /** @type {HTMLElement} */ (document.activeElement).dataset.key : undefined;
  list.replaceChildren(...months.map((month) => {
    const {count, time} = totals.get(month.key);
    return make("section", {className: "month"},
      make("h3", {}, month.label, " ", make("small", {}, `${count} · ${hoursText(time)} h`)),
      make("ul", {}, ...month.workouts.map(row)));
  }));
  if (held) /** @type {HTMLElement | null} */
    (list.querySelector(`[data-key="${held}"]`))?.focus({preventScroll: true});
  show(byID("older"), found.length > shown);
}

/** @param {Workout} workout */
function row(workout) {
  const {session, activity, name, sketch} = workout;
  const path = sketchPath(sketch);
  const drawing = vector("svg", {viewBox: "0 0 44 44", class: "sketch", "aria-hidden": "true"});
  if (path) drawing.append(vector("path", {d: path}));
  else drawing.append(vector("circle", {cx: 22, cy: 22, r: 5}));
  const date = when(began(workout), workout.timeZone).replace(/ \d{4}/, "");
  const link = make("a", {className: "row-link", href: `/workout/${user}/${session}`, data: {key: session}}, drawing,
    make("span", {className: "row-name"}, make("strong", {}, titleOf(activity, name)), " ", make("small", {}, date)),
    " ",
    make("span", {className: "row-figures"},
      ...figures(workout, units()).flatMap(({key, text}) => [make("span", {className: `of-${key}`}, text), " "])));
  return make("li", {className: "workout-row", data: {activity}}, link);
}

textField.addEventListener("input", () => {
  filter = {...filter, text: textField.value};
  shown = pageSize;
  drawList();
});
byID("filters").addEventListener("submit", (event) => event.preventDefault());
select("year").addEventListener("change", () => {
  filter = {...filter, year: select("year").value, day: undefined};
  shown = pageSize;
  if (filter.year) chosenYear = Number(filter.year);
  drawList();
  drawCalendar();
});
byID("clear").addEventListener("click", () => {
  filter = {...filter, text: "", year: "", day: undefined};
  textField.value = "";
  select("year").value = "";
  drawList();
  drawCalendar();
  textField.focus();
});
byID("older").addEventListener("click", () => {
  const rows = all("#list .workout-row a").length;
  shown += pageSize;
  drawList();
  // What was added follows.
  all("#list .workout-row a")[rows]?.focus({preventScroll: true});
});

// MARK: Load

/** @type {Record<string, [string, string]>} title, and what it counts */
const loads = {
  heartRate: ["Heart rate load", "TRIMP"],
  stress: ["Training stress by power", "points"]
};

function drawLoad() {
  const end = today();
  const workouts = /** @type {import("./history-copy.js").History} */ (history).all();
  const series = Object.entries(loadSeries)
                   .map(([key, loadOf]) => ({key, days: loadDays(workouts, loadOf, ownZone(), end)}))
                   .filter(({days}) => days.length > 0);
  show(byID("load-part"), series.length > 0);
  show(byID("load-link"), series.length > 0);
  setChoice(byID("spans"), "span", Object.keys(spans).map((name) => [name, name]), span, (value) => {
    span = value;
    drawLoad();
  });
  byID("loads").replaceChildren(...series.map(({key, days}) => loadBox(key, days.slice(-spans[span]))));
}

/** @param {string} key @param {import("./load.js").LoadDay[]} days */
function loadBox(key, days) {
  const [title] = loads[key];
  const last = days[days.length - 1];
  /** @type {[string, string, number][]} */
  const values = [["long", "Fitness", last.long], ["short", "Fatigue", last.short], ["form", "Form", last.form]];
  const box = make("figure", {className: "load", data: {series: key}}, make("h3", {}, title),
    make("dl", {className: "load-figures"},
      ...values.map(([name, label, value]) => make("div", {className: `of-${name}`}, make("dt", {}, label),
                      make("dd", {data: {value: value.toFixed(3)}},
                        (name === "form" && value >= 0.5 ? "+" : "") + joined(format("count", value)))))),
    make("p", {className: "load-words"}, formText(last)));
  const chart = make("div", {className: "chart-box"});
  const {low, high, values: marks} = roundMarks(
    Math.min(0, ...days.map(({form}) => form)), Math.max(1, ...days.map(({long, short}) => Math.max(long, short))), 4);
  const [first, end] = [days[0].day, Math.max(last.day, days[0].day + 1)];
  const line = (/** @type {"long" | "short" | "form"} */ name) =>
    ({className: `of-${name}`, points: days.map((each) => /** @type {[number, number]} */ ([each.day, each[name]]))});
  drawChart(chart, {
    lines: [line("short"), line("long")],
    areas: [line("form")],
    from: first,
    to: end,
    low,
    high,
    yMarks: marks.map((value) => ({value, text: joined(format("count", value))})),
    xMarks: [0, 1, 2, 3].map((part) => first + Math.round((end - first) * part / 3)).map((day) => ({
      value: day,
      text: end - first > 330 ? `${shortDayText(day).split(" ")[1]} ${yearOf(day)}` : shortDayText(day)
    }))
  });
  const table = make("table", {className: "load-table"},
    make("thead", {}, make("tr", {}, ...["Day", "Fitness", "Fatigue", "Form"].map((text) => {
      const head = make("th", {}, text);
      head.setAttribute("scope", "col");
      return head;
    }))));
  const details = make("details", {className: "more"}, make("summary", {}, "As a table"));
  details.addEventListener("toggle", () => {
    if (table.parentElement) return;
    // A row a week, the newest first.
    const rows = days.filter(({day}) => (last.day - day) % 7 === 0).reverse().slice(0, 60);
    table.append(make("tbody", {}, ...rows.map(({day, long, short, form}) => {
      const head = make("th", {}, dayText(day));
      head.setAttribute("scope", "row");
      return make(
        "tr", {}, head, ...[long, short, form].map((value) => make("td", {}, joined(format("count", value)))));
    })));
    details.append(table);
  });
  box.append(chart, details);
  return box;
}

// MARK: Calendar

/** The day that the arrow keys are at. */
let place = 0;

function drawCalendar() {
  const workouts = of();
  const {years} = choices(/** @type {any} */ (history).all());
  const now = today();
  const [newest, oldest] =
    [Math.max(yearOf(now), Number(years[0] ?? 0)), Number(years[years.length - 1] ?? yearOf(now))];
  const year = Math.min(newest, Math.max(oldest, chosenYear ?? Number(years[0] ?? yearOf(now))));
  setText(byID("calendar-year"), String(year));
  for (const [id, limit] of /** @type {[string, number][]} */ ([["year-before", oldest], ["year-after", newest]]))
    /** @type {HTMLButtonElement} */ (byID(id)).disabled = year === limit;
  const ofYear = filtered(workouts, {activity: "", text: "", year: String(year)});
  setText(byID("year-sum"), sumText(sums(ofYear), units()));
  const months = calendarYear(ofYear, year);
  const [first, last] = [months[0].days[0].day, months[11].days[30].day];
  if (place < first || place > last) place = Math.min(last, Math.max(first, filter.day ?? now));
  const held = byID("months").contains(document.activeElement);
  byID("months").replaceChildren(...months.map((month) => monthTable(month, year, now)));
  if (held) dayCell(place)?.focus({preventScroll: true});
}

/** @param {number} day @returns {HTMLElement | null} */
const dayCell = (day) => byID("months").querySelector(`[data-day="${day}"]`);

/** @param {import("./calendar.js").CalendarMonth} month @param {number} year @param {number} now */
function monthTable({month, offset, days}, year, now) {
  const table = make("table", {className: "month-table"},
    make("caption", {}, monthNames[month].slice(0, 3),
      make("span", {className: "hidden-text"}, `${monthNames[month].slice(3)} ${year}`)));
  table.setAttribute("role", "grid");
  table.append(make("thead", {}, make("tr", {}, ...weekdays.map((name) => {
    const head =
      make("th", {}, make("span", {ariaHidden: "true"}, name[0]), make("span", {className: "hidden-text"}, name));
    head.setAttribute("scope", "col");
    return head;
  }))));
  const body = make("tbody");
  for (let start = -offset; start < days.length; start += 7) {
    body.append(make("tr", {}, ...Array.from({length: 7}, (_, index) => {
      const day = days[start + index];
      if (!day) return make("td", {className: "no-day"});
      const text = `${day.date} ${monthNames[month]}: ` +
        (day.count === 0
            ? "none"
            : `${day.count} ${day.count === 1 ? "workout" : "workouts"}, ${joined(format("duration", day.seconds))}`);
      const cell = make("td", {
        className: `day level-${day.level}${day.day === now ? " today" : ""}`,
        data: {day: String(day.day)},
        tabIndex: day.day === place ? 0 : -1,
        title: text
      },
        make("span", {className: "hidden-text"}, text));
      if (day.day === filter.day) cell.setAttribute("aria-selected", "true");
      return cell;
    })));
  }
  table.append(body);
  return table;
}

/** @param {number} day */
function pick(day) {
  const count = Number(!dayCell(day)?.classList.contains("level-0"));
  if (count === 0) return;
  filter = {...filter, day: filter.day === day ? undefined : day, year: "", text: ""};
  textField.value = "";
  select("year").value = "";
  shown = pageSize;
  for (const cell of all("[aria-selected]", byID("months"))) cell.removeAttribute("aria-selected");
  if (filter.day !== undefined) dayCell(day)?.setAttribute("aria-selected", "true");
  drawList();
  announce(byID("sum").textContent ?? "");
  byID("list-part").scrollIntoView({block: "nearest"});
}

/** @param {number} day */
function moveTo(day) {
  const cell = dayCell(day);
  if (!cell) return;
  const before = dayCell(place);
  if (before) before.tabIndex = -1;
  place = day;
  cell.tabIndex = 0;
  cell.focus();
}

byID("months").addEventListener("click", ({target}) => {
  const cell = /** @type {HTMLElement | null} */ (/** @type {Element} */ (target).closest("[data-day]"));
  if (!cell) return;
  moveTo(Number(cell.dataset.day));
  pick(Number(cell.dataset.day));
});
/** @type {Record<string, number>} */
const steps = {
  ArrowLeft: -1,
  ArrowRight: 1,
  ArrowUp: -7,
  ArrowDown: 7,
  PageUp: -28,
  PageDown: 28
};
byID("months").addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  const days = all("[data-day]", byID("months")).map(({dataset}) => Number(dataset.day));
  const [first, last] = [days[0], days[days.length - 1]];
  if (event.key in steps) moveTo(Math.min(last, Math.max(first, place + steps[event.key])));
  else if (event.key === "Home") moveTo(first);
  else if (event.key === "End") moveTo(last);
  else if (event.key === "Enter" || event.key === " ") pick(place);
  else return;
  event.preventDefault();
});
for (const [id, step] of /** @type {[string, number][]} */ ([["year-before", -1], ["year-after", 1]]))
  byID(id).addEventListener("click", () => {
    chosenYear = Number(byID("calendar-year").textContent) + step;
    drawCalendar();
  });

// MARK: Records

function drawRecords() {
  const groups = records(of(), units());
  show(byID("records-part"), groups.length > 0);
  show(byID("records-link"), groups.length > 0);
  byID("records").replaceChildren(
    ...groups.map(({title, activity, records: rows}) => make("section", {className: "record-group", data: {activity}},
                    make("h3", {}, title), make("ul", {}, ...rows.map(({label, text, workout}) => {
                      const link = make("a", {href: `/workout/${user}/${workout.session}`},
                        make("span", {className: "record-name"}, label), make("strong", {}, text),
                        make("small", {}, dayText(dayAt(began(workout), workout.timeZone))));
                      return make("li", {}, link);
                    })))));
}

whenUnitsChange(() => isSettled() && draw());
if (user) {
  open(user);
  follow(user);
}
