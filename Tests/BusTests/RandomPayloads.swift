import Bus
import Foundation
import TestSupport
import Workouts

extension SeededRandom {
    mutating func time() -> Timestamp {
        Timestamp(microseconds: .random(in: 946_684_800_000_000...1_767_225_600_000_000, using: &self))
    }

    mutating func maybe<Value>(_ value: Value) -> Value? { Bool.random(using: &self) ? value : nil }

    mutating func revision() -> Int64 { .random(in: 0...9_000_000_000_000, using: &self) }

    mutating func streams() -> [StreamName: Int] {
        var streams: [StreamName: Int] = [:]
        for _ in 0..<Int.random(in: 0...3, using: &self) {
            let kind: StreamName.Kind = Bool.random(using: &self) ? .samples : .locations
            streams[StreamName(kind, name())] = .random(in: 0...StreamLimits.items, using: &self)
        }
        return streams
    }

    mutating func start() -> SessionStart {
        SessionStart(
            activity: Activity.allCases.randomElement(using: &self)!,
            environment: maybe(Environment.allCases.randomElement(using: &self)!),
            name: maybe("Morgenlauf \"um\" \\ / \u{1F3C3}"), mode: maybe(Mode.allCases.randomElement(using: &self)!),
            countdown: maybe(.random(in: 0...600, using: &self)), startAt: maybe(time()),
            units: maybe(Units.allCases.randomElement(using: &self)!), timeZone: maybe("Europe/Berlin"))
    }

    mutating func commands() -> [Command] {
        let actions: [SessionAction] = [
            .start(start()), .pause, .resume, .lap, .end(streams: streams()), .discard,
        ]
        return actions.map { Command(id: identifier(), client: name(), at: maybe(time()), action: $0) }
    }

    mutating func replies() -> [Reply] {
        let refusals = [nil, Refusal.sessionNotFound, .sessionInProgress(identifier()), .invalidState("no")]
        return refusals.map { Reply(id: identifier(), revision: maybe(revision()), now: time(), error: $0) }
    }

    /// A session in each of its statuses.
    mutating func sessions() -> [Session] {
        let begin = time()
        var session = Session(
            key: SessionKey(user(), identifier()), start: start(), at: begin, now: begin)
        var sessions = [session]
        var moment = begin + 700
        _ = session.advance(to: max(moment, session.deadline ?? moment))
        sessions.append(session)
        var discarded = session
        try? discarded.apply(.discard, at: moment)
        for action in [.lap, .pause, .resume, .pause, .end(streams: streams())] as [SessionAction] {
            moment = moment + .random(in: 0...100, using: &self)
            try? session.apply(action, at: moment)
            sessions.append(session)
        }
        session.complete()
        return sessions + [session, discarded]
    }

    mutating func sample(at time: Timestamp) -> Sample {
        var sample = Sample(time: time)
        for quantity in Quantity.allCases where Bool.random(using: &self) {
            sample[quantity] = .random(in: quantity.range, using: &self)
        }
        return sample
    }

    /// Samples at every second of a session's closed segments.
    mutating func items(of session: Session) -> CountedItems {
        var samples: [Sample] = []
        for segment in session.segments {
            guard let end = segment.end else { continue }
            for second in stride(from: 0, through: min(700, end.seconds(since: segment.start)), by: 1) {
                samples.append(sample(at: segment.start + second))
            }
        }
        return CountedItems(streams: [name(): samples], segments: session.segments)
    }

    mutating func report(of session: Session, _ items: CountedItems) -> MetricsReport {
        MetricsReport(
            revision: revision(), state: revision(), next: streams(), chunks: 3,
            totals: items.summary(laps: session.laps, units: session.units))
    }

    mutating func snapshot() -> MetricsSnapshot {
        var snapshot = MetricsSnapshot(user: user(), revision: revision())
        snapshot.newest = maybe(time())
        snapshot.activeSeconds = maybe(.random(in: 0...10_000, using: &self))
        snapshot.distance = maybe(.random(in: 0...50_000, using: &self))
        snapshot.pace = maybe(.random(in: 100...1_800, using: &self))
        snapshot.heartRate = maybe(.random(in: 20...300, using: &self))
        snapshot.averageHeartRate = maybe(120.5)
        snapshot.maximumHeartRate = maybe(181)
        snapshot.activeEnergy = maybe(.random(in: 0...5_000, using: &self))
        snapshot.energySource = maybe("device")
        snapshot.speed = maybe(.random(in: 0...60, using: &self))
        snapshot.cadence = maybe(160)
        snapshot.power = maybe(250.25)
        snapshot.isPaused = .random(using: &self)
        snapshot.lap = .random(in: 1...20, using: &self)
        snapshot.displayPace = maybe(300)
        snapshot.displaySpeed = maybe(3.333)
        snapshot.battery = maybe(0.5)
        snapshot.count = .random(in: 0...1_000_000, using: &self)
        return snapshot
    }

    mutating func batch() -> SampleBatch {
        SampleBatch(
            first: .random(in: 0...StreamLimits.items, using: &self),
            items: (0..<Int.random(in: 1...20, using: &self)).map { _ in sample(at: time()) })
    }

    /// What the code writes on each channel.
    mutating func payloads() -> [AsyncAPIDocument.Payload] {
        var payloads: [AsyncAPIDocument.Payload] = []
        func add(_ channel: String, _ bytes: [UInt8]) { payloads.append(.init(channel: channel, bytes: bytes)) }
        for command in commands() { add("command", JSONCoding.encode(command)) }
        for reply in replies() { add("replies", JSONCoding.encode(reply)) }
        let sessions = sessions()
        for session in sessions {
            let state = session.state(revision: revision())
            add("state", JSONCoding.encode(state))
            add("current", JSONCoding.encode(CurrentSession(revision: revision(), state: maybe(state))))
        }
        let last = sessions[sessions.count - 2]
        let items = items(of: last)
        let report = report(of: last, items)
        add("summaryMetrics", JSONCoding.encode(report))
        for metrics in [report, nil] {
            let record = WorkoutRecord(last, metrics: metrics, isComplete: .random(using: &self), revision: revision())
            add("workout", JSONCoding.encode(record))
        }
        let series = Series(items)
        for number in 0..<SeriesChunk.count(rows: series.times.count) {
            add("series", SeriesChunk.payload(series, number: number, revision: revision()))
        }
        add("samples", batch().payload)
        add("samplesAck", Ack.next(.random(in: 0...1_000, using: &self)).payload)
        add("samplesAck", Ack.streamReused.payload)
        add("metrics", snapshot().payload)
        for kind in [Announcement.Kind.lap, .split, .warning] {
            add(
                "announcements",
                JSONCoding.encode(Announcement(kind, at: time(), number: maybe(3), text: "Kilometre 3")))
        }
        return payloads
    }
}
