import Bus
import Foundation
import MQTT
import Storage
import Streams
import TestSupport
import Testing
import Workouts

@testable import MetricsAggregator
@testable import RouteBuilder
@testable import Streams

/// Processes killed around the time when items move from the journal into chunks.
@Suite struct StreamKillTests {
    @Test func `metrics-aggregator killed while items are due has the results of one that never was`() async throws {
        let check = try Check<SampleWork>(SeededRandom())
        for kill in check.kills {
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [path = check.folder.path as String, seed = check.seed as UInt64, kill = kill as Kill] in
                try await Devices<SampleWork>.run(path, seed, until: kill)
            }
        }
        try await check.results()
    }

    @Test func `route-builder killed while items are due has the results of one that never was`() async throws {
        let check = try Check<RouteWork>(SeededRandom())
        for kill in check.kills {
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [path = check.folder.path as String, seed = check.seed as UInt64, kill = kill as Kill] in
                try await Devices<RouteWork>.run(path, seed, until: kill)
            }
        }
        try await check.results()
    }
}

/// What both tests share. The processes themselves stand in each test: an exit test captures no generic type.
private struct Check<Work: TestedWork> {
    let folder: TemporaryFolder
    let seed: UInt64
    let kills: [Kill]
    private let printed: UInt64

    init(_ random: SeededRandom) throws {
        var random = random
        printed = random.seed
        folder = try TemporaryFolder()
        seed = random.next()
        kills = (0..<5).map { Kill($0, &random) }
    }

    func results() async throws {
        let results = try await Devices<Work>.finish(folder, seed)
        let quiet = try await Devices<Work>.finish(try TemporaryFolder(), seed)
        #expect(results == quiet, "seed \(printed)")
    }
}

/// The end of a process. Its first items are due after 70 s.
private struct Kill: Codable, Sendable {
    let round: Int
    /// By the service's clock.
    let second: Int
    /// In the middle of the commit of that second, or soon after.
    let delay: UInt32
    let seed: UInt64

    init(_ round: Int, _ random: inout SeededRandom) {
        self.round = round
        second = Int.random(in: 66..<100, using: &random)
        delay = UInt32.random(in: 0...6_000, using: &random)
        seed = random.next()
    }
}

private protocol TestedWork: StreamWork {
    static func item(_ second: Int, _ random: inout SeededRandom) -> Item
    static func batch(_ script: Script, _ device: String, _ first: Int, _ items: [Item]) -> MQTTMessage
}

private let start = 1_700_000_000.0

extension SampleWork: TestedWork {
    fileprivate static func item(_ second: Int, _ random: inout SeededRandom) -> Sample {
        var sample = Sample(time: Timestamp(seconds: start + Double(second)))
        sample[.heartRate] = Double(Int.random(in: 90...180, using: &random))
        sample[.distance] = Double(Int.random(in: 0...5, using: &random))
        return sample
    }

    fileprivate static func batch(_ script: Script, _ device: String, _ first: Int, _ items: [Sample]) -> MQTTMessage {
        script.batch(device, first, items)
    }
}

extension RouteWork: TestedWork {
    fileprivate static func item(_ second: Int, _ random: inout SeededRandom) -> Location {
        let latitude = 47 + (3 * Double(second) + Double.random(in: 0..<2, using: &random)) / 111_194.93
        var location = Location(time: Timestamp(seconds: start + Double(second)), latitude: latitude, longitude: 8)
        location[.horizontalAccuracy] = 5
        return location
    }

    fileprivate static func batch(_ script: Script, _ device: String, _ first: Int, _ items: [Location]) -> MQTTMessage
    {
        script.batch(device, first, items)
    }
}

/// The devices of a few sessions, and what they know of a service's process: their acknowledged items, in a file.
private struct Devices<Work: TestedWork> {
    private struct Stream {
        let session: Int
        let device: String
        let items: [Work.Item]
        /// When it begins after a start of the process, so that not all items are due at once.
        let begin: Int
        var next = 0
    }

    /// An acknowledgement below an earlier one.
    struct LostItems: Error {}

    /// The round in which the last session is deleted.
    private static var deletion: Int { 2 }

    private let path: String
    private var scripts: [Script] = []
    private var streams: [Stream] = []
    private var clock = ManualClock()
    private var elapsed = 0

    /// Sends an item or two a second, some of them again, until the process is killed.
    static func run(_ path: String, _ seed: UInt64, until kill: Kill) async throws {
        var devices = Devices(path, seed)
        try await devices.run(until: kill)
    }

    /// Sends the rest of the items and the ends. Returns the summaries and their chunks without revisions, and the chunks of items.
    static func finish(_ folder: TemporaryFolder, _ seed: UInt64) async throws -> [String] {
        var devices = Devices(folder.path, seed)
        return try await devices.finish()
    }

    private init(_ path: String, _ seed: UInt64) {
        self.path = path
        var random = SeededRandom(seed: seed)
        for session in 0..<4 {
            let id = UUID(uuid: unsafeBitCast((random.next(), random.next()), to: uuid_t.self))
            scripts.append(Script("demo-\(session)", start: start, session: SessionID(id)))
            for device in ["watch-\(session)", "strap-\(session)"].prefix(Int.random(in: 1...2, using: &random)) {
                let items = (0..<450).map { Work.item($0, &random) }
                let begin = Int.random(in: 0..<20, using: &random)
                streams.append(Stream(session: session, device: device, items: items, begin: begin))
            }
        }
        let file = FileManager.default.contents(atPath: path + "/devices") ?? Data()
        for line in String(decoding: file, as: UTF8.self).split(separator: "\n") {
            let numbers = line.split(separator: " ").compactMap { Int($0) }
            // The process may have died in the last line.
            guard numbers.count == 2, line.hasSuffix(" ") else { continue }
            if numbers[0] < 0 { elapsed = numbers[1] } else { streams[numbers[0]].next = numbers[1] }
        }
        clock = ManualClock(now: Timestamp(seconds: start + 1_000 + Double(elapsed)))
    }

    private func note(_ number: Int, _ value: Int) {
        let file = open(path + "/devices", O_WRONLY | O_APPEND | O_CREAT, 0o600)
        let line = Array("\(number) \(value) \n".utf8)
        write(file, line, line.count)
        close(file)
    }

    // MARK: A process

    private func owner() async throws -> StreamOwner<Work> {
        let store = try SQLiteStore(
            path: path + "/store.sqlite", schema: StreamStore.schema(Work.service), shards: Set(Shard.all),
            erasureInterval: .milliseconds(5), reserveSize: 4_096)
        return try await StreamOwner(store, clock: clock)
    }

    private mutating func take(_ sent: [MQTTMessage]) throws {
        for index in streams.indices {
            let key = scripts[streams[index].session].key
            for case .next(let next) in try sent.acks(key, streams[index].device, Work.kind) {
                guard next >= streams[index].next else { throw LostItems() }
                streams[index].next = next
                note(index, next)
            }
        }
    }

    private mutating func pass(_ seconds: Int, _ owner: inout StreamOwner<Work>) async throws {
        clock.advance(by: .seconds(seconds))
        elapsed += seconds
        note(-1, elapsed)
        try take(try await owner.tick())
    }

    private mutating func run(until kill: Kill) async throws {
        var random = SeededRandom(seed: kill.seed)
        var owner = try await owner()
        try take(try await owner.deliver(states(isDeleted: kill.round > Self.deletion)))
        for second in 0... {
            if second == kill.second { killSelf(after: kill.delay) }
            if second == 30, kill.round == Self.deletion { try take(try await owner.deliver(states(isDeleted: true))) }
            let messages = streams.filter { second >= $0.begin }.compactMap { stream -> MQTTMessage? in
                let first = max(0, stream.next - Int.random(in: 0...3, using: &random))
                let end = min(stream.items.count, stream.next + Int.random(in: 0...2, using: &random))
                guard first < end else { return nil }
                return Work.batch(scripts[stream.session], stream.device, first, Array(stream.items[first..<end]))
            }
            try take(try await owner.deliver(messages))
            try await pass(1, &owner)
        }
    }

    private func states(isDeleted: Bool) -> [MQTTMessage] {
        var scripts = scripts
        guard isDeleted, var last = scripts.popLast() else { return scripts.map(\.stateMessage) }
        return scripts.map(\.stateMessage) + [last.change(.deleted, [])]
    }

    // MARK: Results

    private struct Report: Decodable {
        let revision: Int64
        let chunks: Int
    }

    private mutating func finish() async throws -> [String] {
        var owner = try await owner()
        try take(try await owner.deliver(states(isDeleted: true)))
        try await pass(1, &owner)
        for index in streams.indices where streams[index].session < scripts.count - 1 {
            let stream = streams[index]
            while streams[index].next < stream.items.count {
                let range = streams[index].next..<min(stream.items.count, streams[index].next + 100)
                let batch = Work.batch(
                    scripts[stream.session], stream.device, range.lowerBound, Array(stream.items[range]))
                try take(try await owner.deliver([batch]))
                guard streams[index].next >= range.upperBound else { throw LostItems() }
            }
        }
        var results: [String] = []
        for index in scripts.indices.dropLast() {
            let segments = [Segment(start: Timestamp(seconds: start), end: Timestamp(seconds: start + 449))]
            var sent = try await owner.deliver([scripts[index].change(.saving, segments)])
            clock.advance(by: .seconds(1))
            sent += try await owner.tick()
            results += try self.results(sent, scripts[index].key)
        }
        // Until the deletion is a minute ago.
        for _ in 0..<10 { try await pass(5, &owner) }
        let chunks = try await owner.store.records(in: StreamStore.chunks, shards: Set(Shard.all))
        results += chunks.map { "\($0.key): \($0.value)" }.sorted()
        let isErased = await eventually { (try? hasTraces()) == false }
        return results + ["erased: \(isErased)"]
    }

    private func results(_ sent: [MQTTMessage], _ key: SessionKey) throws -> [String] {
        guard let summary = sent.payloads(.session(key, Work.kind.summary)).last else { return ["\(key): no summary"] }
        let report = try JSONCoding.decode(Report.self, from: summary)
        let chunks = (0..<report.chunks).map { sent.payloads(.session(key, Work.kind.chunk($0))).last ?? [] }
        return ([summary] + chunks).map {
            String(decoding: $0, as: UTF8.self).replacing("\"revision\":\(report.revision)", with: "")
        }
    }

    /// Whether a file of the store has the name of a device of the deleted session.
    private func hasTraces() throws -> Bool {
        try FileManager.default.contentsOfDirectory(atPath: path).filter { $0.hasPrefix("store") }.contains { name in
            let bytes = try Data(contentsOf: URL(filePath: path + "/" + name))
            return bytes.range(of: Data("watch-\(scripts.count - 1)".utf8)) != nil
        }
    }
}

/// Ends the process from a separate thread, so that the signal may interrupt a commit anywhere.
private func killSelf(after microseconds: UInt32) {
    Thread.detachNewThread {
        usleep(microseconds)
        kill(getpid(), SIGKILL)
    }
}
