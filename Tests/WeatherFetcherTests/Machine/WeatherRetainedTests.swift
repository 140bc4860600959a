import Bus
import Foundation
import MQTT
import ServiceKit
import Storage
import TestSupport
import Testing
import Workouts

@testable import WeatherFetcher

/// The retained weather during failures of broker, disk and process.
@Suite(.timeLimit(.minutes(60))) struct WeatherRetainedTests {
    private let folder: TemporaryFolder
    private let clock = ManualClock()
    private var fetcher: Fetcher
    private var session: SampleSession

    init() async throws {
        folder = try TemporaryFolder()
        fetcher = try await Fetcher(folder, clock: clock)
        session = SampleSession(place: SampleSession.berlin, live: clock.now)
        try await fetcher.deliver(session.message)
    }

    private var key: SessionKey { session.key }

    /// Fetches the weather and returns it.
    private mutating func fetch(_ temperature: Double = 11.5) async throws -> Weather {
        let request = try #require(fetcher.requests().first)
        return try #require(try await fetcher.answer(request, temperature).weather(key).first ?? nil)
    }

    /// Kills the process and starts another.
    private mutating func restart() async throws -> [MQTTMessage] {
        fetcher = try await Fetcher(try copy(), clock: clock)
        return fetcher.bus.take()
    }

    /// The store as a killed process leaves it. The running process holds the lock of the file.
    private func copy() throws -> TemporaryFolder {
        let copy = try TemporaryFolder()
        for file in try FileManager.default.contentsOfDirectory(atPath: folder.path) where !file.hasSuffix(".lock") {
            try FileManager.default.copyItem(atPath: folder.file(file), toPath: copy.file(file))
        }
        return copy
    }

    @Test mutating func `weather is published retained with all fields`() async throws {
        let request = try #require(fetcher.requests().first)
        #expect(request.cell.latitude == "52.52")
        let sent = try await fetcher.answer(request)
        let message = try #require(sent.first { $0.weather != nil })
        #expect(message.retain)
        #expect(message.qos == .atLeastOnce)
        let weather = try #require(message.weather?.weather)
        #expect(weather.revision == clock.now.milliseconds)
        #expect(weather.temperature == 11.5)
        #expect(weather.fetchedAt == clock.now)
        #expect(!weather.isStale)
        #expect(weather.attribution.text == "Weather data")
    }

    @Test mutating func `a broker without retained messages receives the weather again, live sessions first`()
        async throws
    {
        let weather = try await fetch()
        var over = SampleSession("0over", place: SampleSession.berlin, live: clock.now)
        try await fetcher.deliver(over.message)
        try await fetcher.deliver(over.become(.completed, now: clock.now))
        let sent = try await fetcher.connect()
        #expect(sent.compactMap(\.weather?.key) == [key, over.key])
        #expect(sent.weather(key) == [weather])
    }

    @Test mutating func `after a restart values and revisions continue, and no request is early`() async throws {
        let weather = try await fetch()
        clock.advance(by: .seconds(100))
        #expect(try await restart().weather(key) == [weather])
        #expect(fetcher.requests() == [], "no request before the session's state arrives")
        #expect(try await fetcher.deliver(session.message).weather(key) == [])
        #expect(fetcher.requests() == [])
        try await fetcher.pass(199)
        #expect(fetcher.requests() == [])
        try await fetcher.pass(1)
        let request = try #require(fetcher.requests().first)
        // The wall clock steps backwards, and revisions still increase.
        clock.step(by: .seconds(-3_600))
        let next = try #require(try await fetcher.answer(request, 20).weather(key).first ?? nil)
        #expect(next.revision == weather.revision + 1)
        #expect(next.temperature == 20)
    }

    @Test mutating func `an older revision is answered with the newest, and a newer one is exceeded`()
        async throws
    {
        let weather = try await fetch()
        let topic = Topic.session(key, .weather)
        #expect(try await fetcher.deliver(topic.message(JSONCoding.encode(weather))) == [], "its own")
        var past = weather
        past.revision -= 1
        #expect(try await fetcher.deliver(topic.message(JSONCoding.encode(past))).weather(key) == [weather])
        var ahead = weather
        ahead.revision += 1_000
        let answer = try await fetcher.deliver(topic.message(JSONCoding.encode(ahead))).weather(key)
        #expect(answer.map(\.?.revision) == [weather.revision + 1_001])
        #expect(try await restart().weather(key).map(\.?.revision) == [weather.revision + 1_001])
    }

    @Test mutating func `the first weather exceeds a revision of an earlier life`() async throws {
        var earlier = Weather(
            WeatherReading(observation: .sample(at: clock.now), fetchedAt: clock.moment, dueAt: clock.moment),
            revision: clock.now.milliseconds + 5_000, isStale: false)
        let topic = Topic.session(key, .weather)
        #expect(try await fetcher.deliver(topic.message(JSONCoding.encode(earlier))) == [])
        #expect(try await fetch().revision == earlier.revision + 1)
        earlier.revision = 1 << 60
        let sent = try await fetcher.deliver(topic.message(JSONCoding.encode(earlier)))
        #expect(sent.map(\.topic) == [Topic.rejected(service: "weather-fetcher").name])
    }

    @Test mutating func `weather of an unknown session is cleared`() async throws {
        let weather = try await fetch()
        let stranger = SampleSession(live: clock.now)
        let message = Topic.session(stranger.key, .weather).message(JSONCoding.encode(weather))
        #expect(try await fetcher.deliver(message).weather(stranger.key) == [nil])
        #expect(try await fetcher.deliver(Topic.session(stranger.key, .weather).message([])) == [])
    }

    @Test mutating func `a finished session keeps its last value, which does not become stale`() async throws {
        _ = try await fetch()
        #expect(try await fetcher.deliver(session.become(.saving, now: clock.now)) == [])
        #expect(try await fetcher.deliver(session.become(.completed, now: clock.now)) == [])
        #expect(try await fetcher.pass(40_000) == [])
        #expect(fetcher.requests() == [])
    }

    @Test mutating func `weather is cleared and erased two days after its last revision`() async throws {
        _ = try await fetch()
        try await fetcher.deliver(session.become(.completed, now: clock.now))
        #expect(try await fetcher.pass(48 * 3_600 - 1) == [])
        #expect(try await fetcher.pass(1).weather(key) == [nil])
        let message = Topic.session(key, .weather).message([UInt8](#"{"revision":1}"#.utf8))
        #expect(try await fetcher.deliver(message).weather(key) == [nil], "a cleared topic is cleared again")
        #expect(try await fetcher.pass(3_600) == [])
        #expect(try await restart() == [])
    }

    @Test mutating func `a deleted session leaves nothing, even after a restart`() async throws {
        let weather = try await fetch()
        #expect(try await fetcher.deliver(session.become(.deleted, now: clock.now)).weather(key) == [nil])
        try await fetcher.pass(400)
        #expect(fetcher.requests() == [])
        #expect(try await restart() == [])
        let message = Topic.session(key, .weather).message(JSONCoding.encode(weather))
        #expect(try await fetcher.deliver(session.message, message).weather(key) == [nil])
    }

    @Test mutating func `an answer after the deletion changes nothing`() async throws {
        let request = try #require(fetcher.requests().first)
        try await fetcher.deliver(session.become(.deleted, now: clock.now))
        #expect(try await fetcher.answer(request) == [])
    }

    @Test mutating func `nothing is published before it is stored, and everything after the disk recovers`()
        async throws
    {
        let request = try #require(fetcher.requests().first)
        fetcher.store.refuse(true)
        #expect(try await fetcher.answer(request) == [])
        #expect(!fetcher.loop.outbox.isWriting)
        #expect(try await fetcher.pass(5) == [])
        fetcher.store.refuse(false)
        #expect(try await fetcher.pass(2).weather(key).count == 1)
        #expect(fetcher.loop.outbox.isWriting)
        #expect(try await restart().weather(key).count == 1)
    }

    @Test mutating func `a process without shards requests and publishes nothing`() async throws {
        let request = try #require(fetcher.requests().first)
        try await fetcher.lose()
        #expect(try await fetcher.answer(request) == [])
        #expect(try await fetcher.deliver(session.message) == [])
        #expect(try await fetcher.pass(400) == [])
        #expect(fetcher.requests() == [])
    }

    @Test mutating func `a corrupt record is skipped`() async throws {
        _ = try await fetch()
        let epoch = try #require(fetcher.loop.outbox.epochs[key.session.shard])
        _ = try await fetcher.store.commit([
            .init(
                shard: key.session.shard, epoch: epoch, collection: WeatherRecord.sessions,
                change: .put(key: "\(key)", value: [1, 2, 3]))
        ])
        #expect(try await restart() == [])
        try await fetcher.deliver(session.message)
        #expect(fetcher.requests().count == 1)
    }

    @Test mutating func `an invalid payload is rejected and published`() async throws {
        let bad: [MQTTMessage] = [
            Topic.session(key, .state).message([UInt8]("{".utf8)),
            Topic.session(SampleSession(live: clock.now).key, .state).message([UInt8](session.message.payload)),
            Topic.session(key, .weather).message([UInt8]("[]".utf8)),
            MQTTMessage(topic: "pacebus/v1/zz/anna/x/state", payload: [1], qos: .atLeastOnce),
        ]
        for message in bad {
            let sent = try await fetcher.deliver(message)
            #expect(sent.map(\.topic) == [Topic.rejected(service: "weather-fetcher").name], "\(message.topic)")
        }
        let unplaced = SampleSession("ben", live: clock.now)
        try await fetcher.deliver(unplaced.message)
        let heard = Topic.session(unplaced.key, .heard(.locations))
        #expect(try await fetcher.deliver(heard.message([UInt8](#"{"la":"x"}"#.utf8))).count == 1)
        #expect(try await fetcher.deliver(heard.message([UInt8](#"{"n":0,"s":1}"#.utf8))) == [], "no position yet")
        #expect(try await fetcher.deliver(heard.message([UInt8](#"{"la":1e9,"lo":0}"#.utf8))) == [])
    }
}
