import MQTT
import TestSupport
import Testing

/// Clients that send and receive more than a window, against a real mosquitto.
@Suite(.serialized, .timeLimit(.minutes(60))) struct CongestionTests {
    /// The occasion for sending between two batches.
    enum Occasion: CaseIterable, Sendable {
        case connected
        case tick
        case batch
    }

    struct Setting: Sendable, CustomTestStringConvertible {
        var occasion: Occasion
        var version: MQTTConfiguration.Version
        /// mosquitto's default is 20 in flight, announced as Receive Maximum.
        var inFlight: Int
        var batchLimit: Int

        var testDescription: String {
            "\(occasion), version \(version.rawValue), \(inFlight) in flight, batches of \(batchLimit)"
        }

        static let all = Occasion.allCases.flatMap { occasion in
            [
                Setting(occasion: occasion, version: .v5, inFlight: 10_000, batchLimit: 4_096),
                Setting(occasion: occasion, version: .v5, inFlight: 20, batchLimit: 4_096),
                Setting(occasion: occasion, version: .v311, inFlight: 20, batchLimit: 4_096),
                // Reading stops long before all messages are sent.
                Setting(occasion: occasion, version: .v5, inFlight: 10_000, batchLimit: 50),
                Setting(occasion: occasion, version: .v311, inFlight: 10_000, batchLimit: 10),
            ]
        }
    }

    private let count = 5_000

    @Test(arguments: Setting.all)
    func `all messages arrive when both sides send more than their windows`(_ setting: Setting) async throws {
        var settings = Mosquitto.Settings()
        settings.lines = ["max_inflight_messages \(setting.inFlight)"]
        let broker = try await Mosquitto(settings)
        var configuration = testConfiguration(port: broker.port, version: setting.version)
        configuration.batchLimit = setting.batchLimit
        configuration.keepAlive = .seconds(5)
        try await withRunningClient(testConfiguration(port: broker.port)) { feeder in
            try await withRunningClient(configuration) { client in
                try await expectEventually { feeder.isReady && client.isReady }
                try await withRecorder(feeder, ["out/+"]) { recorder in
                    let received = Locked(0)
                    let losses = Locked(0)
                    let isSubscribed = Locked(false)
                    try await withThrowingTaskGroup(of: Void.self) { tasks in
                        if setting.occasion == .connected {
                            // Retained, so that they arrive from the grant on.
                            try await feed(feeder, retain: true)
                        }
                        tasks.addTask {
                            try await consume(client, setting.occasion, isSubscribed, received, losses)
                        }
                        try await expectEventually { isSubscribed.value }
                        if setting.occasion != .connected { try await feed(feeder, retain: false) }
                        try await expectEventually(within: .seconds(40)) {
                            received.value >= count && recorder.messages.count >= count
                        }
                        tasks.cancelAll()
                        try await tasks.waitForAll()
                    }
                    #expect(received.value == count)
                    #expect(recorder.texts == (0..<count).map { "\($0)" })
                    #expect(losses.value == 0)
                }
            }
        }
    }

    private func feed(_ feeder: MQTTClient, retain: Bool) async throws {
        try await feeder.send((0..<count).map { MQTTMessage("in/\($0)", "x", retain: retain) })
    }

    /// The loop of a service: one event at a time, each message sent once, on its occasion.
    private func consume(
        _ client: MQTTClient, _ occasion: Occasion, _ isSubscribed: Locked<Bool>, _ received: Locked<Int>,
        _ losses: Locked<Int>
    ) async throws {
        var unsent = (0..<count).map { MQTTMessage("out/\($0)", "\($0)", retain: true) }[...]
        try await client.withSubscriptions([MQTTSubscription(filter: "in/+", qos: .atLeastOnce)]) { events in
            for await event in events {
                switch event {
                case .connected:
                    isSubscribed.set(true)
                    guard occasion == .connected else { continue }
                    try await client.send(Array(unsent))
                case .batch(let batch):
                    // A tick may precede a batch that was delivered meanwhile.
                    if occasion == .tick { try await send(&unsent, client) }
                    batch.finish()
                    if occasion == .batch { try await send(&unsent, client) }
                    received.set(received.value + batch.messages.count)
                case .subscribed: break
                case .disconnected:
                    losses.set(losses.value + 1)
                }
            }
        }
    }

    /// Half of all messages, which is more than two windows.
    private func send(_ unsent: inout ArraySlice<MQTTMessage>, _ client: MQTTClient) async throws {
        let messages = Array(unsent.prefix(count / 2))
        unsent = unsent.dropFirst(count / 2)
        try await client.send(messages)
    }
}
