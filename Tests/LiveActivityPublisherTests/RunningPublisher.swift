import Bus
import Foundation
import MQTT
import ServiceKit
import TestSupport
import Workouts

@testable import LiveActivityPublisher

/// The whole publisher, with an APNs server on loopback.
typealias RunningPublisher = RunningService

extension RunningPublisher {
    /// A clock that is half an hour behind. A server with the real time accepts its tokens until it is half an hour
    /// ahead.
    static func clock() -> ManualClock {
        ManualClock(now: Timestamp(seconds: (SystemClock().now.seconds - 1_800).rounded(.down)))
    }

    /// Runs the service on a folder while `body` runs, and waits for its end.
    ///
    /// - Parameter server: receives the pushes; without it the service has no key.
    static func run(
        in folder: TemporaryFolder, _ server: APNsServer?, broker: InMemoryBroker = InMemoryBroker(),
        clock: ManualClock = clock(), shards: ShardSelection = .all, limits: APNsClient.Limits = APNsWorld.longTimeouts,
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

    // MARK: Events

    /// Advances the clock in steps of half a second and waits for the pushes of each.
    func pass(_ seconds: Double, _ each: () async throws -> Void = {}) async throws {
        for _ in 0..<Int(seconds * 2) {
            try await jump(0.5)
            try await each()
            try await rest()
        }
    }

    /// Waits until due pushes are sent, their outcomes are handled and the resulting messages are published. The
    /// service's clock does not advance.
    func rest() async throws {
        try await settle()
        try await expectEventually { value("pushes_in_flight") == 0 }
        // Messages may wait until the next batch is acknowledged.
        try await settle()
    }

    // MARK: Results

    /// The retained status.
    func retainedStatus(of key: SessionKey) throws -> ActivityStatus? {
        try broker.retained(Topic.session(key, .activity).name)
            .map { try JSONCoding.decode(ActivityStatus.self, from: $0.payload) }
    }

    /// Waits until a session's activities have this status.
    func expect(_ status: ActivityStatus.Status, of key: SessionKey) async throws {
        try await expectEventually { try retainedStatus(of: key)?.status == status }
    }

    /// The value of a metric of the publisher.
    func value(_ name: String) -> Int? { value(of: "pacebus_live_activity_\(name)") }

    /// The number of log lines with this prefix.
    func count(logged line: String) -> Int { log.lines.count { $0.hasPrefix(line) } }
}

extension APNsServer {
    /// The events of all pushes in order.
    var events: [String] {
        get throws { try requests.compactMap { $0.payload?.aps.event } }
    }
}
