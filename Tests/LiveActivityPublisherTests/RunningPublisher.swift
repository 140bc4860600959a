import Bus
import Foundation
import MQTT
import ServiceKit
import TestSupport
import Workouts

@testable import LiveActivityPublisher

/// The publisher as a whole, with an APNs on the loopback.
typealias RunningPublisher = RunningService

extension RunningPublisher {
    /// A clock that is half an hour behind: an APNs with the time of day takes what it signs until it is half an hour ahead.
    static func clock() -> ManualClock {
        ManualClock(now: Timestamp(seconds: (SystemClock().now.seconds - 1_800).rounded(.down)))
    }

    /// Runs the service on what is in a folder while `body` runs, and waits for its end.
    ///
    /// - Parameter server: who takes the pushes; `nil` when there is no key.
    static func run(
        in folder: TemporaryFolder, _ server: APNsServer?, broker: InMemoryBroker = InMemoryBroker(),
        clock: ManualClock = clock(), shards: ShardSelection = .all, limits: APNsClient.Limits = APNsWorld.patient,
        ending: Ending = .drain, _ body: (RunningPublisher) async throws -> Void
    ) async throws {
        let apns = try server.map {
            APNsConfiguration(account: try APNsWorld.account($0), url: $0.url, caFile: $0.caFile)
        }
        try await run(
            "live-activity-publisher", in: folder, storing: ("activities.sqlite", ActivityRecord.schema),
            clearing: .activity, broker: broker, clock: clock, shards: shards, ending: ending,
            build: {
                try LiveActivityPublisher.build($0, apns ?? APNsConfiguration(), store: $1, limits: limits)
            }, body)
    }

    // MARK: What happens

    /// Lets time pass in steps of half a second, and awaits at each what is sent.
    func pass(_ seconds: Double, _ each: () async throws -> Void = {}) async throws {
        for _ in 0..<Int(seconds * 2) {
            try await jump(0.5)
            try await each()
            try await rest()
        }
    }

    /// Returns when what was due has been sent, its outcomes have been taken and what follows from them stands on the broker,
    /// with the service's clock standing still.
    func rest() async throws {
        try await settle()
        try await expectEventually { value("pushes_in_flight") == 0 }
        // What is published may be held back until the next batch is acknowledged.
        try await settle()
    }

    // MARK: What is seen

    /// The status that stands retained.
    func standing(of key: SessionKey) throws -> ActivityStatus? {
        try broker.retained(Topic.session(key, .activity).name)
            .map { try JSONCoding.decode(ActivityStatus.self, from: $0.payload) }
    }

    /// Waits until the activities of a session stand like this.
    func expect(_ status: ActivityStatus.Status, of key: SessionKey) async throws {
        try await expectEventually { try standing(of: key)?.status == status }
    }

    /// What a metric of the publisher's shows.
    func value(_ name: String) -> Int? { value(of: "pacebus_live_activity_\(name)") }

    /// How often this was logged.
    func count(logged line: String) -> Int { log.lines.count { $0.hasPrefix(line) } }
}

extension APNsServer {
    /// What was pushed, in order.
    var events: [String] {
        get throws { try requests.compactMap { $0.payload?.aps.event } }
    }
}
