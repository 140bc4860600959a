import Bus
import Foundation
import MQTT
import TestSupport
import Testing
import Workouts

/// Sends invalid input and waits for the services' rejections and replies.
struct BadInput {
    let installation: Installation
    let observer: BusObserver
    let user: User
    let client = "mallory-1"

    init(_ installation: Installation, _ observer: BusObserver) throws {
        self.installation = installation
        self.observer = observer
        user = try #require(User("mallory"))
    }

    func send(_ payload: [UInt8], to topic: String) async {
        await observer.publish(MQTTMessage(topic: topic, payload: payload, qos: .atLeastOnce))
    }

    /// A message on `rejected`.
    struct Refused: Decodable {
        let topic: String
        let reason: String
        let bytes: Int
    }

    static func refusals(_ service: Installation.Service) -> String {
        Topic.rejected(service: service.rawValue).name
    }

    /// Sends a payload and waits for its rejection by a service.
    func refusal(of payload: [UInt8], to topic: String, by service: Installation.Service) async throws -> Refused {
        let name = Self.refusals(service)
        let before = observer.count(name)
        await send(payload, to: topic)
        // The count first: a message that arrives between both reads is the one that counts.
        guard await eventually({ observer.count(name) > before }), let rejected = observer.latest(name) else {
            throw BusObserver.Unseen(topic: name)
        }
        return try JSONCoding.decode(Refused.self, from: rejected)
    }

    /// Sends a command with the given fields and waits for its reply.
    func reply(to fields: String, of session: SessionID) async throws -> Reply {
        try await reply(to: fields, on: Topic.session(SessionKey(user, session), .command))
    }

    /// Sends a command or request with the given fields every 5 s, as clients do, until its reply.
    func reply(to fields: String, on topic: Topic) async throws -> Reply {
        let id = CommandID(UUID())
        let text = #"{"id":"\#(id)","client":"\#(client)",\#(fields)}"#
        let replies = Topic.user(user, .replies(try #require(Client(client)))).name
        for _ in 0..<12 {
            await send(Array(text.utf8), to: topic.name)
            let payload = try? await observer.wait(for: replies, within: .seconds(5)) { payload in
                (try? JSONCoding.decode(Reply.self, from: payload))?.id == id
            }
            if let payload { return try JSONCoding.decode(Reply.self, from: payload) }
        }
        throw BusObserver.Unseen(topic: replies)
    }

    /// Publishes a payload over the limit, which Pacebus's own client refuses.
    func sendLarge(bytes: Int, to topic: String) async throws {
        let file = try installation.folder.write(String(repeating: "[", count: bytes), to: "large")
        try await ChildProcess.run(
            [
                "mosquitto_pub", "-h", "127.0.0.1", "-p", "\(installation.broker.port)", "-q", "1", "-t", topic, "-f",
                file,
            ],
            log: installation.folder.file("large.log"))
    }
}

/// A valid session during other traffic.
struct GoodRun {
    /// Ten minutes of running with a pause.
    private static let recording = FITFixture.workout(start: 1_700_000_000, duration: 600, pauses: [200...260])
    /// A record each second, both ends of each segment included.
    private static let items = 201 + 341

    let totals: MetricsSummary
    let segments: [Segment]
    let next: [StreamName: Int]

    /// Plays the recording while `body` runs, and waits for the results.
    init(
        _ installation: Installation, _ observer: BusObserver, speedUp: Double = 0,
        meanwhile body: () async throws -> Void = {}
    ) async throws {
        let key = SessionKey(try #require(User("demo")), SessionID(UUID()))
        let file = installation.folder.file("recording.fit")
        try Data(Self.recording).write(to: URL(filePath: file))
        let device = try installation.replay(file, key, speedUp: speedUp)
        try await body()
        #expect(await device.finish() == 0, "\(installation.deviceLog)")
        let results = try await Results(key, device: "watch-1", items: Self.items, from: observer)
        totals = results.summary.totals
        segments = results.workout.segments
        next = results.summary.next
    }

    /// Whether both have equal results.
    func matches(_ other: GoodRun) -> Bool {
        totals == other.totals && segments == other.segments && next == other.next
    }
}

extension Installation {
    /// Resident memory of a service in KiB; `nil` if it does not run.
    func memory(_ service: Service) throws -> Int? {
        for process in try FileManager.default.contentsOfDirectory(atPath: "/proc") where Int32(process) != nil {
            // A process may end between two reads.
            guard let arguments = try? String(contentsOfFile: "/proc/\(process)/cmdline", encoding: .utf8),
                arguments.contains(folder.file(service.rawValue)),
                let status = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8),
                let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmRSS:") })
            else { continue }
            return Int(line.filter(\.isNumber))
        }
        return nil
    }
}
