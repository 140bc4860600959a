import AsyncAlgorithms
import Bus
import MQTT
import ServiceKit
import ServiceLifecycle
import Workouts

/// What a client of the services reacts to, one after the other.
enum ClientEvent: Sendable {
    case connected
    case disconnected
    case message(MQTTMessage)
    case tick
    /// Ctrl-C or SIGTERM.
    case stop

    fileprivate static func events(_ event: MQTTEvent) -> [ClientEvent] {
        switch event {
        case .connected: return [.connected]
        case .disconnected: return [.disconnected]
        case .batch(let batch):
            // Nothing of it is needed again: what is lost, the services send again.
            batch.acknowledge()
            return batch.messages.map(ClientEvent.message)
        }
    }
}

/// It was stopped before there was a result.
struct Interrupted: Error, CustomStringConvertible {
    let description = "interrupted"
}

extension ServiceContext {
    /// Where replies to this process come to.
    var client: Client {
        guard let client = Client(configuration.mqtt.clientID) else {
            preconditionFailure("a client id matches the pattern of a client's name")
        }
        return client
    }

    private static let tickInterval = Duration.milliseconds(50)

    /// Subscribes and handles events one at a time until there is a result.
    ///
    /// - Throws: what `handle` throws, or ``Interrupted`` when the task is cancelled.
    func follow<R: Sendable>(
        _ subscriptions: [MQTTSubscription], _ handle: (ClientEvent) async throws -> R?
    ) async throws -> R {
        try await follow(subscriptions, clock: clock, handle)
    }

    private func follow<R: Sendable>(
        _ subscriptions: [MQTTSubscription], clock: some WallClock, _ handle: (ClientEvent) async throws -> R?
    ) async throws -> R {
        let (stops, stop) = AsyncStream.makeStream(of: [ClientEvent].self)
        return try await withGracefulShutdownHandler {
            try await bus.withSubscriptions(subscriptions) { stream in
                let events = chain(stream.map(ClientEvent.events), [[ClientEvent.stop]].async)
                let ticks = AsyncTimerSequence(interval: Self.tickInterval, clock: clock)
                    .map { _ in [ClientEvent.tick] }
                for try await batch in merge(events, ticks, stops) {
                    for event in batch {
                        if let result = try await handle(event) { return result }
                    }
                }
                throw Interrupted()
            }
        } onGracefulShutdown: {
            stop.yield([.stop])
        }
    }
}
