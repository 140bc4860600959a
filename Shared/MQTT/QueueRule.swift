/// Whose messages a topic carries, and what happens to those that exceed the owner's limits.
package struct QueueRule: Hashable, Sendable {
    package enum Kind: Sendable {
        /// From a service. None is dropped; above the limit the client stops reading.
        case service
        /// Numbered items. A device sends a dropped batch again.
        case items
        /// A command or a request. Its client repeats it.
        case request
    }

    /// Messages of one owner keep their order; owners take turns.
    package var owner: String
    package var kind: Kind

    package init(owner: String, kind: Kind) {
        self.owner = owner
        self.kind = kind
    }
}

/// How many received messages may wait, and how many of them are one turn.
///
/// A message costs its payload's bytes and a constant of its kind, which stands for the work that a short one causes.
package struct QueueLimits: Sendable {
    /// The cost of one turn, which bounds the time of its commit.
    package var turn = 1_024 * 1_024
    /// The cost that an owner's messages may have before the next owner follows.
    package var quantum = 16 * 1_024
    /// Waiting batches of one stream: as many as a device may have in flight.
    package var batchesPerStream = 20
    package var requestsPerOwner = 128
    package var bytesPerOwner = 8 * 1_024 * 1_024
    /// Shared equally by the owners with waiting messages when ``bytesPerOwner`` for each would be more.
    package var bytes = 128 * 1_024 * 1_024

    package init() {}

    func cost(of kind: QueueRule.Kind, _ bytes: Int) -> Int {
        switch kind {
        case .items: bytes + 64
        case .service: bytes + 256
        case .request: bytes + 8_192
        }
    }
}

/// The limits that drop messages, by their name in metrics.
package enum QueueLimit: Sendable {
    case batchesPerStream
    case requestsPerOwner
    case bytesPerOwner

    package var name: StaticString {
        switch self {
        case .batchesPerStream: "batches_in_flight"
        case .requestsPerOwner: "waiting_requests"
        case .bytesPerOwner: "waiting_bytes"
        }
    }
}

/// Whose messages a limit dropped.
package struct QueueExcess: Hashable, Sendable {
    package var owner: String
    package var limit: QueueLimit
}
