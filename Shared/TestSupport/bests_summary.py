"""Computes bests, load and sources of sessions from their items, independently of Pacebus's code.

Reads a file with a JSON array of sessions and prints an array of results. Items have their keys on the bus.
"""

import bisect
import json
import math
import sys

FRESHNESS = 15_000_000
NAMES = {"h": "heart_rate", "d": "distance", "w": "power", "v": "speed", "ln": "pool_lengths"}
LENGTHS = {
    "running": ([400, 1000, 1609.344, 5000, 10000, 21097.5, 42195], 12),
    "cycling": ([5000, 20000, 40000, 100000], 30),
    "swimming": ([100, 400, 1500], 2.6),
}
LENGTHS["walking"] = LENGTHS["hiking"] = LENGTHS["running"]


def thousandths(value):
    return math.floor(value * 1000 + 0.5) / 1000


class Clock:
    """Active microseconds of times, and back to the elapsed ones since the start."""

    def __init__(self, segments):
        self.segments = [(round(start * 1e6), round(end * 1e6)) for start, end in segments]
        self.offsets = [0]
        for start, end in self.segments:
            self.offsets.append(self.offsets[-1] + end - start)
        self.total = self.offsets[-1]

    def inside(self, time):
        return any(start <= time <= end for start, end in self.segments)

    def position(self, time):
        return sum(max(0, min(time, end) - start) for start, end in self.segments)

    def segment(self, time):
        """The index of the last segment that contains a time."""
        return max(i for i, (start, end) in enumerate(self.segments) if start <= time <= end)

    def elapsed(self, position, late):
        """Between two segments, the end of the first or, if `late`, the start of the second."""
        found = [i for i in range(len(self.segments)) if self.offsets[i] <= position <= self.offsets[i + 1]]
        index = found[-1] if late else found[0]
        return self.segments[index][0] - self.segments[0][0] + position - self.offsets[index]

    def active(self, elapsed):
        return self.position(self.segments[0][0] + elapsed)


class Session:
    def __init__(self, session):
        self.clock = Clock(session["segments"])
        self.session = session
        self.streams = session["streams"]

    def rank(self, device, key):
        kinds = ["strap", "watch", "pod", "phone"] if key == "h" else ["watch", "strap", "pod", "phone"]
        kind = device.split("-")[0]
        return (kinds.index(kind) if kind in kinds else len(kinds), device)

    def readings(self, key):
        """(time, value, device, previous time) of what counts, by time."""
        sources = []
        for device in sorted(self.streams, key=lambda device: self.rank(device, key)):
            own = [(round(item["c"] * 1e6), item[key]) for item in self.streams[device] if "c" in item and key in item]
            own = sorted(own, key=lambda reading: reading[0])
            before = [None] + [time for time, _ in own[:-1]]
            rows = [(t, v, device, b) for (t, v), b in zip(own, before) if self.clock.inside(t)]
            if rows:
                sources.append(rows)
        return list(self.fill(sources, -math.inf, math.inf, 0, self.clock.total))

    def fill(self, sources, start, end, start_position, end_position):
        if not sources:
            return
        own = [row for row in sources[0] if start < row[0] < end]
        if not own:
            yield from self.fill(sources[1:], start, end, start_position, end_position)
            return
        edge, edge_position = start, start_position
        for row in own + [None]:
            time, position = (row[0], self.clock.position(row[0])) if row else (end, end_position)
            if position - edge_position > FRESHNESS:
                yield from self.fill(sources[1:], edge, time, edge_position, position)
            if row:
                yield row
            edge, edge_position = time, position

    def curve(self, key, scale=1.0):
        """(position, sum) after each reading of a delta."""
        points, times, sums = [(0, 0.0)], [], [0.0]
        for time, value, _, before in self.readings(key):
            since = 0 if before is None else bisect.bisect_right(times, before)
            counted = max(0.0, value - (sums[-1] - sums[since]))
            times.append(time)
            sums.append(sums[-1] + counted)
            points.append((self.clock.position(time), sums[-1] * scale))
        return points if len(points) > 1 else None

    def way(self):
        found = self.curve("d")
        if found:
            return found
        track = self.session.get("track")
        if track:
            points = [(0, 0.0)]
            for time, meters in track:
                if self.clock.inside(round(time * 1e6)):
                    points.append((self.clock.position(round(time * 1e6)), max(points[-1][1], meters)))
            return points
        length = self.session.get("poolLength")
        found = self.curve("ln", length) if length else None
        if found:
            return found
        speeds, points = self.readings("v"), [(0, 0.0)]
        for index, (time, value, _, _) in enumerate(speeds):
            position = self.clock.position(time)
            seconds = (position - points[-1][0]) / 1e6 if index else 0
            points.append((position, points[-1][1] + value * min(3, seconds)))
        return points if speeds else None

    # Distances

    def distances(self):
        activity, way, length = self.session["activity"], self.way(), self.session.get("poolLength")
        if activity not in LENGTHS or not way:
            return []
        lengths, limit = LENGTHS[activity]
        if activity == "swimming" and length:
            finds = self.pool(self.curve("ln", length) or way, way, limit)
        else:
            finds = self.open(way, limit)
        results = []
        for goal in lengths:
            best = None
            for start, end, meters in finds(round(goal * 1e6)):
                if meters > limit * (end - start):
                    continue
                found = (math.floor((end - start) / 1000 + 0.5), start)
                best = min(best, found) if best else found
            if best:
                results.append(
                    {"m": goal, "s": best[0] / 1000, "t": thousandths(self.clock.active(round(best[1])) / 1e6)}
                )
        return results

    def lines(self, points, limit, silence):
        """The points, in lists that a silence or a jump divides."""
        positions = [position for position, _ in points]

        def value(position):
            if position <= 0:
                return 0.0
            after = bisect.bisect_right(positions, position)
            if after == len(points):
                return points[-1][1]
            (p, d), (q, e) = points[after - 1], points[after]
            return d + (e - d) * (position - p) / (q - p)

        lines = [[points[0]]]
        for (p, d), (q, e) in zip(points, points[1:]):
            jumps = e - d > limit * (q - p) / 1e6 + 1e-6 and e - value(q - 15_000_000) > limit * 15 + 1e-6
            if q - p > silence(e - d) or jumps:
                lines.append([])
            lines[-1].append((q, e))
        return lines

    def open(self, way, limit):
        """A search for windows that begin or end at a reading or a pause."""
        lines = []
        for line in self.lines(way, limit, lambda _: 30_000_000):
            edges = [o for o in self.clock.offsets[1:-1] if line[0][0] <= o <= line[-1][0]]
            positions = [p for p, _ in line]
            points = []
            for position in sorted(set(positions + edges)):
                after = bisect.bisect_right(positions, position)
                if positions[after - 1] == position:
                    # Several readings at one moment: the distance jumps there.
                    sums = [d for _, d in line[bisect.bisect_left(positions, position) : after]]
                else:
                    (p, d), (q, e) = line[after - 1], line[after]
                    sums = [d + (e - d) * (position - p) / (q - p)]
                for total in sums:
                    points.append((self.clock.elapsed(position, False), round(total * 1e6)))
                if position in edges and position < positions[-1]:
                    for index in range(len(self.clock.segments)):
                        if self.clock.offsets[index] == position and index > 0:
                            start = self.clock.segments[index][0] - self.clock.segments[0][0]
                            points.append((start, round(sums[-1] * 1e6)))
            lines.append(points)

        def finds(goal):
            for points in lines:
                meters = [d for _, d in points]

                def first(value):
                    at = bisect.bisect_left(meters, value)
                    if meters[at] == value:
                        return points[at][0]
                    return between(at - 1, value)

                def last(value):
                    at = bisect.bisect_right(meters, value) - 1
                    if meters[at] == value:
                        return points[at][0]
                    return between(at, value)

                def between(at, value):
                    (t, d), (u, e) = points[at], points[at + 1]
                    return t + (u - t) * (value - d) / (e - d)

                for value in meters:
                    if value + goal <= meters[-1]:
                        yield last(value), first(value + goal), goal
                    if value - goal >= meters[0]:
                        yield last(value - goal), first(value), goal

        return finds

    def pool(self, lengths, way, limit):
        """A search for windows of whole lengths, without the rest before the first."""
        slow = 6

        def departure(position, sums):
            reached = max([d for p, d in way if p <= position], default=0.0)
            exact = [p for p, _ in way if p == position]
            if not exact:
                after = [i for i, (p, _) in enumerate(way) if p > position]
                if not after:
                    return position
                (p, d), (q, e) = way[after[0] - 1], way[after[0]]
                reached = d + (e - d) * (position - p) / (q - p)
            flat = [p for p, d in way if d <= reached + 1e-6]
            grows = any(d > reached + 1e-6 for _, d in way)
            return max(position, flat[-1]) if grows else position

        lines = []
        for line in self.lines(lengths, limit, lambda meters: max(30_000_000, meters * slow * 1e6)):
            rows = []
            for (position, total), after in zip(line, line[1:] + [None]):
                leaves = self.clock.elapsed(departure(position, total), True)
                if after:
                    arrives = self.clock.elapsed(after[0], False)
                    if (after[1] - total) * 1e6 > limit * (arrives - leaves):
                        leaves = self.clock.elapsed(position, True)
                rows.append((self.clock.elapsed(position, False), leaves, round(total * 1e6)))
            lines.append(rows)

        def finds(goal):
            for rows in lines:
                for index, (_, leaves, total) in enumerate(rows):
                    if index + 1 < len(rows) and rows[index + 1][2] == total:
                        continue
                    reached = [row for row in rows[index:] if row[2] - total >= goal]
                    if reached:
                        yield leaves, reached[0][0], reached[0][2] - total

        return finds

    # Means

    def held(self, key, hold):
        """(segment, from, until, value) of each reading."""
        rows = self.readings(key)
        spans = []
        for index, (time, value, _, _) in enumerate(rows):
            position, segment = self.clock.position(time), self.clock.segment(time)
            until = min(position + hold(value), self.clock.offsets[segment + 1])
            if index + 1 < len(rows):
                until = min(until, self.clock.position(rows[index + 1][0]))
            spans.append((segment, position, max(position, until), value))
        return spans

    def means(self, key, durations, hold, coverage):
        best = {}
        spans = self.held(key, hold)
        for segment in range(len(self.clock.segments)):
            start, end = self.clock.offsets[segment], self.clock.offsets[segment + 1]
            own = [span for span in spans if span[0] == segment and span[2] > span[1]]
            edges = sorted({start, end} | {span[1] for span in own} | {span[2] for span in own})
            integral, known = [0.0], [0]
            values = {span[1]: span for span in own}
            for a, b in zip(edges, edges[1:]):
                value = values[a][3] if a in values else None
                integral.append(integral[-1] + (0 if value is None else value * (b - a)))
                known.append(known[-1] + (0 if value is None else b - a))

            def at(position):
                index = max(0, bisect.bisect_left(edges, position) - 1)
                share = (position - edges[index]) / (edges[index + 1] - edges[index])
                return [sums[index] + (sums[index + 1] - sums[index]) * share for sums in (integral, known)]

            for seconds in durations if own else []:
                span = round(seconds * 1e6)
                for a in [a for edge in edges for a in (edge, edge - span) if start <= a and a + span <= end]:
                    (i, k), (j, m) = at(a), at(a + span)
                    if coverage and m - k < coverage * span - 0.5:
                        continue
                    mean = math.floor((j - i) / (m - k if coverage else span) * 1000 + 0.5) / 1000
                    if mean > 0 and (seconds not in best or (-mean, a) < best[seconds]):
                        best[seconds] = (-mean, a)
        return [
            (seconds, -best[seconds][0], thousandths(best[seconds][1] / 1e6))
            for seconds in durations
            if seconds in best
        ]

    def bests(self):
        power = self.means("w", [5, 60, 300, 1200, 3600], lambda _: 3_000_000, None)
        rates = self.means("h", [1200], lambda _: FRESHNESS, 0.95)
        return {
            "distance": self.distances(),
            "power": [{"s": s, "w": mean, "t": t} for s, mean, t in power],
            "heartRate": [{"s": s, "bpm": mean, "t": t} for s, mean, t in rates],
        }

    # Load

    def load(self):
        profile, result, total = self.session["profile"], {}, self.clock.total
        rest, top, sex = (profile.get(key) for key in ("restingHeartRate", "maximumHeartRate", "sex"))
        spans = self.held("h", lambda _: FRESHNESS)
        if spans and total and rest and top and rest < top and sex:
            known, load = 0, 0.0
            formulas = {"male": [(0.64, 1.92)], "female": [(0.86, 1.67)]}
            used = formulas.get(sex) or [(0.64, 1.92), (0.86, 1.67)]
            for _, start, end, rate in spans:
                r = min(1, max(0, (rate - rest) / (top - rest)))
                load += (end - start) / 60e6 * r * sum(b * math.exp(k * r) for b, k in used) / len(used)
                known += end - start
            if known * 2 >= total:
                result["heartRate"] = load
        if self.session["activity"] == "cycling":
            self.add_power(result, profile.get("thresholdPower"))
        return result

    def add_power(self, result, threshold):
        spans = self.held("w", lambda value: FRESHNESS if value else 3_000_000)
        runs = []
        for index, (_, start, until, value) in enumerate(spans):
            if not index or start - spans[index - 1][1] > FRESHNESS:
                runs.append([])
            following = spans[index + 1][1] if index + 1 < len(spans) else math.inf
            runs[-1].append((value, (following if following - start <= FRESHNESS else until) - start))
        averages, known = [], 0
        for run in runs:
            ends, work = [0], [0.0]
            for value, span in run:
                ends.append(ends[-1] + span)
                work.append(work[-1] + value * span)
            known += ends[-1]
            sums = []
            for second in range(ends[-1] // 1_000_000 + 1):
                moment = second * 1_000_000
                index = bisect.bisect_left(ends, moment)
                if index == 0:
                    sums.append(0.0)
                    continue
                share = (moment - ends[index - 1]) / (ends[index] - ends[index - 1])
                sums.append(work[index - 1] + (work[index] - work[index - 1]) * share)
            averages += [(b - a) / 30e6 for a, b in zip(sums, sums[30:])]
        if known < 600_000_000 or not averages:
            return
        normalized = (sum(average**4 for average in averages) / len(averages)) ** 0.25
        result["normalizedPower"] = normalized
        if threshold and known >= 0.9 * self.clock.total:
            result["intensity"] = normalized / threshold
            result["stress"] = 100 * known / 1e6 * normalized * result["intensity"] / (3600 * threshold)

    # Sources

    def sources(self):
        stretches = []
        for key, name in NAMES.items():
            for time, _, device, _ in self.readings(key):
                position = self.clock.position(time) / 1e6
                if stretches and (stretches[-1]["quantity"], stretches[-1]["device"]) == (name, device):
                    stretches[-1]["to"] = position
                else:
                    stretches.append({"quantity": name, "device": device, "from": position, "to": position})
        return stretches

    def result(self):
        return {"bests": self.bests(), "load": self.load(), "sources": self.sources()}


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        print(json.dumps([Session(session).result() for session in json.load(file)]))
