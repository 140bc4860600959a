import assert from "node:assert/strict";
import {Blob, Buffer, File} from "node:buffer";
import {test} from "node:test";
import {gzipSync} from "node:zlib";
import {appleWorkouts, tcxOf} from "../../../Services/Dashboard/Web/modules/apple-health.js";
import {isZip, readZip} from "../../../Services/Dashboard/Web/modules/archive.js";
import {findWorkouts, readTable, stravaRows} from "../../../Services/Dashboard/Web/modules/archive-kinds.js";
import {activityOf, beginningOf, titleOf} from "../../../Services/Dashboard/Web/modules/recorded.js";
import {zipOf} from "./zips.js";

const start = Date.parse("2026-05-03T08:00:00Z") / 1000;
const bytesOf = async (entry) => Buffer.from(await (await entry.content()).arrayBuffer());
const fileOf = (name, content) => new File([content], name);

function randomFrom(context) {
  let seed = Number(process.env.SEED ?? (Date.now() % 1_000_000) + 1);
  context.diagnostic(`SEED=${seed}`);
  return (limit) => (seed = (seed * 48_271) % 2_147_483_647) % limit;
}

/** The beginning of a FIT file: `file_id`, behind another message if asked for. */
function fit({type = 4, time = start, isLittle = true, isSecond = false} = {}) {
  const created = Buffer.alloc(4);
  isLittle ? created.writeUInt32LE(time - 631_065_600) : created.writeUInt32BE(time - 631_065_600);
  const other = [0x63, 0, 0, 49, 0, 1, 1, 1, 2, 1, 0, 3, 0, 0x03, 7, 1, 2, 3];
  const head = [14, 0x20, 0, 0, 0, 0, 0, 0, 0x2e, 0x46, 0x49, 0x54, 0, 0];
  return Buffer.from([
    ...head, ...(isSecond ? other : []), 0x40, 0, isLittle ? 0 : 1, 0, 0, 2, 0, 1, 0, 4, 4, 0x86, 0, type, ...created,
    0, 0
  ]);
}
const gpx = (time = start, name = "Run &amp; walk") =>
  `<?xml version="1.0"?><gpx><metadata><time>2030-01-01T00:00:00Z</time></metadata>
<trk><name>${name}</name><trkseg><trkpt lat="52.1" lon="13.2"><ele>3</ele><time>${
    new Date(time * 1000).toISOString()}</time></trkpt></trkseg></trk></gpx>`;

test("random archives are read as they were written", async (context) => {
  const random = randomFrom(context);
  for (let round = 0; round < 60; round++) {
    const entries = Object.fromEntries(Array.from({length: random(12)},
      (_, index) => [`${index}/é${random(9)}.bin`,
        Buffer.from(Array.from({length: random(3) * random(5000)}, () => random(round % 2 ? 256 : 3)))]));
    const options = {isWide: random(2) === 0, isStored: random(2) === 0, note: "x".repeat(random(3) * 300)};
    const found = await readZip(new Blob([zipOf({...entries, "folder/": ""}, options)]));
    assert.deepEqual(
      found.map(({path, size}) => [path, size]), Object.entries(entries).map(([path, {length}]) => [path, length]));
    for (const entry of found) assert.deepEqual(await bytesOf(entry), entries[entry.path]);
  }
});

test("names of entries are UTF-8, with or without its mark, or of the old code page", async () => {
  const nameIn = async (bytes) => (await readZip(new Blob([bytes])))[0].path;
  assert.equal(await nameIn(zipOf({"Läufe/ü.fit": "x"}, {flags: 0})), "Läufe/ü.fit");
  const old = zipOf({"K#che ##.fit": "x"}, {flags: 0});
  for (const byte of [0x81, 0xe1, 0xff, 0x81, 0xe1, 0xff]) old[old.indexOf("#")] = byte;
  assert.equal(await nameIn(old), "Küche ß\u00a0.fit");
});

test("an archive with a fault is refused with a sentence, and never hangs", async (context) => {
  const random = randomFrom(context);
  const whole = zipOf({"a.fit": Buffer.alloc(5000, 1), "b.gpx": gpx()});
  const refused = (/** @type {Uint8Array} */ bytes, /** @type {RegExp} */ text) =>
    assert.rejects(readZip(new Blob([bytes])).then((entries) => Promise.all(entries.map(bytesOf))), text);
  await refused(whole.subarray(0, whole.length - 30), /download it again/);
  await refused(Buffer.from("no zip at all"), /download it again/);
  await refused(zipOf({a: "secret"}, {flags: 0x801}), /password/);
  await refused(zipOf({a: Buffer.alloc(100_000)}, {said: 5000}), /larger than the zip file says/);
  await refused(zipOf({a: "text"}, {said: 5000}), /damaged/);
  for (let round = 0; round < 300; round++) {
    const bytes = Buffer.from(whole);
    for (let count = 1 + random(4); count > 0; count--) bytes[random(bytes.length)] = random(256);
    const part = bytes.subarray(random(3) === 0 ? random(40) : 0, bytes.length - (random(3) === 0 ? random(60) : 0));
    const read = readZip(new Blob([part])).then((entries) => Promise.all(entries.map(bytesOf)));
    const late = new Promise((_, reject) => setTimeout(() => reject(new Error("hangs")), 20_000).unref());
    await Promise.race([read, late])
      .catch(({message}) => assert.ok(message.length > 10 && message !== "hangs", message));
  }
});

test("the beginning of a file says whether it is a workout, when and what", async () => {
  const at = async (name, content) => beginningOf(name, () => new Blob([content]).stream());
  assert.deepEqual(await at("a.fit", fit()), {isWorkout: true, at: start});
  assert.deepEqual(await at("a.FIT", fit({isLittle: false})), {isWorkout: true, at: start});
  assert.deepEqual(await at("a.fit", fit({isSecond: true})), {isWorkout: true, at: start});
  assert.equal((await at("a.fit", fit({type: 32}))).isWorkout, false);
  assert.deepEqual(await at("a.fit", Buffer.from("words")), {isWorkout: true});
  assert.deepEqual(await at("a.gpx", gpx()), {isWorkout: true, at: start, title: "Run & walk"});
  assert.deepEqual(await at("a.gpx.gz", gzipSync(gpx())), {isWorkout: true, at: start, title: "Run & walk"});
  assert.deepEqual(await at("a.tcx", "  <?xml?><Activity Sport=\"Other\"><Id>2026-05-03T08:00:00Z</Id>"),
    {isWorkout: true, at: start, title: undefined});
  assert.deepEqual(await at("a.gpx.gz", gzipSync(gpx()).subarray(0, 20)), {isWorkout: true, title: undefined});
  assert.equal(titleOf(" a\nb "), "a b");
  assert.equal(Buffer.byteLength(titleOf("é".repeat(60_000)) ?? ""), 200);
});

test("words of other services are our activities", () => {
  const words = {
    "Ride": "cycling",
    "E-Bike Ride": "cycling",
    "Virtual Ride": "cycling",
    "Run": "running",
    "Trail Run": "running",
    "lap_swimming": "swimming",
    "open_water_swimming": "swimming",
    "Hike": "hiking",
    "Walk": "walking",
    "Weight Training": "traditionalStrength",
    "HKWorkoutActivityTypeFunctionalStrengthTraining": "functionalStrength",
    "HKWorkoutActivityTypeHighIntensityIntervalTraining": "hiit",
    "HKWorkoutActivityTypeRowing": "rowing",
    "treadmill_running": "running",
    "Virtual Row": "rowing",
    "indoor_rowing": "rowing",
    "HKWorkoutActivityTypeSwimBikeRun": undefined,
    "HKWorkoutActivityTypeWheelchairRunPace": undefined,
    "motorcycling_v2": undefined,
    "bikeToRunTransition_v2": undefined,
    "Stand Up Paddling": undefined,
    "Nordic Ski": undefined,
    "Yoga": undefined,
    "": undefined
  };
  assert.deepEqual(Object.fromEntries(Object.keys(words).map((word) => [word, activityOf(word)])), words);
});

test("single files are found, others say what to do", async () => {
  const [finding] = await findWorkouts([
    fileOf("run.fit", fit()), fileOf("ride.gpx.gz", gzipSync(gpx())), fileOf("photo.jpg", "\xff"),
    fileOf("export.xml", "<x/>"), fileOf("huge.fit", Buffer.alloc((32 << 20) + 1)),
    fileOf("settings.fit", fit({type: 2})),
    {name: "gone.zip", slice: () => ({arrayBuffer: () => Promise.reject(new Error("gone"))})}
  ]);
  assert.deepEqual(finding.found.map(({name, at, title}) => [name, at, title]),
    [["run.fit", start, undefined], ["ride.gpx.gz", start, "Run & walk"]]);
  assert.deepEqual(
    finding.ignored.map(({name}) => name), ["photo.jpg", "export.xml", "huge.fit", "settings.fit", "gone.zip"]);
  const sentences = [/FIT, TCX or GPX/, /choose the whole zip/, /split/, /no workout/, /download it again/];
  for (const [index, {why}] of finding.ignored.entries()) assert.match(why, sentences[index]);
});

test("an archive with a password is left out as a whole", async () => {
  const [finding] = await findWorkouts([fileOf("a.zip", zipOf({"1.fit": fit(), "2.fit": fit()}, {flags: 1}))]);
  assert.deepEqual([finding.found, finding.ignored.map(({name}) => name)], [[], ["a.zip"]]);
  assert.match(finding.ignored[0].why, /password/);
});

const table = `Activity ID,Activity Date,Activity Name,Activity Type,Activity Description,Filename
1,"May 3, 2026, 8:00:00 AM","Hills, ""long""",Run,"two
lines",activities/1.fit.gz
2,"May 4, 2026, 8:00:00 AM",Yoga,Yoga,,
3,"May 5, 2026, 8:00:00 AM",Commute,Ride,,activities/3.gpx
4,"May 6, 2026, 8:00:00 AM",Lost,Ride,,activities/4.gpx
`;

test("an archive of Strava has the names and types of its table, in any language", async () => {
  const entries = {
    "activities.csv": table,
    "activities/1.fit.gz": gzipSync(fit()),
    "activities/3.gpx": gpx(start + 5, "GPX"),
    "routes/9.gpx": gpx(),
    "media/photo.jpg": "x",
    "__MACOSX/activities/._1.fit.gz": "x"
  };
  const [finding] = await findWorkouts([fileOf("export.zip", zipOf(entries))]);
  const found = finding.found.map(({name, title, activity, at}) => [name, title, activity, at]);
  assert.deepEqual([finding.source, finding.name, found, finding.ignored.length], [
    "strava", "export.zip",
    [["1.fit.gz", "Hills, \"long\"", "running", start], ["3.gpx", "Commute", "cycling", start + 5]], 2
  ]);
  assert.match(finding.ignored[0].why, /typed in/);
  assert.match(finding.ignored[1].why, /lacks its file activities\/4.gpx/);
  const german = stravaRows(
    "\ufeffAktivitäts-ID,Datum,Name der Aktivität,Aktivitätsart,Dateiname\r\n1,x,Berge,Run,activities/1.fit.gz");
  assert.deepEqual(
    [...german], [["activities/1.fit.gz", {file: "activities/1.fit.gz", title: "Berge", activity: "running"}]]);
  assert.deepEqual(readTable("a,\"b\n\"\"c\"\n\n,"), [["a", "b\n\"c"], [""], ["", ""]]);
  assert.throws(() => readTable("a,\"b"), /damaged/);
});

test("an archive of Garmin has zip files in it, of which only workouts count", async () => {
  const inner = zipOf({"1.fit": fit(), "2.fit": fit({type: 32}), "3.fit": fit({type: 15})});
  const list = JSON.stringify([
    {summarizedActivitiesExport: [{beginTimestamp: start * 1000 + 1600, name: "Weir", activityType: "lap_swimming"}]}
  ]);
  const [finding] = await findWorkouts([fileOf("garmin.zip", zipOf({
    "DI_CONNECT/DI-Connect-Uploaded-Files/UploadedFiles_0-_Part1.zip": inner,
    "DI_CONNECT/DI-Connect-Uploaded-Files/UploadedFiles_0-_Part2.zip": inner.subarray(0, 50),
    "__MACOSX/DI_CONNECT/._Part3.zip": "x",
    "DI_CONNECT/DI-Connect-Fitness/x_0_summarizedActivities.json": list
  }))]);
  assert.deepEqual([finding.source, finding.found.map(({name, title, activity}) => [name, title, activity])],
    ["garmin", [["1.fit", "Weir", "swimming"]]]);
  assert.deepEqual(finding.ignored.map(({name}) => name), ["UploadedFiles_0-_Part2.zip", "2 files"]);
});

/** An export of Apple Health with two workouts, one with a route, and records around them. */
function health(records = "") {
  const route = Array.from({length: 61},
    (_, second) => `<trkpt lon="13.${100 + second}" lat="52.5"><ele>40</ele><time>${
      new Date((start + second) * 1000).toISOString()}</time></trkpt>`);
  const rate = (second, value) =>
    `<Record type="HKQuantityTypeIdentifierHeartRate" sourceName="Watch" device="&lt;HKDevice>" unit="count/min" ` +
    `startDate="${date(second)}" endDate="${date(second)}" value="${value}"/>`;
  const date = (second) =>
    new Date((start + second + 7200) * 1000).toISOString().replace("T", " ").replace(".000Z", " +0200");
  const xml = `<?xml version="1.0"?><!DOCTYPE HealthData [<!ELEMENT Workout ANY>]><HealthData locale="de_DE">
<Record type="HKQuantityTypeIdentifierStepCount" startDate="${date(0)}" value="9"/>${records}
${rate(-60, 60)}${rate(10, 120)}${rate(50, 140)}${rate(70, 99)}${rate(130, 150)}
<Workout workoutActivityType="HKWorkoutActivityTypeRunning" duration="1" startDate="${date(0)}" endDate="${date(60)}">
<WorkoutEvent type="HKWorkoutEventTypePause" date="${date(20)}"/><WorkoutEvent type="HKWorkoutEventTypeResume" date="${
    date(40)}"/>
<WorkoutStatistics type="HKQuantityTypeIdentifierDistanceWalkingRunning" sum="0.25" unit="km"/>
<WorkoutStatistics type="HKQuantityTypeIdentifierActiveEnergyBurned" sum="12.4" unit="kcal"/>
<WorkoutActivity uuid="1"><WorkoutStatistics type="HKQuantityTypeIdentifierDistanceWalkingRunning" sum="0.1" unit="km"/>
</WorkoutActivity><WorkoutEvent type="HKWorkoutEventTypePause" date="never"/>
<WorkoutRoute><FileReference path="/workout-routes/r.gpx"/></WorkoutRoute></Workout>
<Workout workoutActivityType="HKWorkoutActivityTypeYoga" startDate="${date(100)}" endDate="${
    date(160)}" totalEnergyBurned="41.84" totalEnergyBurnedUnit="kJ"/>
</HealthData>`;
  return {
    "apple_health_export/Export.xml": xml,
    "apple_health_export/export_cda.xml": "<x/>",
    "apple_health_export/workout-routes/alone.gpx": gpx(start - 5000, "Route"),
    "apple_health_export/workout-routes/r.gpx": `<gpx><trk><trkseg>${route.join("\n")}</trkseg></trk></gpx>`
  };
}

test("each workout of Apple Health is a file with its route, heart rate and pauses", async () => {
  const [finding] = await findWorkouts([fileOf("Export.zip", zipOf(health()))]);
  assert.deepEqual([finding.source, finding.found.map(({activity, at}) => [activity, at]), finding.ignored],
    ["apple", [["running", start], [undefined, start + 100], [undefined, start - 5000]], []]);
  assert.equal(finding.found[2].name, "alone.gpx");
  const [run, yoga] = await Promise.all(finding.found.map(async ({content}) => (await content()).text()));
  const counts = [/<Trackpoint>/g, /<Position>/g, /<Track>/g].map((tag) => [...run.matchAll(tag)].length);
  // The points at 20 and 40 s are the end and the beginning of a track; those between are of the pause.
  assert.deepEqual(counts, [42, 42, 2]);
  assert.match(run, /Sport="running".*<TotalTimeSeconds>40<.*<DistanceMeters>250<.*<Calories>12</s);
  assert.deepEqual([...run.matchAll(/<HeartRateBpm><Value>(\d+)/g)].map(([, value]) => value), ["120", "140"]);
  assert.deepEqual([...yoga.matchAll(/<Value>(\d+)/g)].map(([, value]) => value), ["150"]);
  assert.match(yoga, /Sport="other".*<Calories>10</s);
});

test("tracks last as long as the time between pauses, also without any point", async (context) => {
  const random = randomFrom(context);
  for (let round = 0; round < 500; round++) {
    const end = start + 1 + random(100);
    const some = () => Array.from({length: random(4)}, () => (random(9) ? start - 20 + random(140) : NaN));
    const times = some().filter((time) => time >= start && time <= end);
    const [pauses, resumes] = [some(), some()];
    const text = tcxOf({type: "x", start, end, pauses, resumes, routes: [], times, rates: times.map(() => 120)}, []);
    const tracks = [...text.matchAll(/<Track>(.*?)<\/Track>/g)].map(
      ([, track]) => [...track.matchAll(/<Time>(.*?)</g)].map(([, time]) => Date.parse(time) / 1000));
    const all = tracks.flat();
    assert.deepEqual(all, [...all].sort((one, other) => one - other));
    assert.ok(all.every((time) => time >= start && time <= end));
    // Second by second: the newest event counts; of those at the same time, a resume.
    let [active, isPaused] = [0, false];
    for (let second = start; second < end; second++) {
      if (resumes.includes(second)) isPaused = false;
      else if (pauses.includes(second)) isPaused = true;
      if (!isPaused) active += 1;
    }
    assert.equal(tracks.reduce((sum, track) => sum + track[track.length - 1] - track[0], 0), active);
    assert.equal(Number(/<TotalTimeSeconds>(.*?)</.exec(text)?.[1]), active);
  }
});

test("150 MB of records take no memory", async () => {
  const line = `<Record type="HKQuantityTypeIdentifierStepCount" sourceName="a &lt;b>" ` +
    `startDate="2026-01-01 00:00:00 +0100" value="1"/>\n`;
  const [lines, xml] = [Buffer.from(line.repeat(8000)), health()["apple_health_export/Export.xml"]];
  const count = Math.ceil(150e6 / lines.length);
  let [read, most] = [0, 0];
  const entry = {
    path: "Export.xml",
    size: count * lines.length,
    stream: () => {
      let sent = 0;
      return new ReadableStream({
        pull(controller) {
          most = Math.max(most, process.memoryUsage().rss);
          if (sent < count) controller.enqueue(lines);
          else controller.enqueue(Buffer.from(xml));
          read += 1;
          if (sent++ === count) controller.close();
        }
      });
    },
    content: () => assert.fail("read as a whole")
  };
  const before = process.memoryUsage().rss;
  const {found} = await appleWorkouts(entry, [entry], {});
  assert.deepEqual([found.length, read], [2, 2 * (count + 1)]);
  assert.ok(most - before < 100e6, `${(most - before) / 1e6} MB more`);
});

test("whether a file is an archive is in its first bytes", async () => {
  assert.deepEqual(await Promise.all([zipOf({a: "b"}), zipOf({}), "PK", "text"].map((each) => isZip(new Blob([each])))),
    [true, true, false, false]);
});
