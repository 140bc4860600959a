import Bus
import Foundation
import TestSupport
import Testing
import Workouts

@Suite struct PayloadTests {
    private func roundTrip<Value: Codable & Equatable>(_ value: Value) throws {
        let bytes = JSONCoding.encode(value)
        #expect(try JSONCoding.decode(Value.self, from: bytes) == value)
        #expect(JSONCoding.encode(try JSONCoding.decode(Value.self, from: bytes)) == bytes)
    }

    @Test func `messages of low rate are read as written`() throws {
        var random = SeededRandom()
        for _ in 0..<15 {
            for command in random.commands() { try roundTrip(command) }
            for request in random.requests() { try roundTrip(request) }
            for request in random.viewerRequests() { try roundTrip(request) }
            try roundTrip(
                UserProfile(
                    revision: random.revision(), profile: random.profile(), erasedAt: random.maybe(random.time())))
            let sessions = try random.sessions()
            #expect(Set(sessions.map(\.statusName)) == Set(SessionStatus.allCases))
            for session in sessions {
                try roundTrip(session)
                let state = session.state(
                    revision: random.revision(), profileRevision: random.maybe(random.revision()),
                    clockSkew: random.clockSkew(), lastActiveAt: random.maybe(random.time()))
                try roundTrip(state)
                #expect(try SessionState(JSONCoding.encode(state)) == state)
                let plan = session.planState(random.time())
                try roundTrip(CurrentSession(revision: 1, state: random.maybe(state), plan: plan))
                let published = JSONCoding.encode(PublishedState(state, plan))
                #expect(try SessionState(published) == state)
                #expect(try PlanState(published) == plan)
            }
            let session = try #require(sessions.last { $0.statusName == .completed })
            let report = random.report(of: session, random.items(of: session))
            try roundTrip(report)
            let records = random.records(of: session, report)
            for record in records { try roundTrip(record) }
            for reply in random.replies(listing: records) { try roundTrip(reply) }
            for request in try random.coachRequests() { try roundTrip(request) }
            for reply in random.coachReplies() { try roundTrip(reply) }
            let saved = SavedPlans.Plan(
                plan: random.identifier(), savedAt: random.time(), definition: random.definition())
            try roundTrip(SavedPlans(revision: 1, plans: [saved]))
            try roundTrip(random.announcement())
        }
    }

    @Test func `metrics and acks are read as written`() throws {
        var random = SeededRandom()
        for _ in 0..<200 {
            let snapshot = random.snapshot()
            #expect(try MetricsSnapshot(snapshot.payload) == snapshot)
            #expect(try JSONSerialization.jsonObject(with: Data(snapshot.payload)) is [String: Any])
            let ack = Ack.next(.random(in: 0...StreamLimits.items, using: &random))
            let now = random.time()
            #expect(try Ack(ack.payload(now: now)) == ack)
            #expect(try abs(#require(Ack.read(ack.payload(now: now)).now).seconds(since: now)) < 0.001)
            let refusal = random.tooManyItems()
            #expect(try Ack(refusal.payload(now: now)) == refusal)
        }
        let now = Timestamp(microseconds: 1_700_000_000_200_999)
        #expect(try Ack(Ack.streamReused.payload(now: now)) == .streamReused)
        #expect(Ack.next(122).payload(now: now) == Array(#"{"n":122,"now":1700000000.2}"#.utf8))
        #expect(Ack.next(122).payload(now: now, epoch: 7) == Array(#"{"n":122,"e":7,"now":1700000000.2}"#.utf8))
        for ack in [Ack.next(122), .streamReused, .tooManyItems(next: 1, retryAfter: nil)] {
            let read = try Ack.read(ack.payload(now: now, epoch: 7))
            #expect(read.ack == ack && read.epoch == 7)
            #expect(try Ack.read(ack.payload(now: now)).epoch == nil)
        }
        for payload in [#"{"error":"too_many_items"}"#, #"{"error":"other","n":3}"#, #"{"n":-1}"#] {
            #expect(throws: PayloadError.self) { try Ack(payload.utf8) }
        }
    }

    @Test func `heard is read as written`() throws {
        var random = SeededRandom()
        for _ in 0..<50 {
            let heard = random.heard()
            #expect(try JSONCoding.decode(Heard.self, from: heard.payload) == heard)
        }
        var heard = Heard(revision: 5, count: 3)
        heard.clockSkew = [Device("strap-1")!: 181.2]
        #expect(heard.payload == Array(#"{"gaps":[],"n":3,"s":5,"sk":{"strap-1":181.2}}"#.utf8))
    }

    @Test func `published keys are sorted`() throws {
        var random = SeededRandom()
        for payload in try random.payloads()
        where ["metrics", "profile", "series", "state", "workout"].contains(payload.channel) {
            let text = String(decoding: payload.bytes, as: UTF8.self)
            let object = try #require(try JSONSerialization.jsonObject(with: Data(payload.bytes)) as? [String: Any])
            let places = object.keys.sorted().compactMap { text.range(of: "\"\($0)\":")?.lowerBound }
            if payload.channel == "metrics" { #expect(places == places.sorted()) }
            #expect(text.hasPrefix("{\"\(object.keys.min() ?? "")\":"))
        }
    }

    @Test(arguments: [
        "{}", "{\"n\":-1}", "{\"n\":1.5}", "{\"n\":\"1\"}", "{\"error\":\"other\"}", "", "[]", "{\"n\":1e99}",
    ])
    func `an ack of another shape is refused`(text: String) {
        #expect(throws: PayloadError.self) { try Ack(text.utf8) }
    }

    @Test(arguments: [Quantity.allCases.filter(\.isNamed), Quantity.allCases])
    func `a chunk keeps its rows and stays below 128 KiB`(quantities: [Quantity]) throws {
        var random = SeededRandom()
        let samples = (0..<1_300).map { second in
            var sample = Sample(time: Timestamp(microseconds: 1_767_225_600_123_457) + Double(second))
            for quantity in quantities { sample[quantity] = .random(in: quantity.range, using: &random) }
            return sample
        }
        let segments = [Segment(start: samples[0].time!, end: samples[1_299].time! + 1)]
        let series = Series(CountedItems(streams: [Device("watch")!: samples], segments: segments))
        let rows = FinalRows(series)
        let chunks = rows.chunkCount
        #expect(chunks > 1)
        var times: [Timestamp] = []
        for number in 0..<chunks {
            let bytes = rows.payload(number: number, revision: 9)
            #expect(bytes.count <= 128 * 1_024)
            let chunk = try FinalChunk(bytes[...])
            #expect((chunk.number, chunk.count, chunk.revision) == (number, chunks, 9))
            #expect(Set(chunk.columns.keys) == Set(quantities.filter { $0 != .battery }.map(\.key)))
            #expect(chunk.columns.values.allSatisfy { $0.count == chunk.times.count })
            times += chunk.times
        }
        #expect(times == series.times)
    }
}
