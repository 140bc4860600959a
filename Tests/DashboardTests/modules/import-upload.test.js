import assert from "node:assert/strict";
import {test} from "node:test";

import {FileUpload, Pace, partAt, partName, partSize, partsOf} from "../../../Services/Dashboard/Web/modules/import-upload.js";

test("the parts of a file are its bytes, and the first one names the workout", () => {
  const content = Uint8Array.from({length: partSize + 5}, (_, index) => index % 251);
  const file = {name: "run.fit", title: "Morning", activity: "running"};
  const parts = Array.from({length: partsOf(content.length)}, (_, n) => partAt(content, n, file));
  assert.deepEqual(parts.map(({n, of, name, bytes}) => [n, of, name, bytes]),
    [[0, 2, "run.fit", partSize + 5], [1, 2, "run.fit", partSize + 5]]);
  assert.deepEqual(Buffer.concat(parts.map(({x}) => Buffer.from(x, "base64"))), Buffer.from(content));
  assert.deepEqual(parts.map(({workout}) => workout), [{name: "Morning", activity: "running"}, undefined]);
  assert.equal(partAt(content, 0, {name: "run.fit"}).workout, undefined);
});

test("a name has at most 255 bytes and keeps its end", () => {
  assert.equal(partName("a\nb.fit"), "a b.fit");
  assert.equal(partName(""), "file");
  const name = partName(`${"é".repeat(200)}.fit`);
  assert.ok(name.endsWith("é.fit") && Buffer.byteLength(name) <= 255 && Buffer.byteLength(name) > 252);
});

test("every part arrives over a network that loses parts and acknowledgements, and from a service that loses parts",
  (context) => {
    let seed = Number(process.env.SEED ?? (Date.now() % 1_000_000) + 1);
    context.diagnostic(`SEED=${seed}`);
    const random = (/** @type {number} */ limit) => (seed = (seed * 48_271) % 2_147_483_647) % limit;
    for (let round = 0; round < 200; round++) {
      const of = 1 + random(60);
      const upload = new FileUpload(of);
      let [stored, now] = [0, 0];
      for (; !upload.isStored; now += 0.25) {
        assert.ok(now < 3600, "the upload does not end");
        for (let n = upload.take(now); n !== undefined; n = upload.take(now)) {
          assert.ok(n < of && n < upload.acknowledged + 20, `part ${n} of ${of} beyond ${upload.acknowledged}`);
          if (random(10) > 0 && n === stored) stored += 1;
          if (random(10) > 0) upload.receive(stored, now);
        }
        if (random(40) === 0) upload.connected();
        if (random(80) === 0) upload.receive(stored = random(stored + 1), now);
      }
      assert.equal(stored, of);
    }
  });

test("parts leave at 0.75 MiB a second, and a timer that is late loses at most a second", () => {
  const pace = new Pace();
  let sent = 0;
  for (let now = 100; now < 110; now += 0.25)
    while (pace.isDue(now)) {
      pace.spend(partSize, now);
      sent += partSize;
    }
  assert.ok(sent >= 10 * 0.75 * 1024 * 1024 && sent <= 11.25 * 0.75 * 1024 * 1024, `${sent} bytes in 10 s`);
  let burst = 0;
  for (; pace.isDue(200); burst++) pace.spend(partSize, 200);
  assert.ok(burst <= 7, `${burst} parts at once`);
});
