package import Workouts

/// The other runners now, on `runs/{run}/partners`. Absent means unknown.
package struct Partners: Equatable, Sendable {
    package struct Row: Equatable, Sendable {
        package var runner: Runner
        /// The time of the runner's newest item.
        package var newest: Timestamp?
        /// By the run's clock, from the run's start.
        package var activeSeconds: Double?
        /// Metres from the run's start.
        package var distance: Double?
        /// Metres per second.
        package var speed: Double?
        /// Seconds per kilometre.
        package var pace: Double?
        /// Beats per minute.
        package var heartRate: Double?
        /// Kilocalories.
        package var activeEnergy: Double?
        package var isPaused: Bool?
        /// The revision of the runner's `metrics`.
        package var revision: Int64?
        package var link: RunLink
        /// Seconds since an item of the runner arrived; absent for a ghost.
        package var age: Double?
        /// The gap in metres and in seconds, positive when the runner is ahead of the reader; unless ``isCurrent``, that of
        /// the runner's newest item.
        package var gapMeters: Double?
        package var gapSeconds: Double?

        package init(_ runner: Runner, link: RunLink) {
            self.runner = runner
            self.link = link
        }

        /// Whether the gap is that of now: the runner's items arrive, or the runner stands.
        package var isCurrent: Bool { link != .stale && link != .disconnected }
    }

    package var run: RunID
    package var revision: Int64
    /// The service's clock.
    package var now: Timestamp
    /// The reader's place among the runners whose rows are current, from 1; absent without such rows, and while the reader's
    /// own items do not arrive.
    package var place: Int?
    /// The reader's own metres and seconds, like those of the rows.
    package var distance: Double?
    package var activeSeconds: Double?
    /// All who have begun, the largest gap first; never the reader.
    package var rows: [Row]

    package init(run: RunID, revision: Int64, now: Timestamp, rows: [Row]) {
        self.run = run
        self.revision = revision
        self.now = now
        self.rows = rows
    }

    /// The current rows with the smallest gaps, then others, in the order of the message.
    package func nearest(_ count: Int) -> [Row] {
        func gap(_ index: Int) -> Double {
            rows[index].isCurrent ? rows[index].gapMeters?.magnitude ?? .infinity : .infinity
        }
        return rows.indices.sorted { gap($0) < gap($1) }.prefix(count).sorted().map { rows[$0] }
    }

    /// Seconds by which the newest items of runners may differ who run alike.
    private static let slack = 10.0

    /// The metres of a partner to show beside the reader's own: those and the gap, so that both agree. A partner who is not
    /// current, who finished, or who paused or started later has the last own metres.
    package func metres(of row: Row, beside own: Double?) -> Double? {
        guard let own, let gap = row.gapMeters, row.isCurrent, row.link != .finished else { return row.distance }
        if let seconds = row.activeSeconds, let mine = activeSeconds, seconds < mine - Self.slack,
            let last = row.distance, abs(own + gap - last) > RunnerDisplay.jump
        {
            return last
        }
        return own + gap
    }
}

extension Partners {
    private enum Key: String, CodingKey {
        case r, s, now, pl, d, t, x
    }

    /// The payload of `partners`, with the one-letter keys of high-rate messages in sorted order.
    package var payload: [UInt8] {
        var texts = PartnerTexts()
        return payload(&texts)
    }

    /// - Parameter texts: of earlier messages of the run, for rows that did not change.
    package func payload(_ texts: inout PartnerTexts) -> [UInt8] {
        var json = JSONWriter(capacity: 192 + rows.count * 224)
        json.object { json in
            json.field("d", distance)
            json.field("now", now)
            if let place { json.field("pl", Int64(place)) }
            json.field("r", plain: run.description)
            json.field("s", revision)
            json.field("t", activeSeconds)
            json.array("x", rows) { json, row in
                let text = texts.text(of: row)
                json.object { json in
                    json.field("a", row.age)
                    json.fields(text.before)
                    json.field("gm", row.gapMeters)
                    json.field("gs", row.gapSeconds)
                    json.fields(text.after)
                }
            }
        }
        return json.bytes
    }
}

/// The parts of rows that are the same for all readers of a run, as JSON: all but age and gap.
package struct PartnerTexts: Sendable {
    struct Text {
        var row: Partners.Row
        /// The fields before and after the gap.
        var before: [UInt8]
        var after: [UInt8]
    }

    private var texts: [Runner: Text] = [:]

    package init() {}

    mutating func text(of row: Partners.Row) -> Text {
        if let known = texts[row.runner], known.row.isSame(as: row) { return known }
        let text = Text(row: row, before: row.before, after: row.after)
        texts[row.runner] = text
        return text
    }
}

extension Partners.Row {
    fileprivate var before: [UInt8] {
        var json = JSONWriter(capacity: 48)
        if let newest { json.field("c", newest) }
        json.field("d", distance)
        if case .ghost(let number) = runner { json.field("g", Int64(number)) }
        return json.bytes
    }

    fileprivate var after: [UInt8] {
        var json = JSONWriter(capacity: 160)
        json.field("h", heartRate)
        json.field("k", activeEnergy)
        json.field("p", pace)
        if let isPaused { json.field("pa", isPaused) }
        if let revision { json.field("s", revision) }
        json.field("st", plain: link.rawValue)
        json.field("t", activeSeconds)
        if case .participant(let user) = runner { json.field("u", plain: user.description) }
        json.field("v", speed)
        return json.bytes
    }

    /// Whether all but age and gap are equal; the runners are.
    fileprivate func isSame(as other: Partners.Row) -> Bool {
        revision == other.revision && newest == other.newest && activeSeconds == other.activeSeconds
            && distance == other.distance && link == other.link && heartRate == other.heartRate
            && activeEnergy == other.activeEnergy && speed == other.speed && pace == other.pace
            && isPaused == other.isPaused
    }
}

extension Partners: Decodable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        run = try container.decode(RunID.self, forKey: .r)
        revision = try container.decode(Int64.self, forKey: .s)
        now = try container.decode(Timestamp.self, forKey: .now)
        place = try container.decodeIfPresent(Int.self, forKey: .pl)
        distance = try container.decodeIfPresent(Double.self, forKey: .d)
        activeSeconds = try container.decodeIfPresent(Double.self, forKey: .t)
        rows = try container.decode([Row].self, forKey: .x)
    }
}

extension Partners.Row: Decodable {
    private enum Key: String, CodingKey {
        case u, g, c, t, d, v, p, h, k, pa, s, st, a, gm, gs
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        if let number = try container.decodeIfPresent(Int.self, forKey: .g) {
            runner = .ghost(number)
        } else {
            runner = .participant(try container.decode(User.self, forKey: .u))
        }
        newest = try container.decodeIfPresent(Timestamp.self, forKey: .c)
        activeSeconds = try container.decodeIfPresent(Double.self, forKey: .t)
        distance = try container.decodeIfPresent(Double.self, forKey: .d)
        speed = try container.decodeIfPresent(Double.self, forKey: .v)
        pace = try container.decodeIfPresent(Double.self, forKey: .p)
        heartRate = try container.decodeIfPresent(Double.self, forKey: .h)
        activeEnergy = try container.decodeIfPresent(Double.self, forKey: .k)
        isPaused = try container.decodeIfPresent(Bool.self, forKey: .pa)
        revision = try container.decodeIfPresent(Int64.self, forKey: .s)
        link = try container.decode(RunLink.self, forKey: .st)
        age = try container.decodeIfPresent(Double.self, forKey: .a)
        gapMeters = try container.decodeIfPresent(Double.self, forKey: .gm)
        gapSeconds = try container.decodeIfPresent(Double.self, forKey: .gs)
    }
}

/// The positions that others share now, on `runs/{run}/positions`.
package struct RunPositions: Codable, Equatable, Sendable {
    package struct Row: Codable, Equatable, Sendable {
        package var u: User
        /// The time of the position.
        package var c: Timestamp?
        package var la: Double
        package var lo: Double

        package init(_ user: User, at time: Timestamp?, la: Double, lo: Double) {
            u = user
            c = time
            self.la = la
            self.lo = lo
        }
    }

    package var r: RunID
    package var s: Int64
    package var now: Timestamp
    package var x: [Row]

    package init(run: RunID, revision: Int64, now: Timestamp, rows: [Row]) {
        r = run
        s = revision
        self.now = now
        x = rows
    }
}
