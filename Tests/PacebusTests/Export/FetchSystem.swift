import ArgumentParser
import Bus
import Client
import Foundation
import MQTT
import ServiceKit
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing
import Workouts

@testable import Pacebus

/// The command on an in-memory broker, with owners that answer its requests inside `send`.
final class FetchSystem: MessageBus {
    let broker = InMemoryBroker()
    let clock = ManualClock()
    let folder: TemporaryFolder
    private let client: InMemoryBus
    private let owners: InMemoryBus
    private let answer: @Sendable (SessionRequest, _ number: Int) -> [MQTTMessage]
    private let sent = Mutex<[SessionRequest]>([])
    private let written = Mutex("")

    /// - Parameter answer: the messages that owners publish for a request and its number, from 1.
    init(answer: @escaping @Sendable (SessionRequest, _ number: Int) -> [MQTTMessage] = { _, _ in [] }) throws {
        folder = try TemporaryFolder()
        client = broker.client()
        owners = broker.client()
        self.answer = answer
    }

    /// The requests of the command.
    var requests: [SessionRequest] { sent.withLock(\.self) }

    /// The output of the command.
    var text: String { written.withLock(\.self) }

    func publish(_ messages: [MQTTMessage]) async throws { try await owners.send(messages) }

    func cut() { client.cut() }
    func connect() { client.connect() }

    private var terminal: Terminal {
        Terminal(
            output: { [self] more in written.withLock { $0 += more } },
            status: { [self] more in written.withLock { $0 += "(\(more.trimmingCharacters(in: .newlines)))" } },
            isInteractive: false)
    }

    /// The command of these arguments; by default it writes `run.fit`.
    func service(_ key: SessionKey, _ arguments: [String] = []) throws -> any Service {
        let isOther = arguments.contains("--again") || arguments.contains("--output")
        let command = try Pacebus.parseAsRoot(
            ["export", "\(key.session)", "--user", "\(key.user)"] + arguments
                + (isOther ? [] : ["--output", folder.file("run.fit")]))
        let context = ServiceContext(
            configuration: ServiceConfiguration(name: "pacebus"),
            logger: .silent, bus: self, clock: clock)
        return try #require(command as? Pacebus.Export).build(context, terminal: terminal)
    }

    /// Runs the command to its end while its clock advances.
    func run(_ service: any Service, onTick: @escaping @Sendable (Int) -> Void = { _ in }) async throws {
        try await withThrowingTaskGroup(of: Void.self) { [clock] group in
            group.addTask {
                var tick = 0
                while true {
                    try await clock.waitForSleepers()
                    onTick(tick)
                    tick += 1
                    clock.advance(by: .milliseconds(50))
                }
            }
            group.addTask { try await service.run() }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    func run(_ key: SessionKey, _ arguments: String...) async throws {
        try await run(try service(key, arguments))
    }

    /// Runs the command on a stopped clock, with Ctrl-C after `body`.
    func interrupt(_ service: any Service, after body: () async throws -> Void) async throws {
        let group = ServiceGroup(
            configuration: .init(
                services: [.init(service: service, failureTerminationBehavior: .gracefullyShutdownGroup)],
                logger: .silent))
        async let ended: Void = group.run()
        try await body()
        await group.triggerGracefulShutdown()
        try await ended
    }

    /// The files in the command's folder, hidden ones included.
    var files: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() }
    }

    // MARK: MessageBus

    func withSubscriptions<R: Sendable>(
        _ subscriptions: [MQTTSubscription], _ body: (AsyncStream<MQTTEvent>) async throws -> R
    ) async throws -> R {
        try await client.withSubscriptions(subscriptions, body)
    }

    func setSubscriptions(_ subscriptions: [MQTTSubscription], renewing renewed: Set<MQTTSubscription>) {
        client.setSubscriptions(subscriptions, renewing: renewed)
    }

    func publish(_ message: MQTTMessage) async throws(MQTTError) { try await send([message]) }

    func flush() async { await client.flush() }

    func send(_ messages: [MQTTMessage], while isCurrent: MessageCheck?) async throws(MQTTError) {
        try await client.send(messages)
        for message in messages {
            guard let request = try? JSONCoding.decode(SessionRequest.self, from: message.payload) else { continue }
            let number = sent.withLock { sent in
                sent.append(request)
                return sent.count
            }
            try await owners.send(answer(request, number))
        }
    }

    func stopReading() { client.stopReading() }
}
