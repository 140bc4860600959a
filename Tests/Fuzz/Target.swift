import Bus
import FIT
import MQTT
import ServiceKit
import Workouts

/// The reader of an input. Without a reader's name, inputs select it by this order, so new ones go to the end.
enum Target: String, CaseIterable, Sendable {
    case batch, commands, state, report, record, snapshot, ack, current, reply, announcement, topic, fit, url, names
    case request, profile, heard, locations, route, routeReport, weather
    // Payloads.
    case requests, runRequest, runView, partners, heads, importPart, statuses, history, plan, message
    // Files.
    case recording, fitRecording, gzip, export, queue, planFile, secrets, logs
    // Settings and headers.
    case settings, connect
    // What services have stored, and what others answer them.
    case chunks, journal, streamRecord, digits, sessionRecord, runRecord, activityRecord, jobRecord, answers

    /// The time of the services' clock.
    static let now = Timestamp(seconds: 1_800_000_000)
    static let moment = Moment(wallClock: now, uptime: .seconds(1_000_000))

    func read(_ bytes: [UInt8]) {
        switch self {
        case .batch: Self.readBatch(bytes)
        case .commands: CommandSequence.run(bytes)
        case .state: Self.readState(bytes)
        case .report: Self.roundTrip(MetricsReport.self, bytes)
        case .record: Self.roundTrip(WorkoutRecord.self, bytes)
        case .snapshot:
            guard let snapshot = try? MetricsSnapshot(bytes) else { return }
            check(try? MetricsSnapshot(snapshot.payload), snapshot)
        case .ack:
            guard let (ack, epoch, now) = try? Ack.read(bytes) else { return }
            let again = try? Ack.read(ack.payload(now: now ?? Timestamp(microseconds: 0), epoch: epoch))
            check(again?.ack, ack)
            check(again?.epoch, epoch)
        case .current: Self.roundTrip(CurrentSession.self, bytes)
        case .reply: Self.roundTrip(Reply.self, bytes)
        case .announcement: Self.roundTrip(Announcement.self, bytes)
        case .topic:
            let name = String(decoding: bytes, as: UTF8.self)
            if let topic = Topic(name) { check(topic.name, name) }
        case .fit: Self.readFIT(bytes)
        case .url: _ = try? MQTTURL(String(decoding: bytes, as: UTF8.self))
        case .names: Self.readNames(String(decoding: bytes, as: UTF8.self))
        case .request: Self.roundTrip(UserRequest.self, bytes)
        case .profile: Self.roundTrip(UserProfile.self, bytes)
        case .heard: Self.readHeard(bytes)
        case .locations: Self.readLocations(bytes)
        case .route: Self.readRoute(bytes)
        case .routeReport: Self.roundTrip(RouteReport.self, bytes)
        case .weather: Self.roundTrip(Weather.self, bytes)
        case .requests: Self.readRequests(bytes)
        case .runRequest: Self.roundTrip(VirtualRunRequest.self, bytes)
        case .runView: Self.readRunView(bytes)
        case .partners: Self.readPartners(bytes)
        case .heads: Self.readHeads(bytes)
        case .importPart: Self.readParts(bytes)
        case .statuses: Self.readStatuses(bytes)
        case .history: Self.readHistory(bytes)
        case .plan: Self.readPlan(bytes)
        case .message: Self.readMessage(bytes)
        case .recording: Self.readRecording(bytes)
        case .fitRecording: Self.play(Self.framed(bytes))
        case .gzip: Self.readGzip(bytes)
        case .export: Self.readExport(bytes)
        case .queue: Self.readQueue(bytes)
        case .planFile: Self.readPlanFile(bytes)
        case .secrets: Self.readSecrets(bytes)
        case .logs: Self.readLogs(bytes)
        case .settings: Self.readSettings(String(decoding: bytes, as: UTF8.self))
        case .connect: Self.readConnect(bytes)
        case .chunks: Self.readChunks(bytes)
        case .journal: Self.readJournal(bytes)
        case .streamRecord: Self.readStreamRecord(bytes)
        case .digits: Self.readDigits(bytes)
        case .sessionRecord: Self.readSessionRecord(bytes)
        case .runRecord: Self.readRunRecord(bytes)
        case .activityRecord: Self.readActivityRecord(bytes)
        case .jobRecord: Self.readJobRecord(bytes)
        case .answers: Self.readAnswers(bytes)
        }
    }

    /// Writes a decoded value, reads it again and expects the same value.
    @discardableResult
    static func roundTrip<Value: Codable & Equatable>(_ type: Value.Type, _ bytes: [UInt8]) -> Value? {
        guard let value = try? JSONCoding.decode(type, from: bytes) else { return nil }
        check(try? JSONCoding.decode(type, from: JSONCoding.encode(value)), value)
        return value
    }

    /// The same of a stored record, which may have moments.
    @discardableResult
    static func roundTripRecord<Value: Codable & Equatable>(_ type: Value.Type, _ bytes: [UInt8]) -> Value? {
        guard let value = try? JSONCoding.decode(type, from: bytes, now: moment) else { return nil }
        check(try? JSONCoding.decode(type, from: JSONCoding.encode(value), now: moment), value)
        return value
    }

    private static func readBatch(_ bytes: [UInt8]) {
        let times = AcceptedTimes(now: now)
        guard let batch = try? SampleBatch(bytes[...], accepting: times) else { return }
        var again = try? SampleBatch(batch.payload[...], accepting: times)
        again?.invalidValues = batch.invalidValues
        check(again, batch)
        let known = batch.items.compactMap(\.time).sorted()
        var state = session(at: now).state(revision: 1)
        compute(batch.items, laps: [], state)
        if let first = known.first, let last = known.last {
            state.segments = [Segment(start: first, end: known[known.count / 2]), Segment(start: last, end: nil)]
        }
        compute(batch.items, laps: [now], state)
    }

    private static func readState(_ bytes: [UInt8]) {
        roundTrip(SessionState.self, bytes)
        guard let state = try? SessionState(bytes) else { return }
        let items = [state.segments.first?.start, state.laps.first, now].map { time in
            var sample = Sample(time: time)
            for quantity in Quantity.allCases { sample[quantity] = quantity.range.upperBound }
            return sample
        }
        compute(items, laps: state.laps, state)
    }

    /// Computes all results of the aggregator from items and a state.
    static func compute(_ items: [Sample], laps: [Timestamp], _ state: SessionState) {
        guard let watch = Device("watch"), let strap = Device("strap") else { return }
        let middle = items.count / 2
        let streams = [watch: Array(items[..<middle]), strap: Array(items[middle...])]
        let counted = CountedItems(streams: streams, segments: state.segments)
        let totals = counted.summary(laps: laps, units: state.units, physiology: Physiology(nil, of: state))
        roundTrip(MetricsSummary.self, JSONCoding.encode(totals))
        let series = Series(counted)
        for number in 0..<FinalRows(series).chunkCount {
            _ = FinalRows(series).payload(number: number, revision: 1)
        }
        var live = LiveMetrics(LiveRules(state, nil), laps: laps)
        for (device, samples) in streams { live.addItems(samples, from: device, segments: state.segments, now: now) }
        let again = LiveMetrics(
            streams: streams, segments: state.segments, rules: LiveRules(state, nil), laps: laps, now: now,
            shown: live)
        for live in [live, again] {
            let snapshot = live.snapshot(state, revision: 1, count: items.count, isSilent: false)
            check(try? MetricsSnapshot(snapshot.payload), snapshot)
        }
    }

    /// Reads a batch of locations and computes all results of route-builder.
    private static func readLocations(_ bytes: [UInt8]) {
        let times = AcceptedTimes(now: now)
        guard let batch = try? LocationBatch(bytes[...], accepting: times), let watch = Device("watch") else { return }
        var again = try? LocationBatch(batch.payload[...], accepting: times)
        again?.invalidValues = batch.invalidValues
        check(again, batch)
        let known = batch.items.compactMap(\.time).sorted()
        guard let first = known.first, let last = known.last else { return }
        let segments = [Segment(start: first, end: known[known.count / 2]), Segment(start: last, end: last)]
        let counted = CountedLocations(
            streams: [watch: batch.items], segments: segments, activity: .running, environment: .outdoor)
        roundTrip(RouteSummary.self, JSONCoding.encode(counted.summary()))
        let rows = FinalRows(Track(counted))
        for number in 0..<rows.chunkCount { _ = rows.payload(number: number, revision: 1) }
        var live = LiveRoute(activity: .running, environment: .outdoor)
        live.addItems(batch.items, from: watch, segments: segments, now: now)
        let state = session(at: first).state(revision: 1)
        let payload = live.snapshot(state, revision: 1, count: 1, isSilent: false).payload
        check(payload.count <= 4_096, true)
        readRoute(payload)
    }

    private static func readRoute(_ bytes: [UInt8]) {
        guard let progress = try? RouteProgress(bytes[...]) else { return }
        let state = session(at: now).state(revision: 1)
        var live = LiveMetrics()
        live.receive(progress, segments: state.segments)
        let snapshot = live.snapshot(state, revision: 1, count: 0, isSilent: false)
        check(try? MetricsSnapshot(snapshot.payload), snapshot)
    }

    private static func readHeard(_ bytes: [UInt8]) {
        guard let heard = roundTrip(Heard.self, bytes) else { return }
        var session = session(at: now)
        session.receive(heard.silences)
        session.expire()
        session.restore(hasOther: true, newest: heard.newest)
        roundTrip(SessionState.self, JSONCoding.encode(session.state(revision: 1)))
    }

    /// A session at its start.
    static func session(at time: Timestamp) -> Session {
        guard let user = User("demo"), let id = SessionID("6f9619ff-8b86-4011-b42d-00c04fc964ff") else {
            preconditionFailure("these are names")
        }
        var session = Session(
            key: SessionKey(user, id), start: SessionStart(activity: .running, countdown: 0), at: time, now: now)
        _ = session.advance(to: time)
        return session
    }

    private static func readFIT(_ bytes: [UInt8]) {
        guard let read = try? FITFile(framed(bytes)), let activity = try? FITActivity(read) else { return }
        for session in activity.sessions { _ = activity.activeSegments(of: session) }
    }

    /// A FIT file with valid checksums, so that the input reaches the decoder.
    static func framed(_ bytes: [UInt8]) -> [UInt8] {
        let body = bytes.prefix(100_000)
        var file: [UInt8] = [14, 0x10, 0, 0]
        for shift in [0, 8, 16, 24] { file.append(UInt8(truncatingIfNeeded: body.count >> shift)) }
        file += Array(".FIT".utf8) + [0, 0] + body
        let checksum = FITChecksum(file).value
        return file + [UInt8(truncatingIfNeeded: checksum), UInt8(truncatingIfNeeded: checksum >> 8)]
    }

    private static func readNames(_ text: String) {
        if let name = User(text) { check(name.description, text) }
        if let name = Device(text) { check(name.description, text) }
        // Either case is read, lower case is written.
        if let name = SessionID(text) { check(name.description, text.lowercased()) }
        if let name = StreamName(text) { check(name.description, text) }
        if let shard = Shard(text) { check(shard.description, text) }
    }
}

/// Traps unless two values are equal.
func check<Value: Equatable>(_ actual: Value?, _ expected: Value, line: UInt = #line) {
    precondition(actual == expected, "line \(line): \(String(describing: actual)) is not \(expected)")
}
