import Bus
import Foundation
import TestSupport
import Testing
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

    mutating func clockSkew() -> [Device: Double] {
        Bool.random(using: &self) ? [:] : [name(): .random(in: -90_000...90_000, using: &self)]
    }

    mutating func place() -> HistoryPlace { HistoryPlace(at: time(), session: identifier()) }

    mutating func commands() -> [Command] {
        let actions: [SessionAction] = [
            .start(start()), .deviceReady(name()), .pause, .resume, .lap, .suspend, .end(streams: streams()), .discard,
            .recover, .update(SessionUpdate(units: maybe(some(Units.self)), timeZone: maybe("Japan"))),
        ]
        let plan = SessionPlan(definition())
        return (actions + planActions(plan).map { .plan($0) }).map {
            Command(id: identifier(), client: maybe(name()), at: maybe(time()), action: $0)
        }
    }

    mutating func requests() -> [UserRequest] {
        let limit = Int.random(in: 1...HistoryQuery.limit, using: &self)
        let actions: [UserRequest.Action] = [
            .setProfile(profile()), .setProfile(Profile()),
            .workouts(HistoryQuery(before: maybe(place()), from: maybe(time()), to: maybe(time()), limit: limit)),
            .workoutChanges(after: cursor()),
            .savePlan(identifier(), definition(), base: maybe(version())),
            .deletePlan(identifier(), base: maybe(version())), .edit(identifier(), edit()),
            .deleteWorkout(identifier()),
            .deleteEverything,
        ]
        return actions.map { UserRequest(id: identifier(), client: name(), action: $0) }
    }

    private mutating func version() -> SavedPlans.Version { SavedPlans.Version(savedAt: maybe(time())) }

    private mutating func edited<Value>(_ value: Value) -> FieldEdit<Value> {
        [.keep, .undo, .set(value)].randomElement(using: &self) ?? .keep
    }

    private mutating func edit() -> SessionEdit {
        var edit = SessionEdit()
        edit.name = edited("Hills")
        edit.activity = edited(some(Activity.self))
        edit.environment = edited(some(Environment.self))
        edit.note = edited("Windy.\n\tKnee fine.")
        edit.exertion = edited(.random(in: SessionEdit.exertions, using: &self))
        edit.trimStart = edited(time())
        edit.trimEnd = edited(time())
        edit.weight = edited(.random(in: 20...400, using: &self))
        edit.maximumHeartRate = .set(.random(in: 80...250, using: &self))
        return edit
    }

    private mutating func cursor() -> ChangeCursor {
        Bool.random(using: &self)
            ? ChangeCursor(revision()) : ChangeCursor(revision(), since: revision(), latest: revision())
    }

    mutating func viewerRequests() -> [ViewerRequest] {
        let query = HistoryQuery(
            before: maybe(place()), from: maybe(time()), to: maybe(time()),
            limit: .random(in: 1...HistoryQuery.limit, using: &self))
        return [.workouts(query), .workoutChanges(after: cursor()), .chunks(identifier())].map {
            ViewerRequest(id: identifier(), client: maybe(name()), action: $0)
        }
    }

    /// Replies of every kind, with pages of history of every length.
    mutating func replies(listing workouts: [WorkoutRecord]) -> [Reply] {
        let refusals = [nil, Refusal.sessionNotFound, .sessionInProgress(identifier()), .invalidState("no")]
        let plain = refusals.map { Reply(id: identifier(), revision: maybe(revision()), now: time(), error: $0) }
        let pages = [0, 1, HistoryQuery.limit].map { count in
            var page = Reply(id: identifier(), revision: nil, now: time())
            page.workouts = (0..<count).map { WorkoutOverview(workouts[$0 % workouts.count]) }
            page.next = maybe(.before(place()))
            return page
        }
        let changes = [0, 1, HistoryQuery.limit].map { count in
            var page = Reply(id: identifier(), revision: nil, now: time())
            page.changes = (0..<count).map { number in
                guard Bool.random(using: &self) else { return .deleted(identifier(), changed: revision()) }
                return .workout(WorkoutOverview(workouts[number % workouts.count], changed: revision()))
            }
            page.next = .changedAfter(cursor())
            page.more = maybe(true)
            page.reset = maybe(true)
            return page
        }
        return plain + pages + changes
    }

    /// A client's `start` that leaves the activity to its planned workout, and that workout.
    mutating func plannedStart() -> (bytes: [UInt8], definition: WorkoutDefinition) {
        let definition = definition()
        let text = String(decoding: JSONCoding.encode(definition), as: UTF8.self)
        let (id, client): (CommandID, Client) = (identifier(), name())
        return (Array(#"{"client":"\#(client)","definition":\#(text),"id":"\#(id)","type":"start"}"#.utf8), definition)
    }

    mutating func sample(at time: Timestamp) -> Sample {
        var sample = Sample(time: time)
        for quantity in Quantity.allCases where Bool.random(using: &self) {
            let count = quantity.isList ? Int.random(in: 1...Quantity.listLimit, using: &self) : 1
            sample[all: quantity] = (0..<count).map { _ in .random(in: quantity.range, using: &self) }
        }
        return sample
    }

    /// Samples for every second of a session's closed segments.
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
            revision: revision(), state: revision(), next: streams(), chunks: 3, route: maybe(revision()),
            gaps: silences(), outside: streams(),
            totals: items.summary(
                laps: session.laps, units: session.units,
                physiology: Physiology(session.profile, of: session.state(revision: 1)), activity: session.activity,
                poolLength: session.poolLength))
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
        snapshot.averageCadence = maybe(171.5)
        snapshot.averagePower = maybe(201.125)
        snapshot.averagePace = maybe(345.678)
        snapshot.maximumSpeed = maybe(5.5)
        snapshot.steps = maybe(4_321)
        snapshot.temperature = maybe(-12.5)
        snapshot.movingSeconds = maybe(99.5)
        snapshot.lapSeconds = maybe(60.25)
        snapshot.lapDistance = maybe(180.5)
        for _ in 0..<Int.random(in: 0...3, using: &self) {
            snapshot.devices[name()] = DevicePresence(newest: time(), battery: maybe(0.8))
        }
        snapshot.zones = maybe((0..<5).map { _ in .random(in: 0...10_000, using: &self) })
        snapshot.activeEnergy = maybe(.random(in: 0...5_000, using: &self))
        snapshot.energySource = maybe(.device)
        snapshot.speed = maybe(.random(in: 0...60, using: &self))
        snapshot.cadence = maybe(160)
        snapshot.power = maybe(250.25)
        snapshot.isPaused = .random(using: &self)
        snapshot.lap = .random(in: 1...20, using: &self)
        snapshot.displayPace = maybe(300)
        snapshot.displaySpeed = maybe(3.333)
        snapshot.latitude = maybe(-33.5)
        snapshot.longitude = maybe(151.25)
        snapshot.ascent = maybe(12)
        snapshot.battery = maybe(0.5)
        snapshot.run = maybe(RunID(UUID()))
        snapshot.count = .random(in: 0...1_000_000, using: &self)
        let sample = sample(at: time())
        for quantity in sample.quantities where !quantity.isNamed { snapshot.others[quantity] = sample[all: quantity] }
        return snapshot
    }

    mutating func announcement() -> Announcement {
        let kinds = [Announcement.Kind.lap, .split, .interval, .warning, .clockSkew]
        var announcement = Announcement(
            kinds.randomElement(using: &self)!, at: time(), number: maybe(3), text: maybe("Rest, 0:10"))
        announcement.unit = maybe(.mile)
        announcement.duration = maybe(271.25)
        announcement.distance = maybe(1_200)
        announcement.pace = maybe(271)
        announcement.averageHeartRate = maybe(148)
        announcement.device = maybe(name())
        announcement.seconds = maybe(-181.2)
        return announcement
    }

    mutating func heard() -> Heard {
        var times = ItemTimes()
        for _ in 0..<Int.random(in: 1...5, using: &self) { times.add(time()) }
        var heard = Heard(revision: revision(), count: .random(in: 1...1_000, using: &self))
        heard.newest = times.newest
        heard.position = maybe(Coordinate(latitude: 52.5, longitude: 13.4))
        heard.clockSkew = maybe([Device("strap-1")!: 181.2]) ?? [:]
        heard.silences = times.silences
        heard.hasLiveMetrics = Bool.random(using: &self)
        return heard
    }

    func rejections() -> [Rejection] {
        let topic = "pacebus/v1/ff/anna/6F9619FF-8B86-D011-B42D-00C04FC964FF/command"
        var flaw = PayloadError.malformed("item 7: h is not a number from 20 to 300", field: "h", value: "999")
        flaw.item = 7
        return [Rejection(topic: topic, reason: "uppercase_session"), Rejection(topic: topic, error: flaw)]
    }

    mutating func tooManyItems() -> Ack {
        .tooManyItems(
            next: .random(in: 0...StreamLimits.session, using: &self),
            retryAfter: Bool.random(using: &self) ? .random(in: 1...3_600, using: &self) : nil)
    }

    mutating func batch() -> SampleBatch {
        SampleBatch(
            first: .random(in: 0...StreamLimits.items, using: &self),
            items: (0..<Int.random(in: 1...20, using: &self)).map { _ in sample(at: time()) },
            asksAck: .random(using: &self))
    }

    /// The payloads of the code, by channel.
    mutating func payloads() throws -> [AsyncAPIDocument.Payload] {
        var payloads: [AsyncAPIDocument.Payload] = []
        func add(_ channel: String, _ bytes: [UInt8]) { payloads.append(.init(channel: channel, bytes: bytes)) }
        for command in commands() { add("command", JSONCoding.encode(command)) }
        add("command", plannedStart().bytes)
        for request in requests() { add("userRequest", JSONCoding.encode(request)) }
        payloads += importPayloads()
        for request in viewerRequests() { add("viewerRequest", JSONCoding.encode(request)) }
        for profile in [profile(), Profile()] {
            for channel in ["profile", "sessionProfile"] {
                let erasedAt = maybe(time())
                add(channel, JSONCoding.encode(UserProfile(revision: revision(), profile: profile, erasedAt: erasedAt)))
            }
        }
        let sessions = try sessions()
        for session in sessions {
            let state = session.state(
                revision: revision(), profileRevision: maybe(revision()), clockSkew: clockSkew(),
                lastActiveAt: maybe(time()))
            let plan = session.planState(time())
            add("state", JSONCoding.encode(PublishedState(state, plan)))
            add("current", JSONCoding.encode(CurrentSession(revision: revision(), state: maybe(state), plan: plan)))
        }
        let last = try #require(sessions.last { $0.statusName == .completed })
        let items = items(of: last)
        let report = report(of: last, items)
        add("summaryMetrics", JSONCoding.encode(report))
        let records = records(of: last, report)
        for record in records { add("workout", JSONCoding.encode(record)) }
        for reply in replies(listing: records) { add("replies", JSONCoding.encode(reply)) }
        let series = Series(items)
        for number in 0..<FinalRows(series).chunkCount {
            add("series", FinalRows(series).payload(number: number, revision: revision()))
        }
        add("samples", batch().payload)
        add("samplesAck", Ack.next(.random(in: 0...1_000, using: &self)).payload(now: time()))
        add("samplesAck", Ack.streamReused.payload(now: time()))
        add("samplesAck", tooManyItems().payload(now: time()))
        add("heardSamples", heard().payload)
        add("heardSamples", Heard(revision: revision(), count: 0).payload)
        add("heardLocations", heard().payload)
        for rejection in rejections() { add("userRejected", JSONCoding.encode(rejection)) }
        add("metrics", snapshot().payload)
        for payload in activityPayloads(of: last.key) { add(payload.channel, payload.bytes) }
        payloads += runPayloads()
        for payload in try planPayloads() { add(payload.channel, payload.bytes) }
        for payload in exportPayloads(of: last.key) { add(payload.channel, payload.bytes) }
        for payload in routePayloads(of: last) { add(payload.channel, payload.bytes) }
        add("weather", JSONCoding.encode(weather()))
        for _ in 0..<10 { add("announcements", JSONCoding.encode(announcement())) }
        return payloads
    }
}
