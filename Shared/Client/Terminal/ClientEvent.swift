import AsyncAlgorithms
package import MQTT
package import ServiceKit
import ServiceLifecycle
package import Workouts

/// An event that a client of the services handles, one after the other.
package enum ClientEvent: Sendable {
    case connected
    case disconnected
    case message(MQTTMessage)
    case tick
    /// Ctrl-C or SIGTERM.
    case stop
}

extension ClientEvent {
    fileprivate static func events(_ event: MQTTEvent) -> [ClientEvent] {
        switch event {
        case .connected: return [.connected]
        case .disconnected: return [.disconnected]
        case .subscribed: return []
        case .batch(let batch):
            // The services send lost messages again.
            batch.finish()
            return batch.messages.map(ClientEvent.message)
        }
    }
}

/// A command stopped before it had a result.
package struct Interrupted: Error, Equatable, CustomStringConvertible {
    /// What the user needs to know: `the queue is kept`.
    package let remark: String?

    package init(_ remark: String? = nil) {
        self.remark = remark
    }

    package var description: String { remark.map { "interrupted; \($0)" } ?? "interrupted" }
}

extension ServiceContext {
    /// The topic level of replies to this process.
    package var client: Client { configuration.client }

    private static let clientTickInterval = Duration.milliseconds(50)

    /// Subscribes and handles events one at a time until `handle` returns a result.
    ///
    /// - Throws: what `handle` throws, or ``Interrupted`` when the task is canceled.
    package func follow<R: Sendable>(
        _ subscriptions: [MQTTSubscription], _ handle: (ClientEvent) async throws -> R?
    ) async throws -> R {
        let (stops, stop) = AsyncStream.makeStream(of: [ClientEvent].self)
        return try await withGracefulShutdownHandler {
            try await bus.withSubscriptions(subscriptions) { stream in
                let events = chain(stream.map(ClientEvent.events), [[ClientEvent.stop]].async)
                let ticks = AsyncStream {
                    (try? await clock.wait(for: Self.clientTickInterval)).map { [ClientEvent.tick] }
                }
                for await batch in merge(events, ticks, stops) {
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
