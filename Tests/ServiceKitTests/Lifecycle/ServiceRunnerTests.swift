import ArgumentParser
import Foundation
import MQTT
import ServiceKit
import ServiceLifecycle
import TestSupport
import Testing
import Workouts

/// Does one thing and returns, or waits for shutdown first.
private struct Scripted: Service {
    var waits = false
    let script: @Sendable () async throws -> Void

    func run() async throws {
        if waits {
            try await gracefulShutdown()
        }
        try await script()
    }
}

/// A member of a presence payload; `nil` if it is not text.
private struct Field: Decodable {
    let text: String?

    init(from decoder: any Decoder) throws {
        text = try? decoder.singleValueContainer().decode(String.self)
    }
}

private struct Broken: Error, CustomStringConvertible {
    let description = "the store is broken"
}

@Suite struct ServiceRunnerTests {
    /// No broker listens here: the services run without it.
    private static let flags = ["--mqtt-url", "mqtt://ann@127.0.0.1:1"]

    private static func text(_ bytes: [UInt8]?) -> String { String(decoding: bytes ?? [], as: UTF8.self) }

    @Test func `a service that returns ends the process successfully`() async throws {
        let result = try await #require(processExitsWith: .success, observing: [\.standardErrorContent]) {
            try await ServiceRunner.run("device", try BaseOptions.parse(ServiceRunnerTests.flags)) { _ in
                [Scripted { print("done") }]
            }
        }
        // The client may warn of the absent broker, but nothing is logged at `info`.
        let lines = Self.text(result.standardErrorContent).split(separator: "\n").filter { $0.contains(" info ") }
        #expect(lines.isEmpty)
    }

    @Test(arguments: [SIGTERM, SIGINT]) func `a signal drains the services`(signal: Int32) async throws {
        let result = try await #require(processExitsWith: .success, observing: [\.standardOutputContent]) {
            [signal] in
            let flags = try BaseOptions.parse(ServiceRunnerTests.flags)
            try await ServiceRunner.run("session-engine", flags, try StoreOptions.parse([])) { _ in
                [
                    Scripted(waits: true) { print("drained") },
                    Scripted(waits: true) {},
                    Scripted {
                        kill(getpid(), signal)
                        try await gracefulShutdown()
                    },
                ]
            }
            fflush(nil)
        }
        #expect(Self.text(result.standardOutputContent).contains("drained"))
    }

    @Test func `a service's error drains the others and ends the process`() async throws {
        let result = try await #require(
            processExitsWith: .exitCode(1), observing: [\.standardOutputContent, \.standardErrorContent]
        ) {
            await FailingCommand.main(ServiceRunnerTests.flags)
        }
        #expect(Self.text(result.standardOutputContent).contains("drained"))
        let lines = Self.text(result.standardErrorContent).split(separator: "\n")
        #expect(lines.contains("Error: the store is broken"))
    }

    @Test func `an invalid setting is refused at start in one line`() async throws {
        let result = try await #require(processExitsWith: .exitCode(1), observing: [\.standardErrorContent]) {
            await FailingCommand.main(["--log-level", "loud"])
        }
        #expect(
            Self.text(result.standardErrorContent)
                == """
                Error: --log-level (LOG_LEVEL): 'loud' is not accepted; expected trace, debug, info, notice, warning, \
                error or critical

                """)
    }

    @Test(arguments: [SIGTERM, SIGKILL])
    func `presence is published for every kind of start and stop`(signal: Int32) async throws {
        let broker = try await Mosquitto()
        var settings = MQTTConfiguration(clientID: "observer")
        settings.port = broker.port
        let client = MQTTClient(configuration: settings, logger: .silent)
        let group = ServiceGroup(configuration: .init(services: [client], logger: .silent))
        async let ended: Void = group.run()
        let presence = MQTTSubscription(filter: "pacebus/v1/services/_session-engine/+", qos: .atLeastOnce)
        let statuses = try await client.withSubscriptions([presence]) { events in
            var statuses: [String] = []
            for await event in events {
                switch event {
                case .connected: await Self.comeAndGo(port: broker.port, signal: signal)
                case .subscribed: break
                case .disconnected(let error): throw error
                case .batch(let batch):
                    for message in batch.messages {
                        let payload = try JSONDecoder().decode([String: Field].self, from: Data(message.payload))
                        statuses.append(payload["status"]?.text ?? "none")
                    }
                    batch.finish()
                }
                if statuses.last == "offline" { break }
            }
            return statuses
        }
        #expect(statuses == ["online", "offline"])
        await group.triggerGracefulShutdown()
        try await ended
        broker.kill()
    }

    private static func comeAndGo(port: UInt16, signal: Int32) async {
        await #expect(processExitsWith: signal == SIGKILL ? .signal(SIGKILL) : .success) { [port, signal] in
            let flags = try BaseOptions.parse(["--mqtt-url", "mqtt://127.0.0.1:\(port)"])
            try await ServiceRunner.run("session-engine", flags, try StoreOptions.parse([])) { context in
                [Signaling(context: context, signal: signal)]
            }
        }
    }

    @Test func `services that do not stop within five seconds are canceled`() async throws {
        let result = try await #require(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            await StuckCommand.main(ServiceRunnerTests.flags)
        }
        #expect(
            Self.text(result.standardErrorContent).hasSuffix(
                "Error: shutdown timed out; running work was canceled\n"))
    }
}

/// Serves, waits for the broker and then ends its own process with a signal.
private struct Signaling: Service {
    let context: ServiceContext
    let signal: Int32

    func run() async throws {
        try await context.serve(store: MemoryStore.owningAll(), subscriptions: Self.subscriptions) { event in
            guard case .connected = event else { return }
            // The broker acknowledges this after the presence.
            try await context.bus.publish(MQTTMessage(topic: "elsewhere", payload: [], qos: .atLeastOnce))
            kill(getpid(), signal)
        }
    }

    private static func subscriptions(_ shards: Set<Shard>) -> [MQTTSubscription] { [] }
}

private struct FailingCommand: AsyncParsableCommand {
    @OptionGroup var base: BaseOptions

    func run() async throws {
        try await ServiceRunner.run("session-engine", base) { _ in
            [
                Scripted(waits: true) {
                    print("drained")
                    fflush(nil)
                },
                Scripted { throw Broken() },
            ]
        }
    }
}

private struct StuckCommand: AsyncParsableCommand {
    @OptionGroup var base: BaseOptions

    func run() async throws {
        try await ServiceRunner.run("session-engine", base) { _ in
            [Scripted(waits: true) { try await Task.sleep(for: .seconds(3600)) }, Scripted {}]
        }
    }
}
