import AsyncAlgorithms
package import MQTT
import ServiceLifecycle
package import Workouts

extension ServiceContext {
    /// Where replies to this process come to.
    package var client: Client {
        guard let client = Client(configuration.mqtt.clientID) else {
            preconditionFailure("a client id matches the pattern of a client's name")
        }
        return client
    }

    private static let clientTickInterval = Duration.milliseconds(50)

    /// Subscribes and handles events one at a time until there is a result.
    ///
    /// - Throws: what `handle` throws, or ``Interrupted`` when the task is cancelled.
    package func follow<R: Sendable>(
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
                let ticks = AsyncTimerSequence(interval: Self.clientTickInterval, clock: clock)
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
